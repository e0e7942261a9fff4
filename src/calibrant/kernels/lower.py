"""Interior point for the lower distance: a linear program on a path with two unknowns a node, in linear time a step.

On nodes u_0 = 0 < ... < u_{K-1} = 1 with masses p (label 0) and q (label 1):

    maximise sum p r0 + q r1   over   |r_b(k+1) - r_b(k)| <= u_{k+1} - u_k,   (1 - u_k) r0(k) + u_k r1(k) <= 0.

The multipliers of the last constraint are the masses of a calibrated distribution on the nodes, those of the first
the flows that carry the sample there (docs/lower.md). Mehrotra's predictor-corrector in inequality form keeps the
potentials strictly feasible; a step solves M dx = c - G'w, M = G' (Z/S) G block-tridiagonal with 2 x 2 blocks.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.lower_repair import kept, longer, none_below_zero
from calibrant.kernels.types import FloatArray

# Columns of slacks, multipliers and the like: r0 rising, r0 falling, r1 rising, r1 falling along the edge to the
# next node, and calibration at the node.
_SIDES = 5
_PATIENCE = 80  # steps without halving the gap
_SETTLED = 1e-3  # the gap below which shorter steps are repaired, and a predictor that is hardly any counts on more
_BLOCKED = 0.4
_HARDLY = 0.1
_COUNTED_ON = 0.35
_TRUST = 40  # steps without halving the gap, after which none is repaired until it has

State = tuple[FloatArray, FloatArray, FloatArray]


@njit(cache=True, nogil=True)
def calibrated_scale(u: FloatArray, lam: FloatArray, zeros: float, ones: float) -> tuple[float, float, float]:
    """Scale under which lam fits within the mass of both labels, and what then remains to be put at 0 and at 1."""
    at0 = 0.0
    at1 = 0.0
    for k in range(u.size):
        at0 += (1.0 - u[k]) * lam[k]
        at1 += u[k] * lam[k]
    scale = 0.0
    if at0 > 0.0 and at1 > 0.0:
        scale = min(zeros / at0, ones / at1)
    return scale, max(0.0, zeros - scale * at0), max(0.0, ones - scale * at1)


@njit(cache=True, nogil=True)
def coupling_cost(u: FloatArray, p: FloatArray, q: FloatArray, lam: FloatArray) -> float:
    """Cost of carrying p and q to the calibrated distribution lam, repaired at both ends: an upper bound."""
    zeros = 0.0
    ones = 0.0
    for k in range(u.size):
        zeros += p[k]
        ones += q[k]
    scale, rest0, _ = calibrated_scale(u, lam, zeros, ones)
    flow0 = -rest0
    flow1 = 0.0
    cost = 0.0
    for k in range(u.size - 1):
        flow0 += p[k] - (1.0 - u[k]) * lam[k] * scale
        flow1 += q[k] - u[k] * lam[k] * scale
        cost += (u[k + 1] - u[k]) * (abs(flow0) + abs(flow1))
    return cost


def start(u: FloatArray, x: FloatArray) -> State:
    """Slacks of the strictly feasible potentials x (K, 2), multipliers on the central path, inverses of the slacks."""
    s = np.empty((u.size, _SIDES))
    gap = np.append(np.diff(u), 1.0)
    for label in range(2):
        rise = np.append(np.diff(x[:, label]), 0.0)
        s[:, 2 * label] = gap - rise
        s[:, 2 * label + 1] = gap + rise
    s[:, 4] = -((1.0 - u) * x[:, 0] + u * x[:, 1])
    inverse = 1.0 / s
    mu = 1.0 / inverse[:, 4].cumsum()[-1]  # where the multipliers of calibration add up to 1
    z = mu * inverse
    z[-1, :4] = 0.0
    return s, z, inverse


@njit(cache=True, nogil=True)
def solve(
    u: FloatArray, p: FloatArray, q: FloatArray, target: float, limit: int, proximal: float, x: FloatArray,
    state: State, lam: FloatArray, lowered: FloatArray | None,
) -> tuple[float, float, int]:  # fmt: skip
    """Solve on the nodes until the bracket of the node problem is no wider than target.

    x (K, 2) and its state are improved in place, and a solve to a finer target goes on from them; lam (K,) receives
    the calibrated masses. lowered (K, 2), zeros, is room for steps that are repaired (`lower_repair`); if None, all
    are taken as they are, and what repairs them is not compiled.
    proximal is added to the diagonal of M: where the optimum leaves a potential free, rounding must not choose it. Its
    effect vanishes with the steps, so the solution is not biased. Returns upper and lower end of the node problem and
    the number of steps taken.
    """
    n = u.size
    s, z, inverse = state
    dz = np.empty((n, _SIDES))
    factor = np.empty((n, 8))  # t, l, delta of T; conductances of the edge; 1 / det(T + E); l's fall; a1 - l a0
    y = np.empty((n, 2))  # what is carried: of r0, and of r1 less l times that
    predicted = np.empty((n, 4))  # predictor: rise of r0 and of r1 along the edge, of the calibration row; dr1
    step = np.empty((n, 5))  # corrector: the same, then dr0 and dr1
    rhs = np.empty((n, 2))
    masses = np.empty(n)  # calibrated ones, of the step at hand
    whole = False  # of the whole step, since a repaired one left flows that do not balance
    count = 5 * n - 4
    upper = np.inf
    lower = -np.inf
    bias = np.empty(n)  # what a rise along the calibration row earns
    for k in range(n):
        bias[k] = (1.0 - u[k]) * q[k] - u[k] * p[k]
    halved = np.inf  # the gap when it had last halved, and when that was
    since = 0
    for k in range(n):
        lam[k] = z[k, 4]
    for iteration in range(limit):
        # Factor and carry the predictor's right-hand side (p, q) forward. T is kept as t (1, l)'(1, l) + diag(0,
        # delta), in which neither adding a calibration row nor the parallel sum with an edge subtracts anything. The
        # right-hand side is carried across (1, l): in a nearly calibrated sample that is many orders below its parts.
        t = 0.0
        slope = 0.0
        delta = 0.0
        y0 = 0.0
        across = 0.0
        for k in range(n):
            a1 = u[k]
            a0 = 1.0 - a1
            d = z[k, 4] * inverse[k, 4]
            grown = t + d * a0 * a0
            turn = a1 - slope * a0
            fall = 0.0
            if grown > 0.0:
                delta += t * d / grown * turn * turn
                fall = -d * a0 / grown * turn
                slope = (t * slope + d * a0 * a1) / grown
                turn *= t / grown
                t = grown
            else:
                delta += d * a1 * a1
            grown = t + proximal
            delta += t * slope * slope * (proximal / grown) + proximal
            less = slope * (proximal / grown)
            fall += less
            turn += less * a0
            slope *= t / grown
            t = grown
            factor[k, 6] = fall
            factor[k, 7] = turn
            across += fall * y0 + ((bias[k] + turn * p[k]) / a0 if a0 > 0.0 else q[k] - slope * p[k])
            y0 += p[k]
            y[k, 0] = y0
            y[k, 1] = across
            e0 = z[k, 0] * inverse[k, 0] + z[k, 1] * inverse[k, 1]
            e1 = z[k, 2] * inverse[k, 2] + z[k, 3] * inverse[k, 3]
            free = delta + e1
            tl = t * slope
            det = 1.0 / ((t + e0) * free + e0 * tl * slope)
            factor[k, 0] = t
            factor[k, 1] = slope
            factor[k, 2] = delta
            factor[k, 3] = e0
            factor[k, 4] = e1
            factor[k, 5] = det
            if k + 1 < n:
                y0 = e0 * det * (free * y0 - tl * across)
                across *= e1 / free
                t *= e0 * free * det
                slope *= e1 / free
                delta *= e1 / free
        # Backward: the rise along an edge comes first, from (T + E)(dx_k - dx_{k+1}) = y_k - T dx_{k+1}.
        dx0 = 0.0
        dx1 = 0.0
        most = 1.0
        least = 0.0
        sum0 = 0.0
        sum1 = 0.0
        sum2 = 0.0
        for k in range(n - 1, -1, -1):
            t, slope, delta = factor[k, 0], factor[k, 1], factor[k, 2]
            e0, e1, det = factor[k, 3], factor[k, 4], factor[k, 5]
            tl = t * slope
            along = y[k, 0] - (tl * dx1 + t * dx0)
            across = y[k, 1] - delta * dx1
            rise0 = det * (tl * across - (delta + e1) * along)
            rise1 = -det * (e0 * slope * along + (t + e0) * across)
            dx0 -= rise0
            dx1 -= rise1
            predicted[k, 0] = rise0
            predicted[k, 1] = rise1
            predicted[k, 2] = dx0
            predicted[k, 3] = dx1
            if k + 1 < n:
                for i in range(4):
                    w = rise0 * inverse[k, i] if i < 2 else rise1 * inverse[k, i]
                    if i & 1:
                        w = -w
                    c = s[k, i] * z[k, i]
                    most = max(most, w)
                    least = min(least, w)
                    sum0 += c
                    sum1 += c * w
                    sum2 += c * w * w
        # The calibration row: either from dx or from the balance of flows at the node, whichever rounds less. The
        # first drowns where the row is tight and dx runs along it.
        flow0 = 0.0
        flow1 = 0.0
        for k in range(n):
            a1 = u[k]
            a0 = 1.0 - a1
            dx0 = predicted[k, 2]
            dx1 = predicted[k, 3]
            next0 = factor[k, 3] * predicted[k, 0]
            next1 = factor[k, 4] * predicted[k, 1]
            d = z[k, 4] * inverse[k, 4]
            level = a0 * dx0 + a1 * dx1
            size = p[k] + q[k] + abs(next0) + abs(next1) + abs(flow0) + abs(flow1)
            if d * (a0 * abs(dx0) + a1 * abs(dx1)) > size:
                force = a0 * (p[k] + next0 - flow0 - proximal * dx0) + a1 * (q[k] + next1 - flow1 - proximal * dx1)
                level = force / (d * (a0 * a0 + a1 * a1))
            flow0 = next0
            flow1 = next1
            predicted[k, 2] = level
            w = level * inverse[k, 4]
            c = s[k, 4] * z[k, 4]
            most = max(most, w)
            least = min(least, w)
            sum0 += c
            sum1 += c * w
            sum2 += c * w * w
        primal = 1.0 / most
        dual = 1.0 / (1.0 - least)
        repairing = sum0 < _SETTLED and iteration - since < _TRUST
        if lowered is not None and repairing and min(primal, dual) < _HARDLY:
            primal = max(primal, _COUNTED_ON)
            dual = max(dual, _COUNTED_ON)
        # sum of s z (1 - primal w)(1 - dual (1 - w))
        ahead = sum0 * (1.0 - dual) + sum1 * (dual - primal * (1.0 - dual)) - primal * dual * sum2
        mu = sum0 / count
        ratio = max(0.0, ahead / sum0)
        centre = mu * ratio * ratio * ratio
        # Corrector, forward with the factors at hand.
        y0 = 0.0
        across = 0.0
        before0 = 0.0
        before1 = 0.0
        for k in range(n):
            w = predicted[k, 2] * inverse[k, 4]
            c4 = centre * inverse[k, 4] - z[k, 4] * w * (1.0 - w)
            flow0 = 0.0
            flow1 = 0.0
            if k + 1 < n:
                r0 = predicted[k, 0]
                r1 = predicted[k, 1]
                w = r0 * inverse[k, 0]
                flow0 = centre * inverse[k, 0] - z[k, 0] * w * (1.0 - w)
                w = -r0 * inverse[k, 1]
                flow0 -= centre * inverse[k, 1] - z[k, 1] * w * (1.0 - w)
                w = r1 * inverse[k, 2]
                flow1 = centre * inverse[k, 2] - z[k, 2] * w * (1.0 - w)
                w = -r1 * inverse[k, 3]
                flow1 -= centre * inverse[k, 3] - z[k, 3] * w * (1.0 - w)
            rhs[k, 0] = p[k] - (1.0 - u[k]) * c4 + flow0 - before0
            rhs[k, 1] = q[k] - u[k] * c4 + flow1 - before1
            t, slope, delta = factor[k, 0], factor[k, 1], factor[k, 2]
            e0, e1, det = factor[k, 3], factor[k, 4], factor[k, 5]
            a1 = u[k]
            a0 = 1.0 - a1
            tilt = bias[k] + a0 * (flow1 - before1) - a1 * (flow0 - before0)
            across += factor[k, 6] * y0
            across += (tilt + factor[k, 7] * rhs[k, 0]) / a0 if a0 > 0.0 else rhs[k, 1] - slope * rhs[k, 0]
            y0 += rhs[k, 0]
            before0 = flow0
            before1 = flow1
            y[k, 0] = y0
            y[k, 1] = across
            free = delta + e1
            y0 = e0 * det * (free * y0 - t * slope * across)
            across *= e1 / free
        dx0 = 0.0
        dx1 = 0.0
        shrink_s = 1.0
        shrink_z = 1.0
        everything = 0.0
        for k in range(n - 1, -1, -1):
            t, slope, delta = factor[k, 0], factor[k, 1], factor[k, 2]
            e0, e1, det = factor[k, 3], factor[k, 4], factor[k, 5]
            tl = t * slope
            along = y[k, 0] - (tl * dx1 + t * dx0)
            across = y[k, 1] - delta * dx1
            rise0 = det * (tl * across - (delta + e1) * along)
            rise1 = -det * (e0 * slope * along + (t + e0) * across)
            dx0 -= rise0
            dx1 -= rise1
            step[k, 0] = rise0
            step[k, 1] = rise1
            step[k, 3] = dx0
            step[k, 4] = dx1
        flow0 = 0.0
        flow1 = 0.0
        for k in range(n):
            a1 = u[k]
            a0 = 1.0 - a1
            rise0 = step[k, 0]
            rise1 = step[k, 1]
            dx0 = step[k, 3]
            dx1 = step[k, 4]
            next0 = factor[k, 3] * rise0
            next1 = factor[k, 4] * rise1
            d = z[k, 4] * inverse[k, 4]
            level = a0 * dx0 + a1 * dx1
            size = abs(rhs[k, 0]) + abs(rhs[k, 1]) + abs(next0) + abs(next1) + abs(flow0) + abs(flow1)
            if d * (a0 * abs(dx0) + a1 * abs(dx1)) > size:
                force = a0 * (rhs[k, 0] + next0 - flow0 - proximal * dx0)
                force += a1 * (rhs[k, 1] + next1 - flow1 - proximal * dx1)
                level = force / (d * (a0 * a0 + a1 * a1))
            flow0 = next0
            flow1 = next1
            step[k, 2] = level
            for i in range(_SIDES):
                if i == 4:
                    new = level
                    old = predicted[k, 2]
                elif i < 2:
                    new = rise0
                    old = predicted[k, 0]
                else:
                    new = rise1
                    old = predicted[k, 1]
                if i == 1 or i == 3:
                    new = -new
                    old = -old
                if i == 4 or k + 1 < n:
                    old *= inverse[k, i]
                    new *= inverse[k, i]
                    change = centre * inverse[k, i] + z[k, i] * (new - 1.0 - old * (1.0 - old))
                    dz[k, i] = change
                    everything += change
                    shrink_s = max(shrink_s, new)
                    if change < -shrink_z * z[k, i]:
                        shrink_z = -change / z[k, i]
        if not np.isfinite(everything):
            break
        damp = max(0.9, 1.0 - max(mu, 1e-3))
        primal = min(1.0, damp / shrink_s) if shrink_s > damp else 1.0
        dual = min(1.0, damp / shrink_z) if shrink_z > damp else 1.0
        repaired, aimed = False, mu
        if lowered is not None and repairing and min(primal, dual) < _BLOCKED:
            repaired, primal, dual, aimed = longer(u, s, z, step, dz, primal, dual, mu, centre, sum0, lowered)
            whole = whole or repaired
        gap = 0.0
        lower = 0.0
        for k in range(n):
            x[k, 0] += primal * step[k, 3]
            x[k, 1] += primal * step[k, 4]
            s[k, 4] -= primal * step[k, 2]
            rise0 = primal * step[k, 0]
            rise1 = primal * step[k, 1]
            if lowered is not None:
                down0 = lowered[k, 0]
                down1 = lowered[k, 1]
                lowered[k, 0] = 0.0
                lowered[k, 1] = 0.0
                x[k, 0] -= down0
                x[k, 1] -= down1
                s[k, 4] += (1.0 - u[k]) * down0 + u[k] * down1
                if k + 1 < n:
                    rise0 -= lowered[k + 1, 0] - down0
                    rise1 -= lowered[k + 1, 1] - down1
            lower += p[k] * x[k, 0] + q[k] * x[k, 1]
            masses[k] = z[k, 4] + (1.0 if whole else dual) * dz[k, 4]
            if k + 1 < n:
                s[k, 0] -= rise0
                s[k, 1] += rise0
                s[k, 2] -= rise1
                s[k, 3] += rise1
            for i in range(_SIDES):
                if i == 4 or k + 1 < n:
                    grown = z[k, i] + dual * dz[k, i]
                    if lowered is not None and repaired:
                        grown = kept(z[k, i], dual * dz[k, i], s[k, i], aimed)
                    z[k, i] = grown
                    gap += s[k, i] * grown
                    inverse[k, i] = 1.0 / s[k, i]
        if gap < 0.5 * halved:
            halved = gap
            since = iteration
        stalled = iteration - since > _PATIENCE or iteration + 1 == limit
        if gap < 50.0 * target or stalled:
            if lowered is not None:
                none_below_zero(masses)
            cost = coupling_cost(u, p, q, masses)
            if cost < upper:
                upper = cost
                for k in range(n):
                    lam[k] = masses[k]
            if upper - lower <= target:
                return upper, lower, iteration + 1
            if stalled or gap < 1e-5 * target:  # what is left is rounding
                break
    return upper, lower, limit
