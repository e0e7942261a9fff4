"""Isotonic regression: SciPy's, to the last bit and block by block; by its max-min formula in the tests of CORP."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from calibrant.kernels.isotonic import isotonic
from tests.strategies import examples

RATES = {
    "outcomes": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "rates": lambda rng, n: rng.random(n),
    "ties": lambda rng, n: rng.integers(0, 4, n) / 3.0,
    "nearly increasing": lambda rng, n: np.sort(rng.random(n)) + rng.normal(0.0, 0.02, n),
    "falling": lambda rng, n: np.sort(rng.random(n))[::-1],
}
WEIGHTS = {
    "equal": lambda _rng, n: np.broadcast_to(1.0, n),
    "counts": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "over many orders": lambda rng, n: 10.0 ** rng.integers(-9, 9, n),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("rates", RATES)
@examples(100)
@given(n=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
def test_it_is_scipys_to_the_last_bit(rates, weights, n, seed):
    rng = np.random.default_rng(seed)
    rate, weight = RATES[rates](rng, n), WEIGHTS[weights](rng, n)
    kept = rate.copy()
    fitted, start = isotonic(rate, weight)
    peer = isotonic_regression(rate, weights=weight)
    assert (rate == kept).all()
    assert (fitted == peer.x).all()
    assert (start == peer.blocks[:-1]).all()
