"""Temperature scaling: one number that divides log-odds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from calibrant.door.sample import Sample
from calibrant.kernels.logistic import logistic_derivatives
from calibrant.measures.logistic import MANY, inner_expit, log_odds, pooled_neighbours
from calibrant.recalibration.curves.base import Curve, Levels, check_clip
from calibrant.recalibration.curves.formulas import what_a_line_does
from calibrant.recalibration.curves.registry import register_map
from calibrant.recalibration.kinds import check

FloatArray = npt.NDArray[np.float64]

COLDEST, HOTTEST = 1e-3, 1e3
_STEPS = 200
_CLOSE = 1e-9  # a Newton step shorter than this part of where it starts ends within rounding: its error is squared


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
    for _ in range(_STEPS):
        low, high = (at, high) if first < 0.0 else (low, at)
        step = at - first / second if second > 0.0 else high
        if abs(step - at) <= _CLOSE * at:
            return 1.0 / step
        after = step if low < step < high else float(np.sqrt(low * high))
        if not low < after < high:
            return 1.0 / after
        at = after
        first, second = slope(at)
    return 1.0 / at
