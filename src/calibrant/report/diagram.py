"""The reliability diagram, drawn from its table with matplotlib's objects alone: no pyplot, no global state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from calibrant.door.ends import confidence
from calibrant.report.frame import Drawable, counts, heights, limits, near_an_end, place, probability
from calibrant.report.look import COLOURS, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.door.columns import FloatArray
    from calibrant.findings.regions import Region
    from calibrant.findings.reliability import Axis, Reliability

_WITNESS_POINTS = 401
_BARS = 50  # of the histogram
_MOST_TICKS = 6  # of log-odds
_NAMED, _DIAGONAL = "calibrant curve", "calibrant diagonal"
_DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = "osD^v"
_SIDES = (("high", r"\\\\"), ("low", "////"))


def draw_diagram(audit: Drawable, ax: Axes | None = None, examples: Sequence[Region] = ()) -> Axes:
    """Draw the curve with its band, diagonal, isotonic curve, base rate and examples, on new axes by default."""
    ax = ax if ax is not None else new_axes()
    table = audit.reliability
    low, high = limits(audit)
    bottom, top = heights(table, low, high, [audit.base_rate, *(each.happened for each in examples)])
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
        muted: dict[str, Any] = {"color": COLOURS["muted"], "fontsize": "small", "zorder": 5, "ha": "right"}
        ax.annotate("base rate", (high, audit.base_rate), (-2, 3), textcoords="offset points", **muted)
        ends = probability(place([low, high], table.axis) @ [[0.03, 0.0], [0.97, 1.0]], table.axis)
        ax.plot(ends, [audit.base_rate] * 2, color=COLOURS["ink"], lw=2, clip_on=False, zorder=5)
    tidy(ax)
    legend(ax)
    return ax


def draw_named(audit: Drawable, ax: Axes | None, name: str | None, color: Any) -> Axes:
    """Draw curve and band of one of several models, in the reader's own style; the first on an Axes draws the diagonal.

    Lines differ by dashes as well; a colour that is not given is the next of the style's.
    """
    ax = ax if ax is not None else new_axes()
    table, (low, high) = audit.reliability, limits(audit)
    bottom, top = heights(table, low, high, [])
    earlier = sum(line.get_gid() == _NAMED for line in ax.lines)
    if earlier:
        (left, right), (foot, head) = ax.get_xlim(), ax.get_ylim()
        low, high, bottom, top = min(low, left), max(high, right), min(bottom, foot), max(top, head)
        for line in ax.lines:
            if line.get_gid() == _DIAGONAL:
                line.remove()
    axis: Axis = "log-odds" if ax.get_xscale() == "logit" or (not earlier and table.axis == "log-odds") else "linear"
    set_axis(ax, axis, (low, high), (bottom, top))
    at = probability(_between((low, high), axis, 99), axis)
    ax.plot(at, at, color="0.5", lw=0.8, ls=":", zorder=1, gid=_DIAGONAL)
    x, y = table.prediction, table.outcome
    (line,) = ax.plot(x, y, color=color, ls=_DASHES[earlier % len(_DASHES)], label=name, gid=_NAMED, zorder=3)
    there, alone = _apart(y) if table.kind == "curve" else (np.zeros(x.size, bool), np.ones(x.size, bool))
    if table.kind != "curve":
        line.set(linestyle="none", marker=_MARKERS[earlier % len(_MARKERS)])
    ax.plot(x[alone], y[alone], color=line.get_color(), marker=line.get_marker() or "o", ls="", zorder=3)
    if table.band_lower is not None and table.band_upper is not None:
        look: dict[str, Any] = {"color": line.get_color(), "alpha": 0.2, "zorder": 2}
        ax.fill_between(x, table.band_lower, table.band_upper, where=there, lw=0, **look)
        ax.vlines(x[alone], table.band_lower[alone], table.band_upper[alone], lw=4, **look)
    ax.set(xlabel="prediction", ylabel="observed rate")
    if name is not None:
        ax.legend()
    return ax


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


def _between(ends: Sequence[float], axis: Axis, number: int) -> FloatArray:
    """Places evenly over an axis."""
    first, last = place(ends, axis).tolist()
    return np.linspace(first, last, number)


def draw_diagonal(ax: Axes, axis: Axis, ends: tuple[float, float]) -> None:
    """Draw where outcomes are as predicted."""
    at = probability(_between(ends, axis, 2 if axis == "linear" else 99), axis)
    ax.plot(at, at, color=COLOURS["muted"], lw=1, dashes=(4, 3), zorder=2, label="calibrated")


def _draw_curve(audit: Drawable, ax: Axes) -> None:
    table, x = audit.reliability, audit.reliability.prediction
    line, alone = _apart(table.outcome)
    if table.band_lower is not None and table.band_upper is not None:
        look: dict[str, Any] = {"color": COLOURS["band"], "zorder": 1}
        label = f"{confidence(audit.level)} band"
        ax.fill_between(x, table.band_lower, table.band_upper, lw=0, label=label, where=line, **look)
        ax.vlines(x[alone], table.band_lower[alone], table.band_upper[alone], lw=5, **look)
    isotonic = np.where(np.isfinite(table.outcome), table.isotonic, np.nan)
    ax.plot(x, isotonic, color=COLOURS["ink"], lw=1.1, dashes=(1.2, 1.4), zorder=3, label="isotonic")
    draw_line(table, ax, COLOURS["curve"], "estimated rate")


def _apart(outcome: FloatArray) -> tuple[Any, Any]:
    """Points of a line, and those that have none beside them."""
    there = np.isfinite(outcome)
    beside = np.r_[False, there[:-1]] | np.r_[there[1:], False]
    return there, there & ~beside


def draw_line(table: Reliability, ax: Axes, colour: str, label: str, dashes: tuple[float, ...] | None = None) -> None:
    """Draw a curve, broken where there are no rows; a single point as a dot."""
    style: dict[str, Any] = {} if dashes is None else {"dashes": dashes}
    ax.plot(table.prediction, table.outcome, color=colour, lw=2.2, zorder=4, label=label, **style)
    _, alone = _apart(table.outcome)
    ax.plot(table.prediction[alone], table.outcome[alone], color=colour, marker="o", ls="", ms=4, zorder=4)


def _draw_levels(audit: Drawable, ax: Axes) -> None:
    table = audit.reliability
    x, y = table.prediction, table.outcome
    if table.band_lower is not None and table.band_upper is not None:
        label = f"{confidence(audit.level)} band"
        ax.vlines(x, table.band_lower, table.band_upper, color=COLOURS["band"], lw=5, zorder=1, label=label)
    if x.size > 1:
        ax.plot(x, table.isotonic, color=COLOURS["ink"], lw=1.1, dashes=(1.2, 1.4), zorder=3, label="isotonic")
    size = 18.0 + 100.0 * table.mass / table.mass.max()
    ax.scatter(x, y, size, label="estimated rate", color=COLOURS["curve"], lw=0, zorder=4)


def _draw_examples(examples: Sequence[Region], ax: Axes, bottom: float, ends: tuple[float, float]) -> None:
    """Where the headline's examples are: a bar along their predictions, and a ring at their means."""
    for k, each in enumerate(examples):
        label: dict[str, Any] = {"label": "headline"} if k == 0 else {}
        ring: dict[str, Any] = {"marker": "o", "ls": "", "ms": 9, "mfc": "none", "mew": 1.8, "zorder": 6}
        across = min(max(each.predicted, ends[0]), ends[1])
        ax.plot([across], [each.happened], color=COLOURS["ink"], clip_on=False, **ring, **label)
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


