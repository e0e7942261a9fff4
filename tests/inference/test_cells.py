"""Weighted rows in cells: what is said of them bounds what single rows give, and nothing is won by chance."""

from itertools import pairwise, product
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CalibrationGate, CalibrationSketch, InputError, calibration_gate, population_bounds
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import CellDraws, draws_of
from calibrant.inference.bounds.gate import Bets
from calibrant.inference.bounds.one_event import (
    BET,
    Family,
    Spread,
    _gain,
    end_of_bets,
    lower_function,
    lower_moves,
    psi,
    smooth_moves,
)
from calibrant.inference.bounds.population import sample_distance
from calibrant.inference.testing.calibration import _Bounded, calibration_test_on_weighted_cells
from calibrant.inference.testing.components import UncertainLots as Drawn
from calibrant.sketch.bounds import draws_of_cells
from tests.strategies import examples

MOST = 100.0


def weighted(seed, n, resolution, kinds=(0.3, 1.0, 30.0, 100.0)):
    """Rows, and their sketch."""
    rng = np.random.default_rng(seed)
    v = np.where(rng.random(n) < 0.3, rng.choice([0.0, 0.1, 0.5, 1.0], n), rng.beta(0.6, 1.4, n))
    y = (rng.random(n) < v).astype(float)
    w = rng.choice(kinds, n) if seed % 2 else 10.0 ** rng.uniform(-1.0, 2.0, n)
    return y, v, w, CalibrationSketch(resolution).update(y, v, sample_weight=w)


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([2, 8, 128]), st.sampled_from([3, 30, 200]))
def test_cells_bound_what_rows_give(seed, resolution, n):
    y, v, w, sketch = weighted(seed, n, resolution)
    (_, rows), near = draws_of(y, v, w, None, None, MOST), 1e-9
    cells = CellDraws.of_sample(sketch.sample, MOST, sketch.moments().misplaced)
    (s, ss, ee, least, uneven), of_cells = rows.spread, cells.spread
    assert of_cells[0] == pytest.approx(s, rel=1e-12)
    assert of_cells[1] >= ss * (1.0 - near)
    assert of_cells[2] >= ee * (1.0 - near)
    assert of_cells[3] <= least * (1.0 + near)
    assert of_cells[4] >= uneven * (1.0 - near)
    assert cells.n_units == n
    assert (cells.below <= cells.above).all()
    function = lower_function(Sample.of_arrays(y, v, w))
    g, s, gg, gs, ss = rows.means(function)
    low, weight, squares, cross, squared = cells.means(function)
    assert low <= g + near
    assert weight == pytest.approx(s, rel=1e-12)
    for m in (0.0, 0.1, 1.0):
        assert squares - 2 * m * cross + m * m * squared >= (gg - 2 * m * gs + m * m * ss) * (1.0 - near)


def sums_of(*rows):
    """Cells of rows (cell, outcome, prediction, weight), as a sample with the sums of each."""
    place, y, v, w = (np.array(each, float) for each in zip(*rows, strict=True))
    index = place.astype(int)

    def sums(values):
        return np.bincount(index, values)

    middle = sums(w * v) / sums(w)
    width = np.array([np.ptp(v[index == k]) for k in range(index.max() + 1)])
    one, moments = np.ones(y.size), (sums(w), sums(w * y), sums(w * w))
    return Sample(middle, sums(one), sums(y), *moments, width, binary=True)


def test_moments_of_cells_that_show_each_row_are_the_rows_own():
    """One row of each outcome a cell: sums of weights show both weights, so that nothing is left open."""
    rows = [(0, 0, 0.2, 3.0), (0, 1, 0.2, 0.5), (1, 1, 0.7, 2.0), (2, 0, 0.9, 4.0), (2, 1, 0.9, 1.0), (3, 0, 0.95, 0.1)]
    cells = CellDraws.of_sample(sums_of(*rows), 4.0, 0.0)
    y, v, w = (np.array(each) for each in list(zip(*rows, strict=True))[1:])
    s, gap = w / 4.0, abs(y - v)
    expected = s.mean(), (s**2).mean(), ((s * gap) ** 2).mean(), ((s * gap) ** 2).mean()
    assert cells.spread[:4] == pytest.approx(expected, rel=1e-12)
    assert cells.spread[4] == pytest.approx((abs(s - s.mean()) * s * gap).mean(), rel=1e-12)
    value = np.where(y == 1.0, 0.3, -0.2) * v
    found = cells.means(lambda y, v: np.where(y == 1.0, 0.3, -0.2) * v)
    expected = (s * value).mean(), s.mean(), (s * value) ** 2, s * s * value, s * s
    assert found == pytest.approx([np.mean(each) for each in expected], rel=1e-12)


