"""Locally weighted linear fits, as R's and statsmodels' lowess without robust steps make them, of pooled rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray

AnchorArray = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def anchors(x: FloatArray, delta: float) -> AnchorArray:
    """Numbers of the places at which lowess fits: no two next to each other further apart than delta, if they can."""
    found = np.empty(x.size, np.int64)
    size = 0
    i = 0
    while i < x.size:
        found[size] = i
        size += 1
        far = i + 1
        while far + 1 < x.size and x[far + 1] <= x[i] + delta:
            far += 1
        i = far
    return found[:size].copy()


@njit(cache=True, nogil=True)
def bandwidths(x: FloatArray, count: FloatArray, at: AnchorArray, rows: float) -> FloatArray:
    """Distance within which each place has at least that many rows; all of them where there are fewer."""
    found = np.empty(at.size)
    for a in range(at.size):
        i = at[a]
        left, right = i, i
        held = count[i]
        width = 0.0
        while held < rows and (left > 0 or right + 1 < x.size):
            below = x[i] - x[left - 1] if left > 0 else np.inf
            above = x[right + 1] - x[i] if right + 1 < x.size else np.inf
            if below <= above:
                left -= 1
                held += count[left]
                width = below
            else:
                right += 1
                held += count[right]
                width = above
        found[a] = width
    return found


@njit(cache=True, nogil=True)
def local_weights(x: FloatArray, mass: FloatArray, at: float, width: float, whole: float) -> FloatArray:
    """What the mean of each row contributes to the fit at a place: these add up to 1. `whole` is the range of x."""
    weight = np.zeros(x.size)
    total, centre = 0.0, 0.0
    for j in range(x.size):
        far = abs(x[j] - at)
        if far <= 0.999 * width or far == 0.0:
            near = 1.0
            if far > 0.001 * width:
                part = far / width
                near = 1.0 - part * part * part
                near = near * near * near
            weight[j] = near * mass[j]
            total += weight[j]
            centre += weight[j] * x[j]
    if total == 0.0:
        return weight
    weight /= total
    centre /= total
    spread = 0.0
    for j in range(x.size):
        spread += weight[j] * (x[j] - centre) * (x[j] - centre)
    if whole > 0.0 and np.sqrt(spread) > 0.001 * whole:  # of one prediction the spread is rounding
        slope = (at - centre) / spread
        for j in range(x.size):
            weight[j] *= 1.0 + slope * (x[j] - centre)
    return weight
