"""Two words for two things: a bracket is proved for these rows, an interval holds with a stated probability."""

from __future__ import annotations

__all__ = ["Bracket", "Interval"]

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that holds the population's value with probability 1 - level; unpacks as ``low, high``.

    Attributes
    ----------
    low, high : float
        Its ends, both of them in it.

    Examples
    --------
    >>> low, high = Interval(0.01, 0.04)
    >>> round(Interval(0.01, 0.04).width, 6)
    0.03
    """

    low: float
    high: float

    def __iter__(self) -> Iterator[float]:
        """Both ends, the lower first."""
        return iter((self.low, self.high))

    @property
    def width(self) -> float:
        """How far its ends are apart."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Bracket:
    """A range that is proved to hold a value of these very rows; unpacks as ``lower, upper``.

    Attributes
    ----------
    lower, upper : float
        Its ends, each rounded outwards by more than the arithmetic can have erred.

    Examples
    --------
    >>> lower, upper = Bracket(0.02, 0.02)
    >>> Bracket(0.02, 0.02).width
    0.0
    """

    lower: float
    upper: float

    def __iter__(self) -> Iterator[float]:
        """Both ends, the lower first."""
        return iter((self.lower, self.upper))

    @property
    def width(self) -> float:
        """How far its ends are apart."""
        return self.upper - self.lower
