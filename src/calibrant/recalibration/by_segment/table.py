"""A table of features: columns by name or by place, each as numbers or as texts, or refused by its name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

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
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.labels import is_outcome
from calibrant.door.rows import read_groups, require_single_outcomes
from calibrant.door.values import counted
from calibrant.recalibration.kinds import check, column

Name = str | int

_LARGEST = float(np.finfo(np.float64).max)
_DAY = "datetime64[D]"
_NUMBERS = (int, float, Decimal, Fraction, np.number)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """A user's table, whose columns are read one by one."""

    names: tuple[Name, ...]  # names of the columns; of an array their places
    n_rows: int  # rows
    named: bool  # whether columns have names of their own
    _held: Any

    @classmethod
    def of(cls, table: Any) -> FeatureTable:
        """Look at a data frame, or an array of two dimensions."""
        if hasattr(table, "toarray"):
            raise InputError("X", "is a sparse matrix", allowed="a data frame or a dense array is needed")
        try:
            frame = nw.from_native(table, pass_through=True)
        except nw.exceptions.DuplicateError:
            columns = list(getattr(table, "column_names", table.columns))  # Arrow's columns are the numbers
            twice = next(name for name in columns if columns.count(name) > 1)
            raise InputError("X", f"has two columns {twice!r}", allowed="each needs a name of its own") from None
        if isinstance(frame, nw.LazyFrame):
            raise InputError("X", "is a table that is not in memory yet", allowed="collect it first")
        if isinstance(frame, nw.DataFrame):
            named = all(isinstance(name, str) for name in frame.columns)
            names = tuple(frame.columns) if named else tuple(range(len(frame.columns)))
            features = cls(names, len(frame), named, frame)
        else:
            features = cls._of_array(table)
        if features.n_rows == 0:
            raise InputError("X", "has no rows; at least one is needed")
        return features

    @classmethod
    def _of_array(cls, table: Any) -> FeatureTable:
        try:
            masked: Any = table if isinstance(table, np.ma.MaskedArray) else None
            array = np.asarray(table if masked is None else masked.astype(np.float64).filled(np.nan))
            if array.dtype.kind == "U" and not isinstance(table, np.ndarray):
                array = np.asarray(table, dtype=object)  # lists of texts and numbers stay what they are
        except (TypeError, ValueError):
            raise InputError("X", "is no table", allowed="a data frame or an array of shape (n, d) is needed") from None
        if array.ndim != 2:
            hint = "a data frame or an array of shape (n, d) is needed. Reshape your data if it has one column"
            raise InputError("X", f"has shape {array.shape}", allowed=hint)
        return cls(tuple(range(array.shape[1])), array.shape[0], False, array)

    def place(self, name: Any, argument: str) -> Name:
        """Return the name if there is such a column; places may be counted from the end."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if -len(self.names) <= name < len(self.names):
                return self.names[int(name)]
        elif name in self.names:
            return str(name)
        shown = ", ".join(map(str, self.names[:8])) + (", ..." if len(self.names) > 8 else "")
        raise InputError(argument, f"is {name!r:.60}, which is no column of X; its columns are {shown}")

    def values(self, name: Name) -> Values:
        """Numbers or texts of a column that can be a feature."""
        if isinstance(self._held, nw.DataFrame):
            return _of_series(self._held.get_column(self._held.columns[self.names.index(name)]), name)
        return _of_array(self._held[:, self.names.index(name)], name)

    def column(self, name: Name) -> Any:
        """The column as it is, for the door to read."""
        if isinstance(self._held, nw.DataFrame):
            return self._held.get_column(self._held.columns[self.names.index(name)]).to_native()
        return self._held[:, self.names.index(name)]


def read_rows(
    table: FeatureTable, prediction: Name, y: Any, sample_weight: Column | None, groups: Any
) -> tuple[FloatArray, FloatArray, FloatArray | None, IntArray | None]:
    """Outcomes, predictions, weights and numbers of groups; what is wrong is said of the user's own names."""
    if isinstance(groups, str):
        raise InputError("groups", f"is the text {groups!r:.40}", allowed=f"pass the column itself, X[{groups!r:.40}]")
    with in_words_of(prediction):
        outcome, probability, weight = read_columns(y, table.column(prediction), sample_weight)
        require_single_outcomes(outcome)
    return outcome, probability, weight, None if groups is None else read_groups(groups, outcome.size)


def read_prediction(table: FeatureTable, prediction: Name) -> FloatArray:
    """The column of predictions alone."""
    with in_words_of(prediction):
        return read_columns(np.zeros(table.n_rows), table.column(prediction), None)[1]


def features_of(table: FeatureTable, features: Sequence[Name] | None, prediction: Name) -> tuple[Name, ...]:
    """Features by name; all columns but the prediction's where none are named."""
    if features is None:
        return tuple(name for name in table.names if name != prediction)
    if isinstance(features, str) or not hasattr(features, "__iter__"):
        raise InputError("features", f"is {features!r:.40}", allowed="a sequence of columns is needed")
    places = tuple(table.place(name, "features") for name in features)
    if prediction in places:
        raise InputError("features", f"holds {prediction!r}, the prediction itself", allowed="leave it out")
    if len(set(places)) < len(places):
        raise InputError("features", "names a column twice", allowed="each is needed once")
    return places


