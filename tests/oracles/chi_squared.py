"""Sums over groups of rows: the squared excess of events over its variance."""

import numpy as np


def _summed(y_true, y_prob, sample_weight, group):
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones_like(v) if sample_weight is None else np.asarray(sample_weight, float)
    found = 0.0
    for each in set(group):
        at = np.array(group) == each
        found += np.sum((w * (y - v))[at]) ** 2 / np.sum((w**2 * v * (1 - v))[at])
    return found


def miller_test(y_true, y_prob, sample_weight=None):
    return _summed(y_true, y_prob, sample_weight, list(y_prob))


def hosmer_lemeshow_test(y_true, y_prob, sample_weight=None):
    v = np.asarray(y_prob, float)
    w = np.ones_like(v) if sample_weight is None else np.asarray(sample_weight, float)
    edges = {min(u for u in v if w[v <= u].sum() >= k / 10 * w.sum() * (1 - 1e-12)) for k in range(1, 10)}
    return _summed(y_true, y_prob, sample_weight, [sum(edge < p for edge in edges) for p in v])
