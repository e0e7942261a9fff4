"""Ranking by packed keys equals a plain sort, also where many keys share one step of the grid."""

import numpy as np
import pytest

from calibrant.kernels.smooth import quantise, ranks


@pytest.mark.parametrize(
    "key",
    [
        np.random.default_rng(0).normal(size=5000),
        np.concatenate([[-1e6, 1e6], np.random.default_rng(1).normal(size=5000) * 1e-9]),
        np.concatenate([[0.0, 1.0], np.arange(3000)[::-1] * 1e-22]),
        np.concatenate([[0.0, 5e-324], np.zeros(50)]),
        np.repeat([0.3, -0.1, 0.3], 400),
        np.zeros(1),
    ],
    ids=["normal", "cluster", "reversed cluster", "smallest range", "ties", "one"],
)
def test_order_is_the_order_of_the_keys(key):
    m = key.size
    bits = max(1, (m - 1).bit_length())
    packed = np.empty(m, np.uint64)
    quantise(key, key.min(), key.max(), bits, packed)
    packed.sort()
    order, rank = np.empty(m, np.uint32), np.empty(m, np.uint32)
    ranks(packed, key, bits, order, rank)
    assert np.all(np.diff(key[order]) >= 0)
    assert np.array_equal(np.sort(order), np.arange(m))
    assert np.array_equal(rank[order], np.arange(m))
