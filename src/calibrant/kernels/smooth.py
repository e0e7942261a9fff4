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
64-way words: each operation costs a handful of instructions, in any order of keys.

Masses, gaps and heights are whole numbers of 2**-61, so nothing that is eaten or carried rounds, however many rows
there are: the program solved is that of predictions moved by less than 2**-61. Keys and values are compensated sums.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.bits import leading_zeros, trailing_zeros
from calibrant.kernels.compiled import njit
from calibrant.kernels.sums import add
from calibrant.kernels.types import FloatArray, IntArray, UIntArray

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)  # a word of 64 bits, so six bits of a rank choose the bit and the rest the word
_LOW = np.uint64(63)
_UNITS = 2.0**61  # to the height 1; the whole mass of 2 fits an int64
_STEP = 2.0**-61
_HIGHEST = np.int64(1 << 61)
_MOVES = 16
"""Keys moved per key, on average, before an insertion sort of those on one grid step gives up."""


@njit(cache=True, nogil=True)
def keys_in_place(b: FloatArray) -> tuple[float, float, float]:
    """Overwrite b by the keys k_0..k_{m-1}; return the smallest key, the largest and the last, k_m."""
    total = 0.0
    lost = 0.0
    low = 0.0
    high = 0.0
    for j in range(b.size):
        residual = -b[j]
        key = total + lost
        b[j] = key
        low = min(low, key)
        high = max(high, key)
        total, lost = add(total, lost, residual)
    return low, high, total + lost


@njit(cache=True, nogil=True)
def quantise(key: FloatArray, low: float, high: float, index_bits: int, packed: UIntArray) -> None:
    """Pack each key, rounded down to a grid, above its index, so that a plain sort ranks the keys."""
    steps = float((_ONE << np.uint64(52 if index_bits < 12 else 64 - index_bits)) - _ONE)
    scale = steps / (high - low) if high > low else 0.0
    if not np.isfinite(scale):
        scale = 0.0
    for j in range(key.size):
        packed[j] = (np.uint64((key[j] - low) * scale) << np.uint64(index_bits)) | np.uint64(j)


@njit(cache=True, nogil=True)
def ranks(packed: UIntArray, key: FloatArray, index_bits: int, order: UIntArray, rank: UIntArray) -> bool:
    """Read order and rank off the sorted packed keys; keys that share a grid step are put right here.

    By insertion, for they are few: give up, and return False, where that would take long.
    """
    m = packed.size
    budget = _MOVES * m
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
        for r in range(start + 1, end):
            index = order[r]
            to = r
            while to > start and key[order[to - 1]] > key[index]:
                order[to] = order[to - 1]
                to -= 1
            order[to] = index
            budget -= r - to
            if budget < 0:
                return False
        start = end
    for r in range(m):
        rank[order[r]] = r
    return True


@njit(cache=True, nogil=True)
def forward(
    v: FloatArray,
    key: FloatArray,
    last_key: float,
    order: UIntArray,
    rank: UIntArray,
    mass: IntArray,
    lowest: UIntArray,
    highest: UIntArray,
) -> float:
    """Return the optimal value; record the extreme keys' indices after each step where lowest has room for them.

    Predictions that do not increase, or are not numbers in [0, 1], give NaN.
    The words are updated in line: passing arrays to inner functions would cost an atomic reference count each.
    """
    m = v.size
    record = lowest.size > 0
    words = (m >> 6) + 1
    leaf = np.empty(words, np.uint64)
    node = np.empty((words >> 6) + 1, np.uint64)
    root = np.empty((words >> 12) + 1, np.uint64)  # scanned linearly: m / 2**18 words
    for level in (leaf, node, root):
        for word_at in range(level.size):
            level[word_at] = _ZERO
    top = np.uint64(rank[0])
    bottom = top
    i = top >> _SIX
    n = i >> _SIX
    leaf[i] |= _ONE << (top & _LOW)
    node[n] |= _ONE << (i & _LOW)
    root[n >> _SIX] |= _ONE << (n & _LOW)
    mass[top] = 2 * _HIGHEST
    if not (v[0] >= 0.0 and v[m - 1] <= 1.0 and abs(last_key) < np.inf):
        return np.nan
    place = np.int64(v[0] * _UNITS)
    # Value of the concave primal function at x = +1, where the lowest keys' jumps lie.
    value = -last_key
    lost = 0.0
    for j in range(1, m):
        if not v[j - 1] <= v[j]:
            return np.nan
        gap = np.int64(v[j] * _UNITS) - place
        place += gap
        k = key[j]
        r = np.uint64(rank[j])
        i = r >> _SIX
        word = leaf[i]
        leaf[i] = word | (_ONE << (r & _LOW))
        if word == _ZERO:
            n = i >> _SIX
            node[n] |= _ONE << (i & _LOW)
            root[n >> _SIX] |= _ONE << (n & _LOW)
        mass[r] = 2 * gap
        if r > top:
            top = r
        if r < bottom:
            bottom = r

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
            value, lost = add(value, lost, (x * _STEP) * (k - lowest_key))
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
        value, lost = add(value, lost, (rest * _STEP) * (k - lowest_key))
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
                value, lost = add(value, lost, (mass[r] * _STEP) * (last_key - k))
    return value + lost


