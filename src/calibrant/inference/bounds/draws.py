"""Independent draws behind a bound: rows, weighted rows, rows of trials, groups of rows, or weighted rows in cells."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import positive
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.premises import Premises
from calibrant.door.rows import Rows, not_taken, read_fractions, read_trials, read_units, require_single_outcomes
from calibrant.door.sample import Sample
from calibrant.door.weights import SamplingFractions, perhaps_sampled
from calibrant.kernels.sums import dot

SEED = 20_230_618
"""Of draws that decide nothing by themselves; part of the method, no option."""
_OUTWARDS = 1.0 + 1e-12  # more than a sum of weights is rounded by


class Weighing(NamedTuple):
    """Weights of rows: columns, declarations, and the most that a row, or a whole group, can weigh."""

    sample_weight: Column | None = None
    trials: Column | None = None
    max_weight: float | None = None
    sampling_fractions: Any = None

    def premises(self, sample: Sample, draws: Draws) -> dict[str, Any]:
        """The premise of weights of draws that were read with it, in an audit's words."""
        weight, single = self.sample_weight, self.trials is None
        fractions = read_fractions(self.sampling_fractions)
        if fractions is None and weight is not None and single:
            fractions = SamplingFractions.of_weights(draws.y, draws.w)
        return {
            "weighted": weight is not None and sample.weights_differ,
            "equal_weights": weight is not None and single and sample.equal_weights,
            "sampling_fractions": None if fractions is None else (fractions.without, fractions.events),
            "fractions_given": self.sampling_fractions is not None,
        }


_ALIKE = Weighing()  # rows, all of which weigh the same


def read_draws(
    y_true: Column, y_prob: Column, weighing: Weighing = _ALIKE, groups: Any = None, *, batch: bool = False
) -> tuple[Sample, Draws]:
    """Read columns, once; a `batch` as in `read_columns`.

    Rows that were sampled by outcome are draws of the file's law, whose weights are known beforehand; of groups of them
    the most that one can weigh is needed. Raises InputError as the door does; if outcomes are shares without trials; if
    rows can weigh differently and `max_weight` is not said, or is exceeded.
    """
    trials, max_weight = weighing.trials, weighing.max_weight
    fractions = read_fractions(weighing.sampling_fractions, sample_weight=weighing.sample_weight, trials=trials)
    if fractions is None and weighing.sample_weight is None and trials is None and groups is None:
        if max_weight is not None:
            problem = "has no effect: there are no weights, trials or groups"
            raise InputError("max_weight", problem)
        sample = Rows.of(y_true, y_prob).sample
        return sample, Draws.of_sample(sample)
    outcome, prediction, weight = read_columns(y_true, y_prob, weighing.sample_weight, batch=batch)
    group = None if groups is None else read_units(groups, prediction.size, trials, max_weight)
    if groups is not None and group is None:
        return read_draws(y_true, y_prob, weighing, batch=batch)
    if trials is None:
        require_single_outcomes(outcome)
    if fractions is not None:
        weight = fractions.weight_of(outcome)
        if groups is None:
            not_taken("sampling fractions say what a row can weigh", max_weight=max_weight)
            max_weight = fractions.max_weight
    count = None if trials is None else read_trials(trials, prediction.size, 2.0**53)
    return draws_of(outcome, prediction, weight, count, group, max_weight)


def premises_of_draws(plain: Premises, sample: Sample, draws: Draws, weighing: Weighing) -> Premises:
    """Return premises of draws that were read with these weights, besides those of any rows."""
    mean = dot(sample.mass(), sample.prediction)
    return replace(
        plain,
        **weighing.premises(sample, draws),
        grouped=draws.unit is not None,
        n_groups=draws.n_groups,
        trials=weighing.trials is not None,
        max_weight=weighing.max_weight,
        perhaps_sampled=None if weighing.trials is not None else perhaps_sampled(sample, mean),
    )


def _in_place(fractions: SamplingFractions) -> str:
    """Say what to give where weights have one value for each outcome."""
    way = f"--sampling-fractions {fractions.option} (in Python sampling_fractions) in place of the weights"
    return (
        f"Weights have one value for each outcome: if rows were sampled by outcome, give {way}; no max_weight is needed"
    )


