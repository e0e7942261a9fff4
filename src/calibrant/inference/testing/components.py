"""The components of `calibration_test`: what each looks at, its p-value from a formula, and its redraws."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.inference.testing.lots import UncertainLots
from calibrant.inference.testing.result import impossible_rows
from calibrant.kernels.calibration import LANES, redrawn_statistics
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import random_signs
from calibrant.threads import in_blocks

if TYPE_CHECKING:
    from scipy import sparse

MOST_BLOCKS = 2**10
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""How many waves are summed."""
COX, WAVES, GROUPS = "Cox score", "adaptive Neyman", "dyadic chi-square"


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Matrices of all components of the lots; nothing here depends on outcomes.

    Attributes
    ----------
    block : ndarray of shape (k,)
        Which stretch of about equal variance each unit is in.
    slope : ndarray of shape (k,)
        Log-odds, centred by variance, scaled so that their score has variance 1; 0 where all are equal.
    wave : ndarray of shape (blocks, waves)
        The constant and cosines in variance time, orthogonal by variance and scaled likewise; 0 where they say nothing.
    sizes : tuple of int
        How many waves are summed.
    inverse : ndarray
        One over the variance of each group, of 2, 4, ... groups; 0 where a group is empty.
    names : tuple of (str, int)
        Component, and within it waves or groups, of each statistic.
    shape, stretch, shift : ndarray
        A statistic x is like a gamma variable of that shape after stretch * x + shift.
    """

    block: IntArray
    slope: FloatArray
    wave: FloatArray
    sizes: tuple[int, ...]
    inverse: FloatArray
    names: tuple[tuple[str, int], ...]
    shape: FloatArray
    stretch: FloatArray
    shift: FloatArray

    @classmethod
    def of(cls, lots: UncertainLots) -> Components:
        """Make the components of these lots."""
        variance = lots.variance
        total = float(variance.sum())
        time = (np.cumsum(variance) - 0.5 * variance) / total
        n_blocks = 2
        while 2 * n_blocks <= min(MOST_BLOCKS, lots.n_rows):
            n_blocks *= 2
        block = np.minimum((time * n_blocks).astype(np.int64), n_blocks - 1)
        slope = _slope(lots, variance, total)
        part = np.asarray(np.bincount(block, variance, n_blocks), np.float64)
        moment = np.asarray(np.bincount(block, variance * time, n_blocks), np.float64)
        wave = _waves(moment, part, min(SIZES[-1], n_blocks))
        sizes = tuple(size for size in SIZES if size <= wave.shape[1])
        pq = lots.prediction * (1.0 - lots.prediction)
        fourth = lots.weight**4 * lots.count * pq * (1.0 - 6.0 * pq)  # cumulants of the lots' excess

        both = 1.0 / total + slope**2
        degrees = [1.0 + float(slope.any())]
        extra = [float((fourth * both**2).sum())]
        fourths = np.bincount(block, fourth, n_blocks)
        running = np.cumsum(wave**2, axis=1)
        alive = np.cumsum((wave != 0.0).any(axis=0))
        for size in sizes:
            degrees.append(float(alive[size - 1]))
            extra.append(float((fourths * running[:, size - 1] ** 2).sum()))
        names = [(COX, 2), *((WAVES, size) for size in sizes)]
        mean = np.maximum(degrees, 1.0)  # no less: the line or the constant is there. Nothing is divided by 0
        spread = np.maximum(2.0 * mean + np.array(extra), 0.1 * mean)
        shape, stretch = mean**2 / spread, mean / spread

        inverse, squares, cubes = _groups(lots, variance, block, n_blocks)
        names += [(GROUPS, 2 ** (k + 1)) for k in range(squares.size)]
        met = squares > 0.0
        skewness = np.where(met, cubes / np.where(met, squares, 1.0) ** 1.5, 1.0)
        of_groups = 4.0 / np.maximum(skewness, 0.01) ** 2
        factor = np.where(met, np.sqrt(of_groups / np.where(met, squares, 1.0)), 0.0)
        return cls(
            block,
            slope,
            wave,
            sizes,
            inverse,
            tuple(names),
            np.concatenate([shape, of_groups]),
            np.concatenate([stretch, factor]),
            np.concatenate([np.zeros(shape.size), np.where(met, of_groups, 0.0)]),
        )

    def statistics(self, lots: UncertainLots, n_resamples: int, seed: np.uint64) -> FloatArray:
        """Statistics of the outcomes, then of redrawn ones, shape (1 + n_resamples, number of names)."""
        table = np.empty((1 + n_resamples, len(self.names)))
        columns = np.stack([lots.prediction, lots.count, lots.ones, lots.weight, self.slope])
        sizes = np.array(self.sizes)

        def fill(first: int, last: int) -> None:
            redrawn_statistics(columns, self.block, self.wave, sizes, self.inverse, seed, first, table[first:last])

        in_blocks(fill, 1 + n_resamples, work=(1 + n_resamples) * self.block.size, multiple=LANES)
        return table

    def logs(self, statistics: FloatArray) -> FloatArray:
        """Log p-values of statistics by formula."""
        from scipy.special import gammaincc

        x = np.maximum(statistics * self.stretch + self.shift, 0.0)
        p = gammaincc(self.shape, x)
        deep = p < 1e-290
        out = np.log(np.where(deep, 1.0, p))
        if deep.any():
            out[deep] = _log_tail(np.broadcast_to(self.shape, x.shape)[deep], x[deep])
        return np.asarray(out)


def drawn_statistics(lots: UncertainLots, n_resamples: int, seed: np.uint64) -> tuple[Components, FloatArray]:
    """Return the components, and statistics of the outcomes and of redrawn ones."""
    parts = Components.of(lots)
    return parts, parts.statistics(lots, n_resamples, seed)


def _slope(lots: UncertainLots, variance: FloatArray, total: float) -> FloatArray:
    odds = np.log(lots.prediction) - np.log1p(-lots.prediction)
    centred = odds - float((variance * odds).sum()) / total
    spread = float((variance * centred**2).sum())
    if spread <= 1e-12 * float((variance * odds**2).sum()):
        return np.zeros(odds.size)
    return np.asarray(centred / math.sqrt(spread))


def _waves(moment: FloatArray, part: FloatArray, most: int) -> FloatArray:
    """Constant and cosines at each block's mean time, made orthogonal by variance one after another."""
    mask = part > 0.0
    time = moment / np.where(mask, part, 1.0)
    wave = np.cos(math.pi * time[:, None] * np.arange(most)) * mask[:, None]
    for k in range(most):
        column = wave[:, k]
        before = math.sqrt(float((part * column**2).sum()))
        for _ in range(2):  # twice is enough
            along = np.einsum("b,bk->k", part * column, wave[:, :k])
            column -= np.einsum("bk,k->b", wave[:, :k], along)
        length = math.sqrt(float((part * column**2).sum()))
        wave[:, k] = column / length if length > 1e-6 * before else 0.0
    return wave


