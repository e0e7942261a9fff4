"""Expected and squared calibration errors over bins or level sets, and the bound that bins can prove."""

from __future__ import annotations

__all__ = [
    "CalibrationBins",
    "binned_calibration_error_bound",
    "calibration_bins",
    "expected_calibration_error",
    "squared_calibration_error",
]

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import one_of, positive_integer
from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.kernels.squared import pair_sums
from calibrant.measures.registry import register

Strategy = Literal["uniform", "quantile", "exact"]
Norm = Literal["l1", "l2", "max"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationBins(Result):
    """Bins of a sample that hold at least one row, in order.

    Attributes
    ----------
    lower_edge, upper_edge : ndarray of shape (b,)
        Edges: a bin holds the predictions in (lower_edge, upper_edge], and the one that starts at 0 also holds 0.
    first, last : ndarray of shape (b,)
        Smallest and largest prediction in the bin.
    count, mass : ndarray of shape (b,)
        Rows, and share of the weight.
    prediction, outcome : ndarray of shape (b,)
        Weighted means, within [first, last] and [0, 1]; NaN where the mass is zero.
    residual : ndarray of shape (b,)
        mass * (outcome - prediction).

    See Also
    --------
    calibration_bins, expected_calibration_error
    """

    lower_edge: FloatArray
    upper_edge: FloatArray
    first: FloatArray
    last: FloatArray
    count: FloatArray
    mass: FloatArray
    prediction: FloatArray
    outcome: FloatArray
    residual: FloatArray

    def summary(self) -> str:
        """Say how many bins hold rows, and how far off they are together."""
        error = float(np.abs(self.residual).sum())
        size = f"{counted(int(self.count.sum()), 'row')} in {counted(self.count.size, 'bin')}"
        return f"{size}; the average gap is {error:.6g}."


def bins_from_sample(sample: Sample, n_bins: int = 15, strategy: Strategy = "uniform") -> CalibrationBins:
    """Bins of a sample that hold at least one row."""
    one_of(strategy, get_args(Strategy), "strategy")
    positive_integer(n_bins, "n_bins")
    v, total = sample.prediction, sample.total_weight
    if strategy == "exact":
        starts = np.arange(v.size)
        lower, upper = v, v
    elif strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        starts, lower, upper = _cut(v, edges)
    else:
        # The k-th edge is the smallest prediction with at least k/n of the mass at or below it: ties stay together. An
        # edge at 0 is kept beside the first: rows at exactly 0 then have the bin that a tie anywhere else would have.
        below = np.cumsum(sample.weight)
        target = np.arange(1, n_bins) / n_bins * below[-1]
        at = np.searchsorted(below * (1.0 + 1e-12), target)
        starts, lower, upper = _cut(v, np.concatenate([[0.0], np.unique(np.append(v[at], 1.0))]))
    ends = np.append(starts[1:], v.size) - 1
    residual = np.add.reduceat(sample.residual(), starts)
    weight = np.add.reduceat(sample.weight, starts)
    mass = weight / total
    safe = np.where(mass > 0.0, weight, np.nan)
    prediction = np.add.reduceat(sample.weight * v, starts) / safe
    return CalibrationBins(
        lower,
        upper,
        v[starts],
        v[ends],
        np.add.reduceat(sample.count, starts),
        mass,
        np.clip(prediction, v[starts], v[ends]),  # a mean can leave its range by rounding only
        np.minimum(np.add.reduceat(sample.weighted_outcome, starts) / safe, 1.0),
        residual,
    )


def _cut(v: FloatArray, edges: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
    """First index of every bin that holds a prediction, with its edges."""
    past = np.searchsorted(v, edges, side="right")
    past[0] = 0  # a prediction at the first edge belongs to the first bin
    mask = np.diff(past) > 0
    return past[:-1][mask], edges[:-1][mask], edges[1:][mask]


def _error_from_sample(sample: Sample, n_bins: int = 15, strategy: Strategy = "uniform", norm: Norm = "l1") -> float:
    one_of(norm, get_args(Norm), "norm")
    bins = bins_from_sample(sample, n_bins, strategy)
    gap = np.abs(bins.residual)
    if norm == "l1":
        return float(gap.sum())
    mask = bins.mass > 0.0
    if norm == "max":
        return float((gap[mask] / bins.mass[mask]).max())
    return float(np.sqrt((gap[mask] * (gap[mask] / bins.mass[mask])).sum()))


def _bound_from_sample(sample: Sample, n_bins: int = 15, strategy: Strategy = "uniform") -> float:
    bins = bins_from_sample(sample, n_bins, strategy)
    return float((np.abs(bins.residual) + bins.mass * (bins.upper_edge - bins.lower_edge)).sum())


@register(
    _error_from_sample,
    sentence="Average gap between predicted and observed rates over bins of predictions.",
    definition=(
        "Sum over 15 bins of equal width of |mean outcome - mean prediction| times the bin's share of the rows, "
        "between 0 and 1."
    ),
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition "
        "1.1 and Section 4.3."
    ),
    symmetric=False,
    order=80,
)
def expected_calibration_error(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    norm: Norm = "l1",
) -> float:
    """Average gap between predicted and observed rates over bins of predictions.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    n_bins : int, default 15
        Number of bins; not used by ``strategy="exact"``.
    strategy : {"uniform", "quantile", "exact"}
        Bins of equal width, of equal mass, or one for every distinct prediction. Bins are right-closed, (lower, upper];
        the first also holds 0, so no row is lost and 1 has no bin of its own. Equal-width edges are the doubles
        ``numpy.linspace(0, 1, n_bins + 1)``. The k-th equal-mass edge is the smallest prediction with at least k /
        n_bins of the mass at or below it. So ties are never split, and there may be fewer bins. If that is 0 itself,
        the rows at 0 are the first bin.
    norm : {"l1", "l2", "max"}
        Mean absolute gap, root of the mean squared gap, or largest gap.

    Returns
    -------
    float
        In probability units, between 0 and 1.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used; the message names it and what is allowed.

    See Also
    --------
    binned_calibration_error_bound, calibration_bins, smooth_calibration_error

    Notes
    -----
    Not a consistent measure: it jumps when a prediction crosses an edge, and errors cancel within a bin. With exact
    level sets it is discontinuous (Lemma 4.8). Equal-width and equal-mass binning are not symmetric under p -> 1 - p,
    because bins are right-closed. Cost: a sort, then O(m) for m distinct predictions.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 1.1
    and Section 4.3.

    Examples
    --------
    >>> from calibrant import expected_calibration_error
    >>> expected_calibration_error([0, 1, 1, 0], [0.25, 0.75, 0.75, 0.25], n_bins=2)
    0.25
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.25], n_bins=2, norm="max")
    0.25
    """
    return _error_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), n_bins, strategy, norm)