def test_moments_of_cells_are_the_worst_that_their_sums_allow():
    """Two rows of each outcome: every way to give them weights is tried, and the bounds are reached or just above."""
    rows = [(0, 0, 0.3, 0.9), (0, 0, 0.3, 0.3), (0, 1, 0.3, 0.8), (0, 1, 0.3, 0.2)]
    cells = CellDraws.of_sample(sums_of(*rows), 2.0, 0.0)
    w = np.array([each[3] for each in rows]) / 2.0
    zeros, ones, squares = w[:2].sum(), w[2:].sum(), (w**2).sum()
    a = np.linspace(zeros / 2, min(1.0, zeros), 4001)  # the heavier row without an event; the ones' follow
    left = squares - a**2 - (zeros - a) ** 2
    b = 0.5 * (ones + np.sqrt(np.maximum(2.0 * left - ones**2, 0.0)))
    may = (left >= ones**2 / 2) & (b <= min(1.0, ones))
    of_zeros, of_ones = (a**2 + (zeros - a) ** 2)[may], left[may]
    assert (cells.above[:, 0] >= np.array([of_zeros.max(), of_ones.max()]) - 1e-9).all()
    assert cells.above[:, 0] == pytest.approx([of_zeros.max(), of_ones.max()], rel=1e-3)
    assert cells.below[:, 0] == pytest.approx([of_zeros.min(), of_ones.min()], rel=1e-3)
    squared = (0.3**2 * of_zeros + 0.7**2 * of_ones) / 4.0
    assert cells.spread[2] == pytest.approx(squared.max(), rel=1e-3)
    assert cells.spread[3] == pytest.approx(squared.min(), rel=1e-3)


def test_no_row_is_taken_to_weigh_more_than_it_can():
    rows = [(0, 0, 0.3, 0.9), (0, 0, 0.3, 0.9), (0, 1, 0.3, 0.8), (0, 1, 0.3, 0.1), (0, 1, 0.3, 0.1)]
    cells = CellDraws.of_sample(sums_of(*rows), 1.0, 0.0)
    squares = sum(each[3] ** 2 for each in rows)
    assert cells.above[:, 0] == pytest.approx([1.8, squares - 1.8**2 / 2.0], rel=1e-9)
    assert cells.below[:, 0] == pytest.approx([1.8**2 / 2.0, squares - 1.8], rel=1e-9)


@pytest.mark.parametrize("at", [0.3, 0.8])
def test_a_wide_cell_has_the_gap_of_its_further_end_above_and_of_its_nearer_end_below(at):
    alone = CellDraws.of_sample(sums_of((0, 0, 0.1, 1.0), (1, 1, at, 2.0)), 2.0, 0.0)
    wide = CellDraws(alone.v, np.array([0.0, 0.15]), *(getattr(alone, name) for name in SUMS), 2.0, 0.0)
    above, below = (((1.0 - at + move) ** 2 + (0.1 / 2.0) ** 2) / 2.0 for move in (0.15, -0.15))
    assert wide.spread[2:4] == pytest.approx((above, below), rel=1e-12)
    moved = wide.means(lambda y, v: 0.5 * (y - v))
    low = (0.5 * (1.0 - at) - 0.15 - 0.05 / 2.0) / 2.0
    assert moved[0] == pytest.approx(low, rel=1e-12)
    largest = max((0.5 * (1.0 - at) + move) ** 2 for move in (-0.15, 0.15))
    assert moved[2] >= (largest + 0.025**2) / 2.0
    slack = CellDraws(alone.v, alone.moved, *(getattr(alone, name) for name in SUMS), 2.0, 0.01)
    assert alone.means(lambda y, _: y)[0] - slack.means(lambda y, _: y)[0] == pytest.approx(0.02 * alone.spread[0])


SUMS = ("count", "weight", "below", "above", "squares")


def test_equal_weights_are_told_one_by_one_and_others_are_not():
    equal = [(0, 0, 0.3, 0.5), (0, 0, 0.3, 0.5), (0, 1, 0.3, 0.25), (1, 1, 0.6, 1.0)]
    units = CellDraws.of_sample(sums_of(*equal), 1.0, 0.0).as_units()
    assert units.copies.tolist() == [2.0, 1.0, 1.0]
    assert (units.y.tolist(), units.w.tolist()) == ([0.0, 1.0, 1.0], [0.5, 0.25, 1.0])
    other = [*equal, (1, 1, 0.6, 0.999)]
    assert CellDraws.of_sample(sums_of(*other), 1.0, 0.0).as_units() is None


