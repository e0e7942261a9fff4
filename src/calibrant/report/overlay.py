"""One of several models on one Axes: what the legend calls it, its colour and dashes, in the reader's own style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant.door.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from calibrant.door.columns import FloatArray

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
    """How many models are drawn already."""
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
