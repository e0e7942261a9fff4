"""The sketch: adds up, in any number of threads, and keeps its word on every bound."""

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.door.errors import InputError
from calibrant.door.identity import CELLS, identities
from calibrant.door.sample import Sample
from calibrant.measures.registry import measures
from calibrant.sketch.bounds import BOUNDS
from calibrant.sketch.sketch import CalibrationSketch
from tests.strategies import examples, samples

CASES = examples(150)
RESOLUTIONS = st.sampled_from([2, 4, 8, 64, 1024, 65536])


def sketched(sample, resolution=64):
    return CalibrationSketch(resolution).update(*sample[:2], sample_weight=sample[2])


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


@pytest.mark.slow
@CASES
@given(first=samples(), second=samples(), third=samples(), resolution=RESOLUTIONS)
def test_adding_is_associative_and_commutative_and_pools_the_rows(first, second, third, resolution):
    a, b, c = (sketched(each, resolution) for each in (first, second, third))
    assert_same(a + b, b + a)
    assert_same((a + b) + c, a + (b + c))
    assert_same(CalibrationSketch.merge([a, b, c]), a + b + c)
    together = CalibrationSketch(resolution)
    for each in (first, second, third):
        together.update(*each[:2], sample_weight=each[2])
    assert_same(together, a + b + c)


@CASES
@given(sample=samples())
def test_one_prediction_a_cell_is_the_sample_itself(sample):
    y, p, w = sample
    p = np.round(p * 64) / 64
    sketch = CalibrationSketch(64).update(y, p, sample_weight=np.ones_like(p) if w is None else w)
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


@pytest.mark.parametrize("kind", ["new", "of no cells"])
def test_an_empty_sketch_has_no_answers(kind):
    empty = CalibrationSketch(64) if kind == "new" else CalibrationSketch.from_cells([], np.empty((0, 10)), 64)
    for ask in (
        lambda: empty.sample,
        empty.points,
        empty.moments,
        empty.error_bounds,
        lambda: empty.displacement,
        lambda: empty.error_bound("interval_calibration_error"),
    ):
        with pytest.raises(InputError, match="no rows"):
            ask()
    assert (empty.n_rows, empty.n_cells) == (0, 0)


def test_threads_lose_no_row_and_readers_see_whole_updates():
    sketch, n = CalibrationSketch(64), 100_000
    v, y = np.full(n, 0.3), np.ones(n)
    sketch.update(y[:1], v[:1])
    seen = []

    def write():
        for _ in range(8):
            sketch.update(y, v)

    def read():
        while len(seen) < 50:
            cells = (sketch + CalibrationSketch(64)).cells()[1]
            seen.append((cells[0, 0] - 1) % n == 0 and cells[0, 0] == cells[0, 3] == cells[0, 4])

    threads = [threading.Thread(target=write) for _ in range(8)] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sketch.n_rows == 64 * n + 1
    assert all(seen)


def test_sketches_pickle_and_copy_and_copies_stand_alone():
    rng = np.random.default_rng(0)
    sketch = CalibrationSketch(64).update(rng.integers(0, 2, 500), rng.random(500), sample_weight=rng.random(500))
    for again in (pickle.loads(pickle.dumps(sketch)), copy.deepcopy(sketch), copy.copy(sketch)):
        assert again.to_bytes() == sketch.to_bytes()
        again.update([1], [0.5])
        assert again.n_rows == sketch.n_rows + 1 == 501
    assert len(pickle.dumps(CalibrationSketch().update([1], [0.5]))) < 2_000


def test_sources_are_distinct_where_several_are_said_to_be_and_copies_are_refused_else():
    rng = np.random.default_rng(0)
    one, other = (CalibrationSketch().update(rng.integers(0, 2, 200), rng.random(200)) for _ in "ab")
    assert not CalibrationSketch.merge([one], distinct=True).distinct  # it is compared with none
    for sketches, distinct in (([one, other], False), ([one, one], True)):
        merged = CalibrationSketch.merge(sketches, distinct=distinct)
        assert (merged.n_rows, merged.distinct, len(merged.parts)) == (400, distinct, 2)
        assert len(merged.claims()) == 3  # its own, and those of its sources
    with pytest.raises(InputError, match=r"^sketches: .*sketch 0"):
        CalibrationSketch.merge([one, one])
    assert (CalibrationSketch().claims(), len(one.claims())) == ((), 1)


@pytest.mark.parametrize("n", [3, 4])
def test_more_sources_than_a_list_has_room_for_are_not_known(monkeypatch, n):
    monkeypatch.setattr("calibrant.sketch.sketch.MOST_PARTS", 3)
    days = [CalibrationSketch().update([0, 1], [0.2, 0.1 * at]) for at in range(n)]
    merged = CalibrationSketch.merge(days, distinct=True)
    assert (merged.parts is None) == (n > 3)
    listed = CalibrationSketch()
    listed.list_parts(tuple(each.claims()[0] for each in days))
    assert listed.parts == merged.parts


@pytest.mark.parametrize("finer", [2, 1, 0.5])
def test_the_identity_of_a_sketch_is_that_of_its_rows_at_any_finer_resolution(finer):
    """Of cells that are wider than usual the number of rows alone is known."""
    rng = np.random.default_rng(0)
    v = np.r_[rng.random(80), rng.integers(0, CELLS + 1, 20) / CELLS]
    y = rng.integers(0, 2, 100)
    usual, found = (CalibrationSketch(size).update(y, v).identity for size in (CELLS, int(finer * CELLS)))
    if finer < 1:
        assert (found.count, found.rows, found.cells, found.bits) == (100, None, None, 0.0)
    else:
        assert found.equals(usual)
        assert (found.count, found.cells) == (usual.count, usual.cells)
        assert found.bits == pytest.approx(identities(y, v)[0].bits, rel=1e-6)  # of the rows one by one
        assert found.bits == pytest.approx(usual.bits)
