"""T-Cal's statistic, partition and tests, straight from their definitions."""

import math

import numpy as np


def interval_cells(y_prob, m):
    """Names of the bins [0, 1/m), ..., [1 - 1/m, 1]."""
    return [min(math.floor(z * m), m - 1) for z in y_prob]


def simplex_cells(y_prob, m):
    """Names of the cells cut by every hyperplane on which consecutive coordinates add up to a multiple of 1/m."""
    n_classes = y_prob.shape[1]
    names = []
    for row in y_prob:
        sums = [sum(row[i:j]) for i in range(n_classes) for j in range(i + 1, n_classes)]
        names.append(tuple(math.floor(m * s) for s in sums))
    return names


def debiased_plug_in(y_true, y_prob, n_bins):
    """Equation (6); y_prob is (n,), or (n, K) with labels 0..K-1."""
    y_prob = np.asarray(y_prob, float)
    if y_prob.ndim == 1:
        residual = (np.asarray(y_true, float) - y_prob)[:, None]
        cells = interval_cells(y_prob, n_bins)
    else:
        residual = np.eye(y_prob.shape[1])[np.asarray(y_true, int)] - y_prob
        cells = simplex_cells(y_prob, n_bins)
    n = len(cells)
    total = 0.0
    for cell in set(cells):
        inside = [j for j in range(n) if cells[j] == cell]
        mean = residual[inside].mean(axis=0)
        total += len(inside) / n * ((mean**2).sum() - (residual[inside] ** 2).sum() / len(inside) ** 2)
    return total


def null_variance(y_prob, n_bins):
    """Variance over labels that are Bernoulli(y_prob), one event: a sum over pairs of rows in a bin."""
    y_prob = np.asarray(y_prob, float)
    cells = interval_cells(y_prob, n_bins)
    n = len(cells)
    spread = y_prob * (1 - y_prob)
    total = 0.0
    for cell in set(cells):
        inside = [j for j in range(n) if cells[j] == cell]
        pairs = sum(spread[i] * spread[j] for i in inside for j in inside if i < j)
        total += 4 * pairs / len(inside) ** 2
    return total / n**2


def binomial_pvalue(ones, n, p):
    """Sum of the probabilities of all counts no more likely than the one seen."""
    mass = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    return min(1.0, sum(m for m in mass if m <= mass[ones] * (1 + 1e-7)))


def two_sample_u(v, w, v_size, w_size):
    """Kim et al.'s U-statistic from the counts of two samples in each bin."""
    total = 0.0
    for a, b in zip(v, w, strict=True):
        total += a * (a - 1) / (v_size * (v_size - 1)) + b * (b - 1) / (w_size * (w_size - 1))
        total -= 2 * a * b / (v_size * w_size)
    return total


def weighted_plug_in(y_true, y_prob, weight, n_bins, group):
    """The weighted mean over bins of the squared mean residual, less what single groups (or rows) put into it."""
    cells = interval_cells(y_prob, n_bins)
    total = 0.0
    for cell in set(cells):
        inside = [j for j in range(len(cells)) if cells[j] == cell]
        sums = {}
        for j in inside:
            sums[group[j]] = sums.get(group[j], 0.0) + weight[j] * (y_true[j] - y_prob[j])
        pairs = sum(sums.values()) ** 2 - sum(each**2 for each in sums.values())
        total += pairs / sum(weight[j] for j in inside)
    return total / sum(weight)


def discrete_calibration_test(y_true, y_prob, _weight=None):
    rows = list(zip(y_true, y_prob, strict=True))
    ones = {p: [y for y, v in rows if v == p] for p in set(y_prob)}
    return min(binomial_pvalue(int(sum(seen)), len(seen), p) for p, seen in ones.items())
