"""Features in cells: numbers cut at quantiles, categories by frequency with the rest together, missing by itself."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.recalibration.kinds import check, column
from calibrant.recalibration.segments_table import Name, Values

MOST_CATEGORIES = 50
"""Categories with a cell of their own; a feature with more has the rest of them in one."""


class Cut(NamedTuple):
    """How one feature falls into cells; the last is of missing values, that before it of all other categories.

    Attributes
    ----------
    name : str or int
        The feature.
    edges : ndarray of shape (k,) or None
        Of numbers: cell j holds what is above edge j - 1 and at most edge j.
    values : tuple of str or None
        Of categories: those with a cell of their own.
    """

    name: Name
    edges: FloatArray | None
    values: tuple[str, ...] | None

    @classmethod
    def fitted(cls, name: Name, values: Values, n_bins: int) -> Cut:
        """Cut where there are about as many rows on each side; the same values are never parted."""
        if values.dtype.kind == "O":
            known, counts = np.unique([each for each in values if each is not None], return_counts=True)
            order = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
            # A category of one row has no rate of its own.
            return cls(name, None, tuple(str(known[at]) for at in order if counts[at] > 1))
        held = np.sort(values[~np.isnan(values)])
        distinct = np.unique(held)
        if distinct.size <= n_bins:
            return cls(name, distinct[:-1], None)
        at = np.ceil(held.size * np.arange(1, n_bins) / n_bins).astype(np.int64) - 1
        below = np.unique(held[at])
        below = below[below < distinct[-1]]
        above = distinct[np.searchsorted(distinct, below, side="right")]
        return cls(
            name, np.array([_shortest(*pair) for pair in zip(below.tolist(), above.tolist(), strict=True)]), None
        )

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.values or ()) + 2 if self.edges is None else int(self.edges.size) + 2

    def cells(self, values: Values) -> IntArray:
        """Cell of each row."""
        last = self.size - 1
        if values.dtype.kind == "f" and (self.edges is not None or np.isnan(values).all()):
            edges = np.empty(0) if self.edges is None else self.edges
            return np.where(np.isnan(values), last, np.searchsorted(edges, values, side="left"))
        if self.values is None or values.dtype.kind == "f":
            now, then = ("numbers", "texts") if self.values is not None else ("texts", "numbers")
            if all(each is None for each in values.tolist()):
                return np.full(values.size, last, dtype=np.int64)
            raise InputError("X", f"column {self.name!r} holds {now}", allowed=f"it held {then} when it was fitted")
        known: dict[Any, int] = {value: at for at, value in enumerate(self.values)} | {None: last}
        return np.array([known.get(each, last - 1) for each in values.tolist()], dtype=np.int64)

    def said(self, cell: int) -> str:
        """The cell as a condition on the feature."""
        if cell == self.size - 1:
            return f"{self.name} is missing"
        if self.edges is None:
            values = self.values or ()
            return f"{self.name} = {values[cell]}" if cell < len(values) else f"{self.name} is another value"
        if not self.edges.size:
            return f"{self.name} is not missing"
        low = None if cell == 0 else _shown(self.edges[cell - 1])
        high = None if cell == self.edges.size else _shown(self.edges[cell])
        if low is None or high is None:
            return f"{self.name} > {low}" if low is not None else f"{self.name} <= {high}"
        return f"{low} < {self.name} <= {high}"


def blocks_of(n_features: int, depth: int) -> list[tuple[int, ...]]:
    """Sets of that many features; the prediction, which is feature 0, stands in no set alone."""
    return [each for each in combinations(range(n_features), depth) if each != (0,)]


def crossing(cells: list[IntArray], cuts: list[Cut], features: tuple[int, ...]) -> tuple[IntArray, int]:
    """Cell of each row in the cross of some features, and how many such cells there are."""
    found, size = cells[features[0]], cuts[features[0]].size
    for each in features[1:]:
        found, size = found * cuts[each].size + cells[each], size * cuts[each].size
    return found, size


def condition(cuts: list[Cut], features: tuple[int, ...], cell: int) -> str:
    """A cell of a cross in words."""
    parts = []
    for each in reversed(features):
        cell, at = divmod(cell, cuts[each].size)
        parts.append(cuts[each].said(at))
    return " and ".join(reversed(parts))


def read_cut(value: Any, name: str) -> Cut:
    """A cut from JSON's own types."""
    check(type(value) is list and len(value) == 3, name, "must be a feature, its edges and its categories")
    feature, edges, values = value
    check(type(feature) is str or (type(feature) is int and feature >= 0), name, "must name a feature")
    check((edges is None) != (values is None), name, "must have edges or categories")
    if edges is not None:
        found = column(edges, name)
        check(found[1:] > found[:-1], name, "must increase")
        return Cut(feature, found, None)
    check(type(values) is list and all(type(each) is str for each in values), name, "must be a list of texts")
    check(len(set(values)) == len(values), name, "must name each category once")
    return Cut(feature, None, tuple(values))


def _shortest(low: float, high: float) -> float:
    """A number of few digits from low on, below high."""
    for digits in range(1, 17):
        short = float(f"{(low + high) / 2.0:.{digits}g}")
        if low <= short < high:
            return short
    return low


def _shown(value: float) -> str:
    """The number in six digits, or in as many as tell it from its neighbours."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))
