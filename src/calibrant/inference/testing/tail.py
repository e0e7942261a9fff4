"""p-values far below what redraws can show: Chernoff bounds along directions that are fixed before the outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.inference.testing.components import Components
from calibrant.inference.testing.lots import UncertainLots

_MIXTURES = 16
_TRIED = 4
_STEPS = 60
_FARTHEST = 1500.0  # of a first step in log-odds; those of doubles lie within 745 of 0
_EXPONENTS = 0.9 * 0.5 ** np.arange(12.0)
_ROUNDING = 1e-14  # of each term and of its sum: numpy adds in pairs


Bound = Callable[[UncertainLots, FloatArray], float]
"""Log of a bound on the chance of a sum of excess as large, of lots along a direction where it is positive."""


def log_tail(lots: UncertainLots, parts: Components, bound: Bound | None = None) -> float:
    """Log of a p-value that holds at any number of rows: a bound on P(any direction's sum is as unlikely as seen).

    Directions are 16 mixtures of the constant and the slope, sharing half of the error, and the waves, the k-th with
    the share 1 / (2 k (k + 1)); both signs of each. Only the few that look most extreme are computed, which can only
    make the p-value larger. Of rows in groups, each direction's sums of groups are bounded instead; of cells
    known by their sums alone, by the `bound` that these allow.
    """
    excess = lots.excess
    bound = bound or sum_bound
    constant = 1.0 / math.sqrt(float(lots.variance.sum()))
    angles = math.pi * np.arange(_MIXTURES) / _MIXTURES
    directions: list[tuple[float, float, FloatArray]] = []

    def add(share: float, direction: FloatArray) -> None:
        z = float((direction * excess).sum())
        directions.append((0.5 * z * z + math.log(share), share, direction if z > 0.0 else -direction))

    for angle in angles:
        add(0.5 / _MIXTURES, math.cos(angle) * constant + math.sin(angle) * parts.slope)
    for k in range(1, parts.wave.shape[1]):
        add(0.5 / (k * (k + 1)), parts.wave[parts.block, k])
    best = sorted(range(len(directions)), key=lambda i: -directions[i][0])[:_TRIED]
    return min(0.0, *(bound(lots, directions[i][2]) - math.log(0.5 * directions[i][1]) for i in best))


def sum_bound(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of a bound on P(sum of direction * excess >= what was seen), of single rows or of independent groups."""
    return (chernoff if lots.group is None else _by_group)(lots, direction)


def chernoff(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of a bound on P(sum of direction * excess >= what was seen): the least over a rising exponent, by Newton.

    The exponent is summed row by row, as sum (m - ones) log(1 - v + v e^x) + ones log((1 - v) e^-x + v): no term is
    below the log of its outcomes' own probability, so nothing cancels, however large x = t * direction becomes.
    """
    a = direction * lots.weight
    v, m, ones = lots.prediction, lots.count, lots.ones
    observed = float((a * (ones - m * v)).sum())
    if observed <= 0.0:
        return 0.0
    low, high = 0.0, math.inf
    # Of one prediction the best exponent lifts the log-odds to those of the outcomes, in the range of doubles.
    t = min(observed / float((a * a * m * v * (1.0 - v)).sum()), _FARTHEST / float(np.abs(a).max()))
    best = 0.0
    for _ in range(_STEPS):
        lifted = a * t
        # The larger of both exponents is taken out.
        top = np.maximum(lifted, 0.0)
        sum_ = (1.0 - v) * np.exp(-top) + v * np.exp(lifted - top)
        core = m * np.log(sum_)
        over = (m - ones) * top + ones * (top - lifted)
        value = float(core.sum()) + float(over.sum())
        value += _ROUNDING * float((m - core + over).sum())  # neither sum has terms of both signs
        if not math.isfinite(value):
            high, t = t, 0.5 * (low + t)
            continue
        better = value < best - 1e-9 * abs(best)
        best = min(best, value)
        moved = v * np.exp(lifted - top) / sum_
        slope = float((a * m * (moved - v)).sum()) - observed
        curve = float((a * a * m * moved * (1.0 - moved)).sum())
        low, high = (t, high) if slope < 0.0 else (low, t)
        step = t - slope / curve if curve > 0.0 else math.inf
        after = step if low < step < high else (2.0 * t if high == math.inf else 0.5 * (low + high))
        if not better and abs(after - t) <= 1e-6 * t:
            break
        t = after
    return best


def _by_group(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of a bound on P(sum of direction * excess is as far above 0), of groups that do not depend on one another.

    exp(x z - psi(x) z^2) <= 1 + x z for z >= -1, psi(x) = -log(1 - x) - x: of a group's sum z of mean 0, in units of
    the least that any group's can be, the left side's mean is at most 1. By Markov's inequality P(sum of x z -
    psi(x) z^2 >= L) <= e^-L for each of the few x.
    """
    assert lots.group is not None
    a, v, m = direction * lots.weight, lots.prediction, lots.count
    sums = np.bincount(lots.group, a * (lots.ones - m * v))
    most = float(np.bincount(lots.group, m * np.where(a > 0.0, a * v, -a * (1.0 - v))).max())
    if not most > 0.0:
        return 0.0
    z = sums / (most * (1.0 + 1e-12))
    x = _EXPONENTS
    psi = -np.log1p(-x) - x
    return min(0.0, float((psi * float((z * z).sum()) - x * float(z.sum())).min()) + math.log(x.size))
