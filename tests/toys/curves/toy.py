"""A map that adds the mean error to every prediction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.door.sample import Sample
from calibrant.recalibration.curves.base import Curve
from calibrant.recalibration.curves.base import register_map

FloatArray = npt.NDArray[np.float64]


@register_map("shift", "a shift", order=1000)
class ShiftCurve(Curve):
    """One number, which is added to every prediction."""

    estimator_name = "ShiftScaling"

    def _fit(self, sample: Sample) -> None:
        self.shift_ = float(sample.residual().sum())

    def _map(self, prediction: FloatArray) -> FloatArray:
        return np.clip(prediction + self.shift_, 0.0, 1.0)

    def _in_words(self) -> str:
        return f"A shift adds {self.shift_:.3f} to every prediction."
