"""How far predictions are from the event rate of the rows that have them."""

from __future__ import annotations

__all__ = ["mean_gap"]

from calibrant.door.columns import Column
from calibrant.door.sample import Sample
from calibrant.measures.registry import register


def _from_sample(sample: Sample) -> float:
    return float(abs(sample.residual()).sum())


@register(
    _from_sample,
    sentence="Mean gap between each distinct prediction and the event rate of its rows.",
    definition="The mean of |v - E[y | v]|, in probability units.",
    source="A toy.",
    symmetric=True,
    order=1000,
)
def mean_gap(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Mean gap between each distinct prediction and the event rate of its rows.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.

    Returns
    -------
    float
        In probability units, between 0 and 1.

    Raises
    ------
    InputError
        If a column cannot be used.

    See Also
    --------
    expected_calibration_error

    Notes
    -----
    Cost: a sort.

    References
    ----------
    A toy.

    Examples
    --------
    >>> from calibrant.measures import mean_gap
    >>> mean_gap([0, 1], [0.25, 0.25])
    0.25
    """
    return _from_sample(Sample.from_columns(y_true, y_prob, sample_weight))
