"""What potentials prove: their lowest Lipschitz extension, and how far it breaks the condition of the dual program."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray


@njit(cache=True, nogil=True)
def extended(nodes: FloatArray, r: FloatArray, places: FloatArray) -> FloatArray:
    """Max over nodes of r - abs(node - place), by a sweep from either side; nodes and places increase."""
    heights = np.empty(places.size)
    best = -np.inf
    k = 0
    for i in range(places.size):
        while k < nodes.size and nodes[k] <= places[i]:
            best = max(best, r[k] + nodes[k])
            k += 1
        heights[i] = best - places[i]
    best = -np.inf
    k = nodes.size - 1
    for i in range(places.size - 1, -1, -1):
        while k >= 0 and nodes[k] >= places[i]:
            best = max(best, r[k] - nodes[k])
            k -= 1
        heights[i] = max(heights[i], best + places[i])
    return heights


@njit(cache=True, nogil=True)
def largest_product(places: FloatArray, r0: FloatArray, r1: FloatArray) -> float:
    """Maximum over u in [0, 1] of (1 - u) R0(u) + u R1(u), R the lowest extension between neighbouring places."""
    largest = -np.inf
    for k in range(places.size - 1):
        a, b = places[k], places[k + 1]
        turn0 = (a + b + r0[k] - r0[k + 1]) / 2
        turn1 = (a + b + r1[k] - r1[k + 1]) / 2
        vertex = (1.0 - r0[k + 1] + b + r1[k] + a) / 4  # of the parabola, where R0 rises and R1 falls
        for place in (a, b, turn0, turn1, vertex):
            u = min(max(place, a), b)
            height0 = max(r0[k] - (u - a), r0[k + 1] - (b - u))
            height1 = max(r1[k] - (u - a), r1[k + 1] - (b - u))
            value = (1.0 - u) * height0 + u * height1
            if not value <= largest:  # true for NaN as well
                largest = value
    return largest
