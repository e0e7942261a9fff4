"""Cells of a table, those of rows of trials among them."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.door.errors import InputError
from calibrant.sketch.groups import Groups
from calibrant.tables.frames import OpenedFrame


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
    """Sum a table's rows by cell; trials are summed as weights, and the cells then say what they are."""
    if trials is None:
        names = table.spoken(y_true, y_prob, sample_weight, unweighted, by)
        return table.groups(names, by, resolution, exclude_bad=exclude_bad)
    try:
        spoken = None if unweighted else trials
        names = {**table.spoken(y_true, y_prob, spoken, unweighted, by), "sample_weight": trials}
        return table.groups(names, by, resolution, exclude_bad=exclude_bad).of_trials()
    except InputError as problem:
        argument = problem.argument.replace("sample_weight", "trials")
        said = problem.problem.replace("sample_weight", "trials")
        raise InputError(argument, said, row=problem.row, allowed=problem.allowed) from None
