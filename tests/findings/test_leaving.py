"""Columns by which rows are lost from sight: the log-rank test by a loop, its size, and which columns it names."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from calibrant.findings import hints
from calibrant.findings.hints import _surprise, columns_of_leaving, log_rank


def followed(n, seed, k=3):
    """Times on a grid, so that rows leave at once, and events come when others leave."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, k, n)
    return rng.integers(1, 8, n) * 1.0, (rng.random(n) < 0.3) * 1.0, value


@pytest.mark.parametrize("seed", range(3))
def test_the_log_rank_test_is_that_of_a_loop_over_moments(seed):
    time, event, value = followed(60, seed)
    horizon = 6.0
    excess, variance, expected = log_rank(time, event, horizon, value, 3)
    theirs, spread, chance = np.zeros(3), np.zeros((3, 3)), np.zeros(3)
    for moment in np.unique(time[(event == 0.0) & (time < horizon)]):
        risk = (time > moment) | ((time == moment) & (event == 0.0))  # an event comes first
        leaves = (time == moment) & (event == 0.0)
        n, left = risk.sum(), leaves.sum()
        share = np.array([(risk & (value == k)).sum() / n for k in range(3)])
        chance += left * share
        theirs += [(leaves & (value == k)).sum() for k in range(3)] - left * share
        spread += left * (n - left) / max(n - 1, 1) * (np.diag(share) - np.outer(share, share))
    assert excess == pytest.approx(theirs)
    assert expected == pytest.approx(chance)
    assert variance == pytest.approx(spread)


def test_the_last_row_to_leave_alone_adds_no_variance():
    excess, variance, expected = log_rank(np.array([1.0, 2.0]), np.zeros(2), 3.0, np.array([0, 1]), 2)
    assert expected == pytest.approx([0.5, 1.5])
    assert excess == pytest.approx([0.5, -0.5])
    assert variance == pytest.approx(np.array([[0.25, -0.25], [-0.25, 0.25]]))


@pytest.mark.parametrize("strata", [1, 2])
def test_the_surprise_is_the_cube_root_of_chi_squared_as_a_normal_value(strata):
    """Wilson and Hilferty's: its upper tail is that of chi-squared, to a thousandth."""
    time, event, value = followed(600, 0)
    time = np.where((value == 0) & (np.arange(600) < 150) & (time > 1.0), time - 1.0, time)
    within = np.arange(600) % strata
    parts = [log_rank(time[within == s], event[within == s], 7.0, value[within == s], 3) for s in range(strata)]
    excess, variance = (sum(each[i] for each in parts) for i in (0, 1))
    statistic = excess[1:] @ np.linalg.solve(variance[1:, 1:], excess[1:])
    found = _surprise(time, event, 7.0, value, within)
    spread = 2.0 / (9.0 * 2)
    assert found == pytest.approx((np.cbrt(statistic / 2) - (1.0 - spread)) / np.sqrt(spread))
    assert norm.sf(found) == pytest.approx(chi2.sf(statistic, 2), abs=1e-3)
    assert _surprise(time, event, 7.0, np.zeros(600, int), within) == -np.inf


@pytest.mark.parametrize(
    ("surprises", "strata", "found"),
    [
        ({"a": 3.3, "b": 3.2}, 1, ["a", "b"]),  # twice a tail of 0.00048, and of 0.00069
        ({"a": 3.35, "b": 3.25, "c": 0.0}, 1, ["a"]),  # of three columns 3.29 deviates are 0.0015: none but the first
        ({"a": 3.05}, 1, []),
        ({"a": 3.12}, 1, ["a"]),
        ({"a": 9.0, "b": 8.0, "c": 7.0, "d": 6.0}, 1, ["a", "b", "c"]),
        ({"a": 9.0, "b": 8.0}, 50, ["a"]),
        ({"a": 9.0}, 51, []),
    ],
)
def test_columns_are_named_while_their_tail_times_their_number_is_a_thousandth_at_most(
    monkeypatch, surprises, strata, found
):
    n = 102
    columns = {name: np.full(n, k) for k, name in enumerate(surprises)}
    columns["a"] = np.arange(n) // 51
    names = {name: each[0] if name != "a" else None for name, each in columns.items()}

    def surprise(_time, _event, _horizon, rank, _within):
        return surprises["a" if np.ptp(rank) else next(name for name, first in names.items() if first == rank[0])]

    monkeypatch.setattr(hints, "_surprise", surprise)
    given = [np.arange(n) % strata]
    expected = [each for each in found if norm.sf(surprises[each]) * len(columns) <= 0.001]
    assert columns_of_leaving(np.ones(n), np.zeros(n), 2.0, columns, given) == expected
    assert len(expected) == len(found) or strata == 1


@pytest.mark.parametrize(
    ("expected", "degrees"),
    [
        ((20.0, 20.0, 5.0), 2),
        ((20.0, 20.0, 4.99), 1),
        ((20.0, 4.0, 4.0), 1),
        ((20.0, 2.0, 2.0), 0),
        ((5.5, 5.5, 5.5), 2),
    ],
)
def test_values_of_fewer_than_five_expected_leavers_are_taken_together(monkeypatch, expected, degrees):
    excess, variance = np.array([-6.0, 4.0, 2.0]), np.array([[5.0, -3.0, -2.0], [-3.0, 4.0, -1.0], [-2.0, -1.0, 3.0]])
    monkeypatch.setattr(hints, "log_rank", lambda *_: (excess, variance, np.array(expected)))
    found = _surprise(np.ones(3), np.zeros(3), 2.0, np.arange(3), np.zeros(3, int))
    if not degrees:
        assert found == -np.inf
        return
    two = excess[1:] @ np.linalg.solve(variance[1:, 1:], excess[1:])
    alone = excess[1] ** 2 / variance[1, 1]  # against the first, without the third
    pooled = (excess[1] + excess[2]) ** 2 / variance[1:, 1:].sum()  # the second and the third as one
    statistic = two if degrees == 2 else alone if expected[1] > 5.0 else pooled
    spread = 2.0 / (9.0 * degrees)
    assert found == pytest.approx((np.cbrt(statistic / degrees) - (1.0 - spread)) / np.sqrt(spread))
