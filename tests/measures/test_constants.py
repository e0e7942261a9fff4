"""Sharp constants between the measures, without rounding: larger samples in `tools/long_runs.py constants`."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from calibrant import (
    averaged_two_bin_calibration_error,
    calibration_distance,
    cutoff_calibration_error,
    interval_calibration_error,
    kernel_calibration_error,
    lower_calibration_certificate,
    monotone_decision_loss,
    random_interval_calibration_error,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
    synthetic,
)
from calibrant.measures.corp import corp_decomposition
from tests.constants import all_samples, broken, costs, is_a_mirror
from tests.strategies import examples, samples


@pytest.mark.slow
def test_every_sample_of_up_to_three_rows_in_quarters_keeps_every_inequality():
    """All 285, each beside its mirror image: the lower distance by a coupling solved for in fractions."""
    seen = 0
    for n in (1, 2, 3):
        for rows in all_samples(n, 4):
            seen += 1
            if not is_a_mirror(rows):
                assert broken(rows) == [], rows
    assert seen == 285


def test_the_inequality_under_the_root_of_the_distance():
    """(R) of docs/two-bin.md for every u, p and q in twelfths, and where it is an equality."""
    twelfths = [Fraction(k, 12) for k in range(13)]
    for u, p, q in product(twelfths, repeat=3):
        a, b = u * (1 - p), (1 - u) * q
        left, right = (a - b) ** 2 + 2 * a * b * abs(p - q), u * abs(p - u) + (1 - u) * abs(q - u)
        assert left <= right
        assert left == right or (p, q) not in {(u, u), (0, 1)}


@examples(60)
@given(sample=samples())
def test_upper_halves_hold_for_hard_samples(sample):
    y_true, y_prob, weight = sample
    lower = lower_calibration_certificate(y_true, y_prob, sample_weight=weight).upper
    smooth, cutoff, kernel, interval, surrogate, random = (
        each(y_true, y_prob, sample_weight=weight, **more)
        for each, more in (
            (smooth_calibration_error, {}),
            (cutoff_calibration_error, {}),
            (kernel_calibration_error, {}),
            (interval_calibration_error, {}),
            (surrogate_interval_calibration_error, {}),
            (random_interval_calibration_error, {"width": 0.1}),
        )
    )
    l2 = averaged_two_bin_calibration_error(y_true, y_prob, sample_weight=weight, norm="l2")
    assert max(kernel**2, l2**2) <= lower + 1e-12
    assert interval <= lower + (8 * lower) ** 0.5 + 1e-9
    assert surrogate <= min(6 * lower**0.5, *((1 + 2 * 2**k) * lower + 2.0**-k for k in range(40))) + 1e-9
    assert random <= 21 * lower + 1e-9
    brier = corp_decomposition(y_true, y_prob, sample_weight=weight).miscalibration
    assert smooth**2 <= brier + 1e-12
    assert brier <= 2 * cutoff + 1e-12


def test_the_root_of_the_distance_and_the_square_of_the_smooth_error_are_attained():
    y_true, y_prob = [1, 1], [0.0, 0.0]
    assert kernel_calibration_error(y_true, y_prob) == 1.0
    assert averaged_two_bin_calibration_error(y_true, y_prob, norm="l2") == 1.0
    assert lower_calibration_certificate(y_true, y_prob).upper == pytest.approx(1.0, abs=1e-12)
    assert corp_decomposition([1, 0], [0.25, 0.25]).miscalibration == pytest.approx(
        smooth_calibration_error([1, 0], [0.25, 0.25]) ** 2, abs=1e-15
    )


def test_the_distance_of_a_sample_is_hardly_above_the_domain_s():
    """Theorem 3 of the hardness paper with the constants of docs/hardness.md: the margin, and calibrated domains."""
    for n in range(1, 100):
        assert min(0.5 / k + 0.5 * (k / n) ** 0.5 for k in range(1, n + 2)) <= n ** (-1 / 3)
    for n, size in ((30, 4), (60, 9)):
        domain = synthetic.calibrated_ladder(size)
        found = []
        for seed in range(20):
            y, drawn = domain.draw(n, seed)
            seen, at, count = np.unique(drawn, return_inverse=True, return_counts=True)
            rate = np.bincount(at, y) / count
            distance = calibration_distance(rate, domain.y_prob[seen], sample_weight=count)
            assert distance.exact
            found.append(distance.upper)
        assert 0.0 < np.mean(found) <= min(0.5 / k + 0.5 * (k / n) ** 0.5 for k in range(1, n))


def test_costs_are_those_of_the_definitions_without_rounding():
    """All 65 samples of one and two rows in quarters: decision loss, and the Brier score's miscalibration part."""
    for n in (1, 2):
        for rows in all_samples(n, 4):
            brier, _, loss, _ = costs(rows)
            y_true, y_prob = [y for _, y in rows], [float(v) for v, _ in rows]
            assert monotone_decision_loss(y_true, y_prob) == pytest.approx(float(loss), abs=1e-12)
            assert corp_decomposition(y_true, y_prob).miscalibration == pytest.approx(float(brier), abs=1e-12)
