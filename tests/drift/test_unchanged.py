"""Strata of the test that a population is unchanged: where they begin, and what a change of the mix is allowed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.drift.unchanged import _ROWS_A_STRATUM, Counts, Since, _breaks, _transport
from tests.strategies import examples


def test_a_stratum_ends_with_the_cell_that_fills_it_and_where_log_odds_are_too_wide():
    resolution, first = 1024, 2 * 512 + 1
    index = first + 2 * np.arange(8)
    rows = np.array([10.0, 6.0, 15.0, 1.0, 17.0, 3.0, 12.0, 1.0])
    none = np.zeros(8)
    starts = _breaks(Counts(index, rows, none, none, none, none), resolution)
    lines = _breaks(Counts(index[:1], rows[:1], none[:1], none[:1], none[:1], none[:1]), resolution)
    assert np.isin(lines, starts).all()  # those that log-odds draw
    within = [int(each) for each in starts if each in index and each not in lines]
    held, expected = 0.0, []
    for cell, count in zip(index.tolist(), rows.tolist(), strict=True):
        if held >= _ROWS_A_STRATUM or cell in lines:
            expected += [cell] if held >= _ROWS_A_STRATUM and cell not in lines else []
            held = 0.0
        held += count
    assert within == expected
    assert {0, 1, 2 * resolution} <= set(lines.tolist())
    odds = np.log((lines[3:-1] // 2) / resolution) - np.log1p(-(lines[3:-1] // 2) / resolution)
    assert (np.diff(odds) < 0.5).all()


def _cell(rows, ones, low, mean, high):
    return Counts(*(np.array([each]) for each in (1, rows, ones, mean, low, high)))


def _two_sides(rng):
    """Cells of two strata, with rows of both sides in each, and each side's rows and means."""
    size = int(rng.integers(2, 9))
    low, mean, high = np.sort(rng.random((3, size)), axis=0)
    narrow = rng.random(size) < 0.3
    low[narrow] = high[narrow] = mean[narrow]
    rows = rng.integers(1, 40, (2, size)) * 1.0
    means = np.clip(mean * rng.choice([1.0, 0.9, 1.1], (2, size)), low, high)
    cells = Counts(np.arange(size), rows.sum(axis=0), np.zeros(size), mean, low, high)
    return np.array([0, int(rng.integers(1, size))]), cells, *zip(rows, means, strict=True)


@examples(50)
@given(st.integers(0, 2**32), st.sampled_from([-900, -500, -1]))
def test_the_transport_of_smaller_predictions_is_as_much_smaller(seed, power):
    starts, cells, (rows_before, before), (rows_now, now) = _two_sides(np.random.default_rng(seed))
    scale = 2.0**power
    small = Counts(cells.index, cells.rows, cells.ones, *(scale * each for each in (cells.mean, cells.low, cells.high)))
    whole = _transport(starts, cells, (rows_before, before), (rows_now, now))
    assert (whole > 0.0).any() or (cells.high == cells.low).all()
    least = _transport(starts, small, (rows_before, scale * before), (rows_now, scale * now))
    np.testing.assert_array_equal(least, scale * whole)


@examples(30)
@given(st.integers(0, 2**32), st.sampled_from([1e-2, 1e-100, 1e-160, 1e-300, 1e-320, 5e-324]))
def test_no_change_is_told_where_a_change_of_the_mix_could_account_for_it(seed, scale):
    """Rows at both ends before, between them now: rates of 0.5 and 0.9 need no change of what a prediction means."""
    rng = np.random.default_rng(seed)
    low, mean, high = scale, scale * 2, scale * int(rng.integers(3, 9))
    rows = int(rng.integers(50, 500))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = Since("before", [_cell(rows, rows // 2, low, mean, high)], 0.05, 1024).update(
            _cell(rows, 9 * rows // 10, low, mean, high)
        )
    assert found.difference is None
    assert not found.reject
