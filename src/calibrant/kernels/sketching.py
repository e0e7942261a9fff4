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


@njit(cache=True, nogil=True)
def add_rows(y: FloatArray, v: FloatArray, w: FloatArray, resolution: int, table: FloatArray) -> None:
    """Add rows to the table; `w` of length zero stands for weights of one."""
    weighted = w.size > 0
    for i in range(v.size):
        scaled = v[i] * resolution  # exact: the resolution is a power of two
        k = int(scaled)
        offset = scaled - k  # exact as well
        cell = table[2 * k + (offset > 0.0)]
        if cell[COUNT] == 0.0:
            cell[LOW] = v[i]
            cell[HIGH] = v[i]
        else:
            cell[LOW] = min(cell[LOW], v[i])
            cell[HIGH] = max(cell[HIGH], v[i])
        cell[COUNT] += 1.0
        one = y[i] == 1.0
        whole = one | (y[i] == 0.0)
        cell[ONES] += one
        if not whole:
            cell[FRACTIONAL] += 1.0
        if weighted:
            _add(cell, WEIGHT, WEIGHT_REST, w[i])
            _add(cell, OUTCOME, OUTCOME_REST, w[i] * y[i])
            cell[SQUARED] += w[i] * w[i]
            _add(cell, OFFSET, OFFSET_REST, w[i] * offset)
            _add(cell, OUTCOME_OFFSET, OUTCOME_OFFSET_REST, w[i] * y[i] * offset)
        else:
            cell[WEIGHT] += 1.0
            cell[SQUARED] += 1.0
            if whole:
                cell[OUTCOME] += y[i]
            else:
                _add(cell, OUTCOME, OUTCOME_REST, y[i])
            _add(cell, OFFSET, OFFSET_REST, offset)
            _add(cell, OUTCOME_OFFSET, OUTCOME_OFFSET_REST, y[i] * offset)


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
