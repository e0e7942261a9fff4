"""Kernel calibration error: the norm of the mean residual in the Hilbert space of a kernel."""

from __future__ import annotations

__all__ = ["kernel_calibration_error"]

import math
from typing import Literal, get_args

import numpy as np

from calibrant.door.arguments import one_of, positive
from calibrant.door.columns import Column
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.kernels import pairs
from calibrant.kernels.sums import dot
from calibrant.kernels.types import FloatArray
from calibrant.measures.registry import register

Kernel = Literal["laplace", "gaussian"]

_REACH = 8.7  # exp(-8.7**2 / 2) < 2**-53: beyond so many bandwidths a Gaussian adds nothing to a double
_NODES = 20


def _from_sample(sample: Sample, kernel: Kernel = "laplace", bandwidth: float = 1.0, unbiased: bool = False) -> float:
    one_of(kernel, get_args(Kernel), "kernel")
    positive(bandwidth, "bandwidth")
    v, r = sample.prediction, sample.residual()
    square = pairs.laplace(v, r, float(bandwidth)) if kernel == "laplace" else _gaussian(v, r, float(bandwidth))
    if unbiased:
        return _unbiased(sample, square)
    return math.sqrt(max(0.0, square))  # a sum of squares, so below zero only by rounding


def _gaussian(v: FloatArray, r: FloatArray, bandwidth: float) -> float:
    """Exact to rounding by the cheaper of two linear roads: the Fourier series for a wide kernel, else boxes."""
    span = float(v[-1] - v[0]) / bandwidth
    return _gaussian_fourier((v - v[0]) / bandwidth, r, span) if span < 16.0 else _gaussian_boxes(v, r, bandwidth)


def _gaussian_fourier(t: FloatArray, r: FloatArray, span: float) -> float:
    """Sum over pairs for t within [0, span], in bandwidths.

    On a circle of length span + reach the kernel's periodic images are below 2**-53, and so are the terms of its
    Fourier series from `terms` on; each term is a square, so nothing cancels.
    """
    length = span + _REACH
    power = np.empty(int(length * _REACH / (2.0 * math.pi)) + 2)
    frequency = 2.0 * math.pi / length
    pairs.fourier_power(t, r, frequency, power)
    coefficient = np.exp(-0.5 * (frequency * np.arange(power.size)) ** 2)
    coefficient[1:] *= 2.0
    return float(math.sqrt(2.0 * math.pi) / length * dot(coefficient, power))


def _gaussian_boxes(v: FloatArray, r: FloatArray, bandwidth: float) -> float:
    """Sum over pairs with the kernel interpolated between boxes at Chebyshev nodes, a number of steps linear in m.

    The n-th derivative of the Gaussian is at most 1.09 sqrt(n!) (Cramér's inequality) and a box at most two bandwidths
    wide, so n nodes err by at most 2.18 / (2**n sqrt(n!)), which is 1.4e-15 for n = 20, and by less than four times
    that in both variables (Lebesgue constant below 3).
    """
    mantissa, exponent = math.frexp(bandwidth)
    ratio = 1.0 / mantissa  # a box of 2**exponent holds between one and two bandwidths
    angle = math.pi * (np.arange(_NODES) + 0.5) / _NODES
    place = 0.5 * (1.0 + np.cos(angle))
    series = np.cos(np.outer(np.arange(_NODES), angle)) * (2.0 / _NODES)  # node values to Chebyshev coefficients
    series[0] *= 0.5
    boxes_apart = np.arange(math.ceil(_REACH / ratio) + 1.0)
    distance = ratio * (boxes_apart[:, None, None] + place - place[:, None])
    kernel = series @ np.exp(-0.5 * distance**2) @ series.T
    half = -exponent // 2  # the whole scale overflows for the smallest bandwidths
    scale, rescale = math.ldexp(1.0, half), math.ldexp(1.0, -exponent - half)
    return pairs.gaussian_boxes(v, r, scale, rescale, kernel, np.zeros(kernel.shape[:2]))


