"""The reduction to two samples: statistics against their definition, p-values against what they promise."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from calibrant import threads
from calibrant.door.errors import InputError
from calibrant.inference.testing.tcal import event_rows
from calibrant.inference.testing.two_sample import two_sample_calibration_test
from calibrant.kernels.two_sample import crossed_statistics, permuted_statistics
from tests.oracles import tcal as oracle
from tests.strategies import examples

KINDS = [
    {"test": "multiscale_permutation"},
    {"test": "multiscale_permutation", "cross_fit": True},
    {"test": "permutation", "smoothness": 0.6},
    {"test": "permutation", "smoothness": 0.6, "cross_fit": True},
    {"test": "chi_squared", "smoothness": 0.6},
]


def counts(cells, member, m):
    return [sum(1 for c, inside in zip(cells, member, strict=True) if c == cell and inside) for cell in range(m)]


@examples(500)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1)), min_size=4, max_size=30),
    st.integers(1, 6),
    st.booleans(),
)
def test_statistics_equal_their_definition(pairs, n_scales, unbiased):
    z = np.array([k / 20 for k, _ in pairs])
    in_v = np.array([v for _, v in pairs])
    order = np.argsort(z, kind="stable")
    z, in_v = z[order], in_v[order]
    scales = tuple(2**b for b in range(1, n_scales + 1))
    gap = event_rows(in_v, z, scales).gap
    out = np.empty((1, n_scales))
    permuted_statistics(in_v, gap, unbiased, np.uint64(0), 0, out)
    n_v, n_w = in_v.sum(), (1 - in_v).sum()
    for b, m in enumerate(scales):
        cells = oracle.interval_cells(z, m)
        v, w = counts(cells, in_v, m), counts(cells, 1 - in_v, m)
        if min(n_v, n_w) < (2 if unbiased else 1):
            expected = 0.0
        elif unbiased:
            expected = oracle.two_sample_u(v, w, n_v, n_w)
        else:
            expected = sum((a / n_v - b / n_w) ** 2 for a, b in zip(v, w, strict=True))
        assert out[0, b] == pytest.approx(expected, abs=1e-9)


def test_permutations_are_uniform_subsets():
    # Five rows in bins of their own but two: the statistic tells whether the first two are together.
    z = np.array([0.1, 0.1, 0.4, 0.6, 0.9])
    in_v = np.array([1, 0, 1, 0, 0])
    out = np.empty((40_001, 1))
    permuted_statistics(in_v, event_rows(in_v, z, (4,)).gap, False, np.uint64(1), 0, out)
    values, found = np.unique(np.round(out[1:, 0], 9), return_counts=True)
    expected = {}
    for chosen in itertools.combinations(range(5), 2):
        v = np.zeros(5)
        v[list(chosen)] = 1
        pair = (v[:2].sum() / 2 - (2 - v[:2].sum()) / 3) ** 2
        value = round(pair + sum((x / 2 - (1 - x) / 3) ** 2 for x in v[2:]), 9)
        expected[value] = expected.get(value, 0) + 0.1
    assert values == pytest.approx(sorted(expected))
    share = np.array([expected[v] for v in sorted(expected)])
    assert np.abs(found / 40_000 - share).max() < 5 * 0.5 / 200


@pytest.mark.slow
def test_cross_fitting_averages_both_roles():
    rng = np.random.default_rng(0)
    z = np.sort(rng.random(40))
    happened, drawn, half = (rng.integers(0, 2, 40) for _ in range(3))
    gap = event_rows(happened, z, (4,)).gap
    out = np.empty((1, 1))
    crossed_statistics(happened, drawn, half, np.zeros((40, 2), np.int64), gap, np.uint64(0), 0, out)
    cells = oracle.interval_cells(z, 4)
    parts = []
    for role in (0, 1):
        v, w = happened * (half == role), drawn * (half != role)
        parts.append(oracle.two_sample_u(counts(cells, v, 4), counts(cells, w, 4), v.sum(), w.sum()))
    assert out[0, 0] == pytest.approx(np.mean(parts), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_level_is_kept_and_reversal_is_seen(kind):
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(100):
        y_prob = rng.beta(0.7, 2, 200)
        y_true = rng.random(200) < y_prob
        rejected += two_sample_calibration_test(y_true, y_prob, n_resamples=1999, random_state=rng, **kind).reject
    assert rejected <= binom.ppf(1 - 1e-5, 100, 0.05)
    y_prob = rng.random(1000)
    y_true = rng.random(1000) < 1 - y_prob
    assert two_sample_calibration_test(y_true, y_prob, random_state=rng, **kind).reject


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_sample_pvalues_are_uniform_enough(kind):
    # The whole is conservative (3 K parts); the parts themselves must be neither too small nor too large.
    rng = np.random.default_rng(1)
    small = 0
    for _ in range(140):
        y_prob = rng.random(120)
        y_true = rng.random(120) < y_prob
        result = two_sample_calibration_test(y_true, y_prob, n_resamples=1999, random_state=rng, **kind)
        small += result.two_sample_pvalues[1] <= 0.2
    assert small <= binom.ppf(1 - 1e-5, 140, 0.2)
    if kind["test"] != "multiscale_permutation":
        assert small >= binom.ppf(1e-5, 140, 0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_row_order_nor_threads_show(monkeypatch, kind):
    rng = np.random.default_rng(2)
    y_prob = np.round(rng.random(300), 2)
    y_true = rng.random(300) < y_prob
    order = rng.permutation(300)
    results = []
    for worth_a_thread, rows in itertools.product((0, 10**18), (slice(None), order)):
        monkeypatch.setattr(threads, "WORTH_A_THREAD", worth_a_thread)
        results.append(two_sample_calibration_test(y_true[rows], y_prob[rows], random_state=7, **kind))
    assert all(result == results[0] for result in results)


@pytest.mark.slow
def test_three_classes():
    rng = np.random.default_rng(3)
    y_prob = rng.dirichlet([1, 1, 1], 3000)
    label = (rng.random(3000)[:, None] >= np.cumsum(y_prob, axis=1)[:, :-1]).sum(axis=1)
    calibrated = two_sample_calibration_test(label, y_prob, random_state=0)
    assert not calibrated.reject
    assert len(calibrated.two_sample_pvalues) == 3
    assert two_sample_calibration_test((label + 1) % 3, y_prob, random_state=0).reject


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"test": "permutation"}, "smoothness"),
        ({"smoothness": 1.0}, "smoothness"),
        ({"test": "chi_squared", "smoothness": 1.0, "cross_fit": True}, "cross_fit"),
        ({"test": "kolmogorov"}, "test"),
        ({"n_resamples": 100}, "n_resamples"),
        ({"y_true": [0, 1], "y_prob": [0.2, 0.3]}, "y_prob"),
        ({"y_true": [0.5] * 100}, "y_true"),
    ],
)
def test_what_does_not_apply_is_said_plainly(arguments, fault):
    rng = np.random.default_rng(0)
    y_prob = rng.random(100)
    with pytest.raises(InputError) as error:
        two_sample_calibration_test(**{"y_true": np.arange(100) % 2, "y_prob": y_prob, **arguments})
    assert error.value.argument == fault


def test_three_classes_in_few_rows():
    """Each class's rows against those drawn from its own predictions: rolled labels are found, right ones are not."""
    rng = np.random.default_rng(3)
    y_prob = rng.dirichlet([0.3, 0.3, 0.3], 240)
    label = (rng.random(240)[:, None] >= np.cumsum(y_prob, axis=1)[:, :-1]).sum(axis=1)
    options = {"random_state": 0, "smoothness": 1.0, "test": "chi_squared", "n_resamples": 299}
    right, wrong = (two_sample_calibration_test(y, y_prob, **options) for y in (label, (label + 1) % 3))
    assert (right.reject, wrong.reject) == (False, True)
    assert len(wrong.two_sample_pvalues) == 3
