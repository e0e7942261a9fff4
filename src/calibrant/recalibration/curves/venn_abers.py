"""Inductive Venn-Abers prediction: two isotonic fits for every new prediction, one for either outcome it may have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.door.sample import Sample
from calibrant.kernels.isotonic import with_one_more
from calibrant.recalibration.curves.base import Curve, Levels
from calibrant.recalibration.curves.registry import register_map
from calibrant.recalibration.kinds import check

FloatArray = npt.NDArray[np.float64]


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