@examples(20)
@given(st.integers(0, 10**6), st.sampled_from([8, 4096]), st.sampled_from([20, 150]))
def test_the_gate_of_a_weighted_sketch_holds_that_of_the_rows(seed, resolution, n):
    y, v, w, sketch = weighted(seed, n, resolution)
    rows = calibration_gate(y, v, sample_weight=w, max_weight=MOST, max_distance=0.1)
    pooled = sketch.gate(max_distance=0.1, max_weight=MOST)
    assert rows.lower_distance.high <= pooled.lower_distance.high + 1e-4  # each is bracketed by itself
    assert pooled.n_rows == n
    assert pooled.verdict != "within" or rows.verdict == "within"


@pytest.mark.slow
def test_where_rows_can_be_told_apart_the_answer_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    v = np.round(rng.random(2000) * 0.9, 2)
    y, of_value = (rng.random(2000) < v + 0.1).astype(float), 10.0 ** rng.uniform(0.0, 2.0, 101)
    w = of_value[np.rint(100 * v).astype(int)]
    sketch = CalibrationSketch().update(y, v, sample_weight=w)
    rows = population_bounds(y, v, sample_weight=w, max_weight=MOST)
    audit = sketch.audit(max_weight=MOST, n_resamples=0)
    for name in ("smooth_error", "lower_distance"):
        assert getattr(audit.population, name).high == pytest.approx(getattr(rows, name).high, abs=2e-4)
    assert audit.gate.lower_distance.high == pytest.approx(
        calibration_gate(y, v, sample_weight=w, max_weight=MOST, max_distance=0.1).lower_distance.high, abs=2e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.1, 7.5])
def test_equal_weights_give_what_no_weights_give(weight):
    rng = np.random.default_rng(1)
    v = rng.random(900) * 0.7
    y = (rng.random(900) < v + 0.3).astype(float)
    plain, even = CalibrationSketch(), CalibrationSketch()
    gates = CalibrationGate(max_distance=0.05), CalibrationGate(max_distance=0.05, max_weight=weight)
    for part in (slice(0, 300), slice(300, 900)):
        one = CalibrationSketch().update(y[part], v[part])
        other = CalibrationSketch().update(y[part], v[part], sample_weight=np.full(y[part].size, weight))
        plain, even = plain + one, even + other
        found = gates[0].update_sketch(one), gates[1].update_sketch(other)
        assert tuple(found[1].lower_distance) == pytest.approx(tuple(found[0].lower_distance), abs=1e-5)
    found = plain.gate(max_distance=0.05), even.gate(max_distance=0.05, max_weight=weight)
    assert tuple(found[1].lower_distance) == pytest.approx(tuple(found[0].lower_distance), abs=1e-5)
    audits = plain.audit(n_resamples=0), even.audit(n_resamples=0, max_weight=weight)
    for name, interval in audits[0].population.intervals.items():
        assert tuple(audits[1].population.intervals[name]) == pytest.approx(tuple(interval), abs=1e-5)


@pytest.mark.parametrize("moves", [smooth_moves, lower_moves])
@pytest.mark.parametrize("pieces", [1, 2])
def test_families_hold_every_path_and_the_best_is_found(moves, pieces):
    family = Family.of(pieces, moves)
    u = np.linspace(0.0, 1.0, 1601)
    paths = []
    for path in product(family.heights, repeat=pieces + 1):
        w = np.interp(u, family.knots, path)
        potentials = (w,) if moves is smooth_moves else (u * w, (1.0 - u) * w)
        steep = max(np.abs(np.diff(r)).max() for r in potentials) / u[1]
        if steep <= 1.0 + 1e-6:
            paths.append(path)
        else:  # a path that is left out is steeper by more than rounding
            assert steep > 1.0 + 1e-4
    assert len(paths) == pytest.approx(exp(family.log_size))
    for gain in np.random.default_rng(0).normal(size=(20, pieces + 1)):
        assert gain @ family.best(gain) == pytest.approx(max(gain @ np.array(path) for path in paths))


def test_a_path_gains_what_its_function_does():
    _, _, _, sketch = weighted(3, 100, 64)
    cells = CellDraws.of_sample(sketch.sample, MOST, 0.0)
    knots, path = np.linspace(0.0, 1.0, 5), np.array([0.5, 0.25, 0.0, 0.25, 0.5])
    residual = cells.weight[1] * (1.0 - cells.v) - cells.weight[0] * cells.v
    assert _gain(cells, knots) @ path == pytest.approx(residual @ np.interp(cells.v, knots, path))


