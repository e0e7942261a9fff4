"""Ends by one event of chance: each formula against the inequality or the integral that it solves."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq

from calibrant.door.sample import Sample
from calibrant.inference.bounds import one_event
from calibrant.inference.bounds.draws import Draws, Lessons
from calibrant.inference.bounds.one_event import (
    BET,
    Spread,
    _above,
    _below,
    _bet,
    _largest,
    _noise,
    binned_function,
    boundary,
    end_of_bets,
    kernel_function,
    lower_end,
    psi,
)


@pytest.mark.parametrize(("mean", "log"), [(0.2, 0.01), (0.003, 1e-4), (0.0, 0.02), (0.9, 0.3), (1e-6, 1e-9)])
def test_a_mean_square_lies_between_what_chernoff_and_bernstein_allow(mean, log):
    """P(sum <= n m) <= exp(-n (b - m)^2 / (2 b)) for a variable in [0, 1] of mean b; below m alike."""
    high, low = _above(mean, log), _below(mean, log)
    expected = brentq(lambda b: (b - mean) ** 2 - 2.0 * b * log, max(mean, 1e-300), 10.0) if mean else 2.0 * log
    assert high == pytest.approx(min(1.0, expected), rel=1e-6)
    assert low == max(0.0, mean - math.sqrt(2.0 * mean * log))
    assert 0.0 <= low <= mean <= high <= 1.0


def test_a_bet_is_the_best_one_that_the_proof_allows():
    assert psi(0.5) == pytest.approx(math.log(2.0) - 0.5)
    assert psi(BET) < BET / 2.0
    assert psi(0.6) > 0.6 / 2.0
    for mean_square, log in ((0.3, 0.001), (0.01, 1e-5), (0.3, 0.04)):
        assert _bet(mean_square, log) == pytest.approx(math.sqrt(2.0 * log / mean_square))
    assert _bet(0.0, 0.001) == _bet(0.3, 0.3 * BET**2 / 2.0) == _bet(0.001, 1.0) == BET


def test_more_of_what_is_known_never_makes_a_spread_wider():
    spread = Spread(100, 0.5, 0.3, 0.2, 0.1, 0.09)
    assert spread.knowing(0.25) == spread
    least = spread.knowing(0.02)  # the variance of weights is 0.3 - 0.25, and the root of 0.02 * 0.05 is 0.0316
    assert (least.squared, least.uneven) == pytest.approx((0.02, math.sqrt(0.001)))
    assert Spread(100, 0.5, 0.25 - 1e-17, 0.2, 0.1, 0.09).knowing(0.2).uneven == 0.0


def test_a_boundary_is_bracketed_to_the_last_of_sixty_halves():
    for at in (0.001, 0.3, 0.9999):
        low, high = boundary(lambda x, at=at: x <= at)
        assert low <= at <= high
        assert high - low <= 2.0**-53
    assert boundary(lambda _: True) == (1.0, 1.0)
    assert boundary(lambda _: False)[0] == 0.0
    assert boundary(lambda x: x < 0.7, 0.6)[0] == pytest.approx(0.7)


def units(seed=0, n=400):
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.2, 1.0], n)
    return weight * rng.uniform(-0.2, 0.6, n), weight


def means_of(g, s):
    return tuple(float(each.mean()) for each in (g, s, g * g, g * s, s * s))


def test_noise_is_the_mean_square_of_what_is_bet_on():
    g, s = units()
    m = g.mean() / s.mean()
    assert _noise(*means_of(g, s)) == pytest.approx(np.mean((g - m * s) ** 2) / (1.0 + m) ** 2)
    assert _noise(*means_of(-g, s)) == pytest.approx(np.mean(g**2))  # no less than 0 is bet on
    assert _noise(0.0, 0.0, 0.2, 0.0, 0.0) == 0.2


def test_an_end_of_bets_is_where_the_capital_of_the_rows_themselves_reaches_it():
    g, s = units()
    sizes, log = np.array([BET, 0.2]), 3.0

    def capital(m):
        z = (g - m * s) / (1.0 + m)
        return np.logaddexp.reduce([math.log(0.5) + np.sum(x * z - psi(x) * z**2) for x in sizes])

    found = end_of_bets(sizes, math.log(0.5), g.size, means_of(g, s), log)
    assert 0.0 < found < g.mean() / s.mean()
    assert found == pytest.approx(brentq(lambda m: capital(m) - log, 0.0, 1.0), abs=1e-9)
    assert end_of_bets(sizes, math.log(0.5), g.size, means_of(-g, s), log) == 0.0


def test_a_lower_end_bets_on_each_block_what_the_last_one_taught():
    first, blocks, level = units(1, 400), [units(2, 600), units(3, 3000)], 0.01
    lessons = Lessons(4000, means_of(*first), [(each[0].size, means_of(*each)) for each in blocks])
    bets = [_bet(_noise(*means_of(*each)), -math.log(level) / 4000) for each in (first, blocks[0])]
    assert max(bets) < BET

    def capital(m):
        z = [(g - m * s) / (1.0 + m) for g, s in blocks]
        return sum(np.sum(x * each - psi(x) * each**2) for x, each in zip(bets, z, strict=True))

    found = lower_end(SimpleNamespace(lessons=lambda _: lessons), None, level)
    assert 0.0 < found == pytest.approx(brentq(lambda m: capital(m) + math.log(level), 0.0, 0.9), abs=1e-9)
    none = Lessons(4000, means_of(-first[0], first[1]), [(g.size, means_of(-g, s)) for g, s in blocks])
    assert lower_end(SimpleNamespace(lessons=lambda _: none), None, level) == 0.0
    nothing = Lessons(10, None, [])
    assert lower_end(SimpleNamespace(lessons=lambda _: nothing), None, level) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_of_both_potentials_is_that_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    at = np.union1d([0.0, 1.0], np.round(rng.random(6), 2))
    r0, r1 = rng.uniform(-0.3, 0.3, (2, at.size))
    fine = np.linspace(0.0, 1.0, 200_001)
    grid = ((1.0 - fine) * np.interp(fine, at, r0) + fine * np.interp(fine, at, r1)).max()
    assert grid <= _largest(at, r0, r1) + 1e-12
    assert _largest(at, r0, r1) == pytest.approx(grid, abs=1e-8)


def test_the_largest_of_a_bent_piece_is_inside_it():
    assert _largest(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])) == pytest.approx(0.5)
    assert _largest(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0
    assert _largest(np.array([0.0, 1.0]), np.array([-1.0, -1.0]), np.array([-1.0, -1.0])) == -1.0


def lesson(seed=0, n=300):
    rng = np.random.default_rng(seed)
    v = np.round(rng.random(n), 2)
    return Sample.of_arrays((rng.random(n) < v**2).astype(float), v, None)


def test_what_the_kernel_learns_has_norm_one_and_the_binned_error_its_signs():
    """The norm of docs/constants.md, by a fine sum; and of outcomes one above the prediction a function is w."""
    function = kernel_function(lesson())
    u = np.linspace(0.0, 1.0, 256 * 40 + 1)
    w = function(u + 1.0, u)
    middle, rise = 0.5 * (w[1:] + w[:-1]), np.diff(w) / u[1]
    norm = 0.5 * (w[0] ** 2 + w[-1] ** 2) + 0.5 * np.sum(middle**2 + rise**2) * u[1]
    assert norm == pytest.approx(1.0, rel=1e-6)
    sample = lesson()
    residual = sample.residual()
    sign = np.sign(binned_function(sample)(u + 1.0, u))
    for k in range(15):
        inside = (sample.prediction > k / 15) & (sample.prediction <= (k + 1) / 15) | (k == 0) & (
            sample.prediction == 0
        )
        assert (sign[(u > k / 15 + 1e-9) & (u < (k + 1) / 15 - 1e-9)] == np.sign(residual[inside].sum())).all()
    nothing = kernel_function(Sample.of_arrays(np.array([0.5]), np.array([0.5]), None))
    assert (nothing(u, u + 0.0) == 0.0).all()


@pytest.mark.parametrize("learn", ["smooth_function", "lower_function", "binned_function", "kernel_function"])
def test_what_is_learned_is_no_larger_than_the_gap(learn):
    function = getattr(one_event, learn)(lesson())
    u = np.linspace(0.0, 1.0, 999)
    for y in (0.0, 1.0):
        assert (np.abs(function(np.full(u.size, y), u)) <= np.abs(y - u) * (1.0 + 1e-9) + 1e-12).all()


def test_units_without_spread_have_the_textbook_spread():
    draws = Draws.of_sample(lesson())
    rows = np.repeat(np.column_stack([draws.y, draws.v]), draws.copies.astype(int), axis=0)
    gap = np.abs(rows[:, 0] - rows[:, 1])
    expected = 1.0, 1.0, np.mean(gap**2), np.mean(gap**2), 0.0
    assert draws.spread == pytest.approx(expected)
    assert Spread.of(draws) == Spread(300, *draws.spread)
