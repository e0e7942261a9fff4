"""The answer in words: a headline, then how far and what to do. All of its sentences stand here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.coding import equalities
from calibrant.door.ends import Interval, as_points, confidence, in_points, in_short
from calibrant.door.premises import VARY
from calibrant.door.values import ReadOnly, counted, known_rows
from calibrant.findings import word_catalogue as say
from calibrant.findings.action_catalogue import action_line, every_time, more_groups, to_repair, what_bounds
from calibrant.findings.decision import (
    Action,
    Answer,
    Blamed,
    State,
    action_of,
    blamed,
    decide,
    disagreement,
    found_off,
    named_off,
    parts_off,
    rejected,
    since,
    split_by_alarm,
    stakes,
)
from calibrant.findings.regions import SAID, Places, of_no_use, rates_in_words, two_rates
from calibrant.inference.bounds.gate import GateResult, asked, at_most, least_in_short, most_in_short
from calibrant.inference.testing.calibration import CalibrationTestResult

if TYPE_CHECKING:
    from calibrant.decisions.line import GroupLine
    from calibrant.findings.record import AuditRecord
    from calibrant.inference.testing.result import TestResult
    from calibrant.recalibration.gain import Direction, RecalibrationGain
    from calibrant.segments.by_column import Segment
    from calibrant.segments.results import FoundSegment


# What is said of an error that is ruled out, and of one that is neither seen nor ruled out.
_NOT_SEEN = {"no evidence": "No error that matters", "too few rows": "No sign of error"}
# Only below this nothing is left to chance; a larger p-value, from redraws, is told by its side of the level.
SURELY = 0.001
# The largest level that is called rare; also rates of an event, or of its absence, below which few points are much.
_RARE = 0.1
BOTH_SIGNS = "Errors of both signs partly cancel in the average above."


def answer(audit: AuditRecord) -> Answer:
    """Put together what the audit found."""
    test, gate = audit.tests["calibration_test"].result, audit.gate
    cost, of_classes = stakes(audit.advice.gain), None
    if audit.classes is not None:
        cost, of_classes = "small", audit.classes.state  # what single classes cost is not known; their states decide
    beyond = _beyond(gate)
    few = audit.n_groups is not None and audit.n_resamples > 0 and not (audit.rates or beyond)
    by_line, more_helps = few and audit.group_line is not None, few or (gate is not None and not beyond)
    state = decide(test, gate, of_classes, cost, by_line=by_line)
    proved = beyond or (test is not None and test.reject)
    value = audit.measures["lower_calibration_distance"].value
    first = Answer(
        state=state,
        direction=_direction(audit, proved=proved),
        size=audit.ties.lower_distance_bracket.upper if value is None else value,
        interval=_interval(test, gate),
        pvalue=None if test is None else test.pvalue,
        action=action_of(state, audit.advice, parts_off(audit), more_helps=more_helps),
        headline="",
        details=(),
        max_distance=audit.max_distance,
    )
    if proved and says_where(first.action) and not _in_a_part(audit, first.direction):
        first = replace(first, examples=_places(first, audit).examples())
    return replace(first, headline=headline(first, audit), details=details(first, audit))


def _interval(test: TestResult | None, gate: GateResult | None) -> Interval | None:
    """The bound of the distance; what the test does not prove is not claimed by its lower end."""
    if gate is None or test is None or rejected(test, gate):
        return None if gate is None else gate.lower_distance
    return Interval(0.0, gate.lower_distance.high)


def _direction(audit: AuditRecord, *, proved: bool) -> Direction | None:
    """The way in which predictions err, by the curve or by few groups; None of those that are the other way round."""
    if audit.advice.backwards:
        return None
    if proved:
        return audit.reliability.direction
    return None if audit.group_line is None else audit.group_line.direction


def says_where(action: Action) -> bool:
    """Whether the headline tells examples of places."""
    return action not in ("check the labels", "predict the base rate")


def _beyond(gate: GateResult | None) -> bool:
    return gate is not None and gate.verdict == "beyond"


def headline(answer: Answer, audit: AuditRecord) -> str:
    """What is odd about the rows; in which direction predictions err, with an example; or that no error is seen."""
    return " ".join((*_odd_rows(audit), _what(answer, audit)))


def details(answer: Answer, audit: AuditRecord) -> tuple[str, ...]:
    """How sure and how far; what to do."""
    test = audit.tests["calibration_test"].result
    odd = None if test is None or answer.state not in _NOT_SEEN else test.impossible
    beside = [] if odd is None else [_too_few_to_tell(odd.n_rows, rounding_known=audit.complete or not audit.weighted)]
    return *_how_sure_and_far(answer, audit), *beside, *_few_groups(answer, audit), action_line(answer, audit)


def _too_few_to_tell(n_rows: int, *, rounding_known: bool) -> str:
    """Of outcomes that were predicted to be impossible, and no sign of error all the same.

    How many rounding makes is not known of weighted rows that were summed.
    """
    was, so_many = ("was", "that") if n_rows == 1 else ("were", "so many")
    why = f"Rounding can make {so_many}." if rounding_known else "0 and 1 may be rounded numbers."
    return f"{counted(n_rows, 'row')} predicted 0 or 1 {was} wrong. {why}"


def _few_groups(answer: Answer, audit: AuditRecord) -> list[str]:
    """That groups are too few, and the level by them where the headline has not told what errs."""
    line = audit.group_line
    if line is None:
        return []
    lines, classes = [], audit.classes is not None
    parts = answer.action == "look at the parts"
    if answer.state != "too few rows" or answer.direction is not None or parts:  # elsewhere the headline says so
        few = _number_of_groups(audit.n_groups or 0, line.worth)
        lines.append(say.sentence(f"{line.of_what(classes)} come from too few groups ({few})"))
    if answer.state not in _NOT_SEEN or answer.direction is None:
        lines.append(
            say.sentence(f"{line.level_in_words(classes)} (100 is right; {confidence(line.level)} confidence)")
        )
    return lines


def _number_of_groups(n_groups: int, worth: float) -> str:
    """Say how many groups there are, and about how many like these are needed."""
    return f"there are {n_groups:,}, and about {n_groups + more_groups(n_groups, worth):,} like these are needed"


def by_groups(line: GroupLine, *, classes: bool) -> str:
    """The direction that few groups prove, and its ground: events for every 100, the slope, or both."""
    assert line.direction is not None
    *others, (last, right) = line.signs(classes)
    first = "".join(f"{clause} ({value} is right). " for clause, value in others)
    last = last if not others else last[0].upper() + last[1:]
    way = f"{SAID[line.direction]}{' on average' if line.direction in ('too high', 'too low') else ''}"
    return f"{way}: {first}{last} ({right} is right; {confidence(line.level)} confidence)."


def _odd_rows(audit: AuditRecord) -> list[str]:
    """Predictions that are labels, and outcomes that are all the same: there a reader should look first."""
    if audit.classes is not None:
        return []
    lines = [say.LABELS] if _are_labels(audit) else []
    if audit.auc is None:
        lines.append(say.one_outcome(audit.n_rows, events=audit.base_rate > 0.5, weighted=audit.weighted))
    return lines


def _are_labels(audit: AuditRecord) -> bool:
    at = audit.reliability.prediction[audit.reliability.mass > 0.0]
    return audit.n_distinct <= 2 and bool(np.isin(at, (0.0, 1.0)).all())


def _what(answer: Answer, audit: AuditRecord) -> str:
    """The first line: which way predictions err, and where."""
    if answer.state == "not tested":
        return f"Not tested for chance: {_why_not(audit.tests['calibration_test'].not_run or '')}."
    if answer.state in _NOT_SEEN:
        return _not_seen(answer, audit)
    if _by_classes(answer, audit):
        return "Single classes are off, though the most probable one shows no sign of error."
    test = audit.tests["calibration_test"].result
    if test is not None and test.impossible is not None and not (test.reject or _beyond(audit.gate)):
        return say.sentence(test.impossible.summary())
    if answer.action == "check the labels":
        return _places(answer, audit).backwards()
    if answer.action == "predict the base rate":
        gain = audit.advice.gain
        return of_no_use(every_time(audit), better=gain is not None and gain.proved)
    return _where(answer, audit)


def _not_seen(answer: Answer, audit: AuditRecord) -> str:
    """The first line where no error of all rows is seen: what parts or few groups show, or nothing."""
    groups = audit.group_line
    if answer.action == "look at the parts":
        return _parts_in_words(audit)
    if answer.direction is not None and groups is not None:
        return by_groups(groups, classes=audit.classes is not None)
    if answer.state == "no evidence":
        return f"{_NOT_SEEN[answer.state]}{_if_independent(audit)}: {_at_most(answer, audit, rows=True)}."
    rows = counted(audit.n_rows, say.unit(trials=audit.trials))
    if groups is not None:
        few = f"groups are too few ({_number_of_groups(audit.n_groups or 0, groups.worth)}; {rows})"
        return f"{_NOT_SEEN[answer.state]}, but {few}."
    return f"{_NOT_SEEN[answer.state]}{_if_independent(audit)} ({_p(answer, audit)}; {rows})."


def _where(answer: Answer, audit: AuditRecord) -> str:
    """The first line of a real error: since when, in which segment, or at which predictions."""
    if since(audit, answer.direction) is not None:
        return f"{_drift_in_words(audit)}."
    alone = blamed(audit, answer.direction)
    if alone is not None and answer.direction is None:
        return f"Too {'low' if alone.happened > alone.predicted else 'high'}{_there_and_elsewhere(alone)}."
    if alone is not None:
        return f"{_places(answer, audit).way}{_there_and_elsewhere(alone)}."
    if _told_by_parts(answer, audit):
        return _parts_in_words(audit)
    slightly = answer.state == "too small to matter"
    return _places(answer, audit).sentence(answer.examples, slightly=slightly)


# How the message of a refusal begins, and its subject in words.
_REFUSED = {"sample_weight: ": "weights", "groups: ": "groups"}


def _why_not(reason: str) -> str:
    """Why there was no test; of a refusal what is wrong, and not what is allowed, which the list of tests has."""
    for argument, subject in _REFUSED.items():
        if reason.startswith(argument):
            return f"{subject} {reason.removeprefix(argument).partition('; ')[0]}"
    return reason


def _told_by_parts(answer: Answer, audit: AuditRecord) -> bool:
    """Whether segments stand in the headline of an error of all rows whose direction and places are not known."""
    if answer.direction is not None or answer.examples or answer.state in _NOT_SEEN or not says_where(answer.action):
        return False
    return "segments" in parts_off(audit) and not _in_a_part(audit, None)


def _in_a_part(audit: AuditRecord, direction: Direction | None) -> bool:
    """Whether the error of all rows is that of one segment, or has been there since some period only."""
    return since(audit, direction) is not None or blamed(audit, direction) is not None


def _places(answer: Answer, audit: AuditRecord) -> Places:
    """Say which way predictions err, and where, by the curve."""
    rates = audit.mean_prediction, audit.base_rate, audit.n_rows
    return Places(answer.direction, audit.regions, *rates, audit.classes is not None, say.unit(trials=audit.trials))


def _by_classes(answer: Answer, audit: AuditRecord) -> bool:
    """Whether single classes decide, and not the most probable one."""
    test = audit.tests["calibration_test"].result
    real = answer.state in ("worth correcting", "too small to matter")
    return real and audit.classes is not None and test is not None and not rejected(test, audit.gate)


def _p(answer: Answer, audit: AuditRecord) -> str:
    assert answer.pvalue is not None
    return p_in_words(answer.pvalue, audit.level)


def chance_in_words(pvalue: float, level: float) -> str:
    """What chance alone does, where p-values are below the level: no seed decides it."""
    if pvalue < SURELY:
        return "This is not chance"
    return f"Chance alone {'rarely does this' if level <= _RARE else f'does this in up to {100.0 * level:g}% of cases'}"


def p_in_words(pvalue: float, level: float) -> str:
    """The p-value in words that no seed decides: one from redraws by what it is below."""
    if pvalue < SURELY:
        return say.short_pvalue(pvalue)
    return f"p {'<' if pvalue <= level else '>'} {level:g}"


def _with_p(answer: Answer, audit: AuditRecord) -> str:
    return "" if answer.pvalue is None else f" ({_p(answer, audit)})"


def _if_independent(audit: AuditRecord) -> str:
    """A column's name says that rows may depend on one another: then nothing is said of chance without it."""
    name = audit.perhaps_groups
    return "" if name is None else f" if rows of one {name} are independent"


