"""The gate that is watched, of tables: rows are added to the state that a file holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calibrant.door.columns import read_columns
from calibrant.door.errors import FileError, InputError
from calibrant.door.premises import Premises
from calibrant.door.row_samples import ENOUGH
from calibrant.door.values import counted
from calibrant.door.writing import alone_with
from calibrant.findings.table import Told
from calibrant.findings.table_gate import Asked, loose_limit_of, named_as_in_table, read_opened
from calibrant.inference.anytime import OtherPopulationError
from calibrant.inference.gate import GateResult
from calibrant.scale import tables
from calibrant.scale.gate import AddedBeforeError, CalibrationGate, Origin
from calibrant.scale.identities import NOTHING, Begun, Ordered
from calibrant.scale.kept import KeptSketches
from calibrant.scale.provenance import Provenance
from calibrant.scale.relations import InDuckDB
from calibrant.scale.sketch import CalibrationSketch

_SO_FAR = "--so-far, without FILE, says what is proved so far"
_DISTINCT = f"--distinct says that they are other rows; {_SO_FAR}"


def gate_with(table: tables.Table, state: Path, asked: Asked, told: Told) -> GateResult:
    """Add a table's rows to a state, alone with it, and say what all of them prove."""
    told.progress("Waiting for the state")
    try:
        with alone_with(state):
            return _added(table, state, asked, told)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) if problem.argument == "path" else problem from None


def gate_so_far(state: Path, **options: float | None) -> tuple[GateResult, Premises]:
    """What the rows of a state prove, with none added; options that are given must be its own."""
    if not os.path.lexists(state):
        raise FileError("--anytime", f"{str(state)!r} does not exist; name a FILE to begin it with")
    try:
        gate = CalibrationGate.load(state)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) from None
    for name, value in options.items():
        if value is not None and value != getattr(gate, name):
            raise _other(name, state, value, getattr(gate, name))
    loose = None if gate._seen.n_rows == 0 else loose_limit_of(gate._seen.sample, gate.max_distance)
    premises = Premises(
        gate.level,
        gate.max_distance,
        weighted=gate.max_weight is not None,
        max_weight=gate.max_weight,
        loose_limit=loose,
        anytime=True,
        **_of_all_rows(gate),
    )
    return gate.reading(), premises


def _of_all_rows(gate: CalibrationGate) -> dict[str, Any]:
    """Premises of all rows of a state, whichever day they came."""
    return {**gate.provenance.to_dict(), "n_excluded": sum(each.n_excluded for each in gate.held)}


def _added(table: tables.Table, state: Path, asked: Asked, told: Told) -> GateResult:
    gate = _kept(state, asked)
    if gate.max_weight != asked.max_weight:
        raise _other("max_weight", state, asked.max_weight, gate.max_weight)
    if not gate._seen.n_rows and not table.compared:
        asked.refuse("begun by one source")
    said: dict[str, Any] = {}
    read, names = read_opened(table, asked, replace(told, premise=said.__setitem__))
    gate.provenance = _joined(gate.provenance, _provenance(table, names, asked, said), state)
    told.progress("Bounds")
    adding = _Adding(gate, state, table, names, asked, told, Origin(table.path_print, said.get("n_excluded", 0)))
    with named_as_in_table(table, names), adding.in_words():
        found = adding.sums(read) if isinstance(read, CalibrationSketch) else adding.rows(read)
    gate.save(state)
    of_file: dict[str, Any] = {
        name: said[name] for name in ("not_looked_at", "searchable", "top_label") if name in said
    }
    for name, value in {**of_file, **_of_all_rows(gate)}.items():
        told.premise(name, value)
    told.premise("loose_limit", loose_limit_of(gate._seen.sample, gate.max_distance))
    return found


def _provenance(table: tables.Table, names: dict[str, str], asked: Asked, said: dict[str, Any]) -> Provenance:
    """How the rows of one file were read."""
    label = None if asked.pos_label is None else str(asked.pos_label)
    perhaps, complete = said.get("perhaps_groups"), not isinstance(table, KeptSketches)
    return Provenance(names, asked.unweighted, asked.exclude_bad, asked.distinct, label, perhaps, complete)


def _joined(before: Provenance, later: Provenance, state: Path) -> Provenance:
    """How all rows were read; other columns or another label than those of the rows before are refused."""
    for argument, was, now in before.changes(later):
        problem = f"is {now}, and the rows of {str(state)!r} have {was}; nothing was added"
        raise InputError(argument, problem, allowed="begin another state with --anytime NEWSTATE")
    return before.joined(later)


