"""The interval family against its definitions and the unifying-theory paper's examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import (
    InputError,
    interval_calibration_error,
    random_interval_calibration_error,
    surrogate_interval_calibration_error,
)
from calibrant.door.sample import Sample
from calibrant.measures import binned_calibration_error_bound, interval_calibration_partition
from calibrant.measures.interval import least_costs
from tests.oracles import interval as oracle
from tests.oracles import interval_shifted as shifted
from tests.strategies import examples, samples

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
    assert partition.evaluate(y_true, y_prob, sample_weight=weight) == pytest.approx(cost, abs=1e-12)


@pytest.mark.slow
@examples(1500)
@given(samples())
def test_interval_error_equals_all_partitions(sample):
    y_true, y_prob, weight = sample
    partition = interval_calibration_partition(y_true, y_prob, sample_weight=weight)
    assert partition.value == pytest.approx(oracle.interval_calibration_error(*sample), abs=1e-12)
    assert partition.value == interval_calibration_error(y_true, y_prob, sample_weight=weight)
    check_partition(*sample, partition)


def every_cost(sample):
    """Least cost of partitioning the first j distinct predictions, for every j, by trying every last group."""
    v = sample.prediction
    s, mass = np.append(0.0, np.cumsum(sample.residual())), np.append(0.0, np.cumsum(sample.mass()))
    best = np.zeros(v.size + 1)
    for j in range(1, v.size + 1):
        best[j] = np.min(best[:j] + np.abs(s[j] - s[:j]) + (mass[j] - mass[:j]) * (v[j - 1] - v[:j]))
    return best


@examples(1000)
@given(samples())
def test_every_step_of_the_dynamic_program(given_rows):
    sample = Sample.from_columns(*given_rows)
    cost, start, first = least_costs(sample.prediction, sample.mass(), sample.residual())
    assert cost == pytest.approx(every_cost(sample), abs=1e-12)
    assert np.all((start[1:] >= 0) & (start[1:] < np.arange(1, start.size)))
    assert first[0] == 0
    assert start[np.append(first[1:], start.size - 1)].tolist() == first.tolist()


LARGER = ["calibrated", "biased", "drift", "few ties", "alternating", "crowded", "weights", "wild sums"]
LARGER += ["dithered", "dithered narrowly", "zigzag", "bits reversed", "one class", "grid"]


def larger_sample(kind, n):
    rng = np.random.default_rng(5)
    y_prob, weight = rng.random(n), None
    if kind == "few ties":
        y_prob = np.round(y_prob, 2)
    if kind in ("alternating", "crowded", "wild sums"):
        y_prob = 0.5 + 1e-6 * (np.sort(y_prob) - 0.5)
    if kind == "weights":
        weight = 10.0 ** rng.uniform(-6, 0, n)
    y_true = (rng.random(n) < {"biased": y_prob**2, "drift": 0.5 * y_prob}.get(kind, y_prob)) * 1.0
    if kind == "alternating":
        y_true = np.arange(n) % 2 * 1.0
    if kind == "wild sums":  # running sums in random order, so that every block of them looks alike
        y_true = np.clip(y_prob + np.diff(rng.random(n) / 2, prepend=0.0), 0.0, 1.0)
    if kind.startswith("dithered"):  # running sums that stay within one row's residual
        y_prob = 0.45 + np.sort(y_prob) * (1e-3 if kind == "dithered narrowly" else 0.1)
        y_true = np.diff(np.floor(np.cumsum(y_prob)), prepend=0.0)
    if kind == "zigzag":
        y_true = np.clip(y_prob + 0.5 * (np.arange(n) % 2 * 2 - 1) * np.linspace(0, 1, n), 0.0, 1.0)
    if kind == "bits reversed":
        y_prob = 0.5 + 1e-3 * (np.sort(y_prob) - 0.5)
        reversed_bits = sum((np.arange(n) >> k & 1) / 2.0 ** (k + 1) for k in range(20))
        y_true = np.clip(y_prob + 0.1 * np.diff(reversed_bits, prepend=0.0), 0.0, 1.0)
    if kind == "one class":
        y_true = np.zeros(n)
    if kind == "grid":
        y_prob = np.linspace(0, 1, n)
        y_true = (rng.random(n) < y_prob) * 1.0
    return y_true, y_prob, weight


@pytest.mark.parametrize("kind", LARGER)
def test_nothing_is_lost_on_larger_samples(kind):
    y_true, y_prob, weight = larger_sample(kind, 1500)
    sample = Sample.from_columns(y_true, y_prob, weight)
    best = every_cost(sample)
    assert least_costs(sample.prediction, sample.mass(), sample.residual())[0] == pytest.approx(best, abs=1e-12)
    partition = interval_calibration_partition(y_true, y_prob, sample_weight=weight)
    assert partition.value == pytest.approx(best[-1], abs=1e-12)
    check_partition(y_true, y_prob, weight, partition)


def test_a_partition_bounds_other_samples_and_refuses_predictions_outside_it():
    rng = np.random.default_rng(2)
    y_prob = np.round(rng.random(500), 2)
    partition = interval_calibration_partition(rng.random(500) < y_prob, y_prob)
    other = (rng.random(500) < 0.8 * y_prob) * 1.0
    assert partition.evaluate(other, y_prob) >= interval_calibration_error(other, y_prob) - 1e-12
    partition = interval_calibration_partition([0, 1, 0, 1], [0.5, 0.5, 0.51, 0.51])
    for outside in (0.4, 0.505, 0.6):
        with pytest.raises(InputError, match=r"y_prob: row 1 is 0\.\d+; it must lie in one of the intervals"):
            partition.evaluate([0, 1], [0.5, outside])


@examples(2000)
@given(samples(), WIDTHS)
def test_random_interval_error_equals_all_shifts(sample, width):
    y_true, y_prob, weight = sample
    value = random_interval_calibration_error(y_true, y_prob, sample_weight=weight, width=width)
    # The oracle's own v mod width loses digits when the width is tiny.
    tolerance = max(1e-10, 1e-14 / width)
    assert value == pytest.approx(shifted.random_interval_calibration_error(*sample, width), abs=tolerance)


@examples(1000)
@given(samples(max_rows=15))
def test_surrogate_equals_all_widths(sample):
    y_true, y_prob, weight = sample
    value = surrogate_interval_calibration_error(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(shifted.surrogate_interval_calibration_error(*sample), abs=1e-9)


def test_a_width_far_below_the_gaps_gives_level_sets_exactly():
    rng = np.random.default_rng(0)
    y_prob, y_true = rng.random(1000), rng.random(1000) < 0.5
    levels = np.abs(y_true - y_prob).mean()
    for width in (1e-12, 1e-15, 1e-18, 1e-300, 1e-315, 5e-324):
        value = random_interval_calibration_error(y_true, y_prob, width=width)
        assert value == pytest.approx(levels, abs=1e-12)


@examples(1000)
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
    y_prob = np.array([0.5 + alpha + beta, 0.5 + alpha, 0.5 - alpha, 0.5 - alpha - beta])
    y_true, weight = np.array([0, 0.5, 0.5, 1]), np.array([alpha, 0.5 - alpha, 0.5 - alpha, alpha])
    # The paper's g is calibrated and 5 alpha**2 away, on a domain that tells the predictions' two coordinates apart.
    g = 0.5 + alpha * np.array([-1, 1, -1, 1])
    for level in (0.5 - alpha, 0.5 + alpha):
        at = g == level
        assert np.average(y_true[at], weights=weight[at]) == pytest.approx(level)
    assert np.sum(weight * np.abs(g - y_prob)) == pytest.approx(5 * alpha**2)
    assert interval_calibration_error(y_true, y_prob, sample_weight=weight) >= alpha - 1e-12


def test_lemma_6_9_discontinuity():
    alpha, beta, epsilon = 1 / 6, 1 / 48, 1e-6
    mean = np.array([0.5 - beta + alpha, 0.5 - epsilon - alpha, 0.5 + epsilon + 2 * alpha, 0.5 + beta - 2 * alpha])
    apart = np.array([0.5 - beta, 0.5 - epsilon, 0.5 + epsilon, 0.5 + beta])
    together = np.array([0.5 - beta, 0.5, 0.5, 0.5 + beta])
    assert interval_calibration_error(mean, apart) <= beta
    assert interval_calibration_error(mean, together) >= 2 * beta - 1e-12


@pytest.mark.parametrize("width", [0, -1, float("nan"), float("inf"), "wide", True])
def test_bad_width(width):
    with pytest.raises(InputError, match="width: is"):
        random_interval_calibration_error([0, 1], [0.2, 0.3], width=width)
