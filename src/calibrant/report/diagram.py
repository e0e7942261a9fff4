"""Diagrams, drawn from results with matplotlib's objects alone: no pyplot, no global state.

First the reliability diagram and the rates of periods, then decision curves, Murphy diagrams, the triptych and the plot
that journals expect.
"""

from __future__ import annotations

import math
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from calibrant.decisions.murphy import threshold_in_words
from calibrant.door.ends import confidence
from calibrant.report.frame import Drawable, counts, heights, limits, near_an_end, place, probability
from calibrant.report.style import (
    ALONE,
    COLOURS,
    STYLE,
    LettersFigure,
    Look,
    as_svg,
    colour,
    drawn,
    models,
    new_axes,
    reference,
    shade,
    with_earlier,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from calibrant.decisions.belt import CalibrationBelt
    from calibrant.decisions.clinical import ClinicalCalibration
    from calibrant.decisions.curve import Acting, DecisionBand
    from calibrant.decisions.murphy import MurphyDiagram
    from calibrant.door.columns import FloatArray
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.regions import Region
    from calibrant.findings.reliability import Axis, Reliability
    from calibrant.findings.results import Audit


_WITNESS_POINTS = 401
_BARS = 50  # of the histogram
_MOST_TICKS = 6  # of log-odds
_SIDES = (("high", r"\\\\"), ("low", "////"))


def draw_diagram(audit: Drawable, ax: Axes | None = None, examples: Sequence[Region] = ()) -> Axes:
    """Draw the curve with its band, diagonal, isotonic curve, base rate and examples, on new axes by default."""
    ax = ax if ax is not None else new_axes()
    table = audit.reliability
    low, high = limits(audit)
    bottom, top = heights(table, low, high, [audit.base_rate, *(each.estimate for each in examples)])
    set_axis(ax, table.axis, (low, high), (bottom, top))
    draw_diagonal(ax, table.axis, (low, high))
    if table.kind == "curve":
        _draw_curve(audit, ax)
    else:
        _draw_levels(audit, ax)
    ax.set_xlabel("prediction")
    ax.set_ylabel("observed rate")
    _draw_examples(examples, ax, bottom, (low, high))
    if bottom < audit.base_rate < top:
        muted: dict[str, Any] = {"color": colour("muted"), "fontsize": "small", "zorder": 5, "ha": "right"}
        ax.annotate("base rate", (high, audit.base_rate), (-2, 3), textcoords="offset points", **muted)
        ends = probability(place([low, high], table.axis) @ [[0.03, 0.0], [0.97, 1.0]], table.axis)
        ax.plot(ends, [audit.base_rate] * 2, color=colour("ink"), lw=2, clip_on=False, zorder=5)
    legend(ax)
    return ax


def draw_named(audit: Drawable, ax: Axes | None, look: Look) -> Axes:
    """Draw curve and band of one of several models, in the reader's own style."""
    ax = ax if ax is not None else new_axes()
    table, (low, high) = audit.reliability, limits(audit)
    across, up = with_earlier(ax, (low, high), heights(table, low, high, []))
    axis = _shared_axis(audit, ax, across, up)
    at = probability(_between(across, axis, 99), axis)
    reference(ax, at, at)
    x, y = table.prediction, table.outcome
    curve = table.kind == "curve"
    line = look.line(ax, x, y, f"smooth error {audit.witness.value:.2g}", points=not curve)
    there, alone = _apart(y) if curve else (np.zeros(x.size, bool), np.ones(x.size, bool))
    if curve:
        ax.plot(x[alone], y[alone], color=line.get_color(), marker="o", ls="", zorder=3)
    if table.band_lower is not None and table.band_upper is not None:
        shade(ax, line, x, table.band_lower, table.band_upper, there)
        lower, upper = table.band_lower[alone], table.band_upper[alone]
        ax.vlines(x[alone], lower, upper, color=line.get_color(), alpha=0.2, lw=4, zorder=2)
    ax.set(xlabel="prediction", ylabel="observed rate")
    return look.finish(ax)


def _shared_axis(audit: Drawable, ax: Axes, across: tuple[float, float], up: tuple[float, float] | None) -> Axis:
    """Set the axes of the models that are there, else of this one, and return their kind."""
    logit = ax.get_xscale() == "logit" or (not models(ax) and audit.reliability.axis == "log-odds")
    axis: Axis = "log-odds" if logit else "linear"
    set_axis(ax, axis, across, up)
    return axis


def set_axis(ax: Axes, axis: Axis, across: tuple[float, float], up: tuple[float, float] | None) -> None:
    """Set ends, and where they are of log-odds the scale and ticks at round probabilities."""
    for direction, ends in (("x", across), ("y", up)):
        if ends is None:
            continue
        if axis == "log-odds":
            getattr(ax, f"set_{direction}scale")("logit")
            lines = getattr(ax, f"{direction}axis")
            lines.set_major_locator(FixedLocator(_ticks(*ends)))
            lines.set_minor_locator(NullLocator())
            lines.set_major_formatter(FuncFormatter(lambda value, _position: near_an_end(value)))
        getattr(ax, f"set_{direction}lim")(*ends)


def _ticks(low: float, high: float) -> list[float]:
    """Round probabilities from low to high, few enough to be read."""
    some: list[float] = []
    for step in (1, 2, 3, 4, 6):
        tails = [10.0**-k for k in range(1, 16) if k == 1 or k % step == 0]
        some = [each for each in (*tails[::-1], 0.5, *(1.0 - tail for tail in tails)) if low <= each <= high]
        if len(some) <= _MOST_TICKS:
            break
    if len(some) < 3:
        halves = (0.02, 0.05, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.95, 0.98)
        some = sorted({*some, *(each for each in halves if low <= each <= high)})
    return some


def _between(edges: Sequence[float], axis: Axis, number: int) -> FloatArray:
    """Places evenly over an axis."""
    first, last = place(edges, axis).tolist()
    return np.linspace(first, last, number)


def draw_diagonal(ax: Axes, axis: Axis, edges: tuple[float, float]) -> None:
    """Draw where outcomes are as predicted."""
    at = probability(_between(edges, axis, 2 if axis == "linear" else 99), axis)
    ax.plot(at, at, color=colour("muted"), lw=1, dashes=(4, 3), zorder=2, label="calibrated")


def _draw_curve(audit: Drawable, ax: Axes) -> None:
    table, x = audit.reliability, audit.reliability.prediction
    line, alone = _apart(table.outcome)
    if table.band_lower is not None and table.band_upper is not None:
        look: dict[str, Any] = {"color": colour("band"), "zorder": 1}
        label = f"{confidence(audit.level)} band"
        ax.fill_between(x, table.band_lower, table.band_upper, lw=0, label=label, where=line, **look)
        ax.vlines(x[alone], table.band_lower[alone], table.band_upper[alone], lw=5, **look)
    isotonic = np.where(np.isfinite(table.outcome), table.isotonic, np.nan)
    ax.plot(x, isotonic, color=colour("ink"), lw=1.1, dashes=(1.2, 1.4), zorder=3, label="isotonic")
    draw_line(table, ax, colour("curve"), "estimated rate")


def _apart(outcome: FloatArray) -> tuple[Any, Any]:
    """Points of a line, and those that have none beside them."""
    there = np.isfinite(outcome)
    beside = np.r_[False, there[:-1]] | np.r_[there[1:], False]
    return there, there & ~beside


def draw_line(table: Reliability, ax: Axes, color: str, label: str, dashes: tuple[float, ...] | None = None) -> None:
    """Draw a curve, broken where there are no rows; a single point as a dot."""
    style: dict[str, Any] = {} if dashes is None else {"dashes": dashes}
    ax.plot(table.prediction, table.outcome, color=color, lw=2.2, zorder=4, label=label, **style)
    _, alone = _apart(table.outcome)
    at, rate = table.prediction[alone], table.outcome[alone]
    (dots,) = ax.plot(at, rate, color=color, marker="o", ls="", ms=4, zorder=4, clip_on=False)
    dots.set_in_layout(False)  # without it no dots would move the axes


def _draw_levels(audit: Drawable, ax: Axes) -> None:
    table = audit.reliability
    x, y = table.prediction, table.outcome
    if table.band_lower is not None and table.band_upper is not None:
        label = f"{confidence(audit.level)} band"
        ax.vlines(x, table.band_lower, table.band_upper, color=colour("band"), lw=5, zorder=1, label=label)
    if x.size > 1:
        ax.plot(x, table.isotonic, color=colour("ink"), lw=1.1, dashes=(1.2, 1.4), zorder=3, label="isotonic")
    size = 18.0 + 100.0 * table.mass / table.mass.max()
    ax.scatter(x, y, size, label="estimated rate", color=colour("curve"), lw=0, zorder=4)


def _draw_examples(examples: Sequence[Region], ax: Axes, bottom: float, edges: tuple[float, float]) -> None:
    """Where the headline's examples are: a bar along their predictions, and a ring at their means."""
    for k, each in enumerate(examples):
        label: dict[str, Any] = {"label": "headline"} if k == 0 else {}
        ring: dict[str, Any] = {"marker": "o", "ls": "", "ms": 9, "mfc": "none", "mew": 1.8, "zorder": 6}
        across = min(max(each.predicted, edges[0]), edges[1])
        ax.plot([across], [each.estimate], color=colour("ink"), clip_on=False, **ring, **label)
        bar: dict[str, Any] = {"lw": 3.5, "solid_capstyle": "butt", "clip_on": False, "zorder": 6}
        if each.high > each.low:
            along = np.clip([each.low, each.high], *edges)
            ax.plot(along, [bottom, bottom], color=colour("ink"), **bar)


def legend(ax: Axes, columns: int = 3, handles: float = 1.4) -> None:
    """Say above the picture what is drawn, in as many columns as its width has room for."""
    for number in range(columns, 0, -1):
        drawn = ax.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=number,
            fontsize="small",
            handlelength=handles,
            columnspacing=0.9,
            labelspacing=0.3,
            borderaxespad=0.2,
            frameon=False,
        )
        if drawn.get_window_extent().width <= ax.bbox.width:
            return


