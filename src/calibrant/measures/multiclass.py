"""Class probabilities made binary: the questions about K classes that every measure here can answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import InputError
from calibrant.inputs import Column, read_columns
from calibrant.measures.parameters import positive_integer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SUM_TOLERANCE = 1e-5
"""By how much a row of class probabilities may miss a sum of 1; single precision misses it by 1e-6."""


@dataclass(frozen=True, slots=True, eq=False)
class BinaryReduction:
    """One yes-or-no question about the classes, as columns that every measure and test takes.

    Attributes
    ----------
    name : str
        The question in words: ``"top label"``, ``"class 3"`` or ``"top 5 labels"``.
    y_true : ndarray of shape (n,)
        1 where the answer was yes.
    y_prob : ndarray of shape (n,)
        Predicted probability of yes.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows.
    """

    name: str
    y_true: FloatArray
    y_prob: FloatArray
    sample_weight: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassSample:
    """Validated class probabilities and labels; its methods are the binary questions.

    Attributes
    ----------
    y_true : ndarray of shape (n,)
        Label of each row, as a column number of `y_prob`.
    y_prob : ndarray of shape (n, K)
        Class probabilities; each row adds up to 1.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows.
    classes : tuple
        Name of each column.
    """

    y_true: IntArray
    y_prob: FloatArray
    sample_weight: FloatArray | None
    classes: tuple[Any, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return int(self.y_prob.shape[1])

    def top_label(self) -> BinaryReduction:
        """Was the most probable class right? Of classes that tie, the first is predicted."""
        best = np.argmax(self.y_prob, axis=1)
        confidence = np.take_along_axis(self.y_prob, best[:, None], axis=1)[:, 0]
        return self._question("top label", best == self.y_true, confidence)

    def class_wise(self) -> tuple[BinaryReduction, ...]:
        """Was it this class? One question a class."""
        return tuple(
            self._question(f"class {name}", self.y_true == k, np.ascontiguousarray(self.y_prob[:, k]))
            for k, name in enumerate(self.classes)
        )

    def top_k(self, k: int) -> BinaryReduction:
        """Was it one of the k most probable classes? Of classes that tie, the first ones are predicted."""
        positive_integer(k, "k")
        if k >= self.n_classes:
            raise InputError("k", f"is {k}; it must be below the number of classes, {self.n_classes}")
        best = np.argsort(-self.y_prob, axis=1, kind="stable")[:, :k]
        confidence = np.minimum(np.take_along_axis(self.y_prob, best, axis=1).sum(axis=1), 1.0)
        hit = (best == self.y_true[:, None]).any(axis=1)
        return self._question("top label" if k == 1 else f"top {k} labels", hit, confidence)

    def reductions(self, top_k: Sequence[int] = ()) -> tuple[BinaryReduction, ...]:
        """All questions: the top label first, then the wanted top k, then every class."""
        return (self.top_label(), *(self.top_k(k) for k in top_k), *self.class_wise())

    def class_wise_mean(self, measure: Callable[..., float], **parameters: Any) -> float:
        """Mean over classes of a measure of one probability, for example the class-wise squared calibration error."""
        questions = self.class_wise()
        values = [measure(q.y_true, q.y_prob, sample_weight=q.sample_weight, **parameters) for q in questions]
        return float(np.mean(values))

    def _question(self, name: str, answer: npt.NDArray[np.bool_], confidence: FloatArray) -> BinaryReduction:
        return BinaryReduction(name, answer.astype(np.float64), confidence, self.sample_weight)


def multiclass_sample(
    y_true: Column,
    y_prob: Any,
    *,
    sample_weight: Column | None = None,
    classes: Sequence[Any] | None = None,
    tolerance: float = SUM_TOLERANCE,
) -> MulticlassSample:
    """Validate class probabilities and labels, for the binary questions that can be asked of them.

    Parameters
    ----------
    y_true : column of shape (n,), or table of shape (n, K)
        Labels: column numbers 0 to K - 1, or names that are in `classes`, or one-hot rows with a single 1.
    y_prob : table of shape (n, K), K >= 2
        Class probabilities in [0, 1], each row adding up to 1: a NumPy array, list of rows or data frame.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    classes : sequence of K names, optional
        Names of the columns, as in ``estimator.classes_``. By default 0 to K - 1 for whole numbers and one-hot rows;
        for other labels the column names of a data frame, or the sorted labels, if all K of them occur.
    tolerance : float, default 1e-5
        By how much a row may miss a sum of 1; what it misses is divided away.

    Returns
    -------
    MulticlassSample
        With the methods ``top_label()``, ``class_wise()``, ``top_k(k)`` and ``reductions()``.

    Raises
    ------
    InputError
        If a probability is outside [0, 1] or missing, a row's sum is further from 1 than `tolerance`, a label is no
        class, or the classes cannot be told; the message names the argument and its first bad row.

    Notes
    -----
    A class that is never seen is an ordinary question whose answer was always no. The top label is also called
    confidence calibration. O(n K).

    Examples
    --------
    >>> from calibrant import smooth_calibration_error
    >>> from calibrant.measures.multiclass import multiclass_sample
    >>> table = [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]
    >>> sample = multiclass_sample(["cat", "dog"], table, classes=["cat", "dog", "eel"])
    >>> top = sample.top_label()
    >>> top.y_true.tolist(), top.y_prob.tolist()
    ([1.0, 0.0], [0.75, 0.5])
    >>> [q.name for q in sample.reductions(top_k=[2])]
    ['top label', 'top 2 labels', 'class cat', 'class dog', 'class eel']
    >>> round(smooth_calibration_error(top.y_true, top.y_prob), 6)
    0.15625
    """
    names = getattr(y_prob, "columns", None)
    table = class_probabilities(y_prob, tolerance)
    n, k = table.shape
    label, found = _read_labels(y_true, k, _read_classes(classes, k), names)
    if label.size != n:
        raise InputError("y_true", f"has {label.size:,} rows but y_prob has {n:,}; they must match")
    weight = read_columns(np.zeros(n), np.zeros(n), sample_weight)[2]
    return MulticlassSample(label, table, weight, found)


def class_probabilities(y_prob: Any, tolerance: float = SUM_TOLERANCE) -> FloatArray:
    """Class probabilities of shape (n, K) as float64, rows adding up to 1; InputError if they are not that."""
    if not isinstance(tolerance, int | float | np.number) or not 0.0 <= tolerance < 1.0:
        raise InputError("tolerance", f"is {tolerance!r:.40}; it must lie in [0, 1)")
    table = _as_table(y_prob, "y_prob")
    if table.shape[0] == 0:
        raise InputError("y_prob", "is empty; at least one row is needed")
    if table.shape[1] < 2:
        raise InputError("y_prob", f"has {table.shape[1]} columns; a column for each of two or more classes is needed")
    bad = ~((table >= 0.0) & (table <= 1.0))  # true for NaN as well
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        column = int(np.argmax(bad[row]))
        problem = f"row {row}, column {column} is {table[row, column]:.6g}; class probabilities must lie in [0, 1]"
        raise InputError("y_prob", problem, row=row)
    sums = table.sum(axis=1)
    off = np.abs(sums - 1.0) > tolerance
    if off.any():
        row = int(np.argmax(off))
        problem = f"row {row} adds up to {sums[row]:.7g}; class probabilities must add up to 1 within {tolerance:g}"
        raise InputError("y_prob", problem, row=row)
    return np.asarray(np.minimum(table / sums[:, None], 1.0) + 0.0)  # minus zero becomes zero


def _as_table(values: Any, name: str) -> FloatArray:
    if hasattr(values, "detach"):  # a torch tensor, which numpy refuses while it carries a gradient
        values = values.detach().cpu().double()
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(name, "is not a table of numbers: rows of one length are needed") from None
    if array.ndim != 2:
        raise InputError(name, f"has shape {array.shape}; a table with a row a case and a column a class is needed")
    if array.dtype.kind not in "fiub":
        raise InputError(name, f"holds {array.dtype.name} values; numbers are needed")
    return array.astype(np.float64)


def _read_classes(classes: Sequence[Any] | None, k: int) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    found = tuple(np.asarray(classes).tolist())
    if len(found) != k:
        raise InputError("classes", f"has {len(found)} names but y_prob has {k} columns; they must match")
    if len(set(found)) != k:
        raise InputError("classes", "holds a name twice; every column needs its own")
    return found


def _read_labels(y_true: Any, k: int, classes: tuple[Any, ...] | None, names: Any) -> tuple[IntArray, tuple[Any, ...]]:
    """Labels as column numbers, and the name of each column."""
    values = _as_labels(y_true)
    if values.ndim == 2 and values.shape[1] > 1:
        return _from_one_hot(_as_table(values, "y_true"), k), tuple(range(k)) if classes is None else classes
    values = values.ravel() if values.ndim == 2 else values
    if values.ndim != 1:
        raise InputError("y_true", f"has shape {values.shape}; a label a row, or one-hot rows, are needed")
    missing = _missing(values)
    if missing is not None:
        raise InputError("y_true", f"row {missing} is {values[missing]!s}; every row needs a label", row=missing)
    if classes is None and values.dtype.kind in "iubf":
        classes = tuple(range(k))
    if classes is None:
        classes = _classes_of_names(values, k, names)
    column = {name: i for i, name in enumerate(classes)}
    if values.dtype.kind == "O":
        number = np.array([column.get(name, -1) for name in values.tolist()], dtype=np.int64)
    else:
        distinct, inverse = np.unique(values, return_inverse=True)
        number = np.array([column.get(name, -1) for name in distinct.tolist()], dtype=np.int64)[inverse]
    if number.size and number.min() < 0:
        row = int(np.argmin(number))
        shown = ", ".join(map(str, classes[:6])) + (", ..." if k > 6 else "")
        problem = f"row {row} is {values[row]!s:.40}, which is no class; the classes are {shown}"
        raise InputError("y_true", problem, row=row)
    return number, classes


def _as_labels(y_true: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(y_true.detach().cpu() if hasattr(y_true, "detach") else y_true)
    except ValueError:
        raise InputError("y_true", "is not a column of labels (its rows differ in length)") from None


def _missing(values: npt.NDArray[Any]) -> int | None:
    """First row without a label."""
    if values.dtype.kind == "O":
        # None, NaN, or the missing value of a data frame, which is equal to nothing and not even unequal.
        none = np.array([v is None or type(v).__name__ == "NAType" or v != v for v in values], dtype=bool)
        return int(np.argmax(none)) if none.any() else None
    if values.dtype.kind == "f" and np.isnan(values).any():
        return int(np.argmax(np.isnan(values)))
    return None


def _from_one_hot(table: FloatArray, k: int) -> IntArray:
    if table.shape[1] != k:
        raise InputError("y_true", f"has {table.shape[1]} columns but y_prob has {k}; one-hot rows need one a class")
    bad = ~np.isin(table, (0.0, 1.0)).all(axis=1) | (table.sum(axis=1) != 1.0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("y_true", f"row {row} is not one-hot; it needs a single 1, and 0 elsewhere", row=row)
    return np.asarray(np.argmax(table, axis=1), dtype=np.int64)


def _classes_of_names(values: npt.NDArray[Any], k: int, names: Any) -> tuple[Any, ...]:
    """Classes of labels that are not numbers: the names of the columns if they hold all labels, else sorted labels."""
    seen = set(values.tolist())
    if names is not None and seen <= set(names):
        return tuple(names)
    if len({type(label) for label in seen}) > 1:
        raise InputError("y_true", "holds labels of several types; pass the names of the columns as classes")
    if len(seen) != k:
        problem = f"holds {len(seen)} different labels but y_prob has {k} columns; pass their names as classes"
        raise InputError("y_true", problem)
    return tuple(sorted(seen))
