"""The audit's bracket of the true distance: it holds, its upper end is near, and no count of rows makes it jump."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import audit, calibration_distance
from calibrant.door.sample import Sample
from calibrant.kernels import two_rows
from calibrant.measures.distance import audited_distances, rounded_partition
from calibrant.measures.distance_lattice import (
    LatticeProblem,
    _exactly_one_way,
    cost_of_partition,
    domain_of_predictions,
    domain_of_rows,
    rounding_of_paths,
)
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.lower_check import Potentials, overdraft
from tests import exact
from tests.oracles import distance as oracle
from tests.strategies import examples, samples


def rows(n, kind, seed=0):
    """Rows that are drawn one after another: the first of many are those of fewer."""
    rng = np.random.default_rng(seed)
    first, second, third = rng.random((n, 3)).T
    v = np.round(first, 3) if kind == "tied" else first**4 if kind == "skewed" else first
    if kind == "atoms":
        v = np.where(third < 0.5, np.round(v, 1), v)
    if kind == "rates":
        return np.clip(v + 0.2 * (second - 0.5), 0.0, 1.0), v, None
    rate = {"overconfident": 0.5 * v + 0.25, "raised": 0.8 * v}.get(kind, v)
    return (second < rate) * 1.0, v, third + 0.5 if kind == "weights" else None


KINDS = ["calibrated", "overconfident", "raised", "skewed", "tied", "atoms", "rates", "weights"]


@pytest.mark.slow
@examples(1500)
@given(samples(max_rows=7))
def test_the_bracket_holds_the_upper_distance(sample):
    y_true, y_prob, weight = sample
    certificate, nearest = audited_distances(Sample.from_columns(*sample))
    assert certificate.lower <= oracle.calibration_distance(*sample) + 1e-12
    assert oracle.upper_calibration_distance(*sample) <= nearest + 1e-12
    pooled = Sample.from_columns(*sample)
    carries, domain = domain_of_predictions(pooled)
    labels = rounded_partition(domain.mass, domain.v, domain.y, certificate)
    assert sorted(set(labels)) == list(range(labels.max() + 1))
    level = dict(zip(pooled.prediction[carries], labels, strict=True))
    attained = exact.cost_of_levels([level.get(v, -1) for v in y_prob], y_true, y_prob, weight)
    assert attained <= Fraction(nearest) < attained + Fraction(1e-14)


@pytest.mark.slow
@examples(150)
@given(st.integers(8, 60), st.sampled_from(KINDS[:4]), st.integers(0, 2**32 - 1))
@example(41, "skewed", 88)  # potentials that are made exact above some value lack 1e-8 of being feasible just below
def test_the_nearest_that_is_found_is_near(n, kind, seed):
    y_true, y_prob, _ = rows(n, kind, seed)
    true = calibration_distance(y_true, y_prob)
    certificate, nearest = audited_distances(Sample.from_columns(y_true, y_prob))
    assert true.exact
    assert certificate.lower <= true.upper
    assert true.lower <= nearest <= true.upper + 0.5 / n


@examples(200)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_two_rows_are_cut_at_the_least_cost(n, seed):
    rng = np.random.default_rng(seed)
    v, y, mass = np.round(np.sort(rng.random((2, n))), 1 + seed % 3), rng.random((2, n)), rng.random((2, n))
    sums = np.zeros((2, n + 1, 4))
    sums[:, 1:, :3] = np.cumsum(np.stack([mass, mass * y, mass * v], axis=2), axis=1)
    both = [two_rows.Row(v[k], sums[k], np.searchsorted(v[k], np.arange(n + 2) / n)) for k in (0, 1)]
    places = np.array(sorted(((i, j) for i in range(n + 1) for j in range(n + 1)), key=sum))
    least, path = two_rows.cut_in_step(*both, places, len(places), np.inf, 0.0)

    def cost(start, end):
        part = [np.concatenate([x[k, start[k] : end[k]] for k in (0, 1)]) for x in (mass, y, v)]
        return (part[0] * np.abs(part[2] - part[0] @ part[1] / part[0].sum())).sum()

    best = {(0, 0): 0.0}
    for end in map(tuple, places[1:]):
        before = [start for start in best if start[0] <= end[0] and start[1] <= end[1]]
        best[end] = min(best[start] + cost(start, end) for start in before)
    cuts = [tuple(places[k]) for k in path]
    assert least == pytest.approx(best[n, n], abs=1e-12)
    assert sum(map(cost, cuts[:-1], cuts[1:])) == pytest.approx(least, abs=1e-12)


def width(n, everything):
    y_true, y_prob, weight = (None if column is None else column[:n] for column in everything)
    certificate, nearest = audited_distances(Sample.from_columns(y_true, y_prob, weight))
    return nearest - certificate.lower


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"), [*((k, n) for k in KINDS for n in (128, 384, 5000)), ("calibrated", 20_000)]
)
def test_no_row_more_makes_the_bracket_jump(kind, count):
    everything = rows(count + 2, kind)
    widths = np.array([width(n, everything) for n in range(count - 1, count + 3)])
    # One row changes both distances by up to 1 / n; from 20,001 on the certificate is within 5e-5.
    assert np.abs(np.diff(widths)).max() <= 2.0 / count + 5e-5 * (count >= 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_more_rows_make_the_bracket_no_wider(kind):
    everything = rows(40_000, kind)
    few, more, many = (width(n, everything) for n in (4000, 10_000, 40_000))
    assert max(more, many) <= 1.5 * few + 5e-5


@pytest.mark.slow
def test_audits_of_one_row_more_are_as_sure_of_the_true_distance():
    y_true, y_prob, _ = rows(5001, "calibrated")
    few, many = (audit(y_true[:n], y_prob[:n], n_resamples=0).distance for n in (5000, 5001))
    assert many.width <= 1.2 * few.width
    assert many.width < 5.0 / 5001


def test_potentials_of_predictions_that_err_one_way_are_made_exact():
    nodes = np.array([0.2, 0.4])
    made, up_to, since = _exactly_one_way(Potentials(nodes, nodes - 5e-8, nodes - 1.0 - 5e-8))
    assert (made.r0.tolist(), made.r1.tolist()) == (nodes.tolist(), (nodes - 1.0).tolist())
    assert (up_to, since) == (0.4, 2.0)
    made, up_to, since = _exactly_one_way(Potentials(nodes, 5e-8 - nodes, 1.0 - nodes - 5e-8))
    assert (made.r0.tolist(), made.r1.tolist()) == ((-nodes).tolist(), (1.0 - nodes).tolist())
    assert (up_to, since) == (-1.0, 0.2)


def test_potentials_that_cannot_be_made_exact_at_both_ends_are_lowered():
    given = Potentials(np.array([0.25, 0.3]), np.array([0.25, -0.3]) - 5e-8, np.array([-0.75, 0.7]) - 5e-8)
    assert overdraft(given) > 1e-3
    made, up_to, since = _exactly_one_way(given)
    assert overdraft(made) <= 1e-10
    assert (up_to, since) == (-1.0, 2.0)


@pytest.mark.parametrize("y", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
def test_the_rounding_of_paths_is_that_of_the_tallest_potential(y):
    y, v = np.array(y), np.array([0.1, 0.2, 0.7])
    relaxation = lower_certificate_from_sample(Sample.from_columns(y, v, None), tol=1e-11)
    potentials = _exactly_one_way(relaxation.potentials)[0]
    heights = [
        abs(float(r[potentials.nodes == x][0]))
        for x, is_one in zip(v, y, strict=True)
        for r in ([potentials.r0, potentials.r1][int(is_one)],)
    ]
    problem = LatticeProblem(v, y, relaxation, np.zeros(3, np.int64))
    assert problem.rounding == rounding_of_paths(3, max(heights)) + overdraft(potentials)


def test_what_a_partition_costs_is_rounded_to_both_sides():
    zero, one = np.zeros(2), np.ones(2)
    assert cost_of_partition(domain_of_rows(one, zero, zero), np.array([0, 0])) == (0.0, 0.0)
    lower, upper = cost_of_partition(domain_of_rows(one, one, one), np.array([0, 0]))
    assert lower == 0.0 < upper < 1e-14
    moved = domain_of_rows(one, np.array([0.25, 0.5]), np.array([0.0, 1.0]))
    for rows, least in ((2, 12.0 * 2.0**-53), (10**9, 8.0 * (10**9 * 2.0**-53) ** 2)):
        lower, upper = cost_of_partition(replace(moved, rows=rows), np.array([0, 0]))
        assert lower <= 0.125 - least * 0.625
        assert 0.125 + least * 0.625 <= upper < 0.125 + 2.0 * least
