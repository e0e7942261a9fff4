"""The roles of a table's columns: as requested, or guessed by their usual names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from calibrant.door.errors import InputError, Ways

USUAL_NAMES = {
    "y_true": ("y_true", "label", "target", "outcome", "obs", "observed", "correct", "is_correct", "y"),
    "y_prob": ("y_prob", "prob", "probability", "score", "confidence", "y_score", "y_pred_proba", "prediction", "p"),
    "sample_weight": ("sample_weight",),
}
"""Names that are taken without being told, if exactly one of a row is there."""

_WEIGHED_BY = (
    *("ps", "ip", "ipw", "ht", "propensity", "sampling", "sample", "samp", "smpl", "survey", "design", "final"),
    *("case", "row"),
)
_PERHAPS_WEIGHTS = frozenset(
    (
        *("weight", "weights", "w", "wt", "wts", "wgt", "freq", "frequency", "trials", "n_trials"),
        *("exposure", "exposures", "ead", "ipw", "iptw", "ipcw", "pw", "pweight", "fweight", "aweight"),
        *("inverse_propensity", "inv_propensity", "inverse_prob", "inv_prob", "wt_final", "weight_final"),
        *(f"{by}_{weight}" for by in _WEIGHED_BY for weight in ("weight", "weights", "wt", "wgt")),
    )
) - {*USUAL_NAMES["sample_weight"]}
"""Names of columns that change every number if they are weights, and may be something else."""
_PERHAPS_GROUPS = (
    *(
        f"{who}{end}"
        for who in ("patient", "subject", "person", "user", "account", "customer", "client", "member", "household")
        for end in ("_id", "id", "")
    ),
    *(
        f"{place}{end}"
        for place in ("hospital", "clinic", "site", "center", "centre", "ward", "practice", "school", "branch")
        for end in ("_id", "id", "")
    ),
    *("group", "groups", "group_id", "cluster", "cluster_id", "session_id"),
)
"""Names of columns whose rows may belong together: mentioned, not asked about; persons, who are many, before places."""
_ID = "_id"  # so ends the name of any other column in which values that repeat may belong together
WAYS_OF_WEIGHTS = Ways(
    "leave them out with unweighted=True, or name the column to measure with as sample_weight",
    "leave them out with --unweighted, or name the column to measure with by --sample-weight",
)


def asked_columns(
    y_true: str | None, y_prob: str | None, sample_weight: str | None, unweighted: bool
) -> dict[str, str | None]:
    """Argument -> column as asked for; None is to be guessed, what is absent is not wanted."""
    if unweighted and sample_weight is not None:
        raise InputError("unweighted", f"leaves weights out, and column {sample_weight!r} is named as weights")
    columns = {"y_true": y_true, "y_prob": y_prob, "sample_weight": sample_weight}
    return {argument: columns[argument] for argument in columns if not (unweighted and argument == "sample_weight")}


def choose_columns(
    request: dict[str, str | None], columns: list[str], twins: Mapping[str, list[str]], grouped_by: Sequence[str] = ()
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Argument -> column as asked for or guessed, and the arguments that were guessed.

    A column that rows are grouped by is not suspected of holding weights.
    """
    names: dict[str, str] = {}
    guessed = []
    for argument, name in request.items():
        if name is not None:
            refuse_twins(name, twins, argument)
            names[argument] = present(name, columns, argument)
    for argument, name in request.items():
        if name is None:
            free = [c for c in columns if c not in names.values()]
            guess = _guess(argument, free, columns)
            if argument == "sample_weight":
                _refuse_perhaps_weights(guess, [c for c in free if c not in grouped_by])
            if guess is not None:
                refuse_twins(guess, twins, argument)
                names[argument] = guess
                guessed.append(argument)
    for argument, name in names.items():
        for other, same in names.items():
            if argument < other and name == same:
                raise InputError(argument, f"{name!r} is given for {other} as well")
    return names, tuple(guessed)


