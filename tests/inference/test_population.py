"""Bounds of every measure: the constants of docs/constants.md, what each tie gives, and ranks of redrawn gaps."""

import math

import numpy as np
import pytest

from calibrant import bootstrap_bounds
from calibrant.door.ends import Bracket, Interval
from calibrant.door.sample import Sample
from calibrant.inference.bounds import population as of_bounds
from calibrant.inference.bounds.draws import CellDraws, Draws
from calibrant.inference.bounds.one_event import (
    Spread,
    binned_function,
    kernel_function,
    lower_end,
    lower_function,
    smooth_function,
)
from calibrant.measures.registry import measures

BIN = 1 / 15


@pytest.mark.parametrize("d", [1e-9, 0.001, 0.02, 0.1, 0.3, 0.7, 1.0])
def test_the_most_at_a_distance_is_what_its_proof_says(d):
    root = math.sqrt(d * (1.0 - d))
    assert of_bounds.most_upper_distance(d) == pytest.approx(min(1.0, d + 1.46789 * root), rel=1e-5)
    assert of_bounds.most_interval_error(d) == pytest.approx(min(1.0, d + 2.828427 * root), rel=1e-6)
    widths = [2.0**-k for k in range(60)]
    ties = [min([1.0, *(x + 2.0 * x * (1.0 - x) / w for x in [d] if x < w / 2.0)]) for w in widths]
    found = [of_bounds.most_random_interval_error(d, w) for w in widths]
    assert found == pytest.approx(ties, rel=1e-12)
    surrogate = min(1.0, *(tie + w for tie, w in zip(ties, widths, strict=True)))
    assert of_bounds.most_surrogate(d) == pytest.approx(surrogate, abs=1e-11)
    s = of_bounds.most_convolved_error(d)
    assert s == 1.0 if d == 1.0 else s == pytest.approx(min(1.0, d + math.sqrt(2.0 / math.pi) * d / s))
    assert max(found[0], s, of_bounds.most_upper_distance(d), of_bounds.most_interval_error(d)) <= 1.0


def test_nothing_is_above_one_at_the_largest_distance():
    of_one = of_bounds.most_upper_distance, of_bounds.most_interval_error, of_bounds.most_surrogate
    assert [each(1.0) for each in of_one] == [each(0.9) for each in of_one] == [1.0] * 3
    assert of_bounds.most_convolved_error(0.9) == of_bounds.most_random_interval_error(0.9, 0.1) == 1.0


SMOOTH, LOWER = Interval(0.16, 0.2), Interval(0.18, 0.21)


def test_every_measure_has_the_ends_that_its_ties_give():
    true, found = of_bounds.every_measure(SMOOTH, LOWER, {})
    c0, w = 1.0 / 8.0 + 1.0 / (4.0 * math.sqrt(3.0)), 0.1  # of docs/constants.md, and the default width
    interval = min(of_bounds.most_surrogate(0.21), of_bounds.most_interval_error(0.21))
    expected = {
        "smooth_calibration_error": (0.16, 0.2),
        "lower_calibration_distance": (0.18, 0.21),
        "interval_calibration_error": (0.18, interval),
        "surrogate_interval_calibration_error": (0.18, of_bounds.most_surrogate(0.21)),
        "random_interval_calibration_error": (max(0.18 - c0 * w, 0.16 - w / 4), 1.0),
        "kernel_calibration_error": (0.16 / math.sqrt(2.0), math.sqrt(0.21)),
        "convolved_calibration_error": (0.09, of_bounds.most_convolved_error(0.21)),
        "expected_calibration_error": (max(0.18 - BIN / 2, 0.16 - BIN * (1 + BIN) / 4), 1.0),
        "binned_calibration_error_bound": (0.18, 1.0 + BIN),
        "averaged_two_bin_calibration_error": (0.18, 0.4),
        "cutoff_calibration_error": (0.16 / 1.5, 1.0),
        "monotone_decision_loss": (0.16**2, 1.0),
    }
    for name, ends in expected.items():
        assert tuple(found[name]) == pytest.approx(ends), name
    assert tuple(true) == pytest.approx((0.18, min(interval, of_bounds.most_upper_distance(0.21))))
    assert set(found) == set(measures())


