"""The JSON of audits of every kind is laid out as docs/schema says, and has no name that it does not know."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant
from calibrant import CalibrationSketch
from calibrant.door.ends import Interval
from calibrant.findings.comparison import compare
from calibrant.findings.gate_checks import check_opened
from calibrant.findings.gated import Check, Gated
from calibrant.findings.table import Told
from calibrant.findings.table_gate import Asked
from calibrant.inference import regret_bounds
from calibrant.inference.not_worse import NotWorse
from calibrant.report.schema import GATE_SCHEMA, SCHEMA, gate_as_json
from calibrant.scale.opening import open_table
from calibrant.segments.bounded import BoundedSegment, BoundedSegments
from tests.hostile import WAYS, document
from tests.published import broken, changed, faults, read_schema

ROOT = Path(__file__).parents[2]
AUDIT, GATE, REGRET = f"audit-{SCHEMA}", f"gate-{GATE_SCHEMA}", f"regret-gate-{GATE_SCHEMA}"


def audits():
    rng = np.random.default_rng(0)
    y_prob = rng.random(200)
    y_true = (rng.random(200) < y_prob**2).astype(float)
    options = {"random_state": 0, "n_resamples": 39}
    frame = pd.DataFrame({"y": y_true, "p": y_prob, "by": rng.choice(["a", "b"], 200), "day": np.arange(200) // 20})
    names = {"y_true": "y", "y_prob": "p"}
    classes = rng.dirichlet([1, 1, 1], 200)
    label = (rng.random(200)[:, None] > classes.cumsum(axis=1)).sum(axis=1)
    return {
        "arrays": lambda: calibrant.audit(y_true, y_prob, **options),
        "weights": lambda: calibrant.audit(y_true, y_prob, sample_weight=rng.random(200), **options),
        "rates": lambda: calibrant.audit_table(frame.assign(y=y_prob**2), by="by", **names, **options),
        "one row": lambda: calibrant.audit([1], [0.5], **options),
        "segments and drift": lambda: calibrant.audit_table(
            frame, by="by", drift="day", reference=0, **names, **options
        ),
        "found": lambda: calibrant.audit_table(frame.assign(k=frame["by"]), find=["by", "k"], **names, **options),
        "sketch": lambda: calibrant.audit_table(CalibrationSketch().update(y_true, y_prob), **options),
        "classes": lambda: calibrant.audit(label, classes, **options),
        "named classes": lambda: calibrant.audit(np.where(y_true > 0, "b", "a"), y_prob, pos_label="b", **options),
    }


@pytest.mark.parametrize("kind", audits())
def test_audits_are_laid_out_as_the_schema_says(kind):
    assert broken(audits()[kind]().to_json(), AUDIT) == []


@pytest.mark.slow
def test_two_audits_are_laid_out_as_the_schema_says():
    y_prob = np.random.default_rng(0).random(100)
    rows = [(y_prob > 0.5, each) for each in (y_prob, y_prob**2)]
    both = tuple(calibrant.audit(*each, random_state=0, n_resamples=39) for each in rows)
    found = compare(("a", "b"), both, tuple(rows), seed=0)
    assert found.result is not None
    assert broken(found.to_json(), AUDIT) == []


def test_what_is_laid_out_otherwise_is_found_out():
    found, whole = json.loads(audits()["one row"]().to_json()), read_schema(AUDIT)
    rule = {"$ref": "#/$defs/audit"}
    assert faults({**found, "n_rows": "1"}, rule, whole) == ["audit.n_rows: '1' is not ['integer']"]
    assert faults({**found, "more": 1}, rule, whole) == ["audit.more is not in the schema"]
    assert faults({name: each for name, each in found.items() if name != "answer"}, rule, whole) == [
        "audit lacks answer"
    ]
    assert faults({**found, "schema": SCHEMA - 1}, rule, whole) == [f"audit.schema: {SCHEMA - 1}"]
    assert broken('{"a": NaN}', GATE) == ["no JSON: NaN is no JSON"]
    assert broken('{"a": 1, "a": 2}', GATE) == ["no JSON: a name stands twice"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["audit", "classes", "comparison", "gate", "regret gate"])
def test_no_part_of_a_schema_admits_anything(kind, tmp_path):
    """Whatever name is left out, and whatever value is of another kind: the schema refuses it."""
    name, text = everything(kind, tmp_path)
    whole = read_schema(name)
    for what, one in changed(thinned(json.loads(text))):
        assert faults(one, whole, whole) != [], what


def thinned(value):
    """The same with one item of each list."""
    if isinstance(value, dict):
        return {name: thinned(each) for name, each in value.items()}
    return [thinned(each) for each in value[:1]] if isinstance(value, list) else value


def everything(kind, folder):
    """A document in which as much as can be is no null and not empty, and its schema."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.3, 0.5, 0.7], 400)
    frame = pd.DataFrame(
        {"y": rng.random(400) < p**2, "p": p, "q": p**2, "r": 1.0 - p, "k": rng.choice(["a", "b"], 400)}
    )
    frame["day"] = np.arange(400) // 100
    names, options = {"y_true": "y", "y_prob": "p"}, {"random_state": 0, "n_resamples": 39}
    if kind == "audit":
        parts = {"by": "k", "find": ["k", "day"], "drift": "day", "reference": 0, "title": "a title"}
        return AUDIT, calibrant.audit_table(frame, **parts, **names, **options).to_json()
    if kind == "classes":
        table = rng.dirichlet([1, 1, 1], 400)
        return AUDIT, calibrant.audit(table.argmin(axis=1), table, **options).to_json()
    if kind == "comparison":
        return AUDIT, calibrant.audit_table(frame, y_true="y", y_prob=["p", "q", "r"], **options).to_json()
    frame.to_csv(folder / "before.csv", index=False)
    limits = {"max_distance": 0.05, "by": ("k",), "find": ("k", "day"), "baseline": str(folder / "before.csv")}
    asked = Asked(
        **({"max_distance": None, "max_regret": 0.01} if kind == "regret gate" else limits), **names, level=0.05
    )
    return (REGRET if kind == "regret gate" else GATE), gate_as_json(check_opened(open_table(frame), asked, Told()))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(WAYS)))
