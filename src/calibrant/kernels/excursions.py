"""Redrawn events, and their cumulative differences in many segments of the rows at once.

A unit is a number of rows of one prediction and one weight. Its number of events is redrawn from random bits that
depend on (seed, resample, unit) alone, so neither threads nor blocks show in the result; resample 0 has the observed
number. Resamples advance together, side by side in the last axis.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.calibration import GAMMA, binomial_table, mix
from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray, UIntArray

LANES = 128
"""Resamples that advance together."""
_RISE, _FALL, _LOW, _HIGH = (LANES * each for each in (1, 2, 3, 4))
"""Where sums beside the total lie, from a lane's total on."""
_11 = np.uint64(11)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_events(
    prediction: FloatArray,
    count: FloatArray,
    ones: FloatArray,
    seed: np.uint64,
    first: int,
    unit: int,
    draws: UIntArray,
) -> None:
    """Fill draws[i, r] with the events of unit i in resample first + r; the first of these units is number `unit`."""
    n, lanes = draws.shape
    key = np.empty(lanes, np.uint64)
    for lane in range(lanes):
        key[lane] = mix(seed + GAMMA * np.uint64(first + lane))
    most = 0.0
    for i in range(n):
        most = max(most, count[i])
    half = int(min(most, 10.0 * math.sqrt(0.25 * most) + 50.0))  # beyond, less than a 1e-19th of the mode
    below, guide = np.empty(2 * half + 1), np.empty(2 * half + 1, np.int64)
    for i in range(n):
        step = np.uint64(unit + i + 1) * GAMMA
        if count[i] == 1.0:
            threshold = np.int64(math.ceil(prediction[i] * 2.0**53))
            for lane in range(lanes):
                draws[i, lane] = np.int64(mix(key[lane] + step) >> _11) < threshold
        else:
            least, size = binomial_table(count[i], prediction[i], below, guide)
            for lane in range(lanes):
                uniform = np.int64(mix(key[lane] + step) >> _11) * 2.0**-53
                j = guide[int(uniform * size)]
                j += below[j] <= uniform  # without a branch, which would be guessed wrong every third time
                while below[j] <= uniform:
                    j += 1
                draws[i, lane] = least + j
        if first == 0:
            draws[i, 0] = ones[i]


@njit(cache=True, nogil=True)
def excursions(
    draws: FloatArray,
    unit: int,
    weight: FloatArray,
    mean: FloatArray,
    rank: IntArray,
    order: IntArray,
    ends: IntArray,
    at: IntArray,
    out: FloatArray,
) -> None:
    """Bring out[s, 0], out[s, 1] and out[s, 2], a segment's total, steepest rise and steepest fall, past these units.

    They are those of the running sums of weight * events - mean over the segment's units, in order of prediction and
    looked at only where all units of one prediction are in: the last sum, and the largest and the smallest difference
    of a later sum and an earlier one, the empty sum among them; out[s, 3] and out[s, 4] are the least and the largest.
    Segment s holds the units order[ends[s, 0]:ends[s, 1]], increasing, of which at[s] is the next; rank tells the
    predictions apart. The draws are of the units from `unit` on: few at a time stay in the processor's cache, while
    each segment would skip through all. There are `LANES` draws side by side, or one.
    """
    after = unit + draws.shape[0]
    for s in range(ends.shape[0]):
        k, end = at[s], ends[s, 1]
        if draws.shape[1] == 1:
            total, rise, fall, low, high = out[s, 0, 0], out[s, 1, 0], out[s, 2, 0], out[s, 3, 0], out[s, 4, 0]
            while k < end and order[k] < after:
                i = order[k]
                k += 1
                total += weight[i] * draws[i - unit, 0] - mean[i]
                if k == end or rank[order[k]] != rank[i]:
                    low, high, rise, fall = _looked(total, low, high, rise, fall)
            out[s, 0, 0], out[s, 1, 0], out[s, 2, 0], out[s, 3, 0], out[s, 4, 0] = total, rise, fall, low, high
        else:
            sums = out[s].reshape(5 * LANES)
            while k < end and order[k] < after:
                i = order[k]
                if k + 4 < end and order[k + 3] < after:
                    i1, i2, i3, i4 = order[k + 1], order[k + 2], order[k + 3], order[k + 4]
                    r1, r2, r3 = rank[i1], rank[i2], rank[i3]
                    if rank[i] != r1 and r1 != r2 and r2 != r3 and r3 != rank[i4]:
                        _add_and_look_four_times(
                            sums,
                            *(draws[i - unit], draws[i1 - unit], draws[i2 - unit], draws[i3 - unit]),
                            *(weight[i], weight[i1], weight[i2], weight[i3]),
                            *(mean[i], mean[i1], mean[i2], mean[i3]),
                        )
                        k += 4
                        continue
                k += 1
                _add(sums, draws[i - unit], weight[i], mean[i])
                if k == end or rank[order[k]] != rank[i]:
                    _look(sums)
        at[s] = k