@pytest.mark.parametrize(
    ("smooth", "lower", "known", "name", "ends"),
    [
        ((0.0, 0.3), (0.1, 0.1), {}, "averaged_two_bin_calibration_error", (0.1, 0.3)),  # three times the distance
        ((0.0, 0.1), (0.1, 0.2), {}, "averaged_two_bin_calibration_error", (0.1, 0.2)),  # twice the smooth error
        ((0.1, 0.2), (0.3, 0.4), {}, "cutoff_calibration_error", (0.15, 1.0)),
        ((0.1, 0.2), (0.3, 0.4), {}, "convolved_calibration_error", (0.15, 0.9)),
        ((0.01, 0.3), (0.2, 0.4), {}, "random_interval_calibration_error", (0.2 - 0.026934, 1.0)),
        ((0.21, 0.3), (0.2, 0.4), {}, "random_interval_calibration_error", (0.21 - 0.025, 1.0)),
        ((0.01, 0.3), (0.2, 0.4), {}, "expected_calibration_error", (0.2 - BIN / 2, 1.0)),
        ((0.21, 0.3), (0.2, 0.4), {}, "expected_calibration_error", (0.21 - BIN * (1 + BIN) / 4, 1.0)),
        (
            (0.01, 0.3), (0.02, 0.4), {"expected_calibration_error": (0.1, 0.2)},
            "binned_calibration_error_bound", (0.1 + BIN, 0.2 + BIN),
        ),
        (
            (0.01, 0.3), (0.02, 0.4), {"expected_calibration_error": (0.1, 0.2)},
            "interval_calibration_error", (0.02, 0.2 + BIN),
        ),
        (
            (0.01, 0.3), (0.02, 0.4), {"cutoff_calibration_error": (0.0, 0.15)},
            "monotone_decision_loss", (0.0001, 0.3),
        ),
        ((0.01, 0.3), (0.02, 0.4), {"surrogate": (0.0, 0.11)}, "surrogate_interval_calibration_error", (0.02, 0.11)),
        ((0.01, 0.3), (0.02, 0.4), {"surrogate": (0.0, 0.11)}, "interval_calibration_error", (0.02, 0.11)),
        ((0.01, 0.3), (0.02, 0.4), {"true": (0.0, 0.11)}, None, (0.02, 0.11)),
        ((0.01, 0.3), (0.02, 0.4), {"expected_calibration_error": (0.0, 0.1)}, None, (0.02, 0.1 + BIN / 2)),
        (
            (0.01, 0.3), (0.02, 0.4), {"random_interval_calibration_error": (0.0, 0.1)},
            None, (0.02, 0.1 + 0.026934),
        ),
        ((0.01, 0.3), (0.02, 0.4), {"surrogate": (0.0, 0.11)}, None, (0.02, 0.11)),
    ],
)  # fmt: skip
def test_what_is_known_of_one_measure_bounds_another(smooth, lower, known, name, ends):
    known = {each: Interval(*both) for each, both in known.items()}
    true, found = of_bounds.every_measure(Interval(*smooth), Interval(*lower), known)
    got = true if name is None else found[name]
    if name == "convolved_calibration_error":
        ends = (ends[0], min(1.0, of_bounds.most_convolved_error(lower[1])))
    assert tuple(got) == pytest.approx(ends, abs=1e-6)


def test_either_error_is_at_least_half_of_the_other():
    smooth, lower = of_bounds.tightened(Interval(0.1, 0.9), Interval(0.4, 0.42))
    assert (tuple(smooth), tuple(lower)) == ((0.2, 0.84), (0.4, 0.42))
    smooth, lower = of_bounds.tightened(Interval(0.3, 0.31), Interval(0.01, 0.9))
    assert (tuple(smooth), tuple(lower)) == ((0.3, 0.31), (0.15, 0.62))


