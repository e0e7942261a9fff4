"""Pairs of features as tables of colours: how far off their segments are, and which of them for certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from calibrant.report.look import COLOURS, STYLE, as_svg
from calibrant.report.order import natural_order

if TYPE_CHECKING:
    from calibrant.segments.found_results import FoundSegments

MOST_PAIRS = 3
_MOST_VALUES = 12  # of a feature; of more, those with the strongest evidence
_FAINTEST, _STRONGEST = 0.06, 0.5  # of a colour, under text that must be read


def pairs_to_draw(found: FoundSegments) -> list[tuple[int, int]]:
    """The pairs of features of told segments, or else that with the strongest evidence."""
    strongest: dict[tuple[int, int], float] = {}
    for fixed, pvalue in zip(found.made_of, found.tested[:, 2].tolist(), strict=True):
        if len(fixed) == 2:
            pair = fixed[0][0], fixed[1][0]
            strongest[pair] = min(pvalue, strongest.get(pair, 2.0))
    by_evidence = sorted(strongest, key=lambda pair: (strongest[pair], pair))
    told = [pair for pair in by_evidence if strongest[pair] <= found.level]
    return (told or by_evidence[:1])[:MOST_PAIRS]


def pair_names(found: FoundSegments, pair: tuple[int, int]) -> tuple[str, str]:
    """The features that make the rows and the columns of a table."""
    names, sizes = list(found.features), [len(labels) for labels in found.features.values()]
    down, across = pair if sizes[pair[0]] >= sizes[pair[1]] else pair[::-1]
    return names[down], names[across]


def values_drawn(found: FoundSegments, pair: tuple[int, int]) -> str:
    """Which values of the features are drawn, where they have too many; else nothing."""
    names, said = list(found.features), []
    for at, name in enumerate(pair_names(found, pair)):
        labels = found.features[name]
        cells = _cells(found, *(names.index(each) for each in pair_names(found, pair)))
        drawn = len(_clearest(labels, cells, at))
        if drawn < len(labels):
            said.append(f"{drawn} of {len(labels):,} values of {name}")
    return f"{' and '.join(said)}: those with the strongest evidence." if said else ""


def pair_svg(found: FoundSegments, pair: tuple[int, int], width: float) -> str:
    """One pair as an SVG element so many inches wide: signed errors, colour by size, proved ones framed."""
    names = list(found.features)
    down, across = (names.index(name) for name in pair_names(found, pair))
    cells = _cells(found, down, across)
    rows, columns = (
        _in_order(_clearest(found.features[names[i]], cells, at), names[i]) for at, i in enumerate((down, across))
    )
    largest = max((abs(off) for off, _ in cells.values()), default=0.0) or 1.0
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(width, 0.9 + 0.34 * len(rows)), layout="constrained")
        ax = fig.add_subplot()
        for (row, column), (off, pvalue) in cells.items():
            labels = found.features[names[down]][row], found.features[names[across]][column]
            if labels[0] not in rows or labels[1] not in columns:
                continue
            y, x = rows.index(labels[0]), columns.index(labels[1])
            sure = pvalue <= found.level
            strength = _FAINTEST + (_STRONGEST - _FAINTEST) * abs(off) / largest
            colour = COLOURS["low" if off > 0.0 else "high"]
            ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, facecolor=colour, alpha=strength, lw=0))
            if sure:
                corner = x - 0.46, y - 0.44
                ax.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=COLOURS["ink"], lw=1.8, zorder=3))
            ax.text(
                x,
                y,
                _signed(off, largest),
                ha="center",
                va="center",
                fontsize=min(10.0, max(5.5, 14.0 * width / len(columns))),
                color=COLOURS["ink" if sure else "muted"],
                fontweight="bold" if sure else "normal",
            )
        ax.set_xlim(-0.5, len(columns) - 0.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xticks(range(len(columns)), [_short(label, names[across]) for label in columns])
        ax.set_yticks(range(len(rows)), [_short(label, names[down]) for label in rows])
        slanted = sum(len(_short(label, names[across])) for label in columns) > 8.0 * width
        ax.tick_params(length=0, labelcolor=COLOURS["ink"], labelsize=9.0)
        ax.tick_params(axis="x", labelrotation=90.0 if slanted else 0.0)
        ax.set_xlabel(names[across])
        ax.set_ylabel(names[down])
        for side in ax.spines.values():
            side.set_color(COLOURS["hairline"])
        return as_svg(fig)


def _cells(found: FoundSegments, down: int, across: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Row and column of each tested segment of the pair, its mean of outcome less prediction and its p-value."""
    cells = {}
    for fixed, (_, off, pvalue) in zip(found.made_of, found.tested.tolist(), strict=True):
        values = dict(fixed)
        if set(values) == {down, across}:
            cells[values[down], values[across]] = off, pvalue
    return cells


def _clearest(labels: Sequence[str], cells: dict[tuple[int, int], tuple[float, float]], at: int) -> list[str]:
    """Values that are drawn: of many those of the cells with the strongest evidence, `at` their rows or columns."""
    if len(labels) <= _MOST_VALUES:
        return list(labels)
    strongest = sorted(cells, key=lambda place: (cells[place][1], -abs(cells[place][0])))
    drawn = list(dict.fromkeys(place[at] for place in strongest))[:_MOST_VALUES]
    return [labels[i] for i in sorted(drawn)]


def _in_order(labels: Sequence[str], name: str) -> list[str]:
    """Categories in their natural order where they have one, before the rest of them and what is missing."""
    single = [label for label in labels if label.startswith(f"{name} = ")]
    order = natural_order([label.removeprefix(f"{name} = ") for label in single])
    if order is not None:
        single = [single[i] for i in order]
    return [*single, *(label for label in labels if label not in single)]


def _signed(off: float, largest: float) -> str:
    """An error with its sign, in digits that tell the largest; a cell has no room for the zero before the point."""
    digits = max(3, int(np.ceil(-np.log10(largest))) + 1)
    return f"{off:+.{digits}f}".replace("0.", ".", 1)


def _short(label: str, name: str) -> str:
    """A condition beside its feature's name."""
    if label.startswith(f"{name} = "):
        said = label.removeprefix(f"{name} = ")
    elif f" < {name} <= " in label:
        said = label.replace(f" < {name} <= ", " to ")
    else:
        said = label.removeprefix(f"{name} ").removeprefix("is ").removeprefix("in ")
        said = said.removeprefix("from ") if " to " in said else said
    return said if len(said) <= 24 else f"{said[:22]}..."
