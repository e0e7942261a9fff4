"""Smooth calibration error by its definition, one distinct prediction at a time."""

import numpy as np


def smooth_calibration_error(y_true, y_prob, sample_weight=None):
    """Maximum of sum b_j x_j over |x_j| <= 1, |x_{j+1} - x_j| <= v_{j+1} - v_j, by tabulating the best sum so far.

    best(t) = the largest sum over the predictions seen, given that the last height is t. It is concave and
    piecewise linear, so its values at its breakpoints are the whole function.
    """
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    weight = weight / weight.sum()
    heights = np.array([-1.0, 1.0])
    best = np.zeros(2)
    previous = None
    for v in sorted(set(y_prob.tolist())):
        here = y_prob == v
        if previous is not None:
            gap = v - previous
            peak = heights[np.argmax(best)]
            # The sum can bend at the ends, at the peak and where it bent before, moved away from the peak.
            left, right = heights[heights <= peak] - gap, heights[heights >= peak] + gap
            moved = np.unique(np.concatenate([[-1.0, 1.0], left[left > -1.0], right[right < 1.0]]))
            # From t the last height could have been anything in [t - gap, t + gap]: nearest to the peak is best.
            best = np.interp(np.clip(peak, moved - gap, moved + gap), heights, best)
            heights = moved
        best = best + np.sum(weight[here] * (y_true[here] - v)) * heights
        previous = v
    return float(best.max())


def smooth_calibration_test(y_true, y_prob, sample_weight=None):
    return smooth_calibration_error(y_true, y_prob, sample_weight)
