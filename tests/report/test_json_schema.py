"""The JSON of audits of every kind is laid out as docs/schema says, and has no name that it does not know."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant
from calibrant.door.ends import Interval
from calibrant.door.premises import Premises
from calibrant.door.request import Listener
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.gate.result import Check, Gated
from calibrant.inference import regret_bounds
from calibrant.inference.comparison.not_worse import NotWorse
from calibrant.report.schema import SCHEMA
from calibrant.segments.gate_bounds import BoundedSegment, BoundedSegments
from calibrant.tables.entry import open_table
from tests.hostile import WAYS, audited, document, gated
from tests.published import AUDIT, GATE, REGRET, Document, broken, changed, faults, read_schema

ROOT = Path(__file__).parents[2]


def test_what_is_laid_out_otherwise_is_found_out():
    found = json.loads(calibrant.audit([1], [0.5], n_resamples=0, random_state=0).to_json())
    whole = read_schema(AUDIT)
    rule = {"$ref": "#/$defs/audit"}
    assert faults({**found, "n_rows": "1"}, rule, whole) == ["audit.n_rows: '1' is not ['integer']"]
    assert faults({**found, "more": 1}, rule, whole) == ["audit.more is not in the schema"]
    assert faults({name: each for name, each in found.items() if name != "answer"}, rule, whole) == [
        "audit lacks answer"
    ]
    assert faults({**found, "schema": SCHEMA - 1}, rule, whole) == [f"audit.schema: {SCHEMA - 1}"]
    assert broken(Document(GATE, '{"a": NaN}', {})) == ["no JSON: NaN is no JSON"]
    assert broken(Document(GATE, '{"a": 1, "a": 2}', {})) == ["no JSON: a name stands twice"]
    assert broken(Document(GATE, '{"a": 1}', {"a": 1.0}))[0] == "other values than those of to_dict()"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["audit", "classes", "comparison", "gate", "regret gate"])
def test_a_schema_admits_what_is_printed_and_nothing_else(kind, tmp_path):
    """Whatever name is left out, and whatever value is of another kind: the schema refuses it."""
    document = everything(kind, tmp_path)
    assert broken(document) == []
    whole = read_schema(document.schema)
    for what, one in changed(thinned(json.loads(document.text))):
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
        return audited(calibrant.audit_table(frame, **parts, **names, **options))
    if kind == "classes":
        table = rng.dirichlet([1, 1, 1], 400)
        return audited(calibrant.audit(table.argmin(axis=1), table, **options))
    if kind == "comparison":
        return audited(calibrant.audit_table(frame, y_true="y", y_prob=["p", "q", "r"], **options))
    frame.to_csv(folder / "before.csv", index=False)
    limits = {"max_distance": 0.05, "by": ("k",), "find": ("k", "day"), "baseline": str(folder / "before.csv")}
    asked = GateRequest(
        **({"max_distance": None, "max_regret": 0.01} if kind == "regret gate" else limits), **names, level=0.05
    )
    return gated(REGRET if kind == "regret gate" else GATE, check_opened(open_table(frame), asked, Listener()))


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_hostile_documents_are_laid_out_as_the_schema_says(number, tmp_path):
    """One of every kind, in each run another; more of them in tools/long_runs.py layouts."""
    seed = int(np.random.default_rng().integers(2**32))
    made = document(number, seed, tmp_path)
    assert made is None or broken(made) == [], (seed, number)


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
    assert broken(gated(GATE, Gated("new", checks, Premises(0.05)))) == []


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_gates_of_regret_are_laid_out_as_the_schema_says(threshold):
    y_prob = np.linspace(0.1, 1.0, 400)
    bounds = regret_bounds(y_prob > 0.5, y_prob**2, max_regret=0.01, threshold=threshold)
    assert broken(gated(REGRET, Gated("new", (Check("all rows", "rows", bounds),), Premises(0.05)))) == []
