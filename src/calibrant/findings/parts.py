"""The parts of a table's rows that an audit is asked about: segments, and periods of time.

The rows of parts, and of all, stand for a population by weights: of sampling by outcome, or of a horizon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.censoring import CensoredOutcomes, censored_outcomes
from calibrant.door.coding import equalities
from calibrant.door.columns import read_columns
from calibrant.door.errors import NO_VALUE, InputError
from calibrant.door.premises import LEAST_FOLLOWED, Followed
from calibrant.door.request import AuditRequest, Listener
from calibrant.door.rows import WITHOUT_WEIGHTS, Rows, read_fractions
from calibrant.door.values import Results, counted
from calibrant.findings.faults import OF_A_HORIZON, in_table, or_left_out, refuse_own_columns, roles_of
from calibrant.segments.request import Search
from calibrant.tables.columns import refuse_unspoken_weights
from calibrant.tables.table import Grouping

if TYPE_CHECKING:
    from calibrant.door.request import CalibrationRequest
    from calibrant.drift.periods import Period
    from calibrant.findings.results import Audit
    from calibrant.segments.by_column import Segment, SegmentRows
    from calibrant.segments.results import FoundSegments
    from calibrant.tables.frames import OpenedFrame
    from calibrant.tables.table import Columns, Table


def groupings_of(request: AuditRequest) -> tuple[Grouping, ...]:
    """The sums that the segments and periods of an audit are of."""
    from calibrant.drift.periods import FINE
    from calibrant.drift.periods import RESOLUTION as OF_PERIODS
    from calibrant.segments.by_column import RESOLUTION

    groupings = [Grouping(request.by, RESOLUTION)] if request.by else []
    if request.drift is not None:
        of_periods = (OF_PERIODS, *([] if request.reference is None else [FINE]))
        groupings += [Grouping((request.drift,), resolution, "drift") for resolution in of_periods]
    return tuple(groupings)


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


_OUTCOME, _PREDICTION, _WEIGHT, _CHANCE = (
    f"calibrant_{each}" for each in ("outcome", "prediction", "weight", "chance")
)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The rows with their keys, as a table whose columns of numbers have names of their own."""

    table: OpenedFrame
    keys: Any  # the keys of the rows, as `Groups` has them
    rows: Rows  # without groups
    # at a horizon the same, beside rows without a known outcome, which have no weight
    followed: OpenedFrame | None = None
    keys_of_followed: Any = None

    @property
    def names(self) -> dict[str, str]:
        """Columns of outcomes, predictions and weights, by argument."""
        return {"y_true": _OUTCOME, "y_prob": _PREDICTION, "sample_weight": _WEIGHT}

    @property
    def in_file(self) -> dict[str, str]:
        """Columns of outcomes, and of their chances among rows that were sampled by outcome, without weights."""
        return {"y_true": _OUTCOME, "y_prob": _CHANCE}

    def sizes(self, by: Sequence[str], groups: str | None) -> dict[str, Size]:
        """The size of each segment at a horizon, by its name, rows without a known outcome among them."""
        if self.keys_of_followed is None:
            return {}
        from calibrant.sketch.cells import numbers_of

        keys = self.keys_of_followed
        if groups is not None:
            keys = keys.filter(~keys[groups].is_null())  # which were left out, or refused
        of = numbers_of(keys.select(*by))
        first = np.unique(of, return_index=True)[1]
        n_rows, n_groups = np.bincount(of), None
        if groups is not None:
            pairs = np.unique(np.stack([of, numbers_of(keys.select(groups))]), axis=1)
            n_groups = np.bincount(pairs[0])
        values = keys.select(*by)[first.tolist()].rows()
        return {
            equalities(by, key): Size(int(n_rows[k]), None if n_groups is None else int(n_groups[k]))
            for k, key in zip(of[first].tolist(), values, strict=True)
        }


@dataclass(frozen=True, slots=True)
class Size:
    """Rows of a segment, those without a known outcome among them, and groups with any of these rows."""

    n_rows: int
    n_groups: int | None


def at_horizon(
    table: Table, time: Any, event: Any, request: CalibrationRequest
) -> tuple[CensoredOutcomes, tuple[str, ...]]:
    """Outcomes and weights at a request's horizon, and the columns within whose values leaving is estimated.

    These are the strata, and the columns of `by`, so that a segment is judged by those who left it. Where too few rows
    of a segment are followed, they are the strata alone.
    Raises InputError if a column cannot be used, or too few rows are followed.
    """
    horizon, named = request.horizon, request.strata
    assert horizon is not None
    table.require(named, "strata")
    table.require(request.by, "by")
    if named and table.summed:
        raise InputError("strata", "cannot be used with a table that is read lazily; collect it first")
    values = [table.ranks(name, "strata") for name in named]
    for name, rank in zip(named, values, strict=True):
        if (rank < 0).any():
            row = int(np.argmax(rank < 0))
            raise InputError("strata" if len(named) == 1 else f"strata ({name})", NO_VALUE.format(row), row=row)
    least = LEAST_FOLLOWED if request.least_followed is None else request.least_followed
    segments = () if table.summed else tuple(name for name in request.by if name not in named)
    ranks = [*values, *(table.ranks(name, "by") + 1 for name in segments)]  # rows without a value are a segment too
    try:
        return _within(ranks, time, event, horizon, least), (*named, *segments)
    except InputError as problem:
        if problem.argument != "horizon" or not segments:
            raise
    return _within(values, time, event, horizon, least), named


