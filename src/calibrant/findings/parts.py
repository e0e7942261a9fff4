"""The parts of a table's rows that an audit is asked about: segments, and periods of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrant.door.errors import InputError, Ways
from calibrant.scale.drift import RESOLUTION, SINGLE, periods_of_groups
from calibrant.segments import named

if TYPE_CHECKING:
    from calibrant.findings.found import Audit
    from calibrant.findings.table import Asked, Told
    from calibrant.scale.tables import Table


def in_parts(table: Table, audit: Audit, asked: Asked, told: Told) -> Audit:
    """The audit with the segments and the periods that are asked for, of the columns that it is of."""
    names = {argument: name for argument, name in audit.columns.items() if argument != "groups"}
    more = [asked.groups] if asked.groups else []
    grouped: dict[str, bool] = {"grouped": bool(more), "exclude_bad": asked.exclude_bad}
    if asked.by:
        told.progress("Segments")
        groups = table.groups(names, [*asked.by, *more], named.RESOLUTION, exclude_bad=asked.exclude_bad)
        segments = named.segments_of_groups(groups, float(asked.level), **grouped)
        audit = replace(audit, segments=tuple(segments), segmented_by=asked.by)
    if asked.drift:
        told.progress("Drift")
        keys = [asked.drift, *more]
        groups = table.groups(names, keys, RESOLUTION, exclude_bad=asked.exclude_bad, option="drift")
        try:
            periods = periods_of_groups(groups, asked.level, asked.reference, **grouped)
        except InputError as problem:
            if problem.argument != "by":
                raise
            raise InputError("drift", problem.problem, row=problem.row, allowed=problem.allowed) from None
        audit = replace(audit, periods=tuple(periods))
    return audit


def check_drift(asked: Asked, names: Mapping[str, str]) -> None:
    """Refuse weights: the evidence of drift has no place for them."""
    if asked.drift and "sample_weight" in names:
        column = names["sample_weight"]
        ways = Ways("unweighted=True leaves them out", "--unweighted leaves them out")
        raise InputError("drift", f"{SINGLE}, and column {column!r} holds weights", allowed=ways)