def _reality(answer: Answer, audit: AuditRecord) -> str:
    assert answer.pvalue is not None
    return f"{chance_in_words(answer.pvalue, audit.level)}{_if_independent(audit)} ({_p(answer, audit)})"


def _rare(audit: AuditRecord) -> str:
    """Say how often the event happens, beside points that are few because it hardly ever, or nearly always, does."""
    common = _RARE <= audit.base_rate <= 1.0 - _RARE or audit.auc is None
    return "" if common or audit.classes is not None else f"; {say.rate(audit.base_rate)} happen on average"


def _at_most(answer: Answer, audit: AuditRecord, *, rows: bool = False) -> str:
    """The upper end beside the limit that it keeps to; with the number of rows where no other sentence has it."""
    assert answer.interval is not None
    most, limit = at_most(answer.interval, answer.max_distance), as_points(asked(answer.max_distance))
    of = f"; {counted(audit.n_rows, say.unit(trials=audit.trials))}" if rows else ""
    sure = f"{confidence(audit.level)} confidence{of}{_rare(audit)}"
    return f"{most} on average, {_below(answer)} the limit of {limit} ({sure})"


def _below(answer: Answer) -> str:
    """An upper end is below the limit as it is printed, or prints as the limit."""
    assert answer.interval is not None
    return "below" if float(most_in_short(answer.interval, answer.max_distance)) < answer.max_distance else "within"


