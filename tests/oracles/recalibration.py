"""Recalibrators by their definitions: plain Newton steps, one bin at a time, the max-min formula."""

import itertools

import numpy as np


def logistic_loss(score, y_true, weight):
    """Weighted mean of log(1 + exp(score)) - y * score."""
    return float(np.average(np.logaddexp(0, score) - y_true * score, weights=weight))


def platt(y_true, y_prob, weight, clip=1e-12):
    """Slope and intercept by damped Newton steps on all rows; outcomes must overlap."""
    p = np.clip(y_prob, clip, 1 - clip)
    x = np.stack([np.log(p / (1 - p)), np.ones_like(p)])
    theta = np.zeros(2)
    for _ in range(200):
        rate = 1 / (1 + np.exp(-theta @ x))
        gradient = x @ (weight * (rate - y_true))
        hessian = (x * (weight * rate * (1 - rate))) @ x.T
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while logistic_loss((theta - size * step) @ x, y_true, weight) > logistic_loss(theta @ x, y_true, weight):
            size /= 2
            if size < 1e-12:
                return theta
        theta = theta - size * step
    return theta


def ceil_parts(y_prob, n_bins):
    """Histogram binning of parts of ceil(n / n_bins) rows: edges halfway, right-closed; means row by row."""
    ordered = np.sort(y_prob)
    n_bins = min(n_bins, ordered.size)
    size = int(np.ceil(ordered.size / n_bins))
    parts = [ordered[i : i + size] for i in range(0, ordered.size, size)]
    edges = _between([[low[-1], high[0]] for low, high in itertools.pairwise(parts)])
    return edges[edges < 1]


def array_split(y_prob, n_bins):
    """Edges halfway between the last of each part of numpy's array_split and the next larger prediction."""
    parts = np.array_split(np.sort(y_prob), min(n_bins, y_prob.size))
    above = [y_prob[y_prob > part[-1]] for part in parts]
    return _between([[part[-1], larger.min()] for part, larger in zip(parts, above, strict=True) if larger.size])


def _between(neighbours):
    edges = set()
    for low, high in neighbours:
        middle = low + (high - low) / 2
        edges.add(float(middle if middle < high else low))
    return np.array(sorted(edges))


def bin_value(edges, value, y_prob, weight, at):
    """Weighted mean of value over rows in the bin of one prediction, or None if the bin is empty."""
    bin_of_row = np.array([sum(p > edge for edge in edges) for p in y_prob])
    inside = bin_of_row == sum(at > edge for edge in edges)
    return float(np.average(value[inside], weights=weight[inside])) if weight[inside].sum() > 0 else None
