"""The gate that is watched, of tables: rows are added to the state that a file holds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from calibrant.door.columns import read_columns
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import ENOUGH
from calibrant.door.premises import Premises
from calibrant.door.values import counted
from calibrant.door.writing import alone_with
from calibrant.findings.table import Told
from calibrant.findings.table_gate import Asked, loose_limit_of, named_as_in_table, read_opened
from calibrant.inference.gate import GateResult
from calibrant.scale import tables
from calibrant.scale.gate import CalibrationGate
from calibrant.scale.identities import NOTHING, Begun, Ordered
from calibrant.scale.relations import InDuckDB
from calibrant.scale.sketch import CalibrationSketch


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
    )
    return gate.reading(), premises


def _added(table: tables.Table, state: Path, asked: Asked, told: Told) -> GateResult:
    gate = _kept(state, asked)
    if gate.max_weight != asked.max_weight:
        raise _other("max_weight", state, asked.max_weight, gate.max_weight)
    read, names = read_opened(table, asked, told)
    told.progress("Bounds")
    try:
        with named_as_in_table(table, names):
            if isinstance(read, CalibrationSketch):
                found = _add_sums(gate, table, read, names, asked, told)
            else:
                found = _add_rows(gate, table, read, names, asked, told)
    except InputError as problem:
        if problem.argument != "once":
            raise
        ways = "--distinct says that they are other rows; --so-far, without FILE, says what is proved so far"
        raise InputError("FILE", f"{str(state)!r}: {problem.problem}", allowed=ways) from None
    gate.save(state)
    told.premise("loose_limit", loose_limit_of(gate._seen.sample, gate.max_distance))
    return found


def _add_rows(
    gate: CalibrationGate, table: tables.Table, read: tables.Rows, names: dict[str, str], asked: Asked, told: Told
) -> GateResult:
    """Add rows, but those of a log that has grown which are there already."""
    weight = read.sample_weight if asked.weighted else None
    rows = Ordered(*read_columns(read.y_true, read.y_prob, weight, batch=True), None, "", (len(read.y_true),))
    if not read.n_excluded:
        rows = replace(rows, **table.ids_in_order(names))
    begun = NOTHING if asked.distinct else gate.begun(rows, certain=False)
    if begun.count:
        _check_begun(gate, begun, rows, len(rows.v))
        _say_grown(begun.count, len(rows.v), told)
    return gate.add(rows, after=begun, once=not asked.distinct, distinct=asked.distinct)


def _add_sums(
    gate: CalibrationGate, table: tables.Table, read: CalibrationSketch, names: dict[str, str], asked: Asked, told: Told
) -> GateResult:
    """Add sums of rows, likewise."""
    claims = read.claims()
    if isinstance(table, InDuckDB) and claims:
        claims = (claims[0], *table.parts(names, claims[0]))
    begun, rest = NOTHING, read
    if isinstance(table, InDuckDB) and not asked.distinct:
        begun = table.begun(names, gate.held, read.n_rows)
        if begun.count:
            _check_begun(gate, begun, None, read.n_rows)
            _say_grown(begun.count, read.n_rows, told)
            rest = table.within(names, begun.count)
    return gate.add_sketch(rest, claims, after=begun, once=not asked.distinct, distinct=asked.distinct)


def _check_begun(gate: CalibrationGate, begun: Begun, rows: Ordered | None, n_rows: int) -> None:
    """Refuse rows of which none is new, or that may begin as they do by chance."""
    first = gate.held[begun.sources[0]]
    same = rows is not None and first.ids is not None and rows.ids_name == first.ids[0]
    if first.bits < ENOUGH and not same:
        chance = f"which may be chance (probability up to about {2.0**-first.bits:.2g})"
        raise InputError("once", f"begins with the {counted(first.count, 'row')} of an earlier batch, {chance}")
    if begun.count == n_rows:
        raise InputError("once", f"its {counted(n_rows, 'row')} are those of earlier batches, and would count twice")


def _say_grown(before: int, n_rows: int, told: Told) -> None:
    told.say(
        f"FILE begins with {counted(before, 'row')} that STATE has: only the {counted(n_rows - before, 'row')} after "
        f"{'it' if before == 1 else 'them'} {'is' if n_rows - before == 1 else 'are'} added."
    )


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
