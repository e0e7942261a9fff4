"""Recalibrators with steps or pieces: isotonic, histogram binning, scaling-binning, nearest calibrated."""

from __future__ import annotations

__all__ = ["HistogramBinning", "IsotonicScaling", "NearestCalibrated", "ScalingBinning"]

from typing import ClassVar

from sklearn.base import clone

from calibrant.door.errors import InputError
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.curves.steps import (
    HistogramBinningCurve,
    IsotonicCurve,
    NearestCurve,
    ScalingBinningCurve,
    Strategy,
)
from calibrant.recalibration.kinds import Kind, check, count, increasing, number, shares
from calibrant.recalibration.scaling import PlattScaling
from calibrant.recalibration.serialization import stored


class IsotonicScaling(IsotonicCurve, Recalibrator):
    """Best increasing map of the predictions, linear between its steps.

    Attributes
    ----------
    knots_, values_ : ndarray of shape (k,)
        First and last prediction of every step, and its mean outcome; the map is linear between and flat beyond them.
    n_steps_ : int
        Number of steps.

    See Also
    --------
    HistogramBinning, NearestCalibrated, choose_recalibrator

    Notes
    -----
    The least-squares increasing fit, which also maximises the likelihood (pool adjacent violators, from scipy). It can
    return exact 0 and 1, where one wrong label makes the log score infinite. Cost: a sort, then O(m).

    References
    ----------
    B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002.

    Examples
    --------
    >>> from calibrant.recalibration import IsotonicScaling
    >>> isotonic = IsotonicScaling().fit([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])
    >>> isotonic.predict([0.1, 0.2, 0.6, 0.9]).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"knots_": increasing, "values_": shares, "n_steps_": count}


class HistogramBinning(HistogramBinningCurve, Recalibrator):
    """Mean outcome of the bin that a prediction falls in.

    Parameters
    ----------
    n_bins : int, default 15
        Number of bins; there are fewer where ties or few rows leave no more.
    strategy : {"quantile", "ceil", "uniform"}
        Bins of equal mass, the first and larger parts of ``numpy.array_split`` where rows weigh the same. Or parts of
        ceil(n / n_bins) rows, the last of the remainder, as the scaling-binning and T-Cal authors cut them. This counts
        rows, so it takes no weights. Or bins of equal width. Ties are never split: they stay with the lower part.

    Attributes
    ----------
    edges_ : ndarray of shape (b - 1,)
        Upper ends of all bins but the last; bins are right-closed. Between equal-mass bins, halfway between neighbours.
    values_ : ndarray of shape (b,)
        What a bin returns; the middle of the bin where it held no weight.

    See Also
    --------
    ScalingBinning, IsotonicScaling, choose_recalibrator

    Notes
    -----
    A bin with one kind of outcome returns exact 0 or 1, where one wrong label makes the log score infinite. Cost: a
    sort, then O(m); a prediction is O(log b).

    References
    ----------
    B. Zadrozny and C. Elkan, ICML 2001; A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019.

    Examples
    --------
    >>> from calibrant.recalibration import HistogramBinning
    >>> histogram = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1])
    >>> histogram.edges_.round(6).tolist(), histogram.predict([0.0, 0.6]).tolist()
    ([0.45], [0.5, 1.0])
    """

    _fitted: ClassVar[dict[str, Kind]] = {"edges_": increasing, "values_": shares}


class ScalingBinning(ScalingBinningCurve, Recalibrator):
    """Scaling-binning: a smooth map is fitted, then its mean in each of a few bins is returned.

    Parameters
    ----------
    n_bins : int, default 15
        Number of bins of the scaled predictions.
    strategy : {"quantile", "ceil", "uniform"}
        As for `HistogramBinning`.
    scaling : recalibrator, default None
        The smooth map; None is `PlattScaling`.

    Attributes
    ----------
    scaling_ : recalibrator
        The fitted map.
    edges_ : ndarray of shape (b - 1,)
        Upper ends of the bins of scaled predictions but the last.
    values_ : ndarray of shape (b,)
        Mean scaled prediction in each bin.

    See Also
    --------
    HistogramBinning, PlattScaling, squared_error_interval

    Notes
    -----
    With few values returned, the remaining error can be estimated (see `squared_calibration_error`), and averaging
    scaled predictions instead of outcomes adds less noise than histogram binning. All rows are used in all three steps,
    as in the authors' code; their theorem uses a third of the rows for each.

    References
    ----------
    A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019, Section 4.

    Examples
    --------
    >>> from calibrant.recalibration import ScalingBinning
    >>> both = ScalingBinning(n_bins=2).fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> both.predict([0.2, 0.8]).round(6).tolist()
    [0.333333, 0.666667]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"scaling_": stored, "edges_": increasing, "values_": shares}

    def __init__(self, n_bins: int = 15, strategy: Strategy = "quantile", scaling: Recalibrator | None = None) -> None:
        super().__init__(n_bins, strategy)
        self.scaling = scaling

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.scaling is not None and not isinstance(self.scaling, Recalibrator):
            raise InputError("scaling", f"is {self.scaling!r:.60}; it must be a recalibrator or None")
        self._new_scaling()._check_parameters()

    def _check_fitted(self) -> None:
        check(repr(self.scaling_) == repr(self._new_scaling()), "scaling_", f"must be a {self._new_scaling()!r:.60}")
        super()._check_fitted()

    def _new_scaling(self) -> Recalibrator:
        return PlattScaling() if self.scaling is None else clone(self.scaling)


class NearestCalibrated(NearestCurve, Recalibrator):
    """Nearest calibrated post-processing: intervals of predictions, chosen by their error plus their width.

    Attributes
    ----------
    edges_ : ndarray of shape (k - 1,)
        Upper ends of the intervals but the last, halfway between neighbours.
    values_ : ndarray of shape (k,)
        Mean outcome in each interval.
    interval_error_ : float
        The interval calibration error that the intervals attain.

    See Also
    --------
    IsotonicScaling, calibration_distance

    Notes
    -----
    The partition that attains the interval calibration error. The new predictor is calibrated on the sample, and at
    most `interval_error_` away from the old one on average. It follows noise: use it to ask what is near on these rows,
    and smooth maps for new rows. It can return exact 0 and 1.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Section 6.

    Examples
    --------
    >>> from calibrant.recalibration import NearestCalibrated
    >>> nearest = NearestCalibrated().fit([0.5, 0.5, 0.51, 0.51], [0, 1, 0, 1])
    >>> nearest.predict([0.5, 0.51]).tolist(), round(nearest.interval_error_, 6)
    ([0.5, 0.5], 0.005)
    """

    _fitted: ClassVar[dict[str, Kind]] = {"edges_": increasing, "values_": shares, "interval_error_": number}
