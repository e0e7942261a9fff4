"""Written by tools/public_names.py."""

from calibrant.segments.by_column import Segment as Segment
from calibrant.segments.by_column import calibration_by_segment as calibration_by_segment
from calibrant.segments.results import FoundSegment as FoundSegment
from calibrant.segments.results import FoundSegments as FoundSegments
from calibrant.segments.search import find_segments as find_segments

__all__ = [
    "FoundSegment",
    "FoundSegments",
    "Segment",
    "calibration_by_segment",
    "find_segments",
]
