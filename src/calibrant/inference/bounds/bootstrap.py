"""Asymptotic confidence bounds on the population's smooth error and lower distance: the same suprema, resampled."""

from __future__ import annotations

__all__ = ["bootstrap_bounds"]

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Interval
from calibrant.door.rows import Rows
from calibrant.inference.bounds.population import PopulationBounds, sample_distance, with_every_measure
from calibrant.kernels.sums import dot
from calibrant.measures.smooth import largest_correlation, smooth_error_from_sample
from calibrant.resampling.redraw import check_surprises, resampled


def bootstrap_bounds(
    y_true: Column,
    y_prob: Column,
    *,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> PopulationBounds:
    """Bound the population's smooth error and lower distance more tightly than `population_bounds`, in large samples.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    level : float, default 0.05
        Probability with which any of the bounds may fail, as the rows grow in number.
    n_resamples : int, default 999
        Resamples.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.

    Returns
    -------
    PopulationBounds
        With ``guaranteed`` False.

    Raises
    ------
    InputError
        If a column or option cannot be used, or there are too few resamples for the level. If there are too few
        surprises, under 5 expected or seen. Expected is the sum of v (1 - v); seen is the sum of squares of y - v less
        its mean. For rare events both are about the number of events, expected and seen.

    See Also
    --------
    population_bounds, compare_calibration

    Notes
    -----
    What was never seen is never resampled: with no event among rare ones the bounds would close on a single value.
    Coverage just above the minimum is measured in docs/reproductions/few-surprises.md; below it `population_bounds`
    holds, at any number of rows.

    An error is a supremum over a class of functions. The sample's differs from the population's by at most the largest
    gap between the two over that class (docs/bounds.md). The distribution of that gap, not of the error itself, is
    resampled with normal multipliers. It is that of a norm of noise, so it also works for calibrated predictors, where
    a bootstrap of the error fails. Cost: two passes per resample.

    References
    ----------
    van der Vaart and Wellner, Weak convergence and empirical processes, 1996, Section 2.9 (multiplier bootstrap).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import bootstrap_bounds
    >>> bounds = bootstrap_bounds(np.ones(2000), np.random.default_rng(0).random(2000), random_state=0)
    >>> bounds.lower_distance.low < 0.5 < bounds.lower_distance.high, bounds.guaranteed
    (True, False)
    """
    return bootstrap_bounds_on_rows(
        Rows.of(y_true, y_prob), level=level, n_resamples=n_resamples, random_state=random_state
    )


def bootstrap_bounds_on_rows(
    rows: Rows, *, level: float, n_resamples: int, random_state: RandomState
) -> PopulationBounds:
    """`bootstrap_bounds` of rows that were read already."""
    label, prediction = rows.y_true, rows.y_prob
    level = check_level(level)
    check_resamples(n_resamples, level, share=0.5)  # half of the level for each of the two quantities
    check_surprises(label, prediction, "population_bounds holds at any number of rows")
    order = np.lexsort((label, prediction))
    y, v = label[order].astype(np.float64), prediction[order]
    n = v.size
    distinct, first = np.unique(v, return_index=True)
    residual, zero = (y - v) / n, y == 0.0
    steps = np.diff(v, append=1.0), np.diff(v, prepend=0.0)

    def gaps(rng: np.random.Generator) -> tuple[float, float]:
        multiplier = rng.standard_normal(n)
        multiplier -= multiplier.mean()
        smooth = largest_correlation(distinct, np.add.reduceat(multiplier * residual, first))
        return smooth, _area(np.where(zero, multiplier, 0.0), np.where(zero, 0.0, multiplier), *steps) / n

    draws = resampled(gaps, n, n_resamples, random_state)
    rank = int(np.floor(0.5 * level * (n_resamples + 1) + 1e-9))
    smooth_margin, distance_margin = np.sort(draws, axis=0)[-rank].tolist()
    error = smooth_error_from_sample(rows.sample)
    low, high = sample_distance(rows.sample)
    smooth = Interval(max(0.0, error - smooth_margin), min(1.0, error + smooth_margin))
    lower = Interval(max(0.0, low - distance_margin), min(1.0, high + distance_margin))
    return with_every_measure(smooth, lower, {}, level, n, guaranteed=False)


def _area(zeros: FloatArray, ones: FloatArray, after: FloatArray, before: FloatArray) -> float:
    """Largest sum of r_y(v) for 1-Lipschitz r_0 with r_0(0) = 0 and r_1 with r_1(1) = 0.

    The slope of r_0 at u earns the sum over zeros beyond u, that of r_1 the sum over ones before u.
    """
    beyond = zeros[::-1].cumsum()[::-1]
    upto = ones.cumsum()
    return dot(np.abs(beyond), before) + dot(np.abs(upto), after)
