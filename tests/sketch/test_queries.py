"""A sketch is asked for its audit and for the gate, and answers for the rows that it stands for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CalibrationSketch, InputError, audit_table, calibration_gate
from calibrant.inference.bounds.draws import Draws
from calibrant.inference.bounds.one_event import Spread
from calibrant.measures.registry import measures
from calibrant.sketch.bounds import ARITHMETIC
from tests.strategies import examples

RNG = np.random.default_rng(0)
V = RNG.beta(0.5, 4.0, 3000)
Y = (RNG.random(3000) < V * 0.8).astype(float)


def test_the_audit_is_that_of_audit_table():
    sketch = CalibrationSketch(64).update(Y[:300], V[:300])
    options = {"level": 0.1, "n_resamples": 39, "random_state": 3, "title": "a week"}
    found = sketch.audit(**options)
    assert found.to_dict() == audit_table(sketch, **options).to_dict()
    assert found.n_cells == sketch.n_cells
    assert found.level == 0.1
    assert found.title.startswith("a week, rows pooled into")


@pytest.mark.parametrize("values", ["few", "grid", "atoms"])
def test_where_cells_hold_one_prediction_the_gate_is_that_of_the_rows(values):
    v = {"few": np.round(V, 1), "grid": np.round(V * 512) / 512, "atoms": np.round(V)}[values]
    for limit in (0.01, 0.2, 0.6):
        assert CalibrationSketch().update(Y, v).gate(max_distance=limit) == calibration_gate(Y, v, max_distance=limit)


@examples(20)
@given(st.integers(0, 10**6), st.sampled_from([2, 64, 4096]), st.sampled_from([20, 150]), st.floats(0.1, 20.0))
def test_the_gate_of_pooled_rows_holds_that_of_the_rows(seed, resolution, n, sharp):
    rng = np.random.default_rng(seed)
    v = np.where(rng.random(n) < 0.1, rng.integers(0, 2, n), rng.beta(1.0, sharp, n))
    y = (rng.random(n) < v).astype(float)
    sketch = CalibrationSketch(resolution).update(y[::2], v[::2]) + CalibrationSketch(resolution).update(
        y[1::2], v[1::2]
    )
    rows, pooled = (of(max_distance=0.1) for of in (lambda **o: calibration_gate(y, v, **o), sketch.gate))
    # The lower ends are of two splits by chance, of rows and of cells: tests/inference/test_bounds.py has their means.
    assert rows.lower_distance.high <= pooled.lower_distance.high
    assert pooled.n_rows == n
    assert pooled.verdict != "within" or rows.verdict == "within"


@given(st.integers(0, 10**6), st.sampled_from([2, 8, 128]))
def test_moments_of_cells_bound_those_of_the_rows(seed, resolution):
    rng = np.random.default_rng(seed)
    v = rng.beta(0.3, 0.6, 200)
    y = (rng.random(200) < v).astype(float)
    sketch = CalibrationSketch(resolution).update(y, v)
    most = Spread.of(Draws.of_sample(sketch.sample))
    assert most.least_squared <= ((y - v) ** 2).mean() + ARITHMETIC
    assert ((y - v) ** 2).mean() <= most.squared + ARITHMETIC


def test_what_pooling_costs_a_gate_is_little():
    rows = calibration_gate(Y, V, max_distance=0.3)
    pooled = CalibrationSketch().update(Y, V).gate(max_distance=0.3)
    assert (rows.verdict, pooled.verdict) == ("within", "within")
    # The lower ends are of two splits by chance, of rows and of cells.
    assert rows.lower_distance.high <= pooled.lower_distance.high <= rows.lower_distance.high + 5e-4


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((Y, V, np.linspace(1.0, 2.0, Y.size)), "max_weight: is needed"),
        ((Y, V, np.full(Y.size, 2.0)), "max_weight: is needed"),
        ((np.full(Y.size, 0.5), V, None), "holds event rates"),
    ],
)
def test_a_gate_refuses_what_its_proof_is_not_of(rows, said):
    sketch = CalibrationSketch(64).update(rows[0], rows[1], sample_weight=rows[2])
    with pytest.raises(InputError, match=said):
        sketch.gate(max_distance=0.1)


def test_a_gate_refuses_an_empty_sketch_and_wrong_limits():
    with pytest.raises(InputError, match="no rows"):
        CalibrationSketch().gate(max_distance=0.1)
    for limit in (0.0, 1.0, True, "0.1"):
        with pytest.raises(InputError, match="max_distance"):
            CalibrationSketch().update(Y, V).gate(max_distance=limit)
    with pytest.raises(InputError, match="no rows"):
        CalibrationSketch().audit()


@pytest.mark.slow
def test_measures_and_the_test_are_asked_of_the_sketch_itself():
    sketch = CalibrationSketch().update(Y, V)
    for name, parameters in (("smooth_calibration_error", {}), ("random_interval_calibration_error", {"width": 0.2})):
        exact = measures()[name].function(Y, V, **parameters)
        lower, upper = sketch.measure(name, **parameters)
        assert lower <= exact <= upper <= lower + 1e-4
    with pytest.raises(InputError, match="interval_calibration_error"):
        sketch.measure("interval_calibration_error")
    audited = sketch.audit(n_resamples=99, random_state=0).tests["calibration_test"].result
    found = sketch.test(n_resamples=99, random_state=0)
    assert (found.leading, found.tail_pvalue) == (audited.leading, audited.tail_pvalue)  # the rest is redrawn
    assert found.pooling == audited.pooling > 0.0
    assert found.reject
    heavy = CalibrationSketch().update(Y, V, sample_weight=RNG.random(3000))
    free = {"outcome_free_weights": True, "n_resamples": 99}
    audited = heavy.audit(**free, random_state=0).tests["calibration_test"].result
    assert heavy.test(**free).pvalue == audited.pvalue
    with pytest.raises(InputError, match="sketch: holds weights, which may tell outcomes"):
        heavy.test(n_resamples=99)
    with pytest.raises(InputError, match="outcome_free_weights: has no effect: there are no weights"):
        sketch.test(**free)
    with pytest.raises(InputError, match="n_resamples"):
        sketch.test(n_resamples=0)
    with pytest.raises(InputError, match="event rates"):
        CalibrationSketch().update([0.5, 0.25], [0.5, 0.25]).test()
