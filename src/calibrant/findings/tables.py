"""The audit of a table that is open: its columns are found by name, and its rows are read or summed."""

from __future__ import annotations

__all__ = ["audit_table"]

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, seeded, text
from calibrant.door.classes import multiclass_sample
from calibrant.door.columns import read_columns
from calibrant.door.errors import InputError, Ways
from calibrant.door.premises import options_of
from calibrant.door.request import MAX_DEPTH, AuditRequest, CalibrationRequest, Listener, Request
from calibrant.door.rows import Rows, read_units
from calibrant.door.values import counted
from calibrant.door.weights import SamplingFractions
from calibrant.findings.arrays import audit_classes, audit_given, audit_sample, given
from calibrant.findings.decision import few_groups
from calibrant.findings.faults import (
    in_table,
    of_columns,
    or_left_out,
    or_several,
    refuse_own_columns,
    roles_of,
    say_of,
)
from calibrant.findings.hints import hints_of, say_excluded, say_guessed, say_lacking, searchable
from calibrant.findings.results import Audit
from calibrant.inference.bounds.tally import of_followed
from calibrant.lazily import EXTRAS, optional
from calibrant.progress import watched
from calibrant.segments.request import EVERY, Search
from calibrant.sketch.bounds import ARITHMETIC, draws_of_cells
from calibrant.tables.columns import may_hold_weights
from calibrant.tables.entry import open_table
from calibrant.tables.sketches import Written, check_place, write_rows
from calibrant.tables.table import Columns, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from calibrant.door.columns import FloatArray
    from calibrant.door.premises import Followed
    from calibrant.door.sample import Sample
    from calibrant.findings.arrays import Given
    from calibrant.findings.comparison import Comparison
    from calibrant.measures.certificate import Certificate


