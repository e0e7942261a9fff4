"""Proofs by an estimated squared calibration error: intervals for the population, rows needed, bootstrap.

Both theorems bound the deviation of an estimate by c(n) E + sqrt(2 (1 + c(n)) E / n log(2/delta)) + t, where E is the
squared error that is estimated and t = B / (2 n) log(2 B / delta) for the plug-in estimator,
3 sqrt(B) / n log(n / delta) + delta / n for the cancelling one. The bound rises with E, so it can be turned round: the
interval holds every E that the estimate does not contradict.
"""

from __future__ import annotations

__all__ = ["SquaredErrorInterval", "squared_error_bootstrap", "squared_error_interval", "squared_error_rows"]

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator, positive_integer
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Interval, confidence
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.values import Result, counted
from calibrant.kernels.sums import dot
from calibrant.measures.binned import Strategy, squared_error_groups
from calibrant.resampling.redraw import check_surprises

# Fewest with which the bootstrap keeps its promise (reproduce few-surprises):
_LEAST_ROWS = 20  # of every group,
_LEAST_EACH = 5  # surprises that the predictions expect of a group, on average,
_LEAST_SURPRISES = 50  # of all, and as many about the groups' own rates


@dataclass(frozen=True, slots=True, repr=False)
class SquaredErrorInterval(Result):
    """An estimate of the squared calibration error of the population, with an interval.

    Attributes
    ----------
    estimate : float
        The plug-in or the debiased estimate; of `squared_error_bootstrap` 0 where the latter is below.
    interval : Interval
        Within [0, 1].
    level : float
        Probability with which the interval may miss.
    method : str
        How it was found, in words.

    See Also
    --------
    squared_error_interval, squared_error_bootstrap
    """

    estimate: float
    interval: Interval
    level: float
    method: str

    def summary(self) -> str:
        """Say between what the population's lies."""
        sure = f"with {confidence(self.level)} confidence the population's is {self.interval.summary()}"
        return f"Squared calibration error {self.estimate:.6g}; {sure} ({self.method})."


def squared_error_interval(
    estimate: float,
    n_rows: int,
    n_outputs: int,
    *,
    least_probability: float | None = None,
    level: float = 0.05,
    debiased: bool = True,
) -> SquaredErrorInterval:
    """Return the interval for the squared calibration error that the finite-sample theorems prove.

    Parameters
    ----------
    estimate : float
        `squared_calibration_error` on n_rows independent rows that the predictor had no part in.
    n_rows : int
        Rows it was computed from.
    n_outputs : int
        Different values that the predictor can return.
    least_probability : float, optional
        A lower bound, known beforehand, of the probability of every output; by default 1 / (2 n_outputs), which the
        final theorems suppose.
    level : float, default 0.05
        Probability with which the interval may miss.
    debiased : bool, default True
        Which estimator it was. The cancelling one has three terms of failure and one for the cancellation: delta =
        level / 4. The plug-in one has delta = level / 3.

    Returns
    -------
    SquaredErrorInterval
        The values that the estimate does not contradict, within [0, 1].

    Raises
    ------
    InputError
        If the rows are too few for the theorem: it needs more than 12 / least_probability * log(2 B / delta).

    See Also
    --------
    squared_calibration_error, squared_error_rows, squared_error_bootstrap

    References
    ----------
    A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019, the theorems named plug-in bound and
    cancelling bound.

    Examples
    --------
    >>> from calibrant.inference import squared_error_interval
    >>> found = squared_error_interval(0.0004, 1_000_000, 15)
    >>> round(found.interval.low, 6), round(found.interval.high, 6)
    (0.000146, 0.000717)
    """
    delta, least = _check_terms(n_outputs, least_probability, level, debiased)
    positive_integer(n_rows, "n_rows")
    if isinstance(estimate, bool) or not isinstance(estimate, int | float | np.number) or not -1.0 <= estimate <= 1.0:
        raise InputError("estimate", f"is {estimate!r:.40}; it must lie in [-1, 1]")
    enough = _least_rows(n_outputs, least, delta)
    if n_rows < enough:
        raise InputError("n_rows", f"is {n_rows:,}; with {n_outputs} outputs the theorem needs {enough:,} rows or more")
    c, a, t = _deviation_terms(n_rows, n_outputs, least, delta, debiased)
    # With r = sqrt(E): (1 + c) r^2 + sqrt(a) r + t >= estimate, and (1 - c) r^2 - sqrt(a) r - t <= estimate.
    lower = _root(1.0 + c, np.sqrt(a), t - estimate) ** 2
    upper = _root(1.0 - c, -np.sqrt(a), -t - estimate) ** 2  # from so many rows on c is below a half
    name = "cancelling" if debiased else "plug-in"
    interval = Interval(float(min(lower, 1.0)), float(min(upper, 1.0)))
    return SquaredErrorInterval(float(estimate), interval, float(level), f"{name} bound, finite-sample")


