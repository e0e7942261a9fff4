"""Rows as an engine grouped them, or added up batch after batch: sums of cells, by segment, without the bad rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import HEAVIEST, LIGHTEST, NOT_SWAPPED, FloatArray, IntArray
from calibrant.door.errors import InputError, Ways
from calibrant.door.values import counted
from calibrant.kernels import counting, sketching
from calibrant.sketch.cells import MEASURED, arrow_numbers, numbers_of, ranks_of, refuse_far, told_apart, without_signs

_WHOLE = 1e-6  # a cell's events may miss a whole number by this much, and by rounding
LEAVE_OUT = Ways(
    "correct them, or leave them out with exclude_bad=True", "correct them, or leave them out with --exclude-bad"
)
_FAULTS = {
    -1: ("y_true", "null or NaN"),
    -2: ("y_true", "outside [0, 1]"),
    -3: ("y_prob", "null or NaN"),
    -4: ("y_prob", "outside [0, 1]"),
    -5: ("sample_weight", "null or NaN"),
    -6: ("sample_weight", "negative or infinite"),
}
"""Numbers of the cells that bad rows go to: they are counted by the query that sums the good ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Cells that hold good rows."""

    index: IntArray  # (m,): numbers of the cells
    # (m, 10 and more): their sums, in the order of `MEASURED`; those of columns that were asked for beside follow
    cells: FloatArray
    keys: Any  # the segment of each cell: a row for each cell, a column for each that rows are grouped by
    n_excluded: int  # bad rows that were left out

    def in_groups(self, exclude_bad: bool) -> tuple[Groups, IntArray]:
        """Cells of good rows without their last key, and the group that each cell's rows belong to, which it says.

        Raises InputError if rows have no group and are not to be left out.
        """
        *by, last = self.keys.columns
        group = ranks_of(self.keys.select(last))
        missing, keys = group < 0, self.keys.select(by)
        if not missing.any():
            return Groups(self.index, self.cells, keys, self.n_excluded), group
        n = int(self.cells[missing, sketching.COUNT].sum())
        if not exclude_bad or missing.all():
            raise InputError("groups", f"{rows_are(n)} null or NaN", allowed=LEAVE_OUT)
        known = ~missing
        groups = Groups(self.index[known], self.cells[known], keys.filter(known.tolist()), self.n_excluded + n)
        return groups, group[known]

    def merged(self) -> Groups:
        """The same with one cell of those that have one key and one number."""
        return Groups(*_merged(self.index, self.cells, self.keys), self.n_excluded)

    def of_trials(self) -> Groups:
        """Cells of single outcomes, of cells whose rows are shares of events and whose weights are their trials.

        Raises InputError if a cell's trials, or events, are no whole number.
        """
        cells = self.cells.copy()
        trials, events = cells[:, sketching.WEIGHT], cells[:, sketching.OUTCOME]
        whole = np.rint(events)
        if (trials != np.rint(trials)).any():
            raise InputError("trials", "are not whole numbers", allowed="each must be a whole number from 1")
        if (np.abs(events - whole) > _WHOLE * np.maximum(1.0, 1e-6 * trials)).any():
            problem = "times trials is no whole number of events"
            raise InputError("y_true", problem, allowed="with trials it is the share of events among them")
        cells[:, sketching.COUNT] = cells[:, sketching.SQUARED] = trials
        cells[:, sketching.ONES] = cells[:, sketching.OUTCOME] = whole
        cells[:, sketching.FRACTIONAL] = 0.0
        positive = trials > 0.0
        return Groups(self.index[positive], cells[positive], self.keys.filter(positive.tolist()), self.n_excluded)


def is_good(argument: str, values: FloatArray) -> npt.NDArray[np.bool_]:
    """Mask of an argument's numbers without the faults that the queries look for."""
    highest = np.finfo(np.float64).max if argument == "sample_weight" else 1.0
    good: npt.NDArray[np.bool_] = (values >= 0.0) & (values <= highest)  # false for NaN as well
    return good


def no_rows(exclude_bad: bool) -> str:
    """Say that there are no rows, or none that is good."""
    return "holds no rows" + (" that are not excluded" if exclude_bad else "")


