"""Single rows, as tests ask for them: 0/1 outcomes and predictions, in the order given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.door.columns import Column, FloatArray, IntArray, Table, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample


@dataclass(frozen=True, eq=False)
class Rows:
    """Single rows with outcomes 0 or 1, in the order given: what a test needs beyond a `Sample`.

    Attributes
    ----------
    y_true : ndarray of shape (n,)
        Outcomes, 0 or 1.
    y_prob : ndarray of shape (n,)
        Predictions in [0, 1], minus zero as zero.
    """

    y_true: IntArray
    y_prob: FloatArray

    @classmethod
    def of(cls, y_true: Column, y_prob: Column) -> Rows:
        """Read a user's columns, once.

        Raises
        ------
        InputError
            As the door does, and if an outcome is neither 0 nor 1.
        """
        outcome, prediction, _ = read_columns(y_true, y_prob, None)
        require_single_outcomes(outcome)
        return cls(outcome.astype(np.int64), prediction + 0.0)  # minus zero becomes zero

    @classmethod
    def of_sample(cls, sample: Sample) -> Rows:
        """One row after another of pooled single outcomes, by prediction; within one prediction events come first."""
        count, ones = sample.count.astype(np.int64), sample.ones.astype(np.int64)
        first = np.concatenate([[0], count.cumsum()[:-1]])
        prediction = np.repeat(sample.prediction, count)
        label = np.arange(prediction.size) - np.repeat(first, count) < np.repeat(ones, count)
        rows = cls(label.astype(np.int64), prediction)
        if sample.weight is sample.count:  # not where rows of equal weights other than 1 were pooled
            rows.__dict__["sample"] = sample
        return rows

    def take(self, rows: IntArray) -> Rows:
        """Return these rows of it, in this order."""
        return Rows(self.y_true[rows], self.y_prob[rows])

    @cached_property
    def sample(self) -> Sample:
        """The same rows, pooled when it is first asked for."""
        return Sample.of_labels(self.y_true == 1, self.y_prob)


def require_single_outcomes(outcome: FloatArray) -> None:
    """Raise unless every outcome is 0 or 1."""
    rate = (outcome != 0.0) & (outcome != 1.0)
    if rate.any():
        row = int(np.argmax(rate))
        problem = f"row {row} is {outcome[row]:.6g}; a test counts single outcomes, each 0 or 1"
        raise InputError("y_true", problem, row=row)


def dimensions(y_prob: Column | Table) -> int:
    """1 for a column of predictions, 2 for a table of class probabilities."""
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return len(shape)
    return 2 if isinstance(y_prob, list | tuple) and len(y_prob) > 0 and np.ndim(y_prob[0]) == 1 else 1