def refuse_twins(name: str, twins: Mapping[str, list[str]], argument: str) -> None:
    """Raise if the reader does not tell the column of that name from another."""
    same = twins.get(name.strip().casefold())
    if same is not None:
        raise InputError(
            argument,
            f"{name!r} could be any of {len(same)} columns: {listed(same)}. Rename all but one; "
            "names that differ only in case cannot be told apart",
        )


def present(name: str, columns: Sequence[str], argument: str) -> str:
    """The name, if there is such a column; else say what is there."""
    if not name:
        raise InputError(argument, "is empty; a column needs a name to be read")
    if name in columns:
        return name
    folded = {column.casefold(): column for column in columns}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    hint = f" Did you mean {folded[near[0]]!r}?" if near else ""
    quotes = Ways("", "a name that holds a comma stands in double quotes") if any("," in c for c in columns) else None
    raise InputError(argument, f"there is no column {name!r}; there are {listed(columns)}.{hint}", allowed=quotes)


def maybe_twins(columns: Sequence[str]) -> bool:
    """Whether names are the same up to case and spaces, or one looks as if DuckDB had made it distinct by a number."""
    folded = {name.strip().casefold() for name in columns}
    stems = (re.sub(r"_\d+$", "", name.strip().casefold()) for name in columns)
    return len(folded) < len(columns) or any(
        stem in folded and stem != name.strip().casefold() for stem, name in zip(stems, columns, strict=True)
    )


def same_names(header: Sequence[str], n_folders: int = 0) -> dict[str, list[str]]:
    """Names that DuckDB does not tell apart, by what they look like to it; the last are those of folders."""
    same: dict[str, list[str]] = {}
    for at, name in enumerate(header):
        title = f"{name} (of the folders)" if at >= len(header) - n_folders else name
        same.setdefault(name.strip().casefold(), []).append(title)
    return {name: several for name, several in same.items() if len(several) > 1}


def _guess(argument: str, free: Sequence[str], columns: Sequence[str]) -> str | None:
    """The one free column with a usual name; None for weights if there is none."""
    usual = [c for c in free if c.lower() in USUAL_NAMES[argument]]
    if len(usual) == 1:
        return usual[0]
    if argument == "sample_weight" and not usual:
        return None
    if usual:
        raise InputError(argument, f"could be any of {listed(usual)}; name one")
    ways = None
    if argument == "y_true" and (pair := follow_up_columns(free)) is not None:
        time, event = pair
        ways = Ways(
            f"of rows followed for a time give time={time!r}, event={event!r} and horizon",
            f"of rows followed for a time give --time {time} --event {event} --horizon T",
        )
    raise InputError(
        argument, f"cannot be guessed; name one of the columns: {listed(columns)}{_hint(columns)}", allowed=ways
    )


def _hint(columns: Sequence[str]) -> str:
    """That a file's first line may be data, or its columns one."""
    if any("." in column and _is_number(column) for column in columns) or all(map(_is_number, columns or "x")):
        return ". The first line is taken for the names, and here it looks like data: add a line of names above it"
    if len(columns) == 1 and any(separator in columns[0] for separator in ",;\t|"):
        return ". That is one column: check that every line has as many fields as the first"
    return ""


def _refuse_perhaps_weights(weights: str | None, free: Sequence[str]) -> None:
    """Raise if a column without a role may hold weights, beside the column of weights or without one."""
    perhaps = [c for c in free if c.lower() in _PERHAPS_WEIGHTS]
    if not perhaps:
        return
    beside = "" if weights is None else f" as well as {weights!r}"
    raise InputError("sample_weight", f"column {perhaps[0]!r} may hold weights{beside}", allowed=WAYS_OF_WEIGHTS)


