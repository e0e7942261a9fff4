"""Lowess as Cleveland wrote it, row by row, and log-likelihoods of a line: slow and plain."""

import numpy as np


def lowess(y_true, y_prob, weight=None, share=2.0 / 3.0):
    """Values at the distinct predictions: fits at every place at most a hundredth of the range apart."""
    order = np.argsort(y_prob, kind="stable")
    x, y = np.asarray(y_prob, float)[order], np.asarray(y_true, float)[order]
    w = np.ones(x.size) if weight is None else np.asarray(weight, float)[order]
    places = sorted(set(x.tolist()))
    k = max(2, min(x.size, int(share * x.size + 1e-7)))
    known, i = [], 0
    while i < len(places):
        known.append(places[i])
        within = [j for j in range(i + 1, len(places)) if places[j] <= places[i] + 0.01 * (x[-1] - x[0])]
        i = max(within, default=i + 1)
    fits = [local(x, y, w, at, k) for at in known]
    return np.array(places), np.interp(places, known, fits)


def local(x, y, w, at, k):
    far = np.abs(x - at)
    h = np.sort(far)[k - 1]
    near = np.where(
        far <= 0.001 * h, 1.0, np.where(far <= 0.999 * h, (1 - (np.minimum(far, h) / (h or 1.0)) ** 3) ** 3, 0.0)
    )
    near = np.where((far > 0.999 * h) & (far > 0.0), 0.0, near) * w
    near = near / near.sum()
    centre = (near * x).sum()
    spread = (near * (x - centre) ** 2).sum()
    if x[0] < x[-1] and np.sqrt(spread) > 0.001 * (x[-1] - x[0]):
        near = near * (1 + (at - centre) * (x - centre) / spread)
    return (near * y).sum()


def deviance(y_true, y_prob, a, b, weight=None):
    """Twice minus the log-likelihood of log-odds a + b * log-odds(prediction), over predictions between 0 and 1."""
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones(v.size) if weight is None else np.asarray(weight, float)
    held = (v > 0) & (v < 1) & (w > 0)
    y, v, w = y[held], v[held], w[held]
    z = a + b * (np.log(v) - np.log1p(-v))
    return 2 * (w * (np.logaddexp(0, z) - y * z)).sum()


def c_statistic(y_true, y_prob, weight=None):
    """Share of pairs of an event and another row that the predictions order, ties for a half."""
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones(v.size) if weight is None else np.asarray(weight, float)
    events, others = w * y, w * (1 - y)
    ordered = (v[:, None] > v[None, :]) + 0.5 * (v[:, None] == v[None, :])
    return (events[:, None] * others[None, :] * ordered).sum() / (events.sum() * others.sum())
