"""A good calibrated predictor near the best coupling: elements in the order of their targets, cut into parts."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.segments import cut
from calibrant.kernels.sums import dot
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.clock import Clock
from calibrant.measures.lower_check import Coupling

_WORK = 5e8  # elements looked at
_NEAR = 10  # places on either side of a cut that are tried once cuts are known


def rounded_partition(mass: FloatArray, v: FloatArray, y: FloatArray, coupling: Coupling) -> IntArray:
    """Part of each element, shape (n,), in a partition whose cost is little above the coupling's.

    The coupling moves each element to a mean target; in the order of these targets, a part of a good partition is
    made of neighbours. Cost: at most some 2e9 elementary steps.
    """
    order = np.lexsort((v, np.round(_targets(mass, v, y, coupling), 9)))  # one target is one, for any rounding
    elements = mass[order], v[order], y[order]
    n = v.size
    # Where not every pair of cuts can be tried: cuts at every few elements for parts of about n**(2/3), the size where
    # noise is what is matched, and far apart for parts of any size.
    longest = max(2, int(math.sqrt(2.0 * _WORK / n)))
    choices = {1} if longest >= n else {max(1, round(8.0 * n ** (2.0 / 3.0) / longest)), math.ceil(n / longest)}
    best = math.inf
    start: IntArray = np.zeros(1, np.int64)
    for every in sorted(choices):
        cuts = _cut(elements, every, longest)
        cost = _cost(elements, cuts)
        if cost < best:
            best, start = cost, cuts
    first = np.zeros(n, np.int64)
    first[start[1:]] = 1
    labels = np.empty(n, np.int64)
    labels[order] = first.cumsum()
    return labels


def _cut(elements: tuple[FloatArray, FloatArray, FloatArray], every: int, longest: int) -> IntArray:
    """First elements of parts: cuts at every few elements, then ever closer to those found."""
    n = elements[0].size
    clock = Clock(None)  # not limited: without a partition there is no bracket
    start: IntArray = clock.run(cut, *elements, np.append(np.arange(0, n, every), n), longest, clock.stop)
    while every > 1:
        every = max(1, every // 4)
        near = (start[:, None] + every * np.arange(-_NEAR, _NEAR + 1)).ravel()
        places = np.unique(np.concatenate([[0, n], near[(near > 0) & (near < n)]]))
        start = clock.run(cut, *elements, places, 5 * _NEAR, clock.stop)
    return start


def _cost(elements: tuple[FloatArray, FloatArray, FloatArray], start: IntArray) -> float:
    mass, v, y = elements
    mean = np.add.reduceat(mass * y, start) / np.add.reduceat(mass, start)
    return dot(mass, np.abs(v - np.repeat(mean, np.diff(np.append(start, v.size)))))


def _targets(mass: FloatArray, v: FloatArray, y: FloatArray, coupling: Coupling) -> FloatArray:
    """Mean target of each element, those that share a prediction taking targets in turn."""
    order = np.argsort(v, kind="stable")
    moved = np.zeros(v.size)
    for label, share in ((0.0, (1.0 - y) * mass), (1.0, y * mass)):
        pieces = np.flatnonzero(coupling.y == label)
        pieces = pieces[np.lexsort((coupling.u[pieces], coupling.v[pieces]))]
        carried = np.append(0.0, coupling.mass[pieces].cumsum())
        reached = np.append(0.0, (coupling.mass[pieces] * coupling.u[pieces]).cumsum())
        ends = np.append(0.0, share[order].cumsum())
        moved[order] += np.diff(np.interp(ends, carried, reached))
    return moved / mass
