"""Rows of class probabilities: the largest of each, and sums over the rows that predict the same class."""

from __future__ import annotations

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(nogil=True, cache=True)
def largest(table: FloatArray, best: IntArray) -> None:
    """Columns of the largest numbers of each row in falling order, the first of equal ones first."""
    count = best.shape[1]
    for i in range(table.shape[0]):
        held = 0
        for k in range(table.shape[1]):
            value = table[i, k]
            if held == count and value <= table[i, best[i, count - 1]]:
                continue
            at = held if held < count else count - 1
            while at > 0 and value > table[i, best[i, at - 1]]:
                best[i, at] = best[i, at - 1]
                at -= 1
            best[i, at] = k
            if held < count:
                held += 1


@njit(nogil=True, cache=True)
def add_rows(table: FloatArray, group: IntArray, total: FloatArray) -> None:
    """Add each row to that of `total` whose number is its group's."""
    for i in range(table.shape[0]):
        g = group[i]
        for k in range(table.shape[1]):
            total[g, k] += table[i, k]
