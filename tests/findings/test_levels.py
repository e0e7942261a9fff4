"""The level that is asked for is the level of every part: in the numbers, in the words, and of each part by itself."""

import re

import numpy as np
import pyarrow as pa
import pytest

import calibrant
from calibrant import (
    CalibrationSketch,
    InputError,
    audit,
    calibration_gate,
    choose_recalibrator,
    compare_calibration,
    find_segments,
    population_bounds,
)
from calibrant.door.classes import multiclass_sample
from calibrant.door.rows import Rows
from calibrant.findings.advice import advice_on_classes
from calibrant.inference import regret_bounds
from calibrant.inference.comparison.compare import compare_calibration_on_rows
from calibrant.recalibration import RecalibrationChoice, choose

RNG = np.random.default_rng(0)
N = 400
V = np.round(RNG.random(N), 2)
Y = (RNG.random(N) < V**1.3).astype(int)
KINDS = {
    "rows": {},
    "groups": {"groups": np.repeat(np.arange(N // 4), 4), "max_weight": 4},
    "weights": {"sample_weight": RNG.uniform(1.0, 2.0, N), "max_weight": 2},
}
LEVEL = 0.16
SURE = re.compile(r"([0-9.]+)% (?:confidence|band|interval|of calibrated)")


def levels(value, path=""):
    """Every level in what JSON is made of, with where it stands."""
    if isinstance(value, dict):
        told = "level" in value and not isinstance(value["level"], str)  # of premises it is a sentence
        found = [(path, value["level"])] if told else []
        return found + [pair for key, each in value.items() for pair in levels(each, f"{path}/{key}")]
    if isinstance(value, list | tuple):
        return [pair for i, each in enumerate(value) for pair in levels(each, f"{path}/{i}")]
    return []


def assert_of_level(found, level=LEVEL, least=1):
    told = dict(levels(found.to_dict()))
    assert len(told) >= least
    assert {path: each for path, each in told.items() if each != level} == {}
    said = SURE.findall(found.summary())
    assert set(said) <= {f"{100.0 * (1.0 - level):g}"}
    return said


def made(kind):
    if kind == "sketch":
        return CalibrationSketch().update(Y, V).audit(level=LEVEL)
    if kind == "classes":
        label, table = RNG.integers(0, 3, N), np.random.default_rng(1).dirichlet(np.ones(3), N)
        return audit(label, table, level=LEVEL, n_resamples=39, random_state=0)
    return audit(Y, V, level=LEVEL, n_resamples=39, random_state=0, **KINDS[kind])


@pytest.mark.parametrize("kind", [*KINDS, "sketch", pytest.param("classes", marks=pytest.mark.slow)])
def test_every_part_of_an_audit_has_the_level_of_the_audit(kind):
    found = made(kind)
    assert assert_of_level(found, least=5)
    if kind in ("sketch", "classes"):
        return
    options = KINDS[kind]
    gate = calibration_gate(Y, V, max_distance=found.gate.max_distance, level=LEVEL, **options)
    assert tuple(found.gate.lower_distance) == pytest.approx(tuple(gate.lower_distance), abs=1e-12)
    bounds = population_bounds(Y, V, level=LEVEL, **options)
    assert tuple(found.population.lower_distance) == pytest.approx(tuple(bounds.lower_distance), abs=1e-12)
    if kind == "rows":
        regret = regret_bounds(Y, V, level=LEVEL).to_dict()["regret_interval"]
        assert found.cost_of_acting.to_dict()["regret_interval"] == regret
    (test,) = (each for name, each in found.to_dict()["tests"].items() if name == "calibration_test")
    plain = {name: value for name, value in options.items() if name != "max_weight"}
    alone = calibrant.calibration_test(Y, V, level=LEVEL, random_state=0, **plain)
    assert test["reject"] == (test["pvalue"] <= LEVEL)
    assert abs(test["pvalue"] - alone.pvalue) < 0.1


def test_sketches_gates_and_comparisons_keep_the_level():
    sketch = CalibrationSketch().update(Y, V)
    assert sketch.gate(max_distance=0.1, level=LEVEL).level == LEVEL
    both = [sketch.gate(max_distance=0.1, level=each).lower_distance for each in (LEVEL, LEVEL / 2.0)]
    assert both[1].low <= both[0].low <= both[0].high < both[1].high
    compared = compare_calibration(Y, V, np.sqrt(V), level=LEVEL, n_resamples=99, random_state=0)
    assert_of_level(compared)
    narrow = compare_calibration(Y, V, np.sqrt(V), level=2.0 * LEVEL, n_resamples=99, random_state=0)
    assert compared.interval.low < narrow.interval.low < narrow.interval.high < compared.interval.high


def test_a_choice_and_a_search_keep_the_level():
    assert_of_level(choose_recalibrator(Y, V, level=LEVEL))
    table = pa.table({"y": Y, "p": V, "place": np.where(np.arange(N) % 3 == 0, "a", "b")})
    assert_of_level(find_segments(table, y_true="y", y_prob="p", level=LEVEL, n_resamples=39, random_state=0))


def test_two_samples_are_compared_with_as_many_redraws_as_the_level_needs():
    rows = Rows.of(Y, V), Rows.of(Y[:300], V[:300])
    settings = {"paired": False, "measure": "smooth_calibration_error", "level": 0.1, "random_state": 0}
    assert compare_calibration_on_rows(*rows, **settings, n_resamples=9).level == 0.1
    with pytest.raises(InputError, match="n_resamples: is 8"):
        compare_calibration_on_rows(*rows, **settings, n_resamples=8)


def test_repairs_of_classes_are_compared_at_the_level(monkeypatch):
    asked, choice = [], RecalibrationChoice("constant", None, LEVEL, noise=0.0)
    monkeypatch.setattr(choose, "choose_on_classes", lambda *given, **_: asked.append(given) or choice)
    sample = multiclass_sample(np.arange(30) % 3, np.full((30, 3), 1.0 / 3.0))
    advice_on_classes(sample, "worth correcting", LEVEL, print)
    assert asked[0][1] == LEVEL
