"""Tests on cumulative differences between outcomes and predictions: no bins, no bandwidth."""

from __future__ import annotations

__all__ = ["cumulative_calibration_test"]

import math
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, one_of
from calibrant.door.columns import Column, FloatArray
from calibrant.door.rows import Rows
from calibrant.inference.testing.classical import ClassicalResult
from calibrant.inference.testing.registry import register_test
from calibrant.inference.testing.result import LEAST
from calibrant.kernels.sums import dot
from calibrant.kernels.walks import reach
from calibrant.resampling.redraw import redrawn_pvalue

_SURELY = 0.01  # Brownian motion reaches as far with a probability of 1 to the last bit; its square may underflow
Form = Literal["kuiper", "kolmogorov-smirnov"]


@register_test(
    proof="outcomes exceed the predictions, or fall short of them, over some range.",
    limits="detect faults that alternate too fast for the walk to climb.",
    source="Arrieta-Ibarra et al., JMLR 2022.",
    order=120,
)
def cumulative_calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Column | None = None,
    outcome_free_weights: bool = False,
    form: Form = "kuiper",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ClassicalResult:
    """Test whether outcomes exceed the predictions, or fall short of them, over any range of predictions.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1; with ``trials`` the share of events among them.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight, trials, groups, outcome_free_weights
        As for `smooth_calibration_test`.
    form : {"kuiper", "kolmogorov-smirnov"}
        Range of the cumulative differences, the largest over all intervals of predictions; or their largest absolute
        value, over intervals that begin at 0.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 999
        Redrawn sets of outcomes.
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
    return cumulative_calibration_test_on_rows(
        Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights),
        form=form,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def cumulative_calibration_test_on_rows(
    rows: Rows, *, form: Form, level: float, n_resamples: int, random_state: RandomState
) -> ClassicalResult:
    """`cumulative_calibration_test` of rows that were read already."""
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
    from scipy.special import erfc

    return np.asarray(erfc(x / math.sqrt(2.0)))
