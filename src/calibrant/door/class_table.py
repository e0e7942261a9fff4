"""Probabilities of K classes as they were given: half, single or double precision, or logits, never copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import kind_of
from calibrant.door.errors import InputError
from calibrant.door.values import counted, short_repr

FloatArray = npt.NDArray[np.float64]
Given = npt.NDArray[Any]

SUM_TOLERANCE = 1e-5
"""By how much a row of class probabilities may miss a sum of 1; single precision misses it by 1e-6."""

_SIX_DECIMALS = 5e-7
"""What a value may lose that was written with six decimals: many classes add up to more than `SUM_TOLERANCE`."""
_BLOCK = 2**19
"""Numbers that are made float64 at a time: 4 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassTable:
    """Numbers as they were given, read as probabilities in float64 a few rows or columns at a time.

    Attributes
    ----------
    given : ndarray of shape (n, K)
        Probabilities or logits, of any floating type.
    log_sum : ndarray of shape (n,) or None
        Of logits the logarithm of each row's sum of exponentials; None for probabilities.
    """

    given: Given
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
        raise InputError(
            "y_prob", f"has shape {array.shape}; a table with a row for each case and a column for each class is needed"
        )
    if array.dtype.kind not in "fiub":
        raise InputError("y_prob", f"holds {kind_of(array)}; numbers are needed")
    # Wider than a double, or no floating type: made float64, as everything behind the door is.
    return array if array.dtype in (np.float16, np.float32, np.float64) else array.astype(np.float64)
