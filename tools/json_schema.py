"""Writes docs/schema/audit-N.json and gate-N.json: the JSON that is printed, as JSON Schemas (draft 2020-12).

``python tools/json_schema.py`` writes the files of today's versions; with ``--check`` it writes nothing, and exits
with 1 if one would change. The layouts below are written by hand; a test holds audits of every kind and gates against
them, and finds names that they do not have. Of an object a name that ends in ``?`` may be missing, and ``*`` is any
name.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from calibrant.report.schema import GATE_SCHEMA, SCHEMA

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schema"

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

GATE_RESULT: dict[str, Any] = {
    "verdict": "string",
    "max_distance": "number",
    "lower_distance": ENDS,
    "level": "number",
    "n_rows": "integer",
    "rows_needed": "integer|null",
    "anytime": "boolean",
}

FOUND_SEGMENT: dict[str, Any] = {
    "conditions": ["string"],
    "n_rows": "integer",
    "base_rate": "number",
    "mean_prediction": "number",
    "bias": "number",
    "bias_interval": ENDS,
    "direction": "string",
    "where": ["number"],
    "where_bias": "number",
    "where_share": "number",
    "pvalue": "number",
    "marginal_pvalue": "number",
    "detectable": "number",
    "n_groups": "integer|null",
}
IMPOSSIBLE: dict[str, Any] = {"n_rows": "integer", "row": "integer|null", "predicted": "number"}
FOUND_SEGMENTS: dict[str, Any] = {
    "statistic": "number",
    "pvalue": "number",
    "reject": "boolean",
    "level": "number",
    "method": "string",
    "impossible": (IMPOSSIBLE, None),
    "assumption": "string",
    "segments": [FOUND_SEGMENT],
    "strongest": FOUND_SEGMENT,
    "n_tested": "integer",
    "n_beyond": "integer",
    "multicalibration_error": "number",
    "detectable": "number",
    "features": {"*": ["string"]},
    "left_out": {"*": "string"},
    "max_depth": "integer",
    "n_resamples": "integer",
    "n_excluded": "integer",
    "summed": "boolean",
    "n_groups": "integer|null",
    "n_few_groups": "integer",
    "n_by_bound": "integer",
}

AUDIT: dict[str, Any] = {
    "schema": "version",
    "calibrant": "string",
    "title": "string|null",
    "answer": {
        "state": "string",
        "direction": "string|null",
        "size": "number",
        "interval": (ENDS, None),
        "pvalue": "number|null",
        "action": "string",
        "headline": "string",
        "details": ["string"],
        "sentence": "string",
        "max_distance": "number",
        "examples": [
            dict.fromkeys(("low", "high", "predicted", "happened", "share", "errors"), "number"),
        ],
    },
    "sentences": ["string"],
    "pos_label": "string|integer|boolean|null",
    "road": "string|null",
    "n_rows": "integer",
    "n_distinct": "integer",
    "effective_rows": "number",
    "weighted": "boolean",
    "groups": ({"column": "string|null", "n": "integer"}, None),
    "event_rates": "boolean",
    "about_chance": "string|null",
    "base_rate": "number",
    "mean_prediction": "number",
    "auc": "number|null",
    "smooth_calibration_error": {"attained": "number", "dual_bound": "number"},
    "true_distance": PROVED,
    "lower_distance_bracket": PROVED,
    "measures": {
        "*": {
            "value": "number|null",
            "parameters": {"*": "number|string|boolean|null"},
            "sentence": "string",
            "not_computed": "string|null",
            "bracket": (BRACKET, None),
        }
    },
    "tests": {"*": FOUND},
    "cost_of_acting": (
        {
            "threshold": "number",
            "worst": "boolean",
            "lost": "number",
            "best_cut": "number|null",
            "regret_interval": (ENDS, None),
            "level": "number",
        },
        None,
    ),
    "gate": (GATE_RESULT, None),
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
            "n_groups": "integer|null",
        }
    ],
    "segmented_by": ["string"],
    "found_segments": (FOUND_SEGMENTS, None),
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
            "n_groups": "integer|null",
            "since_reference": (
                {
                    "reference": "string",
                    "pvalue": "number",
                    "reject": "boolean",
                    "level": "number",
                    "difference": "number|null",
                    "compared": "number",
                    "where": ["number"],
                    "difference_there": "number|null",
                },
                None,
            ),
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
                    "pvalue": "number",
                    "qvalue": "number|null",
                    "direction": "string|null",
                    "bias_interval": (ENDS, None),
                }
            ],
            "tests": {"*": FOUND},
            "state": "string|null",
            "confusions": [
                {
                    "said": "string",
                    "was": "string",
                    "n_rows": "integer",
                    "n_expected": "number",
                    "n_observed": "integer",
                    "pvalue": "number",
                    "qvalue": "number",
                }
            ],
            "n_confusions": "integer|null",
            "confusion_table": ({"names": ["string"], "excess": [["number"]], "evidence": [["number"]]}, None),
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
        "leaves_band": "boolean|null",
        "no_band": "string|null",
        "prediction": ["number"],
        "outcome": ["number|null"],
        "isotonic": ["number"],
        "band_lower": (["number"], None),
        "band_upper": (["number"], None),
        "mass": ["number"],
        "count": ["number"],
    },
    "options": {"max_distance": "number", "level": "number", "n_resamples": "integer", "random_state": "integer|null"},
}
PAIR: dict[str, Any] = {
    "schema": "version",
    "sentence": "string",
    "names": ["string"],
    "comparison": ({"*": "any"}, None),
    "pairs": (
        [
            {
                "first": "string",
                "second": "string",
                "holm_pvalue": "number",
                "better": "boolean",
                "statistic": "number",
                "pvalue": "number",
                "reject": "boolean",
                "level": "number",
                "method": "string",
                "interval": ENDS,
                "value_a": "number",
                "value_b": "number",
                "impossible?": "any",
                "assumption": "string",
            }
        ],
        None,
    ),
    "not_compared": "string|null",
    "audits": ["audit"],
}


REGRET_RESULT: dict[str, Any] = {
    "regret_interval": ENDS,
    "decision_loss_interval": ENDS,
    "threshold": "number|null",
    "max_regret": "number",
    "verdict": "string",
    "level": "number",
    "n_rows": "integer",
    "rows_needed": "integer|null",
}
BOUNDED_SEGMENT = {
    "name": "string",
    "n_rows": "integer",
    "bias": "number",
    "bias_interval": ENDS,
    "pvalue": "number|null",
    "in_part": "boolean",
}

CHECK: dict[str, Any] = {  # a GateResult, or against a baseline a NotWorse
    "name": "string",
    "kind": "string",
    "verdict": "string",
    "level": "number",
    "n_rows": "integer",
    "rows_needed": "integer|null",
    "max_distance?": "number",
    "lower_distance?": ENDS,
    "anytime?": "boolean",
    "baseline?": "string",
    "max_worse?": "number",
    "difference?": ENDS,
    "n_rows_baseline?": "integer",
    "way?": "string",
    "n_tested?": "integer",
    "n_beyond?": "integer",
    "beyond?": [BOUNDED_SEGMENT],
    "largest?": BOUNDED_SEGMENT,
    "provable?": "number",
    "features?": ["string"],
    "max_depth?": "integer",
    "together?": ["string"],
    "n_undecided?": "integer",
    "undecided?": [BOUNDED_SEGMENT],
    "untested?": "string|null",
}
GATE: dict[str, Any] = {"calibrant": "string", **GATE_RESULT, "checks": [CHECK]}
REGRET: dict[str, Any] = {
    "calibrant": "string",
    **REGRET_RESULT,
    "checks": [{"name": "string", "kind": "string", **REGRET_RESULT}],
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
