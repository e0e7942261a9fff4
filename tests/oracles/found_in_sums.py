"""Tails of segments that are summed by cells, row by row: exact for predictions on the grid, and Holm's correction."""

import math

SHARES = (0.9, 0.05, 0.03, 0.02)


def law(chances):
    """Probabilities of each number of events."""
    found = [1.0]
    for p in chances:
        found = [
            (found[k] if k < len(found) else 0.0) * (1 - p) + (found[k - 1] * p if k else 0.0)
            for k in range(len(found) + 1)
        ]
    return found


def two_sided(chances, ones):
    """Twice the tail on the side of the expectation that was seen."""
    each = law(chances)
    tail = sum(each[ones:]) if ones >= sum(chances) else sum(each[: ones + 1])
    return min(1.0, 2.0 * tail)


def pvalue(v, y):
    """The smallest of the tails in 1, 2, 4 and 8 equal intervals, over their shares of the error."""
    found = 1.0
    for depth, share in enumerate(SHARES):
        parts = 2**depth
        for part in range(parts):
            inside = [i for i in range(len(v)) if min(int(v[i] * parts), parts - 1) == part and 0 < v[i] < 1]
            if inside:
                tail = two_sided([v[i] for i in inside], sum(y[i] for i in inside))
                found = min(found, tail * parts / share)
    return found


def adjusted(pvalues, sizes):
    """Holm's, each p-value having a share of the level that goes as one over the root of how many are like it."""
    weight = [1.0 / math.sqrt(n) for n in sizes]
    order = sorted(range(len(pvalues)), key=lambda i: pvalues[i] / weight[i])
    found, highest = [0.0] * len(pvalues), 0.0
    for place, i in enumerate(order):
        highest = max(highest, pvalues[i] / weight[i] * sum(weight[j] for j in order[place:]))
        found[i] = min(1.0, highest)
    return found
