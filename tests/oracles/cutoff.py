"""Cutoff calibration error by its definition: every interval of predictions."""


def largest_sum(rows):
    """Largest |sum of w (y - v)| over intervals, for rows (v, y, w); exact if these are rational."""
    cuts = sorted({v for v, _, _ in rows})
    sums = [sum(w * (y - v) for v, y, w in rows if v == cut) for cut in cuts]
    return max(abs(sum(sums[i : j + 1])) for i in range(len(cuts)) for j in range(i, len(cuts)))


def cutoff_calibration_error(y_true, y_prob, sample_weight=None):
    weight = [1.0] * len(y_prob) if sample_weight is None else [float(w) for w in sample_weight]
    total = sum(weight)
    return largest_sum([(float(v), float(y), w / total) for v, y, w in zip(y_prob, y_true, weight, strict=True)])
