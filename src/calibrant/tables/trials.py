"""Cells of a table, those of rows of trials among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant.door.errors import InputError
from calibrant.sketch.groups import Groups
from calibrant.tables.frames import OpenedFrame
from calibrant.tables.table import Table


def as_weights(names: Mapping[str, str]) -> dict[str, str]:
    """Argument -> column, where numbers of trials are read as weights are."""
    return {"sample_weight" if argument == "trials" else argument: name for argument, name in names.items()}


def of_trials(problem: InputError) -> InputError:
    """The problem of weights that are numbers of trials, in their words."""
    argument = problem.argument.replace("sample_weight", "trials")
    text = problem.problem.replace("sample_weight", "trials")
    return type(problem)(argument, text, row=problem.row, allowed=problem.allowed)


def groups_of(
    table: Table,
    names: Mapping[str, str],
    by: Sequence[str],
    resolution: int,
    *,
    exclude_bad: bool = False,
    option: str = "by",
) -> Groups:
    """Sum a table's rows by cell; trials are summed as weights, and the cells then say what they are."""
    if "trials" not in names:
        return table.groups(names, by, resolution, exclude_bad=exclude_bad, option=option)
    try:
        return table.groups(as_weights(names), by, resolution, exclude_bad=exclude_bad, option=option).of_trials()
    except InputError as problem:
        raise of_trials(problem) from None


def groups_by(
    table: OpenedFrame,
    y_true: str,
    y_prob: str,
    by: Sequence[str],
    resolution: int,
    sample_weight: str | None,
    trials: str | None,
    exclude_bad: bool,
    unweighted: bool,
) -> Groups:
    """Sum a table's rows by cell, of columns that are named."""
    if trials is None:
        names = table.spoken(y_true, y_prob, sample_weight, unweighted, by)
    else:
        try:
            names = table.spoken(y_true, y_prob, None if unweighted else trials, unweighted, by)
        except InputError as problem:
            raise of_trials(problem) from None
        names = {"y_true": names["y_true"], "y_prob": names["y_prob"], "trials": trials}
    return groups_of(table, names, by, resolution, exclude_bad=exclude_bad)
