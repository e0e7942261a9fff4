"""Faults of a table, in the words of someone who sees it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.coding import condition
from calibrant.door.columns import FINITE, NOT_NULL, NOT_SWAPPED, IntArray
from calibrant.door.errors import InputError, Ways
from calibrant.door.rows import WITHOUT_WEIGHTS
from calibrant.findings.word_catalogue import HARD_RATES
from calibrant.tables.columns import WAYS_OF_WEIGHTS
from calibrant.tables.duckdb import from_0, in_column
from calibrant.tables.table import Table

if TYPE_CHECKING:
    from calibrant.door.request import CalibrationRequest

# Arguments that columns of a table stand for -> what they are where outcomes at a horizon are made of them.
OF_A_HORIZON = {"y_true": "event", "sample_weight": "time"}


@contextmanager
def said_of(file: str, argument: str = "file") -> Iterator[None]:
    """Name the one of several tables in which something is wrong, and the argument that names its file."""
    try:
        yield
    except InputError as problem:
        message = problem.problem if file in problem.problem else f"in {file!r}: {problem.problem}"
        name = argument if problem.argument == "file" else problem.argument
        raise type(problem)(name, message, row=problem.row, allowed=problem.allowed) from None


def refuse_own_columns(names: Mapping[str, str], **keys: Collection[str | None]) -> None:
    """Raise if segments, periods or groups are to be made of a column that was read as something else.

    Rows of one group, or segment, may leave independently of event and prediction: its column may be that of strata.
    """
    for option, columns in keys.items():
        for argument, name in names.items():
            if name in columns and argument != option and not argument.startswith("strata"):
                raise InputError(option, f"names {name!r}, the column that was read as {argument}")


def roles_of(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns that can be no segments: strata can."""
    return {argument: name for argument, name in columns.items() if not argument.startswith("strata")}


def in_table(
    problem: InputError, table: Table, names: Mapping[str, str], group_of_row: IntArray | None = None
) -> InputError:
    """The problem in the words of someone who sees the table: its column's name, and how rows are counted.

    `group_of_row` are the numbers of the groups of the rows that were read; some may have been left out.
    """
    if problem.allowed == NOT_SWAPPED:
        return _swapped(names["y_true"], names["y_prob"])
    if problem.argument == "max_weight":  # of no column
        message = problem.problem
        if (
            problem.row is not None and group_of_row is not None and names.get("y_prob") in table.columns
        ):  # not of classes
            of_row = f"the group of row {problem.row} (from 0)"
            message = message.replace(of_row, f"the group {_group_of(table, names, int(group_of_row[problem.row]))}")
        if table.n_files > 1:
            message = message.replace("(from 0)", f"({from_0(table.n_files)})")
        return InputError("max_weight", message, row=problem.row, allowed=problem.allowed)
    where = in_column(problem.argument, names)
    if problem.row is not None:
        where = f"{where.removesuffix(': ')}{', ' if where else ''}rows {from_0(table.n_files)}: "
    return InputError(problem.argument, where + problem.problem, row=problem.row, allowed=problem.allowed)


def _group_of(table: Table, names: Mapping[str, str], number: int) -> str:
    """The group of this number, in words."""
    column = names["groups"]
    frame = table.with_features({"y_prob": names["y_prob"]}, [column], "groups", exclude_bad=True, groups=column)
    assert frame.group is not None
    return condition(column, frame.keys[column][int(np.argmax(frame.group == number))].as_py())


def _swapped(y_true: str, y_prob: str) -> InputError:
    message = f"columns {y_true!r} and {y_prob!r} look swapped: as y_prob, {y_prob!r} is 0 or 1 in every row"
    message += f", and as y_true, {y_true!r} is not"
    ways = Ways(
        f"name y_true={y_prob!r} and y_prob={y_true!r}; {HARD_RATES}",
        f"name --y-true {shlex.quote(y_prob)} and --y-prob {shlex.quote(y_true)}; {HARD_RATES}",
    )
    return InputError("y_true", message, allowed=ways)


def or_several(problem: InputError, y_prob: str | None) -> InputError:
    """Of columns listed together that are no probabilities of classes, say how forecasts are compared."""
    if problem.argument != "y_prob" or y_prob is None or "," not in y_prob:
        return problem
    ways = Ways("forecasts to compare are a list of names", "forecasts to compare are each a --y-prob of its own")
    return InputError(problem.argument, problem.problem, row=problem.row, allowed=ways)


def say_of(name: str, say: Callable[[str], None]) -> Callable[[str], None]:
    """The same as `say`, of what is called so: its name goes before each sentence."""
    return lambda sentence: say(f"{name}: {sentence}")


def or_left_out(problem: InputError) -> InputError:
    """Of a row without a finite number, say that such rows can be left out."""
    if problem.allowed not in (FINITE, NOT_NULL):
        return problem
    ways = Ways(
        f"{problem.allowed}, or exclude_bad=True leaves such rows out",
        f"{problem.allowed}, or --exclude-bad leaves such rows out",
    )
    return type(problem)(problem.argument, problem.problem, row=problem.row, allowed=ways)


def of_columns(problem: InputError, request: CalibrationRequest) -> InputError:
    """Of a column that could not be read, name the argument by which it was meant, and the way that is left."""
    if request.trials:
        from calibrant.tables.frames import of_trials

        problem = of_trials(problem)
    if request.horizon is not None:
        argument = OF_A_HORIZON.get(problem.argument, problem.argument)
        return type(problem)(argument, problem.problem, row=problem.row, allowed=problem.allowed)
    if request.sampling_fractions is not None and problem.allowed is WAYS_OF_WEIGHTS:
        return type(problem)(problem.argument, problem.problem, allowed=WITHOUT_WEIGHTS)
    return or_left_out(problem)
