"""Smooth calibration error: the linear program over Lipschitz functions, solved by its dual in one pass.

The program, on distinct sorted predictions v_0 < ... < v_{m-1} with residuals b and gaps g_j = v_j - v_{j-1}:

    maximise sum b_j x_j   over   |x_j| <= 1,  |x_j - x_{j-1}| <= g_j.

Its dual is a fit of a piecewise constant path psi to the keys k_j = -(b_0 + ... + b_{j-1}):

    minimise sum g_j |psi_j - k_j| + sum |psi_{j+1} - psi_j|,   psi_0 = 0,  psi_m = k_m

(total-variation denoising with an absolute loss; docs/smooth.md derives it). The forward pass carries the cost of
the best path that ends in psi. It is convex and piecewise linear with slopes in [-1, 1], so it is a set of jumps
in the slope, of total mass 2: at each step a jump of 2 g_j enters at key k_j, and clipping the slope to [-1, 1]
eats mass g_j from the largest keys and mass g_j from the smallest. That is a double-ended priority queue. All keys
are known beforehand, so they are ranked once by a sort and the queue is a set of ranks, kept as bits in a tree of
64-way words: each operation costs a handful of instructions, whatever the order in which keys arrive.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from calibrant.kernels.bits import leading_zeros, trailing_zeros
from calibrant.kernels.types import FloatArray, UIntArray

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)  # a word of 64 bits, so six bits of a rank choose the bit and the rest the word
_LOW = np.uint64(63)


@njit(cache=True, nogil=True)
def keys_in_place(b: FloatArray) -> tuple[float, float, float]:
    """Overwrite b by the keys k_0..k_{m-1}; return the smallest key, the largest and the last, k_m."""
    key = 0.0
    low = 0.0
    high = 0.0
    for j in range(b.size):
        residual = b[j]
        b[j] = key
        low = min(low, key)
        high = max(high, key)
        key -= residual
    return low, high, key


@njit(cache=True, nogil=True)
def quantise(key: FloatArray, low: float, high: float, index_bits: int, packed: UIntArray) -> None:
    """Pack each key, rounded down to a grid, above its index, so that a plain sort ranks the keys."""
    steps = float((_ONE << np.uint64(min(52, 64 - index_bits))) - _ONE)
    scale = steps / (high - low) if high > low else 0.0
    if not np.isfinite(scale):
        scale = 0.0
    for j in range(key.size):
        packed[j] = (np.uint64((key[j] - low) * scale) << np.uint64(index_bits)) | np.uint64(j)


@njit(cache=True, nogil=True)
def ranks(packed: UIntArray, key: FloatArray, index_bits: int, order: UIntArray, rank: UIntArray) -> None:
    """Read order and rank off the sorted packed keys; keys that share a grid step are put right here."""
    m = packed.size
    shift = np.uint64(index_bits)
    mask = (_ONE << shift) - _ONE
    for r in range(m):
        order[r] = packed[r] & mask
    start = 0
    while start < m - 1:
        step = packed[start] >> shift
        end = start + 1
        while end < m and (packed[end] >> shift) == step:
            end += 1
        if end - start > 1:
            run = order[start:end].copy()
            order[start:end] = run[np.argsort(key[run], kind="mergesort")]
        start = end
    for r in range(m):
        rank[order[r]] = r


@njit(cache=True, nogil=True)
def forward(
    v: FloatArray,
    key: FloatArray,
    last_key: float,
    order: UIntArray,
    rank: UIntArray,
    mass: FloatArray,
    lowest: UIntArray,
    highest: UIntArray,
) -> float:
    """Return the optimal value; record the extreme keys' indices after each step where lowest has room for them.

    The words are updated in line: passing arrays to inner functions would cost an atomic reference count each.
    """
    m = v.size
    record = lowest.size > 0
    words = (m >> 6) + 1
    leaf = np.zeros(words, np.uint64)
    node = np.zeros((words >> 6) + 1, np.uint64)
    root = np.zeros((words >> 12) + 1, np.uint64)  # scanned linearly: m / 2**18 words
    top = np.uint64(rank[0])
    bottom = top
    i = top >> _SIX
    n = i >> _SIX
    leaf[i] |= _ONE << (top & _LOW)
    node[n] |= _ONE << (i & _LOW)
    root[n >> _SIX] |= _ONE << (n & _LOW)
    mass[top] = 2.0
    # Value of the concave primal function at x = +1, where the lowest keys' jumps lie.
    value = -last_key
    for j in range(1, m):
        gap = v[j] - v[j - 1]
        k = key[j]
        r = np.uint64(rank[j])
        i = r >> _SIX
        word = leaf[i]
        leaf[i] = word | (_ONE << (r & _LOW))
        if word == _ZERO:
            n = i >> _SIX
            node[n] |= _ONE << (i & _LOW)
            root[n >> _SIX] |= _ONE << (n & _LOW)
        mass[r] = 2.0 * gap
        top = max(top, r)
        bottom = min(bottom, r)

        rest = gap
        x = mass[top]
        while x <= rest:
            rest -= x
            i = top >> _SIX
            word = leaf[i] ^ (_ONE << (top & _LOW))
            leaf[i] = word
            if word == _ZERO:
                n = i >> _SIX
                word = node[n] ^ (_ONE << (i & _LOW))
                node[n] = word
                if word == _ZERO:
                    h = n >> _SIX
                    word = root[h] ^ (_ONE << (n & _LOW))
                    root[h] = word
                    while word == _ZERO:
                        h -= _ONE
                        word = root[h]
                    n = (h << _SIX) | (_LOW - leading_zeros(word))
                    word = node[n]
                i = (n << _SIX) | (_LOW - leading_zeros(word))
                word = leaf[i]
            top = (i << _SIX) | (_LOW - leading_zeros(word))
            x = mass[top]
        mass[top] = x - rest

        rest = gap
        x = mass[bottom]
        lowest_key = key[order[bottom]]
        while x <= rest:
            rest -= x
            value += x * (k - lowest_key)
            i = bottom >> _SIX
            word = leaf[i] ^ (_ONE << (bottom & _LOW))
            leaf[i] = word
            if word == _ZERO:
                n = i >> _SIX
                word = node[n] ^ (_ONE << (i & _LOW))
                node[n] = word
                if word == _ZERO:
                    h = n >> _SIX
                    word = root[h] ^ (_ONE << (n & _LOW))
                    root[h] = word
                    while word == _ZERO:
                        h += _ONE
                        word = root[h]
                    n = (h << _SIX) | trailing_zeros(word)
                    word = node[n]
                i = (n << _SIX) | trailing_zeros(word)
                word = leaf[i]
            bottom = (i << _SIX) | trailing_zeros(word)
            x = mass[bottom]
            lowest_key = key[order[bottom]]
        mass[bottom] = x - rest
        value += rest * (k - lowest_key)
        if record:
            lowest[j] = order[bottom]
            highest[j] = order[top]

    # What is left below the last key is the rise from x = +1 to the maximum.
    for i in range(bottom >> _SIX, (top >> _SIX) + _ONE):  # type: ignore[assignment]
        word = leaf[i]
        while word != _ZERO:
            r = (np.uint64(i) << _SIX) | trailing_zeros(word)
            word &= word - _ONE
            k = key[order[r]]
            if k < last_key:
                value += mass[r] * (last_key - k)
    return value


@njit(cache=True, nogil=True)
def backward(key: FloatArray, last_key: float, lowest: UIntArray, highest: UIntArray, psi: FloatArray) -> None:
    """Write the optimal path psi_0..psi_m: each step is the next one, clipped to the keys that were left."""
    m = key.size
    psi[m] = last_key
    for j in range(m - 1, 0, -1):
        psi[j] = min(max(psi[j + 1], key[lowest[j]]), key[highest[j]])
    psi[0] = 0.0


@njit(cache=True, nogil=True)
def dual_value(v: FloatArray, b: FloatArray, key: FloatArray, psi: FloatArray) -> float:
    """Return sum g |phi| + sum |b + phi' - phi| for the flow phi = key - psi: an upper bound for any flow at all."""
    m = v.size
    value = 0.0
    flow = 0.0
    for j in range(m):
        following = key[j + 1] - psi[j + 1] if j + 1 < m else 0.0
        value += abs(b[j] + following - flow)
        if j + 1 < m:
            value += (v[j + 1] - v[j]) * abs(following)
        flow = following
    return value


