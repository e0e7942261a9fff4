"""Features of a lazy table, told apart as those of a table that is read: the same values, cuts and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.scale.featured import Coding, Featured
from calibrant.segments.features import (
    OUTCOME,
    constant,
    each_or_left_out,
    in_ranges,
    most_frequent,
    one_by_one,
    ranks_of_cuts,
    unusable,
)


@dataclass(frozen=True, slots=True)
class LazyFeature:
    """A column whose values have codes: its name, what each code is as a condition, and how rows get theirs."""

    name: str
    labels: tuple[str, ...]
    coding: Coding


def lazy_features(
    table: Featured, names: Sequence[str], *, n_bins: int, min_rows: int, chosen: bool, option: str
) -> tuple[list[LazyFeature], dict[str, str]]:
    """Features and their codes, and why columns were left out; parameters and errors are those of `read_features`."""
    return each_or_left_out(names, lambda name: _feature(table, name, n_bins, min_rows), chosen=chosen, option=option)


def _feature(table: Featured, name: str, n_bins: int, min_rows: int) -> LazyFeature:
    if table.kind(name) == "number":
        labels, known, n_missing = _ranges(table, name, n_bins)
        coding = Coding("number", tuple(known), len(labels))
    else:
        values, counts, n_missing = table.values(name)
        order, labels = most_frequent(name, values, counts, n_bins, min_rows)
        coding = Coding("category", tuple(values[i] for i in order), len(labels))
    labels = [*labels, f"{name} is missing"] if n_missing else labels
    if len(labels) < 2:
        raise constant(name, labels)
    if len(labels) == 2 and not n_missing and table.is_outcome(name, coding):
        raise unusable(name, OUTCOME)
    return LazyFeature(name, tuple(labels), coding)


def _ranges(table: Featured, name: str, n_bins: int) -> tuple[list[str], list[float], int]:
    """What the ranges of a column of numbers are called, where they end, and how many rows have no number."""
    pieces = table.one_by_one(name, table.pieces(name), n_bins)
    n = int(pieces.count.sum())
    if pieces.low.size <= n_bins:
        cuts, labels = one_by_one(name, pieces.low)
        return labels, cuts.tolist(), pieces.n_missing
    ranks = ranks_of_cuts(n, n_bins)
    pieces = table.at_ranks(name, pieces, ranks)
    at = np.unique(pieces.holding(ranks))
    at = at[at < pieces.low.size - 1]
    if not at.size:  # most rows hold the largest number
        at = np.array([pieces.low.size - 2])
        pieces = table.at_ranks(name, pieces, np.array([pieces.count[: at[0] + 1].sum() - 1]))
        at = np.array([pieces.low.size - 2])
    cuts, labels = in_ranges(name, pieces.high[at], pieces.low[at + 1])
    return labels, cuts.tolist(), pieces.n_missing
