"""What the elements that are left must still cost beyond their credit, by other potentials (docs/distance.md)."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.types import FloatArray
from calibrant.measures.lower_check import UNIT, Potentials, overdraft

_MOST = 16  # shifts
_SUMS = 1_600_000  # of each kind, so that a million rows do not take a gigabyte


def shifted_potentials(potentials: Potentials, n: int) -> list[Potentials]:
    """Feasible potentials that give more to one of n elements' outcomes and less to the other, by several amounts."""
    u, r0, r1 = potentials.nodes, potentials.r0, potentials.r1
    count = min(max(_SUMS // n, 1), _MOST)
    found = []
    for shift in 2.0 * (np.arange(1, count + 1) / count) ** 2:  # by 2 c**2: it tells most about states near the value c
        found.append(_feasible(u, r0 - shift, _raised(u, r0 - shift)))
        found.append(_feasible(u, _raised((1.0 - u)[::-1], (r1 - shift)[::-1])[::-1], r1 - shift))
    return found


def _raised(u: FloatArray, r0: FloatArray) -> FloatArray:
    """Highest r1 with slopes of at most 1 and (1 - u) r0 + u r1 <= 0 at every node and at 1."""
    highest = 1.0 - u
    tighter = (u > 0.0) & (-r0 < u)
    highest[tighter] *= -r0[tighter] / u[tighter]
    rising = np.minimum.accumulate(highest - u) + u
    falling = np.minimum.accumulate((highest + u)[::-1])[::-1] - u
    return np.asarray(np.minimum(rising, falling), dtype=np.float64)


def _feasible(u: FloatArray, r0: FloatArray, r1: FloatArray) -> Potentials:
    over = overdraft(Potentials(u, r0, r1)) + 1e-12  # by far more than rounding
    return Potentials(u, r0 - over, r1 - over)


def more_than_credit(
    values: FloatArray, credit: FloatArray, nodes: FloatArray, heights: list[FloatArray]
) -> FloatArray:
    """What other heights give elements of one outcome beyond their credit, (elements, heights)."""
    at = np.searchsorted(nodes, values)
    return np.stack([height[at] for height in heights], axis=1) - credit[:, None]


def from_there_on(more: FloatArray, n: int) -> FloatArray:
    """Sums over an element and all after it, (elements + 1, heights), rounded down; there are n elements in all."""
    sums: FloatArray = np.zeros((more.shape[0] + 1, more.shape[1]))
    sums[:-1] = more[::-1].cumsum(axis=0)[::-1]
    sums -= 4.0 * n * UNIT * np.abs(more).sum(axis=0).max(initial=0.0)
    return sums
