"""The one decision that every sentence of an audit follows from: is it real, does it matter, what to do."""

from __future__ import annotations

__all__ = ["Answer"]

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrant.door.coding import condition, equalities
from calibrant.door.ends import Interval, in_points
from calibrant.door.values import ReadOnly, Result
from calibrant.door.weights import SamplingFractions
from calibrant.findings import word_catalogue as say
from calibrant.findings.regions import Region
from calibrant.inference.bounds.gate import Verdict, asked
from calibrant.inference.testing.calibration import CalibrationTestResult
from calibrant.recalibration.gain import Direction, RecalibrationGain

if TYPE_CHECKING:
    from calibrant.drift.periods import Period
    from calibrant.findings.advice import Advice
    from calibrant.findings.record import AuditRecord
    from calibrant.inference.bounds.gate import GateResult
    from calibrant.inference.testing.result import TestResult
    from calibrant.segments.by_column import Segment
    from calibrant.segments.results import FoundSegment, FoundSegments


State = Literal["no evidence", "too few rows", "too small to matter", "worth correcting", "not tested"]
Stakes = Literal["small", "open", "large"]
Action = Literal[
    "leave unchanged",
    "collect more rows",
    "recalibrate",
    "predict the base rate",
    "check the labels",
    "look closer",
    "look at the parts",
    "none",
]

USUAL_LIMIT, _PART = 0.02, 0.1
_NONE = 1e-12  # rates below are rounding


def default_limit(base_rate: float, mean_prediction: float) -> float:
    """The `max_distance` that is taken where none is given: 0.02, or a tenth of the rarer outcome's rate if less.

    Two percentage points are what people read off a diagram; of an event of one in a thousand they would hide any
    error at all, so there the limit is a tenth of the risk itself, in two digits, as it is printed (docs/answer.md).
    Of the observed and the predicted rate the larger is taken.
    """
    rarer, _ = _rarer(base_rate, mean_prediction)
    tenth = _PART * float(f"{rarer:.12g}")  # however the rate was summed
    return min(USUAL_LIMIT, float(f"{tenth:.2g}")) if rarer > _NONE else USUAL_LIMIT


def loose_limit(base_rate: float, mean_prediction: float, limit: float) -> str | None:
    """Say so where a limit is looser than the default, or a constant prediction of 0 or 1 would be within it."""
    rarer, usual = min(base_rate, 1.0 - base_rate), default_limit(base_rate, mean_prediction)
    if limit <= usual and rarer > limit:
        return None
    which = f", {default_in_words(base_rate, mean_prediction)}" if usual < USUAL_LIMIT else ""
    sentences = [say.LOOSER.format(usual=in_points(asked(usual)), which=which)] if limit > usual else []
    if rarer <= limit:
        sentences.append(say.CONSTANT_WITHIN.format(rarer=rarer, constant=0 if base_rate < 0.5 else 1))
    return " ".join(sentences)


def default_in_words(base_rate: float, mean_prediction: float) -> str:
    """What the default is a tenth of, where it is less than 0.02."""
    return say.TENTH.format(rate=_rarer(base_rate, mean_prediction)[1])


def _rarer(base_rate: float, mean_prediction: float) -> tuple[float, str]:
    observed, predicted = (min(rate, 1.0 - rate) for rate in (base_rate, mean_prediction))
    return (observed, "observed") if observed >= predicted else (predicted, "predicted")


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Result):
    """The answer of an audit.

    Attributes
    ----------
    state : str
        With K classes that of the most probable one, unless single classes show more.
    direction : str or None
        "too high" or "too low". "too confident": too high where predictions are high and too low where they are low.
        "not confident enough": the reverse. "uneven": it changes sides more than once. None where calibration is not
        rejected, or less than 1 - level of the posterior has one direction.
    size : float
        Lower distance from calibration of these rows, in probability units: the smallest average change of the
        predictions that would make them calibrated. Where it is known within a bracket, the upper end.
    interval : Interval or None
        Ends for the population, each with probability 1 - level, as in `calibration_gate`. Its lower end
        is 0 if calibration is not rejected. None if no bound is known, as for weights without `max_weight`.
    pvalue : float or None
        Of `calibration_test`; None where it was not run.
    action : str
        "recalibrate", "leave unchanged", "collect more rows" or "predict the base rate". "check the labels": events are
        fewer where predictions are higher. "look closer": no recalibration helps. "look at the parts": segments or
        periods are miscalibrated, and all rows together are not. "none": nothing is advised.
    headline : str
        Direction and reality, in a sentence or two.
    details : tuple of str
        How far, and what to do.
    sentence : str
        All of it: headline and details.
    max_distance : float
        The limit that was compared with.
    examples : tuple of Region
        The ranges of predictions named in the headline: one or two, or none, as where it names a segment.

    See Also
    --------
    Audit, audit, calibration_gate
    """

    state: State
    direction: Direction | None
    size: float
    interval: Interval | None
    pvalue: float | None
    action: Action
    headline: str
    details: tuple[str, ...]
    max_distance: float
    examples: tuple[Region, ...] = ()

    @property
    def sentence(self) -> str:
        """Headline and details."""
        return " ".join((self.headline, *self.details))

    def summary(self) -> str:
        """Return the sentence."""
        return self.sentence


