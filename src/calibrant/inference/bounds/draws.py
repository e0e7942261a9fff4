"""Independent draws behind a bound: rows, weighted rows, rows of trials, or groups of rows, read from columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import positive
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.premises import Premises
from calibrant.door.rows import Rows, not_taken, read_fractions, read_groups, read_trials, require_single_outcomes
from calibrant.door.sample import Sample

SEED = 20_230_618
"""Of draws that decide nothing by themselves; part of the method, no option."""
_OUTWARDS = 1.0 + 1e-12  # more than a sum of weights is rounded by


def read_draws(
    y_true: Column,
    y_prob: Column,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    max_weight: float | None = None,
    *,
    batch: bool = False,
    sampling_fractions: Any = None,
) -> tuple[Sample, Draws]:
    """Read columns, once; a `batch` as in `read_columns`.

    Rows that were sampled by outcome are draws of the file's law, whose weights are known beforehand; of groups of them
    `max_weight` is needed.

    Raises
    ------
    InputError
        As the door does; if outcomes are shares without trials; if rows can weigh differently and `max_weight` is not
        said, or is exceeded.
    """
    fractions = read_fractions(sampling_fractions, sample_weight=sample_weight, trials=trials)
    if fractions is None and sample_weight is None and trials is None and groups is None:
        if max_weight is not None:
            problem = "has no effect: there are no weights, trials or groups"
            raise InputError("max_weight", problem)
        sample = Rows.of(y_true, y_prob).sample
        return sample, Draws.of_sample(sample)
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight, batch=batch)
    if trials is None:
        require_single_outcomes(outcome)
    if fractions is not None:
        weight = fractions.weight_of(outcome)
        if groups is None:
            not_taken("sampling fractions say what a row can weigh", max_weight=max_weight)
            max_weight = fractions.max_weight
    count = None if trials is None else read_trials(trials, prediction.size, 2.0**53)
    group = None if groups is None else read_groups(groups, prediction.size)
    return draws_of(outcome, prediction, weight, count, group, max_weight)


def premises_of_draws(
    plain: Premises,
    draws: Draws,
    sample_weight: object,
    trials: object,
    groups: object,
    max_weight: float | None,
    sampling_fractions: Any = None,
) -> Premises:
    """Return premises of draws that were read from these columns, besides those of any rows."""
    fractions = read_fractions(sampling_fractions)
    return replace(
        plain,
        grouped=groups is not None,
        n_groups=None if groups is None else int(draws.n_units),
        weighted=sample_weight is not None,
        trials=trials is not None,
        max_weight=max_weight,
        sampling_fractions=None if fractions is None else (fractions.without, fractions.events),
        fractions_given=fractions is not None,
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
        raise InputError("max_weight", problem, allowed=f"{allowed}, known before the rows were drawn")
    most = positive(max_weight, "max_weight")
    w = np.ones(prediction.size) if weight is None else weight
    if trials is not None:
        w = w * trials
    order = np.lexsort((w, outcome, prediction))
    y, v, w = outcome[order], prediction[order] + 0.0, w[order]
    unit = None if group is None else _in_order(group[order], y, v, w)
    each = w if unit is None else np.bincount(unit, w)
    if each.max() > most * _OUTWARDS:
        most_of = np.argmax(each)
        row = int(order[most_of] if unit is None else order[unit == most_of].min())
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
    """Means of functions that blocks taught: the first where it was taught, all on the block after.

    Attributes
    ----------
    n_units : int
        In all blocks.
    first : tuple of float or None
        `Draws.means` of the first function on the block that taught it; None where nothing was taught.
    after : list of (int, tuple of float)
        Units of each block that is bet on, and the means there.
    """

    n_units: int
    first: Means | None
    after: list[tuple[int, Means]]


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from a population: lines of (outcome, prediction, weight), one unit's lines together.

    Attributes
    ----------
    y, v, w : ndarray of shape (n_lines,)
        Outcome or share of events, prediction, weight; lines are sorted by prediction.
    unit : ndarray of shape (n_lines,) or None
        Which unit a line belongs to; None where every line is a unit of its own.
    copies : ndarray of shape (n_units,)
        How many units there are like this one.
    most : float
        The most weight that a unit of this population can have, known beforehand.
    moved : ndarray of shape (n_lines,) or None
        How much less or more a function of the class may be at a row's own prediction, where rows were pooled into
        cells: twice the cell's width, (y - v) w(v) being 2-Lipschitz.
    """

    y: FloatArray
    v: FloatArray
    w: FloatArray
    unit: IntArray | None
    copies: FloatArray
    most: float
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
