"""Written by tools/public_names.py."""

from calibrant.scale.drift import Period as Period
from calibrant.scale.drift import calibration_drift as calibration_drift
from calibrant.scale.sketch import CalibrationSketch as CalibrationSketch

__all__ = [
    "CalibrationSketch",
    "Period",
    "calibration_drift",
]
