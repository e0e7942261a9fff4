"""The randomised estimators of the squared kernel error against the exact one."""

import math

import numpy as np
import pytest

from calibrant import kernel_calibration_error
from calibrant_papers.kernel_estimators import squared_kernel_error_binning, squared_kernel_error_fourier


@pytest.mark.parametrize("estimator", [squared_kernel_error_fourier, squared_kernel_error_binning])
@pytest.mark.parametrize("bandwidth", [1.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_the_randomised_estimators_converge(estimator, bandwidth, weighted):
    rng = np.random.default_rng(3)
    y_prob = np.round(rng.random(60), 2)
    y_true = (rng.random(60) < y_prob**2) * 1.0
    weight = rng.random(60) if weighted else None
    exact = kernel_calibration_error(y_true, y_prob, sample_weight=weight, bandwidth=bandwidth) ** 2
    draws = [
        estimator(y_true, y_prob, sample_weight=weight, bandwidth=bandwidth, n_draws=200, random_state=seed)
        for seed in range(60)
    ]
    assert all(0 <= d <= 1 for d in draws)
    assert abs(np.mean(draws) - exact) < 4 * np.std(draws, ddof=1) / math.sqrt(len(draws))
    assert np.mean(draws) == pytest.approx(exact, rel=0.15)
