"""Exact programs for general domains against all set partitions, and against one another where these are too many."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import calibration_distance
from calibrant.door.arguments import TimeLimit
from calibrant.door.sample import Sample
from calibrant.kernels import columns, lattice, partitions
from calibrant.measures import distance, distance_lattice
from calibrant.measures.distance import (
    _solved,
    element_relaxation,
    exact_partition,
    partition_by_columns,
    partition_by_types,
    upper_distance_from_sample,
)
from calibrant.measures.lower import lower_calibration_certificate
from tests.oracles import distance as oracle
from tests.strategies import examples


def cost(mass, v, y, labels):
    return sum(
        mass[part] @ np.abs(v[part] - (mass[part] @ y[part]) / mass[part].sum())
        for part in (labels == name for name in np.unique(labels))
    )


def by_subsets(mass, v, y):
    labels = np.empty(v.size, np.int64)
    assert partitions.by_subsets(mass, v, y, labels, np.zeros(1, np.int64))
    return labels


@st.composite
def domains(draw, least=1, most=8):
    """Masses, predictions and outcomes: spread, tied, an ulp apart, at the ends; masses over twelve orders."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    v = {
        "spread": lambda: rng.random(n),
        "tied": lambda: rng.choice([0.0, 0.2, 0.5, 1.0], n),
        "ulp": lambda: 0.5 + 2.0**-53 * rng.integers(-5, 5, n),
        "ends": lambda: rng.beta(0.2, 0.2, n),
    }[draw(st.sampled_from(["spread", "tied", "ulp", "ends"]))]()
    y = {
        "outcomes": lambda: rng.integers(0, 2, n).astype(float),
        "rates": lambda: rng.random(n),
        "near": lambda: np.clip(v + rng.normal(0.0, 0.1, n), 0.0, 1.0),
        "shifted": lambda: 0.7 * v,
        "exact": lambda: v.copy(),
        "tied": lambda: rng.choice([0.0, 0.3, 1.0], n),
        "zero": lambda: np.zeros(n),
    }[draw(st.sampled_from(["outcomes", "rates", "near", "shifted", "exact", "tied", "zero"]))]()
    weight = {
        "equal": lambda: np.ones(n),
        "spread": lambda: rng.gamma(1.0, 1.0, n) + 1e-9,
        "orders": lambda: 10.0 ** rng.integers(-6, 7, n),
        "two": lambda: rng.choice([1.0, 2.0], n),
    }[draw(st.sampled_from(["equal", "spread", "orders", "two"]))]()
    return weight / weight.sum(), v, y


@examples(700)
@given(domains(most=7))
def test_subsets_against_the_definition(domain):
    mass, v, y = domain
    assert cost(*domain, by_subsets(*domain)) == pytest.approx(oracle.calibration_distance(y, v, mass), abs=1e-12)


@pytest.mark.slow
@examples(700)
@given(domains(most=11))
def test_columns_against_subsets(domain):
    expected = cost(*domain, by_subsets(*domain))
    labels, proven = partition_by_columns(*domain, np.zeros(domain[0].size, np.int64), TimeLimit(None))
    assert cost(*domain, labels) == pytest.approx(expected, abs=1e-9)
    assert expected - 1e-9 <= proven <= expected + 1e-12


@pytest.mark.slow
@examples(500)
@given(domains(most=9), st.integers(0, 2**32 - 1))
def test_no_part_gets_more_credit_than_it_costs(domain, seed):
    mass, v, y = domain
    relaxation = element_relaxation(mass, v, y, TimeLimit(None))
    rng = np.random.default_rng(seed)
    for _ in range(30):
        share = mass * rng.integers(0, 2, v.size) * rng.choice([1.0, rng.random(v.size)[0]], v.size)
        if share.sum() > 0.0:
            value = share @ y / share.sum()
            assert share @ (np.abs(v - value) - relaxation.credit) >= -1e-12


@pytest.mark.slow
@examples(200)
@given(domains(most=30))
def test_the_relaxation_lies_between_the_lower_and_the_true_distance(domain):
    mass, v, y = domain
    relaxed = mass @ element_relaxation(mass, v, y, TimeLimit(None)).credit
    lower = lower_calibration_certificate(y, v, sample_weight=mass)
    assert relaxed >= lower.lower - 1e-6
    if np.isin(y, (0.0, 1.0)).all():  # nothing is mixed, so nothing is gained
        assert relaxed <= lower.upper + 1e-9


