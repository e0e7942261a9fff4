"""What other potentials say that the rest of a path costs, against the plain program on the elements that are left."""

import numpy as np
import pytest
from hypothesis import given

from calibrant.door.sample import Sample
from calibrant.measures.distance_lattice import from_there_on, more_than_credit, shifted_potentials
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.lower_check import overdraft
from tests.measures.test_distance import noiseless
from tests.oracles import distance as oracle
from tests.strategies import examples


def potentials_of(y_true, y_prob):
    weight = np.ones_like(y_prob)
    return lower_certificate_from_sample(Sample.from_columns(y_true, y_prob, weight), tol=1e-11).potentials


def costs_ahead(y_true, y_prob):
    """For zeros and ones, sorted: what they get by all pairs of potentials, from each element on; credits, values."""
    first = potentials_of(y_true, y_prob)
    others = shifted_potentials(first, y_prob.size)
    found = []
    for label, r, heights in (
        (0.0, first.r0, [other.r0 for other in others]),
        (1.0, first.r1, [other.r1 for other in others]),
    ):
        values = np.sort(y_prob[y_true == label])
        credit = r[np.searchsorted(first.nodes, values)]
        more = more_than_credit(values, credit, first.nodes, heights)
        found.append((values, credit, from_there_on(more, y_prob.size)))
    return found


@pytest.mark.slow
@examples(300)
@given(noiseless(most=9))
def test_no_rest_of_a_path_costs_less(domain):
    (zeros, credit0, ahead0), (ones, credit1, ahead1) = costs_ahead(*domain)
    for i in range(zeros.size + 1):
        for j in range(ones.size + 1):
            v, y = np.append(zeros[i:], ones[j:]), np.repeat([0.0, 1.0], [zeros.size - i, ones.size - j])
            whole = oracle.noiseless_program(y, v) * v.size if v.size else 0.0
            rest = whole - credit0[i:].sum() - credit1[j:].sum()
            assert (ahead0[i] + ahead1[j]).max() <= rest + 1e-9


@examples(100)
@given(noiseless())
def test_shifted_potentials_are_feasible(domain):
    for other in shifted_potentials(potentials_of(*domain), domain[0].size):
        assert overdraft(other) <= 1e-15


def test_zeros_that_were_wasted_are_missed_later():
    rng = np.random.default_rng(0)
    y_prob = rng.random(400)
    (zeros, _, ahead0), (ones, _, ahead1) = costs_ahead((rng.random(400) < 0.9 * y_prob).astype(float), y_prob)
    assert (ahead0[0] + ahead1[0]).max() <= 0.0
    # All zeros gone, the ones that are left can only be moved to 1.
    assert (ahead0[-1] + ahead1[0]).max() == pytest.approx(2.0 * (1.0 - ones).sum(), rel=0.05)
    assert zeros.size > ones.size
