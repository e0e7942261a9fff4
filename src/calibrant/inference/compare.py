"""Two predictors of the same outcomes: which is nearer to calibrated, and could the difference be chance?"""

from __future__ import annotations

__all__ = ["ComparisonResult", "compare_calibration"]

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator, one_of
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Interval, confidence
from calibrant.door.errors import InputError
from calibrant.door.outwards import outwards
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import counted
from calibrant.inference.result import TestResult
from calibrant.measures.registry import measures
from calibrant.resampling.redraw import resampled

_LEAST_ROWS = 8

Evaluate = Callable[[FloatArray, FloatArray], float]
"""Takes outcomes and predictions, and gives the error."""


@dataclass(frozen=True, repr=False)
class ComparisonResult(TestResult):
    """The outcome of `compare_calibration`.

    Attributes
    ----------
    statistic : float
        Error of the first predictor less that of the second; negative where the first is the better calibrated.
    pvalue, reject, level, method
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
        said = "neither the first nor the second is proved better calibrated"
        if self.reject:
            first_is_better = self.statistic < 0.0
            better, worse = ("first", "second") if first_is_better else ("second", "first")
            said = f"the {better} is better calibrated than the {worse}"
            values = values if first_is_better else values[::-1]  # in the order of the names
        return (
            f"{said}: {self.method} {values[0]:.4f} against {values[1]:.4f}; the first's less the second's is between "
            f"{low} and {high} with {confidence(self.level)} confidence (p = {self.pvalue:.2g})"
        )


def compare_calibration(
    y_true: Column,
    y_prob_a: Column,
    y_prob_b: Column,
    *,
    measure: str | Evaluate = "smooth_calibration_error",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ComparisonResult:
    """Say which of two predictors is better calibrated on the population, from the same rows, by any measure.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows; at least 8.
    y_prob_a, y_prob_b : column of shape (n,)
        The two predictors' probabilities for the same rows.
    measure : str or callable, default "smooth_calibration_error"
        What is compared: the name of any registered measure, with its default parameters, or a function of outcomes and
        predictions, such as ``functools.partial(expected_calibration_error, n_bins=20)``; it is called from threads.
    level : float, default 0.05
        Largest probability that the interval misses the population's difference.
    n_resamples : int, default 999
        Times that the rows are halved, and that outcomes are redrawn.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, whatever the number of threads and the order of the rows.

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
    bootstrap_bounds, audit

    Notes
    -----
    The rows are halved again and again. The two halves' differences vary against each other as independent samples do,
    and give the standard error; noise that both predictors share cancels. An error is biased upwards near 0, where a
    plain bootstrap misses the truth, and noise may hide one there. Outcomes redrawn from the predictions tell how much:
    b, their mean error, can be added and q, its 1 - level quantile, hidden; sqrt(L^2 + b^2) - L and
    sqrt(L^2 + q^2) - L where the error is L above q. Each end of the interval takes the unfavourable two.
    docs/tests.md has the derivation and the coverage measured for every measure; it is asymptotic, and errs towards
    caution. Cost: the measure of 4 n rows for each resample.

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
    both = tuple(_read(y_true, y_prob, name) for name, y_prob in (("y_prob_a", y_prob_a), ("y_prob_b", y_prob_b)))
    return compare_calibration_on_rows(
        *both, measure=measure, level=level, n_resamples=n_resamples, random_state=random_state
    )


def compare_calibration_on_rows(
    rows_a: Rows,
    rows_b: Rows,
    *,
    measure: str | Evaluate,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> ComparisonResult:
    """`compare_calibration` of rows that were read already; both have the same outcomes in the same order."""
    level = check_level(level)
    check_resamples(n_resamples, level)
    exact, evaluate, words = _read_measure(measure)
    label, first, second = rows_a.y_true, rows_a.y_prob, rows_b.y_prob
    if label.size < _LEAST_ROWS:
        raise InputError("y_true", f"has {counted(label.size, 'row')}; halving them needs at least {_LEAST_ROWS}")
    order = np.lexsort((label, second, first))
    y, both = label[order].astype(np.float64), (first[order], second[order])
    value = np.array([exact(y, v) for v in both])
    rng = generator(random_state)

    def halves(source: np.random.Generator) -> list[list[float]]:
        picked = np.zeros(y.size, dtype=bool)
        picked[source.permutation(y.size)[: y.size // 2]] = True
        return [[evaluate(y[half], v[half]) for v in both] for half in (picked, ~picked)]

    def calibrated(source: np.random.Generator) -> list[float]:
        uniform = source.random(y.size)
        return [evaluate((uniform < v).astype(np.float64), v) for v in both]

    halved = resampled(halves, y.size, n_resamples, rng)  # resample, half, predictor
    chance = resampled(calibrated, y.size, n_resamples, rng)
    apart = halved[:, 0] - halved[:, 1]
    error = 0.5 * math.sqrt(float(np.mean((apart[:, 0] - apart[:, 1]) ** 2)))
    over, under = _by_chance(value, chance, level)
    difference = float(value[0] - value[1])
    low, high = difference - over[0] - under[1], difference + under[0] + over[1]
    reach = -float(ndtri(0.5 * level)) * error
    beyond = max(low, -high)  # how far 0 is outside, before chance has its share
    reject = beyond > reach
    pvalue = 1.0 if beyond <= 0.0 else 2.0 * float(ndtr(-beyond / error)) if error > 0.0 else 0.0
    pvalue = max(pvalue, 1.0 / (1.0 + n_resamples))  # no smaller than what so many resamples can vouch for
    return ComparisonResult(
        difference, pvalue, reject, level, words, Interval(low - reach, high + reach), float(value[0]), float(value[1])
    )


def _by_chance(value: FloatArray, chance: FloatArray, level: float) -> tuple[list[float], list[float]]:
    """Most that each error can be too large on average, and too small; both fade where it is far from chance's."""
    most = np.quantile(chance, 1.0 - level, axis=0)
    surely = np.maximum(0.0, value - most)
    over, under = (np.hypot(surely, size) - surely for size in (chance.mean(axis=0), most))
    return over.tolist(), under.tolist()


def _read_measure(measure: str | Evaluate) -> tuple[Evaluate, Evaluate, str]:
    """The measure, the same as resamples need it, and its name in words."""
    if callable(measure):
        function = measure

        def finite(y: FloatArray, v: FloatArray) -> float:
            value = function(y, v)
            if not isinstance(value, int | float | np.number) or not math.isfinite(value):
                raise InputError("measure", f"returned {value!r:.40}; a finite number is needed")
            return float(value)

        named = getattr(function, "func", function)  # of a functools.partial
        return finite, finite, getattr(named, "__name__", "error").replace("_", " ")
    one_of(measure, tuple(measures()), "measure")
    found = measures()[measure]

    def with_options(options: Mapping[str, Any]) -> Evaluate:
        return lambda y, v: found.on_sample(Sample.of_arrays(y, v), **options)

    resampled_ones = {**found.parameters, **found.when_resampled}
    return with_options(found.parameters), with_options(resampled_ones), measure.replace("_", " ")


def _read(y_true: Column, y_prob: Column, name: str) -> Rows:
    try:
        return Rows.of(y_true, y_prob)
    except InputError as problem:
        said = problem.problem.replace("y_prob", name)
        raise InputError(problem.argument.replace("y_prob", name), said, row=problem.row) from None
