"""Interior point for the lower distance: a linear program on a path with two unknowns a node, in linear time a step.

On nodes u_0 = 0 < ... < u_{K-1} = 1 with masses p (label 0) and q (label 1):

    maximise sum p r0 + q r1   over   |r_b(k+1) - r_b(k)| <= u_{k+1} - u_k,   (1 - u_k) r0(k) + u_k r1(k) <= 0.

The multipliers of the last constraint are the masses of a calibrated distribution on the nodes, those of the first
the flows that carry the sample there (docs/lower.md). Mehrotra's predictor-corrector in inequality form keeps the
potentials strictly feasible; a step solves M dx = c - G'w, M = G' (Z/S) G block-tridiagonal with 2 x 2 blocks.

A step eliminates the matrix from both ends at once, which meet at the node in the middle: each recursion waits for
what it computed last, so that two side by side take hardly longer than one. The right end is the left one's mirror
image with the labels swapped, so that one function does for both: at either end the first label has nearly all of the
calibration row. Edge k joins the nodes k and k + 1; from the right its nodes swap as well.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
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
Room = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


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
    """Room for the steps of a solve on so many nodes; what has done its work is written over by what comes after."""
    memory = np.empty(16 * n)  # of one piece, so that all of it goes back when the solve is done

    def columns(first: int, many: int) -> FloatArray:
        return memory[first * n : (first + many) * n].reshape(n, many)

    return (
        columns(0, _SIDES),  # steps of the multipliers, where the matrix was
        columns(0, 8),  # the factored matrix
        columns(8, 2),  # its right-hand side, carried
        columns(10, 3),  # the predictor's rises of r0 and of r1 along the edge, and of the calibration row
        columns(13, 3),  # the whole step's
        columns(8, 2),  # steps of the potentials, each where its right-hand side was read
        columns(_SIDES, 1).reshape(n),  # calibrated masses, of the step at hand, where the matrix was
        columns(_SIDES + 1, 2),  # by how much a repair lowers potentials, where the matrix was
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
    the calibrated masses. lowered, the last of the room, is for steps that are repaired (`longer`); if None, all are
    taken as they are, and what repairs them is not compiled.
    proximal is added to the diagonal of M: where the optimum leaves a potential free, rounding must not choose it. Its
    effect vanishes with the steps, so the solution is not biased. Returns upper and lower end of the node problem and
    the number of steps taken.
    """
    n = u.size
    s, z, inverse = state
    dz, factor, y, predicted, step, dx, masses, _ = room
    whole = False  # of the whole step, since a repaired one left flows that do not balance
    count = 5 * n - 4
    upper = np.inf
    lower = -np.inf
    gap = 0.0
    for k in range(n):
        lam[k] = z[k, 4]
        for i in range(_SIDES):
            gap += s[k, i] * z[k, i]
    halved = np.inf  # the gap when it had last halved, and when that was
    since = 0
    for iteration in range(limit):
        ends = eliminate(u, p, q, z, inverse, proximal, factor, y)
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
        correct(u, p, q, z, inverse, predicted, centre, factor, ends, y)
        substitute(factor, y, step, dx)
        if not np.isfinite(dx[0, 0] + dx[n - 1, 0]):  # whatever is not finite spreads to an end
            break
        taken, given = change(u, p, q, z, inverse, proximal, centre, predicted, step, dx, dz)
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


_NOTHING = 1e-300

Matrix = tuple[float, float, float]  # t, l and delta of T = t (1, l)'(1, l) + diag(0, delta)
Side = tuple[float, float]  # a right-hand side: its first part, and what the second has across (1, l)


@njit(error_model="numpy")
def _factored(
    carried: Matrix, a0: float, a1: float, d: float, e0: float, e1: float, proximal: float, factor: FloatArray, k: int
) -> Matrix:
    """Add a node's calibration row and proximal term to T, then the edge behind it, of conductances e0 and e1."""
    t, slope, delta = carried
    grown = t + d * a0 * a0
    total = grown + proximal
    share = 1.0 / total
    turn = a1 - slope * a0
    fall = 0.0
    along = t * slope
    if grown > 0.0:
        part = 1.0 / grown
        along += d * a0 * a1
        delta += t * d * part * turn * turn
        fall = -d * a0 * part * turn
        slope = along * part
        turn *= t * part
    else:
        delta += d * a1 * a1
    less = slope * (proximal * share)
    delta += along * less + proximal
    slope = along * share
    t = total
    free = delta + e1
    det = 1.0 / ((t + e0) * free + e0 * t * slope * slope)
    part = e1 / free
    factor[k, 0] = t
    factor[k, 1] = slope
    factor[k, 2] = delta
    factor[k, 3] = e0
    factor[k, 4] = e1
    factor[k, 5] = det
    factor[k, 6] = fall + less
    factor[k, 7] = turn + less * a0
    return t * (e0 * free * det), slope * part, delta * part