@pytest.mark.parametrize("n", [12, 300, 5000])
def test_each_measure_besides_costs_an_event_of_a_fifth_shared_by_nine(n):
    rng = np.random.default_rng(0)
    v = np.round(rng.random(n), 1)
    y = (rng.random(n) < v**1.5).astype(float)
    sample = Sample.of_arrays(y, v, None)
    draws = Draws.of_sample(sample)
    spread, each = Spread.of(draws), 0.09 * 0.2 / 9.0
    found = of_bounds.direct(sample, draws, spread, 0.09, {"cutoff_calibration_error": 0.123})
    learned = {"kernel_calibration_error": kernel_function, "expected_calibration_error": binned_function}
    for name in (*learned, "random_interval_calibration_error", "averaged_two_bin_calibration_error"):
        value = measures()[name].function(y, v, **measures()[name].parameters)
        low = lower_end(draws, learned[name], each) if name in learned else 0.0
        assert tuple(found[name]) == pytest.approx((low, max(low, spread.upper_end(value, each))), abs=1e-9), name
    assert found["cutoff_calibration_error"].high == spread.upper_end(0.123, each)  # known already
    width = min((2.0**-k for k in range(20)), key=lambda w: abs(math.log(w * n ** (1.0 / 3.0))))
    most = spread.upper_end(measures()["random_interval_calibration_error"].function(y, v, width=width), each)
    c0 = 1.0 / 8.0 + 1.0 / (4.0 * math.sqrt(3.0))
    assert tuple(found["surrogate"]) == pytest.approx((0.0, most + width), abs=1e-12)
    assert tuple(found["true"]) == pytest.approx((0.0, most + c0 * width), abs=1e-12)
    at = n**-0.4
    convolved = measures()["convolved_calibration_error"].function(y, v, bandwidth=at)
    assert found["convolved_calibration_error"].high == pytest.approx(max(at, spread.upper_end(convolved, each)), 1e-5)


@pytest.mark.parametrize(
    ("level", "n_resamples", "rank"), [(0.1, 99, 5), (0.1, 98, 4), (0.2, 999, 100), (0.05, 199, 5)]
)
def test_a_margin_is_the_gap_that_half_of_the_level_exceeds(monkeypatch, level, n_resamples, rank):
    """Of 99 redraws and the sample's own gap a twentieth, five, may be as large."""
    rng = np.random.default_rng(0)
    v = np.round(rng.random(400), 1)
    y = (rng.random(400) < 0.3 + 0.4 * v).astype(float)
    gaps = np.linspace(0.0, 1.0, n_resamples + 2)[1:-1]
    drawn = rng.permutation(np.column_stack([0.05 * gaps, 0.06 * gaps]))
    monkeypatch.setattr(of_bounds, "resampled", lambda *_: drawn)
    found = bootstrap_bounds(y, v, level=level, n_resamples=n_resamples)
    smooth = measures()["smooth_calibration_error"].function(y, v)
    distance = of_bounds.sample_distance(Sample.of_arrays(y, v, None))
    moved, far = 0.05 * gaps[-rank], 0.06 * gaps[-rank]
    both = Interval(smooth - moved, smooth + moved), Interval(distance.lower - far, distance.upper + far)
    for each, ends in zip((found.smooth_error, found.lower_distance), of_bounds.tightened(*both), strict=True):
        assert tuple(each) == pytest.approx(tuple(ends))
    monkeypatch.setattr(of_bounds, "resampled", lambda *_: np.full((n_resamples, 2), 3.0))
    widest = bootstrap_bounds(y, v, level=level, n_resamples=n_resamples)
    assert tuple(widest.smooth_error) == tuple(widest.lower_distance) == (0.0, 1.0)


