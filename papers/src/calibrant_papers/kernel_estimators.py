"""The unifying-theory paper's two randomised estimators of the squared Laplace kernel error."""

from __future__ import annotations

__all__ = ["squared_kernel_error_binning", "squared_kernel_error_fourier"]

import numpy as np

from calibrant.door.arguments import RandomState, generator, positive, positive_integer
from calibrant.door.columns import Column
from calibrant.door.sample import Sample


def squared_kernel_error_fourier(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    bandwidth: float = 1.0,
    n_draws: int = 100,
    random_state: RandomState = None,
) -> float:
    """Estimate the squared Laplace kernel error from random Fourier features.

    Parameters
    ----------
    y_true, y_prob, sample_weight, bandwidth
        As for `kernel_calibration_error`.
    n_draws : int, default 100
        Independent draws to average.
    random_state : int, numpy.random.Generator or None
        Seed of the draws.

    Returns
    -------
    float
        Mean over draws of |sum w (v - y) exp(-i omega v)|**2 / (sum w)**2 with omega Cauchy of scale 1 / bandwidth:
        an unbiased estimate of ``kernel_calibration_error(...) ** 2``, each draw in [0, 1].

    Raises
    ------
    InputError
        If a column or a parameter cannot be used.

    See Also
    --------
    kernel_calibration_error, squared_kernel_error_binning

    Notes
    -----
    For reference and comparison: the exact value costs less than ten draws. Cost: a sort and O(m) per draw.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Algorithm 1 and
    Theorem 8.13.

    Examples
    --------
    >>> from calibrant_papers.kernel_estimators import squared_kernel_error_fourier
    >>> round(squared_kernel_error_fourier([0, 1], [0.2, 0.2], n_draws=10, random_state=0), 6)
    0.09
    """
    v, r, scale, rng = _prepare(y_true, y_prob, sample_weight, bandwidth, n_draws, random_state)
    omega = rng.standard_cauchy(n_draws) / scale
    return float(np.mean([abs(r @ np.exp(-1j * (w * v))) ** 2 for w in omega]))


def squared_kernel_error_binning(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    bandwidth: float = 1.0,
    n_draws: int = 100,
    random_state: RandomState = None,
) -> float:
    """Estimate the squared Laplace kernel error from bins of random width and shift.

    Parameters
    ----------
    y_true, y_prob, sample_weight, bandwidth, n_draws, random_state
        As for `squared_kernel_error_fourier`.

    Returns
    -------
    float
        Mean over draws of the sum over bins of (sum of w (v - y) in the bin)**2 / (sum w)**2, with bins of width
        bandwidth * Gamma(2, 1) and a uniform shift: an unbiased estimate of ``kernel_calibration_error(...) ** 2``.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used.

    See Also
    --------
    kernel_calibration_error, squared_kernel_error_fourier

    Notes
    -----
    The paper's listing leaves out the division by the squared number of rows; its theorem needs it. Two predictions at
    distance d share a bin of width delta with probability (1 - d / delta)+, whose mean over the Gamma distribution is
    exp(-d). Cost: a sort and O(m) per draw.

    References
    ----------
    Błasiok, Gopalan, Hu and Nakkiran, A unifying theory of distance from calibration, STOC 2023, Algorithm 2 and
    Theorem 8.14.

    Examples
    --------
    >>> from calibrant_papers.kernel_estimators import squared_kernel_error_binning
    >>> round(squared_kernel_error_binning([0, 1], [0.2, 0.2], n_draws=10, random_state=0), 6)
    0.09
    """
    v, r, scale, rng = _prepare(y_true, y_prob, sample_weight, bandwidth, n_draws, random_state)
    total = 0.0
    for width in scale * rng.gamma(2.0, size=n_draws):
        bin_of = np.floor((v + rng.uniform(0.0, width)) / width)
        starts = np.flatnonzero(np.concatenate([[True], bin_of[1:] != bin_of[:-1]]))
        total += float((np.add.reduceat(r, starts) ** 2).sum())
    return total / n_draws


def _prepare(
    y_true: Column,
    y_prob: Column,
    sample_weight: Column | None,
    bandwidth: float,
    n_draws: int,
    random_state: RandomState,
) -> tuple[np.ndarray, np.ndarray, float, np.random.Generator]:
    positive(bandwidth, "bandwidth")
    positive_integer(n_draws, "n_draws")
    sample = Sample.from_columns(y_true, y_prob, sample_weight)
    return sample.prediction, sample.residual(), float(bandwidth), generator(random_state)