ATOMS = [(0.2, 0, 1.0), (0.2, 1, 1.0), (0.2, 1, 9.0), (0.7, 0, 3.0), (0.7, 1, 10.0), (0.2, 0, 10.0)]
CHANCES = np.array([0.4, 0.1, 0.1, 0.1, 0.25, 0.05])


def every_sample(n):
    """Every sample of n rows of these atoms, as a sketch, with its chance."""
    v, y, w = (np.array(column, float) for column in zip(*ATOMS, strict=True))
    for cuts in product(range(n + 1), repeat=len(ATOMS) - 1):
        counts = np.diff([0, *cuts, n])
        if (counts < 0).any():
            continue
        rows, left, ways = np.repeat(np.arange(len(ATOMS)), counts), n, 1
        for count in counts:
            ways, left = ways * comb(left, count), left - count
        sketch = CalibrationSketch().update(y[rows], v[rows], sample_weight=w[rows])
        yield sketch, ways * float(np.prod(CHANCES**counts))


@pytest.mark.slow
def test_the_capital_on_either_side_has_mean_at_most_one_over_all_that_can_happen():
    v, y, w = (np.array(column, float) for column in zip(*ATOMS, strict=True))
    truth = Sample.of_arrays(y, v, w * CHANCES)
    distance, bets, function = sample_distance(truth), Bets.against(0.1), lower_function(truth)
    below = above = total = 0.0
    for n in (3, 4):
        below = above = total = 0.0
        for sketch, chance in every_sample(n):
            sample, units, moved = draws_of_cells(sketch.sample, sketch.moments(), 10.0)
            cells = CellDraws.of_sample(sketch.sample, 10.0, sketch.moments().misplaced)
            g, s, gg, gs, ss = cells.means(function)
            m = distance.upper
            z, zz = (g - m * s) / (1.0 + m), (gg - 2 * m * gs + m * m * ss) / (1.0 + m) ** 2
            below += chance * exp(bets.log_capital(bets.logs(n * z, n * zz)))
            d, found, spread = distance.lower, sample_distance(sample).upper + moved, Spread.of(units)
            square = (
                spread.squared + 2.0 * d * (spread.uneven - spread.weight**2 * found) + d * d * spread.squared_weight
            )
            above += chance * exp(bets.log_capital(bets.logs(n * (d - found) * spread.weight, n * square)))
            total += chance
        assert total == pytest.approx(1.0)
        assert below <= 1.0 + 1e-6
        assert above <= 1.0 + 1e-6


def test_the_end_of_bets_is_where_their_capital_reaches_what_is_asked():
    sizes, shares = np.array([BET, 0.1]), np.log([0.5, 0.5])
    g, s, gg, gs, ss = 0.03, 0.2, 0.02, 0.01, 0.08
    low = end_of_bets(sizes, shares, 500, (g, s, gg, gs, ss), 3.0)

    def capital(m):
        z, zz = (g - m * s) / (1 + m), (gg - 2 * m * gs + m * m * ss) / (1 + m) ** 2
        return np.logaddexp.reduce([a + 500 * (x * z - psi(x) * zz) for a, x in zip(shares, sizes, strict=True)])

    assert 0.0 < low < g / s
    assert capital(low) >= 3.0 - 1e-9
    assert capital(low + 1e-6) < 3.0
    ends = [end_of_bets(sizes, shares, 500, (g, s, gg, gs, ss), log) for log in (1.0, 2.0, 3.0, 50.0)]
    assert all(after <= before for before, after in pairwise(ends))
    assert ends[-1] == 0.0


@examples(30)
@given(st.integers(0, 10**6))
def test_the_bound_of_the_test_is_above_the_chance_of_each_sum(seed):
    rng = np.random.default_rng(seed)
    cell, w = rng.integers(0, 3, 8), 10.0 ** rng.uniform(-1.0, 1.0, 8)
    v = np.array([0.05, 0.4, 0.9])[cell] + rng.uniform(-0.01, 0.01, 8)
    outcomes = np.array(list(product([0.0, 1.0], repeat=8)))
    chance = np.prod(np.where(outcomes == 1.0, v, 1.0 - v), axis=1)
    direction = rng.normal(size=3)
    sums = ((outcomes - v) * w * direction[cell]).sum(axis=1)
    for at in rng.choice(256, 6, replace=False):
        sample = CalibrationSketch(8).update(outcomes[at], v, sample_weight=w).sample
        held = np.unique(cell)
        assert sample.n_distinct == held.size
        bounded = _Bounded.of(sample, np.ones(held.size, bool), 1.0, 1e-12, 10.0 if at % 2 else None)
        each = sample.weighted_outcome - sample.weight * sample.prediction
        none, one = np.zeros(held.size), np.ones(held.size)
        units = Drawn(sample.prediction, none, each, one, 8, None, 0.0)  # whose excess is `each`
        tail = chance[sums >= sums[at] - 1e-9].sum()
        assert exp(bounded.log_bound(units, direction[held])) >= tail - 1e-9


