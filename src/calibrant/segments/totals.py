"""What every segment holds in all of its rows, those predicted with certainty among them, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

from calibrant.door.columns import FloatArray
from calibrant.door.rows import Rows
from calibrant.inference.poisson_binomial import mean_chance_interval, mean_chance_pvalues
from calibrant.segments.formed import Formed, cell_of


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Sums over the rows of each segment.

    Attributes
    ----------
    count, ones : ndarray of shape (segments,)
        Single outcomes, and events among them.
    weight, squared, outcome, prediction : ndarray of shape (segments,)
        Sums of weights, of their squares, of weighted outcomes and of weighted predictions.
    weighted : bool
        Whether weights differ.
    square : ndarray of shape (segments,) or None
        Sum of squared predictions of rows without weights, where it was summed.
    """

    count: FloatArray
    ones: FloatArray
    weight: FloatArray
    squared: FloatArray
    outcome: FloatArray
    prediction: FloatArray
    weighted: bool
    square: FloatArray | None = None

    @property
    def bias(self) -> FloatArray:
        """Mean of outcome less prediction."""
        return np.asarray((self.outcome - self.prediction) / self.weight)

    @property
    def marginal(self) -> FloatArray:
        """P-values of "right on average in the segment", one by one; Hoeffding's inequality where weights differ."""
        if not self.weighted:
            return mean_chance_pvalues(self.ones, self.count, self.prediction / self.weight)
        off = self.outcome - self.prediction
        return np.asarray(np.minimum(1.0, 2.0 * np.exp(-2.0 * off * off / self.squared)))

    def intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean over the segment's rows of chance less prediction, in all segments at once."""
        mean = self.prediction / self.weight
        if not self.weighted:
            miss = min(level / (2.0 * self.count.size), np.nextafter(0.25, 0.0))
            low, high = mean_chance_interval(self.ones, self.count, miss)
            return low - mean, high - mean
        effective = self.weight * self.weight / self.squared
        reach = np.sqrt(math.log(2.0 * self.count.size / level) / (2.0 * effective))
        return np.maximum(self.bias - reach, -mean), np.minimum(self.bias + reach, 1.0 - mean)

    def population_intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the population's mean of outcome less prediction, in all segments at once, of unweighted rows.

        Half of the level is the mean outcome's (a binomial's, exactly), half the mean prediction's: by the empirical
        Bernstein bound of Maurer and Pontil (2009, theorem 4), or Hoeffding's of 1963 (theorem 1) without squares.
        """
        low, high = self.intervals(level / 2.0)
        mean = self.prediction / self.count
        log = math.log(8.0 * self.count.size / level)  # 2 / delta, delta a side of one segment
        if self.square is None:
            below, above = _entropy_ends(mean, (log - math.log(2.0)) / self.count)
            return low + mean - above, high + mean - below
        rest = np.maximum(self.count - 1.0, 1.0)
        variance = np.maximum(self.square - self.count * mean * mean, 0.0) / rest
        reach = np.sqrt(2.0 * variance * log / self.count) + 7.0 * log / (3.0 * rest)
        return np.maximum(low - reach, -1.0), np.minimum(high + reach, 1.0)


def _entropy_ends(mean: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of the chances whose relative entropy to the mean is at most that, found from outside."""

    def entropy(chance: FloatArray) -> FloatArray:
        return np.asarray(rel_entr(mean, chance) + rel_entr(1.0 - mean, 1.0 - chance))

    ends = []
    for end in (np.zeros_like(mean), np.ones_like(mean)):
        outside, inside = end, mean
        for _ in range(60):
            middle = 0.5 * (outside + inside)
            out = entropy(middle) > most
            outside, inside = np.where(out, middle, outside), np.where(out, inside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def totals_of(rows: Rows, formed: Formed) -> Totals:
    """Sum up all rows by segment, in an order that does not depend on theirs."""
    plain = rows.weight is None and rows.trials is None
    order = np.argsort(rows.y_prob) if plain else np.lexsort((rows.y_true, rows.count, _weight(rows), rows.y_prob))
    count, ones, v = rows.count[order], rows.y_true[order].astype(np.float64), rows.y_prob[order]
    w = _weight(rows)[order]
    columns = [count, ones, count * v]
    if rows.weight is None:
        columns.append(count * v * v)
    else:
        columns += [w * count, w * w * count, w * ones, w * count * v]
    code = [each.code[order] for each in formed.features]
    found = np.empty((len(columns), len(formed)))
    at = 0
    while at < len(formed):
        members = formed.chosen[at]
        end = at
        while end < len(formed) and formed.chosen[end] == members:
            end += 1
        shape = tuple(len(formed.features[i].labels) for i in members)
        cell = cell_of([code[i] for i in members], shape, v.size)
        values = np.array(formed.values[at:end], np.int64).reshape(end - at, len(members))
        wanted = np.ravel_multi_index(tuple(values.T), shape) if members else np.zeros(1, np.int64)
        for k, column in enumerate(columns):
            found[k, at:end] = np.bincount(cell, column, math.prod(shape))[wanted]
        at = end
    if rows.weight is None:
        return Totals(found[0], found[1], found[0], found[0], found[1], found[2], weighted=False, square=found[3])
    weight, squared, outcome, prediction = found[3:]
    return Totals(found[0], found[1], weight, squared, outcome, prediction, weighted=True)


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
