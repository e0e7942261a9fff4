"""Written by tools/public_names.py."""

from calibrant.drift.monitor import CalibrationMonitor as CalibrationMonitor
from calibrant.drift.monitor import MonitorReading as MonitorReading
from calibrant.drift.periods import Period as Period
from calibrant.drift.periods import ReferenceReading as ReferenceReading
from calibrant.drift.periods import calibration_drift as calibration_drift

__all__ = [
    "CalibrationMonitor",
    "MonitorReading",
    "Period",
    "ReferenceReading",
    "calibration_drift",
]