def draw_density(audit: Drawable, ax: Axes) -> Axes:
    """Draw how many rows each prediction, or each small range of predictions, has."""
    table = audit.reliability
    low, high = limits(audit)
    if table.kind == "levels":
        width = 0.012 * (high - low)
        rows, left, widths = table.count, table.prediction - width / 2.0, np.full(table.count.size, width)
    else:
        bins = max(1, min(_BARS, table.prediction.size // 4))
        places = _between(table.prediction[[0, -1]].tolist(), table.axis, bins + 1)
        rows, edges = counts(table, places), probability(places, table.axis)
        left, widths = edges[:-1], np.diff(edges)
    some = rows[rows > 0]
    log = bool(some.max() > 30 * np.median(some))
    ax.bar(left, rows, widths, color=COLOURS["bars"], align="edge", lw=0.3, edgecolor="none")
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
    tidy(ax)
    return ax


def draw_witness(audit: Drawable, ax: Axes) -> Axes:
    """Draw the witness of the smooth error: where it is higher, predictions are too low beside where it is lower."""
    low, high = limits(audit)
    axis = audit.reliability.axis
    x = probability(_between((low, high), axis, _WITNESS_POINTS), axis)
    w = audit.witness(x)
    ax.axhline(0.0, color=COLOURS["muted"], lw=1)
    for (name, hatch), where in zip(_SIDES, (w < 0.0, w > 0.0), strict=True):
        ax.fill_between(x, w, 0.0, where=where, interpolate=True, color=COLOURS[name], alpha=0.2, lw=0)
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": COLOURS[name], "hatch": hatch, "lw": 0}
        ax.fill_between(x, w, 0.0, where=where, interpolate=True, **look)
    ax.plot(x, w, color=COLOURS["curve"], lw=1.4)
    set_axis(ax, axis, (low, high), None)
    ax.locator_params(axis="y", nbins=3)
    ax.set_ylabel("witness")
    tidy(ax)
    return ax
