"""The lots that `calibration_test` redraws: rows of one prediction and weight, or cells of near predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.lots import Lots
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference.testing.result import ImpossibleRows, contradicted, impossible_rows

MOST_UNITS = 20_000
"""Unweighted rows with more distinct predictions than this are pooled into cells."""
CELLS = 2**14
LEAST_DRAWN, _MOST = 1e-40, 1.0 - 2.0**-53
"""Smaller predictions are drawn as 1e-40: no sample tells the difference, and no power of them underflows."""


@dataclass(frozen=True, slots=True, eq=False)
class UncertainLots(Lots):
    """Lots in the order of their predictions, of a cell their mean; none is exactly 0 or 1.

    Attributes
    ----------
    n_rows : int
        Single outcomes of all lots, and of the certain rows that were set aside.
    impossible : ImpossibleRows or None
        Certain rows that the outcomes contradict.
    pooling : float
        At most so much is added to the level by drawing each cell from its mean prediction; 0 where nothing was pooled.
    group : ndarray of shape (k,) or None
        Number of each row's group, all from 0 being used; then nothing is pooled, and signs of groups are redrawn.
    """

    n_rows: int
    impossible: ImpossibleRows | None
    pooling: float
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


def pooled_into_cells(lots: UncertainLots, known: FloatArray | None = None) -> UncertainLots:
    """Pool lots without weights into cells equally wide in the angle whose sine is the root of the prediction.

    `known` (k,) is what the lots' own predictions vary by: at least the sum of their squares about the mean.
    """
    v, m, ones = lots.prediction, lots.count, lots.ones
    if not v.size:
        return lots
    angle = np.arcsin(np.sqrt(v))
    low, high = float(angle.min()), float(angle.max())
    scale = CELLS / (high - low) if high > low else 0.0
    cell = np.minimum((angle - low) * scale, CELLS - 1.0).astype(np.int64)
    total = _sums(cell, m)
    mask = total > 0.0
    base = np.zeros(CELLS)
    base[cell] = v  # any row of the cell: deviations from it are small, and their squares exact enough
    offset = v - base[cell]
    moved = _sums(cell, m * offset)[mask]
    within = 0.0 if known is None else known
    squared = _sums(cell, m * offset * offset + within)[mask]
    total = total[mask]
    mean = np.clip(base[mask] + moved / total, LEAST_DRAWN, _MOST)
    spread = np.maximum(squared - moved * moved / total, 0.0)
    weight = np.broadcast_to(1.0, total.shape)
    lost = pooling(mean, total, spread)
    return UncertainLots(mean, total, _sums(cell, ones)[mask], weight, lots.n_rows, lots.impossible, lost)


def _sums(cell: IntArray, column: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(cell, column, CELLS), np.float64)


def pooling(mean: FloatArray, count: FloatArray, spread: FloatArray) -> float:
    """Bound what drawing cells from their means adds to the level (Ehm 1991, Theorem 1), given sums of squares."""
    varied = spread > 0.0  # in a sample of rows none does
    mean, count, spread = mean[varied], count[varied], spread[varied]
    with np.errstate(under="ignore"):
        survival = -np.expm1((count + 1.0) * np.log(mean)) - np.exp((count + 1.0) * np.log1p(-mean))
    each = spread * survival / ((count + 1.0) * mean * (1.0 - mean))
    return min(1.0, math.fsum(each.tolist()))
