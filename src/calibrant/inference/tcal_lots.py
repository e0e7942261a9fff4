"""T-Cal's statistics of rows with weights, of trials or in groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.tcal_scales import interval_cells
from calibrant.resampling.redraw import Redraws


@dataclass(frozen=True, slots=True, eq=False)
class WeightedCells:
    """Where cells of each scale begin, and what is left out of their sums' squares.

    The statistic of a scale is the sum over its cells of (S^2 - Q) / (sum of w), over the sum of all w: S adds up the
    cell's w (y - v), and Q the squares that S^2 has of single outcomes, or of the sums of single groups.

    Attributes
    ----------
    starts : tuple of ndarray
        Of each scale from the finest to the coarsest, where its cells begin among those of the scale before, the
        first among rows.
    over : tuple of ndarray
        One over the weight of each cell, 0 where it holds a single outcome.
    own : tuple of ndarray
        Q of each cell, of groups; of single outcomes the part that does not depend on them.
    slope : ndarray of shape (k,) or None
        Q of single outcomes less that is the sum of slope * excess.
    """

    starts: tuple[IntArray, ...]
    over: tuple[FloatArray, ...]
    own: tuple[FloatArray, ...]
    slope: FloatArray | None
    total: float

    @classmethod
    def of(cls, redraws: Redraws, scales: tuple[int, ...]) -> WeightedCells:
        """Cells of predictions in increasing order."""
        v, count, weight, group = redraws.prediction, redraws.count, redraws.weight, redraws.group
        fixed = weight * weight * count * v * (1.0 - v)
        starts, over, own, before = [], [], [], np.arange(v.size)
        for m in scales[::-1]:
            cell = interval_cells(v, m)
            first = np.flatnonzero(np.diff(cell, prepend=-1))
            starts.append(np.searchsorted(before, first))
            mass, n = np.add.reduceat(weight * count, first), np.add.reduceat(count, first)
            over.append(np.where(n > 1.0, 1.0 / mass, 0.0))
            if group is None:
                own.append(np.asarray(np.add.reduceat(fixed, first)))
            else:
                at = np.repeat(np.arange(first.size), np.diff(first, append=v.size))
                pair, where = np.unique(np.stack([at, group]), axis=1, return_inverse=True)
                sums = np.bincount(where.reshape(-1), redraws.excess)
                own.append(np.asarray(np.bincount(pair[0], sums * sums, first.size)))
            before = first
        slope = None if group is not None else weight * (1.0 - 2.0 * v)
        return cls(tuple(starts), tuple(over), tuple(own), slope, float((weight * count).sum()))

    @property
    def shared(self) -> bool:
        """Whether any cell holds two outcomes."""
        return any(bool(each.any()) for each in self.over)

    def statistics(self, excess: FloatArray) -> FloatArray:
        """Statistic at each scale, the coarsest first."""
        sums, moved = excess, None if self.slope is None else self.slope * excess
        found = []
        for starts, over, own in zip(self.starts, self.over, self.own, strict=True):
            sums = np.add.reduceat(sums, starts)
            left = own
            if moved is not None:
                moved = np.add.reduceat(moved, starts)
                left = own + moved
            found.append(float((over * (sums * sums - left)).sum()) / self.total)
        return np.array(found[::-1])
