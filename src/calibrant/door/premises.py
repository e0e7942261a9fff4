"""What a result takes as given: what rows cannot show, and what was not looked at; every output reads it here."""

from __future__ import annotations

__all__ = ["Premises"]

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from calibrant.door.request import AuditRequest, Request
from calibrant.door.values import ReadOnly, Result, counted, in_a_row

_IMPORTANCE = "by importance, not as repeats or trials"
_NAMED = 5  # columns that a sentence names
_SENTENCES = {name: each for name, each in AuditRequest.options().items() if each.sentence is not None}
"""Options that stand beside their sentence."""


VARY = (
    "Outcomes of one row vary more than independent ones do, and tests take them as independent. Number the rows in a "
    "column, and give it with --groups (in Python groups)."
)
"""A hint where rows of trials with one prediction differ by more than chance."""
LEAST_FOLLOWED = 0.1
"""Default of the least share that is followed to the horizon: no row then weighs more than ten."""


def left_out(options: tuple[str, ...], what: str) -> str:
    """Options to leave out first, for they cannot be used with `what`; empty where there are none."""
    if not options:
        return ""
    return f"leave out {in_a_row(options)}, which cannot be used with {what}, and "


def if_chosen(options: tuple[str, ...]) -> str:
    """What to do where rows were chosen by their outcome; these options are left out first."""
    first = left_out(options, "them")
    shares = "the share that was kept of each outcome, such as 0:0.1,1:1"
    way = f"give --sampling-fractions, {shares} (in Python sampling_fractions)"
    return f"If rows were chosen by their outcome, {first}{way}."


@dataclass(frozen=True, slots=True, repr=False)
class Followed(Result):
    """What a result says of rows that were followed for a time.

    Attributes
    ----------
    horizon : float
        By when events count.
    n_unknown : int
        Rows whose outcome is not known, and that weigh nothing.
    least_followed : float
        The least share that may be followed to it; no row weighs more than one over it.
    time, event : str
        The columns of times and events.
    strata : tuple of str
        The columns within whose values censoring is independent of events and predictions, those of `by` among them;
        none where all rows are taken alike.
    in_segments : bool
        Whether segments of other columns are looked at, which are taken to leave alike.
    n_unknown_groups : int
        Groups without a row whose outcome is known.
    """

    horizon: float
    n_unknown: int
    least_followed: float
    time: str
    event: str
    strata: tuple[str, ...] = ()
    in_segments: bool = False
    n_unknown_groups: int = 0

    def summary(self) -> str:
        """Say what is taken as given."""
        several = "columns" if len(self.strata) > 1 else "column"
        within = f" within values of {several} {', '.join(self.strata)}" if self.strata else ""
        within += ", alike in all segments" if self.in_segments else ""
        only = "" if self.strata else " If that holds only within values of columns, name them (strata)."
        return (
            f"Outcomes are of the event by {self.horizon:g} (horizon), from columns {self.time} and {self.event}. "
            f"{counted(self.n_unknown, 'row')} left before{self._whole_groups()}, and known rows make up for them by "
            "weights. "
            f"Rows are taken to leave independently of the event and the prediction{within}.{only} "
            f"At least {self.least_followed:g} are followed to the horizon (least_followed). That share is estimated, "
            "so that tests and ends of bounds are right with many rows only."
        )

    def _whole_groups(self) -> str:
        if not self.n_unknown_groups:
            return ""
        return f" (all of {counted(self.n_unknown_groups, 'group')} among them)"