@examples(300)
@given(domains(most=9), st.floats(0.0, 0.05))
def test_every_part_within_the_budget_is_listed(domain, budget):
    mass, v, y = domain
    n = v.size
    credit = element_relaxation(mass, v, y, TimeLimit(None)).credit
    flag = np.zeros(1, np.int64)
    parts = columns.parts_within(mass, v, y, credit, budget, 32, (10**7, 10**5), flag)
    assert parts.complete
    listed = [frozenset(parts.members[a:b].tolist()) for a, b in zip(parts.start[:-1], parts.start[1:], strict=True)]
    assert len(set(listed)) == len(listed)

    bits = (np.arange(1 << n)[:, None] >> np.arange(n) & 1) * mass
    mean = (bits @ y) / np.maximum(bits.sum(axis=1), 1e-300)
    excess = (bits * (np.abs(v - mean[:, None]) - credit)).sum(axis=1)
    masks = {sum(1 << i for i in part) for part in listed}
    for mask in range(1, 1 << n):
        inside = [part for part in range(1, mask) if part & mask == part]
        whole = not any(excess[part] + excess[mask ^ part] <= excess[mask] + 1e-14 for part in inside)
        if mask in masks:
            assert excess[mask] <= budget + 1e-12
        elif excess[mask] <= budget - 1e-12:
            assert not whole


@examples(300)
@given(domains(least=2, most=12))
def test_local_moves_never_cost(domain):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, domain[0].size, domain[0].size)
    before = cost(*domain, labels)
    partitions.improve(*domain, labels, np.zeros(1, np.int64))
    assert cost(*domain, by_subsets(*domain)) - 1e-12 <= cost(*domain, labels) <= before + 1e-12


@pytest.mark.slow
@examples(30)
@given(st.integers(17, 22), st.integers(0, 2**32 - 1))
def test_columns_against_few_types(n, seed):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    mass, y = np.full(n, 1.0 / n), rng.choice([0.1, 0.5, 0.8], n)
    expected = cost(mass, v, y, partition_by_types(mass, v, y, TimeLimit(None)))
    labels, proven = partition_by_columns(mass, v, y, np.zeros(n, np.int64), TimeLimit(0.5))
    found = cost(mass, v, y, labels)
    assert proven - 1e-9 <= expected <= found + 1e-12
    if found - proven <= 1e-9:
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_sixty_elements_with_rates_near_the_predictions(seed):
    rng = np.random.default_rng(seed)
    v = rng.random(60)
    y = np.clip(v + rng.normal(0.0, 0.1, 60), 0.0, 1.0)
    mass = np.full(60, 1.0 / 60.0)
    labels, proven = partition_by_columns(mass, v, y, np.arange(60), TimeLimit(None))
    assert cost(mass, v, y, labels) - proven <= 1e-9
    # The lower distance does not know that an element's outcomes go together.
    assert lower_calibration_certificate(y, v).upper < 0.7 * proven


def test_what_is_out_of_reach():
    rng = np.random.default_rng(0)
    v, y = rng.random(300), rng.random(300)
    mass = np.full(300, 1.0 / 300.0)
    assert exact_partition(mass, v, y, TimeLimit(None)) is None
    labels, proven = partition_by_columns(mass, v, y, np.arange(300), TimeLimit(None))
    assert proven == 0.0
    assert labels.tolist() == list(range(300))


@pytest.mark.slow
def test_a_time_limit_leaves_proven_bounds():
    rng = np.random.default_rng(0)
    v, y = rng.random(100), rng.integers(0, 2, 100).astype(float)
    mass = rng.dirichlet(np.ones(100))
    partition_by_columns(mass[:10] / mass[:10].sum(), v[:10], y[:10], np.arange(10), TimeLimit(None))  # it is compiled
    start = time.process_time()
    labels, proven = partition_by_columns(mass, v, y, np.arange(100), TimeLimit(0.5))
    assert time.process_time() - start < 10.0
    # How near the two are depends on what the processor does in half a second; that they are proved does not.
    lower = lower_calibration_certificate(y, v, sample_weight=mass)
    assert 0.0 < proven <= cost(mass, v, y, labels)
    assert lower.lower <= cost(mass, v, y, labels)


