"""The toys by their definitions: a measure, a test's statistic, and a map."""

import numpy as np


def _columns(y_true, y_prob, sample_weight):
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    return y, v, np.ones_like(v) if sample_weight is None else np.asarray(sample_weight, float)


def mean_gap(y_true, y_prob, sample_weight=None):
    y, v, w = _columns(y_true, y_prob, sample_weight)
    return sum(abs(np.sum((w * (y - v))[v == u])) for u in set(v.tolist())) / w.sum()


def largest_gap_test(y_true, y_prob, sample_weight=None):
    y, v, w = _columns(y_true, y_prob, sample_weight)
    return max(abs(np.sum((w * (y - v))[v == u])) for u in set(v.tolist())) / w.sum()


def shift(y_true, y_prob, sample_weight, at):
    y, v, w = _columns(y_true, y_prob, sample_weight)
    return np.clip(np.asarray(at) + np.sum(w * (y - v)) / np.sum(w), 0.0, 1.0)
