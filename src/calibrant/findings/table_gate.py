"""The gate of a table: its columns are found by name, and weights are used where their bound is said, else refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from calibrant.door.arguments import check_level, check_threshold, fraction, positive
from calibrant.door.errors import FileError, InputError
from calibrant.door.rows import Rows
from calibrant.findings.table import Told, in_table, say_guessed
from calibrant.inference.draws import read_draws
from calibrant.inference.gate import Ends, GateResult, calibration_gate_on_sample, check_gate, gate_from_ends
from calibrant.inference.regret import RegretBounds, regret_bounds
from calibrant.scale import tables
from calibrant.scale.gate import CalibrationGate

_BOUNDED = "--max-weight says the most that one row can weigh, known before the rows were drawn"
_LEFT_OUT = "--unweighted leaves them out, and calibrant audit measures with them"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a gate; columns that are None are guessed by their names."""

    max_distance: float | None
    level: float
    y_true: str | None = None
    y_prob: str | None = None
    sample_weight: str | None = None
    max_weight: float | None = None
    unweighted: bool = False
    state: Path | None = None
    max_regret: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Refuse, before anything is read, what can be no gate."""
        if (self.max_distance is None) == (self.max_regret is None):
            ways = "the largest distance from calibration, or with --max-regret the most that acting may lose"
            which = "is missing" if self.max_distance is None else "is given beside --max-regret"
            raise InputError("max_distance", which, allowed=f"one of the two: {ways}")
        check_level(self.level)
        if self.max_distance is not None:
            check_gate(self.max_distance, self.level)
            if self.threshold is not None:
                raise InputError("threshold", "is of use with --max-regret only")
        elif self.max_regret is not None:
            fraction(self.max_regret, "max_regret")
            if self.threshold is not None:
                check_threshold(self.threshold)
            if self.state is not None:
                raise InputError("--anytime", "is of --max-distance only; a bound of regret holds for rows read once")
        if self.max_weight is not None:
            positive(self.max_weight, "max_weight")
        if self.state is not None and self.weighted:
            ways = "leave out --sample-weight and --max-weight"
            raise InputError("--anytime", "is of rows without weights", allowed=ways)

    @property
    def weighted(self) -> bool:
        """Whether weights are to be used."""
        return self.sample_weight is not None or self.max_weight is not None


def gate_opened(table: tables.Table, asked: Asked, told: Told) -> GateResult | RegretBounds:
    """The gate of a table that is open, or, with a state, of the rows that it holds and the table's."""
    gate = None if asked.state is None or asked.max_distance is None else _kept(asked.state, asked.max_distance, asked)
    read = _read(table, asked, told)
    told.progress("Bounds")
    try:
        found: GateResult | RegretBounds
        found = _decided(read, asked) if gate is None else gate.update(read.y_true, read.y_prob)
    except InputError as problem:
        raise in_table(problem, read.names) from None
    if gate is not None and asked.state is not None:
        try:
            gate.save(asked.state)
        except FileError as problem:
            raise FileError("--anytime", problem.problem) from None
    return found


def _read(table: tables.Table, asked: Asked, told: Told) -> tables.Rows:
    told.progress("Reading")
    _refuse_classes(table.choose_classes(asked.y_prob))
    if not (asked.weighted or asked.unweighted):
        _refuse_weights(table, asked)
    unweighted = asked.unweighted or not asked.weighted
    names = {"y_true": asked.y_true, "y_prob": asked.y_prob, "sample_weight": asked.sample_weight}
    read = table.read(exclude_bad=False, unweighted=unweighted, **names)
    say_guessed(read.names, read.guessed, told.say)
    return read


def _decided(read: tables.Rows, asked: Asked) -> GateResult | RegretBounds:
    if asked.max_distance is None:
        weight = read.sample_weight if asked.weighted else None
        return regret_bounds(
            read.y_true,
            read.y_prob,
            sample_weight=weight,
            max_weight=asked.max_weight,
            threshold=asked.threshold,
            max_regret=asked.max_regret,
            level=asked.level,
        )
    if not asked.weighted:
        sample = Rows.of(read.y_true, read.y_prob).sample
        return calibration_gate_on_sample(sample, max_distance=asked.max_distance, level=asked.level)
    sample, units = read_draws(read.y_true, read.y_prob, read.sample_weight, max_weight=asked.max_weight)
    return gate_from_ends(Ends.of(sample, asked.level, units), asked.max_distance, sample.n_rows)


def _kept(state: Path, max_distance: float, asked: Asked) -> CalibrationGate:
    """The gate whose state a file holds, or a new one where there is no file yet."""
    if not os.path.lexists(state):
        return CalibrationGate(max_distance=max_distance, level=asked.level)
    try:
        gate = CalibrationGate.load(state)
    except FileError as problem:
        raise FileError("--anytime", problem.problem) from None
    for name in ("max_distance", "level"):
        if getattr(asked, name) != getattr(gate, name):
            other = f"is {getattr(asked, name)!r}, and {str(state)!r} was begun with {getattr(gate, name)!r}"
            raise InputError(name, other, allowed="both limit and level are fixed before the first row")
    return gate


def _refuse_weights(table: tables.Table, asked: Asked) -> None:
    try:
        names = table.choose(y_true=asked.y_true, y_prob=asked.y_prob).names
    except InputError as problem:
        if problem.argument != "sample_weight":
            return  # which reading the columns says, unless it does without their names
        said = problem.problem
    else:
        if "sample_weight" not in names:
            return
        said = f"column {names['sample_weight']!r} holds weights"
    ways = _LEFT_OUT if asked.state else f"{_BOUNDED}; {_LEFT_OUT}"
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
