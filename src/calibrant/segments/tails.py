"""Proved tail probabilities of segments' events, in all of their predictions and in intervals of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.testing.poisson_binomial import two_sided_log_pvalues
from calibrant.kernels import sketching
from calibrant.sketch.cells import rounding_of_plain_sums

SHARES = 0.9, 0.05, 0.03, 0.02
"""Of the error, for tests of 1, 2, 4 and 8 intervals of predictions."""


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """Predictions of each cell's rows: their sum, and the numbers between which their mean lies for certain."""

    expected: FloatArray
    low: FloatArray
    high: FloatArray


def stated(index: IntArray, cells: FloatArray, resolution: int) -> Stated:
    """Mean prediction of each cell, clipped to the cell's range, and exact where that is one prediction."""
    weight = cells[:, sketching.WEIGHT]
    moment = (weight * (index // 2) + cells[:, sketching.OFFSET]) / resolution
    mean = moment / np.where(weight > 0.0, weight, 1.0)
    low, high = cells[:, sketching.LOW], cells[:, sketching.HIGH]
    doubt = 4.0 * rounding_of_plain_sums(float(cells[:, sketching.COUNT].max()))
    return Stated(moment, np.clip(mean - doubt, low, high), np.clip(mean + doubt, low, high))


def segment_tails(
    index: IntArray, cells: FloatArray, starts: IntArray, resolution: int, statement: Stated | None = None
) -> tuple[FloatArray, list[tuple[float, float]], npt.NDArray[np.bool_], tuple[FloatArray, FloatArray] | None]:
    """P-value of each segment, the interval where evidence is strongest, and whether predictions are too low there.

    Last its ones and its rows, where no row weighs more than another. A segment's cells follow one another from its
    place in `starts`; `statement` takes the place of what they say themselves of their predictions.
    """
    statement = statement or stated(index, cells, resolution)
    weight, squared = cells[:, sketching.WEIGHT], cells[:, sketching.SQUARED]
    residual = cells[:, sketching.OUTCOME] - statement.expected
    equal = bool((weight == cells[:, sketching.COUNT]).all() and (squared == weight).all())
    rounded = 4.0 * rounding_of_plain_sums(float(cells[:, sketching.COUNT].max())) * weight
    segment = np.zeros(index.size, np.int64)
    segment[starts[1:]] = 1
    segment = np.cumsum(segment)
    best = np.full(starts.size, np.inf)
    sign = np.zeros(starts.size)
    at = np.zeros((starts.size, 2))
    for depth, share in enumerate(SHARES):
        parts = 2**depth
        # An interval holds its left grid point: the last one holds 1 as well.
        of = segment * parts + np.minimum(index // 2 * parts // resolution, parts - 1)
        first = np.flatnonzero(np.diff(of, prepend=-1))
        total, squares, rounding = (np.add.reduceat(values, first) for values in (residual, squared, rounded))
        if equal:
            ones = np.add.reduceat(cells[:, sketching.ONES], first)
            logs = two_sided_log_pvalues(weight, (statement.low, statement.high), first, ones)
        else:
            sure = np.maximum(np.abs(total) - rounding, 0.0)
            logs = math.log(2.0) - sure**2 / np.maximum(0.5 * squares, 1e-290)  # lost squares tell nothing
        log_p = np.full((starts.size, parts), np.inf)
        totals = np.zeros((starts.size, parts))
        log_p.flat[of[first]] = logs + math.log(parts / share)
        totals.flat[of[first]] = total
        column = np.argmin(log_p, axis=1)
        rows = np.arange(starts.size)
        better = log_p[rows, column] < best
        best = np.where(better, log_p[rows, column], best)
        sign = np.where(better, totals[rows, column], sign)
        at[better] = np.column_stack([column / parts, (column + 1) / parts])[better]
    counts = np.add.reduceat(cells[:, [sketching.ONES, sketching.COUNT]], starts)
    where = [(float(a), float(b)) for a, b in at]
    return np.exp(np.clip(best, -700.0, 0.0)), where, sign > 0.0, (counts[:, 0], counts[:, 1]) if equal else None


def reached_by_noise(deviation: FloatArray, level: float) -> float:
    """Bound of all segments' climbs but for about `level`: as Brownian paths with these deviations."""
    from scipy.optimize import brentq

    def spare(x: float) -> float:  # the range of a Brownian path exceeds x with probability about 8 ndtr(-x)
        return float(8.0 * ndtr(-x / deviation).sum() - level)

    return float(brentq(spare, 0.0, 40.0 * float(deviation.max())))
