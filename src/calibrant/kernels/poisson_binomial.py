"""Tails of sums of independent 0/1 outcomes with unequal chances, by tilting; derived in docs/poisson-binomial.md."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

EXACT = 512  # rows up to which a tail is summed term by term
_PEAK = 0.46883  # times 1 / sd: at least the largest probability (Baillon, Cominetti and Vaisman 2016)
_NORMAL = 1.12  # times 1 / sd: twice the distance to the normal distribution (Shevtsova 2010)
_UNIT = 2.0**-52
_STEPS = 100


@njit(inline="always")
def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@njit(cache=True, nogil=True)
def _tilt(count: FloatArray, logit: FloatArray, events: float, gap: float) -> float:
    """Tilt under which the mean of the sum is `events`, or less by at most a millionth of the gap."""
    low, high, t = 0.0, np.inf, 0.0
    aim = events - 5e-7 * gap
    for _ in range(_STEPS):
        mean, variance = 0.0, 0.0
        for j in range(count.size):
            q = 1.0 / (1.0 + math.exp(min(-t - logit[j], 700.0)))
            mean += count[j] * q
            variance += count[j] * q * (1.0 - q)
        if abs(mean - aim) <= 4e-7 * gap:
            return t
        if mean < aim:
            low = t
        else:
            high = t
        step = (aim - mean) / variance if variance > 0.0 else np.inf
        t += min(max(step, -4.0), 4.0 + t)
        if t <= low or t >= high:
            t = 0.5 * (low + high)
    return low


@njit(cache=True, nogil=True)
def _terms(count: FloatArray, q: FloatArray, events: int, tilt: float) -> float:
    """Sum over k >= events of exp(-tilt (k - events)) P(S = k), from all probabilities."""
    n = 0
    for j in range(count.size):
        n += int(count[j])
    chance = np.zeros(n + 1)
    chance[0] = 1.0
    rows = 0
    for j in range(count.size):
        one, none = q[j], 1.0 - q[j]
        for _ in range(int(count[j])):
            rows += 1
            for k in range(rows, 0, -1):
                chance[k] = chance[k] * none + chance[k - 1] * one
            chance[0] *= none
    total = 0.0
    for k in range(n, events - 1, -1):
        total += chance[k] * math.exp(-tilt * (k - events))
    return total


@njit(cache=True, nogil=True)
def _share(tilt: float, sd: float, short: float) -> float:
    """At least the sum of `_terms`: by the largest probability, and by the distance to the normal distribution."""
    peak = min(1.0, _PEAK / sd)
    bound = min(1.0, 0.5 + peak)  # the median is the mean, where that is a whole number
    if tilt > 0.0:
        bound = min(bound, peak * math.expm1(-tilt * bound / peak) / math.expm1(-tilt))
    x = tilt * sd
    if x < 25.0:
        normal = 0.5 * math.exp(0.5 * x * x) * math.erfc(x / math.sqrt(2.0)) + _NORMAL / sd
        bound = min(bound, normal * math.exp(tilt * short))
    return bound


@njit(cache=True, nogil=True)
def log_upper_tail(count: FloatArray, chance: FloatArray, events: int, pool: bool) -> float:
    """At least the logarithm of the probability of so many events or more; equal to it up to `EXACT` rows.

    count, chance: rows and their mean chance by cell; pooled: whether rows of a cell may differ in their chances.
    """
    cells = count.size
    rows, mean, certain, possible, all_of_them = 0.0, 0.0, 0.0, 0.0, 0.0
    logit = np.empty(cells)
    for j in range(cells):
        p = chance[j]
        rows += count[j]
        mean += count[j] * p
        logit[j] = -np.inf if p <= 0.0 else np.inf if p >= 1.0 else math.log(p) - math.log1p(-p)
        certain += count[j] if p >= 1.0 else 0.0
        if p > 0.0:
            possible += count[j]
            all_of_them += count[j] * math.log(p)
    mean *= 1.0 + (cells + 2.0) * _UNIT
    gap = events - mean
    if math.isnan(mean):
        return mean
    if events <= certain or gap <= 1e-12 * events:
        return 0.0
    if events > possible:
        return -np.inf
    if events == possible:
        return min(0.0, all_of_them * (1.0 - (cells + 4.0) * _UNIT))
    t = _tilt(count, logit, float(events), gap)
    generating, size, variance, tilted = 0.0, 0.0, 0.0, 0.0
    q = np.empty(cells)
    for j in range(cells):
        q[j] = 1.0 / (1.0 + math.exp(min(-t - logit[j], 700.0)))
        tilted += count[j] * q[j]
        variance += count[j] * q[j] * (1.0 - q[j])
        if chance[j] >= 1.0:
            generating += count[j] * t
            size += count[j] * t
        elif chance[j] > 0.0:
            none, grown = math.log1p(-chance[j]), _softplus(t + logit[j])
            generating += count[j] * (none + grown)
            size += count[j] * (grown - none + q[j] * (t + abs(logit[j])))
    chernoff = generating - t * events + (cells + 16.0) * _UNIT * (size + t * events)
    if pool and events < math.ceil(mean) + 2.0:
        # Too near the mean for equal chances to be the worst: moments, which grow when chances are made equal.
        factorial = events * math.log(mean) - math.lgamma(events + 1.0)
        return min(0.0, chernoff, factorial + 8.0 * _UNIT * (1.0 + abs(factorial) + events * events))
    if rows <= EXACT:
        # A row's tilted chance is off by at most (2 t + 2) units of the last place, a product or sum by one each.
        share = _terms(count, q, events, t) + (rows + 1.0) * (t + 4.0) * 8.0 * _UNIT
    else:
        share = _share(t, math.sqrt(variance), events - tilted)
    return min(0.0, chernoff + math.log(share)) if share > 0.0 else chernoff


@njit(cache=True, nogil=True)
def log_two_sided(count: FloatArray, low: FloatArray, high: FloatArray, start: IntArray, ones: IntArray) -> FloatArray:
    """At least the logarithm of twice the tail on the observed number's side, and at most 0, by group of cells.

    low, high: between them lies a cell's mean prediction; equal where all rows of the cell have it. start: first cells
    of the groups, then the number of cells.
    """
    found, other = np.empty(ones.size), np.empty(low.size)
    for g in range(ones.size):
        part = slice(start[g], start[g + 1])
        rows, expected = 0.0, 0.0
        pooled = False
        for j in range(start[g], start[g + 1]):
            rows += count[j]
            expected += count[j] * 0.5 * (low[j] + high[j])
            pooled |= low[j] < high[j] and count[j] > 1.0  # the ends of one row are of its rounding
        if math.isnan(expected):
            tail = expected
        elif ones[g] >= expected:
            tail = log_upper_tail(count[part], high[part], ones[g], pooled)
        else:
            for j in range(start[g], start[g + 1]):  # 1 - low is exact from 1/2 on; below, rounded up
                other[j] = min(1.0 - low[j] + _UNIT, 1.0) if low[j] < 0.5 else 1.0 - low[j]
            tail = log_upper_tail(count[part], other[part], int(rows) - ones[g], pooled)
        tail += math.log(2.0)
        found[g] = 0.0 if tail > 0.0 else tail
    return found
