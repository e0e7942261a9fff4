"""Outcomes drawn again together with their weights: an outcome from its chance, its weight from a neighbour's."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.calibration import GAMMA, mix
from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray, IntArray

_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_jointly(
    chance: FloatArray,
    value: FloatArray,
    ratio: FloatArray,
    start: IntArray,
    width: IntArray,
    seed: np.uint64,
    first: int,
    out: FloatArray,
) -> None:
    """Fill out[i, r] with row i's value in resample first + r, times a ratio that is drawn with its outcome.

    Row k of `value` and `start` is of outcome k: what counts at each row, and where the ratios of the row's neighbours
    of that outcome begin in `ratio`; width[k] of them are as likely as one another. Bits depend on (seed, resample,
    row) alone.
    """
    n, lanes = out.shape
    key = np.empty(lanes, np.uint64)
    for lane in range(lanes):
        key[lane] = mix(seed + GAMMA * np.uint64(first + lane))
    for i in range(n):
        step = np.uint64(i + 1) * GAMMA
        threshold = np.int64(math.ceil(chance[i] * 2.0**32))
        for lane in range(lanes):
            bits = mix(key[lane] + step)
            k = 1 if np.int64(bits >> _32) < threshold else 0
            place = start[k, i] + ((np.int64(bits & _LOW) * width[k]) >> 32)
            out[i, lane] = value[k, i] * ratio[place]