def refuse_outcome(name: Name, values: Values, outcome: FloatArray) -> None:
    """Raise if a feature takes two values, one wherever the event happened and the other wherever it did not."""
    if values.dtype.kind != "O":
        column: Any = numbers_of(values) if values.dtype.kind == "M" else values
        missing = bool(np.isnan(column).any())
    else:
        column, missing = values.astype(str), any(each is None for each in values)
    if not missing and is_outcome(column, outcome):
        raise InputError("X", f"column {name!r} is the outcome itself, row by row", allowed="leave it out")


@contextmanager
def in_words_of(prediction: Name) -> Iterator[None]:
    """Name y, and the column of X that holds the prediction, in errors about y_true and y_prob."""
    try:
        yield
    except InputError as problem:
        words = problem.problem.replace("y_prob", "X").replace("y_true", "y")
        if problem.argument == "y_prob":
            words = f"column {prediction!r}, the prediction: {words}"
        argument = {"y_prob": "X", "y_true": "y"}.get(problem.argument, problem.argument)
        raise InputError(argument, words, row=problem.row, allowed=problem.allowed) from None


def _refused(name: Name, what: str) -> InputError:
    allowed = "features are numbers, texts, categories or truth values; leave it out or make one of it"
    return InputError("X", f"column {name!r} holds {what}", allowed=allowed)


def _of_time(name: Name) -> InputError:
    what = f"column {name!r} holds times of day, durations, or times of a time zone"
    return InputError("X", what, allowed="give days, or a number in their order, or leave it out")


def _of_series(series: Any, name: Name) -> Values:
    dtype = series.dtype
    if dtype == nw.Date or (isinstance(dtype, nw.Datetime) and dtype.time_zone is None):
        return np.asarray(series.to_numpy()).astype(_DAY)
    if dtype.is_temporal():
        raise _of_time(name)
    if dtype.is_nested() or dtype == nw.Binary:
        raise _refused(name, f"values of type {dtype}")
    if dtype.is_numeric():
        null = series.is_null().to_numpy()
        numbers = series.fill_null(0).cast(nw.Float64).to_numpy() if null.any() else series.cast(nw.Float64).to_numpy()
        floats = np.where(null, np.nan, np.asarray(numbers, dtype=np.float64))
        return _told_apart(floats, name) if dtype.is_integer() else _finite(floats)
    return _of_objects(series.to_list(), name)


def _of_array(column: npt.NDArray[Any], name: Name) -> Values:
    kind = column.dtype.kind
    if kind in "fiu":
        floats = column.astype(np.float64)
        return _finite(floats) if kind == "f" else _told_apart(floats, name)
    if kind == "M":
        return column.astype(_DAY)
    if kind == "m":
        raise _of_time(name)
    if kind == "c":
        raise _refused(name, "complex numbers (Complex data not supported)")
    return _of_objects(column.tolist(), name)


def _told_apart(values: FloatArray, name: Name) -> FloatArray:
    """Whole numbers, which doubles tell apart up to 2**53 only."""
    if (np.abs(values) >= 2.0**53).any():  # NaN is not
        raise _refused(name, "whole numbers beyond 2**53, as identifiers do; text tells them apart")
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _of_objects(values: list[Any], name: Name) -> Values:
    if set(map(type, values)) <= {str, type(None)}:
        return np.array(values, dtype=object)
    missing = np.array([_is_missing(each) or each != each for each in values])
    present = [each for each, gone in zip(values, missing, strict=True) if not gone]
    if present and all(map(_is_day, present)):
        return np.array([None if gone else each for each, gone in zip(values, missing, strict=True)], _DAY)
    truths = all(isinstance(each, bool | np.bool_) for each in present)
    if not truths or not present:
        if all(map(_is_number, present)):
            numbers = np.full(len(values), np.nan)
            numbers[~missing] = [float(each) for each in present]
            return _finite(numbers)
        _refuse_unnamed(values, present, name)
    _refuse_alike(present, name)
    texts = np.full(len(values), None, dtype=object)
    texts[~missing] = [str(each) for each in present]
    return texts


def _refuse_unnamed(values: list[Any], present: list[Any], name: Name) -> None:
    """Refuse times, and values that are neither numbers nor text."""
    for each in present:
        if isinstance(each, date | time | timedelta | np.datetime64 | np.timedelta64):
            raise _of_time(name)
        if not isinstance(each, (str, np.bool_, *_NUMBERS)):
            raise _refused(name, f"a {type(each).__name__} (row {values.index(each)})")


def _refuse_alike(present: list[Any], name: Name) -> None:
    """Refuse values that are written as a text beside them."""
    words = {each for each in present if isinstance(each, str)}
    alike = next((each for each in present if not isinstance(each, str) and str(each) in words), None)
    if alike is not None:
        raise _refused(name, f"{alike!r} as well as the text {str(alike)!r}")


def _is_day(value: Any) -> bool:
    return isinstance(value, date | np.datetime64) and getattr(value, "tzinfo", None) is None


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _finite(values: FloatArray) -> FloatArray:
    """Infinite values as the largest there are: cuts go by order alone, and are then numbers that can be saved."""
    return np.asarray(np.clip(values, -_LARGEST, _LARGEST))


def same_columns(table: FeatureTable, fitted: int, named: bool, owner: str) -> FeatureTable:
    """The table as one with columns like those of the fit: by their names, or as many in the same order."""
    if named and not table.named:
        raise InputError("X", f"has no names for its columns, but {owner} was fitted to columns with names")
    if not named and len(table.names) != fitted:
        size = counted(len(table.names), "feature")
        raise InputError("X", f"X has {size}, but {owner} is expecting {counted(fitted, 'feature')} as input")
    return table if named else replace(table, names=tuple(range(fitted)), named=False)


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
