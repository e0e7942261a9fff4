"""An audit of a sketch: every number with its bound, and no number without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from calibrant.report.audit import Audit
from calibrant.report.inequalities import Bracket


def with_bounds(audit: Audit, bounds: Mapping[str, float | None], displacement: float) -> Audit:
    """Return the audit of the rows that a sketch stands for.

    Parameters
    ----------
    audit : Audit
        Of the sketch.
    bounds : mapping
        Measure -> how far its value is from that on the rows, None where that is not known.
    displacement : float
        Mean distance of the rows' predictions from those of the sketch, at most.
    """
    measures = {}
    for name, measure in audit.measures.items():
        bound = bounds.get(name)
        if bound is None:
            why = "not computed: the rows were pooled into cells, and what that costs is not proved for this measure"
            measures[name] = replace(measure, value=None, not_computed=measure.not_computed or why)
        else:
            said = f"{measure.sentence} The answer on the rows is within {bound:.1e} of this."
            measures[name] = replace(measure, sentence=said)
    smooth = bounds["smooth_calibration_error"] or 0.0
    return replace(
        audit,
        measures=MappingProxyType(measures),
        smooth_lower=max(0.0, audit.smooth_lower - smooth),
        smooth_upper=audit.smooth_upper + smooth,
        ties=replace(
            audit.ties,
            true_distance=_widened(audit.ties.true_distance, displacement),
            lower_distance=_widened(audit.ties.lower_distance, displacement),
        ),
    )


def _widened(bracket: Bracket, by: float) -> Bracket:
    return replace(bracket, lower=max(0.0, bracket.lower - by), upper=min(1.0, bracket.upper + by))
