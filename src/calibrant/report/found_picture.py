"""All tested segments in one picture: how large they are, how far off, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from calibrant.report.look import COLOURS, STYLE, as_svg, tidy

if TYPE_CHECKING:
    from calibrant.segments.found_results import FoundSegments

_SURE = 6.0  # tens of odds from which on a dot is as strong as can be
_MOST_NAMED = 9
_FEW_LABELS = 4


def found_svg(found: FoundSegments, width: float) -> str:
    """Size against error, with evidence as colour, as an SVG element so many inches wide."""
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(width, 3.4), layout="constrained")
        ax = fig.add_subplot()
        rows, off, pvalue = found.tested.T
        beyond = pvalue <= found.level
        ax.axhline(0.0, color=COLOURS["muted"], lw=1)
        ax.scatter(rows[~beyond], off[~beyond], 9, color=COLOURS["bars"], lw=0, label="may be noise")
        for side, label, here in (("low", "too low", off > 0.0), ("high", "too high", off <= 0.0)):
            dots = beyond & here
            if dots.any():
                strength = 0.35 + 0.65 * np.minimum(-np.log10(pvalue[dots]), _SURE) / _SURE
                ax.scatter(rows[dots], off[dots], 22, color=COLOURS[side], lw=0, alpha=strength, label=label)
        for number, each in enumerate(found.segments[:_MOST_NAMED], 1):
            ax.annotate(str(number), (each.n_rows, each.bias), (5, 3), textcoords="offset points", fontweight="bold")
        ax.set_xscale("log")
        steps = (1.0, 2.0, 5.0) if rows.max() < 50.0 * rows.min() else (1.0,)  # a label or two in any case
        near = rows.max() < 10.0 * rows.min()  # of fewer than ten times as many a LogLocator makes too many labels
        ax.xaxis.set_major_locator(MaxNLocator(_FEW_LABELS) if near else LogLocator(subs=steps))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:,.0f}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("rows")
        ax.set_ylabel("outcome less prediction")
        tidy(ax)
        ax.legend(frameon=False, loc="best")
        return as_svg(fig)
