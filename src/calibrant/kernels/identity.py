"""Hashes of rows: sums of them, and samples of distinct numbers; the order of rows changes neither."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import IntArray, UIntArray

COUNT, ONES, ID, START, STOP = range(5)
"""Columns of `sample`: rows with a number, ones among them, their ids by exclusive or, first and last row."""
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
LANES = 5
_BY_30, _BY_27, _BY_31, _UNIT = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(1)
_ONE, _OTHER = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit(inline="always")
def _mix(x: np.uint64) -> np.uint64:
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014): one to one, and 0 stays 0."""
    x = (x ^ (x >> _BY_30)) * _ONE
    x = (x ^ (x >> _BY_27)) * _OTHER
    return x ^ (x >> _BY_31)


@njit(cache=True, nogil=True)
def mix(x: UIntArray, mixed: UIntArray) -> None:
    """Mix each number."""
    for i in range(x.size):
        mixed[i] = _mix(x[i])


@njit(cache=True, nogil=True)
def add_hashes(key: UIntArray, cell: UIntArray, ids: UIntArray, stops: IntArray, sums: UIntArray) -> None:
    """Sums of two hashes of each row's key, two of its cells' tokens and one of its id, up to each of these stops.

    `cell` has a token of each row's cell in its first column, and in its second that of its outcome there or 0; `ids`
    of length zero stands for none.
    """
    a = b = c = d = e = np.uint64(0)
    row = 0
    for at in range(stops.size):
        for i in range(row, stops[at]):
            a += _mix(key[i] + FIRST)
            b += _mix(key[i] + SECOND)
            c += _mix(cell[i, 0] * FIRST) + _mix(cell[i, 1] * FIRST)
            d += _mix(cell[i, 0] * SECOND) + _mix(cell[i, 1] * SECOND)
            if ids.size > 0:
                e += _mix(ids[i])
        row = max(row, stops[at])
        sums[at, 0], sums[at, 1], sums[at, 2], sums[at, 3], sums[at, 4] = a, b, c, d, e


@njit(inline="always")
def _slot(number: np.uint64, table: UIntArray) -> np.uint64:
    """Where a number stands in a table of a power of two slots, or is to stand."""
    mask = np.uint64(table.shape[0] - 1)
    at = _mix(number + FIRST) & mask
    while table[at, 0] != 0 and table[at, 0] != number + _UNIT:
        at = (at + _UNIT) & mask
    return at


@njit(inline="always")
def _is_left(number: np.uint64, level: int) -> bool:
    return level == 0 or _mix(number + FIRST) >> np.uint64(64 - level) == 0


@njit(cache=True, nogil=True)
def sample(
    number: UIntArray,
    one: UIntArray,
    ids: UIntArray,
    state: IntArray,
    capacity: int,
    table: UIntArray,
    other: UIntArray,
) -> None:
    """Sums of rows by number, of all numbers whose hash begins with so many zero bits that at most `capacity` are left.

    `state` holds these bits, how many numbers are left, and how many rows came before. `table` and `other` are zeros of
    shape (a power of two above capacity, 6) at first: a number + 1, which is 0 in empty slots, and the columns. The
    sums are in `table`.
    """
    level, n, start = state[0], state[1], state[2]
    for i in range(number.size):
        x = number[i]
        if not _is_left(x, level):
            continue
        at = _slot(x, table)
        if table[at, 0] == 0:
            table[at, 0], table[at, 1 + START] = x + _UNIT, np.uint64(start + i)
            n += 1
        table[at, 1 + COUNT] += _UNIT
        table[at, 1 + ONES] += np.uint64(one[i])
        if ids.size > 0:
            table[at, 1 + ID] ^= _mix(ids[i])
        table[at, 1 + STOP] = np.uint64(start + i)
        while n > capacity:
            level, n = level + 1, 0
            for j in range(table.shape[0]):
                for k in range(table.shape[1]):
                    other[j, k], table[j, k] = table[j, k], np.uint64(0)
            for j in range(table.shape[0]):
                x = other[j, 0] - _UNIT
                if other[j, 0] != 0 and _is_left(x, level):
                    at = _slot(x, table)
                    for k in range(table.shape[1]):
                        table[at, k] = other[j, k]
                    n += 1
    state[0], state[1], state[2] = level, n, start + number.size
