"""The bound holds in exact rational arithmetic: long sums, weights in the worst order, merged again and again."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from calibrant.kernels import sketching
from calibrant.measures.registry import measures
from calibrant.sketch.sketch import CalibrationSketch

# Rows of one prediction, as (outcome, weight, how often), in order; the worst for plain sums comes first.
STREAMS = {
    "a crowd of specks after a giant": [(1.0, 2.0**53, 1), (0.0, 1.0, 1_000_000)],
    "specks that each are just below half a unit": [(1.0, 2.0**40, 1), (0.0, 2.0**-13 * 0.999, 1_000_000)],
    "tenths": [(0.0, 0.1, 1_500_000), (1.0, 0.1, 500_000)],
    "rates of uneven weights": [(0.3, 0.7, 300_000), (0.9, 1e9, 3), (0.1, 1e-3, 500_000)],
}


def exact_residual(stream, v):
    """The mean residual of the rows, exactly; outcomes times weights as real numbers, not as rounded ones."""
    weight = sum(Fraction(w) * n for _, w, n in stream)
    return sum(Fraction(w) * Fraction(y) * n for y, w, n in stream) / weight - Fraction(v)


def columns(stream, v):
    y, w = (np.concatenate([np.full(n, row[j]) for *row, n in stream]) for j in (0, 1))
    return y, np.full(y.size, v), w


def assert_bounds_hold(sketch, residual, most):
    """With one distinct prediction most errors are |mean residual|."""
    bounds, sample = sketch.error_bounds(), sketch.sample
    for name in (
        "smooth_calibration_error",
        "lower_calibration_distance",
        "interval_calibration_error",
        "random_interval_calibration_error",
        "kernel_calibration_error",
        "expected_calibration_error",
    ):
        measure = measures()[name]
        value = measure.on_sample(sample, **measure.parameters)
        assert abs(Fraction(value) - abs(residual)) <= Fraction(bounds[name]), name
        assert bounds[name] < most + 3e-9 * (name == "lower_calibration_distance")


@pytest.mark.parametrize("v", [0.3, 0.5])
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_bounds_hold_exactly_in_the_worst_order_and_merged_to_ten_to_the_nine_rows(stream, v):
    sketch = CalibrationSketch(2)
    for part in stream:
        y, p, w = columns([part], v)
        sketch.update(y, p, sample_weight=w)
    residual = exact_residual(stream, v)
    assert_bounds_hold(sketch, residual, 2e-11)
    for _ in range(10):
        sketch = sketch + sketch
    assert sketch.n_rows == 1024 * sum(n for *_, n in stream)
    assert_bounds_hold(CalibrationSketch.from_bytes(sketch.to_bytes()), residual, 2e-11)


@pytest.mark.slow
def test_a_giant_merged_with_many_specks():
    """Merging is a sum as well: a hundred thousand sketches of one row, or fifty of a thousand, after a giant."""
    giant = CalibrationSketch(2).update([1.0], [0.3], sample_weight=[2.0**53])
    speck = CalibrationSketch(2).update([0.0], [0.3], sample_weight=[1.0])
    thousand = CalibrationSketch.merge([speck] * 1_000)
    merged = CalibrationSketch.merge([giant, *[thousand] * 50, *[speck] * 50_000])
    assert_bounds_hold(merged, exact_residual([(1.0, 2.0**53, 1), (0.0, 1.0, 100_000)], 0.3), 2e-11)


@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_bounds_hold_exactly_for_plain_sums_of_engines(stream):
    y, v, w = columns(stream, 0.3)
    u = v * 2 - np.floor(v * 2)
    sums = [np.add.accumulate(x)[-1] for x in (w, w * y, w * w, w * u, w * y * u)]  # one by one, in this order
    cells = [[y.size, (y == 1).sum(), ((y > 0) & (y < 1)).sum(), *sums, 0.3, 0.3]]
    sketch = CalibrationSketch.from_cells([1], cells, 2)
    residual = exact_residual(stream, 0.3)
    assert_bounds_hold(sketch, residual, 5e-9)
    assert_bounds_hold(CalibrationSketch.from_bytes((sketch + sketch).to_bytes()), residual, 5e-9)
    assert_bounds_hold(sketch + CalibrationSketch(2).update(y, v, sample_weight=w), residual, 5e-9)
    frame = pa.table({"y": y, "v": v, "w": w})
    found = CalibrationSketch.from_frame(frame, y_true="y", y_prob="v", sample_weight="w", resolution=2)
    assert_bounds_hold(found, residual, 5e-9)


@pytest.mark.slow
@pytest.mark.parametrize("resolution", [2, 65536])
def test_offsets_of_unweighted_rows_are_sums_too(resolution):
    """A third is no sum of halves: plain sums of a million of them are 1e-11 off."""
    n = 1_000_000
    v = np.where(np.arange(n) % 2, 0.3, 0.1 + 0.2)
    y = (np.arange(n) % 4 == 0).astype(float)
    sketch = CalibrationSketch(resolution).update(y, v)
    mean = (Fraction(0.3) + Fraction(0.1 + 0.2)) / 2
    assert abs(Fraction(sketch.sample.prediction[0]) - mean) < Fraction(2) ** -52
    assert sketch.error_bound("expected_calibration_error", n_bins=2) < 2e-11
    found = CalibrationSketch.from_frame(pa.table({"y": y, "v": v}), y_true="y", y_prob="v", resolution=resolution)
    off = abs(Fraction(found.sample.prediction[0]) - mean)
    assert off <= Fraction(found.rounding) * 2
    assert found.error_bound("expected_calibration_error", n_bins=2) < (2e-11 if resolution > 2 else 2e-9)


def test_moments_hold_for_rows_that_fill_a_cell():
    """Displacement and moved residual, as rationals, from weights of ten orders of magnitude."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = 200
        v, y, w = 0.5 + rng.random(n) / 2**20, rng.random(n), np.exp(rng.normal(0, 5, n))
        sketch = CalibrationSketch(4).update(y, v, sample_weight=w)
        rows = [tuple(map(Fraction, row)) for row in zip(y, v, w, strict=True)]
        total = sum(b for *_, b in rows)
        mean = sum(a * b for _, a, b in rows) / total
        moved = sum(b * abs(a - mean) for _, a, b in rows) / total
        residual = sum(b * abs(o - a) * abs(a - mean) for o, a, b in rows) / total
        assert moved <= Fraction(sketch.displacement)
        assert residual <= Fraction(sketch.moments().moved_residual.sum())


@pytest.mark.slow
def test_double_double_sums_lose_nothing_that_a_double_can_show():
    table = sketching.new_table(2)
    w = np.random.default_rng(0).random(100_000) * 1e-12
    w[0] = 1e3
    sketching.add_rows(np.ones(w.size), np.full(w.size, 0.3), w, 2, table)
    exact = sum(map(Fraction, w))
    kept = Fraction(table[1, sketching.WEIGHT]) + Fraction(table[1, sketching.WEIGHT_REST])
    assert abs(kept - exact) <= exact * w.size / 2**105
