"""Comparison of two predictors: values, symmetry, honest intervals where a bootstrap fails."""

from functools import partial

import numpy as np
import pytest

import calibrant
from calibrant import InputError, compare_calibration
from calibrant.measures.registry import measures

MEASURES = list(measures())


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v).astype(float), v


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ties", [False, True])
def test_values_are_the_measures_and_swapping_changes_the_sign(measure, ties):
    y, v = drawn(400, 0)
    v = np.round(v, 1) if ties else v
    result = compare_calibration(y, v, v**2, measure=measure, n_resamples=199, random_state=3)
    other = compare_calibration(y, v**2, v, measure=measure, n_resamples=199, random_state=3)
    function = partial(measures()[measure].function, **measures()[measure].parameters)
    assert result.value_a == pytest.approx(function(y, v), abs=1e-9)
    assert result.value_b == pytest.approx(function(y, v**2), abs=1e-9)
    assert result.statistic == pytest.approx(result.value_a - result.value_b)
    assert other.statistic == pytest.approx(-result.statistic)
    assert result.interval.low <= result.statistic <= result.interval.high
    assert result.reject == (not result.interval.low <= 0.0 <= result.interval.high)


# A bound with a bin's width in it cannot exclude 0: its width might all be bias.
@pytest.mark.parametrize("measure", [name for name in MEASURES if not name.endswith("bound")])
def test_a_great_difference_is_seen_by_the_right_sign(measure):
    y, v = drawn(3000, 1)
    result = compare_calibration(y, v, v**3, measure=measure, n_resamples=199, random_state=0)
    assert result.reject
    assert result.statistic < 0.0
    assert result.summary().startswith("the first is better calibrated")


@pytest.mark.parametrize("measure", MEASURES)
def test_two_calibrated_predictors_are_not_told_apart(measure):
    # The coarse one is calibrated too; a plain bootstrap would exclude 0 here far too often.
    rejected = 0
    for seed in range(40):
        y, v = drawn(200, seed)
        coarse = (np.floor(v * 10) + 0.5) / 10
        rejected += compare_calibration(y, v, coarse, measure=measure, n_resamples=39, random_state=seed).reject
    assert rejected <= 6


def test_order_and_seed():
    y, v = drawn(300, 2)
    order = np.random.default_rng(0).permutation(300)
    assert compare_calibration(y, v, v**2, n_resamples=199, random_state=1) == compare_calibration(
        y[order], v[order], v[order] ** 2, n_resamples=199, random_state=1
    )


def test_one_predictor_twice():
    y, v = drawn(300, 2)
    result = compare_calibration(y, v, v, n_resamples=199, random_state=1)
    assert result.statistic == 0.0
    assert not result.reject
    assert result.pvalue > 0.5


def test_a_function_with_parameters_of_its_own():
    y, v = drawn(2000, 4)
    twenty = partial(calibrant.expected_calibration_error, n_bins=20)
    result = compare_calibration(y, v, v**3, measure=twenty, n_resamples=199, random_state=0)
    assert result.method == "expected calibration error"
    assert result.value_b == calibrant.expected_calibration_error(y, v**3, n_bins=20)
    assert result.reject


def test_halves_give_the_standard_error_of_the_difference():
    # Far from 0 the size of a mean is a mean: no bias, nothing hidden, and the textbook's standard error.
    y, v = drawn(4000, 5)
    result = compare_calibration(
        y, np.sqrt(v), v**2, measure=lambda y, v: abs(float((y - v).mean())), n_resamples=999, random_state=0
    )
    rows = np.sqrt(v) + v**2 - 2.0 * y
    reach = 1.96 * float(np.std(rows)) / np.sqrt(y.size)
    assert result.statistic == pytest.approx(float(rows.mean()))
    assert result.interval.width / 2.0 == pytest.approx(reach, rel=0.06)


def test_what_is_refused():
    few = np.array([0, 1, 0, 1])
    with pytest.raises(InputError, match="4 rows; halving them needs at least 8"):
        compare_calibration(few, [0.2, 0.8, 0.2, 0.8], [0.2, 0.8, 0.2, 0.8])
    with pytest.raises(InputError, match="y_prob_b: row 1") as problem:
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 1.8])
    assert problem.value.row == 1
    with pytest.raises(InputError, match="y_prob_a"):
        compare_calibration([0, 1], [0.2, float("nan")], [0.2, 0.8])
    with pytest.raises(InputError, match="measure"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8], measure="accuracy")
    with pytest.raises(InputError, match="n_resamples"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8], n_resamples=10)
    with pytest.raises(InputError, match="y_true: has 2 rows but y_prob_b has 3"):
        compare_calibration([0, 1], [0.2, 0.8], [0.2, 0.8, 0.5])
    y, v = drawn(50, 0)
    for wrong in (float("nan"), "much", None):
        with pytest.raises(InputError, match="measure: returned"):
            compare_calibration(y, v, v, measure=lambda _y, _v, wrong=wrong: wrong)


def test_the_summary_gives_numbers_in_the_order_of_the_names():
    y, v = drawn(3000, 1)
    good, bad = (
        compare_calibration(y, v, v**3, n_resamples=199, random_state=0),
        compare_calibration(y, v**3, v, n_resamples=199, random_state=0),
    )
    low, high = (f"{value:.4f}" for value in sorted((good.value_a, good.value_b)))
    assert good.summary().startswith(
        f"the first is better calibrated than the second: smooth calibration error {low} against {high}; "
    )
    assert bad.summary().startswith(
        f"the second is better calibrated than the first: smooth calibration error {low} against {high}; "
    )
    same = compare_calibration(y, v, v, n_resamples=199, random_state=0)
    assert same.summary().startswith("neither the first nor the second is proved better calibrated: ")
