"""Evidence of segments of independent rows: p-values of redrawn outcomes, and tail probabilities that are proved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.testing.poisson_binomial import two_sided_log_pvalues
from calibrant.kernels import excursions as kernel
from calibrant.kernels import sketching
from calibrant.segments.candidates import FeatureLots, SegmentCandidates, moments
from calibrant.sketch.cells import rounding_of_plain_sums
from calibrant.threads import in_blocks

STRETCH = 2.0 * math.log(8.0)
"""Taken off a climb's evidence: a Brownian path's range is four times as likely to be large as its end, and it gets
half of the end's share of the error."""


_SLAB = 2048
"""Units whose events are drawn at a time: with what is kept of each segment they stay in the processor's cache."""
_ADVANCE = 32
"""Units by which a segment is to advance at a time, on average: what is kept of it is read and written each time."""


@dataclass(frozen=True, slots=True, eq=False)
class ResampleSearch:
    """Evidence of all segments by redraws."""

    score: FloatArray  # (segments,): evidence, comparable across segments; larger is more
    # total, rise, fall: (segments,), what it was made of
    total: FloatArray
    rise: FloatArray
    fall: FloatArray
    pvalue: FloatArray  # (segments,): adjusted for all segments by stepping down
    critical: float  # scores above it are beyond noise at the level of the redraws, in one step
    error: float  # largest rise or fall of any segment, over the weight of all units
    chance_error: float  # what it stays below, except with the level's probability, were the predictions calibrated


def search(
    units: FeatureLots, candidates: SegmentCandidates, n_resamples: int, level: float, seed: np.uint64
) -> ResampleSearch:
    """Score the segments of the outcomes and of redrawn ones, and step down from the highest.

    A segment's adjusted p-value is the share of the draws, the outcomes among them, in which some segment that does
    not score higher than it has as high a score; and no less than that of a segment that scores higher. Of the
    segments in whose rows every stated probability is right, one is called beyond noise with probability at most the
    level, even if other segments are wrong (Westfall and Young 1993, free step-down; docs/found-segments.md).
    """
    n, draws_of_all = units.prediction.size, 1 + n_resamples
    scores = np.empty((len(candidates), draws_of_all))
    largest = np.empty(draws_of_all)
    mean = units.weight * units.count * units.prediction
    observed = np.empty((3, len(candidates)))

    one, none, joint = np.ones(n), np.zeros(n), units.joint
    slab = min(n, max(_SLAB, _ADVANCE * len(candidates) * n // candidates.order.size))

    def fill(first: int, last: int) -> None:
        drawn = np.empty((slab if joint is None else 0, kernel.LANES), units.drawn_type)
        climbs, part = np.empty((5, len(candidates), kernel.LANES)), np.empty((len(candidates), kernel.LANES))
        for start in range(first, last, kernel.LANES):
            lanes = slice(0, min(kernel.LANES, last - start))
            excess = None if joint is None else joint.excesses(seed, start, kernel.LANES)
            climbs[:] = 0.0
            at = candidates.ends[:, 0].copy()
            for unit in range(0, n, slab):
                own = slice(unit, min(n, unit + slab))
                if excess is None:
                    draws, columns = drawn[: own.stop - unit], (units.weight, mean)
                    v, count, ones = (each[own] for each in (units.prediction, units.count, units.ones))
                    kernel.draw_events(v, count, ones, seed, start, unit, draws)
                else:
                    draws, columns = excess[own], (one, none)
                kernel.excursions(draws, unit, *columns, units.rank, candidates.order, candidates.ends, at, climbs)
            kernel.scores(climbs, candidates.second, candidates.third, candidates.handicap, STRETCH, part)
            scores[:, start : start + kernel.LANES] = part[:, lanes]
            largest[start : start + kernel.LANES] = np.maximum(climbs[1], -climbs[2]).max(axis=0)[lanes]
            if start == 0:
                observed[:] = climbs[:3, :, 0]

    in_blocks(fill, draws_of_all, work=candidates.order.size * draws_of_all, multiple=kernel.LANES)
    weight = float((units.weight * units.count).sum())
    over = spare(draws_of_all, level)
    return ResampleSearch(
        score=scores[:, 0],
        total=observed[0],
        rise=observed[1],
        fall=observed[2],
        pvalue=stepped_down(scores),
        critical=float(np.sort(scores[:, 1:].max(axis=0))[-1 - over]),
        error=float(largest[0]) / weight,
        chance_error=float(np.sort(largest[1:])[-1 - over]) / weight,
    )


def spare(draws: int, level: float) -> int:
    """Number of redraws that may be as extreme as the outcomes where the p-value is at most the level."""
    return max(0, math.floor(level * draws * (1.0 + 1e-12)) - 1)


def stepped_down(scores: FloatArray) -> FloatArray:
    """Adjusted p-values of the first column, of shape (segments, draws); rounding makes no difference."""
    observed = scores[:, 0]
    falling = np.argsort(-observed, kind="stable")
    ordered = scores[falling]
    highest = np.maximum.accumulate(ordered[::-1], axis=0)[::-1]
    slack = 1e-9 * (1.0 + np.abs(ordered[:, :1]))
    shares = (1.0 + (highest[:, 1:] >= ordered[:, :1] - slack).sum(axis=1)) / scores.shape[1]
    adjusted = np.empty(shares.size)
    adjusted[falling] = np.maximum.accumulate(shares)
    return adjusted


def observed_climbs(
    units: FeatureLots, candidates: SegmentCandidates, prediction: FloatArray, ends: IntArray
) -> FloatArray:
    """Total, steepest rise and steepest fall of the outcomes in some segments, (3, segments, 1)."""
    climbs = np.zeros((5, ends.shape[0], 1))
    columns = units.weight, units.weight * units.count * prediction, units.rank
    kernel.excursions(units.ones[:, None], 0, *columns, candidates.order, ends, ends[:, 0].copy(), climbs)
    return climbs[:3]


def scored(units: FeatureLots, candidates: SegmentCandidates, prediction: FloatArray, segments: IntArray) -> FloatArray:
    """Scores of some segments, were the units predicted otherwise."""
    ends = candidates.ends[segments]
    climbs = observed_climbs(units, candidates, prediction, ends)
    both = moments(units, prediction, candidates.order, ends)
    out = np.empty((segments.size, 1))
    kernel.scores(climbs, *both, candidates.handicap[segments], STRETCH, out)
    return np.asarray(out[:, 0], np.float64)


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
