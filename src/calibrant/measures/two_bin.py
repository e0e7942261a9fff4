"""Errors of stretches of predictions: of two bins, averaged over where they are parted, and the largest of any."""

from __future__ import annotations

__all__ = ["averaged_two_bin_calibration_error", "cutoff_calibration_error", "squared_averaged_two_bin_error"]

import math
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import one_of
from calibrant.door.columns import Column, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels import pairs
from calibrant.kernels.walks import reach, two_bins
from calibrant.measures.registry import register

Norm = Literal["l1", "l2"]

_NOTHING = 1e-150  # share of the largest weight below which a product of two weights may underflow


def two_bin_error_from_sample(sample: Sample, norm: Norm = "l1") -> float:
    """Averaged two-bin calibration error of a sample."""
    one_of(norm, get_args(Norm), "norm")
    absolute, squared = two_bins(sample.prediction, sample.residual())
    return absolute if norm == "l1" else math.sqrt(squared)


@register(
    two_bin_error_from_sample,
    sentence="Mean error of two bins, the predictions below a cut and those above, over all cuts from 0 to 1.",
    definition=(
        "The integral over q from 0 to 1 of |A(q)| + |B(q)|, with A and B the sums of w (y - v) over the rows of "
        "v < q and of v >= q, weights adding up to 1; between 0 and 1."
    ),
    source=(
        "Hartline, Hu and Wu, A perfectly truthful calibration measure, COLT 2026, PMLR 336; in docs/two-bin.md how "
        "it is tied to the distance."
    ),
    symmetric=True,
    order=25,
)
def averaged_two_bin_calibration_error(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, norm: Norm = "l1"
) -> float:
    """Mean error of two bins, the predictions below a cut and those above, over all cuts from 0 to 1.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
    norm : {"l1", "l2"}
        Whether the errors of the two bins are added up, or their squares and the root taken of the mean over cuts.

    Returns
    -------
    float
        The integral over q from 0 to 1 of |A(q)| + |B(q)|, or of A(q)**2 + B(q)**2 and then its root. A and B are the
        sums of w (y - v) over the rows of v < q and of v >= q. Weights add up to 1. In probability units, between 0 and
        1; 0 only if every distinct prediction equals its outcomes' mean.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used; the message names it and what is allowed.

    See Also
    --------
    squared_averaged_two_bin_error, averaged_two_bin_test, lower_calibration_distance, cutoff_calibration_error

    Notes
    -----
    With norm="l1", lower distance <= error <= 3 * lower distance, and 2/3 * smooth error <= error <= 2 * smooth error.
    So in one pass it bounds the lower distance from above. docs/two-bin.md has the proofs. Continuous in the
    predictions. Cost: a sort, then one pass.

    References
    ----------
    Hartline, Hu and Wu, A perfectly truthful calibration measure, COLT 2026, PMLR 336; in docs/two-bin.md how it is
    tied to the distance.

    Examples
    --------
    >>> from calibrant import averaged_two_bin_calibration_error
    >>> round(averaged_two_bin_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.12
    >>> round(averaged_two_bin_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], norm="l2"), 6)
    0.11068
    """
    return two_bin_error_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), norm)