@dataclass(frozen=True, slots=True, repr=False)
class Premises(Result):
    """What an audit or a gate takes as given, and what it did not look at; one sentence for each.

    Attributes
    ----------
    level : float
        Probability of error that was allowed.
    max_distance : float or None
        The limit on the distance; None where regret is limited.
    default_limit : bool
        Whether that is the default and was not given.
    max_regret, threshold : float or None
        The limit on what acting may lose, and the threshold; None where it was not given.
    columns : mapping of str to str
        The columns that were used, by argument.
    n_groups : int or None
        Number of groups; None where rows are taken as independent.
    grouped, weighted : bool
        Whether whole groups are drawn, and whether rows weigh differently.
    equal_weights : bool
        Whether rows have weights that are all the same, other than 1.
    trials : bool
        Whether each row stands for several outcomes.
    sampling_fractions : tuple of float, or None
        Shares of rows without the event, and with it, that were kept; None where rows were not sampled by outcome.
    fractions_given : bool
        Whether these were given; they are seen in weights otherwise.
    outcome_free_weights : bool
        Whether weights were declared to say nothing of outcomes at a given prediction.
    followed : Followed or None
        How outcomes at a horizon were made of times and events; None where outcomes were given.
    drawn_again : bool
        Whether anything is said that rests on outcomes drawn again.
    max_weight : float or None
        The most that one row, or group, can weigh; None where it was not given.
    unweighted : bool
        Whether columns of weights were to be left out.
    pos_label : object
        Label of the event; None where it was not given.
    exclude_bad : bool
        Whether bad rows were to be left out.
    n_excluded : int
        How many were.
    baseline : str or None
        Name of the baseline's file; None where there is none.
    n_rows_baseline, n_excluded_baseline : int
        Rows of that file, and how many of them were left out.
    max_worse : float or None
        The limit on how much worse than the baseline; None where there is none.
    default_worse : bool
        Whether that is the default for these rows and was not given.
    top_label : bool
        Whether of several classes the most probable one alone was looked at.
    not_looked_at : tuple of str
        Columns that were not searched, in which segments may be hidden.
    searchable : bool
        Whether these can be searched, together with what else was asked for.
    omissions : tuple of str
        What could not be computed, and why.
    perhaps_groups : str or None
        A column whose name says that its rows may belong together; None where there is none.
    ways_to_group : str or None
        What takes rows of one value of that column as groups; None where naming the column is enough.
    trials_vary : bool
        Whether outcomes of one row of trials plainly vary more than independent ones do.
    perhaps_sampled : tuple of int, or None
        In how many of so many rows the event came, where rows may have been chosen by it (docs/weights.md); None where
        nothing says so.
    refuse_fractions : tuple of str
        Options that take no sampling fractions, and would have to be left out.
    hints : mapping of str to str
        What columns suggest of rows, by their names and values: a sentence each, by its name.
    matching : str or None
        How rows of a file and its baseline were matched, in a sentence; None where there is no baseline.
    loose_limit : str or None
        That a constant prediction would pass the limit, in a sentence; None where it would not.
    anytime : bool
        Whether the result may be looked at after any number of rows.
    n_before : int
        Of a log that has grown, how many of its first rows a state had already.
    distinct : bool
        Whether sources were to be taken as distinct rows, equal or not.
    complete : bool
        Whether all that was left out is known: not of a sketch, which does not keep it.
    options : mapping of str to object
        Options that were given and have no attribute of their own here, by name; `to_dict` has each under its name.

    See Also
    --------
    Audit, GateResult
    """

    level: float
    max_distance: float | None = None
    default_limit: bool = False
    max_regret: float | None = None
    threshold: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    grouped: bool = False
    n_groups: int | None = None
    weighted: bool = False
    equal_weights: bool = False
    trials: bool = False
    sampling_fractions: tuple[float, float] | None = None
    fractions_given: bool = False
    outcome_free_weights: bool = False
    followed: Followed | None = None
    drawn_again: bool = False
    max_weight: float | None = None
    unweighted: bool = False
    pos_label: Any = None
    exclude_bad: bool = False
    n_excluded: int = 0
    baseline: str | None = None
    n_rows_baseline: int = 0
    n_excluded_baseline: int = 0
    max_worse: float | None = None
    default_worse: bool = False
    top_label: bool = False
    not_looked_at: tuple[str, ...] = ()
    searchable: bool = True
    omissions: tuple[str, ...] = ()
    perhaps_groups: str | None = None
    ways_to_group: str | None = None
    trials_vary: bool = False
    perhaps_sampled: tuple[int, int] | None = None
    refuse_fractions: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    matching: str | None = None
    loose_limit: str | None = None
    anytime: bool = False
    n_before: int = 0
    distinct: bool = False
    complete: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep mappings from being written to."""
        object.__setattr__(self, "columns", ReadOnly(self.columns))
        object.__setattr__(self, "hints", ReadOnly(self.hints))
        object.__setattr__(self, "options", ReadOnly(self.options))

    @property
    def entries(self) -> Mapping[str, str]:
        """A sentence for each premise, by its name."""
        sentences = {
            "loose_limit": self.loose_limit,
            "level": _sentence("level", self.level),
            "limit": self._limit(),
            "max_worse": self._max_worse(),
            "matching": self.matching,
            "independence": self._independence(),
            "batches": "No row is taken to be in two batches." if self.anytime else None,
            "grown": self._grown(),
            "distinct": _sentence("distinct", self.distinct),
            "perhaps_groups": self._perhaps_groups(),
            "perhaps_sampled": self._perhaps_sampled(),
            **self.hints,
            "followed": None if self.followed is None else self.followed.summary(),
            "weights": self._weights() if self.followed is None else None,
            "trials": self._trials() if self.trials else None,
            "trials_vary": VARY if self.trials_vary else None,
            "max_weight": self._max_weight(),
            "unweighted": _sentence("unweighted", self.unweighted),
            "pos_label": _sentence("pos_label", self.pos_label),
            **{name: _sentence(name, value) for name, value in self.options.items()},
            "excluded": f"{counted(self.n_excluded, 'bad row')} left out (exclude_bad)." if self.exclude_bad else None,
            "complete": None
            if self.complete
            else "A sketch, or a state of an older layout, does not say which rows it left out.",
            "excluded_baseline": self._excluded_baseline(),
            "top_label": "Only the most probable class was gated, not single classes." if self.top_label else None,
            "not_looked_at": self._not_looked_at(),
            "omissions": " ".join(self.omissions) or None,
            "fit": "Predictions are taken not to have been fitted to these rows.",
        }
        return ReadOnly({name: sentence for name, sentence in sentences.items() if sentence is not None})

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences alone."""
        return tuple(self.entries.values())

    def beside(self, *told: str) -> tuple[str, ...]:
        """The same without those of these names; of the limit by whom it was given."""
        entries = dict(self.entries)
        if "limit" in told and self.max_distance is not None:
            entries["limit"] = f"The limit {'is the default' if self.default_limit else 'was given'} (max_distance)."
        return tuple(entry for name, entry in entries.items() if name == "limit" or name not in told)

    def summary(self) -> str:
        """A line for each premise, below a sentence that has the limit."""
        return "\n".join(["Taken as given:", *(f"  {sentence}" for sentence in self.beside("limit"))])

    def to_dict(self) -> dict[str, Any]:
        """Return every value by name, and the ``sentences`` that apply."""
        label = self.pos_label.item() if hasattr(self.pos_label, "item") else self.pos_label
        plain = label if label is None or isinstance(label, bool | int | float | str) else str(label)
        values: dict[str, Any] = Result.to_dict(self)
        options = values.pop("options")
        return {**values, **options, "pos_label": plain, "sentences": dict(self.entries)}

    def _limit(self) -> str | None:
        if self.max_regret is not None:
            at = "any threshold" if self.threshold is None else f"the threshold {self.threshold:g}"
            return f"The limit on what acting loses per row is {self.max_regret!r} (max_regret), at {at}."
        if self.max_distance is None:
            return None
        at = "" if self.threshold is None else f" Acting is looked at from the threshold {self.threshold:g} on."
        by = "by default" if self.default_limit else "as given"
        return f"The limit on the distance is {self.max_distance!r}, {by} (max_distance).{at}"

    def _max_worse(self) -> str | None:
        if self.max_worse is None:
            return None
        by = "by default for these rows" if self.default_worse else "as given"
        return f"The limit on how much worse than the baseline {self.baseline} is {self.max_worse!r}, {by} (max_worse)."

    def _excluded_baseline(self) -> str | None:
        if not (self.exclude_bad and self.n_rows_baseline):
            return None
        n, were = self.n_excluded_baseline, "was" if self.n_excluded_baseline == 1 else "were"
        return f"Of the baseline {self.baseline} {n:,} of {counted(self.n_rows_baseline, 'row')} {were} left out."

    def _independence(self) -> str:
        if not self.grouped:
            when = ", and one may look at any time" if self.anytime else ""
            own = f": each has its own value of column {self.columns['groups']}" if "groups" in self.columns else ""
            return f"Rows are taken as independent of one another{when}{own}."
        some = "groups" if self.n_groups is None else counted(self.n_groups, "group")
        return (
            f"Rows of one group may depend on one another; {some} ({self._column('groups')}) are taken as independent."
        )

    def _grown(self) -> str | None:
        if not self.n_before:
            return None
        return f"FILE begins with {counted(self.n_before, 'row')} that the state had; only what is new was added."

    def _perhaps_groups(self) -> str | None:
        if self.perhaps_groups is None:
            return None
        name = self.perhaps_groups
        bound = " --max-weight N, the most rows that one has" if self.anytime else ""  # what a gate needs besides
        ways = f'{self.ways_to_group or f"say --groups {name}{bound}"} (in Python groups="{name}")'
        option = "anytime" if self.anytime else "baseline" if self.baseline else None
        first = "" if option is None else f"gate all rows without --{option}, which takes no groups, and "
        return f"If rows of one {name} depend on one another, {first}{ways}."

    def _trials(self) -> str:
        """Bounds draw whole rows, and tests by groups whole groups; other tests draw each outcome."""
        said = f"Each row stands for several outcomes: {self._column('sample_weight', 'trials')} says how many."
        if self.grouped or self.trials_vary:
            return said
        return f"{said} Tests take them as independent; if those of one row are not, give each row a group (groups)."

    def _perhaps_sampled(self) -> str | None:
        if self.perhaps_sampled is None:
            return None
        events, rows = self.perhaps_sampled
        share = f"The event came in about {events} of every {rows} rows"
        alike = "Rows chosen by their outcome look like that, and so does a model that is off by a constant in log-odds"
        return f"{share}, and predictions say otherwise. {alike}: rows cannot tell. {if_chosen(self.refuse_fractions)}"

    def _weights(self) -> str | None:
        if self.sampling_fractions is not None:
            return self._sampled()
        if self.equal_weights:
            return f"Rows have equal weights ({self._column('sample_weight')}), {_IMPORTANCE}."
        if not self.weighted:
            return None
        weighted = f"Rows are weighted ({self._column('sample_weight')}), {_IMPORTANCE}"
        if self.outcome_free_weights:
            return f"{weighted}; weights say nothing of outcomes at a given prediction (outcome_free_weights)."
        if not self.drawn_again or self.grouped:
            return f"{weighted}."
        return f"{weighted}; they may tell outcomes, so both are drawn again together, which takes many rows."

    def _sampled(self) -> str:
        assert self.sampling_fractions is not None
        without, events = (f"{each:.6g}" for each in self.sampling_fractions)
        kept = f"{without} of those without the event were kept, and {events} of those with it, one by one"
        if self.fractions_given:
            return f"Rows were sampled by outcome: {kept} (sampling_fractions). All is said of the population."
        column = self._column("sample_weight")
        seen = (
            f"Weights ({column}) have one value for each outcome, as of rows sampled by outcome: {kept}. "
            "All is said of the population."
        )
        if not self.drawn_again or self.grouped:  # nothing rests on what else they may be, or no declaration is taken
            return seen
        ways = "say --outcome-free-weights (in Python outcome_free_weights=True)"
        return f"{seen} If they are no such weights, {ways}."

    def _max_weight(self) -> str | None:
        one = "group" if self.grouped else "row"
        if (self.followed is not None or self.fractions_given) and not self.grouped:
            return None
        if self.max_weight is not None:
            return f"One {one} is taken to weigh at most {self.max_weight:g} (max_weight), fixed before any was drawn."
        if self.sampling_fractions is not None and not (self.grouped or self.refuse_fractions):
            return "No sampling_fractions were given, so the distance is not bounded for the population."
        if self.grouped or self.weighted or self.trials:
            return "No max_weight was given, so the distance is not bounded for the population."
        return None

    def _not_looked_at(self) -> str | None:
        if not self.not_looked_at:
            return None
        rest = len(self.not_looked_at) - _NAMED
        more = f" and {counted(rest, 'other')}" if rest > 0 else ""
        ways = '; --find all (in Python find="all") searches them for segments that are off' if self.searchable else ""
        return f"Columns not looked at: {', '.join(self.not_looked_at[:_NAMED])}{more}{ways}."

    def _column(self, argument: str, other: str | None = None) -> str:
        name = self.columns.get(other or argument, self.columns.get(argument))
        return (other or argument) if name is None else f"column {name}"


def _sentence(name: str, value: Any) -> str | None:
    """The sentence beside an option with this value; None where it was not given. A label may be False."""
    option = _SENTENCES[name]
    given = value is not None and (option.kind != "flag" or value)
    return str(option.sentence).format(value) if given else None


def options_of(request: Request) -> dict[str, Any]:
    """Options with a sentence that were given, but those that `Premises` has as an attribute."""
    own = {each.name for each in fields(Premises)}
    return {
        each.name: getattr(request, each.name)
        for each in fields(request)
        if each.name in _SENTENCES.keys() - own and getattr(request, each.name) != each.default
    }


class Claim(Result):
    """Base of results that are proved: their words and plain values end with what they take as given."""

    __slots__ = ()
    premises: Premises

    @property
    def sentence(self) -> str:
        """Say what is proved, alone."""
        raise NotImplementedError

    def summary(self) -> str:
        """One sentence, and what it takes as given."""
        return f"{self.sentence}\n{self.premises.summary()}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with a sentence for each premise."""
        return {**Result.to_dict(self), "premises": self.premises.to_dict()}
