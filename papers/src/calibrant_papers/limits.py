"""What no test can see: miscalibration that a number of rows does not tell from chance, by any test."""

from __future__ import annotations

__all__ = ["undetectable_error"]

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.interpolate import BSpline, PPoly

from calibrant.door.arguments import check_level, fraction, positive, positive_integer
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError

_MOST = 2**20  # bumps a side: more are not looked at
_SMOOTHEST = 8.0
_CLASSES = 10


def undetectable_error(
    n_rows: int,
    *,
    smoothness: float | None = None,
    holder_constant: float = 1.0,
    n_classes: int = 2,
    norm: float = 2.0,
    power: float = 0.95,
    level: float = 0.05,
) -> float:
    """Return an error that no test can detect in every predictor that has it, at this number of rows.

    Parameters
    ----------
    n_rows : int
        Independent rows that a test may look at.
    smoothness : float, optional
        Exponent s, above 0 and at most 8, of the curves (event rate less prediction) that are thought possible: with r
        the next whole number that is at least s, their derivatives of order r - 1 differ by at most L d^(s - r + 1) at
        predictions d apart. None: any continuous curve.
    holder_constant : float, default 1.0
        The L of that, positive.
    n_classes : int, default 2
        Classes that are predicted, at most 10.
    norm : float, default 2.0
        The p of the error, positive: 1 for a mean of absolute values, 2 for a root mean square.
    power : float, default 0.95
        Probability of detection that is asked for, above `level`.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.

    Returns
    -------
    float
        (E |event rate less prediction|^p)^(1/p) of one class. For every test of this level there is a predictor with
        this error, and such a curve, that it detects with probability at most `power`.

    Raises
    ------
    InputError
        If an argument is out of its range.

    See Also
    --------
    tcal_test, calibration_test

    Notes
    -----
    For continuous curves it does not fall with the rows (Proposition 9); for s-Hölder ones of K classes it falls as
    n^(-2 s / (4 s + K - 1)) (Theorem 10), for every p. Predictions are uniform, the curves bumps with random signs,
    each a product of splines, which raise one class and lower another; the second moment of the likelihood ratio is at
    most a product of hyperbolic cosines (docs/tcal.md), and number and height of bumps are the best possible. The
    paper's error counts both classes: it is 2^(1/p) times as large. Cost: milliseconds.

    References
    ----------
    Lee, Huang, Hassani and Dobriban, T-Cal, JMLR 24, 2023, Proposition 9, Theorem 10 and Lemma 18.

    Examples
    --------
    >>> from calibrant_papers.limits import undetectable_error
    >>> [round(undetectable_error(n, smoothness=1.0), 4) for n in (1_000, 100_000)]
    [0.0255, 0.0043]
    >>> round(undetectable_error(10**9), 3)
    0.102
    """
    n, level = positive_integer(n_rows, "n_rows"), check_level(level)
    classes = positive_integer(n_classes, "n_classes")
    if not 2 <= classes <= _CLASSES:
        raise InputError("n_classes", f"is {classes}; it must be from 2 to {_CLASSES}")
    fraction(power, "power")
    positive(holder_constant, "holder_constant")
    positive(norm, "norm")
    if power <= level:
        raise InputError("power", f"is {power!r}; it must be above the level, {level!r}")
    bumps = Bumps(classes, 1 if smoothness is None else math.ceil(_smoothness(smoothness)))
    if smoothness is None:
        return bumps.most * bumps.size(norm)
    room = math.log1p(4.0 * (power - level) ** 2)
    best, m = 0.0, 1
    while m <= _MOST:
        smooth = min(bumps.most, holder_constant * bumps.smooth(m, smoothness))
        if smooth <= best:
            break
        best = max(best, _highest(n, bumps, m, smooth, room))
        m = max(m + 1, round(1.05 * m))
    return float(best * bumps.size(norm))


def _smoothness(s: float) -> float:
    if isinstance(s, bool) or not 0.0 < s <= _SMOOTHEST:
        raise InputError("smoothness", f"is {s!r:.40}; it must be above 0 and at most {_SMOOTHEST:g}, or None")
    return s