@njit(error_model="numpy")
def _carried(
    y0: float, across: float, a0: float, p: float, q: float, tilt: float, factor: FloatArray, y: FloatArray, k: int
) -> Side:
    """Add a node's own (p, q) to the right-hand side, then the edge behind it.

    Across (1, l), that is q - l p, or (tilt + turn p) / a0 with the tilt a0 q - a1 p: in a nearly calibrated sample,
    many orders below its parts. Where a0 is small the first may be better: whichever rounds less.
    """
    t, slope, delta, e0, e1, det = factor[k, 0], factor[k, 1], factor[k, 2], factor[k, 3], factor[k, 4], factor[k, 5]
    turned = factor[k, 7] * p
    own = q - slope * p
    other = (tilt + turned) / max(a0, _NOTHING)
    own = other if abs(tilt) + abs(turned) < a0 * (abs(q) + abs(slope * p)) else own
    across += factor[k, 6] * y0 + own
    y0 += p
    y[k, 0] = y0
    y[k, 1] = across
    free = delta + e1
    return e0 * det * (free * y0 - t * slope * across), across * (e1 / free)


@njit(error_model="numpy")
def _joined(left: Matrix, right: Matrix, y0: float, across: float, y1: float, other: float) -> tuple[Matrix, Side]:
    """What both ends bring to the node where they meet; the right one's first label is the left one's second."""
    t, slope, delta = left
    turned, over, rest = right
    if turned + rest > 0.0:
        t1 = turned * over * over + rest
        slope1 = turned * over / t1
        total = t + t1
        apart = slope - slope1
        first = other + over * y1
        across += y1 * (rest / t1) - slope1 * other + apart * ((t1 / total) * y0 - (t / total) * first)
        delta += turned * (rest / t1) + t * (t1 / total) * apart * apart
        slope = (t * slope + t1 * slope1) / total
        t = total
        y0 += first
    return (t, slope, delta), (y0, across)


@njit(error_model="numpy")
def _tilt(u: FloatArray, p: FloatArray, q: FloatArray, k: int) -> float:
    """What a rise along the calibration row of a node earns."""
    tilt: float = (1.0 - u[k]) * q[k] - u[k] * p[k]
    return tilt


@njit(cache=True, nogil=True, error_model="numpy")
def eliminate(
    u: FloatArray, p: FloatArray, q: FloatArray, z: FloatArray, inverse: FloatArray, proximal: float,
    factor: FloatArray, y: FloatArray,
) -> tuple[Matrix, Matrix]:  # fmt: skip
    """Factor the matrix and carry the right-hand side (p, q) to the middle; return what both ends bring there.

    factor (K, 8) holds t, l, delta; the edge's conductances and 1 / det(T + E); l's fall and a1 - l a0. y (K, 2) holds
    what is carried. Both are in the labels of the node's end.
    """
    n = u.size
    middle = n // 2
    left = (0.0, 0.0, 0.0)
    right = (0.0, 0.0, 0.0)
    y0, across, y1, other = 0.0, 0.0, 0.0, 0.0
    for k in range(middle):
        e0 = z[k, 0] * inverse[k, 0] + z[k, 1] * inverse[k, 1]
        e1 = z[k, 2] * inverse[k, 2] + z[k, 3] * inverse[k, 3]
        left = _factored(left, 1.0 - u[k], u[k], z[k, 4] * inverse[k, 4], e0, e1, proximal, factor, k)
        y0, across = _carried(y0, across, 1.0 - u[k], p[k], q[k], _tilt(u, p, q, k), factor, y, k)
        j = n - 1 - k
        if j > middle:
            e0 = z[j - 1, 0] * inverse[j - 1, 0] + z[j - 1, 1] * inverse[j - 1, 1]
            e1 = z[j - 1, 2] * inverse[j - 1, 2] + z[j - 1, 3] * inverse[j - 1, 3]
            right = _factored(right, u[j], 1.0 - u[j], z[j, 4] * inverse[j, 4], e1, e0, proximal, factor, j)
            y1, other = _carried(y1, other, u[j], q[j], p[j], -_tilt(u, p, q, j), factor, y, j)
    k = middle
    both, (y0, across) = _joined(left, right, y0, across, y1, other)
    _factored(both, 1.0 - u[k], u[k], z[k, 4] * inverse[k, 4], 0.0, 0.0, proximal, factor, k)
    _carried(y0, across, 1.0 - u[k], p[k], q[k], _tilt(u, p, q, k), factor, y, k)
    return left, right


