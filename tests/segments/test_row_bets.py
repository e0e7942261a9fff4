"""Bounds by bets on rows: what is refuted is refuted by the products of the rows themselves, and the level is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.door.rows import Rows
from calibrant.segments.candidates import form, units_of
from calibrant.segments.gate_bounds import at_knots, ends_at_knots
from tests.segments.test_search import coded
from tests.strategies import examples

KNOTS = np.linspace(-1.0, 1.0, 33)


def log_capital(x, mean):
    """The definition, row by row: fourteen equal shares of the capital, each with a stake of its own."""
    odds = 2.0 ** np.arange(-9, 5)
    stakes = odds / (1.0 + odds)
    z = (x - mean) / (1.0 + mean)
    return np.logaddexp.reduce([np.log1p(stake * z).sum() for stake in stakes]) - np.log(stakes.size)


def last_refuted(x, miss):
    """One mean after the other, from the least on."""
    low = -1.0
    for mean in np.arange(-2047, 2048) / 2048:
        if log_capital(x, mean) < -np.log(miss):
            break
        low = mean
    return low


def ends_of(y, v, level):
    rows, features = Rows.of(y, v), coded(np.zeros(y.size, np.int64))
    candidates = form(units_of(Rows.of(y, np.full(y.size, 0.5)), features), features, 1, 1)
    low, high = ends_at_knots(at_knots(rows, candidates), level / (2.0 * len(candidates)))
    return low[0], high[0]


@pytest.mark.slow
@given(st.lists(st.integers(0, 32), min_size=1, max_size=40), st.sampled_from([0.4, 0.05, 1e-4]))
@examples(25)
def test_of_errors_at_knots_ends_are_those_of_the_definition(places, miss):
    held = np.bincount(places, minlength=33)[None].astype(float)
    low, high = ends_at_knots(held, miss)
    assert low[0] == pytest.approx(last_refuted(KNOTS[places], miss), abs=1.01 / 2048)
    assert high[0] == pytest.approx(-last_refuted(-KNOTS[places], miss), abs=1.01 / 2048)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 1e-9, 0.013, 0.5, 0.77, 1.0])), min_size=4, max_size=60),
    st.integers(1, 8),
)
@examples(50)
def test_of_any_rows_ends_are_proved_by_the_rows_themselves_and_not_far_from_what_they_prove(drawn, times):
    y, v = (np.repeat(np.array(each, float), times) for each in zip(*drawn, strict=True))
    low, high = ends_of(y, v, 0.1)
    for way, end in ((1.0, low), (-1.0, -high)):
        if end > -1.0:
            assert log_capital(way * (y - v), end) >= np.log(1.0 / 0.05) * (1.0 - 1e-9)
        if end < 0.95:
            assert log_capital(way * (y - v), end + 0.02 * (1.0 + 3.0 / np.sqrt(y.size))) < np.log(1.0 / 0.05)


def test_a_segment_of_a_hundred_rows_that_is_far_off_is_proved_so():
    """119 rows, off by .21, of a table of 61 segments: 24 events more than predicted."""
    rng = np.random.default_rng(0)
    v = 1.0 / (1.0 + np.exp(1.8 - rng.normal(size=119)))
    y = (np.argsort(np.argsort(-v)) < round(v.sum() + 25)).astype(float)
    assert ends_of(y, v, 0.025 / 61)[0] > 0.02


@pytest.mark.parametrize("kind", ["rare", "common", "certain", "two kinds of rows"])
def test_a_true_mean_is_beyond_an_end_as_rarely_as_it_says(kind):
    rng, n, trials, miss = np.random.default_rng(0), 400, 1_500, 0.1
    if kind == "rare":
        x, mean = (rng.random((trials, n)) < 0.01) - 0.01, 0.0
    elif kind == "common":
        x, mean = (rng.random((trials, n)) < 0.7) - 0.4, 0.3
    elif kind == "certain":
        x, mean = (rng.random((trials, n)) < 0.1) - (rng.random((trials, n)) < 0.2) * 1.0, -0.1
    else:
        x, mean = (rng.random((trials, n)) < np.repeat([0.02, 0.9], n // 2)) * 1.0, 0.46
    place = 16.0 * (x + 1.0)
    below = np.minimum(place.astype(int), 31)
    share = place - below
    held = np.zeros((trials, 33))
    for at, part in ((below, 1.0 - share), (below + 1, share)):
        np.add.at(held, (np.arange(trials)[:, None], at), part)
    low, high = ends_at_knots(held, miss)
    assert max((low > mean).sum(), (high < mean).sum()) <= trials * miss
    assert np.median(high - low) < 0.25  # and it says something