def squared_averaged_two_bin_error(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, debiased: bool = False
) -> float:
    """Mean squared error of two bins over all cuts: a measure that no untrue prediction improves.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `averaged_two_bin_calibration_error`.
    debiased : bool, default False
        Leave out each row's product with itself, so that the value is an unbiased estimate of the population's.

    Returns
    -------
    float
        In squared probability units: the square of `averaged_two_bin_calibration_error` with norm="l2". For calibrated
        predictions the debiased estimate falls below zero about half the time.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used; the message names it and what is allowed. With ``debiased=True``
        also where fewer than two rows carry weight.

    See Also
    --------
    averaged_two_bin_calibration_error, averaged_two_bin_test

    Notes
    -----
    The mean of (y - v) (y' - v') (1 - |v - v'|) over all pairs of rows. Debiased, over pairs of different rows, which
    weigh w w'. For independent outcomes with probabilities p its expectation is sum w**2 p (1 - p) plus its value with
    p in place of the outcomes. So it is least for v = p, at any number of rows. **Rank predictors by the default, never
    by the debiased form**, which is not truthful. Leaving out (y - v)**2 rewards predictions that are scattered about
    the probabilities. Rows of less than 1e-150 of the largest weight make no pairs.

    It is not one of the registered measures: its unit is squared, and debiased it takes rows that are written twice for
    new evidence. Cost: a sort, then one pass.

    References
    ----------
    Hartline, Hu and Wu, A perfectly truthful calibration measure, COLT 2026, PMLR 336.

    Examples
    --------
    >>> from calibrant.measures import squared_averaged_two_bin_error
    >>> round(squared_averaged_two_bin_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.01225
    >>> round(squared_averaged_two_bin_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], debiased=True), 6)
    -0.008667
    """
    if debiased not in (True, False):
        raise InputError("debiased", f"is {debiased!r:.40}; it must be True or False")
    if not debiased:
        sample = Sample.from_columns(y_true, y_prob, sample_weight)
        return two_bins(sample.prediction, sample.residual())[1]
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    w = np.ones_like(prediction) if weight is None else weight / weight.max()
    counts = np.flatnonzero(w > _NOTHING)
    if counts.size < 2:
        raise InputError("debiased", f"needs at least two rows that carry weight; there is {counts.size}")
    order = counts[np.lexsort((outcome[counts], w[counts], prediction[counts]))]
    weights, products = pairs.triangle(prediction[order], w[order], (outcome - prediction)[order])
    return products / weights


def cutoff_error_from_sample(sample: Sample) -> float:
    """Cutoff calibration error of a sample."""
    low, high = reach(sample.residual())
    return high - low


@register(
    cutoff_error_from_sample,
    sentence="Largest total error of the rows whose predictions lie between two cutoffs.",
    definition=(
        "The maximum over intervals of |sum of w (y - v)| over the rows whose predictions lie there; weights add up "
        "to 1. It is the highest less the lowest point of the running sum; between 0 and 1."
    ),
    source=(
        "Rossellini, Soloff, Barber, Ren and Willett, Can a calibration metric be both testable and actionable?, "
        "arXiv 2502.19851, 2025. Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu, Metrics of calibration for "
        "probabilistic predictions, JMLR 23, 2022."
    ),
    symmetric=True,
    order=26,
)
def cutoff_calibration_error(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Largest total error of the rows whose predictions lie between two cutoffs.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.

    Returns
    -------
    float
        The maximum over intervals of |sum of w (y - v)| over the rows whose predictions lie there, weights adding up to
        1. In probability units, between 0 and 1; 0 only if every distinct prediction equals its outcomes' mean.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    averaged_two_bin_calibration_error, cumulative_calibration_test, smooth_calibration_error

    Notes
    -----
    Suppose that you act where a prediction lies between two cutoffs, and expect as many events as predicted. Then you
    are off by at most this share of all rows. Smooth error <= 3/2 * error, averaged two-bin error <= 2 * error
    (docs/two-bin.md). The distance does not bound it: a tiny change of the predictions can change it by 1/2. It is the
    range of the cumulative differences, divided by the number of rows; `cumulative_calibration_test` tests it. Cost: a
    sort, then one pass.

    References
    ----------
    Rossellini, Soloff, Barber, Ren and Willett, Can a calibration metric be both testable and actionable?, arXiv
    2502.19851, 2025. Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu, Metrics of calibration for probabilistic
    predictions, JMLR 23, 2022.

    Examples
    --------
    >>> from calibrant import cutoff_calibration_error
    >>> round(cutoff_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.15
    """
    return cutoff_error_from_sample(Sample.from_columns(y_true, y_prob, sample_weight))
