"""Tests that predate distances: Cox, Spiegelhalter, Hosmer and Lemeshow, Miller; exact at any sample size."""

from __future__ import annotations

__all__ = ["CoxResult", "HosmerLemeshowResult", "cox_test", "hosmer_lemeshow_test", "miller_test", "spiegelhalter_test"]

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, positive_integer
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import FloatOrNull
from calibrant.inference.testing.result import LEAST, ClassicalResult, register_test
from calibrant.kernels.sums import dot
from calibrant.measures.binned import bins_from_sample
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import redrawn_pvalue

_SPREAD = 1e-12  # of log-odds, relative: less is one value


@dataclass(frozen=True, repr=False)
class CoxResult(ClassicalResult):
    """The outcome of `cox_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, asymptotic_pvalue, impossible, premise
        As in `ClassicalResult`.
    intercept, slope : float or None
        Maximum-likelihood fit of log-odds(outcome) = intercept + slope * log-odds(prediction); 0 and 1 when calibrated.
        None if no finite fit exists: one outcome, one prediction, or outcomes that a threshold separates.

    See Also
    --------
    cox_test
    """

    intercept: float | None
    slope: float | None


@register_test(
    proof="a line in the log-odds fits better than intercept 0 and slope 1.",
    limits="detect a fault that is no line in the log-odds.",
    promise="level exact",
    source="D. R. Cox, 1958; T-Cal, Section 1.1.",
    order=80,
)
def cox_test(
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
) -> CoxResult:
    """Test whether a line through the log-odds of the predictions has intercept 0 and slope 1, by its score.

    Parameters
    ----------
    y_true, sample_weight, trials, groups, outcome_free_weights, level, n_resamples
        As for `smooth_calibration_test`.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1]. Predictions of exactly 0 or 1 carry no information about a line; if one of
        them is contradicted the statistic is infinite.
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
    The statistic is (sum r)^2 / sum u + (sum r l)^2 / sum u l^2. Here r = y - v are residuals, u = v (1 - v) variances,
    and l log-odds centred by them. Weights w turn r into w r and u into w^2 u. It is chi-squared with two degrees of
    freedom in large samples, one if the predictions are a single value. It detects lines only: a predictor wrong in
    other ways can pass. Cost: a sort, then a logistic fit of two numbers per resample.

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
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    sample, level = rows.tested.sample, check_level(level)
    v = sample.prediction
    inside = (v > 0.0) & (v < 1.0)
    weight = np.where(inside, sample.squared_weight * v * (1.0 - v), 0.0)
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
        rows.tested, statistic, level=level, n_resamples=n_resamples, random_state=random_state
    )
    line = _line(rows.sample) if sloped else (None, None)
    method = f"Cox's score test ({n_resamples:,} resamples)"
    asymptotic = chi_squared_tail(observed, degrees)
    return CoxResult.of(rows, observed, pvalue, level, method, asymptotic, *line)


@register_test(
    proof="the Brier score is larger or smaller than calibrated predictions would have.",
    limits="detect faults that leave the Brier score unchanged.",
    promise="level exact",
    source="D. J. Spiegelhalter, 1986; T-Cal, Section 1.1.",
    order=110,
)
def spiegelhalter_test(
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
) -> ClassicalResult:
    """Test whether the Brier score is what calibrated predictions would have; two-sided.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples, random_state
        As for `cox_test`.

    Returns
    -------
    ClassicalResult
        The statistic is z = sum (y - v)(1 - 2v) / sqrt(sum (1 - 2v)^2 v (1 - v)), with its sign. It is positive where
        the predictions are more extreme than the outcomes. Both signs count as evidence.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    cox_test, hosmer_lemeshow_test, miller_test

    Notes
    -----
    Blind to errors that leave the Brier score unchanged: predictions of 1/2 are never rejected. If every prediction is
    0, 1/2 or 1 the variance is 0: z is 0, or infinite if a certain prediction is contradicted. Cost: a sort, then one
    pass per resample.

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
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    sample, level = rows.tested.sample, check_level(level)
    v = sample.prediction
    slope = 1.0 - 2.0 * v
    deviation = math.sqrt(dot(sample.squared_weight * v * (1.0 - v), slope**2))

    def score(excess: FloatArray) -> float:
        moved = dot(excess, slope)
        return moved / deviation if deviation else math.copysign(math.inf, moved) if moved else 0.0

    _, pvalue = redrawn_pvalue(
        rows.tested, lambda excess: abs(score(excess)), level=level, n_resamples=n_resamples, random_state=random_state
    )
    z = score(sample.weighted_outcome - sample.weight * v)
    asymptotic = max(LEAST, math.erfc(abs(z) / math.sqrt(2.0)))
    method = f"Spiegelhalter's test, two-sided ({n_resamples:,} resamples)"
    return ClassicalResult.of(rows, z, pvalue, level, method, asymptotic)


