"""Corrections of log-odds by features, fitted to cells of them: blocks of segments, and boosted trees.

Each feature and pair is shrunk by as much as its own cells show; trees are as many as do best on rows left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels.trees import best_cut, sums_by_cell, walked
from calibrant.recalibration.by_segment.table import Cut, blocks_of, crossing
from calibrant.recalibration.kinds import check, check_size, column, optional
from calibrant.resampling.folds import Split

_SPREADS = np.logspace(-4.0, 1.0, 26)[:, None]
"""Variances of the corrections within a block that are tried at first, in squared units of log-odds."""
MOST_PARTS = 30
_LEAST_INFORMATION = 1.0  # sum of v (1 - v) in a cell that is corrected by itself
_STEP = 1.0  # most that one Newton step moves log-odds
_SETTLED = 1e-4
_SWEEPS = 20
_FAR = 700.0  # log-odds whose exponential is finite
_NESTED = _SWEEPS // 4
_REPEATS = 3  # of a block in a sweep
LARGEST_SHIFT = (2 * MOST_PARTS + MOST_PARTS * _NESTED + _SWEEPS) * _STEP
"""Steps in all sweeps: two a part that enters, more for each that is taken out, and the last."""
LARGEST_CHANGE = MOST_PARTS * (_SWEEPS * _STEP + _REPEATS * LARGEST_SHIFT)
"""Steps of all parts, when they enter and in all sweeps."""


class Block(NamedTuple):
    """Corrections for the cells of one feature, or of a pair crossed."""

    features: tuple[int, ...]  # which features
    change: FloatArray  # (k,): what is added to the log-odds in each cell
    rows: FloatArray  # (k,): rows that the cell had in the fit
    # (k,): mean of all that is added to the log-odds of these rows, by other blocks and the shift too; 0 without rows.
    # None where it was saved without.
    net: FloatArray | None = None


class _Start(NamedTuple):
    """Candidate for the next correction: all cells of a block, or one of them alone."""

    gain: float
    spread: float
    features: tuple[int, ...]
    only: int | None


@dataclass(slots=True)
class _Corrections:
    """Corrections that share a variance."""

    features: tuple[int, ...]
    only: int | None
    proof: float
    spread: float
    cell: IntArray
    change: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """Rows that corrections are fitted to: what was predicted, what happened, and how much it tells."""

    # offset, outcome, weight: (n,), old log-odds, outcomes, and weights whose sum is the effective number of rows
    offset: FloatArray
    outcome: FloatArray
    weight: FloatArray

    def residual_and_information(self, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and minus second derivative of each row's log-likelihood in its log-odds."""
        sign = np.where(self.outcome > 0.5, 1.0, -1.0)
        odds = np.exp(np.minimum(sign * score, _FAR))  # of what happened
        away = 1.0 / (1.0 + odds)
        return self.weight * sign * away, self.weight * odds * away * away

    def likelihood(self, score: FloatArray) -> float:
        """Weighted log-likelihood."""
        wrong = np.where(self.outcome > 0.5, -score, score)
        return float(-self.weight @ (np.maximum(wrong, 0.0) + np.log1p(np.exp(-np.abs(wrong)))))

    def part(self, at: IntArray) -> Fitting:
        """Some of the rows."""
        return Fitting(self.offset[at], self.outcome[at], self.weight[at])


def fit_corrections(
    rows: Fitting, cells: list[list[IntArray]], cuts: list[list[Cut]]
) -> tuple[float, tuple[Block, ...]]:
    """One shift for all rows, and corrections by feature and by pair, the simplest first.

    `cells` and `cuts` hold, for each depth, every feature's; the prediction is feature 0. The corrections of a block,
    or of a single cell of one, are normal with mean 0 and a variance of their own, which is found by maximum
    likelihood (Laplace's approximation, Fellner and Schall's update). They enter one after another while the
    likelihood ratio, times the prior odds, is above 1. Before the rows are seen, the odds of a block are 1 to four
    times the number of blocks, and those of a single cell 1 to four times the number of cells. At the end a feature's
    corrections are taken out where those of its pairs explain as much.
    """
    score, shift = rows.offset.copy(), 0.0
    parts: list[_Corrections] = []
    for depth, (of_depth, cut) in enumerate(zip(cells, cuts, strict=True), start=1):
        tried: set[tuple[tuple[int, ...], int | None]] = set()
        while len(parts) < MOST_PARTS:
            start, proof = _most_promising(rows, score, blocks_of(len(cut), depth), tried, of_depth, cut)
            if start.gain <= proof:
                break
            tried.add((start.features, start.only))
            cell, size = crossing(of_depth, cut, start.features)
            part = _Corrections(start.features, start.only, proof, start.spread, cell, np.zeros(size))
            bend = _refit(rows, score, part, _SWEEPS)
            corrected_score = score + part.change[cell]
            if rows.likelihood(corrected_score) - rows.likelihood(score) - _price(part, bend) <= proof:
                continue
            parts.append(part)
            score = corrected_score
            score, shift = _settled(rows, score, shift, parts, 2)
    if parts:
        score, shift, parts = _without_nested(rows, score, shift, parts)
        score, shift = _settled(rows, score, shift, parts, _SWEEPS)
    blocks: dict[tuple[int, ...], Block] = {}
    for part in parts:
        if np.abs(part.change).max() > _SETTLED:
            known = blocks.get(part.features)
            change = part.change if known is None else known.change + part.change
            blocks[part.features] = Block(part.features, change, _sums(part.cell, None, change.size))
    fits = tuple(blocks.values())
    moved = corrected(rows.offset, shift, fits, cells, cuts) - rows.offset
    return shift, tuple(_with_net(block, moved, cells, cuts) for block in fits)


