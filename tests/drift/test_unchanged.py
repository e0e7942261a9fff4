"""Strata of the test that a population is unchanged: where they begin, and what a change of the mix is allowed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from calibrant.drift.periods import _ROWS_A_STRATUM, _SHARES, Counts, Since, _breaks, _transport
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


@examples(30)
@given(st.integers(0, 2**32))
def test_the_transport_of_single_predictions_is_their_wasserstein_distance(seed):
    starts, cells, (rows_before, _), (rows_now, _) = _two_sides(np.random.default_rng(seed))
    single = Counts(cells.index, cells.rows, cells.ones, cells.mean, cells.mean, cells.mean)
    found = _transport(starts, single, (rows_before, cells.mean), (rows_now, cells.mean))
    for stratum, part in enumerate(np.split(np.arange(cells.mean.size), starts[1:])):
        v = cells.mean[part]
        assert found[stratum] == pytest.approx(wasserstein_distance(v, v, rows_before[part], rows_now[part]))


def _log_of_change(before, now):
    """Events of a stratum are hypergeometric given both sums; Bennett's bound of every interval of every depth."""
    rows = before[0] + now[0]
    rate = (before[1] + now[1]) / rows
    excess = now[1] - now[0] * rate
    variance = now[0] * rate * (1.0 - rate) * before[0] / (rows - 1.0)
    keep = variance > 0.0
    excess, variance = excess[keep], variance[keep]
    found = []
    for depth, share in enumerate(_SHARES):
        interval = np.minimum(np.floor(variance.cumsum() / variance.sum() * 2**depth - 1e-12), 2**depth - 1)
        for part in (interval == k for k in np.unique(interval)):
            far, sure = abs(excess[part].sum()), variance[part].sum()
            u = far / sure
            bound = math.log(2.0) - sure * ((1.0 + u) * math.log1p(u) - u) if far > 0.0 else 0.0
            found.append(bound + math.log(2**depth / share))
    return min(found, default=0.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shift", [0.0, 0.4, -0.6, 1.5])
def test_each_look_has_its_share_and_is_alone_or_with_all_since_the_reference(seed, shift):
    rng, level = np.random.default_rng(seed), (0.05, 0.5)[seed % 2]
    v = np.linspace(0.05, 0.95, 10)
    index = 2 * np.floor(1024 * v).astype(np.int64) + 1

    def drawn(moved, times=1.0):
        rows = times * rng.integers(20, 60, v.size)
        rows[:4] = 1.0  # of one row on either side one may be an event
        return rows, rng.binomial(rows.astype(int), 1.0 / (1.0 + (1.0 / v - 1.0) * np.exp(-moved))) * 1.0

    before, *looks = drawn(0.0, 20.0), *(drawn(shift) for _ in range(4))
    since = Since("before", [Counts(index, *before, v, v, v)], level, 1024)
    smallest, rows, ones = 1.0, 0.0, 0.0
    for k, (own_rows, own_ones) in enumerate(looks, 1):
        rows, ones = rows + own_rows, ones + own_ones
        log = min(_log_of_change(before, (own_rows, own_ones)), _log_of_change(before, (rows, ones)))
        smallest = min(smallest, math.exp(min(0.0, log + math.log(2.0 * k * (k + 1.0)))))
        reading = since.update(Counts(index, own_rows, own_ones, v, v, v))
        assert reading.pvalue == pytest.approx(smallest, rel=1e-5)
        assert (reading.reject, reading.level) == (smallest <= level, level)
        expected = (own_rows * before[1] / before[0]).sum()
        assert reading.difference == pytest.approx((own_ones.sum() - expected) / own_rows.sum())
        assert reading.compared == pytest.approx(1.0)
