"""Probability of a number of events among rows with unequal chances, and an interval for their mean chance."""

from __future__ import annotations

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels.poisson_binomial import log_two_sided


def two_sided_log_pvalues(
    count: FloatArray, chance: tuple[FloatArray, FloatArray], start: IntArray, ones: FloatArray
) -> FloatArray:
    """Logarithms of two-sided p-values, by group of cells, of the hypothesis that each row has its stated chance.

    Parameters
    ----------
    count : ndarray of shape (m,)
        Rows of each cell.
    chance : two ndarrays of shape (m,)
        Between them lies the mean of the cell's stated chances; equal where all its rows have that chance.
    start : ndarray of shape (groups,)
        First cell of each group; a group's cells follow one another.
    ones : ndarray of shape (groups,)
        Events of each group.
    """
    low, high = (np.clip(end, 0.0, 1.0) for end in chance)
    ends = np.append(start, count.size).astype(np.int64)
    logs: FloatArray = log_two_sided(count, low, high, ends, np.rint(ones).astype(np.int64))
    return logs


def mean_chance_interval(ones: FloatArray, count: FloatArray, miss: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the mean chance of independent rows; each fails with probability at most `miss`, below 1/4.

    Clopper and Pearson's, which hold for unequal chances as well (Hoeffding 1956) except where a single event, or
    a single non-event, was seen: there the bound is the expected number itself. Derived in docs/poisson-binomial.md.
    """
    from scipy.stats import beta

    rest = count - ones
    low = np.where(ones > 1.0, beta.ppf(miss, np.maximum(ones, 1.0), rest + 1.0), ones * miss / count)
    high = np.where(rest > 1.0, beta.isf(miss, ones + 1.0, np.maximum(rest, 1.0)), 1.0 - rest * miss / count)
    return low, high


def mean_chance_pvalues(ones: FloatArray, count: FloatArray, mean: FloatArray) -> FloatArray:
    """Two-sided p-values of "the mean of the rows' chances is this", for any single chances.

    Twice the smaller tail of a binomial number, where it bounds the tail of unequal chances (Hoeffding 1956, Theorem 4:
    from a whole event beyond the mean on); of a single event, or non-event, the expected number bounds it.
    """
    from scipy.stats import binom

    def tail(k: FloatArray, p: FloatArray) -> FloatArray:
        expected = count * p
        single = np.where(k == 1.0, np.minimum(expected, 1.0), 1.0)
        return np.where(k >= expected + 1.0, binom.sf(k - 1.0, count, np.clip(p, 0.0, 1.0)), single)

    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(tail(ones, mean), tail(count - ones, 1.0 - mean))))
