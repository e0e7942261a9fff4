"""A good calibrated predictor near the best coupling: elements in the order of their targets, cut into parts."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.segments import cut
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.clock import Clock
from calibrant.measures.lower_check import Coupling

_WORK = 5e8  # elements looked at
_NEAR = 10  # places on either side of a cut that are tried once cuts are known


def rounded_partition(mass: FloatArray, v: FloatArray, y: FloatArray, coupling: Coupling, clock: Clock) -> IntArray:
    """Part of each element, shape (n,), in a partition whose cost is little above the coupling's.

    The coupling moves each element to a mean target; in the order of these targets, a part of a good partition is
    made of neighbours. Cost: at most some 1e9 elementary steps.
    """
    order = np.lexsort((v, _targets(v, y, coupling)))
    elements = mass[order], v[order], y[order]
    n = v.size
    # n * longest**2 / 2 steps; where that does not reach as far as parts do, cuts are tried at every few elements.
    longest = min(n, max(2, int(math.sqrt(2.0 * _WORK / n))))
    every = 1 if longest == n else max(1, round(8.0 * n ** (2.0 / 3.0) / longest))
    start = clock.run(cut, *elements, np.append(np.arange(0, n, every), n), longest, clock.stop)
    while every > 1:
        every = max(1, every // 4)
        near = (start[:, None] + every * np.arange(-_NEAR, _NEAR + 1)).ravel()
        places = np.unique(np.concatenate([[0, n], near[(near > 0) & (near < n)]]))
        start = clock.run(cut, *elements, places, 5 * _NEAR, clock.stop)
    first = np.zeros(n, np.int64)
    first[start[1:]] = 1
    labels = np.empty(n, np.int64)
    labels[order] = first.cumsum()
    return labels


def _targets(v: FloatArray, y: FloatArray, coupling: Coupling) -> FloatArray:
    """Mean target of each element."""
    target = np.zeros(v.size)
    for label, share in ((0.0, 1.0 - y), (1.0, y)):
        pieces = coupling.y == label
        if pieces.any():
            places, at = np.unique(coupling.v[pieces], return_inverse=True)
            mean = np.bincount(at, coupling.mass[pieces] * coupling.u[pieces]) / np.bincount(at, coupling.mass[pieces])
            target += share * mean[np.minimum(np.searchsorted(places, v), places.size - 1)]
    return target
