"""Weighted rows that were pooled into cells: what a cell's sums say of the draws behind a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.door.arguments import positive
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws, Function

_UNIT = 2.0**-53
_EQUAL, _MOST_EQUAL = 1e-12, 1e-10
"""Share by which the squares of weights that are taken to be equal may exceed the least, of few rows and of any."""


@dataclass(frozen=True, slots=True, eq=False)
class CellDraws:
    """Cells of single rows: for each outcome their number and the sum of weights; and the cell's sum of squares.

    Weights are in units of the most that a row can weigh. The squares of one outcome are known between two ends: no
    less than equal weights would have, no more than the heaviest possible ones, and the rest of the cell's.

    Attributes
    ----------
    v, moved : ndarray of shape (m,)
        Mean prediction, and twice the width of the cell, as in `Draws`.
    count, weight, below, above : ndarray of shape (2, m)
        Rows with outcomes 0 and 1, their weight, and between what their squared weights lie.
    squares : ndarray of shape (m,)
        Squared weights of all rows of a cell, from above.
    most : float
        The most weight that a row of this population can have, known beforehand.
    slack : float
        What the rounding of the sums changes shares of weight by, at most.
    """

    v: FloatArray
    moved: FloatArray
    count: FloatArray
    weight: FloatArray
    below: FloatArray
    above: FloatArray
    squares: FloatArray
    most: float
    slack: float

    @classmethod
    def of_sample(cls, sample: Sample, max_weight: float, slack: float) -> CellDraws:
        """Cells of outcomes 0 or 1.

        Raises
        ------
        InputError
            If `max_weight` is no weight, or the sums show that a row weighs more.
        """
        most = positive(max_weight, "max_weight")
        share = _rounding(sample.count)
        squares = sample.squared_weight * (1.0 + share)
        _refuse_heavier(sample, most, share)
        count = np.stack([sample.count - sample.ones, sample.ones])
        weight = np.maximum(np.stack([sample.weight - sample.weighted_outcome, sample.weighted_outcome]), 0.0) / most
        weight = np.where(count > 0.0, weight, 0.0)
        squares = squares / most / most
        equal = weight * weight / np.maximum(count, 1.0)
        heaviest = np.where(count > 1.0, weight * np.minimum(weight, 1.0), equal)
        above = np.minimum(heaviest * (1.0 + share), np.maximum(squares - equal[::-1], equal * (1.0 + share)))
        below = np.maximum(equal, squares * (1.0 - 2.0 * share) - above[::-1])
        below = np.minimum(below * (1.0 - share), above)
        return cls(sample.prediction, 2.0 * sample.cell_width, count, weight, below, above, squares, most, slack)

    @property
    def n_units(self) -> int:
        """Number of rows."""
        return int(self.count.sum())

    def _mean(self, lines: FloatArray) -> float:
        return float(lines.sum()) / float(self.count.sum())

    def as_units(self) -> Draws | None:
        """The rows one by one, where each cell's rows of one outcome weigh the same; else None."""
        equal = (self.weight * self.weight / np.maximum(self.count, 1.0)).sum(axis=0)
        alone = (self.count <= 1.0).all(axis=0)
        same = np.minimum(_EQUAL + 4.0 * _rounding(self.count.sum(axis=0)), _MOST_EQUAL)
        if not (alone | (self.squares <= equal * (1.0 + same))).all():
            return None
        return self._lines()

    def _lines(self) -> Draws:
        """Rows of equal weight in place of those of each cell and outcome."""
        mask = (self.count > 0.0).T.ravel()
        count, weight = self.count.T.ravel()[mask], self.weight.T.ravel()[mask]
        v, moved = np.repeat(self.v, 2)[mask], np.repeat(self.moved, 2)[mask]
        y = np.tile([0.0, 1.0], self.v.size)[mask]
        return Draws(y, v, weight * self.most / count, None, count, self.most, moved if moved.any() else None)

    @property
    def pooled(self) -> Sample:
        """As `Draws.pooled`: to learn from."""
        return self._lines().pooled

    @property
    def spread(self) -> tuple[float, float, float, float, float]:
        """Means over rows of S, S^2, E^2 from above and from below, and |S - mean S| E from above (`Spread`)."""
        gap = np.stack([self.v, 1.0 - self.v])
        most, least = np.minimum(gap + self.moved, 1.0), np.maximum(gap - self.moved, 0.0)
        mean = self._mean(self.weight)
        # |w - c| w of some rows adds up to no more than the root of their squares times those of w - c.
        off = np.maximum(self.above - 2.0 * mean * self.weight + mean * mean * self.count, 0.0)
        uneven = np.minimum(np.sqrt(self.above * off), max(mean, 1.0 - mean) * self.weight)
        return (
            mean,
            self._mean(self.squares),
            self._mean(self._squared_above(most)),
            self._mean(self._squared_below(least)),
            self._mean(uneven * most),
        )

    def _squared_above(self, gap: FloatArray) -> FloatArray:
        """Most that squared weights times squared gaps add up to: all that may be has the larger gap."""
        near, far = _ordered(gap, gap)
        small, large = _ordered(gap, self.above)
        return np.asarray(large * far * far + np.minimum(small, np.maximum(self.squares - large, 0.0)) * near * near)

    def _squared_below(self, gap: FloatArray) -> FloatArray:
        """Least that they add up to: as little as may be has the larger gap."""
        near, far = _ordered(gap, gap)
        most_near, (least_near, least_far) = _ordered(gap, self.above)[0], _ordered(gap, self.below)
        rest = np.maximum(least_near, self.squares * (1.0 - 3.0 * _rounding(self.count.sum(axis=0))) - least_far)
        return np.asarray(least_far * far * far + np.minimum(most_near, rest) * near * near)

    def means(self, function: Function) -> tuple[float, float, float, float, float]:
        """Means over rows of G, S, G^2, G S and S^2 (`Draws.means`).

        The first is from below; the last three are such that G^2 - 2 m G S + m^2 S^2 is from above for every m >= 0.
        """
        value = np.stack([function(np.full(self.v.size, y), self.v) for y in (0.0, 1.0)])
        weight = self._mean(self.weight)
        moved = (2.0 * (np.abs(value) + 1.0) + self.moved) * self.moved
        return (
            self._mean(self.weight * (value - self.moved)) - 2.0 * self.slack * weight,
            weight,
            self._mean(self.above * (value * value + moved)),
            self._mean(self.above * value),
            self._mean(self.above),
        )


