"""Double sums of residuals over all pairs of predictions, in one pass each."""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.sums import add
from calibrant.kernels.types import FloatArray, UIntArray

_ONE = np.uint64(1)


@inner
def _decayed(carried: float, x: float) -> float:
    """What is carried across a gap, times exp(-x)."""
    if x < 1e-3:
        return carried - carried * (x * (1.0 - x * (1.0 / 2.0 - x * (1.0 / 6.0 - x * (1.0 / 24.0)))))
    if x > 40.0:
        return 0.0
    return carried * math.exp(-x)  # what is not a number as well


@njit(cache=True, nogil=True)
def laplace(v: FloatArray, r: FloatArray, bandwidth: float) -> float:
    """Return sum over i, j of r_i r_j exp(-|v_i - v_j| / bandwidth), for sorted v.

    carried = sum over i < j of r_i exp(-(v_j - v_i) / bandwidth) decays by one factor a step. On a short gap it loses
    carried * (1 - exp(-x)) by the Taylor series, whose first term left out is below 2**-53: a factor near 1 would be
    rounded, and on a regular grid each step repeats that error. Across a long gap less than exp(-40) of it is left.
    """
    carried = 0.0
    squares = 0.0
    cross = 0.0
    for j in range(v.size):
        if j > 0:
            carried = _decayed(carried + r[j - 1], (v[j] - v[j - 1]) / bandwidth)
        squares += r[j] * r[j]
        cross += r[j] * carried
    return squares + 2.0 * cross


@njit(cache=True, nogil=True)
def laplace_of_keys(keys: UIntArray, bandwidth: float) -> float:
    """Return the same of rows with outcomes 0 or 1, from their sorted keys of sorting.py, in one pass over them."""
    place = np.empty(1)
    place_bits = place.view(np.uint64)
    total = float(keys.size)
    carried = 0.0
    squares = 0.0
    cross = 0.0
    before = 0.0
    residual = 0.0
    i = 0
    while i < keys.size:
        bits = keys[i] >> _ONE
        ones = 0.0
        count = 0.0
        while i < keys.size and keys[i] >> _ONE == bits:
            ones += float(np.int64(keys[i] & _ONE))
            count += 1.0
            i += 1
        place_bits[0] = bits
        v = place[0]
        if count < i:  # not the first
            carried = _decayed(carried + residual, (v - before) / bandwidth)
        residual = (ones - count * v) / total
        squares += residual * residual
        cross += residual * carried
        before = v
    return squares + 2.0 * cross


@njit(cache=True, nogil=True)
def triangle(v: FloatArray, w: FloatArray, e: FloatArray) -> tuple[float, float]:
    """Return the sums over pairs of rows of w w', and of w e w' e' (1 - |v - v'|), for v that do not decrease.

    Each row meets the running sums of those before it, so no row's product with itself is ever added.
    """
    pairs, pairs_lost = 0.0, 0.0
    products, products_lost = 0.0, 0.0
    weights, weights_lost = 0.0, 0.0
    total, lost = 0.0, 0.0  # sum of w e
    near, near_lost = 0.0, 0.0  # sum of w e (1 - distance from the present row)
    for i in range(v.size):
        if i:
            near, near_lost = add(near, near_lost, -(v[i] - v[i - 1]) * (total + lost))
        r = w[i] * e[i]
        pairs, pairs_lost = add(pairs, pairs_lost, w[i] * (weights + weights_lost))
        products, products_lost = add(products, products_lost, r * (near + near_lost))
        weights, weights_lost = add(weights, weights_lost, w[i])
        total, lost = add(total, lost, r)
        near, near_lost = add(near, near_lost, r)
    return pairs + pairs_lost, products + products_lost


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
def gaussian_boxes(
    v: FloatArray, r: FloatArray, scale: float, rescale: float, kernel: FloatArray, moment: FloatArray
) -> float:
    """Return sum over pairs of r_i r_j G(t_i - t_j) for t = v * scale * rescale, by moments of boxes of width 1 in t.

    The moments of a box are sums of r_j T_k(2 x_j - 1), x_j the place within it and T_k Chebyshev's polynomials;
    kernel[d, k, l] are the Chebyshev coefficients of G between boxes d apart, and boxes further apart than these
    reach add nothing. The scales are powers of two, so boxes and places carry no rounding. moment, of shape
    (len(kernel), number of polynomials), is scratch for the latest boxes that hold a point, in turn.
    """
    reach = kernel.shape[0]
    terms = kernel.shape[2]
    base = np.full(reach, -np.inf)
    total = 0.0
    slot = 0
    for j in range(v.size):
        t = v[j] * scale * rescale
        if not t - base[slot] < 1.0:  # an infinite t, on a grid too fine for its distance from 0, is alone in its box
            if j > 0:
                total += _box_with_earlier(base, slot, kernel, moment)
            slot = (slot + 1) % reach
            base[slot] = np.floor(t)  # not math.floor, whose integer would overflow
            moment[slot, :] = 0.0
        u = 2.0 * (t - base[slot]) - 1.0 if t != base[slot] else -1.0
        last = r[j]
        this = r[j] * u
        moment[slot, 0] += last
        for k in range(1, terms):
            moment[slot, k] += this
            last, this = this, 2.0 * u * this - last
    return total + _box_with_earlier(base, slot, kernel, moment)


@njit(cache=True, nogil=True)
def _box_with_earlier(base: FloatArray, slot: int, kernel: FloatArray, moment: FloatArray) -> float:
    """Return the products of a box with itself, and twice those with the boxes before it."""
    reach, terms, _ = kernel.shape
    near = np.zeros(terms)
    for other in range(reach):
        distance = base[slot] - base[other]
        if other == slot:
            distance = 0.0  # infinity less infinity is not a number
        if distance < reach:
            times = 1.0 if other == slot else 2.0
            d = int(distance)
            for k in range(terms):
                m = times * moment[other, k]
                for el in range(terms):
                    near[el] += m * kernel[d, k, el]
    total = 0.0
    for k in range(terms):
        total += near[k] * moment[slot, k]
    return total
