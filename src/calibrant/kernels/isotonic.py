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


@njit(cache=True, nogil=True)
def with_one_more(rate: FloatArray, weight: FloatArray, outcome: float) -> FloatArray:
    """Isotonic value of one more row, of weight 1 and this outcome, wherever it may stand: shape (2 m + 1,).

    Value 2 k is that of a row before level k of m, or after the last, and value 2 k + 1 that of a row at level k. The
    fit of the levels before it is a stack of blocks, each of which knows where it begins; so is, from the other side,
    that of the levels after it. The row's block takes in neighbours of both for as long as they are out of order.
    """
    m = rate.size
    first, below, under = np.empty(m, np.int64), np.empty(m), np.empty(m)
    for k in range(m):
        start, total, mass = k, rate[k] * weight[k], weight[k]
        while start > 0 and below[start - 1] * mass >= total * under[start - 1]:
            total, mass, start = total + below[start - 1], mass + under[start - 1], first[start - 1]
        first[k], below[k], under[k] = start, total, mass
    last, above, over = np.empty(m, np.int64), np.empty(m), np.empty(m)
    for k in range(m - 1, -1, -1):
        end, total, mass = k, rate[k] * weight[k], weight[k]
        while end < m - 1 and above[end + 1] * mass <= total * over[end + 1]:
            total, mass, end = total + above[end + 1], mass + over[end + 1], last[end + 1]
        last[k], above[k], over[k] = end, total, mass
    value = np.empty(2 * m + 1)
    for place in range(2 * m + 1):
        k, met = place // 2, place % 2
        total, mass, left, right = outcome, 1.0, k - 1, k + met
        if met:
            total, mass = total + rate[k] * weight[k], mass + weight[k]
        while True:
            if left >= 0 and below[left] * mass >= total * under[left]:
                total, mass, left = total + below[left], mass + under[left], first[left] - 1
            elif right < m and above[right] * mass <= total * over[right]:
                total, mass, right = total + above[right], mass + over[right], last[right] + 1
            else:
                break
        value[place] = total / mass
    return value
