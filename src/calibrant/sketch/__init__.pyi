"""Written by tools/public_names.py."""

from calibrant.sketch.sketch import CalibrationSketch as CalibrationSketch

__all__ = [
    "CalibrationSketch",
]