def good_groups(
    sums: Any, exclude_bad: bool, argument: str = "frame", of: str = "", more: Sequence[str] = (), option: str = "by"
) -> Groups:
    """Groups of good rows, in order as found; bad ones are refused with their count, or left out.

    `of` is what a message begins with where there are none. The sums called as in `more` become columns of the cells
    behind those of `MEASURED`; `option` is who named the keys. Raises InputError if rows are bad and not excluded, none
    is good, or an engine's sums are such as no rows have.
    """
    if not exclude_bad:
        refuse_bad_rows(sums)
    index = _array(sums["_cell"]).astype(np.int64)
    bad, n_bad = index < 0, 0
    if bad.any():
        n_bad = int(_array(sums["count"])[bad].sum())
        sums, index = sums.filter((~bad).tolist()), index[~bad]
    if index.size == 0:
        raise InputError(argument, of + no_rows(exclude_bad))
    cells = stacked(sums, more)
    check_sums(cells, sums["heaviest"].max() if "heaviest" in sums.columns else None)
    keys, to_merge = told_apart(sums.select([name for name in sums.columns if name.startswith("_s")]))
    refuse_far(keys, option)
    if to_merge:
        index, cells, keys = _merged(index, cells, keys)
    return Groups(index, cells, keys, n_bad)


def _merged(index: IntArray, cells: FloatArray, keys: Any) -> tuple[IntArray, FloatArray, Any]:
    """One group of those that have one key and one cell."""
    of = numbers_of(keys)
    order = np.lexsort((index, of))
    starts = np.flatnonzero((np.diff(of[order], prepend=-1) != 0) | (np.diff(index[order], prepend=-1) != 0))
    together = np.add.reduceat(cells[order], starts)
    together[:, sketching.LOW] = np.minimum.reduceat(cells[order, sketching.LOW], starts)
    together[:, sketching.HIGH] = np.maximum.reduceat(cells[order, sketching.HIGH], starts)
    return index[order[starts]], together, keys[order[starts].tolist()]


def missing_values(cells: Any) -> list[str]:
    """Arguments with rows that have no number."""
    codes = set(cells["_cell"].to_list())
    return [argument for code, (argument, _) in _FAULTS.items() if code % 2 and code in codes]


def rows_are(n: int) -> str:
    """So many rows, and the verb that follows."""
    return f"{counted(n, 'row')} {'is' if n == 1 else 'are'}"


def refuse_bad_rows(cells: Any, first_bad: Callable[[str], tuple[int, str, bool]] | None = None) -> None:
    """Say how many rows have which fault, that of the first bad row first.

    `first_bad` gives that row of an argument, its words, and whether it holds no number. Raises InputError.
    """
    index = _array(cells["_cell"]).astype(np.int64)
    if not (index < 0).any():
        return
    count = _array(cells["count"])
    faults = [(code, int(count[index == code].sum())) for code in _FAULTS if (index == code).any()]
    argument = _FAULTS[faults[0][0]][0]
    row, content, missing = (None, "", True) if first_bad is None else first_bad(argument)
    faults.sort(key=lambda each: (_FAULTS[each[0]][0] != argument, bool(each[0] % 2) != missing))
    (code, n), *more = faults
    what = _FAULTS[code][1]
    problems = [f"{rows_are(n)} {what}" + (f"; {'it' if n == 1 else 'the first'} is {content}" if content else "")]
    problems += [f"{_FAULTS[code][0]}: {rows_are(n)} {_FAULTS[code][1]}" for code, n in more]
    raise InputError(argument, "; ".join(problems), row=row, allowed=LEAVE_OUT)


def check_sums(cells: FloatArray, heaviest: float | None) -> None:
    """Anything that an engine took for a good row: sums of numbers in their ranges look like this."""
    columns = dict(zip(MEASURED, cells.T[: len(MEASURED)], strict=True))
    weight = columns["weight"]
    if heaviest and not LIGHTEST < heaviest < HEAVIEST:
        raise InputError("sample_weight", f"has {heaviest:.3g} as its largest value; scale the weights to lie near 1")
    sound = np.isfinite(cells).all() and columns["low"].min() >= 0.0 and columns["high"].max() <= 1.0
    outcome = columns["weighted_outcome"]
    if not sound or not ((outcome >= 0.0) & (outcome <= weight * (1.0 + 1e-6))).all():
        raise InputError(
            "frame", "has rows outside [0, 1] that its engine took for good ones; its statistics are wrong"
        )
    if heaviest is None and columns["fractional"].any() and not ((columns["low"] > 0.0) & (columns["low"] < 1.0)).any():
        raise InputError(
            "y_true", "holds rates while every prediction is 0 or 1: they look swapped", allowed=NOT_SWAPPED
        )


def stacked(parts: Any, more: Sequence[str] = ()) -> FloatArray:
    """Sums as an array of shape (groups, 10 and more); equal weights are counts."""
    names = [*(name if name in parts.columns else "count" for name in MEASURED), *more]
    return np.column_stack([_array(parts[name]).astype(np.float64) for name in names])


