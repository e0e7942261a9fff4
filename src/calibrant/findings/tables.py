"""The audit of a table that is open: its columns are found by name, and its rows are read or summed."""

from __future__ import annotations

__all__ = ["audit_table"]

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_band, flag, seeded, text, texts
from calibrant.door.classes import multiclass_sample
from calibrant.door.columns import read_columns
from calibrant.door.errors import FileError, InputError, Ways
from calibrant.door.values import counted
from calibrant.findings.arrays import audit_classes, audit_given, audit_sample
from calibrant.findings.comparison import Comparison, compare, refuse_idle_seed
from calibrant.findings.effects import AUDIT, changed, refuse_idle
from calibrant.findings.faults import in_table, or_left_out, or_several, refuse_own_columns
from calibrant.findings.parts import EVERY, check_drift, in_parts
from calibrant.findings.results import Audit
from calibrant.findings.rows import given
from calibrant.findings.sketch import road_of, with_bounds
from calibrant.progress import watched
from calibrant.segments import request as search
from calibrant.segments.request import MAX_DEPTH
from calibrant.sketch.bounds import ARITHMETIC
from calibrant.sketch.sample import draws_of_cells, weights_differ
from calibrant.tables.columns import perhaps_groups
from calibrant.tables.entry import open_table
from calibrant.tables.files import OpenedFile
from calibrant.tables.relations import InDuckDB
from calibrant.tables.sketches import KeptSketches
from calibrant.tables.table import Table
from calibrant.tables.writer import Written, check_place, write_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt


