"""Recalibrators of one probability: formulas of a few parameters, steps or pieces, and Venn-Abers prediction."""

from __future__ import annotations

__all__ = [
    "BetaScaling",
    "HistogramBinning",
    "IsotonicScaling",
    "NearestCalibrated",
    "OffsetScaling",
    "PlattScaling",
    "PolynomialScaling",
    "ScalingBinning",
    "TemperatureScaling",
    "VennAbers",
]

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from calibrant.door.classes import MulticlassSample, class_table, multiclass_sample
from calibrant.door.columns import Column, FloatArray
from calibrant.door.errors import InputError
from calibrant.kernels.softmax import inverse_temperature_slope
from calibrant.recalibration.base import Recalibrator, read_predictions
from calibrant.recalibration.curves.scaling import (
    BetaCurve,
    HistogramBinningCurve,
    IsotonicCurve,
    NearestCurve,
    OffsetCurve,
    PlattCurve,
    PolynomialCurve,
    ScalingBinningCurve,
    Strategy,
    TemperatureCurve,
    VennAbersCurve,
    temperature,
)
from calibrant.recalibration.kinds import (
    Kind,
    check,
    column,
    count,
    ends,
    flag,
    increasing,
    number,
    optional,
    shares,
    within,
)
from calibrant.recalibration.multiclass import inner_softmax, log_probabilities, masses
from calibrant.recalibration.serialization import stored


class OffsetScaling(OffsetCurve, Recalibrator):
    """One shift of all log-odds, so that predictions are right on average: recalibration in the large.

    Parameters
    ----------
    clip : float, default 1e-12
        Predictions closer than this to 0 or 1 are read as being this far from it.

    Attributes
    ----------
    offset_ : float
        What is added to all log-odds.

    See Also
    --------
    PlattScaling, AveragedScaling

    Notes
    -----
    For a change of the base rate alone, as between two years or two sites: the odds of all rows change by one factor.
    It is the likeliest shift, at which the mean of the corrected predictions is the mean outcome. If there is one class
    only, outcomes are smoothed as in `PlattScaling`. Cost: a sort, then O(m) per step.

    References
    ----------
    E. Steyerberg, "Clinical Prediction Models", 2nd edition, 2019, Chapter 20.

    Examples
    --------
    >>> from calibrant.recalibration import OffsetScaling
    >>> offset = OffsetScaling().fit([0.2, 0.2, 0.5, 0.5], [0, 0, 0, 1])
    >>> offset.predict([0.2, 0.5]).round(3).tolist()
    [0.129, 0.371]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"offset_": within(1500.0)}
    """A shift lies between log-odds of the mean outcome, 745 at most, and of predictions, 691 at most, apart."""


class PlattScaling(PlattCurve, Recalibrator):
    """Logistic curve through the log-odds of the predictions: two numbers, a slope and a shift.

    Parameters
    ----------
    clip : float, default 1e-12
        Predictions closer than this to 0 or 1 are read as being this far from it: log-odds are infinite there.

    Attributes
    ----------
    slope_, intercept_ : float
        The corrected log-odds are slope * log-odds + intercept.
    domain_ : tuple of float
        The range of the predictions it was fitted to.
    smoothed_ : bool
        Whether the outcomes were smoothed, because no finite coefficients maximise the likelihood.

    See Also
    --------
    TemperatureScaling, BetaScaling, choose_recalibrator

    Notes
    -----
    The maximum-likelihood fit, converged to rounding. If a threshold separates the outcomes, or there is one class
    only, no finite slope maximises the likelihood. Outcomes are then smoothed as Platt did, (N + 1) / (N + 2) for ones
    and 1 / (N + 2) for zeros. If all predictions are equal, the slope is 1. Cost: a sort, then O(m) per step.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", 1999; T-Cal, JMLR 24 (2023), Section 4.2.

    Examples
    --------
    >>> from calibrant.recalibration import PlattScaling
    >>> platt = PlattScaling().fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> platt.predict([0.1, 0.9]).round(6).tolist()
    [0.333333, 0.666667]
    >>> platt.summary()[59:]
    'predictions are raised below about 0.5 and lowered above.'
    """

    _fitted: ClassVar[dict[str, Kind]] = {"slope_": number, "intercept_": number, "domain_": ends, "smoothed_": flag}


class BetaScaling(BetaCurve, Recalibrator):
    """Beta calibration: log-odds become a * log(p) - b * log(1 - p) + c with a and b not negative.

    Parameters
    ----------
    clip : float, default 1e-12
        Predictions closer than this to 0 or 1 are read as being this far from it.

    Attributes
    ----------
    a_, b_, c_ : float
        Coefficients; the identity is (1, 1, 0).
    smoothed_ : bool
        Whether the outcomes were smoothed, because no finite coefficients maximise the likelihood.

    See Also
    --------
    PlattScaling, TemperatureScaling, choose_recalibrator

    Notes
    -----
    The maximum-likelihood fit under a >= 0 and b >= 0, exactly: the constraints that bind are found by their
    multipliers. With two distinct predictions a = b, with one a = b = 1. Separable outcomes and one class only are
    smoothed as in `PlattScaling`.

    References
    ----------
    M. Kull, T. Silva Filho and P. Flach, "Beta calibration", AISTATS 2017.

    Examples
    --------
    >>> from calibrant.recalibration import BetaScaling
    >>> beta = BetaScaling().fit([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0, 0, 1, 0, 1, 1])
    >>> beta.predict([0.1, 0.9]).round(6).tolist()
    [0.333333, 0.666667]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"a_": number, "b_": number, "c_": number, "smoothed_": flag}


