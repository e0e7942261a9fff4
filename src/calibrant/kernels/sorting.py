"""Predictions carried through a sort together with their labels.

A double in [0, 1] has its two top bits free, so the bit pattern of the prediction shifted left by one, with the
label in the lowest bit, is an unsigned integer whose order is the order of (prediction, label): NumPy's vectorised
sort of these keys replaces an indirect sort and two gathers.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, UIntArray

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def pack(prediction_bits: UIntArray, label: UIntArray, keys: UIntArray) -> None:
    """Write (bits << 1) | label; minus zero becomes zero because its only bit is shifted out."""
    for i in range(keys.size):
        keys[i] = (prediction_bits[i] << _ONE) | np.uint64(label[i])


@njit(cache=True, nogil=True)
def count_distinct(keys: UIntArray) -> int:
    """Count the distinct predictions among sorted keys."""
    m = 1
    for i in range(1, keys.size):
        m += (keys[i] >> _ONE) != (keys[i - 1] >> _ONE)
    return m


@njit(cache=True, nogil=True)
def unpack(keys: UIntArray, ones: FloatArray) -> None:
    """Split sorted keys without ties, in place: keys become the bits of the predictions, ones the labels."""
    for i in range(keys.size):
        ones[i] = keys[i] & _ONE
        keys[i] >>= _ONE


@njit(cache=True, nogil=True)
def pool(keys: UIntArray, prediction_bits: UIntArray, count: FloatArray, ones: FloatArray) -> None:
    """Pool sorted keys by prediction, into outputs as long as there are distinct predictions."""
    g = 0
    prediction_bits[0] = keys[0] >> _ONE
    count[0] = 0.0
    ones[0] = 0.0
    for i in range(keys.size):
        bits = keys[i] >> _ONE
        if bits != prediction_bits[g]:
            g += 1
            prediction_bits[g] = bits
            count[g] = 0.0
            ones[g] = 0.0
        count[g] += 1.0
        ones[g] += keys[i] & _ONE


@njit(cache=True, nogil=True)
def increases_within_unit(v: FloatArray) -> bool:
    """Whether numbers do not decrease and lie in [0, 1]; false where one is NaN."""
    sorted_so_far = v[0] >= 0.0 and v[v.size - 1] <= 1.0
    for i in range(1, v.size):
        sorted_so_far &= v[i - 1] <= v[i]
    return bool(sorted_so_far)


@njit(cache=True, nogil=True)
def all_finite(column: FloatArray) -> bool:
    """Whether every number is finite."""
    excess = 0.0  # 0 times a finite number is 0, anything else is NaN and stays so
    for i in range(column.size):
        excess += 0.0 * column[i]
    return bool(excess == 0.0)
