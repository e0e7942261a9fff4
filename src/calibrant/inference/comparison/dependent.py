"""Outcomes drawn again that depend on one another: in groups, and between predictors of one item."""

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
    """Outcomes that happen where a normal variable is below a quantile; all rows of a group share a part of it."""

    threshold: FloatArray  # (n,): the quantile: each outcome has its chance, for any correlation
    trials: IntArray | None  # (n,): outcomes behind each row, which depend on one another as those of the group do
    group: IntArray  # (n,): number of each row's group
    correlation: float  # of the normal variables of one group

    @classmethod
    def like(cls, share: FloatArray, chance: FloatArray, trials: IntArray | None, group: IntArray) -> DependentOutcomes:
        """With these chances, and the correlation with which products of a group's excesses add up to those seen."""
        threshold = ndtri(chance)
        return cls(threshold, trials, group, _latent_correlation(share, chance, trials, group))

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Share of events of each row."""
        shared = rng.standard_normal(int(self.group.max()) + 1)[self.group]
        share = ndtr((self.threshold - math.sqrt(self.correlation) * shared) / math.sqrt(1.0 - self.correlation))
        if self.trials is None:
            return np.asarray(rng.random(share.size) < share, np.float64)
        return np.asarray(rng.binomial(self.trials, share) / self.trials, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TwoDependentOutcomes:
    """Outcomes of two predictors of one item, which may depend on one another, and on those of the item's group."""

    # latent correlation within a group of the first's outcomes, and of the second's; 0 without groups
    own: tuple[float, float]
    shared: float  # correlation of the parts that the first's and the second's outcomes of a group share
    item: float  # correlation of the parts that are the item's own
    group: IntArray | None  # (n,): number of each item's group

    @classmethod
    def like(
        cls, outcomes: tuple[FloatArray, FloatArray], chances: tuple[FloatArray, FloatArray], group: IntArray | None
    ) -> TwoDependentOutcomes:
        """With the correlations at which products of excesses add up to those seen, given these chances."""
        whole = _cross_correlation(outcomes, chances, None)
        if group is None:
            return cls((0.0, 0.0), 0.0, whole, None)
        first, second = (
            _latent_correlation(y, chance, None, group) for y, chance in zip(outcomes, chances, strict=True)
        )
        together, alone = math.sqrt(first * second), math.sqrt((1.0 - first) * (1.0 - second))
        between = _cross_correlation(outcomes, chances, group)
        shared = min(_MOST, max(-_MOST, between / together)) if together > 0.0 else 0.0
        return cls((first, second), shared, min(_MOST, max(-_MOST, (whole - shared * together) / alone)), group)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Uniform numbers of both: an outcome happens where its number is below its chance."""
        first, second = _two_normal(n, self.item, rng)
        if self.group is not None:
            of_group = _two_normal(int(self.group.max()) + 1, self.shared, rng)
            first, second = (
                math.sqrt(own) * part[self.group] + math.sqrt(1.0 - own) * each
                for own, part, each in zip(self.own, of_group, (first, second), strict=True)
            )
        return ndtr(first), ndtr(second)


def _two_normal(n: int, correlation: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    first, other = rng.standard_normal((2, n))
    return first, correlation * first + math.sqrt(1.0 - correlation**2) * other


def _cross_correlation(
    outcomes: tuple[FloatArray, FloatArray], chances: tuple[FloatArray, FloatArray], group: IntArray | None
) -> float:
    """Latent correlation of two outcomes of an item; of different items of a group, where there are groups."""

    def pairs(first: FloatArray, second: FloatArray) -> float:
        own = dot(first, second)
        return own if group is None else dot(np.bincount(group, first), np.bincount(group, second)) - own

    covariance = pairs(*(y - chance for y, chance in zip(outcomes, chances, strict=True)))
    terms = [pairs(*each) for each in zip(*map(_terms, chances), strict=True)]
    return _root(terms, covariance, -_MOST)


def _terms(chance: FloatArray) -> list[FloatArray]:
    """He_{k-1}(a) phi(a) / sqrt(k!), k = 1, 2, ..., at the quantile a of each chance; 0 where that is 0 or 1."""
    inside = (chance > 0.0) & (chance < 1.0)
    a = np.where(inside, ndtri(np.where(inside, chance, 0.5)), 0.0)
    density = np.where(inside, np.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi), 0.0)
    before, hermite, terms = np.zeros(a.size), np.ones(a.size), []
    for k in range(1, _TERMS + 1):
        terms.append(hermite * density / math.sqrt(float(math.factorial(k))))
        before, hermite = hermite, a * hermite - (k - 1) * before
    return terms


def _root(terms: list[float], covariance: float, low: float) -> float:
    """The correlation, from `low` on, at which the series has this covariance."""
    high = _MOST
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        expected = sum(term * middle**k for k, term in enumerate(terms, 1))
        low, high = (middle, high) if expected < covariance else (low, middle)
    return low


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
    covariance = pairs(share - chance, dot(events, (1.0 - chance) ** 2) + dot(count - events, chance**2))
    if covariance <= 0.0:
        return 0.0
    return _root([max(0.0, pairs(each, dot(count, each * each))) for each in _terms(chance)], covariance, 0.0)
