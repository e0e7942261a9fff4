"""The parts of a table's rows that an audit is asked about: segments, and periods of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrant.door.coding import equalities
from calibrant.door.errors import InputError, Ways
from calibrant.door.values import counted
from calibrant.findings.faults import in_table, or_left_out, refuse_own_columns
from calibrant.segments.request import names_of

if TYPE_CHECKING:
    from calibrant.findings.results import Audit
    from calibrant.findings.tables import Asked, Told
    from calibrant.segments.results import FoundSegments
    from calibrant.tables.table import Table

EVERY = ("all",)
"""What stands for every column where segments are to be found."""


def in_parts(table: Table, audit: Audit, asked: Asked, told: Told) -> Audit:
    """The audit with the segments and the periods that are asked for, of the columns that it is of."""
    names = {argument: name for argument, name in audit.columns.items() if argument != "groups"}
    more = [asked.groups] if asked.groups else []
    grouped = {"grouped": bool(more), "exclude_bad": asked.exclude_bad}
    refuse_own_columns(audit.columns, by=asked.by)
    refuse_own_columns(names, drift=[asked.drift])
    if asked.by:
        from calibrant.segments.by_column import RESOLUTION, segments_of_groups

        told.progress("Segments")
        groups = table.groups(names, [*asked.by, *more], RESOLUTION, exclude_bad=asked.exclude_bad)
        segments, weightless = segments_of_groups(groups, float(asked.level), **grouped)
        words = tuple(f"{equalities(asked.by, key)} ({counted(n_rows, 'row')})" for key, n_rows in weightless)
        audit = replace(audit, segments=tuple(segments), segmented_by=asked.by, weightless_segments=words)
    if asked.find:
        told.progress("Finding segments")
        audit = replace(audit, found_segments=_found(table, audit, asked))
    if asked.drift:
        from calibrant.drift import periods as drift
        from calibrant.drift.reference import FINE, beside_reference

        told.progress("Drift")
        keys = [asked.drift, *more]
        groups = table.groups(names, keys, drift.RESOLUTION, exclude_bad=asked.exclude_bad, option="drift")
        try:
            periods = drift.periods_of_groups(groups, asked.level, **grouped)
            if asked.reference is not None:
                told.progress("Since the reference")
                fine = table.groups(names, keys, FINE, exclude_bad=asked.exclude_bad, option="drift")
                periods = beside_reference(periods, fine, asked.reference, asked.level, grouped=bool(more))
        except InputError as problem:
            if problem.argument != "by":
                raise
            raise InputError("drift", problem.problem, row=problem.row, allowed=problem.allowed) from None
        audit = replace(audit, periods=tuple(periods))
    return audit


def _found(table: Table, audit: Audit, asked: Asked) -> FoundSegments:
    """The segments that are found in the columns that are asked for, by the audit's own seed."""
    from calibrant.segments.search import found_in_table

    of_search = asked.of_search
    assert of_search is not None
    if audit.seed is not None:
        of_search = replace(of_search, random_state=audit.seed)
    features = None if asked.find == EVERY else names_of(asked.find, "find")
    try:
        return found_in_table(table, audit.columns, features, of_search, exclude_bad=asked.exclude_bad, option="find")
    except InputError as problem:
        raise or_left_out(in_table(problem, table, audit.columns)) from None


def check_drift(asked: Asked, names: Mapping[str, str]) -> None:
    """Refuse weights: the evidence of drift has no place for them."""
    if asked.drift and "sample_weight" in names:
        from calibrant.drift.periods import SINGLE

        column = names["sample_weight"]
        ways = Ways("unweighted=True leaves them out", "--unweighted leaves them out")
        raise InputError("drift", f"{SINGLE}, and column {column!r} holds weights", allowed=ways)
