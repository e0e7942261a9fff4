"""True distance of a uniform noiseless domain: a shortest path over (zeros used, ones used), docs/distance.md.

A step (a, b) makes one part of the next a zeros and b ones, with value mu = b / (a + b). Its length is what the part
costs beyond the credit of its elements under the lower distance's potentials r0, r1, and never negative. Steps from
a state are listed by descending the Stern-Brocot tree: a cone of directions is left as soon as its first point's
elements cost too much at every target between its two edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

_FLAT = 1e-12  # how far a potential may be from a straight line of slope 1 or -1 to count as one
_NEVER = 1e300
_EMPTY = -1


class Side(NamedTuple):
    """Elements of one outcome, sorted, with running sums that start at 0.

    v, moved, credit : predictions; sums of predictions and of potentials.
    rising, falling : running maxima of r + v from the left and of r - v from the right, from which r at any mu is read.
    cell : how many elements lie at or below k / (cell.size - 2).
    """

    v: FloatArray
    moved: FloatArray
    credit: FloatArray
    rising: FloatArray
    falling: FloatArray
    cell: IntArray


class States(NamedTuple):
    """States that a search found: zeros and ones used, (k, 2), and least costs, in a hash table of rows or -1."""

    used: IntArray
    cost: FloatArray
    table: IntArray


class Corridor(NamedTuple):
    """Where to look. A state costs at most budget[level], which does not decrease with the level, zeros + ones.

    centre, radius : and its zeros are within radius of centre[level].
    slack : and it costs at most so much more than the cheapest at its level or beyond; no step is longer either.
    last : no step is taken from this level or beyond.
    free, top : up to the value `top`, r0(u) = u and r1(u) = u - 1, where the first `free` zeros lie; -1 for nowhere.
    grain : a step's length below that is rounding, and taken for 0.
    total : paths that are longer need not be found.
    ahead0, ahead1 : from the state (i, j) on, a path costs at least ahead0[i, k] + ahead1[j, k], for any k.
    other, reach, since : what a search from the other end found, all that it reaches at a cost of `reach`: from
    the level `since` on, no path of at most `total` goes through a state that is farther than that from the other end,
    and than total - reach from this.
    """

    budget: FloatArray
    centre: FloatArray
    radius: float
    slack: float
    last: int
    free: int
    top: float
    grain: float
    total: float
    ahead0: FloatArray
    ahead1: FloatArray
    other: States
    reach: float
    since: int


class Found(NamedTuple):
    """Result of a search: length of the path and its states from (0, 0) on, least cost at each level, states seen.

    work : steps and sets of steps looked at.
    complete : whether it was not given up.
    """

    length: float
    path: IntArray
    least: FloatArray
    states: States
    work: int
    complete: bool


@njit(cache=True, inline="always")
def _at_or_below(v: FloatArray, cell: IntArray, mu: float) -> int:
    k = int(mu * (cell.size - 2))
    low = cell[k]
    high = cell[k + 1]
    while low < high:
        middle = (low + high) >> 1
        if v[middle] <= mu:
            low = middle + 1
        else:
            high = middle
    return int(low)


@njit(cache=True, inline="always")
def _distance(moved: FloatArray, below: int, first: int, last: int, mu: float) -> float:
    """Sum of |v - mu| over elements first to last - 1, of which those before `below` lie at or below mu."""
    k = min(max(below, first), last)
    return float((2 * k - first - last) * mu - 2.0 * moved[k] + moved[first] + moved[last])


@njit(cache=True, inline="always")
def _potential(rising: FloatArray, falling: FloatArray, below: int, mu: float) -> float:
    return float(max(rising[below] - mu, falling[below] + mu))


@njit(cache=True, inline="always")
def _place(table: IntArray, used: IntArray, i: int, j: int, ones: int) -> int:
    """Where in the table the state (i, j) is, or would be put."""
    here = ((i * (ones + 1) + j) * 0x9E3779B1) & (table.size - 1)
    while table[here] != _EMPTY and (used[table[here], 0] != i or used[table[here], 1] != j):
        here = (here + 1) & (table.size - 1)
    return int(here)


@njit(cache=True, inline="always")
def _within(ahead0: FloatArray, ahead1: FloatArray, left: float) -> bool:
    """Whether the rest of the path may cost no more than is left."""
    most = 0.0
    for k in range(ahead0.size):
        most = max(most, ahead0[k] + ahead1[k])
    return most <= left


@njit(cache=True, nogil=True)
def shortest_path(zero: Side, one: Side, corridor: Corridor, most_states: int, stop: IntArray) -> Found:
    """Shortest path from (0, 0) to (all zeros, all ones) within the corridor, level by level.

    stop: set to 1 from outside to give up. Beyond most_states it gives up as well.
    """
    v0, moved0, credit0, rising0, falling0, cell0 = zero
    v1, moved1, credit1, rising1, falling1, cell1 = one
    budget, centre, radius, slack, last, free, top_value, grain, total, ahead0, ahead1, far, reach, since = corridor
    far_used, far_cost, far_table = far
    zeros = v0.size
    ones = v1.size
    n = zeros + ones

    # States in the order of their discovery; a hash table finds them, and linked lists hold those of a level.
    room = 1 << 12
    table = np.full(4 * room, _EMPTY, np.int64)
    used = np.empty((room, 2), np.int64)
    cost = np.empty(room)
    gentlest = np.empty(room)  # least value of a part that ends here: the next part's is no less
    before = np.empty((room, 2), np.int64)  # previous state on the best path; next state of the level
    head = np.full(n + 1, _EMPTY, np.int64)
    least = np.full(n + 1, _NEVER)
    used[0] = 0
    cost[0] = 0.0
    gentlest[0] = 0.0
    before[0] = _EMPTY
    head[0] = 0
    least[0] = 0.0
    table[0] = 0
    count = 1
    cones = np.empty((4 * (n + 4), 4), np.int64)
    detours = np.zeros(4 * (n + 4))  # a cone's parts are all detours if n2 is more than 1 divided by that
    complete = True
    work = 0

    for level in range(min(n, last)):
        state = head[level]
        most = budget[level]
        if slack < _NEVER:
            cheapest = _NEVER
            for k in range(level, n + 1):
                cheapest = min(cheapest, least[k])
            most = min(most, cheapest + slack)
        while state != _EMPTY and complete:
            if stop[0] != 0 or count > most_states:
                complete = False
                break
            i = used[state, 0]
            j = used[state, 1]
            start = cost[state]
            if start > most:
                state = before[state, 1]
                continue
            if level >= since and start + reach > total:
                here = _place(far_table, far_used, ones - j, zeros - i, zeros)
                if far_table[here] == _EMPTY or start + far_cost[far_table[here]] > total:
                    state = before[state, 1]
                    continue
            steepest = gentlest[state]
            carried = steepest  # over a single zero where that is free
            if 0 < i <= free:
                # What begins at the zero before, no dearer, may take that zero into any part below it that has a one;
                # a part of zeros alone is itself gone through zero by zero.
                here = _place(table, used, i - 1, j, ones)
                if table[here] != _EMPTY and cost[table[here]] <= min(start, budget[level - 1]):
                    steepest = max(steepest, v0[i - 1])
            cones[0, 0], cones[0, 1], cones[0, 2], cones[0, 3] = 1, 0, 0, 1
            cones[1, 0], cones[1, 1], cones[1, 2], cones[1, 3] = 0, 1, 0, 0  # a single one, a single zero: no cone
            cones[2, 0], cones[2, 1], cones[2, 2], cones[2, 3] = 1, 0, 0, 0
            detours[:3] = 0.0
            top = 3
            full = False
            while top > 0:
                top -= 1
                work += 1
                a1 = cones[top, 0]
                b1 = cones[top, 1]
                a2 = cones[top, 2]
                b2 = cones[top, 3]
                a = a1 + a2
                b = b1 + b2
                if i + a > zeros or j + b > ones:
                    continue
                skips = b == 0 and i < free  # a single zero that is free, at any time
                if skips and j < ones and start + 2.0 * (v0[i] - v1[j]) > min(budget[n], start + slack):
                    continue  # the next part with a one would have a mean above this zero
                n1 = a1 + b1
                n2 = a2 + b2
                inherited = detours[top]
                if inherited * n2 > 1.0:
                    continue
                mu = b / (a + b)
                mu1 = b1 / n1
                mu2 = b2 / n2 if n2 > 0 else mu
                if mu2 < steepest and b > 0:
                    continue
                # Every part of the cone can give up, at no cost, its first (a1, b1) elements if these lie at or below
                # mu1, or its last (a2, b2) if these lie at or above mu2, to a part of their own.
                if n2 > 0 and n1 + n2 > 2 and not mu1 < top_value < mu2:
                    if (a1 == 0 or v0[i + a1 - 1] <= mu1) and (b1 == 0 or v1[j + b1 - 1] <= mu1):
                        continue
                    if (a2 == 0 or v0[i + a1] >= mu2) and (b2 == 0 or v1[j + b1] >= mu2):
                        continue
                credit = credit0[i + a] - credit0[i] + credit1[j + b] - credit1[j]
                k = _at_or_below(v0, cell0, mu)
                m = _at_or_below(v1, cell1, mu)
                length = _distance(moved0, k, i, i + a, mu) + _distance(moved1, m, j, j + b, mu) - credit
                if abs(length) < grain:
                    length = 0.0
                at = level + a + b
                best = budget[at]  # what a path may have cost where this part ends
                follows = carried if skips else mu if mu > top_value else 0.0
                if (
                    length <= min(budget[at] - start, slack)
                    and (mu >= steepest if b > 0 else skips or carried == 0.0)
                    and abs(i + a - centre[at]) <= radius
                ):
                    here = _place(table, used, i + a, j + b, ones)
                    other = table[here]
                    if other == _EMPTY and _within(ahead0[i + a], ahead1[j + b], total - start - length):
                        if count == room:
                            full = True
                            break
                        other = count
                        count += 1
                        table[here] = other
                        used[other, 0] = i + a
                        used[other, 1] = j + b
                        cost[other] = _NEVER
                        gentlest[other] = follows
                        before[other, 1] = head[at]
                        head[at] = other
                    if other != _EMPTY:
                        if start + length < cost[other]:
                            cost[other] = start + length
                            before[other, 0] = state
                        gentlest[other] = min(gentlest[other], follows)
                        least[at] = min(least[at], start + length)
                        best = min(best, cost[other])
                if n2 == 0:
                    continue
                if at >= since and start + length + reach > total:
                    here = _place(far_table, far_used, ones - j - b, zeros - i - a, zeros)
                    best = min(best, total - (reach if far_table[here] == _EMPTY else far_cost[far_table[here]]))
                # To give these elements a part of their own costs parts between mu and mu2 at most 2 / (a + b) / n2 for
                # each of them above mu. Where they alone cost too much by more than that, so do all these parts.
                above = i + a - min(max(k, i), i + a) + j + b - min(max(m, j), j + b)
                excess = start + length - best - n * grain
                detour = 0.0
                if excess > 0.0:
                    detour = excess * (a + b) / (2.0 * above) if above > 0 else _NEVER
                # Slack of these elements at mu; at a target t away it is at most 2 (a + b) t less, and never less
                # than zero. With its value at an edge of the cone as well, the least in between is at least the
                # mean of both less (a + b) (mu - mu1) = 1 / n1.
                allowed = min(budget[n] - start, slack)
                here_slack = (
                    length + a * _potential(rising0, falling0, k, mu) + b * _potential(rising1, falling1, m, mu)
                )
                if here_slack - 2.0 / n1 <= allowed and mu > steepest:
                    k = _at_or_below(v0, cell0, mu1)
                    m = _at_or_below(v1, cell1, mu1)
                    edge_slack = (
                        _distance(moved0, k, i, i + a, mu1)
                        + _distance(moved1, m, j, j + b, mu1)
                        - credit
                        + a * _potential(rising0, falling0, k, mu1)
                        + b * _potential(rising1, falling1, m, mu1)
                    )
                    if 0.5 * (here_slack + edge_slack) - 1.0 / n1 <= allowed:
                        cones[top, 0], cones[top, 1], cones[top, 2], cones[top, 3] = a1, b1, a, b
                        detours[top] = inherited
                        top += 1
                if here_slack - 2.0 / n2 <= allowed:
                    k = _at_or_below(v0, cell0, mu2)
                    m = _at_or_below(v1, cell1, mu2)
                    edge_slack = (
                        _distance(moved0, k, i, i + a, mu2)
                        + _distance(moved1, m, j, j + b, mu2)
                        - credit
                        + a * _potential(rising0, falling0, k, mu2)
                        + b * _potential(rising1, falling1, m, mu2)
                    )
                    if 0.5 * (here_slack + edge_slack) - 1.0 / n2 <= allowed:
                        cones[top, 0], cones[top, 1], cones[top, 2], cones[top, 3] = a, b, a2, b2
                        detours[top] = detour
                        top += 1
            if full:  # twice the room, then the same state again
                used = np.concatenate((used, np.empty_like(used)))
                cost = np.concatenate((cost, np.empty_like(cost)))
                gentlest = np.concatenate((gentlest, np.empty_like(gentlest)))
                before = np.concatenate((before, np.empty_like(before)))
                room *= 2
                table = np.full(4 * room, _EMPTY, np.int64)
                for other in range(count):
                    here = ((used[other, 0] * (ones + 1) + used[other, 1]) * 0x9E3779B1) & (table.size - 1)
                    while table[here] != _EMPTY:
                        here = (here + 1) & (table.size - 1)
                    table[here] = other
                continue
            state = before[state, 1]
        if not complete:
            break

    steps = 0
    state = head[n]
    while state != _EMPTY:
        steps += 1
        state = before[state, 0]
    path = np.empty((steps, 2), np.int64)
    state = head[n]
    while state != _EMPTY:
        steps -= 1
        path[steps, 0], path[steps, 1] = used[state, 0], used[state, 1]
        state = before[state, 0]
    return Found(least[n], path, least, States(used[:count], cost[:count], table), work, complete)
