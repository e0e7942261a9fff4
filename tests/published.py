"""What is wrong with a document beside the JSON Schema that is published of it."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from calibrant.report.schema import GATE_SCHEMA, SCHEMA

AUDIT, GATE, REGRET = f"audit-{SCHEMA}", f"gate-{GATE_SCHEMA}", f"regret-gate-{GATE_SCHEMA}"
FOLDER = Path(__file__).parents[1] / "docs" / "schema"
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
MAPS = {"measures", "parameters", "components", "intervals", "features", "left_out", "tests", "columns", "sentences"}
"""Objects of any names: one may be missing."""


class Document(NamedTuple):
    """The name of a schema, JSON that is printed, and the values that Python has of it."""

    schema: str
    text: str
    value: dict[str, Any]


def read_schema(name):
    """A published schema."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def faults(value, rule, whole, at="audit"):
    """Where a value is not as a rule of a whole schema says, of the keywords used here; unknown names are faults."""
    assert set(rule) <= WORDS, rule
    if "$ref" in rule:
        return faults(value, whole["$defs"][rule["$ref"].rpartition("/")[2]], whole, at)
    found = []
    if "anyOf" in rule:
        each = [faults(value, one, whole, at) for one in rule["anyOf"]]
        found += [] if [] in each else max(each, key=lambda some: len(some[0].split(" ")[0]))  # the nearest
    if "const" in rule and value != rule["const"]:
        found.append(f"{at}: {value!r}")
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(KINDS[kind](value) for kind in kinds):
        return [*found, f"{at}: {value!r:.40} is not {kinds}"]
    if isinstance(value, list) and "items" in rule:
        found += [fault for k, each in enumerate(value) for fault in faults(each, rule["items"], whole, f"{at}[{k}]")]
    if isinstance(value, dict) and ("properties" in rule or "additionalProperties" in rule):
        found += [f"{at} lacks {name}" for name in rule.get("required", []) if name not in value]
        for name, each in value.items():
            known = rule.get("properties", {}).get(name, rule.get("additionalProperties"))
            unknown = [f"{at}.{name} is not in the schema"]
            found += unknown if known is None else faults(each, known, whole, f"{at}.{name}")
    return found


def broken(document):
    """What is wrong with printed JSON: it is strict, in UTF-8, the same when read again, and as the schema says."""
    try:
        document.text.encode()
        value = json.loads(document.text, parse_constant=_no_number, object_pairs_hook=_each_once)
    except ValueError as problem:
        return [f"no JSON: {problem}"]
    printed = {name: value.get(name) for name in document.value}
    other = [] if repr(printed) == repr(document.value) else ["other values than those of to_dict()"]
    whole = read_schema(document.schema)
    return [*other, *faults(value, whole, whole)]


def _no_number(word):
    raise ValueError(f"{word} is no JSON")


def _each_once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def changed(value, at=""):
    """Documents that a schema must refuse, with what was changed: each name is left out, each value of another kind.

    Text takes the place of numbers, numbers that of text, and lists that of all else; but where any value of a cell may
    stand, an object does.
    """
    if isinstance(value, dict):
        anything = at.rpartition(".")[2] in MAPS
        for name, each in value.items():
            rest = {other: kept for other, kept in value.items() if other != name}
            if not anything:
                yield f"{at}.{name} left out", rest
            for what, one in changed(each, f"{at}.{name}"):
                yield what, {**value, name: one}
    elif isinstance(value, list):
        for i, each in enumerate(value):
            for what, one in changed(each, f"{at}[]"):
                yield what, [*value[:i], one, *value[i + 1 :]]
    yield f"{at} of another kind", _other_kind(value, at)


def _other_kind(value, at):
    if re.search(r"\.(key\[\]|parameters\.\w+|pos_label)$", at) or isinstance(value, list):
        return {"no": "cell"}
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return ["no list"]
    return 0.5 if isinstance(value, str) else "0.5"
