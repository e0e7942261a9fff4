"""The reliability diagram, drawn from its table with matplotlib's objects alone: no pyplot, no global state."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from calibrant.door.ends import confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.findings.comparison import Comparison
    from calibrant.findings.found import Audit
    from calibrant.findings.reliability import Reliability
    from calibrant.measures.smooth import Witness


class Drawable(Protocol):
    """What the diagram is drawn from: an audit, or a display."""

    @property
    def reliability(self) -> Reliability:
        """The table."""

    @property
    def witness(self) -> Witness:
        """Of the smooth error."""

    @property
    def base_rate(self) -> float:
        """Mean outcome."""

    @property
    def level(self) -> float:
        """One minus the coverage of the band."""


COLOURS: Mapping[str, str] = {
    "ink": "#1b1f24",
    "muted": "#69727d",
    "hairline": "#d5dae0",
    "band": "#cfd8e3",
    "curve": "#0b6e99",
    "high": "#c2410c",
    "low": "#15803d",
    "bars": "#9fb3c8",
}
"""Names of colours in the diagram; the HTML report replaces each by a CSS variable of the same name."""

_WITNESS_POINTS = 401
_LETTER = 0.65  # widths of letters, in sizes of the font
_BESIDE = 0.9  # inches beside the axes of the drift, for labels
_NEAR = 9  # points of the curve over which the density of rows is averaged
_WEIGHTS = ((0.5, 0.35), (0.9, 0.55), (1.3, 0.75), (1.8, 1.0), (2.3, 1.0))  # width and opacity, by density
_NARROW = 0.25  # predictions in a narrower range fill the axis


def new_axes() -> Axes:
    """A new Axes on a new Figure of its own."""
    return Figure(figsize=(5.2, 5.2), layout="constrained").add_subplot()


def draw_diagram(audit: Drawable, ax: Axes | None = None) -> Axes:
    """Draw curve or level sets, consistency band, diagonal and base rate, on new axes by default."""
    ax = ax if ax is not None else new_axes()
    table = audit.reliability
    low, high = limits(audit)
    ax.plot([low, high], [low, high], color=COLOURS["muted"], lw=1, dashes=(4, 3), zorder=2)
    draw = _draw_curve if table.kind == "curve" else _draw_levels
    draw(audit, ax)
    ax.set_xlim(low, high)
    values = [column for column in (table.outcome, table.band_lower, table.band_upper) if column is not None]
    bottom = max(0.0, min(low, *(float(np.nanmin(column)) for column in values)))
    top = min(1.0, max(high, *(float(np.nanmax(column)) for column in values)))
    pad = 0.03 * (top - bottom)
    ax.set_ylim(bottom - pad if bottom > 0.0 else -0.01 * top, top + pad if top < 1.0 else 1.0 + 0.01 * (1.0 - bottom))
    ax.set_xlabel("prediction")
    ax.set_ylabel("observed rate")
    ax.annotate(
        "base rate",
        (low, audit.base_rate),
        (4, 3),
        textcoords="offset points",
        color=COLOURS["muted"],
        fontsize="small",
        zorder=5,
    )
    ax.plot(
        [low, low + 0.03 * (high - low)], [audit.base_rate] * 2, color=COLOURS["ink"], lw=2, clip_on=False, zorder=5
    )
    tidy(ax)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=4,
        frameon=False,
        fontsize="small",
        handlelength=1.3,
        columnspacing=1.1,
        labelcolor=COLOURS["ink"],
    )
    return ax


def _draw_curve(audit: Drawable, ax: Axes) -> None:
    table = audit.reliability
    x, y = table.prediction, table.outcome
    if table.band_lower is not None and table.band_upper is not None:
        label = f"calibrated ({confidence(audit.level)})"
        ax.fill_between(x, table.band_lower, table.band_upper, color=COLOURS["band"], lw=0, zorder=1, label=label)
    for where, name, words in ((y < x, "high", "too high"), (y > x, "low", "too low")):
        if where.any():
            colour = COLOURS[name]
            ax.fill_between(x, y, x, where=where, interpolate=True, color=colour, alpha=0.22, lw=0, label=words)
    faded_curve(table, ax, COLOURS["curve"], "observed")


def faded_curve(table: Reliability, ax: Axes, colour: str, label: str, dashes: tuple[float, ...] | None = None) -> None:
    """Draw a curve that is as heavy as its rows are dense, and fades out where there are almost none."""
    style: dict[str, Any] = {} if dashes is None else {"dashes": dashes}
    near = np.convolve(table.mass, np.full(_NEAR, 1.0 / _NEAR), mode="same")
    heavy = np.sqrt(near / near.max())
    step = np.minimum(len(_WEIGHTS) - 1, (heavy * len(_WEIGHTS)).astype(int))
    start = np.concatenate([[0], np.flatnonzero(np.diff(step)) + 1, [step.size - 1]])
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        width, alpha = _WEIGHTS[int(step[first])]
        here = slice(first, last + 1)

        ax.plot(
            table.prediction[here], table.outcome[here], color=colour, lw=width, alpha=alpha, zorder=4,
            solid_capstyle="butt", **style,
        )  # fmt: skip
    ax.plot([], [], color=colour, lw=2.2, label=label, **style)


def _draw_levels(audit: Drawable, ax: Axes) -> None:
    table = audit.reliability
    x, y = table.prediction, table.outcome
    if table.band_lower is not None and table.band_upper is not None:
        label = f"calibrated ({confidence(audit.level)})"
        ax.vlines(x, table.band_lower, table.band_upper, color=COLOURS["band"], lw=5, zorder=1, label=label)
    size = 18.0 + 160.0 * table.mass / table.mass.max()
    for where, name, words in (
        (y < x, "high", "too high"),
        (y > x, "low", "too low"),
        (y == x, "curve", "exactly right"),
    ):
        if where.any():
            ax.scatter(x[where], y[where], size[where], color=COLOURS[name], alpha=0.85, lw=0, zorder=4, label=words)


def draw_density(audit: Drawable, ax: Axes) -> Axes:
    """Draw how many rows each prediction, or each small range of predictions, has."""
    table = audit.reliability
    low, high = limits(audit)
    if table.kind == "levels":
        x, rows = table.prediction, table.count
        width = 0.012 * (high - low)
    else:
        bins = min(64, table.prediction.size // 4)
        rows, edges = np.histogram(
            table.prediction, bins, (table.prediction[0], table.prediction[-1]), weights=table.count
        )
        x, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0]) * 0.92
    some = rows[rows > 0]
    log = bool(some.max() > 30 * np.median(some))
    ax.bar(x, rows, width, color=COLOURS["bars"], lw=0)
    if log:
        ax.set_yscale("log")
        ax.set_ylim(0.7, some.max() * 2)
        ax.yaxis.set_major_locator(LogLocator(10, numticks=4))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_ylim(0, some.max() * 1.08)
        ax.locator_params(axis="y", nbins=3, integer=True)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:,.0f}"))
    ax.set_xlim(low, high)
    ax.set_xlabel("prediction")
    ax.set_ylabel("rows (log)" if log else "rows")
    tidy(ax)
    return ax


def limits(audit: Drawable) -> tuple[float, float]:
    """Ends of the axis of predictions: 0 and 1, unless the predictions keep to a narrow range."""
    table = audit.reliability
    low, high = float(table.prediction[0]), float(table.prediction[-1])
    span = max(high - low, 1e-3)
    if span >= _NARROW:
        return 0.0, 1.0
    return max(0.0, low - 0.08 * span), min(1.0, high + 0.08 * span)


def draw_witness(audit: Drawable, ax: Axes) -> Axes:
    """Draw the witness of the smooth error: where it is higher, predictions are too low beside where it is lower."""
    low, high = limits(audit)
    x = np.linspace(low, high, _WITNESS_POINTS)
    w = audit.witness(x)
    ax.axhline(0.0, color=COLOURS["muted"], lw=1)
    for where, name in ((w < 0.0, "high"), (w > 0.0, "low")):
        if where.any():
            ax.fill_between(x, w, 0.0, where=where, interpolate=True, color=COLOURS[name], alpha=0.35, lw=0)
    ax.plot(x, w, color=COLOURS["curve"], lw=1.4)
    ax.set_xlim(low, high)
    ax.locator_params(axis="y", nbins=3)
    ax.set_ylabel("witness")
    tidy(ax)
    return ax


def figure(audit: Audit) -> Figure:
    """Diagram above, histogram below, on one axis of predictions."""
    fig = Figure(figsize=(5.2, 6.4), layout="constrained")
    upper, lower = fig.subplots(2, 1, sharex=True, height_ratios=(4.2, 1))
    draw_diagram(audit, upper)
    upper.set_xlabel("")
    draw_density(audit, lower)
    fig.align_ylabels()
    return fig


def diagram_geometry(audit: Audit) -> tuple[float, float, float, float]:
    """Where the axis of predictions begins and ends, as shares of the figure's width, and the predictions there."""
    fig = figure(audit)
    with mpl.rc_context(STYLE):
        fig.draw_without_rendering()
    box = fig.axes[0].get_position()
    return (float(box.x0), float(box.x1), *limits(audit))


