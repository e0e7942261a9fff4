"""What proves the lower distance: sums over a coupling; potentials, how they extend and by how much they break (D)."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.sums import add
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


@njit(cache=True, nogil=True)
def carry(
    v: FloatArray, mass: FloatArray, u: FloatArray, target: FloatArray, outcome: float, sums: FloatArray,
    amiss: FloatArray,
) -> tuple[float, int]:  # fmt: skip
    """Carry mass on v to target on u in order, as `lower_lift.quantile_coupling` does, and keep sums, not the pieces.

    Compensated sums go on from what they hold: sums (3, 2) of mass * abs(u - v), of mass, and of abs(residual);
    amiss (2, K) of the residual, mass * (outcome - u), at the first of equal u. Returns by how much what left every v
    differs from its mass, and the number of pieces.
    """
    cost, cost_lost = sums[0, 0], sums[0, 1]
    moved, moved_lost = sums[1, 0], sums[1, 1]
    size, size_lost = sums[2, 0], sums[2, 1]
    apart, apart_lost = 0.0, 0.0
    n = 0
    k = 0
    group = 0
    room = target[0]
    for j in range(v.size):
        left, left_lost = 0.0, 0.0
        left_over = mass[j]
        while left_over > 0.0:
            while room <= 0.0 and k + 1 < u.size:
                k += 1
                room = target[k]
                if u[k] != u[group]:
                    group = k
            piece = left_over if k + 1 == u.size else min(left_over, room)
            residual = (outcome - u[k]) * piece
            cost, cost_lost = add(cost, cost_lost, piece * abs(u[k] - v[j]))
            moved, moved_lost = add(moved, moved_lost, piece)
            size, size_lost = add(size, size_lost, abs(residual))
            left, left_lost = add(left, left_lost, piece)
            amiss[0, group], amiss[1, group] = add(amiss[0, group], amiss[1, group], residual)
            n += 1
            left_over -= piece
            room -= piece
        apart, apart_lost = add(apart, apart_lost, abs(left + left_lost - mass[j]))
    sums[0, 0], sums[0, 1] = cost, cost_lost
    sums[1, 0], sums[1, 1] = moved, moved_lost
    sums[2, 0], sums[2, 1] = size, size_lost
    return apart + apart_lost, n
