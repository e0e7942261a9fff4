"""Written by tools/public_names.py."""

from calibrant.scale.drift import Period as Period
from calibrant.scale.drift import calibration_drift as calibration_drift
from calibrant.scale.gate import CalibrationGate as CalibrationGate
from calibrant.scale.sketch import CalibrationSketch as CalibrationSketch

__all__ = [
    "CalibrationGate",
    "CalibrationSketch",
    "Period",
    "calibration_drift",
]
