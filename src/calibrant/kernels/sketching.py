"""One pass over rows into the cells of a grid, and cells into cells.

A table of cells has one row a cell and the columns named here. Cell 2k is the grid point k / resolution alone, cell
2k + 1 the open interval after it: whichever side a bin is closed on, a bin between grid points is a union of cells.
The sums that answers rest on are double-double: a number, and in a column of its own what it leaves out.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

COUNT, ONES, FRACTIONAL, WEIGHT, OUTCOME, SQUARED, OFFSET, OUTCOME_OFFSET, LOW, HIGH = range(10)
WEIGHT_REST, OUTCOME_REST, OFFSET_REST, OUTCOME_OFFSET_REST = range(10, 14)
COLUMNS = 14


@njit(inline="always")
def _add(cell: FloatArray, column: int, rest: int, x: float) -> None:
    """Add a number to a double-double sum, off by at most 2**-105 of it (Joldes, Muller, Popescu 2017, algorithm 4)."""
    a = cell[column]
    near = a + x
    back = near - a
    lost = (a - (near - back)) + (x - back) + cell[rest]
    total = near + lost
    cell[rest] = lost - (total - near)
    cell[column] = total


@njit(inline="always")
def _add_row(cell: FloatArray, y: float, v: float, w: float, offset: float, weighted: bool) -> None:
    if cell[COUNT] == 0.0:
        cell[LOW] = v
        cell[HIGH] = v
    else:
        cell[LOW] = min(cell[LOW], v)
        cell[HIGH] = max(cell[HIGH], v)
    cell[COUNT] += 1.0
    one = y == 1.0
    whole = one | (y == 0.0)
    cell[ONES] += one
    if not whole:
        cell[FRACTIONAL] += 1.0
    if weighted:
        _add(cell, WEIGHT, WEIGHT_REST, w)
        _add(cell, OUTCOME, OUTCOME_REST, w * y)
        cell[SQUARED] += w * w
        _add(cell, OFFSET, OFFSET_REST, w * offset)
        _add(cell, OUTCOME_OFFSET, OUTCOME_OFFSET_REST, w * y * offset)
    else:
        cell[WEIGHT] += 1.0
        cell[SQUARED] += 1.0
        if whole:
            cell[OUTCOME] += y
        else:
            _add(cell, OUTCOME, OUTCOME_REST, y)
        _add(cell, OFFSET, OFFSET_REST, offset)
        _add(cell, OUTCOME_OFFSET, OUTCOME_OFFSET_REST, y * offset)


@njit(cache=True, nogil=True)
def add_rows(y: FloatArray, v: FloatArray, w: FloatArray, resolution: int, table: FloatArray) -> None:
    """Add rows to the table; `w` of length zero stands for weights of one."""
    weighted = w.size > 0
    for i in range(v.size):
        scaled = v[i] * resolution  # exact: the resolution is a power of two
        k = int(scaled)
        offset = scaled - k  # exact as well
        _add_row(table[2 * k + (offset > 0.0)], y[i], v[i], w[i] if weighted else 1.0, offset, weighted)


@njit(inline="always")
def fault_of(y: float, v: float, w: float) -> int:
    """What is wrong with a row, as `calibrant.sketch.groups` numbers it; 0 if nothing is."""
    if not (y >= 0.0 and y <= 1.0):
        return 1 if np.isnan(y) else 2
    if not (v >= 0.0 and v <= 1.0):
        return 3 if np.isnan(v) else 4
    if not (w >= 0.0 and w < np.inf):
        return 5 if np.isnan(w) else 6
    return 0


@njit(cache=True, nogil=True)
def add_good_rows(
    y: FloatArray,
    v: FloatArray,
    w: FloatArray,
    segment: IntArray,
    resolution: int,
    table: FloatArray,
    faults: IntArray,
    heaviest: FloatArray,
) -> None:
    """Add rows to the tables of their segments, one after another; bad rows are counted by their faults.

    `heaviest`, of shape (1,), becomes the largest weight that was added, if it was smaller.
    `segment` of length zero stands for one segment; rows of a negative one are left out. In the table of a segment the
    open intervals come first, then the grid points, on which few rows lie.
    """
    weighted, several = w.size > 0, segment.size > 0
    for i in range(v.size):
        weight = w[i] if weighted else 1.0
        fault = fault_of(y[i], v[i], weight)
        if fault > 0:
            faults[fault] += 1
            continue
        of = segment[i] if several else 0
        if of < 0:
            continue
        heaviest[0] = max(heaviest[0], weight)
        scaled = v[i] * resolution
        k = int(scaled)
        offset = scaled - k
        at = of * (2 * resolution + 1) + k + (0 if offset > 0.0 else resolution)
        _add_row(table[at], y[i], v[i], weight, offset, weighted)


@njit(inline="always")
def _add_cell(other: FloatArray, cell: FloatArray) -> None:
    if cell[COUNT] == 0.0:
        for column in range(COLUMNS):
            cell[column] = other[column]
        return
    cell[COUNT] += other[COUNT]
    cell[ONES] += other[ONES]
    cell[FRACTIONAL] += other[FRACTIONAL]
    cell[SQUARED] += other[SQUARED]
    for column, rest in (
        (WEIGHT, WEIGHT_REST),
        (OUTCOME, OUTCOME_REST),
        (OFFSET, OFFSET_REST),
        (OUTCOME_OFFSET, OUTCOME_OFFSET_REST),
    ):
        _add(cell, column, rest, other[column])
        _add(cell, column, rest, other[rest])
    cell[LOW] = min(cell[LOW], other[LOW])
    cell[HIGH] = max(cell[HIGH], other[HIGH])


@njit(cache=True, nogil=True)
def add_cells(index: IntArray, cells: FloatArray, table: FloatArray) -> None:
    """Add rows of another table, which belong to the cells of `index`."""
    for i in range(index.size):
        _add_cell(cells[i], table[index[i]])


@njit(cache=True, nogil=True)
def add_table(other: FloatArray, table: FloatArray) -> None:
    """Add every cell of another table of the same grid."""
    for i in range(table.shape[0]):
        if other[i, COUNT] > 0.0:
            _add_cell(other[i], table[i])


def new_table(resolution: int) -> FloatArray:
    """Return a table without rows; pages are not touched before they are needed."""
    return np.zeros((2 * resolution + 1, COLUMNS))
