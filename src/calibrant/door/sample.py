"""The one value that flows through every room: a sorted sample, one row per distinct prediction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.values import short_repr
from calibrant.kernels.types import IntArray, UIntArray
from calibrant.threads import WORTH_A_THREAD, beside, in_blocks, processors


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows pooled by prediction: sorted distinct predictions, and the sums of what fell on each.

    Arrays are float64 of one length m, not to be written to; some may be views of one another, or of a single
    number, where they are equal (counts are exact up to 2**53).
    """

    prediction: FloatArray  # (m,): strictly increasing, in [0, 1]
    # count, ones: (m,), rows, and rows whose outcome is exactly 1
    count: FloatArray
    ones: FloatArray
    # weight, weighted_outcome, squared_weight: (m,), sums of w, w * y and w**2, in the user's own units
    weight: FloatArray
    weighted_outcome: FloatArray
    squared_weight: FloatArray
    cell_width: FloatArray  # (m,): width of the cell that was pooled into the row; 0 where the prediction is exact
    binary: bool  # whether every outcome is 0 or 1

    __repr__ = short_repr

    def __post_init__(self) -> None:
        """Refuse what no measure could read: no rows, predictions out of order or place, sums that are not finite."""
        from calibrant.kernels.sorting import all_finite, increases_within_unit

        if self.prediction.size == 0:
            raise InputError("y_prob", "is empty; at least one row is needed")
        if not increases_within_unit(np.ascontiguousarray(self.prediction)):
            raise InputError("prediction", "is not increasing within [0, 1]; a sample's predictions are sorted numbers")
        looked_at: set[int] = set()
        for name in ("count", "ones", "weight", "weighted_outcome", "squared_weight", "cell_width"):
            column = getattr(self, name)
            if column.shape != self.prediction.shape:
                raise InputError(name, f"has shape {column.shape}; {self.prediction.shape} is needed")
            if id(column) in looked_at:
                continue
            looked_at.add(id(column))
            if not all_finite(np.ascontiguousarray(column if column.strides[0] else column[:1])):
                raise InputError(name, "is not finite in every row")

    @classmethod
    def from_columns(cls, y_true: Column, y_prob: Column, sample_weight: Column | None = None) -> Sample:
        """Validate columns of one length and pool them.

        Raises InputError naming the argument, the first bad row and what is allowed.
        """
        return cls.of_arrays(*read_columns(y_true, y_prob, sample_weight))

    @classmethod
    def of_arrays(cls, outcome: FloatArray, prediction: FloatArray, weight: FloatArray | None = None) -> Sample:
        """Pool rows that were validated already."""
        label = outcome == 1.0
        binary = bool((label | (outcome == 0.0)).all())
        if binary and weight is None:
            return _pool_labels(prediction, label)
        rows = (lambda: np.broadcast_to(1.0, prediction.shape), lambda: label.astype(np.float64))
        if weight is None:
            return _pool(prediction, (each() for each in (*rows, lambda: outcome)), None, binary)
        made = (*rows, lambda: weight, lambda: weight * outcome, lambda: weight * weight)
        return _pool(prediction, (each() for each in made), None, binary)

    @classmethod
    def of_labels(cls, label: npt.NDArray[np.bool_], prediction: FloatArray) -> Sample:
        """Pool validated rows with outcomes 0 or 1 and no weights."""
        return _pool_labels(prediction, label)

    @classmethod
    def of_keys(cls, keys: UIntArray, row: IntArray, place: IntArray) -> Sample:
        """Pool sorted keys of kernels/sorting.py, which may be overwritten, in parts that threads share.

        Part k has rows row[k] to row[k + 1], and distinct predictions place[k] to place[k + 1] of all.
        """
        return _pool_keys(keys, row, place)

    def merge(self, other: Sample) -> Sample:
        """Return the sample of both: sums are added where predictions meet."""
        return _pool(
            np.concatenate([self.prediction, other.prediction]),
            (np.concatenate(pair) for pair in zip(self._sums, other._sums, strict=True)),
            np.concatenate([self.cell_width, other.cell_width]),
            self.binary and other.binary,
        )

    @property
    def _sums(self) -> tuple[FloatArray, ...]:
        return (self.count, self.ones, self.weight, self.weighted_outcome, self.squared_weight)

    @property
    def n_rows(self) -> int:
        """Number of rows pooled."""
        return int(self.count.sum())

    @property
    def n_distinct(self) -> int:
        """Number of distinct predictions, m."""
        return self.prediction.size

    @property
    def total_weight(self) -> float:
        """Sum of all weights."""
        if self.weight is self.count:  # whole numbers
            return float(self.weight.sum())
        from calibrant.kernels.sums import compensated_sum

        return compensated_sum(np.ascontiguousarray(self.weight))

    @property
    def effective_rows(self) -> float:
        """Kish's effective sample size, (sum w)**2 / sum w**2; the number of rows where weights are equal."""
        scale = float(self.weight.max())
        return float((self.weight / scale).sum() ** 2 / (self.squared_weight / scale / scale).sum())

    @property
    def weights_differ(self) -> bool:
        """Whether rows count for more or less than one another."""
        each = self.weight / self.count
        same_within = np.allclose(self.squared_weight, self.weight * each, rtol=1e-12, atol=0.0)
        return not (same_within and np.allclose(each, each[0], rtol=1e-12, atol=0.0))

    @property
    def equal_weights(self) -> bool:
        """Whether rows have weights that are all the same, other than 1."""
        return not (self.weights_differ or np.array_equal(self.weight, self.count))

    def mass(self) -> FloatArray:
        """Share of the weight on each prediction, shape (m,), adding up to 1."""
        return self.weight / self.total_weight

    def residual(self) -> FloatArray:
        """Mean residual's share of each prediction, sum of w * (y - v) over the total weight, shape (m,)."""
        total = self.total_weight
        residual = self.weight * self.prediction
        np.subtract(self.weighted_outcome, residual, out=residual)
        residual /= total
        return residual


