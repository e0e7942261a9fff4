"""Cutoff calibration error: the largest error of any one stretch of predictions."""

from __future__ import annotations

__all__ = ["cutoff_calibration_error"]

from calibrant.door.columns import Column
from calibrant.door.sample import Sample
from calibrant.kernels.walks import reach
from calibrant.measures.registry import register


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
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.

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
