"""Squared calibration error: the plug-in estimate, and the one whose noise cancels."""

from __future__ import annotations

__all__ = ["squared_calibration_error"]

from typing import get_args

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import one_of
from calibrant.door.columns import Column, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.squared import pair_sums
from calibrant.measures.binned import CalibrationBins, Strategy, bins_from_sample

FloatArray = npt.NDArray[np.float64]

_NOTHING = 1e-150  # share of the largest weight below which a product of two weights may underflow


def squared_calibration_error(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    n_bins: int | None = None,
    strategy: Strategy = "exact",
    debiased: bool = True,
) -> float:
    """Mean squared gap between predicted and observed rates, with the noise of few rows taken out.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    n_bins : int, optional
        Number of bins, needed by the strategies that bin; as for `expected_calibration_error`.
    strategy : {"exact", "uniform", "quantile"}
        One group for every distinct prediction, or bins, whose rows count as predicting their mean.
    debiased : bool, default True
        The cancelling estimator; False is the plug-in estimator, which is too high by about (number of groups) / n
        times the variance of an outcome.

    Returns
    -------
    float
        In squared probability units. The plug-in estimate lies in [0, 1]. The debiased one is unbiased for groups that
        always hold two rows or more. So it falls below zero about half the time where calibration is perfect.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used; the message names it and what is allowed.

    See Also
    --------
    squared_error_interval, squared_error_bootstrap, debiased_plug_in

    Notes
    -----
    Let s be the prediction of a group, r the mean of y there, p its share of the n rows. The plug-in estimator is sum p
    (s - r)**2. The cancelling one is sum p [(s - r)**2 - r (1 - r) / (p n - 1)]. The bracket is the mean of (y_i - s)
    (y_j - s) over pairs of different rows. It is computed so, and carries over to weights (pairs weigh w_i w_j) and to
    event rates. A group with one row has no pair and adds 0; rows of less than 1e-150 of the largest weight make no
    pairs.

    It is not one of the registered measures. Each of those is unchanged if all rows are written twice or one is split
    in two. This one rightly takes such rows for new evidence, and it may be negative. `sample_weight` means importance,
    so a row of weight 2 is not two rows. It is not consistent either: with one row per prediction there is nothing to
    estimate. Use it on predictions of few values, such as `recalibration.ScalingBinning` makes. Cost: a sort, then
    O(n).

    References
    ----------
    A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019, Definitions 5.1 and 5.2.

    Examples
    --------
    >>> from calibrant import squared_calibration_error
    >>> y_prob = [0.5, 0.5, 0.5, 0.5]
    >>> squared_calibration_error([1, 1, 1, 0], y_prob, debiased=False)
    0.0625
    >>> squared_calibration_error([1, 1, 1, 0], y_prob)
    0.0
    """
    if debiased not in (True, False):
        raise InputError("debiased", f"is {debiased!r:.40}; it must be True or False")
    bins = squared_error_groups(Sample.from_columns(y_true, y_prob, sample_weight), n_bins, strategy)
    mask = bins.mass > 0.0
    mass, centre = bins.mass[mask], bins.prediction[mask]
    if not debiased:
        return float((bins.residual[mask] * (bins.residual[mask] / mass)).sum())
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    if weight is not None:
        weight = weight / weight.max()
        counts = weight > _NOTHING
        outcome, prediction, weight = outcome[counts], prediction[counts], weight[counts]
    group = np.searchsorted(bins.last[mask], prediction)
    w = np.ones_like(prediction) if weight is None else weight
    pairs, products = pair_sums(group, w, outcome - centre[group], mass.size)
    several = pairs > 0.0
    return float((mass[several] * (products[several] / pairs[several])).sum())


def squared_error_groups(sample: Sample, n_bins: int | None, strategy: Strategy) -> CalibrationBins:
    """Groups of a squared error: level sets, or as many bins as are asked for."""
    one_of(strategy, get_args(Strategy), "strategy")
    if strategy == "exact" and n_bins is not None:
        raise InputError("n_bins", f"is {n_bins!r:.40}; strategy='exact' has one group per prediction: choose another")
    if strategy != "exact" and n_bins is None:
        raise InputError("n_bins", f"is None; strategy={strategy!r} needs a number of bins")
    return bins_from_sample(sample, 1 if n_bins is None else n_bins, strategy)