@njit(cache=True, nogil=True)
def witness(v: FloatArray, key: FloatArray, psi: FloatArray, low: FloatArray, high: FloatArray, x: FloatArray) -> None:
    """Write an optimal x by complementary slackness with psi; low and high are scratch of length m.

    Where psi falls, x = 1; where it rises, x = -1; where psi is off its key, x climbs or falls by the whole gap. Only
    steps with psi on its key are free. Feasible values are carried forward as an interval and chosen backward.
    """
    m = v.size
    for j in range(m):
        if j == 0:
            a, c = -1.0, 1.0
        else:
            gap = v[j] - v[j - 1]
            a, c = low[j - 1], high[j - 1]
            if key[j] > psi[j]:
                a, c = a + gap, c + gap
            elif key[j] < psi[j]:
                a, c = a - gap, c - gap
            else:
                a, c = a - gap, c + gap
        if psi[j] > psi[j + 1]:
            a, c = 1.0, 1.0
        elif psi[j] < psi[j + 1]:
            a, c = -1.0, -1.0
        low[j] = min(max(a, -1.0), 1.0)
        high[j] = min(max(c, -1.0), 1.0)
    x[m - 1] = min(max(0.0, low[m - 1]), high[m - 1])
    for j in range(m - 1, 0, -1):
        gap = v[j] - v[j - 1]
        y = x[j]
        if key[j] > psi[j]:
            y -= gap
        elif key[j] < psi[j]:
            y += gap
        x[j - 1] = min(max(y, low[j - 1]), high[j - 1])
    # Rounding can leave a step longer than its gap by an ulp: make x feasible to the letter.
    for j in range(1, m):
        gap = v[j] - v[j - 1]
        x[j] = min(max(x[j], x[j - 1] - gap), x[j - 1] + gap)
