"""Shared by all drawings: colours, sizes, axes, and how a figure becomes an SVG element."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from calibrant.door.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from calibrant.door.columns import FloatArray


# Names of colours in pages; the HTML report replaces each by a CSS variable of the same name. What they tell apart is
# told apart by dashes, hatches, marks or places as well: orange and blue stay apart for colour-blind readers, red and
# green would not, and in grey no two colours do.
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

# Style of pages. A picture of a reader's own is drawn in the style that matplotlib is set to.
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


_MODEL, _REFERENCE = "calibrant model", "calibrant reference"
_DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = "osD^v"


@dataclass(frozen=True)
class Look:
    """What tells one of several models from the others; false where nothing is given: it is drawn alone, in full."""

    name: str | None = None
    label: str | None = None
    color: Any = None

    def __post_init__(self) -> None:
        """Refuse a name that would have no effect."""
        if self.name is not None and self.label is not None:
            raise InputError("label", "stands in the legend in place of name and its number: give one of the two")

    def __bool__(self) -> bool:
        """Whether the model is drawn as one of several."""
        return any(each is not None for each in (self.name, self.label, self.color))

    def line(self, ax: Axes, x: Any, y: Any, number: str = "", *, points: bool = False) -> Line2D:
        """Draw the model's line or points, dashes or marks by how many are there; the number stands behind its name."""
        words = self.label
        if self.name is not None:
            words = f"{self.name} ({number})" if number else self.name
        k = models(ax)
        look: dict[str, Any] = (
            {"ls": "none", "marker": _MARKERS[k % len(_MARKERS)]} if points else {"ls": _DASHES[k % len(_DASHES)]}
        )
        (line,) = ax.plot(x, y, color=self.color, label=words, gid=_MODEL, zorder=3, **look)
        return line

    def finish(self, ax: Axes) -> Axes:
        """Say in a legend which model is which, references last, where something is called anything."""
        handles, _ = ax.get_legend_handles_labels()
        if handles:
            ax.legend(handles=sorted(handles, key=lambda each: str(each.get_gid()).startswith(_REFERENCE)))
        return ax


ALONE = Look()


def models(ax: Axes) -> int:
    """Number of models that are drawn already."""
    return sum(line.get_gid() == _MODEL for line in ax.lines)


def shade(ax: Axes, line: Line2D, x: FloatArray, low: FloatArray, high: FloatArray, where: Any = None) -> None:
    """Draw a model's band, in the colour of its line and seen through."""
    ax.fill_between(x, low, high, where=where, color=line.get_color(), alpha=0.2, lw=0, zorder=2)


def reference(ax: Axes, x: Any, y: Any, label: str | None = None, ls: str = ":") -> None:
    """Draw what all models are compared with; another such line of the same label gives way."""
    gid = f"{_REFERENCE} {label}"
    for line in [each for each in ax.lines if each.get_gid() == gid]:
        line.remove()
    ax.plot(x, y, color="0.5", lw=0.8, ls=ls, zorder=1, gid=gid, label=label)


Ends = tuple[float, float]


def with_earlier(ax: Axes, across: Sequence[float], up: Sequence[float]) -> tuple[Ends, Ends]:
    """Ends of both axes that also hold the models that are there."""
    if models(ax):
        across = min(across[0], ax.get_xlim()[0]), max(across[1], ax.get_xlim()[1])
        up = min(up[0], ax.get_ylim()[0]), max(up[1], ax.get_ylim()[1])
    return (float(across[0]), float(across[1])), (float(up[0]), float(up[1]))