@dataclass(frozen=True, slots=True)
class Case:
    """What the answer depends on."""

    proved: bool  # whether an error is proved
    # whether the population's distance is proved within the limit, or beyond; None where nothing bounds it
    bound: Verdict | None
    cost: Stakes  # whether an error that is within the limit costs little of the log loss, much, or that is "open"


_OPEN: tuple[tuple[Verdict | None, Stakes], ...] = tuple(
    (bound, cost) for bound in ("beyond", "undecided", None) for cost in ("small", "open", "large")
)
# The table of docs/answer.md; what is beyond is proved.
CASES: Mapping[Case, State] = ReadOnly(
    {
        Case(True, "within", "small"): "too small to matter",
        Case(True, "within", "open"): "worth correcting",
        Case(True, "within", "large"): "worth correcting",
        **{Case(True, *rest): "worth correcting" for rest in _OPEN},
        Case(False, "within", "small"): "no evidence",
        # What a distance cannot show, near 0 and 1, may cost much: a small distance alone reassures nobody.
        Case(False, "within", "open"): "too few rows",
        Case(False, "within", "large"): "too few rows",
        # Without any bound nothing rules an error out: less information never gives the more reassuring answer.
        **{Case(False, *rest): "too few rows" for rest in _OPEN if rest[0] != "beyond"},
    }
)


def stakes(gain: RecalibrationGain | None) -> Stakes:
    """Whether what a correction could gain is at most a hundredth of the log loss, at least that, or not known."""
    if gain is None or gain.doubt is not None:
        return "open"
    return "large" if gain.matters else "small" if gain.possible_is_small else "open"


def decide(
    test: TestResult | None,
    gate: GateResult | None,
    state_of_classes: State | None = None,
    cost: Stakes = "small",
    *,
    by_line: bool = False,
) -> State:
    """Read the test, the gate and the gain together, by the table of cases.

    Parameters
    ----------
    test : TestResult or None
        None where it was not run: then the gate alone can prove an error.
    gate : GateResult or None
        At the limit of what is too small to matter; None where no bound of the population is known.
    state_of_classes : str or None
        State of K classes one by one; None where none is known.
    cost : {"small", "open", "large"}
        What the error of the most probable class, or of the event, may cost; of classes that is not asked.
    by_line : bool
        Whether level and slope by few groups are known, where nothing else is tested.
    """
    real = rejected(test, gate)
    if test is None and not real:
        return "too few rows" if by_line else "not tested"
    top = CASES[Case(real, None if gate is None else gate.verdict, cost)]
    if state_of_classes == "worth correcting" or (state_of_classes is not None and top == "no evidence"):
        return state_of_classes
    return top


def rejected(test: TestResult | None, gate: GateResult | None) -> bool:
    """Whether an error is proved: by the test, the gate's bound, or outcomes that were predicted to be impossible.

    A few of those may be predictions rounded to 0 or 1: they count where an error is proved of the population, or where
    rounding hardly makes so many. What the bound proves needs no test.
    """
    if gate is not None and gate.verdict == "beyond":
        return True
    if test is None or test.impossible is None:
        return test is not None and test.reject
    many = test.impossible.by_rounding <= test.level
    return test.reject or many or (gate is not None and gate.lower_distance.low > 0.0)


def action_of(state: State, advice: Advice, parts: tuple[str, ...], *, more_helps: bool = False) -> Action:
    """What to do; `more_helps` says of rows that were not tested that more of them, or of their groups, would be."""
    if state == "not tested":
        return "collect more rows" if more_helps else "none"
    if state != "worth correcting" and parts:
        return "look at the parts"
    if state == "too few rows":
        return "collect more rows"
    if state != "worth correcting":
        return "leave unchanged"
    if advice.backwards:
        return "check the labels"
    if advice.chosen is None:
        return "none"
    if advice.chosen == "constant":
        return "predict the base rate"
    return "look closer" if advice.chosen == "unchanged" else "recalibrate"