def test_hostile_documents_are_laid_out_as_the_schema_says(number, tmp_path):
    """Of every kind one a run, each time another; 300 of each seed in tools/long_runs.py layouts."""
    seed = int(np.random.default_rng().integers(2**32))
    name_and_text = document(number, seed, tmp_path)
    assert name_and_text is None or broken(name_and_text[1], name_and_text[0]) == [], (seed, number)


def test_the_file_is_what_the_tool_writes():
    for path, text in runpy.run_path(str(ROOT / "tools" / "json_schema.py"))["files"]().items():
        assert path.read_text() == text


@pytest.mark.parametrize("limit", [0.3, 0.05, 0.0001])
def test_gates_are_laid_out_as_the_schema_says(limit):
    y_prob = np.linspace(0.1, 1.0, 400)
    result = calibrant.calibration_gate(y_prob > 0.5, y_prob**2, max_distance=limit)
    worse = NotWorse(result.verdict, "old", 0.02, Interval(-0.1, 0.1), 0.05, 400, 300, None, "proved")
    one, off = (BoundedSegment("a = 1", 9, 0.1, Interval(0.0, 0.2), p) for p in (None, 0.01))
    bounded = BoundedSegments("beyond", 0.02, 0.05, 400, 3, 1, (one,), one, 0.3, ("a",), 2, (), 1, (off,), "few")
    checks = (
        Check("all rows", "rows", result),
        Check("baseline", "baseline", worse),
        Check("found segments", "found", bounded),
    )
    assert broken(gate_as_json(Gated("new", checks)), GATE) == []


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_gates_of_regret_are_laid_out_as_the_schema_says(threshold):
    y_prob = np.linspace(0.1, 1.0, 400)
    bounds = regret_bounds(y_prob > 0.5, y_prob**2, max_regret=0.01, threshold=threshold)
    assert broken(gate_as_json(Gated("new", (Check("all rows", "rows", bounds),))), REGRET) == []
