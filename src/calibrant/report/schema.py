"""The audit as plain dicts, lists, numbers and words: the layout of its JSON (docs/report.md)."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from calibrant.report.advice import to_dict as advice_as_dict

if TYPE_CHECKING:
    from calibrant.report.audit import Audit
    from calibrant.scale.drift import Period

SCHEMA = 2
"""Version of the layout; a name that changes its meaning, or goes, makes a new one."""


def as_dict(audit: Audit) -> dict[str, Any]:
    """Return the audit as plain dicts, lists, numbers and words, with the version of their layout."""
    from calibrant import __version__

    table = audit.reliability
    return {
        "schema": SCHEMA,
        "calibrant": __version__,
        "title": audit.title,
        "verdict": audit.verdict,
        "pos_label": None if audit.pos_label is None else _plain(audit.pos_label),
        "n_rows": audit.n_rows,
        "n_distinct": audit.n_distinct,
        "effective_rows": audit.effective_rows,
        "weighted": audit.weighted,
        "base_rate": audit.base_rate,
        "mean_prediction": audit.mean_prediction,
        "smooth_calibration_error": {"attained": audit.smooth_lower, "dual_bound": audit.smooth_upper},
        "true_distance": asdict(audit.ties.true_distance),
        "lower_distance": asdict(audit.ties.lower_distance),
        "measures": {
            name: {
                "value": measure.value,
                "parameters": dict(measure.parameters),
                "sentence": measure.sentence,
                "not_computed": measure.not_computed,
            }
            for name, measure in audit.measures.items()
        },
        "tests": {name: each.to_dict() for name, each in audit.tests.items()},
        "population": None if audit.population is None else asdict(audit.population),
        "segments": [asdict(segment) for segment in audit.segments],
        "segmented_by": list(audit.segmented_by),
        "periods": [_period(period) for period in audit.periods],
        "advice": advice_as_dict(audit.advice),
        "classes": None if audit.classes is None else audit.classes.to_dict(),
        "regions": [{**asdict(region), "words": region.words} for region in audit.regions],
        "inequalities": [{**asdict(each), "holds": each.holds} for each in audit.ties.inequalities],
        "reliability": {
            "kind": table.kind,
            "bandwidth": table.bandwidth,
            "outside": table.outside,
            "no_band": table.no_band,
            **{
                name: None if column is None else [None if math.isnan(x) else x for x in column.tolist()]
                for name, column in (
                    ("prediction", table.prediction),
                    ("outcome", table.outcome),
                    ("lower", table.lower),
                    ("upper", table.upper),
                    ("mass", table.mass),
                    ("count", table.count),
                )
            },
        },
        "options": {"level": audit.level, "n_resamples": audit.n_resamples, "random_state": audit.seed},
    }


def _plain(label: Any) -> Any:
    """Return a label as JSON holds it: numbers and truth values as they are, all else as text."""
    value = label.item() if hasattr(label, "item") else label
    return value if isinstance(value, bool | int | str) else str(value)


def _period(period: Period) -> dict[str, Any]:
    reading = period.reading
    return {
        "key": str(period.key),
        "n_rows": period.n_rows,
        "base_rate": period.base_rate,
        "mean_prediction": period.mean_prediction,
        "smooth_error": period.smooth_error,
        "evalue": reading.evalue if math.isfinite(reading.evalue) else None,
        "pvalue": reading.pvalue,
        "reject": reading.reject,
    }
