"""Lower distance: both sides of a solution on few nodes, lifted to the whole sample in linear time.

Any masses on the nodes give a coupling of the whole sample, any potentials on the nodes give feasible potentials on
the whole sample. What each cell of the sample and each gap of the nodes lose on the way says where to refine.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.lower import calibrated_scale
from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def lift_coupling(
    v: FloatArray, p: FloatArray, q: FloatArray, u: FloatArray, lam: FloatArray, start: IntArray, excess: FloatArray
) -> float:
    """Cost of carrying the sample to the calibrated distribution lam, repaired at 0 and 1.

    excess: what a cell costs beyond its barycentres, the flow's absolute integral less its integral's absolute value.
    """
    zeros = 0.0
    ones = 0.0
    for j in range(v.size):
        zeros += p[j]
        ones += q[j]
    scale, rest0, _ = calibrated_scale(u, lam, zeros, ones)
    flow0 = -rest0
    flow1 = 0.0
    position = 0.0
    cost = 0.0
    cell = 0
    signed0 = 0.0
    signed1 = 0.0
    total = 0.0
    j = 0
    k = 0
    while j < v.size or k < u.size:
        from_sample = k == u.size or (j < v.size and v[j] <= u[k])
        here = v[j] if from_sample else u[k]
        width = here - position
        position = here
        piece = width * (abs(flow0) + abs(flow1))
        cost += piece
        if j > start[cell]:
            total += piece
            signed0 += width * flow0
            signed1 += width * flow1
        if from_sample:
            flow0 += p[j]
            flow1 += q[j]
            j += 1
            if j == start[cell + 1]:
                excess[cell] = total - abs(signed0) - abs(signed1)
                total = 0.0
                signed0 = 0.0
                signed1 = 0.0
                cell = min(cell + 1, start.size - 2)
        else:
            flow0 -= (1.0 - u[k]) * lam[k] * scale
            flow1 -= u[k] * lam[k] * scale
            k += 1
    return cost + (1.0 - position) * (abs(flow0) + abs(flow1))  # the rest at 1


@njit(cache=True, nogil=True)
def interpolate(
    v: FloatArray, p: FloatArray, q: FloatArray, u: FloatArray, x: FloatArray, start: IntArray, loss: FloatArray,
    r: FloatArray,
) -> None:  # fmt: skip
    """Potentials of the nodes on straight lines to the sample, r (m, 2); loss: minus what a cell then earns."""
    k = 0
    cell = 0
    earned = 0.0
    for j in range(v.size):
        while u[k + 1] < v[j]:
            k += 1
        share = min(1.0, max(0.0, (v[j] - u[k]) / (u[k + 1] - u[k])))
        r[j, 0] = x[k, 0] + share * (x[k + 1, 0] - x[k, 0])
        r[j, 1] = x[k, 1] + share * (x[k + 1, 1] - x[k, 1])
        earned += p[j] * r[j, 0] + q[j] * r[j, 1]
        if j + 1 == start[cell + 1]:
            loss[cell] = -earned
            earned = 0.0
            cell += 1


@njit(cache=True, nogil=True)
def lowest_extension(v: FloatArray, mass: FloatArray, r: FloatArray) -> None:
    """Lower r where there is no mass to what 1-Lipschitz continuation of the rest enforces; r is one column."""
    best = -np.inf
    for j in range(v.size):
        if j:
            best -= v[j] - v[j - 1]
        if mass[j] > 0.0:
            best = r[j]
        else:
            r[j] = best
    best = -np.inf
    for j in range(v.size - 1, -1, -1):
        if j + 1 < v.size:
            best -= v[j + 1] - v[j]
        if mass[j] > 0.0:
            best = r[j]
        else:
            r[j] = max(best, r[j])


@inner
def violation_in_gap(a: float, b: float, a0: float, a1: float, b0: float, b1: float) -> tuple[float, float]:
    """Largest (1 - u) r0(u) + u r1(u) in [a, b] and where, r the lowest extension of its values at both ends."""
    middle = 0.5 * (a + b)
    turn0 = min(b, max(a, middle + 0.5 * (a0 - b0)))
    turn1 = min(b, max(a, middle + 0.5 * (a1 - b1)))
    worst = (1.0 - a) * a0 + a * a1
    where = a
    at_b = (1.0 - b) * b0 + b * b1
    if at_b > worst:
        worst = at_b
        where = b
    # Between the turns the product is a parabola, elsewhere straight; it opens downwards where r0 turns first.
    for candidate in range(3):
        if candidate == 0:
            at = turn0
        elif candidate == 1:
            at = turn1
        else:
            at = 0.25 * (1.0 - (b0 - b) + (a1 + a))
            if not turn0 < at < turn1:
                continue
        r0 = max(a0 - (at - a), b0 - (b - at))
        r1 = max(a1 - (at - a), b1 - (b - at))
        value = (1.0 - at) * r0 + at * r1
        if value > worst:
            worst = value
            where = at
    return worst, where


@njit(cache=True, nogil=True)
def violations(
    v: FloatArray, r: FloatArray, u: FloatArray, lowering: FloatArray, worst: FloatArray, where: FloatArray
) -> float:
    """Find where calibration is broken between predictions; return the largest excess, at least 0.

    lowering (m,): the excess next to each prediction. worst, where: the largest in each gap of the nodes u.
    """
    m = v.size
    largest = 0.0
    k = 0
    for i in range(worst.size):
        worst[i] = 0.0
    for j in range(m):
        lowering[j] = 0.0
    for j in range(m + 1):
        if j == 0:  # up to the first prediction both potentials rise and the product is straight
            a = 0.0
            b = v[0]
            value = r[0, 0] - b
            at = 0.0
        elif j == m:
            a = v[m - 1]
            b = 1.0
            value = r[m - 1, 1] - (1.0 - a)
            at = 1.0
        else:
            value, at = violation_in_gap(v[j - 1], v[j], r[j - 1, 0], r[j - 1, 1], r[j, 0], r[j, 1])
        if value > 0.0:
            largest = max(largest, value)
            if j > 0:
                lowering[j - 1] = max(lowering[j - 1], value)
            if j < m:
                lowering[j] = max(lowering[j], value)
            while k > 0 and u[k] > at:
                k -= 1
            while k + 2 < u.size and u[k + 1] < at:
                k += 1
            if value > worst[k]:
                worst[k] = value
                where[k] = at
    return largest


@njit(cache=True, nogil=True)
def lower_and_straighten(v: FloatArray, lowering: FloatArray, r: FloatArray) -> None:
    """Lower both potentials by lowering, then take their largest 1-Lipschitz minorants."""
    m = v.size
    for j in range(m):
        r[j, 0] -= lowering[j]
        r[j, 1] -= lowering[j]
        if j:
            gap = v[j] - v[j - 1]
            r[j, 0] = min(r[j, 0], r[j - 1, 0] + gap)
            r[j, 1] = min(r[j, 1], r[j - 1, 1] + gap)
    for j in range(m - 2, -1, -1):
        gap = v[j + 1] - v[j]
        r[j, 0] = min(r[j, 0], r[j + 1, 0] + gap)
        r[j, 1] = min(r[j, 1], r[j + 1, 1] + gap)


@njit(cache=True, nogil=True)
def tied(v: FloatArray, thinnest: float, out: IntArray) -> int:
    """Write the first indices of groups of predictions that differ by at most thinnest; return how many there are."""
    out[0] = 0
    n = 1
    for j in range(1, v.size):
        if v[j] - v[out[n - 1]] > thinnest:
            out[n] = j
            n += 1
    return n


@njit(cache=True, nogil=True)
def split_cells(v: FloatArray, start: IntArray, choice: FloatArray, parts: int, thinnest: float, out: IntArray) -> int:
    """Split the chosen cells into equal widths of their own extent, or into single predictions where these are few.

    Writes where each begins, and the end; returns how many numbers that are.
    """
    n = 0
    for cell in range(start.size - 1):
        first = start[cell]
        last = start[cell + 1] - 1
        out[n] = first
        n += 1
        extent = v[last] - v[first]
        if choice[cell] <= 0.0 or extent <= thinnest:
            continue
        current = 0
        single = last - first < parts
        for j in range(first + 1, last + 1):
            part = int((v[j] - v[first]) / extent * parts)
            if (single and v[j] - v[out[n - 1]] > 0.0) or part > current:
                current = part
                out[n] = j
                n += 1
    out[n] = v.size
    return n + 1


@njit(cache=True, nogil=True)
def cell_masses(v: FloatArray, mass: FloatArray, start: IntArray, total: FloatArray, centre: FloatArray) -> None:
    """Mass and barycentre of every cell; the barycentre of nothing is the cell's first prediction."""
    for cell in range(start.size - 1):
        first = v[start[cell]]
        weight = 0.0
        moment = 0.0
        for j in range(start[cell], start[cell + 1]):
            weight += mass[j]
            moment += mass[j] * (v[j] - first)
        total[cell] = weight
        centre[cell] = first + moment / weight if weight > 0.0 else first


@njit(cache=True, nogil=True)
def quantile_coupling(
    v: FloatArray, mass: FloatArray, u: FloatArray, target: FloatArray, left: IntArray, right: IntArray,
    moved: FloatArray,
) -> int:  # fmt: skip
    """Carry mass on v to target on u in order: indices and mass of every piece; returns how many there are."""
    n = 0
    k = 0
    room = target[0]
    for j in range(v.size):
        left_over = mass[j]
        while left_over > 0.0:
            while room <= 0.0 and k + 1 < u.size:
                k += 1
                room = target[k]
            last = k + 1 == u.size
            piece = left_over if last else min(left_over, room)
            left[n] = k
            right[n] = j
            moved[n] = piece
            n += 1
            left_over -= piece
            room -= piece
    return n