def _groups(
    lots: UncertainLots, variance: FloatArray, block: IntArray, n_blocks: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One over the variance of each group, and the variance and third moment of each chi-square."""
    v, m, w = lots.prediction, lots.count, lots.weight
    one = w * w * v * (1.0 - v)  # the variance of a single outcome
    skew = w * one * (1.0 - 2.0 * v)
    powers = [np.bincount(block, each, n_blocks) for each in (variance, m * one**2, m * one**3, m * skew, m * skew**2)]
    inverse, squares, cubes = [], [], []
    while powers[0].size > 1:
        s1, s2, s3, k1, k2 = powers
        over = np.divide(1.0, s1, out=np.zeros(s1.size), where=s1 > 0.0)
        pairs = s1**2 - s2
        alone = pairs <= 1e-9 * s1**2
        pairs = np.where(alone, 0.0, pairs)
        triples = np.where(alone, 0.0, 8.0 * (s1**3 - 3.0 * s1 * s2 + 2.0 * s3) + 4.0 * (k1**2 - k2))
        inverse.append(over)
        squares.append(float((2.0 * pairs * over**2).sum()))
        cubes.append(float((triples * over**3).sum()))
        powers = [each.reshape(-1, 2).sum(axis=1) for each in powers]
    return np.concatenate(inverse[::-1]), np.array(squares[::-1]), np.array(cubes[::-1])


def _log_tail(shape: FloatArray, x: FloatArray) -> FloatArray:
    """Log of the gamma tail where it underflows, by the first term of its continued fraction."""
    from scipy.special import gammaln

    return np.asarray(-x + shape * np.log(x) - gammaln(shape) - np.log(x + 1.0 - shape))


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


_AT_ONCE = 64  # resamples


def signed_statistics(lots: UncertainLots, n_resamples: int, seed: np.uint64) -> tuple[Components, FloatArray]:
    """Return the components, and statistics of outcomes and of redrawn signs, shape (1 + n_resamples, names).

    Each is |s P|^2 less the sum of squares in P, where s holds the signs of the groups, at first all 1, and P each
    group's sums along directions that do not depend on outcomes. Products of different groups are what is left: their
    mean is 0 for calibrated predictions with any dependence within groups, and for random signs.
    """
    from scipy import sparse

    group, excess = lots.group, lots.excess
    assert group is not None
    n_groups = int(group.max()) + 1
    parts = Components.of(replace(lots, n_rows=min(lots.n_rows, n_groups)))
    n_blocks, sizes = parts.wave.shape[0], np.array(parts.sizes)
    constant = 1.0 / math.sqrt(float(lots.variance.sum()))
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
    statistics = np.empty((1 + n_resamples, len(along)))
    for first in range(0, 1 + n_resamples, _AT_ONCE):
        out = statistics[first : first + _AT_ONCE]
        signs = random_signs(rng, (len(out), n_groups))
        if first == 0:
            signs[0] = 1.0
        sums = np.asarray(stretches.T @ signs.T).T
        out[:, 0] = ((signs @ line) ** 2).sum(axis=1)
        out[:, 1 : 1 + sizes.size] = ((sums @ parts.wave) ** 2).cumsum(axis=1)[:, sizes - 1]
        for k, join in enumerate(joins, 1 + sizes.size):
            out[:, k] = (np.asarray(join.T @ sums.T) ** 2).sum(axis=0)
    return fitted, statistics - mean


def _sums(group: IntArray, column: FloatArray, n_groups: int) -> FloatArray:
    return np.asarray(np.bincount(group, column, n_groups), np.float64)


def _joining(n_blocks: int, groups: int) -> sparse.csr_array:
    k = np.arange(n_blocks)
    from scipy.sparse import coo_array

    return coo_array((np.ones(n_blocks), (k, k * groups // n_blocks)), (n_blocks, groups)).tocsr()
