"""Canonical kernel error: all pairs against a double sum, unbiased blocks, an exact level."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.inference import canonical_kernel_test
from calibrant.measures import squared_canonical_kernel_error


def drawn(n, k, seed, sharpen=1.0):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(k), n)
    label = np.minimum((rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1), k - 1)
    said = table**sharpen
    return label, said / said.sum(axis=1, keepdims=True)


def double_sum(label, table, bandwidth):
    total, n = 0.0, len(label)
    residual = np.eye(table.shape[1])[label] - table
    for i in range(n):
        for j in range(i):
            total += residual[i] @ residual[j] * np.exp(-np.linalg.norm(table[i] - table[j]) / bandwidth)
    return total / (n * (n - 1) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_all_pairs_are_the_double_sum(seed):
    label, table = drawn(2 + seed, 2 + seed % 4, seed, 1.5)
    for bandwidth in (0.1, 1.0):
        mine = squared_canonical_kernel_error(label, table, bandwidth=bandwidth, block_size=1000)
        assert mine == pytest.approx(double_sum(label, table, bandwidth), abs=1e-12)


@pytest.mark.slow
def test_blocks_are_unbiased_for_all_pairs():
    label, table = drawn(40, 3, 0, 2.0)
    dealt = [squared_canonical_kernel_error(label, table, random_state=seed) for seed in range(3000)]
    error = np.std(dealt) / np.sqrt(len(dealt))
    assert np.mean(dealt) == pytest.approx(double_sum(label, table, 1.0), abs=4 * error)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 10])
def test_level_and_power(k):
    rejected = sum(
        canonical_kernel_test(*drawn(60, k, seed), n_resamples=19, random_state=seed).reject for seed in range(400)
    )
    assert rejected <= 400 * 0.05 + 3.3 * np.sqrt(400 * 0.05 * 0.95)
    assert canonical_kernel_test(*drawn(3000, k, 0, 3.0), random_state=0).reject


def test_order_and_seed():
    label, table = drawn(100, 3, 0)
    order = np.random.default_rng(0).permutation(100)
    assert canonical_kernel_test(label, table, random_state=1) == canonical_kernel_test(
        label[order], table[order], random_state=1
    )


def test_a_class_of_probability_zero_is_never_drawn():
    label, table = drawn(200, 3, 0)
    table = np.column_stack([np.zeros(200), table])
    result = canonical_kernel_test(label + 1, table, random_state=0)
    assert 0.0 < result.pvalue <= 1.0


def test_what_is_refused():
    with pytest.raises(InputError, match="block_size"):
        squared_canonical_kernel_error([0, 1], [[0.5, 0.5]] * 2, block_size=1)
    with pytest.raises(InputError, match="one row"):
        squared_canonical_kernel_error([0], [[0.5, 0.5]])
    with pytest.raises(InputError, match="bandwidth"):
        squared_canonical_kernel_error([0, 1], [[0.5, 0.5]] * 2, bandwidth=0.0)
    with pytest.raises(InputError, match="adds up"):
        canonical_kernel_test([0, 1], [[0.5, 0.4]] * 2)
    with pytest.raises(InputError, match="n_resamples"):
        canonical_kernel_test([0, 1], [[0.5, 0.5]] * 2, n_resamples=3)


def test_labels_are_drawn_by_their_probabilities_and_rounding_leaves_the_last():
    from calibrant.kernels.canonical import draw_labels

    # The fifth row's probabilities add up to a little less than 1, and its number lies beyond.
    cumulative = np.array([[0.25, 0.5, 1.0]] * 4 + [[0.25, 0.5, 1.0 - 1e-9], [0.25, 0.5, 1.0]])
    label = np.empty(6, dtype=np.int64)
    draw_labels(cumulative, np.array([0.0, 0.25, 0.4999, 0.5, 1.0 - 1e-12, 0.999]), label)
    assert label.tolist() == [0, 1, 1, 2, 2, 2]
