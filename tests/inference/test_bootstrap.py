"""Resampled bounds: the class's supremum against a linear program, tighter than the guaranteed bounds, honest at 0."""

import numpy as np
import pytest
from scipy.optimize import linprog

from calibrant import InputError, bootstrap_bounds, population_bounds, synthetic
from calibrant.inference.bounds import population
from calibrant.inference.bounds.population import _area


@pytest.mark.parametrize("seed", range(40))
def test_area_is_the_supremum_over_the_class(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    v = np.sort(np.round(rng.random(n), 1 if seed % 2 else 6))
    y, weight = rng.integers(0, 2, n), rng.normal(size=n)
    total = 0.0
    for label, anchor in ((0, 0.0), (1, 1.0)):
        at = np.append(v[y == label], anchor)
        rows, limits = [], []
        for i in range(at.size):
            for j in range(at.size):
                row = np.zeros(at.size)
                row[i] += 1.0
                row[j] -= 1.0
                rows.append(row)
                limits.append(abs(at[i] - at[j]))
        bounds = [(None, None)] * (at.size - 1) + [(0.0, 0.0)]
        found = linprog(-np.append(weight[y == label], 0.0), A_ub=rows, b_ub=limits, bounds=bounds)
        total -= found.fun
    mine = _area(
        np.where(y == 0, weight, 0.0), np.where(y == 1, weight, 0.0), np.diff(v, append=1.0), np.diff(v, prepend=0.0)
    )
    assert mine == pytest.approx(total, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_they_hold_and_are_tighter(shift):
    missed = 0
    for seed in range(60):
        rows = synthetic.shifted_uniform(400, shift, seed)
        bounds, wide = bootstrap_bounds(*rows, n_resamples=199, random_state=seed), population_bounds(*rows)
        for (low, high), (lowest, highest) in (
            (bounds.smooth_error, wide.smooth_error),
            (bounds.lower_distance, wide.lower_distance),
        ):
            missed += not low - 1e-12 <= shift <= high
            assert lowest <= low
            assert high < highest
    assert missed <= 6


def test_order_seed_and_what_is_refused():
    y, v = synthetic.shifted_uniform(200, 0.1, 0)
    v = np.round(v, 1)
    order = np.random.default_rng(0).permutation(200)
    assert bootstrap_bounds(y, v, random_state=3) == bootstrap_bounds(y[order], v[order], random_state=3)
    with pytest.raises(InputError, match="n_resamples"):
        bootstrap_bounds(y, v, n_resamples=20)
    with pytest.raises(InputError, match="level"):
        bootstrap_bounds(y, v, level=2.0)


RARE = {
    "uniform": lambda rng, n: 2e-3 * rng.random(n),
    "beta": lambda rng, n: rng.beta(0.1, 100.0, n),
    "atoms": lambda rng, n: np.where(rng.random(n) < 0.01, rng.random(n), (rng.random(n) < 0.5).astype(float)),
    "five values": lambda rng, n: 1e-3 * rng.choice([0.1, 0.5, 1.0, 1.5, 1.9], n),
}


@pytest.mark.parametrize("kind", RARE)
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("n", [50, 200, 2000])
def test_rare_events_and_rare_non_events_are_refused(kind, flip, n):
    rng = np.random.default_rng(n)
    v = RARE[kind](rng, n)
    y = rng.random(n) < v
    with pytest.raises(InputError, match="Resampling needs 5 of both; population_bounds holds") as refused:
        bootstrap_bounds(~y if flip else y, 1.0 - v if flip else v, random_state=0)
    assert refused.value.argument == "y_true"


def test_both_what_is_expected_and_what_is_seen_must_be_enough():
    v = np.full(400, 0.05)  # 19 surprises expected
    for events, answers in ((0, False), (5, False), (12, True)):
        y = np.arange(400) < events
        if answers:
            assert bootstrap_bounds(y, v, n_resamples=99, random_state=0).n_rows == 400
        else:
            with pytest.raises(InputError, match="surprises"):
                bootstrap_bounds(y, v, random_state=0)
    with pytest.raises(InputError, match=r"the predictions expect 0\."):
        bootstrap_bounds(np.arange(400) < 100, np.zeros(400), random_state=0)


def test_an_error_that_all_rows_have_in_common_is_no_surprise():
    v = np.full(400, 0.25)
    for events in (0, 2, 4):  # (y - v)^2 adds up to 25 and more
        with pytest.raises(InputError, match=f"holds {events - events**2 / 400:.3g} surprises"):
            bootstrap_bounds(np.arange(400) < events, v, random_state=0)
    found = bootstrap_bounds(np.arange(400) < 8, v, random_state=0)
    assert found.lower_distance.low < 0.25 - 12 / 400
    assert found.lower_distance.high > 0.25 - 4 / 400


@pytest.mark.slow
def test_truth_is_covered_just_above_the_minimum():
    answered = missed = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        v = 2 * 8 / 400 * rng.random(400)
        y = rng.random(400) < v
        try:
            found = bootstrap_bounds(y, v, n_resamples=79, random_state=seed)
        except InputError:
            continue
        answered += 1
        missed += found.smooth_error.low > 0 or found.lower_distance.low > 0
    assert answered > 60
    assert missed <= 10  # 6 expected of 120; more than 10 has a chance of 3%


def test_ends_are_shares_however_far_resamples_reach(monkeypatch):
    rng = np.random.default_rng(0)
    v = rng.random(60)
    monkeypatch.setattr(population, "resampled", lambda _draw, _n, resamples, _seed: np.full((resamples, 2), 5.0))
    found = bootstrap_bounds((rng.random(60) < v).astype(float), v, n_resamples=99, random_state=0)
    for interval in (found.smooth_error, found.lower_distance):
        assert (interval.low, interval.high) == (0.0, 1.0)
