"""Writes docs/schema/audit-N.json and gate-N.json: the JSON that is printed, as JSON Schemas (draft 2020-12).

``python tools/json_schema.py`` writes the files of today's versions; with ``--check`` it writes nothing, and exits
with 1 if one would change. What is a field of a result has its type and its description from there, so that whatever
the result can hold is admitted: a number that may be not finite is `FloatOrNull` there, and its description says when.
The layouts below say what stands where; a test holds hostile audits and gates against the files, and finds names that
they do not have; ``*`` is any name.
"""

from __future__ import annotations

import json
import re
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.decisions.line import GroupLine  # noqa: F401  # which annotations name, as Cost is
from calibrant.decisions.murphy import Cost  # noqa: F401
from calibrant.door.ends import Bracket
from calibrant.door.premises import Premises
from calibrant.door.values import OR_NULL
from calibrant.drift.monitor import MonitorReading
from calibrant.drift.periods import Period
from calibrant.findings.advice import Advice
from calibrant.findings.classes import ClassFindings, ConfusionTable
from calibrant.findings.decision import Answer
from calibrant.findings.inequalities import Inequality
from calibrant.findings.record import MeasureValue
from calibrant.findings.regions import Region
from calibrant.findings.reliability import Reliability
from calibrant.findings.results import Audit
from calibrant.gate.result import Check
from calibrant.inference.bounds.gate import GateResult
from calibrant.inference.bounds.regret import RegretBounds
from calibrant.inference.comparison.compare import ComparisonResult
from calibrant.inference.comparison.not_worse import NotWorse
from calibrant.inference.testing.calibration import CalibrationTestResult
from calibrant.inference.testing.result import TestResult
from calibrant.recalibration.compare import RecalibrationScore
from calibrant.report.schema import GATE_SCHEMA, SCHEMA
from calibrant.segments.by_column import Segment
from calibrant.segments.gate_bounds import BoundedSegments
from calibrant.segments.results import FoundSegments

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schema"
KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
CELL = ["string", "number", "boolean", "null"]
"""What a cell of a table is in JSON: text stands for dates and all else that JSON has not."""
PARTS = {
    Bracket: ("lower", "upper"),
    **{each: tuple(f.name for f in fields_of(each) if f.name != "premises") for each in (GateResult, RegretBounds)},
}
"""Results of which JSON has only some fields."""


class Rule(dict[str, Any]):
    """JSON Schema of a field; a layout names what stands where."""