@dataclass(frozen=True, slots=True, eq=False)
class Audited:
    """An audit, and outcomes, predictions and groups of its rows, if read whole, single and without weights.

    `columns` are outcomes, predictions and weights (or numbers of trials), if rows were read at all.
    """

    audit: Audit
    rows: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None
    groups: npt.NDArray[Any] | None = None
    columns: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None] | None = None

    @property
    def single(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        """Outcomes and predictions of its rows, if read whole and single, with weights or without."""
        if self.columns is None or self.audit.trials or self.audit.rates:
            return self.rows
        return self.columns[0], self.columns[1]

    @property
    def weight(self) -> npt.NDArray[Any] | None:
        """Weights of these rows, of fractions too; None where they are equal."""
        fractions = self.audit.sampling_fractions
        if self.single is None or self.columns is None or self.columns[2] is not None or fractions is None:
            return None if self.single is None or self.columns is None else self.columns[2]
        return SamplingFractions(*fractions).weight_of(self.columns[0])

    def certificate(self) -> Certificate:
        """Make the certificate of the audit's distances. It names the columns as the file does."""
        from calibrant.measures.certificate import certificate_of_rows

        assert self.columns is not None
        names = dict(self.audit.columns)
        if "trials" in names:
            names["sample_weight"] = names.pop("trials")
        label = self.audit.pos_label
        return certificate_of_rows(*self.columns, columns=names, event=None if label is None else str(label))


def names_of(by: str | Sequence[str] | None, argument: str) -> tuple[str, ...]:
    """Columns that are asked for, one or several; each is looked at where they are used."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if not isinstance(by, Iterable) or isinstance(by, bytes):
        raise InputError(argument, f"is {by!r:.40}", allowed="it must be the name of a column, or several")
    return tuple(by)


def audit_opened(table: Table, request: AuditRequest, listener: Listener, *, last: bool = True) -> Audited:
    """`audit_table` of a table that is open; `last` says that nothing more will be read from it."""
    listener.stage("Reading")
    table.dependent = request.groups is not None
    table.row_keys = (*request.by, *([request.drift] if request.drift else []))
    table.groupings = ()
    if request.by or request.drift:
        from calibrant.findings.parts import groupings_of

        table.groupings = groupings_of(request)
    if table.n_files > 1:
        listener.note(f"{table.n_files:,} files are read as one table.")
    say_lacking(table, (*request.by, *request.find), listener)
    harness = is_harness_log(table, request.y_true, request.y_prob)
    request.refuse(*kinds_of(table, request.y_true, request.y_prob))
    classes = None if harness else table.choose_classes(request.y_prob)
    options = options_of(request)
    if classes is not None:
        audit = _audit_of_classes(table, classes, request, listener)
        return Audited(replace(audit, unweighted=request.unweighted, distinct=table.of_distinct, options=options))
    _check_columns(table, request)
    result = _audit_of_all(table, request, listener, harness, last)
    audit = replace(
        result.audit,
        unweighted=request.unweighted,
        exclude_bad=request.exclude_bad,
        distinct=table.of_distinct,
        complete=table.has_rows,
        options=options,
        perhaps_sampled=None if harness or request.horizon else result.audit.perhaps_sampled,
        refuse_fractions=request.beside("sampling_fractions"),
    )
    if request.by or request.find or request.drift:
        from calibrant.findings.parts import in_parts

        audit = in_parts(table, audit, request, listener)
    request.refuse(*few_groups(audit))
    return replace(result, audit=audit if harness else _naming_the_rest(table, audit, request))


def _audit_of_all(table: Table, request: AuditRequest, listener: Listener, harness: bool, last: bool) -> Audited:
    """The audit of all rows, which are read, or of their sums."""
    if not harness and table.summed:
        table.check(request)
        request.refuse("sums")
        if not (request.groups or request.trials or request.sampling_fractions or request.horizon):
            return _audit_of_sums(table, request, listener, last)
    return _audit_of_rows(table, request, listener)


def _check_columns(table: Table, request: AuditRequest) -> None:
    """Refuse columns of parts that are not there, and a search that would need more than a table's sums."""
    for argument, names in (
        ("by", request.by),
        ("drift", [request.drift] if request.drift else []),
        ("groups", [request.groups] if request.groups else []),
        ("find", request.find if request.find != EVERY else ()),
    ):
        table.require(names, argument)
    if request.find == EVERY and "all" in table.columns:
        raise InputError("find", "is 'all', which means every column and is the name of one; rename that")
    if request.find and request.groups and table.many:
        from calibrant.segments.search import many_in_groups

        raise many_in_groups()


def _naming_the_rest(table: Table, audit: Audit, request: AuditRequest) -> Audit:
    """The audit with the columns that could be searched and were not."""
    cannot = audit.rates or not table.has_rows or (request.groups and table.many)
    if cannot or request.find == EVERY or request.beside("find", EVERY):
        return audit
    used = {*audit.columns.values(), *request.keys}
    rest = tuple(name for name in table.columns if name not in used)
    return replace(audit, not_looked_at=searchable(table, audit.columns, rest, exclude_bad=request.exclude_bad))


def kinds_of(table: Table, y_true: str | None, y_prob: str | None) -> list[str]:
    """List the kinds of this table that decide which options have an effect."""
    if is_harness_log(table, y_true, y_prob):
        return ["log"]
    if not table.has_rows:
        return ["sketches"]
    weights = [] if any(map(may_hold_weights, table.columns)) else ["no weights"]
    return [*weights, *([] if table.choose_classes(y_prob) is None else ["classes"])]


def is_harness_log(table: Table, y_true: str | None, y_prob: str | None) -> bool:
    """Whether a table holds samples of lm-evaluation-harness, and no columns are named of it."""
    named_columns = y_true is not None or y_prob is not None
    return not named_columns and table.is_harness_log


def _audit_of_rows(table: Table, request: AuditRequest, listener: Listener) -> Audited:
    read = read_rows(table, request, request.columns)
    if request.trials:
        shown = {"trials" if argument == "sample_weight" else argument: name for argument, name in read.names.items()}
        read = replace(read, names=shown)
    refuse_own_columns(read.names, groups=[request.groups])
    say_guessed(read.names, read.guessed, listener.note)
    say_excluded(read.n_excluded, listener)
    listener.stage("Pooling")
    try:
        columns, trials, rows = _given(read, request)
    except InputError as problem:
        raise or_left_out(in_table(problem, table, read.names, read.groups)) from None
    _check_drift(request, read.names, rows.rows)
    audit = audit_given(rows, request, title=request.title or table.name, progress=listener.stage)
    single = rows.sample.binary and read.sample_weight is None and request.sampling_fractions is None
    groups = None if audit.n_groups is None else read.groups
    perhaps = None if groups is not None else table.perhaps_groups(roles_of(read.names).values())
    audit = replace(
        audit,
        columns=read.names,
        n_excluded=read.n_excluded,
        perhaps_groups=perhaps,
        hints=hints_of(table, read.names, request, read.followed),
        ways_to_group=None if perhaps is None else request.ways_to_group(perhaps),
        pos_label=request.pos_label,
        followed=read.followed,
    )
    if read.followed is not None:
        audit = _with_unknown(audit, read.followed)
    rows_alone = (columns[0], columns[1]) if single else None
    return Audited(audit, rows_alone, groups, (columns[0], columns[1], columns[2] if trials is None else trials))


def _with_unknown(audit: Audit, followed: Followed) -> Audit:
    """The audit with rows and groups counted whose outcome is not known at the horizon."""
    n_groups = None if audit.n_groups is None else audit.n_groups + followed.n_unknown_groups
    gate = None if audit.gate is None else of_followed(audit.gate, followed.n_unknown, followed.n_unknown_groups)
    return replace(audit, gate=gate, n_groups=n_groups)


def _given(read: Columns, request: AuditRequest) -> tuple[tuple[FloatArray, FloatArray, FloatArray | None], Any, Given]:
    """Check what was read: columns of numbers, numbers of trials, and the rows with their draws."""
    trials, weight = (read.sample_weight, None) if request.trials else (None, read.sample_weight)
    columns = read_columns(read.y_true, read.y_prob, weight)
    binary = trials is not None or bool(np.isin(columns[0], (0.0, 1.0)).all())
    request.refuse(*chance_of(binary, request.n_resamples))
    if read.groups is not None:
        read = replace(read, groups=read_units(read.groups, columns[1].size, trials, request.max_weight))
    rows = given(
        *columns,
        trials=trials,
        groups=read.groups,
        max_weight=read.most_weight(request.max_weight),
        outcome_free=request.outcome_free_weights,
        sampling_fractions=request.sampling_fractions,
    )
    if read.followed is not None and rows.rows is not None:  # whatever values its weights have
        rows = replace(rows, rows=replace(rows.rows, fractions=None))
    if rows.draws is None and (trials is not None or read.groups is not None or rows.sample.weights_differ):
        request.refuse("unbounded", *nothing_decided(request))
    return columns, trials, rows


def read_rows(table: Table, request: CalibrationRequest, columns: Mapping[str, Any]) -> Columns:
    """Read these columns of a table, numbers of trials in the place of weights; outcomes at a horizon are made."""
    try:
        read = table.read(exclude_bad=request.exclude_bad, groups=request.groups, **columns)
    except InputError as problem:
        raise of_columns(problem, request) from None
    if request.horizon is None:
        return read
    from calibrant.findings.parts import with_outcomes

    return with_outcomes(table, read, request, request.horizon)


def _check_drift(request: AuditRequest, names: Mapping[str, str], rows: Rows | None = None) -> None:
    """Refuse weights where drift is asked for: its evidence has a place for those of sampling by outcome alone.

    `rows` are those that were read, None where they were summed.
    """
    if not request.drift or "sample_weight" not in names:
        return
    from calibrant.drift.periods import SINGLE

    if rows is None or rows.fractions is None or rows.group is not None:
        ways = Ways(
            "unweighted=True leaves them out; rows sampled by outcome need sampling_fractions as well",
            "--unweighted leaves them out; rows sampled by outcome need --sampling-fractions as well",
        )
        problem = f"column {names['sample_weight']!r} cannot be used with periods of drift: {SINGLE}"
        raise InputError("sample_weight", problem, allowed=ways)
    if request.reference is not None:
        problem = "cannot be used with weights of sampling by outcome: rates are compared as they are in the file"
        raise InputError("reference", problem, allowed=Ways("leave reference out", "leave --reference out"))


def _audit_of_sums(table: Table, request: AuditRequest, listener: Listener, last: bool) -> Audited:
    from calibrant.findings.sketch import road_of, with_bounds

    columns = table.choose(**request.columns)
    is_sketch = not table.has_rows
    if request.max_weight is not None and "sample_weight" not in columns.names and not is_sketch:
        raise InputError("max_weight", "has no effect: there are no weights")
    _check_drift(request, columns.names)
    begun = time.monotonic()
    sketch, n_excluded = table.sketched(columns.names, exclude_bad=request.exclude_bad)
    seconds = time.monotonic() - begun
    if last and not (request.by or request.drift or request.find):
        table.close()
    say_guessed(columns.names, columns.guessed, listener.note)
    say_excluded(n_excluded, listener)
    title = request.title or table.name
    title = f"{title}, rows" if title else "Rows"
    title += f" pooled into {counted(sketch.n_cells, 'cell')}"
    sample, cells = sketch.sample, sketch.moments()
    _refuse_of_sums(sample, request)
    draws = None if request.max_weight is None else draws_of_cells(sample, cells, request.max_weight)[1]
    moved = cells.distance_moved + ARITHMETIC
    audit = audit_sample(sample, request, title=title, progress=listener.stage, displacement=moved, draws=draws)
    listener.stage("Bounds")
    audit = with_bounds(audit, sketch, cells, draws, everything=request.everything)
    road = road_of(table, sketch, cells)
    listener.note(f"{road}" if is_sketch else f"{road} That took {seconds:.1f} s.")
    perhaps = None if is_sketch else table.perhaps_groups(columns.names.values())
    audit = replace(audit, columns=columns.names, n_excluded=n_excluded, pos_label=request.pos_label, road=road)
    ways = None if perhaps is None else request.ways_to_group(perhaps, many=True)
    return Audited(replace(audit, perhaps_groups=perhaps, ways_to_group=ways))


def _refuse_of_sums(sample: Sample, request: AuditRequest) -> None:
    """Refuse options without an effect on the sample of a sketch."""
    request.refuse(*chance_of(sample.binary, request.n_resamples))
    if sample.weights_differ:
        unbounded = ["unbounded", *nothing_decided(request)] if request.max_weight is None else []
        request.refuse(*unbounded, *(["weighted sums"] if request.n_resamples and not request.find else []))


def nothing_decided(request: AuditRequest) -> list[str]:
    """Whether rows that nothing is proved of are not tested either."""
    return [] if request.n_resamples or request.by or request.drift else ["nothing decided"]


def chance_of(binary: bool, n_resamples: int) -> list[str]:
    """Whether anything is said of chance, and whether anything is drawn."""
    return [*([] if binary else ["rates"]), *([] if n_resamples else ["nothing drawn"])]


def _audit_of_classes(table: Table, columns: Sequence[str], request: AuditRequest, listener: Listener) -> Audit:
    request.refuse(*chance_of(True, request.n_resamples))
    table.require([request.groups] if request.groups else [], "groups")
    read = table.read_classes(
        columns,
        y_true=request.y_true,
        sample_weight=request.sample_weight,
        unweighted=request.unweighted,
        groups=request.groups,
    )
    refuse_own_columns(read.names | {f"y_prob ({name})": name for name in columns}, groups=[request.groups])
    say_guessed(read.names, (*read.guessed, "y_prob"), listener.note)
    try:
        sample = multiclass_sample(read.y_true, read.y_prob, sample_weight=read.sample_weight, classes=read.classes)
    except InputError as problem:
        raise or_several(in_table(problem, table, read.names), request.y_prob) from None
    groups = None if read.groups is None else read_units(read.groups, sample.y_true.size, None, request.max_weight)
    if request.max_weight is None and (groups is not None or read.sample_weight is not None):
        request.refuse("unbounded", *nothing_decided(request))
    title = request.title or table.name
    audit = audit_classes(sample, request, groups=groups, title=title, progress=listener.stage)
    perhaps = None if groups is not None else table.perhaps_groups({*read.names.values(), *columns})
    used = {**read.names, **{f"class {name}": name for name in columns}}
    return replace(audit, columns=read.names, perhaps_groups=perhaps, hints=hints_of(table, used, request))


class AuditOptions(TypedDict, total=False):
    """The options of `audit_table`, whose type does not depend on how many forecasts there are."""

    y_true: str | None
    sample_weight: str | None
    trials: str | None
    by: str | Sequence[str] | None
    drift: str | None
    reference: Any
    exclude_bad: bool
    unweighted: bool
    groups: str | None
    sampling_fractions: Any
    outcome_free_weights: bool
    time: str | None
    event: str | None
    horizon: float | None
    strata: str | Sequence[str] | None
    least_followed: float | None
    max_weight: float | None
    pos_label: Any
    max_distance: float | None
    threshold: float | None
    level: float
    n_resamples: int
    random_state: RandomState
    title: str | None
    find: str | Sequence[str] | None
    max_depth: int
    filesystem: Any
    distinct: bool
    progress: bool | Callable[[str], None] | None


@overload
def audit_table(table: Any, *, y_prob: str | None = ..., **options: Unpack[AuditOptions]) -> Audit: ...


@overload
def audit_table(table: Any, *, y_prob: list[str] | tuple[str, ...], **options: Unpack[AuditOptions]) -> Comparison: ...


@optional("audit_table", *EXTRAS)
def audit_table(
    table: Any,
    *,
    y_true: str | None = None,
    y_prob: str | list[str] | tuple[str, ...] | None = None,
    sample_weight: str | None = None,
    trials: str | None = None,
    by: str | Sequence[str] | None = None,
    drift: str | None = None,
    reference: Any = None,
    exclude_bad: bool = False,
    unweighted: bool = False,
    groups: str | None = None,
    sampling_fractions: Any = None,
    outcome_free_weights: bool = False,
    time: str | None = None,
    event: str | None = None,
    horizon: float | None = None,
    strata: str | Sequence[str] | None = None,
    least_followed: float | None = None,
    max_weight: float | None = None,
    pos_label: Any = None,
    max_distance: float | None = None,
    threshold: float | None = None,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    title: str | None = None,
    find: str | Sequence[str] | None = None,
    max_depth: int = MAX_DEPTH,
    filesystem: Any = None,
    distinct: bool = False,
    progress: bool | Callable[[str], None] | None = None,
) -> Audit | Comparison:
    """Audit a file, a data frame, a table of an engine or a sketch, with its segments and its drift.

    Parameters
    ----------
    table : str, path, table or CalibrationSketch
        A CSV, Parquet, JSON lines or Arrow file. A folder or a pattern of such files; the names of folders such as
        ``day=2026-01-31`` are a column. A dataset of pyarrow. A frame of pandas, polars or pyarrow. A lazy table of
        polars, DuckDB, PySpark, Dask or Ibis; or a `CalibrationSketch`, or a file of sketches, whose other columns are
        keys.
    y_true, y_prob, sample_weight : str, optional
        Names of its columns. Those not given are found by their usual names (`y_true`, `label`, ...; `y_prob`, `score`,
        ...; `sample_weight`), and ``.columns`` of the audit says which they were. A column that may hold weights by its
        name is never ignored: it is used, or an error asks about it. For classes `y_prob` is a text ``"p0,p1"`` or a
        pattern ``"p*"``. A list of two to eight columns is that of several forecasts, which are compared.
    trials : str, optional
        Column of numbers of independent outcomes behind each event rate, whole numbers from 1, as for `audit`. Only for
        tables whose rows are read, and without weights.
    by : str or sequence of str, optional
        Columns whose combinations are segments, each tested, the worst first.
    drift : str, optional
        Column of days or other periods: from which on is calibration proved wrong? Not with weights.
    reference : object or list, optional
        One or several of these periods: has the meaning of predictions changed since? As for `calibration_drift`.
    exclude_bad : bool, default False
        Leave out rows with nulls, NaN, text or numbers out of range, and count them in ``.n_excluded``, instead of
        refusing them.
    unweighted : bool, default False
        Leave out a column that holds weights by its name.
    groups : str, optional
        Column of what rows belong to (a patient, an account, a day), if only rows of different ones are independent.
        Every statement about chance then goes by group, of segments and drift too. Only for tables whose rows are read.
    sampling_fractions : mapping, optional
        Share of rows that were kept of each outcome, as for `audit`. Only for tables whose rows are read, and without
        `reference`.
    outcome_free_weights : bool, default False
        As for `audit`; sums in cells are tested with weights only if this is declared.
    time, event, horizon, strata, least_followed : optional
        As for `censored_outcomes`, with names of columns. Outcomes are of the event by the horizon, and weights make up
        for rows that left before. Segments of `by` are strata, unless too few rows of one are followed. In the place of
        `y_true` and `sample_weight`; not with `drift`.
    max_weight : float, optional
        As for `audit`: the most that one row, or with groups a whole group, can weigh, known beforehand.
    pos_label : label, optional
        The label of the event, if the column of outcomes holds two labels.
    max_distance, threshold, level, n_resamples, random_state, progress
        As for `audit`.
    title : str, optional
        Head of the report; the file's name by default.
    find : str or sequence of str, optional
        Columns in which to find segments that are off by more than noise, as `find_segments` does; ``"all"`` for every
        other column that can be used. Predictions must not have been fitted to these rows.
    max_depth : int, default 2
        With `find`: the most columns that a segment combines.
    filesystem : FileSystem or str, optional
        Where to look for a file, a folder or a pattern. A file system of pyarrow or fsspec, an address such as
        ``"s3://bucket"``, or ``"s3"``, ``"gcs"``. By default this machine. Parquet, CSV and Arrow files.
    distinct : bool, default False
        Say that files, or sketches, of equal contents hold other rows each; they are refused without it. The same file
        twice is refused all the same.

    Returns
    -------
    Audit or Comparison
        Of the rows themselves. Lazy tables and files of more than 5,000,000 rows (500 MB of text) are summed in cells.
        Every number then has a bound of what that costs, and ``.road`` says who summed them. For several forecasts a
        Comparison: their audits, and a paired test of their smooth errors if rows are read.

    Raises
    ------
    InputError
        If a column cannot be used, it is unclear which one is meant, or rows are bad. FileError if the file cannot be
        read.

    See Also
    --------
    audit, calibration_by_segment, find_segments, calibration_drift

    Notes
    -----
    Cost: each file is opened and its dialect detected once; sums take one scan, or one GROUP BY,
    where the rows lie.

    Examples
    --------
    >>> import pyarrow
    >>> from calibrant import audit_table
    >>> table = pyarrow.table({"label": [0, 1, 1, 0], "score": [0.2, 0.7, 0.9, 0.4]})
    >>> found = audit_table(table, random_state=0)
    >>> dict(found.columns)
    {'y_true': 'label', 'y_prob': 'score'}
    >>> found.n_rows
    4
    >>> two = table.append_column("older", pyarrow.array([0.4, 0.5, 0.6, 0.5]))
    >>> audit_table(two, y_prob=["score", "older"], random_state=0).names
    ('score', 'older')
    """
    one = y_prob if y_prob is None or isinstance(y_prob, str) else None
    several = () if y_prob is None or isinstance(y_prob, str) else check_forecasts(y_prob)
    request = AuditRequest(
        y_true=y_true,
        y_prob=one,
        by=names_of(by, "by"),
        find=names_of(find, "find"),
        sample_weight=sample_weight,
        trials=trials,
        drift=drift,
        exclude_bad=exclude_bad,
        unweighted=unweighted,
        groups=groups,
        sampling_fractions=sampling_fractions,
        outcome_free_weights=outcome_free_weights,
        time=time,
        event=event,
        horizon=horizon,
        strata=names_of(strata, "strata"),
        least_followed=least_followed,
        max_weight=max_weight,
        pos_label=pos_label,
        max_distance=max_distance,
        threshold=threshold,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
        title=title,
        max_depth=max_depth,
        reference=reference,
        filesystem=filesystem,
        distinct=distinct,
    )
    Search.of(request)  # refused before anything is read
    source = open_table(table, filesystem=filesystem, pos_label=pos_label, distinct=distinct)
    with watched(progress) as tell:
        if several:
            return audit_forecasts(source, several, request, Listener(tell))
        return audit_opened(source, request, Listener(tell)).audit


# Forecasts, or files, that are set side by side.
MOST = 8
_WAYS = Ways("give a list of two names to eight, or one as text", "say --y-prob NAME once for each")


def check_forecasts(names: Sequence[str]) -> tuple[str, ...]:
    """Names of two forecasts or more, each of one column, as `audit_table` takes them.

    Raises InputError if they are fewer or too many, or one stands twice or for several columns.
    """
    if isinstance(names, bytes) or not isinstance(names, Sequence):
        raise InputError("y_prob", f"is {names!r:.40}", allowed=_WAYS)
    forecasts = tuple(names)
    for name in forecasts:
        text("" if name is None else name, "y_prob")
        if "," in name or "*" in name:
            raise InputError(
                "y_prob",
                f"{name!r} stands for columns of classes; forecasts that are compared are columns of one probability",
            )
    if not 2 <= len(forecasts) <= MOST or len(set(forecasts)) < len(forecasts):
        what = "names a column twice" if len(set(forecasts)) < len(forecasts) else f"names {len(forecasts)}"
        raise InputError("y_prob", what, allowed=_WAYS)
    return forecasts


def audit_forecasts(table: Table, names: Sequence[str], request: AuditRequest, listener: Listener) -> Comparison:
    """Audit each forecast, and compare them as files that hold the same rows are compared.

    Raises InputError as `audit_table`, if a column cannot be used or rows are bad.
    """
    from calibrant.findings.comparison import compare, refuse_idle_draws

    forecasts = check_forecasts(names)
    table.require(forecasts, "y_prob")
    rng, seed = seeded(request.random_state)
    shared = int(rng.integers(2**31)) if seed is None else seed
    request = replace(request, random_state=shared)
    audited = []
    for name in forecasts:
        title = f"{name} of {request.title or table.name}" if request.title or table.name else name
        listener_of = replace(listener, note=say_of(name, listener.note))
        one = replace(request.of_several, y_prob=name, title=title)
        audit = audit_opened(table, one, listener_of, last=name == forecasts[-1])
        rest = tuple(each for each in audit.audit.not_looked_at if each not in forecasts)
        audited.append(replace(audit, audit=replace(audit.audit, not_looked_at=rest)))
    listener.stage("Comparison")
    comparison = compare(
        forecasts,
        [each.audit for each in audited],
        [each.single for each in audited],
        groups_of=[each.groups for each in audited],
        weight=audited[0].weight,
        outcome_free=request.outcome_free_weights,
        level=request.level,
        seed=shared,
    )
    refuse_idle_draws(comparison, request.explicit)
    return comparison


def keep_rows(
    table: Table, path: str | os.PathLike[str], request: Request, listener: Listener, *, overwrite: bool = False
) -> Written:
    """Write the sketch of a table's rows, or one for each combination of the columns that are asked for.

    Raises InputError if a column cannot be used or rows are bad. FileError if the place cannot be written to.
    """
    check_place(path, request.by, overwrite)
    if not table.has_rows:
        raise InputError("FILE", "holds sketches already", allowed="calibrant merge adds them up")
    classes = table.choose_classes(request.y_prob)
    request.refuse(*kinds_of(table, request.y_true, request.y_prob))
    if classes is not None:
        raise InputError("y_prob", "names columns of classes, and a sketch is of one; name one column as y_prob")
    listener.stage("Reading")
    table.require(request.by, "by")
    table.row_keys = request.by
    say_lacking(table, request.by, listener)
    columns = table.choose(**request.columns)
    refuse_own_columns(columns.names, by=request.by)
    say_guessed(columns.names, columns.guessed, listener.note)
    written = write_rows(table, path, names=columns.names, by=request.by, exclude_bad=request.exclude_bad)
    say_excluded(written.n_excluded, listener)
    return written