def _array(column: Any) -> npt.NDArray[Any]:
    """A column of narwhals as an array, in pyarrow's case by DLPack: its `to_numpy` loads pandas."""
    plain = (column.dtype.is_integer() or column.dtype.is_float()) and not column.null_count()
    chunks = column.to_native().chunks if plain and column.implementation.is_pyarrow() else []
    return np.concatenate([np.from_dlpack(chunk) for chunk in chunks]) if chunks else column.to_numpy()


_MANY_COMBINATIONS = 2**22
_NEAR = 2**18
"""So many combinations of days or whole numbers are told apart by where they lie, in a fifth of a hash table's time."""
_UNKNOWN = -2


class Numbering:
    """Numbers of the combinations of a few keys, in the order in which they are first met.

    Attributes
    ----------
    first, most : int
        So many numbers from this one on have a place now; a row of another combination has -1.
    n_scans : int
        In how many scans all combinations are to have had a place.
    """

    def __init__(self, n_scans: int = 1) -> None:
        self.first, self.most, self.n_scans = 0, 0, n_scans
        self._seen: list[Any] = []
        self._number: dict[tuple[int, ...], int] = {}
        self._near: _Near | None = None  # what is known of the batches before, where they have such keys

    @property
    def more(self) -> bool:
        """Whether there are combinations after those that have a place now."""
        return len(self._number) > self.first + self.most

    def start(self, most: int) -> None:
        """Give so many combinations a place, from `first` on, before rows are read."""
        self.most, self._near = most, None

    def go_on(self) -> None:
        """Go on to the next combinations."""
        self.first += self.most

    def numbers(self, columns: Sequence[Any]) -> npt.NDArray[np.int32] | None:
        """Number of each row, counted from `first`, by its keys as Arrow; None where there are too many."""
        whole = _whole_numbers(columns)
        if whole is None:
            return self._looked_up(columns)
        near = _Near.of(whole, self._near)
        if near is None:
            return self._looked_up(columns)
        place = near.place(whole)
        number: npt.NDArray[np.int32] | None = near.number[place]
        assert number is not None
        if number.min(initial=0) == _UNKNOWN:
            number = self._looked_up(columns)
            if number is None:
                return None
            near.number[place] = number
        self._near = near
        return number

    def _looked_up(self, columns: Sequence[Any]) -> npt.NDArray[np.int32] | None:
        """As `numbers`, of any keys."""
        import pyarrow
        import pyarrow.compute as pc

        of, places, n = None, [], 1
        for at, column in enumerate(columns):
            if pyarrow.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            values, local = _coded(column)
            if len(self._seen) <= at:
                self._seen.append(values.slice(0, 0))
            unseen = pc.is_null(pc.index_in(values, value_set=self._seen[at]))
            new = values.filter(unseen).unique()
            if len(new):
                self._seen[at] = pyarrow.concat_arrays([self._seen[at], new])
            places.append(np.from_dlpack(pc.index_in(values, value_set=self._seen[at])))
            of = local if of is None else of.astype(np.int64) * len(values) + local
            n *= len(values)
            if n > _MANY_COMBINATIONS:
                return None
        present = np.zeros(n, bool)
        present[of] = True
        there = np.flatnonzero(present)
        number = np.full(n, -1, np.int32)
        local_of = np.unravel_index(there, [len(each) for each in places])
        combinations = zip(*(place[each].tolist() for place, each in zip(places, local_of, strict=True)), strict=True)
        for at, combination in zip(there.tolist(), combinations, strict=True):
            placed = self._number.setdefault(combination, len(self._number)) - self.first
            number[at] = placed if 0 <= placed < self.most else -1
        if self.first == 0 and len(self._number) > self.n_scans * self.most:  # after one scan all are known
            return None
        return number[of]

    def keys(self, n_columns: int) -> Any:
        """The combinations that have a place now, a row each, as Arrow."""
        import pyarrow

        names = [f"_s{at}" for at in range(n_columns)]
        if not self._seen:
            return pyarrow.table([pyarrow.nulls(0)] * n_columns, names)
        numbered = list(self._number)[self.first : self.first + self.most]
        places = np.array(numbered, np.int64).reshape(-1, n_columns).T
        keys = [each.take(arrow_numbers(place.copy())) for each, place in zip(self._seen, places, strict=True)]
        return pyarrow.table(keys, names)


def _coded(column: Any) -> tuple[Any, npt.NDArray[np.integer[Any]]]:
    """Values of a key, each once, and which each row has."""
    coded = column.dictionary_encode(null_encoding="encode")
    index: Any = np.from_dlpack(coded.indices)
    return without_signs(coded.dictionary), index


