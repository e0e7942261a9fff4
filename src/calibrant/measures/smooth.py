"""Smooth calibration error, exactly, with the witness that attains it and the dual that forbids more."""

from __future__ import annotations

__all__ = ["Witness", "smooth_calibration_error", "smooth_calibration_witness"]

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import Column, FloatArray, read_columns
from calibrant.door.ends import rounded_down, rounded_up
from calibrant.door.sample import Sample, sorted_keys
from calibrant.door.values import Result
from calibrant.kernels import smooth as kernel
from calibrant.kernels import sorting
from calibrant.kernels.sums import compensated_dot, compensated_sum
from calibrant.kernels.types import IntArray, UIntArray
from calibrant.measures.registry import register
from calibrant.threads import WORTH_A_THREAD, in_blocks, one_ahead, processors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Witness(Result):
    """A function that proves a smooth calibration error, and the bound that proves there is no larger one.

    Attributes
    ----------
    value : float
        What the witness proves: the sum of mass * (outcome - prediction) * height. It is rounded down by more than the
        errors of arithmetic and of rounded heights. At least 0.
    upper : float
        Value of a dual solution, rounded up likewise: no 1-Lipschitz function into [-1, 1] attains more. At most
        1.1e-14 above `value` up to 10**7 rows.
    knots : ndarray of shape (m,)
        Distinct predictions, increasing.
    heights : ndarray of shape (m,)
        The witness there, in [-1, 1], a 1-Lipschitz function whose values were rounded by less than 2**-53 each.
        Positive where outcomes exceed predictions (predictions too low), negative where predictions are too high.

    See Also
    --------
    smooth_calibration_witness, ReliabilityDisplay
    """

    value: float
    upper: float
    knots: FloatArray
    heights: FloatArray

    def __call__(self, y_prob: npt.ArrayLike) -> FloatArray:
        """Evaluate the witness at any predictions, linearly between knots and constant beyond them."""
        return np.interp(np.asarray(y_prob, dtype=np.float64), self.knots, self.heights)

    def summary(self) -> str:
        """Say what is proved."""
        low, high = rounded_down(self.value), rounded_up(self.upper)
        return f"The smooth calibration error is at least {low}, as this witness proves, and at most {high}."


