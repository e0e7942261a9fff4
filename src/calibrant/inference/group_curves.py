"""Smoothed residuals of rows that depend on one another within groups, and the same with random signs of the groups."""

from __future__ import annotations

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.resampling.redraw import random_signs

_BLOCK = 128  # resamples, or groups, at a time


def signed_curves(
    smoother: FloatArray,
    stratum: IntArray,
    residual: FloatArray,
    group: IntArray,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Curves at the smoother's points: the one observed, then redrawn ones; and its standard deviation by group.

    `smoother` is (points, strata); `stratum`, `residual` and `group` are of rows.
    """
    from scipy.sparse import coo_array

    n_groups = int(group.max()) + 1
    each = coo_array((residual, (stratum, group)), (smoother.shape[1], n_groups)).tocsc()
    squared = np.zeros(smoother.shape[0])
    curves = [smoother @ np.asarray(each @ np.ones((n_groups, 1)))]
    for start in range(0, n_resamples, _BLOCK):
        signs = random_signs(rng, (n_groups, min(_BLOCK, n_resamples - start)))
        curves.append(smoother @ np.asarray(each @ signs))
    for start in range(0, n_groups, _BLOCK):
        squared += ((smoother @ each[:, start : start + _BLOCK].toarray()) ** 2).sum(axis=1)
    return np.concatenate(curves, axis=1), np.sqrt(squared)
