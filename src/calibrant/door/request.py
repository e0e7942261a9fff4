"""A request, its columns and its premises: each option once, with its type, help and name in JSON.

The options of a command are made from these fields, and a table says which have no effect in which mode. It imports no
library, for a command's help is to be there at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from calibrant.door.errors import InputError, Ways

if TYPE_CHECKING:
    from calibrant.door.arguments import RandomState

MAX_DEPTH, DEEPEST = 2, 4
Kind = Literal["text", "names", "values", "any", "share", "number", "whole", "flag", "path"]
_CHECKS = {"text": "text", "names": "texts", "share": "fraction", "number": "positive", "flag": "flag"}
"""The function of `door/arguments.py` that looks at a value of each kind; of the rest, see `__post_init__`."""


@dataclass(frozen=True, slots=True)
class Option:
    """One field of a request: its type, help and name in JSON."""

    kind: Kind  # what it takes
    help: str | None  # the command line's help; None where only Python has it
    json: str  # where JSON says what it was; behind "not: " why it does not
    flags: tuple[str, ...] = ()  # names on the command line, where that is not its own with dashes
    # least, most: of a whole number on the command line
    least: int | None = None
    most: int | None = None
    command: Any = None  # the command line's default, where it is not Python's
    metavar: str | None = None  # what help calls the value
    sentence: str | None = None  # of a premise: how every output names its value, which stands for {}


def option(default: Any, kind: Kind, help: str | None, json: str, **more: Any) -> Any:
    """Declare a field of a request."""
    return field(default=default, metadata={"option": Option(kind, help, json, **more)})


@dataclass(frozen=True, slots=True)
class Idle:
    """Options, with spaces between, that have no effect in a mode; why, and what has."""

    mode: str
    options: str
    why: str
    allowed: str | None = None


def refuse_idle(
    table: tuple[Idle, ...], options: Collection[str], modes: Collection[str], shown: Callable[[str], str] = str
) -> None:
    """Raise for the options that were given and have no effect in one of these modes.

    Raises InputError of the first; it says the same of all others, as they are `shown`.
    """
    every = [(option, each) for each in table if each.mode in modes for option in each.options.split()]
    idle = {option: each for option, each in every[::-1] if option in options}
    if not idle:
        return
    first = next(option for option, _ in every if option in idle)
    why, allowed = idle[first].why, idle[first].allowed
    for option in dict.fromkeys(option for option, _ in every if option in idle and option != first):
        own = idle[option].why
        nor = f"nor {'has' if own.startswith('has no effect') else 'can'}"
        why += f"; {nor} {shown(option)}" if own == idle[first].why else f"; {shown(option)} {own}"
    raise InputError("FILE" if first == "file" else first, why, allowed=allowed)


NO_WEIGHTS = Idle("no weights", "unweighted", "leaves weights out, and by its name no column holds any", "leave it out")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which columns of a table are read, and how; those that are None are guessed by their names."""

    effects: ClassVar[tuple[Idle, ...]] = (NO_WEIGHTS,)
    differs: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Field -> what its option has of its own here."""

    y_true: str | None = option(None, "text", "Column of outcomes: 0 or 1, or event rates.", "premises.columns")
    y_prob: str | None = option(None, "text", "Column of predicted probabilities.", "premises.columns")
    sample_weight: str | None = option(None, "text", "Column of weights.", "premises.columns")
    by: tuple[str, ...] = option(
        (),
        "names",
        "Columns, separated by commas: a sketch for each of their values, in Parquet.",
        "not: the sketch is no JSON",
    )
    exclude_bad: bool = option(
        False, "flag", "Leave out rows with nulls, NaN, text or numbers out of range.", "premises.exclude_bad"
    )
    unweighted: bool = option(
        False,
        "flag",
        "Leave the column of weights out.",
        "premises.unweighted",
        sentence="Any column of weights was left out, as was asked (unweighted).",
    )
    pos_label: Any = option(
        None,
        "any",
        "Label of the event, if outcomes are two labels.",
        "premises.pos_label",
        sentence="The event is the label {!s} (pos_label).",
    )
    filesystem: Any = option(
        None,
        "any",
        "Where FILE lies: an address such as s3://bucket, or s3, gcs; by default on this machine.",
        "not: it says how FILE is reached, and the title says which file it is",
    )
    distinct: bool = option(
        False,
        "flag",
        "Count all rows as other ones, whatever they hold; the same file twice is refused all the same.",
        "premises.distinct",
        sentence="Sources were taken as distinct rows, as was asked (distinct).",
    )
    explicit: frozenset[str] | None = None
    """Options that were given, of the command line even where they are as by default."""

    def __post_init__(self) -> None:
        """Refuse what can be no value, before anything is read."""
        from calibrant.door import arguments

        for name, each in self.options().items():
            value = getattr(self, name)
            if each.kind in _CHECKS and value is not None:
                getattr(arguments, _CHECKS[each.kind])(value, name)

    @classmethod
    def from_command(cls, options: Mapping[str, Any], explicit: frozenset[str] | None = None) -> Self:
        """The request of a command line, where a list of names has commas between them."""
        known, values = cls.options(), {name: value for name, value in options.items() if value is not None}
        lists = {name: in_list(value) for name, value in values.items() if known[name].kind in ("names", "values")}
        return cls(**{**values, **lists}, explicit=explicit)

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Every field with what is known of it."""
        declared = {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}
        return {name: replace(each, **cls.differs.get(name, {})) for name, each in declared.items()}

    def refuse(self, *modes: str) -> None:
        """Raise for an option that was given and has no effect in one of these modes.

        Of Python that are those that are not as by default, but for those that the result has under their own name:
        one call takes rows of every kind with the same of them.
        """
        refuse_idle(self.effects, self._given, modes, str if self.explicit is None else self.flag)

    @property
    def _given(self) -> frozenset[str]:
        if self.explicit is not None:
            return self.explicit
        own = [each for each in fields(self) if each.name not in (*_IN_THE_RESULT, "explicit", "everything")]
        return frozenset(each.name for each in own if getattr(self, each.name) != each.default)

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes that apply to a table of any kind."""
        return ()

    @classmethod
    def flag(cls, name: str) -> str:
        """An option's name on the command line."""
        known = cls.options().get(name)
        return known.flags[0] if known is not None and known.flags else f"--{name.replace('_', '-')}"

    def beside(self, name: str, value: Any = True) -> tuple[str, ...]:
        """Options that were given and must be left out for this one to be taken, as the command line has them."""
        one = copy(self)
        object.__setattr__(one, name, value)  # whatever its value, the modes are the same
        modes, options = one.modes, self._given
        at_fault = [option for each in self.effects if each.mode in modes for option in each.options.split()]
        modes_of_it = [each.mode for each in self.effects if each.mode in modes and name in each.options.split()]
        owners = [_OWNERS.get(mode, mode) for mode in modes_of_it]
        found = [option for option in at_fault if option in options and option != name]
        return tuple(dict.fromkeys(self.flag(each) for each in [*found, *owners]))

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of keys."""
        return self.by

    @property
    def columns(self) -> dict[str, Any]:
        """The columns, as `Table.choose` takes them."""
        return {
            "y_true": self.y_true,
            "y_prob": self.y_prob,
            "sample_weight": self.sample_weight,
            "unweighted": self.unweighted,
            "grouped_by": self.keys,
        }


_OWNERS = {"state": "anytime", "fractions": "sampling_fractions", "regret": "max_regret"}
"""Modes that are called otherwise than the option that makes them."""
_IN_THE_RESULT = ("level", "n_resamples", "random_state", "max_distance")


@dataclass(frozen=True, kw_only=True)
class CalibrationRequest(Request):
    """A request that an audit and a gate share."""

    trials: str | None = option(
        None, "text", "Column of numbers of trials; the outcome is the share of events.", "premises.trials"
    )
    groups: str | None = option(
        None,
        "text",
        "Column of patients, accounts, days, ...: rows of one may depend on one another.",
        "premises.grouped",
    )
    sampling_fractions: Any = option(
        None,
        "any",
        "Share of rows that were kept of each outcome, such as 0:0.1,1:1 (negatives kept 1 in 10).",
        "premises.sampling_fractions",
        metavar="0:SHARE,1:SHARE",
    )
    time: str | None = option(
        None,
        "text",
        "With --horizon: column of when the event came, or until when a row was followed without it.",
        "premises.columns",
    )
    event: str | None = option(
        None, "text", "With --horizon: column of 1 where the event came at that time, else 0.", "premises.columns"
    )
    horizon: float | None = option(
        None,
        "number",
        "Predictions are of the event by this time; rows that left before are made up for by weights.",
        "premises.followed",
    )
    strata: tuple[str, ...] = option(
        (),
        "names",
        "With --horizon: columns, separated by commas, within whose values rows leave independently of event and "
        "prediction.",
        "premises.followed",
    )
    least_followed: float | None = option(
        None, "share", "With --horizon: refuse it if fewer are followed to it; 0.1.", "premises.followed"
    )
    max_weight: float | None = option(
        None,
        "number",
        "With groups or weights: the most that one can weigh, known beforehand; needed for bounds.",
        "premises.max_weight",
    )
    max_distance: float | None = option(
        None,
        "share",
        "Distance that is too small to matter; 0.02, or a tenth of the rarer outcome's rate if less.",
        "premises.max_distance",
    )
    threshold: float | None = option(
        None,
        "share",
        "Predictions from here on are acted on: report what that loses; default: the worst threshold.",
        "premises.threshold",
    )
    level: float = option(
        0.05,
        "share",
        "Probability of error allowed to each test, the population's bounds and the band.",
        "premises.level",
        sentence="Each test, and each end of a bound, is wrong with probability at most {:g} (level).",
    )
    find: tuple[str, ...] = option(
        (),
        "names",
        "Columns, separated by commas, or all: find segments that are off by more than noise.",
        "found_segments",
    )
    max_depth: int = option(
        MAX_DEPTH,
        "whole",
        "With --find: most columns that a segment combines.",
        "found_segments.max_depth",
        least=1,
        most=DEEPEST,
    )

    @property
    def columns(self) -> dict[str, Any]:
        """The columns, as `Table.choose` takes them: numbers of trials, or times of events, stand where weights do."""
        if self.horizon is not None:
            return super().columns | {"y_true": self.event, "sample_weight": self.time, "unweighted": False}
        return super().columns | {"sample_weight": self.trials or self.sample_weight}

    def ways_to_group(self, name: str, *, many: bool = False) -> str:
        """The option that takes rows of one value of this column as groups: of `many` summed rows, of some of them."""
        first = "take some of its groups, all rows of each, and say" if many else "say"
        parts = [f"--{option}" for option in ("by", "find") if name in getattr(self, option)]
        out = f", and leave {name} out of {' and '.join(parts)}" if parts else ""  # no part is made of groups' own
        return f"{first} --groups {name}{self._bound_of_groups}{out}"

    @property
    def _bound_of_groups(self) -> str:
        """The option that groups need besides."""
        return ""

    @property
    def too_deep(self) -> bool:
        """Whether segments are to combine more columns than are searched."""
        return bool(self.find) and self.find != ("all",) and len(self.find) < self.max_depth <= DEEPEST

    def __post_init__(self) -> None:
        """Refuse what can be no value, before anything is read."""
        from calibrant.door.arguments import check_level, check_threshold

        check_level(self.level)
        if self.threshold is not None:
            check_threshold(self.threshold)
        if self.sampling_fractions is not None:
            from calibrant.door.weights import SamplingFractions

            SamplingFractions.read(self.sampling_fractions)
        for name in ("time", "event") if self.horizon is not None else ():
            if getattr(self, name) is None:
                raise InputError(name, "is missing: with a horizon it says which column holds it")
        super().__post_init__()


OF_ROWS = "is for tables with columns; a sketch holds sums of its rows"
LOG = "cannot be used: a log of lm-evaluation-harness has no columns for it"
OF_CLASSES = "is for single predictions; name one column as y_prob"
NO_SEARCH = "is of segments that are searched, and no search was asked for"
OF_SINGLE = "is of single rows; write each trial as a row"
SEARCH = Ways("name columns with find=", "name columns with --find")
ROLES = "y_true y_prob sample_weight"
"""Why options have no effect, and which say what a column holds."""
TOO_DEEP = Idle(
    "too deep", "max_depth", "is more columns than find names", Ways("name more with find=", "name more with --find")
)
OF_TIMES = "cannot be used with a horizon (--horizon): outcomes and weights are made of times and events"
_OF_A_HORIZON = "needs a horizon, by which events count"
CENSORED = (
    Idle(
        "no horizon",
        "time event strata least_followed",
        _OF_A_HORIZON,
        Ways("give it with horizon=", "give it with --horizon"),
    ),
    Idle(
        "horizon of rows",
        "max_weight",
        "cannot be used with a horizon (--horizon): the least share that is followed says what a row can weigh",
    ),
    Idle("horizon", "y_true sample_weight sampling_fractions pos_label exclude_bad", OF_TIMES),
)
"""Of rows that are followed for a time."""
AUDIT = (
    Idle("no search", "max_depth", NO_SEARCH, SEARCH),
    TOO_DEEP,
    Idle(
        "no drift",
        "reference",
        "is one of the periods",
        Ways("name their column with drift=", "name their column with --drift"),
    ),
    Idle(
        "nothing drawn",
        "find",
        "cannot be searched without resamples",
        Ways("n_resamples must not be 0", "leave out --resamples 0"),
    ),
    Idle("trials", "sample_weight", "cannot be used with trials, which are weights themselves"),
    NO_WEIGHTS,
    Idle("trials", "sampling_fractions", OF_SINGLE),
    *CENSORED,
    Idle("horizon", "outcome_free_weights", OF_TIMES),
    Idle("trials", "horizon", "cannot be used with trials: it is of single rows"),
    *(
        Idle(mode, "certificate", f"cannot be written: {why}")
        for mode, why in {
            "classes": "of classes nothing is certified; name one column as y_prob",
            "log": "the checker reads columns, and a log of lm-evaluation-harness has none",
            "sketches": "it is of single rows, and a sketch holds sums",
            "sums": "it is of rows that are read, and so many are summed",
            "horizon": "outcomes are made of times and events, which the checker does not do",
            "fractions": "sampling fractions are made into weights, which the checker does not do",
            "left out": "rows are left out, which the checker does not do",
        }.items()
    ),
    Idle(
        "drift",
        "horizon",
        "cannot be used with periods of drift: the share that is followed is estimated from all of them",
        Ways("name their column with by=", "name their column with --by"),
    ),
    Idle(
        "fractions",
        "reference",
        "cannot be used with sampling fractions: rates are compared as they are in the file",
        Ways("leave reference out", "leave --reference out"),
    ),
    Idle(
        "fractions",
        "sample_weight",
        "cannot be used with sampling fractions, which are weights themselves",
        Ways("give unweighted=True in its place", "give --unweighted in its place"),
    ),
    Idle("unweighted rows", "outcome_free_weights", "has no effect: there are no weights"),
    Idle("grouped", "outcome_free_weights", "has no effect: of rows in groups the signs of groups are drawn"),
    Idle("nothing tested", "outcome_free_weights", "has no effect: nothing is drawn without resamples"),
    Idle(
        "log",
        f"{ROLES} trials by find drift exclude_bad unweighted groups sampling_fractions outcome_free_weights "
        "horizon max_weight pos_label",
        LOG,
    ),
    Idle(
        "sketches", f"{ROLES} trials find exclude_bad unweighted groups sampling_fractions horizon pos_label", OF_ROWS
    ),
    Idle("classes", "by trials drift find exclude_bad sampling_fractions horizon pos_label", OF_CLASSES),
    Idle(
        "rates",
        "level n_resamples random_state max_distance max_weight find drift groups sampling_fractions "
        "outcome_free_weights",
        "has no effect on event rates: without the trials behind them nothing is said of chance",
    ),
    Idle("weighted sums", "random_state n_resamples", "has no effect: of sums of weighted rows nothing is drawn"),
    Idle("few groups", "random_state n_resamples", "has no effect: in so few groups no signs are drawn"),
    Idle("nothing drawn", "random_state", "has no effect: nothing is drawn without resamples"),
    Idle(
        "unbounded",
        "max_distance",
        "has no effect: of rows with weights, trials or groups nothing is proved without the most that one can weigh",
        Ways("give max_weight as well", "give --max-weight as well"),
    ),
    Idle(
        "nothing decided",
        "level",
        "has no effect: without resamples nothing is tested, and without the most that one can weigh nothing is proved",
        Ways("give max_weight as well", "give --max-weight as well"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class AuditRequest(CalibrationRequest):
    """A request for an audit of a table."""

    effects = AUDIT
    differs: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "y_prob": {
            "help": "Column of predicted probabilities; for classes a list p0,p1,... or a pattern 'p*'. "
            "Given twice or more, the forecasts of one FILE are compared."
        },
        "by": {"help": "Columns, separated by commas: test their segments, worst first.", "json": "segmented_by"},
    }

    outcome_free_weights: bool = option(
        False,
        "flag",
        "Weights say nothing of outcomes at a given prediction: draw outcomes again at given weights.",
        "premises.outcome_free_weights",
    )
    drift: str | None = option(
        None, "text", "Column of days or other periods: the period from which on it is proved wrong.", "periods"
    )
    reference: Any = option(
        None, "values", "With --drift: reference periods, A,B or A..B; what has changed since?", "periods"
    )
    n_resamples: int = option(
        999, "whole", "Resamples behind the band; 0 for none.", "options.n_resamples", flags=("--resamples",)
    )
    random_state: RandomState = option(
        None, "whole", "Seed of the random draws.", "options.random_state", flags=("--seed",), least=0, command=0
    )
    title: str | None = option(None, "text", None, "title")
    everything: bool = True
    """Whether more is wanted than the short page prints: bounds of each measure, and what acting costs."""

    def __post_init__(self) -> None:
        """Refuse what can be no value or has no effect, before anything is read."""
        from calibrant.door.arguments import check_band, seeded

        check_band(self.level, self.n_resamples)
        if self.random_state is not None:
            seeded(self.random_state)
        super().__post_init__()
        self.refuse(*self.modes)

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes that apply to a table of any kind."""
        on = {
            "search": bool(self.find),
            "no search": not self.find,
            "drift": bool(self.drift),
            "no drift": not self.drift,
            "trials": self.trials,
            "too deep": self.too_deep,
            "fractions": self.sampling_fractions is not None,
            "by": bool(self.by),
            "unweighted rows": self.unweighted or self.trials,
            "grouped": self.groups,
            "nothing tested": self.n_resamples == 0 and not self.by,
            "horizon": self.horizon is not None,
            "left out": self.exclude_bad,
            "horizon of rows": self.horizon is not None and not self.groups,
            "no horizon": self.horizon is None,
        }
        return tuple(mode for mode, applies in on.items() if applies)

    @property
    def of_several(self) -> Self:
        """The request of one of several audits, without the options of draws that may matter to the others alone."""
        if self.explicit is None:
            return self
        draws = {"random_state", "n_resamples"} if self.groups else {"random_state"}
        return replace(self, explicit=self.explicit - draws)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of keys: segments, periods, groups and features."""
        return (*self.by, *(name for name in (self.drift, self.groups) if name), *self.find)


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears of the stages of the work, of notes on what was guessed or left out, and of premises by name.

    A `hint` is a premise with what to do about it, for whoever does not see the page, which has it.
    """

    stage: Callable[[str], None] = lambda _stage: None
    note: Callable[[str], None] = lambda _note: None
    premise: Callable[[str, Any], None] = lambda _name, _value: None
    hint: Callable[[str], None] = lambda _note: None


_NAME = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"(?=,|$)|(?P<plain>[^,]*)')


def in_list(text: str) -> tuple[str, ...]:
    """Names between commas; one that holds a comma stands in double quotes, and a quote within them twice, as in CSV.

    >>> in_list('day,"a,b",c'), in_list('5" pipe')
    (('day', 'a,b', 'c'), ('5" pipe',))
    """
    names, at = [], 0
    while at <= len(text):
        match = _NAME.match(text, at)
        assert match is not None  # the second way takes any text
        names.append(match["plain"] if match["quoted"] is None else match["quoted"].replace('""', '"'))
        at = match.end() + 1
    return tuple(names)
