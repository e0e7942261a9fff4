"""Means of sums of independent draws, bounded by bets that they are larger."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.columns import FloatArray

_STEPS = 2048  # to 1, of the means that are looked at
_AT_ONCE = 16
_BETS = 2.0 ** np.arange(12)
"""Stakes for draws that vary as much as they can, and for those that do so a half, a quarter, ... as much."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Sums over independent draws, one set of them for each mean that is bounded.

    Attributes
    ----------
    total, size : ndarray of shape (k,)
        Sums of x and of s, |x| being at most s.
    squares, products, sizes : ndarray of shape (k,)
        Sums of x x, or more, of x s and of s s.
    number : ndarray of shape (k,)
        How many draws.
    largest : float
        No draw has a larger s.
    """

    total: FloatArray
    size: FloatArray
    squares: FloatArray
    products: FloatArray
    sizes: FloatArray
    number: FloatArray
    largest: float

    def ends(self, miss: float, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean of x over that of s, each beyond it with probability `miss` at most.

        Ends `low` and `high` that were known before, which may fail besides, are narrowed.
        """
        turned = replace(self, total=-self.total, products=-self.products)
        return self._low(miss, low), -turned._low(miss, -high)

    def _low(self, miss: float, low: FloatArray) -> FloatArray:
        """Step up from `low` as long as the next mean of a grid, and with it all smaller ones, is refuted.

        A mean of at most m is refuted by a product of 1 + b z, z = (x - m s) / S >= -1 where no s is larger than S, but
        for a factor 1 + m where m is positive, and b < 1 a stake: its mean is at most 1, and it is at least the
        exponential of b sum z - c sum z z, c = -log(1 - b) - b (Fan, Grama and Liu 2015). Stakes depend on the number
        of draws alone (docs/found-segments.md).
        """
        needed = math.log(_BETS.size / miss)
        odds = np.sqrt(2.0 * needed / self.number)[:, None] * _BETS
        stake = odds / (1.0 + odds)
        price = -np.log1p(-stake) - stake
        low, left = low.copy(), np.arange(low.size)
        at = np.maximum(np.ceil(low * _STEPS), 1.0 - _STEPS)
        while left.size:
            mean = (at[left, None] + np.arange(_AT_ONCE)) / _STEPS
            total, size, squares, products, sizes = (
                each[left, None] for each in (self.total, self.size, self.squares, self.products, self.sizes)
            )
            scale = (1.0 + np.maximum(mean, 0.0)) * self.largest
            z = (total - mean * size) / scale
            zz = np.maximum(squares - 2.0 * mean * products + mean * mean * sizes, 0.0) / (scale * scale)
            won = (stake[left, None] * z[..., None] - price[left, None] * zz[..., None]).max(axis=-1)
            refuted = (won >= needed * (1.0 + 1e-9)) & (mean < 1.0)
            steps = np.where(refuted.all(axis=1), _AT_ONCE, refuted.argmin(axis=1))
            moved = steps > 0
            low[left[moved]] = mean[moved, steps[moved] - 1]
            at[left] += _AT_ONCE
            left = left[steps == _AT_ONCE]
        return low
