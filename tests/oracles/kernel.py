"""Kernel calibration error as the double sum of its definition."""

import numpy as np


def kernel_calibration_error(y_true, y_prob, sample_weight=None, kernel="laplace", bandwidth=1.0, unbiased=False):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    weight = weight / weight.sum()
    distance = np.abs(y_prob[:, None] - y_prob[None, :]) / bandwidth
    likeness = np.exp(-distance) if kernel == "laplace" else np.exp(-0.5 * distance**2)
    error = y_true - y_prob
    products = np.outer(weight * error, weight * error) * likeness
    if unbiased:
        other = ~np.eye(error.size, dtype=bool)
        square = products[other].sum() / np.outer(weight, weight)[other].sum()
        return float(np.sign(square) * np.sqrt(abs(square)))
    return float(np.sqrt(max(0.0, products.sum())))


def kernel_calibration_test(y_true, y_prob, sample_weight=None):
    return kernel_calibration_error(y_true, y_prob, sample_weight)
