"""The audit's bracket of the true distance: it holds, its upper end is near, and no count of rows makes it jump."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import audit, calibration_distance
from calibrant.door.sample import Sample
from calibrant.kernels import two_rows
from calibrant.measures.distance import audited_distances, rounded_partition
from calibrant.measures.distance_lattice import domain_of_predictions
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
