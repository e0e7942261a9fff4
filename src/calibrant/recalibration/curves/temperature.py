"""Temperature scaling: one number that divides log-odds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from calibrant.door.sample import Sample
from calibrant.kernels.sums import dot
from calibrant.measures.logistic import inner_expit, log_odds
from calibrant.recalibration.curves.base import Curve, Levels, check_clip
from calibrant.recalibration.curves.formulas import what_a_line_does
from calibrant.recalibration.kinds import check

FloatArray = npt.NDArray[np.float64]

COLDEST, HOTTEST = 1e-3, 1e3


class TemperatureCurve(Curve):
    """One number, the temperature, by which all log-odds are divided."""

    estimator = "TemperatureScaling"

    def __init__(self, clip: float = 1e-12) -> None:
        self.clip = clip

    def _check_parameters(self) -> None:
        check_clip(self.clip)

    def _check_fitted(self) -> None:
        inside = COLDEST * (1.0 - 1e-9) <= self.temperature_ <= HOTTEST * (1.0 + 1e-9)
        check(inside, "temperature_", f"must lie between {COLDEST:g} and {HOTTEST:g}")
        super()._check_fitted()

    def _fit(self, sample: Sample) -> None:
        self.n_classes_: int | None = None
        levels = Levels.from_sample(sample)
        x = log_odds(levels.prediction, self.clip)
        self.domain_: tuple[float, float] | None = (float(levels.prediction[0]), float(levels.prediction[-1]))
        self.temperature_ = temperature(lambda inverse: dot(levels.mass, x * (expit(inverse * x) - levels.rate)))

    def _map(self, prediction: FloatArray) -> FloatArray:
        return inner_expit(log_odds(prediction, self.clip) / self.temperature_)

    def _in_words(self) -> str:
        assert self.domain_ is not None
        what = what_a_line_does(1.0 / self.temperature_, 0.0, self.domain_, self._map)
        return f"Temperature scaling divides log-odds by {self.temperature_:.3f}{what}."


def temperature(slope: Callable[[float], float]) -> float:
    """Temperature at which the derivative of the log score with respect to its inverse is zero."""
    if slope(0.0) == slope(1.0):  # nothing to scale: every score is zero
        return 1.0
    if slope(1.0 / HOTTEST) >= 0.0:
        return HOTTEST
    if slope(1.0 / COLDEST) <= 0.0:
        return COLDEST
    # In the logarithm, so that the root is found to a relative precision.
    root = brentq(lambda log_t: slope(np.exp(-log_t)), np.log(COLDEST), np.log(HOTTEST), xtol=1e-13, rtol=1e-13)
    return float(np.exp(root))
