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
from calibrant.kernels.lower_step import change, correct, eliminate, predict, substitute
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
Room = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


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


def room(n: int) -> Room:
    """Room for the steps of a solve on so many nodes."""
    return (
        np.empty((n, _SIDES)),  # steps of the multipliers
        np.empty((n, 8)),  # the factored matrix
        np.empty((n, 2)),  # its right-hand side, carried
        np.empty((n, 2)),  # the corrector's right-hand side
        np.empty((n, 3)),  # the predictor's rises of r0 and of r1 along the edge, and of the calibration row
        np.empty((n, 3)),  # the whole step's
        np.empty((n, 2)),  # steps of the potentials
        np.empty(n),  # calibrated masses, of the step at hand
        np.empty(n),  # what a rise along the calibration row earns
    )


@njit(cache=True, nogil=True, error_model="numpy")
def take(
    u: FloatArray, p: FloatArray, q: FloatArray, x: FloatArray, s: FloatArray, z: FloatArray, inverse: FloatArray,
    step: FloatArray, dx: FloatArray, dz: FloatArray, primal: float, dual: float, lowered: FloatArray | None,
    aimed: float, whole: bool, masses: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Take a step of these lengths, repaired by lowered if that is not None; return the gap, and what x is worth."""
    n = u.size
    gap = 0.0
    lower = 0.0
    for k in range(n):
        move0 = primal * dx[k, 0]
        move1 = primal * dx[k, 1]
        level = primal * step[k, 2]
        rise0 = primal * step[k, 0]
        rise1 = primal * step[k, 1]
        if lowered is not None:
            down0 = lowered[k, 0]
            down1 = lowered[k, 1]
            move0 -= down0
            move1 -= down1
            level -= (1.0 - u[k]) * down0 + u[k] * down1
            if k + 1 < n:
                rise0 -= lowered[k + 1, 0] - down0
                rise1 -= lowered[k + 1, 1] - down1
        x[k, 0] += move0
        x[k, 1] += move1
        lower += p[k] * x[k, 0] + q[k] * x[k, 1]
        masses[k] = z[k, 4] + (1.0 if whole else dual) * dz[k, 4]
        s[k, 4] -= level
        if k + 1 < n:
            s[k, 0] -= rise0
            s[k, 1] += rise0
            s[k, 2] -= rise1
            s[k, 3] += rise1
        left = 0.0
        for i in range(_SIDES):
            if i == 4 or k + 1 < n:
                grown = z[k, i] + dual * dz[k, i]
                if lowered is not None:
                    grown = kept(z[k, i], dual * dz[k, i], s[k, i], aimed)
                z[k, i] = grown
                left += s[k, i] * grown
                inverse[k, i] = 1.0 / s[k, i]
        gap += left
    return gap, lower


@njit(cache=True, nogil=True, error_model="numpy")
def solve(
    u: FloatArray, p: FloatArray, q: FloatArray, target: float, limit: int, proximal: float, x: FloatArray,
    state: State, room: Room, lam: FloatArray, lowered: FloatArray | None,
) -> tuple[float, float, int]:  # fmt: skip
    """Solve on the nodes until the bracket of the node problem is no wider than target.

    x (K, 2) and its state are improved in place, and a solve to a finer target goes on from them; lam (K,) receives
    the calibrated masses. lowered (K, 2) is room for steps that are repaired (`lower_repair`); if None, all are taken
    as they are, and what repairs them is not compiled.
    proximal is added to the diagonal of M: where the optimum leaves a potential free, rounding must not choose it. Its
    effect vanishes with the steps, so the solution is not biased. Returns upper and lower end of the node problem and
    the number of steps taken.
    """
    n = u.size
    s, z, inverse = state
    dz, factor, y, rhs, predicted, step, dx, masses, bias = room
    whole = False  # of the whole step, since a repaired one left flows that do not balance
    count = 5 * n - 4
    upper = np.inf
    lower = -np.inf
    gap = 0.0
    for k in range(n):
        bias[k] = (1.0 - u[k]) * q[k] - u[k] * p[k]
        lam[k] = z[k, 4]
        for i in range(_SIDES):
            gap += s[k, i] * z[k, i]
    halved = np.inf  # the gap when it had last halved, and when that was
    since = 0
    for iteration in range(limit):
        ends = eliminate(u, p, q, bias, z, inverse, proximal, factor, y)
        substitute(factor, y, predicted, dx)
        most, least, once, twice = predict(u, p, q, z, inverse, proximal, predicted, dx)
        primal = 1.0 / most
        dual = 1.0 / (1.0 - least)
        repairing = gap < _SETTLED and iteration - since < _TRUST
        if lowered is not None and repairing and min(primal, dual) < _HARDLY:
            primal = max(primal, _COUNTED_ON)
            dual = max(dual, _COUNTED_ON)
        # sum of s z (1 - primal w)(1 - dual (1 - w))
        ahead = gap * (1.0 - dual) + once * (dual - primal * (1.0 - dual)) - primal * dual * twice
        mu = gap / count
        ratio = max(0.0, ahead / gap)
        centre = mu * ratio * ratio * ratio
        correct(u, p, q, bias, z, inverse, predicted, centre, factor, ends, y, rhs)
        substitute(factor, y, step, dx)
        if not np.isfinite(dx[0, 0] + dx[n - 1, 0]):  # whatever is not finite spreads to an end
            break
        taken, given = change(u, rhs, z, inverse, proximal, centre, predicted, step, dx, dz)
        damp = max(0.9, 1.0 - max(mu, 1e-3))
        primal = min(1.0, damp / taken) if taken > damp else 1.0
        dual = min(1.0, damp / given) if given > damp else 1.0
        repaired, aimed = False, mu
        if lowered is not None and repairing and min(primal, dual) < _BLOCKED:
            repaired, primal, dual, aimed = longer(u, s, z, step, dz, primal, dual, mu, centre, gap, lowered)
            whole = whole or repaired
        if lowered is not None and repaired:
            gap, lower = take(u, p, q, x, s, z, inverse, step, dx, dz, primal, dual, lowered, aimed, True, masses)
        else:
            gap, lower = take(u, p, q, x, s, z, inverse, step, dx, dz, primal, dual, None, aimed, whole, masses)
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
