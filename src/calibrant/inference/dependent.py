"""Outcomes redrawn so that those of one group depend on one another as much as the rows show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels.sums import dot

_MOST = 0.95  # latent correlation
_TERMS = 12  # of the series of the covariance
_STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class DependentOutcomes:
    """Outcomes that happen where a normal variable is below a quantile, part of which all rows of a group share.

    Attributes
    ----------
    threshold : ndarray of shape (n,)
        The quantile: each outcome has its chance, for any correlation.
    trials : ndarray of shape (n,) or None
        Outcomes behind each row, which depend on one another as those of the group do.
    group : ndarray of shape (n,)
        Number of each row's group.
    correlation : float
        Of the normal variables of one group.
    """

    threshold: FloatArray
    trials: IntArray | None
    group: IntArray
    correlation: float

    @classmethod
    def like(cls, share: FloatArray, chance: FloatArray, trials: IntArray | None, group: IntArray) -> DependentOutcomes:
        """With these chances, and the correlation with which products of a group's excesses add up to those seen."""
        threshold = ndtri(chance)
        return cls(threshold, trials, group, _latent_correlation(share, chance, trials, group))

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Share of events of each row."""
        shared = rng.standard_normal(int(self.group.max()) + 1)[self.group]
        given = ndtr((self.threshold - math.sqrt(self.correlation) * shared) / math.sqrt(1.0 - self.correlation))
        if self.trials is None:
            return np.asarray(rng.random(given.size) < given, np.float64)
        return np.asarray(rng.binomial(self.trials, given) / self.trials, np.float64)


def _latent_correlation(share: FloatArray, chance: FloatArray, trials: IntArray | None, group: IntArray) -> float:
    """The correlation from 0 on at which pairs of a group have, on the whole, the covariance that was seen.

    The covariance of two outcomes with quantiles a and b is the sum of r^k / k! He_{k-1}(a) phi(a) He_{k-1}(b) phi(b),
    k = 1, 2, ... (the tetrachoric series), and rises with r.
    """
    count = np.ones(share.size) if trials is None else trials.astype(np.float64)

    def pairs(each: FloatArray, own: float) -> float:
        sums = np.bincount(group, count * each)
        return dot(sums, sums) - own

    events = count * share
    seen = pairs(share - chance, dot(events, (1.0 - chance) ** 2) + dot(count - events, chance**2))
    inside = (chance > 0.0) & (chance < 1.0)
    a = np.where(inside, ndtri(np.where(inside, chance, 0.5)), 0.0)
    density = np.where(inside, np.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi), 0.0)
    before, hermite, terms = np.zeros(a.size), np.ones(a.size), []
    for k in range(1, _TERMS + 1):
        each = hermite * density / math.sqrt(float(math.factorial(k)))
        terms.append(max(0.0, pairs(each, dot(count, each * each))))
        before, hermite = hermite, a * hermite - (k - 1) * before
    low, high = 0.0, _MOST
    if seen <= 0.0:
        return 0.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        expected = sum(term * middle**k for k, term in enumerate(terms, 1))
        low, high = (middle, high) if expected < seen else (low, middle)
    return low
