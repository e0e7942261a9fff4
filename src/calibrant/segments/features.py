"""Features as a few codes each: numbers cut at quantiles, the most frequent categories, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from calibrant.door.coding import (
    Coding,
    Kind,
    by_frequency,
    categories,
    cut_behind,
    day_number,
    days_singly,
    others,
    ranges,
    ranks_of_cuts,
    singly,
    spans,
    tops_of_ranges,
)
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.labels import is_outcome
from calibrant.segments import catalogue as say
from calibrant.segments.request import Search
from calibrant.tables.features import LONG, LONG_DECIMALS, SHORT, TELLING, TIMES, Featured

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A column as codes."""

    name: str  # the column
    code: IntArray  # (n,): number of each row's value, all from 0 being used
    labels: tuple[str, ...]  # what each value is, as a condition: ``"age > 30"``


def read_features(
    columns: Mapping[str, Any], rows: Mapping[str, FloatArray | None], search: Search
) -> tuple[list[Feature], dict[str, str]]:
    """Codes of columns of Arrow, and why others were left out; one that the user named is refused instead.

    Parameters
    ----------
    columns : mapping of str to pyarrow Array or ChunkedArray
        The features.
    rows : mapping of str to ndarray of shape (n,)
        What was predicted and seen, by argument, NaN where it is not known; a feature may be none of these under
        another name.
    search : Search
        How finely they are to be told apart; a category with fewer rows than a segment needs is not told from others.

    Raises
    ------
    InputError
        If a feature cannot be used and the user named it, or none is left.
    """
    counts = [_counted(column) for column in columns.values() if _is_text(column.type)]
    most = search.categories(len(columns) - len(counts), [worth_telling(each, search) for each in counts])
    return each_or_left_out(columns, lambda name: _feature(name, columns[name], rows, search, most), search)


def _counted(column: Any) -> IntArray:
    """Rows of each value of a text."""
    frequencies = column.drop_null().value_counts()
    return np.asarray(frequencies.field("counts"), np.int64)


def worth_telling(counts: IntArray, search: Search) -> int:
    """Number of a text's values that are kept apart, from the rows of each; none where it is refused."""
    if counts.size > search.n_bins and counts.max() < search.min_rows:
        return 0
    return int(min(counts.size, max(search.n_bins, (counts >= search.min_rows).sum())))


def _is_text(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def each_or_left_out(
    names: Iterable[str], reader: Callable[[str], T], search: Search
) -> tuple[list[T], dict[str, str]]:
    """Readings of the features that can be used, and the reason why each of the others is left out.

    Raises InputError if a feature cannot be used and the user named it, or none is left.
    """
    results, left_out = [], {}
    for name in names:
        try:
            results.append(reader(name))
        except InputError as problem:
            if search.features is not None:
                raise InputError(search.option, problem.problem) from None
            left_out[name] = problem.problem.removeprefix(f"{name!r} ")
    if not results:
        why = "; ".join(f"{name!r} {reason}" for name, reason in list(left_out.items())[:5])
        raise InputError(search.option, say.NO_COLUMNS.format(why=why).rstrip())
    return results, left_out


def _feature(name: str, column: Any, rows: Mapping[str, FloatArray | None], search: Search, most: int) -> Feature:
    import pyarrow

    types = pyarrow.types
    if types.is_date(column.type) or (types.is_timestamp(column.type) and column.type.tz is None):
        values = _days(column)
        code, labels = _ranges(name, values, search.n_bins, days=True)
        _refuse_outcome(name, values, rows["y_true"])
        return _told_apart(name, code, labels)
    if types.is_temporal(column.type):
        raise unusable(name, TIMES)
    is_number = types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)
    if is_number:
        values = _numbers(name, column)
        for argument, other in rows.items():
            if other is not None and np.array_equal(values, other):
                raise unusable(name, say.COPY.format(argument=argument))
        code, labels = _ranges(name, values, search.n_bins)
        _refuse_outcome(name, values, rows["y_true"])
    elif types.is_boolean(column.type) or _is_text(column.type):
        code, labels = _categories(name, column, search, most)
        _refuse_outcome(name, np.asarray(code, np.float64), rows["y_true"])
    elif types.is_null(column.type):
        raise unusable(name, say.MISSING)
    else:
        raise unusable(name, say.OTHER_TYPE.format(type=column.type))
    return _told_apart(name, code, labels)