def _how_sure_and_far(answer: Answer, audit: AuditRecord) -> list[str]:
    """The second line: whether that is chance, and how far predictions would have to move."""
    parts = answer.action == "look at the parts"
    if answer.state in _NOT_SEEN and answer.direction is not None and not parts:
        return [_of_other_kinds(answer, audit)]
    if answer.state == "no evidence":
        return [f"Over all rows no error matters: {_at_most(answer, audit)}."] if parts else []
    if answer.state == "too few rows":
        overall = f"{_NOT_SEEN[answer.state]} in all rows together{_with_p(answer, audit)}. " if parts else ""
        by_level = answer.interval is None and audit.group_line is not None  # the groups' level tells it
        line = f"{overall}{'' if by_level else _may_hide(answer, audit)}".strip()
        return [line] if line else []
    real = _why_real(answer, audit)
    if answer.state == "too small to matter":
        return [f"{real}{_how_small(answer, audit)}"]
    if answer.action == "check the labels":
        return [real.strip()] if real else []
    return [f"{real}{_how_far(answer, audit)}"]


def _of_other_kinds(answer: Answer, audit: AuditRecord) -> str:
    """Errors beside the direction that few groups prove: not seen, and how large they may be."""
    not_seen = f"{_NOT_SEEN[answer.state]} of other kinds"
    if answer.state == "no evidence":
        return f"{not_seen}: {_at_most(answer, audit)}."
    if answer.pvalue is None:
        return _may_hide(answer, audit)
    hide = "" if answer.interval is None else f" {_may_hide(answer, audit)}"
    return f"{not_seen} ({_p(answer, audit)}).{hide}"


