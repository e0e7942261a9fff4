"""The sketch: adds up, keeps its word on every bound, and is stored whole or not at all."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.measures.registry import measures
from calibrant.sample import Sample
from calibrant.scale.bounds import BOUNDS
from calibrant.scale.sketch import CalibrationSketch
from tests.strategies import samples

CASES = settings(max_examples=150, deadline=None)
RESOLUTIONS = st.sampled_from([2, 4, 8, 64, 1024, 65536])


def sketched(sample, resolution=64):
    return CalibrationSketch(resolution).update(*sample)


def assert_same(a, b):
    (i, x), (j, y) = a.cells(), b.cells()
    np.testing.assert_array_equal(i, j)
    exact = [0, 1, 2, 8, 9]  # counts and extremes
    np.testing.assert_array_equal(x[:, exact], y[:, exact])
    np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", BOUNDS)
@CASES
@given(sample=samples(), resolution=RESOLUTIONS)
def test_answer_is_within_its_bound(name, sample, resolution):
    measure = measures()[name]
    sketch = sketched(sample, resolution)
    on_rows = measure.on_sample(Sample.from_columns(*sample), **measure.parameters)
    on_sketch = measure.on_sample(sketch.sample, **measure.parameters)
    assert abs(on_rows - on_sketch) <= sketch.error_bound(name) + 1e-9  # what the measures themselves promise


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("random_interval_calibration_error", {"width": 0.03}),
        ("kernel_calibration_error", {"kernel": "gaussian", "bandwidth": 0.1}),
        ("kernel_calibration_error", {"kernel": "laplace", "bandwidth": 0.01}),
        ("convolved_calibration_error", {"bandwidth": 0.05}),
        ("expected_calibration_error", {"n_bins": 7}),
    ],
)
@CASES
@given(sample=samples(), resolution=RESOLUTIONS)
def test_answer_is_within_its_bound_whatever_the_parameters(name, parameters, sample, resolution):
    measure = measures()[name]
    sketch = sketched(sample, resolution)
    on_rows = measure.on_sample(Sample.from_columns(*sample), **parameters)
    on_sketch = measure.on_sample(sketch.sample, **parameters)
    assert abs(on_rows - on_sketch) <= sketch.error_bound(name, **parameters) + 1e-9


def test_bounds_are_not_idle():
    """Two predictions in one cell, each off in its own direction: the smooth error moves, and by less than said."""
    y, p = [0, 1], [0.51, 0.73]
    sketch = CalibrationSketch(2).update(y, p)
    change = abs(
        measures()["smooth_calibration_error"].on_sample(Sample.from_columns(y, p))
        - measures()["smooth_calibration_error"].on_sample(sketch.sample)
    )
    assert 0.02 < change <= sketch.error_bound("smooth_calibration_error") < 0.11


@CASES
@given(sample=samples(), bins=st.sampled_from([1, 2, 4, 8, 16, 64]))
def test_binned_errors_are_exact_where_edges_are_grid_points(sample, bins):
    measure = measures()["expected_calibration_error"]
    sketch = sketched(sample, 64)
    assert sketch.error_bound(measure.name, n_bins=bins) < 1e-10
    exact = measure.on_sample(Sample.from_columns(*sample), n_bins=bins)
    assert measure.on_sample(sketch.sample, n_bins=bins) == pytest.approx(exact, abs=1e-11)


@CASES
@given(sample=samples(), scale=st.integers(0, 6))
def test_dyadic_sums_are_exact_whichever_side_is_closed(sample, scale):
    exact, pooled = Sample.from_columns(*sample), sketched(sample, 64).sample
    edges = np.arange(2**scale + 1) / 2**scale
    for side in ("left", "right"):
        of_rows, of_cells = (
            np.bincount(np.searchsorted(edges, each.prediction, side=side), each.residual(), edges.size + 1)
            for each in (exact, pooled)
        )
        np.testing.assert_allclose(of_rows, of_cells, atol=1e-12)


@CASES
@given(first=samples(), second=samples(), third=samples(), resolution=RESOLUTIONS)
def test_adding_is_associative_and_commutative_and_pools_the_rows(first, second, third, resolution):
    a, b, c = (sketched(each, resolution) for each in (first, second, third))
    assert_same(a + b, b + a)
    assert_same((a + b) + c, a + (b + c))
    assert_same(CalibrationSketch.merge([a, b, c]), a + b + c)
    together = CalibrationSketch(resolution)
    for each in (first, second, third):
        together.update(*each)
    assert_same(together, a + b + c)


@CASES
@given(sample=samples())
def test_one_prediction_a_cell_is_the_sample_itself(sample):
    y, p, w = sample
    p = np.round(p * 64) / 64
    sketch = CalibrationSketch(64).update(y, p, np.ones_like(p) if w is None else w)
    exact = Sample.from_columns(y, p, np.ones_like(p) if w is None else w)
    np.testing.assert_array_equal(sketch.sample.prediction, exact.prediction)
    np.testing.assert_array_equal(sketch.sample.cell_width, 0.0)
    np.testing.assert_allclose(sketch.sample.weighted_outcome, exact.weighted_outcome, rtol=1e-12)
    assert sketch.sample.binary == exact.binary
    assert sketch.error_bound("interval_calibration_error") < 1e-10


@CASES
@given(sample=samples())
def test_points_are_ordinary_input(sample):
    sketch = sketched(sample, 64)
    rates, predictions, weights = sketch.points()
    assert (np.diff(predictions) > 0).all()
    measure = measures()["smooth_calibration_error"]
    again = measure.function(rates, predictions, sample_weight=weights)
    assert again == pytest.approx(measure.on_sample(sketch.sample), abs=1e-9)


def test_a_measure_without_a_bound_has_no_answer():
    sketch = CalibrationSketch(64).update([0, 1, 1], [0.301, 0.302, 0.9])
    with pytest.raises(InputError, match="no proved bound"):
        sketch.error_bound("interval_calibration_error")
    with pytest.raises(InputError, match="no proved bound"):
        sketch.error_bound("expected_calibration_error", strategy="quantile")
    assert sketch.error_bounds()["interval_calibration_error"] is None


def test_bad_rows_and_options_are_refused_and_leave_the_sketch_alone():
    sketch = CalibrationSketch(64)
    with pytest.raises(InputError, match="y_prob: row 1 is nan"):
        sketch.update([0, 1], [0.5, np.nan])
    assert sketch.n_rows == 0
    with pytest.raises(InputError, match="no rows"):
        sketch.error_bound("smooth_calibration_error")
    for resolution in (0, 3, 1, 2**25, 64.0, True):
        with pytest.raises(InputError, match=r"resolution: .*power of two"):
            CalibrationSketch(resolution)
    with pytest.raises(InputError, match="resolution"):
        sketch + CalibrationSketch(128)
    with pytest.raises(TypeError):
        sketch + 1
    with pytest.raises(InputError, match="empty"):
        CalibrationSketch.merge([])


@CASES
@given(sample=samples())
def test_bytes_bring_back_every_bit(sample):
    sketch = sketched(sample)
    again = CalibrationSketch.from_bytes(sketch.to_bytes())
    np.testing.assert_array_equal(again.cells()[1], sketch.cells()[1])
    assert again.resolution == 64


def test_truncated_and_foreign_bytes_are_refused(tmp_path):
    data = CalibrationSketch(64).update([0, 1], [0.2, 0.7]).to_bytes()
    for cut in (0, 1, 8, len(data) // 2, len(data) - 1):
        with pytest.raises(InputError, match="data: is"):
            CalibrationSketch.from_bytes(data[:cut])
    sink = pa.BufferOutputStream()
    table = pa.table({"cell": [1]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="not a calibration sketch"):
        CalibrationSketch.from_bytes(sink.getvalue().to_pybytes())
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(table, foreign)
    with pytest.raises(InputError, match="not a calibration sketch"):
        CalibrationSketch.from_parquet(foreign)
    later = table.replace_schema_metadata({b"calibrant.sketch": b"9 64"})
    pq.write_table(later, foreign)
    with pytest.raises(InputError, match="layout"):
        CalibrationSketch.from_parquet(foreign)


def test_parquet_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "day.parquet"
    old = CalibrationSketch(64).update([0, 1], [0.2, 0.7])
    old.to_parquet(path)

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        (old + old).to_parquet(path)
    assert [file.name for file in tmp_path.iterdir()] == ["day.parquet"]
    assert CalibrationSketch.from_parquet(path).n_rows == 2
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a calibration sketch, or a part"):
        CalibrationSketch.from_parquet(path)


def test_a_name_that_is_no_text_is_a_damaged_sketch():
    data = CalibrationSketch(64).update([0, 1], [0.1, 0.5]).to_bytes()
    with pytest.raises(InputError, match="damaged"):
        CalibrationSketch.from_bytes(data.replace(b"cell", b"\xe7\xe7\xe7\xe7"))


@pytest.mark.parametrize("seed", range(300))
def test_changed_bytes_are_a_sketch_or_an_error(seed):
    rng = np.random.default_rng(seed)
    data = bytearray(CalibrationSketch(64).update([0, 1, 1], [0.1, 0.5, 0.75]).to_bytes())
    for _ in range(int(rng.integers(1, 6))):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
    try:
        found = CalibrationSketch.from_bytes(bytes(data))
    except InputError:
        return
    assert found.n_rows >= 0
