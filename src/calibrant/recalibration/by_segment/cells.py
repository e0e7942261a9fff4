"""Cells of features that a repair is fitted in, and finds again in the rows that it is asked about later."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from calibrant.door.coding import (
    Coding,
    Values,
    by_frequency,
    categories,
    cell_of,
    cut_behind,
    days_after,
    numbers_of,
    ranges,
    spans,
    tops_of_ranges,
)
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.recalibration.by_segment.table import Name
from calibrant.recalibration.kinds import check, column

_KINDS = {"f": "numbers", "M": "days", "O": "texts"}
MOST_CATEGORIES = 300
"""Categories with a cell of their own; a feature with more has the rest of them in one."""


def _numbers(values: Values) -> FloatArray:
    """Numbers, or those of days, NaN where there is none."""
    return numbers_of(values) if values.dtype.kind == "M" else np.asarray(values, np.float64)


class Cut(NamedTuple):
    """Cells of one feature; the last is of missing values, that before it of all other categories."""

    name: Name  # the feature
    edges: FloatArray | None  # (k,): of numbers: cell j holds what is above edge j - 1 and at most edge j
    values: tuple[str, ...] | None  # of categories: those with a cell of their own
    # whether the numbers are those of days (`calibrant.door.coding`); an edge is then the last day of a cell
    days: bool = False

    @classmethod
    def fitted(cls, name: Name, values: Values, n_bins: int) -> Cut:
        """Cut where there are about as many rows on each side; the same values are never parted."""
        if values.dtype.kind == "O":
            known, counts = np.unique([each for each in values if each is not None], return_counts=True)
            order = by_frequency(known.tolist(), counts)[:MOST_CATEGORIES]
            # A category of one row has no rate of its own.
            return cls(name, None, tuple(str(known[at]) for at in order if counts[at] > 1))
        days = values.dtype.kind == "M"
        numbers = _numbers(values)
        finite = np.sort(numbers[~np.isnan(numbers)])
        distinct = np.unique(finite)
        if distinct.size <= n_bins:
            return cls(name, distinct[:-1], None, days)
        tops = tops_of_ranges(finite, n_bins)
        if days:
            return cls(name, tops, None, days)
        after = distinct[np.searchsorted(distinct, tops, side="right")]
        return cls(name, cut_behind(tops, after, middle=True), None)

    @property
    def coding(self) -> Coding:
        """The same as codes."""
        if self.edges is None:
            return Coding("category", self.values or (), self.size - 1)
        return Coding("number", tuple(self.edges.tolist()), self.size - 1)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.values or ()) + 2 if self.edges is None else int(self.edges.size) + 2

    def cells(self, values: Values) -> IntArray:
        """Cell of each row."""
        now, then = _KINDS[values.dtype.kind], "texts" if self.edges is None else "days" if self.days else "numbers"
        if now == then:
            return self.coding.codes(values if now == "texts" else _numbers(values))
        if all(each is None for each in values.tolist()) if now == "texts" else np.isnan(_numbers(values)).all():
            return np.full(values.size, self.size - 1, np.int64)
        raise InputError("X", f"column {self.name!r} holds {now}", allowed=f"it held {then} when it was fitted")

    @property
    def labels(self) -> list[str]:
        """The cells as conditions on the feature."""
        if self.edges is None:
            parts = [*categories(self.name, self.values or ()), f"{self.name} is another value"]
        else:
            parts = self._ranges() if self.edges.size else [f"{self.name} is not missing"]
        return [*parts, f"{self.name} is missing"]

    def _ranges(self) -> list[str]:
        edges = np.asarray(self.edges)
        return spans(self.name, edges, days_after(edges)) if self.days else ranges(self.name, edges)


def blocks_of(n_features: int, depth: int) -> list[tuple[int, ...]]:
    """Sets of that many features; the prediction, which is feature 0, stands in no set alone."""
    return [each for each in combinations(range(n_features), depth) if each != (0,)]


def crossing(cells: list[IntArray], cuts: list[Cut], features: tuple[int, ...]) -> tuple[IntArray, int]:
    """Cell of each row in the cross of some features, and how many such cells there are."""
    sizes = [cuts[each].size for each in features]
    return cell_of([cells[each] for each in features], sizes, cells[0].size), math.prod(sizes)


def conditions(cuts: list[Cut], features: tuple[int, ...], cells: list[int]) -> list[str]:
    """Cells of a cross in words."""
    labels = [cuts[each].labels for each in features]
    places = np.transpose(np.unravel_index(np.array(cells, np.int64), [len(each) for each in labels]))
    return [" and ".join(words[at] for words, at in zip(labels, place, strict=True)) for place in places]


def read_cut(value: Any, name: str) -> Cut:
    """A cut from JSON's own types."""
    check(type(value) is list and len(value) in (3, 4), name, "must be a feature, its edges and its categories")
    feature, edges, values, days = value if len(value) == 4 else (*value, False)  # as was saved before there were days
    check(type(days) is bool and not (days and edges is None), name, "must say whether its edges are days")
    check(type(feature) is str or (type(feature) is int and feature >= 0), name, "must name a feature")
    check((edges is None) != (values is None), name, "must have edges or categories")
    if edges is not None:
        numbers = column(edges, name)
        check(numbers[1:] > numbers[:-1], name, "must increase")
        return Cut(feature, numbers, None, days)
    check(type(values) is list and all(type(each) is str for each in values), name, "must be a list of texts")
    check(len(set(values)) == len(values), name, "must name each category once")
    return Cut(feature, None, tuple(values))
