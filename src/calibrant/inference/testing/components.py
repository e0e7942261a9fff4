"""The components of `calibration_test`: the lots that are redrawn, what each looks at, and p-values without a draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Lots, Rows
from calibrant.door.sample import Sample
from calibrant.inference.testing.result import ImpossibleRows, contradicted, impossible_rows
from calibrant.kernels.calibration import LANES, redrawn_statistics
from calibrant.resampling.joint import JointRows, mean_weight
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
    """Matrices of all components of the lots; nothing here depends on outcomes."""

    block: IntArray  # (k,): which stretch of about equal variance each unit is in
    # (k,): log-odds, centred by variance, scaled so that their score has variance 1; 0 where all are equal
    slope: FloatArray
    # (blocks, waves): the constant and cosines in variance time, orthogonal by variance and scaled likewise; 0 where
    # they say nothing
    wave: FloatArray
    sizes: tuple[int, ...]  # how many waves are summed
    inverse: FloatArray  # one over the variance of each group, of 2, 4, ... groups; 0 where a group is empty.
    names: tuple[tuple[str, int], ...]  # component, and within it waves or groups, of each statistic
    # shape, stretch, shift: a statistic x is like a gamma variable of that shape after stretch * x + shift
    shape: FloatArray
    stretch: FloatArray
    shift: FloatArray

    @classmethod
    def of(cls, lots: UncertainLots, *, by_prediction: bool = False) -> Components:
        """Make the components of these lots; `by_prediction` those of one prediction lie in one stretch."""
        variance = lots.variance
        total = float(variance.sum())
        time = (np.cumsum(variance) - 0.5 * variance) / total
        if by_prediction:
            time = _alike(lots.prediction, time)
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
        from calibrant.door.special import gammaincc

        x = np.maximum(statistics * self.stretch + self.shift, 0.0)
        p = gammaincc(self.shape, x)
        deep = p < 1e-290
        out = np.log(np.where(deep, 1.0, p))
        if deep.any():
            out[deep] = _log_tail(np.broadcast_to(self.shape, x.shape)[deep], x[deep])
        return np.asarray(out)


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
    from calibrant.door.special import gammaln

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

    def fill(begin: int, stop: int) -> None:
        for first in range(begin, stop, lanes_at_once):
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
    # Weights may tell outcomes, and lots of one prediction are in their order: stretches depend on mean weights alone.
    expected, differ = mean_weight(lots.prediction, lots.weight), bool((lots.weight != lots.weight[:1]).any())
    alike = replace(lots, weight=expected, n_rows=min(lots.n_rows, n_groups))
    parts = Components.of(alike, by_prediction=differ)
    n_blocks, sizes = parts.wave.shape[0], np.array(parts.sizes)
    constant = 1.0 / math.sqrt(float(alike.variance.sum()))
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


def _alike(prediction: FloatArray, time: FloatArray) -> FloatArray:
    """The mean time of the lots of each prediction."""
    of = np.cumsum(np.diff(prediction, prepend=prediction[:1]) > 0.0)
    return np.asarray((np.bincount(of, time) / np.bincount(of))[of])


def _sums(group: IntArray, column: FloatArray, n_groups: int) -> FloatArray:
    return np.asarray(np.bincount(group, column, n_groups), np.float64)


def _joining(n_blocks: int, n_groups: int) -> sparse.csr_array:
    k = np.arange(n_blocks)
    from scipy.sparse import coo_array

    return coo_array((np.ones(n_blocks), (k, k * n_groups // n_blocks)), (n_blocks, n_groups)).tocsr()


MOST_UNITS = 20_000
"""Unweighted rows with more distinct predictions than this are pooled into cells."""
CELLS = 2**14
LEAST_DRAWN, _MOST = 1e-40, 1.0 - 2.0**-53
"""Smaller predictions are drawn as 1e-40: no sample tells the difference, and no power of them underflows."""


@dataclass(frozen=True, slots=True, eq=False)
class UncertainLots(Lots):
    """Lots in the order of their predictions, of a cell their mean; none is exactly 0 or 1."""

    n_rows: int  # single outcomes of all lots, and of the certain rows that were set aside
    impossible: ImpossibleRows | None  # certain rows that the outcomes contradict
    # at most so much is added to the level by drawing each cell from its mean prediction; 0 where nothing was pooled
    pooling: float
    # (k,): number of each row's group, all from 0 being used; then nothing is pooled, and signs of groups are redrawn
    group: IntArray | None = None

    def part(self, here: npt.NDArray[np.bool_]) -> UncertainLots:
        """Some of the units, their groups numbered anew."""
        v, count, ones, weight = (each[here] for each in (self.prediction, self.count, self.ones, self.weight))
        group = (
            None if self.group is None else np.asarray(np.unique(self.group[here], return_inverse=True)[1], np.int64)
        )
        return replace(self, prediction=v, count=count, ones=ones, weight=weight, group=group)


def lots_of_rows(rows: Rows) -> UncertainLots:
    """Take rows that were read already; unweighted ones with many distinct predictions are pooled into cells."""
    n_rows, impossible = int(rows.count.sum()), impossible_rows(rows)
    used = (rows.y_prob > 0.0) & (rows.y_prob < 1.0)
    if rows.weight is not None:
        used &= rows.mask
    mask = slice(None) if used.all() else used
    prediction = np.maximum(rows.y_prob[mask], LEAST_DRAWN)
    count, ones = rows.count[mask], rows.y_true[mask].astype(np.float64)
    weight = None if rows.weight is None else rows.weight[mask]
    if weight is not None and (weight == weight[:1]).all():
        weight = None
    one = np.broadcast_to(1.0, prediction.shape)
    if rows.group is not None:
        group, w = rows.group[mask], one if weight is None else weight
        # Rows of one group, prediction and weight are one unit: no order may depend on outcomes, nor on that of rows.
        order = np.lexsort((group, w, prediction))
        v, w, group = prediction[order], w[order], group[order]
        new = np.ones(v.size, dtype=np.bool_)
        new[1:] = (v[1:] != v[:-1]) | (w[1:] != w[:-1]) | (group[1:] != group[:-1])
        start = np.flatnonzero(new)
        number = np.asarray(np.unique(group[start], return_inverse=True)[1], np.int64)
        if not start.size:
            return UncertainLots(v, v, v, v, n_rows, impossible, 0.0, number)
        count, ones = np.add.reduceat(count[order], start), np.add.reduceat(ones[order], start)
        return UncertainLots(v[start], count, ones, w[start], n_rows, impossible, 0.0, number)
    if weight is None and prediction.size > MOST_UNITS:
        cells = pooled_into_cells(UncertainLots(prediction, count, ones, one, n_rows, impossible, 0.0))
        if cells.pooling > 0.0:
            return cells
    lots = Lots.of(prediction, count, ones, weight)
    return UncertainLots(lots.prediction, lots.count, lots.ones, lots.weight, n_rows, impossible, 0.0)


def lots_of_sample(sample: Sample) -> UncertainLots:
    """Take a sample of unweighted outcomes 0 or 1, or the cells of a sketch of such, as it stands.

    Predictions of one cell have a variance of at most a quarter of its squared width.
    """
    v, count, ones, width = sample.prediction, sample.count, sample.ones, sample.cell_width
    n_rows, impossible = int(count.sum()), contradicted(v, count, ones)
    if impossible is not None:
        impossible = replace(impossible, row=None)  # a sample does not know in which order its rows came
    used = (v > 0.0) & (v < 1.0)
    mask = slice(None) if used.all() else used
    v, count, ones = np.maximum(v[mask], LEAST_DRAWN), count[mask], ones[mask]
    spread = count * width[mask] ** 2 / 4.0
    one = np.broadcast_to(1.0, v.shape)
    lots = UncertainLots(v, count, ones, one, n_rows, impossible, pooling(v, count, spread))
    if v.size <= MOST_UNITS:
        return lots
    cells = pooled_into_cells(lots, spread)
    return cells if cells.pooling > 0.0 else lots


def pooled_into_cells(lots: UncertainLots, variation: FloatArray | None = None) -> UncertainLots:
    """Pool lots without weights into cells equally wide in the angle whose sine is the root of the prediction.

    `variation` (k,) is what the lots' own predictions vary by: at least the sum of their squares about the mean.
    """
    v, m, ones = lots.prediction, lots.count, lots.ones
    if not v.size:
        return lots
    angle = np.arcsin(np.sqrt(v))
    low, high = float(angle.min()), float(angle.max())
    scale = CELLS / (high - low) if high > low else 0.0
    cell = np.minimum((angle - low) * scale, CELLS - 1.0).astype(np.int64)
    total = _sums(cell, m, CELLS)
    mask = total > 0.0
    base = np.zeros(CELLS)
    base[cell] = v  # any row of the cell: deviations from it are small, and their squares exact enough
    offset = v - base[cell]
    moved = _sums(cell, m * offset, CELLS)[mask]
    within = 0.0 if variation is None else variation
    squared = _sums(cell, m * offset * offset + within, CELLS)[mask]
    total = total[mask]
    mean = np.clip(base[mask] + moved / total, LEAST_DRAWN, _MOST)
    spread = np.maximum(squared - moved * moved / total, 0.0)
    weight = np.broadcast_to(1.0, total.shape)
    lost = pooling(mean, total, spread)
    return UncertainLots(mean, total, _sums(cell, ones, CELLS)[mask], weight, lots.n_rows, lots.impossible, lost)


def pooling(mean: FloatArray, count: FloatArray, spread: FloatArray) -> float:
    """Bound what drawing cells from their means adds to the level (Ehm 1991, Theorem 1), given sums of squares."""
    varied = spread > 0.0  # in a sample of rows none does
    mean, count, spread = mean[varied], count[varied], spread[varied]
    with np.errstate(under="ignore"):
        survival = -np.expm1((count + 1.0) * np.log(mean)) - np.exp((count + 1.0) * np.log1p(-mean))
    each = spread * survival / ((count + 1.0) * mean * (1.0 - mean))
    return min(1.0, math.fsum(each.tolist()))


_MIXTURES = 16
_TRIED = 4
_STEPS = 60
_FARTHEST = 1500.0  # of a first step in log-odds; those of doubles lie within 745 of 0
_EXPONENTS = 0.9 * 0.5 ** np.arange(12.0)
_ROUNDING = 1e-14  # of each term and of its sum: numpy adds in pairs


Bound = Callable[[UncertainLots, FloatArray], float]
"""Log of a bound on the chance of a sum of excess as large, of lots along a direction where it is positive."""


def log_tail(lots: UncertainLots, parts: Components, bound: Bound | None = None) -> float:
    """Log of a p-value that holds at any number of rows: a bound on P(any direction's sum is as unlikely as seen).

    Directions are 16 mixtures of the constant and the slope, sharing half of the error, and the waves, the k-th with
    the share 1 / (2 k (k + 1)); both signs of each. Only the few that look most extreme are computed, which can only
    make the p-value larger. Of rows in groups, each direction's sums of groups are bounded instead; of cells
    known by their sums alone, by the `bound` that these allow.
    """
    excess = lots.excess
    bound = bound or sum_bound
    constant = 1.0 / math.sqrt(float(lots.variance.sum()))
    angles = math.pi * np.arange(_MIXTURES) / _MIXTURES
    directions: list[tuple[float, float, FloatArray]] = []

    def add(share: float, direction: FloatArray) -> None:
        z = float((direction * excess).sum())
        directions.append((0.5 * z * z + math.log(share), share, direction if z > 0.0 else -direction))

    for angle in angles:
        add(0.5 / _MIXTURES, math.cos(angle) * constant + math.sin(angle) * parts.slope)
    for k in range(1, parts.wave.shape[1]):
        add(0.5 / (k * (k + 1)), parts.wave[parts.block, k])
    best = sorted(range(len(directions)), key=lambda i: -directions[i][0])[:_TRIED]
    return min(0.0, *(bound(lots, directions[i][2]) - math.log(0.5 * directions[i][1]) for i in best))


def sum_bound(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of a bound on P(sum of direction * excess >= what was seen), of single rows or of independent groups."""
    return (chernoff if lots.group is None else _by_group)(lots, direction)


def chernoff(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of a bound on P(sum of direction * excess >= what was seen): the least over a rising exponent, by Newton.

    The exponent is summed row by row, as sum (m - ones) log(1 - v + v e^x) + ones log((1 - v) e^-x + v): no term is
    below the log of its outcomes' own probability, so nothing cancels, however large x = t * direction becomes.
    """
    a = direction * lots.weight
    v, m, ones = lots.prediction, lots.count, lots.ones
    observed = float((a * (ones - m * v)).sum())
    if observed <= 0.0:
        return 0.0
    low, high = 0.0, math.inf
    # Of one prediction the best exponent lifts the log-odds to those of the outcomes, in the range of doubles.
    t = min(observed / float((a * a * m * v * (1.0 - v)).sum()), _FARTHEST / float(np.abs(a).max()))
    best = 0.0
    for _ in range(_STEPS):
        lifted = a * t
        # The larger of both exponents is taken out.
        top = np.maximum(lifted, 0.0)
        sum_ = (1.0 - v) * np.exp(-top) + v * np.exp(lifted - top)
        core = m * np.log(sum_)
        over = (m - ones) * top + ones * (top - lifted)
        value = float(core.sum()) + float(over.sum())
        value += _ROUNDING * float((m - core + over).sum())  # neither sum has terms of both signs
        if not math.isfinite(value):
            high, t = t, 0.5 * (low + t)
            continue
        better = value < best - 1e-9 * abs(best)
        best = min(best, value)
        moved = v * np.exp(lifted - top) / sum_
        slope = float((a * m * (moved - v)).sum()) - observed
        curve = float((a * a * m * moved * (1.0 - moved)).sum())
        low, high = (t, high) if slope < 0.0 else (low, t)
        step = t - slope / curve if curve > 0.0 else math.inf
        after = step if low < step < high else (2.0 * t if high == math.inf else 0.5 * (low + high))
        if not better and abs(after - t) <= 1e-6 * t:
            break
        t = after
    return best


def _by_group(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of a bound on P(sum of direction * excess is as far above 0), of groups that do not depend on one another.

    exp(x z - psi(x) z^2) <= 1 + x z for z >= -1, psi(x) = -log(1 - x) - x: of a group's sum z of mean 0, in units of
    the least that any group's can be, the left side's mean is at most 1. By Markov's inequality P(sum of x z -
    psi(x) z^2 >= L) <= e^-L for each of the few x.
    """
    assert lots.group is not None
    a, v, m = direction * lots.weight, lots.prediction, lots.count
    sums = np.bincount(lots.group, a * (lots.ones - m * v))
    most = float(np.bincount(lots.group, m * np.where(a > 0.0, a * v, -a * (1.0 - v))).max())
    if not most > 0.0:
        return 0.0
    z = sums / (most * (1.0 + 1e-12))
    x = _EXPONENTS
    psi = -np.log1p(-x) - x
    return min(0.0, float((psi * float((z * z).sum()) - x * float(z.sum())).min()) + math.log(x.size))
