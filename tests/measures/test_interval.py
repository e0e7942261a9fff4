"""The interval family against its definitions and the unifying-theory paper's examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import (
    InputError,
    binned_calibration_error_bound,
    interval_calibration_error,
    interval_calibration_partition,
    random_interval_calibration_error,
    surrogate_interval_calibration_error,
)
from tests.oracles import interval as oracle
from tests.oracles import interval_shifted as shifted
from tests.strategies import samples

WIDTHS = st.one_of(st.sampled_from([1.0, 0.5, 0.1, 0.3, 2.0, 1e-3, 1e-9]), st.floats(0.01, 3.0))


def check_partition(y_true, y_prob, weight, partition):
    """The partition holds every prediction once, and its value is what its intervals cost."""
    w = np.ones_like(y_prob) if weight is None else weight
    cost = 0.0
    held = np.zeros(y_prob.size, int)
    for first, last in zip(partition.first, partition.last, strict=True):
        inside = (y_prob >= first) & (y_prob <= last)
        held += inside
        cost += abs((w * (y_true - y_prob))[inside].sum() / w.sum()) + w[inside].sum() / w.sum() * (last - first)
    assert np.all(held == 1)
    assert partition.value == pytest.approx(cost, abs=1e-12)


@settings(max_examples=1500, deadline=None)
@given(samples())
def test_interval_error_equals_all_partitions(sample):
    y_true, y_prob, weight = sample
    partition = interval_calibration_partition(y_true, y_prob, sample_weight=weight)
    assert partition.value == pytest.approx(oracle.interval_calibration_error(*sample), abs=1e-12)
    assert partition.value == interval_calibration_error(y_true, y_prob, sample_weight=weight)
    check_partition(*sample, partition)


@pytest.mark.parametrize("kind", ["calibrated", "biased", "drift", "few ties"])
def test_skipping_blocks_loses_nothing(kind):
    rng = np.random.default_rng(5)
    y_prob = rng.random(1500)
    if kind == "few ties":
        y_prob = np.round(y_prob, 2)
    y_true = (rng.random(y_prob.size) < {"biased": y_prob**2, "drift": 0.5 * y_prob}.get(kind, y_prob)) * 1.0
    v, at = np.unique(y_prob, return_inverse=True)
    s = np.concatenate([[0], np.cumsum(np.bincount(at, y_true - y_prob))]) / y_prob.size
    w = np.concatenate([[0], np.cumsum(np.bincount(at))]) / y_prob.size
    best = np.zeros(v.size + 1)
    for j in range(1, v.size + 1):
        best[j] = np.min(best[:j] + np.abs(s[j] - s[:j]) + (w[j] - w[:j]) * (v[j - 1] - v[:j]))
    partition = interval_calibration_partition(y_true, y_prob)
    assert partition.value == pytest.approx(best[-1], abs=1e-12)
    check_partition(y_true, y_prob, None, partition)


@settings(max_examples=2000, deadline=None)
@given(samples(), WIDTHS)
def test_random_interval_error_equals_all_shifts(sample, width):
    y_true, y_prob, weight = sample
    value = random_interval_calibration_error(y_true, y_prob, sample_weight=weight, width=width)
    # The oracle's own v mod width loses digits when the width is tiny.
    tolerance = max(1e-10, 1e-14 / width)
    assert value == pytest.approx(shifted.random_interval_calibration_error(*sample, width), abs=tolerance)


@settings(max_examples=1000, deadline=None)
@given(samples(max_rows=15))
def test_surrogate_equals_all_widths(sample):
    y_true, y_prob, weight = sample
    value = surrogate_interval_calibration_error(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(shifted.surrogate_interval_calibration_error(*sample), abs=1e-9)


def test_a_width_far_below_the_gaps_gives_level_sets_exactly():
    rng = np.random.default_rng(0)
    y_prob, y_true = rng.random(1000), rng.random(1000) < 0.5
    levels = np.abs(y_true - y_prob).mean()
    for width in (1e-12, 1e-15, 1e-18, 1e-300):
        value = random_interval_calibration_error(y_true, y_prob, width=width)
        assert value == pytest.approx(levels, abs=1e-12)


@settings(max_examples=1000, deadline=None)
@given(samples(), WIDTHS)
def test_inequalities_of_section_6(sample, width):
    y_true, y_prob, weight = sample
    interval = interval_calibration_error(y_true, y_prob, sample_weight=weight)
    shifted_error = random_interval_calibration_error(y_true, y_prob, sample_weight=weight, width=width)
    half = random_interval_calibration_error(y_true, y_prob, sample_weight=weight, width=width / 2)
    assert interval <= shifted_error + width + 1e-9
    assert shifted_error <= half + 1e-9
    assert interval <= surrogate_interval_calibration_error(y_true, y_prob, sample_weight=weight) + 1e-9
    assert interval <= binned_calibration_error_bound(y_true, y_prob, sample_weight=weight) + 1e-9


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_lemma_6_8(alpha):
    beta = alpha / 2
    y_prob = [0.5 + alpha + beta, 0.5 + alpha, 0.5 - alpha, 0.5 - alpha - beta]
    value = interval_calibration_error([0, 0.5, 0.5, 1], y_prob, sample_weight=[alpha, 0.5 - alpha, 0.5 - alpha, alpha])
    assert value >= alpha - 1e-12


def test_lemma_6_9_discontinuity():
    alpha, beta, epsilon = 1 / 6, 1 / 48, 1e-6
    mean = np.array([0.5 - beta + alpha, 0.5 - epsilon - alpha, 0.5 + epsilon + 2 * alpha, 0.5 + beta - 2 * alpha])
    apart = np.array([0.5 - beta, 0.5 - epsilon, 0.5 + epsilon, 0.5 + beta])
    together = np.array([0.5 - beta, 0.5, 0.5, 0.5 + beta])
    assert interval_calibration_error(mean, apart) <= beta
    limit = np.array([0.5 - beta + alpha, 0.5 - alpha, 0.5 + 2 * alpha, 0.5 + beta - 2 * alpha])
    assert interval_calibration_error(limit, together) >= 2 * beta - 1e-12


@pytest.mark.parametrize("width", [0, -1, float("nan"), float("inf"), "wide", True])
def test_bad_width(width):
    with pytest.raises(InputError, match="width: is"):
        random_interval_calibration_error([0, 1], [0.2, 0.3], width=width)
