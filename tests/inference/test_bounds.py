"""Bounds for the population hold, tighten, and decide the gate."""

import numpy as np
import pytest

from calibrant import InputError, calibration_gate, population_bounds, synthetic
from calibrant.cli import app
from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
from calibrant.inference import tolerant_calibration_test
from calibrant.inference.bounds import Moments, _mean_above


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("n", [50, 500, 3000])
def test_they_hold(shift, n):
    # The distance of the shifted uniform predictor is its shift, and so is its smooth error.
    for seed in range(20):
        bounds = population_bounds(*synthetic.shifted_uniform(n, shift, seed))
        for low, high in (bounds.smooth_error, bounds.lower_distance):
            assert 0.0 <= low <= shift <= high <= 1.0


def test_they_tighten_at_the_root_rate():
    widths = []
    for n in (4_000, 64_000):
        low, high = population_bounds(*synthetic.shifted_uniform(n, 0.2, 0)).lower_distance
        widths.append(high - low)
    assert widths[1] < widths[0] / 2.5


def test_order_cannot_matter():
    y_true, y_prob = synthetic.shifted_uniform(500, 0.1, 0)
    order = np.random.default_rng(1).permutation(500)
    assert population_bounds(y_true, y_prob) == population_bounds(y_true[order], y_prob[order])


def test_moments_are_those_of_the_rows():
    y_true, y_prob = synthetic.shifted_uniform(500, 0.1, 0)
    y_prob = np.round(y_prob, 1)
    moments = Moments.of(Sample.from_columns(y_true, y_prob))
    gap = np.abs(y_true - y_prob)
    assert moments.absolute == pytest.approx(gap.mean(), rel=1e-12)
    assert moments.squared == pytest.approx((gap**2).mean(), rel=1e-12)
    assert moments.off_centre == pytest.approx((gap**2 * np.abs(y_prob - 0.5)).mean(), rel=1e-12)


@pytest.mark.parametrize("bend", [0.3, 1.0, 4.0])
def test_the_gap_is_as_small_on_average_as_the_derivation_says(bend):
    # Class of the lower distance without its constraint: the gap is the area between two distribution functions, twice.
    n, grid = 400, np.linspace(0.0, 1.0, 1001)
    v = (np.arange(200_000) + 0.5) / 200_000
    chance = v**bend
    survives = np.array([(1 - chance)[v > u].mean() * (v > u).mean() if (v > u).any() else 0.0 for u in grid])
    falls = np.array([chance[v < u].mean() * (v < u).mean() if (v < u).any() else 0.0 for u in grid])
    absolute = float((chance * (1 - v) + (1 - chance) * v).mean())
    gaps = []
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(n)
        y = rng.random(n) < p**bend
        zero, one = np.sort(p[~y]), np.sort(p[y])
        seen0 = (zero.size - np.searchsorted(zero, grid, side="right")) / n
        seen1 = np.searchsorted(one, grid, side="left") / n
        gaps.append(np.trapezoid(abs(seen0 - survives), grid) + np.trapezoid(abs(seen1 - falls), grid))
    bound = np.sqrt(2 * absolute / n)
    assert bound / 3 < np.mean(gaps) < bound  # holds, and is not idle


def test_an_average_bounds_its_expectation():
    rng = np.random.default_rng(0)
    for mean in (0.01, 0.3):
        above = [_mean_above(float((rng.random(200) < mean).mean()), np.log(10.0), 200) for _ in range(4000)]
        assert np.mean(np.array(above) < mean) <= 0.1 + 3.3 * np.sqrt(0.09 / 4000)
    assert _mean_above(0.0, 1.0, 100) == pytest.approx(0.02)  # m with m = sqrt(2 m / n)


def test_gate_decides_and_asks_for_more():
    far = synthetic.shifted_uniform(20_000, 0.3, 0)
    assert calibration_gate(*far, max_distance=0.1).verdict == "beyond"
    assert calibration_gate(*far, max_distance=0.6).verdict == "within"
    undecided = calibration_gate(*far, max_distance=0.31)
    assert undecided.verdict == "undecided"
    assert undecided.rows_needed > 20_000
    assert "rows are needed" in undecided.summary()


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, float("nan")])
def test_options_out_of_range(bad):
    with pytest.raises(InputError, match="max_distance"):
        calibration_gate([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], max_distance=bad)
    with pytest.raises(InputError, match="level"):
        calibration_gate([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], max_distance=0.1, level=bad)


