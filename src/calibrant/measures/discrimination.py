"""Discrimination of outcomes by predictions: said beside calibration, not a measure of it."""

from __future__ import annotations

from calibrant.door.sample import Sample
from calibrant.kernels.sums import dot


def auc_from_sample(sample: Sample) -> float | None:
    """Probability that a row with the event has a higher prediction than one without; ties count half.

    None where there is one outcome only. O(n), once sorted.
    """
    events = sample.weighted_outcome
    none = sample.weight - events
    both = float(events.sum()) * float(none.sum())
    if not both > 0.0:
        return None
    below = none.cumsum() - 0.5 * none
    return min(1.0, max(0.0, dot(events, below) / both))
