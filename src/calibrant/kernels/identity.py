"""Hashes of rows, added up: sums modulo 2^64 that the order of rows does not change."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import IntArray, UIntArray

FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
LANES = 5
_BY_30, _BY_27, _BY_31, _TWO = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(2)
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
