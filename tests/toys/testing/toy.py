"""The largest excess of events at one distinct prediction, as a test."""

from __future__ import annotations

__all__ = ["largest_gap_test"]

from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level
from calibrant.door.columns import Column
from calibrant.door.rows import Rows
from calibrant.inference.testing.result import register_test
from calibrant.inference.testing.result import TestResult
from calibrant.resampling.redraw import redrawn_pvalue


@register_test(
    proof="at one prediction events happen more or less often than predicted.",
    limits="detect faults that are spread over many predictions.",
    promise="level exact",
    source="A toy.",
    order=1000,
)
def largest_gap_test(
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
    """Test whether the largest excess of events at one prediction is more than chance.

    Parameters
    ----------
    y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, level, n_resamples, random_state
        As for `cox_test`.

    Returns
    -------
    TestResult
        The statistic is the largest absolute sum of w (y - v) at one prediction, as a share of the weight.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    miller_test

    Notes
    -----
    Cost: a sort, then one pass per resample.

    References
    ----------
    A toy.

    Examples
    --------
    >>> from calibrant.inference import largest_gap_test
    >>> largest_gap_test([1, 1, 1, 1, 1, 1], [0.1] * 6, random_state=0).reject
    True
    """
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights)
    level, weight = check_level(level), rows.tested.sample.total_weight
    observed, pvalue = redrawn_pvalue(
        rows.tested,
        lambda excess: float(np.abs(excess).max()) / weight,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    return TestResult.of(rows, observed, pvalue, level, f"largest gap test ({n_resamples:,} resamples)")