@pytest.mark.parametrize("n", [12, 16])
def test_programs_stop_when_told(n):
    rng = np.random.default_rng(0)
    stop, labels = np.ones(1, np.int64), np.empty(n, np.int64)
    domain = np.full(n, 1.0 / n), rng.random(n), rng.random(n)
    assert not partitions.by_subsets(*domain, labels, stop)
    first = np.array([0, n], np.int64)
    assert not partitions.by_types(first, np.sort(domain[1]), np.full(1, 1.0 / n), np.full(1, 0.5), labels, stop)
    assert not columns.parts_within(*domain, np.zeros(n), 1.0, 8, (10**9, 10**9), stop).complete


def test_a_share_s_target_is_the_mean_of_the_values_that_it_goes_to():
    v, y = np.array([0.2, 0.6, 0.9]), np.array([0.5, 0.5, 0.9])
    _, target = _solved(np.full(3, 1.0 / 3.0), v, y, np.array([0.2, 0.5, 0.9]))
    assert target == pytest.approx([0.5, 0.5, 0.9], abs=1e-9)


def test_domains_that_no_exact_program_takes_are_bounded_by_columns(monkeypatch):
    v, y = np.array([0.1, 0.3, 0.35, 0.7, 0.8]), np.array([0.4, 0.2, 0.6, 0.5, 0.9])
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    exact = calibration_distance(y, v, sample_weight=weight)
    monkeypatch.setattr(distance, "exact_partition", lambda *_: None)
    found = calibration_distance(y, v, sample_weight=weight)
    assert exact.exact
    assert found.exact
    assert tuple(found) == pytest.approx(tuple(exact), abs=1e-9)


@pytest.mark.slow
def test_what_a_shortest_path_cannot_go_through_is_not_looked_at(monkeypatch):
    """Of the steps, and sets of steps, of six searches: those that need not be looked at are several times as many."""
    work = []

    def counted(*arguments):
        found = lattice.shortest_path(*arguments)
        work.append(found.work)
        return found

    monkeypatch.setattr(distance_lattice, "lattice", SimpleNamespace(**{**vars(lattice), "shortest_path": counted}))
    for seed in range(1, 7):
        rng = np.random.default_rng(seed)
        v = rng.random(120)
        assert upper_distance_from_sample(Sample.from_columns((rng.random(120) < v).astype(float), v)).exact
    assert 50_000 < sum(work) < 300_000


@pytest.mark.parametrize("seed", range(5))
def test_the_cover_is_the_cheapest_partition_into_parts(seed):
    rng = np.random.default_rng(seed)
    mass, v, y = np.full(7, 1.0 / 7.0), rng.random(7), rng.integers(0, 2, 7).astype(float)
    credit = element_relaxation(mass, v, y, TimeLimit(None)).credit
    parts = columns.parts_within(mass, v, y, credit, 1.0, 32, (10**7, 10**5), np.zeros(1, np.int64))
    cover, bound = distance._exact_cover(parts, 7, 1.0, TimeLimit(None))
    best = cost(mass, v, y, by_subsets(mass, v, y))
    assert cost(mass, v, y, cover) == pytest.approx(best, abs=1e-9)
    assert bound <= best - mass @ credit + 1e-9


def test_a_relaxation_that_is_not_solved_leaves_credits_that_hold(monkeypatch):
    from scipy import optimize

    rng = np.random.default_rng(0)
    mass, v, y = np.full(6, 1.0 / 6.0), rng.random(6), rng.integers(0, 2, 6).astype(float)
    best = cost(mass, v, y, by_subsets(mass, v, y))
    monkeypatch.setattr(optimize, "linprog", lambda *_, **__: SimpleNamespace(x=None))
    assert mass @ element_relaxation(mass, v, y, TimeLimit(None)).credit <= best + 1e-12
    labels, proven = partition_by_columns(mass, v, y, np.arange(6), TimeLimit(None))
    assert proven <= best + 1e-9 <= cost(mass, v, y, labels) + 2e-9


