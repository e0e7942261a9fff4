"""Comparison of two predictors: values, symmetry, honest intervals where a bootstrap fails."""

import numpy as np
import pytest

import calibrant
from calibrant import InputError, compare_calibration

MEASURES = [
    "smooth_calibration_error",
    "kernel_calibration_error",
    "expected_calibration_error",
    "lower_calibration_distance",
]


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v).astype(float), v


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ties", [False, True])
def test_values_are_the_measures_and_swapping_changes_the_sign(measure, ties):
    y, v = drawn(400, 0)
    v = np.round(v, 1) if ties else v
    result = compare_calibration(y, v, v**2, measure=measure, random_state=3)
    other = compare_calibration(y, v**2, v, measure=measure, random_state=3)
    function = getattr(calibrant, measure)
    assert result.value_a == pytest.approx(function(y, v), abs=2e-4 if "lower" in measure else 1e-12)
    assert result.value_b == pytest.approx(function(y, v**2), abs=2e-4 if "lower" in measure else 1e-12)
    assert result.statistic == pytest.approx(result.value_a - result.value_b)
    assert other.statistic == pytest.approx(-result.statistic)
    assert result.interval[0] <= result.statistic <= result.interval[1]
    assert result.reject == (not result.interval[0] <= 0.0 <= result.interval[1])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_great_difference_is_seen_by_the_right_sign(measure):
    y, v = drawn(3000, 1)
    result = compare_calibration(y, v, v**3, measure=measure, random_state=0)
    assert result.reject
    assert result.statistic < 0.0
    assert result.summary().startswith("the first is better calibrated")


@pytest.mark.parametrize("measure", MEASURES)
def test_two_calibrated_predictors_are_not_told_apart(measure):
    # The coarse one is calibrated too; a plain bootstrap would exclude 0 here far too often.
    rejected = 0
    for seed in range(60):
        y, v = drawn(300, seed)
        coarse = (np.floor(v * 10) + 0.5) / 10
        rejected += compare_calibration(y, v, coarse, measure=measure, n_resamples=99, random_state=seed).reject
    assert rejected <= 8


def test_order_and_seed():
    y, v = drawn(300, 2)
    order = np.random.default_rng(0).permutation(300)
    assert compare_calibration(y, v, v**2, random_state=1) == compare_calibration(
        y[order], v[order], v[order] ** 2, random_state=1
    )


def test_one_predictor_twice():
    y, v = drawn(300, 2)
    result = compare_calibration(y, v, v, random_state=1)
    assert result.statistic == 0.0
    assert not result.reject
    assert result.pvalue > 0.5


def test_what_is_refused():
    with pytest.raises(InputError, match="y_prob_b: row 1") as problem:
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 1.8])
    assert problem.value.row == 1
    with pytest.raises(InputError, match="y_prob_a"):
        compare_calibration([0, 1], [0.2, float("nan")], [0.2, 0.8])
    with pytest.raises(InputError, match="measure"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8], measure="accuracy")
    with pytest.raises(InputError, match="n_resamples"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8], n_resamples=10)