def chi_squared_tail(statistic: float, degrees: int) -> float:
    """Probability that a chi-squared variable is at least as large; never said to be 0."""
    from calibrant.door.special import chdtrc

    if degrees == 0:
        return 1.0 if statistic == 0.0 else LEAST
    return max(LEAST, float(chdtrc(degrees, statistic)))


def _line(sample: Sample) -> tuple[float | None, float | None]:
    """Intercept and slope of largest likelihood, where they are finite."""
    from calibrant.measures.logistic import fit_logistic

    v = sample.prediction
    inside = (v > 0.0) & (v < 1.0)
    odds = np.log(v[inside] / (1.0 - v[inside]))
    mass, events = sample.weight[inside], sample.weighted_outcome[inside]
    mixed_low, mixed_high = odds[sample.ones[inside] > 0], odds[sample.ones[inside] < sample.count[inside]]
    if not mixed_low.size or not mixed_high.size:
        return None, None
    # Complete or quasi-complete separation, in either direction, sends the slope to infinity.
    if mixed_low.min() >= mixed_high.max() or mixed_high.min() >= mixed_low.max():
        return None, None
    features = np.vstack([np.ones(odds.size), odds])
    intercept, slope = fit_logistic(features, events / mass, mass / mass.sum(), np.array([0.0, 1.0]))
    return float(intercept), float(slope)


@dataclass(frozen=True, repr=False)
class HosmerLemeshowResult(ClassicalResult):
    """The outcome of `hosmer_lemeshow_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, asymptotic_pvalue, impossible, premise
        As in `ClassicalResult`.
    textbook_statistic, textbook_pvalue : float or None
        What textbooks and R's ``hoslem.test`` report of the same rows, for comparison; see `hosmer_lemeshow_test`. None
        with weights, trials or groups; the p-value also with fewer than three groups.

    See Also
    --------
    hosmer_lemeshow_test
    """

    textbook_statistic: FloatOrNull | None
    textbook_pvalue: FloatOrNull | None


