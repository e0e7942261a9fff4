"""Predictions that take few values: an exact binomial test of each value."""

from __future__ import annotations

__all__ = ["DiscreteResult", "discrete_calibration_test"]

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.stats import binom

from calibrant.door.arguments import check_level, one_of
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows, not_taken
from calibrant.door.values import counted
from calibrant.inference.testing.registry import register_test
from calibrant.inference.testing.result import LEAST, TestResult, impossible_rows

Correction = Literal["holm", "bonferroni"]


@dataclass(frozen=True, repr=False)
class DiscreteResult(TestResult):
    """The outcome of `discrete_calibration_test`; one entry per distinct prediction, in increasing order.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`; the statistic is the smallest of ``pvalues``.
    predictions : tuple of float
        The distinct predictions.
    counts, ones : tuple of int
        Rows with that prediction, and how many of them have outcome 1.
    pvalues : tuple of float
        Exact two-sided binomial p-values.
    adjusted_pvalues : tuple of float
        The same, corrected for their number.
    miscalibrated : tuple of float
        Predictions rejected at ``level``; the probability that any of them is calibrated is at most ``level``.

    See Also
    --------
    discrete_calibration_test
    """

    predictions: tuple[float, ...]
    counts: tuple[int, ...]
    ones: tuple[int, ...]
    pvalues: tuple[float, ...]
    adjusted_pvalues: tuple[float, ...]
    miscalibrated: tuple[float, ...]

    def _table(self) -> Any:
        """One row a value of the predictions."""
        return {
            "prediction": self.predictions,
            "count": self.counts,
            "ones": self.ones,
            "pvalue": self.pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
            "reject": [value in self.miscalibrated for value in self.predictions],
        }


@register_test(
    proof="each value that it names has another event rate than predicted.",
    limits="pool neighbours: it has no power for many values with few rows each.",
    source="T-Cal, Appendix B.4.",
    order=130,
    null="exact",
    admits=("trials",),
)
def discrete_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Column | None = None,
    level: float = 0.05,
    correction: Correction = "holm",
) -> DiscreteResult:
    """Test whether each value that the predictions take is the event's true rate there, exactly.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, each 0 or 1; with ``trials`` the share of events among them.
    y_prob : array-like of shape (n,)
        Predicted probabilities, with few distinct values: after histogram or scaling-binning, or a forecaster's tenths.
    trials : array-like of shape (n,), optional
        Independent outcomes behind each row, whole numbers from 1.
    sample_weight, groups : optional
        Refused: numbers of events are binomial only if each outcome counts once, by itself.
    level : float, default 0.05
        Largest probability of rejecting any calibrated value.
    correction : {"holm", "bonferroni"}
        How the p-values are corrected for the number of values. Both give the same decision about the predictions as a
        whole; Holm's names at least as many miscalibrated values.

    Returns
    -------
    DiscreteResult
        With ``statistic``, ``pvalue``, ``reject``, ``level``, ``method``, and the test of each value.

    Raises
    ------
    InputError
        If the columns cannot be used, or the values are so many, with so few rows each, that no outcome could reject
        (then use `tcal_test`).

    See Also
    --------
    tcal_test, two_sample_calibration_test

    Notes
    -----
    The number of ones among N rows that predict v is Binomial(N, v) if v is calibrated. Its two-sided p-value adds up
    all counts no more likely than the observed one. The predictions as a whole are tested by t min p over t values.
    Nothing is resampled or asymptotic. If a prediction of 0 or 1 is contradicted the p-value is 0. It is reported, like
    any that underflows, as 2.2e-308, and ``impossible`` names the row. Cost: O(n log n) plus the binomial tests.

    References
    ----------
    T-Cal, Appendix B.4. S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979).

    Examples
    --------
    >>> from calibrant import discrete_calibration_test
    >>> y_prob = [0.2] * 50 + [0.8] * 50
    >>> y_true = [1] * 10 + [0] * 40 + [1] * 25 + [0] * 25
    >>> result = discrete_calibration_test(y_true, y_prob)
    >>> result.miscalibrated
    (0.8,)
    >>> result.summary()
    'miscalibrated: exact binomial test of each of 2 values (holm) rejects calibration at level 0.05 (p = 4.2e-06)'
    """
    why = "numbers of events are binomial only if each outcome counts once, by itself; use calibration_test"
    not_taken(why, sample_weight=sample_weight, groups=groups)
    return discrete_calibration_test_on_rows(Rows.of(y_true, y_prob, None, trials), level=level, correction=correction)