def _ranked_keys(
    key: FloatArray,
) -> tuple[FloatArray, float, npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Keys in place of the residuals, last key, their order and ranks, and a buffer to hold the masses."""
    low, high, last = kernel.keys_in_place(key)
    if not math.isfinite(last):
        raise ValueError("residuals must be finite numbers")
    order, rank, packed = _ranked(key, low, high)
    return key, last, order, rank, packed.view(np.int64)


def _ranked(
    key: FloatArray, low: float, high: float
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """Order and ranks of keys between low and high, and a buffer as long as they are."""
    index_bits = max(1, (key.size - 1).bit_length())
    packed = np.empty(key.size, np.uint64)
    kernel.quantise(key, low, high, index_bits, packed)
    packed.sort()
    order = np.empty(key.size, np.uint32)
    rank = np.empty(key.size, np.uint32)
    if not kernel.ranks(packed, key, index_bits, order, rank):
        order[:] = np.argsort(key, kind="stable")
        rank[order] = np.arange(key.size, dtype=np.uint32)
    return order, rank, packed


def _in_ranks(row: UIntArray, key: FloatArray, jump: IntArray, segment: IntArray) -> tuple[Any, ...]:
    """Rows of open bins, their keys ranked, as `blocks.replay` takes them."""
    if not row.size:
        return (row,)
    order, rank, packed = _ranked(key, float(key.min()), float(key.max()))
    return row, key, jump, order, rank, segment, packed.view(np.int64)


def smooth_error_from_sample(sample: Sample) -> float:
    """Smooth calibration error of a sample."""
    return _of_sample(sample, _MANY)


def _of_sample(sample: Sample, many: int) -> float:
    if sample.n_distinct >= many:
        rows = _Rows(NO_KEYS, sample.prediction, sample.weighted_outcome, _one_number(sample.weight))
        error = rows.error()
        if error is not None:
            return error / sample.total_weight
    return _by_rows(sample.prediction, sample.residual())


def _of_keys(keys: UIntArray, many: int) -> float:
    """Smooth calibration error of sorted keys of kernels/sorting.py, which may be overwritten."""
    nothing = np.empty(0)
    rows = _Rows(keys, nothing, nothing, np.ones(1))
    if rows.ties:
        return _of_sample(Sample.of_keys(keys, *rows.parts()), many)
    error = rows.error()
    if error is not None:
        return error / keys.size
    sample = Sample.of_keys(keys, *rows.parts())
    return _by_rows(sample.prediction, sample.residual())


def _error_of_columns(outcome: FloatArray, prediction: FloatArray, weight: FloatArray | None) -> float:
    """Smooth calibration error of rows that were validated."""
    keys = None if weight is not None or prediction.size < _MANY else sorted_keys(outcome, prediction)
    if keys is None:
        return smooth_error_from_sample(Sample.of_arrays(outcome, prediction, weight))
    return _of_keys(keys, _MANY)


def smooth_error_again(outcome: FloatArray, prediction: FloatArray, weight: FloatArray | None = None) -> float:
    """The same of a resample: no sort of rows in the order of their keys, and blocks where they take less time."""
    if weight is None and prediction.size >= _MANY_AGAIN:
        keys = np.empty(prediction.size, np.uint64)
        falls = sorting.pack_outcomes(prediction.view(np.uint64), outcome, keys)
        if falls > 0:
            keys.sort()
        if falls >= 0:
            return _of_keys(keys, _MANY_AGAIN)
    return _of_sample(Sample.of_arrays(outcome, prediction, weight), _MANY_AGAIN)


def largest_correlation(v: FloatArray, b: FloatArray) -> float:
    """Largest sum of b * w(v) over 1-Lipschitz w into [-1, 1], for increasing v; b is overwritten."""
    if v.size >= _MANY:
        error = _Rows(NO_KEYS, v, b, np.zeros(1)).error()
        if error is not None:
            return error
    return _by_rows(v, b)


_MANY = 1 << 17
"""Distinct predictions from which on blocks are faster; below, their kernels need not be compiled."""
_MANY_AGAIN = 1 << 13
"""The same where the error is computed again and again."""
_MOST_OPEN = 0.5
"""Share of rows in open bins from which on the pass by rows takes less time."""
_BINS = 1 << 16  # a bin's number takes 16 bits
_STRIDE = 1 << 11
"""Blocks that are described at once, beside the sweep of those before."""
NO_KEYS = np.empty(0, np.uint64)


def _alone(rows: int) -> bool:
    """Whether one thread does it all."""
    return processors() == 1 or rows < WORTH_A_THREAD


def _one_number(column: FloatArray) -> FloatArray:
    """A column, or its one number where that is all of it."""
    return column if column.strides[0] else np.ascontiguousarray(column[:1])


class _Rows:
    """Rows in the order of their predictions, as kernels of blocks read them: sorted keys, or three columns."""

    def __init__(self, keys: UIntArray, v: FloatArray, outcome: FloatArray, weight: FloatArray) -> None:
        from calibrant.kernels import blocks

        self._columns, self._size = (keys, v, outcome, weight), max(keys.size, v.size)
        count = -(-self._size // blocks.BLOCK)
        self._start = np.empty(count + 1)
        self._tie: IntArray | None = None  # of each block
        if _alone(self._size):
            self._low, self._high, falls, self.ties = blocks.keys_in_turn(*self._columns, self._start)
        else:
            total, fall, tie = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)
            in_blocks(lambda a, b: blocks.block_sums(*self._columns, a, b, total, fall, tie), count, work=self._size)
            self._low, self._high = blocks.block_keys(total, self._start)
            falls, self.ties, self._tie = int(fall.sum()), int(tie.sum()), tie
        self._right = falls == 0 and math.isfinite(self._start[-1])

    def parts(self) -> tuple[IntArray, IntArray]:
        """Cuts of sorted keys between predictions, and how many distinct ones are before each."""
        from calibrant.kernels import blocks

        keys, m = self._columns[0], self._size
        ends = np.array([0, m]), np.array([0, m - self.ties])
        if self._tie is None:
            return ends
        block = np.unique(np.linspace(0, self._tie.size, 4 * processors() + 1).astype(np.int64))[1:-1]
        row = block * blocks.BLOCK
        place = row - np.append(0, np.cumsum(self._tie))[block]
        # All rows of the last prediction before a cut belong before it.
        row = np.searchsorted(keys, keys[row - 1] | np.uint64(1), side="right")
        return np.insert(ends[0], 1, row), np.insert(ends[1], 1, place)

    def error(self, bins: int | None = None) -> float | None:
        """Largest sum of (outcome - weight * v) * w(v); None where the pass by rows takes less time to find it."""
        if bins is None:
            bins = _BINS if self._size >= _MANY else max(64, 1 << (self._size >> 4).bit_length())
        return self._swept(bins) if self._pilot(bins) else None

    def _pilot(self, bins: int) -> bool:
        """Whether few bins are left open where each block is one row: how keys drift and return shows there as well."""
        from calibrant.kernels import blocks

        keys, v, _, _ = self._columns
        if not self._right or self._size < _MANY_AGAIN:
            return self._right
        of_blocks = (keys[:: blocks.BLOCK] >> np.uint64(1)).view(np.float64) if keys.size else v[:: blocks.BLOCK]
        rows = _Rows(NO_KEYS, np.ascontiguousarray(of_blocks), -np.diff(self._start), np.zeros(1))
        return rows._swept(max(bins // blocks.BLOCK, 64), only_count=True) is not None

    def _swept(self, bins: int, only_count: bool = False) -> float | None:
        from calibrant.kernels import blocks

        margin = 0.02 * (self._high - self._low)
        low, high = self._low - margin, self._high + margin
        if not (self._right and high > low and math.isfinite((bins - 2) / (high - low))):
            return None
        m, start, count = self._size, self._start, self._start.size - 1
        bin_of = np.empty(m, np.uint16)
        mass, flag = np.zeros(bins, np.int64), np.zeros(bins, np.uint8)
        since, until = np.zeros(bins, np.uint32), np.zeros(bins, np.uint32)
        most = m + 8 * blocks.BLOCK
        when, where, eaten = np.empty(most, np.uint32), np.empty(most, np.uint16), np.empty(most, np.int64)
        scale = (bins - 2) / (high - low)
        middle = int((float(start[-1]) - low) * scale) + 1
        eating: tuple[Any, ...] = mass, flag, since, until, when, where, eaten
        if _alone(m):
            value, entries = blocks.sweep_in_turn(*self._columns, start, scale, middle, bin_of, *eating)
        else:
            value, entries = self._swept_by_two(scale, middle, bin_of, *eating)
        if entries < 0:
            return None
        before = np.zeros(start.size, np.int64)
        in_blocks(lambda a, b: blocks.count_open(bin_of, since, until, before[1:], a, b), count, work=m)
        np.cumsum(before, out=before)
        rows = int(before[-1])
        if rows > _MOST_OPEN * m:
            return None
        if rows == 0 or only_count:
            return max(value, 0.0)
        row, key, jump = np.empty(rows, np.uint32), np.empty(rows), np.empty(rows, np.int64)

        def fill(first: int, last: int) -> None:
            blocks.open_rows(*self._columns, start, bin_of, since, until, before, first, last, row, key, jump)

        in_blocks(fill, count, work=m)
        of = bin_of[row]
        segment = np.zeros(bins + 1, np.int64)
        np.cumsum(np.bincount(of, minlength=bins), out=segment[1:])
        cuts = (0, int(np.searchsorted(segment, rows // 2)), bins)
        log = when[:entries], where[:entries], eaten[:entries]
        alone = _alone(m)
        ranked = _in_ranks(row, key, jump, segment) if alone else ()
        parts = np.zeros(2)

        def eat(first: int, last: int) -> None:
            for part in range(first, last):
                bounds, own = cuts[part : part + 2], ranked
                if not alone:  # each thread ranks what it eats
                    here = (of >= bounds[0]) & (of < bounds[1])
                    own = _in_ranks(row[here], key[here], jump[here], segment - segment[bounds[0]])
                if own[0].size:
                    everything: tuple[Any, ...] = *own, *log, middle, *bounds
                    parts[part] = blocks.replay(bin_of, since, until, *everything)

        in_blocks(eat, 2, work=m)
        return max(value + float(parts[0] + parts[1]), 0.0)

    def _swept_by_two(
        self, scale: float, middle: int, bin_of: UIntArray, mass: IntArray, flag: UIntArray, *more: Any
    ) -> tuple[float, int]:
        """As `blocks.sweep_in_turn`: a thread describes rows beside the sweep of those before."""
        from calibrant.kernels import blocks

        start, bins = self._start, mass.size
        count = start.size - 1
        state, sums, part = np.empty(7, np.int64), np.zeros((3, bins)), np.empty(count)
        trees = np.zeros((bins >> 6) + 1, np.uint64), np.zeros((bins >> 12) + 1, np.uint64)

        def describe(first: int) -> tuple[int, int, IntArray, FloatArray]:
            final = min(first + _STRIDE, count)
            rows = (final - first) * blocks.BLOCK
            place, about = np.empty(rows + 1, np.int64), np.empty(rows)
            blocks.describe(*self._columns, start, scale, middle, bins, first, final, bin_of, place, about, part)
            return first, final, place, about

        for first, final, place, about in one_ahead(describe, range(0, count, _STRIDE)):
            rows = start, scale, middle, first, final, bin_of, place, about
            everything: tuple[Any, ...] = *rows, mass, sums, *trees, flag, *more, state
            if not blocks.sweep(*everything):
                return 0.0, -1
        _, until, *_ = more
        value = blocks.settle(start, middle, bin_of.size, part, mass, sums, flag, until)
        return value, int(state[blocks.ENTRIES])


def _by_rows(v: FloatArray, b: FloatArray) -> float:
    nothing = np.empty(0, np.uint32)
    key, last, order, rank, mass = _ranked_keys(b)
    return max(kernel.forward(v, key, last, order, rank, mass, nothing, nothing), 0.0)  # in this order NaN stays NaN


def dual_path(sample: Sample) -> tuple[float, FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """The smooth error, sums of residuals up to each prediction, the path near them that proves it, and a buffer."""
    m = sample.n_distinct
    key, last, order, rank, mass = _ranked_keys(sample.residual())
    lowest, highest = np.empty(m, np.uint32), np.empty(m, np.uint32)
    forward = max(kernel.forward(sample.prediction, key, last, order, rank, mass, lowest, highest), 0.0)
    psi = np.empty(m + 1)
    kernel.backward(key, last, lowest, highest, psi)
    return forward, key, psi, mass


def witness_from_sample(sample: Sample) -> Witness:
    """Witness of the smooth calibration error of a sample."""
    v, m = sample.prediction, sample.n_distinct
    forward, key, psi, mass = dual_path(sample)
    errors = [forward, smooth_error_from_sample(sample)] if m >= _MANY else [forward]
    upper = kernel.dual_value(v, key, psi)
    heights = np.empty(m)
    kernel.witness(v, key, psi, mass, np.empty(m, np.int64), heights)
    value = compensated_dot(sample.residual(), heights)
    rounding = _rounding(sample)
    return Witness(max(0.0, min(value - rounding, *errors)), max(upper + rounding, *errors), v, heights)


def _rounding(sample: Sample) -> float:
    """More than rounding can have moved either side of a witness, from the rows on (docs/smooth.md derives it)."""
    total = sample.total_weight
    weight = np.ascontiguousarray(sample.weight)  # equal weights are one number: an array of a kind of its own
    scale = (compensated_sum(sample.weighted_outcome) + compensated_dot(weight, sample.prediction)) / total
    if scale == 0.0 and sample.prediction[-1] == 0.0 and sample.weighted_outcome.max() == 0.0:
        return 0.0
    unit = 2.0**-53
    return 24.0 * unit * scale + 8.0 * (sample.n_rows * unit) ** 2 + 1e-150


@register(
    smooth_error_from_sample,
    sentence=(
        "Largest average error that a weighting of the predictions can expose, if the weighting may not change "
        "abruptly."
    ),
    definition=(
        "The maximum of the mean of (y - v) h(v) over 1-Lipschitz functions h from [0, 1] to [-1, 1]. In "
        "probability units, between 0 and 1. Exact up to rounding; 0 only if every distinct prediction equals its "
        "outcomes' mean."
    ),
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition "
        "7.2. Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Section 3."
    ),
    symmetric=True,
    order=10,
    on_rows=smooth_error_again,
)
def smooth_calibration_error(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Largest average error that a weighting of the predictions can expose, if the weighting may not change abruptly.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.

    Returns
    -------
    float
        The maximum of the mean of (y - v) h(v) over 1-Lipschitz functions h from [0, 1] to [-1, 1]. In probability
        units, between 0 and 1. Exact up to rounding; 0 only if every distinct prediction equals its outcomes' mean.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    smooth_calibration_witness, smooth_calibration_test, lower_calibration_distance

    Notes
    -----
    It is within constant factors of the lower distance from calibration: distance / 2 <= error <= 2 * distance. Both
    are sharp (docs/lower.md and Theorem 7.3). It is continuous in the predictions, which binned errors are not. Cost: a
    sort, then O(m log m) for m distinct predictions in the worst case. `smooth_calibration_witness` returns the
    maximiser.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 7.2.
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Section 3.

    Examples
    --------
    >>> from calibrant import smooth_calibration_error
    >>> round(smooth_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.085
    """
    return _error_of_columns(*read_columns(y_true, y_prob, sample_weight))


def smooth_calibration_witness(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> Witness:
    """Return the function that attains the smooth calibration error, with a dual bound that shows it is the best.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.

    Returns
    -------
    Witness
        A 1-Lipschitz function into [-1, 1], callable on predictions: positive where predictions are too low,
        negative where they are too high. Anyone can check it: its heights are those of a 1-Lipschitz function,
        rounded, and ``mean((y_true - y_prob) * witness(y_prob))`` is its value, up to rounding. In exact arithmetic
        on the numbers given, `value` <= smooth error <= `upper`, and `smooth_calibration_error` lies between.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    smooth_calibration_error, ReliabilityDisplay

    Notes
    -----
    Cost: as `smooth_calibration_error`, with about twice its memory.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 7.2.

    Examples
    --------
    >>> from calibrant import smooth_calibration_witness
    >>> witness = smooth_calibration_witness([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(witness.value, 6), round(witness.upper - witness.value, 12)
    (0.085, 0.0)
    >>> witness([0.2, 0.9]).round(2).tolist()
    [-1.0, -0.3]
    """
    return witness_from_sample(Sample.from_columns(y_true, y_prob, sample_weight))
