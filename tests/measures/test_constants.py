"""Sharp constants between the measures, without rounding: larger samples in `tools/long_runs.py constants`."""

import importlib
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from calibrant import (
    averaged_two_bin_calibration_error,
    calibration_distance,
    convolved_calibration_error,
    cutoff_calibration_error,
    expected_calibration_error,
    interval_calibration_error,
    kernel_calibration_error,
    lower_calibration_certificate,
    monotone_decision_loss,
    random_interval_calibration_error,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
    synthetic,
    upper_calibration_distance,
)
from calibrant.inference.bounds import population as most
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


@pytest.mark.slow
@examples(60)
@given(sample=samples())
def test_upper_halves_hold_for_hard_samples(sample):
    y_true, y_prob, weight = sample
    lower = lower_calibration_certificate(y_true, y_prob, sample_weight=weight).upper
    smooth, cutoff, kernel, interval, surrogate, random, convolved, binned = (
        each(y_true, y_prob, sample_weight=weight, **more)
        for each, more in (
            (smooth_calibration_error, {}),
            (cutoff_calibration_error, {}),
            (kernel_calibration_error, {}),
            (interval_calibration_error, {}),
            (surrogate_interval_calibration_error, {}),
            (random_interval_calibration_error, {"width": 0.1}),
            (convolved_calibration_error, {}),
            (expected_calibration_error, {}),
        )
    )
    l2 = averaged_two_bin_calibration_error(y_true, y_prob, sample_weight=weight, norm="l2")
    # Any bracket's lower end will do; with weights the search may take minutes (NP-hard).
    upper = upper_calibration_distance(y_true, y_prob, sample_weight=weight, time_limit=1.0).lower
    assert max(kernel**2, l2**2) <= lower + 1e-12
    assert smooth <= most.KERNEL * kernel + 1e-9
    assert interval <= min(most.most_interval_error(lower), 3 * lower**0.5) + 1e-9
    assert upper <= min(most.most_upper_distance(lower), 1.777 * lower**0.5) + 1e-9
    assert surrogate <= min(6 * lower**0.5, most.most_surrogate(lower)) + 1e-9
    assert random <= most.most_random_interval_error(lower, 0.1) + 1e-9
    assert upper <= min(random + most.SHIFTED * 0.1, binned + 1 / 30) + 1e-9
    assert smooth <= min(random + 0.1 / 4, binned + (1 + 1 / 15) / 60) + 1e-9
    assert convolved <= most.most_convolved_error(lower) + 1e-6
    brier = corp_decomposition(y_true, y_prob, sample_weight=weight).miscalibration
    assert smooth**2 <= brier + 1e-12
    assert brier <= 2 * cutoff + 1e-12


def test_the_most_at_a_distance_grows_with_it():
    """So that a bound on the distance gives one on the rest; at 0 nothing is left, at 1 and above nothing is lost."""
    at = np.linspace(0.0, 1.0, 2001)
    for name in ("upper_distance", "interval_error", "surrogate", "convolved_error"):
        values = [getattr(most, f"most_{name}")(d) for d in (*at, 1.0 + 1e-15)]
        assert (np.diff(values) >= 0.0).all()
        assert values[0] < 1e-11
        assert values[-1] == 1.0
    for width in (0.01, 0.1, 1.0, 2.0, 5.0):
        values = [most.most_random_interval_error(d, width) for d in (*at, 1.0 + 1e-15)]
        assert (np.diff(values) >= 0.0).all()
        assert values[0] == 0.0
        assert values[-1] == 1.0


def a_zigzag(n):
    """Residuals whose witness is 1 less a zigzag of slope 1 and n pieces, n odd: a law with event rates."""
    v, sign = np.arange(n + 1) / n, np.where(np.arange(n + 1) % 2 == 0, 1.0, -1.0)
    residual = sign + 0.5 / n  # half of w - w'', at the knots
    residual[[0, -1]] = 1.0, 0.0
    room = np.where(residual > 0.0, 1.0 - v, v)[:-1] / np.abs(residual[:-1])
    return v + room.min() * residual, v


def test_the_kernel_error_is_no_more_below_the_smooth_error_than_a_root_of_two_allows():
    ratio = [smooth_calibration_error(*a_zigzag(n)) / kernel_calibration_error(*a_zigzag(n)) for n in (11, 101, 1001)]
    assert ratio == sorted(ratio)
    assert 1.413 < ratio[-1] < most.KERNEL


def test_a_few_events_moved_a_little_attain_what_the_distance_allows():
    """At u = eta all events are predicted delta too high, delta far below the bandwidth, and that far below eta."""
    for eta, least in ((0.1, 0.9), (0.03, 0.97), (0.01, 0.99)):
        law = [0.0, 1.0], [eta, eta * 1.01], [1.0 - eta, eta]
        y_true, y_prob, weight = (np.array(each) for each in law)
        lower = lower_calibration_certificate(y_true, y_prob, sample_weight=weight).upper
        assert lower == pytest.approx(eta * eta * 0.01, rel=1e-6)
        convolved = convolved_calibration_error(y_true, y_prob, sample_weight=weight)
        random = random_interval_calibration_error(y_true, y_prob, sample_weight=weight, width=0.1)
        assert least < convolved / most.most_convolved_error(lower) < 1.0
        assert least < random / most.most_random_interval_error(lower, 0.1) < 1.0


