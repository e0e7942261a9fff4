"""Ends that hold at all numbers of rows at once: against single rows, and against every outcome that there could be."""

from itertools import pairwise, product
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws
from calibrant.inference.bounds.gate import AnytimeEnds, Bets, Won, _shares, excludes
from calibrant.inference.bounds.one_event import Spread, lower_function
from calibrant.inference.bounds.population import sample_distance
from calibrant.sketch.bounds import draws_of_cells
from calibrant.sketch.sketch import CalibrationSketch
from tests.oracles import gate as oracle
from tests.oracles.lower import lower_calibration_distance
from tests.strategies import examples, samples


@pytest.mark.parametrize("limit", [0.9, 0.55, 0.3, 0.275, 0.05, 1e-3])
def test_bets_are_those_of_the_proof(limit):
    bets = Bets.against(limit)
    assert np.exp(bets.log_shares).sum() == pytest.approx(1.0, abs=1e-6)
    assert np.exp(bets.log_shares).sum() < 1.0
    sizes, shares = np.array(oracle.bets(limit)).T
    np.testing.assert_allclose(bets.sizes, sizes, rtol=1e-14)
    np.testing.assert_allclose(np.exp(bets.log_shares), shares, rtol=1e-12)
    z = np.random.default_rng(0).uniform(-1.0, 1.0, 50)
    assert exp(bets.log_capital(bets.logs(z.sum(), (z * z).sum()))) == pytest.approx(oracle.capital(limit, z))


def _batches(y, v, cuts):
    ends = sorted({*(cut % y.size for cut in cuts), 0, y.size})
    return [(y[a:b], v[a:b]) for a, b in pairwise(ends)]


@examples(60)
@given(samples(max_rows=30, weights=False, fractional=False), st.lists(st.integers(0, 29), max_size=3))
def test_ends_are_those_of_single_rows(rows, cuts):
    y, v = rows[0], rows[1]
    limit, level, won, past, paid, before = 0.2, 0.3, Won(), None, [np.zeros(0)], 0
    for number, (outcome, prediction) in enumerate(_batches(y, v, cuts)):
        batch = Draws.of_sample(Sample.from_columns(outcome, prediction))
        won = won.after(past, batch, number, before)
        for share in _shares(before, batch, number):
            times = share.copies.astype(int)
            if past is not None:
                paid.append(lower_function(past)(np.repeat(share.y, times), np.repeat(share.v, times)))
            past = share.pooled if past is None else past.merge(share.pooled)
        before += outcome.size
    sample = Sample.from_columns(y, v)
    spread = Spread.of(Draws.of_sample(sample))
    ends = AnytimeEnds.of(sample, spread, 0.0, won, Bets.against(limit), level, Interval(0.0, 1.0))
    (low, high), found, paid = ends.proved, lower_calibration_distance(y, v), np.concatenate(paid)
    slack = 1e-3  # the sample's own distance is bracketed to 1e-4
    assert high == 1.0 or oracle.capital_above(y, v, found, high, limit) >= (1.0 - slack * y.size) / level
    assert high <= slack or oracle.capital_above(y, v, found, max(0.0, high - slack), limit) < 1.0 / level
    if low > 0.0:
        assert oracle.capital_below(paid, low * (1.0 - 1e-9), limit) >= (1.0 - 1e-6) / level
    if low < high:
        assert oracle.capital_below(paid, low + 1e-6, limit) < (1.0 + 1e-6) / level


ATOMS = [(0.2, 0), (0.2, 1), (0.8, 0), (0.8, 1)]
CHANCES = np.array([0.5 * 0.6, 0.5 * 0.4, 0.5 * 0.1, 0.5 * 0.9])  # 0.2 is 0.2 too low, 0.8 is 0.1 too low


def _distance():
    v, y = np.array([v for v, _ in ATOMS]), np.array([y for _, y in ATOMS], float)
    return sample_distance(Sample.of_arrays(y, v, CHANCES))


