"""The components of `calibration_test`: what each looks at, and a p-value for it from a formula."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.testing.lots import UncertainLots
from calibrant.kernels.calibration import LANES, redrawn_statistics
from calibrant.resampling.threads import in_blocks

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
