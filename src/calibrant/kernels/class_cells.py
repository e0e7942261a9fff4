"""One class's predictions in cells, for exact tails of its events."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray


@njit(nogil=True, cache=True)
def class_cells(
    prediction: FloatArray, rows: FloatArray, events: FloatArray, cells: int
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Rows, mean prediction and events by cell, in the order of the predictions, and the rows that cannot be.

    Cells are equally wide in the angle whose sine is the root of the prediction, and those that hold no row are left
    out; so are rows predicted exactly 0 or 1. rows, events: at each prediction, which increase.
    """
    n = prediction.size
    low, high = 1.0, 0.0
    for i in range(n):
        p = prediction[i]
        if 0.0 < p < 1.0:
            low, high = min(low, p), max(high, p)
    count, total, ones = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    impossible = 0.0
    start, scale = 0.0, 0.0
    if high > 0.0:
        start = math.asin(math.sqrt(low))
        width = math.asin(math.sqrt(high)) - start
        scale = cells / width if width > 0.0 else 0.0
    for i in range(n):
        p = prediction[i]
        if p <= 0.0:
            impossible += events[i]
        elif p >= 1.0:
            impossible += rows[i] - events[i]
        else:
            place = (math.asin(math.sqrt(p)) - start) * scale
            at = int(max(0.0, place)) if place < cells else cells - 1  # NaN is of the last, which shows it
            count[at] += rows[i]
            total[at] += rows[i] * p
            ones[at] += events[i]
    held = count != 0.0
    return count[held], total[held] / count[held], ones[held], impossible
