"""Rows as an engine grouped them: sums of cells, by segment, with the bad rows counted and set aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import HEAVIEST, LIGHTEST, NOT_SWAPPED
from calibrant.door.errors import InputError, Ways
from calibrant.door.values import counted
from calibrant.kernels import sketching
from calibrant.sketch.cells import MEASURED, numbers_of, ranks_of, refuse_far, told_apart

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

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


def is_good(argument: str, numbers: FloatArray) -> npt.NDArray[np.bool_]:
    """Mask of an argument's numbers without the faults that the queries look for."""
    highest = np.finfo(np.float64).max if argument == "sample_weight" else 1.0
    good: npt.NDArray[np.bool_] = (numbers >= 0.0) & (numbers <= highest)  # false for NaN as well
    return good


def no_rows(exclude_bad: bool) -> str:
    """Say that there are no rows, or none that is good."""
    return "holds no rows" + (" that are not excluded" if exclude_bad else "")


def good_groups(
    sums: Any,
    exclude_bad: bool,
    argument: str = "frame",
    of: str = "",
    more: Sequence[str] = (),
    option: str = "by",
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


def refuse_bad_rows(cells: Any, first: Callable[[str], tuple[int, str, bool]] | None = None) -> None:
    """Say how many rows have which fault, that of the first bad row first.

    `first` gives that row of an argument, its words, and whether it holds no number. Raises InputError if rows are bad.
    """
    index = _array(cells["_cell"]).astype(np.int64)
    if not (index < 0).any():
        return
    count = _array(cells["count"])
    faults = [(code, int(count[index == code].sum())) for code in _FAULTS if (index == code).any()]
    argument = _FAULTS[faults[0][0]][0]
    row, content, missing = (None, "", True) if first is None else first(argument)
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
    rate = np.divide(columns["weighted_outcome"], weight, out=np.zeros_like(weight), where=weight > 0.0)
    if not sound or not (rate.min() >= 0.0 and rate.max() <= 1.0 + 1e-6):
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
