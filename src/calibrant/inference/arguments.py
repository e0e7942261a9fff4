"""What tests ask of their arguments beyond the door: 0/1 outcomes or class labels, a level, a source of randomness."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.errors import InputError
from calibrant.inputs import Column, FloatArray, read_columns

IntArray = npt.NDArray[np.int64]
RandomState = int | np.random.Generator | None
_ROUNDING = 1e-5  # by which class probabilities in single precision may miss a sum of 1


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


def dimensions(y_prob: Column) -> int:
    """1 for a column of predictions, 2 for a table of class probabilities."""
    shape = getattr(y_prob, "shape", None)
    if shape is not None:
        return len(shape)
    return 2 if isinstance(y_prob, list | tuple) and len(y_prob) > 0 and np.ndim(y_prob[0]) == 1 else 1


def read_classes(y_true: Column, y_prob: Column) -> tuple[IntArray, FloatArray]:
    """Return class labels 0..K-1 of shape (n,) and class probabilities of shape (n, K) whose rows add up to 1.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], a row's sum misses 1 by more than 1e-5 (less is divided away), or a label is
        no class.
    """
    table = _table(y_prob, "y_prob")
    if table.shape[0] == 0:
        raise InputError("y_prob", "is empty; at least one row is needed")
    if table.shape[1] < 2:
        raise InputError("y_prob", "has one column; pass it as one dimension, or a column for each class")
    bad = ~((table >= 0.0) & (table <= 1.0)).all(axis=1)  # true for NaN as well
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("y_prob", f"row {row} is {table[row]}; class probabilities must lie in [0, 1]", row=row)
    sums = table.sum(axis=1)
    bad = np.abs(sums - 1.0) > _ROUNDING
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            "y_prob", f"row {row} adds up to {sums[row]:.7g}; class probabilities must add up to 1", row=row
        )
    label = _labels(y_true, table.shape[1])
    if label.size != table.shape[0]:
        raise InputError("y_true", f"has {label.size:,} rows but y_prob has {table.shape[0]:,}; they must match")
    return label, np.ascontiguousarray(table / sums[:, None]) + 0.0


def _table(values: Column, name: str) -> FloatArray:
    if hasattr(values, "detach"):  # a torch tensor, which numpy refuses while it carries a gradient
        values = values.detach()
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(name, "is not a table of numbers (its rows differ in length)") from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(name, f"has shape {array.shape} and holds {array.dtype.name}; a table of numbers is needed")
    return array.astype(np.float64)


def _labels(y_true: Column, n_classes: int) -> IntArray:
    if dimensions(y_true) == 2:
        hot = _table(y_true, "y_true")
        bad = (~np.isin(hot, (0.0, 1.0)).all(axis=1)) | (hot.sum(axis=1) != 1.0)
        if hot.shape[1] != n_classes or bad.any():
            row = int(np.argmax(bad)) if bad.any() else None
            raise InputError("y_true", f"is not one-hot with {n_classes} columns, a single 1 in each row", row=row)
        return np.asarray(np.argmax(hot, axis=1), dtype=np.int64)
    try:
        label = np.asarray(y_true, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("y_true", f"holds values that are not numbers; class labels 0 to {n_classes - 1}") from None
    bad = ~((label >= 0) & (label < n_classes) & (label == np.floor(label)))
    if label.ndim != 1 or bad.any():
        row = int(np.argmax(bad)) if label.ndim == 1 else None
        raise InputError("y_true", f"must hold class labels, whole numbers from 0 to {n_classes - 1}", row=row)
    return label.astype(np.int64)


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
