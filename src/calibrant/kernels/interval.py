"""Interval errors: a window that slides over all shifts of a grid, and the best partition into intervals."""

from __future__ import annotations

import numpy as np
from numba import njit

from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def sliding_window(v: FloatArray, r: FloatArray, width: float) -> float:
    """Return the integral over t of |sum of r over [t, t + width)|, divided by width.

    Bins of a grid shifted by a uniform r are windows [t, t + width) with t = r + j width, so the expectation over the
    shift is this integral. Between events the sum is constant: predictions enter at v - width and leave at v. Times
    are kept as distances within the window, exact however narrow it is.
    """
    m = v.size
    total = 0.0
    entering = 0
    leaving = 0
    inside = 0.0
    until_leave = 0.0
    while leaving < m:
        if entering == leaving:  # an empty window jumps to the next prediction
            inside = r[entering]
            entering += 1
            until_leave = width
        until_enter = np.inf
        if entering < m:
            until_enter = max(0.0, (v[entering] - v[leaving]) - (width - until_leave))
        if until_enter < until_leave:
            total += abs(inside) * until_enter
            until_leave -= until_enter
            inside += r[entering]
            entering += 1
        else:
            total += abs(inside) * until_leave
            inside -= r[leaving]
            leaving += 1
            if leaving < entering:
                until_leave = v[leaving] - v[leaving - 1]
    return total / width


_BLOCK = 64


@njit(cache=True, nogil=True)
def best_partition(v: FloatArray, mass: FloatArray, r: FloatArray, cost: FloatArray, start: IntArray) -> None:
    """Write cost[j], the least cost of partitioning the first j predictions, and start[j], where the last group begins.

    cost[j] = min over i < j of cost[i] + |S_j - S_i| + (M_j - M_i)(v_{j-1} - v_i), with S and M the running sums of r
    and mass. Candidates are scanned from the nearest back, in blocks and blocks of blocks. A block is skipped when even
    min(cost - S) + S_j or min(cost + S) - S_j plus the width term of its nearest member is no better than what was
    found.
    """
    m = v.size
    s = np.zeros(m + 1)
    w = np.zeros(m + 1)
    blocks = m // _BLOCK + 1
    fall = np.full(blocks, np.inf)  # least cost - S in a block
    rise = np.full(blocks, np.inf)  # least cost + S in a block
    fall_of_many = np.full(blocks // _BLOCK + 1, np.inf)
    rise_of_many = np.full(blocks // _BLOCK + 1, np.inf)
    cost[0] = 0.0
    fall[0] = rise[0] = fall_of_many[0] = rise_of_many[0] = 0.0
    for j in range(1, m + 1):
        s[j] = s[j - 1] + r[j - 1]
        w[j] = w[j - 1] + mass[j - 1]
        best = np.inf
        best_start = 0
        last = v[j - 1]
        block = (j - 1) // _BLOCK
        while block >= 0:
            nearest = min(j - 1, block * _BLOCK + _BLOCK - 1)
            many = block // _BLOCK
            if nearest < j - 1 and block % _BLOCK == _BLOCK - 1:
                least = max(fall_of_many[many] + s[j], rise_of_many[many] - s[j])
                if least + (w[j] - w[nearest]) * (last - v[nearest]) >= best:
                    block -= _BLOCK
                    continue
            least = max(fall[block] + s[j], rise[block] - s[j])
            if least + (w[j] - w[nearest]) * (last - v[nearest]) < best:
                for i in range(block * _BLOCK, nearest + 1):
                    c = cost[i] + abs(s[j] - s[i]) + (w[j] - w[i]) * (last - v[i])
                    if c < best:
                        best = c
                        best_start = i
            block -= 1
        cost[j] = best
        start[j] = best_start
        block = j // _BLOCK
        many = block // _BLOCK
        fall[block] = min(fall[block], best - s[j])
        rise[block] = min(rise[block], best + s[j])
        fall_of_many[many] = min(fall_of_many[many], best - s[j])
        rise_of_many[many] = min(rise_of_many[many], best + s[j])
