"""Features of a lazy table, told apart as those of a table that is read: the same values, cuts and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.door.coding import Coding, ranks_of_cuts, singly
from calibrant.door.columns import IntArray
from calibrant.door.days import days_singly
from calibrant.door.errors import InputError
from calibrant.scale.featured import Featured
from calibrant.segments.asked import Asked
from calibrant.segments.features import (
    OUTCOME,
    coded,
    constant,
    cut_at,
    each_or_left_out,
    most_frequent,
    unusable,
    worth_telling,
)

Values = tuple[list[Any], IntArray, int]
"""Categories, the rows of each, and those without one."""


@dataclass(frozen=True, slots=True)
class LazyFeature:
    """A column whose values have codes: its name, what each code is as a condition, and how rows get theirs."""

    name: str
    labels: tuple[str, ...]
    coding: Coding


def lazy_features(
    table: Featured, names: Sequence[str], asked: Asked, *, chosen: bool, option: str
) -> tuple[list[LazyFeature], dict[str, str]]:
    """Features and their codes, and why columns were left out; parameters and errors are those of `read_features`."""
    held: dict[str, Values | InputError] = {}
    for name in filter(table.is_text, names):
        try:
            held[name] = table.values(name)
        except InputError as problem:
            held[name] = problem
    texts = [worth_telling(each[1], asked) for each in held.values() if not isinstance(each, InputError)]
    most = asked.categories(len(names) - len(held), texts)
    return each_or_left_out(
        names, lambda name: _feature(table, name, asked, most, held.get(name)), chosen=chosen, option=option
    )


def _feature(table: Featured, name: str, asked: Asked, most: int, held: Values | InputError | None) -> LazyFeature:
    if isinstance(held, InputError):
        raise held
    kind = table.kind(name)
    known: Sequence[Any]
    if kind == "number":
        labels, known, n_missing = _ranges(table, name, asked.n_bins)
    else:
        values, counts, n_missing = table.values(name) if held is None else held
        order, labels = most_frequent(name, values, counts, asked, most)
        known = [values[i] for i in order]
    coding, labels = coded(kind, name, known, labels, missing=n_missing > 0)
    if len(labels) < 2:
        raise constant(name, labels)
    if len(labels) == 2 and not n_missing and table.is_outcome(name, coding):
        raise unusable(name, OUTCOME)
    return LazyFeature(name, tuple(labels), coding)


def _ranges(table: Featured, name: str, n_bins: int) -> tuple[list[str], list[float], int]:
    """What the ranges of a column of numbers are called, where they end, and how many rows have no number."""
    days = table.is_day(name)
    pieces = table.one_by_one(name, table.pieces(name), n_bins)
    n = int(pieces.count.sum())
    if pieces.low.size <= n_bins:
        return (days_singly if days else singly)(name, pieces.low), pieces.low[:-1].tolist(), pieces.n_missing
    ranks = ranks_of_cuts(n, n_bins)
    pieces = table.at_ranks(name, pieces, ranks)
    at = np.unique(pieces.holding(ranks))
    at = at[at < pieces.low.size - 1]
    if not at.size:  # most rows hold the largest number
        at = np.array([pieces.low.size - 2])
        pieces = table.at_ranks(name, pieces, np.array([pieces.count[: at[0] + 1].sum() - 1]))
        at = np.array([pieces.low.size - 2])
    cuts, labels = cut_at(name, pieces.high[at], pieces.low[at + 1], days=days)
    return labels, cuts.tolist(), pieces.n_missing
