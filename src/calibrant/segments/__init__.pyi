"""Written by tools/public_names.py."""

from calibrant.segments.found import find_segments as find_segments
from calibrant.segments.found_results import FoundSegment as FoundSegment
from calibrant.segments.found_results import FoundSegments as FoundSegments
from calibrant.segments.named import Segment as Segment
from calibrant.segments.named import calibration_by_segment as calibration_by_segment

__all__ = [
    "FoundSegment",
    "FoundSegments",
    "Segment",
    "calibration_by_segment",
    "find_segments",
]