def _unbiased(sample: Sample, square: float) -> float:
    """Leave the products of rows with themselves, w**2 (y - v)**2, out of the square where pooled sums tell them."""
    v, total = sample.prediction, sample.total_weight
    squares = sample.squared_weight / total / total
    pairs_share = 1.0 - float(squares.sum())
    if sample.n_rows < 2 or pairs_share < 1e-12:
        raise InputError("unbiased", "needs at least two rows that carry weight; there is 1")
    zeros, ones, single = sample.weighted_outcome == 0.0, sample.ones == sample.count, sample.count == 1.0
    own = np.select([zeros, ones, single], [v**2 * squares, (1.0 - v) ** 2 * squares, sample.residual() ** 2])
    mixed = np.flatnonzero(~(zeros | ones | single))
    if mixed.size:
        if not sample.binary:
            raise InputError(
                "unbiased", f"needs outcomes of 0 or 1 where rows share a prediction (as at {v[mixed[0]]})"
            )
        # By Cauchy and Schwarz the squared weights of the ones add up to at least (their sum)**2 / count, and so do
        # those of the zeros: where weights are equal within each outcome, the two limits meet.
        share = sample.weighted_outcome[mixed] / total
        rest = sample.weight[mixed] / total - share
        least = share**2 / sample.ones[mixed]
        most = squares[mixed] - rest**2 / (sample.count - sample.ones)[mixed]
        slope = 1.0 - 2.0 * v[mixed]
        own[mixed] = v[mixed] ** 2 * squares[mixed] + slope * 0.5 * (least + most)
        doubt = 0.5 * np.abs(slope * (most - least))
        if doubt.sum() > 1e-12 * pairs_share:
            at = v[mixed[np.argmax(doubt)]]
            raise InputError(
                "unbiased", f"needs rows that share a prediction and outcome to weigh the same (as at {at})"
            )
    estimate = (square - float(own.sum())) / pairs_share
    return math.copysign(math.sqrt(abs(estimate)), estimate)


@register(
    _from_sample,
    sentence="How far errors of rows with similar predictions agree in sign.",
    definition="Root of the mean of (y - v) (y' - v') exp(-|v - v'|) over all pairs of rows, between 0 and 1.",
    source=(
        "Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Definition "
        "8.1, Claim 8.3, Theorems 8.5 and 8.6. Kumar, Sarawagi and Jain, Trainable calibration measures, ICML "
        "2018."
    ),
    symmetric=True,
    order=60,
)
def kernel_calibration_error(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    kernel: Kernel = "laplace",
    bandwidth: float = 1.0,
    unbiased: bool = False,
) -> float:
    """How far errors of rows with similar predictions agree in sign.

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
        consistent measure. For the Gaussian there are predictors whose kernel error is exponentially small, and their
        smooth calibration error only polynomially small (Theorem 8.6).
    bandwidth : float, default 1.0
        In probability units, positive. The paper's inequalities are for 1.
    unbiased : bool, default False
        Leave out each row's product with itself, so that the square is an unbiased estimate of the population's.

    Returns
    -------
    float
        Between 0 and 1. With ``unbiased=True`` the signed root, sign(s) * sqrt(|s|), of the unbiased estimate s of the
        square. It may be negative where the predictor is close to calibrated. The units are the same, and s = value *
        abs(value) is recovered without loss.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used. For ``unbiased=True`` also with a single row. Pooled rows that share
        a prediction must then have outcomes of 0 or 1, and the same weight within each outcome. Otherwise their
        products with themselves cannot be separated.

    See Also
    --------
    kernel_calibration_test, smooth_calibration_error

    Notes
    -----
    The square is the sum over i, j of w_i w_j (y_i - v_i) (y_j - v_j) K(v_i, v_j) / (sum w)**2 (Claim 8.3). Unbiased,
    the same sum over i != j, divided by (sum w)**2 - sum w**2. With the Laplace kernel, smooth calibration error /
    sqrt(2) <= kernel error <= root of the lower distance (docs/constants.md; docs/two-bin.md). The square is accurate
    to about 1e-14, so a value v to 1e-14 / v: the root magnifies rounding near zero. Cost: a sort, then O(m) for m
    distinct predictions and either kernel at any bandwidth.

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
