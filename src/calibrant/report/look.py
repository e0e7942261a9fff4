"""Shared by all drawings: colours, sizes, axes, and how a figure becomes an SVG element."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Mapping[str, str] = {
    "ink": "#1b1f24",
    "muted": "#69727d",
    "hairline": "#d5dae0",
    "band": "#cfd8e3",
    "curve": "#0b6e99",
    "high": "#c2410c",
    "low": "#1e4fbf",
    "bars": "#9fb3c8",
}
"""Names of colours in drawings; the HTML report replaces each by a CSS variable of the same name. What they tell apart
is told apart by dashes, hatches, marks or places as well: orange and blue stay apart for colour-blind readers, red and
green would not, and in grey no two colours do."""

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "calibrant",
    "font.family": "sans-serif",
    "font.size": 11.0,
    "axes.unicode_minus": False,
    "hatch.linewidth": 0.6,
}

_SHEET = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_FINE = re.compile(r"(?<=\d\.\d\d)\d+")


def new_axes() -> Axes:
    """A new Axes on a new Figure of its own."""
    return Figure(figsize=(5.2, 5.2), layout="constrained").add_subplot()


def tidy(ax: Axes) -> None:
    """Take away what is not read, and dim what is read seldom."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(COLOURS["hairline"])
    ax.tick_params(color=COLOURS["hairline"], labelcolor=COLOURS["muted"])
    ax.xaxis.label.set_color(COLOURS["ink"])
    ax.yaxis.label.set_color(COLOURS["ink"])
    ax.grid(True, color=COLOURS["hairline"], lw=0.6, alpha=0.6)
    ax.set_axisbelow(True)


def drawn(make: Callable[[], Figure]) -> str:
    """A figure as an SVG element, made in the page's style."""
    with mpl.rc_context(STYLE):
        return as_svg(make())


def as_svg(fig: Figure) -> str:
    """The figure as an SVG element, text as text; the same bytes for the same drawing."""
    file = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with mpl.rc_context(STYLE):
        fig.savefig(file, format="svg", transparent=True, metadata=nothing)
    text = file.getvalue()
    # Its style sheet would be that of the whole page; what it says is inherited from the element as well.
    text = _SHEET.sub("", text, count=1).replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    # A hundredth of a point is finer than any screen; words and numbers between tags are left as they are.
    return _TAG.sub(lambda tag: _FINE.sub("", tag[0]), text[text.index("<svg") :].strip())