def squared_error_rows(
    error: float,
    n_outputs: int,
    *,
    effect_size: float = 0.5,
    least_probability: float | None = None,
    level: float = 0.05,
    debiased: bool = True,
) -> int:
    """Return how many rows separate a calibration error above a limit from one below a share of the limit.

    Parameters
    ----------
    error : float
        The limit, a root mean squared gap (not squared), in (0, 1].
    n_outputs, least_probability, level, debiased
        As for `squared_error_interval`.
    effect_size : float, default 0.5
        Errors below effect_size * error must be told from errors above it, each with failure probability at most level.

    Returns
    -------
    int
        The least number of rows with which the theorem proves that the test which compares the estimate with a fixed
        threshold does so.

    Raises
    ------
    InputError
        If a parameter cannot be used.

    See Also
    --------
    squared_error_interval, squared_calibration_error

    References
    ----------
    A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019, the theorems named plug-in bound and
    cancelling bound in their final form.

    Examples
    --------
    >>> from calibrant.inference import squared_error_rows
    >>> squared_error_rows(0.01, 2000) < squared_error_rows(0.01, 2000, debiased=False)
    True
    """
    for name, value, top in (("error", error, 1.0), ("effect_size", effect_size, 1.0 - 1e-9)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value <= top:
            raise InputError(name, f"is {value!r:.40}; it must be above 0 and {'at most' if top == 1.0 else 'below'} 1")
    delta, least = _check_terms(n_outputs, least_probability, level, debiased)
    high, low = error**2, (effect_size * error) ** 2

    def told_apart(n: int) -> bool:
        c, a, t = _deviation_terms(n, n_outputs, least, delta, debiased)
        # Above the limit the lower end only rises, wherever it is positive at the limit.
        return bool((1.0 - c) * high - np.sqrt(a * high) - t > (1.0 + c) * low + np.sqrt(a * low) + t)

    few = _least_rows(n_outputs, least, delta) - 1
    many = few + 1
    while not told_apart(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if told_apart(middle) else (middle, many)
    return many


def squared_error_bootstrap(
    y_true: Column,
    y_prob: Column,
    *,
    n_bins: int | None = None,
    strategy: Strategy = "exact",
    debiased: bool = True,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> SquaredErrorInterval:
    """Return the squared calibration error with a bootstrap interval, corrected for the bias of redrawing.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0 or 1.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    n_bins, strategy, debiased
        As for `squared_calibration_error`; bins stay where they are in every redrawn sample. The interval is always the
        debiased estimator's; debiased=False shows the plug-in estimate, and widens the interval to hold it.
    level : float, default 0.05
        Probability with which the interval may miss, half on either side, asymptotically.
    n_resamples : int, default 999
        Redrawn samples.
    random_state : int, numpy Generator or None
        Source of randomness.

    Returns
    -------
    SquaredErrorInterval
        The estimate, 0 where the debiased one is below, and an interval within [0, 1] that holds it.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, or an outcome is neither 0 nor 1. If there are fewer than 20 rows in
        a group. If there are too few surprises. The predictions must expect 50, the sum of v (1 - v), and 5 per group.
        The outcomes must hold 50, the sum of squares of y - v less its mean. So must the sum of (y - r)^2 about the
        rate r of their group.

    See Also
    --------
    squared_calibration_error, squared_error_interval

    Notes
    -----
    Rows are redrawn with replacement, as counts of ones and zeros in each group. For the redrawn samples the plug-in
    estimate is the truth; redrawn debiased estimates minus that truth have a mean, the estimator's bias, and a spread.
    The interval is the debiased estimate minus the bias, with the spread as it is on either side. It is not reflected,
    because the estimate's spread grows with the truth, so that it must reach farther up than down. The spread is
    multiplied by sqrt(1 + 2 / s), with s expected surprises per group: about what redrawing misses in groups with few.
    The interval is widened to hold the estimate. Coverage just above the minimum is measured in
    docs/reproductions/few-surprises.md. Cost: O(n_resamples * groups).

    Examples
    --------
    >>> from calibrant.inference import squared_error_bootstrap
    >>> y_true, y_prob = [0, 1, 0, 0, 1, 1] * 100, [0.25, 0.75] * 300
    >>> found = squared_error_bootstrap(y_true, y_prob, random_state=0)
    >>> round(found.estimate, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.0062, 0.001, 0.0138)
    """
    rows = Rows.of(y_true, y_prob)
    level = check_level(level)
    check_resamples(n_resamples, level, share=0.5)
    rng = generator(random_state)
    outcome, prediction = rows.y_true, rows.y_prob
    instead = "squared_error_interval holds where its own minimum of rows is met"
    check_surprises(outcome, prediction, instead, least=_LEAST_SURPRISES)
    groups = squared_error_groups(rows.sample, n_bins, strategy)
    n = outcome.size
    group = np.searchsorted(groups.last, prediction)
    ones = np.bincount(group, outcome, groups.last.size)
    zeros = np.rint(groups.count) - ones
    count, mean = ones + zeros, groups.prediction
    mask = count > 0
    fewest = int(np.argmin(np.where(mask, count, np.inf)))
    if count[fewest] < _LEAST_ROWS:
        raise InputError(
            "y_prob",
            f"has {counted(int(count[fewest]), 'row')} with predictions near {mean[fewest]:.6g}; resampling needs "
            f"{_LEAST_ROWS} or more in every group. Use fewer bins",
        )
    ones, zeros, mean = ones[mask], zeros[mask], mean[mask]
    k = mean.size
    each = _check_chance(prediction, ones, zeros)
    counts = rng.multinomial(n, np.concatenate([ones, zeros]) / n, n_resamples)
    redrawn = np.sort(squared_error_of_counts(counts[:, :k], counts[:, k:], mean, debiased=True))
    centre, truth = (float(squared_error_of_counts(ones[None], zeros[None], mean, d)[0]) for d in (True, False))
    estimate = centre if debiased else truth
    bias = float(redrawn.mean()) - truth
    rank = int(np.floor(0.5 * level * (n_resamples + 1) + 1e-9))
    wider = float(np.sqrt(1.0 + 2.0 / each))
    low, high = (centre - bias + wider * (float(end) - truth - bias) for end in (redrawn[rank - 1], redrawn[-rank]))
    low, estimate, high = (min(max(value, 0.0), 1.0) for value in (min(low, estimate), estimate, max(high, estimate)))
    method = f"bootstrap less its bias, {n_resamples:,} resamples"
    return SquaredErrorInterval(estimate, Interval(low, high), level, method)


def _check_chance(prediction: FloatArray, ones: npt.NDArray[Any], zeros: npt.NDArray[Any]) -> float:
    """Return the surprises that the predictions expect of a group, on average; refuse too few, or too few seen."""
    each = float(dot(prediction, 1.0 - prediction)) / ones.size
    if each < _LEAST_EACH:
        raise InputError(
            "y_prob",
            f"expects {each:.3g} surprises in each of {ones.size:,} groups, on average (the sum of v (1 - v)); "
            f"resampling needs {_LEAST_EACH} or more. Use fewer bins",
        )
    within = float((ones * zeros / (ones + zeros)).sum())
    if within < _LEAST_SURPRISES:
        raise InputError(
            "y_true",
            f"hardly varies within groups: its squared distances from the rates of its groups add up to {within:.3g}, "
            f"and resampling needs {_LEAST_SURPRISES}. squared_error_interval holds from its own minimum of rows",
        )
    return each


def squared_error_of_counts(
    ones: npt.NDArray[Any], zeros: npt.NDArray[Any], prediction: npt.NDArray[Any], debiased: bool
) -> np.ndarray:
    """Plug-in or debiased estimates of several samples at once, from the ones and zeros in each group, shape (b, k)."""
    count = ones + zeros
    rate = ones / np.maximum(count, 1)
    squares = (prediction - rate) ** 2
    if debiased:
        squares = np.where(count > 1, squares - rate * (1.0 - rate) / np.maximum(count - 1, 1), 0.0)
    return np.asarray((count * squares).sum(axis=-1) / count.sum(axis=-1))


def _check_terms(n_outputs: int, least: float | None, level: float, debiased: bool) -> tuple[float, float]:
    """Failure probability of one event, and the least probability of an output."""
    positive_integer(n_outputs, "n_outputs")
    delta = check_level(level) / (4.0 if debiased else 3.0)
    if least is None:
        return delta, 0.5 / n_outputs
    if isinstance(least, bool) or not isinstance(least, int | float | np.number) or not 0.0 < least <= 1.0 / n_outputs:
        raise InputError("least_probability", f"is {least!r:.40}; it must be above 0 and at most 1 / n_outputs")
    return delta, float(least)


def _least_rows(n_outputs: int, least: float, delta: float) -> int:
    """Rows from which the theorems hold."""
    return int(np.floor(12.0 / least * np.log(2.0 * n_outputs / delta))) + 1


def _deviation_terms(n: int, b: int, least: float, delta: float, debiased: bool) -> tuple[float, float, float]:
    """c, a and t of the bound c E + sqrt(a E) + t."""
    c = np.sqrt(3.0 / (n * least) * np.log(2.0 * b / delta))
    a = 2.0 * (1.0 + c) / n * np.log(2.0 / delta)
    t = 3.0 * np.sqrt(b) / n * np.log(n / delta) + delta / n if debiased else b / (2.0 * n) * np.log(2.0 * b / delta)
    return float(c), float(a), float(t)


def _root(square: float, linear: float, constant: float) -> float:
    """Larger root of square r^2 + linear r + constant, at least 0."""
    inside = linear**2 - 4.0 * square * constant
    return 0.0 if inside < 0.0 else max((-linear + np.sqrt(inside)) / (2.0 * square), 0.0)
