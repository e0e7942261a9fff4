"""Class probabilities as they were given, and made binary: the questions about K classes that measures can answer."""

from __future__ import annotations

__all__ = ["BinaryReduction", "MulticlassSample", "multiclass_sample"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import positive_integer
from calibrant.door.columns import Column, FloatArray, IntArray, Labels, Table, is_masked, kind_of, read_columns
from calibrant.door.errors import InputError
from calibrant.door.labels import column_names, read_classes, read_labels, second_in_order
from calibrant.door.sample import Sample
from calibrant.door.values import counted, short_repr

_BY_INSERTION = 16  # most probable classes above which rows are sorted
_COLUMNS = 16  # read at a time: rows of halves, singles and doubles are in stretches of 64 bytes


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
    table : ClassTable
        Class probabilities, or logits, where the caller has them: nothing is copied.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows.
    labels : tuple
        Name of each column.
    pos_label : object
        Of two classes the one that is the event, if it was given.
    group : ndarray of shape (n,) or None
        Number of the group that each row belongs to, if only rows of different groups are independent.

    See Also
    --------
    multiclass_sample, BinaryReduction
    """

    y_true: IntArray
    table: ClassTable
    sample_weight: FloatArray | None
    labels: tuple[Any, ...]
    pos_label: Any = None
    group: IntArray | None = None

    __repr__ = short_repr

    def take(self, rows: npt.NDArray[np.intp]) -> MulticlassSample:
        """Return these rows of it, in this order."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        group = None if self.group is None else self.group[rows]
        return replace(self, y_true=self.y_true[rows], table=self.table.take(rows), sample_weight=weight, group=group)

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return self.table.shape[1]

    @property
    def y_prob(self) -> FloatArray:
        """Class probabilities of shape (n, K), the very numbers that were given, copied to float64.

        Each row adds up to 1 within their rounding.
        """
        return self.table.rows()

    @property
    def positive_class(self) -> Any:
        """Return the event of two classes: `pos_label`, else the second in the order of scikit-learn's ``classes_``."""
        if self.n_classes != 2:
            raise InputError("y_prob", f"has {self.n_classes} columns; only one of two classes can be the event")
        return second_in_order(self.labels) if self.pos_label is None else self.pos_label

    def event(self) -> BinaryReduction:
        """Question of two classes: did the positive one happen?"""
        return self.class_wise()[self.labels.index(self.positive_class)]

    def top_label(self) -> BinaryReduction:
        """Was the most probable class right? Of classes that tie, the first is predicted."""
        return self.top_ks((1,))[0]

    def leading(self, count: int) -> tuple[IntArray, FloatArray]:
        """The most probable classes of each row, the first of any that tie, and their probabilities.

        Both of shape (n, count).
        """
        from calibrant.kernels.classes import largest

        n = self.y_true.size
        best, probability = np.empty((n, count), np.int64), np.empty((n, count))
        for part, block in self.table.blocks():
            if count <= _BY_INSERTION:
                largest(block, best[part])
            else:
                best[part] = np.argsort(-block, axis=1, kind="stable")[:, :count]
            probability[part] = np.take_along_axis(block, best[part], axis=1)
        return best, probability

    def class_wise(self) -> tuple[BinaryReduction, ...]:
        """Was it this class? One question a class."""
        return tuple(self.each_class())

    def each_class(self) -> Iterator[BinaryReduction]:
        """The questions of `class_wise`, one after another: the columns of few are held at a time."""
        k = self.n_classes
        for first in range(0, k, _COLUMNS):
            last = min(first + _COLUMNS, k)
            for j, column in enumerate(self.table.columns(first, last), first):
                yield self._question(f"class {self.labels[j]}", self.y_true == j, column)

    def top_k(self, k: int) -> BinaryReduction:
        """Was it one of the k most probable classes? Of classes that tie, the first ones are predicted.

        Sums are rounded to 14 decimals, so that sums which tie on paper tie here.
        """
        positive_integer(k, "k")
        if k >= self.n_classes:
            raise InputError("k", f"is {k}; it must be below the number of classes, {self.n_classes}")
        return self.top_ks((k,))[0]

    def top_ks(self, ks: Sequence[int]) -> list[BinaryReduction]:
        """`top_k` for several numbers below K, in one pass over the table."""
        best, probability = self.leading(max(ks))
        hit = best == self.y_true[:, None]
        questions = []
        for k in ks:
            exact = probability[:, :k].sum(axis=1)
            # In doubles the last bits of 0.7 + 0.1 and 0.5 + 0.3 differ. What is below 1 must stay below it.
            tied = np.round(exact, 14)
            confidence = exact if k == 1 else np.minimum(np.where(tied < 1.0, tied, exact), 1.0)
            name = "top label" if k == 1 else f"top {k} labels"
            questions.append(self._question(name, hit[:, :k].any(axis=1), confidence))
        return questions

    def reductions(self, top_k: Sequence[int] = ()) -> tuple[BinaryReduction, ...]:
        """All questions: the top label first, then the wanted top k, then every class."""
        return (self.top_label(), *(self.top_k(k) for k in top_k), *self.each_class())

    def class_wise_mean(self, measure: Callable[..., float], **parameters: Any) -> float:
        """Mean over classes of a measure of one probability, for example the class-wise squared calibration error."""
        questions = self.each_class()
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
    from_logits: bool = False,
) -> MulticlassSample:
    """Validate class probabilities and labels, for the binary questions that can be asked of them.

    Parameters
    ----------
    y_true : column of shape (n,), or table of shape (n, K)
        Labels: column numbers 0 to K - 1, or names that are in `classes`, or one-hot rows with a single 1.
    y_prob : table of shape (n, K), K >= 2
        Class probabilities in [0, 1], each row adding up to 1: a NumPy array, list of rows or data frame. They are
        taken as they are, never divided by their sum: that would part predictions that tie. Arrays of 16, 32 or 64
        bits and tensors on the processor are read where they lie, without a copy.
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    classes : sequence of K names, optional
        Names of the columns, as in ``estimator.classes_``. By default the column names of a data frame that hold all
        labels. Else 0 to K - 1 for numbers and one-hot rows, and for other labels these in sorted order, if all K
        occur.
    pos_label : label, optional
        Of two classes the event, for ``event()``; without it the second in sorted order. Numbers other than 0 and 1
        need it, and so does text with one label only. The columns are then in the order of the two labels.
    tolerance : float, optional
        How far a row's sum may be from 1. By default 1e-5, which single precision keeps, or 5e-7 per class, which six
        decimals lose, if that is more. For numbers that half precision holds 0.002 and 6e-8 per class.
    from_logits : bool, default False
        Whether `y_prob` holds logits, whose softmax is meant: any numbers, minus infinity for a class that is
        impossible. The softmax is taken in double precision wherever a row is read.

    Returns
    -------
    MulticlassSample
        With the methods ``top_label()``, ``class_wise()``, ``top_k(k)`` and ``reductions()``; ``event()`` of two.

    Raises
    ------
    InputError
        If a probability is outside [0, 1] or missing, or a row's sum is further from 1 than `tolerance`. If a label is
        no class, or the classes cannot be told. The message names the argument and its first bad row.

    See Also
    --------
    audit, canonical_kernel_test

    Notes
    -----
    A class that never occurs is a question whose outcomes are all 0. The top label is also called confidence
    calibration. The table must not be changed while the result is used. Cost: O(n K).

    Examples
    --------
    >>> from calibrant import smooth_calibration_error
    >>> from calibrant.door import multiclass_sample
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
    table = class_table(y_prob, tolerance, from_logits)
    n, k = table.shape
    label, names = read_labels(y_true, k, read_classes(classes, k), column_names(y_prob), pos_label)
    if label.size != n:
        raise InputError("y_true", f"has {counted(label.size, 'row')} but y_prob has {n:,}; they must match")
    weight = read_columns(np.zeros(n), np.zeros(n), sample_weight)[2]
    return MulticlassSample(label, table, weight, names, pos_label)


def drawn_rows(sample: MulticlassSample, most: int, seed: int) -> MulticlassSample:
    """Rows drawn at random whose table has about `most` numbers; all of them where there are no more.

    Which rows are drawn depends on their probabilities and the seed, not on their order nor on their labels. Rows that
    are equal are drawn together.
    """
    from calibrant.kernels.classes import hash_rows

    n, k = sample.table.shape
    size = max(1, most // k)
    if n <= size:
        return sample
    number = np.empty(n, np.uint64)
    for part, block in sample.table.blocks():
        hash_rows(block.view(np.uint64), np.uint64(seed), number[part])
    last = np.partition(number, size - 1)[size - 1]
    index = np.flatnonzero(number <= last)
    if index.size > 2 * size:  # many equal rows at the end
        fewer = np.flatnonzero(number < last)
        index = fewer if fewer.size else index
    return sample.take(index)


Given = npt.NDArray[Any]

SUM_TOLERANCE = 1e-5
"""By how much a row of class probabilities may miss a sum of 1; single precision misses it by 1e-6."""

_SIX_DECIMALS = 5e-7
"""What a value may lose that was written with six decimals: many classes add up to more than `SUM_TOLERANCE`."""
_BLOCK = 2**19  # numbers that are made float64 at a time: 4 MB


@dataclass(frozen=True, slots=True, eq=False)
class ClassTable:
    """Numbers as they were given, read as probabilities in float64 a few rows or columns at a time."""

    given: Given  # (n, K): probabilities or logits, of any floating type
    # (n,): of logits the logarithm of each row's sum of exponentials; None for probabilities
    log_sum: FloatArray | None = None

    __repr__ = short_repr

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return int(self.given.shape[0]), int(self.given.shape[1])

    def rows(self, which: Any = slice(None)) -> FloatArray:
        """Probabilities of these rows, shape (rows, K), as a copy."""
        part: FloatArray = self.given[which].astype(np.float64)
        if self.log_sum is not None:
            part -= self.log_sum[which][:, None]
            return np.exp(part, out=part)
        part += 0.0  # minus zero becomes zero
        return part

    def columns(self, first: int, last: int) -> FloatArray:
        """Probabilities of some classes, shape (last - first, n), each in one stretch of memory."""
        part: FloatArray = self.given[:, first:last].T.astype(np.float64, order="C")
        if self.log_sum is not None:
            part -= self.log_sum
            return np.exp(part, out=part)
        part += 0.0
        return part

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """All rows, some at a time, with where they stand."""
        for part in row_blocks(self.shape):
            yield part, self.rows(part)

    def take(self, rows: Any) -> ClassTable:
        """Return these rows of it, in this order."""
        return ClassTable(self.given[rows], None if self.log_sum is None else self.log_sum[rows])


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Cut the rows of a table into parts of a few megabytes."""
    step = max(1, _BLOCK // max(1, shape[1]))
    for first in range(0, shape[0], step):
        yield slice(first, min(first + step, shape[0]))


def class_table(y_prob: Any, tolerance: float | None = None, from_logits: bool = False) -> ClassTable:
    """Read class probabilities, or logits, of shape (n, K); InputError if they are neither."""
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
    return ClassTable(table, _log_sums(table)) if from_logits else ClassTable(_checked(table, tolerance))


def check_logits(scores: FloatArray, first: int = 0) -> None:
    """InputError if logits, of shape (rows, K) from row `first` on, are missing, infinite or all impossible."""
    if np.isfinite(scores).all():
        return
    bad = ~(scores < np.inf)  # true for NaN as well
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        column = int(np.argmax(bad[row]))
        problem = f"row {first + row}, column {column} is {scores[row, column]:.6g}"
        allowed = "logits must be numbers; minus infinity is a class that is impossible"
        raise InputError("y_prob", problem, row=first + row, allowed=allowed)
    none = np.isneginf(scores).all(axis=1)
    if none.any():
        row = int(np.argmax(none))
        raise InputError("y_prob", f"row {first + row} has no possible class", row=first + row)


def _log_sums(table: Given) -> FloatArray:
    sums = np.empty(table.shape[0])
    for part in row_blocks(table.shape):
        scores = table[part].astype(np.float64)
        check_logits(scores, part.start)
        most = scores.max(axis=1)
        sums[part] = most + np.log(np.exp(scores - most[:, None]).sum(axis=1))
    return sums


def _checked(table: Given, tolerance: float | None) -> Given:
    """The table, if it holds class probabilities."""
    sums = np.empty(table.shape[0])
    for part in row_blocks(table.shape):
        block = table[part]
        bad = ~((block >= 0.0) & (block <= 1.0))  # true for NaN as well
        if bad.any():
            row = int(np.argmax(bad.any(axis=1)))
            column = int(np.argmax(bad[row]))
            problem = (
                f"row {part.start + row}, column {column} is {block[row, column]:.6g}; "
                "class probabilities must lie in [0, 1]"
            )
            raise InputError("y_prob", problem, row=part.start + row)
        sums[part] = block.sum(axis=1, dtype=np.float64)
    miss = np.abs(sums - 1.0)
    allowed = _allowed(table, miss) if tolerance is None else tolerance
    if (miss > allowed).any():
        row = int(np.argmax(miss > allowed))
        problem = f"row {row} adds up to {sums[row]:.7g}; class probabilities must add up to 1 within {allowed:g}"
        raise InputError("y_prob", problem, row=row)
    return table


def _allowed(table: Given, miss: FloatArray) -> float:
    """By how much rows may miss a sum of 1, by the type that their numbers come from."""
    k = int(table.shape[1])
    usual: float = max(SUM_TOLERANCE, _SIX_DECIMALS * k)
    # Rounding p to half precision moves it by p / 2048 at most, or by 3e-8 near 0: a row by 1 / 2048 + 3e-8 K. Four and
    # two times that leave room for a softmax computed so. The numbers tell the type: a list or a file may hold them.
    if miss.max() > usual and all(
        np.array_equal(table[b].astype(np.float16), table[b]) for b in row_blocks(table.shape)
    ):
        return float(4.0 * 2.0**-11 + k * 2.0**-24)
    return usual


def _as_table(values: Any) -> Given:
    """The numbers where they lie, if they are of a floating type; else a copy that is."""
    if hasattr(values, "detach"):  # a torch tensor, which numpy refuses while it carries a gradient
        values = values.detach().cpu()
        try:
            values = values.numpy()  # the same memory
        except TypeError:  # bfloat16, which numpy has not
            values = values.float().numpy()
    if is_masked(values) and np.ma.getmaskarray(values).any():
        row = int(np.argmax(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1)))
        raise InputError("y_prob", f"row {row} has masked values; masked rows must be removed first", row=row)
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and not any(isinstance(each, str | bytes) for each in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("y_prob", "is not a table of numbers: rows of one length are needed") from None
    if array.ndim != 2:
        raise InputError(
            "y_prob", f"has shape {array.shape}; a table with a row for each case and a column for each class is needed"
        )
    if array.dtype.kind not in "fiub":
        raise InputError("y_prob", f"holds {kind_of(array)}; numbers are needed")
    # Wider than a double, or no floating type: made float64, as everything behind the door is.
    return array if array.dtype in (np.float16, np.float32, np.float64) else array.astype(np.float64)
