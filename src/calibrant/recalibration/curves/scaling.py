"""Curves of one probability: formulas of a few numbers, steps or pieces, and the range of Venn-Abers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import one_of, positive_integer
from calibrant.door.columns import FloatArray
from calibrant.door.ends import at_most
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.special import expit
from calibrant.kernels.isotonic import isotonic, with_one_more
from calibrant.kernels.logistic import logistic_derivatives
from calibrant.kernels.sums import dot, rows_dot
from calibrant.measures.interval import partition_from_sample
from calibrant.measures.logistic import (
    FARTHEST,
    MANY,
    at_least_from_the_ends,
    fit_logistic,
    inner_expit,
    log_odds,
    pooled_neighbours,
)
from calibrant.recalibration.curves.base import (
    LARGEST_LOG_ODDS,
    Curve,
    Levels,
    check_clip,
    check_ends_agree,
    register_map,
)
from calibrant.recalibration.kinds import check, check_size

_LEAST_SPREAD = 2e-162  # below the root of the smallest double, which is what a variance may be
_STEEPEST = 1.01 * FARTHEST / _LEAST_SPREAD
"""More than any slope: a coefficient of standardised features over their spread."""
_HIGHEST = 1.01 * (FARTHEST + 2.0 * LARGEST_LOG_ODDS * _STEEPEST)
"""More than any intercept: a coefficient, less a slope or two times a mean of log-odds or logarithms."""
_STEPS, _CLOSE = 200, 1e-14  # of a search between two ends, and how near its last steps are
_RANK = 1e-13  # share of the largest singular value below which lstsq takes a direction for none
_LARGEST_COEFFICIENT = 1.1 / _RANK
"""More than any: the largest singular value is at least 1, as the first column is of length 1, and so are all rates."""


@register_map("offset", "one shift of all log-odds", order=5)
class OffsetCurve(Curve):
    """One number, which is added to all log-odds: recalibration in the large."""

    estimator_name = "OffsetScaling"

    def __init__(self, clip: float = 1e-12) -> None:
        self.clip = clip

    def _check_parameters(self) -> None:
        check_clip(self.clip)

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        x, base = log_odds(levels.prediction, self.clip), levels.base_log_odds
        if levels.rate.min() == 1.0 or levels.rate.max() == 0.0:  # whatever the mean is rounded to
            rate = dot(levels.mass, levels.platt_targets())
            base = float(np.log(rate / (1.0 - rate)))
        mean = float(expit(base))
        # The mean of what is corrected lies between the corrected ends, and is the mean outcome.
        low, high = base - float(x[-1]), base - float(x[0])
        offset = min(max(0.0, low), high)
        for _ in range(_STEPS):
            corrected = expit(x + offset)
            excess = dot(levels.mass, corrected) - mean
            low, high = (low, offset) if excess > 0.0 else (offset, high)
            slope = dot(levels.mass, corrected * expit(-x - offset))
            step = offset - excess / slope if slope > 0.0 else low
            after = step if low < step < high else low + (high - low) / 2.0
            close, offset = abs(after - offset) <= _CLOSE * max(1.0, abs(offset)), after
            if close:
                break
        self.offset_ = offset

    def _map(self, prediction: FloatArray) -> FloatArray:
        return inner_expit(log_odds(prediction, self.clip) + self.offset_)

    def _in_words(self) -> str:
        way = "raised" if self.offset_ > 0.0 else "lowered"
        return f"One shift adds {self.offset_:.3f} to all log-odds{f': predictions are {way}' if self.offset_ else ''}."


@register_map("platt", "Platt scaling", order=20)
class PlattCurve(Curve):
    """Logistic curve through the log-odds of the predictions: two numbers, a slope and a shift."""

    estimator_name = "PlattScaling"

    def __init__(self, clip: float = 1e-12) -> None:
        self.clip = clip

    def _check_parameters(self) -> None:
        check_clip(self.clip)

    def _check_fitted(self) -> None:
        check_size(self.slope_, "slope_", _STEEPEST)
        check_size(self.intercept_, "intercept_", _HIGHEST)

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        x = log_odds(levels.prediction, self.clip)
        self.domain_ = (float(levels.prediction[0]), float(levels.prediction[-1]))
        self.smoothed_ = levels.separable
        if x[0] == x[-1]:
            self.slope_, self.intercept_ = 1.0, levels.base_log_odds - float(x[0])
            return
        rate = levels.platt_targets() if self.smoothed_ else levels.rate
        # A slope of one unit spreads the scores by one standard deviation, around their mean.
        centre = dot(levels.mass, x)
        spread = max(float(np.sqrt(dot(levels.mass, (x - centre) ** 2))), _LEAST_SPREAD)
        features = np.stack([(x - centre) / spread, np.ones_like(x)])
        theta = fit_logistic(features, rate, levels.mass, np.array([0.0, levels.base_log_odds]))
        self.slope_ = float(theta[0] / spread)
        self.intercept_ = float(theta[1] - self.slope_ * centre)

    def _map(self, prediction: FloatArray) -> FloatArray:
        return inner_expit(self.slope_ * log_odds(prediction, self.clip) + self.intercept_)

    def _in_words(self) -> str:
        return (
            f"Platt scaling multiplies log-odds by {self.slope_:.3f} and adds {round(self.intercept_, 3) + 0.0:.3f}"
            f"{what_a_line_does(self.slope_, self.intercept_, self.domain_, self._map)}"
            f"{' (outcomes smoothed: they are separable)' if self.smoothed_ else ''}."
        )


@register_map("beta", "beta scaling", order=30)
class BetaCurve(Curve):
    """Beta calibration: log-odds become a * log(p) - b * log(1 - p) + c with a and b not negative."""

    estimator_name = "BetaScaling"

    def __init__(self, clip: float = 1e-12) -> None:
        self.clip = clip

    def _check_parameters(self) -> None:
        check_clip(self.clip)

    def _check_fitted(self) -> None:
        check(self.a_ >= 0.0, "a_", "must not be negative")
        check(self.b_ >= 0.0, "b_", "must not be negative")
        check_size(self.a_, "a_", _STEEPEST)
        check_size(self.b_, "b_", _STEEPEST)
        check_size(self.c_, "c_", _HIGHEST)

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        p, q = at_least_from_the_ends(levels.prediction, self.clip)
        self.smoothed_ = levels.separable
        base = levels.base_log_odds
        if levels.prediction.size == 1:
            self.a_, self.b_, self.c_ = 1.0, 1.0, base - float(np.log(p[0]) - np.log(q[0]))
            return
        rate = levels.platt_targets() if self.smoothed_ else levels.rate
        rows = np.stack([np.log(p), -np.log(q)])
        if levels.prediction.size == 2:
            rows = rows.sum(axis=0, keepdims=True)
        self.a_, self.b_, self.c_ = _least_loss(rows, rate, levels.mass)

    def _map(self, prediction: FloatArray) -> FloatArray:
        p, q = at_least_from_the_ends(prediction, self.clip)
        return inner_expit(self.a_ * np.log(p) - self.b_ * np.log(q) + self.c_)

    def _in_words(self) -> str:
        return (
            f"Beta scaling sets log-odds to {self.a_:.3f} log(p) - {self.b_:.3f} log(1 - p) "
            f"{'-' if self.c_ < 0 else '+'} {abs(self.c_):.3f} "
            f"(1, 1 and 0 would change nothing){'; outcomes smoothed: they are separable' if self.smoothed_ else ''}."
        )


@register_map("polynomial", "polynomial scaling", order=40)
class PolynomialCurve(Curve):
    """Polynomial of the prediction fitted by least squares, then clipped to [0, 1]."""

    estimator_name = "PolynomialScaling"

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    def _check_parameters(self) -> None:
        positive_integer(self.degree, "degree")

    def _check_fitted(self) -> None:
        size = self.coefficients_.size
        check(1 <= size <= self.degree + 1, "coefficients_", f"must be 1 to {self.degree + 1}")
        check_size(self.coefficients_, "coefficients_", _LARGEST_COEFFICIENT)

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        self.domain_ = (float(levels.prediction[0]), float(levels.prediction[-1]))
        basis = self._basis(levels.prediction, min(self.degree, levels.prediction.size - 1))
        root = np.sqrt(levels.mass)
        # Of all best fits the one with the least coefficients: nearly equal predictions cannot tell them apart.
        solution = np.linalg.lstsq(basis * root[:, None], levels.rate * root, rcond=_RANK)[0]
        self.coefficients_ = np.asarray(solution, dtype=np.float64)

    def _basis(self, prediction: FloatArray, degree: int) -> FloatArray:
        low, high = self.domain_
        unit = (prediction - low) / (high - low) * 2.0 - 1.0 if high - low > 1e-300 else np.zeros_like(prediction)
        # Beyond it coefficients times a polynomial, (2 x)^degree at most, may add up to more than a double.
        most = max(1.0, 0.5 * 1e290 ** (1.0 / max(degree, 1)))
        return np.asarray(np.polynomial.chebyshev.chebvander(np.clip(unit, -most, most), degree))

    def _range(self) -> tuple[float, float]:
        low, high = self.domain_
        slope = np.polynomial.chebyshev.chebder(self.coefficients_)
        bends = np.polynomial.chebyshev.chebroots(np.polynomial.chebyshev.chebtrim(slope, 1e-13 * np.abs(slope).max()))
        # Complex roots count as their real parts: a point too many does no harm.
        at = np.clip(low + (np.real(bends) + 1.0) / 2.0 * (high - low), 0.0, 1.0)
        values = self._map(np.concatenate([[0.0, 1.0], at]))
        return float(values.min()), float(values.max())

    def _map(self, prediction: FloatArray) -> FloatArray:
        curve = self._basis(prediction, self.coefficients_.size - 1) @ self.coefficients_
        return np.clip(curve, 0.0, 1.0)

    def _in_words(self) -> str:
        low, high = self.domain_
        ends = self._map(np.array([low, high]))
        return (
            f"Polynomial scaling of degree {self.coefficients_.size - 1} takes {low:.3g} to {ends[0]:.3g} and "
            f"{high:.3g} to {ends[1]:.3g}."
        )


_ROUGHLY = 256  # pooled neighbours that say which terms to try first


def _least_loss(rows: FloatArray, rate: FloatArray, mass: FloatArray) -> tuple[float, float, float]:
    """Coefficients (a, b, c) of the constrained fit; one row of features ties a and b together."""
    mean = dot(mass, rate)
    base = np.log(mean / (1.0 - mean))
    centre = rows_dot(rows, mass)
    spread = np.maximum(np.sqrt(rows_dot((rows - centre[:, None]) ** 2, mass)), _LEAST_SPREAD)
    units = (rows - centre[:, None]) / spread[:, None]

    # From the fewest terms to both, so that the fit without constraints is made only where its optimum is inside them.
    candidates: list[list[int]] = [[], [0], [1], [0, 1]] if units.shape[0] == 2 else [[], [0]]
    start = np.append(np.zeros(units.shape[0]), base)
    if rate.size > 8 * _ROUGHLY:  # what is best for pooled neighbours is tried first, and begun with
        active, start = _best_terms(candidates, *pooled_neighbours(units, rate, mass, _ROUGHLY), base, start)
        candidates.insert(0, active)
    theta = _best_terms(candidates, units, rate, mass, base, start)[1]
    coefficient = np.maximum(theta[:-1], 0.0) / spread
    c = float(theta[-1] - coefficient @ centre)
    return float(coefficient[0]), float(coefficient[-1]), c


def _best_terms(
    candidates: list[list[int]], units: FloatArray, rate: FloatArray, mass: FloatArray, base: float, start: FloatArray
) -> tuple[list[int], FloatArray]:
    """The first of these sets of terms whose fit is the constrained one, or the last, and its coefficients."""
    for active in candidates:
        theta = np.append(np.zeros(units.shape[0]), base)
        if active:
            features = np.vstack([units[active], np.ones_like(rate)])
            theta[[*active, -1]] = fit_logistic(features, rate, mass, start[[*active, -1]])
        outside = np.delete(np.arange(units.shape[0]), active)
        if (theta[:-1] >= 0.0).all():
            slopes = rows_dot(units, mass * (expit(theta[:-1] @ units + theta[-1]) - rate))
            if (slopes[outside] >= -1e-10).all():
                break
    return active, theta


def what_a_line_does(
    slope: float, intercept: float, domain: tuple[float, float], corrected: Callable[[FloatArray], FloatArray]
) -> str:
    """Say in a clause what a line in the log-odds does to predictions between two ends; "" where it cannot be said.

    It moves log-odds x by (slope - 1) x + intercept, which changes sign at most once: how the ends move says it all.
    Neither slope nor intercept does alone: a slope above 1 and a shift may lower every prediction there is.
    """
    if slope < 0.0:
        return ": the order of predictions is reversed"
    ends = np.array(domain)
    first, last = np.sign(corrected(ends) - ends)
    x = log_odds(ends, 1e-300)
    if (np.sign((slope - 1.0) * x + intercept) != (first, last)).any():  # 0 and 1 themselves, which were read as inside
        return ""
    if first == last:
        return "" if first == 0.0 else f": predictions are {'raised' if first > 0.0 else 'lowered'}"
    if 0.0 in (first, last):
        return ""
    still = float(expit(intercept / (1.0 - slope)))
    below, above = ("raised", "lowered") if first > 0.0 else ("lowered", "raised")
    return f": predictions are {below} below about {still:.3g} and {above} above"


COLDEST, HOTTEST = 1e-3, 1e3
_TEMPERATURE_STEPS = 200
_TEMPERATURE_CLOSE = (
    1e-9  # a Newton step shorter than this part of where it starts ends within rounding: its error is squared
)


@register_map("temperature", "temperature scaling", order=10, classes=True)
class TemperatureCurve(Curve):
    """One number, the temperature, by which all log-odds are divided."""

    estimator_name = "TemperatureScaling"

    def __init__(self, clip: float = 1e-12) -> None:
        self.clip = clip

    def _check_parameters(self) -> None:
        check_clip(self.clip)

    def _check_fitted(self) -> None:
        inside = COLDEST * (1.0 - 1e-9) <= self.temperature_ <= HOTTEST * (1.0 + 1e-9)
        check(inside, "temperature_", f"must lie between {COLDEST:g} and {HOTTEST:g}")

    def _fit(self, sample: Sample) -> None:
        self.n_classes_: int | None = None
        levels = Levels.from_sample(sample)
        x = log_odds(levels.prediction, self.clip)[None]
        rate, mass = np.ascontiguousarray(levels.rate), np.ascontiguousarray(levels.mass)
        self.domain_: tuple[float, float] | None = (float(levels.prediction[0]), float(levels.prediction[-1]))

        def slope(x: FloatArray, rate: FloatArray, mass: FloatArray, inverse: float) -> tuple[float, float]:
            _, gradient, hessian = logistic_derivatives(x, rate, mass, np.array([inverse]))
            return float(gradient[0]), float(hessian[0, 0])

        rough = temperature(partial(slope, *pooled_neighbours(x, rate, mass))) if rate.size > MANY else 1.0
        self.temperature_ = temperature(partial(slope, x, rate, mass), rough)

    def _map(self, prediction: FloatArray) -> FloatArray:
        return inner_expit(log_odds(prediction, self.clip) / self.temperature_)

    def _in_words(self) -> str:
        assert self.domain_ is not None
        what = what_a_line_does(1.0 / self.temperature_, 0.0, self.domain_, self._map)
        return f"Temperature scaling divides log-odds by {self.temperature_:.3f}{what}."


def temperature(slope: Callable[[float], tuple[float, float]], start: float = 1.0) -> float:
    """Temperature at which the derivative of the log score with respect to its inverse is zero.

    `slope` returns that derivative, which never falls, and its own; Newton's method from a temperature to start with,
    kept between what is known to be too low and too high.
    """
    low, high = 1.0 / HOTTEST, 1.0 / COLDEST
    at = 1.0 / start
    first, second = slope(at)
    if first == 0.0:  # the best, or nothing to scale: every score is zero
        return start
    if first > 0.0 and slope(low)[0] >= 0.0:
        return HOTTEST
    if first < 0.0 and slope(high)[0] <= 0.0:
        return COLDEST
    for _ in range(_TEMPERATURE_STEPS):
        low, high = (at, high) if first < 0.0 else (low, at)
        step = at - first / second if second > 0.0 else high
        if abs(step - at) <= _TEMPERATURE_CLOSE * at:
            return 1.0 / step
        after = step if low < step < high else float(np.sqrt(low * high))
        if not low < after < high:
            return 1.0 / after
        at = after
        first, second = slope(at)
    return 1.0 / at


Strategy = Literal["quantile", "ceil", "uniform"]


@register_map("isotonic", "isotonic regression", order=70)
class IsotonicCurve(Curve):
    """Best increasing map of the predictions, straight between its steps."""

    estimator_name = "IsotonicScaling"

    def _check_fitted(self) -> None:
        size = self.knots_.size
        check(self.values_.size == size, "values_", "must be as many as there are knots")
        check(self.values_[1:] >= self.values_[:-1], "values_", "must not decrease")
        check(self.n_steps_ <= size <= 2 * self.n_steps_, "knots_", "must be one or two a step")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        fitted, first = isotonic(levels.rate, levels.weight)
        last = np.append(first[1:], fitted.size) - 1
        at = np.unique(np.concatenate([first, last]))
        self.knots_, self.values_ = levels.prediction[at], np.clip(fitted[at], 0.0, 1.0)
        self.n_steps_ = int(first.size)

    def _map(self, prediction: FloatArray) -> FloatArray:
        if self.knots_.size == 1:
            return np.full_like(prediction, self.values_[0])
        # Not numpy.interp: its slopes overflow between knots that are the least doubles apart.
        inside = np.clip(prediction, self.knots_[0], self.knots_[-1])
        at = np.minimum(np.searchsorted(self.knots_, inside, side="right") - 1, self.knots_.size - 2)
        share = (inside - self.knots_[at]) / (self.knots_[at + 1] - self.knots_[at])
        low, high = self.values_[at], self.values_[at + 1]
        # In this form a step stays one value, to the last bit, and so does the end of the last one.
        return np.asarray(np.where(share < 1.0, np.minimum(low + share * (high - low), high), high))

    def _in_words(self) -> str:
        return (
            f"Isotonic scaling is an increasing map of {_many(self.n_steps_, 'step')}, from {self.values_[0]:.3g} at "
            f"{self.knots_[0]:.3g} to {self.values_[-1]:.3g} at {self.knots_[-1]:.3g}."
        )


class _Values(Curve):
    """A value for each interval of predictions."""

    edges_: FloatArray
    values_: FloatArray

    def _check_fitted(self) -> None:
        check_ends_agree(self.edges_, self.values_)
        super()._check_fitted()

    def _range(self) -> tuple[float, float]:
        return float(self.values_.min()), float(self.values_.max())

    def _map(self, prediction: FloatArray) -> FloatArray:
        return np.asarray(self.values_[np.searchsorted(self.edges_, prediction)])


class _Bins(_Values):
    """Intervals whose number and kind the user chooses."""

    def __init__(self, n_bins: int = 15, strategy: Strategy = "quantile") -> None:
        self.n_bins = n_bins
        self.strategy = strategy

    def _check_parameters(self) -> None:
        check_bins(self.n_bins, self.strategy)

    def _check_fitted(self) -> None:
        check(self.values_.size <= self.n_bins, "values_", f"must be at most {self.n_bins}, one per bin")
        super()._check_fitted()


@register_map("histogram", "histogram binning", order=60)
class HistogramBinningCurve(_Bins):
    """Mean outcome of the bin that a prediction falls in."""

    estimator_name = "HistogramBinning"

    def _fit(self, sample: Sample) -> None:
        self.edges_ = bin_edges(sample.prediction, sample.weight, sample.count, self.n_bins, self.strategy)
        self.values_ = bin_means(self.edges_, sample.prediction, sample.weight, sample.weighted_outcome)

    def _in_words(self) -> str:
        return (
            f"Histogram binning returns one of {_many(self.values_.size, 'value')}, from {self.values_.min():.3g} to "
            f"{self.values_.max():.3g}: the mean outcomes of {_many(self.values_.size, 'bin')}."
        )


@register_map("scaling_binning", "scaling-binning", order=50)
class ScalingBinningCurve(_Bins):
    """Scaling-binning: a smooth map is fitted, then its mean in each of a few bins is returned."""

    estimator_name = "ScalingBinning"

    def _new_scaling(self) -> Curve:
        return PlattCurve()

    def _fit(self, sample: Sample) -> None:
        self.scaling_ = self._new_scaling()
        self.scaling_._fit(sample)
        scaled, weight, count = self.scaling_._map(sample.prediction), sample.weight, sample.count
        if (scaled[1:] < scaled[:-1]).any():  # a map that is not increasing
            order = np.argsort(scaled)
            scaled, weight, count = scaled[order], weight[order], count[order]
        self.edges_ = bin_edges(scaled, weight, count, self.n_bins, self.strategy)
        self.values_ = bin_means(self.edges_, scaled, weight, weight * scaled)

    def _map(self, prediction: FloatArray) -> FloatArray:
        return super()._map(self.scaling_._map(prediction))

    def _in_words(self) -> str:
        return f"{self.scaling_._in_words()[:-1]}; then {_many(self.values_.size, 'bin')} return their means."


@register_map("nearest", "the nearest calibrated predictor", order=80)
class NearestCurve(_Values):
    """Nearest calibrated post-processing: intervals of predictions that pay for their width in calibration."""

    estimator_name = "NearestCalibrated"

    def _check_fitted(self) -> None:
        check(0.0 <= self.interval_error_ <= 1.0, "interval_error_", "must lie in [0, 1]")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        partition = partition_from_sample(sample)
        self.interval_error_ = partition.value
        self.edges_ = between(partition.last[:-1], partition.first[1:])
        self.values_ = bin_means(self.edges_, sample.prediction, sample.weight, sample.weighted_outcome)

    def _in_words(self) -> str:
        return (
            f"The nearest calibrated map pools predictions into {_many(self.values_.size, 'interval')} and moves them "
            f"by {at_most(self.interval_error_, 3)} on average at most."
        )


def check_bins(n_bins: int, strategy: Strategy) -> None:
    """Raise unless rows can be cut so."""
    positive_integer(n_bins, "n_bins")
    one_of(strategy, get_args(Strategy), "strategy")


def bin_edges(
    prediction: FloatArray, weight: FloatArray, count: FloatArray, n_bins: int, strategy: Strategy
) -> FloatArray:
    """Inner edges of bins of sorted predictions."""
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    unweighted = weight.strides == (0,) or _in_proportion(weight, count)
    if strategy == "ceil" and not unweighted:
        raise InputError("sample_weight", "was given, but strategy='ceil' counts rows; use strategy='quantile'")
    rows = count if unweighted else weight
    below = np.arange(1.0, weight.size + 1.0) if weight.strides == (0,) else np.cumsum(rows)
    total = below[-1]
    if unweighted:
        # The last row of each part, where the rows of equal predictions stand in one block.
        n = int(total)
        parts = min(n_bins, n)
        size = -(-n // parts)
        k = np.arange(1, parts)
        target = np.arange(size, n, size) if strategy == "ceil" else k * (n // parts) + np.minimum(k, n % parts)
        last = np.searchsorted(below, target)
        if strategy == "ceil":  # where ties reach into the next part, their value is the edge
            following = np.minimum(last + 1, prediction.size - 1)
            halfway = between(prediction[last], prediction[following])
            edges = np.unique(np.where(below[last] > target, prediction[last], halfway))
            return edges[edges < 1.0]
    else:
        last = np.searchsorted(below * (1.0 + 1e-12), np.arange(1, n_bins) / n_bins * total)
    last = np.unique(last)
    last = last[last < prediction.size - 1]
    return np.unique(between(prediction[last], prediction[last + 1]))


def _in_proportion(weight: FloatArray, count: FloatArray) -> bool:
    """Whether all rows weigh the same, but for rounding: a factor of all weights changes no bin."""
    return bool(np.allclose(weight * count.sum(), count * weight.sum(), rtol=1e-12, atol=0.0))


def between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Halfway between neighbours, never as high as the upper one."""
    middle = low + (high - low) / 2.0
    return np.where(middle < high, middle, low)