def draws_of(
    outcome: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None,
    trials: FloatArray | None,
    group: IntArray | None,
    max_weight: float | None,
) -> tuple[Sample, Draws]:
    """Take rows with weights, trials or groups that were validated already, with outcomes as shares of events."""
    if max_weight is None:
        problem = "is needed with weights, trials or groups: the largest weight in the rows is no bound"
        allowed = "the most that one row can weigh (a row of trials: their number; with groups: a whole group)"
        seen = None if weight is None or trials is not None else SamplingFractions.of_weights(outcome, weight)
        way = "" if seen is None or group is not None else f". {_in_place(seen)}"
        raise InputError("max_weight", problem, allowed=f"{allowed}, known before the rows were drawn{way}")
    most = positive(max_weight, "max_weight")
    w = np.ones(prediction.size) if weight is None else weight
    if trials is not None:
        w = w * trials
    order = np.lexsort((w, outcome, prediction))
    y, v, w = outcome[order], prediction[order] + 0.0, w[order]
    unit = None if group is None else _in_order(group[order], y, v, w)
    each = w if unit is None else np.bincount(unit, w)
    if each.max() > most * _OUTWARDS:
        row = int(order[(each if unit is None else each[unit]) == each.max()].min())  # the first of those alike
        what = f"{'' if unit is None else 'the group of '}row {row} (from 0)"
        raise InputError("max_weight", f"is {max_weight:g}, but {what} weighs {each.max():g}", row=row)
    return Sample.of_arrays(y, v, w), Draws(y, v, w, unit, np.ones(each.size), max(most, float(each.max())))


def _in_order(unit: IntArray, y: FloatArray, v: FloatArray, w: FloatArray) -> IntArray:
    """Groups numbered by their contents, not their names: lines with equal contents have one number."""
    new = np.ones(v.size, dtype=np.int64)
    new[1:] = (v[1:] != v[:-1]) | (y[1:] != y[:-1]) | (w[1:] != w[:-1])
    content = np.cumsum(new) - 1
    key = np.bincount(unit, np.random.default_rng(SEED).random(int(content[-1]) + 1)[content])
    rank = np.empty(key.size, np.int64)
    rank[np.argsort(key, kind="stable")] = np.arange(key.size)
    return rank[unit]


Function = Callable[[FloatArray, FloatArray], FloatArray]
"""Takes outcomes and predictions; in absolute value at most their distance |y - v|, fractional outcomes by parts."""

Learn = Callable[[Sample], Function]
Means = tuple[float, float, float, float, float]

BLOCKS = np.array([0.125, 0.125, 0.25, 0.5])  # each but the first is bet on by what those before it taught
_CELLS = 2048  # that witnesses are learned on