@njit(cache=True, nogil=True)
def backward(key: FloatArray, last_key: float, lowest: UIntArray, highest: UIntArray, psi: FloatArray) -> None:
    """Write the optimal path psi_0..psi_m: each step is the next one, clipped to the keys that were left."""
    m = key.size
    psi[m] = last_key
    for j in range(m - 1, 0, -1):
        psi[j] = min(max(psi[j + 1], key[lowest[j]]), key[highest[j]])
    psi[0] = 0.0


@njit(cache=True, nogil=True)
def dual_value(v: FloatArray, key: FloatArray, psi: FloatArray) -> float:
    """Return sum g |psi - key| + sum |psi' - psi|: an upper bound for any path psi from 0 to the last key."""
    value = 0.0
    lost = 0.0
    for j in range(v.size):
        value, lost = add(value, lost, abs(psi[j + 1] - psi[j]))
        if j:
            value, lost = add(value, lost, (v[j] - v[j - 1]) * abs(psi[j] - key[j]))
    return value + lost


@njit(cache=True, nogil=True)
def witness(v: FloatArray, key: FloatArray, psi: FloatArray, low: IntArray, high: IntArray, x: FloatArray) -> None:
    """Write an optimal x by complementary slackness with psi; low and high are scratch of length m.

    Where psi falls, x = 1; where it rises, x = -1; where psi is off its key, x climbs or falls by the whole gap. Only
    steps with psi on its key are free. Feasible values are carried forward as an interval and chosen backward.
    """
    m = v.size
    a = -_HIGHEST
    c = _HIGHEST
    for j in range(m):
        if j:
            gap = np.int64(v[j] * _UNITS) - np.int64(v[j - 1] * _UNITS)
            a += gap if key[j] > psi[j] else -gap
            c += -gap if key[j] < psi[j] else gap
        if psi[j] > psi[j + 1]:
            a = c = _HIGHEST
        elif psi[j] < psi[j + 1]:
            a = c = -_HIGHEST
        a = min(max(a, -_HIGHEST), _HIGHEST)
        c = min(max(c, -_HIGHEST), _HIGHEST)
        low[j] = a
        high[j] = c
    height = min(max(np.int64(0), low[m - 1]), high[m - 1])
    low[m - 1] = height
    for j in range(m - 1, 0, -1):
        gap = np.int64(v[j] * _UNITS) - np.int64(v[j - 1] * _UNITS)
        if key[j] > psi[j]:
            height -= gap
        elif key[j] < psi[j]:
            height += gap
        height = min(max(height, low[j - 1]), high[j - 1])
        low[j - 1] = height
    # Were psi not the best path the rules could contradict one another: x is feasible all the same, in whole numbers.
    x[0] = low[0] * _STEP
    height = low[0]
    for j in range(1, m):
        gap = np.int64(v[j] * _UNITS) - np.int64(v[j - 1] * _UNITS)
        height = min(max(low[j], height - gap), height + gap)
        x[j] = height * _STEP
