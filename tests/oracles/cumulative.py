"""Kuiper's statistic: the range of the walk of errors in the order of the predictions."""

import numpy as np


def cumulative_calibration_test(y_true, y_prob, sample_weight=None):
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones_like(v) if sample_weight is None else np.asarray(sample_weight, float)
    walk = [0.0] + [np.sum((w * (y - v))[v <= p]) for p in sorted(set(v.tolist()))]
    return (max(walk) - min(walk)) / np.sqrt(np.sum(w**2 * v * (1 - v)))
