"""Sums that `calibration_test` looks at, of the outcomes and of many redrawn ones, in one sweep over sorted units.

A unit is a number of rows of one prediction and one weight. Its number of events is redrawn from random bits that
depend on (seed, resample, unit) alone, so neither threads nor blocks show in the result; resample 0 has the observed
number. Everything that is looked at, except the slope, is made of the sums over up to 1,024 stretches.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.types import FloatArray, IntArray

LANES = 256
"""Resamples that advance together."""
GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_NEGLIGIBLE = 1e-19  # of the largest probability of a number of events


@njit(cache=True, nogil=True, inline="always")
def mix(x):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser: a bijection of 64-bit words in which every input bit moves every output bit."""
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    return x ^ (x >> _31)


@njit(cache=True, nogil=True, error_model="numpy")
def binomial_table(trials: float, chance: float, below: FloatArray, guide: IntArray) -> tuple[int, int]:
    """Write the distribution of a binomial number from its mode outwards; return its first value, and how many.

    below[j] is the probability of at most first + j; guide[g] is the first j with below[j] > g / size. What lies
    further out than a 1e-19th of the mode is left out.
    """
    mode = float(math.floor((trials + 1.0) * chance))
    if mode > trials:
        mode = trials
    odds = chance / (1.0 - chance)
    reach = (below.size - 1) // 2
    down, mass = 0, 1.0
    while down < reach and mode - down > 0.0:
        k = mode - down
        mass *= k / ((trials - k + 1.0) * odds)
        if mass < _NEGLIGIBLE:
            break
        down += 1
        below[reach - down] = mass
    up, mass = 0, 1.0
    below[reach] = 1.0
    while up < reach and mode + up < trials:
        k = mode + up
        mass *= (trials - k) * odds / (k + 1.0)
        if mass < _NEGLIGIBLE:
            break
        up += 1
        below[reach + up] = mass
    size = down + up + 1
    total = 0.0
    for j in range(size):
        total += below[reach - down + j]
        below[j] = total
    at = 0
    for j in range(size):
        below[j] /= total
    below[size - 1] = 1.0
    for g in range(size):
        while below[at] * size <= g:
            at += 1
        guide[g] = at
    return int(mode) - down, size


@njit(cache=True, nogil=True, error_model="numpy")
def redrawn_statistics(
    units: FloatArray,
    block: IntArray,
    wave: FloatArray,
    sizes: IntArray,
    inverse: FloatArray,
    seed: np.uint64,
    first: int,
    out: FloatArray,
) -> None:
    """Fill out[r] with resample first + r: Cox's score, sums of squared waves, and debiased chi-squares.

    `units` are rows of predictions, counts, events, weights and slopes; `block` is the stretch of each unit, never
    falling, and wave[b] what each wave weighs stretch b by. Sums are over the first sizes[k] waves. `inverse` holds one
    over the variance of each group: those of 2 groups, then of 4, and so on up to single stretches. A chi-square is the
    sum over groups of (S^2 - Q) / variance, S being the weighted excess of events and Q the sum of the rows' squares.
    """
    n, n_blocks, n_waves = block.size, wave.shape[0], wave.shape[1]
    most = 0.0
    for k in range(n):
        most = max(most, units[1, k])
    half = int(min(most, 10.0 * math.sqrt(0.25 * most) + 50.0))  # beyond, less than a 1e-19th of the mode
    below, guide = np.empty(2 * half + 1), np.empty(2 * half + 1, np.int64)
    excess, square = np.empty((n_blocks, LANES)), np.empty((n_blocks, LANES))
    sloped, score = np.empty(LANES), np.empty((n_waves, LANES))
    key, events, total = np.empty(LANES, np.uint64), np.empty(LANES), np.empty(LANES)

    for start in range(0, out.shape[0], LANES):
        for lane in range(LANES):
            key[lane] = mix(seed + GAMMA * np.uint64(first + start + lane))
        _clear(excess)
        _clear(square)
        _clear(score)
        for lane in range(LANES):
            sloped[lane] = 0.0
        for i in range(n):
            v, m, w = units[0, i], units[1, i], units[3, i]
            if m == 1.0:
                _draw_one(key, np.uint64(i + 1) * GAMMA, np.int64(math.ceil(v * 2.0**53)), events)
            else:
                least, size = binomial_table(m, v, below, guide)
                _draw_many(key, np.uint64(i + 1) * GAMMA, below, guide, least, size, events)
            if first + start == 0:
                events[0] = units[2, i]
            _add(excess[block[i]], square[block[i]], sloped, events, v, m, w, units[4, i])
        looked = out[start : start + LANES]
        _waves(excess, wave, inverse, score, sloped, total, sizes, looked)
        _chi_squares(excess, square, inverse, total, looked)


