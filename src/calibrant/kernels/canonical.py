"""Pairs of rows within blocks, for the kernel error of whole vectors of class probabilities."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(nogil=True, cache=True)
def pair_weights(
    table: FloatArray, ends: IntArray, bandwidth: float
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """First and second row of every pair, their kernel, and p . p'."""
    pairs, start = 0, 0
    for end in ends:
        pairs += (end - start) * (end - start - 1) // 2
        start = end
    first, second = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    kernel, product = np.empty(pairs), np.empty(pairs)
    start, at = 0, 0
    for end in ends:
        for i in range(start, end):
            for j in range(start, i):
                square, inner = 0.0, 0.0
                for k in range(table.shape[1]):
                    square += (table[i, k] - table[j, k]) ** 2
                    inner += table[i, k] * table[j, k]
                first[at], second[at] = i, j
                kernel[at], product[at] = math.exp(-math.sqrt(square) / bandwidth), inner
                at += 1
        start = end
    return first, second, kernel, product


@njit(nogil=True, cache=True)
def paired_sum(
    label: IntArray, table: FloatArray, first: IntArray, second: IntArray, kernel: FloatArray, product: FloatArray
) -> float:
    """Sum over pairs of (e_y - p) . (e_y' - p') k(p, p'), from what `pair_weights` found."""
    total = 0.0
    for at in range(first.size):
        i, j = first[at], second[at]
        inner = product[at] - table[i, label[j]] - table[j, label[i]]
        if label[i] == label[j]:
            inner += 1.0
        total += kernel[at] * inner
    return total


@njit(nogil=True, cache=True)
def draw_labels(cumulative: FloatArray, uniform: FloatArray, label: IntArray) -> None:
    """Label of each row: the first class whose cumulative probability exceeds the row's uniform number."""
    last = cumulative.shape[1] - 1
    for i in range(uniform.size):
        low, high = 0, last
        while low < high:
            middle = (low + high) // 2
            if uniform[i] >= cumulative[i, middle]:
                low = middle + 1
            else:
                high = middle
        label[i] = low
