"""Hints from the names and values of columns: a sentence each that says what to do if it is so; and notes on columns.

Log-rank tests of leaving, within strata, find the columns that tell how soon rows of a follow-up are lost from sight.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import erfc, sqrt
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import FileError, InputError
from calibrant.door.premises import Followed, left_out
from calibrant.door.request import CalibrationRequest, Listener
from calibrant.door.values import counted
from calibrant.findings import word_catalogue as say
from calibrant.findings.faults import roles_of
from calibrant.segments.request import EVERY, Search
from calibrant.tables.columns import follow_up_columns, model_columns, perhaps_groups, strata_columns, tells_censoring
from calibrant.tables.table import Table

_ROLES = {"y_true": "outcomes", "y_prob": "predictions", "sample_weight": "weights"}
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
    for name in model_columns(table.columns):
        n_values, _ = _counts(table, name)
        if name in used or not 2 <= n_values <= _MOST_MODELS:
            continue
        alone = any(getattr(request, each, None) is not None for each in ("anytime", "max_regret"))
        by = "" if alone else f', or say --by {name} (in Python by="{name}")'
        return say.PERHAPS_MODELS.format(name=name, own=say.OWN_FILE, by=by)
    for name in perhaps_groups(table.columns, used)[1]:  # ids, but of nobody and no place that has several rows
        n_values, times = _counts(table, name)
        if n_values >= 2 and 2 <= times <= _MOST_MODELS:
            return say.TIMES_EACH.format(name=name, times=times, own=say.OWN_FILE)
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


def if_followed(time: str, event: str, lead: str = "") -> str:
    """A hint if one column may say how long rows were followed, and the other how that ended."""
    ways = (say.OTHER_EVENT if tells_censoring(event) else say.TIME_AND_EVENT).format(time=time, event=event)
    return say.PERHAPS_FOLLOWED.format(time=time, lead=lead, ways=ways)


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

    values = _perhaps_strata(table, names, request, followed)
    time, event = _numbers(table, followed.time), _numbers(table, followed.event)
    if not values or time is None or event is None:
        return None
    within = [table.ranks(name, "strata") for name in followed.strata]
    found = columns_of_leaving(time, event, followed.horizon, values, within)
    for end in range(len(found), 0, -1):
        strata = np.column_stack([*within, *(values[name] for name in found[:end])])
        try:
            censored_outcomes(time, event, followed.horizon, strata=strata, least_followed=followed.least_followed)
        except InputError:
            continue
        several = [*request.strata, *found[:end]]
        python = ", ".join(f'"{name}"' for name in several)
        python = python if len(several) == 1 else f"[{python}]"
        sooner = say.LEAVE_SOONER.format(names=", ".join(found[:end]))
        return sooner + say.SAY_STRATA.format(several=",".join(several), python=python)
    if not found:
        return None
    sooner = say.LEAVE_SOONER.format(names=", ".join(found))
    return sooner + say.TOO_FEW_FOLLOWED.format(horizon=followed.horizon, name=found[0])


def _perhaps_strata(
    table: Table, names: Mapping[str, str], request: CalibrationRequest, followed: Followed
) -> dict[str, IntArray]:
    """Ranks of columns of few values that may be strata by their names, or make parts, and have no other role."""
    used = {name for argument, name in roles_of(names).items() if argument != "groups"} | {*followed.strata}
    parts = [*request.by, *(() if request.find == EVERY else request.find)]
    free = [name for name in dict.fromkeys([*strata_columns(table.columns), *parts]) if name not in used]
    return {name: table.ranks(name, "strata") for name in free if 2 <= _counts(table, name)[0] <= _MOST_STRATA}


def say_excluded(n_rows: int, listener: Listener) -> None:
    """Say how many bad rows were left out, if any were."""
    listener.premise("n_excluded", n_rows)
    if n_rows:
        what = "is null, no number" if n_rows == 1 else "are null, no numbers"
        listener.note(say.LEFT_OUT.format(rows=counted(n_rows, "row"), what=what))


def say_guessed(names: Mapping[str, str], guessed: tuple[str, ...], say: Callable[[str], None]) -> None:
    """Say which columns were taken by their names alone."""
    if guessed:
        say(f"Using {', '.join(f'{names[argument]!r} as the {_ROLES[argument]}' for argument in guessed)}.")


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


_LEVEL_OF_LEAVING = 0.001
_LEAST_EXPECTED = 5.0  # leavers: values with fewer are taken together, so that chi-squared fits
_MOST_TESTED, _MOST_CROSSED, _MOST_COLUMNS = 50_000, 50, 3


def columns_of_leaving(
    time: FloatArray, event: FloatArray, horizon: float, columns: Mapping[str, IntArray], strata: Sequence[IntArray]
) -> Sequence[str]:
    """Columns in whose values rows leave before the horizon at other rates, the strongest evidence first.

    Each next one is tested within the values of those before, and within given strata. Of all columns together one is
    named by chance with probability 0.001 at most. Of many rows 50,000 are tested.
    """
    rows = slice(None, None, -(-time.size // _MOST_TESTED))
    time, event, within = time[rows], event[rows], np.zeros(time[rows].size, np.int64)
    for rank in strata:
        within = _crossed(within, rank[rows])
    free, found = {name: rank[rows] for name, rank in columns.items()}, list[str]()
    while free and len(found) < _MOST_COLUMNS and within.max(initial=0) < _MOST_CROSSED:
        surprise = {name: _surprise(time, event, horizon, rank, within) for name, rank in free.items()}
        name = max(surprise, key=surprise.__getitem__)
        if 0.5 * erfc(surprise[name] / sqrt(2.0)) * len(columns) > _LEVEL_OF_LEAVING:
            break
        found.append(name)
        within = _crossed(within, free.pop(name))
    return found


def _crossed(within: IntArray, rank: IntArray) -> IntArray:
    """Number of each row's combination of two values."""
    return np.unique(np.column_stack([within, rank]), axis=0, return_inverse=True)[1].reshape(-1)


