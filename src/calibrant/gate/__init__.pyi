"""Written by tools/public_names.py."""

from calibrant.gate.anytime import CalibrationGate as CalibrationGate

__all__ = [
    "CalibrationGate",
]
