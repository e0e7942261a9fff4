"""What `calibration_test` redraws: rows of one prediction and weight, or cells of near predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import Column, FloatArray, IntArray, as_numbers, read_columns
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.inference.result import ImpossibleRows

MOST_UNITS = 20_000
"""Unweighted rows with more distinct predictions than this are pooled into cells."""
CELLS = 2**14
_WHOLE = 1e-6  # share times trials may miss a whole number by this much, and by rounding
_MOST_TRIALS = 2.0**31
_LIGHTEST = 1e-20  # of the largest weight: what is lighter moves no sum
_LEAST, _MOST = 1e-40, 1.0 - 2.0**-53
"""Smaller predictions are drawn as 1e-40: no sample tells the difference, and no power of them underflows."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Rows that are redrawn together, in the order of their predictions, none of which is exactly 0 or 1.

    Attributes
    ----------
    prediction, count, ones, weight : ndarray of shape (k,)
        What was predicted (of a cell: the mean), single outcomes, events, and the weight of each outcome.
    n_rows : int
        Single outcomes of all units, and of the certain rows that were set aside.
    impossible : ImpossibleRows or None
        Certain rows that the outcomes contradict.
    pooling : float
        At most so much is added to the level by drawing each cell from its mean prediction; 0 where nothing was pooled.
    """

    prediction: FloatArray
    count: FloatArray
    ones: FloatArray
    weight: FloatArray
    n_rows: int
    impossible: ImpossibleRows | None
    pooling: float

    @property
    def variance(self) -> FloatArray:
        """Variance of each unit's weighted excess of events, were the predictions calibrated."""
        return np.asarray(self.weight * self.weight * self.count * self.prediction * (1.0 - self.prediction))

    @property
    def excess(self) -> FloatArray:
        """Weighted events less those expected."""
        return np.asarray(self.weight * (self.ones - self.count * self.prediction))


def read_units(
    y_true: Column, y_prob: Column, sample_weight: Column | None = None, trials: Column | None = None
) -> Units:
    """Read a user's columns, once; InputError as the door has it, and where events are no whole numbers."""
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    prediction = prediction + 0.0  # minus zero becomes zero
    if trials is None:
        rate = (outcome != 0.0) & (outcome != 1.0)
        if rate.any():
            row = int(np.argmax(rate))
            problem = f"row {row} is {outcome[row]:.6g}; a test counts single outcomes"
            allowed = "each must be 0 or 1, or the share of the events among `trials`"
            raise InputError("y_true", problem, row=row, allowed=allowed)
        count, ones = np.broadcast_to(1.0, outcome.shape), outcome
    else:
        count = _read_trials(trials, outcome.size)
        ones = _events(outcome, count)
    n_rows = int(count.sum())
    used = (prediction > 0.0) & (prediction < 1.0)
    if weight is not None:
        weight = weight / weight.max()
        used &= weight > _LIGHTEST
    held = count if weight is None else np.where(weight > 0.0, count, 0.0)  # what weighs nothing is not there
    impossible = _impossible(prediction, held, np.minimum(ones, held))
    if not used.all():
        prediction, count, ones = prediction[used], count[used], ones[used]
        weight = None if weight is None else weight[used]
    prediction = np.maximum(prediction, _LEAST)
    if weight is not None and (weight == weight[:1]).all():
        weight = None
    if weight is None and prediction.size > MOST_UNITS:
        one = np.broadcast_to(1.0, prediction.shape)
        cells = pooled_into_cells(Units(prediction, count, ones, one, n_rows, impossible, 0.0))
        if cells.pooling > 0.0:
            return cells
    return _pooled(prediction, count, ones, weight, n_rows, impossible)


def _read_trials(trials: Column, rows: int) -> FloatArray:
    count = as_numbers(trials, "trials")
    if count.size != rows:
        raise InputError("trials", f"has {count.size:,} rows but y_prob has {rows:,}; they must match")
    bad = ~((count >= 1.0) & (count <= _MOST_TRIALS) & (count == np.floor(count)))
    if bad.any():
        row = int(np.argmax(bad))
        allowed = "each must be a whole number from 1 to 2^31"
        raise InputError("trials", f"row {row} is {count[row]:.6g}", row=row, allowed=allowed)
    return count


def _events(share: FloatArray, count: FloatArray) -> FloatArray:
    ones = np.rint(share * count)
    bad = np.abs(share * count - ones) > _WHOLE * np.maximum(1.0, count * 1e-6)
    if bad.any():
        row = int(np.argmax(bad))
        problem = (
            f"row {row} is {share[row]:.6g}, which of {count[row]:g} trials is {share[row] * count[row]:.6g} events"
        )
        raise InputError(
            "y_true", problem, row=row, allowed="with trials it is the share of events, a whole number of them"
        )
    return np.asarray(ones)


