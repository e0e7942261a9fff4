"""Two words for two things: a bracket is proved for these rows, an interval holds with a stated probability."""

from __future__ import annotations

__all__ = ["Bracket", "Interval"]

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from calibrant.door.columns import FloatArray
from calibrant.door.outwards import rounded_down, rounded_up
from calibrant.door.values import Result


@dataclass(frozen=True, slots=True, repr=False)
class Interval(Result):
    """A range that holds the population's value with probability 1 - level; unpacks as ``low, high``.

    Attributes
    ----------
    low, high : float
        Its ends, both of them in it.

    See Also
    --------
    Bracket, population_bounds

    Examples
    --------
    >>> low, high = Interval(0.01, 0.04)
    >>> round(Interval(0.01, 0.04).width, 6)
    0.03
    >>> Interval(0.01, 0.04).summary()
    'between 0.01 and 0.04'
    """

    low: float
    high: float

    def __iter__(self) -> Iterator[float]:
        """Both ends, the lower first."""
        return iter((self.low, self.high))

    @property
    def width(self) -> float:
        """Distance between its ends."""
        return self.high - self.low

    def summary(self) -> str:
        """Return both ends in words."""
        return f"between {rounded_down(self.low)} and {rounded_up(self.high)}"


@dataclass(frozen=True, slots=True, repr=False)
class Bracket(Result):
    """A range that is proved to hold a value of these rows; unpacks as ``lower, upper``.

    Attributes
    ----------
    lower, upper : float
        Its ends, each rounded outwards by more than the arithmetic can have erred.
    exact : bool or None
        After a search: whether it is closed to 1e-9, so that the predictor is a nearest one; else None.
    predictor : ndarray of shape (n,) or None
        After a search: calibrated predictions, one per row, at distance `upper`; `check_predictor` proves it again. For
        an upper distance, a function of the given predictions.
    certificate : LowerCertificate or None
        After a search: the lower distance, whose potentials forbid anything below it. A larger `lower` comes from a
        search that those potentials prune (docs/distance.md).

    See Also
    --------
    Interval, calibration_distance

    Examples
    --------
    >>> lower, upper = Bracket(0.02, 0.02)
    >>> Bracket(0.02, 0.02).width
    0.0
    >>> Bracket(0.02, 0.03).summary()
    'at least 0.02 and at most 0.03, proved'
    """

    lower: float
    upper: float
    exact: bool | None = field(default=None, kw_only=True)
    predictor: FloatArray | None = field(default=None, kw_only=True, compare=False)
    certificate: Any = field(default=None, kw_only=True, compare=False)

    def __iter__(self) -> Iterator[float]:
        """Both ends, the lower first."""
        return iter((self.lower, self.upper))

    @property
    def width(self) -> float:
        """Distance between its ends."""
        return self.upper - self.lower

    def summary(self) -> str:
        """Return both ends in words."""
        if self.exact:
            return f"{self.upper:.6g}, exact to 1e-9"
        return f"at least {rounded_down(self.lower)} and at most {rounded_up(self.upper)}, proved"


def confidence(level: float) -> str:
    """One minus the level as a percentage, to its last digit: a rounded confidence would not be the one proved.

    Examples
    --------
    >>> confidence(0.05)
    '95%'
    """
    if level < 1e-20:  # nobody counts so many nines
        return f"1 - {level!r}"
    return f"{(1 - Decimal(repr(float(level)))) * 100:f}".rstrip("0").rstrip(".") + "%"
