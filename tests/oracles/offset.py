"""The likeliest shift of all log-odds, by halving an interval that holds it."""

import numpy as np


def expit(x):
    return np.exp(-np.logaddexp(0.0, -x))


def log_odds(p, clip):
    # Each side by itself: the double next to 1 - 1e-12 is 2e-5 of its odds away from it.
    return np.log(np.clip(p, clip, 1 - clip)) - np.log(np.clip(1 - p, clip, 1 - clip))


def offset(y_true, y_prob, weight, at, clip=1e-12):
    x, mass = log_odds(y_prob, clip), weight / weight.sum()
    mean = np.sum(weight * y_true) / np.sum(weight)
    if not 0.0 < mean < 1.0:
        rows = weight.sum() ** 2 / (weight**2).sum()
        mean = (rows + 1.0) / (rows + 2.0) if mean >= 1.0 else 1.0 / (rows + 2.0)
    low, high = -1500.0, 1500.0
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (low, middle) if mass @ expit(x + middle) > mean else (middle, high)
    return expit(log_odds(at, clip) + middle)
