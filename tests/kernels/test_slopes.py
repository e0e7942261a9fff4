"""What gradients are made of: slopes of the smooth error by finite differences, one-sided sums by definition."""

import numpy as np
import pytest

from calibrant import smooth_calibration_error
from calibrant.door.sample import Sample
from calibrant.kernels.slopes import gap_prices, one_sided
from calibrant.measures.smooth import witness_from_sample


def drawn(n, seed, bend=1.7):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v**bend).astype(float), v


def slope_of_smooth_error(y, v, weight):
    sample = Sample.from_columns(y, v, weight)
    witness = witness_from_sample(sample)
    price = gap_prices(sample.prediction, sample.residual(), witness.heights)
    moved = np.concatenate([[0.0], price]) - np.concatenate([price, [0.0]])
    return moved[np.searchsorted(sample.prediction, v)] - witness(v) * weight / weight.sum()


def peaked(n, seed):
    """Outcomes that draw the witness to a limit in the middle, with links at their limits on both sides."""
    v = np.random.default_rng(seed).random(n)
    return ((v > 0.2) & (v < 0.8)).astype(float) if seed % 2 else ((v < 0.3) | (v > 0.7)).astype(float), v


def valley(seed):
    """Two crowds of ones that hold the witness at 1, and zeros between them that draw it down from both sides."""
    rng = np.random.default_rng(seed)
    v = np.concatenate([rng.uniform(0.25, 0.35, 8), rng.uniform(0.4, 0.6, 1 + seed % 4), rng.uniform(0.65, 0.75, 8)])
    return (np.abs(v - 0.5) > 0.12).astype(float), v


def heavy_valley(seed):
    """Two heavy ones that hold the witness at 1, and a zero half way between them: both links are at their limits."""
    half = 0.5 ** (2 + seed % 3)
    v = np.array([0.5 - half, 0.5, 0.5 + half])
    return np.array([1.0, 0.0, 1.0]), v, np.array([20.0, 1.0 + seed % 7, 30.0])


@pytest.mark.parametrize("seed", range(420))
def test_the_smooth_errors_slope_is_that_of_finite_differences(seed):
    n = 2 + seed % 25
    y, v = drawn(n, seed, [0.4, 1.0, 3.0][seed % 3]) if seed < 200 else peaked(n, seed)
    weight = np.ones(n)
    if seed >= 400:
        y, v, weight = heavy_valley(seed)
    elif seed >= 300:
        y, v = valley(seed)
        weight = np.ones(v.size)
    slope, step = slope_of_smooth_error(y, v, weight), 1e-7
    centre = smooth_calibration_error(y, v, sample_weight=weight)
    for i in range(v.size):
        ends = []
        for sign in (1, -1):
            moved = v.copy()
            moved[i] += sign * step
            ends.append(smooth_calibration_error(y, np.clip(moved, 0, 1), sample_weight=weight))
        right, left = (ends[0] - centre) / step, (centre - ends[1]) / step
        # Where the error has a kink the slope lies between those of its two sides.
        assert min(left, right) - 1e-5 <= slope[i] <= max(left, right) + 1e-5


@pytest.mark.parametrize("bandwidth", [1e-3, 0.3, 5.0])
def test_one_sided_sums_are_their_definition(bandwidth):
    rng = np.random.default_rng(0)
    p, r = np.sort(np.round(rng.random(60), 2)), rng.standard_normal(60)
    expected = [sum(r[j] * np.exp(-(p[i] - p[j]) / bandwidth) for j in range(i)) for i in range(60)]
    assert one_sided(p, r, bandwidth) == pytest.approx(expected, abs=1e-12)
