"""Segments of all combinations, their evidence from every pair of places, and step-down p-values by definition."""

import itertools
import math

import numpy as np


def formed(codes, count, v, max_depth, min_rows):
    """Segments as {(feature, value), ...} -> indices of their units; those equal to one they refine are left out."""
    n_features, n = codes.shape
    held = {}
    for depth in range(max_depth + 1):
        for members in itertools.combinations(range(n_features), depth):
            for values in sorted({tuple(int(codes[f, i]) for f in members) for i in range(n)}):
                inside = [i for i in range(n) if all(codes[f, i] == x for f, x in zip(members, values, strict=True))]
                held[tuple(zip(members, values, strict=True))] = inside

    def kept(key):
        inside = held[key]
        parents = [tuple(pair for pair in key if pair != dropped) for dropped in key]
        return (
            sum(count[i] for i in inside) >= min_rows
            and sum(count[i] * v[i] * (1 - v[i]) for i in inside) >= 1.0
            and all(len(held[parent]) > len(inside) for parent in parents)
        )

    return {key: inside for key, inside in held.items() if kept(key)}


def excursions(inside, ones, v, count, weight):
    """Total, steepest rise and steepest fall of the sums by prediction."""
    sums = [0.0]
    for x in sorted({v[i] for i in inside}):
        sums.append(sums[-1] + sum(weight[i] * (ones[i] - count[i] * v[i]) for i in inside if v[i] == x))
    steps = [b - a for a, b in itertools.combinations(sums, 2)]
    return sums[-1], max(0.0, *steps), min(0.0, *steps)


def evidence(x, second, third):
    """Squared deviate: Bennett's exponent on the long side, Bernstein's on the other."""
    u = x * third / second**2
    if u > 1e-3:
        return 2 * second**3 / third**2 * ((1 + u) * math.log(1 + u) - u)
    return x * x / second / (1 + max(u, -1.0) / 3)


def score(inside, ones, v, count, weight, n_alike):
    """Evidence of a segment, of which n_alike fix as many features."""
    variance = [weight[i] ** 2 * count[i] * v[i] * (1 - v[i]) for i in inside]
    second = sum(variance)
    third = sum(x * weight[i] * (1 - 2 * v[i]) for x, i in zip(variance, inside, strict=True))
    total, rise, fall = (evidence(x, second, third) for x in excursions(inside, ones, v, count, weight))
    return max(total, max(rise, fall) - 2 * math.log(8)) - math.log(n_alike)


def scores(segments, draws, v, count, weight):
    """Table of scores, a row a segment and a column a draw."""
    alike = {depth: sum(len(key) == depth for key in segments) for depth in range(10)}
    return np.array(
        [[score(inside, ones, v, count, weight, alike[len(key)]) for ones in draws] for key, inside in segments.items()]
    )


def stepped_down(table):
    """Of each segment the largest, over those that score as high, of the share of draws that some lower one tops."""
    n, draws = table.shape
    observed = table[:, 0]

    def share(j):
        below = [k for k in range(n) if observed[k] <= observed[j]]
        return (
            sum(max(table[k, b] for k in below) >= observed[j] - 1e-9 * (1 + abs(observed[j])) for b in range(draws))
            / draws
        )

    shares = [share(j) for j in range(n)]
    return np.array([max(shares[k] for k in range(n) if observed[k] >= observed[j]) for j in range(n)])
