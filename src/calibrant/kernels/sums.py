"""Sums that are the same on any number of processors; BLAS splits its own by the number of threads.

What certificates rest on is summed with compensation (Neumaier): the error is at most 2**-53 of the sum and
(n 2**-53)**2 of the sum of absolute values (Ogita, Rump and Oishi 2005, Proposition 4.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


def dot(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Sum of the products of two columns."""
    return float(np.einsum("i,i->", a, b))


def rows_dot(matrix: FloatArray, column: FloatArray) -> FloatArray:
    """Sum of the products of each row of a matrix with a column."""
    return np.asarray(np.einsum("ij,j->i", matrix, column))


@njit(cache=True, nogil=True)
def add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Add a term to a compensated sum, total + lost."""
    new = total + term
    part = new - total
    return new, lost + ((total - (new - part)) + (term - part))


@njit(cache=True, nogil=True)
def compensated_sum(a: FloatArray) -> float:
    """Sum of a column."""
    total = 0.0
    lost = 0.0
    for i in range(a.size):
        total, lost = add(total, lost, a[i])
    return total + lost


@njit(cache=True, nogil=True)
def compensated_dot(a: FloatArray, b: FloatArray) -> float:
    """Sum of the products of two columns; each product is rounded once."""
    total = 0.0
    lost = 0.0
    for i in range(a.size):
        total, lost = add(total, lost, a[i] * b[i])
    return total + lost


@njit(cache=True, nogil=True)
def grouped_sums(a: FloatArray, start: IntArray) -> FloatArray:
    """Sums of the stretches of a column that start at the given rows."""
    out = np.empty(start.size)
    for g in range(start.size):
        total = 0.0
        lost = 0.0
        for i in range(start[g], start[g + 1] if g + 1 < start.size else a.size):
            total, lost = add(total, lost, a[i])
        out[g] = total + lost
    return out


@njit(cache=True, nogil=True)
def labelled_sums(label: IntArray, a: FloatArray, size: int) -> FloatArray:
    """Sums of a column's rows by their labels, from 0 to size - 1."""
    total = np.empty(size)
    lost = np.empty(size)
    for k in range(size):
        total[k] = 0.0
        lost[k] = 0.0
    for i in range(a.size):
        k = label[i]
        total[k], lost[k] = add(total[k], lost[k], a[i])
    for k in range(size):
        total[k] += lost[k]
    return total
