"""Tails of unequal chances: never below the exact ones, hardly above them; and where the mean chance may lie."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from calibrant.inference.testing.discrete import mean_chance_interval, two_sided_log_pvalues
from calibrant.kernels import poisson_binomial
from calibrant.kernels.poisson_binomial import EXACT, log_upper_tail
from tests.exact import event_probabilities
from tests.strategies import examples

CHANCES = st.one_of(
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-200, 1e-17, 1e-3, 0.3, 0.5, np.nextafter(0.5, 1.0), 0.999, np.nextafter(1.0, 0.0), 1.0]),
)


def log(x):
    """Logarithm of a rational number that floats can hold."""
    return math.log(float(x)) if x else -math.inf


@examples(60)
@given(cells=st.lists(st.tuples(CHANCES, st.integers(1, 4)), min_size=1, max_size=5))
def test_up_to_512_rows_tails_are_exact(cells):
    chance, count = (np.array(column, float) for column in zip(*cells, strict=True))
    rows = np.repeat(chance, count.astype(int))
    exact = event_probabilities(rows)
    for events in range(rows.size + 2):
        tail = sum(exact[events:], Fraction(0))
        if 0 < tail < Fraction(10) ** -150:
            continue  # beyond what anybody can tell apart
        found = log_upper_tail(count, chance, events, False)
        assert found >= log(tail) - 1e-15
        if events > rows.sum() * (1 + 1e-9):
            assert found == pytest.approx(log(tail), abs=1e-9)


@examples(60)
@given(cells=st.lists(st.lists(CHANCES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_cells_of_several_predictions_give_no_smaller_pvalue(cells):
    rows = [p for cell in cells for p in cell]
    count = np.array([len(cell) for cell in cells], float)
    means = [sum(map(Fraction, cell)) / len(cell) for cell in cells]
    low, high = (np.array([np.nextafter(float(m), end) for m in means]) for end in (0.0, 1.0))
    exact = event_probabilities(rows)
    for events in range(len(rows) + 1):
        (found,) = two_sided_log_pvalues(count, (low, high), np.array([0]), np.array([float(events)]))
        tail = sum(exact[events:]) if events >= sum(map(Fraction, rows)) else sum(exact[: events + 1])
        assert found >= min(0.0, math.log(2) + log(tail) if tail > Fraction(10) ** -150 else -math.inf) - 1e-12


@pytest.mark.slow
def test_equal_chances_have_the_largest_tail_two_above_the_mean():
    """Every two rows in eighths, beside every three others in quarters: the step that makes rows of a cell equal."""
    eighths, quarters = ([Fraction(k, n) for k in range(n + 1)] for n in (8, 4))
    for others in combinations_with_replacement(quarters, 3):
        for a, b in combinations_with_replacement(eighths, 2):
            mean = sum(others) + a + b
            before = event_probabilities([*others, a, b])
            after = event_probabilities([*others, (a + b) / 2, (a + b) / 2])
            for events in range(math.ceil(mean) + 2, 6):
                assert sum(before[events:]) <= sum(after[events:])
            for events in range(1, 6):  # nearer to the mean: moments
                assert sum(after[events:]) <= mean**events / math.factorial(events)


@pytest.mark.parametrize("n", [600, 20_000, 10**6])
@pytest.mark.parametrize("p", [1e-4, 0.01, 0.3, 0.5, 0.99])
def test_above_512_rows_the_bound_is_hardly_above_the_tail(n, p):
    sd = math.sqrt(n * p * (1 - p))
    for deviations in (1.5, 2.0, 3.0, 5.0, 10.0):
        events = math.ceil(n * p + deviations * sd)
        if events >= min(n, n * p + 0.9 * n):
            continue
        ratio = math.exp(
            log_upper_tail(np.array([float(n)]), np.array([p]), events, False) - binom.logsf(events - 1, n, p)
        )
        assert 1.0 - 1e-9 <= ratio <= 1.33


@examples(30)
@given(cells=st.lists(st.tuples(st.floats(1e-4, 0.9), st.integers(1, 60)), min_size=1, max_size=6), z=st.floats(1, 8))
def test_the_bounds_of_the_tilted_sum_hold(cells, z):
    """The bound for many rows, asked of few, whose tails are known."""
    chance, count = (np.array(column, float) for column in zip(*cells, strict=True))
    mean, sd = count @ chance, math.sqrt(count @ (chance * (1 - chance)))
    events = math.ceil(mean + z * sd)
    if events >= count.sum():
        return
    exact = log_upper_tail(count, chance, events, False)
    logit = np.log(chance) - np.log1p(-chance)
    tilt = poisson_binomial._tilt(count, logit, float(events), events - mean)
    q = 1 / (1 + np.exp(-tilt - logit))
    share = poisson_binomial._share(tilt, math.sqrt(count @ (q * (1 - q))), events - count @ q)
    bound = count @ (np.log1p(chance * np.expm1(tilt))) - tilt * events + math.log(share)
    assert exact - 1e-9 <= bound <= exact + math.log(1.7)


def test_an_impossible_event_has_no_chance_and_a_sure_one_is_no_surprise():
    start, one = np.array([0]), np.array([1.0])
    for rows in (3.0, 2.0 * EXACT):
        count = np.array([rows])
        impossible = two_sided_log_pvalues(count, (np.zeros(1), np.zeros(1)), start, one)
        assert impossible == -math.inf
        sure = two_sided_log_pvalues(count, (np.ones(1), np.ones(1)), start, count)
        assert sure == 0.0
        assert two_sided_log_pvalues(count, (np.ones(1), np.ones(1)), start, count - 1) == -math.inf


@pytest.mark.parametrize("miss", [0.025, 0.001, 0.2])
def test_intervals_of_the_mean_chance_hold_for_every_small_set_of_chances(miss):
    """All chances of up to four rows in fifths, and one row with everything; either end alone."""
    places = [Fraction(k, 5) for k in range(6)] + [Fraction(miss), 1 - Fraction(miss)]
    for n in range(1, 5):
        ones = np.arange(n + 1.0)
        low, high = mean_chance_interval(ones, np.full(n + 1, float(n)), miss)
        for chances in combinations_with_replacement(places, n):
            mean, chance = sum(chances) / n, event_probabilities(chances)
            for missed in ([low[k] > mean for k in range(n + 1)], [high[k] < mean for k in range(n + 1)]):
                assert sum(p for p, out in zip(chance, missed, strict=True) if out) <= miss


def test_they_are_clopper_and_pearson_s_but_for_a_single_event():
    for ones, n in product((0, 2, 20, 998), (1_000, 20_000)):
        low, high = mean_chance_interval(np.array([float(ones)]), np.array([float(n)]), 1e-4)
        theirs = binomtest(ones, n).proportion_ci(1 - 2e-4, "exact")
        assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), rel=1e-8)
    low, _ = mean_chance_interval(np.array([1.0]), np.array([1000.0]), 0.025)
    assert low[0] == 0.025 / 1000
