"""What no test can see: miscalibration that a number of rows does not tell from chance, by any test."""

from __future__ import annotations

__all__ = ["undetectable_error"]

import math

import numpy as np

from calibrant.door.arguments import check_level, fraction, positive, positive_integer
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError

_MOST = 2**20  # bumps: more are not looked at


def undetectable_error(
    n_rows: int,
    *,
    smoothness: float | None = None,
    holder_constant: float = 1.0,
    power: float = 0.95,
    level: float = 0.05,
) -> float:
    """Return an error that no test can detect in every predictor that has it, at this number of rows.

    Parameters
    ----------
    n_rows : int
        Independent rows that a test may look at.
    smoothness : float, optional
        Exponent s in (0, 1] of the curves (event rate less prediction) that are thought possible: they differ by at
        most L d^s at predictions d apart. None: any continuous curve.
    holder_constant : float, default 1.0
        The L of that, positive.
    power : float, default 0.95
        Probability of detection that is asked for, above `level`.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.

    Returns
    -------
    float
        A root mean square of event rate less prediction. For every test of this level there is a predictor with this
        error, and such a curve, that it detects with probability at most `power`.

    Raises
    ------
    InputError
        If an argument is out of its range.

    See Also
    --------
    tcal_test, calibration_test

    Notes
    -----
    For continuous curves it does not fall with the rows (Proposition 9); for s-Hölder ones it falls as n^(-2 s / (4 s +
    1)) (Theorem 10). Predictions are uniform, the curves m triangles in [1/4, 3/4] with random signs; the second moment
    of the likelihood ratio is at most a product of hyperbolic cosines (docs/tcal.md), and m and the height are the best
    possible. The paper's l2 error counts both classes: it is sqrt(2) times as large. Cost: milliseconds.

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
    fraction(power, "power")
    positive(holder_constant, "holder_constant")
    if power <= level:
        raise InputError("power", f"is {power!r}; it must be above the level, {level!r}")
    if smoothness is None:
        return 0.25 / math.sqrt(6.0)
    if isinstance(smoothness, bool) or not 0.0 < smoothness <= 1.0:
        raise InputError("smoothness", f"is {smoothness!r:.40}; it must lie in (0, 1], or be None")
    room = math.log1p(4.0 * (power - level) ** 2)
    best, m = 0.0, 1
    while m <= _MOST:
        smooth = min(0.25, 0.5 * holder_constant * (0.5 / m) ** smoothness)
        if smooth <= best:
            break
        best = max(best, _highest(n, m, smooth, room))
        m = max(m + 1, round(1.05 * m))
    return best / math.sqrt(6.0)


def _highest(n: int, m: int, most: float, room: float) -> float:
    """Largest height, at most `most`, at which m triangles leave the likelihood ratio's second moment within `room`."""
    edge = 0.25 + 0.5 * np.arange(m + 1) / m
    # z (1 - z) is least at the end of a triangle that is further from 1/2.
    least = np.minimum(edge[:-1] * (1.0 - edge[:-1]), edge[1:] * (1.0 - edge[1:]))
    weight = (0.5 / m / 3.0) / least  # integral of a triangle of height 1, squared, over z (1 - z), at most
    low, high = 0.0, most
    if _log_moment(n * most**2 * weight) <= room:
        return most
    while high - low > 1e-9 * most:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _log_moment(n * middle**2 * weight) <= room else (low, middle)
    return low


def _log_moment(c: FloatArray) -> float:
    """Logarithm of the product of cosh(c)."""
    return float(np.sum(c + np.log1p(np.exp(-2.0 * c)) - math.log(2.0)))
