"""Degenerate input to every public function of this room: an answer in numbers or InputError, and never a warning."""

import dataclasses
import inspect
import math
import warnings
from functools import partial

import numpy as np
import pytest

import calibrant
from calibrant import InputError
from calibrant.inference import calibration_tests
from calibrant_papers.smooth_tester import tolerant_smooth_test
from calibrant_papers.tolerant import tolerant_calibration_test
from tests.public import FUNCTIONS, of_room

FEW = {"n_resamples": 39, "random_state": 0}
MANY = {"n_resamples": 1499, "random_state": 0}


def table(p):
    return np.column_stack([1.0 - p, p])


def read_monitor(y, p):
    monitor = calibrant.CalibrationMonitor()
    monitor.update(y, p)
    return monitor.reading()


def of_registered(test):
    return partial(test.call, **FEW) if test.null == "redrawn" else test.call


CALLS = {
    **{name: of_registered(test) for name, test in calibration_tests().items()},
    "tcal_test": lambda y, p: [
        calibrant.tcal_test(y, p, **options)
        for options in (
            MANY,
            {**MANY, "critical_value": "consistency_resampling"},
            {**MANY, "smoothness": 0.5},
            {"critical_value": "theorem"},
        )
    ],
    "tcal_test, classes": lambda y, p: calibrant.tcal_test(y.astype(int), table(p), **MANY),
    "tcal_test, class-wise": lambda y, p: calibrant.tcal_test(y.astype(int), table(p), reduction="class_wise", **MANY),
    "debiased_plug_in": lambda y, p: calibrant.inference.debiased_plug_in(y, p, n_bins=4),
    "canonical_kernel_test": lambda y, p: calibrant.inference.canonical_kernel_test(y.astype(int), table(p), **FEW),
    "class_wise_test": lambda y, p: [
        calibrant.inference.class_wise_test(y.astype(int), table(p), **options)
        for options in ({}, {"sample_weight": np.linspace(0.5, 1.5, p.size)}, {"groups": np.arange(p.size) // 2})
    ],
    "cumulative_calibration_test": lambda y, p: [
        calibrant.cumulative_calibration_test(y, p, form=form, **FEW) for form in ("kuiper", "kolmogorov-smirnov")
    ],
    "two_sample_calibration_test": lambda y, p: calibrant.two_sample_calibration_test(y, p, **MANY),
    "two_sample_calibration_test, one scale": lambda y, p: calibrant.two_sample_calibration_test(
        y, p, test="chi_squared", smoothness=0.5, **MANY
    ),
    "population_bounds": calibrant.population_bounds,
    "bootstrap_bounds": lambda y, p: calibrant.bootstrap_bounds(y, p, n_resamples=79, random_state=0),
    "corp_regions": lambda y, p: calibrant.inference.corp_regions(y, p, **FEW),
    "squared_error_bootstrap": lambda y, p: calibrant.inference.squared_error_bootstrap(y, p, **FEW),
    "calibration_gate": lambda y, p: calibrant.calibration_gate(y, p, max_distance=0.05),
    "tolerant_calibration_test": lambda y, p: tolerant_calibration_test(y, p, accept_below=0.02, reject_above=0.1),
    "tolerant_smooth_test": lambda y, p: tolerant_smooth_test(y, p, accept_below=0.02, reject_above=0.1),
    "compare_calibration": lambda y, p: [calibrant.compare_calibration(y, p, other, **FEW) for other in (p, 1.0 - p)],
    "compare_all": lambda y, p: calibrant.inference.compare_all(y, {"a": p, "b": 1.0 - p}, **FEW),
    "grade_test": calibrant.inference.grade_test,
    "regret_bounds": calibrant.inference.regret_bounds,
    "CalibrationMonitor": read_monitor,
}
UNIFORM = np.random.default_rng(0).random(60)
PREDICTIONS = {
    "one row": np.array([0.3]),
    "one row, 0": np.zeros(1),
    "one row, 1": np.ones(1),
    "two rows": np.array([0.2, 0.9]),
    "equal": np.full(40, 0.3),
    "all 0": np.zeros(30),
    "all 1": np.ones(30),
    "0 and 1": np.repeat([0.0, 1.0], 20),
    "five values": np.tile([0.1, 0.3, 0.5, 0.7, 0.9], 60),
    "one step from 1": np.append(np.ones(40), 1.0 - 2.0**-53),
    "steps from 1": 1.0 - 2.0**-53 * np.arange(40),
    "some subnormal": np.append(UNIFORM, [5e-324, 1e-310, 1e-300]),
    "all subnormal": 5e-324 * np.arange(1, 41),
    "at the ends": np.random.default_rng(0).beta(0.02, 0.02, 60),
}
OUTCOMES = {
    "zeros": lambda p: np.zeros(p.size),
    "ones": lambda p: np.ones(p.size),
    "drawn": lambda p: (np.random.default_rng(1).random(p.size) < p).astype(float),
}


def check_numbers(found, where="result"):
    if isinstance(found, float):
        assert not math.isnan(found), where
    elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
        assert not np.isnan(found).any(), where
    elif isinstance(found, tuple | list):
        for each in found:
            check_numbers(each, where)
    elif dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            check_numbers(getattr(found, field.name), f"{where}.{field.name}")
        if hasattr(found, "pvalue"):
            assert 0.0 < found.pvalue <= 1.0
        if hasattr(found, "summary"):
            assert "nan" not in found.summary()


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_or_an_input_error(name):
    answered = 0
    for prediction in PREDICTIONS.values():
        for outcome in OUTCOMES.values():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    found = CALLS[name](outcome(prediction), prediction)
                except InputError:
                    continue
            answered += 1
            check_numbers(found)
    assert answered


def test_every_public_function_is_called():
    taking_rows = {
        name for name, value in of_room("inference").items() if "y_true" in inspect.signature(value).parameters
    }
    assert taking_rows <= {name.partition(",")[0] for name in CALLS}


@pytest.mark.parametrize("number", [10**12, 1e12, 10**30, 0, -1, True, "99", math.nan])
def test_numbers_of_resamples_that_no_memory_holds_are_refused(number):
    rng = np.random.default_rng(0)
    v = np.repeat([0.25, 0.75], 300)
    y = (rng.random(600) < v).astype(float)
    for name, function in of_room("inference", FUNCTIONS).items():
        if "n_resamples" not in inspect.signature(function).parameters:
            continue
        columns = (y.astype(int), table(v)) if "canonical" in name else (y, v)
        if name.startswith("compare"):
            columns = (y, v, v) if name == "compare_calibration" else (y, {"a": v, "b": v})
        with pytest.raises(InputError, match="n_resamples"):
            function(*columns, n_resamples=number)
