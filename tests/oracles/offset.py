"""The likeliest shift of all log-odds, by halving an interval that holds it."""

import numpy as np


def expit(x):
    return np.exp(-np.logaddexp(0.0, -x))


def offset(y_true, y_prob, weight, at, clip=1e-12):
    p, mass = np.clip(y_prob, clip, 1 - clip), weight / weight.sum()
    x = np.log(p) - np.log1p(-p)
    mean = np.sum(weight * y_true) / np.sum(weight)
    if not 0.0 < mean < 1.0:
        rows = weight.sum() ** 2 / (weight**2).sum()
        mean = (rows + 1.0) / (rows + 2.0) if mean >= 1.0 else 1.0 / (rows + 2.0)
    low, high = -1500.0, 1500.0
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (low, middle) if mass @ expit(x + middle) > mean else (middle, high)
    q = np.clip(at, clip, 1 - clip)
    return expit(np.log(q) - np.log1p(-q) + middle)
