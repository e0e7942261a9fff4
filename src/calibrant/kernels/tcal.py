"""Debiased plug-in statistics of many resamples at many scales, in one sweep over the sorted rows.

The cells of all scales nest, so they form a tree. Rows arrive in an order in which every cell is contiguous, and what
is known of the tree is the *gap* between neighbours: the coarsest scale at which they lie in different cells (scales
count from 1, the coarsest; one more than their number where no scale parts them). One sweep with a stack visits every
cell once. A cell is worth (|S|^2 - Q) / N, where S sums the residuals of its N rows and Q their squares; it counts
from the scale at which it is born down to the one at which it splits, so only differences are added up. A cell of one
row is worth exactly nothing, and scales past the finest gap cost nothing.

Labels are redrawn from random bits that depend on (seed, resample, row) alone: neither the number of threads nor the
way resamples are blocked shows in the result. Resamples advance `LANES` at a time, which is what the processor's vector
units want. The observed labels are resample 0 and go through the same arithmetic, in which equal predictions with equal
numbers of labels give equal bits in any order of their rows: ties are ties.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

LANES = 64
BITS = 53  # of a random number that decides a label
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


@njit(cache=True, nogil=True, inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser: a bijection of 64-bit words in which every input bit moves every output bit."""
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    return x ^ (x >> _31)


@njit(cache=True, nogil=True)
def _draw_rows(key: np.uint64, copies: IntArray, lane: int) -> None:
    """Draw as many rows as there are, with replacement, and count them in one column."""
    n = copies.shape[0]
    copies[:, lane] = 0
    for i in range(n):
        uniform = np.int64(_mix(key + _GAMMA * np.uint64(i + 1)) >> _11) * 2.0**-BITS
        copies[min(int(uniform * n), n - 1), lane] += np.uint8(1)


@njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _finish(cell, worth):  # type: ignore[no-untyped-def]
    """Write what a complete cell is worth; see `resampled_statistics` for the rows of `cell`."""
    n_components = (cell.shape[0] - 2) // 3
    for lane in range(LANES):
        worth[lane] = -cell[-2, lane]
    for j in range(n_components):
        for lane in range(LANES):
            hits = cell[j, lane]
            residual = hits - cell[2 * n_components + j, lane]
            worth[lane] += residual * residual - (hits - 2.0 * cell[n_components + j, lane])
    for lane in range(LANES):
        size = cell[-1, lane]
        worth[lane] = worth[lane] / size if size > 1.5 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def resampled_statistics(
    component: FloatArray,
    threshold: IntArray,
    label: IntArray,
    gap: IntArray,
    seed: np.uint64,
    first: int,
    redraw_rows: bool,
    out: FloatArray,
) -> None:
    """Fill out[resample - first, scale - 1] with n times the debiased statistic.

    Row i predicts component[i, j]; its redrawn label is the j-th unit vector where a random integer is in
    [threshold[i, j - 1], threshold[i, j]), and zero above the last. Resample 0 has the labels of `label` instead (minus
    one is zero). With `redraw_rows`, the rows of every other resample are drawn with replacement too.
    """
    n, n_components = component.shape
    n_scales = out.shape[1]
    # Rows of a cell: hits by component, predictions summed over those hits, predictions summed over all rows, squared
    # lengths of predictions, number of rows. |y - z|^2 = |z|^2 + y (1 - 2 z) for unit vectors and zero.
    hit, predicted = n_components, 2 * n_components
    cell = np.zeros((n_scales + 2, 3 * n_components + 2, LANES))
    flat = cell.reshape(cell.shape[0], -1)
    worth = np.zeros((n_scales + 2, LANES))
    parts, value = np.empty(LANES), np.empty(LANES)
    total = np.zeros((n_scales + 1, LANES))
    gap_after = np.zeros(n_scales + 2, np.int64)
    key, bits = np.empty(LANES, np.uint64), np.empty(LANES, np.int64)
    # A row is drawn more than 255 times with a probability below 1e-500: bytes will do, and stay in the cache.
    copies = np.ones((n if redraw_rows else 1, LANES), np.uint8)

    for start in range(0, out.shape[0], LANES):
        observed = first + start == 0
        for lane in range(LANES):
            key[lane] = _mix(seed + _GAMMA * np.uint64(first + start + lane))
            if redraw_rows:
                _draw_rows(_mix(key[lane] ^ _MIX_1), copies, lane)
        if redraw_rows and observed:
            copies[:, 0] = 1
        total[:] = 0.0
        top = 0  # the cell being filled; those below it on the stack wait for the rest of their parents
        cell[0] = 0.0
        for i in range(n):
            copy = copies[i if redraw_rows else 0]
            most = 0 if redraw_rows else 1
            if redraw_rows:
                for lane in range(LANES):
                    most = max(most, copy[lane])
            square = 0.0
            for j in range(n_components):
                z = component[i, j]
                square += z * z
                for lane in range(LANES):
                    cell[top, predicted + j, lane] += copy[lane] * z
            for lane in range(LANES):
                cell[top, -2, lane] += copy[lane] * square
                cell[top, -1, lane] += copy[lane]
            for draw in range(most):
                step = _GAMMA * (np.uint64(draw) * np.uint64(n) + np.uint64(i + 1))
                for lane in range(LANES):
                    bits[lane] = np.int64(_mix(key[lane] + step) >> _11)
                low = np.int64(0)
                for j in range(n_components):
                    high = threshold[i, j]
                    for lane in range(LANES):
                        drawn = (bits[lane] >= low) & (bits[lane] < high) & (draw < copy[lane])
                        value[lane] = 1.0 if drawn else 0.0
                    if observed:
                        value[0] = 1.0 if draw == 0 and label[i] == j else 0.0
                    for lane in range(LANES):
                        cell[top, j, lane] += value[lane]
                        cell[top, hit + j, lane] += value[lane] * component[i, j]
                    low = high
            if gap[i] > n_scales:
                continue  # the next row shares this cell at every scale
            _finish(cell[top], worth[top])
            for lane in range(LANES):
                total[n_scales, lane] += worth[top, lane]
            while top > 0 and gap_after[top - 1] >= max(gap[i], 2):
                top -= 1
                for lane in range(LANES):
                    parts[lane] = worth[top, lane] + worth[top + 1, lane]
                left, right = flat[top], flat[top + 1]
                for k in range(flat.shape[1]):
                    left[k] += right[k]
                _finish(cell[top], worth[top])
                for lane in range(LANES):
                    total[gap_after[top] - 1, lane] += worth[top, lane] - parts[lane]
            if gap[i] >= 2:
                gap_after[top] = gap[i]
                top += 1
            cell[top] = 0.0
        for lane in range(min(LANES, out.shape[0] - start)):
            running = 0.0
            for scale in range(n_scales, 0, -1):
                running += total[scale, lane]
                out[start + lane, scale - 1] = running
