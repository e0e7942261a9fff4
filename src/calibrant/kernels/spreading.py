"""Residuals carried from predictions to the nodes of a regular grid."""

from __future__ import annotations

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray


@njit(cache=True, nogil=True)
def spread(v: FloatArray, r: FloatArray, nodes: FloatArray) -> None:
    """Add each r to the four nearest of the nodes 0, 1/M, ..., 1 with cubic Lagrange weights, reflected at the walls.

    Sums of r f(v) become sums over nodes exactly for cubic f, and to fourth order in 1/M for smooth f.
    """
    last = nodes.size - 1
    for j in range(v.size):
        place = v[j] * last
        i = min(int(place), last - 1)
        x = place - i
        a = (x + 1.0) * (x - 2.0) * r[j]
        b = x * (x - 1.0) * r[j]
        nodes[abs(i - 1)] -= b * (x - 2.0) / 6.0
        nodes[i] += a * (x - 1.0) / 2.0
        nodes[i + 1] -= a * x / 2.0
        nodes[last - abs(last - i - 2)] += b * (x + 1.0) / 6.0
