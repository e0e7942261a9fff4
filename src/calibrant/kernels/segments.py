"""Least cost of cutting a row of elements into parts of neighbours, each moved to its mean outcome."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(nogil=True)
def walked_back(previous: IntArray, end: int) -> IntArray:
    """Where each part of a best partition begins, increasing; previous[j] is where the one that ends at j does."""
    parts, at = 0, end
    while at > 0:
        at = previous[at]
        parts += 1
    start = np.empty(parts, np.int64)
    at = end
    while at > 0:
        at = previous[at]
        parts -= 1
        start[parts] = at
    return start


@njit(cache=True, nogil=True)
def cut(mass: FloatArray, v: FloatArray, y: FloatArray, block: IntArray, longest: int, stop: IntArray) -> IntArray:
    """First elements of the parts of the cheapest cutting, cuts at the starts of blocks and longest blocks to a part.

    stop: set to 1 from outside to end early; the rest is then one part.
    """
    blocks = block.size - 1
    cost = np.full(blocks + 1, np.inf)
    previous = np.zeros(blocks + 1, np.int64)
    cost[0] = 0.0
    for s in range(blocks):
        if stop[0] != 0:
            if cost[blocks] == np.inf:
                previous[blocks] = s
            break
        total = 0.0
        ones = 0.0
        for e in range(s, min(blocks, s + longest)):
            for i in range(block[e], block[e + 1]):
                total += mass[i]
                ones += mass[i] * y[i]
            mu = min(1.0, ones / total)
            moved = 0.0
            for i in range(block[s], block[e + 1]):
                moved += mass[i] * abs(v[i] - mu)
            if cost[s] + moved < cost[e + 1]:
                cost[e + 1] = cost[s] + moved
                previous[e + 1] = s
    start = walked_back(previous, blocks)
    for part in range(start.size):
        start[part] = block[start[part]]
    return start