def _why_real(answer: Answer, audit: AuditRecord) -> str:
    """Why an error is no chance, with a space after it: by classes, by the test, by a bound, or by segments above."""
    test, independent = audit.tests["calibration_test"].result, _if_independent(audit)
    if _by_classes(answer, audit):
        return f"Classes are tested at one level for all{independent}. "
    if _told_by_parts(answer, audit):
        return ""
    if (test is None or _are_labels(audit)) and _beyond(audit.gate):
        without = ", without a test" if test is None else ""  # of labels it tests no row
        return f"A bound proves this{independent}{without}. "
    if test is None:
        return ""
    if test.reject:
        return f"{_reality(answer, audit)}. "
    if _beyond(audit.gate):
        return f"A bound proves this; the test alone does not see it{independent} ({_p(answer, audit)}). "
    return f"That does not depend on the test{independent} ({_p(answer, audit)}). "


def _how_small(answer: Answer, audit: AuditRecord) -> str:
    """The bound of an error that is too small to matter; and the parts where it is not."""
    if answer.action != "look at the parts":
        return f"The error is too small to matter: {_at_most(answer, audit)}."
    parts = "" if _told_by_parts(answer, audit) else f" {_those(audit, blamed(audit, answer.direction))}"
    return f"Over all rows it is small: {_at_most(answer, audit)}.{parts}"


