"""A finer tolerance never widens a bracket, and a solver's best stays what it was while the solver goes on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.door.sample import Sample
from calibrant.kernels import lower_lift as lift
from calibrant.measures import lower_solve
from calibrant.measures.lower_check import Masses
from calibrant.measures.lower_solve import LowerProblem
from tests.strategies import examples
from tests.tolerances import hard_rows, wider


@pytest.mark.parametrize(("part", "case"), [(77, 286), (77, 305), (77, 415), (77, 598)])
def test_samples_whose_brackets_were_wider_once(part, case):
    assert not wider(*hard_rows(np.random.default_rng([part, case])))


@pytest.mark.slow
@examples(300)
@given(st.integers(0, 2**32))
def test_a_finer_tolerance_never_widens_a_bracket(seed):
    assert not wider(*hard_rows(np.random.default_rng(seed)))


@pytest.mark.parametrize("case", range(12))
def test_what_a_solver_keeps_is_its_own(case, monkeypatch):
    """Its best nodes, masses and potentials share no memory with what it goes on with, and are worth what it says."""
    working = []

    def solve(u, p, q, aim, steps, proximal, x, state, room, calibrated, lowered):
        working.extend([x, calibrated])
        return real(u, p, q, aim, steps, proximal, x, state, room, calibrated, lowered)

    real = lower_solve.kernel.solve
    y, v, weight = hard_rows(np.random.default_rng([78, case]))
    masses = Masses.of(Sample.from_columns(np.round(y), v, weight))
    v, p, q = masses.prediction, masses.zeros, masses.ones
    problem = LowerProblem(v, p, q)
    monkeypatch.setattr(lower_solve.kernel, "solve", solve)
    problem.bracket(1e-14)
    for best in (problem.u, problem.calibrated, problem._best[1]):
        assert not any(np.shares_memory(best, each) for each in working)
    whole = np.array([0, v.size])
    cost = lift.lift_coupling(v, p, q, problem.u, problem.calibrated, whole, np.empty(1))
    assert cost == pytest.approx(problem.upper, abs=1e-15)
    r = problem.potentials()
    assert p @ r[:, 0] + q @ r[:, 1] == pytest.approx(problem.lower, abs=1e-13)
