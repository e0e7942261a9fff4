"""Squared calibration error by its definition: one group at a time, one pair of rows at a time."""

import numpy as np


def _groups(y_prob, weight, n_bins, strategy):
    if strategy == "exact":
        return [y_prob == v for v in sorted(set(y_prob.tolist()))]
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    else:
        inner = []
        for k in range(1, n_bins):
            enough = [v for v in y_prob if weight[y_prob <= v].sum() >= k / n_bins * weight.sum() * (1 - 1e-12)]
            inner.append(min(enough))
        edges = np.array([0.0, *sorted({1.0, *inner})])
    groups = []
    for i in range(len(edges) - 1):
        inside = (y_prob > edges[i]) & (y_prob <= edges[i + 1])
        if i == 0:
            inside |= y_prob == edges[0]
        if inside.any():
            groups.append(inside)
    return groups


def squared_calibration_error(y_true, y_prob, sample_weight=None, n_bins=None, strategy="exact", debiased=True):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    total = 0.0
    for inside in _groups(y_prob, weight, n_bins, strategy):
        w, y, p = weight[inside], y_true[inside], y_prob[inside]
        if w.sum() == 0:
            continue
        centre = np.average(p, weights=w)
        mass = w.sum() / weight.sum()
        if not debiased:
            total += mass * (centre - np.average(y, weights=w)) ** 2
            continue
        products, pairs = 0.0, 0.0
        for i in range(y.size):
            for j in range(i):
                pairs += w[i] * w[j]
                products += w[i] * w[j] * (y[i] - centre) * (y[j] - centre)
        if pairs > 0:
            total += mass * products / pairs
    return float(total)
