"""Tests whose statistic is a calibration error or a range of cumulative differences, exact at any sample size."""

from __future__ import annotations

__all__ = ["averaged_two_bin_test", "cumulative_calibration_test", "kernel_calibration_test", "smooth_calibration_test"]

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, one_of, positive
from calibrant.door.columns import Column, FloatArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.inference.testing.result import LEAST, ClassicalResult, TestResult, register_test
from calibrant.kernels import pairs
from calibrant.kernels.sums import dot
from calibrant.kernels.walks import reach, two_bins
from calibrant.measures.smooth import largest_correlation
from calibrant.resampling.redraw import redrawn_pvalue

Error = Callable[[FloatArray, FloatArray], float]
"""Takes distinct predictions and the sums of residuals there, over the number of rows."""


@register_test(
    proof="a smooth error this large is more than chance.",
    limits="detect fast oscillations, which are small in the smooth error too.",
    promise="level exact",
    source="nearly-linear time, Sections 3.4 and 5; unifying theory, Section 7.",
    order=30,
)
def smooth_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> TestResult:
    """Test whether a smooth calibration error as large as this one is more than chance.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1; with ``trials`` the share of events among them.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights. They may tell outcomes: two values, one for each outcome, are taken to undo a sampling by
        outcome. Other weights are redrawn with outcomes, which needs many rows (docs/weights.md).
    trials : column of shape (n,), optional
        Independent outcomes behind each row, whole numbers from 1.
    groups : column of shape (n,), optional
        Which group each row belongs to, if only rows of different groups are independent. Then signs of groups are
        redrawn where groups are many and alike enough. The total of the other rows has a bound for any dependence
        (docs/calibration-test.md).
    outcome_free_weights : bool, default False
        Declare that weights say nothing of outcomes at a given prediction. They then stay where outcomes are redrawn,
        which is exact at any number of rows.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 999
        Redrawn sets of outcomes.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.

    Returns
    -------
    TestResult
        The statistic is `smooth_calibration_error`.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    smooth_calibration_error, tcal_test

    Notes
    -----
    If predictions are calibrated and rows independent, outcomes given the predictions are independent with these very
    probabilities. So p = (1 + number of errors at least as large) / (1 + R), with R sets drawn that way. It is exact at
    any n, and never 0. Cost: a sort, then a pass per resample, 4 ms at 10^5 rows.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Section 3.4.

    Examples
    --------
    >>> from calibrant import smooth_calibration_test
    >>> result = smooth_calibration_test([1, 1, 1, 1, 1, 0, 1], [0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.3], random_state=0)
    >>> result.reject, result.pvalue
    (True, 0.001)
    """
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    return _resampled(largest_correlation, "smooth calibration test", rows, level, n_resamples, random_state)


@register_test(
    proof="a Laplace kernel error this large is more than chance.",
    limits="detect fast oscillations either.",
    promise="level exact",
    source="unifying theory, Section 8; D. Widmann et al., 2019.",
    order=40,
)
def kernel_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    bandwidth: float = 1.0,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> TestResult:
    """Test whether a Laplace-kernel calibration error as large as this one is more than chance.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples, random_state
        As for `smooth_calibration_test`.
    bandwidth : float, default 1.0
        Of the kernel exp(-|u - v| / bandwidth).

    Returns
    -------
    TestResult
        The statistic is `kernel_calibration_error` with the Laplace kernel.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    kernel_calibration_error, smooth_calibration_test

    Notes
    -----
    As `smooth_calibration_test`. Cost: a sort, then a pass per resample, 2 ms at 10^5 rows.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Section 8.

    Examples
    --------
    >>> from calibrant import kernel_calibration_test
    >>> kernel_calibration_test([1, 1, 1, 1, 1, 1], [0.1, 0.2, 0.1, 0.3, 0.2, 0.1], random_state=0).reject
    True
    """
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    positive(bandwidth, "bandwidth")

    def error(v: FloatArray, b: FloatArray) -> float:
        return float(np.sqrt(max(0.0, pairs.laplace(v, b, bandwidth))))

    return _resampled(error, "kernel calibration test", rows, level, n_resamples, random_state)


@register_test(
    proof="a squared averaged two-bin error this large is more than chance.",
    limits="detect fast oscillations, which are small in every distance from calibration.",
    promise="level exact",
    source="J. Hartline, L. Hu and Y. Wu, COLT 2026.",
    order=50,
)
def averaged_two_bin_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> TestResult:
    """Test whether a squared averaged two-bin error as large as this one is more than chance.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples, random_state
        As for `smooth_calibration_test`.

    Returns
    -------
    TestResult
        The statistic is `squared_averaged_two_bin_error`, debiased: near 0 for calibrated predictions, and below it
        about half the time. With weights or groups the mean, under calibration, of the rows' products with themselves
        is subtracted.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, there is one row alone, or there are too few resamples to reject at
        all.

    See Also
    --------
    squared_averaged_two_bin_error, smooth_calibration_test

    Notes
    -----
    As `smooth_calibration_test`. Cost: a sort, then a pass per resample, 2 ms at 10^5 rows.

    References
    ----------
    Hartline, Hu and Wu, A perfectly truthful calibration measure, COLT 2026, PMLR 336.

    Examples
    --------
    >>> from calibrant.inference import averaged_two_bin_test
    >>> averaged_two_bin_test([1, 1, 1, 1, 1, 1], [0.1, 0.2, 0.1, 0.3, 0.2, 0.1], random_state=0).reject
    True
    """
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    sample = rows.tested.sample
    n, squares = sample.total_weight, float(sample.squared_weight.sum())
    if n * n - squares <= 1e-12 * n * n:
        raise InputError("y_true", "has 1 row; pairs of rows are compared, so at least two are needed")
    # Of the rows' products with themselves, were they calibrated; a row's is v (1 - v) + (y - v) (1 - 2 v).
    expected = dot(sample.squared_weight * sample.prediction, 1.0 - sample.prediction)
    own_are_known = rows.tested.weight is None and rows.group is None

    def error(v: FloatArray, b: FloatArray) -> float:
        own = expected / n**2 + (dot(b, 1.0 - 2.0 * v) / n if own_are_known else 0.0)
        return (two_bins(v, b)[1] - own) * (n * n / (n * n - squares))

    return _resampled(error, "averaged two-bin test", rows, level, n_resamples, random_state)


