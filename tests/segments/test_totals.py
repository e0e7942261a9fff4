"""Ends and p-values of all segments at once, against their formulas and against every outcome."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from calibrant.segments import evidence as module
from calibrant.segments.evidence import ByGroup, Stakes, Totals, spare, stepped_down
from calibrant.segments.gate_bounds import ends_at_knots


def totals(**others):
    """Three segments of 20, 50 and 8 rows."""
    count, ones = np.array([20.0, 50.0, 8.0]), np.array([4.0, 30.0, 0.0])
    said = np.array([6.0, 20.0, 1.0])
    return replace(Totals(count, ones, count, count, ones, said, False), **others)


def test_ends_of_single_outcomes_are_clopper_and_pearsons_at_a_sixth_of_the_level_less_what_was_said():
    low, high = totals().intervals(0.12)
    for i, (n, k, said) in enumerate([(20, 4, 0.3), (50, 30, 0.4), (8, 0, 0.125)]):
        assert low[i] + said == pytest.approx(beta.ppf(0.02, k, n - k + 1) if k else 0.0, abs=1e-12)
        assert high[i] + said == pytest.approx(beta.isf(0.02, k + 1, n - k), abs=1e-12)


def test_ends_of_weighted_rows_are_hoeffdings_at_a_sixth_of_the_level():
    weight, squared = np.array([30.0, 60.0, 8.0]), np.array([55.0, 90.0, 9.0])
    held = totals(weight=weight, squared=squared, outcome=np.array([9.0, 30.0, 1.0]), weighted=True)
    low, high = held.intervals(0.12)
    off, mean = (held.outcome - held.prediction) / weight, held.prediction / weight
    reach = np.sqrt(math.log(1.0 / 0.02) * squared / weight**2 / 2.0)
    assert low == pytest.approx(np.maximum(off - reach, -mean))
    assert high == pytest.approx(np.minimum(off + reach, 1.0 - mean))
    assert held.marginal == pytest.approx(np.minimum(1.0, 2.0 * np.exp(-2.0 * (off * weight) ** 2 / squared)))
    sizes = np.array([100.0, 200.0, 16.0])
    groups = ByGroup(squared, squared, sizes, np.full(3, 5.0), np.array([9.0, 9.0, 4.0]))
    of_groups = replace(held, weighted=False, by_group=groups)
    assert of_groups.intervals(0.12)[1] == pytest.approx(np.minimum(off + reach * np.sqrt(sizes / squared), 1.0 - mean))
    assert of_groups.marginal == pytest.approx(np.minimum(1.0, 2.0 * np.exp(-2.0 * (off * weight) ** 2 / sizes)))
    assert groups.about(np.full(3, 0.3)) == pytest.approx(np.maximum(squared * 0.4 + 0.09 * sizes, 0.0))


def test_ends_for_the_population_spend_half_on_bets_a_quarter_on_outcomes_and_a_quarter_on_predictions(monkeypatch):
    held = totals(square=np.array([3.0, 9.0, 0.2]), errors=np.array([5.0, 12.0, 1.0]))
    seen = {}
    monkeypatch.setattr(Stakes, "ends", lambda _, miss, low, high: seen.update(miss=miss, low=low, high=high))
    held.population_intervals(0.12)
    assert seen["miss"] == pytest.approx(0.5 * 0.12 / 6)  # of two ends of three segments
    low, high = held.intervals(0.25 * 0.12)
    n, mean = held.count, held.prediction / held.count
    log = math.log(2.0 / (0.25 * 0.12 / 6))  # Maurer and Pontil, theorem 4
    variance = (held.square - n * mean**2) / (n - 1)
    reach = np.sqrt(2.0 * variance * log / n) + 7.0 * log / (3.0 * (n - 1))
    assert seen["low"] == pytest.approx(np.maximum(low - reach, -1.0))
    assert seen["high"] == pytest.approx(np.minimum(high + reach, 1.0))
    largest = np.array([2.0, 5.0, 1.0])
    group = ByGroup(held.errors, held.errors, held.count, largest, np.array([9.0, 9.0, 4.0]))
    made = []
    monkeypatch.setattr(Stakes, "ends", lambda self, miss, *_: made.append((self.largest, miss)))
    for most in (4.0, 7.0):
        replace(held, by_group=group).population_intervals(0.12, most)
    assert made == [(5.0, pytest.approx(0.12 / 6)), (7.0, pytest.approx(0.12 / 6))]  # no less than what was seen


def test_a_stepped_down_pvalue_is_the_share_of_draws_with_a_lower_segment_that_high():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(6, 20)).round(1)
    found = stepped_down(scores)
    raw = {}
    for i in range(6):
        lower = scores[scores[:, 0] <= scores[i, 0]]
        raw[i] = (1 + (lower.max(axis=0)[1:] >= scores[i, 0]).sum()) / 20
    for i in range(6):
        above = [raw[j] for j in range(6) if scores[j, 0] >= scores[i, 0]]
        assert found[i] >= max(raw[j] for j in range(6) if scores[j, 0] > scores[i, 0] or j == i) - 1e-12
        assert found[i] <= max(above) + 1e-12


def test_as_many_redraws_may_be_as_extreme_as_the_level_has_room_for():
    for draws, level in itertools.product((20, 100, 200, 999), (0.05, 0.01, 0.1, 0.3)):
        most = spare(draws, level)
        assert (1 + most) / draws <= level * (1.0 + 1e-9) or most == 0
        assert (2 + most) / draws > level


def test_bounds_at_knots_are_where_the_capital_of_all_stakes_reaches_their_number_over_the_chance():
    """The mean of products of 1 + stake z over all stakes, each with an equal share of the capital."""
    from calibrant.segments import gate_bounds

    held = np.zeros((1, 33))
    held[0, [3, 16, 20, 32]] = [4.0, 30.0, 20.0, 5.0]
    x = np.linspace(-1.0, 1.0, 33)

    def capital(mean, at):
        z = (1.0 + at) / (1.0 + mean) - 1.0
        return sum(math.exp((held[0] * np.log1p(b * z)).sum()) for b in gate_bounds._STAKES) / gate_bounds._STAKES.size

    low, high = ends_at_knots(held, 0.02)
    for end, at in ((low[0], x), (-high[0], -x)):
        step = 1.0 / gate_bounds._STEPS
        assert capital(end, at) >= 1.0 / 0.02
        assert capital(end + step, at) < 1.0 / 0.02
    assert ((gate_bounds._STAKES > 0.0) & (gate_bounds._STAKES <= 1.0)).all()


def test_ends_by_bets_are_the_first_means_that_no_stake_refutes():
    """A stake b wins b sum z - (-log(1 - b) - b) sum z z; together they refute what one of them wins enough for."""
    held = Stakes(
        *(10.0 * np.array(each) for each in ([9, -2], [30, 40], [6, 3], [9.5, -1], [30, 45], [30, 40])),
        largest=1.5,
    )

    def refuted(k, m, miss, sign):
        needed = math.log(module._BETS.size / miss)
        odds = math.sqrt(2.0 * needed / held.number[k]) * module._BETS
        scale = (1.0 + max(m, 0.0)) * held.largest
        z = (sign * held.total[k] - m * held.size[k]) / scale
        zz = (held.squares[k] - 2.0 * m * sign * held.products[k] + m * m * held.sizes[k]) / scale**2
        stakes = odds / (1.0 + odds)
        return any(b * z - (-math.log(1.0 - b) - b) * zz >= needed for b in stakes)

    for miss in (0.02, 0.2):
        low, high = held.ends(miss, np.full(2, -1.0), np.full(2, 1.0))
        for k in range(2):
            for end, sign in ((low[k], 1.0), (-high[k], -1.0)):
                assert -1.0 < end < 1.0
                assert refuted(k, end, miss, sign)
                assert not refuted(k, end + 1.0 / module._STEPS, miss, sign)


def test_where_weights_may_tell_outcomes_a_pvalue_bounds_the_normal_tail_of_the_total_by_its_own_squares():
    squares, rest = np.array([4.0, 25.0, 0.0]), np.ones(3)
    found = totals(weighted=True, informative=True, by_group=ByGroup(squares, rest, rest, rest, rest)).marginal
    off = np.array([4.0 - 6.0, 30.0 - 20.0])
    np.testing.assert_allclose(found[:2], np.minimum(1.0, 2.0 * np.exp(-(off**2) / (2.0 * squares[:2]))))
    assert found[2] == 0.0  # of no squares any error is without chance
