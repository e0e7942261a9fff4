"""Class probabilities made binary: the questions about K classes that every measure here can answer."""

from __future__ import annotations

__all__ = ["BinaryReduction", "MulticlassSample", "multiclass_sample"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import positive_integer
from calibrant.door.columns import Column, Labels, Table, kind_of, read_columns
from calibrant.door.errors import InputError
from calibrant.door.labels import column_names, read_classes, read_labels, second_in_order
from calibrant.door.sample import Sample
from calibrant.door.values import counted, short_repr

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SUM_TOLERANCE = 1e-5
"""By how much a row of class probabilities may miss a sum of 1; single precision misses it by 1e-6."""

_SIX_DECIMALS = 5e-7
"""What a value may lose that was written with six decimals: many classes add up to more than `SUM_TOLERANCE`."""


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

    See Also
    --------
    MulticlassSample, multiclass_sample
    """

    name: str
    y_true: FloatArray
    y_prob: FloatArray
    sample_weight: FloatArray | None

    __repr__ = short_repr

    @property
    def sample(self) -> Sample:
        """The same rows, pooled."""
        return Sample.of_arrays(self.y_true, self.y_prob, self.sample_weight)


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassSample:
    """Validated class probabilities and labels; its methods are the binary questions.

    Attributes
    ----------
    y_true : ndarray of shape (n,)
        Label of each row, as a column number of `y_prob`.
    y_prob : ndarray of shape (n, K)
        Class probabilities: the very numbers that were given. Each row adds up to 1 within their rounding.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows.
    labels : tuple
        Name of each column.
    pos_label : object
        Of two classes the one that is the event, where it was said.

    See Also
    --------
    multiclass_sample, BinaryReduction
    """

    y_true: IntArray
    y_prob: FloatArray
    sample_weight: FloatArray | None
    labels: tuple[Any, ...]
    pos_label: Any = None

    __repr__ = short_repr

    def take(self, rows: npt.NDArray[np.intp]) -> MulticlassSample:
        """Return these rows of it, in this order."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, y_true=self.y_true[rows], y_prob=self.y_prob[rows], sample_weight=weight)

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return int(self.y_prob.shape[1])

    @property
    def positive_class(self) -> Any:
        """Of two classes the event: `pos_label`, else the second in sorted order, as in scikit-learn's ``classes_``."""
        if self.n_classes != 2:
            raise InputError("y_prob", f"has {self.n_classes} columns; only one of two classes can be the event")
        return second_in_order(self.labels) if self.pos_label is None else self.pos_label

    def event(self) -> BinaryReduction:
        """Of two classes: did the positive one happen?"""
        return self.class_wise()[self.labels.index(self.positive_class)]

    def top_label(self) -> BinaryReduction:
        """Was the most probable class right? Of classes that tie, the first is predicted."""
        best = np.argmax(self.y_prob, axis=1)
        confidence = np.take_along_axis(self.y_prob, best[:, None], axis=1)[:, 0]
        return self._question("top label", best == self.y_true, confidence)

    def class_wise(self) -> tuple[BinaryReduction, ...]:
        """Was it this class? One question a class."""
        return tuple(
            self._question(f"class {name}", self.y_true == k, np.ascontiguousarray(self.y_prob[:, k]))
            for k, name in enumerate(self.labels)
        )

    def top_k(self, k: int) -> BinaryReduction:
        """Was it one of the k most probable classes? Of classes that tie, the first ones are predicted.

        Sums are rounded to 14 decimals, so that those which tie on paper do.
        """
        positive_integer(k, "k")
        if k >= self.n_classes:
            raise InputError("k", f"is {k}; it must be below the number of classes, {self.n_classes}")
        if k == 1:
            return self.top_label()
        best = np.argsort(-self.y_prob, axis=1, kind="stable")[:, :k]
        exact = np.take_along_axis(self.y_prob, best, axis=1).sum(axis=1)
        # In doubles the last bits of 0.7 + 0.1 and 0.5 + 0.3 differ. What is below 1 must stay below it.
        tied = np.round(exact, 14)
        confidence = np.minimum(np.where(tied < 1.0, tied, exact), 1.0)
        hit = (best == self.y_true[:, None]).any(axis=1)
        return self._question(f"top {k} labels", hit, confidence)

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
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    sample_weight: Column | None = None,
    classes: Sequence[Any] | None = None,
    pos_label: Any = None,
    tolerance: float | None = None,
) -> MulticlassSample:
    """Validate class probabilities and labels, for the binary questions that can be asked of them.

    Parameters
    ----------
    y_true : column of shape (n,), or table of shape (n, K)
        Labels: column numbers 0 to K - 1, or names that are in `classes`, or one-hot rows with a single 1.
    y_prob : table of shape (n, K), K >= 2
        Class probabilities in [0, 1], each row adding up to 1: a NumPy array, list of rows or data frame. They are
        taken as they are, never divided by their sum: that would part predictions that tie.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    classes : sequence of K names, optional
        Names of the columns, as in ``estimator.classes_``. By default the column names of a data frame that hold all
        labels; else 0 to K - 1 for numbers and one-hot rows, and for other labels these in sorted order, if all K
        occur.
    pos_label : label, optional
        Of two classes the event, for ``event()``; without it the second in sorted order. Numbers other than 0 and 1
        need it, and so does text of which one label occurs; the columns are then in the order of the two labels.
    tolerance : float, optional
        By how much a row may miss a sum of 1. By default 1e-5, which single precision keeps, or 5e-7 a class, what six
        decimals lose, where that is more; 0.002 and 6e-8 a class for numbers that half precision holds.

    Returns
    -------
    MulticlassSample
        With the methods ``top_label()``, ``class_wise()``, ``top_k(k)`` and ``reductions()``; ``event()`` of two.

    Raises
    ------
    InputError
        If a probability is outside [0, 1] or missing, a row's sum is further from 1 than `tolerance`, a label is no
        class, or the classes cannot be told; the message names the argument and its first bad row.

    See Also
    --------
    audit, canonical_kernel_test

    Notes
    -----
    A class that is never seen is an ordinary question whose answer was always no. The top label is also called
    confidence calibration. Cost: O(n K).

    Examples
    --------
    >>> from calibrant import smooth_calibration_error
    >>> from calibrant.door.classes import multiclass_sample
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
    table = class_probabilities(y_prob, tolerance)
    n, k = table.shape
    label, found = read_labels(y_true, k, read_classes(classes, k), column_names(y_prob), pos_label)
    if label.size != n:
        raise InputError("y_true", f"has {counted(label.size, 'row')} but y_prob has {n:,}; they must match")
    weight = read_columns(np.zeros(n), np.zeros(n), sample_weight)[2]
    return MulticlassSample(label, table, weight, found, pos_label)


def class_probabilities(y_prob: Any, tolerance: float | None = None) -> FloatArray:
    """Class probabilities of shape (n, K) as float64, the numbers given; InputError if rows do not add up to 1."""
    if tolerance is not None and (
        not isinstance(tolerance, int | float | np.number) or isinstance(tolerance, bool) or not 0.0 <= tolerance < 1.0
    ):
        raise InputError("tolerance", f"is {tolerance!r:.40}; it must lie in [0, 1)")
    table = _as_table(y_prob)
    if table.shape[0] == 0:
        raise InputError("y_prob", "is empty; at least one row is needed")
    if table.shape[1] < 2:
        raise InputError(
            "y_prob", f"has {counted(table.shape[1], 'column')}; a column for each of two or more classes is needed"
        )
    bad = ~((table >= 0.0) & (table <= 1.0))  # true for NaN as well
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        column = int(np.argmax(bad[row]))
        problem = f"row {row}, column {column} is {table[row, column]:.6g}; class probabilities must lie in [0, 1]"
        raise InputError("y_prob", problem, row=row)
    miss = np.abs(table.sum(axis=1) - 1.0)
    allowed = _allowed(table, miss) if tolerance is None else tolerance
    if (miss > allowed).any():
        row = int(np.argmax(miss > allowed))
        problem = (
            f"row {row} adds up to {table[row].sum():.7g}; class probabilities must add up to 1 within {allowed:g}"
        )
        raise InputError("y_prob", problem, row=row)
    return np.asarray(table + 0.0)  # minus zero becomes zero


def _allowed(table: FloatArray, miss: FloatArray) -> float:
    """By how much rows may miss a sum of 1, by the type that their numbers come from."""
    k = int(table.shape[1])
    usual: float = max(SUM_TOLERANCE, _SIX_DECIMALS * k)
    # Rounding p to half precision moves it by p / 2048 at most, or by 3e-8 near 0: a row by 1 / 2048 + 3e-8 K. Four and
    # two times that leave room for a softmax computed so. The numbers tell the type: a list or a file may hold them.
    if miss.max() > usual and np.array_equal(table.astype(np.float16), table):
        return float(4.0 * 2.0**-11 + k * 2.0**-24)
    return usual


def _as_table(values: Any) -> FloatArray:
    if hasattr(values, "detach"):  # a torch tensor, which numpy refuses while it carries a gradient
        values = values.detach().cpu().double()
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        row = int(np.argmax(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1)))
        raise InputError("y_prob", f"row {row} has masked values; masked rows must be removed first", row=row)
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and not any(isinstance(each, str | bytes) for each in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("y_prob", "is not a table of numbers: rows of one length are needed") from None
    if array.ndim != 2:
        raise InputError("y_prob", f"has shape {array.shape}; a table with a row a case and a column a class is needed")
    if array.dtype.kind not in "fiub":
        raise InputError("y_prob", f"holds {kind_of(array)}; numbers are needed")
    return array.astype(np.float64)
