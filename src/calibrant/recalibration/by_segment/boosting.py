"""Boosted trees that correct log-odds, on cells of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels.trees import best_cut, sums_by_cell, walked
from calibrant.recalibration.by_segment.corrections import Fitting
from calibrant.resampling.folds import Split

_LEAVES = 8
_LEAST_ROWS = 50.0  # to a leaf
_LEAST_INFORMATION = 1.0  # sum of v (1 - v) in a leaf
_RATE = 0.05
_PENALTY = 10.0
_PATIENCE = 20  # trees without a better log score on the rows left out
_MOST_TREES = 400

Cells = npt.NDArray[np.int16]
"""Cell of each row, shape (n, d); the last of a feature is of missing values."""


class Features(NamedTuple):
    """Of each feature, the cell of missing values, which comes last, and whether cells are categories."""

    missing: IntArray
    categories: npt.NDArray[np.bool_]


class Trees(NamedTuple):
    """Trees that were fitted, as `calibrant.kernels.trees.walked` takes them."""

    feature: IntArray
    left: npt.NDArray[np.bool_]
    below: IntArray
    value: FloatArray

    @property
    def n_trees(self) -> int:
        """How many."""
        return len(self.feature)

    def change(self, cells: Cells) -> FloatArray:
        """Return the term added to the log-odds of each row."""
        change = np.zeros(len(cells))
        walked(cells, *self, change)
        return change


def most_moved(trees: Trees, cells: Cells, names: Sequence[str | int]) -> str:
    """Say how far the trees move the log-odds of these rows, and by which features most.

    A feature counts by how its cells' mean changes spread over the rows; the first column is the prediction.
    """
    change = trees.change(cells)
    spread = []
    for column in cells.T:
        mean = np.bincount(column, change) / np.maximum(np.bincount(column), 1)
        spread.append(float(np.std(mean[column])))
    first = sorted(range(1, len(names)), key=lambda k: -spread[k])[:2]
    by = " and ".join(str(names[k]) for k in first if spread[k] > 0.0)
    moved = f" (log-odds move by {np.abs(change).mean():.2g} on average, by {np.abs(change).max():.2g} at most"
    return f"{moved}, most by {by})" if by else f"{moved})"


def fit_boosted(rows: Fitting, cells: Cells, features: Features, splits: list[Split]) -> Trees | None:
    """Trees on the features with the old log-odds as offset, as many as do best on rows left out; None if none does.

    How many trees do best on the rows that each split leaves out, on average, is what is then fitted to all rows.
    """
    curves = [_fit(rows, cells, features, inside, outside, _MOST_TREES)[1] for inside, outside in splits]
    longest = max(map(len, curves))
    # A curve ends where it has risen for long: it stays there.
    mean = np.mean([curve + [curve[-1]] * (longest - len(curve)) for curve in curves], axis=0)
    steps = int(np.argmin(mean))
    return _fit(rows, cells, features, np.arange(rows.offset.size), None, steps)[0] if steps else None


def _fit(
    rows: Fitting, cells: Cells, features: Features, at: IntArray, validation: IntArray | None, most: int
) -> tuple[Trees | None, list[float]]:
    """Trees fitted one after another to some rows, and the log scores of others before and after each.

    Each takes a step of Newton's from the log-odds that all before it have reached.
    """
    inside, table = rows.part(at), cells[at]
    columns, score = np.ascontiguousarray(table.T), inside.offset.copy()
    left_out = np.empty(0, np.int64) if validation is None else validation
    outside, unseen = rows.part(left_out), cells[left_out]
    reached = outside.offset.copy()
    losses = [] if validation is None else [_loss(outside, reached)]
    trees: list[Trees] = []
    for _ in range(most):
        grown = _grown(table, columns, features, *inside.residual_and_information(score))
        if grown is None:
            break  # without a split it only shifts all rows, which is no correction by features
        tree, leaves = grown
        trees.append(tree)
        for value, leaf in zip(tree.value[0, : len(leaves)].tolist(), leaves, strict=True):
            score[leaf] += value
        if validation is not None:
            walked(unseen, *tree, reached)
            losses.append(_loss(outside, reached))
            if len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE:
                break
    return Trees(*map(np.concatenate, zip(*trees, strict=True))) if trees else None, losses


class _Cut(NamedTuple):
    """A leaf's best division: twice what it gains, by which feature, and which of its cells go left."""

    gain: float
    feature: int
    left: npt.NDArray[np.bool_]


class _Leaf(NamedTuple):
    """Rows in a leaf, their sums by cell, the best division, and the entry of `below` that leads here."""

    rows: IntArray
    sums: FloatArray
    cut: _Cut
    above: tuple[int, int] | None


def _grown(
    cells: Cells, columns: Cells, features: Features, residual: FloatArray, information: FloatArray
) -> tuple[Trees, list[IntArray]] | None:
    """One tree and the rows of its leaves; the leaf that gains most is divided first. None where no division gains.

    `columns` are the cells again, one feature after another.
    """
    n_cells = int(features.missing.max()) + 1

    def leaf(part: IntArray, sums: FloatArray | None, above: tuple[int, int] | None) -> _Leaf:
        if sums is None:
            sums = np.zeros((features.missing.size, n_cells, 3))
            sums_by_cell(cells, part, residual, information, sums)
        return _Leaf(part, sums, _best_cut(sums, features), above)

    leaves = [leaf(np.arange(len(cells)), None, None)]
    feature, below = np.zeros((1, _LEAVES - 1), np.int64), np.full((1, _LEAVES - 1, 2), -1)
    left = np.zeros((1, _LEAVES - 1, n_cells), bool)
    for node in range(_LEAVES - 1):
        best = max(range(len(leaves)), key=lambda k: leaves[k].cut.gain)
        if leaves[best].cut.gain <= 0.0:
            break
        whole = leaves.pop(best)
        if whole.above is not None:
            below[0, *whole.above] = node
        feature[0, node], left[0, node] = whole.cut.feature, whole.cut.left
        goes = whole.cut.left[columns[whole.cut.feature][whole.rows]]
        parts = [whole.rows.compress(goes), whole.rows.compress(~goes)]
        few = int(parts[1].size < parts[0].size)
        smaller = leaf(parts[few], None, (node, few))
        leaves += [smaller, leaf(parts[1 - few], whole.sums - smaller.sums, (node, 1 - few))]
    if len(leaves) == 1:
        return None
    value = np.zeros((1, _LEAVES))
    for k, each in enumerate(leaves):
        assert each.above is not None
        below[0, *each.above] = -1 - k
        slope, bend, _ = each.sums[0].sum(axis=0)
        value[0, k] = _RATE * slope / (bend + _PENALTY)
    return Trees(feature, left, below, value), [each.rows for each in leaves]


def _best_cut(sums: FloatArray, features: Features) -> _Cut:
    left = np.zeros(sums.shape[1], bool)
    order = np.empty(sums.shape[1], np.int64)
    gain, feature = best_cut(sums, *features, _PENALTY, _LEAST_ROWS, _LEAST_INFORMATION, order, left)
    return _Cut(gain, feature, left)


def _loss(rows: Fitting, score: FloatArray) -> float:
    """Mean log score."""
    return -rows.likelihood(score) / max(float(rows.weight.sum()), 1e-300)
