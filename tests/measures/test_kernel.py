"""Kernel calibration error against the double sum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, kernel_calibration_error, smooth_calibration_error
from calibrant.door.sample import Sample, sorted_keys
from calibrant.kernels import pairs
from calibrant.measures import squared_canonical_kernel_error
from tests.oracles import kernel as oracle
from tests.strategies import examples, samples

BANDWIDTHS = st.one_of(st.sampled_from([1.0, 0.1, 1e-3, 1e-9, 50.0, 1e6]), st.floats(1e-4, 10.0))
KERNELS = st.sampled_from(["laplace", "gaussian"])


@pytest.mark.slow
@examples(3000)
@given(samples(), KERNELS, BANDWIDTHS)
def test_equals_the_double_sum(sample, kernel, bandwidth):
    y_true, y_prob, weight = sample
    value = kernel_calibration_error(y_true, y_prob, sample_weight=weight, kernel=kernel, bandwidth=bandwidth)
    expected = oracle.kernel_calibration_error(*sample, kernel, bandwidth)
    # A root near zero magnifies rounding, so the squares are compared more sharply than the values.
    assert value**2 == pytest.approx(expected**2, abs=1e-14)
    if expected > 1e-4:
        assert value == pytest.approx(expected, abs=1e-9)


ROWS = {
    "rates": ([0.3, 1.0, 0.0, 0.6], [0.1, 0.2, 0.5, 0.9], None),
    "single rates with weights": ([0.3, 1.0, 0.0, 0.6], [0.1, 0.2, 0.5, 0.9], [1.0, 3.0, 2.0, 0.5]),
    "ties of one outcome": ([1, 1, 0, 0, 0], [0.2, 0.2, 0.7, 0.7, 0.9], [1.0, 3.0, 2.0, 0.5, 1.0]),
    "ties of both": ([1, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.6, 0.6, 0.95], None),
    "weights by outcome": ([1, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.6, 0.6, 0.95], [3.0, 0.7, 3.0, 0.7, 3.0, 3.0]),
    "two rows": ([1, 0], [0.3, 0.3], [2.0, 1.0]),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("bandwidth", [1.0, 0.055, 0.04])  # in fewer than sixteen bandwidths, and in more
@pytest.mark.parametrize("unbiased", [False, True])
def test_rows_of_every_kind_have_the_double_sum(rows, kernel, bandwidth, unbiased):
    y_true, y_prob, weight = (None if each is None else np.array(each, float) for each in rows)
    options = {"sample_weight": weight, "kernel": kernel, "bandwidth": bandwidth, "unbiased": unbiased}
    value = kernel_calibration_error(y_true, y_prob, **options)
    expected = oracle.kernel_calibration_error(y_true, y_prob, weight, kernel, bandwidth, unbiased)
    assert value * abs(value) == pytest.approx(expected * abs(expected), abs=1e-14)


@examples(1000)
@given(samples(), KERNELS, BANDWIDTHS)
def test_unbiased_equals_the_double_sum_without_its_diagonal(sample, kernel, bandwidth):
    y_true, y_prob, _ = sample
    y_true = np.round(y_true)
    if y_prob.size < 2:
        return
    value = kernel_calibration_error(y_true, y_prob, kernel=kernel, bandwidth=bandwidth, unbiased=True)
    expected = oracle.kernel_calibration_error(y_true, y_prob, None, kernel, bandwidth, True)
    assert math.copysign(value**2, value) == pytest.approx(math.copysign(expected**2, expected), abs=1e-13)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("bandwidth", [1.0, 0.3, 0.02, 1e-4])
def test_larger_samples(kernel, bandwidth):
    rng = np.random.default_rng(1)
    y_prob = np.concatenate([rng.random(1500), rng.beta(20, 2, 500), [0.0, 1.0]])
    y_true = rng.random(y_prob.size) < y_prob**2
    value = kernel_calibration_error(y_true, y_prob, kernel=kernel, bandwidth=bandwidth)
    assert value == pytest.approx(oracle.kernel_calibration_error(y_true, y_prob, None, kernel, bandwidth), abs=1e-12)


@pytest.mark.parametrize("bandwidth", [0.2, 0.0625, 0.0624, 0.03, 1e-3, 2.0**-20, 1e-9])
@pytest.mark.parametrize("width", [0.3, 5.0, 60.0, 1000.0])
def test_gaussian_boxes_and_series_on_clumps(bandwidth, width):
    rng = np.random.default_rng(4)
    clumps = 0.5 + bandwidth * width * rng.standard_normal(3)[:, None] + bandwidth * rng.uniform(-10, 10, (3, 150))
    y_prob = np.concatenate([np.clip(clumps.ravel(), 0, 1), [0.0, 1.0]])
    y_true, weight = rng.random(y_prob.size) ** 2, rng.random(y_prob.size) ** 4
    value = kernel_calibration_error(y_true, y_prob, sample_weight=weight, kernel="gaussian", bandwidth=bandwidth)
    expected = oracle.kernel_calibration_error(y_true, y_prob, weight, "gaussian", bandwidth)
    assert value**2 == pytest.approx(expected**2, abs=1e-14)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("bandwidth", [5e-324, 1e-310, 1e-300, 2.0**-53, 1e-12, 1e300])
def test_bandwidths_at_the_ends_of_the_range(kernel, bandwidth):
    y_prob = np.array([0, 5e-324, 1e-320, 2e-310, 1e-300, 0.3, np.nextafter(0.3, 1), np.nextafter(1, 0), 1.0])
    y_true = np.arange(9) % 2.0
    value = kernel_calibration_error(y_true, y_prob, kernel=kernel, bandwidth=bandwidth)
    with np.errstate(over="ignore"):
        expected = oracle.kernel_calibration_error(y_true, y_prob, None, kernel, bandwidth)
    assert value == pytest.approx(expected, abs=1e-14)


def test_laplace_does_not_repeat_its_rounding_on_a_regular_grid():
    m = 2**20
    lost = -math.expm1(-1.0 / m)
    pairs_apart = 2.0 * (1.0 - lost) * (m * lost + math.expm1(-1.0)) / lost**2  # a geometric sum over |i - j| > 0
    total = pairs.laplace(np.arange(m) / m, np.full(m, 1.0 / m), 1.0)
    assert total == pytest.approx((m + pairs_apart) / m**2, rel=2e-13)


@examples(1000)
@given(samples(fractional=False), st.sampled_from(["distinct", "equal"]), KERNELS, BANDWIDTHS)
def test_unbiased_with_weights_where_pooled_sums_tell(sample, how, kernel, bandwidth):
    y_true, y_prob, weight = sample
    if how == "distinct":
        y_prob, kept = np.unique(y_prob, return_index=True)
        y_true = np.clip(y_true[kept] + 0.1 * (kept % 3), 0, 1)  # event rates are single rows here
        weight = np.ones_like(y_prob) if weight is None else weight[kept]
    else:
        weight = np.where(y_true == 1.0, 3.3, 0.7)
    if weight.sum() == 0.0 or 1.0 - ((weight / weight.sum()) ** 2).sum() < 1e-6:
        return
    value = kernel_calibration_error(
        y_true, y_prob, sample_weight=weight, kernel=kernel, bandwidth=bandwidth, unbiased=True
    )
    expected = oracle.kernel_calibration_error(y_true, y_prob, weight, kernel, bandwidth, True)
    tolerance = 1e-13 / (1.0 - (weight**2).sum() / weight.sum() ** 2)
    assert value * abs(value) == pytest.approx(expected * abs(expected), abs=tolerance)


def test_unbiased_says_where_pooled_sums_do_not_tell():
    # Two rows of outcome 1 at 0.2 with weights 1 and 3 look, pooled with a 0, like other weights would.
    with pytest.raises(InputError, match=r"unbiased: .* weigh the same \(as at 0\.2\)"):
        kernel_calibration_error([1, 1, 0, 0], [0.2, 0.2, 0.2, 0.4], sample_weight=[1, 3, 1, 1], unbiased=True)
    with pytest.raises(InputError, match=r"unbiased: needs outcomes of 0 or 1 .*0\.2"):
        kernel_calibration_error([0.5, 0.7, 0], [0.2, 0.2, 0.4], unbiased=True)
    # Of one outcome the sum of squared weights is enough.
    y_true, y_prob, weight = [1, 1, 0, 0], [0.2, 0.2, 0.4, 0.4], [1, 3, 1, 5]
    value = kernel_calibration_error(y_true, y_prob, sample_weight=weight, unbiased=True)
    assert value == pytest.approx(oracle.kernel_calibration_error(y_true, y_prob, weight, unbiased=True), abs=1e-12)


@pytest.mark.slow
def test_unbiased_has_the_right_mean():
    rng = np.random.default_rng(2)
    squares = []
    for _ in range(4000):
        y_prob = rng.random(20)
        value = kernel_calibration_error(rng.random(20) < y_prob, y_prob, unbiased=True)
        squares.append(math.copysign(value**2, value))
    assert abs(np.mean(squares)) < 4 * np.std(squares) / math.sqrt(len(squares))


@pytest.mark.slow
@examples(500)
@given(samples())
def test_theorem_8_5_with_a_root_of_two(sample):
    y_true, y_prob, weight = sample
    smooth = smooth_calibration_error(y_true, y_prob, sample_weight=weight)
    assert smooth / 2**0.5 <= kernel_calibration_error(y_true, y_prob, sample_weight=weight) + 1e-9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf"}, "kernel: is 'rbf'"),
        ({"bandwidth": 0}, "bandwidth: is 0"),
        ({"bandwidth": float("inf")}, "bandwidth: is inf"),
        ({"bandwidth": "wide"}, "bandwidth: is 'wide'"),
        ({"unbiased": True, "sample_weight": [1, 0]}, "unbiased: needs at least two rows"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        kernel_calibration_error([0, 1], [0.2, 0.3], **parameters)
    with pytest.raises(InputError, match="two rows"):
        kernel_calibration_error([0], [0.2], unbiased=True)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (3, {"block_size": 1}, "block_size: is 1; pairs need at least two rows per block"),
        (3, {"block_size": 0}, "block_size: is 0"),
        (3, {"bandwidth": 0.0}, "bandwidth: is 0"),
        (1, {}, "y_prob: has one row; pairs need at least two"),
    ],
)
def test_blocks_without_a_pair_are_refused(rows, options, message):
    table = np.tile([0.2, 0.3, 0.5], (3, 1))[:rows]
    with pytest.raises(InputError, match=message):
        squared_canonical_kernel_error(np.arange(3)[:rows], table, **options)


@pytest.mark.parametrize(("n", "block_size"), [(2, 2), (5, 2), (5, 3), (5, 5), (6, 100)])
@pytest.mark.parametrize("bandwidth", [1.0, 0.2])
def test_pairs_are_those_within_blocks_of_the_rows_as_they_were_dealt(n, block_size, bandwidth):
    rng = np.random.default_rng(n)
    label, table = rng.integers(0, 3, n), rng.dirichlet(np.ones(3), n)
    found = squared_canonical_kernel_error(label, table, bandwidth=bandwidth, block_size=block_size, random_state=0)
    order = np.lexsort((label, *table.T[::-1]))[np.random.default_rng(0).permutation(n)]
    off = np.eye(3)[label[order]] - table[order]
    terms = [
        off[i] @ off[j] * math.exp(-np.linalg.norm(table[order[i]] - table[order[j]]) / bandwidth)
        for i in range(n)
        for j in range(i)
        if i // block_size == j // block_size
    ]
    assert found == pytest.approx(np.mean(terms), abs=1e-12)


@examples(1000)
@given(samples(weights=False, fractional=False), st.sampled_from([1e-300, 1e-4, 0.1, 1.0, 30.0, 1e300]))
def test_sums_over_keys_are_those_over_the_sample(rows, bandwidth):
    y, v, _ = rows
    sample = Sample.of_arrays(np.array(y, float), np.array(v, float))
    keys = sorted_keys(np.array(y, float), np.array(v, float))
    assert pairs.laplace_of_keys(keys, bandwidth) == pairs.laplace(sample.prediction, sample.residual(), bandwidth)


@pytest.mark.parametrize("digits", [2, 17])
def test_many_rows_take_the_same_value(digits):
    rng = np.random.default_rng(4)
    v = np.round(rng.random(1 << 17), digits)
    y = (rng.random(v.size) < v**2).astype(float)
    few = kernel_calibration_error(y, v, sample_weight=np.ones(v.size))
    assert kernel_calibration_error(y, v) == pytest.approx(few, rel=1e-12)
    assert kernel_calibration_error(np.where(y == 1.0, 1.0, 0.25), v) > 0.0  # rates have no keys
