"""Predictors of the same items whose outcomes differ or depend on one another: answers to the same questions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError, Ways
from calibrant.door.rows import Rows, read_groups
from calibrant.door.special import ndtr, ndtri
from calibrant.kernels.isotonic import isotonic
from calibrant.kernels.sums import dot
from calibrant.resampling.redraw import resampled

IN_ORDER = "in order"
"""Instead of ids: the items of one predictor follow one another as those of the other do."""
_WAYS = Ways(
    f"give items and items_b, ids of the items; or items={IN_ORDER!r}",
    f"say --items COLUMN, or --items {IN_ORDER!r}",
)

_UNSEEN = 0.6
"""Of the error that a test misses in half the samples, what counts: measured, not derived (docs/tests.md)."""

Evaluate = Callable[..., float]


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Items in an order that does not depend on the one they came in, with columns of each predictor."""

    # outcomes, predictions: (n,), of each predictor
    outcomes: list[FloatArray]
    predictions: list[FloatArray]
    group: IntArray | None = None  # (n,): number of each item's group: items of different ones are independent

    @classmethod
    def of(cls, rows: Sequence[Rows]) -> Items:
        """Rows of the same items in the same order, in the same groups."""
        group = rows[0].group
        keys = [column for each in rows[::-1] for column in (each.y_true, each.y_prob)]
        order = np.lexsort(keys if group is None else [*keys, group])
        return cls(
            [each.y_true[order].astype(np.float64) for each in rows],
            [each.y_prob[order] for each in rows],
            None if group is None else group[order],
        )

    @property
    def surprises(self) -> float:
        """Items' worth of events, or of non-events, whichever is less of any predictor; of groups, groups' worth."""
        numbers = [each for y in self.outcomes for each in (y, 1.0 - y)]
        sums = numbers if self.group is None else [np.bincount(self.group, each) for each in numbers]
        return min(float(each.sum()) ** 2 / max(dot(each, each), 1e-300) for each in sums)

    def differing(self, pair: tuple[int, int]) -> int:
        """Items in which outcomes of two predictors differ."""
        return int((self.outcomes[pair[0]] != self.outcomes[pair[1]]).sum())

    def values(self, evaluate: Evaluate) -> FloatArray:
        """Error of each predictor."""
        return np.array([evaluate(y, v) for y, v in zip(self.outcomes, self.predictions, strict=True)])

    def halved(self, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> FloatArray:
        """Errors of the first half of the items less those of the second, (resample, predictor)."""
        n = self.outcomes[0].size
        units = n if self.group is None else int(self.group.max()) + 1

        def apart(source: np.random.Generator) -> list[float]:
            half = np.zeros(units, dtype=bool)
            half[source.permutation(units)[: units // 2]] = True
            half = half if self.group is None else half[self.group]
            columns = zip(self.outcomes, self.predictions, strict=True)
            return [evaluate(y[half], v[half]) - evaluate(y[~half], v[~half]) for y, v in columns]

        return resampled(apart, n, n_resamples, rng)

    def missed(
        self,
        pair: tuple[int, int],
        evaluate: Evaluate,
        reach: float,
        level: float,
        n_resamples: int,
        rng: np.random.Generator,
    ) -> tuple[float, float]:
        """Return the most that a difference can be too large, and too small, beyond its standard error's `reach`.

        Outcomes of both are drawn again together: of each as if it were calibrated, with the chances of its isotonic
        fit, and off by what noise may hide. Every two of these count if one is calibrated, for then the true
        difference is known. It fades where what was seen is far from it. Both off by the same mean count, too.
        """
        outcomes = self.outcomes[pair[0]], self.outcomes[pair[1]]
        predictions = self.predictions[pair[0]], self.predictions[pair[1]]
        fits = _fit(outcomes[0], predictions[0]), _fit(outcomes[1], predictions[1])
        like = TwoDependentOutcomes.like(outcomes, fits, self.group)
        hidden = _hidden(outcomes, predictions, fits, self.group, level)
        chances = list(zip(predictions, fits, hidden, _alike(outcomes, predictions), strict=True))

        def again(source: np.random.Generator) -> list[float]:
            numbers = like.draw(outcomes[0].size, source)
            return [
                evaluate((number < chance).astype(np.float64), v)
                for number, v, both in zip(numbers, predictions, chances, strict=True)
                for chance in both
            ]

        errors = resampled(again, outcomes[0].size, n_resamples, rng).reshape(-1, 2, 4)  # resample, predictor, chance
        missed = errors - _truth(evaluate, predictions, chances, errors)
        far = []
        for k, (y, v) in enumerate(zip(outcomes, predictions, strict=True)):
            ends = np.quantile(errors[:, k], 1.0 - level, axis=0)
            far.append(np.maximum(0.0, evaluate(y, v) - ends) * [1.0, 0.0, 1.0, 1.0])
        rank = max(1, int(0.5 * level * (n_resamples + 1)))  # another draw is beyond it with half the level
        over = under = 0.0
        for first, second in [pair for pair in product((0, 1, 2), repeat=2) if 0 in pair] + [(3, 3)]:
            away = math.hypot(far[0][first], far[1][second])
            apart = np.sort(missed[:, 0, first] - missed[:, 1, second])
            over = max(over, math.hypot(away, max(0.0, float(apart[-rank]) - reach)) - away)
            under = max(under, math.hypot(away, max(0.0, -float(apart[rank - 1]) - reach)) - away)
        return over, under


def _truth(
    evaluate: Evaluate,
    predictions: tuple[FloatArray, FloatArray],
    chances: Sequence[tuple[FloatArray, ...]],
    errors: FloatArray,
) -> FloatArray:
    """True error of each predictor with each chance, of shape (predictors, chances)."""
    try:
        return np.array([[evaluate(c, v) for c in both] for v, both in zip(predictions, chances, strict=True)])
    except InputError:  # a function that takes no event rates: what is calibrated has no error, the rest no bias
        return np.asarray(errors.mean(axis=0) * [0.0, 1.0, 1.0, 1.0])


def _hidden(
    outcomes: tuple[FloatArray, FloatArray],
    predictions: tuple[FloatArray, FloatArray],
    fits: tuple[FloatArray, FloatArray],
    group: IntArray | None,
    level: float,
) -> list[FloatArray]:
    """Predictions of each that are off by as much as noise may hide if the other is calibrated.

    Of all errors noise hides most of the mean's. Both means' difference has noise of its own, which is less where
    outcomes are alike. The direction makes no difference where noise is normal (docs/tests.md); towards 1/2 there is
    room.
    """
    by_row = [y - fit for y, fit in zip(outcomes, fits, strict=True)]
    noise = by_row if group is None else [np.bincount(group, each).astype(np.float64) for each in by_row]
    n, quantile = outcomes[0].size, -_UNSEEN * float(ndtri(level))
    bias = [float(np.mean(y - v)) for y, v in zip(outcomes, predictions, strict=True)]
    most = [quantile * math.sqrt(dot(each, each)) / n for each in (*noise, noise[0] - noise[1])]
    sizes = [min(each, abs(bias[0] - bias[1]) + most[2]) for each in most[:2]]
    return [
        np.clip(v + (size if float(v.mean()) < 0.5 else -size), 0.0, 1.0)
        for v, size in zip(predictions, sizes, strict=True)
    ]


def _alike(outcomes: tuple[FloatArray, FloatArray], predictions: tuple[FloatArray, FloatArray]) -> list[FloatArray]:
    """Chances by which each prediction is off by the same on average, in the direction that was seen.

    Where outcomes are alike and directions opposite, what chance adds to one error it takes from the other, and halves
    do not show all of it.
    """
    bias = [float(np.mean(y - v)) for y, v in zip(outcomes, predictions, strict=True)]
    size = 0.5 * (abs(bias[0]) + abs(bias[1]))
    return [np.clip(v + math.copysign(size, each), 0.0, 1.0) for v, each in zip(predictions, bias, strict=True)]


def _fit(y: FloatArray, v: FloatArray) -> FloatArray:
    """Chance of an event at each prediction, rising with it."""
    place = np.unique(v, return_inverse=True)[1]
    count = np.bincount(place).astype(np.float64)
    return np.asarray(isotonic(np.bincount(place, y) / count, count)[0])[place]


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """For each row of a predictor that of the same item of another.

    Attributes
    ----------
    place : array of int, of shape (n,)
        Rows of the other predictor.
    item : array of int, of shape (n,), or None
        Number of each row's item; None where each has one row.
    """

    place: IntArray
    item: IntArray | None = None

    def group(self, group: IntArray | None) -> IntArray | None:
        """Group of each row, among these; rows of one item make one where there are none.

        Raises InputError if rows of one item are of several groups.
        """
        if group is None or self.item is None:
            return self.item if group is None else group
        first = np.unique(self.item, return_index=True)[1][self.item]
        apart = group != group[first]
        if apart.any():
            row = int(np.argmax(apart))
            problem = f"row {row} is of the same item as row {first[row]}, and of another group"
            raise InputError("groups", problem, row=row, allowed="give each row an id of its own, or leave groups out")
        return group


def matched(items: Any, items_b: Any, sizes: Sequence[int], names: Sequence[str] = ("items", "items_b")) -> Matching:
    """For each of the first's rows that of the same item among the second's.

    Ids are the same if they are written alike: 7, 7.0 and the text "7" are, "007" and "7" are not. Truth values and
    times are the same as others of their kind only. Rows of one id follow one another alike. Raises InputError if an id
    is on one side alone, or has other numbers of rows; if kinds differ; without ids, if sizes differ.
    """
    if isinstance(items, str):
        if items != IN_ORDER:
            raise InputError(names[0], f"is {items!r:.40}", allowed=_WAYS)
        if items_b is not None:
            raise InputError(names[1], "has no effect: items are matched in order")
        if sizes[0] != sizes[1]:
            problem = f"are in order, but {sizes[0]:,} on one side and {sizes[1]:,} on the other"
            raise InputError(
                names[0], problem, allowed=Ways("give items and items_b, ids of the items", "say --items COLUMN")
            )
        return Matching(np.arange(sizes[0]))
    if items_b is None:
        raise InputError(names[1], "is missing: ids of the second's items", allowed=_WAYS)
    sides = [_Ids.of(ids, size, name) for ids, size, name in zip((items, items_b), sizes, names, strict=True)]
    kinds = [each.kind for each in sides]
    if kinds[0] != kinds[1]:
        raise InputError(names[1], f"are {kinds[1]}, and those of the other side {kinds[0]}", allowed="give one kind")
    _refuse_others(sides, names)
    places = {each: k for k, each in enumerate(sides[1].in_turn())}
    place = np.array([places[each] for each in sides[0].in_turn()], dtype=np.int64)
    own = sides[0]
    return Matching(place, own.numbers() if len({*own.written}) < len(own.written) else None)


def _refuse_others(ids: list[_Ids], names: Sequence[str]) -> None:
    """Raise InputError where an id is on one side alone, or in more rows of one side."""
    counts = [Counter(each.written) for each in ids]
    for own, other, name in ((ids[0], counts[1], names[0]), (ids[1], counts[0], names[1])):
        alone = [k for k, each in enumerate(own.written) if each not in other]
        if alone:
            first = f"row {alone[0]} is {own.shown(alone[0])}, which the other side lacks"
            more = f", as it does {len(alone) - 1:,} more" if alone[1:] else ""
            allowed = "keep the items that both have; ids are the same if they are written alike (007 is not 7)"
            raise InputError(name, first + more, row=alone[0], allowed=allowed)
    for k, (own, name) in enumerate(zip(ids, names, strict=True)):
        mine, other = counts[k], counts[1 - k]
        row = next((row for row, each in enumerate(own.written) if mine[each] > other[each]), None)
        if row is not None:
            here, there = mine[own.written[row]], other[own.written[row]]
            problem = (
                f"row {row} is {own.shown(row)}, which stands in {here} rows here and in {there} on the other side"
            )
            allowed = "an id needs as many rows on one side as on the other; they are matched in their order"
            raise InputError(name, problem, row=row, allowed=allowed)


def compared_ids(items: Any, items_b: Any) -> tuple[list[Any], list[Any]] | None:
    """Ids of both sides as `matched` compares them; None where one stands twice or is missing, or kinds differ."""
    try:
        sides = [_Ids.of(ids, len(ids), name) for ids, name in ((items, "items"), (items_b, "items_b"))]
    except InputError:
        return None
    if sides[0].kind != sides[1].kind or any(len({*each.written}) < len(each.written) for each in sides):
        return None
    return sides[0].written, sides[1].written


_EXACT = 2.0**53  # from it on several whole numbers are one float


@dataclass(frozen=True, slots=True, eq=False)
class _Ids:
    """Ids of one side.

    Attributes
    ----------
    values : list
        As they were given.
    written : list
        As they are compared: numbers as text, whole ones without a point, so that 7, 7.0 and "7" are the same.
    kind : str
        Kind of the values; only ids of the same kind are compared.
    number : array of int
        Number of each value, in their order.
    """

    values: list[Any]
    written: list[Any]
    kind: str
    number: IntArray

    @classmethod
    def of(cls, ids: Any, size: int, name: str) -> _Ids:
        """Read a column; InputError if an id is missing."""
        try:
            number = read_groups(ids, size)
        except InputError as problem:
            words = problem.problem if problem.row is None else f"row {problem.row} has no id"
            raise InputError(name, words, row=problem.row, allowed=problem.allowed) from None
        column = np.asarray(ids, dtype=object if isinstance(ids, list | tuple) else None)
        moments = column.dtype.kind in "mM"
        values = [_plain(each) for each in (column.astype(str) if moments else column).tolist()]
        kinds = sorted({"times" if moments else _kind(each) for each in values})
        if len(kinds) > 1:
            raise InputError(name, f"mixes {kinds[0]} and {kinds[1]}", allowed="all must be of one kind")
        result = cls(values, [_written(each) for each in values], "".join(kinds), number)
        for row, each in enumerate(values):
            if isinstance(each, float) and abs(each) >= _EXACT:
                allowed = "give whole numbers as integers or as text"
                raise InputError(
                    name, f"row {row} is {result.shown(row)}, which has lost digits", row=row, allowed=allowed
                )
        return result

    def in_turn(self) -> Iterator[tuple[Any, int]]:
        """Each id, with how many rows before have it."""
        rows = Counter[Any]()
        for each in self.written:
            yield each, rows[each]
            rows[each] += 1

    def numbers(self) -> IntArray:
        """Number of each id, in the order of values, those that are written alike the same."""
        first = dict(zip(self.written[::-1], self.number.tolist()[::-1], strict=True))
        return np.unique([first[each] for each in self.written], return_inverse=True)[1]

    def shown(self, row: int) -> str:
        """An id, for a message."""
        return f"{self.values[row]!r:.40}"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth values"
    return "numbers or text" if isinstance(value, int | float | str) else f"of the type {type(value).__name__}"


def _written(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)


_MOST = 0.95  # latent correlation
_TERMS = 12  # of the series of the covariance
_STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class DependentOutcomes:
    """Outcomes that happen where a normal variable is below a quantile; all rows of a group share a part of it."""

    threshold: FloatArray  # (n,): the quantile: each outcome has its chance, for any correlation
    trials: IntArray | None  # (n,): outcomes behind each row, which depend on one another as those of the group do
    group: IntArray  # (n,): number of each row's group
    correlation: float  # of the normal variables of one group

    @classmethod
    def like(
        cls, share: FloatArray, chance: FloatArray, n_trials: IntArray | None, group: IntArray
    ) -> DependentOutcomes:
        """With these chances, and the correlation with which products of a group's excesses add up to those seen."""
        threshold = ndtri(chance)
        return cls(threshold, n_trials, group, _latent_correlation(share, chance, n_trials, group))

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Share of events of each row."""
        shared = rng.standard_normal(int(self.group.max()) + 1)[self.group]
        share = ndtr((self.threshold - math.sqrt(self.correlation) * shared) / math.sqrt(1.0 - self.correlation))
        if self.trials is None:
            return np.asarray(rng.random(share.size) < share, np.float64)
        return np.asarray(rng.binomial(self.trials, share) / self.trials, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TwoDependentOutcomes:
    """Outcomes of two predictors of one item, which may depend on one another, and on those of the item's group."""

    # latent correlation within a group of the first's outcomes, and of the second's; 0 without groups
    own: tuple[float, float]
    shared: float  # correlation of the parts that the first's and the second's outcomes of a group share
    item: float  # correlation of the parts that are the item's own
    group: IntArray | None  # (n,): number of each item's group

    @classmethod
    def like(
        cls, outcomes: tuple[FloatArray, FloatArray], chances: tuple[FloatArray, FloatArray], group: IntArray | None
    ) -> TwoDependentOutcomes:
        """With the correlations at which products of excesses add up to those seen, given these chances."""
        whole = _cross_correlation(outcomes, chances, None)
        if group is None:
            return cls((0.0, 0.0), 0.0, whole, None)
        first, second = (
            _latent_correlation(y, chance, None, group) for y, chance in zip(outcomes, chances, strict=True)
        )
        together, alone = math.sqrt(first * second), math.sqrt((1.0 - first) * (1.0 - second))
        between = _cross_correlation(outcomes, chances, group)
        shared = min(_MOST, max(-_MOST, between / together)) if together > 0.0 else 0.0
        return cls((first, second), shared, min(_MOST, max(-_MOST, (whole - shared * together) / alone)), group)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Uniform numbers of both: an outcome happens where its number is below its chance."""
        first, second = _two_normal(n, self.item, rng)
        if self.group is not None:
            of_group = _two_normal(int(self.group.max()) + 1, self.shared, rng)
            first, second = (
                math.sqrt(own) * part[self.group] + math.sqrt(1.0 - own) * each
                for own, part, each in zip(self.own, of_group, (first, second), strict=True)
            )
        return ndtr(first), ndtr(second)


def _two_normal(n: int, correlation: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    first, other = rng.standard_normal((2, n))
    return first, correlation * first + math.sqrt(1.0 - correlation**2) * other


def _cross_correlation(
    outcomes: tuple[FloatArray, FloatArray], chances: tuple[FloatArray, FloatArray], group: IntArray | None
) -> float:
    """Latent correlation of two outcomes of an item; of different items of a group, where there are groups."""

    def pairs(excess: FloatArray, excess_b: FloatArray) -> float:
        own = dot(excess, excess_b)
        return own if group is None else dot(np.bincount(group, excess), np.bincount(group, excess_b)) - own

    covariance = pairs(*(y - chance for y, chance in zip(outcomes, chances, strict=True)))
    terms = [pairs(*each) for each in zip(*map(_terms, chances), strict=True)]
    return _root(terms, covariance, -_MOST)


def _terms(chance: FloatArray) -> list[FloatArray]:
    """He_{k-1}(a) phi(a) / sqrt(k!), k = 1, 2, ..., at the quantile a of each chance; 0 where that is 0 or 1."""
    inside = (chance > 0.0) & (chance < 1.0)
    a = np.where(inside, ndtri(np.where(inside, chance, 0.5)), 0.0)
    density = np.where(inside, np.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi), 0.0)
    before, hermite, terms = np.zeros(a.size), np.ones(a.size), []
    for k in range(1, _TERMS + 1):
        terms.append(hermite * density / math.sqrt(float(math.factorial(k))))
        before, hermite = hermite, a * hermite - (k - 1) * before
    return terms


def _root(terms: list[float], covariance: float, low: float) -> float:
    """The correlation, from `low` on, at which the series has this covariance."""
    high = _MOST
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        expected = sum(term * middle**k for k, term in enumerate(terms, 1))
        low, high = (middle, high) if expected < covariance else (low, middle)
    return low


def _latent_correlation(share: FloatArray, chance: FloatArray, n_trials: IntArray | None, group: IntArray) -> float:
    """The correlation from 0 on at which pairs of a group have, on the whole, the covariance that was seen.

    The covariance of two outcomes with quantiles a and b is the sum of r^k / k! He_{k-1}(a) phi(a) He_{k-1}(b) phi(b),
    k = 1, 2, ... (the tetrachoric series), and rises with r.
    """
    count = np.ones(share.size) if n_trials is None else n_trials.astype(np.float64)

    def pairs(each: FloatArray, own: float) -> float:
        sums = np.bincount(group, count * each)
        return dot(sums, sums) - own

    events = count * share
    covariance = pairs(share - chance, dot(events, (1.0 - chance) ** 2) + dot(count - events, chance**2))
    if covariance <= 0.0:
        return 0.0
    return _root([max(0.0, pairs(each, dot(count, each * each))) for each in _terms(chance)], covariance, 0.0)
