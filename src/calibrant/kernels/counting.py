"""Rows with outcomes 0 or 1 into cells of segments, in whole numbers: the same sums in any order of the rows.

A cell has four words of 64 bits. One for each outcome: six bits count rows, 58 add up their offsets in units of 2**-52.
Then the ends: the bits of its largest prediction, and those of its smallest, all turned over, so that either word only
grows, and an empty cell is zeros. Before a word counts 63 rows it is moved to the wide table, of three words for each
outcome, which counts in 64 bits and adds in 128. So a row touches 32 bytes, and no rounding but that of its own offset,
by at most 2**-53, is in a sum. The open intervals of a segment come first, then its grid points, on which few rows lie.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.kernels.compiled import njit
from calibrant.kernels.sketching import fault_of
from calibrant.kernels.types import FloatArray, IntArray, UIntArray

_UNIT = 2.0**52
_ONE_ROW, _FULL, _OFFSETS, _SHIFT = (np.uint64(each) for each in (1 << 58, 63 << 58, (1 << 58) - 1, 58))
_ALL = np.uint64((1 << 64) - 1)
_CELL = ~np.uint64(3)
_NOWHERE = ~np.uint64(0)
_BLOCK = 256
_0, _1, _2, _3, _4 = (np.uint64(each) for each in range(5))

BYTES_OF_A_CELL = (4 + 6) * 8
"""In both tables."""


@njit(cache=True, nogil=True)
def count_rows(
    y: FloatArray,
    v: FloatArray,
    bits: UIntArray,
    segment: IntArray,
    resolution: int,
    packed: UIntArray,
    wide: UIntArray,
    faults: IntArray,
) -> int:
    """Add rows; return the first whose outcome is a rate, which has no place here, or -1.

    `bits` are those of `v`. `segment` of length zero stands for one segment; rows of a negative one are left out. Bad
    rows are counted by their faults. What a row adds, and where, is found for many at once, by vector instructions.
    """
    several = segment.size > 0
    size, points = np.uint64(2 * resolution + 1), np.int32(resolution)
    word = np.empty(_BLOCK, np.uint64)
    unit = np.empty(_BLOCK, np.uint64)
    end = np.empty(_BLOCK, np.uint64)
    for first in range(0, v.size, _BLOCK):
        rows = min(_BLOCK, v.size - first)
        outcome = y[first : first + rows]
        prediction = v[first : first + rows]
        pattern = bits[first : first + rows]
        bad = 0
        for i in range(rows):
            x = prediction[i]
            bad += not (((outcome[i] == 1.0) | (outcome[i] == 0.0)) & (x >= 0.0) & (x <= 1.0))
        for i in range(rows):
            x = prediction[i]
            scaled = x * resolution  # exact: the resolution is a power of two
            k = np.int32(scaled)
            offset = scaled - k  # exact as well
            place = k if offset > 0.0 else k + points
            word[i] = np.uint64(4 * place) + np.uint64(outcome[i] == 1.0)
            unit[i] = _ONE_ROW + np.uint64(np.int64(offset * _UNIT + 0.5))
            end[i] = pattern[i] if x > 0.0 else _0  # minus zero is zero
        for i in range(rows if bad > 0 else 0):
            fault = fault_of(outcome[i], prediction[i], 1.0)
            if fault > 0:
                faults[fault] += 1
                word[i] = _NOWHERE
            elif 0.0 < outcome[i] < 1.0:
                return first + i
        for i in range(rows):
            at = word[i]
            if several:
                of = segment[first + i]
                at = _NOWHERE if of < 0 or at == _NOWHERE else at + _4 * size * np.uint64(of)
            if at == _NOWHERE:
                continue
            cell = at & _CELL
            after = packed[at] + unit[i]
            if after >= _FULL:
                sums = _3 * ((cell >> _1) + (at & _1))
                wide[sums] += after >> _SHIFT
                low = wide[sums + _1] + (after & _OFFSETS)
                if low < wide[sums + _1]:
                    wide[sums + _2] += _1
                wide[sums + _1] = low
                after = _0
            packed[at] = after
            if end[i] > packed[cell + _2]:
                packed[cell + _2] = end[i]
            if _ALL - end[i] > packed[cell + _3]:
                packed[cell + _3] = _ALL - end[i]
    return -1


@njit(cache=True, nogil=True)
def count_cells(packed: UIntArray) -> int:
    """Cells that hold rows."""
    n = 0
    for at in range(3, packed.size, 4):
        n += packed[at] > _0
    return n


@njit(cache=True, nogil=True)
def read_cells(
    packed: UIntArray,
    wide: UIntArray,
    resolution: int,
    segment: IntArray,
    index: IntArray,
    cells: FloatArray,
    ends: UIntArray,
) -> None:
    """Write the segment, the number and the sums of each cell that holds rows, in order.

    Sums are count, ones, offset and the ones' offset; the ends are low and high, in bits.
    """
    size = 2 * resolution + 1
    row = 0
    for place in range(packed.size // 4):
        of, number = place // size, place % size
        k, inside = number // 2, number % 2
        cell = of * size + (k if inside == 1 else resolution + k)
        if packed[4 * cell + 3] == _0:
            continue
        segment[row] = of
        index[row] = number
        for outcome in range(2):
            word, sums = packed[4 * cell + outcome], 3 * (2 * cell + outcome)
            low = wide[sums + 1] + (word & _OFFSETS)
            carry = 1.0 if low < wide[sums + 1] else 0.0
            n = float((word >> _SHIFT) + wide[sums])
            moved = (float(wide[sums + 2]) + carry) * 4096.0 + float(low) / _UNIT
            cells[row, 0] = n if outcome == 0 else cells[row, 0] + n
            cells[row, 2] = moved if outcome == 0 else cells[row, 2] + moved
            cells[row, 1] = n
            cells[row, 3] = moved
        ends[row, 0] = _ALL - packed[4 * cell + 3]
        ends[row, 1] = packed[4 * cell + 2]
        row += 1


def new_tables(n_segments: int, resolution: int) -> tuple[UIntArray, UIntArray]:
    """The packed and the wide table without rows; pages are not touched before they are needed."""
    n = n_segments * (2 * resolution + 1)
    packed: npt.NDArray[np.uint64] = np.zeros(4 * n, np.uint64)
    return packed, np.zeros(6 * n, np.uint64)