def sorted_keys(outcome: FloatArray, prediction: FloatArray) -> npt.NDArray[np.uint64] | None:
    """Predictions with their labels in order, by as many threads as pay; None where an outcome is neither 0 nor 1."""
    from calibrant.kernels import sorting

    bits, keys = prediction.view(np.uint64), np.empty(prediction.size, np.uint64)
    if processors() == 1 or keys.size < WORTH_A_THREAD:
        label = outcome == 1.0
        if not (label | (outcome == 0.0)).all():
            return None
        sorting.pack(bits, label.view(np.uint8), keys)
        keys.view(np.float64).sort()  # as doubles, whose order is the same: the quickest sort
        return keys
    some = slice(None, None, keys.size // _SOME)
    pivot = np.sort(bits[some] << np.uint64(1))[_SOME // 2]
    parts = [slice(first, first + _PART) for first in range(0, keys.size, _PART)]
    below = np.zeros(len(parts) + 1, np.int64)

    def count(first: int, last: int) -> None:
        for at in range(first, last):
            below[at + 1] = sorting.count_below(bits[parts[at]], outcome[parts[at]], pivot)

    in_blocks(count, len(parts), work=keys.size)
    if below.min() < 0:
        return None
    np.cumsum(below, out=below)
    middle = int(below[-1])

    def pack(first: int, last: int) -> None:
        for at in range(first, last):
            above = middle + parts[at].start - below[at]
            sorting.pack_apart(bits[parts[at]], outcome[parts[at]], pivot, below[at], above, keys)

    in_blocks(pack, len(parts), work=keys.size)
    with beside() as threads:
        upper = threads.submit(keys[middle:].view(np.float64).sort)
        keys[:middle].view(np.float64).sort()
        upper.result()
    return keys


_PART = 1 << 16
_SOME = 1 << 12
"""Rows that are packed at once, and those whose median parts the keys for two threads."""


def _pool_labels(prediction: FloatArray, label: npt.NDArray[np.bool_]) -> Sample:
    """Pool unweighted 0/1 outcomes: a direct sort of (prediction, label) keys, no permutation."""
    from calibrant.kernels import sorting

    keys = np.empty(prediction.size, np.uint64)
    sorting.pack(prediction.view(np.uint64), label.view(np.uint8), keys)
    keys.sort()
    return _pool_keys(keys, np.array([0, keys.size]), np.array([0, sorting.count_distinct(keys)]))


def _pool_keys(keys: UIntArray, row: IntArray, place: IntArray) -> Sample:
    from calibrant.kernels import sorting

    m = int(place[-1])
    ones = np.empty(m)
    if m == keys.size:
        sorting.unpack(keys, ones)
        distinct: FloatArray = keys.view(np.float64)
        count: FloatArray = np.broadcast_to(1.0, m)
    else:
        distinct, count = np.empty(m), np.empty(m)
        bits = distinct.view(np.uint64)

        def pool(first: int, last: int) -> None:
            for part in range(first, last):
                rows, places = (slice(*cuts[part : part + 2]) for cuts in (row, place))
                if rows.start < rows.stop:
                    sorting.pool(keys[rows], bits[places], count[places], ones[places])

        in_blocks(pool, row.size - 1, work=keys.size)
    return Sample(distinct, count, ones, count, ones, count, np.broadcast_to(0.0, m), binary=True)


def _pool(prediction: FloatArray, sums: Iterator[FloatArray], cell_width: FloatArray | None, binary: bool) -> Sample:
    """Pool rows by prediction; each of their sums is made when the one before is pooled, which bounds memory.

    They are those of `Sample`; of rows that weigh 1 each, only counts, ones and outcomes.
    """
    from calibrant.kernels.sums import grouped_sums

    order = np.argsort(prediction)
    distinct = prediction[order]
    distinct += 0.0  # minus zero becomes zero
    first = np.concatenate([[True], distinct[1:] != distinct[:-1]])
    ties = not first.all()
    starts = np.flatnonzero(first) if ties else order[:0]
    if ties:
        distinct = distinct[starts]
    del first

    def summed(rows: FloatArray) -> FloatArray:
        """Sums of a column that may be long; without ties they are its rows, and minus zero becomes zero."""
        ordered = rows[order]
        if ties:
            return grouped_sums(ordered, starts)
        ordered += 0.0
        return ordered

    def reduced(ufunc: np.ufunc, rows: FloatArray) -> FloatArray:
        return np.asarray(ufunc.reduceat(rows[order], starts)) if ties else rows[order]

    count, ones = (reduced(np.add, each) for each in itertools.islice(sums, 2))  # whole numbers
    weighted = [summed(each) for each in sums]
    weight, weighted_outcome, squared_weight = weighted if len(weighted) == 3 else (count, weighted[0], count)
    width = np.zeros(distinct.size) if cell_width is None else reduced(np.maximum, cell_width)
    return Sample(distinct, count, ones, weight, weighted_outcome, squared_weight, width, binary)