@inner
def _waves(excess, wave, inverse, score, sloped, total, sizes, out):  # type: ignore[no-untyped-def]
    n_blocks, n_waves = wave.shape
    for b in range(n_blocks):
        if inverse[inverse.size - n_blocks + b] > 0.0:
            for k in range(n_waves):
                factor = wave[b, k]
                for lane in range(LANES):
                    score[k, lane] += excess[b, lane] * factor
    for lane in range(out.shape[0]):
        out[lane, 0] = score[0, lane] * score[0, lane] + sloped[lane] * sloped[lane]
    for lane in range(LANES):
        total[lane] = 0.0
    at = 0
    for k in range(n_waves):
        for lane in range(LANES):
            total[lane] += score[k, lane] * score[k, lane]
        if at < sizes.size and k + 1 == sizes[at]:
            at += 1
            for lane in range(out.shape[0]):
                out[lane, at] = total[lane]


@inner
def _chi_squares(excess, square, inverse, total, out):  # type: ignore[no-untyped-def]
    """Each level's from its groups' sums, which are then added up by twos."""
    groups, level = excess.shape[0], out.shape[1] - 1
    while groups > 1:
        for lane in range(LANES):
            total[lane] = 0.0
        for g in range(groups):
            factor = inverse[groups - 2 + g]
            if factor > 0.0:
                for lane in range(LANES):
                    total[lane] += (excess[g, lane] * excess[g, lane] - square[g, lane]) * factor
        for lane in range(out.shape[0]):
            out[lane, level] = total[lane]
        groups //= 2
        level -= 1
        for g in range(groups):
            for lane in range(LANES):
                excess[g, lane] = excess[2 * g, lane] + excess[2 * g + 1, lane]
                square[g, lane] = square[2 * g, lane] + square[2 * g + 1, lane]


@inner
def _clear(table):  # type: ignore[no-untyped-def]
    for row in range(table.shape[0]):
        for lane in range(LANES):
            table[row, lane] = 0.0


@inner
def _draw_one(key, step, threshold, events):  # type: ignore[no-untyped-def]
    for lane in range(LANES):
        events[lane] = 1.0 if np.int64(mix(key[lane] + step) >> _11) < threshold else 0.0


@inner
def _draw_many(key, step, below, guide, least, size, events):  # type: ignore[no-untyped-def]
    for lane in range(LANES):  # by itself: it is vectorised
        events[lane] = np.int64(mix(key[lane] + step) >> _11) * 2.0**-53
    for lane in range(LANES):
        uniform = events[lane]
        j = guide[int(uniform * size)]
        j += below[j] <= uniform  # without a branch, which would be guessed wrong every third time
        while below[j] <= uniform:
            j += 1
        events[lane] = least + j


@inner
def _add(excess, square, sloped, events, v, m, w, slope):  # type: ignore[no-untyped-def]
    mean, along, fixed = m * v, w * w * (1.0 - 2.0 * v), w * w * m * v * v
    for lane in range(LANES):
        moved = w * (events[lane] - mean)
        excess[lane] += moved
        sloped[lane] += slope * moved
        square[lane] += along * events[lane] + fixed


_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_jointly(
    chance: FloatArray,
    value: FloatArray,
    ratio: FloatArray,
    start: IntArray,
    width: IntArray,
    seed: np.uint64,
    first: int,
    out: FloatArray,
) -> None:
    """Fill out[i, r] with row i's value in resample first + r, times a ratio that is drawn with its outcome.

    Row k of `value` and `start` is of outcome k: what counts at each row, and where the ratios of the row's neighbours
    of that outcome begin in `ratio`; width[k] of them are as likely as one another. Bits depend on (seed, resample,
    row) alone.
    """
    n, lanes = out.shape
    key = np.empty(lanes, np.uint64)
    for lane in range(lanes):
        key[lane] = mix(seed + GAMMA * np.uint64(first + lane))
    for i in range(n):
        step = np.uint64(i + 1) * GAMMA
        threshold = np.int64(math.ceil(chance[i] * 2.0**32))
        for lane in range(lanes):
            bits = mix(key[lane] + step)
            k = 1 if np.int64(bits >> _32) < threshold else 0
            place = start[k, i] + ((np.int64(bits & _LOW) * width[k]) >> 32)
            out[i, lane] = value[k, i] * ratio[place]
