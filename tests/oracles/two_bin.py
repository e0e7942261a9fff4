"""Averaged two-bin calibration error by its definition: one cut at a time, every row looked at again."""

from itertools import pairwise
from math import fsum, sqrt


def _rows(y_true, y_prob, sample_weight):
    weight = [1.0] * len(y_prob) if sample_weight is None else [float(w) for w in sample_weight]
    total = fsum(weight)
    return [(float(v), float(y), w / total) for v, y, w in zip(y_prob, y_true, weight, strict=True)]


def integrals(rows):
    """Integrals of |A| + |B| and of A**2 + B**2 for rows (v, y, w); exact if these are rational."""
    absolute, squared = [], []
    for low, high in pairwise(sorted({0, 1, *(v for v, _, _ in rows)})):
        below = sum(w * (y - v) for v, y, w in rows if v < high)  # for every q in (low, high]
        above = sum(w * (y - v) for v, y, w in rows if v >= high)
        absolute.append((high - low) * (abs(below) + abs(above)))
        squared.append((high - low) * (below**2 + above**2))
    return sum(absolute), sum(squared)


def averaged_two_bin_calibration_error(y_true, y_prob, sample_weight=None, norm="l1"):
    absolute, squared = integrals(_rows(y_true, y_prob, sample_weight))
    return absolute if norm == "l1" else sqrt(squared)


def squared_averaged_two_bin_error(y_true, y_prob, sample_weight=None, debiased=False):
    rows = _rows(y_true, y_prob, sample_weight)
    products, weights = [], []
    for i, (v, y, w) in enumerate(rows):
        for j, (u, x, a) in enumerate(rows):
            if i != j or not debiased:
                products.append(w * a * (y - v) * (x - u) * (1 - abs(v - u)))
                weights.append(w * a)
    return fsum(products) / fsum(weights)


def averaged_two_bin_test(y_true, y_prob, sample_weight=None):
    """Of single rows the pairs of different ones; of weights the mean of a row's product with itself is taken off."""
    if sample_weight is None or len(set(sample_weight)) == 1:  # equal weights are none
        return squared_averaged_two_bin_error(y_true, y_prob, debiased=True)
    rows = _rows(y_true, y_prob, sample_weight)
    own, squares = fsum(w * w * v * (1 - v) for v, _, w in rows), fsum(w * w for _, _, w in rows)
    return (squared_averaged_two_bin_error(y_true, y_prob, sample_weight) - own) / (1 - squares)
