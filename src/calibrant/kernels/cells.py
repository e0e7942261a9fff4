"""Rows in any order summed by cell of a grid, where sorting them would take longer than what follows."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray


@njit(cache=True, nogil=True)
def pool_rows(
    v: FloatArray, y: FloatArray, weight: FloatArray | None, cells: float, mean: FloatArray, mass: FloatArray,
    ones: FloatArray,
) -> tuple[int, float]:  # fmt: skip
    """Fill in the mean prediction, the weight and the weight of outcome 1 of every cell of width 1 / cells.

    mean, mass and ones have room for all cells; the last two are zeros. Cells without weight are left out. Returns how
    many are left, and the sum over rows of weight times the distance to their mean.
    """
    lowest = np.empty(mass.size)
    highest = np.empty(mass.size)
    for c in range(mass.size):
        mean[c] = 0.0
        lowest[c] = 2.0
        highest[c] = -1.0
    for k in range(v.size):
        c = int(v[k] * cells)
        w = 1.0
        if weight is not None:
            w = weight[k]
        mass[c] += w
        ones[c] += w * y[k]
        mean[c] += w * v[k]
        lowest[c] = min(lowest[c], v[k])
        highest[c] = max(highest[c], v[k])
    for c in range(mass.size):
        if mass[c] > 0.0:  # rounding must not carry a mean beyond its cell
            mean[c] = min(max(mean[c] / mass[c], lowest[c]), highest[c])
    moved = 0.0
    for k in range(v.size):
        w = 1.0
        if weight is not None:
            w = weight[k]
        moved += w * abs(v[k] - mean[int(v[k] * cells)])
    held = 0
    for c in range(mass.size):
        if mass[c] > 0.0:
            mean[held] = mean[c]
            mass[held] = mass[c]
            ones[held] = ones[c]
            held += 1
    return held, moved