def _with_net(block: Block, moved: FloatArray, cells: list[list[IntArray]], cuts: list[list[Cut]]) -> Block:
    """The block with what the rows of each cell are moved by in all."""
    depth = len(block.features) - 1
    cell = crossing(cells[depth], cuts[depth], block.features)[0]
    return block._replace(net=_sums(cell, moved, block.rows.size) / np.maximum(block.rows, 1.0))


def corrected(
    offset: FloatArray, shift: float, blocks: tuple[Block, ...], cells: list[list[IntArray]], cuts: list[list[Cut]]
) -> FloatArray:
    """Log-odds with the corrections added."""
    score = offset + shift
    for block in blocks:
        depth = len(block.features) - 1
        score = score + block.change[crossing(cells[depth], cuts[depth], block.features)[0]]
    return score


def _sums(cell: IntArray, values: FloatArray | None, size: int) -> FloatArray:
    """Sum of the values in each cell; without values the rows in it."""
    return np.asarray(np.bincount(cell, values, size), dtype=np.float64)


def _most_promising(
    rows: Fitting,
    score: FloatArray,
    blocks: list[tuple[int, ...]],
    tried: set[tuple[tuple[int, ...], int | None]],
    cells: list[IntArray],
    cuts: list[Cut],
) -> tuple[_Start, float]:
    """Return the candidate of the highest posterior odds, by a quadratic, and the log likelihood ratio it needs."""
    residual, information = rows.residual_and_information(score)
    whole = alone = _Start(-np.inf, 1.0, (), None)
    singles = 0
    for features in blocks:
        cell, size = crossing(cells, cuts, features)
        slope, bend = _sums(cell, residual, size), _sums(cell, information, size)
        ratio = 0.5 * (_SPREADS * slope**2 / (1.0 + bend * _SPREADS) - np.log1p(bend * _SPREADS))
        total = ratio.sum(axis=1)
        at = int(np.argmax(total))
        if total[at] > whole.gain and (features, None) not in tried:
            whole = _Start(float(total[at]), float(_SPREADS[at, 0]), features, None)
        each = np.where(bend >= _LEAST_INFORMATION, ratio.max(axis=0), -np.inf)
        singles += int(np.isfinite(each).sum())
        each[[only for known, only in tried if known == features and only is not None]] = -np.inf
        best = int(np.argmax(each))
        if each[best] > alone.gain:
            alone = _Start(float(each[best]), float(_SPREADS[np.argmax(ratio[:, best]), 0]), features, best)
    needed = float(np.log(4.0 * max(len(blocks), 1))), float(np.log(4.0 * max(singles, 1)))
    return (whole, needed[0]) if whole.gain - needed[0] >= alone.gain - needed[1] else (alone, needed[1])


def _refit(rows: Fitting, others: FloatArray, part: _Corrections, steps: int) -> FloatArray:
    """Fit a block and its variance given all else; returns the information of each cell before the last step."""
    moving = _moving(rows, others, part)
    for _ in range(steps):
        step, bend = _newton(*moving, part)
        if step < _SETTLED:
            break
        freedom = float((bend * part.spread / (1.0 + bend * part.spread)).sum())
        part.spread = float(np.clip(part.change @ part.change / max(freedom, 1e-12), 1e-6, 9.0))
    return bend


def _moving(rows: Fitting, others: FloatArray, part: _Corrections) -> tuple[Fitting, FloatArray, IntArray]:
    """The rows that a part can move, with their log-odds and cells."""
    if part.only is None:
        return rows, others, part.cell
    at = np.flatnonzero(part.cell == part.only)
    return rows.part(at), others[at], part.cell[at]


