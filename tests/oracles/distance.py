"""True and upper distance from their definitions: all partitions, and the plain program for noiseless domains."""

import numpy as np

_PARTITIONS = {}


def partitions(n):
    """Every partition of range(n) as a row of labels, numbered by first appearance; listed once."""
    if n not in _PARTITIONS:
        found = [[]]
        for _ in range(n):
            found = [[*labels, new] for labels in found for new in range(max(labels, default=-1) + 2)]
        _PARTITIONS[n] = np.array(found).reshape(len(found), n)
    return _PARTITIONS[n]


def calibration_distance(y_true, y_prob, sample_weight=None):
    """Least cost over all partitions of the rows, each part moved to its mean outcome."""
    weight = np.ones(len(y_prob)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    mass = weight / weight.sum()
    rows = mass > 0
    y, v, w = np.asarray(y_true)[rows], np.asarray(y_prob)[rows], mass[rows]
    every = partitions(v.size)
    cost = np.zeros(len(every))
    for label in range(v.size):
        part = w * (every == label)  # of each partition the rows with this label, with their weights
        total = part.sum(axis=1)
        mean = (part * y).sum(axis=1) / np.where(total > 0.0, total, 1.0)
        cost += (part * np.abs(v - mean[:, None])).sum(axis=1)
    return cost.min()


def upper_calibration_distance(y_true, y_prob, sample_weight=None):
    """The same over partitions of the distinct predictions, each with its weight and its mean outcome."""
    weight = np.ones(len(y_prob)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    rows = weight / weight.sum() > 0
    y, v, w = np.asarray(y_true)[rows], np.asarray(y_prob)[rows], weight[rows]
    distinct = np.unique(v)
    mass = np.array([w[v == u].sum() for u in distinct])
    mean = np.array([(w * y)[v == u].sum() for u in distinct]) / mass
    return calibration_distance(mean, distinct, mass)


def noiseless_program(y_true, y_prob):
    """Least cost where rows weigh the same and outcomes are 0 or 1: parts of neighbours among zeros and among ones."""
    y, v = np.asarray(y_true), np.asarray(y_prob)
    zeros, ones = np.sort(v[y == 0]), np.sort(v[y == 1])
    best = np.full((zeros.size + 1, ones.size + 1), np.inf)
    best[0, 0] = 0.0
    for i in range(zeros.size + 1):
        for j in range(ones.size + 1):
            if i + j == 0:
                continue
            a = i - np.arange(i + 1)[:, None]
            b = j - np.arange(j + 1)[None, :]
            mu = b / np.maximum(a + b, 1)
            used0 = np.arange(i)[None, None, :] >= np.arange(i + 1)[:, None, None]
            used1 = np.arange(j)[None, None, :] >= np.arange(j + 1)[None, :, None]
            cost = (np.abs(zeros[:i] - mu[:, :, None]) * used0).sum(axis=2)
            cost = cost + (np.abs(ones[:j] - mu[:, :, None]) * used1).sum(axis=2)
            previous = best[: i + 1, : j + 1].copy()
            previous[i, j] = np.inf
            best[i, j] = (previous + cost).min()
    return best[zeros.size, ones.size] / v.size
