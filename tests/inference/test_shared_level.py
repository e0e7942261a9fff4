"""How a level is shared: over all ends that are told together the chances to fail add up to it, and no more."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, binom

from calibrant import CalibrationSketch, calibration_gate, population_bounds
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference import squared_error_interval, squared_error_rows
from calibrant.inference.bounds import population as of_bounds
from calibrant.inference.bounds import population as of_measures
from calibrant.inference.bounds import regret as of_regret
from calibrant.inference.bounds.corp import _confidence
from calibrant.inference.bounds.draws import CellDraws, Draws
from calibrant.inference.bounds.gate import Ends, calibration_gate_on_sample
from calibrant.inference.bounds.one_event import BET, Spread, lower_end, psi
from calibrant.inference.bounds.population import sample_distance
from calibrant.inference.bounds.squared_error import squared_error_of_counts
from calibrant.inference.comparison.compare import compare_calibration_on_rows, draws_of_a_state
from calibrant.inference.comparison.not_worse import Predictor, not_worse
from calibrant.inference.testing.discrete import mean_chance_interval


def rows(n, seed, bend=1.3):
    rng = np.random.default_rng(seed)
    v = np.round(rng.random(n), 2)
    return (rng.random(n) < v**bend).astype(float), v


def test_ends_of_all_measures_spend_no_more_than_the_level(monkeypatch):
    spent = []

    def recorded(function, place):
        def call(*arguments, **named):
            spent.append(arguments[place])
            return function(*arguments, **named)

        return call

    for module in (of_bounds, of_measures):
        monkeypatch.setattr(module, "lower_end", recorded(lower_end, 2))
    monkeypatch.setattr(Spread, "upper_end", recorded(Spread.upper_end, 2))
    population_bounds(*rows(300, 0), level=0.04)
    assert len(spent) >= 10
    assert 0.9 * 0.04 < math.fsum(spent) <= 0.04 * (1.0 + 1e-12)


def test_an_upper_end_solves_its_inequality_with_three_events_that_share_the_level():
    for level, squared, uneven in ((0.05, 0.2, 0.03), (0.001, 0.02, 0.0), (0.3, 1e-7, 1e-8)):
        spread = Spread(400, 0.7, 0.6, squared, 0.5 * squared, uneven)
        found, ends, total = 0.01, [], 0.0
        rare = 0.05 * level  # each of two: how far the mean square may be off, to either side
        log = -math.log(level - 2.0 * rare) / 400.0
        doubt = -math.log(rare) / 400.0
        high = min(1.0, (math.sqrt(doubt / 2.0) + math.sqrt(doubt / 2.0 + squared)) ** 2)
        low = max(0.0, 0.5 * squared - math.sqrt(squared * doubt))
        for mean in (low, high):
            bet = min(BET, math.sqrt(2.0 * log / mean)) if mean else BET
            share = psi(bet) / bet

            def over(d, bet=bet, share=share, squared=squared, uneven=uneven, log=log):
                own = squared + 2.0 * d * uneven - 2.0 * d * 0.7 * 0.01 * 0.7 + d * d * 0.6
                return d * 0.7 - 0.01 * 0.7 - log / bet - share * own

            ends.append(brentq(over, found, 1.0) if over(1.0) > 0.0 else 1.0)
        total = max(ends)
        assert spread.upper_end(found, level) == pytest.approx(total, rel=1e-9)
        assert spread.upper_end(found, level, 1600) < total


@pytest.mark.parametrize("shares", [1, 2, 5])
def test_an_end_that_several_checks_share_has_its_part_of_the_level(shares):
    y, v = rows(2000, 1, 2.5)
    sample = Sample.of_arrays(y, v, None)
    both, alone = Ends.of(sample, 0.06, shares=shares), Ends.of(sample, 0.06 / shares)
    assert both.proved.low == alone.proved.low > 0.0
    assert both.proved.high == Ends.of(sample, 0.06).proved.high
    assert both.proved.low == lower_end(Draws.of_sample(sample), of_bounds.lower_function, 0.06 / shares)
    gate = calibration_gate_on_sample(sample, max_distance=0.01, level=0.06, shares=shares)
    assert gate.lower_distance == both.proved
    assert calibration_gate(y, v, max_distance=0.01, level=0.06).lower_distance == Ends.of(sample, 0.06).proved


def test_an_end_of_weighted_cells_has_its_part_of_the_level():
    y, v = rows(2000, 1, 2.5)
    sample = CalibrationSketch(64).update(y, v, sample_weight=1.0 + y).sample
    cells = CellDraws.of_sample(sample, 2.0, 0.0)
    shared = Ends.of(sample, 0.06, cells, shares=3).proved
    assert shared.low == Ends.of(sample, 0.02, cells).proved.low > 0.0
    assert shared.low < Ends.of(sample, 0.06, cells).proved.low
    assert shared.high == Ends.of(sample, 0.06, cells).proved.high > Ends.of(sample, 0.12, cells).proved.high


def test_either_end_of_a_predictor_has_the_level_that_was_asked():
    y, v = rows(1500, 0, 2.5)
    sample = Sample.of_arrays(y, v, None)
    found = Predictor(sample).interval(0.025)
    assert found.low == lower_end(Draws.of_sample(sample), of_bounds.smooth_function, 0.025) > 0.0
    assert found.high > Predictor(sample).interval(0.05).high


@pytest.mark.slow
def test_a_comparison_with_a_baseline_shares_its_part_of_the_level_over_both_predictors():
    sides = [
        Predictor(Sample.of_arrays(*rows(1500, seed, bend), None), moved)
        for seed, bend, moved in ((0, 1, 0), (1, 2, 0.01))
    ]
    found = not_worse(*sides, baseline="old", max_worse=0.01, level=0.1, shares=2)
    own, other = (side.interval(0.025) for side in sides)
    assert found.way == "proved"
    assert tuple(found.difference) == pytest.approx((own.low - other.high, own.high - other.low))
    again = [
        Predictor(Sample.of_arrays(*each, None), 0.004, Rows.of(*each)) for each in (rows(300, 0), rows(280, 1, 2.0))
    ]
    test = not_worse(*again, baseline="old", max_worse=0.01, level=0.1, shares=4)
    settings = {"measure": "smooth_calibration_error", "level": 0.05, "n_resamples": 199, "random_state": 0}
    other = compare_calibration_on_rows(again[0].rows, again[1].rows, paired=False, **settings)
    assert test.way == "two samples"
    ends = other.interval.low - 0.008, other.interval.high + 0.008
    assert tuple(test.difference) == pytest.approx(ends, abs=1e-15)
    same = not_worse(again[0], again[0], baseline="old", max_worse=0.01, level=0.1, shares=2)
    assert same.way == "paired"
    assert tuple(same.difference) == (-0.008, 0.008)


def test_confidence_of_a_curve_is_clopper_and_pearsons_at_its_share_of_all_ranges():
    y, v = rows(60, 3)
    v = np.round(v, 1)
    sample = Sample.of_arrays(y, v, None)
    m = sample.n_distinct
    lower, upper = _confidence(sample, np.arange(m), 0.1)
    tail = 0.1 / 2 / (m * (m + 1) / 2)
    at = list(enumerate(np.unique(v)))
    ranges = [(i, j, y[(v >= first) & (v <= last)]) for i, first in at for j, last in at if i <= j]
    for k in range(m):
        low = max(beta.ppf(tail, e.sum(), e.size - e.sum() + 1) if e.sum() else 0.0 for _, j, e in ranges if j <= k)
        high = min(
            beta.isf(tail, e.sum() + 1, e.size - e.sum()) if e.sum() < e.size else 1.0 for i, _, e in ranges if i >= k
        )
        assert (lower[k], upper[k]) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("debiased", [True, False])
@pytest.mark.parametrize(("estimate", "n"), [(0.0, 20_000), (0.01, 20_000), (0.09, 200_000), (0.5, 3_000)])
def test_a_verified_interval_is_that_of_the_theorem(debiased, estimate, n):
    b, level = 4, 0.08
    found = squared_error_interval(estimate, n, b, least_probability=0.2, debiased=debiased, level=level)
    delta = level / (4 if debiased else 3)
    c = math.sqrt(3 / (n * 0.2) * math.log(2 * b / delta))
    a = 2 * (1 + c) / n * math.log(2 / delta)
    t = 3 * math.sqrt(b) / n * math.log(n / delta) + delta / n if debiased else b / 2 / n * math.log(2 * b / delta)

    def deviation(truth):
        return c * truth + math.sqrt(a * truth) + t

    high = brentq(lambda e: e - deviation(e) - found.estimate, found.estimate, 2.0)
    assert found.interval.high == pytest.approx(min(high, 1.0), rel=1e-6)
    if found.interval.low > 0.0:
        low = found.interval.low
        assert low + deviation(low) == pytest.approx(found.estimate, rel=1e-6)
    else:
        assert t >= found.estimate


def test_the_rows_that_a_test_needs_are_the_first_with_which_the_ends_part():
    b, delta = 3, 0.05 / 4

    def parted(n):
        c = math.sqrt(3 / (n * 0.2) * math.log(2 * b / delta))
        a = 2 * (1 + c) / n * math.log(2 / delta)
        t = 3 * math.sqrt(b) / n * math.log(n / delta) + delta / n
        return 0.01 * (1 - c) - math.sqrt(a * 0.01) - t > 0.0025 * (1 + c) + math.sqrt(a * 0.0025) + t

    needed = squared_error_rows(0.1, b, effect_size=0.5, least_probability=0.2, level=0.05)
    assert parted(needed)
    assert not parted(needed - 1)


def test_the_debiased_square_has_the_truth_as_its_mean_and_the_plug_in_the_noise_besides():
    n, rate, said = np.array([3, 7]), np.array([0.3, 0.8]), np.array([0.45, 0.5])
    truth = (n * (rate - said) ** 2).sum() / n.sum()
    noise = (rate * (1.0 - rate)).sum() / n.sum()
    for debiased, expected in ((True, truth), (False, truth + noise)):
        mean = 0.0
        for i in range(4):
            for j in range(8):
                ones = np.array([[i, j]])
                chance = binom.pmf(i, 3, 0.3) * binom.pmf(j, 7, 0.8)
                mean += chance * squared_error_of_counts(ones, n - ones, said, debiased)[0]
        assert mean == pytest.approx(expected, abs=1e-12)


def test_ends_of_a_mean_chance_fail_as_often_as_they_may():
    for p in (0.05, 0.3, 0.77):
        k = np.arange(13.0)
        low, high = mean_chance_interval(k, np.full(13, 12.0), 0.03)
        chance = binom.pmf(k, 12, p)
        assert chance[low > p].sum() <= 0.03
        assert chance[high < p].sum() <= 0.03
    assert high[2] == pytest.approx(beta.isf(0.03, 3.0, 10.0))


def test_a_distance_lies_between_its_ends_whatever_the_level():
    y, v = rows(400, 5)
    sample = Sample.of_arrays(y, v, None)
    ends = [Ends.of(sample, level).proved for level in (0.5, 0.05, 1e-6)]
    assert all(b.low <= a.low <= sample_distance(sample).upper <= a.high <= b.high for a, b in pairwise(ends))


def test_states_share_the_resamples_and_none_has_too_few_for_a_tail():
    found = [draws_of_a_state(n, states) for n, states in ((999, 3), (100, 3), (80, 3), (39, 3), (20, 3), (1000, 3))]
    assert found == [333, 39, 39, 39, 20, 334]


@pytest.mark.parametrize("level", [0.3, 0.01])
def test_each_lower_end_of_regret_has_the_level_of_its_ends(level):
    y, v = rows(600, 6, 3.0)
    units = Draws.of_sample(Sample.of_arrays(y, v, None))
    cells = np.zeros(0), np.zeros(0)
    bounds = of_regret._bounds(units, level, cells, (0.9, 0.95), 0.3, 0.2, 600)
    assert (bounds.level, bounds.threshold) == (level, 0.3)
    for found, learn, high in (
        (bounds.regret_interval, lambda taught: of_regret._best_cut(taught, 0.3, cells), 0.9),
        (bounds.decision_loss_interval, lambda taught: of_regret._task(taught, cells), 0.95),
    ):
        assert (found.low, found.high) == (lower_end(units, learn, level), high)