def _numbers(name: str, column: Any) -> FloatArray:
    """A column of numbers as doubles."""
    import pyarrow

    if pyarrow.types.is_integer(column.type) and _large(column):
        raise unusable(name, LONG)
    decimals = column if pyarrow.types.is_decimal(column.type) else None
    if decimals is not None:
        column = column.cast(pyarrow.string())  # which is read as the nearest number; the cast of decimals is not
    values = column.cast(pyarrow.float64(), safe=False).to_numpy(**_copying(column))
    if decimals is not None and _are_one(decimals, values):
        raise unusable(name, LONG_DECIMALS)
    return np.asarray(values, np.float64) + 0.0  # minus zero as zero


def _told_apart(name: str, code: IntArray, labels: Sequence[str]) -> Feature:
    if len(labels) < 2:
        raise constant(name, labels)
    return Feature(name, code, tuple(labels))


def _days(column: Any) -> FloatArray:
    """Days as numbers, NaN where there is none."""
    import pyarrow
    import pyarrow.compute as pc

    parts = (part(column).cast(pyarrow.float64()) for part in (pc.year, pc.month, pc.day))
    return np.asarray(day_number(*(each.to_numpy(**_copying(each)) for each in parts)), np.float64)


def _large(column: Any) -> bool:
    """Whether whole numbers are too large for a double to tell them apart."""
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return ends["max"] is not None and max(abs(ends["min"]), abs(ends["max"])) > 2**53


def _are_one(decimals: Any, doubles: FloatArray) -> bool:
    """Whether two decimals of a column are the same double."""
    import pyarrow.compute as pc

    known = doubles[~np.isnan(doubles)]
    if np.abs(known).max(initial=0.0) * 10.0**decimals.type.scale < SHORT:
        return False
    return bool(pc.count_distinct(decimals).as_py() != np.unique(known).size)


def _refuse_outcome(name: str, values: FloatArray, outcome: FloatArray | None) -> None:
    """Raise if two values tell the events from the rest: the outcome under another name, or turned around."""
    if outcome is None:
        return
    known = ~np.isnan(outcome)
    values, outcome = values[known], outcome[known]
    if outcome.size < TELLING or np.isnan(values).any():
        return
    if is_outcome(values, outcome):
        raise unusable(name, say.OUTCOME)


def unusable(name: str, why: str) -> InputError:
    """The problem of a feature that cannot be used."""
    return InputError("features", f"{name!r} {why}")


def constant(name: str, labels: Sequence[str]) -> InputError:
    """The problem of a feature that tells no rows apart."""
    return unusable(name, say.CONSTANT.format(value=labels[0]))


def _copying(column: Any) -> dict[str, bool]:
    return {} if hasattr(column, "chunks") else {"zero_copy_only": False}


def _ranges(name: str, values: FloatArray, n_bins: int, *, days: bool = False) -> tuple[IntArray, tuple[str, ...]]:
    """Numbers, or days, of few values one by one, of more in ranges that hold about as many rows each."""
    numbers = np.sort(values[~np.isnan(values)])
    if not numbers.size:
        raise unusable(name, say.MISSING)
    new = np.flatnonzero(numbers[1:] != numbers[:-1])
    if new.size < n_bins:
        single = numbers[np.append(new, numbers.size - 1)]
        cuts, labels = single[:-1], (days_singly if days else singly)(name, single)
    else:
        tops = tops_of_ranges(numbers, n_bins)
        if not tops.size:  # most rows hold the largest number
            tops = numbers[new[-1:]]
        cuts, labels = cut_at(name, tops, numbers[np.searchsorted(numbers, tops, side="right")], days=days)
    coding, labels = coded("number", name, cuts.tolist(), labels, missing=numbers.size < values.size)
    return coding.codes(values), tuple(labels)


def cut_at(name: str, tops: FloatArray, after: FloatArray, *, days: bool) -> tuple[FloatArray, list[str]]:
    """Cuts and names of ranges that end with `tops`, where `after` are the numbers that follow."""
    if days:
        return tops, spans(name, tops, after)
    cuts = cut_behind(tops, after)
    return cuts, ranges(name, cuts)


