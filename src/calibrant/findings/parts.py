"""The parts of a table's rows that an audit is asked about: segments, and periods of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from calibrant.door.coding import equalities
from calibrant.door.errors import InputError
from calibrant.door.request import AuditRequest, Listener
from calibrant.door.values import Results, counted
from calibrant.findings.faults import in_table, or_left_out, refuse_own_columns, roles_of
from calibrant.findings.population import Population, Size, in_population
from calibrant.segments.request import Search

if TYPE_CHECKING:
    from calibrant.drift.periods import Period
    from calibrant.findings.results import Audit
    from calibrant.segments.by_column import Segment, SegmentRows
    from calibrant.segments.results import FoundSegments
    from calibrant.tables.table import Table


def in_parts(table: Table, audit: Audit, request: AuditRequest, listener: Listener) -> Audit:
    """The audit with the segments and the periods that are asked for, of the columns that it is of."""
    names = {argument: name for argument, name in audit.columns.items() if argument != "groups"}
    refuse_own_columns(audit.columns, by=request.by)
    refuse_own_columns(names, drift=[request.drift])
    if request.by:
        listener.stage("Segments")
        audit = _with_segments(table, names, audit, request)
    if request.find:
        listener.stage("Finding segments")
        columns = names if audit.n_groups is None else audit.columns
        audit = replace(audit, found_segments=_found(table, audit, columns, request))
    if request.drift:
        listener.stage("Drift")
        try:
            audit = replace(audit, periods=Results(_periods(table, names, audit, request, listener)))
        except InputError as problem:
            if problem.argument != "by":
                raise
            raise InputError("drift", problem.problem, row=problem.row, allowed=problem.allowed) from None
    return audit


def _with_segments(table: Table, names: Mapping[str, str], audit: Audit, request: AuditRequest) -> Audit:
    """The audit with the segments of the columns `by`."""
    from calibrant.segments.by_column import RESOLUTION, segments_of_groups
    from calibrant.tables.frames import groups_of

    keys, rows, of_rows = [*request.by, *_group_column(audit)], None, (table, names)
    fractions = _fractions(audit)
    if request.horizon is not None or fractions is not None:
        population = in_population(table, audit.columns, request, keys, "by", fractions)
        of_rows, rows = (population.table, population.names), _rows_of(population, audit, request)
    segments, weightless = segments_of_groups(
        groups_of(*of_rows, keys, RESOLUTION, exclude_bad=request.exclude_bad),
        float(request.level),
        grouped=audit.n_groups is not None,
        exclude_bad=request.exclude_bad,
        outcome_free=request.outcome_free_weights,
        rows=rows,
    )
    words = tuple(f"{equalities(request.by, key)} ({counted(n_rows, 'row')})" for key, n_rows in weightless)
    if request.horizon is not None:
        of_groups = None if audit.n_groups is None else audit.columns["groups"]
        segments, words = _of_followed(segments, request.by, population.sizes(request.by, of_groups))
    return replace(audit, segments=Results(segments, request.by), segmented_by=request.by, weightless_segments=words)


def _periods(
    table: Table, names: Mapping[str, str], audit: Audit, request: AuditRequest, listener: Listener
) -> Sequence[Period]:
    """Days or other periods of the column `drift`, each with the evidence so far, or since the reference."""
    from calibrant.drift import periods as drift
    from calibrant.tables.frames import groups_of

    assert request.drift is not None
    grouped, exclude_bad = audit.n_groups is not None, request.exclude_bad
    keys, of_rows = [request.drift, *_group_column(audit)], (table, names)
    fractions = _fractions(audit)
    if fractions is not None:
        population = in_population(table, audit.columns, request, keys, "drift", fractions)
        of_rows = population.table, population.in_file
    sums = partial(groups_of, *of_rows, keys, exclude_bad=exclude_bad, option="drift")
    periods = drift.periods_of_groups(sums(drift.RESOLUTION), request.level, grouped=grouped, exclude_bad=exclude_bad)
    if fractions is not None:
        weighted = groups_of(population.table, population.names, keys[:1], drift.RESOLUTION, option="drift")
        periods = drift.in_population(periods, weighted)
    if request.reference is not None:
        listener.stage("Since the reference")
        periods = drift.beside_reference(periods, sums(drift.FINE), request.reference, request.level, grouped=grouped)
    return periods


def _found(table: Table, audit: Audit, columns: Mapping[str, str], request: AuditRequest) -> FoundSegments:
    """The segments that are found in the columns that are asked for, by the audit's own seed."""
    from calibrant.segments.search import found_in_table, taken_features
    from calibrant.tables.frames import as_weights

    search = Search.of(request if audit.seed is None else replace(request, random_state=audit.seed))
    try:
        if request.horizon is not None:
            features = taken_features(table, roles_of(columns), search)
            population = in_population(table, columns, request, [*features, *_groups_of(columns).values()], "find")
            assert population.followed is not None
            table, columns = population.followed, {**population.names, **_groups_of(columns)}
            search = replace(search, features=features, followed=True)
        return found_in_table(table, as_weights(columns), search)
    except InputError as problem:
        raise or_left_out(in_table(problem, table, audit.columns)) from None


def _fractions(audit: Audit) -> tuple[float, float] | None:
    """The shares of rows that were kept by outcome: given, or seen in weights of rows that are in no groups."""
    return audit.sampling_fractions if audit.fractions_given or audit.n_groups is None else None


def _of_followed(
    segments: Sequence[Segment], by: Sequence[str], size_of: Mapping[str, Size]
) -> tuple[list[Segment], tuple[str, ...]]:
    """Segments with their rows and groups without a known outcome, and those in which none is known."""
    names = [equalities(by, each.key) for each in segments]
    told = [
        replace(each, n_unknown=size_of[name].n_rows - each.n_rows, n_groups=size_of[name].n_groups)
        for name, each in zip(names, segments, strict=True)
    ]
    rest = [name for name in size_of if name not in names]
    return told, tuple(f"{name} ({counted(size_of[name].n_rows, 'row')})" for name in rest)


def _group_column(audit: Audit) -> list[str]:
    """The column of the audit's groups, where it has any."""
    return [] if audit.n_groups is None else [audit.columns["groups"]]


def _groups_of(columns: Mapping[str, str]) -> dict[str, str]:
    """The column of groups, if there is one."""
    return {argument: name for argument, name in columns.items() if argument == "groups"}


def _rows_of(population: Population, audit: Audit, request: AuditRequest) -> SegmentRows | None:
    """The rows by which segments are tested; None where nothing is drawn, and of groups, whose signs are."""
    if not request.n_resamples or audit.n_groups is not None:
        return None
    from calibrant.segments.by_column import SegmentRows

    return SegmentRows(population.rows, population.keys, request.n_resamples, audit.seed or 0)
