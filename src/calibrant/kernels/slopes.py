"""How calibration errors change as predictions move: the gradients of losses."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray

_TIGHT = 1e-9  # relative: a link this near to slope 1 is at its limit


@njit(nogil=True, cache=True)
def gap_prices(v: FloatArray, r: FloatArray, w: FloatArray) -> FloatArray:
    """By how much the smooth error grows with each gap v[k + 1] - v[k]: the size of the dual flow through it.

    r is the residual's share at each distinct prediction, w the witness there. The flow through a link that is not at
    its limit is 0; at a point inside (-1, 1) what flows in, less r, flows out; a point at 1 or -1 takes up anything.
    """
    m = v.size
    price = np.zeros(max(0, m - 1))
    start = 0
    while start < m - 1:
        # A stretch of links at their limit, up to a link that is not, or a point at 1 or -1.
        end = start
        while end < m - 1 and abs(w[end + 1] - w[end]) >= (v[end + 1] - v[end]) * (1.0 - _TIGHT):
            end += 1
            if abs(w[end]) >= 1.0 - _TIGHT:
                break
        if end == start:
            start += 1
            continue
        # Flow through link k is c less the residuals of its stretch up to k; a left end at 1 or -1 leaves c open.
        open_left, open_right = abs(w[start]) >= 1.0 - _TIGHT, abs(w[end]) >= 1.0 - _TIGHT
        total, low, high = 0.0, -math.inf, math.inf
        for k in range(start, end):
            if k > start or not open_left:
                total += r[k]
            if w[k + 1] > w[k]:
                low = max(low, total)
            else:
                high = min(high, total)
        c = 0.0
        if open_left and not open_right:
            c = total + r[end]
        elif open_left:
            c = low if high == math.inf else high if low == -math.inf else 0.5 * (low + high)
        total = 0.0
        for k in range(start, end):
            if k > start or not open_left:
                total += r[k]
            price[k] = abs(c - total)
        start = end
    return price


@njit(nogil=True, cache=True)
def one_sided(p: FloatArray, r: FloatArray, bandwidth: float) -> FloatArray:
    """Sum over earlier rows j of r[j] exp(-(p[i] - p[j]) / bandwidth), for each row i; p does not decrease."""
    out = np.empty(p.size)
    held = 0.0
    for i in range(p.size):
        if i > 0:
            held = (held + r[i - 1]) * math.exp(-(p[i] - p[i - 1]) / bandwidth)
        out[i] = held
    return out
