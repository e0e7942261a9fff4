"""Tests that predate distances: Cox, Hosmer-Lemeshow, Spiegelhalter and Miller, exact at any sample size."""

from __future__ import annotations

__all__ = ["ClassicalResult", "CoxResult", "cox_test", "hosmer_lemeshow_test", "miller_test", "spiegelhalter_test"]

import math
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, positive_integer
from calibrant.door.columns import Column, FloatArray
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference.result import LEAST, TestResult, impossible_rows
from calibrant.kernels.sums import dot
from calibrant.measures.binned import bins_from_sample
from calibrant.resampling.redraw import redrawn_pvalue

_SPREAD = 1e-12  # of log-odds, relative: less is one value


@dataclass(frozen=True, repr=False)
class ClassicalResult(TestResult):
    """The outcome of a test whose statistic has a known distribution in large samples.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible
        As in `TestResult`; the p-value comes from redrawn outcomes and is exact at any number of rows.
    asymptotic_pvalue : float
        The textbook's, from the distribution that the statistic tends to; for comparison with other programs.

    See Also
    --------
    cox_test, hosmer_lemeshow_test, spiegelhalter_test, miller_test, cumulative_calibration_test
    """

    asymptotic_pvalue: float


@dataclass(frozen=True, repr=False)
class CoxResult(ClassicalResult):
    """The outcome of `cox_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, asymptotic_pvalue, impossible
        As in `ClassicalResult`.
    intercept, slope : float or None
        Maximum-likelihood fit of log-odds(outcome) = intercept + slope * log-odds(prediction); 0 and 1 when calibrated.
        None where no finite fit exists: one outcome, one prediction, or outcomes that a threshold tells apart.

    See Also
    --------
    cox_test
    """

    intercept: float | None
    slope: float | None