_APART = 4.0  # standard errors
_MOST_ROWS = 0.5  # of all, in a part of them
_MOST_ERROR = 0.5  # of all rows, in it
_LEFT = 0.2  # of the error of all rows, at most, elsewhere, or what chance explains
_NOISE = 2.0  # standard deviations of it


@dataclass(frozen=True, slots=True)
class Blamed:
    """A segment, the columns that make it, its rows, and what is predicted and happens in it and elsewhere."""

    name: str
    features: tuple[str, ...]
    n_rows: int
    predicted: float
    happened: float
    predicted_elsewhere: float
    happened_elsewhere: float


@dataclass(frozen=True, slots=True)
class _Part:
    """A segment that is off by more than is too small to matter, by name or found."""

    name: str
    fixed: Mapping[str, str]
    of: Segment | FoundSegment

    @property
    def low(self) -> bool:
        """Whether its predictions are too low on average."""
        return self.of.base_rate > self.of.mean_prediction

    def apart_from(self, part: _Part) -> bool:
        """Whether the two have no row in common, as one column shows."""
        return any(self.fixed.get(feature, label) != label for feature, label in part.fixed.items())

    def errs_as(self, part: _Part) -> bool:
        """Whether it errs in the direction of the other, also where the evidence is strongest."""
        return self.low == part.low == (self.of.direction == "too low")


def blamed(audit: AuditRecord, direction: Direction | None) -> Blamed | None:
    """The segment whose error is that of all rows; None where no single one is to blame.

    Segments by name come first, for they were asked about. None is blamed where another segment, or a range of
    predictions, is proved to err in a way that it does not explain, or where calibration is not rejected. Without a
    direction it is that of the mean error. How much weight a segment has is known where weights are of sampling by
    outcome, from its rows and its rate; none is blamed where others differ.
    """
    test = audit.tests["calibration_test"].result
    if direction not in ("too high", "too low", None) or _unknown_weights(audit) or test is None or not test.reject:
        return None
    low = audit.base_rate > audit.mean_prediction if direction is None else direction == "too low"
    if any((each.direction == "low") != low for each in audit.regions):
        return None
    named, found = _named(audit), _found(audit)
    alone = (part for part in (*named[:1], *found[:1]) if not _others_err(part, [*named, *found]))
    sides = (_sides(audit, part) for part in alone)
    return next((each for each in sides if each is not None), None)


def _named(audit: AuditRecord) -> list[_Part]:
    by = audit.segmented_by
    return [
        _Part(
            equalities(by, each.key),
            {name: condition(name, value) for name, value in zip(by, each.key, strict=True)},
            each,
        )
        for each in audit.segments
        if named_off(audit, each)
    ]


def _found(audit: AuditRecord) -> list[_Part]:
    """With the columns that each fixes, and by what label."""
    made_of = {} if audit.found_segments is None else audit.found_segments.features
    return [
        _Part(
            each.name,
            {name: label for name, labels in made_of.items() for label in labels if label in each.conditions},
            each,
        )
        for each in found_off(audit)
    ]


def _others_err(part: _Part, parts: list[_Part]) -> bool:
    """Whether other segments are off and the part does not explain it: of other rows, or in the other direction."""
    others = (each for each in parts if each.fixed != part.fixed)
    return any(each.apart_from(part) or not each.errs_as(part) for each in others)


def _sides(audit: AuditRecord, part: _Part) -> Blamed | None:
    """The part and the rest, if the error of all rows is the part's and the rest has none, or one within noise."""
    predicted, happened, fractions = part.of.mean_prediction, part.of.base_rate, _fractions(audit)
    weight, of_all = (fractions.population(each.n_rows, each.base_rate) for each in (part.of, audit))
    rest = of_all - weight
    if weight > _MOST_ROWS * of_all:
        return None
    whole = of_all * (audit.base_rate - audit.mean_prediction)
    inside = weight * (happened - predicted)
    says = (of_all * audit.mean_prediction - weight * predicted) / rest
    happens = (of_all * audit.base_rate - weight * happened) / rest
    left = abs(happens - says)
    if inside * whole <= 0.0 or abs(inside) < _MOST_ERROR * abs(whole) or left > audit.max_distance:
        return None
    by_chance = left * rest <= _NOISE * math.sqrt(_variance(audit, rest, of_all, says))
    if not by_chance and left * rest > _LEFT * abs(whole):
        return None
    return Blamed(part.name, tuple(part.fixed), part.of.n_rows, predicted, happened, says, happens)


