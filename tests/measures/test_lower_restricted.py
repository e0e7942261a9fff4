"""The distance to given values: the paper's own linear program, and how far it is above the free one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, linprog

from calibrant import InputError, lower_calibration_certificate
from calibrant.measures import restricted_lower_distance
from tests import exact
from tests.strategies import examples, samples


def weights_over_many_orders(seed):
    """Few rows, some of next to no weight, which a solver's tolerances may take for none."""
    rng = np.random.default_rng([5, seed])
    n = int(rng.integers(2, 11))
    v, y = np.round(rng.random(n), int(rng.integers(1, 9))), rng.integers(0, 2, n) * 1.0
    weight = 10.0 ** rng.uniform(-rng.uniform(3, 14), 0, n)
    weight[0] = 1.0
    if seed % 2:
        y[0] = v[0] = rng.integers(0, 2)
    return y, v, weight, np.unique(np.append([0.0, 1.0], np.round(rng.random(rng.integers(0, 6)), 3)))


@pytest.mark.parametrize("seed", range(40))
def test_weights_over_many_orders_cost_it_nothing(seed):
    y_true, y_prob, weight, values = weights_over_many_orders(seed)
    found = restricted_lower_distance(y_true, y_prob, sample_weight=weight, values=values)
    least = exact.restricted_lower_distance(y_true, y_prob, weight, values)
    assert -1e-15 <= float(Fraction(found) - least) <= 1e-13


@examples(60)
@given(sample=samples(max_rows=8), more=st.lists(st.integers(1, 19), max_size=6, unique=True))
def test_it_is_its_linear_program(sample, more):
    values = np.unique([0.0, 1.0, *(k / 20 for k in more)])
    found = restricted_lower_distance(sample[0], sample[1], sample_weight=sample[2], values=values)
    assert -1e-15 <= float(Fraction(found) - exact.restricted_lower_distance(*sample, values)) <= 1e-9
    free = lower_calibration_certificate(sample[0], sample[1], sample_weight=sample[2])
    assert free.lower - 1e-9 <= found <= free.upper + np.diff(values).max() / 2 + 1e-9  # Lemma 17


def test_a_fine_grid_comes_near_to_the_free_distance():
    rng = np.random.default_rng(0)
    y_prob = rng.random(500)
    y_true = (rng.random(500) < y_prob**2).astype(float)
    free = lower_calibration_certificate(y_true, y_prob)
    found = [restricted_lower_distance(y_true, y_prob, values=np.linspace(0, 1, k + 1)) for k in (1, 4, 64)]
    assert found[0] > found[1] > found[2] >= free.lower
    assert found[2] <= free.upper + 1 / 128


def test_values_that_cannot_be_used_are_refused():
    for values in ([0.0, 0.5], [0.0, 1.5, 1.0], [[0.0, 1.0]], [0.0, float("nan"), 1.0], []):
        with pytest.raises(InputError, match="values"):
            restricted_lower_distance([0, 1], [0.2, 0.8], values=values)


@pytest.mark.parametrize("wrong", ["no answer", "another answer", "no proof"])
def test_a_solver_that_fails_gives_no_number(monkeypatch, wrong):
    """A cost that nothing proves to be the least is none: what the solver returns is not taken on trust."""

    def failing(*args, **kwargs):
        solved = linprog(*args, **kwargs)
        if wrong == "no answer":
            return OptimizeResult(x=None, status=4, message="numerical difficulties")
        if wrong == "another answer":
            solved.x = np.roll(solved.x, 1)
        else:
            solved.eqlin.marginals = 0.5 * solved.eqlin.marginals
        return solved

    y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    assert restricted_lower_distance(y_true, y_prob, values=[0, 0.5, 1]) == pytest.approx(0.15, abs=1e-12)
    monkeypatch.setattr("scipy.optimize.linprog", failing)
    with pytest.raises(ArithmeticError, match=r"the solver found no answer|proved to lie between"):
        restricted_lower_distance(y_true, y_prob, values=[0, 0.5, 1])


@pytest.mark.parametrize("values", [[0.0, 1.0, 1.2], [-0.2, 0.0, 1.0], [[0.0, 1.0]]])
def test_values_outside_the_unit_interval_are_told_what_is_allowed(values):
    with pytest.raises(InputError, match=r"values: must be numbers in \[0, 1\]"):
        restricted_lower_distance([0, 1], [0.2, 0.8], values=values)
