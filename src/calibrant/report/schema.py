"""The audit and a gate's result as plain dicts, lists, numbers and words: their JSON's layouts (docs/api/json.md)."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from calibrant.door.ends import Bracket
from calibrant.door.values import plain, plain_key
from calibrant.findings.advice import to_dict as advice_as_dict
from calibrant.findings.comparison import Comparison
from calibrant.findings.record import MeasureValue
from calibrant.findings.results import Audit

if TYPE_CHECKING:
    from calibrant.drift.periods import Period
    from calibrant.findings.regions import Region
    from calibrant.gate.result import Gated
    from calibrant.inference.bounds.gate import GateResult
    from calibrant.inference.comparison.pairwise import PairwiseComparison
    from calibrant.segments.by_column import Segment

# Version of the layout; a name that changes its meaning, or goes, makes a new one.
SCHEMA = 9
# The same of a gate's.
GATE_SCHEMA = 1


def gate_as_json(decision: Gated) -> str:
    """A gate's result as `calibrant gate --json` prints it."""
    from calibrant import __version__

    return json.dumps({"schema": GATE_SCHEMA, "calibrant": __version__, **decision.to_dict()}, indent=2)


@singledispatch
def as_dict(finding: Any) -> dict[str, Any]:
    """Return a finding as plain dicts, lists, numbers and words, with the version of their layout."""
    raise TypeError(f"{type(finding).__name__} is no finding")


@as_dict.register
def _(comparison: Comparison) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "sentence": comparison.sentence,
        "names": list(comparison.names),
        "comparison": None if comparison.result is None else plain(asdict(comparison.result)),
        "pairs": None if comparison.pairs is None else _pairs(comparison.pairs),
        "not_compared": comparison.not_compared,
        "same_items": comparison.same_items,
        "matching": comparison.matching,
        "audits": [as_dict(audit) for audit in comparison.audits],
    }


def _measure(measure: MeasureValue) -> dict[str, Any]:
    bracket = measure.bracket
    return {
        "value": measure.value,
        "parameters": dict(measure.parameters),
        "sentence": measure.sentence,
        "not_computed": measure.not_computed,
        "bracket": None if bracket is None else {"lower": bracket.lower, "upper": bracket.upper},
    }


@as_dict.register
def _(audit: Audit) -> dict[str, Any]:
    from calibrant import __version__

    table = audit.reliability
    values = {
        "schema": SCHEMA,
        "calibrant": __version__,
        "title": audit.title,
        "answer": {**plain(asdict(audit.answer)), "sentence": audit.answer.sentence},
        "sentences": list(audit.sentences),
        "pos_label": None if audit.pos_label is None else _plain(audit.pos_label),
        "road": audit.road,
        "n_rows": audit.n_rows,
        "n_distinct": audit.n_distinct,
        "effective_rows": audit.effective_rows,
        "weighted": audit.weighted,
        "groups": None if audit.n_groups is None else {"column": audit.columns.get("groups"), "n": audit.n_groups},
        "group_line": None if audit.group_line is None else audit.group_line.to_dict(),
        "event_rates": audit.rates,
        "base_rate": audit.base_rate,
        "mean_prediction": audit.mean_prediction,
        "auc": audit.auc,
        "smooth_calibration_error": {"attained": audit.smooth_lower, "dual_bound": audit.smooth_upper},
        "true_distance": _bracket(audit.ties.true_distance, audit.ties.proofs_of_true),
        "lower_distance_bracket": _bracket(audit.ties.lower_distance_bracket, audit.ties.proofs_of_lower),
        "measures": {name: _measure(each) for name, each in audit.measures.items()},
        "tests": {name: each.to_dict() for name, each in audit.tests.items()},
        "cost_of_acting": None if audit.cost_of_acting is None else asdict(audit.cost_of_acting),
        "gate": None if audit.gate is None else _gate(audit.gate),
        "population": None if audit.population is None else asdict(audit.population),
        "segments": [_segment(segment) for segment in audit.segments],
        "segmented_by": list(audit.segmented_by),
        "found_segments": None if audit.found_segments is None else audit.found_segments.to_dict(),
        "periods": [_period(period) for period in audit.periods],
        "advice": advice_as_dict(audit.advice),
        "classes": None if audit.classes is None else audit.classes.to_dict(),
        "regions": [_region(region) for region in audit.regions],
        "premises": audit.premises.to_dict(),
        "inequalities": [{**asdict(each), "holds": each.holds} for each in audit.ties.inequalities],
        "reliability": {
            "kind": table.kind,
            "axis": table.axis,
            "no_band": table.no_band,
            "direction": table.direction,
            "prediction": table.prediction,
            "outcome": table.outcome,
            "isotonic": table.isotonic,
            "band_lower": table.band_lower,
            "band_upper": table.band_upper,
            "mass": table.mass,
            "count": table.count,
        },
        "options": {
            "max_distance": audit.max_distance,
            "level": audit.level,
            "n_resamples": audit.n_resamples,
            "random_state": audit.seed,
        },
    }
    plainly: dict[str, Any] = plain(values)
    return plainly


def _gate(gate: GateResult) -> dict[str, Any]:
    """The gate; what it takes as given stands among the audit's premises."""
    return {name: value for name, value in asdict(gate).items() if name != "premises"}


def _pairs(comparison: PairwiseComparison) -> list[dict[str, Any]]:
    """Every pair, the one with the smaller error first."""
    return [
        {
            "first": first,
            "second": second,
            "holm_pvalue": comparison.holm_pvalues[first, second],
            "better": (first, second) in comparison.better,
            **plain(asdict(result)),
        }
        for (first, second), result in comparison.pairs.items()
    ]


def _bracket(bracket: Bracket, proofs: tuple[str, str]) -> dict[str, Any]:
    """A bracket, and what proves each end."""
    return {"lower": bracket.lower, "upper": bracket.upper, "lower_source": proofs[0], "upper_source": proofs[1]}


def _region(region: Region) -> dict[str, Any]:
    return {**asdict(region), "words": region.words}


def _segment(segment: Segment) -> dict[str, Any]:
    values = asdict(segment)
    lower, upper = segment.lower_distance_bracket
    return {**values, "key": plain_key(segment.key), "lower_distance_bracket": {"lower": lower, "upper": upper}}


def _plain(label: Any) -> Any:
    """Return a label as JSON holds it: numbers and truth values as they are, all else as text."""
    value = label.item() if hasattr(label, "item") else label
    return value if isinstance(value, bool | int | str) else str(value)


def _period(period: Period) -> dict[str, Any]:
    reading = period.reading
    return {
        "period": str(period.period),
        "n_rows": period.n_rows,
        "base_rate": period.base_rate,
        "mean_prediction": period.mean_prediction,
        "smooth_calibration_error": period.smooth_calibration_error,
        "evalue": reading.evalue,
        "pvalue": reading.pvalue,
        "reject": reading.reject,
        "n_groups": period.n_groups,
        "since_reference": None if period.since_reference is None else plain(asdict(period.since_reference)),
    }