@dataclass(frozen=True)
class Bumps:
    """Curves of height 1 on m cubes a side of a part of the simplex: a spline of degree r in each of K - 1 coordinates.

    For two classes the part is [1/4, 3/4], of the first probability; for more [1/(2K), 1/K] in each coordinate but the
    last, where every probability is at least 1/(2K).
    """

    classes: int
    degree: int

    @property
    def most(self) -> float:
        """The height up to which probabilities stay above 0."""
        return 0.25 if self.classes == 2 else 0.5 / self.classes

    @property
    def side(self) -> float:
        """Of the part of the simplex."""
        return 0.5 if self.classes == 2 else 0.5 / self.classes

    @property
    def axes(self) -> int:
        """Coordinates."""
        return self.classes - 1

    def size(self, p: float) -> float:
        """(E |curve|^p)^(1/p): on the simplex's first K - 1 coordinates the density is (K - 1)!."""
        mean = math.factorial(self.axes) * (self.side * _mean_power(self.degree, p)) ** self.axes
        return float(mean ** (1.0 / p))

    def smooth(self, m: int, s: float) -> float:
        """The height up to which sums of these curves with any signs are Hölder with constant 1.

        A derivative of order r - 1 of one bump of width w differs by at most min(G d, V) <= G^a V^(1 - a) d^a, with a =
        s - r + 1. Of two bumps, by the sum over both parts of the line between them: 2^(1 - a) times as much at most.
        """
        r, a = self.degree, s - self.degree + 1.0
        gradient = math.sqrt(self.axes) * self._largest(r)
        varies = self._largest(r - 1) * (1.0 if r == 1 else 2.0)  # a bump is not negative, its derivatives are
        return float((self.side / m) ** s / (2.0 ** (1.0 - a) * gradient**a * varies ** (1.0 - a)))

    def _largest(self, order: int) -> float:
        """Largest absolute value of a partial derivative of this order, on a cube of width 1."""
        each = [_largest_derivative(self.degree, t) for t in range(order + 1)]
        return max(math.prod(each[t] for t in orders) for orders in _parts(order, self.axes))

    def weights(self, m: int) -> tuple[FloatArray, int]:
        """The integral of a bump's square times 1 / z1 + 1 / z2, at most; and for how many bumps each stands."""
        width = self.side / m
        integral = math.factorial(self.axes) * (width * _mean_power(self.degree, 2.0)) ** self.axes
        if self.classes > 2:
            return np.array([integral * 4.0 * self.classes]), m**self.axes
        edge = 0.25 + width * np.arange(m + 1)
        # z (1 - z) is least at the end of a bump that is further from 1/2.
        least = np.minimum(edge[:-1] * (1.0 - edge[:-1]), edge[1:] * (1.0 - edge[1:]))
        return integral / least, 1


def _parts(total: int, count: int) -> list[tuple[int, ...]]:
    """Whole numbers in decreasing order that add up to a total, zeros included: which come first does not matter."""

    def split(rest: int, left: int, most: int) -> list[tuple[int, ...]]:
        if left == 0:
            return [()] if rest == 0 else []
        return [(k, *more) for k in range(min(rest, most), -1, -1) for more in split(rest - k, left - 1, k)]

    return split(total, count, total)


def _pieces(degree: int) -> PPoly:
    """The spline of this degree on [-1/2, 1/2], of height 1."""
    knots = np.linspace(-0.5, 0.5, degree + 2)
    bump = BSpline.basis_element(knots, extrapolate=False)
    whole = PPoly.from_spline((bump.t, bump.c, degree))
    return PPoly(whole.c / float(bump(0.0)), whole.x)


@cache
def _largest_derivative(degree: int, order: int) -> float:
    """Largest absolute value of the spline's derivative: at a knot, or where the next derivative is 0."""
    curve = _pieces(degree).derivative(order)
    knots = np.linspace(-0.5, 0.5, degree + 2)
    turns = [] if degree - order < 2 else curve.derivative().roots(extrapolate=False)
    return float(np.abs(curve(np.array([*knots, *(x for x in turns if np.isfinite(x))]))).max())


@cache
def _mean_power(degree: int, p: float) -> float:
    """Integral of the spline's p-th power: of its first and last piece, which are powers, in closed form."""
    node, weight = np.polynomial.legendre.leggauss(64)
    curve, knots = _pieces(degree), np.linspace(-0.5, 0.5, degree + 2)
    total = 2.0 * float(curve(knots[1])) ** p / ((degree + 1.0) * (degree * p + 1.0))
    for a, b in pairwise(knots[1:-1]):
        total += 0.5 * (b - a) * float(weight @ np.maximum(curve(0.5 * (a + b) + 0.5 * (b - a) * node), 0.0) ** p)
    return float(total)


def _highest(n: int, bumps: Bumps, m: int, most: float, room: float) -> float:
    """Largest height, at most `most`, at which bumps leave the likelihood ratio's second moment within `room`."""
    weight, times = bumps.weights(m)
    low, high = 0.0, most
    if times * _log_moment(n * most**2 * weight) <= room:
        return most
    while high - low > 1e-9 * most:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if times * _log_moment(n * middle**2 * weight) <= room else (low, middle)
    return low


def _log_moment(c: FloatArray) -> float:
    """Logarithm of the product of cosh(c)."""
    return float(np.sum(c + np.log1p(np.exp(-2.0 * c)) - math.log(2.0)))