def test_one_row_bounds_nothing():
    assert population_bounds([1], [0.2]).lower_distance == Interval(0.0, 1.0)
    assert calibration_gate([1], [0.2], max_distance=0.5).verdict == "undecided"


def test_rows_needed_is_where_the_margin_decides():
    y_true, y_prob = synthetic.shifted_uniform(1000, 0.1, 0)
    sample = Sample.from_columns(y_true, y_prob)
    moments = Moments.of(sample)
    high = moments.sample_distance(sample).upper
    asked = calibration_gate(y_true, y_prob, max_distance=high + 0.03)
    assert asked.verdict == "undecided"
    log = np.log(4 / 0.05)
    assert moments.distance_margin(log, asked.rows_needed) < 0.03 <= moments.distance_margin(log, asked.rows_needed - 1)
    assert calibration_gate(y_true, y_prob, max_distance=high).rows_needed is None


def test_tolerant_test_keeps_its_promise_and_asks_for_rows():
    said = {"within": 0, "beyond": 0, "undecided": 0}
    for seed in range(60):
        result = tolerant_calibration_test(
            *synthetic.shifted_uniform(400, 0.05 if seed % 2 else 0.25, seed),
            accept_below=0.05,
            reject_above=0.25,
            level=1 / 3,
        )
        assert result.verdict != ("beyond" if seed % 2 else "within")  # a third of them might
        said[result.verdict] += 1
    assert said["within"] > 5
    assert said["beyond"] > 5
    few = tolerant_calibration_test(
        *synthetic.shifted_uniform(100, 0.1, 0), accept_below=0.08, reject_above=0.12, level=1 / 3
    )
    assert few.verdict == "undecided"
    many = synthetic.shifted_uniform(4 * few.rows_needed, 0.1, 1)
    assert tolerant_calibration_test(*many, accept_below=0.08, reject_above=0.12, level=1 / 3).verdict != "undecided"
    assert "rows are needed" in few.summary()


def test_tolerant_options():
    rows = ([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1])
    with pytest.raises(InputError, match="reject_above"):
        tolerant_calibration_test(*rows, accept_below=0.2, reject_above=0.2)
    with pytest.raises(InputError, match="accept_below"):
        tolerant_calibration_test(*rows, accept_below=-0.2, reject_above=0.2)
    with pytest.raises(InputError, match="level"):
        tolerant_calibration_test(*rows, accept_below=0.1, reject_above=0.2, level=1.0)


def test_exit_codes(tmp_path):
    from typer.testing import CliRunner

    y_true, y_prob = synthetic.shifted_uniform(20_000, 0.3, 0)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([y_true, y_prob]), delimiter=",", header="y_true,y_prob", comments="")
    for limit, code in (("0.6", 0), ("0.1", 1), ("0.31", 3), ("2", 2)):
        done = CliRunner().invoke(app, ["gate", str(path), "--max-distance", limit])
        assert done.exit_code == code, done.output
    assert CliRunner().invoke(app, ["gate", str(tmp_path / "no.csv"), "--max-distance", "0.1"]).exit_code == 2


@pytest.mark.parametrize(
    ("limit", "level", "said"),
    [
        (0.1, 0.05, ("about 0.1:", "with 95% confidence,")),
        (0.9999999999999999, 0.05, ("within 0.9999999999999999:", "with 95% confidence,")),
        (0.1234567, 1e-16, ("about 0.1234567:", "with 99.99999999999999% confidence,")),
    ],
)
def test_the_gate_says_the_very_numbers_that_were_asked(limit, level, said):
    y_prob = np.linspace(0.05, 0.95, 60)
    y_true = np.arange(60) % 2
    found = calibration_gate(y_true, y_prob, max_distance=limit, level=level).summary()
    assert all(part in found for part in said), found


def test_the_tolerant_test_says_the_very_numbers_that_were_asked():
    y_true, y_prob = np.arange(60) % 2, np.linspace(0.05, 0.95, 60)
    asked = {"accept_below": 0.1, "reject_above": 0.2, "level": 1e-20}
    assert "except with probability 1e-20" in tolerant_calibration_test(y_true, y_prob, **asked).summary()
    with pytest.raises(InputError, match=r"is 0\.1234567; it must be more than accept_below, 0\.12345678"):
        tolerant_calibration_test(y_true, y_prob, accept_below=0.12345678, reject_above=0.1234567)
