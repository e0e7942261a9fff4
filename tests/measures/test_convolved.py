"""Convolved calibration error against high-resolution quadrature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, convolved_calibration_error
from calibrant.measures import kernel
from calibrant.measures.kernel import closer
from tests.oracles import convolved as oracle
from tests.strategies import examples, samples


@examples(1500)
@given(samples(max_rows=12), st.floats(0.02, 3.0))
def test_equals_quadrature_at_a_bandwidth(sample, bandwidth):
    y_true, y_prob, weight = sample
    value = convolved_calibration_error(y_true, y_prob, sample_weight=weight, bandwidth=bandwidth)
    expected = oracle.convolved_calibration_error(*sample, bandwidth, points=1000)
    # The midpoint rule of the oracle errs by about (h / bandwidth)**2 at kinks.
    assert value == pytest.approx(expected, abs=2e-7 / bandwidth**2)


@examples(150)
@given(samples(max_rows=10))
def test_fixed_point_equals_quadrature(sample):
    y_true, y_prob, weight = sample
    value = convolved_calibration_error(y_true, y_prob, sample_weight=weight)
    assert value == pytest.approx(oracle.convolved_calibration_error(*sample, points=1000), abs=1e-4)
    if value > 1e-4:
        again = convolved_calibration_error(y_true, y_prob, sample_weight=weight, bandwidth=value)
        assert again == pytest.approx(value, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calibrated", "overconfident", "tied"])
def test_larger_samples_to_a_millionth(kind):
    rng = np.random.default_rng(4)
    y_prob = rng.beta(4, 0.7, 2000)
    if kind == "tied":
        y_prob = np.round(y_prob, 1)
    y_true = (rng.random(2000) < (y_prob**2 if kind == "overconfident" else y_prob)) * 1.0
    value = convolved_calibration_error(y_true, y_prob)
    assert oracle.convolved_calibration_error(y_true, y_prob, None, value, points=8000) == pytest.approx(
        value, abs=1e-6
    )


@examples(300)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-4, 1e-2, 0.2]),
    st.sampled_from([0.0, 0.37, 1.0]),
    st.integers(0, 5),
)
def test_only_what_predictions_reach_is_looked_at(seed, wide, at, apart):
    """That part of [0, 1] gives what all of it gives, at the fixed point and at bandwidths around it."""
    rng = np.random.default_rng(seed)
    y_prob = at + wide * (rng.random(300) - at)
    y_prob[:apart] = rng.random(apart).round(rng.integers(0, 5))
    y_true = (rng.random(300) < y_prob) * 1.0
    value = convolved_calibration_error(y_true, y_prob)
    for bandwidth in (value, 0.3 * value, 3.0 * value):
        if bandwidth < 1e-5:
            continue
        in_part = convolved_calibration_error(y_true, y_prob, bandwidth=bandwidth)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("calibrant.measures.kernel.closer", lambda v, _: (v, 1.0))
            whole = convolved_calibration_error(y_true, y_prob, bandwidth=bandwidth)
        assert in_part == pytest.approx(whole, abs=1e-6)
        assert bandwidth != value or in_part == pytest.approx(value, abs=1e-6)


def test_the_part_that_is_looked_at_ends_where_a_gaussian_does():
    def part(*v_and_bandwidth):
        *v, bandwidth = v_and_bandwidth
        near, length = closer(np.array(v), bandwidth)
        return [*near * length, length]

    assert part(0.4, 0.42, 0.01) == pytest.approx([0.09, 0.11, 0.2])
    assert part(0.0, 1e-4, 1e-3) == pytest.approx([0.0, 1e-4, 0.0091])
    assert part(0.9, 1.0, 0.01) == pytest.approx([0.09, 0.19, 0.19])
    assert part(0.4, 0.42, 0.03) == [0.4, 0.42, 1.0]
    assert part(0.0, 1e-4, 0.7, 1.0, 1e-4) == pytest.approx([0.0, 1e-4, 1.9e-3, 3.7e-3, 3.7e-3])
    assert part(0.0, 1e-4, 0.7, 1.0, 1e-3) == [0.0, 1e-4, 0.7, 1.0, 1.0]  # a transform is cheap enough


@pytest.mark.slow
def test_rare_events_beside_an_outlier_cost_no_large_transform(monkeypatch):
    rng = np.random.default_rng(5)
    y_prob = np.append(1e-4 * rng.exponential(size=20_000), [0.3, 0.9])
    y_true = (rng.random(y_prob.size) < y_prob) * 1.0
    cells = []
    monkeypatch.setattr(
        "calibrant.measures.kernel.SmoothedResidual",
        lambda v, r, n, make=kernel.SmoothedResidual: cells.append(n) or make(v, r, n),
    )
    value = convolved_calibration_error(y_true, y_prob)
    assert max(cells) <= 2**14
    monkeypatch.setattr("calibrant.measures.kernel.closer", lambda v, _: (v, 1.0))
    assert convolved_calibration_error(y_true, y_prob) == pytest.approx(value, abs=1e-9)
    assert max(cells) >= 2**18


@pytest.mark.parametrize("times", [1.0, 1e-3, 1e-9])
def test_errors_of_one_sign_add_up_and_need_no_grid(monkeypatch, times):
    p = np.random.default_rng(0).random(40) * times
    for mirrored in (p, 1.0 - p):
        y, expected = (mirrored > 0.5) * 0.0 + (mirrored is not p), float(p.mean())
        for bandwidth in (None, 0.02, 1.0):
            on_a_grid = oracle.convolved_calibration_error(y, mirrored, None, bandwidth, points=1000)
            assert on_a_grid == pytest.approx(expected, rel=1e-3, abs=1e-6)
            with monkeypatch.context() as patched:
                patched.setattr("calibrant.measures.kernel.SmoothedResidual", None)
                value = convolved_calibration_error(y, mirrored, bandwidth=bandwidth)
            assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_one_prediction_is_its_bias_whatever_the_bandwidth():
    for bias in (1.0, 0.3, 1e-3, 2e-5):
        assert convolved_calibration_error([bias], [0.0], sample_weight=[2]) == pytest.approx(bias, abs=1e-6)
        assert convolved_calibration_error([bias], [0.0], sample_weight=[2], bandwidth=0.2) == pytest.approx(bias)


def test_biases_that_do_not_meet_add_up():
    # At opposite walls, far more than a bandwidth apart.
    value = convolved_calibration_error([0, 0, 0, 1], [1, 0, 0, 0], sample_weight=[1, 1, 1e4, 1])
    assert value == pytest.approx(2 / 10003, abs=1e-9)
    value = convolved_calibration_error([0, 1], [0.25, 0.75], sample_weight=[1, 1], bandwidth=0.01)
    assert value == pytest.approx(0.25, abs=1e-9)


@pytest.mark.slow
def test_tiny_errors_keep_their_promised_accuracy():
    for bias in (1e-6, 1e-9, 1e-300):
        assert abs(convolved_calibration_error([0.5 + bias], [0.5], sample_weight=[1]) - bias) < 1e-5
    assert convolved_calibration_error([0.5, 0.25], [0.5, 0.25]) == 0.0


@pytest.mark.parametrize("size", [0.001, 0.02, 0.2])
def test_a_fixed_point_that_no_grid_resolves_is_told_by_the_error_at_the_finest_bandwidth(monkeypatch, size):
    """It lies below that bandwidth and not below the error there; one that a grid resolves is found."""
    v = np.linspace(0.05, 0.95, 60)
    r = size * np.where(np.arange(60) % 7 < 3, 1.0, -0.7) / 60.0
    exact = kernel.fixed_point(v, r)
    monkeypatch.setattr(kernel, "_LARGEST_GRID", 2**10)
    finest = kernel.NODES_PER_BANDWIDTH / 2**10
    at_finest = kernel.SmoothedResidual(v, r, 2**10).error(finest)
    found = kernel.fixed_point(v, r)
    if at_finest < finest:
        assert found == pytest.approx(at_finest, abs=1e-12)
        assert found - 1e-6 <= exact <= finest
    else:
        assert found == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("bandwidth", [0, -1, 1e-6, float("nan"), "wide"])
def test_bad_bandwidth(bandwidth):
    with pytest.raises(InputError, match="bandwidth: is"):
        convolved_calibration_error([0, 1], [0.2, 0.3], bandwidth=bandwidth)
