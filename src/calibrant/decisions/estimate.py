"""A value with its interval."""

from __future__ import annotations

__all__ = ["Estimate"]

from dataclasses import dataclass

from calibrant.door.ends import Interval
from calibrant.door.values import Result


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Result):
    """A value of these rows, and where the population's lies with probability 1 - level.

    Attributes
    ----------
    value : float
        What these rows give; infinite or NaN where they have no finite or no single one.
    interval : Interval
        Its ends; infinite where the rows rule nothing out on that side.

    See Also
    --------
    ClinicalCalibration, clinical_calibration
    """

    value: float
    interval: Interval

    def summary(self) -> str:
        """Return value and interval."""
        return f"{self.value:.4g} ({self.interval.low:.4g} to {self.interval.high:.4g})"
