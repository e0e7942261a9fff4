"""Predictions carried through a sort together with their labels.

A double in [0, 1] has its two top bits free, so the bit pattern of the prediction shifted left by one, with the
label in the lowest bit, is an unsigned integer whose order is the order of (prediction, label): NumPy's vectorised
sort of these keys replaces an indirect sort and two gathers. What NumPy does in one pass is left to it: a loop of our
own would have to be compiled, and then loaded by every process.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, UIntArray

_ONE = np.uint64(1)


def pack(prediction_bits: UIntArray, label: UIntArray, keys: UIntArray) -> None:
    """Write (bits << 1) | label; minus zero becomes zero because its only bit is shifted out."""
    np.left_shift(prediction_bits, _ONE, out=keys)
    keys |= label


@njit(cache=True, nogil=True)
def pack_outcomes(prediction_bits: UIntArray, outcome: FloatArray, keys: UIntArray) -> int:
    """Write (bits << 1) | outcome; return how many keys are below the one before, or -1 where an outcome is a rate.

    One pass that holds no lock: threads that redraw outcomes would wait for one another between NumPy's six.
    """
    rates = 0
    falls = 0
    before = np.uint64(0)
    for i in range(keys.size):
        one = outcome[i] == 1.0
        rates += not (one | (outcome[i] == 0.0))
        key = (prediction_bits[i] << _ONE) | np.uint64(one)
        falls += key < before
        keys[i] = key
        before = key
    return -1 if rates > 0 else falls


@njit(cache=True, nogil=True)
def count_below(prediction_bits: UIntArray, outcome: FloatArray, pivot: np.uint64) -> int:
    """Return how many keys are below one, or -1 where an outcome is a rate."""
    rates = 0
    below = 0
    for i in range(outcome.size):
        one = outcome[i] == 1.0
        rates += not (one | (outcome[i] == 0.0))
        below += ((prediction_bits[i] << _ONE) | np.uint64(one)) < pivot
    return -1 if rates > 0 else below


@njit(cache=True, nogil=True)
def pack_apart(
    prediction_bits: UIntArray, outcome: FloatArray, pivot: np.uint64, below: int, above: int, keys: UIntArray
) -> None:
    """Write keys that are below one from one place on, and the others from another."""
    low, high = np.uint64(below), np.uint64(above)
    for i in range(outcome.size):
        key = (prediction_bits[i] << _ONE) | np.uint64(outcome[i] == 1.0)
        under = key < pivot
        keys[low if under else high] = key
        low += np.uint64(under)
        high += np.uint64(not under)


def count_distinct(keys: UIntArray) -> int:
    """Count the distinct predictions among sorted keys."""
    return 1 + int(np.count_nonzero((keys[1:] ^ keys[:-1]) > _ONE))


def unpack(keys: UIntArray, ones: FloatArray) -> None:
    """Split sorted keys without ties, in place: keys become the bits of the predictions, ones the labels."""
    np.bitwise_and(keys, _ONE, out=ones, casting="unsafe")
    keys >>= _ONE


@njit(cache=True, nogil=True)
def pool(keys: UIntArray, prediction_bits: UIntArray, count: FloatArray, ones: FloatArray) -> None:
    """Pool sorted keys by prediction, into outputs as long as there are distinct predictions."""
    g = 0
    first = 0
    events = np.int64(0)
    bits = keys[0] >> _ONE
    for i in range(keys.size):
        here = keys[i] >> _ONE
        if here != bits:
            prediction_bits[g] = bits
            count[g] = i - first
            ones[g] = events
            g += 1
            first = i
            events = np.int64(0)
            bits = here
        events += np.int64(keys[i] & _ONE)
    prediction_bits[g] = bits
    count[g] = keys.size - first
    ones[g] = events


def increases_within_unit(v: FloatArray) -> bool:
    """Whether numbers do not decrease and lie in [0, 1]; false where one is NaN."""
    return bool(v[0] >= 0.0 and v[-1] <= 1.0 and (v[:-1] <= v[1:]).all())


def all_finite(column: FloatArray) -> bool:
    """Whether every number is finite."""
    return bool(np.isfinite(column).all())