_FEW_COLUMNS = 3
ROLES = {"y_true": "outcomes", "y_prob": "predictions", "sample_weight": "weights"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a table; columns that are None are guessed by their names."""

    y_true: str | None = None
    y_prob: str | None = None
    sample_weight: str | None = None
    by: tuple[str, ...] = ()
    drift: str | None = None
    exclude_bad: bool = False
    unweighted: bool = False
    max_distance: float | None = None
    threshold: float | None = None
    level: float = 0.05
    n_resamples: int = N_RESAMPLES
    random_state: RandomState = None
    title: str | None = None
    groups: str | None = None
    max_weight: float | None = None
    pos_label: Any = None
    reference: Any = None
    find: tuple[str, ...] = ()
    max_depth: int = search.MAX_DEPTH
    given: frozenset[str] | None = None
    """Options that were given, of the command line even where they are as by default."""

    def __post_init__(self) -> None:
        """Refuse what names no column, before anything is read."""
        for argument in ("y_true", "y_prob", "sample_weight", "drift", "title", "groups"):
            text(getattr(self, argument), argument)
        texts(self.by, "by")
        texts(self.find, "find")
        flag(self.exclude_bad, "exclude_bad")
        flag(self.unweighted, "unweighted")
        self.refuse("search" if self.find else "no search", "drift" if self.drift else "no drift")

    def refuse(self, *modes: str) -> None:
        """Raise for an option that was given and has no effect in one of these modes."""
        refuse_idle(AUDIT, tuple(changed(self)) if self.given is None else self.given, modes)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns, as `Table.choose` takes them."""
        return {
            "y_true": self.y_true,
            "y_prob": self.y_prob,
            "sample_weight": self.sample_weight,
            "unweighted": self.unweighted,
            "grouped_by": self.keys,
        }

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of keys: segments, periods, groups and features."""
        return (*self.by, *(name for name in (self.drift, self.groups) if name), *self.find)

    @property
    def of_search(self) -> search.Asked | None:
        """How segments are to be found, where they are."""
        if not self.find:
            return None
        return search.Asked(
            max_depth=self.max_depth, level=self.level, n_resamples=self.n_resamples, random_state=self.random_state
        )

    @property
    def of_audit(self) -> dict[str, Any]:
        """What `audit_sample` and `audit_classes` take as it is."""
        return {
            "max_distance": self.max_distance,
            "threshold": self.threshold,
            "level": self.level,
            "n_resamples": self.n_resamples,
            "random_state": self.random_state,
        }


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told of the stages of the work, of what was guessed or left out, and of premises by name.

    A `hint` is a premise with what to do about it, for whoever does not see the page, which has it.
    """

    progress: Callable[[str], None] = lambda _stage: None
    say: Callable[[str], None] = lambda _said: None
    premise: Callable[[str, Any], None] = lambda _name, _value: None
    hint: Callable[[str], None] = lambda _said: None


@dataclass(frozen=True, slots=True, eq=False)
class Audited:
    """An audit, and outcomes, predictions and groups of its rows, if read whole, single and without weights."""

    audit: Audit
    rows: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None
    groups: npt.NDArray[Any] | None = None


def names_of(by: str | Sequence[str] | None, argument: str) -> tuple[str, ...]:
    """Columns that are asked for, one or several; each is looked at where they are used."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if not isinstance(by, Iterable) or isinstance(by, bytes):
        raise InputError(argument, f"is {by!r:.40}", allowed="it must be the name of a column, or several")
    return tuple(by)


def audit_opened(table: Table, asked: Asked, told: Told, *, last: bool = True) -> Audited:
    """`audit_table` of a table that is open, and of which nothing more is asked where this is the last."""
    told.progress("Reading")
    if isinstance(table, InDuckDB) and len(table.files) > 1:
        told.say(f"{len(table.files):,} files are read as one table.")
    harness = is_harness_log(table, asked.y_true, asked.y_prob)
    asked.refuse(*kinds_of(table, asked.y_true, asked.y_prob))
    classes = None if harness else table.choose_classes(asked.y_prob)
    if classes is not None:
        audit = _audit_of_classes(table, classes, asked, told)
        return Audited(replace(audit, unweighted=asked.unweighted, distinct=table.distinct))
    table.require(asked.by, "by")
    table.require([asked.drift] if asked.drift else [], "drift")
    table.require([asked.groups] if asked.groups else [], "groups")
    table.require(asked.find if asked.find != EVERY else (), "find")
    if asked.find == EVERY and "all" in table.columns:
        raise InputError("find", "is 'all', which means every column and is the name of one; rename that")
    if asked.find and asked.groups and table.many:
        from calibrant.segments.search import many_in_groups

        raise many_in_groups()
    summed = not harness and table.summed
    if summed and asked.groups and isinstance(table, InDuckDB):
        why = "rows of a file as large as this are summed by cell, which does not tell groups apart"
        raise InputError("groups", why, allowed="audit some of its groups, all rows of each")
    summed = summed and not asked.groups
    done = _audit_of_sums(table, asked, told, last) if summed else _audit_of_rows(table, asked, told)
    audit = replace(
        done.audit,
        unweighted=asked.unweighted,
        exclude_bad=asked.exclude_bad,
        distinct=table.distinct,
        complete=not isinstance(table, KeptSketches),
    )
    audit = in_parts(table, audit, asked, told)
    cannot = harness or audit.rates or isinstance(table, KeptSketches) or (asked.groups and table.many)
    if not cannot and asked.find != EVERY:
        taken = {*audit.columns.values(), *asked.keys}
        rest = tuple(name for name in table.columns if name not in taken)
        audit = replace(audit, not_looked_at=searchable(table, audit.columns, rest, exclude_bad=asked.exclude_bad))
    return replace(done, audit=audit)


def searchable(table: Table, names: Mapping[str, str], rest: tuple[str, ...], *, exclude_bad: bool) -> tuple[str, ...]:
    """The columns that are left, or none where a search of them would be refused, as of identifiers alone.

    That is looked at where columns and rows are few.
    """
    if not 0 < len(rest) <= _FEW_COLUMNS or table.many:
        return rest
    from calibrant.segments.features import read_features

    prediction = {"y_prob": names["y_prob"]}
    try:
        held = table.with_features(prediction, rest, "find", exclude_bad=exclude_bad)
        read_features(held.keys, {"y_true": None}, search.Asked(), chosen=False, option="find")
    except FileError:
        return rest  # a search says which column is to be written otherwise, and how
    except InputError:
        return ()
    return rest


def kinds_of(table: Table, y_true: str | None, y_prob: str | None) -> list[str]:
    """What kind of table it is, where that decides which options have an effect."""
    if is_harness_log(table, y_true, y_prob):
        return ["log"]
    if isinstance(table, KeptSketches):
        return ["sketches"]
    return [] if table.choose_classes(y_prob) is None else ["classes"]


def is_harness_log(table: Table, y_true: str | None, y_prob: str | None) -> bool:
    """Whether a table holds samples of lm-evaluation-harness, and no columns are named of it."""
    named_columns = y_true is not None or y_prob is not None
    return not named_columns and isinstance(table, OpenedFile) and table.is_harness_log


def _audit_of_rows(table: Table, asked: Asked, told: Told) -> Audited:
    try:
        read = table.read(**asked.columns, groups=asked.groups, exclude_bad=asked.exclude_bad)
    except InputError as problem:
        raise or_left_out(problem) from None
    refuse_own_columns(read.names, groups=[asked.groups])
    say_guessed(read.names, read.guessed, told.say)
    say_excluded(read.n_excluded, told)
    check_drift(asked, read.names)
    told.progress("Pooling")
    try:
        columns = read_columns(read.y_true, read.y_prob, read.sample_weight)
        asked.refuse(*chance_of(bool(np.isin(columns[0], (0.0, 1.0)).all()), asked.n_resamples))
        rows = given(*columns, groups=read.groups, max_weight=asked.max_weight)
        if rows.draws is None and (read.groups is not None or weights_differ(rows.sample)):
            asked.refuse("unbounded")
    except InputError as problem:
        raise or_left_out(in_table(problem, table, read.names)) from None
    options = asked.of_audit | {"title": asked.title or table.name}
    audit = audit_given(rows, **options, progress=told.progress)
    single = rows.sample.binary and read.sample_weight is None
    perhaps = None if asked.groups else _belonging(table, read.names.values())
    audit = replace(
        audit,
        columns=read.names,
        n_excluded=read.n_excluded,
        perhaps_groups=perhaps,
        pos_label=asked.pos_label,
    )
    return Audited(audit, (columns[0], columns[1]) if single else None, read.groups)


def _audit_of_sums(table: Table, asked: Asked, told: Told, last: bool) -> Audited:
    chosen = table.choose(**asked.columns)
    kept = isinstance(table, KeptSketches)
    if asked.max_weight is not None and "sample_weight" not in chosen.names and not kept:
        raise InputError("max_weight", "has no effect: there are no weights")
    check_drift(asked, chosen.names)
    begun = time.monotonic()
    sketch, n_excluded = table.sketched(chosen.names, exclude_bad=asked.exclude_bad)
    seconds = time.monotonic() - begun
    if last and not (asked.by or asked.drift or asked.find):
        table.close()
    say_guessed(chosen.names, chosen.guessed, told.say)
    say_excluded(n_excluded, told)
    title = asked.title or table.name
    title = f"{title}, rows" if title else "Rows"
    title += f" pooled into {counted(sketch.n_cells, 'cell')}"
    sample = sketch.sample
    asked.refuse(*chance_of(sample.binary, asked.n_resamples))
    if weights_differ(sample):
        asked.refuse(*(["unbounded"] if asked.max_weight is None else []), *([] if asked.find else ["weighted sums"]))
    draws = None if asked.max_weight is None else draws_of_cells(sample, sketch.moments(), asked.max_weight)[1]
    audit = audit_sample(
        sample,
        **asked.of_audit,
        title=title,
        progress=told.progress,
        displacement=sketch.displacement + ARITHMETIC,
        draws=draws,
    )
    told.progress("Bounds")
    audit = with_bounds(audit, sketch, draws)
    road = road_of(table, sketch)
    told.say(f"{road}" if kept else f"{road} That took {seconds:.1f} s.")
    # Whether values repeat is not looked up among so many rows: what is said is true either way.
    perhaps = None if kept else perhaps_groups(table.columns, set(chosen.names.values()))
    audit = replace(audit, columns=chosen.names, n_excluded=n_excluded, pos_label=asked.pos_label, road=road)
    return Audited(replace(audit, perhaps_groups=perhaps))


def chance_of(binary: bool, n_resamples: int) -> list[str]:
    """Whether anything is said of chance, and whether anything is drawn."""
    return [*([] if binary else ["rates"]), *([] if n_resamples else ["nothing drawn"])]


def _audit_of_classes(table: Table, columns: Sequence[str], asked: Asked, told: Told) -> Audit:
    asked.refuse(*chance_of(True, asked.n_resamples))
    table.require([asked.groups] if asked.groups else [], "groups")
    read = table.read_classes(
        columns,
        y_true=asked.y_true,
        sample_weight=asked.sample_weight,
        unweighted=asked.unweighted,
        groups=asked.groups,
    )
    refuse_own_columns(read.names | {f"y_prob ({name})": name for name in columns}, groups=[asked.groups])
    say_guessed(read.names, (*read.guessed, "y_prob"), told.say)
    try:
        sample = multiclass_sample(read.y_true, read.y_prob, sample_weight=read.sample_weight, classes=read.classes)
    except InputError as problem:
        raise or_several(in_table(problem, table, read.names), asked.y_prob) from None
    if asked.max_weight is None and (read.groups is not None or read.sample_weight is not None):
        asked.refuse("unbounded")
    options = asked.of_audit | {"groups": read.groups, "max_weight": asked.max_weight}
    audit = audit_classes(sample, **options, title=asked.title or table.name, progress=told.progress)
    perhaps = None if asked.groups else _belonging(table, {*read.names.values(), *columns})
    return replace(audit, columns=read.names, perhaps_groups=perhaps)


def _belonging(table: Table, used: Iterable[str]) -> str | None:
    """A column, none of those used, whose name says that rows belong together, and in which values repeat."""
    name = perhaps_groups(table.columns, set(used))
    if name is None:
        return None
    try:
        rank = table.ranks(name, "groups")
    except InputError:  # what it holds is not known: it may be so
        return name
    return name if np.unique(rank[rank >= 0]).size < np.count_nonzero(rank >= 0) else None


def say_excluded(n_rows: int, told: Told) -> None:
    """Say how many bad rows were left out, if any were."""
    told.premise("n_excluded", n_rows)
    if n_rows:
        what = "is null, no number" if n_rows == 1 else "are null, no numbers"
        told.say(f"Left out {counted(n_rows, 'row')} that {what}, NaN or out of range.")


def say_guessed(names: Mapping[str, str], guessed: tuple[str, ...], say: Callable[[str], None]) -> None:
    """Say which columns were taken by their names alone."""
    if guessed:
        say(f"Using {', '.join(f'{names[argument]!r} as the {ROLES[argument]}' for argument in guessed)}.")


@overload
def audit_table(
    table: Any,
    *,
    y_true: str | None = ...,
    y_prob: str | None = ...,
    sample_weight: str | None = ...,
    by: str | Sequence[str] | None = ...,
    drift: str | None = ...,
    reference: Any = ...,
    exclude_bad: bool = ...,
    unweighted: bool = ...,
    groups: str | None = ...,
    max_weight: float | None = ...,
    pos_label: Any = ...,
    max_distance: float | None = ...,
    threshold: float | None = ...,
    level: float = ...,
    n_resamples: int = ...,
    random_state: RandomState = ...,
    title: str | None = ...,
    find: str | Sequence[str] | None = ...,
    max_depth: int = ...,
    filesystem: Any = ...,
    distinct: bool = ...,
    progress: bool | Callable[[str], None] | None = ...,
) -> Audit: ...


@overload
def audit_table(
    table: Any,
    *,
    y_true: str | None = ...,
    y_prob: list[str] | tuple[str, ...],
    sample_weight: str | None = ...,
    by: str | Sequence[str] | None = ...,
    drift: str | None = ...,
    reference: Any = ...,
    exclude_bad: bool = ...,
    unweighted: bool = ...,
    groups: str | None = ...,
    max_weight: float | None = ...,
    pos_label: Any = ...,
    max_distance: float | None = ...,
    threshold: float | None = ...,
    level: float = ...,
    n_resamples: int = ...,
    random_state: RandomState = ...,
    title: str | None = ...,
    find: str | Sequence[str] | None = ...,
    max_depth: int = ...,
    filesystem: Any = ...,
    distinct: bool = ...,
    progress: bool | Callable[[str], None] | None = ...,
) -> Comparison: ...


def audit_table(
    table: Any,
    *,
    y_true: str | None = None,
    y_prob: str | list[str] | tuple[str, ...] | None = None,
    sample_weight: str | None = None,
    by: str | Sequence[str] | None = None,
    drift: str | None = None,
    reference: Any = None,
    exclude_bad: bool = False,
    unweighted: bool = False,
    groups: str | None = None,
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
        A CSV, Parquet, JSON lines or Arrow file, a folder or a pattern of such files (the names of folders such as
        ``day=2026-01-31`` are a column); a dataset of pyarrow; a frame of pandas, polars or pyarrow; a lazy table of
        polars, DuckDB, PySpark, Dask or Ibis; or a `CalibrationSketch`, or a file of sketches, whose other columns are
        keys.
    y_true, y_prob, sample_weight : str, optional
        Names of its columns; those not given are found by their usual names (`y_true`, `label`, ...; `y_prob`, `score`,
        ...; `sample_weight`), and ``.columns`` of the audit says which they were. A column that may hold weights by its
        name is never ignored: it is used, or an error asks about it. For classes `y_prob` is a text ``"p0,p1"`` or a
        pattern ``"p*"``. A list of two to eight columns is that of several forecasts, which are compared.
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
        Column of what rows belong to (a patient, an account, a day), if only rows of different ones are independent:
        all that is said about chance goes by group, of segments and drift too. Only for tables whose rows are read.
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
        Where to look for a file, a folder or a pattern: a file system of pyarrow or fsspec, an address such as
        ``"s3://bucket"``, or ``"s3"``, ``"gcs"``; by default this machine. Parquet, CSV and Arrow files.
    distinct : bool, default False
        Say that files, or sketches, of equal contents hold other rows each; they are refused without it. The same file
        twice is refused all the same.

    Returns
    -------
    Audit or Comparison
        Of the rows themselves; or, for lazy tables and files of more than 5,000,000 rows (500 MB of text), of their
        sums in cells: every number then has a bound of what that costs, and ``.road`` says who summed them. For several
        forecasts a Comparison: their audits, and a paired test of their smooth errors if rows are read.

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
    Cost: each file is opened and its dialect detected once; sums take one GROUP BY where the rows lie.

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
    asked = Asked(
        y_true,
        one,
        sample_weight,
        names_of(by, "by"),
        drift,
        exclude_bad,
        unweighted,
        max_distance,
        threshold,
        level,
        n_resamples,
        random_state,
        title,
        groups,
        max_weight,
        pos_label,
        reference,
        names_of(find, "find"),
        max_depth,
    )
    check_band(level, n_resamples)  # before anything that takes longer
    asked.of_search  # noqa: B018 - refused before anything is read
    opened = open_table(table, filesystem=filesystem, pos_label=pos_label, distinct=distinct)
    with watched(progress) as tell:
        if several:
            return audit_forecasts(opened, several, asked, Told(tell))
        return audit_opened(opened, asked, Told(tell)).audit


MOST = 8
"""Forecasts, or files, that are set side by side."""
_WAYS = Ways("give a list of two names to eight, or one as text", "say --y-prob NAME once for each")


def check_forecasts(names: Sequence[str]) -> tuple[str, ...]:
    """Names of two forecasts or more, each of one column, as `audit_table` takes them.

    Raises
    ------
    InputError
        If they are fewer or too many, or one stands twice or for several columns.
    """
    if isinstance(names, bytes) or not isinstance(names, Sequence):
        raise InputError("y_prob", f"is {names!r:.40}", allowed=_WAYS)
    found = tuple(names)
    for name in found:
        text("" if name is None else name, "y_prob")
        if "," in name or "*" in name:
            said = f"{name!r} stands for columns of classes; forecasts that are compared are columns of one probability"
            raise InputError("y_prob", said)
    if not 2 <= len(found) <= MOST or len(set(found)) < len(found):
        what = "names a column twice" if len(set(found)) < len(found) else f"names {len(found)}"
        raise InputError("y_prob", what, allowed=_WAYS)
    return found


def audit_forecasts(table: Table, names: Sequence[str], asked: Asked, told: Told) -> Comparison:
    """Audit each forecast, and compare them as files that hold the same rows are compared.

    Raises
    ------
    InputError
        As `audit_table`, if a column cannot be used or rows are bad.
    """
    forecasts = check_forecasts(names)
    table.require(forecasts, "y_prob")
    rng, seed = seeded(asked.random_state)
    shared = int(rng.integers(2**31)) if seed is None else seed
    asked = replace(asked, random_state=shared)
    given = None if asked.given is None else asked.given - {"random_state"}  # the comparison draws by it
    audited = []
    for name in forecasts:
        title = f"{name} of {asked.title or table.name}" if asked.title or table.name else name
        told_of = replace(told, say=partial(_say_of, name, told.say))
        one = replace(asked, y_prob=name, title=title, given=given)
        done = audit_opened(table, one, told_of, last=name == forecasts[-1])
        rest = tuple(each for each in done.audit.not_looked_at if each not in forecasts)
        audited.append(replace(done, audit=replace(done.audit, not_looked_at=rest)))
    told.progress("Comparison")
    audits, rows = [each.audit for each in audited], [each.rows for each in audited]
    groups = [each.groups for each in audited]
    found = compare(forecasts, audits, rows, groups=groups, level=asked.level, seed=shared)
    refuse_idle_seed(found, asked.given)
    return found


def _say_of(name: str, say: Callable[[str], None], said: str) -> None:
    say(f"{name}: {said}")


def keep_rows(
    table: Table, path: str | os.PathLike[str], asked: Asked, told: Told, *, overwrite: bool = False
) -> Written:
    """Write the sketch of a table's rows, or one for each combination of the columns that are asked for.

    Raises
    ------
    InputError
        If a column cannot be used or rows are bad. FileError if the place cannot be written to.
    """
    check_place(path, asked.by, overwrite)
    if isinstance(table, KeptSketches):
        raise InputError("FILE", "holds sketches already", allowed="calibrant merge adds them up")
    classes = table.choose_classes(asked.y_prob)
    if classes is not None:
        raise InputError("y_prob", "names columns of classes, and a sketch is of one; name one column as y_prob")
    told.progress("Reading")
    table.require(asked.by, "by")
    chosen = table.choose(**asked.columns)
    refuse_own_columns(chosen.names, by=asked.by)
    say_guessed(chosen.names, chosen.guessed, told.say)
    written = write_rows(table, path, names=chosen.names, by=asked.by, exclude_bad=asked.exclude_bad)
    say_excluded(written.n_excluded, told)
    return written
