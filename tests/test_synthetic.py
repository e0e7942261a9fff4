"""The papers' instances keep the papers' promises."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
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
from calibrant.measures import check_predictor
from calibrant_papers.tcal_figures import oscillation
from tests.oracles import distance as oracle
from tests.strategies import examples


def of(measure, domain, **options):
    return measure(domain.y_true, domain.y_prob, sample_weight=domain.sample_weight, **options)


def exact(domain):
    bracket = of(calibration_distance, domain)
    assert bracket.exact
    return bracket.upper


@examples(200)
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


@examples(100)
@given(st.integers(1, 4), st.data())
def test_the_distance_decides_balanced_subset_sums(half, data):
    numbers = data.draw(st.lists(st.integers(1, 15), min_size=2 * half, max_size=2 * half))
    domain, promised = synthetic.balanced_subset_sum_domain(numbers)
    assert np.ptp(domain.sample_weight) == 0.0
    if any(2 * sum(c) == sum(numbers) for c in combinations(numbers, half)):
        assert exact(domain) == pytest.approx(promised, abs=1e-12)
    else:
        assert exact(domain) > promised + 1e-5


@pytest.mark.parametrize(("numbers", "target"), [([3, 5, 6], 8), ([3, 5, 6], 7), ([2, 4, 6], 5), ([1, 2, 3, 4], 9)])
def test_subset_sums_by_all_partitions(numbers, target):
    domain, promised = synthetic.subset_sum_domain(numbers, target)
    solvable = any(sum(c) == target for k in range(1, len(numbers) + 1) for c in combinations(numbers, k))
    least = oracle.calibration_distance(domain.y_true, domain.y_prob, domain.sample_weight)
    assert (least < promised + 1e-9) == solvable
    assert least > promised - 1e-12


@pytest.mark.parametrize("numbers", [[1, 2, 3, 4], [1, 2, 3, 5], [7, 7, 7, 7], [1, 1, 1, 19], [4, 4], [4, 5]])
def test_balanced_subset_sums_by_all_partitions(numbers):
    domain, promised = synthetic.balanced_subset_sum_domain(numbers)
    solvable = any(2 * sum(c) == sum(numbers) for c in combinations(numbers, len(numbers) // 2))
    least = oracle.calibration_distance(domain.y_true, domain.y_prob, domain.sample_weight)
    assert (least < promised + 1e-9) == solvable
    assert least > promised - 1e-12


def two_parts_reach_the_bound(numbers, epsilon):
    """Whether a part with all of the B, and one of the rest, move nothing to the right: docs/hardness.md, step 1."""
    half, mean = len(numbers) // 2, Fraction(sum(numbers), len(numbers))
    low, high = Fraction(1, 2) - epsilon, Fraction(1, 2) + epsilon
    sums = [{0}] + [set() for _ in numbers]  # of so many numbers
    for each in numbers:
        for count in range(len(numbers), 0, -1):
            sums[count] |= {s + each for s in sums[count - 1]}
    return any(
        a + half * (1 - 4 * epsilon) + 2 * epsilon * s / mean <= low * (a + half + count)
        and half - a + 2 * epsilon * (2 * half - s / mean) <= high * (half - a + 2 * half - count)
        for count, found in enumerate(sums)
        for s in found
        for a in range(half + 1)
    )


@pytest.mark.slow
def test_an_epsilon_that_does_not_shrink_is_no_reduction():
    numbers = [7] * 53 + [9] * 53  # 53 is odd: no half has half of the sum
    assert two_parts_reach_the_bound(numbers, Fraction(1, 32))
    assert not two_parts_reach_the_bound(numbers, Fraction(1, 8 * 53))
    domain, promised = synthetic.balanced_subset_sum_domain(numbers)
    with_b = np.concatenate([np.zeros(53), np.ones(53), [0.0], np.ones(52), np.zeros(53)])
    assert of(lambda y, v, **w: check_predictor(with_b, y, v, **w), domain) > promised + 1e-4


@examples(100)
@given(st.integers(1, 8), st.data())
def test_two_parts_reach_the_bound_only_by_a_solution(half, data):
    numbers = data.draw(st.lists(st.integers(1, 30), min_size=2 * half, max_size=2 * half))
    solvable = any(2 * sum(c) == sum(numbers) for c in combinations(numbers, half))
    assert two_parts_reach_the_bound(numbers, Fraction(1, 8 * half)) == solvable


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
    for domain, ratio in zip(synthetic.constant_gap(0.1), (1.0, 1.5), strict=True):
        assert of(smooth_calibration_error, domain) == pytest.approx(
            ratio * of(lower_calibration_distance, domain, tol=1e-13), abs=1e-9
        )
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


@pytest.mark.slow
@pytest.mark.parametrize("two_sided", [False, True])
def test_oscillating_swings_as_the_equation_says(two_sided):
    m, s, rho, n = 3, 0.4, 20.0, 2_000_000
    y_true, y_prob = synthetic.oscillating(n, m, s, rho, random_state=0, two_sided=two_sided)
    x = np.linspace(0.0, 1.0, 100_001)
    cells = 60
    cell = (y_prob * cells).astype(int)
    found = np.bincount(cell, y_true - y_prob, cells) / n
    expected = oscillation(x, m, s, rho, two_sided=two_sided)
    of_cell = np.bincount(np.minimum((x * cells).astype(int), cells - 1), expected, cells) / x.size
    assert np.abs(of_cell).max() > 0.0015
    assert np.abs(found - of_cell).max() < 5.0 * np.sqrt(0.25 / cells / n)


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
        (lambda: synthetic.shifted_uniform(3, 1.5), "shift"),
        (lambda: synthetic.oscillating(3, 0, 0.5, 1.0), "m"),
        (lambda: synthetic.oscillating(1000, 1, 0.5, 1000.0, 0), "rho"),
        (lambda: synthetic.hidden_bias(3, 2, 0.9), "bias"),
        (lambda: synthetic.hidden_bias(3, 0, 0.1), "values"),
        (lambda: synthetic.constant_gap(0.5), "epsilon"),
        (lambda: synthetic.pure_and_mixed(3, 0.5), "epsilon"),
        (lambda: synthetic.quadratic_gap(0.0), "alpha"),
        (lambda: synthetic.quadratic_gap(0.4, 0.2), "alpha"),
        (lambda: synthetic.extreme_ratios(0.5), "epsilon"),
        (lambda: synthetic.subset_sum_domain([1, -2], 1), "numbers"),
        (lambda: synthetic.subset_sum_domain([1.5], 1), "numbers"),
        (lambda: synthetic.subset_sum_domain([1, 2], 4), "target"),
        (lambda: synthetic.balanced_subset_sum_domain([]), "numbers"),
        (lambda: synthetic.balanced_subset_sum_domain([9, 9, 9]), "numbers"),
    ],
)
def test_parameters_out_of_range(call, argument):
    with pytest.raises(InputError, match=argument):
        call()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", [1, 2], True])
@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: synthetic.temperature_family(3, 0.5, seed),
        lambda seed: synthetic.shifted_uniform(3, 0.1, seed),
        lambda seed: synthetic.oscillating(3, 1, 0.5, 1.0, seed),
        lambda seed: synthetic.hidden_bias(3, 2, 0.1, seed),
        lambda seed: synthetic.pure_and_mixed(3, 0.1, seed),
        lambda seed: synthetic.calibrated_ladder(3).draw(3, seed),
    ],
)
def test_a_seed_is_checked(draw, seed):
    with pytest.raises(InputError, match="random_state"):
        draw(seed)