def test_the_test_of_weighted_cells_sees_what_is_there():
    rng = np.random.default_rng(0)
    v, w = rng.random(3000), 10.0 ** rng.uniform(0.0, 2.0, 3000)
    chance = rng.random(3000)
    for power, reject in ((1.0, False), (1.6, True)):
        sample = CalibrationSketch().update(chance < v**power, v, sample_weight=w).sample
        found = calibration_test_on_weighted_cells(sample, 0.05, 1e-9, None)
        assert found.reject == reject
        assert found.pvalue == found.tail_pvalue
        assert "no redraws" in found.summary()
    # Scaling weights changes nothing.
    huge = CalibrationSketch().update(chance < v**1.6, v, sample_weight=1e90 * w).sample
    assert calibration_test_on_weighted_cells(huge, 0.05, 1e-9, None).pvalue == pytest.approx(found.pvalue, rel=1e-6)
    certain = CalibrationSketch().update([1, 0, 1], [0.0, 0.0, 1.0], sample_weight=[2, 1, 1]).sample
    impossible = calibration_test_on_weighted_cells(certain, 0.05, 0.0, None)
    assert impossible.impossible.n_rows == 1
    assert impossible.pvalue == 1.0


def test_a_sketch_that_shows_a_heavier_row_is_refused():
    sketch = CalibrationSketch().update([0, 1, 1], [0.5, 0.5, 0.25], sample_weight=[1, 1, 8])
    assert sketch.gate(max_distance=0.1, max_weight=8).n_rows == 3
    for ask in (
        lambda: sketch.gate(max_distance=0.1, max_weight=7.9),
        lambda: sketch.audit(max_weight=7.9),
        lambda: CalibrationGate(max_distance=0.1, max_weight=7.9).update_sketch(sketch),
    ):
        with pytest.raises(InputError, match=r"max_weight: is 7\.9, but the sketch holds a row that weighs 8 or more"):
            ask()
    with pytest.raises(InputError, match="max_weight"):
        sketch.gate(max_distance=0.1, max_weight=-1.0)


@pytest.mark.slow
def test_a_gate_of_weighted_rows_takes_sketches_of_them_too():
    rng = np.random.default_rng(5)
    of_rows, of_cells = (CalibrationGate(max_distance=0.1, max_weight=100.0) for _ in range(2))
    for _ in range(3):
        v, w = np.round(rng.random(1500) * 0.7, 2), 10.0 ** rng.uniform(0.0, 2.0, 1500)
        y = (rng.random(1500) < v + 0.3).astype(float)
        rows = of_rows.update(y, v, sample_weight=w)
        cells = of_cells.update_sketch(CalibrationSketch().update(y, v, sample_weight=w))
        assert rows.lower_distance.high <= cells.lower_distance.high + 1e-4
    assert (rows.verdict, cells.verdict) == ("beyond", "beyond")
    assert CalibrationGate.from_bytes(of_cells.to_bytes()).reading() == cells
    with pytest.raises(InputError, match="sample_weight: is needed"):
        of_rows.update(y, v)
    with pytest.raises(InputError, match="no max_weight"):
        CalibrationGate(max_distance=0.1).update(y, v, sample_weight=w)
    turned = slice(None, None, -1)
    for once in (True, False):
        with pytest.raises(InputError, match="of an earlier batch"):
            of_rows.update(y[turned], v[turned], sample_weight=w[turned], once=once)
    assert of_rows.update(y, v, sample_weight=w, distinct=True).n_rows == 6000


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("weighs", [True, False])
def test_an_outcome_that_cannot_be_is_told_of_rows_of_any_weight_above_none(unit, weighs):
    v = np.r_[0.0, np.linspace(0.1, 0.9, 50)]
    y, w = np.r_[1.0, np.arange(50) % 2], unit * np.r_[float(weighs), np.ones(50)]
    sample = CalibrationSketch().update(y, v, sample_weight=w).sample
    found = calibration_test_on_weighted_cells(sample, 0.05, 0.0, None)
    assert (found.impossible is not None) == weighs
