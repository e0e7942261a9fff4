"""Hints from the names and values of columns: a sentence each that says what to do if it is so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.errors import FileError, InputError
from calibrant.door.premises import Followed, left_out
from calibrant.door.request import CalibrationRequest, Listener
from calibrant.findings.faults import roles_of
from calibrant.segments.request import EVERY, Search
from calibrant.tables.columns import (
    follow_up_columns,
    model_columns,
    perhaps_groups,
    strata_columns,
    tells_censoring,
)
from calibrant.tables.table import Table

_FEW_COLUMNS = 3
_MOST_MODELS, _MOST_STRATA = 20, 50
_FIRST_YEAR, _LAST_YEAR = 1900.0, 2100.0
_LATEST = 1e8  # numbers above are seconds since 1970, and no time that anybody was followed


def hints_of(
    table: Table, names: Mapping[str, str], request: CalibrationRequest, followed: Followed | None = None
) -> dict[str, str]:
    """Name of each hint -> its sentence, for rows that were read; `names` is argument -> column."""
    if table.summed or table.is_harness_log:
        return {}
    used = {*names.values(), *request.keys, *request.find, *([] if request.groups is None else [request.groups])}
    sentences = {
        "perhaps_models": _models(table, used, request),
        "perhaps_followed": None if request.horizon is not None else _followed(table, names, used, request),
        "perhaps_strata": _strata(table, names, request, followed),
    }
    return {name: sentence for name, sentence in sentences.items() if sentence is not None}


def _models(table: Table, used: Collection[str], request: CalibrationRequest) -> str | None:
    """That rows may be of several models, one below the other."""
    own = "give each model a file of its own"
    for name in model_columns(table.columns):
        n_values, _ = _counts(table, name)
        if name in used or not 2 <= n_values <= _MOST_MODELS:
            continue
        alone = any(getattr(request, each, None) is not None for each in ("anytime", "max_regret"))
        by = "" if alone else f', or say --by {name} (in Python by="{name}")'
        return f"If column {name} says which model predicted a row, {own}{by}."
    for name in perhaps_groups(table.columns, used)[1]:  # ids, but of nobody and no place that has several rows
        n_values, times = _counts(table, name)
        if n_values >= 2 and 2 <= times <= _MOST_MODELS:
            return f"Each value of {name} stands in exactly {times} rows. If these are of {times} models, {own}."
    return None


def _counts(table: Table, name: str) -> tuple[int, int]:
    """The number of a column's values, and how often each stands in it, 0 where that differs."""
    try:
        values = table.values_of(name)
    except InputError:
        return 0, 0
    return (values.number, values.of_each) if values.rows == values.all_rows else (0, 0)


def _followed(table: Table, names: Mapping[str, str], used: Collection[str], request: CalibrationRequest) -> str | None:
    """That rows may have been followed for a time, so that some outcomes are not known."""
    free = [name for name in table.columns if name not in used or name == names.get("y_true")]
    columns = follow_up_columns(free, names.get("y_true"))
    if columns is None or columns[0] in used or request.trials is not None:
        return None
    time, event = (_numbers(table, name) for name in columns)
    if time is None or event is None or not (time >= 0.0).all() or time.max() >= _LATEST or np.unique(time).size < 3:
        return None
    if not np.array_equal(np.unique(event), (0.0, 1.0)) or _are_calendar_years(time):
        return None
    return if_followed(*columns, left_out(request.beside("horizon"), "a horizon"))


def _are_calendar_years(time: FloatArray) -> bool:
    return bool((time >= _FIRST_YEAR).all() and (time <= _LAST_YEAR).all() and (time == np.floor(time)).all())


def if_followed(time: str, event: str, first: str = "") -> str:
    """A hint if one column may say how long rows were followed, and the other how that ended."""
    if tells_censoring(event):
        made = f"make a column of 1 - {event}, and name it with --event beside --time {time} --horizon T"
        return f"If column {time} says how long rows were followed, {first}{made} (in Python event, time, horizon)."
    give = f"give --time {time} --event {event} --horizon T (in Python time, event, horizon)"
    return f"If column {time} says how long rows were followed, {first}{give}."