@dataclass(frozen=True, slots=True)
class Lessons:
    """Means of functions that blocks taught: the first where it was taught, all on the block after."""

    n_units: int  # in all blocks
    # `Draws.means` of the first function on the block that taught it; None where nothing was taught
    first: Means | None
    after: list[tuple[int, Means]]  # units of each block that is bet on, and the means there


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from a population: lines of (outcome, prediction, weight), one unit's lines together."""

    # y, v, w: (n_lines,), outcome or share of events, prediction, weight; lines are sorted by prediction
    y: FloatArray
    v: FloatArray
    w: FloatArray
    unit: IntArray | None  # (n_lines,): which unit a line belongs to; None where every line is a unit of its own
    copies: FloatArray  # (n_units,): how many units there are like this one
    most: float  # the most weight that a unit of this population can have, known beforehand
    # (n_lines,): how much less or more a function of the class may be at a row's own prediction, where rows were pooled
    # into cells: twice the cell's width, (y - v) w(v) being 2-Lipschitz
    moved: FloatArray | None = None

    @classmethod
    def of_sample(cls, sample: Sample) -> Draws:
        """Unweighted rows with outcomes 0 or 1."""
        coarse = bool(sample.cell_width.any())
        if sample.n_rows == sample.n_distinct and not coarse:  # a line is a row
            one = np.ones(sample.n_distinct)
            return cls(sample.ones, sample.prediction, np.broadcast_to(1.0, one.shape), None, one, 1.0)
        zeros = sample.count - sample.ones
        copies = np.column_stack([zeros, sample.ones]).ravel()
        mask = copies > 0.0
        v, y = np.repeat(sample.prediction, 2)[mask], np.tile([0.0, 1.0], sample.n_distinct)[mask]
        moved = np.repeat(2.0 * sample.cell_width, 2)[mask] if coarse else None
        return cls(y, v, np.broadcast_to(1.0, v.shape), None, copies[mask], 1.0, moved)

    @property
    def n_units(self) -> int:
        """Number of draws."""
        return int(self.copies.sum())

    @property
    def n_groups(self) -> int | None:
        """Number of groups, where these are what is drawn."""
        return None if self.unit is None else self.n_units

    def sums(self, lines: FloatArray) -> FloatArray:
        """Sum of the lines of each unit."""
        return lines if self.unit is None else np.bincount(self.unit, lines, self.copies.size).astype(np.float64)

    def mean(self, units: FloatArray) -> float:
        """Mean over the units, as often as there are such."""
        if self._alone:
            return float(units.sum() / units.size)
        return float((self.copies * units).sum() / self.copies.sum())

    @cached_property
    def _alone(self) -> bool:
        """Whether every unit is one of a kind."""
        return bool((self.copies == 1.0).all())

    @cached_property
    def spread(self) -> Means:
        """Means over units of S, S^2, E^2 from above and from below, and |S - mean S| E (`Spread`)."""
        gap = self.y + self.v - 2.0 * self.y * self.v
        least = gap
        if self.moved is not None:
            gap, least = np.minimum(gap + self.moved, 1.0), np.maximum(gap - self.moved, 0.0)
        weight = self.sums(self.w) / self.most
        error, lowest = (self.sums(self.w * each) / self.most for each in (gap, least))
        mean = self.mean(weight)
        return (
            mean,
            self.mean(weight * weight),
            self.mean(error * error),
            self.mean(lowest * lowest),
            self.mean(np.abs(weight - mean) * error),
        )

    def means(self, function: Function) -> Means:
        """Means over units of G, S, G^2, G S and S^2, the first from below and the third from above."""
        weight = self.sums(self.w) / self.most
        value = self.sums(self.w * function(self.y, self.v)) / self.most
        g, gg = self.mean(value), self.mean(value * value)
        if self.moved is not None:
            moved = self.sums(self.w * self.moved) / self.most
            g, gg = g - self.mean(moved), gg + self.mean((2.0 * (np.abs(value) + weight) + moved) * moved)
        return g, self.mean(weight), gg, self.mean(value * weight), self.mean(weight * weight)

    @cached_property
    def blocks(self) -> list[Draws]:
        """The units in four shares; the first teaches only."""
        return self.split(BLOCKS)

    @cached_property
    def _lessons(self) -> dict[Learn, Lessons]:
        return {}

    def lessons(self, learn: Learn) -> Lessons:
        """Means of the functions that blocks teach, on the blocks after them; learned once for all bets."""
        if learn not in self._lessons:
            past, first, after = None, None, []
            for before, block in pairwise(self.blocks):
                past = before.pooled if past is None else past.merge(before.pooled)
                if not past.weight.any():
                    continue  # nothing was taught
                function = learn(past)
                first = before.means(function) if first is None else first
                after.append((block.n_units, block.means(function)))
            self._lessons[learn] = Lessons(sum(block.n_units for block in self.blocks), first, after)
        return self._lessons[learn]

    def split(self, shares: FloatArray, batch: int | None = None) -> list[Draws]:
        """A split by a generator whose seed these units give, and the number of the batch if they are one."""
        rng = np.random.default_rng(self._seed(batch))
        single = self.copies == 1.0
        draw, block = rng.random(self.copies.size), np.zeros(self.copies.size, np.int8)
        for edge in shares.cumsum()[:-1]:  # a search takes several times as long
            block += draw >= edge
        many = np.flatnonzero(~single)
        copies = rng.multinomial(self.copies[many].astype(np.int64), shares).T.astype(np.float64)
        parts = []
        for k in range(shares.size):
            mask = single & (block == k)
            mask[many] = copies[k] > 0.0
            number = self.copies.copy()
            number[many] = copies[k]
            parts.append(self._with(mask, number))
        return [each for each in parts if each.copies.size]

    def _seed(self, batch: int | None) -> int:
        """A hash of the outcomes in order of predictions, of copies and of groups (docs/bounds.md, "The split").

        Not of predictions nor weights: roads round the means of cells differently, and weights may be scaled. Groups
        come one after another, since equal lines of several have no order.
        """
        y, digest = self.y + 0.0, hashlib.sha256(f"{batch} {self.y.size} {self.unit is None} {self._alone}".encode())
        if self.unit is not None:
            y = y[np.argsort(self.unit, kind="stable")]
            digest.update(np.bincount(self.unit).astype("<i8").tobytes())
        digest.update(y.astype("<f4").tobytes())
        if not self._alone:
            digest.update(self.copies.astype("<i8").tobytes())
        return int.from_bytes(digest.digest(), "big")

    def _with(self, mask: npt.NDArray[np.bool_], copies: FloatArray) -> Draws:
        line = np.flatnonzero(mask if self.unit is None else mask[self.unit])
        unit = None if self.unit is None else (np.cumsum(mask) - 1)[self.unit[line]]
        moved = None if self.moved is None else self.moved[line]
        w = self.w[line] if self.w.strides != (0,) else np.broadcast_to(self.w[:1], line.shape)
        return Draws(self.y[line], self.v[line], w, unit, copies[mask], self.most, moved)

    @cached_property
    def pooled(self) -> Sample:
        """The lines as a sample, in cells of equal numbers of lines where they are many: to learn from."""
        copies = self.copies if self.unit is None else self.copies[self.unit]
        weight = self.w * copies
        if self.v.size <= 2 * _CELLS or not weight.any():
            return Sample.of_arrays(self.y, self.v, weight)
        first = np.unique(np.linspace(0, self.v.size, _CELLS, endpoint=False).astype(np.int64))
        total = np.add.reduceat(weight, first)
        mask = total > 0.0
        total = np.where(mask, total, 1.0)
        v, y = (np.add.reduceat(weight * column, first) / total for column in (self.v, self.y))
        return Sample.of_arrays(np.clip(y, 0.0, 1.0)[mask], np.clip(v, 0.0, 1.0)[mask], total[mask])


