"""`calibration_test` of rows that depend on one another within groups: the signs of whole groups are redrawn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.calibration_parts import COX, GROUPS, WAVES, Parts
from calibrant.inference.calibration_units import Units
from calibrant.resampling.redraw import random_signs

if TYPE_CHECKING:
    from scipy import sparse

_AT_ONCE = 64  # resamples


def signed_statistics(units: Units, n_resamples: int, seed: np.uint64) -> tuple[Parts, FloatArray]:
    """What is looked at, and the statistics of the outcomes and of redrawn signs, shape (1 + n_resamples, names).

    Each is |s P|^2 less the sum of squares in P, where s holds the signs of the groups, at first all 1, and P each
    group's sums along directions that do not depend on outcomes. Products of different groups are what is left: their
    mean is 0 for calibrated predictions with any dependence within groups, and for random signs.
    """
    from scipy import sparse

    group, excess = units.group, units.excess
    assert group is not None
    n_groups = int(group.max()) + 1
    parts = Parts.of(replace(units, n_rows=min(units.n_rows, n_groups)))
    n_blocks, sizes = parts.wave.shape[0], np.array(parts.sizes)
    constant = 1.0 / math.sqrt(float(units.variance.sum()))
    line = np.stack([_sums(group, excess * each, n_groups) for each in (constant, parts.slope)], axis=1)
    stretches = sparse.coo_array((excess, (group, parts.block)), (n_groups, n_blocks)).tocsr()
    # Over 2, 4, ... stretches: which are joined, and one over the deviation of each.
    ends = (2 ** np.arange(1, round(math.log2(n_blocks)))).cumsum()
    scales = np.split(np.sqrt(parts.inverse), ends)
    joins = [_joining(n_blocks, each.size) @ sparse.diags_array(each) for each in scales]

    waves = np.asarray(stretches @ parts.wave)
    along = [((COX, 2), line), *(((WAVES, size), waves[:, :size]) for size in parts.sizes)]
    along += [((GROUPS, join.shape[1]), stretches @ join) for join in joins]
    own = [np.asarray((columns * columns).sum(axis=1)) for _, columns in along]
    mean = np.array([each.sum() for each in own])
    products = np.array([((columns.T @ columns) ** 2).sum() for _, columns in along])
    variance = 2.0 * (products - np.array([(each**2).sum() for each in own]))
    # |s P|^2 is like a gamma variable of its mean and variance; where it is 0 nothing is said.
    safe = np.where(mean > 0.0, mean, 1.0)
    shape = safe**2 / np.maximum(variance, 1e-3 * safe**2)
    names = tuple(name for name, _ in along)
    fitted = replace(parts, names=names, shape=shape, stretch=shape / safe, shift=np.where(mean > 0.0, shape, 0.0))

    rng = np.random.default_rng(int(seed))
    found = np.empty((1 + n_resamples, len(along)))
    for first in range(0, 1 + n_resamples, _AT_ONCE):
        out = found[first : first + _AT_ONCE]
        signs = random_signs(rng, (len(out), n_groups))
        if first == 0:
            signs[0] = 1.0
        sums = np.asarray(stretches.T @ signs.T).T
        out[:, 0] = ((signs @ line) ** 2).sum(axis=1)
        out[:, 1 : 1 + sizes.size] = ((sums @ parts.wave) ** 2).cumsum(axis=1)[:, sizes - 1]
        for k, join in enumerate(joins, 1 + sizes.size):
            out[:, k] = (np.asarray(join.T @ sums.T) ** 2).sum(axis=0)
    return fitted, found - mean


def _sums(group: IntArray, column: FloatArray, n_groups: int) -> FloatArray:
    return np.asarray(np.bincount(group, column, n_groups), np.float64)


def _joining(n_blocks: int, groups: int) -> sparse.csr_array:
    k = np.arange(n_blocks)
    from scipy.sparse import coo_array

    return coo_array((np.ones(n_blocks), (k, k * groups // n_blocks)), (n_blocks, groups)).tocsr()