def _numbers(table: Table, name: str) -> FloatArray | None:
    """Finite numbers of a column; None where it has others."""
    try:
        column: Any = np.asarray(table.arrays({"y_true": name})["y_true"])
    except (InputError, TypeError, ValueError):
        return None
    if column.dtype.kind not in "biuf" or not column.size:
        return None
    numbers = column.astype(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def _strata(
    table: Table, names: Mapping[str, str], request: CalibrationRequest, followed: Followed | None
) -> str | None:
    """That rows leave at other rates in other values of columns, beside those within which they are taken alike."""
    if followed is None or not followed.n_unknown:
        return None
    from calibrant.door.censoring import censored_outcomes
    from calibrant.findings.leaving import columns_of_leaving

    roles = {name for argument, name in roles_of(names).items() if argument != "groups"}
    parts = [*request.by, *(() if request.find == EVERY else request.find)]
    free = [
        name
        for name in dict.fromkeys([*strata_columns(table.columns), *parts])
        if name not in {*roles, *followed.strata}
    ]
    values = {name: table.ranks(name, "strata") for name in free if 2 <= _counts(table, name)[0] <= _MOST_STRATA}
    time, event = _numbers(table, followed.time), _numbers(table, followed.event)
    if not values or time is None or event is None:
        return None
    within = [table.ranks(name, "strata") for name in followed.strata]
    found = columns_of_leaving(time, event, followed.horizon, values, within)
    sooner = f"Rows leave sooner at some values of {', '.join(found)}"
    for end in range(len(found), 0, -1):
        strata = np.column_stack([*within, *(values[name] for name in found[:end])])
        try:
            censored_outcomes(time, event, followed.horizon, strata=strata, least_followed=followed.least_followed)
        except InputError:
            continue
        several = [*request.strata, *found[:end]]
        python = ", ".join(f'"{name}"' for name in several)
        python = python if len(several) == 1 else f"[{python}]"
        sooner = f"Rows leave sooner at some values of {', '.join(found[:end])}"
        return f"{sooner} than at others: say --strata {','.join(several)} (in Python strata={python})."
    early = f"too few of some are followed to {followed.horizon:g}"
    return f"{sooner}, and {early}. Take an earlier horizon, and name {found[0]} (strata)." if found else None


def say_lacking(table: Table, keys: Sequence[str], listener: Listener) -> None:
    """Say which files have no column of keys that others have: it is missing in their rows."""
    files = table.columns_of_files() if keys else {}
    columns = {file: {name.strip().casefold() for name in names} for file, names in files.items()}
    for key in keys:
        lacking = [file for file, names in columns.items() if key.casefold() not in names]
        if 0 < len(lacking) < len(columns):
            first = repr(lacking[0])
            one = len(lacking) == 1
            which = f"{first} has" if one else f"{len(lacking):,} files, such as {first}, have"
            listener.note(f"{which} no column {key!r}; it is missing in {'its' if one else 'their'} rows.")


def searchable(table: Table, names: Mapping[str, str], rest: tuple[str, ...], *, exclude_bad: bool) -> tuple[str, ...]:
    """The columns that are left, or none where a search of them would be refused, as of identifiers alone.

    That is looked at where columns and rows are few.
    """
    if not 0 < len(rest) <= _FEW_COLUMNS or table.many:
        return rest
    from calibrant.segments.features import read_features

    prediction = {"y_prob": names["y_prob"]}
    try:
        frame = table.with_features(prediction, rest, "find", exclude_bad=exclude_bad)
        read_features(frame.keys, {"y_true": None}, Search(option="find"))
    except FileError:
        return rest  # a search says which column is to be written otherwise, and how
    except InputError:
        return ()
    return rest
