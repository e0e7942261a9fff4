"""Evidence of segments by signs of groups, row by row: sums of each group, effective numbers, variances, scores."""

import math

import numpy as np

SHARES = 0.9, 0.05, 0.03, 0.02


def kish(x):
    return sum(x) ** 2 / sum(a * a for a in x) if any(x) else 0.0


def sums(inside, group, column):
    """Of each group with rows inside the sum of a column."""
    found = {}
    for i in inside:
        found[group[i]] = found.get(group[i], 0.0) + column[i]
    return found


def expected_number(inside, group, weight, count, chance):
    """Both means of the effective number of groups with events, rows being independent."""
    mean = sums(inside, group, [w * n * p for w, n, p in zip(weight, count, chance, strict=True)])
    noise = sum(weight[i] ** 2 * count[i] * chance[i] * (1 - chance[i]) for i in inside)
    squares = sum(a * a for a in mean.values()) + noise
    return sum(mean.values()) ** 2 / squares if squares else 0.0


def correlation(group, v, weight, count, ones):
    """Sum of the products of different single outcomes of one group, over what it is with correlation 1."""
    seen = most = 0.0
    for g in set(group):
        inside = [i for i in range(len(v)) if group[i] == g]
        excess = sum(weight[i] * (ones[i] - count[i] * v[i]) for i in inside)
        own = sum(weight[i] ** 2 * (ones[i] * (1 - v[i]) ** 2 + (count[i] - ones[i]) * v[i] ** 2) for i in inside)
        deviation = sum(weight[i] * count[i] * math.sqrt(v[i] * (1 - v[i])) for i in inside)
        seen += excess**2 - own
        most += deviation**2 - sum(weight[i] ** 2 * count[i] * v[i] * (1 - v[i]) for i in inside)
    return min(1.0, max(0.0, seen / most)) if most > 1e-12 else 0.0


def parts(inside, group, v, weight, count, least):
    """A segment and those of its intervals in which events are to be expected in groups enough: (share, rows)."""
    found = []
    for depth, share in enumerate(SHARES):
        for k in range(2**depth):
            held = [i for i in inside if min(int(v[i] * 2**depth), 2**depth - 1) == k]
            sides = (v, [1 - p for p in v])
            many = held and min(expected_number(held, group, weight, count, p) for p in sides) >= least
            if many or not depth:
                found.append((share / 2**depth, held))
    return found


def scores(segments, signs, group, v, weight, count, ones, least):
    """A row a segment; the outcomes first, then a column for each of the signs (groups, draws)."""
    alike = {depth: sum(len(key) == depth for key in segments) for depth in range(10)}
    rho = correlation(group, v, weight, count, ones)
    excess = [w * (k - n * p) for w, k, n, p in zip(weight, ones, count, v, strict=True)]
    events = [w * k for w, k in zip(weight, ones, strict=True)]
    others = [w * (n - k) for w, n, k in zip(weight, count, ones, strict=True)]
    table = []
    for key, inside in segments.items():
        best = np.full(1 + signs.shape[1], -math.inf)
        for share, held in parts(inside, group, v, weight, count, least):
            each = sums(held, group, excess)
            squares = sum(a * a for a in each.values())
            deviation = sums(
                held, group, [w * n * math.sqrt(p * (1 - p)) for w, n, p in zip(weight, count, v, strict=True)]
            )
            alone = sum(weight[i] ** 2 * count[i] * v[i] * (1 - v[i]) for i in held)
            variance = alone + rho * (sum(a * a for a in deviation.values()) - alone)
            many = min(kish(list(sums(held, group, x).values())) for x in (events, others)) >= least
            drawn = np.array([sum(a * signs[g, b] for g, a in each.items()) for b in range(signs.shape[1])])
            own = sum(each.values()) ** 2 / max(squares, variance) if many else -math.inf
            z = np.concatenate([[own], drawn**2 / squares if squares > 0 else 0 * drawn])
            best = np.maximum(best, z + 2 * math.log(share))
        table.append(best - math.log(alike[len(key)]))
    return np.array(table)
