"""The penalised spline: its own minimum by brute force, lines kept, freedom, and copies as weights in the panel."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import brentq

from calibrant import clinical_calibration
from calibrant.decisions.flexible import FREEDOM, spline_rows


def rows(x, mass):
    return np.stack(list(spline_rows(x, mass, np.arange(x.size))))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 40, 300])
def test_it_keeps_lines_and_has_the_freedom_it_says(n):
    rng = np.random.default_rng(n)
    x, mass = np.sort(rng.beta(0.5, 3, n)), rng.exponential(1.0, n)
    found = rows(x, mass)
    assert found.sum(axis=1) == pytest.approx(np.ones(n), abs=1e-7)
    assert found @ x == pytest.approx(x, abs=1e-7)
    assert np.trace(found) == pytest.approx(min(FREEDOM, 0.5 * (n + 2) if n > 1 else 1.0), abs=1e-6)


def test_clustered_and_light_predictions_keep_lines_too():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = np.unique(np.append(rng.beta(0.05, rng.choice([0.05, 3.0]), 20), [0.0, 0.5]))
        found = rows(x, rng.exponential(1.0, x.size) ** 3)
        assert found.sum(axis=1) == pytest.approx(np.ones(x.size), abs=1e-4)
        assert found @ x == pytest.approx(x, abs=1e-4)


def test_it_is_the_least_of_error_and_roughness():
    """The penalised least squares themselves, with integrals by a fine sum, solved for the multiple by its freedom."""
    rng = np.random.default_rng(0)
    x, mass = np.linspace(0.0, 1.0, 41) ** 2, rng.exponential(1.0, 41)
    knots = np.concatenate([np.zeros(4), np.arange(1, 21) / 21, np.ones(4)])
    space = BSpline(knots, np.eye(24), 3)
    basis, second = space(x), space(np.linspace(0.0, 1.0, 200_001), nu=2)
    square, rough = basis.T @ (mass[:, None] * basis), second.T @ second / 200_000

    def fit(log):
        return basis @ np.linalg.solve(square + np.exp(log) * rough, basis.T * mass)

    log = brentq(lambda each: np.trace(fit(each)) - FREEDOM, -20.0, 5.0)
    np.testing.assert_allclose(rows(x, mass), fit(log), atol=1e-4)


def test_in_the_panel_a_weight_is_so_many_copies_and_places_are_the_same():
    rng = np.random.default_rng(1)
    v = np.round(rng.random(300), 2)
    y = (rng.random(300) < v**1.5).astype(float)
    times = rng.integers(1, 4, 300)
    options = {"curve": "spline", "n_resamples": 39, "random_state": 0}
    weighted = clinical_calibration(y, v, sample_weight=times, **options)
    copied = clinical_calibration(np.repeat(y, times), np.repeat(v, times), **options)
    np.testing.assert_allclose(weighted.observed, copied.observed, atol=1e-9)
    assert weighted.ici.value == pytest.approx(copied.ici.value, abs=1e-9)
    assert weighted.curve == "spline"
    assert clinical_calibration(y, v, n_resamples=39, random_state=0).curve == "lowess"
    assert "spline" in [line.get_label() for line in weighted.plot().get_lines()]
    assert not np.allclose(
        clinical_calibration(y, v, sample_weight=times, **options | {"curve": "lowess"}).observed, copied.observed
    )