def discrete_calibration_test_on_rows(rows: Rows, *, level: float, correction: Correction = "holm") -> DiscreteResult:
    """`discrete_calibration_test` of rows that were read already."""

    level = check_level(level)
    one_of(correction, get_args(Correction), "correction")
    sample = rows.sample
    v = sample.prediction
    t = v.size
    counts, ones = sample.count.astype(np.int64), sample.ones.astype(np.int64)
    # Either correction rejects something only if the smallest p-value does, times the number of values.
    if t * least_pvalues(counts, v).min() > level:
        raise InputError(
            "y_prob",
            f"holds {counted(t, 'distinct prediction')}, none with rows enough to be rejected at "
            f"level {level:g} / {t:,}. Use tcal_test, which pools near predictions",
        )
    pvalues = np.clip(two_sided_pvalues(ones, counts, v), LEAST, 1.0)
    if correction == "bonferroni":
        adjusted = np.minimum(t * pvalues, 1.0)
    else:
        order = np.argsort(pvalues, kind="stable")
        adjusted = np.empty(t)
        adjusted[order] = np.minimum(np.maximum.accumulate((t - np.arange(t)) * pvalues[order]), 1.0)
    pvalue = float(adjusted.min())
    return DiscreteResult(
        statistic=float(pvalues.min()),
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=f"exact binomial test of each of {t} values ({correction})",
        predictions=tuple(v.tolist()),
        counts=tuple(counts.tolist()),
        ones=tuple(ones.tolist()),
        pvalues=tuple(pvalues.tolist()),
        adjusted_pvalues=tuple(adjusted.tolist()),
        miscalibrated=tuple(v[adjusted <= level].tolist()),
        impossible=impossible_rows(rows),
        premise=rows.premise,
    )


_RARE = 1e-200  # below it scipy's binomial overflows, and a single event is all that can be told
_EQUAL = 1.0 + 1e-7  # two counts whose chances differ by less are equally likely, as scipy.stats.binomtest has it


def two_sided_pvalues(ones: IntArray, count: IntArray, chance: FloatArray) -> FloatArray:
    """Chance of all counts no more likely than the one seen, for each value; as `scipy.stats.binomtest` has them.

    Two tails: that of the count itself, and on the other side of the mean the counts as unlikely, found by bisection.
    """
    rare = chance <= _RARE
    p = np.where(rare, 0.5, chance)
    mean = count * p
    likely = binom.pmf(ones, count, p) * _EQUAL
    under = ones < mean
    # From the mean outwards the chance falls; `near` is too likely (or the mean's side), `far` is rare enough.
    near = np.where(under, np.ceil(mean) - 1, np.floor(mean) + 1).astype(np.int64)
    far = np.where(under, count + 1, -1)
    while (open_ := np.abs(far - near) > 1).any():
        middle = (near + far) // 2
        enough = binom.pmf(middle, count, p) <= likely
        far = np.where(open_ & enough, middle, far)
        near = np.where(open_ & ~enough, middle, near)
    below, above = np.where(under, ones, far), np.where(under, far, ones)
    both = binom.cdf(below, count, p) + binom.sf(above - 1, count, p)
    pvalue = np.where(ones == mean, 1.0, np.minimum(both, 1.0))
    few = np.choose(np.minimum(ones, 2), (np.ones_like(chance), count * chance, np.zeros_like(chance)))
    return np.where(rare, few, pvalue)


def least_pvalues(count: IntArray, chance: FloatArray) -> FloatArray:
    """Return the smallest two-sided p-value that any outcome gives, for each value; 0 where one is impossible.

    It is that of all ones or of none, whichever is the less likely; where both are as likely each has both tails.
    """
    rarest = np.where(chance <= 0.5, count, 0)
    pvalue = two_sided_pvalues(rarest, count, chance)
    return np.where((chance == 0.0) | (chance == 1.0), 0.0, pvalue)