def test_half_a_bin_and_the_root_of_the_distance_are_attained():
    """One rate at both ends of a bin: only merging them calibrates. And halves at 0 and 1."""
    width = 1 / 15
    rate, v = [width / 2] * 2, [1e-12, width]
    assert expected_calibration_error(rate, v) == pytest.approx(0.0, abs=1e-9)
    assert upper_calibration_distance(rate, v).upper == pytest.approx(width / 2)
    cancelled = [1.0, 0.0], [0.5 - width / 2 + 1e-12, 0.5 + width / 2 - 1e-12]
    assert expected_calibration_error(*cancelled) == pytest.approx(0.0, abs=1e-9)
    assert smooth_calibration_error(*cancelled) == pytest.approx(width * (1 + width) / 4, abs=1e-9)
    halves, weight = ([0.5, 0.5], [0.0, 1.0]), [1.0, 1.0]
    assert upper_calibration_distance(*halves, sample_weight=weight).upper == pytest.approx(0.5)
    assert lower_calibration_certificate(*halves, sample_weight=weight).upper == pytest.approx(0.25)


def test_bins_of_a_shifted_grid_hold_predictions_near_their_mean():
    """c0 of docs/constants.md: the lemma on a grid of z and m, its mean, and laws that come near."""
    a, half = 12.0**0.5, np.linspace(-0.5, 0.5, 401)
    b = 1.0 - 0.5 / a
    z, m = half[:, None], half
    allowed = (1.0 + a * np.abs(z)) ** 2 / (4.0 * a) - np.clip(a * m, -b, b) * (z - m)
    assert (np.abs(z - m) <= allowed + 1e-12).all()
    assert (
        pytest.approx(np.mean((1.0 + a * np.abs(np.linspace(-0.5, 0.5, 10**6))) ** 2) / (4 * a), 1e-5) == most.SHIFTED
    )


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


@pytest.mark.slow
def test_a_sample_with_named_elements_is_as_near_to_its_domain_as_the_first_part_of_theorem_3_says():
    """Off the domain's distance by at most 3/2 sqrt((cells - 1) / n) on average, either way."""
    rng = np.random.default_rng(4)
    worst = 0.0
    for k in (2, 4, 7):
        v, rate, mass = rng.random(k), rng.random(k).round(1), rng.dirichlet(np.ones(k))
        domain = synthetic.Domain(rate, v, mass)
        true = calibration_distance(rate, v, sample_weight=mass)
        assert true.exact
        cells = np.sum((rate > 0.0).astype(int) + (rate < 1.0))
        for n in (50, 1000):
            off = []
            for seed in range(12):
                y, drawn = domain.draw(n, seed)
                found = calibration_distance(y, v[drawn], element=drawn)
                assert found.exact
                off.append(abs(found.upper - true.upper))
            worst = max(worst, np.mean(off) / (1.5 * ((cells - 1) / n) ** 0.5))
    assert 0.02 < worst <= 1.0


@pytest.mark.slow
def test_the_run_over_small_laws_finds_nothing_and_would_find_a_smaller_constant(monkeypatch):
    """`tools/long_runs.py between_measures`: no finding, and laws that attain a line come within 1% of it there."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    run = importlib.import_module("runs.between_measures")
    assert run.run(10, 5).findings == []
    many, shares = 20, Fraction(1, 20)
    uniform = [(Fraction(k, many - 1), shares, Fraction(1, 2)) for k in range(many)]
    assert run.over_shifts(uniform, Fraction(1, 3))[1] < run._C0[0] / 3
    third = Fraction(1, 3)
    laws = {
        "upper <= binned + w / 2": [
            (v, Fraction(1, 2), Fraction(333, 2000)) for v in (Fraction(0), Fraction(333, 1000))
        ],
        "kCE^2 <= d": [(Fraction(0), Fraction(1), Fraction(1))],
        "upper <= sqrt(d), which is open": [(Fraction(k), Fraction(1, 2), Fraction(1, 2)) for k in (0, 1)],
    }
    for name, law in laws.items():
        d = run.lower_distance(law)
        low, right = next((a, b) for each, a, _, b in run.lines(law, d, [third], third) if each == name)
        assert Fraction(99, 100) * right(d[1], 1) < low <= right(d[1], 1)


def test_costs_are_those_of_the_definitions_without_rounding():
    """All 65 samples of one and two rows in quarters: decision loss, and the Brier score's miscalibration part."""
    for n in (1, 2):
        for rows in all_samples(n, 4):
            brier, _, loss, _ = costs(rows)
            y_true, y_prob = [y for _, y in rows], [float(v) for v, _ in rows]
            assert monotone_decision_loss(y_true, y_prob) == pytest.approx(float(loss), abs=1e-12)
            assert corp_decomposition(y_true, y_prob).miscalibration == pytest.approx(float(brier), abs=1e-12)
