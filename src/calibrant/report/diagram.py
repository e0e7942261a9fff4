"""The reliability diagram, drawn from its table with matplotlib's objects alone: no pyplot, no global state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from calibrant.door.ends import confidence
from calibrant.report.frame import Drawable, heavy, heights, limits
from calibrant.report.look import COLOURS, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.door.columns import FloatArray
    from calibrant.findings.decision import Example
    from calibrant.findings.reliability import Reliability


_WITNESS_POINTS = 401
_WEIGHTS = ((0.6, 0.45), (0.9, 0.8), (1.4, 1.0), (2.0, 1.0), (2.6, 1.0))  # width and opacity, by density
_SHADED = 0.2  # where rows are fewer than this, on the scale of `heavy`, nothing is shaded
_SIDES = (("high", "too high", r"\\\\"), ("low", "too low", "////"))


def draw_diagram(
    audit: Drawable, ax: Axes | None = None, examples: Sequence[Example] = (), *, shaded: bool = True
) -> Axes:
    """Draw curves or level sets, consistency band, diagonal, base rate and examples, on new axes by default.

    Where chance explains all of it, what lies between the curve and the diagonal is not `shaded`: it is no error.
    """
    ax = ax if ax is not None else new_axes()
    table = audit.reliability
    low, high = limits(audit, examples)
    ax.plot([low, high], [low, high], color=COLOURS["muted"], lw=1, dashes=(4, 3), zorder=2)
    draw = _draw_curve if table.kind == "curve" else _draw_levels
    draw(audit, ax, shaded)
    ax.set_xlim(low, high)
    bottom, top = heights(table, low, high, [audit.base_rate, *(each.happened for each in examples)])
    ax.set_ylim(bottom, top)
    ax.set_xlabel("prediction")
    ax.set_ylabel("observed rate")
    _draw_examples(examples, ax, bottom, (low, high))
    muted: dict[str, Any] = {"color": COLOURS["muted"], "fontsize": "small", "zorder": 5, "ha": "right"}
    ax.annotate("base rate", (high, audit.base_rate), (-2, 3), textcoords="offset points", **muted)
    ends = [high - 0.03 * (high - low), high]
    ax.plot(ends, [audit.base_rate] * 2, color=COLOURS["ink"], lw=2, clip_on=False, zorder=5)
    tidy(ax)
    legend(ax)
    return ax


def _draw_curve(audit: Drawable, ax: Axes, shaded: bool) -> None:
    table = audit.reliability
    x, y = table.prediction, table.outcome
    if table.band_lower is not None and table.band_upper is not None:
        label = f"if calibrated ({confidence(audit.level)})"
        ax.fill_between(x, table.band_lower, table.band_upper, color=COLOURS["band"], lw=0, zorder=1, label=label)
    dense = heavy(table) > _SHADED
    for side, where in zip(_SIDES, (dense & (y < x), dense & (y > x)), strict=True) if shaded else ():
        _shade(ax, x, y, x, where, side)
    ax.plot(x, table.isotonic, color=COLOURS["ink"], lw=1.1, dashes=(1.2, 1.4), zorder=3, label="isotonic")
    faded_curve(table, ax, COLOURS["curve"], "smoothed")


def _shade(ax: Axes, x: FloatArray, y: FloatArray, to: Any, where: Any, side: tuple[str, str, str]) -> None:
    """Fill between two curves with a colour and, for readers who do not see it, a hatch."""
    name, words, hatch = side
    if not where.any():
        return
    ax.fill_between(x, y, to, where=where, interpolate=True, color=COLOURS[name], alpha=0.2, lw=0)
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": COLOURS[name], "hatch": hatch, "lw": 0}
    ax.fill_between(x, y, to, where=where, interpolate=True, label=words or None, **look)


def faded_curve(table: Reliability, ax: Axes, colour: str, label: str, dashes: tuple[float, ...] | None = None) -> None:
    """Draw a curve that is as heavy as its rows are dense, and fades out where there are almost none."""
    style: dict[str, Any] = {} if dashes is None else {"dashes": dashes}
    step = np.minimum(len(_WEIGHTS) - 1, (heavy(table) * len(_WEIGHTS)).astype(int))
    start = np.concatenate([[0], np.flatnonzero(np.diff(step)) + 1, [step.size - 1]])
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        width, alpha = _WEIGHTS[int(step[first])]
        here = slice(first, last + 1)
        line: dict[str, Any] = {"color": colour, "lw": width, "alpha": alpha, "solid_capstyle": "round", **style}
        ax.plot(table.prediction[here], table.outcome[here], zorder=4, **line)
    ax.plot([], [], color=colour, lw=2.2, label=label, **style)


def _draw_levels(audit: Drawable, ax: Axes, shaded: bool) -> None:
    table = audit.reliability
    x, y = table.prediction, table.outcome
    if table.band_lower is not None and table.band_upper is not None:
        label = f"if calibrated ({confidence(audit.level)})"
        ax.vlines(x, table.band_lower, table.band_upper, color=COLOURS["band"], lw=5, zorder=1, label=label)
    if x.size > 1:
        ax.plot(x, table.isotonic, color=COLOURS["ink"], lw=1.1, dashes=(1.2, 1.4), zorder=3, label="isotonic")
    size = 18.0 + 160.0 * table.mass / table.mass.max()
    looks: Any = (
        (y < x, "high", "too high", "v"),
        (y > x, "low", "too low", "^"),
        (y == x, "curve", "exactly right", "o"),
    )
    if not shaded:
        looks = ((y == y, "curve", "observed", "o"),)
    for where, name, words, marker in looks:
        if where.any():
            look: dict[str, Any] = {"color": COLOURS[name], "alpha": 0.85, "lw": 0, "zorder": 4, "marker": marker}
            ax.scatter(x[where], y[where], size[where], label=words, **look)


def _draw_examples(examples: Sequence[Example], ax: Axes, bottom: float, ends: tuple[float, float]) -> None:
    """Where the headline's examples are: a bar along their predictions, and a ring at their means."""
    for k, each in enumerate(examples):
        label: dict[str, Any] = {"label": "headline"} if k == 0 else {}
        ring: dict[str, Any] = {"marker": "o", "ls": "", "ms": 9, "mfc": "none", "mew": 1.8, "zorder": 6}
        ax.plot([each.predicted], [each.happened], color=COLOURS["ink"], clip_on=False, **ring, **label)
        bar: dict[str, Any] = {"lw": 3.5, "solid_capstyle": "butt", "clip_on": False, "zorder": 6}
        if each.high > each.low:
            along = np.clip([each.low, each.high], *ends)
            ax.plot(along, [bottom, bottom], color=COLOURS["ink"], **bar)


