"""The parts of a table's rows that an audit is asked about: segments, and periods of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from calibrant.door.coding import equalities
from calibrant.door.errors import InputError, Ways
from calibrant.door.request import AuditRequest, Listener
from calibrant.door.values import Results, counted
from calibrant.findings.faults import in_table, or_left_out, refuse_own_columns
from calibrant.findings.population import Population, in_population, roles_of
from calibrant.segments.request import Search

if TYPE_CHECKING:
    from calibrant.findings.results import Audit
    from calibrant.segments.results import FoundSegments
    from calibrant.segments.row_tests import SegmentRows
    from calibrant.tables.table import Table


def in_parts(table: Table, audit: Audit, request: AuditRequest, listener: Listener) -> Audit:
    """The audit with the segments and the periods that are asked for, of the columns that it is of."""
    if not (request.by or request.find or request.drift):
        return audit
    from calibrant.tables.frames import groups_of

    names = {argument: name for argument, name in audit.columns.items() if argument != "groups"}
    more = [] if audit.n_groups is None else [audit.columns["groups"]]
    grouped = {"grouped": bool(more), "exclude_bad": request.exclude_bad}
    refuse_own_columns(
        {argument: name for argument, name in audit.columns.items() if argument != "strata"}, by=request.by
    )
    refuse_own_columns(names, drift=[request.drift])
    if request.by:
        from calibrant.segments.by_column import RESOLUTION, segments_of_groups

        listener.stage("Segments")
        keys, rows, of_rows = [*request.by, *more], None, (table, names)
        if request.horizon is not None or request.sampling_fractions is not None:
            population = in_population(table, audit.columns, request, keys, "by")
            of_rows, rows = (population.table, population.names), _rows_of(population, audit, request)
        groups = groups_of(*of_rows, keys, RESOLUTION, exclude_bad=request.exclude_bad)
        free = request.outcome_free_weights
        segments, weightless = segments_of_groups(groups, float(request.level), **grouped, outcome_free=free, rows=rows)
        words = tuple(f"{equalities(request.by, key)} ({counted(n_rows, 'row')})" for key, n_rows in weightless)
        audit = replace(
            audit, segments=Results(segments, request.by), segmented_by=request.by, weightless_segments=words
        )
    if request.find:
        listener.stage("Finding segments")
        columns = names if audit.n_groups is None else audit.columns
        audit = replace(audit, found_segments=_found(table, audit, columns, request))
    if request.drift:
        from calibrant.drift import periods as drift
        from calibrant.drift.periods import FINE

        listener.stage("Drift")
        keys, of_rows = [request.drift, *more], (table, names)
        if request.sampling_fractions is not None:
            population = in_population(table, audit.columns, request, keys, "drift")
            of_rows = population.table, population.in_file
        sums = partial(groups_of, *of_rows, keys, exclude_bad=request.exclude_bad, option="drift")
        try:
            periods = drift.periods_of_groups(sums(drift.RESOLUTION), request.level, **grouped)
            if request.sampling_fractions is not None:
                weighted = groups_of(population.table, population.names, keys[:1], drift.RESOLUTION, option="drift")
                periods = drift.in_population(periods, weighted)
            if request.reference is not None:
                listener.stage("Since the reference")
                periods = drift.beside_reference(
                    periods, sums(FINE), request.reference, request.level, grouped=bool(more)
                )
        except InputError as problem:
            if problem.argument != "by":
                raise
            raise InputError("drift", problem.problem, row=problem.row, allowed=problem.allowed) from None
        audit = replace(audit, periods=Results(periods))
    return audit


def _found(table: Table, audit: Audit, columns: Mapping[str, str], request: AuditRequest) -> FoundSegments:
    """The segments that are found in the columns that are asked for, by the audit's own seed."""
    from calibrant.segments.search import found_in_table, taken_features
    from calibrant.tables.frames import as_weights

    search = Search.of(request if audit.seed is None else replace(request, random_state=audit.seed))
    try:
        if request.horizon is not None:
            features = taken_features(table, roles_of(columns), search)
            population = in_population(table, columns, request, [*features, *_groups_of(columns).values()], "find")
            table, columns = population.table, {**population.names, **_groups_of(columns)}
            search = replace(search, features=features)
        return found_in_table(table, as_weights(columns), search)
    except InputError as problem:
        raise or_left_out(in_table(problem, table, audit.columns)) from None


def _groups_of(columns: Mapping[str, str]) -> dict[str, str]:
    """The column of groups, if there is one."""
    return {argument: name for argument, name in columns.items() if argument == "groups"}


def _rows_of(population: Population, audit: Audit, request: AuditRequest) -> SegmentRows | None:
    """The rows by which segments are tested; None where nothing is drawn, and of groups, whose signs are."""
    if not request.n_resamples or audit.n_groups is not None:
        return None
    from calibrant.segments.row_tests import SegmentRows

    return SegmentRows(population.rows, population.keys, request.n_resamples, audit.seed or 0)


def check_drift(request: AuditRequest, names: Mapping[str, str]) -> None:
    """Refuse weights: the evidence of drift has no place for them."""
    if request.drift and "sample_weight" in names:
        from calibrant.drift.periods import SINGLE

        column = names["sample_weight"]
        ways = Ways("unweighted=True leaves them out", "--unweighted leaves them out")
        raise InputError("drift", f"{SINGLE}, and column {column!r} holds weights", allowed=ways)