def perhaps_groups(columns: Iterable[str], roles: Collection[str]) -> tuple[list[str], list[str]]:
    """Columns without a role whose names say that rows may depend on one another, and other ids."""
    free = [name for name in columns if name not in roles]
    usual = sorted((each for each in free if each.lower() in _PERHAPS_GROUPS), key=_place)
    return usual, [name for name in item_columns(free) if name not in usual and name.lower() not in _MODELS]


_ITEMS = frozenset(("id", "uuid", "guid", "qid", "item", "question", "prompt", "document", "doc", "example"))
"""Names of columns that tell what a row is about, beside those that end as ids do."""


def item_columns(columns: Iterable[str]) -> list[str]:
    """Columns whose names say that they tell items apart."""
    return [name for name in columns if name.strip().casefold() in _ITEMS or name.casefold().endswith(_ID)]


_MODELS = ("model", "model_name", "model_id", "llm", "predictor", "classifier", "algorithm")
_UNITS = ("days", "weeks", "months", "years")
_FOLLOWED = (
    *("followup", "follow_up", "survival", "time_to_event", "time_to_death", "futime"),
    *(f"{what}_{unit}" for what in ("followup", "follow_up", "survival", "surv") for unit in ("time", *_UNITS)),
)
_TIMES = ("time", "duration", "tte", *_FOLLOWED, *(f"time_{unit}" for unit in _UNITS), *_UNITS)
_CENSORING = ("censored", "censoring", "is_censored", "cens")
_EVENTS = (
    *("event", "status", "event_observed", "event_status", "fustat"),
    *("died", "dead", "death", "deceased", "death_event", "relapse", "relapsed", "recurrence", *_CENSORING),
)
_STRATA = (
    *("age_group", "age_band", "sex", "gender", "ethnicity", "race", "region", "arm", "treatment", "stage", "cohort"),
)
"""Names of columns that say which model predicted a row; how long it was followed, and how that ended; and within what
rows may leave alike, beside places."""


def _named(columns: Iterable[str], names: Sequence[str]) -> list[str]:
    """Columns of these names in any case, in the order of the names."""
    return sorted((each for each in columns if each.lower() in names), key=lambda each: names.index(each.lower()))


def model_columns(columns: Iterable[str]) -> list[str]:
    """Columns whose names say that they tell models apart."""
    return _named(columns, _MODELS)


def follow_up_columns(columns: Collection[str], outcome: str | None = None) -> tuple[str, str] | None:
    """A column of times that rows were followed for, and one of how that ended, by their names.

    The outcome may be called anything, where the name of the times says that rows were followed.
    """
    times, events = _named(columns, _TIMES), _named(columns, _EVENTS)
    if times and events:
        return times[0], events[0]
    followed = _named(columns, _FOLLOWED)
    return (followed[0], outcome) if followed and outcome is not None else None


def tells_censoring(name: str) -> bool:
    """Whether a column is 1 where the event did not come, by its name."""
    return name.lower() in _CENSORING


def strata_columns(columns: Iterable[str]) -> list[str]:
    """Columns within whose values rows may leave alike, by their names: places first."""
    return _named(columns, (*_PERHAPS_GROUPS, *_STRATA))


def _place(name: str) -> int:
    return _PERHAPS_GROUPS.index(name.lower())


def may_hold_weights(name: str) -> bool:
    """Whether a column is called as weights usually are."""
    return name.lower() in {*USUAL_NAMES["sample_weight"], *_PERHAPS_WEIGHTS}


def refuse_unspoken_weights(
    columns: Iterable[str], roles: Collection[str], ways: str = WAYS_OF_WEIGHTS, which: str = ""
) -> None:
    """Raise if a column without a role holds weights by its name; `which` says what of them."""
    for name in columns:
        if name not in roles and may_hold_weights(name):
            raise InputError("sample_weight", f"column {name!r} may hold weights{which}", allowed=ways)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, at most 30."""
    shown = ", ".join(repr(n) for n in names[:30])
    return shown + (f" and {len(names) - 30} more" if len(names) > 30 else "")
