"""A bracket is proved for these rows, an interval holds with a probability; both are printed rounded outwards."""

from __future__ import annotations

__all__ = ["Bracket", "Interval"]

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from calibrant.door.columns import FloatArray
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


_MOST_DECIMALS = 12
_SAME = 1e-12  # what is nearer is rounding


def outwards(low: float, high: float, *, signed: bool = False) -> tuple[str, str]:
    """Both ends of an interval in about four decimals, the low one rounded down and the high one up.

    More decimals where four would hide a small interval or a narrow one; `signed` ends keep their signs, and one that
    is not 0 is not shown as 0.

    >>> outwards(0.06126, 0.07991)
    ('0.0612', '0.0800')
    >>> outwards(-0.08, -0.00003, signed=True)
    ('-0.08000', '-0.00003')
    """
    decimals = 4
    largest, width = max(abs(low), abs(high)), high - low
    if 0.0 < largest < 0.00095:
        decimals = _two_digits(largest)
    if 0.0 < width < 1e-4:
        decimals = max(decimals, _two_digits(width))
    for end in (low, -high):
        if signed and end > 0.0:
            decimals = max(decimals, min(_MOST_DECIMALS, math.ceil(-math.log10(end))))
    return _fixed(low, decimals, ROUND_FLOOR, signed), _fixed(high, decimals, ROUND_CEILING, signed)


def fixed_outwards(low: float, high: float, decimals: int) -> tuple[str, str]:
    """Both ends in so many decimals, the low one rounded down and the high one up.

    >>> fixed_outwards(0.58, 0.7801, 2)
    ('0.58', '0.79')
    """
    return _fixed(low, decimals, ROUND_FLOOR, False), _fixed(high, decimals, ROUND_CEILING, False)


def at_least(value: float, digits: int) -> str:
    """A number above 0 rounded down to significant digits.

    >>> at_least(19.96, 3), at_least(1234.0, 2)
    ('19.9', '1.2e+03')
    """
    return _significant(value, digits, ROUND_FLOOR)


def at_most(value: float, digits: int) -> str:
    """A number above 0 rounded up to significant digits.

    >>> at_most(0.0502, 2), at_most(1e-300, 2)
    ('0.051', '1e-300')
    """
    return _significant(value, digits, ROUND_CEILING)


def in_short(share: float, rounding: str = ROUND_HALF_EVEN, digits: int = 2) -> str:
    """A distance or an error in two significant digits and without an exponent.

    >>> in_short(0.0271), in_short(3.1e-6), in_short(1e-15)
    ('0.027', '0.0000031', '0')
    """
    exact = Decimal(repr(float(share)))
    if abs(exact) < _SAME:
        return "0"
    place = min(0, exact.adjusted() - digits + 1)
    return f"{exact.quantize(Decimal(1).scaleb(place), rounding):f}"


def as_points(share: str) -> str:
    """A number in words on the scale of probabilities, in points: hundredths of it.

    >>> as_points("0.027"), as_points("0.02"), as_points("1.0")
    ('2.7', '2', '100')
    """
    return f"{Decimal(share).scaleb(2):f}"


def in_points(share: str) -> str:
    """The same with its unit.

    >>> in_points("0.027"), in_points("0.01")
    ('2.7 points', '1 point')
    """
    number = as_points(share)
    return f"{number} point{'' if number == '1' else 's'}"


def range_decimals(width: float) -> int:
    """Decimals that show a range of predictions to two digits of its width; at least 2."""
    return max(2, min(_MOST_DECIMALS, 1 - math.floor(math.log10(width)))) if width > 0.0 else 6


def readable(low: float, high: float) -> tuple[str, str]:
    """Both ends of a range of predictions, rounded outwards to as many decimals as its width asks for.

    >>> readable(1.18e-05, 0.5087), readable(0.2, 0.2)
    (('0.00', '0.51'), ('0.2', '0.2'))
    """
    if high <= low:
        return at_least(low, 3), at_most(high, 3)
    return fixed_outwards(low, high, range_decimals(high - low))


def rounded_down(end: float) -> str:
    """Return a lower end in six decimals, no higher than it is."""
    return _rounded(end, ROUND_FLOOR)


def rounded_up(end: float) -> str:
    """Return an upper end in six decimals, no lower than it is."""
    return _rounded(end, ROUND_CEILING)


def _two_digits(value: float) -> int:
    return min(_MOST_DECIMALS, 1 - math.floor(math.log10(value)))


def _fixed(value: float, decimals: int, rounding: str, signed: bool) -> str:
    # Reading decimals back keeps their order, so the shortest decimals of a float stand for it.
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), rounding) + 0
    return f"{rounded:{'+' if signed else ''}.{decimals}f}"


def _significant(value: float, digits: int, rounding: str) -> str:
    exact = Decimal(repr(float(value)))
    if exact.is_finite() and exact:
        exact = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding)
    return f"{float(exact):.{digits}g}"


def _rounded(end: float, rounding: str) -> str:
    if not math.isfinite(end):
        return repr(end)
    shown = f"{Decimal(repr(float(end))).quantize(Decimal('0.000001'), rounding) + 0:f}"
    return shown.rstrip("0").rstrip(".")
