"""Rows, or a sample's, at the mean prediction of their cell of a grid, and how far that moved them."""

from __future__ import annotations

import numpy as np

from calibrant.door.sample import FloatArray, Sample
from calibrant.kernels.cells import pool_rows


def pooled_by_cells(sample: Sample, cells: float) -> tuple[Sample, float]:
    """Pool the predictions of each cell of width 1 / cells; the second value is at least the mean move."""
    v = sample.prediction
    cell = (v * cells).astype(np.int64)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    last = np.append(first[1:], v.size) - 1

    def summed(column: FloatArray) -> FloatArray:
        return np.add.reduceat(column, first)

    count, ones = summed(sample.count), summed(sample.ones)
    weight = count if sample.weight is sample.count else summed(sample.weight)
    middle = 0.5 * (v[first] + v[last])
    mean = np.divide(summed(sample.weight * v), weight, out=middle, where=weight > 0.0)
    mean = np.clip(mean, v[first], v[last])  # rounding must not carry one beyond its cell
    moved = sample.weight * np.abs(v - np.repeat(mean, last - first + 1))
    pooled = Sample(
        mean,
        count,
        ones,
        weight,
        ones if sample.weighted_outcome is sample.ones else summed(sample.weighted_outcome),
        count if sample.squared_weight is sample.count else summed(sample.squared_weight),
        v[last] - v[first],
        sample.binary,
    )
    return pooled, float(moved.sum()) / sample.total_weight * (1.0 + 1e-9)


def pooled_rows(
    y: FloatArray, v: FloatArray, weight: FloatArray | None, cells: float
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """The same of rows in any order: means, shares of the weight with outcome 0 and with 1, and the mean move."""
    size = int(cells) + 1
    mean, mass, ones = np.empty(size), np.zeros(size), np.zeros(size)
    held, moved = pool_rows(v, y, weight, cells, mean, mass, ones)
    mass, ones = mass[:held], np.minimum(ones[:held], mass[:held])
    total = float(mass.sum())
    return mean[:held], (mass - ones) / total, ones / total, moved / total * (1.0 + 1e-9)
