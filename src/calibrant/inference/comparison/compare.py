"""Two predictors of the same outcomes: which is nearer to calibrated, and could the difference be chance?"""

from __future__ import annotations

__all__ = ["ComparisonResult", "compare_calibration"]

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator, one_of
from calibrant.door.columns import Column, FloatArray, IntArray, as_numbers
from calibrant.door.ends import Interval, confidence, outwards
from calibrant.door.errors import InputError
from calibrant.door.rows import INDEPENDENT, Rows, check_outcome_free, not_taken
from calibrant.door.sample import Sample
from calibrant.door.special import ndtr, ndtri, stdtr, stdtrit
from calibrant.door.values import counted
from calibrant.inference.comparison.items import DependentOutcomes, Items, matched
from calibrant.inference.testing.result import TestResult
from calibrant.kernels.sums import dot
from calibrant.measures.registry import measures
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import check_groups, resampled

_LEAST_ROWS = 8
LEAST_FOR_A_DIFFERENCE = 6
"""So many equal groups the events, and the non-events, must be worth (docs/reproductions/known-rows.md)."""
_SURPRISES = 16.0  # so many more would be needed for few events to tell the error: measured, not derived

_SAME_ITEMS = "; if both are about the same items, give items and items_b for a shorter interval"
"""What is said of as many outcomes of the second predictor as of the first."""

Evaluate = Callable[..., float]
"""Takes outcomes and predictions, perhaps weights, and gives the error."""


@dataclass(frozen=True, repr=False)
class ComparisonResult(TestResult):
    """The outcome of `compare_calibration`.

    Attributes
    ----------
    statistic : float
        Error of the first predictor minus that of the second; negative if the first is better calibrated.
    pvalue, reject, level, method, premise
        As in `TestResult`, of "the two errors are equal".
    interval : Interval
        Holds the population's difference with probability 1 - level, in large samples.
    value_a, value_b : float
        The two errors on these rows.

    See Also
    --------
    compare_calibration
    """

    interval: Interval
    value_a: float
    value_b: float

    def swapped(self) -> ComparisonResult:
        """The same with the second predictor first."""
        low, high = self.interval
        return replace(
            self,
            statistic=-self.statistic,
            interval=Interval(-high, -low),
            value_a=self.value_b,
            value_b=self.value_a,
        )

    def summary(self) -> str:
        """One sentence.

        Examples
        --------
        >>> words = "smooth calibration error"
        >>> result = ComparisonResult(-0.06, 0.001, True, 0.05, words, Interval(-0.08, -0.04), 0.02, 0.08)
        >>> result.summary()[:76]
        'the first is better calibrated than the second: smooth calibration error 0.0'
        """
        low, high = outwards(*self.interval, signed=True)
        values = (self.value_a, self.value_b)
        claim = "neither the first nor the second is proved better calibrated"
        if self.reject:
            first_is_better = self.statistic < 0.0
            better, worse = ("first", "second") if first_is_better else ("second", "first")
            claim = f"the {better} is better calibrated than the {worse}"
            values = values if first_is_better else values[::-1]  # in the order of the names
        return (
            f"{claim}: {self.method} {values[0]:.4f} against {values[1]:.4f}; the first's less the second's is between "
            f"{low} and {high} with {confidence(self.level)} confidence (p = {self.pvalue:.2g})"
            f"{''.join(self.premise.partition('; ')[1:])}"
        )