def drift_svg(audit: Audit, width: float) -> str:
    """Evidence by period as an SVG element so many inches wide, with as many labels as there is room for."""
    with mpl.rc_context(STYLE):
        return as_svg(_drift_figure(audit, width))


def _drift_figure(audit: Audit, width: float) -> Figure:
    fig = Figure(figsize=(width, 2.6), layout="constrained")
    ax = fig.add_subplot()
    evidence = np.array([max(period.reading.evalue, 1e-12) for period in audit.periods])
    at = np.arange(evidence.size)
    ax.plot(at, np.minimum(evidence, 1e12), color=COLOURS["curve"], lw=2)
    ax.axhline(1.0 / audit.level, color=COLOURS["high"], lw=1.2, dashes=(4, 3))
    ax.set_yscale("log")
    names = [str(period.period)[:10] for period in audit.periods]
    room = 72 * (width - _BESIDE) / max(evidence.size - 1, 1)  # points from one period to the next
    needed = STYLE["font.size"] * (_LETTER * max(map(len, names)) + 1)
    marks = range(0, evidence.size, math.ceil(needed / room))
    ax.set_xticks(marks, [names[i] for i in marks])
    ax.set_ylabel("evidence")
    tidy(ax)
    return fig


def both_svg(comparison: Comparison) -> str:
    """The curves of two audits in one picture, told apart without colour as well."""
    fig = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = fig.add_subplot()
    low, high = (
        end(ends) for end, ends in zip((min, max), zip(*map(limits, comparison.audits), strict=True), strict=True)
    )
    ax.plot([low, high], [low, high], color=COLOURS["muted"], lw=1, dashes=(4, 3), zorder=2, label="calibrated")
    looks = (("curve", None, "o"), ("high", (6.0, 2.0), "s"))
    for audit, name, (colour, dashes, marker) in zip(comparison.audits, comparison.names, looks, strict=True):
        table = audit.reliability
        if table.kind == "curve":
            faded_curve(table, ax, COLOURS[colour], name, dashes)
        else:
            size = 18.0 + 120.0 * table.mass / table.mass.max()
            ax.scatter(table.prediction, table.outcome, size, color=COLOURS[colour], marker=marker, lw=0, label=name)
    ax.set_xlim(low, high)
    ax.set_xlabel("prediction")
    ax.set_ylabel("observed rate")
    tidy(ax)
    ax.legend(frameon=False, fontsize="small", labelcolor=COLOURS["ink"])
    with mpl.rc_context(STYLE):
        return as_svg(fig)


def svg(audit: Audit) -> str:
    """The figure as an SVG element, text as text; the same bytes for the same audit."""
    with mpl.rc_context(STYLE):
        return as_svg(figure(audit))


STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "calibrant",
    "font.family": "sans-serif",
    "font.size": 11.0,
    "axes.unicode_minus": False,
}
"""Of figures that become SVG: text as text, and the same bytes for the same audit."""


def as_svg(fig: Figure) -> str:
    """The figure as an SVG element in the house's style."""
    file = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with mpl.rc_context(STYLE):
        fig.savefig(file, format="svg", transparent=True, metadata=nothing)
    text = file.getvalue()
    return text[text.index("<svg") :].strip()


def tidy(ax: Axes) -> None:
    """Two spines, quiet ticks, a light grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(COLOURS["hairline"])
    ax.tick_params(color=COLOURS["hairline"], labelcolor=COLOURS["muted"])
    ax.xaxis.label.set_color(COLOURS["ink"])
    ax.yaxis.label.set_color(COLOURS["ink"])
    ax.grid(True, color=COLOURS["hairline"], lw=0.6, alpha=0.6)
    ax.set_axisbelow(True)
