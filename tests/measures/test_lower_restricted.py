"""The distance to given values: the paper's own linear program, and how far it is above the free one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from calibrant import InputError, lower_calibration_certificate
from calibrant.measures import restricted_lower_distance
from tests.strategies import examples, samples


def program_of_lemma_18(y_true, y_prob, weight, values):
    """Every mass (u, v, y) a variable."""
    w = np.ones_like(y_prob) if weight is None else weight / weight.max()
    w = w / w.sum()
    kinds = [(v, y) for v in np.unique(y_prob) for y in (0, 1)]
    held = [sum(w[y_prob == v] * (y_true if y else 1 - y_true)[y_prob == v]) for v, y in kinds]
    pairs = [(u, v, y) for u in values for v, y in kinds]
    cost = [abs(u - v) for u, v, _ in pairs]
    rows = [[(v, y) == kind for _, v, y in pairs] for kind in kinds]
    rows += [[(u == value) * (y - u) for u, _, y in pairs] for value in values]
    return linprog(cost, A_eq=np.array(rows, float), b_eq=np.append(held, np.zeros(len(values)))).fun


@examples(60)
@given(sample=samples(max_rows=8), more=st.lists(st.integers(1, 19), max_size=6, unique=True))
def test_it_is_its_linear_program(sample, more):
    values = np.unique([0.0, 1.0, *(k / 20 for k in more)])
    found = restricted_lower_distance(sample[0], sample[1], sample_weight=sample[2], values=values)
    assert found == pytest.approx(program_of_lemma_18(*sample, values), abs=1e-7)
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
