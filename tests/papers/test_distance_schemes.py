"""Approximation schemes keep their guarantees, on domains small enough for the exact distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, calibration_distance
from calibrant.measures import check_predictor
from calibrant_papers.distance_schemes import prediction_sparsified_distance, type_sparsified_distance
from tests.strategies import examples


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


@pytest.mark.slow
@examples(300)
@given(domains(), st.sampled_from([0.1, 0.25, 0.5]))
def test_few_types(domain, epsilon):
    found = type_sparsified_distance(domain[0], domain[1], sample_weight=domain[2], epsilon=epsilon)
    assert kept(found, domain) <= (epsilon if domain[2] is None else 6 * epsilon) + 1e-12


@examples(150)
@given(domains(most=6), st.integers(1, 3))
def test_few_predictions(domain, cells):
    found = prediction_sparsified_distance(domain[0], domain[1], sample_weight=domain[2], cells=cells)
    n = domain[1].size
    assert kept(found, domain) <= 3 / (2 * cells) + 6 * n / (4 * n * cells) + 1e-12


def cost(ones, zeros, v, labels):
    mean = np.bincount(labels, ones) / np.maximum(np.bincount(labels, ones + zeros), 1e-300)
    return (ones + zeros) @ np.abs(v - mean[labels])


@examples(500)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_costs_are_continuous_in_the_masses(n, seed):
    rng = np.random.default_rng(seed)
    v, labels = rng.random(n) ** rng.choice([0.1, 1, 10]), rng.integers(0, 3, n)
    ones, zeros = rng.gamma(0.3, 1.0, (2, n)) + 1e-9
    more = rng.gamma(0.1, 1.0, (2, n)) * rng.choice([0.01, 1.0])
    with_more = cost(ones + more[0], zeros + more[1], v, labels)
    assert -more.sum() - 1e-9 <= with_more - cost(ones, zeros, v, labels) <= 2 * more.sum() + 1e-9


def test_the_constants_of_continuity_are_tight():
    little = 1e-6
    zero, one, element = np.zeros(2), np.array([0.0, little]), np.zeros(2, np.int64)
    # A little mass at prediction 1 with outcome 1 joins all zeros at prediction 0; one at 0, zeros at prediction 1 / 2.
    for v, added in (([0.0, 1.0], 2.0), ([0.5, 0.0], -1.0)):
        zeros, place = np.array([1.0, 0.0]), np.array(v)
        change = cost(one, zeros, place, element) - cost(zero, zeros, place, element)
        assert change == pytest.approx(added * little, rel=1e-5)


@pytest.mark.slow
def test_masses_that_lose_the_most_by_rounding():
    epsilon, n = 0.25, 2000
    heavy = np.append(1.0, np.full(6, 1.0 - 1e-9))
    weight = np.concatenate([heavy, np.full(n - 7, 0.9999 * epsilon / n * heavy.sum() / (1 - epsilon))])
    rng = np.random.default_rng(0)
    y, v = np.full(n, 0.49 * epsilon), rng.random(n)
    found = type_sparsified_distance(y, v, sample_weight=weight, epsilon=epsilon)
    assert found.guarantee <= 6 * epsilon


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
