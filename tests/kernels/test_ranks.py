"""Ranking by packed keys equals a plain sort, also where many keys share one step of the grid."""

import numpy as np
import pytest

from calibrant.kernels.smooth import quantise, ranks
from calibrant.measures.smooth import _ranked


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
    order, rank, _ = _ranked(key, key.min(), key.max())
    assert np.array_equal(order, np.argsort(key, kind="stable"))
    assert np.array_equal(rank[order], np.arange(key.size))


@pytest.mark.parametrize(("key", "within"), [(np.arange(3000)[::-1], False), (np.arange(3000), True)])
def test_keys_of_one_grid_step_are_left_to_a_sort_where_many_are_out_of_order(key, within):
    key = np.concatenate([[0.0, 1.0], key * 1e-22])
    bits = (key.size - 1).bit_length()
    packed = np.empty(key.size, np.uint64)
    quantise(key, 0.0, 1.0, bits, packed)
    packed.sort()
    assert ranks(packed, key, bits, np.empty(key.size, np.uint32), np.empty(key.size, np.uint32)) is within