def compare_calibration(
    y_true: Column,
    y_prob_a: Column,
    y_prob_b: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    y_true_b: Column | None = None,
    items: Any = None,
    items_b: Any = None,
    measure: str | Evaluate = "smooth_calibration_error",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ComparisonResult:
    """Tell which of two predictors is better calibrated on the population, by any measure.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows; at least 8. With ``trials`` the share of events among them.
    y_prob_a, y_prob_b : column of shape (n,)
        The two predictors' probabilities for the same rows; with ``y_true_b`` the second may have rows of its own.
    sample_weight, trials, outcome_free_weights
        As for `smooth_calibration_test`, for predictors of the same rows. A row of trials is one draw.
    groups : column of shape (n,), optional
        Which group each row belongs to, if only rows of different groups are independent: for predictors of the same
        rows or items. Events, and non-events, must lie in the equivalent of at least 6 equally large groups.
    y_true_b : column of shape (m,), optional
        Outcomes of the second predictor's rows if those are others; at least 8. Without ``items`` they are independent
        of the first's.
    items, items_b : columns of shape (n,), optional
        Ids of what each row is about (a question), if both predictors were asked about the same and outcomes differ.
        Rows of one id are matched in their order, and are a group. ``items="in order"`` says that rows follow one
        another alike.
    measure : str or callable, default "smooth_calibration_error"
        The measure to compare by. The name of any registered measure, with its default parameters. Or a function of
        outcomes (or event rates) and predictions, such as ``functools.partial(expected_calibration_error, n_bins=20)``.
        It is called from threads, with ``sample_weight`` where there are weights or trials.
    level : float, default 0.05
        Largest probability that the interval misses the population's difference.
    n_resamples : int, default 999
        Times that the rows are halved, and that outcomes are redrawn.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.

    Returns
    -------
    ComparisonResult
        The difference, its interval, and a p-value for "no difference".

    Raises
    ------
    InputError
        If a column or option cannot be used, or there are too few rows, or resamples for the level.

    See Also
    --------
    compare_all, bootstrap_bounds, audit

    Notes
    -----
    The rows are halved again and again. The two halves' differences vary like those of independent samples, and give
    the standard error; noise that both predictors share cancels. An error is biased upwards near 0, where a plain
    bootstrap misses the truth, and noise may hide an error there. So outcomes are also redrawn as if the first
    predictor were calibrated, the second, and the mean of both. In each of these the true difference is known, and the
    interval is made longer by how far the redrawn differences miss it. Less so the further the rows are from that case.
    Predictors of different rows share no noise: each error's own mean and quantile under chance are added. Of the same
    items halves are halves of items. Both outcomes are redrawn together, as dependent as they are seen to be. Each is
    redrawn with its predictions as chances, its isotonic fit, or its predictions and as much as noise may hide. With
    groups whole groups are halved, and redrawn outcomes of a group share a normal effect, as large as the rows show.
    docs/tests.md has the reasons and the measured coverage; it is asymptotic. Cost: the measure of about 4 n rows for
    each resample, of items 8 n.

    References
    ----------
    T-Cal, Section 6 (comparison of predictors is its first open direction). B. Efron and C. Stein, The jackknife
    estimate of variance, Annals of Statistics 9, 1981.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import compare_calibration
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> result = compare_calibration(rng.random(2000) < y_prob, y_prob, y_prob**2, random_state=0)
    >>> result.reject, result.statistic < 0
    (True, True)
    """
    check_outcome_free(outcome_free_weights, sample_weight, groups)
    if y_true_b is None:
        not_taken("predictors have the same outcomes", items=items, items_b=items_b)
    options: Any = {"measure": measure, "level": level, "n_resamples": n_resamples, "random_state": random_state}
    if y_true_b is None:
        columns = (sample_weight, trials, groups, outcome_free_weights)
        rows_a = read_predictor("y_prob_a", y_true, y_prob_a, *columns)
        n_rows, own = rows_a.y_prob.size, as_numbers(y_prob_b, "y_prob_b").size
        if own != n_rows:
            ways = "give y_true_b, the second's own outcomes; of the same items also items and items_b"
            raise InputError("y_prob_b", f"has {counted(own, 'row')}, and y_true {n_rows:,}", allowed=ways)
        rows_b = read_predictor("y_prob_b", y_true, y_prob_b, *columns)
        return compare_calibration_on_rows(rows_a, rows_b, paired=True, **options)
    if items is not None:
        not_taken("outcomes of items are single and count once", sample_weight=sample_weight, trials=trials)
        rows_a = read_predictor("y_prob_a", y_true, y_prob_a, groups=groups)
        rows_b = read_predictor("y_prob_b", y_true_b, y_prob_b, outcomes="y_true_b")
        matching = matched(items, items_b, (rows_a.y_prob.size, rows_b.y_prob.size))
        rows_a = replace(rows_a, group=matching.group(rows_a.group))
        rows_b = replace(rows_b.take(matching.place), group=rows_a.group)
        return compare_items_on_rows([rows_a, rows_b], **options)[0, 1]
    why = "two samples are compared row by row, and none of one may depend on one of the other; items say which belong"
    not_taken(why, sample_weight=sample_weight, trials=trials, groups=groups, items_b=items_b)
    rows_b = read_predictor("y_prob_b", y_true_b, y_prob_b, outcomes="y_true_b")
    return compare_calibration_on_rows(read_predictor("y_prob_a", y_true, y_prob_a), rows_b, paired=False, **options)


def compare_calibration_on_rows(
    rows_a: Rows,
    rows_b: Rows,
    *,
    paired: bool,
    measure: str | Evaluate,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> ComparisonResult:
    """`compare_calibration` of rows that were read already; paired, both have the same outcomes in the same order."""
    if paired:
        results = compare_pairs_on_rows(
            [rows_a, rows_b], measure=measure, level=level, n_resamples=n_resamples, random_state=random_state
        )
        return results[0, 1]
    level = check_level(level)
    check_resamples(n_resamples, level)
    exact, evaluate, words = _read_measure(measure)
    for rows, name in ((rows_a, "y_true"), (rows_b, "y_true_b")):
        _check(rows, name)
    rng = generator(random_state)
    draws = [SharedRows.of(rows, []) for rows in (rows_a, rows_b)]
    value = np.array([exact(d.y, v, d.weight) for d in draws for v in d.predictions])
    halved = np.concatenate([d.halved(evaluate, n_resamples, rng) for d in draws], axis=1)  # resample, predictor
    noise = Noise.of(halved, min(d.surprises for d in draws))
    missed = _apart(draws, evaluate, value, level, n_resamples, rng)
    premise = f"{INDEPENDENT}, those of one predictor from those of the other"
    premise += _SAME_ITEMS * (rows_a.y_prob.size == rows_b.y_prob.size)
    return _concluded(value, noise, missed, level, n_resamples, words, premise)


def compare_pairs_on_rows(
    rows: Sequence[Rows],
    *,
    measure: str | Evaluate,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> dict[tuple[int, int], ComparisonResult]:
    """`compare_calibration` of every pair of predictors of the same rows, each at the whole level.

    All pairs have the same halves, and the same outcomes redrawn as if one of them were calibrated: each pair's
    comparison is what it would be alone, in law, for a part of the work.
    """
    level = check_level(level)
    check_resamples(n_resamples, level)
    exact, evaluate, words = _read_measure(measure)
    for each in rows:
        _check(each, "y_true")
    rng = generator(random_state)
    # In an order of their own: whichever predictor is named first, the draws are the same.
    order = sorted(range(len(rows)), key=lambda k: _own(rows[k]))
    rows = [rows[k] for k in order]
    draws = SharedRows.of(rows[0], [each.y_prob for each in rows[1:]])
    value = np.array([exact(draws.y, v, draws.weight) for v in draws.predictions])
    halved = draws.halved(evaluate, n_resamples, rng)  # resample, predictor
    share = draws_of_a_state(n_resamples, max(3, len(rows)))  # of two: either, and the mean of both
    alone = draws.states(evaluate, share, rng)
    results = {}
    for pair in combinations(range(len(rows)), 2):
        which = list(pair)
        two, both = draws.between(pair, evaluate, share, rng)
        noise = Noise.of(halved[:, which], draws.surprises, grouped=draws.group is not None)
        missed = _paired(two, [*(alone[k].of(pair) for k in pair), both], evaluate, noise.reach(level), level)
        result = _concluded(value[which], noise, missed, level, n_resamples, words, rows[0].premise)
        first, second = (order[k] for k in pair)
        results[min(first, second), max(first, second)] = result if first < second else result.swapped()
    return results


def compare_items_on_rows(
    rows: Sequence[Rows],
    *,
    measure: str | Evaluate,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> dict[tuple[int, int], ComparisonResult]:
    """`compare_calibration` of every pair of predictors of the same items in the same order, with their own outcomes.

    All pairs have the same halves of the items.
    """
    level = check_level(level)
    check_resamples(n_resamples, level)
    exact, evaluate, words = _read_measure(measure)
    for each in rows:
        _check(each, "y_true")
    rng = generator(random_state)
    order = sorted(range(len(rows)), key=lambda k: _own(rows[k]))  # so that names have no part in the draws
    items = Items.of([rows[k] for k in order])
    value = items.values(exact)
    halved = items.halved(evaluate, n_resamples, rng)
    apart = "items are independent" if items.group is None else "items are independent between groups"
    results = {}
    for pair in combinations(range(len(rows)), 2):
        which = list(pair)
        noise = Noise.of(halved[:, which], items.surprises, grouped=items.group is not None)
        missed = items.missed(pair, evaluate, noise.reach(level), level, n_resamples, rng)
        premise = f"{apart}; outcomes differ in {items.differing(pair):,} of {counted(items.outcomes[0].size, 'item')}"
        result = _concluded(value[which], noise, missed, level, n_resamples, words, premise)
        first, second = (order[k] for k in pair)
        results[min(first, second), max(first, second)] = result if first < second else result.swapped()
    return results


def _own(rows: Rows) -> tuple[bytes, bytes]:
    """Return the sort keys of a predictor: its predictions, and of permuted ones the outcomes at each."""
    v = rows.y_prob
    order = np.lexsort([*([] if rows.weight is None else [rows.weight]), rows.count, rows.y_true, v])
    happened = [column[order] for column in (rows.y_true, rows.count, rows.weight) if column is not None]
    return v[order].astype(">f8").tobytes(), np.concatenate(happened).astype(">f8").tobytes()


def _check(rows: Rows, name: str) -> None:
    if rows.y_prob.size < _LEAST_ROWS:
        few = counted(rows.y_prob.size, "row")
        raise InputError(name, f"has {few}; halving them needs at least {_LEAST_ROWS}")
    check_groups(rows, LEAST_FOR_A_DIFFERENCE)
    rows.tested  # noqa: B018  # refuses weights that may tell outcomes, where these are too few
    if rows.group is not None and rows.trials is not None and rows.weight is not None:
        raise InputError("sample_weight", "cannot be used with trials in groups: weights may tell outcomes")


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard error of a difference, and how many groups it comes from."""

    error: float  # the standard error
    # degrees of freedom of a t variable: the groups' worth less one; None of independent rows, where it is normal
    degrees: float | None

    @classmethod
    def of(cls, halved: FloatArray, surprises: float, *, grouped: bool = False) -> Noise:
        """From how two halves' differences vary against each other, and so many rows' or groups' worth of events."""
        error = 0.5 * math.sqrt(float(np.mean((halved[:, 0] - halved[:, 1]) ** 2)))
        return cls(error * math.sqrt(1.0 + _SURPRISES / max(1.0, surprises)), surprises - 1.0 if grouped else None)

    def reach(self, level: float) -> float:
        """What a difference is off by with probability `level`."""
        at = 0.5 * level
        return -self.error * float(ndtri(at) if self.degrees is None else stdtrit(self.degrees, at))

    def tail(self, far: float) -> float:
        """Probability that a difference is off by this much; `far` is positive."""
        if self.error == 0.0:
            return 0.0
        z = -far / self.error
        return 2.0 * float(ndtr(z) if self.degrees is None else stdtr(self.degrees, z))


def _concluded(
    value: FloatArray,
    noise: Noise,
    missed: tuple[float, float],
    level: float,
    n_resamples: int,
    words: str,
    premise: str,
) -> ComparisonResult:
    """The difference with its interval and p-value; `missed` is how much too large and too small it can be beside."""
    over, under = missed
    reach = noise.reach(level)
    difference = float(value[0] - value[1])
    low, high = difference - over, difference + under
    beyond = max(low, -high)  # how far 0 is outside, before the standard error has its share
    pvalue = 1.0 if beyond <= 0.0 else noise.tail(beyond)
    pvalue = max(pvalue, 1.0 / (1.0 + n_resamples))  # no smaller than what so many resamples can vouch for
    interval, values = Interval(low - reach, high + reach), value.tolist()
    return ComparisonResult(
        difference, pvalue, beyond > reach, level, words, interval, *values, premise=premise
    )  # fmt: skip


def _paired(
    rows: SharedRows, states: list[State], evaluate: Evaluate, reach: float, level: float
) -> tuple[float, float]:
    """Return the most that the difference can be too large, and too small, in states with a known truth.

    What the standard error does not `reach` counts; it fades where a state is far from what was seen.
    """
    over = under = 0.0
    for state in states:
        far = state.far(evaluate(rows.y, state.chance, rows.weight), level)
        missed = np.sort(state.missed[:, 0] - state.missed[:, 1])
        rank = max(1, int(0.5 * level * (missed.size + 1)))  # another draw is beyond it with half the level
        over = max(over, math.hypot(far, max(0.0, float(missed[-rank]) - reach)) - far)
        under = max(under, math.hypot(far, max(0.0, -float(missed[rank - 1]) - reach)) - far)
    return over, under


def _apart(
    sides: list[SharedRows],
    evaluate: Evaluate,
    value: FloatArray,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The same of predictors that share no noise: each error can be too large on average, and chance may hide one."""
    over, under = [], []
    for rows, own in zip(sides, value, strict=True):
        state = rows.states(evaluate, draws_of_a_state(n_resamples, 1), rng)[0]
        far, hidden = state.far(float(own), level), float(np.quantile(state.noise, 1.0 - level))
        over.append(math.hypot(far, float(state.noise.mean())) - far)
        under.append(math.hypot(far, hidden) - far)
    return over[0] + under[1], under[0] + over[1]


def _read_measure(measure: str | Evaluate) -> tuple[Evaluate, Evaluate, str]:
    """The measure, the same as resamples need it, and its name in words."""
    if callable(measure):
        function = measure

        def finite(y: FloatArray, v: FloatArray, weight: FloatArray | None = None) -> float:
            value = function(y, v) if weight is None else function(y, v, sample_weight=weight)
            if not isinstance(value, int | float | np.number) or not math.isfinite(value):
                raise InputError("measure", f"returned {value!r:.40}; a finite number is needed")
            return float(value)

        named = getattr(function, "func", function)  # of a functools.partial
        return finite, finite, getattr(named, "__name__", "error").replace("_", " ")
    one_of(measure, tuple(measures()), "measure")
    entry = measures()[measure]

    def exact(y: FloatArray, v: FloatArray, weight: FloatArray | None = None) -> float:
        return entry.on_sample(Sample.of_arrays(y, v, weight), **entry.parameters)

    options = {**entry.parameters, **entry.when_resampled}

    def resampled(y: FloatArray, v: FloatArray, weight: FloatArray | None = None) -> float:
        if entry.on_rows is not None:
            return entry.on_rows(y, v, weight, **options)
        return entry.on_sample(Sample.of_arrays(y, v, weight), **options)

    return exact, resampled, measure.replace("_", " ")


def read_predictor(
    name: str,
    y_true: Column,
    y_prob: Column,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    outcomes: str = "y_true",
) -> Rows:
    """Read one predictor's rows; what is wrong is said in its own argument's name."""
    try:
        return Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    except InputError as problem:
        sentence = problem.problem.replace("y_prob", name).replace("y_true", outcomes)
        argument = problem.argument.replace("y_prob", name).replace("y_true", outcomes)
        raise InputError(argument, sentence, row=problem.row, allowed=problem.allowed) from None


_LEAST_DRAWS = 39  # of each state, where so many are asked for at all: fewer hardly have a tail


def draws_of_a_state(n_resamples: int, states: int) -> int:
    """Number of resamples of each state."""
    return min(n_resamples, max(_LEAST_DRAWS, -(-n_resamples // states)))


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Outcomes redrawn with these chances."""

    chance: FloatArray  # (n,): predictions that are calibrated there
    noise: FloatArray  # (resamples,): their own errors, which are chance alone
    missed: FloatArray  # (resamples, predictors): how much larger each predictor's error is than its true one

    def of(self, pair: tuple[int, int]) -> State:
        """Compare two of the predictors."""
        return replace(self, missed=self.missed[:, list(pair)])

    def far(self, error: float, level: float) -> float:
        """Return by how much the observed error of the calibrated predictions exceeds what chance explains."""
        return max(0.0, error - float(np.quantile(self.noise, 1.0 - level)))


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """Rows in the order of one predictor's predictions, which their resamples keep: a measure need not sort them."""

    order: IntArray
    prediction: FloatArray

    @classmethod
    def of(cls, prediction: FloatArray) -> InOrder:
        """Sort predictions."""
        order = np.argsort(prediction, kind="stable")
        return cls(order, prediction[order])

    def error(self, evaluate: Evaluate, y: FloatArray, weight: FloatArray | None) -> float:
        """Error of the rows with these outcomes and weights."""
        return evaluate(y[self.order], self.prediction, None if weight is None else weight[self.order])

    def between_halves(
        self, evaluate: Evaluate, y: FloatArray, weight: FloatArray | None
    ) -> Callable[[npt.NDArray[np.bool_]], float]:
        """A function of which rows are in the first half: their error less that of the others."""
        y, weight = y[self.order], None if weight is None else weight[self.order]

        def error(rows: npt.NDArray[np.bool_]) -> float:
            inside = np.flatnonzero(rows)  # by a mask it takes five times as long
            return evaluate(y[inside], self.prediction[inside], None if weight is None else weight[inside])

        def difference(half: npt.NDArray[np.bool_]) -> float:
            first = half[self.order]
            return error(first) - error(~first)

        return difference


@dataclass(frozen=True, slots=True, eq=False)
class SharedRows:
    """Rows with one prediction or more, in an order that does not depend on the one they came in."""

    y: FloatArray
    predictions: list[FloatArray]
    in_order: list[InOrder]
    weight: FloatArray | None
    trials: FloatArray | None
    group: IntArray | None = None
    informative: Rows | None = None
    """The rows themselves, where their weights may tell outcomes and are drawn again with them."""

    @classmethod
    def of(cls, rows: Rows, beside: list[FloatArray]) -> SharedRows:
        """Rows, and other predictions for the same."""
        count, weight = rows.count, rows.weight
        y, mass = rows.y_true / count, None if weight is None else weight * count
        if mass is None and rows.trials is not None:
            mass = count
        columns = [*beside[::-1], rows.y_prob]
        keys = [np.zeros(y.size) if mass is None else mass, y, *columns]
        order = np.lexsort(keys if rows.group is None else [rows.group, *keys])
        predictions = [column[order] for column in columns[::-1]]
        trials = None if rows.trials is None else rows.trials[order]
        group = None if rows.group is None else rows.group[order]
        own = None if weight is None or rows.outcome_free else rows.take(order)
        in_order, mass = [InOrder.of(v) for v in predictions], None if mass is None else mass[order]
        return cls(y[order], predictions, in_order, mass, trials, group, own)

    @property
    def surprises(self) -> float:
        """Rows' worth of events, or of non-events, whichever is less; of groups, groups' worth."""
        mass = np.ones(self.y.size) if self.weight is None else self.weight
        if self.group is None:
            return min(dot(mass, each) ** 2 / max(dot(mass * mass, each), 1e-300) for each in (self.y, 1.0 - self.y))
        sums = [np.bincount(self.group, mass * each) for each in (self.y, 1.0 - self.y)]
        return min(float(each.sum()) ** 2 / max(dot(each, each), 1e-300) for each in sums)

    def halved(self, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> FloatArray:
        """The first half's errors less the second's, (resample, predictor)."""
        n = self.y.size
        units = n if self.group is None else int(self.group.max()) + 1

        differences = [each.between_halves(evaluate, self.y, self.weight) for each in self.in_order]

        def apart(source: np.random.Generator) -> list[float]:
            half = np.zeros(units, dtype=bool)
            half[source.permutation(units)[: units // 2]] = True
            half = half if self.group is None else half[self.group]
            return [difference(half) for difference in differences]

        return resampled(apart, n, n_resamples, rng)

    def states(self, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> list[State]:
        """Outcomes redrawn as if each prediction were calibrated in its turn; all predictions are judged by them."""
        return [self._state(chance, evaluate, n_resamples, rng) for chance in self.predictions]

    def between(
        self, pair: tuple[int, int], evaluate: Evaluate, n_resamples: int, rng: np.random.Generator
    ) -> tuple[SharedRows, State]:
        """Two of the predictions alone, and outcomes redrawn as if the mean of both were calibrated."""
        two = replace(self, predictions=[self.predictions[k] for k in pair], in_order=[self.in_order[k] for k in pair])
        return two, two._state(np.mean(two.predictions, axis=0), evaluate, n_resamples, rng)

    def _sampler(self, chance: FloatArray, in_file: FloatArray) -> Callable[[np.random.Generator], FloatArray]:
        """Return a function that draws outcomes: shares of trials with these chances, single rows as in the file."""
        trials = None if self.trials is None else self.trials.astype(np.int64)
        if self.group is not None:
            return DependentOutcomes.like(self.y, in_file, trials, self.group).draw
        if trials is None:
            return lambda source: (source.random(chance.size) < in_file).astype(np.float64)
        return lambda source: source.binomial(trials, chance) / trials

    def _state(self, chance: FloatArray, evaluate: Evaluate, n_resamples: int, rng: np.random.Generator) -> State:
        calibrated = [k for k, v in enumerate(self.predictions) if v is chance]
        apart = None if calibrated else InOrder.of(chance)
        joint = None if self.informative is None else JointRows.of(self.informative, chance)
        in_file, expected = chance, self.weight
        if joint is not None and self.weight is not None:
            in_file, expected = chance.copy(), self.weight.copy()
            in_file[joint.order], expected[joint.order] = joint.chance, joint.expected_weight
        draw = self._sampler(chance, in_file)

        def again(source: np.random.Generator) -> list[float]:
            y, weight = draw(source), self.weight
            if joint is not None and weight is not None:
                weight = weight.copy()
                weight[joint.order] = joint.weights_of(y[joint.order].astype(np.int64), source)
            errors = [each.error(evaluate, y, weight) for each in self.in_order]
            return [*errors, errors[calibrated[0]] if apart is None else apart.error(evaluate, y, weight)]

        errors = resampled(again, chance.size, n_resamples, rng)
        try:
            truth = np.array([evaluate(chance, v, expected) for v in self.predictions])
        except InputError:  # a function that takes no event rates: what is calibrated has no error, the rest no bias
            truth = errors[:, :-1].mean(axis=0) * [v is not chance for v in self.predictions]
        return State(chance, errors[:, -1], errors[:, :-1] - truth)
