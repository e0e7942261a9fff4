"""Exact p-values at any sample size: outcomes are drawn again as calibrated predictions would have them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.door.arguments import RandomState, check_resamples, generator
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels.sums import dot
from calibrant.resampling.threads import in_blocks

LEAST_SURPRISES = 10
"""Fewest with which `bootstrap_bounds` keeps its promise (docs/reproductions/few-surprises.md)."""

Statistic = Callable[[FloatArray], float]
"""Takes the excess of ones over those expected, at each distinct prediction; larger is more extreme."""


def redrawn_pvalue(
    sample: Sample, statistic: Statistic, *, level: float, n_resamples: int, random_state: RandomState
) -> tuple[float, float]:
    """Observed statistic, and (1 + number of redrawn ones at least as large) / (1 + number of resamples).

    Raises
    ------
    InputError
        If there are too few resamples to reject at this level at all.
    """
    check_resamples(n_resamples, level)
    v, count = np.ascontiguousarray(sample.prediction), sample.count.astype(np.int64)
    expected = count * v
    observed = statistic(sample.ones - expected)
    single = count == 1
    tied_count, tied = count[~single], v[~single]
    loose = v[single]

    def redrawn(rng: np.random.Generator) -> float:
        ones = np.empty(v.size)
        ones[single] = rng.random(loose.size) < loose  # much cheaper than a binomial of one trial
        if tied.size:
            ones[~single] = rng.binomial(tied_count, tied)
        ones -= expected
        return statistic(ones)

    drawn = resampled(redrawn, v.size, n_resamples, random_state)
    return observed, pvalue_among(observed, drawn)


def check_surprises(label: IntArray, prediction: FloatArray, instead: str, *, least: int = LEAST_SURPRISES) -> None:
    """Refuse rows in which chance shows too little of itself for a resample to be like a new sample.

    The sum of v (1 - v) is the variance of the number of events, and about their number where they are rare (or that
    of non-events); the sum of (y - v)^2 is what was seen of it.
    """
    expected, seen = dot(prediction, 1.0 - prediction), dot(label - prediction, label - prediction)
    if min(expected, seen) < least:
        raise InputError(
            "y_true",
            f"holds {seen:.3g} surprises, of which the predictions expect {expected:.3g} (sums of (y - v)^2 and of "
            f"v (1 - v): where events are rare, about their number). Resampling needs {least} of both; "
            f"{instead}",
        )


def pvalue_among(observed: float, drawn: FloatArray) -> float:
    """Share of the redrawn statistics, and the observed one itself, that are at least as large as it."""
    return float(pvalues_among(np.array([observed]), drawn[:, None])[0])


def pvalues_among(observed: FloatArray, drawn: FloatArray) -> FloatArray:
    """The same for several statistics at once, of shape (k,), redrawn ones of shape (resamples, k).

    Infinite statistics tie with infinite ones. What cannot be compared (there should be none) counts as at least as
    large, so that it never speaks against the predictions.
    """
    # Rounding must not make one of two equal statistics the larger.
    slack = np.where(np.isfinite(observed), 1e-12 * np.abs(observed), 0.0)
    smaller = drawn < observed - slack
    return np.asarray((1.0 + (~smaller).sum(axis=0)) / (1.0 + len(drawn)))


def joint_pvalue(found: FloatArray) -> float:
    """Share of the draws, the observed one first, whose smallest p-value among all of them is at most the observed.

    Of draws that share the smallest, the one with the largest standardised statistic comes first: without that, all
    that lead at some scale would tie. Both orders treat every draw alike, so that the level is exact.
    """
    draws = len(found)
    smallest = np.full(draws, draws)
    largest = np.full(draws, -math.inf)
    for column in found.T:
        spread = math.sqrt(float((column**2).mean()))
        if spread == 0.0:
            continue
        rising = np.sort(column)
        slack = 1e-12 * np.abs(column)  # rounding must not make one of two equal statistics the larger
        np.minimum(smallest, draws - np.searchsorted(rising, column - slack), out=smallest)
        np.maximum(largest, column / spread, out=largest)
    first, size = smallest[0], largest[0] - 1e-12 * abs(largest[0])
    return float(((smallest < first) | ((smallest == first) & (largest >= size))).sum() / draws)


def resampled(
    draw: Callable[[np.random.Generator], Any], rows: int, n_resamples: int, random_state: RandomState
) -> FloatArray:
    """Call `draw` once a resample, each with its own generator, so that threads cannot matter; results in order."""
    entropy = int(generator(random_state).integers(2**63))
    seeds = np.random.SeedSequence(entropy).spawn(n_resamples)
    found: list[Any] = [None] * n_resamples

    def fill(first: int, last: int) -> None:
        for k in range(first, last):
            found[k] = draw(np.random.default_rng(seeds[k]))

    in_blocks(fill, n_resamples, work=rows * n_resamples)
    return np.array(found, dtype=np.float64)


def running_shares(table: FloatArray) -> FloatArray:
    """Return running sums of class probabilities from which labels are drawn; each row ends at exactly 1.

    What a row misses 1 by is shared in proportion, so that no class is drawn more often for being the last.
    """
    running = np.cumsum(table, axis=1)
    return np.asarray(running / running[:, -1:])
