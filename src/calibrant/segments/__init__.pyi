"""Written by tools/public_names.py."""

from calibrant.segments.named import Segment as Segment
from calibrant.segments.named import calibration_by_segment as calibration_by_segment

__all__ = [
    "Segment",
    "calibration_by_segment",
]