@njit(cache=True, nogil=True)
def _add(sums, events, weight, mean):  # type: ignore[no-untyped-def]
    for lane in range(LANES):
        sums[lane] += weight * events[lane] - mean


@njit(cache=True, nogil=True)
def _look(sums):  # type: ignore[no-untyped-def]
    # A zero is added so that every lane is stored: stores of some lanes take AMD's processors ten times as long.
    for lane in range(LANES):
        rise, fall, low, high = sums[lane + _RISE], sums[lane + _FALL], sums[lane + _LOW], sums[lane + _HIGH]
        low, high, rise, fall = _looked(sums[lane], low, high, rise, fall)
        sums[lane + _RISE], sums[lane + _FALL] = rise + 0.0, fall + 0.0
        sums[lane + _LOW], sums[lane + _HIGH] = low + 0.0, high + 0.0


@njit(cache=True, nogil=True)
def _add_and_look_four_times(sums, a, b, c, d, w, w1, w2, w3, m, m1, m2, m3):  # type: ignore[no-untyped-def]
    # Sums of a lane are loaded and stored once for four units, which takes half of the time.
    for lane in range(LANES):
        rise, fall, low, high = sums[lane + _RISE], sums[lane + _FALL], sums[lane + _LOW], sums[lane + _HIGH]
        total = sums[lane] + (w * a[lane] - m)
        low, high, rise, fall = _looked(total, low, high, rise, fall)
        total += w1 * b[lane] - m1
        low, high, rise, fall = _looked(total, low, high, rise, fall)
        total += w2 * c[lane] - m2
        low, high, rise, fall = _looked(total, low, high, rise, fall)
        total += w3 * d[lane] - m3
        low, high, rise, fall = _looked(total, low, high, rise, fall)
        sums[lane], sums[lane + _RISE], sums[lane + _FALL] = total, rise + 0.0, fall + 0.0
        sums[lane + _LOW], sums[lane + _HIGH] = low + 0.0, high + 0.0


@njit(cache=True, nogil=True, inline="always")
def _looked(total, low, high, rise, fall):  # type: ignore[no-untyped-def]
    low = low if low < total else total
    high = high if high > total else total
    up, down = total - low, total - high
    return low, high, up if up > rise else rise, down if down < fall else fall


@njit(cache=True, nogil=True)
def cumulants(
    prediction: FloatArray, count: FloatArray, weight: FloatArray, order: IntArray, ends: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Variance and third central moment of each segment's total, were the predictions calibrated."""
    second, third = np.zeros(ends.shape[0]), np.zeros(ends.shape[0])
    for s in range(ends.shape[0]):
        for k in range(ends[s, 0], ends[s, 1]):
            i = order[k]
            v, w = prediction[i], weight[i]
            one = w * w * count[i] * v * (1.0 - v)
            second[s] += one
            third[s] += w * one * (1.0 - 2.0 * v)
    return second, third


@njit(cache=True, nogil=True, error_model="numpy")
def squared_evidence(x: float, second: float, third: float) -> float:
    """About the square of the standard normal deviate that is as unlikely as x, a sum of that variance and skewness.

    On the side of the longer tail it is twice the exponent of Bennett's inequality for a Poisson variable, shifted and
    scaled to the variance and the third moment; on the other side Bernstein's, which grows on where a Poisson variable
    would end. It rises with |x| on either side.
    """
    if second * second <= 0.0:
        return 0.0
    square = x * x / second
    u = x * third / (second * second)
    if u > 1e-3:
        return 2.0 * square * ((1.0 + u) * math.log1p(u) - u) / (u * u)
    return square / (1.0 + max(u, -1.0) / 3.0)


@njit(cache=True, nogil=True)
def scores(
    evidence: FloatArray, second: FloatArray, third: FloatArray, handicap: FloatArray, stretch: float, out: FloatArray
) -> None:
    """Fill out[s, r]: the larger of the total's evidence and, less `stretch`, the steepest climb's; less a handicap."""
    for s in range(out.shape[0]):
        a, b = second[s], third[s]
        for r in range(out.shape[1]):
            best = squared_evidence(evidence[s, 0, r], a, b)
            climb = max(squared_evidence(evidence[s, 1, r], a, b), squared_evidence(evidence[s, 2, r], a, b))
            out[s, r] = max(best, climb - stretch) - handicap[s]