def _categories(name: str, column: Any, search: Search, most: int) -> tuple[IntArray, tuple[str, ...]]:
    """The most frequent values one by one, the rest together."""
    codes = column.dictionary_encode()
    codes = codes.combine_chunks() if hasattr(codes, "chunks") else codes
    values = [*codes.dictionary.to_pylist(), None]
    index = np.asarray(codes.indices.fill_null(len(values) - 1)).astype(np.int64)
    *counts, n_missing = np.bincount(index, minlength=len(values))
    order, labels = most_frequent(name, values[:-1], np.array(counts), search, most)
    coding, labels = coded("category", name, [values[i] for i in order], labels, missing=n_missing > 0)
    return coding.codes(np.array(values, np.object_))[index], tuple(labels)


def most_frequent(
    name: str, values: Sequence[Any], counts: IntArray, search: Search, most: int
) -> tuple[list[int], list[str]]:
    """The values that are kept apart, the most frequent first, and the names of these and of the rest together.

    All, if they are as few as the ranges of a number; else up to `most` that have enough rows for a segment, and at
    least as many as a number has ranges.
    """
    order = by_frequency(values, counts)
    if not order:
        raise unusable(name, say.MISSING)
    rest = 0
    if len(order) > search.n_bins:
        if counts[order[0]] < search.min_rows:
            raise unusable(name, say.TOO_MANY_VALUES.format(n=len(order), rows=search.min_rows))
        own = max(search.n_bins - 1, min(most, int((counts >= search.min_rows).sum())))
        rest = len(order) - own
        order = order[:own]
    labels = categories(name, [values[i] for i in order])
    return order, [*labels, others(name, rest)] if rest else labels


def coded(
    kind: Kind, name: str, values: Sequence[Any], labels: Sequence[str], *, missing: bool
) -> tuple[Coding, list[str]]:
    """Coding of values, and each code as a condition in words; missing values have a code only if there are any."""
    return Coding(kind, tuple(values), len(labels)), [*labels, *([f"{name} is missing"] if missing else [])]


# Categories, the rows of each, and those without one.
Values = tuple[list[Any], IntArray, int]


@dataclass(frozen=True, slots=True)
class LazyFeature:
    """A column whose values have codes: its name, what each code is as a condition, and how rows get theirs."""

    name: str
    labels: tuple[str, ...]
    coding: Coding


AnyFeature = Feature | LazyFeature


def lazy_features(table: Featured, names: Sequence[str], search: Search) -> tuple[list[LazyFeature], dict[str, str]]:
    """Features and their codes, and why columns were left out; parameters and errors are those of `read_features`."""
    known: dict[str, Values | InputError] = {}
    for name in filter(table.is_text, names):
        try:
            known[name] = table.values(name)
        except InputError as problem:
            known[name] = problem
    texts = [worth_telling(each[1], search) for each in known.values() if not isinstance(each, InputError)]
    most = search.categories(len(names) - len(known), texts)
    return each_or_left_out(names, lambda name: _lazy_feature(table, name, search, most, known.get(name)), search)


def _lazy_feature(
    table: Featured, name: str, search: Search, most: int, known_values: Values | InputError | None
) -> LazyFeature:
    if isinstance(known_values, InputError):
        raise known_values
    kind = table.kind(name)
    known: Sequence[Any]
    if kind == "number":
        labels, known, n_missing = _lazy_ranges(table, name, search.n_bins)
    else:
        values, counts, n_missing = table.values(name) if known_values is None else known_values
        order, labels = most_frequent(name, values, counts, search, most)
        known = [values[i] for i in order]
    coding, labels = coded(kind, name, known, labels, missing=n_missing > 0)
    if len(labels) < 2:
        raise constant(name, labels)
    if len(labels) == 2 and not n_missing and table.is_outcome(name, coding):
        raise unusable(name, say.OUTCOME)
    return LazyFeature(name, tuple(labels), coding)


def _lazy_ranges(table: Featured, name: str, n_bins: int) -> tuple[list[str], list[float], int]:
    """Names of a numeric column's ranges, their ends, and the number of rows without a number."""
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
