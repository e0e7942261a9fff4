"""Laws that the cells of any sketch obey, bounds of the rounding of their sums, and keys of segments and periods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.kernels import sketching

MEASURED = (
    *("count", "ones", "fractional", "weight", "weighted_outcome", "squared_weight"),
    *("offset", "outcome_offset", "low", "high"),
)
"""Columns of a cell, as they are added up and stored."""

RESOLUTIONS = 2, 2**24
"""Fewest and most cells of a sketch, apart from the grid points."""

UNIT = 2.0**-53
"""Largest relative error of one rounding."""
NATIVE_ROUNDING = 16.0 * UNIT
"""What double-double sums and their terms are rounded by, for any number of rows that can be counted."""
_MOST_ROWS = 2.0**53
_HEAVIEST = 1e156  # largest weight of a cell: squares of weights below 1e140, and sums of 2**53 of them, are finite


_LIGHTEST = 1e-150  # below it, squares of weights are lost


def rounding_of_plain_sums(n_terms: float) -> float:
    """Relative error of a sum of so many terms that are not negative, in any order (Higham 2002, section 4.2).

    Each term is a product of at most three factors. Infinite where nothing can be said.
    """
    share = (n_terms + 4.0) * UNIT
    return share / (1.0 - share) if share < 0.5 else np.inf


def read_cells(index: Any, cells: Any, resolution: int) -> tuple[IntArray, FloatArray]:
    """Cells and their numbers as arrays that obey every law of a cell.

    Raises InputError naming the first cell that cannot be, and the law.
    """
    index, cells = np.asarray(index), np.asarray(cells)
    if index.ndim != 1 or (index.dtype.kind not in "iu" and index.size):
        raise InputError("index", f"has shape {index.shape} and type {index.dtype}; whole numbers in a row are needed")
    if cells.shape != (index.size, len(MEASURED)) or cells.dtype.kind not in "iuf":
        raise InputError(
            "cells", f"have shape {cells.shape} and type {cells.dtype}; ({index.size}, {len(MEASURED)}) numbers needed"
        )
    cells = np.ascontiguousarray(cells, np.float64)
    _demand((index >= 0) & (index <= 2 * resolution), "index", f"must lie in 0 to {2 * resolution}", index)
    _demand(np.isfinite(cells).all(axis=1), "cells", "must hold finite numbers only", index)
    index = index.astype(np.int64)
    with np.errstate(all="ignore"):  # of numbers that obey no law
        laws = _laws(index, cells, resolution)
    for obeyed, law in laws:
        _demand(obeyed, "cells", law, index)
    return index, cells


def coarser(index: IntArray, cells: FloatArray, resolution: int, resolution_after: int) -> tuple[IntArray, FloatArray]:
    """Cells of a resolution as those of a coarser one, each by itself: several may have one number now.

    With f fine cells in a coarse one, a row at (k + u) / R lies (k mod f + u) / f into the coarse cell: offsets are
    sums of that.
    """
    of = resolution // resolution_after
    place = index // 2
    inside = (place % of).astype(np.float64)
    on_grid = (index % 2 == 0) & (inside == 0.0)
    numbers_after = cells.copy()
    for offset, mass in ((sketching.OFFSET, sketching.WEIGHT), (sketching.OUTCOME_OFFSET, sketching.OUTCOME)):
        numbers_after[:, offset] = (cells[:, mass] * inside + cells[:, offset]) / of
    return 2 * (place // of) + (~on_grid).astype(np.int64), numbers_after


def _demand(obeyed: npt.NDArray[np.bool_], argument: str, law: str, index: npt.NDArray[Any]) -> None:
    if not obeyed.all():
        row = int(np.argmin(obeyed))
        raise InputError(argument, f"row {row} (cell {index[row]}) is damaged: it {law}", row=row)


def _laws(index: IntArray, cells: FloatArray, resolution: int) -> list[tuple[npt.NDArray[np.bool_], str]]:
    """Whether the sums of each cell can be those of rows, up to their rounding in any order."""
    count, ones, fractional, weight, outcome, squared, offset, outcome_offset, low, high = cells.T
    zeros = count - ones - fractional
    rows = np.maximum(count, 1.0)
    share = 4.0 * (rows + 8.0) * UNIT
    slack = share * weight + 1e-300  # tiny products lose digits
    whole = (np.floor(cells[:, :3]) == cells[:, :3]).all(axis=1)
    whole_counts = whole & (count >= 1.0) & (count <= _MOST_ROWS) & (ones >= 0.0) & (fractional >= 0.0) & (zeros >= 0.0)
    weighed = (weight >= 0.0) & (weight <= _HEAVIEST)
    # Scaled so that no square of a weight overflows or vanishes.
    lost = weight < _LIGHTEST
    scale = np.where(lost, 1.0, weight)
    spread = np.where(lost, 1.0, squared / scale / scale)
    even = np.where(lost, squared <= 1e-299, spread * rows >= 1.0 - 4.0 * share) & (spread <= 1.0 + 4.0 * share)
    # Cauchy and Schwarz: a share of the rows has that share of the weight, up to what the weights' variance allows.
    variance = np.maximum(spread - 1.0 / rows, 0.0) + 4.0 * share * (spread + 1.0 / rows)

    def least(part: FloatArray) -> FloatArray:
        part = np.clip(part / rows, 0.0, 1.0)
        bound: FloatArray = weight * np.maximum(part - np.sqrt(part * (1.0 - part) * rows * variance), 0.0)
        return bound

    hold = (outcome >= least(ones) - slack) & (weight - outcome >= least(zeros) - slack) & (outcome >= 0.0)
    hold &= (outcome == 0.0) | (ones + fractional > 0.0)
    below = index // 2
    on_grid = index % 2 == 0
    first, last = low * resolution - below, high * resolution - below
    placed = (low <= high) & np.where(on_grid, (first == 0.0) & (last == 0.0), (first > 0.0) & (last < 1.0))
    placed &= (count > 1.0) | (low == high)

    def between(moment: FloatArray, of: FloatArray) -> npt.NDArray[np.bool_]:
        inside: npt.NDArray[np.bool_] = (moment >= of * first - slack) & (moment <= of * last + slack)
        return inside

    moved = between(offset, weight) & between(outcome_offset, outcome)
    moved &= between(offset - outcome_offset, weight - outcome)
    moved &= ~on_grid | ((offset == 0.0) & (outcome_offset == 0.0))
    return [
        (whole_counts, "must count rows in whole numbers from 1 to 2**53, ones and rates among them"),
        (weighed, f"must have a weight from 0 to {_HEAVIEST:g}"),
        ((squared >= 0.0) & even, "must have squared weights that its weight and its rows allow"),
        (hold, "must have weighted outcomes that its weight, its ones and its zeros allow"),
        (placed, "must have its lowest and highest prediction in order and within the cell"),
        ((offset >= 0.0) & (outcome_offset >= 0.0) & moved, "must have sums of predictions within its range"),
    ]


def is_double_double(high: FloatArray, rest: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each pair is a number and what is lost by rounding to it."""
    whole: npt.NDArray[np.bool_] = np.isfinite(rest) & (high + rest == high) & ((high > 0.0) | (rest == 0.0))
    return whole


