"""Kernel calibration error: the norm of the mean residual in the Hilbert space of a kernel."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs import Column
from calibrant.kernels import pairs
from calibrant.measures.parameters import one_of, positive
from calibrant.measures.registry import register
from calibrant.sample import Sample

Kernel = Literal["laplace", "gaussian"]

_REACH = 8.7  # exp(-8.7**2 / 2) < 2**-53: beyond so many bandwidths a Gaussian adds nothing to a double


def _from_sample(sample: Sample, kernel: Kernel = "laplace", bandwidth: float = 1.0, unbiased: bool = False) -> float:
    one_of(kernel, ("laplace", "gaussian"), "kernel")
    positive(bandwidth, "bandwidth")
    v, r = sample.prediction, sample.residual()
    square = pairs.laplace(v, r, float(bandwidth)) if kernel == "laplace" else _gaussian(v, r, float(bandwidth))
    if unbiased:
        return _unbiased(sample, square)
    return math.sqrt(max(0.0, square))  # a sum of squares, so below zero only by rounding


def _gaussian(v: np.ndarray, r: np.ndarray, bandwidth: float) -> float:
    """Exact to rounding by the cheaper of two roads: pairs within reach, or the Fourier series.

    On a circle of length span + reach the kernel's periodic images are below 2**-53, and so are the terms of its
    Fourier series from `terms` on; each term is a square, so nothing cancels.
    """
    reach = _REACH * bandwidth
    length = (v[-1] - v[0]) + reach
    terms = int(length * _REACH / (2.0 * math.pi * bandwidth)) + 2 if length < 1e9 * bandwidth else 10**9
    window = np.searchsorted(v, v + reach, side="right") - np.arange(v.size)
    if 8 * int(window.sum()) < terms * v.size:
        return pairs.gaussian_window(v, r, bandwidth, reach)
    power = np.empty(terms)
    frequency = 2.0 * math.pi / length
    pairs.fourier_power(v - v[0], r, frequency, power)
    coefficient = np.exp(-0.5 * (frequency * bandwidth * np.arange(terms)) ** 2)
    coefficient[1:] *= 2.0
    return float(bandwidth * math.sqrt(2.0 * math.pi) / length * (coefficient @ power))


def _unbiased(sample: Sample, square: float) -> float:
    if not sample.binary or not np.array_equal(sample.weight, sample.count):
        raise InputError("unbiased", "needs single rows: outcomes of 0 or 1 and no sample_weight")
    n = sample.n_rows
    if n < 2:
        raise InputError("unbiased", "needs at least two rows; there is 1")
    v = sample.prediction
    own = float((sample.ones * (1.0 - v) ** 2 + (sample.count - sample.ones) * v**2).sum()) / n
    estimate = (n * square - own) / (n - 1)
    return math.copysign(math.sqrt(abs(estimate)), estimate)


@register(_from_sample, symmetric=True)
def kernel_calibration_error(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    kernel: Kernel = "laplace",
    bandwidth: float = 1.0,
    unbiased: bool = False,
) -> float:
    """Root mean product of the errors of two random rows, counted by how close their predictions are.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    kernel : {"laplace", "gaussian"}
        ``exp(-|u - v| / bandwidth)`` or ``exp(-(u - v)**2 / (2 * bandwidth**2))``. Only the Laplace kernel gives a
        consistent measure: for the Gaussian there are predictors whose kernel error is exponentially small while
        their smooth calibration error is only polynomially small (Theorem 8.6).
    bandwidth : float, default 1.0
        In probability units, positive. The paper's inequalities are for 1.
    unbiased : bool, default False
        Leave out each row's product with itself, so that the square is an unbiased estimate of the population's.

    Returns
    -------
    float
        Between 0 and 1. With ``unbiased=True`` the signed root, sign(s) * sqrt(|s|), of an estimate s of the square
        that may be negative when the predictor is close to calibrated.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, and for ``unbiased=True`` with weights, event rates or one row:
        pooled rows have no products with themselves to leave out.

    Notes
    -----
    The square is the sum over i, j of w_i w_j (y_i - v_i) (y_j - v_j) K(v_i, v_j) / (sum w)**2 (Claim 8.3). With the
    Laplace kernel, smooth calibration error / 3 <= kernel error <= about the root of the distance (Theorem 8.5).
    Cost after the sort, for m distinct predictions: Laplace O(m). Gaussian, exact to rounding, the less of
    O(m / bandwidth) and the number of pairs closer than 8.7 bandwidths.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition 8.1,
    Claim 8.3, Theorems 8.5 and 8.6. Kumar, Sarawagi and Jain, Trainable calibration measures, ICML 2018.

    Examples
    --------
    >>> from calibrant import kernel_calibration_error
    >>> round(kernel_calibration_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.10036
    """
    sample = Sample.from_columns(y_true, y_prob, sample_weight)
    return _from_sample(sample, kernel, bandwidth, unbiased)
