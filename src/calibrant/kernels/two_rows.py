"""Least cost of cutting two rows of elements, in step, into parts that are moved to their mean outcomes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.segments import walked_back
from calibrant.kernels.types import FloatArray, IntArray


class Row(NamedTuple):
    """Elements sorted by prediction, with running sums that start at 0.

    v : predictions.
    sums : of mass, mass * outcome, mass * prediction and mass * credit, (elements + 1, 4).
    cell : how many elements lie below k / (cell.size - 2).
    """

    v: FloatArray
    sums: FloatArray
    cell: IntArray


@inner
def _below(row: Row, mu: float, first: int, last: int) -> int:
    """Where, from first to last, the elements below mu end."""
    k = int(mu * (row.cell.size - 2))
    low, high = max(first, row.cell[k]), min(last, row.cell[k + 1])
    while low < high:
        middle = (low + high) >> 1
        if row.v[middle] < mu:
            low = middle + 1
        else:
            high = middle
    return int(min(max(low, first), last))


@inner
def _moved(row: Row, mu: float, first: int, last: int) -> float:
    """Mass times distance to mu of the elements from first to last."""
    at = _below(row, mu, first, last)
    mass = row.sums[first, 0] + row.sums[last, 0] - 2.0 * row.sums[at, 0]
    return float(row.sums[first, 2] + row.sums[last, 2] - 2.0 * row.sums[at, 2] - mu * mass)


@njit(cache=True, nogil=True)
def cut_in_step(
    first: Row, other: Row, place: IntArray, furthest: int, most: float, gain: float
) -> tuple[float, IntArray]:
    """Least cost beyond all credit of a path through some of the places, and which these are, first and last included.

    place : elements used of either row, (places, 2), sorted by their sum; a part leads from one to a later one that
    uses no less of either.
    furthest : a part leads over at most so many places.
    most : a path that costs more need not be found.
    gain : what a path must at least win to take the place of one that was found before, of fewer parts.
    """
    n = place.shape[0]
    # Credits add up to no more than any part costs: so no path from a place is cheaper than the one that led there.
    cost = np.full(n, np.inf)
    previous = np.zeros(n, np.int64)
    both = np.empty((n, 3))
    for k in range(n):
        for column, total in enumerate((0, 1, 3)):
            both[k, column] = first.sums[place[k, 0], total] + other.sums[place[k, 1], total]
    cost[0] = 0.0
    for s in range(n - 1):
        if cost[s] > most:
            continue
        a, b = place[s, 0], place[s, 1]
        for e in range(s + 1, min(n, s + 1 + furthest)):
            c, d = place[e, 0], place[e, 1]
            if c < a or d < b or cost[s] + gain >= cost[e]:
                continue
            mass = both[e, 0] - both[s, 0]
            mu = min(1.0, max(0.0, (both[e, 1] - both[s, 1]) / mass)) if mass > 0.0 else 0.0
            total = cost[s] - (both[e, 2] - both[s, 2]) + _moved(first, mu, a, c)
            if total + gain < cost[e]:
                total += _moved(other, mu, b, d)
                if total + gain < cost[e]:
                    cost[e] = max(total, cost[s])  # rounding must not win anything
                    previous[e] = s
    path = walked_back(previous, n - 1)
    whole = np.full(path.size + 1, n - 1)
    for k in range(path.size):
        whole[k] = path[k]
    return cost[n - 1], whole
