"""Interval errors: a window that slides over all shifts of a grid, and the best partition into intervals."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.bits import leading_zeros
from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.segments import walked_back
from calibrant.kernels.types import FloatArray, IntArray, UIntArray


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


_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)  # a word of 64 bits, so six bits of a rank choose the bit and the rest the word
_LOW = np.uint64(63)


def empty_set(n: int) -> tuple[UIntArray, IntArray]:
    """A set of numbers below n, as bits in a tree of 64-way words, and where each of its levels begins."""
    sizes = [(n >> 6) + 1]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] >> 6) + 1)
    return np.zeros(sum(sizes), np.uint64), np.cumsum([0, *sizes[:-1]])


@inner
def _add(tree: UIntArray, offset: IntArray, r: np.uint64) -> None:
    for first in offset:
        i = first + np.int64(r >> _SIX)
        word = tree[i]
        tree[i] = word | (_ONE << (r & _LOW))
        if word != _ZERO:
            break
        r >>= _SIX


@inner
def _remove(tree: UIntArray, offset: IntArray, r: np.uint64) -> None:
    for first in offset:
        i = first + np.int64(r >> _SIX)
        tree[i] ^= _ONE << (r & _LOW)
        if tree[i] != _ZERO:
            break
        r >>= _SIX


@inner
def _next_below(tree: UIntArray, offset: IntArray, r: np.uint64) -> np.int64:
    """Return the largest number in the set that is below r, or -1."""
    for level in range(offset.size):
        word = tree[offset[level] + np.int64(r >> _SIX)] & ((_ONE << (r & _LOW)) - _ONE)
        if word != _ZERO:
            r = (r | _LOW) - leading_zeros(word)
            while level > 0:
                level -= 1
                r = ((r << _SIX) | _LOW) - leading_zeros(tree[offset[level] + np.int64(r)])
            return np.int64(r)
        r >>= _SIX
    return np.int64(-1)


@inner
def _overtaken(i: int, k: int, j: int, v: FloatArray, s: FloatArray, w: FloatArray, cost: FloatArray) -> int:
    """Return j if candidate k > i is no worse than i from j on, whatever S_j is; else a later j at which to ask again.

    It is so once cost[k] + |S_k - S_i| is at most cost[i] + the width term of i less that of k, which only grows. What
    is returned is never beyond that j, and is that j where it is no further ahead than 64 times the age of k.
    """
    needed = cost[k] - cost[i] + abs(s[k] - s[i])
    apart = v[k] - v[i]
    between = w[k] - w[i]
    if (w[j] - w[k]) * apart + between * (v[j - 1] - v[i]) >= needed:
        return j
    low = j + 1
    high = min(v.size, j + 64 * (j - k))
    if (w[high] - w[k]) * apart + between * (v[high - 1] - v[i]) < needed:
        return high + 1
    while low < high:
        middle = (low + high) // 2
        if (w[middle] - w[k]) * apart + between * (v[middle - 1] - v[i]) >= needed:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def best_partition(
    v: FloatArray, s: FloatArray, w: FloatArray, order: IntArray, tree: UIntArray, offset: IntArray,
    cost: FloatArray, start: IntArray,
) -> IntArray:  # fmt: skip
    """Fill cost and start in O(m log m) for any data, with O(m) memory; order sorts s, the tree is an empty set.

    Returns where each group of the best partition begins, increasing.

    cost[j], the least cost of partitioning the first j predictions, is the minimum over i < j of cost[i] +
    |S_j - S_i| + (M_j - M_i)(v_{j-1} - v_i), with s and w the running sums S and M of residual and mass; start[j] is
    the i that attains it, where the last group begins.

    Let h_i be cost[i] and the width term. Over the line of S each candidate is a cone |S - S_i| that stands on its
    apex (S_i, h_i). As j grows the apexes rise, older ones faster, for the width term is Monge: once the apex of i lies
    in the cone of some k > i it stays there, i is never better again, and is dropped. The apex of a new k is in no
    older cone, for cost[k] is the least of them, and no older candidate ever rises less. So among those left no apex is
    in another's cone, and the lowest cone at S_j belongs to one of the two neighbours of S_j. It is enough that
    neighbours are compared, and when the older one drops out is known beforehand: a calendar holds, for each j, the
    pairs of neighbours to look at, each under its left one.
    """
    m = v.size
    end = m + 1  # stands at both ends of the row of candidates and of each day's list
    rank = np.empty(m + 2, np.int32)
    left = np.empty(m + 2, np.int32)
    right = np.empty(m + 2, np.int32)
    day = np.empty(m + 2, np.int32)  # first of a day's list
    due = np.empty(m + 2, np.int32)  # the day in whose list a candidate is
    before = np.empty(m + 2, np.int32)
    after = np.empty(m + 2, np.int32)
    for k in range(m + 2):
        day[k] = end
        due[k] = 0
        if k <= m:
            rank[order[k]] = k
    cost[0] = 0.0
    left[0] = right[0] = end
    left[end] = right[end] = 0
    _add(tree, offset, np.uint64(rank[0]))
    a: int | np.int64
    for j in range(1, m + 1):
        looked = 0
        while True:
            if looked == 0:
                a = np.int64(left[j - 1])
            elif looked == 1:
                a = j - 1
            else:
                a = np.int64(day[j])
                if a == end:
                    break
                day[j] = after[a]
                before[after[a]] = end
                due[a] = 0
            looked += 1
            while a != end and right[a] != end:  # of what is dropped, right is the end
                b = np.int64(right[a])
                older = min(a, b)
                turn = _overtaken(older, max(a, b), j, v, s, w, cost)
                if turn > j:
                    if due[a] > 0:
                        if before[a] == end:
                            day[due[a]] = after[a]
                        else:
                            after[before[a]] = after[a]
                        before[after[a]] = before[a]
                    due[a] = turn
                    before[a] = end
                    after[a] = day[turn]
                    before[day[turn]] = a
                    day[turn] = a
                    break
                a = np.int64(left[older])
                b = np.int64(right[older])
                right[a] = b
                left[b] = a
                right[older] = end
                _remove(tree, offset, np.uint64(rank[older]))
        r = np.uint64(rank[j])
        below = _next_below(tree, offset, r)
        a = order[below] if below >= 0 else end
        b = right[a]
        best = np.inf
        start[j] = j - 1  # stays where nothing is below infinity: what is not a number must not leave a stray index
        for side in range(2):
            i = b if side else a
            if i != end:
                c = cost[i] + abs(s[j] - s[i]) + (w[j] - w[i]) * (v[j - 1] - v[i])
                if c < best:
                    best = c
                    start[j] = i
        cost[j] = best if best < np.inf else np.nan
        if j < m:
            left[j] = a
            right[j] = b
            right[a] = j
            left[b] = j
            _add(tree, offset, r)
    return walked_back(start, m)