def _variance(audit: AuditRecord, rest: float, of_all: float, says: float) -> float:
    """Of the number of events among the rest, were it calibrated, at most: by its mean, and by all predictions."""
    table, fractions = audit.reliability, _fractions(audit)
    without, events = fractions.weights
    v = table.prediction
    spread = float((table.mass * v * (1.0 - v) * (events * (1.0 - v) + without * v)).sum())
    return max(min(rest * float(fractions.most_variance(np.array(says))), of_all * spread), 0.0)


def _unknown_weights(audit: AuditRecord) -> bool:
    """Whether rows have weights other than those of sampling by outcome: those of a segment are not kept."""
    return audit.weighted and audit.sampling_fractions is None


def _fractions(audit: AuditRecord) -> SamplingFractions:
    """The shares of rows that were kept: all, where rows were not sampled by outcome."""
    return SamplingFractions(*(audit.sampling_fractions or (1.0, 1.0)))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Periods that follow one another: the first of them, their rows, and what is predicted and happens in these.

    `variance` is that of the error, were rows independent, at most.
    """

    first: Any
    n_rows: int
    predicted: float
    happened: float
    variance: float

    @classmethod
    def of(cls, periods: Sequence[Period], fractions: SamplingFractions) -> Stretch:
        weights = [fractions.population(each.n_rows, each.base_rate) for each in periods]
        total = sum(weights)
        says, happens = (
            sum(weight * getattr(each, name) for weight, each in zip(weights, periods, strict=True)) / total
            for name in ("mean_prediction", "base_rate")
        )
        n_rows = sum(each.n_rows for each in periods)
        return cls(periods[0].period, n_rows, says, happens, float(fractions.most_variance(np.array(happens))) / total)

    @property
    def error(self) -> float:
        """Events per row more than predicted."""
        return self.happened - self.predicted


def split_by_alarm(audit: AuditRecord) -> tuple[Stretch | None, Stretch, Stretch | None]:
    """Periods before an error, if any; those of the error; and those since it ended, if it did.

    From the alarm on, periods are split where their errors are farthest apart, if by 4 standard errors. Those after the
    split have an error of their own, or hardly any: then it ended. The error began where it and all periods before are
    farthest apart; that is at the alarm, or before it.
    """
    periods, fractions = audit.periods, _fractions(audit)
    alarm = next(k for k, each in enumerate(periods) if each.reading.reject)

    def stretch(first: int, last: int) -> Stretch | None:
        return Stretch.of(periods[first:last], fractions) if first < last else None

    def split(first: int, last: int, low: int, high: int) -> int | None:
        return _turn(periods, fractions, first, last, low, high)

    end = len(periods)
    if _without_errors(audit):
        return stretch(0, alarm), Stretch.of(periods[alarm:], fractions), None
    turn = split(alarm + 1, end, alarm, end) or end
    after = stretch(turn, end)
    if after is not None and abs(after.error) > audit.max_distance:
        return stretch(0, turn), after, None
    start = split(1, alarm + 1, 0, turn) or alarm
    return stretch(0, start), Stretch.of(periods[start:turn], fractions), after


def _without_errors(audit: AuditRecord) -> bool:
    """Whether no standard error of periods is known here: of groups, and of weights but those of outcomes."""
    return _unknown_weights(audit) or audit.n_groups is not None


def _turn(
    periods: Sequence[Period], fractions: SamplingFractions, first: int, last: int, low: int, high: int
) -> int | None:
    """Of splits from `first` on and before `last`, of periods between two, the one whose sides are farthest apart.

    None where that is not by 4 standard errors. Cost: linear in the number of periods.
    """
    part = periods[low:high]
    rows = np.array([fractions.population(each.n_rows, each.base_rate) for each in part])
    rates = np.array([(each.mean_prediction, each.base_rate) for each in part]).T
    sums = np.cumsum(np.stack([rows, *rows * rates]), axis=1)
    before = sums[:, first - low - 1 : last - low - 1]
    sides = before, sums[:, -1:] - before
    most = fractions.most_variance
    errors, variances = zip(*(((h - p) / n, most(h / n) / n) for n, p, h in sides), strict=True)
    apart = np.abs(errors[1] - errors[0]) / np.maximum(np.sqrt(np.maximum(variances[0] + variances[1], 0.0)), _NONE)
    if not apart.size or apart.max() <= _APART:
        return None
    return first + int(np.argmax(apart))


def _apart(stretch: Stretch, another: Stretch) -> float:
    """Standard errors between two mean errors."""
    return abs(another.error - stretch.error) / max(math.sqrt(stretch.variance + another.variance), _NONE)


def since(audit: AuditRecord, direction: Direction | None) -> Stretch | None:
    """The periods that the error of all rows comes from; None where it may have been there before.

    Before them the mean error is within what is too small to matter, and by 4 standard errors another than since. Of
    groups and weights no standard error is known here, and a shift alone is seen: then nothing is said.
    """
    if direction not in ("too high", "too low", None) or _without_errors(audit):
        return None
    if not any(each.reading.reject for each in audit.periods):
        return None
    before, after, _ = split_by_alarm(audit)
    against = direction is not None and (after.error > 0.0) != (direction == "too low")
    noise = 0.0 if before is None else _NOISE * math.sqrt(before.variance)
    if before is None or against or abs(before.error) > max(audit.max_distance, noise):
        return None
    return after if _apart(before, after) > _APART else None


def parts_off(audit: AuditRecord) -> tuple[str, ...]:
    """Which kinds of parts are proved miscalibrated; named segments by more than is too small to matter.

    Of named segments the share of false discoveries, of found ones the chance of any, and of periods the chance of
    ever being told without reason is at most the audit's level. Classes are not among them: they decide the state.
    """
    parts = []
    if any(named_off(audit, each) for each in audit.segments) or found_off(audit):
        parts.append("segments")
    if any(period.reading.reject for period in audit.periods):
        parts.append("periods")
    return tuple(parts)


def named_off(audit: AuditRecord, segment: Segment) -> bool:
    """Whether a named segment is off by more than noise, and by more than is too small to matter."""
    return bool(segment.reject) and segment.lower_distance_bracket.upper > audit.max_distance


def found_off(audit: AuditRecord) -> list[FoundSegment]:
    """The found segments that are off by more than is too small to matter, in their mean or for the part that errs.

    Parts alone; the test and the gate decide about all rows.
    """
    searched = () if audit.found_segments is None else audit.found_segments.segments
    return [each for each in searched if each.conditions and each.off > audit.max_distance]


def few_groups_err(answer: Answer) -> bool:
    """Whether few groups show which way predictions err, by level and slope alone."""
    return answer.action == "collect more rows" and answer.direction is not None


def disagreement(audit: AuditRecord) -> str | None:
    """On which segments the two disagree, and why they may; None where they do not."""
    if audit.found_segments is None:
        return None
    proved = _proved(audit.found_segments, audit.segmented_by)
    apart = [
        (equalities(audit.segmented_by, each.key), bool(each.reject))
        for each in audit.segments
        if each.reject is not None and proved.get(_conditions(audit.segmented_by, each.key), each.reject) != each.reject
    ]
    if not apart:
        return None
    (first, by_name), more = apart[0], len(apart) - 1
    others = f" (and {more:,} more)" if more else ""
    one, other = ("by name", "in the search") if by_name else ("in the search", "by name")
    few = f"{100.0 * audit.level:g}%"
    return say.DISAGREE.format(first=first, others=others, one=one, other=other, few=few, level=audit.level)


def _proved(segments: FoundSegments, by: tuple[str, ...]) -> dict[frozenset[str], bool]:
    """Of the tested segments that fix just these columns, whether they are off."""
    names, labels = list(segments.features), list(segments.features.values())
    places = {at for at, name in enumerate(names) if name in by}
    off = np.asarray(segments.tested[:, 2] <= segments.level)
    return {
        frozenset(labels[feature][value] for feature, value in made_of): bool(off[at])
        for at, made_of in enumerate(segments.made_of)
        if {feature for feature, _ in made_of} == places and len(places) == len(by)
    }


def _conditions(by: tuple[str, ...], values: tuple[object, ...]) -> frozenset[str]:
    return frozenset(condition(name, value) for name, value in zip(by, values, strict=True))


def has_draws(audit: AuditRecord) -> bool:
    """Whether anything of an audit was drawn, so that its seed and the number of its draws decide something.

    Groups have random signs where they are many. Of them, and of sums of weighted rows, nothing else is drawn.
    """
    if not audit.n_resamples or audit.rates:
        return False
    if audit.classes is not None or not (audit.n_groups is not None or (audit.weighted and audit.road)):
        return True
    results = (each.result for each in audit.tests.values())
    tested = any(each.n_resamples and each.components for each in results if isinstance(each, CalibrationTestResult))
    search = audit.found_segments
    return tested or (search is not None and search.n_resamples > 0 and search.n_by_bound < search.n_tested)


def few_groups(audit: AuditRecord) -> list[str]:
    """The mode of groups that are too few for anything to be drawn, where they are."""
    return ["few groups"] if audit.n_groups is not None and audit.n_resamples and not has_draws(audit) else []