def legend(ax: Axes, columns: int = 3, handles: float = 1.4) -> None:
    """Say above the picture what is drawn."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize="small",
        handlelength=handles,
        columnspacing=0.9,
        labelspacing=0.3,
        borderaxespad=0.2,
        labelcolor=COLOURS["ink"],
    )


def draw_density(audit: Drawable, ax: Axes, examples: Sequence[Example] = ()) -> Axes:
    """Draw how many rows each prediction, or each small range of predictions, has."""
    table = audit.reliability
    low, high = limits(audit, examples)
    if table.kind == "levels":
        x, rows = table.prediction, table.count
        width = 0.012 * (high - low)
    else:
        inside = (table.prediction >= low) & (table.prediction <= high)
        at = table.prediction[inside]
        bins = max(1, min(64, at.size // 4))
        rows, edges = np.histogram(at, bins, (at[0], at[-1]), weights=table.count[inside])
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


def draw_witness(audit: Drawable, ax: Axes) -> Axes:
    """Draw the witness of the smooth error: where it is higher, predictions are too low beside where it is lower."""
    low, high = limits(audit)
    x = np.linspace(low, high, _WITNESS_POINTS)
    w = audit.witness(x)
    ax.axhline(0.0, color=COLOURS["muted"], lw=1)
    for (name, _, hatch), where in zip(_SIDES, (w < 0.0, w > 0.0), strict=True):
        _shade(ax, x, w, 0.0, where, (name, "", hatch))
    ax.plot(x, w, color=COLOURS["curve"], lw=1.4)
    ax.set_xlim(low, high)
    ax.locator_params(axis="y", nbins=3)
    ax.set_ylabel("witness")
    tidy(ax)
    return ax
