"""Interval errors: the least error plus width over partitions, or over a grid of one width with every shift."""

from __future__ import annotations

__all__ = [
    "IntervalPartition",
    "interval_calibration_error",
    "interval_calibration_partition",
    "random_interval_calibration_error",
    "surrogate_interval_calibration_error",
]

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.arguments import positive
from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.kernels.interval import best_partition, empty_set, sliding_window
from calibrant.kernels.types import IntArray
from calibrant.measures.registry import register


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntervalPartition(Result):
    """A partition of the predictions into intervals, and what it proves.

    Attributes
    ----------
    value : float
        Sum over intervals of |residual| + mass * (last - first).
    first, last : ndarray of shape (k,)
        Smallest and largest prediction in each interval, increasing.
    mass : ndarray of shape (k,)
        Share of the weight.
    residual : ndarray of shape (k,)
        mass * (mean outcome - mean prediction).

    See Also
    --------
    interval_calibration_partition, interval_calibration_error
    """

    value: float
    first: FloatArray
    last: FloatArray
    mass: FloatArray
    residual: FloatArray

    def evaluate(self, y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
        """Return the binned error plus average width of these intervals on a sample, from its rows and the edges alone.

        Parameters
        ----------
        y_true, y_prob, sample_weight
            As for `interval_calibration_error`.

        Returns
        -------
        float
            `value` on the sample that the partition was made from; on any other, an upper bound on its interval
            calibration error.

        Raises
        ------
        InputError
            If a column cannot be used, or a prediction lies in none of the intervals.
        """
        outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
        group = np.searchsorted(self.last, prediction)
        outside = (group == self.last.size) | (prediction < np.append(self.first, np.inf)[group])
        if outside.any():
            row = int(np.argmax(outside))
            problem = f"row {row} is {prediction[row]:.6g}; it must lie in one of the intervals"
            raise InputError("y_prob", problem, row=row)
        w = np.ones_like(prediction) if weight is None else weight / weight.max()
        residual = np.bincount(group, w * (outcome - prediction), self.last.size)
        width = np.bincount(group, w, self.last.size) * (self.last - self.first)
        return float((np.abs(residual) + width).sum() / w.sum())

    def summary(self) -> str:
        """Say what the intervals cost."""
        cost = f"binned error and average width add up to {self.value:.6g}"
        return f"{self.first.size:,} intervals of predictions, whose {cost}."


def least_costs(v: FloatArray, mass: FloatArray, residual: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Least cost of partitioning the first j predictions, and where the last group begins, for j = 0 to m.

    The third value is where the groups of all begin.
    """
    s, w = np.zeros(v.size + 1), np.zeros(v.size + 1)
    np.cumsum(residual, out=s[1:])
    np.cumsum(mass, out=w[1:])
    cost, start = np.empty(v.size + 1), np.empty(v.size + 1, np.int32)
    first = best_partition(v, s, w, np.argsort(s), *empty_set(v.size + 1), cost, start)
    return cost, start, first


def partition_from_sample(sample: Sample) -> IntervalPartition:
    """Best interval partition of a sample."""
    v, mass, residual = sample.prediction, sample.mass(), sample.residual()
    del sample  # which may be as long as what the search takes
    first = least_costs(v, mass, residual)[2]
    last = np.append(first[1:], v.size) - 1
    group_mass, group_residual = np.add.reduceat(mass, first), np.add.reduceat(residual, first)
    value = float((np.abs(group_residual) + group_mass * (v[last] - v[first])).sum())
    return IntervalPartition(value, v[first], v[last], group_mass, group_residual)


def _from_sample(sample: Sample) -> float:
    return partition_from_sample(sample).value


@register(
    _from_sample,
    sentence=(
        "Least binned error plus average bin width over all ways to bin: a bound on the distance from calibration."
    ),
    definition=(
        "The exact minimum over partitions of the predictions into intervals. An interval is as wide as the "
        "predictions in it, so a single value has width 0."
    ),
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 6.1."
    ),
    symmetric=True,
    order=30,
    maximum_rows=1_000_000,
)
def interval_calibration_error(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Least binned error plus average bin width over all ways to bin: a bound on the distance from calibration.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.

    Returns
    -------
    float
        The exact minimum over partitions of the predictions into intervals. An interval is as wide as the predictions
        in it, so a single value has width 0.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    interval_calibration_partition, surrogate_interval_calibration_error

    Notes
    -----
    upper distance <= interval error <= 4 * root of the lower distance (Theorem 6.2). It is discontinuous in the
    predictions (Lemma 6.9). `interval_calibration_partition` returns the partition that attains it. Cost: a sort, then
    a dynamic program over m distinct predictions in O(m log m) time and O(m) memory for any data. At 10**6 predictions
    it takes 0.3 s if they are calibrated, and 0.9 s at the worst of 38 kinds that were tried.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 6.1.

    Examples
    --------
    >>> from calibrant import interval_calibration_error
    >>> round(interval_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.25
    """
    return partition_from_sample(Sample.from_columns(y_true, y_prob, sample_weight)).value


def interval_calibration_partition(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None
) -> IntervalPartition:
    """Return the partition into intervals that attains the interval calibration error.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `interval_calibration_error`.

    Returns
    -------
    IntervalPartition
        Replacing each prediction by its interval's mean outcome gives a calibrated predictor at most `value` away.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    interval_calibration_error

    Notes
    -----
    Cost: as `interval_calibration_error`.

    Examples
    --------
    >>> from calibrant.measures import interval_calibration_partition
    >>> partition = interval_calibration_partition([0, 1, 0, 1], [0.5, 0.5, 0.51, 0.51])
    >>> partition.first.tolist(), partition.last.tolist(), round(partition.value, 6)
    ([0.5, 0.51], [0.5, 0.51], 0.005)
    >>> round(partition.evaluate([0, 1, 0, 1], [0.5, 0.5, 0.51, 0.51]), 6)
    0.005
    """
    return partition_from_sample(Sample.from_columns(y_true, y_prob, sample_weight))


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
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
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
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.

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
