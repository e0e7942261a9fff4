"""The largest regret that units of unequal weight allow: every threshold against every cut (docs/decisions.md)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray

PlaceArray = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def reached(gained: float, cross: float, square: float, share: float) -> float:
    """Return the largest d in [0, 1] with d - share d^2 square + 2 share d cross <= gained; the left side rises."""
    linear = 1.0 + 2.0 * share * cross
    inside = linear * linear - 4.0 * share * square * gained
    if inside <= 0.0:
        return 1.0
    found = 2.0 * gained / (linear + math.sqrt(inside))
    if found > 1.0:
        return 1.0
    return 0.0 if found < 0.0 else found  # NaN stays


@njit(cache=True, nogil=True)
def most_allowed(
    t: FloatArray,
    ends: PlaceArray,
    begins: PlaceArray,
    beyond: tuple[FloatArray, FloatArray],
    sums: FloatArray,
    share: float,
    square: float,
    log: float,
    enough: float,
) -> float:
    """Return the largest d that a threshold and a cut below it allow; from `enough` on, any such number will do.

    `sums` are running sums over cells of w, w y, w s, w s y and w s y^2. Rows of the cells from `begins` (which
    increases) to before `ends` lie between cut and threshold, and `beyond` is the most that part of another cell adds,
    to a threshold and to a cut.
    """
    best = 0.0
    for i in range(t.size):
        j, at = ends[i], t[i]
        for k in range(begins.size):
            b = begins[k]
            if b > j:
                break
            w, wy = sums[0, j] - sums[0, b], sums[1, j] - sums[1, b]
            s, sy, syy = sums[2, j] - sums[2, b], sums[3, j] - sums[3, b], sums[4, j] - sums[4, b]
            cross = sy - at * s
            gained = wy - at * w + share * (syy - 2.0 * at * sy + at * at * s) + beyond[0][i] + beyond[1][k] + log
            # Asked so that NaN gets through each time.
            if not best * (1.0 + 2.0 * share * cross) - share * best * best * square >= gained:
                found = reached(gained, cross, square, share)
                if not found <= best:
                    best = found
                if not best < enough:
                    return best
    return best