_UNIT = 2.0**-53
_EQUAL, _MOST_EQUAL = 1e-12, 1e-10
"""Share by which the squares of weights that are taken to be equal may exceed the least, of few rows and of any."""


@dataclass(frozen=True, slots=True, eq=False)
class CellDraws:
    """Cells of single rows: for each outcome their number and the sum of weights; and the cell's sum of squares.

    Weights are in units of the most that a row can weigh. The squares of one outcome are known between two ends: no
    less than equal weights would have, no more than the heaviest possible ones, and the rest of the cell's.
    """

    # v, moved: (m,), mean prediction, and twice the width of the cell, as in `Draws`
    v: FloatArray
    moved: FloatArray
    # count, weight, below, above: (2, m), rows with outcomes 0 and 1, their weight, and between what their squared
    # weights lie
    count: FloatArray
    weight: FloatArray
    below: FloatArray
    above: FloatArray
    squares: FloatArray  # (m,): squared weights of all rows of a cell, from above
    most: float  # the most weight that a row of this population can have, known beforehand
    slack: float  # what the rounding of the sums changes shares of weight by, at most

    n_groups: ClassVar[None] = None  # of sums none are known

    @classmethod
    def of_sample(cls, sample: Sample, max_weight: float, slack: float) -> CellDraws:
        """Cells of outcomes 0 or 1.

        Raises InputError if `max_weight` is no weight, or the sums show that a row weighs more.
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
