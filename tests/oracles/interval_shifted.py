"""Random and surrogate interval errors: every shift of the grid that differs from its neighbours, in turn."""

import math

import numpy as np


def random_interval_calibration_error(y_true, y_prob, sample_weight=None, width=0.1):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    residual = weight * (y_true - y_prob) / weight.sum()
    # A row changes bin at the shift v mod width; between such shifts nothing changes, so the middle stands for all.
    offset = np.array([math.fmod(v, width) for v in y_prob])
    cell = np.round((y_prob - offset) / width)
    shifts = np.unique(np.concatenate([[0.0], offset, [width]]))
    low, high = shifts[:-1], shifts[1:]  # the shift lies between these two, beyond offsets <= low
    names, place = np.unique(np.concatenate([cell - 1, cell]), return_inverse=True)
    bins = np.where(offset > low[:, None], place[y_prob.size :], place[: y_prob.size])
    sums = np.zeros((low.size, names.size))  # the residual of every bin under every shift
    np.add.at(sums, (np.arange(low.size)[:, None], bins), residual)
    return float((high - low) @ np.abs(sums).sum(axis=1) / width)


def surrogate_interval_calibration_error(y_true, y_prob, sample_weight=None):
    y_true, y_prob = np.asarray(y_true, float), np.asarray(y_prob, float)
    weight = np.ones_like(y_prob) if sample_weight is None else np.asarray(sample_weight, float)
    residual = weight * (y_true - y_prob) / weight.sum()
    limit = sum(abs(residual[y_prob == v].sum()) for v in set(y_prob.tolist()))
    return min(
        limit, *(random_interval_calibration_error(y_true, y_prob, weight, 2.0**-k) + 2.0**-k for k in range(45))
    )