def _whole_numbers(columns: Sequence[Any]) -> list[npt.NDArray[Any]] | None:
    """Days and whole numbers of Arrow as arrays; None where a column holds anything else, or no value."""
    import pyarrow

    arrays = []
    for column in columns:
        of_days = pyarrow.types.is_date32(column.type)
        if column.null_count or not len(column) or not (of_days or pyarrow.types.is_integer(column.type)):
            return None
        arrays.append(np.from_dlpack(column.view(pyarrow.int32()) if of_days else column))
    return arrays


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """Combinations of whole numbers that lie near one another, and the number of each."""

    ends: list[tuple[int, int]]  # of each column, the least and the largest value
    number: npt.NDArray[np.int32]  # of each combination of values between the ends

    @classmethod
    def of(cls, columns: Sequence[npt.NDArray[Any]], before: _Near | None) -> _Near | None:
        """A table with a place for these rows: the one before, if it has; None where they are too far apart."""
        ends = [(int(each.min()), int(each.max())) for each in columns]
        if before is not None:
            ends = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(ends, before.ends, strict=True)]
            if ends == before.ends:
                return before
        size = math.prod(high - low + 1 for low, high in ends)
        return cls(ends, np.full(size, _UNKNOWN, np.int32)) if size <= _NEAR else None

    def place(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.intp]:
        """Where each row's combination lies."""
        place = np.zeros(columns[0].size, np.intp)
        for column, (low, high) in zip(columns, self.ends, strict=True):
            place *= high - low + 1
            if column.dtype.kind == "u":  # whose values may be larger than any of 63 bits
                place += (column - column.dtype.type(low)).astype(np.intp)
            else:
                place += np.subtract(column, low, dtype=np.intp)
        return place


class Counted:
    """Sums of rows of weight one with outcomes 0 or 1."""

    bytes_of_a_cell = counting.BYTES_OF_A_CELL
    heaviest = None

    def __init__(self, n_segments: int, resolution: int) -> None:
        self._tables, self._resolution = counting.new_tables(n_segments, resolution), resolution

    def add(
        self, y: FloatArray, v: FloatArray, _w: FloatArray, segment: npt.NDArray[np.int32], faults: IntArray
    ) -> bool:
        """Add rows, and count bad ones; False where an outcome is a rate, which has no place here."""
        return counting.count_rows(y, v, v.view(np.uint64), segment, self._resolution, *self._tables, faults) < 0

    def cells(self, first: int, last: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Segment, number and sums of the cells of these segments that hold rows, in order."""
        size = 2 * self._resolution + 1
        packed, wide = (
            table[first * size * n : last * size * n] for n, table in zip((4, 6), self._tables, strict=True)
        )
        n = counting.count_cells(packed)
        segment, index, sums = np.empty(n, np.int64), np.empty(n, np.int64), np.empty((n, 4))
        ends = np.empty((n, 2), np.uint64)
        counting.read_cells(packed, wide, self._resolution, segment, index, sums, ends)
        count, ones, offset, outcome_offset = sums.T
        low, high = ends.view(np.float64).T
        columns = (count, ones, np.zeros(n), count, ones, count, offset, outcome_offset, low, high)
        return segment + first, index, np.column_stack(columns)


class Weighed:
    """Sums of rows with weights, or with event rates."""

    bytes_of_a_cell = 8 * sketching.COLUMNS

    def __init__(self, n_segments: int, resolution: int) -> None:
        self._table, self._resolution = np.zeros((n_segments * (2 * resolution + 1), sketching.COLUMNS)), resolution
        self._heaviest, self._weighted = np.zeros(1), False

    @property
    def heaviest(self) -> float | None:
        """The largest weight, if rows have weights."""
        return float(self._heaviest[0]) if self._weighted else None

    def add(
        self, y: FloatArray, v: FloatArray, w: FloatArray, segment: npt.NDArray[np.int32], faults: IntArray
    ) -> bool:
        """Add rows, and count bad ones."""
        self._weighted |= w.size > 0
        sketching.add_good_rows(y, v, w, segment, self._resolution, self._table, faults, self._heaviest)
        return True

    def cells(self, first: int, last: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Segment, number and sums of the cells of these segments that hold rows, in order."""
        size = 2 * self._resolution + 1
        place = np.arange(first * size, last * size)
        of, number = np.divmod(place, size)
        at = of * size + number // 2 + np.where(number % 2, 0, self._resolution)
        full = self._table[at, sketching.COUNT] > 0.0
        return of[full], number[full], np.ascontiguousarray(self._table[at[full], : len(MEASURED)])


def most_segments(resolution: int, most_bytes: int, *, weighted: bool) -> int:
    """Segments whose sums take at most so many bytes, if all rows of each lie between grid points."""
    return max(1, most_bytes // (resolution * (Weighed if weighted else Counted).bytes_of_a_cell))
