"""Which option has no effect in which mode: the one table that commands and tables ask before they work."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from calibrant.door.errors import InputError, Ways

OF_ROWS = "is for tables with columns; a sketch holds sums of its rows"
_LOG = "cannot be used: a log of lm-evaluation-harness has no columns for it"
_CLASSES = "is for single predictions; name one column as y_prob"
_ROLES = "y_true y_prob sample_weight"
_SEGMENTS = "cannot be combined with --by or --find yet: they take single rows, independent or in groups"
_BASELINE = "cannot be combined with --baseline yet: it takes single, independent rows"
_NO_WEIGHTS = "has no effect: rows have no weights with"
_NO_SEARCH = "is of segments that are searched, and no search was asked for"
_SEARCH = Ways("name columns with find=", "name columns with --find")


@dataclass(frozen=True, slots=True)
class Idle:
    """Options, with spaces between, that have no effect in a mode; why, and what has."""

    mode: str
    options: str
    why: str
    allowed: str | None = None


AUDIT = (
    Idle("no search", "max_depth", _NO_SEARCH, _SEARCH),
    Idle(
        "no drift",
        "reference",
        "is one of the periods",
        Ways("name their column with drift=", "name their column with --drift"),
    ),
    Idle(
        "drift",
        "sample_weight",
        "cannot be used with periods of drift: each outcome is a bet, which counts once",
        Ways("unweighted=True leaves weights out", "--unweighted leaves weights out"),
    ),
    Idle(
        "nothing drawn",
        "find",
        "cannot be searched without resamples",
        Ways("n_resamples must not be 0", "leave out --resamples 0"),
    ),
    Idle("trials", "sample_weight", "cannot be used with trials, which are weights themselves"),
    Idle("log", f"{_ROLES} trials by find drift exclude_bad unweighted groups max_weight pos_label", _LOG),
    Idle("sketches", f"{_ROLES} trials find exclude_bad unweighted groups pos_label", OF_ROWS),
    Idle("classes", "by trials drift find exclude_bad pos_label", _CLASSES),
    Idle(
        "rates",
        "level n_resamples random_state max_distance max_weight find drift groups",
        "has no effect on event rates: without the trials behind them nothing is said of chance",
    ),
    Idle("weighted sums", "random_state", "has no effect: of sums of weighted rows nothing is drawn"),
    Idle("nothing drawn", "random_state", "has no effect: nothing is drawn without resamples"),
    Idle(
        "unbounded",
        "max_distance",
        "has no effect: of rows with weights, trials or groups nothing is proved without the most that one can weigh",
        Ways("give max_weight as well", "give --max-weight as well"),
    ),
)
GATE = (
    Idle(
        "so far",
        f"file {_ROLES} max_regret threshold groups unweighted trials by find max_depth baseline max_worse "
        "pos_label exclude_bad filesystem distinct",
        "cannot be used with --so-far, which says what a state proves and adds no rows",
    ),
    Idle("no state", "so_far", "needs --anytime STATE"),
    Idle("distance", "threshold", "needs --max-regret"),
    Idle("regret", "anytime", "needs --max-distance; a bound of regret holds for rows read once"),
    Idle("regret", "by find max_depth baseline max_worse", "is of --max-distance only"),
    Idle("no search", "max_depth", _NO_SEARCH, _SEARCH),
    Idle(
        "no baseline",
        "max_worse",
        "says how much worse than a baseline is allowed; name it with --baseline",
    ),
    Idle(
        "begun by one source",
        "distinct",
        "has no effect: STATE holds no rows yet, and FILE is one source, whose rows are not compared",
        "leave it out of the first run",
    ),
    Idle("state", "trials", "cannot be used with --anytime: it takes single rows; write each trial as a row"),
    Idle("state", "groups", "cannot be used with --anytime: it assumes independent rows"),
    Idle("state", "by find baseline", "cannot be used with --anytime: it adds up the rows of one population"),
    Idle("trials", "sample_weight", "cannot be used with --trials, itself a column of weights"),
    Idle("segments", "sample_weight trials", _SEGMENTS),
    Idle("baseline", "sample_weight trials groups", _BASELINE),
    Idle("segments of single rows", "max_weight", f"{_NO_WEIGHTS} --by and --find", "with --groups they take it"),
    Idle("baseline", "max_weight", f"{_NO_WEIGHTS} --baseline"),
    Idle("log", f"{_ROLES} by find exclude_bad unweighted groups trials max_weight pos_label", _LOG),
    Idle("sketches", f"{_ROLES} find exclude_bad unweighted groups pos_label trials", OF_ROWS),
    Idle("classes", "by trials find exclude_bad pos_label", _CLASSES),
    Idle("regret of sums", "max_weight", "is of single rows here: a bound of regret takes sums without weights"),
)


def refuse_idle(table: tuple[Idle, ...], given: Collection[str], modes: Collection[str]) -> None:
    """Raise for the first option that was given and has no effect in one of these modes.

    Raises
    ------
    InputError
        It names the option.
    """
    for idle in table:
        if idle.mode in modes:
            for option in filter(given.__contains__, idle.options.split()):
                raise InputError("FILE" if option == "file" else option, idle.why, allowed=idle.allowed)
