"""Smooth calibration error and its witness, against the definition."""

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog
from scipy.sparse import diags_array, vstack

from calibrant import smooth_calibration_error, smooth_calibration_witness
from tests.oracles import smooth as oracle
from tests.strategies import examples, samples


def adversarial(n):
    """Half the points near 1/n with label 0, half near 1/2 with alternating labels: keys that leap to and fro."""
    half = np.arange(n // 2)
    y_prob = np.concatenate([(1 + half * 1e-6) / n, 0.5 + half * 1e-9])
    return np.concatenate([np.zeros(half.size), half % 2.0]), y_prob


def check_witness(y_true, y_prob, weight, witness):
    """The witness is feasible to the letter and attains its value; the dual forbids more."""
    w = np.ones_like(y_prob) if weight is None else weight
    gaps = np.diff(witness.knots)
    assert np.all(np.abs(witness.heights) <= 1.0)
    assert np.all(np.abs(np.diff(witness.heights)) <= gaps + 2e-16)
    attained = np.sum(w * (y_true - y_prob) * witness(y_prob)) / w.sum()
    assert witness.value == pytest.approx(max(attained, 0.0), abs=1e-12)
    assert witness.value <= witness.upper <= witness.value + 1e-12


@pytest.mark.slow
@examples(3000)
@given(samples())
def test_equals_the_definition_and_is_proven(sample):
    y_true, y_prob, weight = sample
    value = smooth_calibration_error(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(oracle.smooth_calibration_error(*sample), abs=1e-11)
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(witness.value, abs=1e-12)
    check_witness(y_true, y_prob, weight, witness)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("kind", ["calibrated", "biased", "adversarial", "clustered", "weighted"])
def test_equals_the_sparse_linear_program(n, kind):
    rng = np.random.default_rng(n)
    weight = None
    if kind == "adversarial":
        y_true, y_prob = adversarial(n)
    else:
        y_prob = np.round(rng.beta(0.3, 0.3, n), 3) if kind == "clustered" else rng.random(n)
        y_true = (rng.random(n) < y_prob ** (2.0 if kind == "biased" else 1.0)) * 1.0
        weight = 10 ** rng.uniform(-6, 6, n) if kind == "weighted" else None
    w = np.ones(n) if weight is None else weight
    v, where = np.unique(y_prob, return_inverse=True)
    b = np.bincount(where, w * (y_true - y_prob)) / w.sum()
    m = v.size
    step = diags_array([-np.ones(m - 1), np.ones(m - 1)], offsets=[0, 1], shape=(m - 1, m))
    solution = linprog(-b, A_ub=vstack([step, -step]), b_ub=np.tile(np.diff(v), 2), bounds=(-1, 1), method="highs")
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    check_witness(y_true, y_prob, weight, witness)
    assert witness.value == pytest.approx(-solution.fun, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10**6])
@pytest.mark.parametrize("kind", ["calibrated", "adversarial", "one value", "ulps", "zero and one"])
def test_a_million_rows_are_bracketed(n, kind):
    rng = np.random.default_rng(0)
    y_prob = rng.random(n)
    if kind == "one value":
        y_prob[:] = 0.25
    elif kind == "ulps":
        y_prob = 0.5 + np.arange(n) * 2.0**-53
    elif kind == "zero and one":
        y_prob = np.round(y_prob)
    y_true = (rng.random(n) < 0.1 + 0.8 * y_prob) * 1.0
    if kind == "adversarial":
        y_true, y_prob = adversarial(n)
    witness = smooth_calibration_witness(y_true, y_prob)
    check_witness(y_true, y_prob, None, witness)
    assert smooth_calibration_error(y_true, y_prob) == pytest.approx(witness.value, abs=1e-12)


def test_known_values():
    # One prediction: the whole bias. Predict 1 with label 0 at mass b, 1 - b with label 1 at mass 1 - b: b^2 (2 - b).
    assert smooth_calibration_error([1, 0, 0, 0], [0.5] * 4) == pytest.approx(0.25)
    b = 0.3
    value = smooth_calibration_error([0, 1], [1.0, 1 - b], sample_weight=[b, 1 - b])
    assert value == pytest.approx(b**2 * (2 - b), abs=1e-15)
    assert smooth_calibration_error([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]) == 0.0


def test_callable_witness_is_lipschitz_between_and_beyond_its_knots():
    witness = smooth_calibration_witness([0, 1, 0], [0.2, 0.4, 0.8])
    t = np.linspace(0, 1, 1001)
    assert np.all(np.abs(np.diff(witness(t))) <= np.diff(t) + 1e-12)