def test_a_gap_is_the_most_that_a_function_of_the_class_gains(monkeypatch):
    """Five rows at 0.3 without the event and five at 0.6 with it, of multipliers 1 and -1."""
    taken = []
    fake = type("Source", (), {"standard_normal": staticmethod(lambda n: np.repeat([3.0, 1.0], n // 2))})

    def once(gaps, _n, n_resamples, _random_state):
        taken.append(gaps(fake))
        return np.full((n_resamples, 2), 0.01)

    monkeypatch.setattr(of_bounds, "resampled", once)
    y, v = np.repeat([0.0, 1.0], 50), np.repeat([0.3, 0.6], 50)
    bootstrap_bounds(y, v, n_resamples=99)
    # All of -0.3 on one half of the rows and -0.4 on the other: w = -1, and r_0(0.3) = 0.3 with r_1(0.6) = -0.4.
    assert taken[0] == pytest.approx((0.35, 0.35))
    y, v = np.repeat([0.0, 1.0], 50), np.repeat([0.3, 0.31], 50)
    bootstrap_bounds(y, v, n_resamples=99)
    assert taken[1][1] == pytest.approx(0.5 * (0.3 + 0.69))


def test_a_bandwidth_is_no_less_than_what_the_convolved_error_takes(monkeypatch):
    y, v = np.tile([0.0, 1.0], 20), np.repeat([0.3, 0.31], 20)
    sample = Sample.of_arrays(y, v, None)
    draws = Draws.of_sample(sample)
    spread = Spread.of(draws)
    monkeypatch.setattr(Draws, "n_units", property(lambda _: 10**15))  # to the power of -2 / 5 it is 1e-6
    found = of_bounds.direct(sample, draws, spread, 0.05, dict.fromkeys(measures(), 0.1))
    error = measures()["convolved_calibration_error"].function(y, v, bandwidth=1e-5)
    assert found["convolved_calibration_error"].high == pytest.approx(spread.upper_end(error + 1e-6, 0.05 * 0.2 / 9))


def test_what_is_bet_on_is_learned_beforehand_for_the_gate_alone_or_for_all_bounds():
    y, v = np.tile([0.0, 1.0], 40), np.repeat(np.linspace(0.1, 0.8, 40), 2)
    gate, all_of_them = {lower_function}, {lower_function, smooth_function, kernel_function, binned_function}
    for everything, learned in ((False, gate), (True, all_of_them)):
        draws = Draws.of_sample(Sample.of_arrays(y, v, None))
        of_bounds.teach(draws, everything=everything)
        assert set(draws._lessons) == learned
    of_bounds.teach(None)
    of_bounds.teach(CellDraws.__new__(CellDraws))  # whose functions are fixed beforehand


@pytest.mark.parametrize("guaranteed", [True, False])
def test_a_summary_says_whether_it_holds_in_large_samples(guaranteed):
    found = of_bounds.with_every_measure(SMOOTH, LOWER, {}, 0.05, 300, guaranteed)
    large = "" if guaranteed else ", in large samples,"
    assert found.summary().startswith(f"With 95% confidence{large} for both together, the population's lower distance")
    assert found.guaranteed == guaranteed
    assert (found.level, found.n_rows) == (0.05, 300)


@pytest.mark.parametrize("level", [0.01, 0.2])
def test_the_four_ends_of_the_headlines_have_a_fifth_of_the_level_each(level):
    rng = np.random.default_rng(2)
    v = np.round(rng.random(2000), 2)
    sample = Sample.of_arrays((rng.random(2000) < v**2).astype(float), v, None)
    draws = Draws.of_sample(sample)
    found = of_bounds.bounds_from_sample(sample, 0.11, Bracket(0.1, 0.12), level)
    lows = lower_end(draws, smooth_function, 0.2 * level), lower_end(draws, lower_function, 0.2 * level)
    spread = Spread.of(draws)
    ends = [Interval(low, spread.upper_end(x, 0.2 * level)) for low, x in zip(lows, (0.11, 0.12), strict=True)]
    for each, expected in zip((found.smooth_error, found.lower_distance), of_bounds.tightened(*ends), strict=True):
        assert tuple(each) == pytest.approx(tuple(expected))
    assert found.level == level