@njit(error_model="numpy")
def _parts(inverse: FloatArray, k: int, rise0: float, rise1: float) -> tuple[float, float, float, float]:
    """The part of each slack of edge k that rises of r0 and r1 along it take."""
    return rise0 * inverse[k, 0], -rise0 * inverse[k, 1], rise1 * inverse[k, 2], -rise1 * inverse[k, 3]


@njit(error_model="numpy")
def _flows(z: FloatArray, inverse: FloatArray, predicted: FloatArray, k: int, centre: float) -> tuple[float, float]:
    """What the corrector asks of the flows along edge k."""
    w0, w1, w2, w3 = _parts(inverse, k, predicted[k, 0], predicted[k, 1])
    return (
        centre * (inverse[k, 0] - inverse[k, 1]) - (z[k, 0] * (w0 * (1.0 - w0)) - z[k, 1] * (w1 * (1.0 - w1))),
        centre * (inverse[k, 2] - inverse[k, 3]) - (z[k, 2] * (w2 * (1.0 - w2)) - z[k, 3] * (w3 * (1.0 - w3))),
    )


@njit(error_model="numpy")
def _asked(
    u: FloatArray, p: FloatArray, q: FloatArray, z: FloatArray, inverse: FloatArray, predicted: FloatArray, k: int,
    centre: float, gain0: float, gain1: float,
) -> tuple[float, float, float]:  # fmt: skip
    """The corrector's right-hand side at a node, and its tilt; gain is what its edges' flows bring."""
    a1 = u[k]
    a0 = 1.0 - a1
    w = predicted[k, 2] * inverse[k, 4]
    c = centre * inverse[k, 4] - z[k, 4] * w * (1.0 - w)
    return p[k] - a0 * c + gain0, q[k] - a1 * c + gain1, _tilt(u, p, q, k) + a0 * gain1 - a1 * gain0


@njit(cache=True, nogil=True, error_model="numpy")
def correct(
    u: FloatArray, p: FloatArray, q: FloatArray, z: FloatArray, inverse: FloatArray, predicted: FloatArray,
    centre: float, factor: FloatArray, ends: tuple[Matrix, Matrix], y: FloatArray,
) -> None:  # fmt: skip
    """Carry the corrector's right-hand side to the middle."""
    n = u.size
    middle = n // 2
    y0, across, flow0, flow1 = 0.0, 0.0, 0.0, 0.0
    y1, other, back0, back1 = 0.0, 0.0, 0.0, 0.0
    for k in range(middle):
        next0, next1 = _flows(z, inverse, predicted, k, centre)
        p0, q0, tilt = _asked(u, p, q, z, inverse, predicted, k, centre, next0 - flow0, next1 - flow1)
        flow0, flow1 = next0, next1
        y0, across = _carried(y0, across, 1.0 - u[k], p0, q0, tilt, factor, y, k)
        j = n - 1 - k
        if j > middle:
            next0, next1 = _flows(z, inverse, predicted, j - 1, centre)
            p0, q0, tilt = _asked(u, p, q, z, inverse, predicted, j, centre, back0 - next0, back1 - next1)
            back0, back1 = next0, next1
            y1, other = _carried(y1, other, u[j], q0, p0, -tilt, factor, y, j)
    k = middle
    p0, q0, tilt = _asked(u, p, q, z, inverse, predicted, k, centre, back0 - flow0, back1 - flow1)
    _, (y0, across) = _joined(ends[0], ends[1], y0, across, y1, other)
    _carried(y0, across, 1.0 - u[k], p0, q0, tilt, factor, y, k)


