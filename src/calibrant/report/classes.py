"""Pictures of many classes: every class by its signed error, and pairs of classes that are mistaken for one another."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.findings.classes import ClassFindings, ConfusionTable, Question
from calibrant.report.look import COLOURS, drawn

_NAMED = 40  # classes up to which each is named below the picture
_LONGEST = 14  # letters of a name
_LEAST, _MOST = 1.0, 20.0  # powers of ten of a pair's p-value: the smallest that is drawn, and the largest square


def errors_svg(classes: ClassFindings, width: float) -> str:
    """Seen less predicted rate of every class, in rising order, as an SVG element."""
    return drawn(lambda: _errors(classes, width))


def pairs_svg(table: ConfusionTable, width: float) -> str:
    """Evidence of each pair of predicted and actual class as a square, as an SVG element."""
    return drawn(lambda: _pairs(table, width))


def _errors(classes: ClassFindings, width: float) -> Figure:
    fig = Figure(figsize=(width, 3.0), layout="constrained")
    ax = fig.add_subplot()
    ordered = sorted(classes.class_wise, key=lambda each: each.rate - each.mean_prediction)
    names = {each.name for each in classes.found}
    thick = float(np.clip(300.0 / len(ordered), 0.6, 5.0))
    ax.axhline(0.0, color=COLOURS["muted"], lw=1)
    for colour in ("bars", "curve", "high", "low"):
        at = [i for i, each in enumerate(ordered) if _colour(each, names) == colour]
        _sticks(ax, at, [ordered[i] for i in at], COLOURS[colour], thick)
    if len(ordered) <= _NAMED:
        _name(ax, "x", [each.name.removeprefix("class ") for each in ordered])
    else:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(ordered):,} classes, by seen less predicted")
    ax.set_ylabel("seen less predicted")
    ax.margins(x=0.01)
    return fig


def _colour(each: Question, names: set[str]) -> str:
    if each.name not in names:
        return "bars"
    return {"too high": "high", "too low": "low"}.get(each.direction or "", "curve")


def _sticks(ax: Axes, at: list[int], of: list[Question], colour: str, thick: float) -> None:
    """Intervals as one line with gaps, however many there are, and the errors themselves as dots."""
    if not at:
        return
    ends = [(0.0, 0.0) if each.bias_interval is None else tuple(each.bias_interval) for each in of]
    x = np.repeat(np.array(at, np.float64), 3)
    y = np.array([(low, high, np.nan) for low, high in ends]).ravel()
    if any(each.bias_interval is not None for each in of):
        ax.plot(x, y, color=colour, lw=thick, alpha=0.75, solid_capstyle="butt")
    middle = [each.rate - each.mean_prediction for each in of]
    ax.plot(at, middle, ls="", marker="o", ms=min(4.0, thick + 0.6), color=COLOURS["ink"], mew=0)


def _pairs(table: ConfusionTable, width: float) -> Figure:
    m = len(table.names)
    fig = Figure(figsize=(width, width), layout="constrained")
    ax = fig.add_subplot()
    side = 50.0 * width / max(m, 4)  # points that one class has room for
    for colour, more in (("high", False), ("low", True)):
        said, was = np.nonzero(table.evidence >= _LEAST if more else table.evidence <= -_LEAST)
        share = np.sqrt(np.minimum(np.abs(table.evidence[said, was]), _MOST) / _MOST)
        ax.scatter(was, said, (0.95 * side * share) ** 2, color=COLOURS[colour], marker="s", lw=0)
    ax.plot([-0.5, m - 0.5], [-0.5, m - 0.5], color=COLOURS["muted"], lw=0.8, dashes=(4, 3), zorder=0)
    ax.set_xlim(-0.5, m - 0.5)
    ax.set_ylim(m - 0.5, -0.5)
    _name(ax, "x", list(table.names), m)
    _name(ax, "y", list(table.names), m)
    ax.set_xlabel("was")
    ax.set_ylabel("was called")
    return fig


def _name(ax: Axes, axis: str, names: list[str], m: int | None = None) -> None:
    short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    size = float(np.clip(260.0 / max(m or len(names), 1), 5.0, 10.0))
    turned = 90 if axis == "x" else 0
    at = range(len(names))
    if axis == "x":
        ax.set_xticks(at, short, fontsize=size, rotation=turned)
    else:
        ax.set_yticks(at, short, fontsize=size)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)  # a class may be called $5