def told_apart(keys: Any) -> tuple[Any, bool]:
    """The keys as Arrow with 0 for -0 and null for NaN, and whether keys that an engine told apart may be one now."""
    import narwhals as nw
    import pyarrow

    changed = False
    columns = {}
    for name in keys.columns:
        column = keys[name].to_arrow()
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns[name] = without_signs(column)
        changed = changed or columns[name] is not column
    return nw.from_native(pyarrow.table(columns), eager_only=True), changed


def without_signs(column: Any) -> Any:
    """A column of Arrow with 0 for -0 and null for NaN; the column itself where it has neither."""
    import pyarrow
    import pyarrow.compute as pc

    if not pyarrow.types.is_floating(column.type):
        return column
    values = column.cast(pyarrow.float64()).to_numpy(**({} if hasattr(column, "chunks") else {"zero_copy_only": False}))
    if not (np.isnan(values) | ((values == 0.0) & np.signbit(values))).any():
        return column
    return pc.add(pc.if_else(pc.is_nan(column), pyarrow.scalar(None, column.type), column), 0)


_OTHERWISE = "write them as text or numbers"


def refuse_far(keys: Any, option: str) -> None:
    """Refuse days, times and durations that Python has no value for; `option` is who named the column.

    Raises InputError if there is one.
    """
    import pyarrow
    import pyarrow.compute as pc

    for name in keys.columns:
        column = keys[name].to_arrow()
        if column.type == pyarrow.time64("ns"):
            nanoseconds = column.drop_null().cast(pyarrow.int64()).to_numpy(zero_copy_only=False)
            if (nanoseconds % 1000).any():
                reason = "names a column of times of day with nanoseconds, which Python does not tell apart"
                raise InputError(option, reason, allowed=_OTHERWISE)
        if pyarrow.types.is_temporal(column.type):
            whole = pyarrow.types.is_duration(column.type)  # of which it tells no ends
            ends = pc.min_max(column.cast(pyarrow.int64()) if whole else column)
            try:
                _ = [end.cast(column.type).as_py() for end in ends.values()]
            except (OverflowError, ValueError):
                reason = "names a column of dates or times outside the years 1 to 9999, or of durations as long"
                raise InputError(option, reason, allowed=_OTHERWISE) from None


def ranks_of(keys: Any) -> IntArray:
    """Number the values of one column in their own order, -1 where there is none: the order of rows does not matter."""
    import pyarrow
    import pyarrow.compute as pc

    keys = told_apart(keys)[0]
    column = keys[keys.columns[0]].to_arrow()
    column = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    coded = pc.dictionary_encode(column)
    rank = np.empty(len(coded.dictionary) + 1, np.int64)
    rank[np.from_dlpack(pc.sort_indices(coded.dictionary))] = np.arange(rank.size - 1)
    rank[-1] = -1
    codes = np.from_dlpack(pc.fill_null(coded.indices, rank.size - 1))
    return np.asarray(rank[codes])


def arrow_numbers(numbers: npt.NDArray[Any]) -> Any:
    """A contiguous array of numbers as one of Arrow, whose own `array` loads pandas, a tenth of a second and 40 MB."""
    import pyarrow

    of = pyarrow.from_numpy_dtype(numbers.dtype)
    return pyarrow.Array.from_buffers(of, numbers.size, [None, pyarrow.py_buffer(numbers)])


def numbers_of(keys: Any) -> IntArray:
    """Number the distinct combinations of a few columns; null is a value like any other."""
    import pyarrow
    import pyarrow.compute

    numbers = np.zeros(len(keys), np.int64)
    for name in keys.columns:
        column = keys[name].to_arrow()
        column = column.cast(column.type.value_type) if pyarrow.types.is_dictionary(column.type) else column
        coded = pyarrow.compute.dictionary_encode(column, null_encoding="encode")
        coded = coded.combine_chunks() if isinstance(coded, pyarrow.ChunkedArray) else coded
        codes = np.from_dlpack(coded.indices).astype(np.int64)
        numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return numbers
