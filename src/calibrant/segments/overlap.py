"""Nested and overlapping segments told once: the one that carries the evidence, then what it leaves unexplained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.measures.logistic import fit_logistic, inner_expit, log_odds
from calibrant.segments.candidates import FeatureLots, SegmentCandidates

MOST = 20
"""Segments that are told one by one."""
_CLIP = 1e-40
_HALF = 0.5  # an outcome, as predicted, at either end of a segment: its line stays finite where outcomes are all alike


class Scored(Protocol):
    """Evidence of segments, with what is beyond noise, and the evidence that other predictions would leave."""

    @property
    def score(self) -> FloatArray:
        """Of each segment."""

    @property
    def critical(self) -> float:
        """Scores above it are beyond noise."""

    def scored(self, prediction: FloatArray, segments: IntArray) -> FloatArray:
        """Scores of some segments, were the units predicted otherwise."""


def explained_once(units: FeatureLots, candidates: SegmentCandidates, search: Scored, beyond: IntArray) -> list[int]:
    """Numbers of the segments that explain all of those `beyond` noise, the one with the most evidence first.

    The strongest segment is taken; its predictions are corrected by the line in their log-odds that fits it best;
    the evidence of the others is found again with the corrected predictions; and so on, until no segment's evidence
    exceeds what noise alone reaches, or `MOST` are taken.
    """
    explanations: list[int] = []
    prediction = units.prediction
    score, left = search.score[beyond], beyond
    while left.size and len(explanations) < MOST:
        best = int(np.argmax(score))
        if not score[best] > search.critical:
            break
        explanations.append(int(left[best]))
        left = np.delete(left, best)
        prediction = _corrected(units, candidates, prediction, explanations[-1])
        score = search.scored(prediction, left)
    return explanations


def _corrected(units: FeatureLots, candidates: SegmentCandidates, prediction: FloatArray, segment: int) -> FloatArray:
    """Predictions with those of a segment on its best line in their log-odds."""
    first, last = candidates.ends[segment]
    rows = candidates.order[first:last]
    v, count = prediction[rows], units.count[rows]
    corrected = prediction.copy()
    corrected[rows] = Line.through(v, units.ones[rows] / count, units.weight[rows] * count)(v)
    return corrected


@dataclass(frozen=True, slots=True)
class Line:
    """A map of probabilities that is a line in their log-odds."""

    start: float
    slope: float

    def __call__(self, prediction: FloatArray) -> FloatArray:
        """Corrected predictions."""
        return inner_expit(self.start + self.slope * log_odds(prediction, _CLIP))

    @classmethod
    def through(cls, prediction: FloatArray, rate: FloatArray, mass: FloatArray) -> Line:
        """The line that fits event rates best."""
        z = log_odds(prediction, _CLIP)
        ends = np.array([z.argmin(), z.argmax()])
        score = np.concatenate([z, z[ends]])
        rate = np.concatenate([rate, prediction[ends]])
        mass = np.concatenate([mass, np.full(2, _HALF)])
        order = np.argsort(score, kind="stable")
        features = np.stack([np.ones(score.size), score])[:, order]
        start, slope = fit_logistic(features, rate[order], mass[order] / mass.sum(), np.array([0.0, 1.0]))
        return cls(float(start), float(slope))