@examples(400)
@given(st.integers(2, 13), st.integers(0, 2**32 - 1), st.booleans())
@example(10, 5326, False)  # zeros that are not free stay behind all that are
def test_the_proof_alone_leaves_out_no_shorter_path(n, seed, in_steps):
    """Without a look beforehand, and from one part of all rows, the search that proves has to find the cheapest."""
    rng = np.random.default_rng(seed)
    v = rng.choice(17, n, replace=False) / 16.0 if in_steps else rng.random(n)
    y = rng.integers(0, 2, n).astype(float)
    mass = np.full(n, 1.0 / n)
    best = cost(mass, v, y, by_subsets(mass, v, y))
    sample = Sample.from_columns(y, v)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distance_lattice.LatticeProblem, "_look", lambda *_: np.inf)
        patch.setattr(distance, "rounded_partition", lambda mass, *_: np.zeros(mass.size, np.int64))
        found = upper_distance_from_sample(sample)
    assert found.exact
    assert found.lower - 1e-9 <= best <= found.upper + 1e-9
    assert found.upper == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(
    ("limit", "most", "solved"),
    [("_STATES", 11.9, False), ("_STATES", 12.1, True), ("_BOXES", 59.9, False), ("_BOXES", 60.1, True)],
)
def test_types_are_gone_through_where_their_states_and_parts_are_few(monkeypatch, limit, most, solved):
    """Of three and two elements of a type: 4 * 3 states, and from each on average 5 / 2 * 2 parts."""
    mass, v = np.full(5, 0.2), np.array([0.1, 0.4, 0.6, 0.3, 0.8])
    y = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    monkeypatch.setattr(distance, limit, most)
    labels = distance.partition_by_types(mass, v, y, TimeLimit(None))
    assert (labels is not None) == solved
    if solved:
        assert cost(mass, v, y, labels) == pytest.approx(cost(mass, v, y, by_subsets(mass, v, y)), abs=1e-12)


@pytest.mark.parametrize("n", [5, 17])
def test_a_program_whose_time_is_up_has_no_partition(n):
    stopped = SimpleNamespace(run=lambda *_: False, stop=np.ones(1, np.int64))
    assert exact_partition(np.full(n, 1.0 / n), np.linspace(0.0, 1.0, n), np.zeros(n), stopped) is None


def test_beyond_all_subsets_only_few_types_are_gone_through(monkeypatch):
    monkeypatch.setattr(distance, "partition_by_types", lambda *_: "by types")
    for n, told in ((17, "by types"), (2, [0, 1])):
        found = exact_partition(
            np.full(n, 1.0 / n), np.linspace(0.2, 0.6, n), np.linspace(0.2, 0.6, n), TimeLimit(None)
        )
        assert found == told if n > 16 else found.tolist() == told


PARTS = SimpleNamespace(
    members=np.array([0, 1, 2, 0, 1, 2]), start=np.array([0, 1, 2, 3, 6]), excess=np.array([0.1, 0.1, 0.1, 0.5])
)


@pytest.mark.parametrize(
    ("answer", "labels", "bound"),
    [
        ({"status": 2, "x": None, "mip_dual_bound": None}, None, np.inf),  # no cover: no partition of such parts
        ({"status": 1, "x": None, "mip_dual_bound": None}, None, 0.0),
        ({"status": 1, "x": None, "mip_dual_bound": 200.0}, None, 200.0),
        ({"status": 0, "x": np.array([1.0, 1.0, 1.0, 0.0]), "mip_dual_bound": 300.0}, [0, 1, 2], 300.0),
        ({"status": 1, "x": np.array([0.0, 0.0, 0.0, 1.0]), "mip_dual_bound": 300.0}, [0, 0, 0], 300.0),
        ({"status": 1, "x": np.array([1.0, 1.0, 0.0, 0.0]), "mip_dual_bound": 300.0}, None, 300.0),  # not all covered
    ],
)
def test_what_the_solver_of_covers_answers_is_taken_for_what_it_proves(monkeypatch, answer, labels, bound):
    """HiGHS proves its bound up to 1e-7 for each dual number and 1e-6 in all, in thousandths of the budget."""
    from scipy import optimize

    monkeypatch.setattr(optimize, "milp", lambda *_, **__: SimpleNamespace(**answer))
    found, proven = distance._exact_cover(PARTS, 3, 2.0, TimeLimit(None))
    assert (None if found is None else found.tolist()) == labels
    assert proven == (pytest.approx(0.002 * (bound - 3e-7 - 1e-6), abs=1e-12) if 0.0 < bound < np.inf else bound)


def test_where_no_part_holds_an_element_there_is_no_cover(monkeypatch):
    from scipy import optimize

    monkeypatch.setattr(optimize, "milp", None)
    assert distance._exact_cover(PARTS, 4, 2.0, TimeLimit(None)) == (None, np.inf)