def draw_density(audit: Drawable, ax: Axes, look: Look = ALONE) -> Axes:
    """Draw how many rows each prediction, or each small range of predictions, has; of one of several as an outline."""
    table = audit.reliability
    low, high = limits(audit)
    if table.kind == "levels" or table.prediction.size == 1:
        width = 0.012 * (high - low)
        rows, left, widths = table.count, table.prediction - width / 2.0, np.full(table.count.size, width)
    else:
        bins = max(1, min(_BARS, table.prediction.size // 4))
        places = _between(table.prediction[[0, -1]].tolist(), table.axis, bins + 1)
        rows, edges = counts(table, places), probability(places, table.axis)
        left, widths = edges[:-1], np.diff(edges)
    some = rows[rows > 0]
    if look:
        across, up = with_earlier(ax, (low, high), (0.0, 1.08 * some.max()))
        _shared_axis(audit, ax, across, None)
        outline = np.column_stack([left, left, left + widths, left + widths]).ravel()
        look.line(ax, outline, np.column_stack([0.0 * rows, rows, rows, 0.0 * rows]).ravel())
        ax.set(ylim=up, xlabel="prediction", ylabel="rows")
        return look.finish(ax)
    log = bool(some.max() > 30 * np.median(some))
    ax.bar(left, rows, widths, color=colour("bars"), align="edge", lw=0.3, edgecolor="none")
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
    set_axis(ax, table.axis, (low, high), None)
    ax.set_xlabel("prediction")
    ax.set_ylabel("rows (log)" if log else "rows")
    return ax


def draw_witness(audit: Drawable, ax: Axes, look: Look = ALONE) -> Axes:
    """Draw the witness of the smooth error: where it is higher, predictions are too low beside where it is lower."""
    low, high = limits(audit)
    axis = audit.reliability.axis
    x = probability(_between((low, high), axis, _WITNESS_POINTS), axis)
    w = audit.witness(x)
    if look:
        across, _ = with_earlier(ax, (low, high), (0.0, 0.0))
        _shared_axis(audit, ax, across, None)
        reference(ax, across, (0.0, 0.0))
        look.line(ax, x, w, f"smooth error {audit.witness.value:.2g}")
        ax.set(xlabel="prediction", ylabel="witness")
        return look.finish(ax)
    ax.axhline(0.0, color=colour("muted"), lw=1)
    for (name, hatch), where in zip(_SIDES, (w < 0.0, w > 0.0), strict=True):
        ax.fill_between(x, w, 0.0, where=where, interpolate=True, color=colour(name), alpha=0.2, lw=0)
        lines: dict[str, Any] = {"facecolor": "none", "edgecolor": colour(name), "hatch": hatch, "lw": 0}
        ax.fill_between(x, w, 0.0, where=where, interpolate=True, **lines)
    ax.plot(x, w, color=colour("curve"), lw=1.4)
    set_axis(ax, axis, (low, high), None)
    ax.locator_params(axis="y", nbins=3)
    ax.set_ylabel("witness")
    return ax


_SIZE = (4.3, 4.9)  # inches: small, so that its letters can be read where the picture is 330 pixels wide
MOST_EVIDENCE = 1e12  # that is drawn: beyond it nobody needs to tell how much
_LETTER = 0.65  # widths of letters, in sizes of the font
_LONGEST = 22  # letters of a name in a legend
_BESIDE = 0.9  # inches beside the axes of the drift, for labels
# Colour, dashes and marker of each of several audits: told apart in grey as well.
_LOOKS: tuple[tuple[str, tuple[float, ...] | None, str], ...] = (
    ("curve", None, "o"),
    ("high", (6.0, 2.0), "s"),
    ("ink", (1.5, 1.2), "^"),
    ("low", (6.0, 1.5, 1.5, 1.5), "D"),
    ("muted", (3.0, 1.5), "v"),
    ("curve", (8.0, 1.5, 1.5, 1.5, 1.5, 1.5), "P"),
    ("high", None, "X"),
    ("ink", (3.0, 3.0), "*"),
)


def draw_audit(audit: Audit, ax: Axes | None = None, **several: Any) -> Axes:
    """Draw an audit's diagram, with the examples that its headline tells, or as one of several models."""
    look = Look(**several)
    return draw_named(audit, ax, look) if look else draw_diagram(audit, ax, audit.answer.examples)


def figure(audit: Audit, size: tuple[float, float] = _SIZE) -> Figure:
    """Diagram above, histogram below, on one axis of predictions."""
    fig = Figure(figsize=size, layout="constrained")
    upper, lower = fig.subplots(2, 1, sharex=True, height_ratios=(4.6, 1))
    draw_audit(audit, upper)
    upper.set_xlabel("")
    draw_density(audit, lower)
    fig.align_ylabels()
    return fig


def diagram(audit: Audit) -> tuple[str, tuple[float, float], tuple[float, float]]:
    """The figure as an SVG element, where its axis of predictions begins and ends in shares of its width, and at which
    places of that axis."""
    with mpl.rc_context(STYLE):
        fig = figure(audit)
        picture = as_svg(fig)  # which lays it out
    box = fig.axes[0].get_position()
    low, high = place(limits(audit), audit.reliability.axis).tolist()
    return picture, (float(box.x0), float(box.x1)), (low, high)


def svg(audit: Audit, size: tuple[float, float] = _SIZE) -> str:
    """The figure as an SVG element, text as text; the same bytes for the same audit."""
    return drawn(lambda: figure(audit, size))


def drift_svg(audit: Audit, width: float) -> str:
    """Rates and evidence by period as an SVG element so many inches wide, with as many labels as there is room for."""
    return drawn(lambda: _drift_figure(audit, width))


def _drift_figure(audit: Audit, width: float) -> Figure:
    fig = Figure(figsize=(width, 4.0), layout="constrained")
    upper, ax = fig.subplots(2, 1, sharex=True, height_ratios=(1, 1.2))
    evidence = np.array([max(period.reading.evalue, 1e-12) for period in audit.periods])
    at = np.arange(evidence.size)
    upper.plot(at, [period.base_rate for period in audit.periods], color=COLOURS["curve"], lw=2, label="observed")
    predicted = [period.mean_prediction for period in audit.periods]
    upper.plot(at, predicted, color=COLOURS["ink"], lw=1.4, dashes=(4, 2), label="predicted")
    upper.set_ylabel("rate")
    upper.legend(frameon=False, loc="best")
    ax.plot(at, np.minimum(evidence, MOST_EVIDENCE), color=COLOURS["curve"], lw=2)
    ax.axhline(1.0 / audit.level, color=COLOURS["high"], lw=1.2, dashes=(4, 3))
    ax.set_yscale("log")
    names = [str(period.period)[:10] for period in audit.periods]
    room = 72 * (width - _BESIDE) / max(evidence.size - 1, 1)  # points from one period to the next
    needed = STYLE["font.size"] * (_LETTER * max(map(len, names)) + 1)
    marks = range(0, evidence.size, math.ceil(needed / room))
    ax.set_xticks(marks, [names[i] for i in marks])
    ax.set_ylabel("evidence")
    fig.align_ylabels()
    return fig


def draw_curves(comparison: Comparison, ax: Axes) -> Axes:
    """Draw the curves of several audits in one picture, told apart without colour as well."""
    tables = [audit.reliability for audit in comparison.audits]
    low, high = (
        end(ends) for end, ends in zip((min, max), zip(*map(limits, comparison.audits), strict=True), strict=True)
    )
    axis = tables[0].axis if all(each.axis == tables[0].axis for each in tables) else "linear"
    up = [heights(each, low, high, []) for each in tables]
    set_axis(ax, axis, (low, high), (min(each[0] for each in up), max(each[1] for each in up)))
    draw_diagonal(ax, axis, (low, high))
    for k, (audit, name) in enumerate(zip(comparison.audits, comparison.names, strict=True)):
        table, (colour, dashes, marker) = audit.reliability, _LOOKS[k % len(_LOOKS)]
        name = textwrap.shorten(name, _LONGEST, placeholder="...") if " " in name else name[:_LONGEST]
        if table.kind == "curve":
            draw_line(table, ax, COLOURS[colour], name, dashes)
        else:
            size = 18.0 + 120.0 * table.mass / table.mass.max()
            ax.scatter(table.prediction, table.outcome, size, color=COLOURS[colour], marker=marker, lw=0, label=name)
    ax.set_xlabel("prediction")
    ax.set_ylabel("observed rate")
    legend(ax, 2, 3.0)
    return ax


def curves_svg(comparison: Comparison) -> str:
    """The curves of several audits as an SVG element."""
    return _svg_of(partial(draw_curves, comparison), (4.6, 4.0))


_ROOM = 1.15  # of the largest value, for the axis
_POINTS = 801


def _steps(x: FloatArray, at: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve that jumps: both limits at each place."""
    return np.repeat(x, 2), np.column_stack([at, after]).ravel()


class NetBenefits(Protocol):
    """Source of a decision curve: the curve itself, or what an audit keeps of it."""

    @property
    def thresholds(self) -> FloatArray:
        """Increasing."""

    @property
    def net_benefit(self) -> FloatArray:
        """At the thresholds."""

    @property
    def net_benefit_after(self) -> FloatArray:
        """Its limit from above."""

    @property
    def best_net_benefit(self) -> FloatArray:
        """Net benefit of the best cut."""

    @property
    def base_rate(self) -> float:
        """Share of events."""


def draw_decision_curve(
    curve: NetBenefits, ax: Axes | None, band: DecisionBand | None, threshold: float | None = None, **several: Any
) -> Axes:
    """Draw net benefit of the predictions, the best cut, all and none, up to where no row is acted on.

    A threshold is marked.
    """
    ax = ax if ax is not None else new_axes()
    acting = (curve.net_benefit != 0.0) | (curve.best_net_benefit > 0.0)
    last = float(curve.thresholds[acting][-1]) if acting.any() else 1.0
    end = min(0.995, max(_ROOM * max(last, threshold or 0.0), 0.02))
    if look := Look(**several):
        return _draw_named(curve, ax, band, look, end)
    if band is not None:
        low, high = band.net_benefit_lower, band.net_benefit_upper
        _fill(ax, band.thresholds, low, high, f"{confidence(band.level)} band", zorder=1)
    t = np.linspace(0.0, end, _POINTS)
    every = curve.base_rate - t / (1.0 - t) * (1.0 - curve.base_rate)
    ax.plot(t, every, color=colour("muted"), lw=1.2, dashes=(1.5, 1.5), label="act on all")
    ax.axhline(0.0, color=colour("ink"), lw=1.2, label="act on none")
    ax.plot(curve.thresholds, curve.best_net_benefit, color=colour("high"), lw=1.2, dashes=(5, 2), label="best cut")
    x, y = _steps(curve.thresholds, curve.net_benefit, curve.net_benefit_after)
    ax.plot(x, y, color=colour("curve"), lw=2.0, label="predictions")
    top = max(float(curve.best_net_benefit.max()), 1e-6)
    if threshold is not None:
        ax.axvline(
            threshold,
            color=colour("ink"),
            lw=1.0,
            dashes=(6.0, 1.5, 1.0, 1.5),
            label=f"threshold {threshold_in_words(threshold)}",
        )
    ax.set_xlim(0.0, end)
    ax.set_ylim(-0.25 * top, _ROOM * top)
    ax.set_xlabel("threshold probability")
    ax.set_ylabel("net benefit")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:.4g}"))
    _legend(ax)
    return ax


def _draw_named(curve: NetBenefits, ax: Axes, band: DecisionBand | None, look: Look, end: float) -> Axes:
    """Draw net benefit of one of several models, and that of all and none once."""
    top = max(float(curve.best_net_benefit.max()), 1e-6)
    across, up = with_earlier(ax, (0.0, end), (-0.25 * top, _ROOM * top))
    t = np.linspace(0.0, across[1], _POINTS)
    reference(ax, t, curve.base_rate - t / (1.0 - t) * (1.0 - curve.base_rate), "act on all")
    reference(ax, across, (0.0, 0.0), "act on none", "-")
    line = look.line(ax, *_steps(curve.thresholds, curve.net_benefit, curve.net_benefit_after))
    if band is not None:
        shade(ax, line, band.thresholds, band.net_benefit_lower, band.net_benefit_upper)
    ax.set(xlim=across, ylim=up, xlabel="threshold probability", ylabel="net benefit")
    return look.finish(ax)


def draw_murphy(diagram: MurphyDiagram, ax: Axes | None, **several: Any) -> Axes:
    """Draw the elementary score and its parts by threshold; of one of several models the score alone."""
    ax = ax if ax is not None else new_axes()
    t = diagram.thresholds
    if look := Look(**several):
        score, after = diagram.elementary_score, diagram.elementary_score_after
        across, up = with_earlier(ax, (0.0, 1.0), (0.0, 1.05 * max(score.max(), after.max(), 1e-6)))
        look.line(ax, *_steps(t, score, after), f"mean {diagram.corp.mean_score:.4f}")
        ax.set(xlim=across, ylim=up, xlabel="threshold", ylabel="mean elementary score")
        return look.finish(ax)
    ax.plot(t, diagram.elementary_uncertainty, color=colour("muted"), lw=1.2, dashes=(1.5, 1.5), label="uncertainty")
    ax.plot(t, diagram.elementary_discrimination, color=colour("low"), lw=1.2, dashes=(5, 2), label="discrimination")
    for at, after, name, width, words in (
        (diagram.elementary_miscalibration, diagram.elementary_miscalibration_after, "high", 1.2, "miscalibration"),
        (diagram.elementary_score, diagram.elementary_score_after, "curve", 2.0, "score"),
    ):
        ax.plot(*_steps(t, at, after), color=colour(name), lw=width, label=words)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, None)
    ax.set_xlabel("threshold")
    ax.set_ylabel("mean elementary score")
    _legend(ax)
    return ax


def draw_isotonic(diagram: MurphyDiagram, ax: Axes, **several: Any) -> Axes:
    """Draw the isotonic reliability curve."""
    corp = diagram.corp
    if look := Look(**several):
        reference(ax, (0, 1), (0, 1))
        look.line(ax, corp.prediction, corp.recalibrated, f"miscalibration {corp.miscalibration:.4f}")
        _unit(ax, "prediction", "isotonic event rate")
        return look.finish(ax)
    ax.plot([0, 1], [0, 1], color=colour("muted"), lw=1, dashes=(4, 3))
    ax.plot(corp.prediction, corp.recalibrated, color=colour("curve"), lw=2.0)
    _unit(ax, "prediction", "isotonic event rate")
    return ax


def draw_roc(diagram: MurphyDiagram, ax: Axes, **several: Any) -> Axes:
    """Draw the ROC curve with its hull; of one of several models the curve alone."""
    x, y = diagram.false_positive_rate, diagram.true_positive_rate
    if look := Look(**several):
        reference(ax, (0, 1), (0, 1))
        look.line(ax, x, y, f"area {diagram.area:.4f}")
        _unit(ax, "false positive rate", "true positive rate")
        return look.finish(ax)
    ax.plot([0, 1], [0, 1], color=colour("muted"), lw=1, dashes=(4, 3))
    ax.plot(x[diagram.on_hull], y[diagram.on_hull], color=colour("low"), lw=1.2, label="hull: the best cuts")
    ax.plot(x, y, color=colour("curve"), lw=2.0, label="predictions")
    _unit(ax, "false positive rate", "true positive rate")
    _legend(ax)
    return ax


def draw_triptych(diagram: MurphyDiagram, axes: Sequence[Axes] | None, **several: Any) -> Figure:
    """Draw reliability curve, Murphy diagram and ROC curve; each of several models has its numbers in the legends."""
    if axes is None:
        axes = LettersFigure(figsize=(13.5, 4.8), layout="constrained").subplots(1, 3)
    for ax, draw, title in zip(axes, (draw_isotonic, draw_murphy, draw_roc), titles(diagram), strict=True):
        draw(diagram, ax, **several).set_title(title.partition(":")[0] if Look(**several) else title)
    return cast("Figure", axes[0].figure)


def titles(diagram: MurphyDiagram) -> tuple[str, str, str]:
    """Titles of the three panels, each with its number."""
    corp = diagram.corp
    return (
        f"Reliability: miscalibration {corp.miscalibration:.4f}",
        f"Elementary scores: mean {corp.mean_score:.4f}",
        f"ROC: area {diagram.area:.4f}",
    )


def decision_svg(acting: Acting) -> str:
    """The decision curve with its band as an SVG element, the threshold of the cost marked."""
    return _svg_of(partial(draw_decision_curve, acting, band=acting.band, threshold=acting.threshold))


def triptych_svgs(acting: Acting) -> list[tuple[str, str]]:
    """Reliability, elementary scores and ROC as titles and SVG elements; a page sets them side by side, or not."""
    draws = (draw_isotonic, draw_murphy, draw_roc)
    return [
        (title, _svg_of(partial(draw, acting.murphy))) for title, draw in zip(titles(acting.murphy), draws, strict=True)
    ]


def _svg_of(draw: Callable[[Axes], Any], size: tuple[float, float] = (5.2, 4.2)) -> str:
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=size, layout="constrained")
        draw(fig.add_subplot())
        return as_svg(fig)


def _fill(ax: Axes, x: FloatArray, low: FloatArray, high: FloatArray, label: str, **more: Any) -> None:
    ax.fill_between(x, low, high, color=colour("band"), lw=0, label=label, **more)


def _unit(ax: Axes, across: str, up: str) -> None:
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=across, ylabel=up)


def _legend(ax: Any) -> None:
    ax.legend(fontsize="small")


_TALL = 0.08  # of the axis, for the tallest bar of the distribution
_ABOVE = ("Observed : expected", "Calibration-in-the-large", "Calibration slope", "ICI", "C-statistic", "Brier score")


def draw_clinical(calibration: ClinicalCalibration, ax: Axes | None, **several: Any) -> Axes:
    """Draw observed against predicted risk, with the distribution of predictions by outcome below it."""
    ax = ax if ax is not None else new_axes()
    end = _end(calibration.prediction[-1], calibration.observed.max(), calibration.deciles.max())
    if look := Look(**several):
        return _draw_named_curve(calibration, ax, look, end, f"slope {calibration.calibration_slope.value:.2f}")
    ax.plot([0.0, end], [0.0, end], color=colour("muted"), lw=1, dashes=(4, 3), label="ideal")
    low, high = calibration.observed_lower, calibration.observed_upper
    _fill(ax, calibration.prediction, low, high, f"{confidence(calibration.level)} band")
    ax.plot(calibration.prediction, calibration.observed, color=colour("curve"), lw=2.0, label=calibration.curve)
    ax.plot(*calibration.deciles.T, "^", color=colour("ink"), ms=5, label="tenths of the rows")
    centre = (np.arange(calibration.histogram.shape[1]) + 0.5) / calibration.histogram.shape[1]
    scale = _TALL * end / max(float(calibration.histogram.max()), 1e-300)
    base = -1.2 * _TALL * end
    for row, sign, name in ((calibration.histogram[1], 1.0, "high"), (calibration.histogram[0], -1.0, "low")):
        ax.vlines(centre, base, base + sign * scale * row, color=colour(name), lw=2)
    ax.axhline(base, color=colour("hairline"), lw=0.8)
    ax.annotate("events", (end, base), (4, 2), textcoords="offset points", ha="left", fontsize="x-small")
    ax.annotate("others", (end, base), (4, -8), textcoords="offset points", ha="left", fontsize="x-small")
    lines = "\n".join(f"{name} {calibration.estimates[name].summary()}" for name in _ABOVE)
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    ax.annotate(lines, (0.0, 1.0), (-30, 4), fontsize="x-small", color=colour("ink"), **above)  # where no curve crosses
    ax.set(xlim=(0.0, end), ylim=(base - 1.2 * _TALL * end, end), xlabel="predicted risk", ylabel="observed proportion")
    ax.legend(loc="best", fontsize="x-small")
    return ax


def draw_belt(belt: CalibrationBelt, ax: Axes | None, **several: Any) -> Axes:
    """Draw curve and belt against the diagonal."""
    ax = ax if ax is not None else new_axes()
    end = _end(belt.prediction[-1])
    if look := Look(**several):
        return _draw_named_curve(belt, ax, look, end, f"p = {belt.pvalue:.2g}")
    ax.plot([0.0, end], [0.0, end], color=colour("muted"), lw=1, dashes=(4, 3), label="ideal")
    _fill(ax, belt.prediction, belt.observed_lower, belt.observed_upper, f"{confidence(belt.level)} belt")
    ax.plot(belt.prediction, belt.observed, color=colour("curve"), lw=2.0, label=f"degree {belt.degree}")
    ax.annotate(f"p = {belt.pvalue:.3g}", (0.02, 0.98), xycoords="axes fraction", va="top", fontsize="small")
    ax.set(xlim=(0.0, end), ylim=(0.0, end), xlabel="predicted risk", ylabel="observed proportion")
    ax.legend(loc="lower right", fontsize="small")
    return ax


def _draw_named_curve(
    curve: ClinicalCalibration | CalibrationBelt, ax: Axes, look: Look, end: float, number: str
) -> Axes:
    """Draw curve and band of one of several models against the diagonal."""
    across, up = with_earlier(ax, (0.0, end), (0.0, end))
    reference(ax, across, across)
    line = look.line(ax, curve.prediction, curve.observed, number)
    shade(ax, line, curve.prediction, curve.observed_lower, curve.observed_upper)
    ax.set(xlim=across, ylim=up, xlabel="predicted risk", ylabel="observed proportion")
    return look.finish(ax)


def _end(*drawn: float) -> float:
    """Where both axes end: at 1 unless all that is drawn lies far below."""
    return 1.0 if max(drawn) > 0.5 else 1.3 * float(max(drawn))