class PolynomialScaling(PolynomialCurve, Recalibrator):
    """Polynomial of the prediction fitted by least squares, then clipped to [0, 1].

    Parameters
    ----------
    degree : int, default 3
        Order of the polynomial; with m distinct predictions, m - 1 at most is used.

    Attributes
    ----------
    coefficients_ : ndarray of shape (degree + 1,)
        In the basis of Chebyshev polynomials on the range of the predictions.
    domain_ : tuple of float
        That range.

    See Also
    --------
    PlattScaling, IsotonicScaling

    Notes
    -----
    The fit minimises the Brier score among polynomials before clipping. It need not be increasing, and outside the
    range of the predictions it was fitted to it may bend anywhere. Clipped, it returns exactly 0 or 1, where one wrong
    label makes the log score infinite. Cost: a sort, then O(m degree**2).

    References
    ----------
    T-Cal, JMLR 24 (2023), Section 4.2.

    Examples
    --------
    >>> from calibrant.recalibration import PolynomialScaling
    >>> line = PolynomialScaling(degree=1).fit([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    >>> line.predict([0.2, 0.5, 0.8]).round(6).tolist()
    [0.5, 0.75, 1.0]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"coefficients_": column, "domain_": ends}


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


class VennAbers(VennAbersCurve, Recalibrator):
    """Two isotonic fits for every new prediction, one for either outcome it may have, and one probability from both.

    Attributes
    ----------
    knots_ : ndarray of shape (m,)
        Predictions that it was fitted to.
    low_, high_ : ndarray of shape (2 m + 1,)
        Both ends of the range: before the first knot, at it, between it and the next, and so on.

    See Also
    --------
    IsotonicScaling, AveragedScaling

    Notes
    -----
    Suppose that the fitted rows and the new one are exchangeable. Then the end that belongs to the new row's outcome is
    calibrated, at any number of rows (docs/recalibration.md). It is not known which end it is; `interval` gives both.
    `predict` gives high / (1 - low + high). Of all probabilities this one's log loss is at worst least above that of
    the right end. Cost: a sort, then O(m) for few blocks.

    References
    ----------
    V. Vovk and I. Petej, "Venn-Abers predictors", UAI 2014; V. Vovk, I. Petej and V. Fedorova, "Large-scale
    probabilistic predictors with and without guarantees of validity", NIPS 2015.

    Examples
    --------
    >>> from calibrant.recalibration import VennAbers
    >>> fitted = VennAbers().fit([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    >>> fitted.interval([0.15, 0.85]).round(3).tolist()
    [[0.0, 0.5], [0.5, 1.0]]
    >>> fitted.predict([0.15, 0.85]).round(3).tolist()
    [0.333, 0.667]
    """

    _fitted: ClassVar[dict[str, Kind]] = {"knots_": increasing, "low_": shares, "high_": shares}

    def interval(self, y_prob: Column) -> FloatArray:
        """Return both ends of the range of each prediction, shape (n, 2).

        Raises
        ------
        InputError
            If predictions cannot be used.
        """
        check_is_fitted(self)
        return np.stack(self.ends(read_predictions(y_prob)), axis=1)


class TemperatureScaling(TemperatureCurve, Recalibrator):
    """One number, the temperature, by which all log-odds (or the logarithms of class probabilities) are divided.

    Parameters
    ----------
    clip : float, default 1e-12
        Probabilities closer than this to 0 (or 1) are read as being this far from it.

    Attributes
    ----------
    temperature_ : float
        Above 1, predictions are drawn towards 1/2 (with classes, 1/K). Between 1e-3 and 1e3, an end being taken if the
        maximum of the likelihood is beyond it.
    domain_ : tuple of float or None
        The range of the predictions; None if it was fitted to a table.
    n_classes_ : int or None
        Columns of the table it was fitted to, None if it was fitted to one column.

    See Also
    --------
    PlattScaling, VectorScaling, choose_recalibrator

    Notes
    -----
    ``fit`` takes y_prob of shape (n,), or of shape (n, K) with labels. The maximum-likelihood temperature, exactly: the
    root of a monotone derivative, by Newton's method between bounds. The order of the classes never changes. If every
    row favours what happened the likelihood is largest at temperature 0, and 1e-3 is taken. Predictions that are all
    1/2, or 1/K, leave it at 1.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> from calibrant.recalibration import TemperatureScaling
    >>> scaling = TemperatureScaling().fit([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [1, 1, 0, 0, 0, 1])
    >>> round(scaling.temperature_, 3), scaling.predict([0.9]).round(6).tolist()
    (3.17, [0.666667])
    >>> table = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]]
    >>> TemperatureScaling().fit(table, [0, 0, 1]).summary()
    'Temperature scaling divides log-odds by 3.170: class probabilities are evened out.'
    """

    def fit(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> Self:
        """Fit the temperature to predictions of shape (n,) or (n, K), outcomes or labels, and weights."""
        if _columns(y_prob) < 2:
            return super().fit(y_prob, y_true, sample_weight)
        return self.fit_classes(multiclass_sample(y_true, y_prob, sample_weight=sample_weight))

    def fit_classes(self, sample: MulticlassSample) -> Self:
        """Fit the temperature to classes that were read already."""
        self._check_parameters()
        self.n_classes_ = sample.n_classes
        self.domain_ = None
        score = log_probabilities(sample.y_prob, self.clip)
        score -= score.max(axis=1, keepdims=True)
        mass = masses(sample)
        self.temperature_ = temperature(
            partial(inverse_temperature_slope, np.ascontiguousarray(score), sample.y_true, mass)
        )
        return self

    def predict(self, y_prob: Any) -> FloatArray:
        """Return corrected probabilities, in the shape of the predictions: (n,) or (n, K)."""
        check_is_fitted(self)
        if self.n_classes_ is None:
            return self._map(read_predictions(y_prob))
        table = class_table(y_prob).rows()
        if table.shape[1] != self.n_classes_:
            raise InputError("y_prob", f"has {table.shape[1]} columns; the fit had {self.n_classes_}")
        return self._map_classes(table)

    def score(self, y_prob: Any, y_true: Column, sample_weight: Column | None = None) -> float:
        """Return minus the Brier score (of classes: the sum over classes of squared errors)."""
        check_is_fitted(self)
        if self.n_classes_ is None:
            return super().score(y_prob, y_true, sample_weight)
        sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight)
        error = self.predict(y_prob)
        error[np.arange(error.shape[0]), sample.y_true] -= 1.0
        return -float(np.average((error**2).sum(axis=1), weights=sample.sample_weight))

    _fitted: ClassVar[dict[str, Kind]] = {
        "temperature_": number,
        "domain_": optional(ends),
        "n_classes_": optional(count),
    }

    def _check_fitted(self) -> None:
        check((self.n_classes_ is None) != (self.domain_ is None), "domain_", "must be there for one column alone")
        check(self.n_classes_ != 1, "n_classes_", "must be two or more")
        super()._check_fitted()

    @property
    def _n_features_out(self) -> int:
        return self.n_classes_ or 1

    def _map_classes(self, table: FloatArray) -> FloatArray:
        return inner_softmax(log_probabilities(table, self.clip) / self.temperature_)

    def _in_words(self) -> str:
        if self.n_classes_ is None:
            return super()._in_words()
        t = self.temperature_
        change = "unchanged" if t == 1.0 else "evened out" if t > 1.0 else "sharpened"
        return f"Temperature scaling divides log-odds by {t:.3f}: class probabilities are {change}."


def _columns(y_prob: Any) -> int:
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else 1
    return len(y_prob[0]) if isinstance(y_prob, list | tuple) and y_prob and isinstance(y_prob[0], list | tuple) else 1
