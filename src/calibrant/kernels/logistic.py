"""The logistic loss of a linear score, with its first and second derivatives in the one pass that they share."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import njit
from calibrant.kernels.types import FloatArray


@njit(cache=True, nogil=True)
def logistic_derivatives(
    features: FloatArray, rate: FloatArray, mass: FloatArray, theta: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Sum of mass * (log(1 + exp(z)) - rate * z) with z = theta . features[:, i]: value, gradient and Hessian."""
    d, n = features.shape
    value = 0.0
    gradient = np.empty(d)
    hessian = np.empty((d, d))
    for a in range(d):
        gradient[a] = 0.0
        for b in range(d):
            hessian[a, b] = 0.0
    for i in range(n):
        z = 0.0
        for a in range(d):
            z += theta[a] * features[a, i]
        e = math.exp(-abs(z))  # never overflows
        value += mass[i] * (max(z, 0.0) + math.log1p(e) - rate[i] * z)
        p = 1.0 / (1.0 + e) if z >= 0.0 else e / (1.0 + e)
        slope = mass[i] * (p - rate[i])
        bend = mass[i] * e / ((1.0 + e) * (1.0 + e))
        for a in range(d):
            gradient[a] += slope * features[a, i]
            for b in range(a + 1):
                hessian[a, b] += bend * features[a, i] * features[b, i]
    for a in range(d):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
    return value, gradient, hessian
