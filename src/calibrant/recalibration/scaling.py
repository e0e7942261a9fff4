"""Recalibrators with a formula of a few parameters: one shift, Platt, beta and polynomial scaling."""

from __future__ import annotations

__all__ = ["BetaScaling", "OffsetScaling", "PlattScaling", "PolynomialScaling"]

from typing import ClassVar

from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.curves.formulas import BetaCurve, OffsetCurve, PlattCurve, PolynomialCurve
from calibrant.recalibration.kinds import Kind, column, ends, flag, number, within


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