def _newton(rows: Fitting, others: FloatArray, cell: IntArray, part: _Corrections) -> tuple[float, FloatArray]:
    """One step towards the penalised fit at the part's variance: its size, and the information of each cell before."""
    size = part.change.size
    residual, information = rows.residual_and_information(others + part.change[cell])
    bend = _sums(cell, information, size)
    slope = _sums(cell, residual, size) - part.change / part.spread
    step = np.clip(slope / (bend + 1.0 / part.spread), -_STEP, _STEP)
    part.change = part.change + step
    return float(np.abs(step).max()), bend


def _price(part: _Corrections, bend: FloatArray) -> float:
    """Return the gain in likelihood that the corrections of a part need, by Laplace's approximation."""
    return 0.5 * float(part.change @ part.change / part.spread + np.log1p(bend * part.spread).sum())


def _without_nested(
    rows: Fitting, score: FloatArray, shift: float, parts: list[_Corrections]
) -> tuple[FloatArray, float, list[_Corrections]]:
    """Take out features whose pairs explain as much, one after another."""
    for part in parts:
        rest = [replace(other) for other in parts if other is not part]
        if not any(set(part.features) < set(other.features) for other in rest):
            continue
        fewer, moved = _settled(rows, score - part.change[part.cell], shift, rest, _NESTED)
        if _evidence(rows, fewer, rest) + part.proof >= _evidence(rows, score, parts):
            return _without_nested(rows, fewer, moved, rest)
    return score, shift, parts


def _evidence(rows: Fitting, score: FloatArray, parts: list[_Corrections]) -> float:
    """Log-likelihood less what the corrections cost, each by itself."""
    information = rows.residual_and_information(score)[1]
    total = rows.likelihood(score)
    for part in parts:
        bend = _sums(part.cell, information, part.change.size)
        if part.only is not None:
            bend = np.where(np.arange(bend.size) == part.only, bend, 0.0)
        total -= _price(part, bend)
    return total


def _settled(
    rows: Fitting, score: FloatArray, shift: float, parts: list[_Corrections], sweeps: int
) -> tuple[FloatArray, float]:
    """All blocks and the shift fitted in turn, each given the others."""
    for _ in range(sweeps):
        before = score
        residual, information = rows.residual_and_information(score)
        step = float(np.clip(residual.sum() / max(information.sum(), 1e-12), -_STEP, _STEP))
        score, shift = score + step, shift + step
        for part in parts:
            others = score - part.change[part.cell]
            _refit(rows, others, part, _REPEATS)
            score = others + part.change[part.cell]
        if np.abs(score - before).max() < _SETTLED:
            break
    return score, shift


def read_block(value: Any, name: str) -> Block:
    """A block from JSON's own types."""
    check(type(value) is list and len(value) in (3, 4), name, "must be features, corrections, rows and net corrections")
    features, change, rows, net = (*value, None)[:4]
    whole = type(features) is list and all(type(each) is int and each >= 0 for each in features)
    check(whole and features == sorted(set(features)), name, "must be of different features in their order")
    check(len(features) in (1, 2), name, "must be of one feature or two")
    block = Block(tuple(features), column(change, name), column(rows, name), optional(column)(net, name))
    sizes = {each.size for each in block[1:] if each is not None}
    check(len(sizes) == 1, name, "must have as many corrections as cells")
    check((block.rows >= 0.0) & (block.rows <= 2.0**53), name, "must have from 0 to 2**53 rows")
    check_size(block.change, name, LARGEST_CHANGE)
    if block.net is not None:
        check_size(block.net, name, LARGEST_SHIFT + LARGEST_CHANGE)
    return block


_LEAVES = 8
_LEAF_ROWS = 50.0  # to a leaf
_LEAF_INFORMATION = 1.0  # sum of v (1 - v) in a leaf
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
        """Number of trees."""
        return len(self.feature)

    def change(self, cells: Cells) -> FloatArray:
        """Return the term added to the log-odds of each row."""
        change = np.zeros(len(cells))
        walked(cells, *self, change)
        return change


def most_moved(trees: Trees, cells: Cells, features: Sequence[str | int]) -> str:
    """Say how far the trees move the log-odds of these rows, and by which features most.

    A feature counts by how its cells' mean changes spread over the rows; the first column is the prediction.
    """
    change = trees.change(cells)
    spread = []
    for cell in cells.T:
        mean = np.bincount(cell, change) / np.maximum(np.bincount(cell), 1)
        spread.append(float(np.std(mean[cell])))
    first = sorted(range(1, len(features)), key=lambda k: -spread[k])[:2]
    by = " and ".join(str(features[k]) for k in first if spread[k] > 0.0)
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
    gain, feature = best_cut(sums, *features, _PENALTY, _LEAF_ROWS, _LEAF_INFORMATION, order, left)
    return _Cut(gain, feature, left)


def _loss(rows: Fitting, score: FloatArray) -> float:
    """Mean log score."""
    return -rows.likelihood(score) / max(float(rows.weight.sum()), 1e-300)
