"""Exact two-sided binomial p-values of many values at once."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from calibrant.door.columns import FloatArray, IntArray

_RARE = 1e-200  # below it scipy's binomial overflows, and a single event is all that can be told
_EQUAL = 1.0 + 1e-7  # two counts whose chances differ by less are equally likely, as scipy.stats.binomtest has it


def two_sided_pvalues(ones: IntArray, count: IntArray, chance: FloatArray) -> FloatArray:
    """Chance of all counts no more likely than the one seen, for each value; as `scipy.stats.binomtest` has them.

    Two tails: that of the count itself, and on the other side of the mean the counts as unlikely, found by bisection.
    """
    rare = chance <= _RARE
    p = np.where(rare, 0.5, chance)
    mean = count * p
    likely = binom.pmf(ones, count, p) * _EQUAL
    under = ones < mean
    # From the mean outwards the chance falls; `near` is too likely (or the mean's side), `far` is rare enough.
    near = np.where(under, np.ceil(mean) - 1, np.floor(mean) + 1).astype(np.int64)
    far = np.where(under, count + 1, -1)
    while (open_ := np.abs(far - near) > 1).any():
        middle = (near + far) // 2
        enough = binom.pmf(middle, count, p) <= likely
        far = np.where(open_ & enough, middle, far)
        near = np.where(open_ & ~enough, middle, near)
    below, above = np.where(under, ones, far), np.where(under, far, ones)
    both = binom.cdf(below, count, p) + binom.sf(above - 1, count, p)
    found = np.where(ones == mean, 1.0, np.minimum(both, 1.0))
    few = np.choose(np.minimum(ones, 2), (np.ones_like(chance), count * chance, np.zeros_like(chance)))
    return np.where(rare, few, found)


def least_pvalues(count: IntArray, chance: FloatArray) -> FloatArray:
    """Return the smallest two-sided p-value that any outcome gives, for each value; 0 where one is impossible.

    It is that of all ones or of none, whichever is the less likely; where both are as likely each has both tails.
    """
    rarest = np.where(chance <= 0.5, count, 0)
    found = two_sided_pvalues(rarest, count, chance)
    return np.where((chance == 0.0) | (chance == 1.0), 0.0, found)
