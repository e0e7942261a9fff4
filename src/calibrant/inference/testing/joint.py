"""The statistics of `calibration_test` of weighted rows whose weights are drawn again together with outcomes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.rows import Rows
from calibrant.inference.testing.components import Components
from calibrant.inference.testing.lots import UncertainLots
from calibrant.inference.testing.result import impossible_rows
from calibrant.resampling.joint import JointRows
from calibrant.resampling.threads import in_blocks


def lots_of_joint(joint: JointRows, rows: Rows) -> UncertainLots:
    """The rows as lots, at their predictions and with their weights."""
    one = np.ones(joint.weight.size)
    ones, impossible = joint.outcome.astype(np.float64), impossible_rows(rows)
    return UncertainLots(joint.prediction, one, ones, joint.weight, rows.y_prob.size, impossible, 0.0)


def joint_statistics(
    joint: JointRows, lots: UncertainLots, n_resamples: int, seed: np.uint64
) -> tuple[Components, FloatArray]:
    """Return the components, and statistics of the rows and of redrawn ones, shape (1 + n_resamples, names).

    The excess w (y - v) of mean weights is that of the outcome over its chance, times a factor of v: directions are
    those of rows with that chance, and with weights that have the excess's variance.
    """
    parts = Components.of(replace(lots, prediction=joint.chance, weight=joint.spread))
    sizes, n_blocks = np.array(parts.sizes), parts.wave.shape[0]
    total = float((joint.spread**2 * joint.chance * (1.0 - joint.chance)).sum())
    inside = np.flatnonzero(np.diff(parts.block, prepend=-1))  # first row of each stretch that holds any
    table = np.empty((1 + n_resamples, len(parts.names)))
    ends = (2 ** np.arange(1, round(math.log2(n_blocks)))).cumsum()
    scales = np.split(parts.inverse, ends)
    joint.neighbours  # noqa: B018  # before threads ask for it

    def fill(start: int, stop: int) -> None:
        for first in range(start, stop, lanes_at_once):
            look(first, table[first : min(stop, first + lanes_at_once)])

    def look(first: int, out: FloatArray) -> None:
        lanes = len(out)
        excess = joint.excesses(seed, first, lanes)
        sums, squares = np.zeros((n_blocks, lanes)), np.zeros((n_blocks, lanes))
        sums[parts.block[inside]] = np.add.reduceat(excess, inside, axis=0)
        out[:, 0] = sums.sum(axis=0) ** 2 / total + np.einsum("i,ij->j", parts.slope, excess) ** 2
        excess *= excess
        squares[parts.block[inside]] = np.add.reduceat(excess, inside, axis=0)
        along = np.einsum("bk,bj->kj", parts.wave, sums)
        out[:, 1 : 1 + sizes.size] = (along**2).cumsum(axis=0)[sizes - 1].T
        for k, scale in enumerate(scales, 1 + sizes.size):
            stretches = (scale.size, n_blocks // scale.size, lanes)
            moved, own = (each.reshape(stretches).sum(axis=1) for each in (sums, squares))
            out[:, k] = np.einsum("g,gj->j", scale, moved * moved - own)

    lanes_at_once = joint.lanes
    in_blocks(fill, 1 + n_resamples, work=joint.weight.size * n_resamples, multiple=lanes_at_once)
    return parts, table
