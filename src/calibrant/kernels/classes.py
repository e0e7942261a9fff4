"""Rows of class probabilities: the largest of each, sums over rows that predict the same class, and their hashes."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray, UIntArray


@njit(nogil=True, cache=True)
def largest(table: FloatArray, best: IntArray) -> None:
    """Columns of the largest numbers of each row in falling order, the first of equal ones first."""
    count = best.shape[1]
    for i in range(table.shape[0]):
        held = 0
        for k in range(table.shape[1]):
            value = table[i, k]
            if held == count and value <= table[i, best[i, count - 1]]:
                continue
            at = held if held < count else count - 1
            while at > 0 and value > table[i, best[i, at - 1]]:
                best[i, at] = best[i, at - 1]
                at -= 1
            best[i, at] = k
            if held < count:
                held += 1


@njit(nogil=True, cache=True)
def add_rows(table: FloatArray, group: IntArray, scale: float, total: IntArray) -> None:
    """Add each row, as whole numbers of 1 / scale, to that of `total` whose number is its group's.

    Sums of whole numbers do not depend on the order of the rows.
    """
    for i in range(table.shape[0]):
        g = group[i]
        for k in range(table.shape[1]):
            total[g, k] += np.int64(table[i, k] * scale + 0.5)


@njit(nogil=True, cache=True)
def hash_rows(bits: UIntArray, seed: np.uint64, out: UIntArray) -> None:
    """A number of 64 bits for each row, which depends on its numbers' bits and the seed alone."""
    for i in range(bits.shape[0]):
        h = seed
        for k in range(bits.shape[1]):
            h = (h ^ bits[i, k]) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        h = (h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        out[i] = h ^ (h >> np.uint64(32))
