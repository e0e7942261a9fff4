"""One pass over rows into the cells of a grid, and cells into cells.

A table of cells has one row a cell and the columns named here. Cell 2k is the grid point k / resolution alone, cell
2k + 1 the open interval after it: whichever side a bin is closed on, a bin between grid points is a union of cells.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

COUNT, ONES, FRACTIONAL, WEIGHT, OUTCOME, SQUARED, OFFSET, OUTCOME_OFFSET, LOW, HIGH = range(10)


@njit(cache=True, nogil=True)
def add_rows(y: FloatArray, v: FloatArray, w: FloatArray, resolution: int, table: FloatArray) -> None:
    """Add rows to the table; `w` of length one stands for equal weights."""
    same = w.size == 1
    for i in range(v.size):
        scaled = v[i] * resolution  # exact: the resolution is a power of two
        k = int(scaled)
        offset = scaled - k  # exact as well
        cell = table[2 * k + (offset > 0.0)]
        weight = w[0] if same else w[i]
        if cell[COUNT] == 0.0:
            cell[LOW] = v[i]
            cell[HIGH] = v[i]
        else:
            cell[LOW] = min(cell[LOW], v[i])
            cell[HIGH] = max(cell[HIGH], v[i])
        cell[COUNT] += 1.0
        cell[ONES] += y[i] == 1.0
        cell[FRACTIONAL] += (y[i] != 0.0) & (y[i] != 1.0)
        cell[WEIGHT] += weight
        cell[OUTCOME] += weight * y[i]
        cell[SQUARED] += weight * weight
        cell[OFFSET] += weight * offset
        cell[OUTCOME_OFFSET] += weight * y[i] * offset


@njit(cache=True, nogil=True)
def add_cells(index: IntArray, cells: FloatArray, table: FloatArray) -> None:
    """Add rows of another table, which belong to the cells of `index`."""
    for i in range(index.size):
        into, other = table[index[i]], cells[i]
        if into[COUNT] == 0.0:
            into[:] = other
        else:
            for j in range(LOW):
                into[j] += other[j]
            into[LOW] = min(into[LOW], other[LOW])
            into[HIGH] = max(into[HIGH], other[HIGH])


@njit(cache=True, nogil=True)
def add_table(other: FloatArray, table: FloatArray) -> None:
    """Add every cell of another table of the same grid."""
    for i in range(table.shape[0]):
        if other[i, COUNT] == 0.0:
            continue
        if table[i, COUNT] == 0.0:
            table[i] = other[i]
        else:
            for j in range(LOW):
                table[i, j] += other[i, j]
            table[i, LOW] = min(table[i, LOW], other[i, LOW])
            table[i, HIGH] = max(table[i, HIGH], other[i, HIGH])


def new_table(resolution: int) -> FloatArray:
    """Return a table without rows; pages are not touched before they are needed."""
    return np.zeros((2 * resolution + 1, HIGH + 1))
