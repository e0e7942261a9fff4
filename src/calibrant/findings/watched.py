"""The gate that is watched, of tables: rows are added to the state that a file holds."""

from __future__ import annotations

import os
from pathlib import Path

from calibrant.door.errors import FileError, InputError
from calibrant.door.writing import alone_with
from calibrant.findings.table import Told
from calibrant.findings.table_gate import Asked, named_as_in_table, read_opened
from calibrant.inference.gate import GateResult
from calibrant.scale import tables
from calibrant.scale.gate import CalibrationGate
from calibrant.scale.sketch import CalibrationSketch


def gate_with(table: tables.Table, state: Path, asked: Asked, told: Told) -> GateResult:
    """Add a table's rows to a state, alone with it, and say what all of them prove."""
    told.progress("Waiting for the state")
    try:
        with alone_with(state):
            return _added(table, state, asked, told)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) if problem.argument == "path" else problem from None


def gate_so_far(state: Path) -> GateResult:
    """What the rows of a state prove, with none added; its limit and level are its own."""
    if not os.path.lexists(state):
        raise FileError("--anytime", f"{str(state)!r} does not exist; name a FILE to begin it with")
    try:
        return CalibrationGate.load(state).reading()
    except FileError as problem:
        raise FileError("--anytime", problem.problem) from None


def _added(table: tables.Table, state: Path, asked: Asked, told: Told) -> GateResult:
    gate = _kept(state, asked)
    if gate.max_weight != asked.max_weight:
        raise _other("max_weight", state, asked.max_weight, gate.max_weight)
    read, names = read_opened(table, asked, told)
    told.progress("Bounds")
    once = not asked.again
    try:
        with named_as_in_table(table, names):
            if isinstance(read, CalibrationSketch):
                found = gate.update_sketch(read, once=once)
            else:
                weight = read.sample_weight if asked.weighted else None
                found = gate.update(read.y_true, read.y_prob, sample_weight=weight, once=once)
    except InputError as problem:
        if problem.argument != "once":
            raise
        said = f"holds exactly the rows of a batch that {str(state)!r} already has"
        ways = "--again adds them once more; without FILE the command says what is proved so far"
        raise InputError("FILE", said, allowed=ways) from None
    gate.save(state)
    return found


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