def bin_means(edges: FloatArray, prediction: FloatArray, weight: FloatArray, weighted: FloatArray) -> FloatArray:
    """Weighted mean in each bin of sorted predictions; the middle of a bin without weight."""
    cuts = np.concatenate([[0], np.searchsorted(prediction, edges, side="right")])
    mask = np.diff(np.append(cuts, prediction.size)) > 0
    mass, total = np.zeros(cuts.size), np.zeros(cuts.size)
    mass[mask] = np.add.reduceat(weight, cuts[mask])
    total[mask] = np.add.reduceat(weighted, cuts[mask])
    bounds = np.concatenate([[0.0], edges, [1.0]])
    middle = (bounds[:-1] + bounds[1:]) / 2.0
    return np.clip(np.where(mass > 0.0, total / np.where(mass > 0.0, mass, 1.0), middle), 0.0, 1.0)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@register_map("venn_abers", "Venn-Abers prediction", order=75)
class VennAbersCurve(Curve):
    """Isotonic fits with one more row, whose outcome is 0, then 1: a range that narrows with the rows."""

    estimator_name = "VennAbers"

    def _check_fitted(self) -> None:
        size = 2 * self.knots_.size + 1
        check(self.knots_.size > 0, "knots_", "must not be empty")
        for name in ("low_", "high_"):
            values = getattr(self, name)
            check(values.size == size, name, "must be two for each knot and one more")
            check(values[1:] >= values[:-1], name, "must not decrease")
        check(self.low_ < 1.0, "low_", "must be below 1")
        check(self.high_ > 0.0, "high_", "must be above 0")
        check(self.low_ <= self.high_, "low_", "must not exceed high_")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        levels = Levels.from_sample(sample)
        weight = levels.mass * levels.effective_rows  # a new row weighs as much as a row does on average
        self.knots_ = levels.prediction
        low, high = (np.maximum.accumulate(with_one_more(levels.rate, weight, outcome)) for outcome in (0.0, 1.0))
        self.low_ = np.clip(low, 0.0, 1.0 - 2.0**-53)
        self.high_ = np.clip(np.maximum(low, high), 2.0**-53, 1.0)  # in order also where sums are rounded

    def ends(self, prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The two fits at each prediction: at a knot, or between two, before the first or after the last."""
        index = np.searchsorted(self.knots_, prediction)
        met = (index < self.knots_.size) & (self.knots_[np.minimum(index, self.knots_.size - 1)] == prediction)
        place = 2 * index + met
        return self.low_[place], self.high_[place]

    def _map(self, prediction: FloatArray) -> FloatArray:
        low, high = self.ends(prediction)
        return np.asarray(high / (1.0 - low + high))

    def _range(self) -> tuple[float, float]:
        merged = self.high_ / (1.0 - self.low_ + self.high_)
        return float(merged.min()), float(merged.max())

    def _in_words(self) -> str:
        widest = float((self.high_ - self.low_).max())
        return f"Venn-Abers prediction gives a range for each prediction, at most {widest:.3g} wide."
