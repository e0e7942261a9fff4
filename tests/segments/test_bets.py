"""Bounds by bets: refuted means are refuted by the products themselves, and true means keep to the level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.segments.evidence import Stakes
from tests.strategies import examples

SIZES = st.lists(st.tuples(st.floats(0.1, 20.0), st.floats(-1.0, 1.0)), min_size=1, max_size=60)


MOST = 25.0


def draws_of(x, s):
    number = np.full(x.shape[1], float(x.shape[0]))
    return Stakes(
        x.sum(0), s.sum(0), (x * x).sum(0), (x * s).sum(0), (s * s).sum(0), number, MOST if s.max() > 1 else 1.0
    )


def log_wealth(x, s, mean, miss):
    """The definition: the largest product, of twelve stakes that depend on the number of draws alone."""
    scale = (1.0 + max(mean, 0.0)) * (MOST if s.max() > 1 else 1.0)
    odds = np.sqrt(2.0 * np.log(12.0 / miss) / s.size) * 2.0 ** np.arange(12)
    return max(float(np.log1p(b * (x - mean * s) / scale).sum()) for b in odds / (1.0 + odds))


@given(SIZES, st.floats(-0.5, 0.9), st.sampled_from([0.3, 0.05, 1e-4]))
@examples(100)
def test_every_mean_below_the_end_is_refuted_by_the_products_themselves(drawn, start, miss):
    s, share = np.array(drawn).T
    x = s * share
    low, high = draws_of(x[:, None], s[:, None]).ends(miss, np.array([start]), np.array([1.0]))
    for way, first, end in ((1.0, start, low[0]), (-1.0, -1.0, -high[0])):
        if end == first:
            continue
        grid = np.arange(np.ceil(max(first, -2047 / 2048) * 2048), end * 2048 + 0.5) / 2048
        assert grid.size
        assert all(log_wealth(way * x, s, mean, miss) >= np.log(12.0 / miss) * (1.0 - 1e-9) for mean in grid[-40:])


def test_an_end_is_the_same_wherever_the_search_for_it_began():
    s = np.ones((400, 1))
    x = (np.random.default_rng(0).random((400, 1)) < 0.7) - 0.4
    end = draws_of(x, s).ends(0.05, np.array([-1.0]), np.array([1.0]))[0]
    for steps in range(1, 40):
        assert draws_of(x, s).ends(0.05, end - steps / 2048, np.array([1.0]))[0] == end


def test_a_group_that_may_be_huge_is_not_taken_to_be_absent():
    """Of groups of one row nine tenths have events; the rare one of 2,000 rows that evens it out was not drawn."""
    s = np.ones((400, 50))
    x = (np.random.default_rng(0).random((400, 50)) < 0.9) - 0.5
    sums = x.sum(0), s.sum(0), (x * x).sum(0), x.sum(0), s.sum(0), s.sum(0)
    assert (Stakes(*sums, 2_000.0).ends(0.05, -np.ones(50), np.ones(50))[0] <= 0.0).all()
    assert (Stakes(*sums, 1.0).ends(0.05, -np.ones(50), np.ones(50))[0] > 0.2).all()  # the mean of groups of one row


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rare", "common", "of groups", "two kinds of rows"])
def test_a_true_mean_is_beyond_an_end_as_rarely_as_it_says(kind):
    rng, trials, miss = np.random.default_rng(0), 1_000, 0.1
    n = 80 if kind == "of groups" else 400
    s = np.ones((n, trials))
    if kind == "rare":
        x, mean = (rng.random((n, trials)) < 0.01) - 0.01, 0.0
    elif kind == "common":
        x, mean = (rng.random((n, trials)) < 0.7) - 0.4, 0.3
    elif kind == "two kinds of rows":
        p = np.repeat([0.02, 0.9], n // 2)[:, None]
        x, mean = (rng.random((n, trials)) < p) * 1.0, 0.46
    else:
        s = np.broadcast_to(rng.integers(1, 25, n)[:, None].astype(float), (n, trials))
        x, mean = s * ((rng.random((n, trials)) < 0.2) - 0.2), 0.0
    low, high = draws_of(x, s).ends(miss, -np.ones(trials), np.ones(trials))
    assert max((low > mean).sum(), (high < mean).sum()) <= trials * miss
    assert np.median(high - low) < 0.6  # and it says something
