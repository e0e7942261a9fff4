"""Evidence against calibration from groups of rows that depend on one another, as e-values.

An e-value's mean is at most 1 for calibrated predictions, so that it reaches 1 / a with probability at most a. Means of
e-values are e-values however they depend on one another, which sums of rows that share groups do.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.special import logsumexp
from calibrant.kernels import sketching
from calibrant.resampling.redraw import LEAST_GROUPS

SHARES = 0.9, 0.05, 0.03, 0.02
"""Of the evidence, for predictions as a whole and in 2, 4 and 8 equal intervals."""
WIDTHS = tuple(parts for depth in range(len(SHARES)) for parts in [2**depth] * 2**depth)
"""Of each interval: in how many equal ones [0, 1] was cut."""
N_INTERVALS = len(WIDTHS)
LOG_SHARES = tuple(math.log(SHARES[parts.bit_length() - 1] / parts) for parts in WIDTHS)
"""Of each interval, of its share."""
_FACTORS = np.log(2.0) * np.arange(-2.0, 3.0)  # of the exponent: groups may count for few rows, or for many
_AIMED = 5.0  # the log of evidence that the exponents are best for
_AIMED_BY_SIGNS = np.array([3.0, 6.0, 12.0])
_BY_SIGNS, _PROVED = math.log(0.99), math.log(0.01)  # shares of the two kinds of evidence, where there are both
_TINY = 1e-100  # a larger bound of what predictions add up to is one as well, and its square is a number
_SURE = 1.0 + 1e-12  # more than sums are rounded by


def log_evalues(
    total: FloatArray, squares: FloatArray, low: FloatArray, high: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Logs of two e-values: that predictions are too low, and that they are too high.

    Parameters
    ----------
    total, squares : ndarray
        Of each set of groups the sum of the groups' excesses of events, and of the squares of these.
    low, high : ndarray
        The most that the predictions of a group add up to, and what they lack of certain events.
    variance : ndarray
        About that of `total`, were rows independent: it decides the exponents, which may rest on predictions alone.

    Notes
    -----
    With A the most that predictions of one group add up to, z = R / A >= -1 of a group's excess R, and exp(x z - psi(x)
    z^2) <= 1 + x z has mean at most 1 (docs/calibration-test.md); products over groups are e-values, and so is their
    mean over five exponents x.
    """
    return _side(total, squares, low, variance), _side(-total, squares, high, variance)


def _side(total: FloatArray, squares: FloatArray, most: FloatArray, variance: FloatArray) -> FloatArray:
    some = most > 0.0
    most = np.where(some, np.maximum(most, _TINY), 1.0) * _SURE
    z, zz = total / most, squares / (most * most)
    with np.errstate(divide="ignore"):
        best = 0.5 * (math.log(2.0 * _AIMED) - np.log(np.maximum(variance, _TINY) / (most * most)))
    x = np.minimum(0.9, np.exp(np.minimum(best[..., None] + _FACTORS, 0.0)))
    psi = -np.log1p(-x) - x
    logs = logsumexp(x * z[..., None] - psi * zz[..., None], axis=-1) - math.log(_FACTORS.size)
    return np.where(some, logs, 0.0)


def with_signs(
    proved: tuple[FloatArray, FloatArray], excess: FloatArray, many: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Most of the weight on e-values of groups with symmetric excesses, the rest on those proved, of some intervals.

    If R and -R have one distribution, exp(x R) / cosh(x R) has mean 1 given |R|, on which x may rest. With many groups
    that is nearly so without symmetry; few and rare events must be left to what is proved.
    """
    excess = excess[:, many]
    size = np.sqrt(np.einsum("gk,gk->k", excess, excess))
    x = np.sqrt(2.0 * _AIMED_BY_SIGNS) / np.where(size > 0.0, size, 1.0)[:, None]
    lifted, total = np.abs(excess)[:, :, None] * x, excess.sum(axis=0)[:, None]
    log_cosh = (lifted + np.log1p(np.exp(-2.0 * lifted)) - math.log(2.0)).sum(axis=0)
    low, high = (
        np.logaddexp(_BY_SIGNS + logsumexp(way * x * total - log_cosh, axis=-1) - math.log(3.0), _PROVED + side[many])
        for way, side in zip((1.0, -1.0), proved, strict=True)
    )
    return low, high


def kish(share: FloatArray) -> FloatArray:
    """The effective number of groups, by what each has, of shape (groups, k): (sum x)^2 / sum x^2."""
    largest = share.max(axis=0, initial=0.0)
    scaled = share / np.where(largest > 0.0, largest, 1.0)
    squared = np.einsum("gk,gk->k", scaled, scaled)
    return np.asarray(scaled.sum(axis=0) ** 2 / np.where(squared > 0.0, squared, 1.0))


def enough(events: FloatArray, non_events: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether both lie in the equal of so many groups that their signs tell something."""
    return np.minimum(kish(events), kish(non_events)) >= LEAST_GROUPS


def intervals_of(index: IntArray, resolution: int) -> IntArray:
    """Number of the interval that each cell lies in, at each depth: shape (4, cells)."""
    parts = 2 ** np.arange(len(SHARES))[:, None]
    # An interval holds its left grid point: the last one holds 1 as well.
    return np.asarray(parts - 1 + np.minimum(index // 2 * parts // resolution, parts - 1))


def bounds_of(interval: int) -> tuple[float, float]:
    """Ends of an interval by its number."""
    parts = WIDTHS[interval]
    at = interval - (parts - 1)
    return at / parts, (at + 1) / parts


def mixed(sides: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, IntArray, FloatArray]:
    """The log of the mean e-value of all intervals and both sides, shape (k, N_INTERVALS) each; the one that adds most.

    Returns the logs, the number of that interval, and 1 or -1 for predictions that are too low or too high there.
    """
    logs = np.concatenate([side + np.array(LOG_SHARES) - math.log(2.0) for side in sides], axis=-1)
    best = np.argmax(logs, axis=-1)
    sign = np.where(best < N_INTERVALS, 1.0, -1.0)
    return np.asarray(logsumexp(logs, axis=-1)), np.asarray(best % N_INTERVALS), sign


def sums_of_cells(index: IntArray, cells: FloatArray, resolution: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return by cell the events less those expected, those expected, and the variance of independent rows."""
    weight = cells[:, sketching.WEIGHT]
    expected = (weight * (index // 2) + cells[:, sketching.OFFSET]) / resolution
    mean = np.clip(expected / np.where(weight > 0.0, weight, 1.0), 0.0, 1.0)
    return cells[:, sketching.OUTCOME] - expected, expected, cells[:, sketching.SQUARED] * mean * (1.0 - mean)


def contradicted(index: IntArray, cells: FloatArray, resolution: int) -> FloatArray:
    """Mark cells whose predictions are exactly 0 or 1 and an outcome is not: 1 too low, -1 too high, else 0."""
    events, weight = cells[:, sketching.OUTCOME], cells[:, sketching.WEIGHT]
    low, high = (index == 0) & (events > 0.0), (index == 2 * resolution) & (events < weight)
    return np.asarray(low.astype(np.float64) - high)