def _impossible(prediction: FloatArray, count: FloatArray, ones: FloatArray) -> ImpossibleRows | None:
    against = np.where(prediction == 0.0, ones, np.where(prediction == 1.0, count - ones, 0.0))
    if not against.any():
        return None
    row = int(np.argmax(against > 0.0))
    return ImpossibleRows(int(against.sum()), row, float(prediction[row]))


def _pooled(
    v: FloatArray,
    count: FloatArray,
    ones: FloatArray,
    weight: FloatArray | None,
    n_rows: int,
    bad: ImpossibleRows | None,
) -> Units:
    """Pool rows of equal prediction and equal weight; this changes nothing that is redrawn."""
    w = np.broadcast_to(1.0, v.shape) if weight is None else weight
    order = np.argsort(v) if weight is None else np.lexsort((w, v))
    v, w = v[order], w[order]
    new = np.ones(v.size, dtype=np.bool_)
    new[1:] = (v[1:] != v[:-1]) | (w[1:] != w[:-1])
    start = np.flatnonzero(new)
    if not start.size:
        return Units(v, v, v, v, n_rows, bad, 0.0)
    return Units(
        v[start], np.add.reduceat(count[order], start), np.add.reduceat(ones[order], start), w[start], n_rows, bad, 0.0
    )


def units_of_sample(sample: Sample) -> Units:
    """Take a sample of unweighted outcomes 0 or 1, or the cells of a sketch of such, as it stands.

    Predictions of one cell have a variance of at most a quarter of its squared width, whatever they are.
    """
    v, count, ones, width = sample.prediction, sample.count, sample.ones, sample.cell_width
    n_rows, impossible = int(count.sum()), _impossible(v, count, ones)
    if impossible is not None:
        impossible = replace(impossible, row=None)  # a sample does not know in which order its rows came
    used = (v > 0.0) & (v < 1.0)
    v, count, ones = np.maximum(v[used], _LEAST), count[used], ones[used]
    spread = count * width[used] ** 2 / 4.0
    one = np.broadcast_to(1.0, v.shape)
    units = Units(v, count, ones, one, n_rows, impossible, pooling(v, count, spread))
    if v.size <= MOST_UNITS:
        return units
    cells = pooled_into_cells(units, spread)
    return cells if cells.pooling > 0.0 else units


def pooled_into_cells(units: Units, known: FloatArray | None = None) -> Units:
    """Pool units without weights into cells equally wide in the angle whose sine is the root of the prediction.

    `known` (k,) is what the units' own predictions vary by: at least the sum of their squares about the mean.
    """
    v, m, ones = units.prediction, units.count, units.ones
    if not v.size:
        return units
    angle = np.arcsin(np.sqrt(v))
    low, high = float(angle.min()), float(angle.max())
    scale = CELLS / (high - low) if high > low else 0.0
    cell = np.minimum((angle - low) * scale, CELLS - 1.0).astype(np.int64)
    total = _sums(cell, m)
    held = total > 0.0
    base = np.zeros(CELLS)
    base[cell] = v  # any row of the cell: deviations from it are small, and their squares exact enough
    offset = v - base[cell]
    moved = _sums(cell, m * offset)[held]
    within = 0.0 if known is None else known
    squared = _sums(cell, m * offset * offset + within)[held]
    total = total[held]
    mean = np.clip(base[held] + moved / total, _LEAST, _MOST)
    spread = np.maximum(squared - moved * moved / total, 0.0)
    weight = np.broadcast_to(1.0, total.shape)
    lost = pooling(mean, total, spread)
    return Units(mean, total, _sums(cell, ones)[held], weight, units.n_rows, units.impossible, lost)


def _sums(cell: IntArray, column: npt.NDArray[np.float64]) -> FloatArray:
    return np.asarray(np.bincount(cell, column, CELLS), np.float64)


def pooling(mean: FloatArray, count: FloatArray, spread: FloatArray) -> float:
    """Bound what drawing cells from their means adds to the level (Ehm 1991, Theorem 1), given sums of squares."""
    with np.errstate(under="ignore"):
        kept = -np.expm1((count + 1.0) * np.log(mean)) - np.exp((count + 1.0) * np.log1p(-mean))
    each = spread * kept / ((count + 1.0) * mean * (1.0 - mean))
    return min(1.0, math.fsum(np.where(spread > 0.0, each, 0.0).tolist()))
