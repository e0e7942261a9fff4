"""Tolerant tests keep their promises, and say how many rows would decide."""

import numpy as np
import pytest

from calibrant import InputError, synthetic
from calibrant.door.ends import Interval
from calibrant.inference.bounds.population import most_upper_distance
from calibrant_papers.smooth_tester import tolerant_smooth_test
from calibrant_papers.tolerant import TolerantResult, least_lower_distance, tolerant_calibration_test


@pytest.mark.slow
def test_tolerant_test_keeps_its_promise_and_asks_for_rows():
    said = {"within": 0, "beyond": 0, "undecided": 0}
    for seed in range(30):
        result = tolerant_calibration_test(
            *synthetic.shifted_uniform(400, 0.05 if seed % 2 else 0.25, seed),
            accept_below=0.05,
            reject_above=0.25,
            level=1 / 3,
        )
        assert result.verdict != ("beyond" if seed % 2 else "within")  # a third of them might
        said[result.verdict] += 1
    assert said["within"] > 2
    assert said["beyond"] > 2
    few = tolerant_calibration_test(
        *synthetic.shifted_uniform(100, 0.1, 0), accept_below=0.08, reject_above=0.12, level=1 / 3
    )
    assert few.verdict == "undecided"
    many = synthetic.shifted_uniform(4 * few.rows_needed, 0.1, 1)
    assert tolerant_calibration_test(*many, accept_below=0.08, reject_above=0.12, level=1 / 3).verdict != "undecided"
    assert "more rows would decide" in few.summary()


def test_tolerant_options():
    rows = ([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1])
    with pytest.raises(InputError, match="reject_above"):
        tolerant_calibration_test(*rows, accept_below=0.2, reject_above=0.2)
    with pytest.raises(InputError, match="accept_below"):
        tolerant_calibration_test(*rows, accept_below=-0.2, reject_above=0.2)
    with pytest.raises(InputError, match="level"):
        tolerant_calibration_test(*rows, accept_below=0.1, reject_above=0.2, level=1.0)


def test_the_tolerant_test_says_the_very_numbers_that_were_asked():
    y_true, y_prob = np.arange(60) % 2, np.linspace(0.05, 0.95, 60)
    asked = {"accept_below": 0.1, "reject_above": 0.2, "level": 1e-20}
    assert "with 99.999999999999999999% confidence" in tolerant_calibration_test(y_true, y_prob, **asked).summary()
    with pytest.raises(InputError, match=r"is 0\.1234567; it must be more than accept_below, 0\.12345678"):
        tolerant_calibration_test(y_true, y_prob, accept_below=0.12345678, reject_above=0.1234567)


def test_the_smooth_tester_keeps_its_promise_and_asks_for_rows():
    """Theorem 3: limits a factor of more than four apart, on the smooth error alone."""
    said = {"within": 0, "beyond": 0, "undecided": 0}
    for seed in range(30):
        result = tolerant_smooth_test(
            *synthetic.shifted_uniform(600, 0.04 if seed % 2 else 0.3, seed),
            accept_below=0.04,
            reject_above=0.3,
            level=1 / 3,
        )
        assert result.verdict != ("beyond" if seed % 2 else "within")  # a third of them might
        said[result.verdict] += 1
        assert result.lower_distance.low == result.smooth_error.low / 2
    assert said["within"] > 2
    assert said["beyond"] > 2
    few = tolerant_smooth_test(*synthetic.shifted_uniform(60, 0.1, 0), accept_below=0.04, reject_above=0.3)
    assert few.verdict == "undecided"
    assert "more rows would decide" in few.summary()
    many = synthetic.shifted_uniform(4 * few.rows_needed, 0.1, 1)
    assert tolerant_smooth_test(*many, accept_below=0.04, reject_above=0.3).verdict != "undecided"
    with pytest.raises(InputError, match=r"reject_above: .* more than 4 times accept_below"):
        tolerant_smooth_test([0, 1], [0.2, 0.8], accept_below=0.05, reject_above=0.2)
    with pytest.raises(InputError, match="accept_below"):
        tolerant_smooth_test([0, 1], [0.2, 0.8], accept_below=-0.1, reject_above=0.2)


def test_the_smooth_tester_is_right_at_both_ends_of_the_constants():
    """Where smooth error and lower distance are a factor of two apart either way, the verdict is still true."""
    rng = np.random.default_rng(0)
    n = 4_000
    v = np.where(np.arange(n) % 2, 0.45, 0.55)
    y = (np.arange(n) % 2 == 0).astype(float)  # lower distance 0.045, smooth error half of it
    assert tolerant_smooth_test(y, v, accept_below=0.0, reject_above=0.045).verdict != "within"
    mass = 0.1
    wrong = rng.random(n) < mass
    v, y = np.where(wrong, 1.0, 1.0 - mass), np.where(wrong, 0.0, 1.0)  # distance 0.01, smooth error nearly twice it
    assert tolerant_smooth_test(y, v, accept_below=0.02, reject_above=0.5).verdict != "beyond"


def test_a_tolerant_test_prints_no_more_than_it_proves():
    said = TolerantResult("within", 0.01234, Interval(0.0, 0.03234), 0.01, 0.1, 1 / 3, 1000, None).summary()
    assert "is at most 0.0324 (" in said
    assert "(0.0123 on these" in said


def test_limits_of_the_true_distance_are_told_apart_where_the_constants_allow():
    """Where predictions and outcomes are one law and the true distance 4 a^2 or a, no verdict is false of either."""
    for true in (0.001, 0.1, 0.5, 0.9, 0.999):
        at = least_lower_distance(true)
        assert true * (1 - 1e-9) < most_upper_distance(at) < true
    said = set()
    for a, limits in ((0.01, (0.0001, 0.3)), (0.01, (0.0, 0.02)), (0.2, (0.001, 0.1)), (0.2, (0.05, 0.5))):
        near, far = synthetic.quadratic_gap(a), synthetic.quadratic_gap(a, crossed=False)
        for seed in range(3):
            y, at = far.draw(40_000, seed)
            low, high = limits
            result = tolerant_calibration_test(
                y, far.y_prob[at], accept_below=low, reject_above=high, level=0.01, distance="true"
            )
            said.add(result.verdict)
            assert result.verdict != "within" or max(4 * a * a, a) < high
            assert result.verdict != "beyond" or min(4 * a * a, a) > low
        for v in (0.5 - a, 0.5 + a):
            rates = [
                np.average(each.y_true[each.y_prob == v], weights=each.sample_weight[each.y_prob == v])
                for each in (near, far)
            ]
            assert rates[0] == pytest.approx(rates[1])
    assert said == {"within", "beyond", "undecided"}
    with pytest.raises(
        InputError, match=r"reject_above: is 0\.2; it must be more than 0\.369.*, the most that the true"
    ):
        tolerant_calibration_test([0, 1], [0.2, 0.8], accept_below=0.05, reject_above=0.2, distance="true")
    with pytest.raises(InputError, match="distance"):
        tolerant_calibration_test([0, 1], [0.2, 0.8], accept_below=0.05, reject_above=0.2, distance="upper")


def test_a_verdict_on_the_true_distance_says_what_it_rests_on():
    of = 0.05, 0.5, 0.05, 1000, None, "true"
    assert "is at most 0.0300, and its true distance at most 0.2805 (" in (
        TolerantResult("within", 0.01, Interval(0.0, 0.03), *of).summary()
    )
    assert "is at least 0.0600, and its true distance no less (" in (
        TolerantResult("beyond", 0.08, Interval(0.06, 0.1), *of).summary()
    )