def cox_test(
    y_true: Column,
    y_prob: Column,
    *,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> CoxResult:
    """Test whether a line through the log-odds of the predictions has intercept 0 and slope 1, by its score.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1]. Predictions of exactly 0 or 1 say nothing about a line; if one of them is
        contradicted the statistic is infinite.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 999
        Redrawn sets of outcomes.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result.

    Returns
    -------
    CoxResult
        The score statistic, with the fitted intercept and slope beside it.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    hosmer_lemeshow_test, miller_test, spiegelhalter_test

    Notes
    -----
    With residuals r = y - v, weights w = v (1 - v) and log-odds l centred by them, the statistic is
    (sum r)^2 / sum w + (sum r l)^2 / sum w l^2, chi-squared with two degrees of freedom in large samples, one where the
    predictions are a single value. It sees lines only: a predictor wrong in other ways can pass. One pass a resample.
    Cost: a sort, then a logistic fit of two numbers a resample.

    References
    ----------
    D. R. Cox, Two further applications of a model for binary regression, Biometrika 45, 1958. T-Cal, Section 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import cox_test
    >>> y_prob = np.linspace(0.02, 0.98, 400)
    >>> y_true = np.random.default_rng(0).random(400) < y_prob**2 / (y_prob**2 + (1 - y_prob)**2)
    >>> result = cox_test(y_true, y_prob, random_state=0)
    >>> result.reject, round(result.slope, 1)
    (True, 2.0)
    """
    return cox_test_on_rows(Rows.of(y_true, y_prob), level=level, n_resamples=n_resamples, random_state=random_state)


def cox_test_on_rows(rows: Rows, *, level: float, n_resamples: int, random_state: RandomState) -> CoxResult:
    """`cox_test` of rows that were read already."""
    sample, level = rows.sample, check_level(level)
    v = sample.prediction
    inside = (v > 0.0) & (v < 1.0)
    weight = np.where(inside, sample.count * v * (1.0 - v), 0.0)
    odds = np.zeros(v.size)
    odds[inside] = np.log(v[inside] / (1.0 - v[inside]))
    total = float(weight.sum())
    centred = np.where(inside, odds - (dot(weight, odds) / total if total else 0.0), 0.0)
    spread = dot(weight, centred**2)
    sloped = spread > _SPREAD * dot(weight, odds**2)

    def statistic(excess: FloatArray) -> float:
        if not inside.all() and (excess[~inside] != 0.0).any():
            return math.inf
        if total == 0.0:
            return 0.0
        score = float(excess[inside].sum()) ** 2 / total
        return score + (dot(excess, centred) ** 2 / spread if sloped else 0.0)

    degrees = int(total > 0.0) + int(sloped)
    observed, pvalue = redrawn_pvalue(
        sample, statistic, level=level, n_resamples=n_resamples, random_state=random_state
    )
    line = _line(odds[inside], sample.ones[inside], sample.count[inside]) if sloped else (None, None)
    method = f"Cox's score test ({n_resamples:,} resamples)"
    asymptotic = _chi_squared(observed, degrees)
    return CoxResult(
        observed, pvalue, pvalue <= level, level, method, asymptotic, *line, impossible=impossible_rows(rows)
    )


def hosmer_lemeshow_test(
    y_true: Column,
    y_prob: Column,
    *,
    n_bins: int = 10,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ClassicalResult:
    """Test whether groups of rows with similar predictions have as many ones as predicted.

    Parameters
    ----------
    y_true, y_prob, level, n_resamples, random_state
        As for `cox_test`.
    n_bins : int, default 10
        Groups of about equally many rows; equal predictions stay together.

    Returns
    -------
    ClassicalResult
        The sum over groups of (ones - expected)^2 / (sum of v (1 - v) over the rows of the group).

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    cox_test, spiegelhalter_test, tcal_test

    Notes
    -----
    The variance of a group's ones is the sum of v (1 - v). Textbooks put N p (1 - p), with p the mean of the group's N
    predictions, which is larger by N times their variance within the group: there the statistic falls short of its
    distribution, and next to 0 and 1 the mean rounds to certainty. Both agree where a group has one prediction.
    ``asymptotic_pvalue`` has as many degrees of freedom as there are groups that are not all certain, as it must for
    predictions that were not fitted to these outcomes. Miscalibration within a group is not seen. Where a group of
    certain predictions is contradicted the statistic is infinite.
    Cost: a sort, then one pass over the bins a resample.

    References
    ----------
    D. W. Hosmer and S. Lemeshow, Goodness of fit tests for the multiple logistic regression model, Communications in
    Statistics 9, 1980. T-Cal, Section 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import hosmer_lemeshow_test
    >>> y_prob = np.linspace(0.02, 0.98, 400)
    >>> hosmer_lemeshow_test(y_prob > 0.5, y_prob, random_state=0).reject
    True
    """
    return hosmer_lemeshow_test_on_rows(
        Rows.of(y_true, y_prob), n_bins=n_bins, level=level, n_resamples=n_resamples, random_state=random_state
    )


def hosmer_lemeshow_test_on_rows(
    rows: Rows, *, n_bins: int, level: float, n_resamples: int, random_state: RandomState
) -> ClassicalResult:
    """`hosmer_lemeshow_test` of rows that were read already."""
    positive_integer(n_bins, "n_bins")
    sample, level = rows.sample, check_level(level)
    first = np.searchsorted(sample.prediction, bins_from_sample(sample, n_bins, "quantile").first)
    found = _chi_squared_of(sample, first, "Hosmer-Lemeshow test", level, n_resamples, random_state)
    return replace(found, impossible=impossible_rows(rows))


def miller_test(
    y_true: Column,
    y_prob: Column,
    *,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ClassicalResult:
    """Test whether each distinct prediction has as many ones as predicted, by one chi-squared over all of them.

    Parameters
    ----------
    y_true, y_prob, level, n_resamples, random_state
        As for `cox_test`.

    Returns
    -------
    ClassicalResult
        The sum over distinct predictions v of (ones - N v)^2 / (N v (1 - v)).

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    cox_test, spiegelhalter_test

    Notes
    -----
    Meant for predictions that take few values; where none repeats it is Pearson's statistic of single rows, which has
    little power. Certain predictions count only if contradicted: then the statistic is infinite.
    Cost: a sort, then a logistic fit of two numbers a resample.

    References
    ----------
    R. G. Miller, Statistical prediction by discriminant analysis, 1962, Section 5. T-Cal, Section 1.1 and Appendix B.4.

    Examples
    --------
    >>> from calibrant.inference import miller_test
    >>> y_true = [1] * 10 + [0] * 40 + [1] * 25 + [0] * 25
    >>> round(miller_test(y_true, [0.2] * 50 + [0.8] * 50, random_state=0).statistic, 9)
    28.125
    """
    return miller_test_on_rows(Rows.of(y_true, y_prob), level=level, n_resamples=n_resamples, random_state=random_state)


def miller_test_on_rows(rows: Rows, *, level: float, n_resamples: int, random_state: RandomState) -> ClassicalResult:
    """`miller_test` of rows that were read already."""
    sample, level = rows.sample, check_level(level)
    first = np.arange(sample.n_distinct)
    found = _chi_squared_of(sample, first, "Miller's chi-squared test", level, n_resamples, random_state)
    return replace(found, impossible=impossible_rows(rows))


def spiegelhalter_test(
    y_true: Column,
    y_prob: Column,
    *,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ClassicalResult:
    """Test whether the Brier score is what calibrated predictions would have; two-sided.

    Parameters
    ----------
    y_true, y_prob, level, n_resamples, random_state
        As for `cox_test`.

    Returns
    -------
    ClassicalResult
        The statistic is z = sum (y - v)(1 - 2v) / sqrt(sum (1 - 2v)^2 v (1 - v)), with its sign: positive where the
        predictions are more extreme than the outcomes. Both signs count as evidence.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    cox_test, hosmer_lemeshow_test, miller_test

    Notes
    -----
    Blind to errors that leave the Brier score where it is: predictions of 1/2 are never rejected. Where every
    prediction is 0, 1/2 or 1 the variance is 0: z is 0, or infinite if a certain prediction is contradicted.
    Cost: a sort, then one pass a resample.

    References
    ----------
    D. J. Spiegelhalter, Probabilistic prediction in patient management and clinical trials, Statistics in Medicine 5,
    1986. T-Cal, Section 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import spiegelhalter_test
    >>> y_prob = np.linspace(0.02, 0.98, 400)
    >>> result = spiegelhalter_test(y_prob > 0.5, y_prob, random_state=0)
    >>> round(result.statistic, 1), result.pvalue
    (-9.3, 0.001)
    """
    return spiegelhalter_test_on_rows(
        Rows.of(y_true, y_prob), level=level, n_resamples=n_resamples, random_state=random_state
    )


def spiegelhalter_test_on_rows(
    rows: Rows, *, level: float, n_resamples: int, random_state: RandomState
) -> ClassicalResult:
    """`spiegelhalter_test` of rows that were read already."""
    sample, level = rows.sample, check_level(level)
    v = sample.prediction
    slope = 1.0 - 2.0 * v
    deviation = math.sqrt(dot(sample.count * v * (1.0 - v), slope**2))

    def score(excess: FloatArray) -> float:
        moved = dot(excess, slope)
        return moved / deviation if deviation else math.copysign(math.inf, moved) if moved else 0.0

    _, pvalue = redrawn_pvalue(
        sample,
        lambda excess: abs(score(excess)),
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    z = score(sample.ones - sample.count * v)
    asymptotic = max(LEAST, math.erfc(abs(z) / math.sqrt(2.0)))
    method = f"Spiegelhalter's test, two-sided ({n_resamples:,} resamples)"
    return ClassicalResult(z, pvalue, pvalue <= level, level, method, asymptotic, impossible=impossible_rows(rows))


def _chi_squared_of(
    sample: Sample, first: np.ndarray, name: str, level: float, n_resamples: int, random_state: RandomState
) -> ClassicalResult:
    """Sum over groups of consecutive predictions of squared excess over its variance."""
    v = sample.prediction
    variance = np.add.reduceat(sample.count * v * (1.0 - v), first)  # above 0 unless all of a group are certain
    random = variance > 0.0
    divisor = np.where(random, variance, 1.0)
    certain = ~np.repeat(random, np.diff(first, append=v.size))

    def statistic(excess: FloatArray) -> float:
        if excess[certain].any():  # one by one: a contradicted 0 and a contradicted 1 must not cancel
            return math.inf
        moved = np.add.reduceat(excess, first)
        with np.errstate(over="ignore"):  # one event where the chance is below 1e-308
            return float((moved**2 / divisor)[random].sum())

    observed, pvalue = redrawn_pvalue(
        sample, statistic, level=level, n_resamples=n_resamples, random_state=random_state
    )
    method = f"{name} of {first.size:,} groups ({n_resamples:,} resamples)"
    asymptotic = _chi_squared(observed, int(random.sum()))
    return ClassicalResult(observed, pvalue, pvalue <= level, level, method, asymptotic)


def _chi_squared(statistic: float, degrees: int) -> float:
    from scipy.special import chdtrc

    if degrees == 0:
        return 1.0 if statistic == 0.0 else LEAST
    return max(LEAST, float(chdtrc(degrees, statistic)))


def _line(odds: FloatArray, ones: FloatArray, count: FloatArray) -> tuple[float | None, float | None]:
    """Intercept and slope of largest likelihood, where they are finite."""
    from calibrant.measures.logistic import fit_logistic

    mixed_low, mixed_high = odds[ones > 0], odds[ones < count]
    if not mixed_low.size or not mixed_high.size:
        return None, None
    # Complete or quasi-complete separation, in either direction, sends the slope to infinity.
    if mixed_low.min() >= mixed_high.max() or mixed_high.min() >= mixed_low.max():
        return None, None
    features = np.vstack([np.ones(odds.size), odds])
    intercept, slope = fit_logistic(features, ones / count, count / count.sum(), np.array([0.0, 1.0]))
    return float(intercept), float(slope)
