"""Weights that may tell outcomes: both are drawn again together, as calibrated predictions would have them.

With m(y, v) the mean weight of rows with outcome y predicted v, E[w (y - v) | v] = 0 holds exactly if the odds in the
file are v / (1 - v) * m(0, v) / m(1, v). So outcomes are drawn at those odds, and each gets its mean weight times the
ratio of weight to mean weight of one of its nearest neighbours with that outcome (docs/weights.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.door.weights import check_effective
from calibrant.kernels.calibration import draw_jointly
from calibrant.kernels.sums import dot

NEIGHBOURS = 10
"""On each side, among the rows of the same outcome."""
_STEPS, _FURTHEST, _CLOSE = 100, 2.0, 1e-10
_AT_ONCE = 2**20  # weights drawn
_MOST_LANES = 64
_TIES = 20_230_618  # shuffles rows of one prediction, so that their order says nothing of their weights


@dataclass(frozen=True, eq=False)
class JointRows:
    """Weighted single rows in an order of their own, and how their weights and outcomes are drawn again together."""

    # (n,): which of the rows that were given each is; those of no weight, and predicted with certainty, are left out
    order: IntArray
    # prediction, outcome, weight: (n,), in increasing order of predictions
    prediction: FloatArray
    outcome: IntArray
    weight: FloatArray
    mean: FloatArray  # (2, n): mean weight at each prediction, of outcomes 0 and 1
    chance: FloatArray  # (n,): of an event in the file, were the predictions calibrated

    @classmethod
    def of(cls, rows: Rows, prediction: FloatArray | None = None) -> JointRows:
        """Take rows whose weights may tell outcomes, calibrated at these predictions or at their own.

        Raises InputError if too few rows of an outcome count, also among those whose outcome is not certain.
        """
        assert rows.weight is not None
        rows.tested  # noqa: B018  # refuses
        v = rows.y_prob if prediction is None else prediction
        used = np.flatnonzero(rows.mask & (v > 0.0) & (v < 1.0))
        if used.size and rows.fractions is None:
            check_effective(rows.y_true[used], rows.weight[used], among=" predicted above 0 and below 1")
        used = used[np.lexsort((rows.weight[used], rows.y_true[used], rows.y_prob[used], v[used]))]
        shuffled = np.random.default_rng(_TIES).random(used.size)
        used = used[np.lexsort((shuffled, v[used]))]
        v, y, w = v[used], rows.y_true[used], rows.weight[used]
        if rows.fractions is None:
            mean = np.exp(_log_mean(v, y, w))
        else:
            least = 1.0 / rows.fractions.max_weight  # weights have 1 as their largest
            mean = np.outer(np.array(rows.fractions.weights) * least, np.ones(v.size))
        return cls(used, v, y, w, mean, _chance(v, mean))

    def at(self, prediction: FloatArray) -> JointRows:
        """The same rows and mean weights, were they predicted otherwise; in the order of their own predictions."""
        return replace(self, prediction=prediction, chance=_chance(prediction, self.mean))

    @cached_property
    def neighbours(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Ratios of weight to mean weight, events last; where each row's neighbours begin there; and how many."""
        ratio = self.weight / self.mean[self.outcome, np.arange(self.outcome.size)]
        events = self.outcome == 1
        before = np.stack([np.cumsum(~events) - ~events, np.cumsum(events) - events])
        # An outcome that no row has is drawn with its mean weight.
        ratios = [ratio[each] if each.any() else np.ones(1) for each in (~events, events)]
        size = np.array([each.size for each in ratios])
        width = np.minimum(2 * NEIGHBOURS, size)
        start = np.clip(before - NEIGHBOURS, 0, (size - width)[:, None])
        start[1] += size[0]
        return np.concatenate(ratios), start, width

    @cached_property
    def excess(self) -> FloatArray:
        """Weighted outcomes less those expected, as observed."""
        return np.asarray(self.weight * (self.outcome - self.prediction))

    @cached_property
    def total(self) -> FloatArray:
        """What the excess of a row is of the excess of its outcome over the chance, at mean weights."""
        return np.asarray(self.mean[1] * (1.0 - self.prediction) + self.mean[0] * self.prediction)

    @cached_property
    def spread(self) -> FloatArray:
        """Weight with which a row's outcome, drawn at its chance, has the variance of the excess."""
        ratio = self.weight / self.mean[self.outcome, np.arange(self.outcome.size)]
        events = self.outcome == 1
        squares = [float(np.mean(each * each)) if each.size else 1.0 for each in (ratio[~events], ratio[events])]
        return np.asarray(self.total * np.sqrt((1.0 - self.chance) * squares[1] + self.chance * squares[0]))

    def weights(self, seed: np.uint64, first: int, lanes: int) -> FloatArray:
        """Weights of resamples from `first` on, (n, lanes), negative where the outcome is 0; 0 is observed."""
        weight = self._draw(np.stack([-self.mean[0], self.mean[1]]), seed, first, lanes)
        if first == 0:
            weight[:, 0] = np.where(self.outcome == 1, self.weight, -self.weight)
        return weight

    def excesses(self, seed: np.uint64, first: int, lanes: int) -> FloatArray:
        """Redrawn excess, (n, lanes), scaled so that the sum of its squares is that of the rows."""
        v = self.prediction
        excess = self._draw(np.stack([-v * self.mean[0], (1.0 - v) * self.mean[1]]), seed, first, lanes)
        if first == 0:
            excess[:, 0] = self.excess
        squares = np.einsum("ij,ij->j", excess, excess)
        excess *= math.sqrt(dot(self.excess, self.excess)) / np.sqrt(np.where(squares > 0.0, squares, 1.0))
        return excess

    def _draw(self, value: FloatArray, seed: np.uint64, first: int, lanes: int) -> FloatArray:
        """Values at each row of outcomes 0 and 1, (2, n), times redrawn ratios, (n, lanes)."""
        out = np.empty((self.weight.size, lanes))
        draw_jointly(self.chance, value, *self.neighbours, seed, first, out)
        return out

    def weights_of(self, outcome: IntArray, rng: np.random.Generator) -> FloatArray:
        """Weights drawn for outcomes of these rows that were drawn otherwise."""
        ratio, start, width = self.neighbours
        row = np.arange(outcome.size)
        place = start[outcome, row] + np.floor(rng.random(outcome.size) * width[outcome]).astype(np.int64)
        return np.asarray(self.mean[outcome, row] * ratio[place])

    @property
    def expected_weight(self) -> FloatArray:
        """Mean weight of each row, were the predictions calibrated."""
        return np.asarray(self.chance * self.mean[1] + (1.0 - self.chance) * self.mean[0])

    @property
    def lanes(self) -> int:
        """Resamples at a time, so that they fit into memory."""
        return max(1, min(_MOST_LANES, _AT_ONCE // max(1, self.weight.size)))

    def again(self) -> Callable[[np.random.Generator], FloatArray]:
        """Return a function that takes a source of randomness, and gives another excess."""
        self.neighbours  # noqa: B018  # before threads ask for it
        return lambda rng: self.excesses(rng.integers(2**64, dtype=np.uint64), 1, 1)[:, 0]


def _chance(v: FloatArray, mean: FloatArray) -> FloatArray:
    """Chance at the odds v m(0) : (1 - v) m(1)."""
    of, others = v * mean[0], (1.0 - v) * mean[1]
    return np.asarray(of / (of + others))


def mean_weight(v: FloatArray, weight: FloatArray) -> FloatArray:
    """Mean weight at each prediction, of both outcomes together: a line in the log-odds."""
    if (weight == weight[:1]).all():
        return weight
    return np.asarray(np.exp(_log_mean(v, np.zeros(v.size, np.int64), weight)[0]))


def _log_mean(v: FloatArray, outcome: IntArray, weight: FloatArray) -> FloatArray:
    """Logarithm of the mean weight of either outcome at each prediction, (2, n): a line in the log-odds for each.

    Fitted as a gamma variable with a logarithmic link, whose equations make the sum of w / m - 1 zero along the line.
    """
    odds = np.log(v) - np.log1p(-v)
    out = np.empty((2, v.size))
    for k in (0, 1):
        mask = outcome == k
        x, w = odds[mask], weight[mask]
        if not x.size:
            out[k] = 0.0
            continue
        centre, spread = float(x.mean()), float(x.std())
        scale = 1.0 / spread if spread > 1e-9 * (1.0 + abs(centre)) else 0.0
        z = (x - centre) * scale
        level, slope = math.log(float(w.mean())), 0.0
        for _ in range(_STEPS):  # Fisher's scoring: the information of (1, z) is the identity, times the number of rows
            ratio = w * np.exp(-(level + slope * z))
            up, along = float(ratio.mean()) - 1.0, float((ratio * z).mean() - z.mean())
            up, along = (min(max(each, -_FURTHEST), _FURTHEST) for each in (up, along))
            level, slope = level + up, slope + along
            if max(abs(up), abs(along)) < _CLOSE:
                break
        # Beyond the rows of this outcome the line is flat.
        out[k] = level + slope * np.clip((odds - centre) * scale, float(z.min()), float(z.max()))
    return out
