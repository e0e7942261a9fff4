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
from calibrant.findings.gated import Check, Gated
from calibrant.inference import regret_bounds
from calibrant.inference.not_worse import NotWorse
from calibrant.report.schema import GATE_SCHEMA, SCHEMA, as_dict, gate_as_json
from calibrant.segments.bounded import BoundedSegment, BoundedSegments

ROOT = Path(__file__).parents[2]
SCHEMA_FILE = json.loads((ROOT / "docs" / "schema" / f"audit-{SCHEMA}.json").read_text())
KINDS = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}

WORDS = {"$schema", "$defs", "$ref", "title", "description", "anyOf", "const", "type", "items"}
WORDS |= {"properties", "required", "additionalProperties"}


def faults(value, rule, at="audit"):
    """Where a value is not as a rule of JSON Schema says, of the few keywords used here; unknown names are faults."""
    assert set(rule) <= WORDS, rule
    if "$ref" in rule:
        return faults(value, SCHEMA_FILE["$defs"][rule["$ref"].rpartition("/")[2]], at)
    found = []
    if "anyOf" in rule:
        each = [faults(value, one, at) for one in rule["anyOf"]]
        found += [] if [] in each else max(each, key=lambda some: len(some[0].split(" ")[0]))  # the nearest
    if "const" in rule and value != rule["const"]:
        found.append(f"{at}: {value!r}")
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(KINDS[kind](value) for kind in kinds):
        return [*found, f"{at}: {value!r:.40} is not {kinds}"]
    if isinstance(value, list) and "items" in rule:
        found += [fault for k, each in enumerate(value) for fault in faults(each, rule["items"], f"{at}[{k}]")]
    if isinstance(value, dict) and ("properties" in rule or "additionalProperties" in rule):
        found += [f"{at} lacks {name}" for name in rule.get("required", []) if name not in value]
        for name, each in value.items():
            known = rule.get("properties", {}).get(name, rule.get("additionalProperties"))
            found += [f"{at}.{name} is not in the schema"] if known is None else faults(each, known, f"{at}.{name}")
    return found


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
    found = json.loads(audits()[kind]().to_json())
    assert faults(found, SCHEMA_FILE) == []


@pytest.mark.slow
def test_two_audits_are_laid_out_as_the_schema_says():
    y_prob = np.random.default_rng(0).random(100)
    rows = [(y_prob > 0.5, each) for each in (y_prob, y_prob**2)]
    both = tuple(calibrant.audit(*each, random_state=0, n_resamples=39) for each in rows)
    found = as_dict(compare(("a", "b"), both, tuple(rows), seed=0))
    assert found["comparison"] is not None
    assert faults(json.loads(json.dumps(found)), SCHEMA_FILE) == []


def test_what_is_laid_out_otherwise_is_found_out():
    found = json.loads(audits()["one row"]().to_json())
    rule = {"$ref": "#/$defs/audit"}
    assert faults({**found, "n_rows": "1"}, rule) == ["audit.n_rows: '1' is not ['integer']"]
    assert faults({**found, "more": 1}, rule) == ["audit.more is not in the schema"]
    assert faults({name: each for name, each in found.items() if name != "answer"}, rule) == ["audit lacks answer"]
    assert faults({**found, "schema": SCHEMA - 1}, rule) == [f"audit.schema: {SCHEMA - 1}"]


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
    found = json.loads(gate_as_json(Gated("new", checks)))
    assert faults(found, json.loads((ROOT / "docs" / "schema" / f"gate-{GATE_SCHEMA}.json").read_text())) == []


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_gates_of_regret_are_laid_out_as_the_schema_says(threshold):
    y_prob = np.linspace(0.1, 1.0, 400)
    bounds = regret_bounds(y_prob > 0.5, y_prob**2, max_regret=0.01, threshold=threshold)
    found = json.loads(gate_as_json(Gated("new", (Check("all rows", "rows", bounds),))))
    assert faults(found, json.loads((ROOT / "docs" / "schema" / f"regret-gate-{GATE_SCHEMA}.json").read_text())) == []
