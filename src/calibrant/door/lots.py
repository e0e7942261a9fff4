"""Lots: rows that are redrawn together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.sample import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Lots:
    """Rows that are redrawn together: those of one prediction and one weight, sorted by both where `of` makes them.

    Attributes
    ----------
    prediction, count, ones, weight : ndarray of shape (k,)
        Predictions, numbers of single outcomes and of events, and the weight of each outcome.
    """

    prediction: FloatArray
    count: FloatArray
    ones: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, prediction: FloatArray, count: FloatArray, ones: FloatArray, weight: FloatArray | None) -> Lots:
        """Pool rows of equal prediction and equal weight; this changes nothing that is redrawn."""
        v, w = prediction, np.broadcast_to(1.0, prediction.shape) if weight is None else weight
        order = np.argsort(v) if weight is None else np.lexsort((w, v))
        v, w = v[order], w[order]
        new = np.ones(v.size, dtype=np.bool_)
        new[1:] = (v[1:] != v[:-1]) | (w[1:] != w[:-1])
        start = np.flatnonzero(new)
        if not start.size:
            return cls(v, v, v, v)
        return cls(v[start], np.add.reduceat(count[order], start), np.add.reduceat(ones[order], start), w[start])

    @property
    def variance(self) -> FloatArray:
        """Variance of each lot's weighted excess of events, were the predictions calibrated."""
        return np.asarray(self.weight * self.weight * self.count * self.prediction * (1.0 - self.prediction))

    @property
    def excess(self) -> FloatArray:
        """Weighted events less those expected."""
        return np.asarray(self.weight * (self.ones - self.count * self.prediction))

    @property
    def first(self) -> IntArray:
        """Index of the first row of each distinct prediction."""
        return np.flatnonzero(np.concatenate([[True], self.prediction[1:] != self.prediction[:-1]]))

    @property
    def sample(self) -> Sample:
        """The same rows pooled by prediction alone."""
        first, w = self.first, self.weight
        count, ones = np.add.reduceat(self.count, first), np.add.reduceat(self.ones, first)
        v, none = self.prediction[first], np.broadcast_to(0.0, first.shape)
        if (w == 1.0).all():
            return Sample(v, count, ones, count, ones, count, none, binary=True)
        weight, outcome = np.add.reduceat(w * self.count, first), np.add.reduceat(w * self.ones, first)
        squared = np.add.reduceat(w * w * self.count, first)
        return Sample(v, count, ones, weight, outcome, squared, none, binary=True)
