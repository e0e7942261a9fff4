"""Evidence of segments of independent rows, by redrawn outcomes and proved tails; and totals over all rows of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.door.special import ndtr
from calibrant.inference.testing.discrete import mean_chance_interval, mean_chance_pvalues, two_sided_log_pvalues
from calibrant.kernels import excursions as kernel
from calibrant.kernels import sketching
from calibrant.segments.candidates import FeatureLots, SegmentCandidates, each_set, moments, squared, sums_by_group
from calibrant.sketch.cells import rounding_of_plain_sums
from calibrant.threads import in_blocks

# Taken off a climb's evidence: a Brownian path's range is four times as likely to be large as its end, and it gets half
# of the end's share of the error.
STRETCH = 2.0 * math.log(8.0)


# Units whose events are drawn at a time: with what is kept of each segment they stay in the processor's cache.
_SLAB = 2048
# Units by which a segment is to advance at a time, on average: what is kept of it is read and written each time.
_ADVANCE = 32


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
        climbs, part = np.empty((len(candidates), 5, kernel.LANES)), np.empty((len(candidates), kernel.LANES))
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
            largest[start : start + kernel.LANES] = np.maximum(climbs[:, 1], -climbs[:, 2]).max(axis=0)[lanes]
            if start == 0:
                observed[:] = climbs[:, :3, 0].T

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


def spare(n_draws: int, level: float) -> int:
    """Number of redraws that may be as extreme as the outcomes where the p-value is at most the level."""
    return max(0, math.floor(level * n_draws * (1.0 + 1e-12)) - 1)


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
    """Total, steepest rise and steepest fall of the outcomes in some segments, the first three of (segments, 5, 1)."""
    climbs = np.zeros((ends.shape[0], 5, 1))
    columns = units.weight, units.weight * units.count * prediction, units.rank
    kernel.excursions(units.ones[:, None], 0, *columns, candidates.order, ends, ends[:, 0].copy(), climbs)
    return climbs


def scored(units: FeatureLots, candidates: SegmentCandidates, prediction: FloatArray, segments: IntArray) -> FloatArray:
    """Scores of some segments, were the units predicted otherwise."""
    ends = candidates.ends[segments]
    climbs = observed_climbs(units, candidates, prediction, ends)
    both = moments(units, prediction, candidates.order, ends)
    out = np.empty((segments.size, 1))
    kernel.scores(climbs, *both, candidates.handicap[segments], STRETCH, out)
    return np.asarray(out[:, 0], np.float64)


# Of the error, for tests of 1, 2, 4 and 8 intervals of predictions.
SHARES = 0.9, 0.05, 0.03, 0.02


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


@dataclass(frozen=True, slots=True, eq=False)
class ByGroup:
    """Sums over the groups of each segment."""

    # squares, products, sizes: (segments,), sums over the groups of r r, r s and s s: r is a group's weighted events
    # less those expected, s its weight
    squares: FloatArray
    products: FloatArray
    sizes: FloatArray
    largest: FloatArray  # (segments,): the largest s
    number: FloatArray  # (segments,): groups with rows in the segment

    def about(self, bias: FloatArray) -> FloatArray:
        """Sums of the squares of r - bias s."""
        return np.maximum(self.squares - 2.0 * bias * self.products + bias * bias * self.sizes, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Sums over the rows of each segment."""

    # count, ones: (segments,), single outcomes, and events among them
    count: FloatArray
    ones: FloatArray
    # weight, squared, outcome, prediction: (segments,), sums of weights, of their squares, of weighted outcomes and of
    # weighted predictions
    weight: FloatArray
    squared: FloatArray
    outcome: FloatArray
    prediction: FloatArray
    weighted: bool  # whether weights differ
    # square, errors: (segments,), sums of squared predictions, and of squares of outcomes less predictions or more, of
    # summed plain rows
    square: FloatArray | None = None
    errors: FloatArray | None = None
    # where rows of one group depend on one another, and only groups are drawn independently; each row is one where
    # weights may tell outcomes
    by_group: ByGroup | None = None
    informative: bool = False  # whether weights may tell outcomes: totals are then asymptotic
    grouped: bool = False  # whether rows of one group depend on one another

    @property
    def bias(self) -> FloatArray:
        """Mean of outcome less prediction."""
        return np.asarray((self.outcome - self.prediction) / self.weight)

    @property
    def marginal(self) -> FloatArray:
        """P-values of "right on average in the segment", one by one; Hoeffding's with weights or groups.

        Where weights may tell outcomes, a bound on the normal tail of the total over the root of its own squares.
        """
        if self._exact:
            return mean_chance_pvalues(self.ones, self.count, self.prediction / self.weight)
        off = self.outcome - self.prediction
        if self.informative and self.by_group is not None:
            squares = np.maximum(self.by_group.squares, 1e-290)
            return np.asarray(np.minimum(1.0, 2.0 * np.exp(-0.5 * off * off / squares)))
        return np.asarray(np.minimum(1.0, 2.0 * np.exp(-2.0 * off * off / self._draws)))

    @property
    def _exact(self) -> bool:
        """Whether a segment's events are a sum of independent ones that count alike."""
        return not self.weighted and self.by_group is None

    @property
    def _draws(self) -> FloatArray:
        """Sum of the squared weights of what is drawn independently: rows, or groups."""
        return self.squared if self.by_group is None else self.by_group.sizes

    def intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean over the segment's rows of chance less prediction, in all segments at once."""
        mean = self.prediction / self.weight
        if self._exact:
            miss = min(level / (2.0 * self.count.size), np.nextafter(0.25, 0.0))
            low, high = mean_chance_interval(self.ones, self.count, miss)
            return low - mean, high - mean
        log = math.log(2.0 * self.count.size / level)
        if self.informative and self.by_group is not None:
            reach = np.sqrt(2.0 * log * self.by_group.about(self.bias)) / self.weight
        else:
            effective = self.weight * self.weight / self._draws
            reach = np.sqrt(log / (2.0 * effective))
        return np.maximum(self.bias - reach, -mean), np.minimum(self.bias + reach, 1.0 - mean)

    def population_intervals(self, level: float, max_weight: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Ends for the population's mean of outcome less prediction, in all segments at once.

        They are of groups, of weighted rows or of summed ones.

        Half of the level is that of bets. Of the rest half is the mean outcome's (a binomial's, exactly), half the mean
        prediction's, by the empirical Bernstein bound of Maurer and Pontil (2009, theorem 4). Of groups bets have all;
        `max_weight` is the most that one can weigh.
        """
        none = np.full(self.count.size, -1.0)
        off, by_group = self.outcome - self.prediction, self.by_group
        if by_group is not None:
            assert max_weight is not None
            most = max(max_weight, float(by_group.largest.max()))
            draws = Stakes(off, self.weight, by_group.squares, by_group.products, by_group.sizes, by_group.number, most)
            return draws.ends(level / (2.0 * self.count.size), none, -none)
        assert self.square is not None
        assert self.errors is not None
        low, high = self.intervals(level / 4.0)
        mean = self.prediction / self.count
        log = math.log(16.0 * self.count.size / level)  # 2 / delta, delta a side of one segment
        rest = np.maximum(self.count - 1.0, 1.0)
        variance = np.maximum(self.square - self.count * mean * mean, 0.0) / rest
        reach = np.sqrt(2.0 * variance * log / self.count) + 7.0 * log / (3.0 * rest)
        low, high = np.maximum(low - reach, -1.0), np.minimum(high + reach, 1.0)
        draws = Stakes(off, self.count, self.errors, off, self.count, self.count, 1.0)
        return draws.ends(level / (4.0 * self.count.size), low, high)


def totals_of(rows: Rows, candidates: SegmentCandidates) -> Totals:
    """Sum up all rows by segment, in an order that does not depend on theirs."""
    alike = rows.weight is None and rows.trials is None
    order = np.argsort(rows.y_prob) if alike else np.lexsort((rows.y_true, rows.count, _weight(rows), rows.y_prob))
    count, ones, v = rows.count[order], rows.y_true[order].astype(np.float64), rows.y_prob[order]
    w = _weight(rows)[order]
    columns = [count, ones, count * v]
    if rows.weight is not None:
        columns += [w * count, w * w * count, w * ones, w * count * v]
    code = [each.code[order] for each in candidates.features]
    sums = np.empty((len(columns), len(candidates)))
    for first, n, rows_of_set, of in each_set(candidates, code, v.size):
        for k, column in enumerate(columns):
            sums[k, first : first + n] = np.bincount(of, column[rows_of_set], n)
    by_group, informative = None, rows.weight is not None and not rows.outcome_free
    if rows.group is not None or informative:
        group = np.arange(v.size) if rows.group is None else rows.group[order]
        by_group = _by_group(candidates, code, group, w * (ones - count * v), w * count)
    if rows.weight is None:
        plain = Totals(sums[0], sums[1], sums[0], sums[0], sums[1], sums[2], weighted=False, by_group=by_group)
        return replace(plain, grouped=rows.group is not None)
    weight, squared, outcome, prediction = sums[3:]
    totals = Totals(sums[0], sums[1], weight, squared, outcome, prediction, weighted=True, by_group=by_group)
    return replace(totals, informative=informative, grouped=rows.group is not None)


def _by_group(
    candidates: SegmentCandidates, codes: list[IntArray], group: IntArray, excess: FloatArray, mass: FloatArray
) -> ByGroup:
    n_groups = int(group.max()) + 1
    order = np.argsort(group, kind="stable")
    group, excess, mass, codes = group[order], excess[order], mass[order], [code[order] for code in codes]
    parts = []
    for _, n, rows_of_set, of in each_set(candidates, codes, group.size):
        off, size = (sums_by_group(of, group[rows_of_set], each[rows_of_set], (n, n_groups)) for each in (excess, mass))
        most = size.max(axis=1).toarray().ravel()
        parts.append([squared(off), squared(off, size), squared(size), most, np.diff(size.indptr)])
    return ByGroup(*(np.concatenate(each).astype(np.float64) for each in zip(*parts, strict=True)))


def _weight(rows: Rows) -> FloatArray:
    return np.broadcast_to(1.0, rows.y_prob.shape) if rows.weight is None else rows.weight


def holm(pvalues: FloatArray, share: FloatArray | None = None) -> FloatArray:
    """Adjusted for their number, for any dependence; each has its share of the level (Holm 1979)."""
    share = np.full(pvalues.size, 1.0 / pvalues.size) if share is None else share
    scaled = pvalues / share
    rising = np.argsort(scaled, kind="stable")
    left = np.cumsum(share[rising][::-1])[::-1]  # of this one and of all that have a larger p-value
    adjusted = np.empty_like(pvalues)
    adjusted[rising] = np.minimum(1.0, np.maximum.accumulate(scaled[rising] * left))
    return adjusted


_STEPS = 2048  # to 1, of the means that are looked at
_AT_ONCE = 16
# Stakes for draws that vary as much as they can, and for those that do so a half, a quarter, ... as much.
_BETS = 2.0 ** np.arange(12)


@dataclass(frozen=True, slots=True, eq=False)
class Stakes:
    """Sums over independent draws, one set of them for each mean that is bounded."""

    # total, size: (k,), sums of x and of s, |x| being at most s
    total: FloatArray
    size: FloatArray
    # squares, products, sizes: (k,), sums of x x, or more, of x s and of s s
    squares: FloatArray
    products: FloatArray
    sizes: FloatArray
    number: FloatArray  # (k,): how many draws
    largest: float  # no draw has a larger s

    def ends(self, miss: float, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean of x over that of s, each beyond it with probability `miss` at most.

        Ends `low` and `high` that were known before, which may fail besides, are narrowed.
        """
        turned = replace(self, total=-self.total, products=-self.products)
        return self._low(miss, low), -turned._low(miss, -high)

    def _low(self, miss: float, low: FloatArray) -> FloatArray:
        """Step up from `low` as long as the next mean of a grid, and with it all smaller ones, is refuted.

        A mean of at most m is refuted by a product of 1 + b z, z = (x - m s) / S >= -1 where no s is larger than S, but
        for a factor 1 + m where m is positive, and b < 1 a stake: its mean is at most 1, and it is at least the
        exponential of b sum z - c sum z z, c = -log(1 - b) - b (Fan, Grama and Liu 2015). Stakes depend on the number
        of draws alone (docs/found-segments.md).
        """
        needed = math.log(_BETS.size / miss)
        odds = np.sqrt(2.0 * needed / self.number)[:, None] * _BETS
        stake = odds / (1.0 + odds)
        price = -np.log1p(-stake) - stake
        low, left = low.copy(), np.arange(low.size)
        at = np.maximum(np.ceil(low * _STEPS), 1.0 - _STEPS)
        while left.size:
            mean = (at[left, None] + np.arange(_AT_ONCE)) / _STEPS
            total, size, squares, products, sizes = (
                each[left, None] for each in (self.total, self.size, self.squares, self.products, self.sizes)
            )
            scale = (1.0 + np.maximum(mean, 0.0)) * self.largest
            z = (total - mean * size) / scale
            zz = np.maximum(squares - 2.0 * mean * products + mean * mean * sizes, 0.0) / (scale * scale)
            won = (stake[left, None] * z[..., None] - price[left, None] * zz[..., None]).max(axis=-1)
            refuted = (won >= needed * (1.0 + 1e-9)) & (mean < 1.0)
            steps = np.where(refuted.all(axis=1), _AT_ONCE, refuted.argmin(axis=1))
            moved = steps > 0
            low[left[moved]] = mean[moved, steps[moved] - 1]
            at[left] += _AT_ONCE
            left = left[steps == _AT_ONCE]
        return low
