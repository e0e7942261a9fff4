"""Regret and decision loss by their definitions: every cut at every threshold, every task by pairs of thresholds."""


def worth(rows, t, cut, beyond=False):
    """What acting from `cut` on is worth at threshold t; beyond: only on predictions above it. None: never."""
    if cut is None:
        return 0 * t
    return sum(w * (y - t) for v, y, w in rows if (v > cut if beyond else v >= cut))


def regret(rows, t, after=False):
    """What the best cut gains against acting where v >= t, or after it, where v > t; exact for rational rows."""
    cuts = [None, *sorted({v for v, _, _ in rows})]
    return max(worth(rows, t, cut) for cut in cuts) - worth(rows, t, t, beyond=after)


def loss(rows):
    """Twice the least concave function above regret and its limits, at one half: the best of all pairs of points."""
    zero = 0 * rows[0][0]
    points = [(zero, zero), (zero + 1, zero)]
    points += [(t, regret(rows, t, after)) for t in {v for v, _, _ in rows} for after in (False, True)]
    highest = max((r for t, r in points if 2 * t == 1), default=zero)
    for a, low in points:
        for b, high in points:
            if 2 * a < 1 < 2 * b:
                highest = max(highest, (low * (2 * b - 1) + high * (1 - 2 * a)) / (2 * (b - a)))
    return 2 * highest


def shares(y_true, y_prob, sample_weight=None):
    weight = [1.0] * len(y_prob) if sample_weight is None else [float(w) for w in sample_weight]
    total = sum(weight)
    return [(float(v), float(y), w / total) for v, y, w in zip(y_prob, y_true, weight, strict=True)]


def monotone_decision_loss(y_true, y_prob, sample_weight=None):
    return loss(shares(y_true, y_prob, sample_weight))
