"""Interval errors: a window that slides over all shifts of a grid, and the best partition into intervals."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def sliding_window(v: FloatArray, r: FloatArray, width: float) -> float:
    """Return the integral over t of |sum of r over [t, t + width)|, divided by width.

    Bins of a grid shifted by a uniform r are windows [t, t + width) with t = r + j width, so the expectation over the
    shift is this integral. Between events the sum is constant: predictions enter at v - width and leave at v. Times
    are kept as distances within the window, exact however narrow it is.
    """
    m = v.size
    scale = 2.0**300 if width < 1e-200 else 1.0  # lengths below 1e-308 would lose digits
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
            total += abs(inside) * (scale * until_enter)
            until_leave -= until_enter
            inside += r[entering]
            entering += 1
        else:
            total += abs(inside) * (scale * until_leave)
            inside -= r[leaving]
            leaving += 1
            if leaving < entering:
                until_leave = v[leaving] - v[leaving - 1]
    return total / (scale * width)


_LEAF_BITS = 4
_LEAF = 1 << _LEAF_BITS


@njit(cache=True, nogil=True)
def _skippable(least: FloatArray, offset: IntArray, leaf: int, s: float, limit: float) -> int:
    """Return the level of the largest subtree that ends before a leaf and cannot get below limit, or -1."""
    level = 0
    while (leaf >> level) & 1 == 0:
        level += 1
    while level >= 0:
        node = offset[level] + (leaf >> level) - 1
        if least[node, 0] + s >= limit or least[node, 1] - s >= limit:
            return level
        level -= 1
    return -1


@njit(cache=True, nogil=True)
def _add_leaf(least: FloatArray, offset: IntArray, cost: FloatArray, s: FloatArray, first: int, leaf: int) -> None:
    """Enter a leaf that is full, whose candidates begin at the first, and every subtree that it completes."""
    minus = np.inf
    plus = np.inf
    for i in range(first, first + _LEAF):
        minus = min(minus, cost[i] - s[i])
        plus = min(plus, cost[i] + s[i])
    least[leaf, 0] = minus
    least[leaf, 1] = plus
    level = 0
    while leaf & 1:
        right = offset[level] + leaf
        leaf >>= 1
        level += 1
        parent = offset[level] + leaf
        least[parent, 0] = min(least[right - 1, 0], least[right, 0])
        least[parent, 1] = min(least[right - 1, 1], least[right, 1])


@njit(cache=True, nogil=True)
def search_partition(
    v: FloatArray, s: FloatArray, w: FloatArray, cost: FloatArray, start: IntArray, budget: int
) -> bool:
    """Fill cost and start by branch and bound; give up, and return False, after a budget of leaves.

    cost[j], the least cost of partitioning the first j predictions, is the minimum over i < j of cost[i] +
    |S_j - S_i| + (M_j - M_i)(v_{j-1} - v_i), with s and w the running sums S and M of residual and mass; start[j] is
    the i that attains it, where the last group begins.

    Candidates i are scanned from the nearest back, a leaf of 16 at a time; a binary tree over the leaves holds
    min(cost - S) and min(cost + S). Since |x| >= x and |x| >= -x, and the width term grows with the distance, no
    candidate of a subtree that ends before i = end costs less than

        max(min(cost - S) + S_j, min(cost + S) - S_j) + (M_j - M_{end-1})(v_{j-1} - v_{end-1}),

    so the largest subtree ending there for which this is no better than what was found is skipped whole.
    """
    m = v.size
    leaves = (m + 1) >> _LEAF_BITS
    levels = 0
    offset = np.zeros(64, np.int64)  # of a level of the tree; level 0 is the leaves
    while leaves >> levels:
        offset[levels + 1] = offset[levels] + (leaves >> levels)
        levels += 1
    least = np.empty((offset[levels], 2))
    cost[0] = 0.0
    for j in range(1, m + 1):
        best = np.inf
        start[j] = j - 1  # stays where nothing is below infinity: what is not a number must not leave a stray index
        end = j
        begin = (j - 1) & -_LEAF
        while end > 0:
            for i in range(begin, end):
                c = cost[i] + abs(s[j] - s[i]) + (w[j] - w[i]) * (v[j - 1] - v[i])
                if c < best:
                    best = c
                    start[j] = i
            budget -= 1
            end = begin
            while end > 0:
                limit = best - (w[j] - w[end - 1]) * (v[j - 1] - v[end - 1])
                level = _skippable(least, offset, end >> _LEAF_BITS, s[j], limit)
                if level < 0:
                    break
                end -= _LEAF << level
            begin = end - _LEAF
        cost[j] = best if best < np.inf else np.nan
        if budget < 0:
            return False
        if (j + 1) % _LEAF == 0:
            _add_leaf(least, offset, cost, s, j + 1 - _LEAF, j >> _LEAF_BITS)
    return True


@njit(cache=True, nogil=True)
def _overtakes(i: int, k: int, key: FloatArray, v: FloatArray, w: FloatArray) -> int:
    """Return the first j > k at which candidate k > i costs no more than i at one sign of S_j - S_i, or m + 1.

    The width term is Monge, -(M_j' - M_j)(v_k - v_i) - (M_k - M_i)(v_j' - v_j) <= 0, so k stays ahead from there on.
    """
    low, high = k + 1, v.size + 1
    while low < high:
        j = (low + high) // 2
        last = v[j - 1]
        if key[k] + (w[j] - w[k]) * (last - v[k]) <= key[i] + (w[j] - w[i]) * (last - v[i]):
            high = j
        else:
            low = j + 1
    return low


@njit(cache=True, nogil=True)
def _insert(
    queue: IntArray, ends: IntArray, position: int, k: int, key: FloatArray, v: FloatArray, w: FloatArray
) -> None:
    """Append candidate k to the queues of every Fenwick node above its position."""
    while position < ends.shape[0]:
        head, tail = ends[position]
        turn = k + 1
        while tail > head:
            turn = _overtakes(queue[tail - 1, 0], k, key, v, w)
            if turn > max(k + 1, queue[tail - 1, 1]):
                break
            tail -= 1  # k is ahead before this one's turn comes
        if turn <= v.size:
            queue[tail, 0] = k
            queue[tail, 1] = turn
            tail += 1
        ends[position, 1] = tail
        position += position & -position


@njit(cache=True, nogil=True)
def _cheapest(
    queue: IntArray, ends: IntArray, position: int, j: int, key: FloatArray, v: FloatArray, w: FloatArray
) -> int:
    """Return the best candidate at positions up to the given one, or -1; j never decreases between calls."""
    best = np.inf
    found = -1
    while position > 0:
        head, tail = ends[position]
        if tail > head:
            while head + 1 < tail and queue[head + 1, 1] <= j:
                head += 1
            ends[position, 0] = head
            i = queue[head, 0]
            c = key[i] + (w[j] - w[i]) * (v[j - 1] - v[i])
            if c < best:
                best = c
                found = i
        position -= position & -position
    return found


@njit(cache=True, nogil=True)
def queue_partition(v: FloatArray, s: FloatArray, w: FloatArray, cost: FloatArray, start: IntArray) -> None:
    """Fill cost and start in O(m log(m)**2) for any data, with O(m log m) memory.

    A Fenwick tree over the rank of S splits the candidates into those below S_j and those above, where |S_j - S_i|
    loses its bars. What is left in a node is Monge: later candidates overtake earlier ones once and for good, so a
    queue of candidates, each with the j at which its turn comes, gives the best. The second tree is mirrored.
    """
    m = v.size
    n = m + 1
    rank = np.empty(n, np.int64)
    rank[np.argsort(s)] = np.arange(1, n + 1)
    ends_below = np.empty((n + 1, 2), np.int64)
    room = 0
    for node in range(n + 1):  # a node has room for the positions it covers
        ends_below[node, :] = room
        room += node & -node
    ends_above = ends_below.copy()
    below = np.empty((room, 2), np.int32)
    above = np.empty((room, 2), np.int32)
    minus = np.empty(n)  # cost - S, for candidates with S_i <= S_j
    plus = np.empty(n)  # cost + S
    cost[0] = 0.0
    for j in range(1, n):
        k = j - 1
        minus[k] = cost[k] - s[k]
        plus[k] = cost[k] + s[k]
        _insert(below, ends_below, rank[k], k, minus, v, w)
        _insert(above, ends_above, n + 1 - rank[k], k, plus, v, w)
        best = np.inf
        start[j] = k
        for i in (
            _cheapest(below, ends_below, rank[j], j, minus, v, w),
            _cheapest(above, ends_above, n + 1 - rank[j], j, plus, v, w),
        ):
            if i >= 0:
                c = cost[i] + abs(s[j] - s[i]) + (w[j] - w[i]) * (v[j - 1] - v[i])
                if c < best:
                    best = c
                    start[j] = i
        cost[j] = best if best < np.inf else np.nan


@njit(cache=True, nogil=True)
def group_starts(start: IntArray) -> IntArray:
    """Return where each group of the best partition begins, increasing."""
    groups = 0
    j = start.size - 1
    while j > 0:
        j = start[j]
        groups += 1
    first = np.empty(groups, np.int64)
    j = start.size - 1
    while j > 0:
        j = start[j]
        groups -= 1
        first[groups] = j
    return first