@register(
    _bound_from_sample,
    sentence="Binned error plus average bin width: a certified upper bound on the distance from calibration.",
    definition="Sum over bins of |mean residual's share| + mass * (upper edge - lower edge), in probability units.",
    source="Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Equation 5.",
    symmetric=False,
    order=90,
)
def binned_calibration_error_bound(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
) -> float:
    """Binned error plus average bin width: a certified upper bound on the distance from calibration.

    Parameters
    ----------
    y_true, y_prob, sample_weight, n_bins, strategy
        As for `expected_calibration_error`.

    Returns
    -------
    float
        Sum over bins of |mean residual's share| + mass * (upper edge - lower edge), in probability units.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used; the message names it and what is allowed.

    See Also
    --------
    expected_calibration_error, interval_calibration_error, upper_calibration_distance

    Notes
    -----
    Binned errors alone can be zero for predictions far from calibrated; with the width of the bins added they bound the
    upper distance from above. `interval_calibration_error` is the least such bound. Cost: a sort, then one pass.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Equation 5.

    Examples
    --------
    >>> from calibrant.measures import binned_calibration_error_bound
    >>> binned_calibration_error_bound([0, 1, 1, 0], [0.25, 0.75, 0.75, 0.25], n_bins=2)
    0.75
    """
    return _bound_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), n_bins, strategy)


def calibration_bins(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
) -> CalibrationBins:
    """Return the bins themselves: edges, counts, mean predictions and mean outcomes.

    Parameters
    ----------
    y_true, y_prob, sample_weight, n_bins, strategy
        As for `expected_calibration_error`.

    Returns
    -------
    CalibrationBins
        The bins that hold at least one row.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used; the message names it and what is allowed.

    See Also
    --------
    expected_calibration_error, ReliabilityDisplay

    Notes
    -----
    Cost: a sort, then one pass.

    Examples
    --------
    >>> from calibrant import calibration_bins
    >>> bins = calibration_bins([0, 1, 1, 0], [0.0, 0.5, 1.0, 0.25], n_bins=2)
    >>> bins.count.tolist(), bins.outcome.round(3).tolist()
    ([3.0, 1.0], [0.333, 1.0])
    """
    return bins_from_sample(Sample.from_columns(y_true, y_prob, sample_weight), n_bins, strategy)


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
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.
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