def _surprise(time: FloatArray, event: FloatArray, horizon: float, rank: IntArray, within: IntArray) -> float:
    """The log-rank statistic of leaving as a standard normal value, large where values leave at other rates.

    It is comparable between columns of few values and of many (Wilson and Hilferty), where p-values are all 0.
    """
    rank = np.unique(rank, return_inverse=True)[1]
    n_values = int(rank.max(initial=0)) + 1
    order = np.argsort(within, kind="stable")
    strata = np.split(order, np.cumsum(np.bincount(within))[:-1])
    parts = [log_rank(time[at], event[at], horizon, rank[at], n_values) for at in strata]
    excess, variance, expected = (sum(each[1:], each[0]) for each in zip(*parts, strict=True))
    enough = expected >= _LEAST_EXPECTED
    together = np.vstack([np.eye(n_values)[enough], ~enough])
    excess, variance, expected = together @ excess, together @ variance @ together.T, together @ expected
    kept = expected >= _LEAST_EXPECTED
    degrees = int(kept.sum()) - 1
    if degrees < 1:
        return -np.inf
    excess, variance = excess[kept][1:], variance[np.ix_(kept, kept)][1:, 1:]
    chi_squared = float(excess @ np.linalg.pinv(variance, hermitian=True) @ excess)
    spread = 2.0 / (9.0 * degrees)
    cube_root: float = np.cbrt(chi_squared / degrees)
    return (cube_root - (1.0 - spread)) / sqrt(spread)


def log_rank(
    time: FloatArray, event: FloatArray, horizon: float, rank: IntArray, n_values: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each value the leavers less those expected, their covariances, and those expected, in one stratum."""
    leaves = (event == 0.0) & (time < horizon)
    moments = np.unique(time[leaves])
    # a row may leave at this many moments; an event comes before leaving at the same time
    last = np.where(event == 1.0, np.searchsorted(moments, time), np.searchsorted(moments, time, side="right"))
    shape = moments.size + 1, n_values
    stop = np.bincount(last * n_values + rank, minlength=shape[0] * n_values).reshape(shape)
    at_risk = stop[::-1].cumsum(axis=0)[::-1][1:]
    moment = np.searchsorted(moments, time[leaves])
    left = np.bincount(moment * n_values + rank[leaves], minlength=shape[0] * n_values).reshape(shape)[:-1]
    n, n_left = at_risk.sum(axis=1), left.sum(axis=1)
    share = at_risk / n[:, None]
    expected = n_left @ share
    weight = n_left * (n - n_left) / np.maximum(n - 1, 1)
    return left.sum(axis=0) - expected, np.diag(weight @ share) - share.T @ (weight[:, None] * share), expected
