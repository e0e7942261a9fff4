"""Two samples compared cell by cell at nested scales, with group membership drawn again for each resample."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.tcal import _GAMMA, BITS, _mix
from calibrant.kernels.types import FloatArray, IntArray

_11 = np.uint64(11)


@njit(cache=True, nogil=True, inline="always")
def _uniform(key, i):  # type: ignore[no-untyped-def]
    return np.int64(_mix(key + _GAMMA * np.uint64(i + 1)) >> _11) * 2.0**-BITS


@njit(cache=True, nogil=True)
def _compare(in_v: IntArray, in_w: IntArray, gap: IntArray, unbiased: bool, out: FloatArray) -> None:
    """Add the statistic of samples V and W at every scale to out; rows in an order that keeps cells together.

    With v and w rows of each sample in a cell and n_v, n_w in all: the sum over cells of (v / n_v - w / n_w)^2, or
    unbiased, v (v - 1) / (n_v (n_v - 1)) + w (w - 1) / (n_w (n_w - 1)) - 2 v w / (n_v n_w).
    """
    n_v, n_w = float(in_v.sum()), float(in_w.sum())
    least = 2.0 if unbiased else 1.0
    if n_v < least or n_w < least:
        return
    less = 1.0 if unbiased else 0.0
    per_v, per_w, per_both = 1.0 / (n_v * (n_v - less)), 1.0 / (n_w * (n_w - less)), 2.0 / (n_v * n_w)
    n_scales = out.size
    v_before, w_before = np.zeros(n_scales + 1), np.zeros(n_scales + 1)
    v_now, w_now = 0.0, 0.0
    for i in range(gap.size):
        v_now += in_v[i]
        w_now += in_w[i]
        for scale in range(max(gap[i], 1), n_scales + 1):  # the cell ends here at these scales
            v, w = v_now - v_before[scale], w_now - w_before[scale]
            out[scale - 1] += v * (v - less) * per_v + w * (w - less) * per_w - v * w * per_both
            v_before[scale] = v_now
            w_before[scale] = w_now


@njit(cache=True, nogil=True)
def permuted_statistics(
    in_v: IntArray, gap: IntArray, unbiased: bool, seed: np.uint64, first: int, out: FloatArray
) -> None:
    """Fill out[permutation - first, scale - 1]; permutation 0 is the observed grouping.

    Each other one is a subset of the same size as V, uniform among all, chosen in one pass.
    """
    n, wanted = in_v.size, in_v.sum()
    v, w = in_v.copy(), 1 - in_v
    out[:] = 0.0
    for r in range(out.shape[0]):
        if first + r > 0:
            key = _mix(seed + _GAMMA * np.uint64(first + r))
            needed = wanted
            for i in range(n):
                v[i] = 1 if _uniform(key, i) * (n - i) < needed else 0
                needed -= v[i]
                w[i] = 1 - v[i]
        _compare(v, w, gap, unbiased, out[r])


@njit(cache=True, nogil=True)
def crossed_statistics(
    hits: IntArray,
    drawn: IntArray,
    half: IntArray,
    threshold: IntArray,
    gap: IntArray,
    seed: np.uint64,
    first: int,
    out: FloatArray,
) -> None:
    """Fill out[resample - first, scale - 1] with the mean over both roles of the halves.

    Each row's label y is `hits` in resample 0 and drawn anew in the others; the generated label `drawn` stays. V holds
    the rows of one half with y = 1, W those of the other with drawn = 1. threshold[i] is a half-open interval of 53-bit
    integers that mean y = 1.
    """
    n = hits.size
    y = hits.copy()
    v, w = np.zeros(n, np.int64), np.zeros(n, np.int64)
    out[:] = 0.0
    for r in range(out.shape[0]):
        if first + r > 0:
            key = _mix(seed + _GAMMA * np.uint64(first + r))
            for i in range(n):
                bits = np.int64(_mix(key + _GAMMA * np.uint64(i + 1)) >> _11)
                y[i] = 1 if threshold[i, 0] <= bits < threshold[i, 1] else 0
        for role in range(2):
            for i in range(n):
                v[i] = y[i] if half[i] == role else 0
                w[i] = drawn[i] if half[i] != role else 0
            _compare(v, w, gap, True, out[r])
        out[r] *= 0.5
