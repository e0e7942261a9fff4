"""Double sums of residuals over all pairs of predictions, in one pass each."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from calibrant.kernels.types import FloatArray


@njit(cache=True, nogil=True)
def laplace(v: FloatArray, r: FloatArray, bandwidth: float) -> float:
    """Return sum over i, j of r_i r_j exp(-|v_i - v_j| / bandwidth), for sorted v.

    carried = sum over i < j of r_i exp(-(v_j - v_i) / bandwidth) decays by one factor a step. A short gap takes the
    Taylor series, whose first term left out is below 2**-53 there, instead of a call to exp.
    """
    carried = 0.0
    squares = 0.0
    cross = 0.0
    for j in range(v.size):
        if j > 0:
            x = (v[j] - v[j - 1]) / bandwidth
            decay = 1.0 - x * (1.0 - x * (0.5 - x * (1.0 / 6.0))) if x < 1e-4 else math.exp(-x)
            carried = (carried + r[j - 1]) * decay
        squares += r[j] * r[j]
        cross += r[j] * carried
    return squares + 2.0 * cross


@njit(cache=True, nogil=True)
def fourier_power(v: FloatArray, r: FloatArray, frequency: float, power: FloatArray) -> None:
    """Write |sum r_j exp(i k frequency v_j)|**2 for k = 0, 1, ..."""
    terms = power.size
    real = np.zeros(terms)
    imag = np.zeros(terms)
    for j in range(v.size):
        c = math.cos(frequency * v[j])
        s = math.sin(frequency * v[j])
        a = r[j]
        b = 0.0
        for k in range(terms):
            real[k] += a
            imag[k] += b
            a, b = a * c - b * s, a * s + b * c
    for k in range(terms):
        power[k] = real[k] * real[k] + imag[k] * imag[k]


@njit(cache=True, nogil=True)
def gaussian_window(v: FloatArray, r: FloatArray, bandwidth: float, reach: float) -> float:
    """Return sum over pairs with |v_i - v_j| <= reach of r_i r_j exp(-(v_i - v_j)**2 / (2 bandwidth**2))."""
    squares = 0.0
    cross = 0.0
    first = 0
    for j in range(v.size):
        while v[j] - v[first] > reach:
            first += 1
        squares += r[j] * r[j]
        near = 0.0
        for i in range(first, j):
            z = (v[j] - v[i]) / bandwidth
            near += r[i] * math.exp(-0.5 * z * z)
        cross += r[j] * near
    return squares + 2.0 * cross
