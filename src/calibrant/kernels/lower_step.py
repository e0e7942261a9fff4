"""A step of the interior point for the lower distance: a matrix that is eliminated from both ends (docs/lower.md).

The matrix is block-tridiagonal with 2 x 2 blocks. Both ends are eliminated at once, and meet at the node in the middle:
each recursion waits for what it computed last, so that two side by side take hardly longer than one. The right end is
the left one's mirror image with the labels swapped, so that one function does for both: at either end the first
label has nearly all of the calibration row. Edge k joins the nodes k and k + 1; from the right its nodes swap as well.
"""

from __future__ import annotations

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray

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


@njit(cache=True, nogil=True, error_model="numpy")
def eliminate(
    u: FloatArray, p: FloatArray, q: FloatArray, bias: FloatArray, z: FloatArray, inverse: FloatArray,
    proximal: float, factor: FloatArray, y: FloatArray,
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
        y0, across = _carried(y0, across, 1.0 - u[k], p[k], q[k], bias[k], factor, y, k)
        j = n - 1 - k
        if j > middle:
            e0 = z[j - 1, 0] * inverse[j - 1, 0] + z[j - 1, 1] * inverse[j - 1, 1]
            e1 = z[j - 1, 2] * inverse[j - 1, 2] + z[j - 1, 3] * inverse[j - 1, 3]
            right = _factored(right, u[j], 1.0 - u[j], z[j, 4] * inverse[j, 4], e1, e0, proximal, factor, j)
            y1, other = _carried(y1, other, u[j], q[j], p[j], -bias[j], factor, y, j)
    k = middle
    both, (y0, across) = _joined(left, right, y0, across, y1, other)
    _factored(both, 1.0 - u[k], u[k], z[k, 4] * inverse[k, 4], 0.0, 0.0, proximal, factor, k)
    _carried(y0, across, 1.0 - u[k], p[k], q[k], bias[k], factor, y, k)
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
    u: FloatArray, p: FloatArray, q: FloatArray, bias: FloatArray, z: FloatArray, inverse: FloatArray,
    predicted: FloatArray, rhs: FloatArray, k: int, centre: float, gain0: float, gain1: float,
) -> float:  # fmt: skip
    """The corrector's right-hand side at a node, into rhs, and its tilt; gain is what its edges' flows bring."""
    a1 = u[k]
    a0 = 1.0 - a1
    w = predicted[k, 2] * inverse[k, 4]
    c = centre * inverse[k, 4] - z[k, 4] * w * (1.0 - w)
    rhs[k, 0] = p[k] - a0 * c + gain0
    rhs[k, 1] = q[k] - a1 * c + gain1
    tilt: float = bias[k] + a0 * gain1 - a1 * gain0
    return tilt


@njit(cache=True, nogil=True, error_model="numpy")
def correct(
    u: FloatArray, p: FloatArray, q: FloatArray, bias: FloatArray, z: FloatArray, inverse: FloatArray,
    predicted: FloatArray, centre: float, factor: FloatArray, ends: tuple[Matrix, Matrix], y: FloatArray,
    rhs: FloatArray,
) -> None:  # fmt: skip
    """Carry the corrector's right-hand side rhs (K, 2) to the middle."""
    n = u.size
    middle = n // 2
    y0, across, flow0, flow1 = 0.0, 0.0, 0.0, 0.0
    y1, other, back0, back1 = 0.0, 0.0, 0.0, 0.0
    for k in range(middle):
        next0, next1 = _flows(z, inverse, predicted, k, centre)
        tilt = _asked(u, p, q, bias, z, inverse, predicted, rhs, k, centre, next0 - flow0, next1 - flow1)
        flow0, flow1 = next0, next1
        y0, across = _carried(y0, across, 1.0 - u[k], rhs[k, 0], rhs[k, 1], tilt, factor, y, k)
        j = n - 1 - k
        if j > middle:
            next0, next1 = _flows(z, inverse, predicted, j - 1, centre)
            tilt = _asked(u, p, q, bias, z, inverse, predicted, rhs, j, centre, back0 - next0, back1 - next1)
            back0, back1 = next0, next1
            y1, other = _carried(y1, other, u[j], rhs[j, 1], rhs[j, 0], -tilt, factor, y, j)
    k = middle
    tilt = _asked(u, p, q, bias, z, inverse, predicted, rhs, k, centre, back0 - flow0, back1 - flow1)
    _, (y0, across) = _joined(ends[0], ends[1], y0, across, y1, other)
    _carried(y0, across, 1.0 - u[k], rhs[k, 0], rhs[k, 1], tilt, factor, y, k)


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
    u: FloatArray, rhs: FloatArray, z: FloatArray, inverse: FloatArray, proximal: float, centre: float,
    predicted: FloatArray, step: FloatArray, dx: FloatArray, dz: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Steps of the calibration rows, into step[:, 2], and of all multipliers; the largest part of a slack and of a
    multiplier that is taken."""
    n = u.size
    taken = 0.0
    given = 0.0
    flow0 = 0.0
    flow1 = 0.0
    for k in range(n):
        next0 = 0.0
        next1 = 0.0
        if k + 1 < n:
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
        level = _level(u[k], d, proximal, rhs[k, 0], rhs[k, 1], dx[k, 0], dx[k, 1], next0, next1, flow0, flow1)
        step[k, 2] = level
        flow0 = next0
        flow1 = next1
        w = predicted[k, 2] * inverse[k, 4]
        more = level * inverse[k, 4]
        rising = centre * inverse[k, 4] + z[k, 4] * (more - 1.0 - w * (1.0 - w))
        dz[k, 4] = rising
        taken = max(taken, more)
        if -rising > given * z[k, 4]:
            given = -rising / z[k, 4]
    return taken, given
