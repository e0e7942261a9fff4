"""What tests ask of their arguments beyond the door: 0/1 outcomes or class labels, a level, a source of randomness."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.errors import InputError
from calibrant.inputs import Column, FloatArray, Table, read_columns
from calibrant.measures.multiclass import multiclass_sample

IntArray = npt.NDArray[np.int64]
RandomState = int | np.random.Generator | None


def read_binary(y_true: Column, y_prob: Column) -> tuple[IntArray, FloatArray]:
    """Return 0/1 outcomes and predictions, in the order given.

    Raises
    ------
    InputError
        As the door does, and if an outcome is neither 0 nor 1.
    """
    outcome, prediction, _ = read_columns(y_true, y_prob, None)
    rate = (outcome != 0.0) & (outcome != 1.0)
    if rate.any():
        row = int(np.argmax(rate))
        raise InputError(
            "y_true", f"row {row} is {outcome[row]:.6g}; a test counts single outcomes, each 0 or 1", row=row
        )
    return outcome.astype(np.int64), prediction + 0.0  # minus zero becomes zero


def dimensions(y_prob: Column | Table) -> int:
    """1 for a column of predictions, 2 for a table of class probabilities."""
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return len(shape)
    return 2 if isinstance(y_prob, list | tuple) and len(y_prob) > 0 and np.ndim(y_prob[0]) == 1 else 1


def read_classes(y_true: Column, y_prob: Column) -> tuple[IntArray, FloatArray]:
    """Return class labels 0..K-1 of shape (n,) and class probabilities of shape (n, K), the numbers given.

    Raises
    ------
    InputError
        As `multiclass_sample` does.
    """
    sample = multiclass_sample(y_true, y_prob)
    return sample.y_true, np.ascontiguousarray(sample.y_prob)


def running_shares(table: FloatArray) -> FloatArray:
    """Return running sums of class probabilities from which labels are drawn; each row ends at exactly 1.

    What a row misses 1 by is shared in proportion, so that no class is drawn more often for being the last.
    """
    running = np.cumsum(table, axis=1)
    return np.asarray(running / running[:, -1:])


def check_level(level: float) -> float:
    """Return the level, strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0.0 < level < 1.0:
        raise InputError("level", f"is {level!r:.40}; it must lie strictly between 0 and 1")
    return float(level)


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a source of randomness; the same whole number gives the same one."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is not None and (
        isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0
    ):
        raise InputError(
            "random_state", f"is {random_state!r:.40}; it must be a whole number from 0, a numpy Generator or None"
        )
    return np.random.default_rng(random_state)