@register_test(
    proof="some tenth of the rows has more or fewer events than predicted.",
    limits="detect faults within a tenth.",
    promise="level exact",
    source="Hosmer and Lemeshow, 1980; T-Cal, Section 1.1.",
    order=90,
)
def hosmer_lemeshow_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    n_bins: int = 10,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> HosmerLemeshowResult:
    """Test whether groups of rows with similar predictions have as many events as predicted.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples, random_state
        As for `cox_test`.
    n_bins : int, default 10
        Groups of about equally many rows; equal predictions stay together.

    Returns
    -------
    HosmerLemeshowResult
        The sum over groups of (ones - expected)^2 / (sum of v (1 - v) over the rows of the group). With weights w it
        has (sum of w (y - v))^2 / (sum of w^2 v (1 - v)). Where both are drawn again the divisor is the variance of w
        (y - v) (docs/weights.md).

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    cox_test, spiegelhalter_test, tcal_test

    Notes
    -----
    The variance of a group's ones is the sum of v (1 - v). Textbooks use N p (1 - p), with p the mean of the group's N
    predictions. It is larger by N times their variance within the group. So their statistic is too small, and next to 0
    and 1 the mean rounds to certainty. Both agree if a group has one prediction. ``asymptotic_pvalue`` has as many
    degrees of freedom as there are groups that are not all certain. That is right for predictions that were not fitted
    to these outcomes. ``textbook_statistic`` is the textbooks', over groups cut at interpolated quantiles, as R cuts
    them. Where a cut is a prediction to the last bit, R may take its other side. A group without rows is left out,
    where R gives NaN. ``textbook_pvalue`` has `n_bins` - 2 degrees of freedom.
    That is for a logistic model fitted to the same rows, and rejects too often otherwise. Miscalibration within a group
    is not detected. If a group of certain predictions is contradicted the statistic is infinite. Cost: a sort, then one
    pass over the bins per resample.

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
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    positive_integer(n_bins, "n_bins")
    sample, level = rows.tested.sample, check_level(level)
    first = np.searchsorted(sample.prediction, bins_from_sample(sample, n_bins, "quantile").first)
    result = _chi_squared_of(rows, first, "Hosmer-Lemeshow test", level, n_resamples, random_state)
    statistic = textbook = None
    if rows.weight is None and rows.trials is None and rows.group is None:
        statistic = _textbook_statistic(rows.y_true, rows.y_prob, n_bins)
        textbook = chi_squared_tail(statistic, n_bins - 2) if n_bins > 2 else None
    return HosmerLemeshowResult(**vars(result), textbook_statistic=statistic, textbook_pvalue=textbook)


def _textbook_statistic(outcome: IntArray, prediction: FloatArray, n_bins: int) -> float:
    """Pearson's statistic of events and of other rows, over groups between quantiles."""
    edges = np.unique(np.quantile(prediction, np.arange(n_bins + 1) / n_bins))
    group = np.maximum(np.searchsorted(edges, prediction, side="left") - 1, 0)  # (edge, next edge], and the lowest edge
    n, ones, expected = (np.bincount(group, each) for each in (np.ones(group.size), outcome, prediction))
    excess = (ones - expected) ** 2
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        parts = [np.where(excess == 0.0, 0.0, excess / each) for each in (expected, n - expected)]
    return float(np.sum(parts))


@register_test(
    proof="at one of a few values of the predictions the event rate differs from it.",
    limits="say at which; have power where predictions hardly repeat.",
    promise="level exact",
    source="R. G. Miller, 1962; T-Cal, Appendix B.4.",
    order=100,
)
def miller_test(
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
) -> ClassicalResult:
    """Test whether each distinct prediction has as many ones as predicted, by one chi-squared over all of them.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples, random_state
        As for `cox_test`.

    Returns
    -------
    ClassicalResult
        The sum over distinct predictions v of (ones - N v)^2 / (N v (1 - v)); with weights as in
        `hosmer_lemeshow_test`.

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
    Cost: a sort, then a logistic fit of two numbers per resample.

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
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    first, level = np.arange(rows.tested.sample.n_distinct), check_level(level)
    return _chi_squared_of(rows, first, "Miller's chi-squared test", level, n_resamples, random_state)


def _chi_squared_of(
    rows: Rows, first: IntArray, name: str, level: float, n_resamples: int, random_state: RandomState
) -> ClassicalResult:
    """Sum over groups of consecutive predictions of squared excess over its variance."""
    tested = rows.tested
    sample, v = tested.sample, tested.sample.prediction
    each = sample.squared_weight * v * (1.0 - v)
    if tested.jointly:  # weights that stay where they are say nothing of those that are drawn there
        joint = JointRows.of(tested)
        moved = joint.spread**2 * joint.chance * (1.0 - joint.chance)
        each = np.asarray(np.bincount(np.searchsorted(v, joint.prediction), moved, v.size), np.float64)
    variance = np.add.reduceat(each, first)  # above 0 unless all are certain
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
        tested, statistic, level=level, n_resamples=n_resamples, random_state=random_state
    )
    method = f"{name} of {first.size:,} groups ({n_resamples:,} resamples)"
    asymptotic = chi_squared_tail(observed, int(random.sum()))
    return ClassicalResult.of(rows, observed, pvalue, level, method, asymptotic)
