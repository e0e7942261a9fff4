"""Evidence of every segment, and of redrawn outcomes: p-values for all of them at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels import excursions as kernel
from calibrant.segments.candidates import FeatureLots, SegmentCandidates, moments
from calibrant.threads import in_blocks

STRETCH = 2.0 * math.log(8.0)
"""Taken off a climb's evidence: a Brownian path's range is four times as likely to be large as its end, and it gets
half of the end's share of the error."""


@dataclass(frozen=True, slots=True, eq=False)
class ResampleSearch:
    """Evidence of all segments by redraws.

    Attributes
    ----------
    score : ndarray of shape (segments,)
        Evidence, comparable across segments; larger is more.
    total, rise, fall : ndarray of shape (segments,)
        What it was made of.
    pvalue : ndarray of shape (segments,)
        Adjusted for all segments by stepping down.
    critical : float
        Scores above it are beyond noise at the level of the redraws, in one step.
    error : float
        Largest rise or fall of any segment, over the weight of all units.
    chance_error : float
        What it stays below, except with the level's probability, were the predictions calibrated.
    """

    score: FloatArray
    total: FloatArray
    rise: FloatArray
    fall: FloatArray
    pvalue: FloatArray
    critical: float
    error: float
    chance_error: float


def search(
    units: FeatureLots, candidates: SegmentCandidates, n_resamples: int, level: float, seed: np.uint64
) -> ResampleSearch:
    """Score the segments of the outcomes and of redrawn ones, and step down from the highest.

    A segment's adjusted p-value is the share of the draws, the outcomes among them, in which some segment that does
    not score higher than it has as high a score; and no less than that of a segment that scores higher. Of the
    segments in whose rows every stated probability is right, one is called beyond noise with probability at most the
    level, even if other segments are wrong (Westfall and Young 1993, free step-down; docs/found-segments.md).
    """
    n, draws_of_all = units.prediction.size, 1 + n_resamples
    scores = np.empty((len(candidates), draws_of_all))
    largest = np.empty(draws_of_all)
    mean = units.weight * units.count * units.prediction
    observed = np.empty((3, len(candidates)))

    one, none, joint = np.ones(n), np.zeros(n), units.joint

    def fill(first: int, last: int) -> None:
        draws = np.empty((n if joint is None else 0, kernel.LANES), units.drawn_type)
        climbs, part = np.empty((3, len(candidates), kernel.LANES)), np.empty((len(candidates), kernel.LANES))
        for start in range(first, last, kernel.LANES):
            lanes = slice(0, min(kernel.LANES, last - start))
            if joint is None:
                kernel.draw_events(units.prediction, units.count, units.ones, seed, start, draws)
                kernel.excursions(draws, units.weight, mean, units.rank, candidates.order, candidates.ends, climbs)
            else:
                excess = joint.excesses(seed, start, kernel.LANES)
                kernel.excursions(excess, one, none, units.rank, candidates.order, candidates.ends, climbs)
            kernel.scores(climbs, candidates.second, candidates.third, candidates.handicap, STRETCH, part)
            scores[:, start : start + kernel.LANES] = part[:, lanes]
            largest[start : start + kernel.LANES] = np.maximum(climbs[1], -climbs[2]).max(axis=0)[lanes]
            if start == 0:
                observed[:] = climbs[:, :, 0]

    in_blocks(fill, draws_of_all, work=candidates.order.size * draws_of_all, multiple=kernel.LANES)
    weight = float((units.weight * units.count).sum())
    over = spare(draws_of_all, level)
    return ResampleSearch(
        score=scores[:, 0],
        total=observed[0],
        rise=observed[1],
        fall=observed[2],
        pvalue=stepped_down(scores),
        critical=float(np.sort(scores[:, 1:].max(axis=0))[-1 - over]),
        error=float(largest[0]) / weight,
        chance_error=float(np.sort(largest[1:])[-1 - over]) / weight,
    )


def spare(draws: int, level: float) -> int:
    """Number of redraws that may be as extreme as the outcomes where the p-value is at most the level."""
    return max(0, math.floor(level * draws * (1.0 + 1e-12)) - 1)


def stepped_down(scores: FloatArray) -> FloatArray:
    """Adjusted p-values of the first column, of shape (segments, draws); rounding makes no difference."""
    observed = scores[:, 0]
    falling = np.argsort(-observed, kind="stable")
    ordered = scores[falling]
    highest = np.maximum.accumulate(ordered[::-1], axis=0)[::-1]
    slack = 1e-9 * (1.0 + np.abs(ordered[:, :1]))
    shares = (1.0 + (highest[:, 1:] >= ordered[:, :1] - slack).sum(axis=1)) / scores.shape[1]
    adjusted = np.empty(shares.size)
    adjusted[falling] = np.maximum.accumulate(shares)
    return adjusted


def scored(units: FeatureLots, candidates: SegmentCandidates, prediction: FloatArray, segments: IntArray) -> FloatArray:
    """Scores of some segments, were the units predicted otherwise."""
    ends = candidates.ends[segments]
    climbs = np.empty((3, segments.size, 1))
    mean = units.weight * units.count * prediction
    kernel.excursions(units.ones[:, None], units.weight, mean, units.rank, candidates.order, ends, climbs)
    both = moments(units, prediction, candidates.order, ends)
    out = np.empty((segments.size, 1))
    kernel.scores(climbs, *both, candidates.handicap[segments], STRETCH, out)
    return np.asarray(out[:, 0], np.float64)
