"""Curves by the names of their methods."""

from __future__ import annotations

from calibrant.recalibration.curves.base import Curve
from calibrant.recalibration.curves.formulas import BetaCurve, PlattCurve, PolynomialCurve
from calibrant.recalibration.curves.steps import (
    HistogramBinningCurve,
    IsotonicCurve,
    NearestCurve,
    ScalingBinningCurve,
)
from calibrant.recalibration.curves.temperature import TemperatureCurve

CURVES: dict[str, type[Curve]] = {
    "temperature": TemperatureCurve,
    "platt": PlattCurve,
    "beta": BetaCurve,
    "polynomial": PolynomialCurve,
    "scaling_binning": ScalingBinningCurve,
    "histogram": HistogramBinningCurve,
    "isotonic": IsotonicCurve,
    "nearest": NearestCurve,
}
"""From the fewest numbers fitted to the most."""
