"""Interval errors over a grid with every shift: one width, and the infimum over dyadic widths."""

from __future__ import annotations

__all__ = ["random_interval_calibration_error", "surrogate_interval_calibration_error"]

import math

import numpy as np

from calibrant.door.arguments import positive
from calibrant.door.columns import Column
from calibrant.door.sample import Sample
from calibrant.kernels.interval import sliding_window
from calibrant.measures.registry import register


def random_from_sample(sample: Sample, width: float) -> float:
    """Random interval calibration error of a sample."""
    positive(width, "width")
    return sliding_window(sample.prediction, sample.residual(), float(width))


def surrogate_from_sample(sample: Sample) -> float:
    """Surrogate interval calibration error of a sample."""
    v, r = sample.prediction, sample.residual()
    # Halving the width splits every bin in two, so the error only grows, up to the level sets' error: from width w on
    # nothing falls below error(w). Where chance is all there is, the best width is about the cube root of 1 / m, so
    # that is where to begin; wider ones are looked at while a width alone is not as much as the best sum.
    best = float(np.abs(r).sum())
    middle = 2.0 ** -round(math.log2(v.size) / 3.0)
    width = middle
    while width > 2.0**-60:
        error = sliding_window(v, r, width)
        best = min(best, error + width)
        if error >= best:
            break
        width /= 2.0
    width = 2.0 * middle
    while width <= 1.0 and width < best:
        best = min(best, sliding_window(v, r, width) + width)
        width *= 2.0
    return best


@register(
    random_from_sample,
    sentence="Binned error at one bin width, averaged over every position of the grid of bins.",
    definition="The exact expectation over a uniform shift, between 0 and 1; no shift is drawn.",
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 6.5."
    ),
    symmetric=True,
    order=40,
    parameters={"width": 0.1},
)
def random_interval_calibration_error(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, width: float
) -> float:
    """Binned error at one bin width, averaged over every position of the grid of bins.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    width : float
        Width of the bins, positive, in probability units.

    Returns
    -------
    float
        The exact expectation over a uniform shift, between 0 and 1; no shift is drawn.

    Raises
    ------
    InputError
        If a column cannot be used, or width is not positive and finite.

    See Also
    --------
    surrogate_interval_calibration_error, interval_calibration_error

    Notes
    -----
    Error + width is an upper bound on the interval calibration error (Claim 6.6), and so on the distance from
    calibration. It grows when the width is halved. Cost: a sort, then O(m) for m distinct predictions.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 6.5.

    Examples
    --------
    >>> from calibrant import random_interval_calibration_error
    >>> round(random_interval_calibration_error([1, 0], [0.25, 0.75], width=1.0), 6)
    0.375
    """
    return random_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), width)


@register(
    surrogate_from_sample,
    sentence="Smallest sum of a bin width and the binned error at it, over widths 1, 1/2, 1/4 and so on.",
    definition=(
        "The infimum over k >= 0 of the random interval error at width 2**-k, plus 2**-k. The limit of large k, "
        "the error of exact level sets, belongs to it."
    ),
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 6.10."
    ),
    symmetric=True,
    order=50,
)
def surrogate_interval_calibration_error(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None
) -> float:
    """Smallest sum of a bin width and the binned error at it, over widths 1, 1/2, 1/4 and so on.

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
        The infimum over k >= 0 of the random interval error at width 2**-k, plus 2**-k. The limit of large k, the
        error of exact level sets, belongs to it.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    random_interval_calibration_error, interval_calibration_error

    Notes
    -----
    Never below the interval calibration error, and at most 6 times the root of the lower distance (Theorem 6.11).
    Cost: a sort, then O(m) per width, over the few widths that can still improve.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 6.10.

    Examples
    --------
    >>> from calibrant import surrogate_interval_calibration_error
    >>> round(surrogate_interval_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.25
    """
    return surrogate_from_sample(Sample.from_columns(y_true, y_prob, sample_weight))