AnyDraws = Draws | CellDraws
"""What is drawn independently: rows or groups one by one, or rows in cells with known sums."""


def _rounding(count: FloatArray) -> FloatArray:
    """Share of a cell's sum of squares that rounding may take or add, in any order."""
    return np.asarray(4.0 * (count + 8.0) * _UNIT)


def _ordered(gap: FloatArray, each: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Order pairs: that of the outcome with the smaller gap, and that of the other."""
    first = gap[0] <= gap[1]
    return np.where(first, each[0], each[1]), np.where(first, each[1], each[0])


def _refuse_heavier(sample: Sample, most: float, share: FloatArray) -> None:
    """Raise where a cell's sums show a row of more than the most: some row weighs at least either quotient."""
    heaviest = np.zeros(sample.n_distinct)
    for part, of in ((sample.weight, sample.count), (sample.squared_weight, sample.weight)):
        np.maximum(heaviest, np.divide(part, of, out=np.zeros(of.size), where=of > 0.0), out=heaviest)
    if (heaviest > most * (1.0 + 2.0 * share + _EQUAL)).any():
        at = int(np.argmax(heaviest))
        near = f"{heaviest[at]:g} or more, at predictions near {sample.prediction[at]:.4g}"
        raise InputError("max_weight", f"is {most:g}, but the sketch holds a row that weighs {near}")
