"""Least cost over all partitions of a few elements, or of elements of a few types: exact dynamic programs."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def by_subsets(mass: FloatArray, v: FloatArray, y: FloatArray, label: IntArray, stop: IntArray) -> bool:
    """Fill in the parts of a cheapest partition, over all 3**n pairs of a set and a part of it; False if stopped."""
    n = mass.size
    size = 1 << n
    cost = np.zeros(size)
    for members in range(1, size):
        total = 0.0
        ones = 0.0
        for i in range(n):
            if members >> i & 1:
                total += mass[i]
                ones += mass[i] * y[i]
        mu = ones / total
        for i in range(n):
            if members >> i & 1:
                cost[members] += mass[i] * abs(v[i] - mu)
    best = cost.copy()
    part = np.arange(size)
    for members in range(1, size):
        if members & 1023 == 0 and stop[0] != 0:
            return False
        lowest = members & -members  # is in one of the parts: try all sets of others to go with it
        others = members ^ lowest
        rest = others
        while rest > 0:  # rest is what is left to the other parts
            here = cost[members ^ rest] + best[rest]
            if here < best[members]:
                best[members] = here
                part[members] = members ^ rest
            rest = (rest - 1) & others
    members = size - 1
    name = 0
    while members > 0:
        for i in range(n):
            if part[members] >> i & 1:
                label[i] = name
        name += 1
        members ^= part[members]
    return True


@njit(cache=True, nogil=True)
def by_types(first: IntArray, v: FloatArray, mass: FloatArray, y: FloatArray, label: IntArray, stop: IntArray) -> bool:
    """Fill in the parts of a cheapest partition of elements that come sorted within types; False if stopped.

    first (T + 1,): first element of each type; mass, y (T,): of its elements. A state is how many elements of each
    type are used, from the smallest on; its last part is any box below it (Lemma 3 of the hardness paper).
    """
    types = mass.size
    stride = np.empty(types, np.int64)
    states = 1
    for t in range(types):
        stride[t] = states
        states *= first[t + 1] - first[t] + 1
    moved = np.empty(v.size + types)  # running sums of v within each type, each from 0
    for t in range(types):
        running = 0.0
        moved[first[t] + t] = 0.0
        for i in range(first[t], first[t + 1]):
            running += v[i]
            moved[i + t + 1] = running
    best = np.full(states, np.inf)
    previous = np.zeros(states, np.int64)
    best[0] = 0.0
    end = np.empty(types, np.int64)
    begin = np.empty(types, np.int64)
    for state in range(1, states):
        for t in range(types):
            end[t] = state // stride[t] % (first[t + 1] - first[t] + 1)
            begin[t] = end[t]
        before = state
        while True:
            # The next box: count down begin like the digits of a number.
            t = 0
            while t < types and begin[t] == 0:
                begin[t] = end[t]
                before += end[t] * stride[t]
                t += 1
            if t == types:
                break
            begin[t] -= 1
            before -= stride[t]
            if stop[0] != 0:
                return False
            total = 0.0
            ones = 0.0
            for k in range(types):
                total += (end[k] - begin[k]) * mass[k]
                ones += (end[k] - begin[k]) * mass[k] * y[k]
            mu = ones / total
            here = best[before]
            for k in range(types):
                if end[k] == begin[k] or here >= best[state]:
                    continue
                low = begin[k]
                high = end[k]
                while low < high:
                    middle = (low + high) >> 1
                    if v[first[k] + middle] <= mu:
                        low = middle + 1
                    else:
                        high = middle
                at = first[k] + k
                sides = 2 * low - begin[k] - end[k]
                here += mass[k] * (sides * mu - 2.0 * moved[at + low] + moved[at + begin[k]] + moved[at + end[k]])
            if here < best[state]:
                best[state] = here
                previous[state] = before
    state = states - 1
    name = 0
    while state > 0:
        before = previous[state]
        for t in range(types):
            base = first[t + 1] - first[t] + 1
            for i in range(before // stride[t] % base, state // stride[t] % base):
                label[first[t] + i] = name
        name += 1
        state = before
    return True


@njit(cache=True)
def _cost_of(mass: FloatArray, v: FloatArray, y: FloatArray, label: IntArray, name: int) -> float:
    total = 0.0
    ones = 0.0
    for i in range(mass.size):
        if label[i] == name:
            total += mass[i]
            ones += mass[i] * y[i]
    if total == 0.0:
        return 0.0
    mu = ones / total
    cost = 0.0
    for i in range(mass.size):
        if label[i] == name:
            cost += mass[i] * abs(v[i] - mu)
    return cost


@njit(cache=True, nogil=True)
def improve(mass: FloatArray, v: FloatArray, y: FloatArray, label: IntArray, stop: IntArray) -> None:
    """Move one element, exchange two and merge two parts as long as that makes the partition cheaper, or till stopped.

    label: parts, numbered below n; changed in place. A round over all moves takes about n**3 steps.
    """
    n = mass.size
    cost = np.empty(n)
    merged = np.empty(n, np.int64)
    for name in range(n):
        cost[name] = _cost_of(mass, v, y, label, name)
    better = True
    while better:
        better = False
        for i in range(n):
            tried_empty = False
            for name in range(n):
                here = label[i]
                empty = True
                for j in range(n):
                    if label[j] == name:
                        empty = False
                        break
                if name == here or (empty and tried_empty):
                    continue
                tried_empty = tried_empty or empty
                label[i] = name
                left = _cost_of(mass, v, y, label, here)
                joined = _cost_of(mass, v, y, label, name)
                if left + joined < cost[here] + cost[name] - 1e-14:
                    cost[here], cost[name] = left, joined
                    better = True
                else:
                    label[i] = here
            if stop[0] != 0:
                return
        for i in range(n):
            for j in range(i):
                here, there = label[i], label[j]
                if here == there:
                    continue
                label[i], label[j] = there, here
                left = _cost_of(mass, v, y, label, here)
                right = _cost_of(mass, v, y, label, there)
                if left + right < cost[here] + cost[there] - 1e-14:
                    cost[here], cost[there] = left, right
                    better = True
                else:
                    label[i], label[j] = here, there
            if stop[0] != 0:
                return
        for name in range(n):
            for other in range(name):
                if cost[name] == 0.0 or cost[other] == 0.0:
                    continue
                for i in range(n):
                    merged[i] = name if label[i] == other else label[i]
                both = _cost_of(mass, v, y, merged, name)
                if both < cost[name] + cost[other] - 1e-14:
                    for i in range(n):
                        label[i] = merged[i]
                    cost[name], cost[other] = both, 0.0
                    better = True