@dataclass(frozen=True, slots=True)
class _Adding:
    """A file whose rows are to be added to a state."""

    gate: CalibrationGate
    state: Path
    table: tables.Table
    names: dict[str, str]
    asked: Asked
    told: Told
    origin: Origin

    @property
    def file(self) -> str:
        """What it is called."""
        return self.table.name or "FILE"

    def rows(self, read: tables.Rows) -> GateResult:
        """Add rows, but those of a log that has grown which are there already."""
        weight = read.sample_weight if self.asked.weighted else None
        rows = Ordered(*read_columns(read.y_true, read.y_prob, weight, batch=True), None, "", (len(read.y_true),))
        if not read.n_excluded:
            rows = replace(rows, **self.table.ids_in_order(self.names))
        begun = NOTHING
        if not self.asked.distinct:
            begun = self.gate.begun(rows, certain=False, path=self.origin.path)
        self._tell(begun, rows, len(rows.v))
        distinct = self.asked.distinct
        return self.gate.add(rows, after=begun, once=not distinct, distinct=distinct, origin=self.origin)

    def sums(self, read: CalibrationSketch) -> GateResult:
        """Add sums of rows, likewise."""
        claims, begun, rest, table = read.claims(), NOTHING, read, self.table
        bad = self.asked.exclude_bad
        if isinstance(table, InDuckDB):
            claims = (claims[0], *table.parts(self.names, claims[0])) if claims else claims
            if not self.asked.distinct:
                begun = table.begun(self.names, self.gate.held, read.n_rows, exclude_bad=bad)
            self._tell(begun, None, read.n_rows)
            if begun.count:
                start = begun.count + self.gate.held[begun.sources[0]].n_excluded
                rest = table.within(self.names, start, exclude_bad=bad)
        distinct = self.asked.distinct
        return self.gate.add_sketch(rest, claims, after=begun, once=not distinct, distinct=distinct, origin=self.origin)

    def _tell(self, begun: Begun, rows: Ordered | None, n_rows: int) -> None:
        """Tell how many rows are new; refuse rows of which none is, or that may begin as they do by chance."""
        if not begun.count:
            return
        first, state = self.gate.held[begun.sources[0]], repr(str(self.state))
        same = rows is not None and first.ids is not None and rows.ids_name == first.ids[0]
        same |= first.path is not None and first.path == self.origin.path
        if begun.count == n_rows:
            raise self._all_there(n_rows, certain=first.bits >= ENOUGH or same)
        if first.bits < ENOUGH and not same:
            known = f"begins with the {counted(first.count, 'row')} that {state} already has"
            why = "too few events to tell a grown log from a new batch; nothing was added"
            ways = "if it is the same log, give only its new rows, or a column of ids or times; "
            ways += f"if all {counted(n_rows, 'row')} are new: --distinct"
            raise InputError("FILE", f"{self.file} {known}, {why}", allowed=ways)
        self.told.premise("n_before", begun.count)
        new = n_rows - begun.count
        self.told.say(
            f"{self.file} begins with {counted(begun.count, 'row')} that {state} has: only the {counted(new, 'row')} "
            f"after {'it' if begun.count == 1 else 'them'} {'is' if new == 1 else 'are'} added."
        )

    def _all_there(self, n_rows: int, *, certain: bool) -> InputError:
        rows, state = counted(n_rows, "row"), repr(str(self.state))
        said = f"all {rows} of {self.file} are already in {state}"
        if not certain:
            said = f"the {rows} of {self.file} are equal to rows that {state} has, too few events to tell a copy from "
            said += "a new batch"
        return InputError("FILE", f"{said}; nothing was added", allowed=_DISTINCT)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Say of rows that the state cannot take which file and which state it is."""
        state = repr(str(self.state))
        try:
            yield
        except AddedBeforeError as problem:
            if problem.overlap is not None and problem.overlap.how == "copy":
                raise self._all_there(problem.overlap.count, certain=problem.overlap.certain) from None
            said = f"{self.file} and {state}: {problem.problem}; nothing was added"
            raise InputError("FILE", said, allowed=_DISTINCT) from None
        except OtherPopulationError as problem:
            said = f"{self.file} and {state} cannot be one population ({problem.ends}): predictor, data or label "
            ways = "for a new release begin another state with --anytime NEWSTATE"
            raise InputError("FILE", f"{said}changed. Nothing was added", allowed=ways) from None


def _kept(state: Path, asked: Asked) -> CalibrationGate:
    """The gate whose state a file holds, or a new one where there is no file yet."""
    assert asked.max_distance is not None
    if not os.path.lexists(state):
        return CalibrationGate(max_distance=asked.max_distance, level=asked.level, max_weight=asked.max_weight)
    try:
        gate = CalibrationGate.load(state)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) from None
    for name in ("max_distance", "level"):
        if getattr(asked, name) != getattr(gate, name):
            raise _other(name, state, getattr(asked, name), getattr(gate, name))
    return gate


def _other(name: str, state: Path, asked: float | None, held: float | None) -> InputError:
    given, begun = ("missing" if each is None else f"{each!r}" for each in (asked, held))
    other = f"is {given}, and {str(state)!r} was begun {'without' if held is None else f'with {begun}'}"
    return InputError(name, other, allowed="limit, level and largest weight are fixed before the first row")