@pytest.mark.slow
def test_the_capital_below_has_mean_at_most_one_over_all_that_can_happen():
    m, bets, n = _distance().lower, Bets.against(0.05), 4
    mean = np.zeros(n)

    def go(past, won, chance, depth):
        for (v, y), p in zip(ATOMS, CHANCES, strict=True):
            row = Sample.from_columns([y], [v])
            after = won.after(past, Draws.of_sample(row), depth, depth)
            most = 1.0 + m
            squares = (after.squares - 2.0 * m * after.total + m * m * after.n) / most**2
            mean[depth] += chance * p * exp(bets.log_capital(bets.logs((after.total - m * after.n) / most, squares)))
            if depth + 1 < n:
                go(row if past is None else past.merge(row), after, chance * p, depth + 1)

    go(None, Won(), 1.0, 0)
    assert (mean <= 1.0 + 1e-6).all(), mean
    assert mean[0] == pytest.approx(1.0, abs=1e-5)  # nothing is bet before anything is known


@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_the_capital_above_has_mean_at_most_one_over_all_that_can_happen(limit):
    d, bets = _distance().upper, Bets.against(limit)
    for n in (1, 2, 3, 6):
        mean = 0.0
        for counts in product(range(n + 1), repeat=3):
            k = np.array([*counts, n - sum(counts)])
            if k[3] < 0:
                continue
            y, v = np.repeat([y for _, y in ATOMS], k), np.repeat([v for v, _ in ATOMS], k)
            sample = Sample.from_columns(y, v)
            spread = Spread.of(Draws.of_sample(sample))
            found = sample_distance(sample).upper
            gain = bets.log_capital(bets.logs(n * (d - found), n * (spread.squared - 2.0 * d * found + d * d)))
            ways = comb(n, k[0]) * comb(n - k[0], k[1]) * comb(n - k[0] - k[1], k[2])
            mean += ways * np.prod(CHANCES**k) * exp(gain)
        assert mean <= 1.0 + 1e-9


def test_an_end_is_where_the_capital_reaches_what_the_level_asks():
    bets, spread = Bets.against(0.05), Spread(100, 1.0, 1.0, 0.2, 0.2, 0.0)
    for d in (0.03, 0.1, 0.5):
        capital = bets.log_capital(bets.logs(100 * (d - 0.02), 100 * (0.2 - 2.0 * d * 0.02 + d * d)))
        for level in (0.3, 1e-3):
            assert excludes(d, 100, 0.02, spread, bets, level) == (capital >= -log(level))


def test_what_pooling_can_cost_is_paid_at_both_ends():
    rng = np.random.default_rng(0)
    v = rng.random(600)
    y = (rng.random(600) < v**2).astype(float)
    bets, nothing = Bets.against(0.05), Interval(0.0, 1.0)
    exact = CalibrationSketch().update(y, v).sample
    cells = CalibrationSketch(64).update(y, v)
    pooled, units, moved = draws_of_cells(cells.sample, cells.moments(), None)
    assert moved > 1e-3
    won, won_of_cells = (Won().after(exact, Draws.of_sample(each), 0, 600) for each in (exact, pooled))
    assert won_of_cells.total <= won.total
    assert won_of_cells.squares >= won.squares
    assert won_of_cells.n == won.n == 600
    of_rows = AnytimeEnds.of(exact, Spread.of(Draws.of_sample(exact)), 0.0, won, bets, 0.05, nothing)
    of_cells = AnytimeEnds.of(pooled, Spread.of(units), moved, won_of_cells, bets, 0.05, nothing)
    assert of_cells.found.lower <= of_rows.found.lower <= of_rows.found.upper <= of_cells.found.upper + 1e-4
    assert of_cells.found.upper == sample_distance(pooled).upper + moved
    assert of_cells.spread.squared > of_rows.spread.squared
    assert of_cells.proved.low <= of_rows.proved.low
    assert of_cells.proved.high >= of_rows.proved.high


def test_a_first_batch_is_split_and_a_small_one_is_not():
    v = np.random.default_rng(0).random(3000)
    batch = Draws.of_sample(Sample.from_columns(v > 0.5, v))
    sizes = [share.n_units for share in _shares(0, batch, 0)]
    assert len(sizes) == 6
    assert sum(sizes) == 3000
    assert 300 < sizes[0] < 500
    assert len(list(_shares(6000, batch, 1))) == 1
    assert [share.n_units for share in _shares(0, batch, 1)] != sizes  # each batch by a draw of its own
