"""Written by tools/public_names.py."""

from calibrant.report.displays import DistanceChainDisplay as DistanceChainDisplay
from calibrant.report.displays import ReliabilityDisplay as ReliabilityDisplay
from calibrant.report.displays import plot_distance_chain as plot_distance_chain
from calibrant.report.displays import plot_reliability as plot_reliability
from calibrant.report.displays import plot_witness as plot_witness

__all__ = [
    "DistanceChainDisplay",
    "ReliabilityDisplay",
    "plot_distance_chain",
    "plot_reliability",
    "plot_witness",
]