def _may_hide(answer: Answer, audit: AuditRecord) -> str:
    if answer.interval is None:
        return "How large an error may hide is not known."
    if answer.interval.high >= 1.0:
        return f"So few {'rows' if audit.n_groups is None else 'groups'} rule out no error."
    most = in_points(most_in_short(answer.interval, answer.max_distance))
    sure = f"{confidence(audit.level)} confidence{_rare(audit)}"
    hide = f"An error of up to {most} on average could still hide here ({sure})."
    if answer.interval.high > answer.max_distance:
        return hide
    limit = as_points(asked(answer.max_distance))
    return f"{hide} That is {_below(answer)} the limit of {limit}, but {could_cost(audit.advice.gain)}."


def could_cost(gain: RecalibrationGain | None, error: str = "it") -> str:
    """Say what an error within the limit could cost, as far as rows tell."""
    if gain is None or gain.doubt is not None:
        return "near 0% and 100% a small error can cost much, and too few rows show it"
    return f"{error} could cost up to {say.share_of_score(gain.log_loss.possible_share)} of the score (log loss)"


def _how_far(answer: Answer, audit: AuditRecord) -> str:
    """Say how far predictions would have to move: of these rows, and likely of the population."""
    which = "Predictions" if audit.classes is None else "Predictions of the likeliest class"
    apart = _told_by_parts(answer, audit) or _in_a_part(audit, answer.direction)
    which = "In all rows together, predictions" if apart else which
    move = f"{which} would have to move by {in_points(in_short(answer.size))} on average"
    if answer.interval is None:
        if audit.rates:
            return f"{move} on these rows."
        return f"{move} on these rows; {what_bounds(audit)}, would bound it for others."
    if answer.interval.high >= 1.0:
        return f"{move} on these rows; they are too few to bound it for others."
    most = as_points(most_in_short(answer.interval, answer.max_distance))
    if not answer.interval.low > 0.0:
        likely = f", at most {most} ({confidence(audit.level)} confidence)"
    else:
        likely = f", likely {as_points(least_in_short(answer.interval, answer.max_distance))} to {most}"
    limit = as_points(asked(answer.max_distance))
    within = answer.state in ("worth correcting", "not tested") and answer.interval.high <= answer.max_distance
    but = f", but {_costs(audit)}" if answer.state == "worth correcting" and audit.classes is None else ""
    little = f" That is {_below(answer)} the limit of {limit}{but}." if within else ""
    return f"{move}{likely}.{little}"


def _costs(audit: AuditRecord) -> str:
    """Why an error within the limit is not small."""
    gain = audit.advice.gain
    return "it costs much" if stakes(gain) == "large" else could_cost(gain)


def _parts_in_words(audit: AuditRecord) -> str:
    """The segments that err where all rows together show nothing, the first of either direction; or since when."""
    off, searched = [each for each in audit.segments if named_off(audit, each)], found_off(audit)
    independent = _if_independent(audit)
    if searched and not off:
        first = searched[0]
        sure = chance_in_words(first.pvalue, audit.level)
        n_tested = 0 if audit.found_segments is None else audit.found_segments.n_tested
        real = f"{sure}{independent} ({say.short_pvalue(first.pvalue)}, allowing for {counted(n_tested, 'segment')})."
        other = next((each for each in searched if each.direction != first.direction), None)
        return " ".join(f"{_found_segment(each)}." for each in (first, other) if each is not None) + f" {real}"
    if off:
        others = [each for each in off if each.direction != off[0].direction]
        named = [_named_segment(each, audit.segmented_by) for each in (off[0], *others[:1])]
        more = len(off) - len(named)
        among = f" {counted(more, 'more segment is', 'more segments are')} off." if more else ""
        false = f"Of segments called off, {100.0 * audit.level:g}% may be false alarms{independent}."
        return f"{'. '.join(named)}.{among} {false}"
    return f"{_drift_in_words(audit)}. The risk of any false alarm is {100.0 * audit.level:g}%{independent}."


def _drift_in_words(audit: AuditRecord) -> str:
    """Since when the evidence was enough, and what is predicted and happens from then on."""
    _, error, after = split_by_alarm(audit)
    way = "Too low" if error.error > 0.0 else "Too high"
    if abs(error.error) <= audit.max_distance:  # the mean does not tell in which way single predictions err
        way = "Wrong, now too high and now too low,"
    classes, when = audit.classes is not None, say.period_in_words(error.first)
    rates = rates_in_words(error.predicted, error.happened, error.n_rows, classes)
    if after is None:
        return f"{way} since about {when}: {rates}"
    later = rates_in_words(after.predicted, after.happened, after.n_rows, classes)
    return f"{way} from about {when} on: {rates}. That ended about {say.period_in_words(after.first)}: {later}"


