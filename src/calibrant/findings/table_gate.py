"""The gate of a table: its columns are found by name, and a column of weights is refused."""

from __future__ import annotations

from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.findings.table import Told, in_table, say_guessed
from calibrant.inference.gate import CalibrationGate, calibration_gate_on_sample
from calibrant.scale.tables import Table


def gate_opened(
    table: Table,
    *,
    y_true: str | None,
    y_prob: str | None,
    unweighted: bool,
    max_distance: float,
    level: float,
    told: Told,
) -> CalibrationGate:
    """`calibration_gate` of a table that is open; a column of weights is refused unless it is left out."""
    told.progress("Reading")
    _refuse_classes(table.choose_classes(y_prob))
    if not unweighted:
        _refuse_weights(table, y_true, y_prob)
    read = table.read(y_true=y_true, y_prob=y_prob, unweighted=True)
    say_guessed(read.names, read.guessed, told.say)
    try:
        rows = Rows.of(read.y_true, read.y_prob)
    except InputError as problem:
        raise in_table(problem, read.names) from None
    told.progress("Bounds")
    return calibration_gate_on_sample(rows.sample, max_distance=max_distance, level=level)


def _refuse_weights(table: Table, y_true: str | None, y_prob: str | None) -> None:
    try:
        names = table.choose(y_true=y_true, y_prob=y_prob).names
    except InputError as problem:
        if problem.argument != "sample_weight":
            return  # which reading the columns says, unless it does without their names
        said = problem.problem
    else:
        if "sample_weight" not in names:
            return
        said = f"column {names['sample_weight']!r} holds weights"
    ways = "--unweighted leaves them out, and calibrant audit measures with them"
    raise InputError("unweighted", f"{said}, and the proof is of unweighted rows", allowed=ways)


def _refuse_classes(columns: list[str] | None) -> None:
    if columns is None:
        return
    shown = f"{columns[0]!r} ... {columns[-1]!r}"
    if len(columns) == 2:
        ways = f"name the event's with --y-prob {columns[1]}"
    else:
        ways = (
            "name one with --y-prob, and with --y-true a column that is 1 where that class is right and 0 elsewhere; "
        )
        ways += "or write the largest of each row to a column, and whether its class is right to another"
    problem = f"columns {shown} are probabilities of classes, and the gate takes one probability: {ways}"
    raise InputError("y_prob", problem)
