"""One audit reads a user's columns once, and a test called by itself reads them once too."""

import importlib
import inspect
import pkgutil
from collections import Counter

import numpy as np
import pytest

import calibrant
from calibrant import inference
from calibrant.door import columns
from calibrant.door.request import Listener
from calibrant.gate.request import GateRequest
from calibrant.gate.table import gate_opened
from calibrant.tables import entry, relations

RNG = np.random.default_rng(0)
V = RNG.random(400)
Y = (RNG.random(400) < V).astype(float)
TABLE = RNG.dirichlet(np.ones(3), 200)
LABELS = (RNG.random(200)[:, None] > np.cumsum(TABLE, axis=1)).sum(axis=1)

OPTIONS = {
    "calibration_gate": {"max_distance": 0.1},
    "squared_error_bootstrap": {"n_bins": 2, "strategy": "uniform"},
    "debiased_plug_in": {"n_bins": 4},
    "tcal_test": {"n_resamples": 500},
    "two_sample_calibration_test": {"n_resamples": 2000},
}
APART = ("canonical_kernel_test", "class_wise_test", "discrete_calibration_test")  # of classes; of few values: below
MODULES = [
    importlib.import_module(each.name)
    for each in pkgutil.walk_packages(inference.__path__, "calibrant.inference.")
    if not each.ispkg
]
TESTS = {
    name: found
    for module in MODULES
    for name, found in inspect.getmembers(module, inspect.isfunction)
    if found.__module__ == module.__name__
    and list(inspect.signature(found).parameters)[:2] == ["y_true", "y_prob"]
    and name not in APART
    and not name.startswith("_")
}


@pytest.fixture
def reads(monkeypatch):
    """How often each column was read, and predictions checked, wherever the function was imported to."""
    count = Counter()
    numbers, check = columns._numbers, columns._check_predictions

    def read(values, name):
        count[name] += 1
        return numbers(values, name)

    def check_predictions(prediction):
        count["checked"] += 1
        check(prediction)

    # `read_columns` looks both up where it stands, so that whoever imported it is counted.
    monkeypatch.setattr(columns, "_numbers", read)
    monkeypatch.setitem(columns._CHECKS, "y_prob", check_predictions)
    return count


ONCE = {"y_true": 1, "y_prob": 1, "checked": 1}


@pytest.mark.parametrize("values", ["many", "few"])
def test_a_binary_audit_reads_its_columns_once(reads, values):
    p = V**2 if values == "many" else np.round(V**2, 1)
    found = calibrant.audit(Y, p, n_resamples=99, random_state=0)
    assert reads == ONCE
    ran = {name for name, each in found.tests.items() if each.result is not None}
    assert found.advice.gain is not None
    assert ran == {"calibration_test"}


def test_the_gate_of_a_file_reads_its_columns_once(reads, monkeypatch, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y_true,y_prob\n" + "\n".join(f"{y:.0f},{v!r}" for y, v in zip(Y, V.tolist(), strict=True)) + "\n")
    fetched = []
    fetch = relations.fetch
    monkeypatch.setattr(relations, "fetch", lambda *arguments: fetched.append(arguments) or fetch(*arguments))
    found = gate_opened(entry.OpenedFile(path), GateRequest(max_distance=0.1, level=0.05), Listener())
    assert reads == ONCE
    assert len(fetched) == 1
    assert found.result == calibrant.calibration_gate(Y, V, max_distance=0.1)


@pytest.mark.slow
def test_an_audit_of_classes_reads_its_table_once(reads):
    sharper = TABLE**3 / (TABLE**3).sum(axis=1, keepdims=True)
    found = calibrant.audit(LABELS, sharper, n_resamples=99, random_state=0)
    assert found.classes is not None
    assert found.advice.scores
    # The table and the labels are read as such; the door's columns stand in for them once, to read the weights.
    assert reads == ONCE


@pytest.mark.parametrize("name", TESTS)
def test_a_test_reads_its_columns_once(reads, name):
    prediction = np.round(V, 1) if name == "grade_test" else V  # without grades each value is one
    TESTS[name](Y, prediction, **OPTIONS.get(name, {}))
    assert reads == ONCE


def test_every_test_is_among_them():
    assert len(TESTS) >= 12


def test_a_test_of_few_values_reads_its_columns_once(reads):
    calibrant.discrete_calibration_test(Y, np.round(V, 1))
    assert reads == ONCE
