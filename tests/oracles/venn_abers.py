"""Venn-Abers prediction by its definition: for every prediction two isotonic fits of all rows and one more."""

import numpy as np


def isotonic_value(rate, weight, k):
    """The largest over all beginnings of the least mean up to any end: the max-min formula."""
    total, mass = np.r_[0.0, np.cumsum(rate * weight)], np.r_[0.0, np.cumsum(weight)]
    return max(
        min((total[b] - total[a]) / (mass[b] - mass[a]) for b in range(k + 1, rate.size + 1)) for a in range(k + 1)
    )


def ends(y_true, y_prob, weight, at):
    """Values of one more row of weight 1 whose outcome is 0, then 1."""
    w = np.asarray(weight, float)
    w, y, v = w[w > 0] / w.max(), np.asarray(y_true, float)[w > 0], np.asarray(y_prob, float)[w > 0]
    w = w * w.sum() / (w**2).sum()
    found = []
    for outcome in (0.0, 1.0):
        points, row, mass = np.append(v, at), np.append(y, outcome), np.append(w, 1.0)
        levels = np.unique(points)
        mass_of = np.array([mass[points == u].sum() for u in levels])
        rate = np.array([(mass * row)[points == u].sum() for u in levels]) / mass_of
        found.append(isotonic_value(rate, mass_of, int(np.flatnonzero(levels == at)[0])))
    return found


def venn_abers(y_true, y_prob, weight, at):
    both = np.array([ends(y_true, y_prob, weight, each) for each in np.asarray(at)])
    return both[:, 1] / (1.0 - both[:, 0] + both[:, 1])
