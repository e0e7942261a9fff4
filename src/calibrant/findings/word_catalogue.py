"""Numbers and sentences, the same on the terminal page, in the picture and in the HTML file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, TypeVar

from calibrant.door.coding import equalities, key_in_words
from calibrant.door.columns import NO_WEIGHT_THERE
from calibrant.door.ends import at_least, at_most, confidence, in_points, in_short, outwards, range_decimals
from calibrant.door.values import counted, known_rows
from calibrant.segments.catalogue import be, explaining
from calibrant.segments.request import MIN_ROWS

if TYPE_CHECKING:
    from calibrant.drift.monitor import MonitorReading
    from calibrant.drift.periods import Period
    from calibrant.segments.by_column import Segment
    from calibrant.segments.results import FoundSegment, FoundSegments

_MOST_DECIMALS = 8
_PLAIN = 3.0  # standard errors
_NAMED = 5  # columns that a sentence names
_TOLD = 3  # segments that a sentence names
_ALL = 1.0 - 1e-12  # sums of shares of all rows are no further from 1

CELLS_MIX_WEIGHTS = (
    "weights may tell outcomes, and sums in cells do not say how. Read the rows one by one, or declare that weights "
    "say nothing of outcomes: --outcome-free-weights (in Python outcome_free_weights=True)"
)
NOT_TESTED = "not tested: an outcome is worth too few equal rows"
NO_SEGMENT_TESTED = "nothing was drawn again, or each has too few rows of an outcome"
NO_TRIALS = "outcomes are event rates; how many trials each rests on is not known, so nothing is said about chance"
CLASSES_SINGLE = "rows of classes are single; audit the event's column"
FRACTIONS_BOUND = "sampling fractions say what a row can weigh"
HARD_RATES = "event rates at hard predictions need a column of weights"
NO_OUTCOME_KNOWN = "no outcome of theirs is known"
NO_REGION = "Over all rows, no range of predictions stands out."

# Pages.
ALL_SHOWS = "--all shows the measures, the tests, the ranges that err, and what they prove of one another."
WHERE_IT_ERRS = "Where it errs (by the averaged map)"
SOME_PERIODS = "Of {n:,} periods one in {every} is shown, and the first with enough evidence."
MORE_CLASSES = "{classes} not shown here; the HTML page and the JSON have all."
AGREEMENT = "Do the numbers agree with one another?"
INEQUALITIES = "{n_hold} of {n} inequalities between the measures, each a theorem, hold here."
SAMPLED = "{without:.3g} of rows without the event were kept, {events:.3g} of those with it"
OF_TOP_LABEL = "{classes}; but for the section on classes, all is about each row's most probable one. "
TOP_RATES = "it is right in {right}, and predicted with {mean} on average"
DIAGRAM = "Reliability diagram: observed rate against prediction, and a histogram of the predictions below"
DECISION_CURVE = "Decision curve: net benefit by threshold"
CLASS_ERRORS = "Seen less predicted rate of every class"
SEGMENT_ERRORS = "Rows of each tested segment against its mean of outcome less prediction"
PAIR_ERRORS = "Mean of outcome less prediction, by {down} and {across}"
AFTER = "After {title}, on rows it was not fitted to"
STRONGEST = "{values}: those with the strongest evidence."

# Hints from columns.
OWN_FILE = "give each model a file of its own"
PERHAPS_MODELS = "If column {name} says which model predicted a row, {own}{by}."
TIMES_EACH = "Each value of {name} stands in exactly {times} rows. If these are of {times} models, {own}."
PERHAPS_FOLLOWED = "If column {time} says how long rows were followed, {lead}{ways}."
OTHER_EVENT = (
    "make a column of 1 - {event}, and name it with --event beside --time {time} --horizon T "
    "(in Python event, time, horizon)"
)
TIME_AND_EVENT = "give --time {time} --event {event} --horizon T (in Python time, event, horizon)"
LEAVE_SOONER = "Rows leave sooner at some values of {names}"
SAY_STRATA = " than at others: say --strata {several} (in Python strata={python})."
TOO_FEW_FOLLOWED = (
    ", and too few of some are followed to {horizon:g}. Take an earlier horizon, and name {name} (strata)."
)
LEFT_OUT = "Left out {rows} that {what}, NaN or out of range."

# Audits side by side.
NOT_COMPARED = "The {which} were not compared row by row: {why}."
NOT_RANKED = "{first} and {second} cannot be ranked{rows}: it depends on the measure."
NEAREST = "By distance {name} is best: its predictions would have to move least ({least})."
UNTIL_THEN = "collect rows of more groups; until then {alone} of {names}"
MORE_GROUPS = "collect rows of more groups before you rely on {names}"
BETTER_THAN_ALL = "{best} is better calibrated than all others{on} ({sure})."
NONE_BETTER = "None of the {n} is proved better calibrated than another{on}."
NONE_BEST = "None of the {n} is proved better than all others."
NO_GROUPS_IN_ONE = "one of {first} and {other} has no groups"
OTHER_GROUPS = (
    "rows {row:,} and {second:,} are of one group in only one of {first} and {other}. The test draws groups, which "
    "must be the same of both: if rows are of the same items, copy one file's groups to the other"
)
VERY_SAME = "{first} and {other} hold the very same outcomes and predictions."
OF_CLASSES = "compare_calibration takes one probability per row, and these are probabilities of classes"
NOT_SINGLE = "that takes single, unweighted rows with outcomes 0 or 1"
BAD_ROWS = "bad rows were left out, so the other rows may not be the same"
SAY_ITEMS = "{unlike}. If they are of the same items, say {ways}{others}"
GATE_COMPARES = "; calibrant gate FILE --baseline FILE compares other rows"
IN_ORDER = "Rows were matched in order, {why}: {rows}."
BY_OUTCOMES = "for outcomes are the same row by row"
REPEATED = " Those of one {how} follow one another alike, and are a group."
ORDER_CONFLICT = "outcomes are the same row by row, but {why}. {ways}"
DOCUMENTS = "leave out --items, and documents are matched"
OR_NO_ITEMS = "say --items {column}; if it tells no items, leave it out of one file"
SAME_ITEMS = "keep the rows of the same items in both files"
OWN_IDS = "put rows in one order, or give each item an id of its own and say --items COLUMN"
COLUMN_OF_IDS = "--items COLUMN, a column of ids, or --items '{in_order}'"
OTHER_ROWS = "Rows of {name} are taken as others than those of FILE. If both are of the same items, say {ways}."

# Inequalities between the measures: their sides (d is the lower distance), and why they hold.
LEMMA_25 = "Lemma 25 of Hu, Jambulapati, Tian and Yang (2024)"
HALF_DIFFERENCE = "half the difference of the potentials is a witness (docs/lower.md)"
TWO_BINS = "a weighting of cuts is one of predictions (docs/two-bin.md)"
MOST_CONVOLVED = "(d + sqrt(d^2 + 4 sqrt(2 / pi) d)) / 2, d = lower distance"
MOST_INTERVAL = "d + sqrt(8 d (1 - d)), d = lower distance"
MOST_SURROGATE = "least d + 2 d (1 - d) 2^k + 2^-k, d = lower distance"
MOST_RANDOM = "d + 2 d (1 - d) / width, d = lower distance"
BINNED = "binned error + half a bin width"
NO_WIDTH = "Definition 6.1, intervals of width 0"
POTENTIALS = "the potentials of the lower distance"
BRIER_PART = "miscalibration part of the Brier score"
SCORE_BETTER = "predictions moved along the witness score better"
TWICE_REGRET = "it is twice the integral of regret"
BETWEEN_CUTS = "what lies between two cuts is an interval"
FAILS = "fails, which is an error in this library"
TRUE_DISTANCE = "The true distance from calibration is {ends}; {all_hold}."

# Where predictions err.
NO_RANGE = "Not calibrated, though no range of predictions stands out."
OTHERS_NOT_CLEAR = "Which way other predictions err is not clear."
REST_NOT_CLEAR = "{ranges} {way}. Which way the rest err is not clear."
RARER = "the higher the prediction, the rarer the event"
BACKWARDS = "Backwards, as if yes and no were swapped: {where}."
TOO_CONFIDENT = "Too confident of the likeliest class"
TOO_LITTLE = "Not confident enough of the likeliest class"

# The limit, the search beside segments by name, pooled rows and classes.
LOOSER = "The limit is looser than the default, {usual}{which}."
CONSTANT_WITHIN = (
    "The rarer outcome has a rate of {rarer:.2g}: predicting {constant} everywhere would be within the limit."
)
TENTH = "a tenth of the rarer outcome's {rate} rate"
DISAGREE = (
    "{first}{others} is off by more than noise {one} and not {other}, for each has its own test and rule. By name at "
    "most {few} of the segments called off are expected to be false alarms. In the search the chance that any "
    "calibrated one is called off is at most {level:g}."
)
POOLED = "and pooled rows do not tell more"
NOT_SEARCHED = "and a closer number is not searched for among so many rows"
NOT_PROVED = "not computed: the rows were pooled into cells, and what that costs is not proved for this measure"
WITHIN = "{sentence} The answer on the rows is within {bound} of this."
OF_CELLS = "; both sides are of the cells"
COST_OF_CELLS = "which moves the smooth calibration error by at most {moved}."
DISTANCE_SMALL = "over all rows the error is proved too small to matter"
PROBABILITIES = "give the probabilities behind these labels (in scikit-learn predict_proba, not predict)"
TWO_OUTCOMES = "that takes rows with the event and rows without"
QUESTION = "{name}: {off}; the answer was yes in {rate:.4g} of the weight."
CONFUSIONS = "Rows seen less those expected, by predicted and actual class, for {classes}."
NO_SHARED_CELL = "with more than {n} classes next to no two rows share a cell"
DEPENDENT = "tests need rows that are independent"


def not_looked_at(names: Sequence[str], kind: str = "Columns") -> str:
    """Name the columns or files that were not searched for faults of some rows alone."""
    rest = len(names) - _NAMED
    more = f" and {counted(rest, 'other')}" if rest > 0 else ""
    return f"{kind} not looked at: {', '.join(names[:_NAMED])}{more}"


def weightless(names: Sequence[str], why: str = NO_WEIGHT_THERE) -> str:
    """Name the segments that nothing is known about."""
    return f"{not_looked_at(names, 'Segments')}; {why}."


def sentence(words: str) -> str:
    """Words that stand in a sentence, as a sentence of their own."""
    return f"{words[0].upper()}{words[1:]}."


def number(value: float) -> str:
    """Four decimals, or two significant digits where four decimals would hide the value."""
    if value == 0.0:
        return "0"
    if abs(value) >= 0.00095:
        return f"{value:.4f}"
    return f"{value:.2g}"


def proved(lower: float, upper: float) -> tuple[str, str]:
    """A proved interval in short, and as a clause: a single number where its digits hold all of it."""
    middle = 0.5 * (lower + upper)
    if upper - lower < min(1e-6, 0.001 * lower):
        return number(middle), f"is {number(middle)} (proved to within {at_most(upper - lower, 1)})"
    low, high = outwards(lower, upper)
    return f"{low} to {high}", f"lies between {low} and {high}"


def whole(value: float) -> str:
    """Rows with thousands separated."""
    return f"{value:,.0f}"


def short_pvalue(pvalue: float) -> str:
    """A p-value in one digit.

    >>> short_pvalue(3.4e-7), short_pvalue(1e-40), short_pvalue(0.012)
    ('p = 3e-7', 'p < 1e-15', 'p = 0.01')
    """
    if pvalue < 1e-15:
        return "p < 1e-15"
    return f"p = {pvalue:.1g}".replace("e-0", "e-")


def share_of_score(share: float) -> str:
    """A share of a score as a percentage, with one decimal where it is small."""
    return f"{100.0 * share:.1f}%" if abs(share) < 0.0995 else f"{100.0 * share:.0f}%"


def percent(share: float) -> str:
    """A share as a percentage; 0 % is said only where it is exact, 100 % where rounding of sums is all that lacks."""
    if share == 0.0 or share >= _ALL:
        return f"{share:.0%}"
    shown = f"{share:.1%}" if share < 0.0995 or share > 0.9905 else f"{share:.0%}"
    if shown == "0.0%":
        return "under 0.1%"
    return "over 99.9%" if shown == "100.0%" else shown


def _digits(share: float) -> int:
    """Place of the first digit of a percentage; the rounding of 1 - 0.9999 is no other place."""
    return math.floor(math.log10(100.0 * share) + 1e-9)


def rate(share: float) -> str:
    """A rate as a percentage that never rounds to 0 or 100: 0.031%, 7.4%, 62%, 99.8%."""
    if not 1e-12 < share < 1.0 - 1e-9:
        return f"{min(max(share, 0.0), 1.0):.0%}"
    if share < 0.0995:
        return f"{100.0 * share:.{min(10, 1 - _digits(share / 0.995))}f}%" if share < 0.00995 else f"{share:.1%}"
    return f"{share:.0%}" if share < 0.9905 else f"{100.0 * share:.{min(10, -_digits(1.0 - share))}f}%"


def ends(low: float, high: float, before: float | None = None, after: float | None = None) -> tuple[str, str]:
    """The ends of a range of predictions, rounded outwards and yet short of the predictions on either side of it.

    So the printed range, ends included, holds the same predictions as the range itself. It has as many decimals as its
    width and these neighbours ask for, at least 2; of a single prediction at least 6.
    """
    least = range_decimals(high - low)

    def shown(end: float, neighbour: float | None, rounding: str) -> str:
        exact = Decimal(repr(end))  # reading decimals back keeps their order, so what holds of them holds of floats
        for decimals in range(least, _MOST_DECIMALS + 1):
            text = f"{exact.quantize(Decimal(1).scaleb(-decimals), rounding):f}"
            read = float(text)
            if apart(read, neighbour, rounding):
                return text
        # Close to 0 or to 1, with neighbours close by: the digits that tell it from them, and no more.
        near = min(exact, 1 - exact)
        for digits in range(1, 17):
            read = float(exact.quantize(Decimal(1).scaleb(near.adjusted() - digits + 1), rounding))
            if apart(read, neighbour, rounding):
                return repr(read)
        return repr(end)

    def apart(prediction: float, neighbour: float | None, rounding: str) -> bool:
        return neighbour is None or (neighbour < prediction if rounding == ROUND_FLOOR else prediction < neighbour)

    return shown(low, before, ROUND_FLOOR), shown(high, after, ROUND_CEILING)


MAX_WEIGHT = "--max-weight (in Python max_weight)"
LABELS = "Every prediction is 0 or 1: these look like labels, not probabilities."


def unit(*, trials: bool) -> str:
    """What its number of rows counts: of trials, outcomes."""
    return "outcome" if trials else "row"


def one_outcome(n_rows: int, *, events: bool, weighted: bool = False) -> str:
    """That all rows have the same outcome, or all of those that weigh anything."""
    if n_rows == 1 and not weighted:
        return f"There is one row, and its outcome is {events:d}."
    which = "outcomes with weight" if weighted else f"{n_rows:,} outcomes"
    return f"All {which} are {events:d}: {'nothing but events' if events else 'no event'}."


def repeats(seed: int) -> str:
    """Say which seed gives the same page again."""
    return f"--seed {seed} repeats this page; in Python random_state={seed}."


TOLD_ABOVE = "as told above"


def segments_in_words(
    segments: Sequence[Segment], by: Sequence[str], *, chance: bool = True, above: str | None = None
) -> str:
    """Say how many segments are off, and name the worst; without `chance`, the worst alone. A line `above` has one."""
    if not chance:
        distance = proved(*segments[0].lower_distance_bracket)[0]
        worst = f"{segment_name(segments[0])} errs most: distance {distance}"
        return f"Of {counted(len(segments), 'segment')} by {', '.join(by)}, {worst}."
    off = sum(segment.reject is True for segment in segments)
    some = f"{off:,} {be(off)}" if off else "none is"
    sentence = f"Of {counted(len(segments), 'segment')} by {', '.join(by)}, {some} off by more than noise"
    if not off:
        return f"{sentence}."
    errs = [segment for segment in segments if segment.reject]

    def told(segment: Segment) -> str:
        name = equalities(by, segment.key)
        off_by = TOLD_ABOVE if name == above else segment_in_words(segment)
        return f"{name}, {off_by} ({known_rows(segment.n_rows, segment.n_unknown)})"

    which = "" if off <= _TOLD else "; those with the largest smooth error"
    more = f"; and {off - _TOLD:,} more" if off > _TOLD else ""
    other = _other_way(errs)
    more += "" if other is None else f", such as {told(other)}"
    return f"{sentence}{which}: {'; '.join(told(each) for each in errs[:_TOLD])}{more}."


_Either = TypeVar("_Either", "Segment", "FoundSegment")


def _other_way(segments: Sequence[_Either]) -> _Either | None:
    """The first that errs in the other direction than all of those told."""
    directions = {each.direction for each in segments[:_TOLD]}
    return next((each for each in segments[_TOLD:] if each.direction not in directions), None)


def found_in_words(segments: FoundSegments, above: str | None = None) -> str:
    """Sentence on the segments that a search found, the strongest evidence first; or how it ended.

    The size of one may have been told `above`, in other words.
    """
    made_of = f"made of {', '.join(segments.features)} ({segments.searched})"
    certain = "" if segments.impossible is None else f" Not among them: {segments.impossible.summary()}"
    p = f"p = {segments.pvalue:.2g}"
    if segments.n_tested == 1:
        needs = f"{MIN_ROWS} rows, fewer than all, in which either outcome is to be expected at least once"
        return f"No segment {made_of} could be looked at, only all rows together: a segment needs {needs}.{certain}"
    searched = f"Of {counted(segments.n_tested, 'segment')} {made_of}"
    if not segments.segments:
        small = f" Segments of fewer than {MIN_ROWS} rows were not looked at by themselves."
        return f"{searched}, none is proved off, allowing for all of them ({p}).{small}{certain}"
    first, *others = (
        f"where {each.name}, {TOLD_ABOVE}" if each.name == above else each.words for each in segments.segments[:_TOLD]
    )
    if not any(each.conditions for each in segments.segments):
        return f"{searched}, none differs from the rest beyond chance: predictions are {first} ({p})."
    more = "".join(f"; {each}" for each in others)
    least = len(segments.segments) - 1 - len(others)
    more += f"; and {counted(least, 'segment')} more" if least else ""
    other = _other_way(segments.segments)
    more += "" if other is None else f", such as {other.words}"
    few = _few_that_explain(segments, other, above)
    return (
        f"{searched}, {segments.n_beyond:,} {be(segments.n_beyond)} off by more than noise{few}: {first} ({p}){more}."
    )


def _few_that_explain(segments: FoundSegments, opposite: FoundSegment | None, above: str | None) -> str:
    """How many of the segments explain the rest, and whose errors those in the sentence are."""
    n_listed = len(segments.segments)
    few = explaining(n_listed, segments.n_beyond)
    if n_listed == 1:
        return few
    shown = (*segments.segments[:_TOLD], *(() if opposite is None else (opposite,)))
    of_range = any(each.in_part and each.name != above for each in shown)
    rows = "all its rows, or of the range of predictions that is given" if of_range else "all its rows"
    return f"{few}, each told with the error of {rows}"


def segments_sorted(level: float, *, chance: bool) -> str:
    """By what a list of segments is sorted, and what its q-values are."""
    if not chance:
        return "Sorted by smooth error, the largest first."
    return (
        f"Sorted: those off by more than noise (q at most {level:g}) first, then by smooth error, the largest first. "
        f"Among the segments called off, at most {100.0 * level:g}% are expected to be false alarms."
    )


def segment_intervals(level: float) -> str:
    """Say what the intervals beside the q-values are, and why the two may differ."""
    return (
        f"q decides, by all predictions of a segment and by parts of them. An interval is of the mean of outcome minus "
        f"prediction alone, in all segments at once with {confidence(level)} confidence. It asks more, and may hold 0 "
        f"where q is small."
    )


def segment_name(segment: Segment) -> str:
    """Values of the columns that make the segment."""
    return key_in_words(segment.key)


def segment_in_words(segment: Segment) -> str:
    """In which direction a segment errs, and where."""
    if segment.where is None:
        return "nothing is said about chance"
    low, high = segment.where
    if (low, high) == (0.0, 1.0):
        by = "" if segment.bias is None else f" by {in_points(in_short(abs(segment.bias)))} on average"
        return f"predictions {segment.direction}{by}"
    return f"predictions {segment.direction} in [{low:g}, {high:g}{']' if high == 1.0 else ')'}"


def _which_way(period: Period) -> str:
    """The alternative that fits best; a shift before a slope where all predictions are small and the two look alike."""
    alternative = period.reading.alternative
    off = period.base_rate - period.mean_prediction
    noise = math.sqrt(period.mean_prediction * (1.0 - period.mean_prediction) / max(period.n_rows, 1))
    if "confident" in alternative and abs(off) > _PLAIN * noise:
        return f"forecasts too {'low' if off > 0.0 else 'high'}"
    return alternative


def enough(reading: MonitorReading) -> bool:
    """Whether the evidence so far is enough by itself: once it was, it stays so for the test, but may fall again."""
    return reading.evalue * reading.level >= 1.0


def period_in_words(period: object) -> str:
    """A date or a name by itself, a number after what it is."""
    return f"period {period}" if str(period).isdigit() else str(period)


def periods_in_words(periods: Sequence[Period]) -> str:
    """Whether, and when, the evidence of all periods so far became enough; the same beside a reference."""
    first = next((i for i, period in enumerate(periods) if period.reading.reject), None)
    if first is None:
        last = periods[-1].reading
        sentence = (
            f"No drift is proved in {counted(len(periods), 'period')} (anytime-valid p = {at_most(last.pvalue, 2)})."
        )
    else:
        alarm = periods[first]
        p = at_most(alarm.reading.pvalue, 2)
        by = period_in_words(alarm.period)
        sentence = (
            f"By {by} there was enough evidence against calibration (anytime-valid p = {p}): {_which_way(alarm)}."
        )
        fallen = [i for i in range(first, len(periods)) if not enough(periods[i].reading)]
        if fallen and fallen[-1] + 1 < len(periods):
            again = period_in_words(periods[fallen[-1] + 1].period)
            sentence += f" After that it was too weak for a while; since {again} it has been enough throughout."
        elif fallen:
            needed = f"{1.0 / alarm.reading.level:.3g}"
            left = at_least(periods[-1].reading.evalue, 2)
            sentence += f" Since then it has fallen to {left} ({needed} is enough): the error may be gone, or the alarm"
            sentence += " was chance."
    compared = [(period.period, period.since_reference) for period in periods if period.since_reference is not None]
    if not compared:
        return sentence
    by, reading = next(((by, reading) for by, reading in compared if reading.reject), compared[-1])
    return f"{sentence} {reading.summary_by(by)}"