@njit(error_model="numpy")
def _rises(factor: FloatArray, y: FloatArray, k: int, dx0: float, dx1: float) -> tuple[float, float]:
    """By how much dx rises from node k to the next, which has dx: from (T + E)(dx_k - dx) = y - T dx."""
    t, slope, delta, e0, e1, det = factor[k, 0], factor[k, 1], factor[k, 2], factor[k, 3], factor[k, 4], factor[k, 5]
    tl = t * slope
    along = y[k, 0] - (tl * dx1 + t * dx0)
    across = y[k, 1] - delta * dx1
    return det * (tl * across - (delta + e1) * along), -det * (e0 * slope * along + (t + e0) * across)


@njit(cache=True, nogil=True, error_model="numpy")
def substitute(factor: FloatArray, y: FloatArray, rise: FloatArray, dx: FloatArray) -> None:
    """Solve from the middle outwards: the rises along the edges, which come first, and dx (K, 2)."""
    n = y.shape[0]
    middle = n // 2
    left1 = y[middle, 1] / factor[middle, 2]
    left0 = y[middle, 0] / factor[middle, 0] - factor[middle, 1] * left1
    right0, right1 = left0, left1
    dx[middle, 0] = left0
    dx[middle, 1] = left1
    for k in range(middle - 1, -1, -1):
        rise0, rise1 = _rises(factor, y, k, left0, left1)
        left0 -= rise0
        left1 -= rise1
        rise[k, 0] = rise0
        rise[k, 1] = rise1
        dx[k, 0] = left0
        dx[k, 1] = left1
        j = 2 * middle - k
        if j < n:
            rise1, rise0 = _rises(factor, y, j, right1, right0)
            right0 -= rise0
            right1 -= rise1
            rise[j - 1, 0] = -rise0
            rise[j - 1, 1] = -rise1
            dx[j, 0] = right0
            dx[j, 1] = right1


@njit(error_model="numpy")
def _level(
    a1: float, d: float, proximal: float, p: float, q: float, dx0: float, dx1: float, next0: float, next1: float,
    flow0: float, flow1: float,
) -> float:  # fmt: skip
    """Step of a calibration row: from dx, or from the balance of flows at the node, whichever rounds less.

    The first drowns where the row is tight and dx runs along it.
    """
    a0 = 1.0 - a1
    size = (abs(p) + abs(q)) + (abs(next0) + abs(next1)) + (abs(flow0) + abs(flow1))
    if d * (a0 * abs(dx0) + a1 * abs(dx1)) > size:
        force = a0 * (p + next0 - flow0 - proximal * dx0) + a1 * (q + next1 - flow1 - proximal * dx1)
        return force / (d * (a0 * a0 + a1 * a1))
    return a0 * dx0 + a1 * dx1


