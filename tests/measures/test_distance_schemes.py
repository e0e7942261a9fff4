"""Approximation schemes keep their guarantees, on domains small enough for the exact distance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import InputError, calibration_distance, check_predictor
from calibrant.measures.distance_schemes import prediction_sparsified_distance, type_sparsified_distance


@st.composite
def domains(draw, most=10):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weight = rng.gamma(1.0, 1.0, n) + 1e-6 if draw(st.booleans()) else None
    y = rng.random(n) if draw(st.booleans()) else rng.integers(0, 2, n).astype(float)
    return y, rng.random(n), weight


def kept(found, domain):
    y, v, weight = domain
    true = calibration_distance(y, v, sample_weight=weight).upper
    assert true - 1e-9 <= found.value <= true + found.guarantee + 1e-9
    assert check_predictor(found.predictor, y, v, sample_weight=weight) == pytest.approx(found.value, abs=1e-12)
    return found.guarantee


@settings(max_examples=300, deadline=None)
@given(domains(), st.sampled_from([0.1, 0.25, 0.5]))
def test_few_types(domain, epsilon):
    found = type_sparsified_distance(domain[0], domain[1], sample_weight=domain[2], epsilon=epsilon)
    assert kept(found, domain) <= (epsilon if domain[2] is None else 6 * epsilon) + 1e-12


@settings(max_examples=150, deadline=None)
@given(domains(most=6), st.integers(1, 3))
def test_few_predictions(domain, cells):
    found = prediction_sparsified_distance(domain[0], domain[1], sample_weight=domain[2], cells=cells)
    n = domain[1].size
    assert kept(found, domain) <= 3 / (2 * cells) + 6 * n / (4 * n * cells) + 1e-12


def test_noiseless_types_are_exact():
    rng = np.random.default_rng(0)
    v, y = rng.random(30), rng.integers(0, 2, 30).astype(float)
    found = type_sparsified_distance(y, v, epsilon=0.5)
    assert found.guarantee == 0.0
    assert found.value == pytest.approx(calibration_distance(y, v).upper, abs=1e-12)


def test_what_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="epsilon: is 0"):
        type_sparsified_distance([0, 1], [0.2, 0.8], epsilon=0)
    with pytest.raises(InputError, match="too many types"):
        type_sparsified_distance(rng.random(60), rng.random(60), epsilon=0.01)
    with pytest.raises(InputError, match="cells: is 0"):
        prediction_sparsified_distance([0, 1], [0.2, 0.8], cells=0)
    with pytest.raises(InputError, match="row 1 carries no mass"):
        type_sparsified_distance([0, 1], [0.2, 0.8], sample_weight=[1, 0])
