"""Tests by one chi-squared over groups of predictions: Hosmer and Lemeshow's, Miller's; exact at any sample size."""

from __future__ import annotations

__all__ = ["HosmerLemeshowResult", "hosmer_lemeshow_test", "miller_test"]

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, positive_integer
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.door.values import FloatOrNull
from calibrant.inference.testing.classical import ClassicalResult, chi_squared_tail
from calibrant.inference.testing.registry import register_test
from calibrant.measures.binned import bins_from_sample
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import redrawn_pvalue


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
    source="Hosmer and Lemeshow, 1980; T-Cal, Section 1.1.",
    order=90,
)
def hosmer_lemeshow_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Column | None = None,
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
    return hosmer_lemeshow_test_on_rows(
        Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights),
        n_bins=n_bins,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def hosmer_lemeshow_test_on_rows(
    rows: Rows, *, n_bins: int, level: float, n_resamples: int, random_state: RandomState
) -> HosmerLemeshowResult:
    """`hosmer_lemeshow_test` of rows that were read already."""
    positive_integer(n_bins, "n_bins")
    sample, level = rows.tested.sample, check_level(level)
    first = np.searchsorted(sample.prediction, bins_from_sample(sample, n_bins, "quantile").first)
    result = _chi_squared_of(rows, first, "Hosmer-Lemeshow test", level, n_resamples, random_state)
    statistic = textbook = None
    if rows.weight is None and rows.trials is None and rows.group is None:
        statistic = _textbook_statistic(rows.y_true, rows.y_prob, n_bins)
        textbook = chi_squared_tail(statistic, n_bins - 2) if n_bins > 2 else None
    return HosmerLemeshowResult(**vars(result), textbook_statistic=statistic, textbook_pvalue=textbook)


def _textbook_statistic(y_true: IntArray, y_prob: FloatArray, n_bins: int) -> float:
    """Pearson's statistic of events and of other rows, over groups between quantiles."""
    edges = np.unique(np.quantile(y_prob, np.arange(n_bins + 1) / n_bins))
    group = np.maximum(np.searchsorted(edges, y_prob, side="left") - 1, 0)  # (edge, next edge], and the lowest edge
    n, ones, expected = (np.bincount(group, each) for each in (np.ones(group.size), y_true, y_prob))
    excess = (ones - expected) ** 2
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        parts = [np.where(excess == 0.0, 0.0, excess / each) for each in (expected, n - expected)]
    return float(np.sum(parts))


@register_test(
    proof="at one of a few values of the predictions the event rate differs from it.",
    limits="say at which; have power where predictions hardly repeat.",
    source="R. G. Miller, 1962; T-Cal, Appendix B.4.",
    order=100,
)
def miller_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Column | None = None,
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
    return miller_test_on_rows(
        Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights),
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def miller_test_on_rows(rows: Rows, *, level: float, n_resamples: int, random_state: RandomState) -> ClassicalResult:
    """`miller_test` of rows that were read already."""
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
