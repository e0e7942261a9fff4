"""Cox's and Spiegelhalter's statistics, row by row."""

import numpy as np


def cox_test(y_true, y_prob, sample_weight=None):
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones_like(v) if sample_weight is None else np.asarray(sample_weight, float)
    information, residual, odds = w**2 * v * (1 - v), w * (y - v), np.log(v / (1 - v))
    odds = odds - np.sum(information * odds) / np.sum(information)
    slope = 0.0 if np.ptp(v) == 0.0 else np.sum(residual * odds) ** 2 / np.sum(information * odds**2)
    return np.sum(residual) ** 2 / np.sum(information) + slope


def spiegelhalter_test(y_true, y_prob, sample_weight=None):
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones_like(v) if sample_weight is None else np.asarray(sample_weight, float)
    variance = np.sum(w**2 * v * (1 - v) * (1 - 2 * v) ** 2)
    score = np.sum(w * (y - v) * (1 - 2 * v))
    return 0.0 if variance == 0.0 else score / np.sqrt(variance)
