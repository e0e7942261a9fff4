"""The audit of a table that is open: its columns are found by name, and its rows are read or summed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, flag, text, texts
from calibrant.door.classes import multiclass_sample
from calibrant.door.columns import read_columns
from calibrant.door.errors import FileError, InputError
from calibrant.door.values import counted
from calibrant.findings.auditing import audit_classes, audit_given, audit_sample
from calibrant.findings.effects import AUDIT, changed, refuse_idle
from calibrant.findings.found import Audit
from calibrant.findings.given import given
from calibrant.findings.parts import EVERY, check_drift, in_parts
from calibrant.findings.sketched import road_of, with_bounds
from calibrant.findings.table_faults import in_table, or_left_out, or_several, refuse_own_columns
from calibrant.scale.bounds import ARITHMETIC
from calibrant.scale.columns import perhaps_groups
from calibrant.scale.kept import KeptSketches
from calibrant.scale.opened import OpenedFile
from calibrant.scale.pooled import draws_of_cells, weights_differ
from calibrant.scale.relations import InDuckDB
from calibrant.scale.tables import Table
from calibrant.segments import asked as search

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
        from calibrant.segments.finding import many_in_groups

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
