"""CORP by its definition: the isotonic map from the max-min formula, and scores row by row."""

import numpy as np


def isotonic(y_true, y_prob, weight):
    """Best increasing map at each distinct prediction: max over what starts below of min over what ends above."""
    values = np.array(sorted(set(y_prob[weight > 0].tolist())))
    curve = np.empty(values.size)
    for i in range(values.size):
        best = -np.inf
        for a in range(i + 1):
            lowest = np.inf
            for b in range(i, values.size):
                inside = (y_prob >= values[a]) & (y_prob <= values[b])
                lowest = min(lowest, np.average(y_true[inside], weights=weight[inside]))
            best = max(best, lowest)
        curve[i] = best
    return values, np.clip(curve, 0, 1)


def _score(y, p, score):
    if score == "brier":
        return y * (1 - p) ** 2 + (1 - y) * p**2
    with np.errstate(divide="ignore"):
        return (-y * np.log(p) if y > 0 else 0.0) + (-(1 - y) * np.log1p(-p) if y < 1 else 0.0)


def corp_decomposition(y_true, y_prob, sample_weight=None, score="brier"):
    """Mean score, miscalibration, discrimination, uncertainty."""
    weight = np.ones_like(y_prob) if sample_weight is None else sample_weight
    values, curve = isotonic(y_true, y_prob, weight)
    base = min(np.average(y_true, weights=weight), 1.0)
    totals = np.zeros(3)
    for y, p, w in zip(y_true, y_prob, weight / weight.sum(), strict=True):
        if w > 0:
            r = curve[values == p][0]
            totals += [w * _score(y, p, score), w * _score(y, r, score), w * _score(y, base, score)]
    return totals[0], totals[0] - totals[1], totals[2] - totals[1], totals[2]
