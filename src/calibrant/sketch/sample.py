"""Cells as the sample that stands for their rows: every measure runs on it, and bounds say what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels import sketching
from calibrant.sketch.bounds import ARITHMETIC, Moments, moments

if TYPE_CHECKING:
    from calibrant.inference.bounds.draws import AnyDraws
    from calibrant.inference.bounds.gate import GateResult

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def _mean(index: IntArray, cells: FloatArray, offset: FloatArray, weight: FloatArray, resolution: int) -> FloatArray:
    """Mean prediction of the rows that `offset` and `weight` sum up; the cell's lowest where there is no weight."""
    low, high = cells[:, sketching.LOW], cells[:, sketching.HIGH]
    positive = weight > 0.0
    mean = (index // 2 + offset / np.where(positive, weight, 1.0)) / resolution
    return np.where(positive, np.clip(mean, low, high), low)  # a mean leaves its range by rounding only


def sample_from_cells(index: IntArray, cells: FloatArray, resolution: int) -> Sample:
    """Return the sample with a row for each cell, at its mean prediction."""
    count, ones, fractional, weight, outcome, squared, offset, _, low, high = cells.T.copy()
    return Sample(
        _mean(index, cells, offset, weight, resolution),
        count,
        ones,
        weight,
        outcome,
        squared,
        high - low,
        binary=not fractional.any(),
    )


def moments_from_cells(index: IntArray, cells: FloatArray, resolution: int, rounding: float) -> Moments:
    """Moments of cells, for the bounds."""
    _, _, _, weight, outcome, _, offset, outcome_offset, low, high = cells.T.copy()
    rest, rest_offset = np.maximum(weight - outcome, 0.0), np.maximum(offset - outcome_offset, 0.0)
    return moments(
        low,
        high,
        _mean(index, cells, offset, weight, resolution),
        (outcome, _mean(index, cells, outcome_offset, outcome, resolution)),
        float(weight.sum()),
        (rest, _mean(index, cells, rest_offset, rest, resolution)),
        rounding,
    )


def gate_of_cells(
    sample: Sample,
    cells: Moments,
    *,
    max_distance: float,
    level: float,
    max_weight: float | None = None,
    shares: int = 1,
) -> GateResult:
    """The gate of the rows in these cells, `shares` as in `calibration_gate_on_sample`.

    Event rates are refused, and weights without their bound.
    """
    from calibrant.inference.bounds.gate import calibration_gate_on_sample, check_gate

    check_gate(max_distance, level)
    rows, units, moved = draws_of_cells(sample, cells, max_weight)
    return calibration_gate_on_sample(
        rows, max_distance=max_distance, level=level, displacement=moved, draws=units, shares=shares
    )


def draws_of_cells(sample: Sample, cells: Moments, max_weight: float | None) -> tuple[Sample, AnyDraws, float]:
    """The rows in these cells as a sample and as draws, and how far the sample's distance can be from theirs.

    Raises
    ------
    InputError
        If outcomes are event rates; if there are weights, and `max_weight` is not said, or seen to be exceeded.
    """
    from calibrant.inference.bounds.draws import CellDraws, Draws

    if not sample.binary:
        raise InputError("sketch", "holds event rates; the proof needs single outcomes, each 0 or 1")
    if max_weight is None:
        if not unweighted(sample):
            problem = "is needed, as the sketch holds weights: the largest weight in the rows is no bound"
            allowed = "the most that one row can weigh, known before the rows were drawn"
            raise InputError("max_weight", problem, allowed=allowed)
        count, ones = sample.count, sample.ones
        rows = Sample(sample.prediction, count, ones, count, ones, count, sample.cell_width, binary=True)
        return rows, Draws.of_sample(rows), cells.distance_moved + ARITHMETIC if rows.cell_width.any() else 0.0
    draws = CellDraws.of_sample(sample, max_weight, cells.misplaced)
    units = draws.as_units()
    return sample, draws if units is None else units, cells.distance_moved + ARITHMETIC


def unweighted(sample: Sample) -> bool:
    """Whether every row weighs 1: weights that are counts are added up as such."""
    return np.array_equal(sample.weight, sample.count) and np.array_equal(sample.squared_weight, sample.count)