@pytest.mark.parametrize("left", [None, 5.0])
def test_covers_are_sought_for_the_time_that_is_left_or_a_number_of_nodes(monkeypatch, left):
    from scipy import optimize

    asked = []
    answer = SimpleNamespace(status=2)
    monkeypatch.setattr(optimize, "milp", lambda *_, options, **__: asked.append(options) or answer)
    distance._exact_cover(PARTS, 3, 2.0, SimpleNamespace(left=left))
    assert asked == [{"mip_rel_gap": 0.0, **({"node_limit": 2000} if left is None else {"time_limit": 5.0})}]


@pytest.mark.parametrize("complete", [False, True])
def test_parts_that_could_not_all_be_listed_prove_nothing_beyond_the_relaxation(monkeypatch, complete):
    """Else a cover that costs less takes the place of the partition that was known."""
    rng = np.random.default_rng(0)
    mass, v, y = np.full(6, 1.0 / 6.0), rng.random(6), rng.random(6)
    relaxed = mass @ element_relaxation(mass, v, y, TimeLimit(None)).credit
    best = by_subsets(mass, v, y)
    whole = np.zeros(6, np.int64)
    assert relaxed + 1e-3 < cost(mass, v, y, best) < cost(mass, v, y, whole) - 1e-3
    parts = SimpleNamespace(complete=complete)
    clock = SimpleNamespace(up=False, stop=None, run=lambda f, *_: parts if f is columns.parts_within else f())
    monkeypatch.setattr(distance, "cut", lambda: np.array([0]))
    monkeypatch.setattr(partitions, "improve", lambda: None)
    monkeypatch.setattr(distance, "element_relaxation", lambda *_: element_relaxation(mass, v, y, TimeLimit(None)))
    monkeypatch.setattr(distance, "_exact_cover", lambda *_: (best, np.inf))
    labels, proven = partition_by_columns(mass, v, y, whole, clock)
    assert labels.tolist() == (best if complete else whole).tolist()
    assert proven == pytest.approx(cost(mass, v, y, best) if complete else max(relaxed, 0.0), abs=1e-9)


def lattice_problem(n, seed, mirrored=False):
    """Rows of one mass with outcomes of 0 and 1, all in one part, and what their partition costs at least."""
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    y = (rng.random(n) < 1.0 - v).astype(float)
    if mirrored:
        v, y = 1.0 - v, 1.0 - y
    best = cost(np.full(n, 1.0 / n), v, y, by_subsets(np.full(n, 1.0 / n), v, y))
    problem = distance_lattice.LatticeProblem(v, y, lower_calibration_certificate(y, v), np.zeros(n, np.int64))
    return problem, best, lambda: cost(np.full(n, 1.0 / n), v, y, problem.labels)


@pytest.mark.parametrize("complete", [(False,), (True, False)])
def test_a_search_for_paths_that_is_given_up_proves_nothing(complete):
    problem, best, _ = lattice_problem(12, 0)
    rest = iter((*complete, True, True))
    clock = SimpleNamespace(
        up=False, stop=np.zeros(1, np.int64), run=lambda search, *given: search(*given)._replace(complete=next(rest))
    )
    assert problem._prove(problem.length, clock) is None
    assert problem.proven == 0.0
    assert len(list(rest)) == 2  # nothing was looked for after that
    assert problem.credit <= 12.0 * best + 1e-9


def test_where_a_proof_is_given_up_the_search_ends():
    problem, _, _ = lattice_problem(12, 0)
    asked = []
    problem._look = lambda *_: np.inf
    problem._prove = lambda *_: asked.append(0)
    problem.solve(TimeLimit(None))
    assert asked == [0]
    assert not problem.closed


@pytest.mark.parametrize("from_end", [False, True])
@pytest.mark.parametrize(("seed", "mirrored"), [(0, False), (1, True), (2, False), (3, True)])
def test_a_path_is_proved_from_either_end(seed, mirrored, from_end):
    problem, best, found = lattice_problem(11, seed, mirrored)
    problem._look, problem._from_end, problem._top = (lambda *_: np.inf), from_end, 0.0  # nothing errs one way
    problem.solve(TimeLimit(None))
    assert found() == pytest.approx(best, abs=1e-9)
    assert problem.closed