def of(result: type, *names: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The layout of a result's fields, all of them or some: types and descriptions as the result has them."""
    wanted = names or PARTS.get(result) or tuple(each.name for each in fields_of(result))
    return {name: _field(result, name) for name in wanted if name not in without}


def _field(result: type, name: str) -> Rule:
    home = next(each for each in result.__mro__ if name in vars(each).get("__annotations__", ()))
    hint = eval(home.__annotations__[name], {**globals(), **vars(sys.modules[home.__module__])})
    rule, said = rule_of(hint), _described(result, name)
    if rule.get("type") != CELL and _may_be_null(rule) and "null" not in said:
        raise ValueError(f"{result.__name__} does not say when {name} is None")
    return Rule(**rule, description=said)


def _may_be_null(rule: dict[str, Any]) -> bool:
    """Whether a field, or a number of its array, may be null."""
    kinds = [each.get("type") for each in (rule, rule.get("items", {}), *rule.get("anyOf", ()))]
    return any(kind == "null" or (isinstance(kind, list) and "null" in kind) for kind in kinds)


def _described(result: type, name: str) -> str:
    """What the docstring says of a field, or that of a base; what Python has as None or NaN is null in JSON."""
    docs = "\n".join(each.__doc__ or "" for each in result.__mro__)
    for head, text in re.findall(r"^    (\w[\w, ]*?) : .*\n((?:        .*\n|\n)+)", docs, re.MULTILINE):
        if name in re.split(r",\s*", head):
            return re.sub(r"\b(None|NaN)\b", "null", " ".join(text.split()))
    raise ValueError(f"{result.__name__} does not say what {name} is")


def rule_of(hint: Any) -> dict[str, Any]:
    """JSON Schema of a type."""
    base, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {"type": CELL}
    if hint in KINDS:
        return {"type": KINDS[hint]}
    if isinstance(hint, type) and is_dataclass(hint):
        return expanded(of(hint))
    if base is typing.Annotated:
        return _or_null(rule_of(inner[0])) if OR_NULL in hint.__metadata__ else rule_of(inner[0])
    if base is typing.Literal:
        return rule_of(type(inner[0]))
    if base in (types.UnionType, typing.Union):
        return _any_of([rule_of(each) for each in inner])
    if base is tuple:
        return {"type": "array", "items": _any_of([rule_of(each) for each in inner if each is not ...])}
    if isinstance(base, type) and issubclass(base, Mapping):
        return {"type": "object", "additionalProperties": rule_of(inner[1])}
    if base is np.ndarray:
        return {"type": "array", "items": {"type": "number"}}
    raise TypeError(f"what is {hint} in JSON?")


def _any_of(rules: list[dict[str, Any]]) -> dict[str, Any]:
    """One rule of several; kinds without parts are one list."""
    rules = [each for i, each in enumerate(rules) if each not in rules[:i]]
    if len(rules) == 1:
        return rules[0]
    if all(set(each) == {"type"} for each in rules):
        kinds = [kind for each in rules for kind in ([each["type"]] if isinstance(each["type"], str) else each["type"])]
        return {"type": list(dict.fromkeys(kinds))}
    return {"anyOf": rules}


def _or_null(rule: dict[str, Any]) -> dict[str, Any]:
    """A number, or numbers in arrays, that may be not finite."""
    if rule["type"] == "array":
        return {**rule, "items": _or_null(rule["items"])}
    return _any_of([rule, {"type": "null"}])


def expanded(layout: Any) -> dict[str, Any]:
    """A layout as JSON Schema: text names kinds, a list has items of one layout, of several in a pair any will do."""
    if isinstance(layout, Rule):
        return layout
    if layout is None:
        return {"type": "null"}
    if isinstance(layout, tuple):
        return _any_of([expanded(each) for each in layout])
    if isinstance(layout, list):
        return {"type": "array", "items": expanded(layout[0])}
    if isinstance(layout, str):
        special = {"version": {"const": SCHEMA}, "audit": {"$ref": "#/$defs/audit"}}
        kinds = layout.split("|")
        return special[layout] if layout in special else {"type": kinds[0] if len(kinds) == 1 else kinds}
    if set(layout) == {"*"}:
        return {"type": "object", "additionalProperties": expanded(layout["*"])}
    return {
        "type": "object",
        "properties": {name: expanded(each) for name, each in layout.items()},
        "required": list(layout),
    }


SCORES = ("method", "lower_calibration_distance", "smooth_calibration_error", "brier", "log")
PROVED = {**of(Bracket), "lower_source": "string", "upper_source": "string"}
NOT_RUN = {"not_run": "string"}
RESULT = of(TestResult, "statistic", "pvalue", "reject", "level", "method")
CALIBRATION_TEST = RESULT | of(
    CalibrationTestResult, "components", "leading", "region", "pooling", "premise", "impossible"
)
PREMISES = {**of(Premises, without=("options",)), "sentences": {"*": "string"}}

AUDIT: dict[str, Any] = {
    "schema": "version",
    "calibrant": "string",
    **of(Audit, "title", "n_rows", "n_distinct", "effective_rows", "weighted", "base_rate"),
    **of(Audit, "mean_prediction", "auc", "road", "segmented_by", "cost_of_acting", "gate", "population"),
    **of(Audit, "group_line"),
    "answer": {**of(Answer), "sentence": "string"},
    "sentences": ["string"],
    "pos_label": "string|integer|boolean|null",
    "groups": ({"column": "string|null", "n": "integer"}, None),
    "event_rates": "boolean",
    "smooth_calibration_error": {"attained": "number", "dual_bound": "number"},
    "true_distance": PROVED,
    "lower_distance_bracket": PROVED,
    "measures": {"*": of(MeasureValue, without=("title",))},
    "tests": {"calibration_test": (CALIBRATION_TEST, NOT_RUN)},
    "segments": [of(Segment)],
    "found_segments": (of(FoundSegments, without=("tested", "made_of")), None),
    "periods": [
        {
            "period": "string",
            **of(Period, "n_rows", "base_rate", "mean_prediction", "smooth_calibration_error", "n_groups"),
            **of(Period, "since_reference"),
            **of(MonitorReading, "evalue", "pvalue", "reject"),
        }
    ],
    "advice": {**of(Advice, "words", "chosen", "gain"), "scores": [of(RecalibrationScore, *SCORES)]},
    "classes": (
        {
            **of(ClassFindings, "n_classes", "questions", "state", "confusions", "n_confusions"),
            "tests": {"*": (RESULT, NOT_RUN)},
            "confusion_table": (
                {**of(ConfusionTable, "names"), "excess": [["number"]], "evidence": [["number"]]},
                None,
            ),
        },
        None,
    ),
    "regions": [
        {
            **of(Region),
            "words": "string",
        }
    ],
    "premises": PREMISES,
    "inequalities": [{**of(Inequality), "holds": "boolean"}],
    "reliability": of(Reliability, without=("regions",)),
    "options": {**of(Audit, "max_distance", "level", "n_resamples"), "random_state": "integer|null"},
}
COMPARED = of(ComparisonResult)
COMPARISON: dict[str, Any] = {
    "schema": "version",
    "sentence": "string",
    "names": ["string"],
    "comparison": (COMPARED, None),
    "pairs": (
        [{"first": "string", "second": "string", "holm_pvalue": "number", "better": "boolean", **COMPARED}],
        None,
    ),
    "not_compared": "string|null",
    "same_items": "integer|null",
    "matching": "string|null",
    "audits": ["audit"],
}
REGRET_RESULT = of(RegretBounds) | {  # bounds without a limit, as Python has them, are no gate's
    name: Rule(type=kind, description=_described(RegretBounds, name))
    for name, kind in (("max_regret", "number"), ("verdict", "string"))
}
CHECK = {**of(Check, "name", "kind"), "sentence": "string"}
SAID = {"headline": "string", "warning": "string", "action": "string"}
LIMITED = of(GateResult), of(NotWorse), of(BoundedSegments)
GATE: dict[str, Any] = {
    "calibrant": "string",
    **SAID,
    **of(GateResult),
    "checks": [tuple({**CHECK, **each} for each in LIMITED)],
    "premises": PREMISES,
}
REGRET: dict[str, Any] = {
    "calibrant": "string",
    **SAID,
    **REGRET_RESULT,
    "checks": [{**CHECK, **REGRET_RESULT}],
    "premises": PREMISES,
}


def schema() -> dict[str, Any]:
    """The whole: what is printed of one file, or of two."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"calibrant audit --json, layout {SCHEMA}",
        "description": "Of one file an audit; of two, both audits and how they compare. New names may come at any "
        "time. What each name means is in docs/api/json.md. A number may be null only where its description says when.",
        "anyOf": [{"$ref": "#/$defs/audit"}, {"$ref": "#/$defs/comparison"}],
        "$defs": {"audit": expanded(AUDIT), "comparison": expanded(COMPARISON)},
    }


def gate_schema(printed: dict[str, Any], options: str, result: str) -> dict[str, Any]:
    """What is printed of a gate."""
    layout = expanded(printed)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"calibrant gate{options} --json, layout {GATE_SCHEMA}",
        "description": "New names may come at any time. The verdict is the worst of all checks, the rest that of all "
        f"rows. What each name means is in the docstring of {result}.",
        **layout,
        "properties": {"schema": {"const": GATE_SCHEMA}, **layout["properties"]},
        "required": ["schema", *layout["required"]],
    }


def files() -> dict[Path, str]:
    """Every file and its content."""
    laid_out = {
        f"audit-{SCHEMA}": schema(),
        f"gate-{GATE_SCHEMA}": gate_schema(GATE, "", "GateResult, and of a baseline's check of NotWorse"),
        f"regret-gate-{GATE_SCHEMA}": gate_schema(REGRET, " --max-regret", "RegretBounds"),
    }
    return {FOLDER / f"{name}.json": json.dumps(each, indent=1) + "\n" for name, each in laid_out.items()}


if __name__ == "__main__":
    if "--check" in sys.argv:
        changed = [path.name for path, text in files().items() if not path.exists() or path.read_text() != text]
        print(f"{', '.join(changed)} would change: run tools/json_schema.py" if changed else "the schemas are written")
        sys.exit(bool(changed))
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text)
