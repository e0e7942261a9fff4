"""The papers' instances keep the papers' promises."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import (
    InputError,
    calibration_distance,
    interval_calibration_error,
    lower_calibration_distance,
    smooth_calibration_error,
    synthetic,
    upper_calibration_distance,
)


def of(measure, domain, **options):
    return measure(domain.y_true, domain.y_prob, sample_weight=domain.sample_weight, **options)


def exact(domain):
    bracket = of(calibration_distance, domain)
    assert bracket.exact
    return bracket.upper


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 15), min_size=1, max_size=8), st.data())
def test_the_distance_decides_subset_sums(numbers, data):
    target = data.draw(st.integers(1, sum(numbers)))
    domain, promised = synthetic.subset_sum_domain(numbers, target)
    solvable = any(sum(c) == target for k in range(1, len(numbers) + 1) for c in combinations(numbers, k))
    assert domain.sample_weight.sum() == pytest.approx(1.0)
    assert set(domain.y_true) <= {0.0, 1.0}
    if solvable:
        assert exact(domain) == pytest.approx(promised, abs=1e-12)
    else:
        assert exact(domain) > promised + 1e-5


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_distance_decides_balanced_subset_sums(half, seed):
    numbers = np.random.default_rng(seed).integers(95, 106, 2 * half)
    domain, promised = synthetic.balanced_subset_sum_domain(numbers)
    assert np.ptp(domain.sample_weight) == 0.0
    if any(2 * sum(c) == numbers.sum() for c in combinations(numbers.tolist(), half)):
        assert exact(domain) == pytest.approx(promised, abs=1e-12)
    else:
        assert exact(domain) > promised + 1e-7


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.2])
def test_quadratic_gap(alpha):
    crossed, straight = synthetic.quadratic_gap(alpha), synthetic.quadratic_gap(alpha, crossed=False)
    assert exact(crossed) == pytest.approx(4 * alpha**2)
    assert exact(straight) == pytest.approx(alpha)
    for domain in (crossed, straight):
        assert of(lower_calibration_distance, domain) == pytest.approx(4 * alpha**2 / (1 + 2 * alpha), abs=1e-8)
        assert of(upper_calibration_distance, domain).upper == pytest.approx(alpha)
    pushed = synthetic.quadratic_gap(alpha, alpha / 2)
    assert of(upper_calibration_distance, pushed).upper == pytest.approx(5 * alpha**2)
    assert of(interval_calibration_error, pushed) >= alpha


def test_the_interval_error_jumps():
    still, moved = synthetic.interval_discontinuity(0.0), synthetic.interval_discontinuity(1e-9)
    assert of(interval_calibration_error, still) == pytest.approx(1 / 24)
    assert of(interval_calibration_error, moved) == pytest.approx(1 / 48, abs=1e-8)


def test_ratios_at_both_ends():
    for domain, ratio in zip(synthetic.extreme_ratios(0.01), (0.5, 1.99), strict=True):
        found = of(smooth_calibration_error, domain) / of(lower_calibration_distance, domain, tol=1e-13)
        assert found == pytest.approx(ratio, abs=1e-6)


def test_pure_is_farther_than_mixed():
    pure, mixed = synthetic.pure_and_mixed(14, random_state=0)
    assert exact(pure) == pytest.approx(0.0625)
    assert exact(mixed) < 0.05
    assert pure.y_prob.tolist() == mixed.y_prob.tolist()


def test_the_ladder_is_calibrated():
    assert exact(synthetic.calibrated_ladder(10)) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("temperature", [0.1, 1.0, 10.0])
def test_temperature_family(temperature):
    y_true, y_prob = synthetic.temperature_family(200_000, temperature, random_state=1)
    assert ((y_prob >= 0.0) & (y_prob <= 1.0)).all()
    quarter = 3.0 ** (1.0 / temperature)  # the odds that three to one become
    assert np.mean(y_prob < 1.0 / (1.0 + quarter)) == pytest.approx(0.25, abs=0.01)
    assert y_true.mean() == pytest.approx(0.5, abs=0.01)
    assert smooth_calibration_error(y_true, y_prob) < 0.005 if temperature == 1.0 else True
    again = synthetic.temperature_family(200_000, temperature, random_state=1)
    assert (again[1] == y_prob).all()


def test_shifted_uniform_is_at_distance_shift():
    y_true, y_prob = synthetic.shifted_uniform(400_000, 0.05, random_state=0)
    assert smooth_calibration_error(y_true, y_prob) == pytest.approx(0.05, abs=0.003)
    assert y_prob.max() <= 0.95


def test_hidden_bias_is_off_at_every_value():
    y_true, y_prob = synthetic.hidden_bias(300_000, 5, 0.2, random_state=0)
    for value in np.unique(y_prob):
        assert abs(y_true[y_prob == value].mean() - value) == pytest.approx(0.2, abs=0.01)


def test_a_domain_is_drawn_from():
    domain = synthetic.quadratic_gap(0.1)
    y_true, element = domain.draw(200_000, random_state=0)
    assert np.bincount(element) / element.size == pytest.approx(domain.sample_weight, abs=0.01)
    rates = np.bincount(element, y_true) / np.bincount(element)
    assert rates == pytest.approx(domain.y_true, abs=0.01)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: synthetic.temperature_family(3, 0.0), "temperature"),
        (lambda: synthetic.hidden_bias(3, 2, 0.9), "bias"),
        (lambda: synthetic.quadratic_gap(0.0), "alpha"),
        (lambda: synthetic.quadratic_gap(0.4, 0.2), "alpha"),
        (lambda: synthetic.extreme_ratios(0.5), "epsilon"),
        (lambda: synthetic.subset_sum_domain([1, -2], 1), "numbers"),
        (lambda: synthetic.subset_sum_domain([1.5], 1), "numbers"),
        (lambda: synthetic.subset_sum_domain([1, 2], 4), "target"),
        (lambda: synthetic.balanced_subset_sum_domain([1, 9]), "numbers"),
        (lambda: synthetic.balanced_subset_sum_domain([9, 9, 9]), "numbers"),
    ],
)
def test_parameters_out_of_range(call, argument):
    with pytest.raises(InputError, match=argument):
        call()