def _resampled(
    error: Error, method: str, rows: Rows, level: float, n_resamples: int, random_state: RandomState
) -> TestResult:
    level = check_level(level)
    sample = rows.tested.sample
    v, n = np.ascontiguousarray(sample.prediction), sample.total_weight
    observed, pvalue = redrawn_pvalue(
        rows.tested,
        lambda excess: error(v, excess / n),
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    method = f"{method} ({n_resamples:,} resamples)"
    return TestResult.of(rows, observed, pvalue, level, method)


_SURELY = 0.01  # Brownian motion reaches as far with a probability of 1 to the last bit; its square may underflow
Form = Literal["kuiper", "kolmogorov-smirnov"]


@register_test(
    proof="outcomes exceed the predictions, or fall short of them, over some range.",
    limits="detect faults that alternate too fast for the walk to climb.",
    promise="level exact",
    source="Arrieta-Ibarra et al., JMLR 2022.",
    order=120,
)
def cumulative_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    form: Form = "kuiper",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ClassicalResult:
    """Test whether outcomes exceed the predictions, or fall short of them, over any range of predictions.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples
        As for `smooth_calibration_test`.
    form : {"kuiper", "kolmogorov-smirnov"}
        Range of the cumulative differences, the largest over all intervals of predictions; or their largest absolute
        value, over intervals that begin at 0.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result.

    Returns
    -------
    ClassicalResult
        The statistic is in standard deviations of the whole sum, sqrt(sum w^2 v (1 - v)).

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    cutoff_calibration_error, smooth_calibration_test, tcal_test

    Notes
    -----
    C(u) = sum of w (y - v) over rows with v <= u, from C = 0. Equal predictions are one step, so no random jitter is
    needed. ``asymptotic_pvalue`` is that of the range, or the maximum, of Brownian motion. Cost: a sort, then one pass
    per resample.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu, Metrics of calibration for probabilistic predictions, JMLR 23, 2022.
    W. Feller, The asymptotic distribution of the range of sums, Annals of Mathematical Statistics 22, 1951.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import cumulative_calibration_test
    >>> y_prob = np.linspace(0.02, 0.98, 400)
    >>> cumulative_calibration_test(y_prob > 0.5, y_prob, random_state=0).pvalue
    0.001
    """
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    one_of(form, get_args(Form), "form")
    sample, level = rows.tested.sample, check_level(level)
    v = sample.prediction
    scale = math.sqrt(dot(sample.squared_weight * v, 1.0 - v))

    def statistic(excess: FloatArray) -> float:
        low, high = reach(excess)
        furthest = high - low if form == "kuiper" else max(high, -low)
        return furthest / scale if scale else math.inf if furthest else 0.0

    observed, pvalue = redrawn_pvalue(
        rows.tested, statistic, level=level, n_resamples=n_resamples, random_state=random_state
    )
    tail = (_range_tail if form == "kuiper" else _maximum_tail)(observed)
    method = f"cumulative differences, {form.title()} ({n_resamples:,} resamples)"
    return ClassicalResult.of(rows, observed, pvalue, level, method, min(1.0, max(LEAST, tail)))


def _maximum_tail(x: float) -> float:
    """Probability that Brownian motion on [0, 1] leaves (-x, x); one series for each side of 1."""
    if x < _SURELY:
        return 1.0
    if x > 1.0:
        odd = np.arange(1.0, 41.0, 2.0)
        return float(2.0 * (np.where(odd % 4.0 == 1.0, 1.0, -1.0) * _both_tails(odd * x)).sum())
    k = np.arange(40) + 0.5
    sign = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    return 1.0 - float((sign / k * np.exp(-((k * math.pi / x) ** 2) / 2.0)).sum()) * 2.0 / math.pi


def _range_tail(x: float) -> float:
    """Probability that the range of Brownian motion on [0, 1] exceeds x."""
    if x < _SURELY:
        return 1.0
    if x > 2.0:
        whole = np.arange(1.0, 41.0)
        return float(4.0 * (np.where(whole % 2.0 == 1.0, 1.0, -1.0) * whole * _both_tails(whole * x)).sum())
    k = np.arange(40) + 0.5
    terms = (8.0 / x**2 + 2.0 / (k * math.pi) ** 2) * np.exp(-2.0 * (k * math.pi / x) ** 2)
    return 1.0 - float(terms.sum())


def _both_tails(x: FloatArray) -> FloatArray:
    """Probability that a standard normal variable exceeds x in absolute value."""
    from calibrant.door.special import erfc

    return np.asarray(erfc(x / math.sqrt(2.0)))
