"""Isotonic regression: the increasing sequence that is nearest to a column in weighted mean square."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def pool_adjacent(x: FloatArray, weight: FloatArray, start: IntArray) -> int:
    """Overwrite x with its isotonic regression, and return how many blocks it has; start[k] is where block k begins.

    The weights, all positive, are overwritten too. Busing, Monotone regression: a simple and fast O(n) PAVA
    implementation, Journal of Statistical Software 102, 2022, Algorithm 1; equal neighbours share a block.
    """
    n = x.size
    b = -1
    i = 0
    while i < n:
        first, value, mass = i, x[i], weight[i]
        i += 1
        if b >= 0 and x[b] >= value:
            total = weight[b] * x[b] + mass * value
            mass += weight[b]
            value = total / mass
            first = start[b]
            b -= 1
            while i < n and value >= x[i]:
                total += weight[i] * x[i]
                mass += weight[i]
                value = total / mass
                i += 1
            while b >= 0 and x[b] >= value:
                total += weight[b] * x[b]
                mass += weight[b]
                value = total / mass
                first = start[b]
                b -= 1
        b += 1
        x[b], weight[b], start[b] = value, mass, first
    end = n
    for k in range(b, -1, -1):
        value = x[k]
        for j in range(end - 1, start[k] - 1, -1):
            x[j] = value
        end = start[k]
    return b + 1


def isotonic(rate: FloatArray, weight: FloatArray) -> tuple[FloatArray, IntArray]:
    """Increasing column nearest to a column of rates, with positive weights, and where each of its steps begins."""
    x = np.array(rate, np.float64)
    start = np.empty(x.size, np.int64)
    return x, start[: pool_adjacent(x, np.array(weight, np.float64), start)]