def _found_segment(each: FoundSegment) -> str:
    if each.in_part:
        return say.sentence(f"{each.words} ({known_rows(each.n_rows, each.n_unknown)})").rstrip(".")
    way = "Too low" if each.base_rate > each.mean_prediction else "Too high"
    says, happens = two_rates(each.mean_prediction, each.base_rate)
    return f"{way} for {each.name}: {says} predicted, {happens} happened ({known_rows(each.n_rows, each.n_unknown)})"


def _named_segment(each: Segment, by: Sequence[str]) -> str:
    says, happens = two_rates(each.mean_prediction, each.base_rate)
    name, rows = equalities(by, each.key), known_rows(each.n_rows, each.n_unknown)
    if each.where not in (None, (0.0, 1.0)):
        return f"{name}: {say.segment_in_words(each)} ({rows})"
    way = "Too low" if each.base_rate > each.mean_prediction else "Too high"
    return f"{way} for {name}: {says} predicted, {happens} happened ({rows})"


def _those(audit: AuditRecord, segment: Blamed | None) -> str:
    """Name the parts that are off, of all rows that together are not."""
    if segment is None:
        return _parts_in_words(audit)
    off = {equalities(audit.segmented_by, each.key) for each in audit.segments if named_off(audit, each)}
    more = len((off | {each.name for each in found_off(audit)}) - {segment.name})
    others = f", nor in {counted(more, 'other segment')}" if more else ""
    periods = " Some periods are off as well." if "periods" in parts_off(audit) else ""
    return f"In that segment it is not small{others}.{periods}"


def _there_and_elsewhere(where: Blamed) -> str:
    """The segment that errs, and that the other rows do not."""
    says, happens = two_rates(where.predicted, where.happened)
    rest, others = say.rate(where.predicted_elsewhere), say.rate(where.happened_elsewhere)
    rows = counted(where.n_rows, "row")
    inside = f" for {where.name}: {says} predicted, {happens} happened ({rows})"
    return f"{inside}. Elsewhere {rest} predicted, {others} happened"


def sentences(audit: AuditRecord, *, alone: bool = True) -> tuple[str, ...]:
    """The sentences of the verdict; of one of several audits without what is assumed of all."""
    lines = []
    if audit.violations:
        failed = "; ".join(inequality.words for inequality in audit.violations)
        lines.append(f"ERROR IN CALIBRANT, do not trust this report and please tell its authors: {failed} fails.")
    result = answer(audit)
    lines += [result.headline, *result.details, standing(audit, alone=alone)]
    if audit.cost_of_acting is not None and not audit.cost_of_acting.worst:
        lines.append(audit.cost_of_acting.summary())
    if audit.pos_label is not None:
        lines.append(f"The positive class is {audit.pos_label!s}: its probability was audited.")
    if audit.classes is not None:
        lines += audit.classes.sentences()
    where = blamed(audit, result.direction)
    above = None if where is None else where.name
    if audit.segments:
        lines.append(
            say.segments_in_words(audit.segments, audit.segmented_by, chance=audit.segments_tested, above=above)
        )
    if audit.found_segments is not None:
        lines.append(say.found_in_words(audit.found_segments, above))
        differ = disagreement(audit)
        if differ is not None:
            lines.append(differ)
        lines.append("Found segments hold if the predictions were not fitted to these rows.")
    if audit.periods:
        lines.append(say.periods_in_words(audit.periods))
    if audit.group_line is not None:
        lines.append(audit.group_line.both)
    if audit.n_groups is not None:
        lines.append(_by_group(audit))
    if audit.rates:
        lines.append(say.sentence(say.NO_TRIALS))
    return tuple(lines)


def _by_group(audit: AuditRecord) -> str:
    """Say how chance is judged, where it is, and what is not shown for the groups."""
    name = audit.columns.get("groups")
    of = "" if name is None else f" of {name}"
    many, test = counted(audit.n_groups or 0, "group"), audit.tests["calibration_test"].result
    whole = f"Chance is judged by whole groups, {many}{of}. " if isinstance(test, CalibrationTestResult) else ""
    way = "calibrant gate --max-regret --max-weight does"
    return f"{whole}For groups, the population's cost of acting is not bounded here ({way})."


