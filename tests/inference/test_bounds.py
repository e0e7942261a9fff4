"""Bounds for the population hold, tighten, and decide the gate."""

import numpy as np
import pytest

from calibrant import InputError, calibration_gate, population_bounds, synthetic
from calibrant.cli import app
from calibrant.inference.bounds import _range
from calibrant.measures.lower_check import Potentials


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("n", [50, 500, 3000])
def test_they_hold(shift, n):
    # The distance of the shifted uniform predictor is its shift, and so is its smooth error.
    for seed in range(20):
        bounds = population_bounds(*synthetic.shifted_uniform(n, shift, seed), random_state=seed)
        for low, high in (bounds.smooth_error, bounds.lower_distance):
            assert 0.0 <= low <= shift <= high <= 1.0


def test_they_tighten_at_the_root_rate():
    widths = []
    for n in (4_000, 64_000):
        low, high = population_bounds(*synthetic.shifted_uniform(n, 0.2, 0), random_state=0).lower_distance
        widths.append(high - low)
    assert widths[1] < widths[0] / 2.5


def test_order_and_seed():
    y_true, y_prob = synthetic.shifted_uniform(500, 0.1, 0)
    order = np.random.default_rng(1).permutation(500)
    assert population_bounds(y_true, y_prob, random_state=2) == population_bounds(
        y_true[order], y_prob[order], random_state=2
    )


def test_range_of_potentials_is_that_of_their_lowest_extension():
    rng = np.random.default_rng(0)
    for _ in range(200):
        k = int(rng.integers(1, 6))
        nodes = np.sort(rng.random(k))
        potentials = Potentials(nodes, rng.uniform(-0.5, 0.5, k), rng.uniform(-0.5, 0.5, k))
        u = np.linspace(0, 1, 2001)
        values = [(r - np.abs(u[:, None] - nodes)).max(axis=1) for r in (potentials.r0, potentials.r1)]
        seen = max(v.max() for v in values) - min(v.min() for v in values)
        # The highest node may be hidden below another's cone, which only widens the range.
        assert seen - 1e-9 <= _range(potentials) <= seen + 0.002 + max(0, np.ptp(potentials.r0), np.ptp(potentials.r1))


def test_gate_decides_and_asks_for_more():
    far = synthetic.shifted_uniform(20_000, 0.3, 0)
    assert calibration_gate(*far, max_distance=0.1, random_state=0).verdict == "beyond"
    assert calibration_gate(*far, max_distance=0.6, random_state=0).verdict == "within"
    undecided = calibration_gate(*far, max_distance=0.31, random_state=0)
    assert undecided.verdict == "undecided"
    assert undecided.rows_needed > 20_000
    assert f"{undecided.rows_needed:,} rows" in undecided.summary()


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, float("nan")])
def test_options_out_of_range(bad):
    with pytest.raises(InputError, match="max_distance"):
        calibration_gate([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], max_distance=bad)
    with pytest.raises(InputError, match="confidence"):
        calibration_gate([0, 1, 1, 0], [0.2, 0.8, 0.3, 0.1], max_distance=0.1, confidence=bad)


def test_too_few_rows():
    with pytest.raises(InputError, match="at least four"):
        population_bounds([0, 1], [0.2, 0.8])


def test_exit_codes(tmp_path):
    from typer.testing import CliRunner

    y_true, y_prob = synthetic.shifted_uniform(20_000, 0.3, 0)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([y_true, y_prob]), delimiter=",", header="y_true,y_prob", comments="")
    for limit, code in (("0.6", 0), ("0.1", 1), ("0.31", 3), ("2", 2)):
        done = CliRunner().invoke(app, ["gate", str(path), "--max-distance", limit])
        assert done.exit_code == code, done.output
    assert CliRunner().invoke(app, ["gate", str(tmp_path / "no.csv"), "--max-distance", "0.1"]).exit_code == 2
