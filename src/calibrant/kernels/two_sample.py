"""Two samples compared cell by cell at nested scales, with group membership drawn again for each resample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.tcal import _GAMMA, BITS, _mix
from calibrant.kernels.types import FloatArray, IntArray

_11 = np.uint64(11)


@njit(cache=True, nogil=True, inline="always")
def _uniform(key, i):  # type: ignore[no-untyped-def]
    return np.int64(_mix(key + _GAMMA * np.uint64(i + 1)) >> _11) * 2.0**-BITS


class Cells(NamedTuple):
    """Cells with two rows or more, each named once: its rows, [first, last), and the scales at which it is a cell.

    A cell keeps its rows over many scales, and one with a single row adds nothing but the row itself. Cells of the same
    scales stand together, group by group: begin says where a group begins, coarsest and finest what its scales are.
    """

    first: IntArray
    last: IntArray
    begin: IntArray
    coarsest: IntArray
    finest: IntArray


@njit(cache=True, nogil=True)
def distinct_cells(gap: IntArray, n_scales: int) -> Cells:
    """Cells of rows in an order that keeps cells together; gap is the coarsest scale at which one ends at each row."""
    most = max(1, gap.size)  # they are nested, so fewer than rows
    first, last, scales = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    begin = np.zeros(n_scales + 1, np.int64)
    count = 0
    for i in range(gap.size):
        scale = max(gap[i], 1)
        while scale <= n_scales:
            here, same = begin[scale], scale
            while same <= n_scales and begin[same] == here:
                begin[same] = i + 1
                same += 1
            if i > here:
                first[count], last[count], scales[count] = here, i + 1, scale * (n_scales + 1) + same - 1
                count += 1
            scale = same
    # Sorted by counting: how many cells there are of each pair of scales says where they go.
    place = np.zeros((n_scales + 1) * (n_scales + 1), np.int64)
    for cell in range(count):
        place[scales[cell]] += 1
    groups = 0
    for pair in range(place.size):
        groups += place[pair] > 0
    starts = np.empty(groups + 1, np.int64)
    coarsest, finest = np.empty(groups, np.int64), np.empty(groups, np.int64)
    group, before = 0, 0
    for pair in range(place.size):
        held, place[pair] = place[pair], before
        if held > 0:
            starts[group], coarsest[group], finest[group] = before, pair // (n_scales + 1), pair % (n_scales + 1)
            group += 1
            before += held
    starts[groups] = count
    sorted_first, sorted_last = np.empty(count, np.int64), np.empty(count, np.int64)
    for cell in range(count):
        at = place[scales[cell]]
        place[scales[cell]] += 1
        sorted_first[at], sorted_last[at] = first[cell], last[cell]
    return Cells(sorted_first, sorted_last, starts, coarsest, finest)


@njit(cache=True, nogil=True)
def _count(before: IntArray, first: IntArray, last: IntArray, out: IntArray) -> None:
    """Rows of a sample in each cell, from how many of it come before every row."""
    for cell in range(out.size):
        out[cell] = before[last[cell]] - before[first[cell]]


@njit(cache=True, nogil=True)
def _compare(v: IntArray, w: IntArray, n_v: float, n_w: float, cells: Cells, unbiased: bool, out: FloatArray) -> None:
    """Add the statistic of samples V and W at every scale to out, from how many rows of each lie in every cell.

    With v and w rows of each sample in a cell and n_v, n_w in all: the sum over cells of (v / n_v - w / n_w)^2, or
    unbiased, v (v - 1) / (n_v (n_v - 1)) + w (w - 1) / (n_w (n_w - 1)) - 2 v w / (n_v n_w). The sums are whole numbers,
    so statistics that are equal are found equal.
    """
    least = 2.0 if unbiased else 1.0
    if n_v < least or n_w < least:
        return
    less = 1.0 if unbiased else 0.0
    per_v, per_w, per_both = 1.0 / (n_v * (n_v - less)), 1.0 / (n_w * (n_w - less)), 2.0 / (n_v * n_w)
    begin, coarsest, finest = cells.begin, cells.coarsest, cells.finest
    sums = np.zeros((out.size + 2, 3), np.int64)  # of v (v - 1), w (w - 1) and v w: what begins and ends at each scale
    for group in range(coarsest.size):
        vv, ww, vw = 0, 0, 0
        in_v, in_w = v[begin[group] : begin[group + 1]], w[begin[group] : begin[group + 1]]
        for cell in range(in_v.size):
            vv += in_v[cell] * (in_v[cell] - 1)
            ww += in_w[cell] * (in_w[cell] - 1)
            vw += in_v[cell] * in_w[cell]
        for k, total in enumerate((vv, ww, vw)):
            sums[coarsest[group], k] += total
            sums[finest[group] + 1, k] -= total
    both_v, both_w, across = 0, 0, 0
    for scale in range(1, out.size + 1):
        both_v += sums[scale, 0]
        both_w += sums[scale, 1]
        across += sums[scale, 2]
        v_part, w_part = both_v + (1.0 - less) * n_v, both_w + (1.0 - less) * n_w
        out[scale - 1] += v_part * per_v + w_part * per_w - across * per_both


@njit(cache=True, nogil=True)
def permuted_statistics(
    in_v: IntArray, gap: IntArray, unbiased: bool, seed: np.uint64, first: int, out: FloatArray
) -> None:
    """Fill out[permutation - first, scale - 1]; permutation 0 is the observed grouping.

    Each other one is a subset of the same size as V, uniform among all, chosen in one pass.
    """
    n, wanted = in_v.size, in_v.sum()
    cells = distinct_cells(gap, out.shape[1])
    before, place = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    v, w = np.empty(cells.first.size, np.int64), np.empty(cells.first.size, np.int64)
    out[:] = 0.0
    for r in range(out.shape[0]):
        key = _mix(seed + _GAMMA * np.uint64(first + r))
        for i in range(n):  # all at once: a row's place among those that are left, of which the first are taken
            place[i] = np.int64(_uniform(key, i) * (n - i))
        needed = wanted
        for i in range(n):
            taken = in_v[i] if first + r == 0 else np.int64(place[i] < needed)
            needed -= taken
            before[i + 1] = wanted - needed
        _count(before, cells.first, cells.last, v)
        for cell in range(w.size):
            w[cell] = cells.last[cell] - cells.first[cell] - v[cell]
        _compare(v, w, float(wanted), float(n - wanted), cells, unbiased, out[r])


@njit(cache=True, nogil=True)
def crossed_statistics(
    hits: IntArray,
    draws: IntArray,
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
    cells = distinct_cells(gap, out.shape[1])
    v_before, w_before = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    v, w = np.empty(cells.first.size, np.int64), np.empty(cells.first.size, np.int64)
    out[:] = 0.0
    for r in range(out.shape[0]):
        if first + r > 0:
            key = _mix(seed + _GAMMA * np.uint64(first + r))
            for i in range(n):
                bits = np.int64(_mix(key + _GAMMA * np.uint64(i + 1)) >> _11)
                y[i] = 1 if threshold[i, 0] <= bits < threshold[i, 1] else 0
        for role in range(2):
            for i in range(n):
                v_before[i + 1] = v_before[i] + (y[i] if half[i] == role else 0)
                w_before[i + 1] = w_before[i] + (draws[i] if half[i] != role else 0)
            _count(v_before, cells.first, cells.last, v)
            _count(w_before, cells.first, cells.last, w)
            _compare(v, w, float(v_before[n]), float(w_before[n]), cells, True, out[r])
        for scale in range(out.shape[1]):
            out[r, scale] *= 0.5
