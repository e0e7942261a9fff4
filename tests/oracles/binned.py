"""Binned errors by their definition, one bin at a time."""

import numpy as np


def _bins(y_prob, weight, n_bins, strategy):
    """Yield (lower edge, upper edge, rows) for right-closed bins; the first also holds its lower edge."""
    if strategy == "exact":
        for v in sorted(set(y_prob.tolist())):
            yield v, v, y_prob == v
        return
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    else:
        values = sorted(set(y_prob.tolist()))
        inner = []
        for k in range(1, n_bins):
            for v in values:
                if weight[y_prob <= v].sum() >= k / n_bins * weight.sum() * (1 - 1e-12):
                    inner.append(v)
                    break
        edges = [0.0, *sorted({1.0, *inner})]  # where 0 is itself an equal-mass edge, the rows at 0 are a bin
    for i in range(len(edges) - 1):
        inside = (y_prob > edges[i]) & (y_prob <= edges[i + 1])
        if i == 0:
            inside |= y_prob == edges[0]
        yield edges[i], edges[i + 1], inside


def _columns(y_true, y_prob, sample_weight):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    return y_true, y_prob, weight / weight.sum()


def expected_calibration_error(y_true, y_prob, sample_weight=None, n_bins=15, strategy="uniform", norm="l1"):
    y_true, y_prob, weight = _columns(y_true, y_prob, sample_weight)
    masses, gaps = [], []
    for _, _, inside in _bins(y_prob, weight, n_bins, strategy):
        mass = weight[inside].sum()
        if mass > 0:
            masses.append(mass)
            gaps.append(
                abs(
                    np.average(y_true[inside], weights=weight[inside])
                    - np.average(y_prob[inside], weights=weight[inside])
                )
            )
    masses, gaps = np.array(masses), np.array(gaps)
    if norm == "l1":
        return float(np.sum(masses * gaps))
    if norm == "l2":
        return float(np.sqrt(np.sum(masses * gaps**2)))
    return float(gaps.max())


def binned_calibration_error_bound(y_true, y_prob, sample_weight=None, n_bins=15, strategy="uniform"):
    y_true, y_prob, weight = _columns(y_true, y_prob, sample_weight)
    total = 0.0
    for lower, upper, inside in _bins(y_prob, weight, n_bins, strategy):
        total += abs(np.sum((weight * (y_true - y_prob))[inside])) + weight[inside].sum() * (upper - lower)
    return float(total)
