"""The first-order road to the lower distance, against the interior point's certificate."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import InputError, lower_calibration_certificate
from calibrant.door.sample import Sample
from calibrant.measures import check_coupling, check_potentials
from calibrant.measures.lower import SMALLEST, FirstOrderProblem, calibrated_masses
from calibrant.measures.lower_check import Masses
from tests.strategies import examples, samples


@examples(300)
@given(samples(), st.sampled_from([0.2, 0.1, 0.05]))
@example(([1, 0, 1, 0], [0.75, 5e-324, 1.0, 0.5], [1.0, 0.80219547, 0.97059713, 0.57475857]), 0.05)
def test_epsilon_guarantee(sample, tol):
    y_true, y_prob, weight = sample
    exact = lower_calibration_certificate(y_true, y_prob, sample_weight=weight)
    found = lower_calibration_certificate(y_true, y_prob, sample_weight=weight, tol=tol, method="first-order")
    assert found.converged
    assert found.width <= tol
    assert found.lower <= exact.upper + 1e-9
    assert exact.lower <= found.upper + 1e-9
    proved = check_coupling(found.coupling, y_true, y_prob, sample_weight=weight)
    assert proved == pytest.approx(found.upper, abs=1e-9)
    proved = check_potentials(found.potentials, y_true, y_prob, sample_weight=weight)
    assert proved == pytest.approx(found.lower, abs=1e-9)


def test_calibrated_and_certain_needs_no_step():
    found = lower_calibration_certificate([0, 1], [0.0, 1.0], tol=0.2, method="first-order")
    assert found.converged
    assert found.upper < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("tol", [0.02, 0.01])
def test_a_finer_guarantee(tol):
    rng = np.random.default_rng(0)
    y_prob = rng.random(3000)
    y_true = (rng.random(3000) < y_prob**2).astype(float)
    exact = lower_calibration_certificate(y_true, y_prob)
    found = lower_calibration_certificate(y_true, y_prob, tol=tol, method="first-order")
    assert found.width <= tol
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


def test_steps_grow_like_one_over_epsilon():
    rng = np.random.default_rng(0)
    y_prob = rng.random(500)
    sample = Sample.from_columns((rng.random(500) < y_prob).astype(float), y_prob)
    masses = Masses.of(sample)
    coarse, fine = FirstOrderProblem(masses, 0.1).steps, FirstOrderProblem(masses, 0.025).steps
    assert fine <= 8 * coarse + 64


@examples(300)
@given(st.integers(1, 12), st.integers(3, 9), st.integers(0, 2**32 - 1))
def test_what_rounding_a_plan_costs(pieces, targets, seed):
    rng = np.random.default_rng(seed)
    plan, u = rng.gamma(0.3, 1.0, (pieces, targets)), np.linspace(0, 1, targets)
    outcome = rng.integers(0, 2, pieces).astype(float)
    calibrated = calibrated_masses(plan, outcome, u)
    zeros, ones = plan[outcome == 0].sum(axis=0), plan[outcome == 1].sum(axis=0)
    spare0, spare1 = (zeros - (1 - u) * calibrated)[1:-1], (ones - u * calibrated)[1:-1]
    assert spare0.min() >= -1e-12
    assert spare1.min() >= -1e-12
    assert calibrated[0] == pytest.approx(zeros[0] + spare0.sum() + zeros[-1])
    assert calibrated[-1] == pytest.approx(ones[-1] + spare1.sum() + ones[0])
    price = spare0 * u[1:-1] + spare1 * (1 - u[1:-1])  # of moving what is spare to 0 and to 1
    assert (price <= np.abs(ones - u * (zeros + ones))[1:-1] + 1e-12).all()


def test_what_is_refused():
    with pytest.raises(InputError, match="tol"):
        lower_calibration_certificate([0, 1], [0.2, 0.8], tol=SMALLEST / 2, method="first-order")
    with pytest.raises(InputError, match="method: is 'simplex'"):
        lower_calibration_certificate([0, 1], [0.2, 0.8], method="simplex")
