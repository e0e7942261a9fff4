"""Figures of a report: the diagram above its histogram, the curves of several audits, the evidence by period."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from calibrant.report.diagram import (
    draw_density,
    draw_diagonal,
    draw_diagram,
    draw_line,
    draw_named,
    heights,
    legend,
    limits,
    place,
    set_axis,
)
from calibrant.report.look import COLOURS, STYLE, Look, as_svg, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.findings.comparison import Comparison
    from calibrant.findings.results import Audit

_SIZE = (4.3, 4.9)  # inches: small, so that its letters can be read where the picture is 330 pixels wide
MOST_EVIDENCE = 1e12  # that is drawn: beyond it nobody needs to tell how much
_LETTER = 0.65  # widths of letters, in sizes of the font
_LONGEST = 22  # letters of a name in a legend
_BESIDE = 0.9  # inches beside the axes of the drift, for labels
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
"""Colour, dashes and marker of each of several audits: told apart in grey as well."""


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
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(4.6, 4.0), layout="constrained")
        draw_curves(comparison, fig.add_subplot())
        return as_svg(fig)
