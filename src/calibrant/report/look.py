"""Shared by all drawings: colours, sizes, axes, and how a figure becomes an SVG element."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
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
"""Names of colours in pages; the HTML report replaces each by a CSS variable of the same name. What they tell apart
is told apart by dashes, hatches, marks or places as well: orange and blue stay apart for colour-blind readers, red and
green would not, and in grey no two colours do."""

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "calibrant",
    "font.family": "sans-serif",
    "font.size": 11.0,
    "axes.unicode_minus": False,
    "hatch.linewidth": 0.6,
    # What is not read is taken away, and what is read seldom is dim.
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": COLOURS["hairline"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": COLOURS["hairline"],
    "grid.linewidth": 0.6,
    "grid.alpha": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": COLOURS["ink"],
    "xtick.color": COLOURS["hairline"],
    "ytick.color": COLOURS["hairline"],
    "xtick.labelcolor": COLOURS["muted"],
    "ytick.labelcolor": COLOURS["muted"],
}
"""Style of pages. A picture of a reader's own is drawn in the style that matplotlib is set to."""

_SHEET = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_FINE = re.compile(r"(?<=\d\.\d\d)\d+")


class LettersFigure(Figure):
    """A figure whose letters stay letters in SVG and PDF: they can be searched, and set in a journal's own font."""

    def savefig(self, *where: Any, **options: Any) -> None:
        """Save as any figure is."""
        with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(*where, **options)


def new_axes() -> Axes:
    """A new Axes on a new square Figure of its own, as wide as the style says, and at most 5.2 inches."""
    side = min(5.2, mpl.rcParams["figure.figsize"][0])
    return LettersFigure(figsize=(side, side), layout="constrained").add_subplot()


def colour(name: str) -> str:
    """A colour of `COLOURS` in pages; elsewhere the one of the reader's style that does the same work."""
    style = mpl.rcParams
    if style["svg.hashsalt"] == STYLE["svg.hashsalt"]:
        return COLOURS[name]
    cycle = style["axes.prop_cycle"].by_key().get("color", [style["lines.color"]])
    first, text, ground = cycle[0], style["text.color"], style["axes.facecolor"]
    return {
        "ink": to_hex(text),
        "muted": _mixed(text, ground, 0.7),
        "hairline": to_hex(style["grid.color"]),
        "band": _mixed(first, ground, 0.25),
        "bars": _mixed(first, ground, 0.6),
        "curve": to_hex(first),
        "high": to_hex(cycle[1 % len(cycle)]),
        "low": to_hex(cycle[2 % len(cycle)]),
    }[name]


def _mixed(one: str, other: str, share: float) -> str:
    """So much of one colour, and the rest of another: what is drawn later is not seen through it."""
    red, green, blue = (share * a + (1.0 - share) * b for a, b in zip(to_rgb(one), to_rgb(other), strict=True))
    return to_hex((red, green, blue))


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
