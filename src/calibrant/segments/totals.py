"""Totals of every segment over all of its rows, those predicted with certainty among them, and their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.inference.testing.poisson_binomial import mean_chance_interval, mean_chance_pvalues
from calibrant.segments.candidates import SegmentCandidates, each_set, squared, sums_by_group


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
_BETS = 2.0 ** np.arange(12)
"""Stakes for draws that vary as much as they can, and for those that do so a half, a quarter, ... as much."""


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