def _within(ranks: Sequence[Any], time: Any, event: Any, horizon: float, least: float) -> CensoredOutcomes:
    strata = np.column_stack(ranks) if ranks else None
    return censored_outcomes(time, event, horizon, strata=strata, least_followed=least)


def in_population(
    table: Table,
    columns: Mapping[str, str],
    request: CalibrationRequest,
    keys: Sequence[str],
    option: str,
    sampling: tuple[float, float] | None = None,
) -> Population:
    """Read rows with their keys, and what they weigh; `columns` are those that were used, and `option` named the keys.

    `sampling` are the fractions by outcome that were given, or that weights show. Raises InputError as reading does.
    """
    from calibrant.tables.frames import frame_of

    if request.horizon is not None:
        names = {"y_true": columns["event"], "y_prob": columns["y_prob"], "sample_weight": columns["time"]}
    else:
        names = {
            argument: columns[argument] for argument in ("y_true", "y_prob", "sample_weight") if argument in columns
        }
    read = table.with_features(names, list(keys), option, exclude_bad=request.exclude_bad)
    followed, keys_of_followed, shares = None, None, request.sampling_fractions
    if shares is None and sampling is not None:
        shares = dict(enumerate(sampling))
    if request.horizon is not None:
        outcomes, _ = at_horizon(table, read.arrays["sample_weight"], read.arrays["y_true"], request)
        numbers = {_OUTCOME: outcomes.y_true, _PREDICTION: read.arrays["y_prob"], _WEIGHT: outcomes.sample_weight}
        followed, keys_of_followed = frame_of(numbers, read.keys), read.keys_in_a_frame()
        read = read.kept(outcomes.sample_weight > 0.0)
        known = outcomes.known
        y, v, w = read_columns(outcomes.y_true[known], read.arrays["y_prob"], outcomes.sample_weight[known])
        chance = v
    else:
        if "sample_weight" in names:  # rows without weight are in no sample
            read = read.kept(np.asarray(read.arrays["sample_weight"], dtype=np.float64) > 0.0)
        y, v, _ = read_columns(read.arrays["y_true"], read.arrays["y_prob"], None)
        fractions = read_fractions(shares)
        assert fractions is not None
        w, chance = fractions.weight_of(y), fractions.chance_in_file(v)
    numbers = {_OUTCOME: y, _PREDICTION: v, _WEIGHT: w, _CHANCE: chance}
    weight = w if request.horizon is not None else None
    rows = Rows.of(y, v, weight, sampling_fractions=shares)
    columns_of_keys = read.keys_in_a_frame()
    numbered = columns_of_keys.rename({name: f"_s{at}" for at, name in enumerate(columns_of_keys.columns)})
    return Population(frame_of(numbers, read.keys), numbered, rows, followed, keys_of_followed)


def with_outcomes(table: Table, read: Columns, request: CalibrationRequest, horizon: float) -> Columns:
    """The rows whose outcome is known at a horizon, with weights for the others."""
    names = {OF_A_HORIZON.get(argument, argument): name for argument, name in read.names.items()}
    names |= {"strata" if len(request.strata) == 1 else f"strata ({name})": name for name in request.strata}
    least = LEAST_FOLLOWED if request.least_followed is None else request.least_followed
    if not request.unweighted:
        roles = {*names.values(), *request.keys, *request.find}
        refuse_unspoken_weights(table.columns, roles, WITHOUT_WEIGHTS, ", which cannot be used with a horizon")
    try:
        outcomes, strata = at_horizon(table, read.sample_weight, read.y_true, request)
    except InputError as problem:
        error = in_table(problem, table, names)
        argument = "strata" if error.argument.startswith("strata") else error.argument
        raise InputError(argument, error.problem, row=error.row, allowed=error.allowed) from None
    known = outcomes.known
    parts = bool({*request.by, *request.find} - {*strata})  # a stratum is no part that leaves alike
    groups = None if read.groups is None else read.groups[known]
    lost = 0 if groups is None else np.unique(np.asarray(read.groups)).size - np.unique(np.asarray(groups)).size
    return replace(
        read,
        y_true=outcomes.y_true[known],
        y_prob=np.asarray(read.y_prob)[known],
        sample_weight=outcomes.sample_weight[known],
        names=names,
        groups=groups,
        followed=Followed(horizon, outcomes.n_unknown, least, names["time"], names["event"], strata, parts, lost),
    )
