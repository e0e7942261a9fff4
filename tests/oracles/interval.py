"""Interval calibration error by trying every partition into intervals."""

from itertools import product

import numpy as np


def interval_calibration_error(y_true, y_prob, sample_weight=None):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    weight = weight / weight.sum()
    values = sorted(set(y_prob.tolist()))
    if len(values) <= 8:
        return min(
            sum(_cost(y_true, y_prob, weight, group) for group in _groups(values, cuts))
            for cuts in product([False, True], repeat=len(values) - 1)
        )
    # Too many partitions to list: the best one for the first j values ends with some group i..j.
    at = np.searchsorted(values, y_prob)
    residual = np.append(0.0, np.cumsum(np.bincount(at, weight * (y_true - y_prob))))
    mass, v = np.append(0.0, np.cumsum(np.bincount(at, weight))), np.array(values)
    best = np.zeros(v.size + 1)
    for j in range(1, v.size + 1):
        group = abs(residual[j] - residual[:j]) + (mass[j] - mass[:j]) * (v[j - 1] - v[:j])
        best[j] = np.min(best[:j] + group)
    return best[-1]


def _groups(values, cuts):
    groups = [[values[0]]]
    for value, cut in zip(values[1:], cuts, strict=True):
        if cut:
            groups.append([])
        groups[-1].append(value)
    return groups


def _cost(y_true, y_prob, weight, group):
    inside = (y_prob >= group[0]) & (y_prob <= group[-1])
    return abs(np.sum((weight * (y_true - y_prob))[inside])) + np.sum(weight[inside]) * (group[-1] - group[0])