@njit(cache=True, nogil=True, error_model="numpy")
def predict(
    u: FloatArray, p: FloatArray, q: FloatArray, z: FloatArray, inverse: FloatArray, proximal: float,
    predicted: FloatArray, dx: FloatArray,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Steps of the calibration rows, into predicted[:, 2]; the largest and the least part w of a slack that is taken,
    and the sums of s z w and s z w^2."""
    n = u.size
    most = 1.0
    least = 0.0
    sum1 = 0.0
    sum2 = 0.0
    flow0 = 0.0
    flow1 = 0.0
    for k in range(n):
        high = 0.0
        low = 0.0
        once = 0.0
        twice = 0.0
        next0 = 0.0
        next1 = 0.0
        if k + 1 < n:
            rise0 = predicted[k, 0]
            rise1 = predicted[k, 1]
            w0, w1, w2, w3 = _parts(inverse, k, rise0, rise1)
            next0 = z[k, 0] * w0 - z[k, 1] * w1
            next1 = z[k, 2] * w2 - z[k, 3] * w3
            high = max(max(w0, w1), max(w2, w3))
            low = min(min(w0, w1), min(w2, w3))
            once = (z[k, 0] - z[k, 1]) * rise0 + (z[k, 2] - z[k, 3]) * rise1
            twice = next0 * rise0 + next1 * rise1
        d = z[k, 4] * inverse[k, 4]
        level = _level(u[k], d, proximal, p[k], q[k], dx[k, 0], dx[k, 1], next0, next1, flow0, flow1)
        predicted[k, 2] = level
        flow0 = next0
        flow1 = next1
        w = level * inverse[k, 4]
        most = max(most, max(high, w))
        least = min(least, min(low, w))
        c = level * z[k, 4]
        sum1 += once + c
        sum2 += twice + c * w
    return most, least, sum1, sum2


@njit(cache=True, nogil=True, error_model="numpy")
def change(
    u: FloatArray, p: FloatArray, q: FloatArray, z: FloatArray, inverse: FloatArray, proximal: float, centre: float,
    predicted: FloatArray, step: FloatArray, dx: FloatArray, dz: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Steps of the calibration rows, into step[:, 2], and of all multipliers; the largest part of a slack and of a
    multiplier that is taken."""
    n = u.size
    taken = 0.0
    given = 0.0
    flow0 = 0.0
    flow1 = 0.0
    behind0 = 0.0
    behind1 = 0.0
    for k in range(n):
        next0 = 0.0
        next1 = 0.0
        ahead0 = 0.0
        ahead1 = 0.0
        if k + 1 < n:
            ahead0, ahead1 = _flows(z, inverse, predicted, k, centre)
            for b in range(2):
                old = predicted[k, b]
                new = step[k, b]
                up = 2 * b
                down = up + 1
                w = old * inverse[k, up]
                more = new * inverse[k, up]
                v = -old * inverse[k, down]
                less = -new * inverse[k, down]
                rising = centre * inverse[k, up] + z[k, up] * (more - 1.0 - w * (1.0 - w))
                falling = centre * inverse[k, down] + z[k, down] * (less - 1.0 - v * (1.0 - v))
                dz[k, up] = rising
                dz[k, down] = falling
                taken = max(taken, max(more, less))
                if -rising > given * z[k, up]:
                    given = -rising / z[k, up]
                if -falling > given * z[k, down]:
                    given = -falling / z[k, down]
                if b == 0:
                    next0 = z[k, up] * more - z[k, down] * less
                else:
                    next1 = z[k, up] * more - z[k, down] * less
        d = z[k, 4] * inverse[k, 4]
        p0, q0, _ = _asked(u, p, q, z, inverse, predicted, k, centre, ahead0 - behind0, ahead1 - behind1)
        level = _level(u[k], d, proximal, p0, q0, dx[k, 0], dx[k, 1], next0, next1, flow0, flow1)
        step[k, 2] = level
        flow0 = next0
        flow1 = next1
        behind0 = ahead0
        behind1 = ahead1
        w = predicted[k, 2] * inverse[k, 4]
        more = level * inverse[k, 4]
        rising = centre * inverse[k, 4] + z[k, 4] * (more - 1.0 - w * (1.0 - w))
        dz[k, 4] = rising
        taken = max(taken, more)
        if -rising > given * z[k, 4]:
            given = -rising / z[k, 4]
    return taken, given


_REACH = 20.0  # times the length of the step that is blocked, at most
_LONGEST = 0.55  # of the whole step: a longer one seldom pays, and what it leaves blocks the next
_TRIALS = 3  # each half as long as the one before
_GAINED = 0.3  # of the gap that its length promises to close, at least
_KEPT = 0.5  # of a slack is left, or so many times its place on the central path if that is less
_WIDE = 10.0
_GONE = 0.3
_LEAST = 1e-3  # and at such a part in any case


@njit(nogil=True, error_model="numpy")
def kept(multiplier: float, change: float, slack: float, mu: float) -> float:
    """A multiplier after a repaired step."""
    new = multiplier + change
    if new < _GONE * multiplier:
        return max(new, _LEAST * multiplier, min(multiplier, mu / slack))
    return new


@njit(nogil=True, error_model="numpy")
def none_below_zero(masses: FloatArray) -> None:
    """Take masses below 0 out of the next ones, in place."""
    owed = 0.0
    for k in range(masses.size):
        owed += masses[k]
        masses[k] = max(owed, 0.0)
        owed = min(owed, 0.0)


@njit(nogil=True, error_model="numpy")
def _owed(slack: float, spent: float, multiplier: float, change: float, mu: float, owed: float) -> float:
    """By how much a side must give way, where what is next to it gives way by owed."""
    if owed == 0.0 and spent < (1.0 - _KEPT) * slack:
        return 0.0
    least = min(_KEPT * slack, _WIDE * mu / (multiplier + max(change, 0.0)))
    return owed + least - (slack - spent)


@njit(nogil=True, error_model="numpy")
def _repaired(
    u: FloatArray, s: FloatArray, z: FloatArray, step: FloatArray, dz: FloatArray, primal: float, dual: float,
    mu: float, enough: float, lowered: FloatArray,
) -> float:  # fmt: skip
    """Make a step of these lengths feasible by lowering potentials, the less the better; return the gap it leaves.

    Or only a part of that gap, if the part is no less than enough.

    A potential that falls too fast along an edge, or breaks calibration, is feasible again as soon as it is low
    enough, and so are its neighbours: lowered (K, 2) is the least that does, found by a sweep either way.
    """
    n = u.size
    carried0 = 0.0
    carried1 = 0.0
    for k in range(n - 1, -1, -1):
        owed = max(0.0, _owed(s[k, 4], primal * step[k, 2], z[k, 4], dual * dz[k, 4], mu, 0.0))
        if k + 1 < n:
            carried0 = _owed(s[k, 1], -primal * step[k, 0], z[k, 1], dual * dz[k, 1], mu, carried0)
            carried1 = _owed(s[k, 3], -primal * step[k, 1], z[k, 3], dual * dz[k, 3], mu, carried1)
        carried0 = max(carried0, owed)
        carried1 = max(carried1, owed)
        lowered[k, 0] = carried0
        lowered[k, 1] = carried1
    carried0 = lowered[0, 0]
    carried1 = lowered[0, 1]
    gap: float = 0.0
    for k in range(n):
        low0, low1 = carried0, carried1
        slack = s[k, 4] - primal * step[k, 2] + (1.0 - u[k]) * low0 + u[k] * low1
        gap += slack * kept(z[k, 4], dual * dz[k, 4], slack, mu)
        if k + 1 < n:
            rise0 = primal * step[k, 0]
            rise1 = primal * step[k, 1]
            carried0 = max(_owed(s[k, 0], rise0, z[k, 0], dual * dz[k, 0], mu, low0), lowered[k + 1, 0])
            carried1 = max(_owed(s[k, 2], rise1, z[k, 2], dual * dz[k, 2], mu, low1), lowered[k + 1, 1])
            lowered[k + 1, 0] = carried0
            lowered[k + 1, 1] = carried1
            rise0 -= carried0 - low0
            rise1 -= carried1 - low1
            gap += (s[k, 0] - rise0) * kept(z[k, 0], dual * dz[k, 0], s[k, 0] - rise0, mu)
            gap += (s[k, 1] + rise0) * kept(z[k, 1], dual * dz[k, 1], s[k, 1] + rise0, mu)
            gap += (s[k, 2] - rise1) * kept(z[k, 2], dual * dz[k, 2], s[k, 2] - rise1, mu)
            gap += (s[k, 3] + rise1) * kept(z[k, 3], dual * dz[k, 3], s[k, 3] + rise1, mu)
            if gap >= enough:
                return gap
    return gap


@njit(nogil=True, error_model="numpy")
def longer(
    u: FloatArray, s: FloatArray, z: FloatArray, step: FloatArray, dz: FloatArray, primal: float, dual: float,
    mu: float, centre: float, gap: float, lowered: FloatArray,
) -> tuple[bool, float, float, float]:  # fmt: skip
    """Whether a longer step than the blocked one pays once it is repaired; its lengths, and the mu it aims at."""
    far = max(primal, min(_LONGEST, _REACH * primal))
    long = max(dual, min(_LONGEST, _REACH * dual))
    for _ in range(_TRIALS):
        reach = min(far, long)
        aimed = mu + reach * (centre - mu)
        enough = gap * (1.0 - _GAINED * reach)
        if _repaired(u, s, z, step, dz, far, long, aimed, enough, lowered) < enough:
            return True, far, long, aimed
        far = max(primal, 0.5 * far)
        long = max(dual, 0.5 * long)
    return False, primal, dual, mu
