"""A value with its interval."""

from __future__ import annotations

__all__ = ["Estimate"]

from dataclasses import dataclass

from calibrant.door.ends import Interval
from calibrant.door.values import Result


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Result):
    """A value of these rows, with an interval that holds the population's with probability 1 - level.

    Attributes
    ----------
    value : float
        The value of these rows; infinite or NaN if they have no finite or no unique one.
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