def standing(audit: AuditRecord, *, alone: bool = True) -> str:
    """The fourth line: how well predictions rank, for a useless predictor can be calibrated; and what is assumed.

    Independent rows are assumed once: not by one of several audits, nor where the answer has them as a condition.
    """
    units = "rows are" if audit.n_groups is None else f"{counted(audit.n_groups, 'group is', 'groups are')}"
    elsewhere = not alone or (audit.perhaps_groups is not None and audit.tests["calibration_test"].result is not None)
    assumed = "; ".join([*([] if elsewhere else [f"{units} independent"]), *_how_known(audit)])
    line = f"{_discrimination(audit)} Assumed: {assumed}." if assumed else _discrimination(audit)
    if not alone:
        return line
    vary = [VARY] if audit.trials_vary else []
    return " ".join([line, *vary, *audit.hints.values()])


def _how_known(audit: AuditRecord) -> list[str]:
    """Say what else is assumed of how rows came to be known."""
    if audit.followed is not None:
        by = f"events count by {audit.followed.horizon:g}"
        if not audit.followed.n_unknown:
            return [by]
        n, are = audit.followed.n_unknown, "is" if audit.followed.n_unknown == 1 else "are"
        within = f" within {', '.join(audit.followed.strata)}" if audit.followed.strata else ""
        alike = f"{by}; {counted(n, 'row')} lost from sight before {are} like all others{within}, in outcome"
        if not audit.followed.in_segments:
            return [f"{alike} and prediction"]
        elsewhere = "" if "perhaps_strata" in audit.hints else " (if not, name columns that tell it: --strata)"
        return [f"{alike}, prediction and segment{elsewhere}"]
    if audit.sampling_fractions is None and audit.weighted and not audit.trials:
        by = f" by {audit.columns['sample_weight']}" if "sample_weight" in audit.columns else ""
        return [f"rows are weighted{by}, and these weights are right"]
    if audit.sampling_fractions is None:
        return []
    without, events = ("all" if each == 1.0 else f"{100.0 * each:.3g}% of all" for each in audit.sampling_fractions)
    by_weights = "" if audit.fractions_given else ", as their weights say"
    shares = f"the file has {without} rows without the event and {events} rows with it{by_weights}"
    return [f"{shares}. Per cents are of all rows"]


def _discrimination(audit: AuditRecord) -> str:
    if audit.auc is None:
        return "There is one outcome only, so how well predictions tell outcomes apart is not known."
    scale = "0.5 is a coin, 1 is perfect"
    if audit.advice.backwards:
        return f"AUC {audit.auc:.3f}, below 0.5: they put likelier rows last ({scale})."
    what = "events from the rest" if audit.classes is None else "right rows from wrong ones"
    return f"How well they tell {what}: AUC {audit.auc:.3f} ({scale})."


# The state in a few words that fit what to do.
_COMES_TO: Mapping[tuple[State, Action], str] = ReadOnly(
    {
        ("no evidence", "leave unchanged"): "no error that matters",
        ("no evidence", "look at the parts"): "parts err, all rows do not",
        ("too few rows", "collect more rows"): "no sign of error",
        ("too few rows", "look at the parts"): "parts err, all rows show nothing",
        ("too small to matter", "leave unchanged"): "too small to matter",
        ("too small to matter", "look at the parts"): "small, but not in parts",
        ("worth correcting", "recalibrate"): "worth correcting",
        ("worth correcting", "look closer"): "real, no correction proved",
        ("worth correcting", "none"): "real, no correction known",
        ("worth correcting", "predict the base rate"): "of no proved use",
        ("worth correcting", "check the labels"): "backwards",
        ("not tested", "none"): "not tested",
        ("not tested", "collect more rows"): "not tested for chance",
    }
)


def outcomes_differ(n_differing: int, n_items: int) -> str:
    """That outcomes are of each file's own, with how many differ: one flipped by mistake is seen."""
    return f"Outcomes differ in {n_differing:,} of {counted(n_items, 'item')}; each file is judged by its own."


def state_in_words(answer: Answer, audit: AuditRecord) -> str:
    """The state in a few words that fit what to do, for one line or a cell of a table."""
    if to_repair(answer, audit) is not None:
        return "a segment errs"
    few_groups = answer.state == "too few rows" and answer.direction is not None
    return "too few groups" if few_groups else _COMES_TO[answer.state, answer.action]
