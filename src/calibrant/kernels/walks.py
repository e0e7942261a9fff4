"""Running sums of residuals over the predictions, from 0, and what two bins and cutoffs make of them."""

from __future__ import annotations

from calibrant.kernels.compiled import njit
from calibrant.kernels.sums import add, compensated_sum
from calibrant.kernels.types import FloatArray


@njit(cache=True, nogil=True)
def reach(r: FloatArray) -> tuple[float, float]:
    """Return the lowest and the highest of the running sums of r, 0 among them; NaN stays NaN."""
    total, lost, low, high = 0.0, 0.0, 0.0, 0.0
    for j in range(r.size):
        total, lost = add(total, lost, r[j])
        low = min(low, total + lost)
        high = max(high, total + lost)
    end = total + lost
    return (low, high) if end == end else (end, end)


@njit(cache=True, nogil=True)
def two_bins(v: FloatArray, r: FloatArray) -> tuple[float, float]:
    """Return the integrals over q in [0, 1] of |A| + |B| and of A**2 + B**2.

    A is the sum of r over v < q, B that over v >= q; v increases.
    """
    whole = compensated_sum(r)
    if v.size == 0:
        return 0.0, 0.0
    outside = v[0] + (1.0 - v[v.size - 1])  # all rows are in one bin
    absolute, absolute_lost = abs(whole) * outside, 0.0
    squared, squared_lost = whole * whole * outside, 0.0
    total, lost = 0.0, 0.0
    for j in range(v.size - 1):
        total, lost = add(total, lost, r[j])
        gap = v[j + 1] - v[j]
        a = total + lost
        b = whole - a
        absolute, absolute_lost = add(absolute, absolute_lost, gap * (abs(a) + abs(b)))
        squared, squared_lost = add(squared, squared_lost, gap * (a * a + b * b))
    return absolute + absolute_lost, squared + squared_lost
