"""Written by tools/public_names.py."""

from calibrant.report.displays import DistanceChainDisplay as DistanceChainDisplay
from calibrant.report.displays import ReliabilityDisplay as ReliabilityDisplay

__all__ = [
    "DistanceChainDisplay",
    "ReliabilityDisplay",
]
