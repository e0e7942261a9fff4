"""Writes docs/schema/audit-N.json, the layout of the audit's JSON as a JSON Schema (draft 2020-12).

``python tools/json_schema.py`` writes the file of today's version; with ``--check`` it writes nothing, and exits with 1
if the file would change. The layout below is written by hand; a test holds audits of every kind against it, and finds
names that it does not have. Of an object a name that ends in ``?`` may be missing, and ``*`` is any name.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from calibrant.report.schema import SCHEMA

FILE = Path(__file__).resolve().parent.parent / "docs" / "schema" / f"audit-{SCHEMA}.json"

ENDS = {"low": "number", "high": "number"}
BRACKET = {"lower": "number", "upper": "number"}
PROVED = {**BRACKET, "lower_source": "string", "upper_source": "string"}
FOUND = {
    "statistic?": "number|null",
    "pvalue?": "number",
    "reject?": "boolean",
    "level?": "number",
    "method?": "string",
    "not_run?": "string",
    "components?": {"*": {"analytic_pvalue": "number", "pvalue": "number", "degree": "integer"}},
    "leading?": "string|null",
    "region?": (
        {
            "low": "number",
            "high": "number",
            "direction": "string",
            "n_rows": "integer",
            "mean_prediction": "number",
            "event_rate": "number",
        },
        None,
    ),
    "pooling?": "number",
    "assumption?": "string",
}
LEVEL_AND_ROWS = {"level": "number", "n_rows": "integer", "guaranteed": "boolean"}

AUDIT: dict[str, Any] = {
    "schema": "version",
    "calibrant": "string",
    "title": "string|null",
    "verdict": "string",
    "pos_label": "string|integer|boolean|null",
    "n_rows": "integer",
    "n_distinct": "integer",
    "effective_rows": "number",
    "weighted": "boolean",
    "event_rates": "boolean",
    "about_chance": "string|null",
    "base_rate": "number",
    "mean_prediction": "number",
    "smooth_calibration_error": {"attained": "number", "dual_bound": "number"},
    "true_distance": PROVED,
    "lower_distance_bracket": PROVED,
    "measures": {
        "*": {
            "value": "number|null",
            "parameters": {"*": "number|string|boolean|null"},
            "sentence": "string",
            "not_computed": "string|null",
        }
    },
    "tests": {"*": FOUND},
    "population": (
        {
            "smooth_error": ENDS,
            "lower_distance": ENDS,
            "population_distance": ENDS,
            "intervals": {"*": ENDS},
            **LEVEL_AND_ROWS,
        },
        None,
    ),
    "segments": [
        {
            "key": ["string"],
            "n_rows": "integer",
            "base_rate": "number",
            "mean_prediction": "number",
            "smooth_calibration_error": "number",
            "smooth_error_bound": "number",
            "lower_distance_bracket": BRACKET,
            "bias": "number|null",
            "effective_rows": "number|null",
            "bias_interval": (ENDS, None),
            "pvalue": "number|null",
            "qvalue": "number|null",
            "reject": "boolean|null",
            "direction": "string|null",
            "where": (["number"], None),
        }
    ],
    "segmented_by": ["string"],
    "periods": [
        {
            "period": "string",
            "n_rows": "integer",
            "base_rate": "number",
            "mean_prediction": "number",
            "smooth_calibration_error": "number",
            "evalue": "number|null",
            "pvalue": "number",
            "reject": "boolean",
        }
    ],
    "advice": {
        "words": "string",
        "chosen": "string|null",
        "scores": [
            {
                "method": "string",
                "lower_calibration_distance": "number",
                "smooth_calibration_error": "number",
                "brier": "number",
                "log": "number|null",
            }
        ],
    },
    "classes": (
        {
            "n_classes": "integer",
            "questions": [
                {
                    "name": "string",
                    "rate": "number",
                    "mean_prediction": "number",
                    "smooth_calibration_error": "number",
                    "lower_calibration_distance": "number",
                    "pvalue": "number|null",
                }
            ],
            "tests": {"*": FOUND},
        },
        None,
    ),
    "regions": [
        {
            "low": "number",
            "high": "number",
            "n_rows": "integer",
            "weight_share": "number",
            "mean_error": "number",
            "standard_error": "number|null",
            "heaviest": "number",
            "share": "number",
            "words": "string",
            "exceeds_noise": "boolean|null",
        }
    ],
    "inequalities": [
        {
            "left": "string",
            "right": "string",
            "left_value": "number",
            "right_value": "number",
            "source": "string",
            "tolerance": "number",
            "holds": "boolean",
        }
    ],
    "reliability": {
        "kind": "string",
        "bandwidth": "number|null",
        "outside": "number|null",
        "outside_if_calibrated": "number|null",
        "exceeds_noise": "boolean|null",
        "no_band": "string|null",
        "prediction": ["number"],
        "outcome": ["number|null"],
        "band_lower": (["number"], None),
        "band_upper": (["number"], None),
        "mass": ["number"],
        "count": ["number"],
    },
    "options": {"level": "number", "n_resamples": "integer", "random_state": "integer|null"},
}
PAIR: dict[str, Any] = {
    "schema": "version",
    "verdict": "string",
    "names": ["string"],
    "comparison": ({"*": "any"}, None),
    "not_compared": "string|null",
    "audits": ["audit"],
}


def expanded(layout: Any) -> dict[str, Any]:
    """A layout as JSON Schema: text names kinds, a list has items of one layout, a pair may be null."""
    if isinstance(layout, tuple):
        return {"anyOf": [expanded(layout[0]), {"type": "null"}]}
    if isinstance(layout, list):
        return {"type": "array", "items": expanded(layout[0])}
    if isinstance(layout, str):
        special = {"version": {"const": SCHEMA}, "audit": {"$ref": "#/$defs/audit"}, "any": {}}
        kinds = layout.split("|")
        return special[layout] if layout in special else {"type": kinds[0] if len(kinds) == 1 else kinds}
    if set(layout) == {"*"}:
        return {"type": "object", "additionalProperties": expanded(layout["*"])}
    return {
        "type": "object",
        "properties": {name.rstrip("?"): expanded(each) for name, each in layout.items()},
        "required": [name for name in layout if not name.endswith("?")],
    }


def schema() -> dict[str, Any]:
    """The whole: what is printed of one file, or of two."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"calibrant audit --json, layout {SCHEMA}",
        "description": "Of one file an audit; of two, both audits and how they compare. New names may come at any "
        "time. Numbers that are not finite are null. What each name means is in docs/report.md.",
        "anyOf": [{"$ref": "#/$defs/audit"}, {"$ref": "#/$defs/pair"}],
        "$defs": {"audit": expanded(AUDIT), "pair": expanded(PAIR)},
    }


def text() -> str:
    """The file's content."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        same = FILE.exists() and FILE.read_text() == text()
        print("the schema is written" if same else f"{FILE.name} would change: run tools/json_schema.py")
        sys.exit(not same)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text())
