"""The answer in words: a headline, then how far and what to do. All of its sentences stand here."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

import numpy as np

from calibrant.decisions.group_line import too_few
from calibrant.door.coding import equalities
from calibrant.door.ends import Interval, confidence
from calibrant.door.outwards import in_short
from calibrant.door.values import counted
from calibrant.findings.decision import (
    USUAL_LIMIT,
    Answer,
    Blamed,
    action_of,
    blamed,
    decide,
    default_in_words,
    default_limit,
    disagreement,
    found_off,
    named_off,
    parts_off,
    rejected,
    told,
)
from calibrant.findings.regions import Region
from calibrant.findings.words import (
    LABELS,
    MAX_WEIGHT,
    NO_TRIALS,
    found_in_words,
    one_outcome,
    periods_in_words,
    rate,
    segment_in_words,
    segments_in_words,
    sentence,
    whole,
)
from calibrant.inference.bounds.gate import asked, practical, rounded_rows
from calibrant.inference.testing.calibration import CalibrationTestResult
from calibrant.recalibration.choice import falls_to
from calibrant.recalibration.curves.registry import title_of

if TYPE_CHECKING:
    from calibrant.decisions.group_line import GroupLine
    from calibrant.findings.results import Audit
    from calibrant.inference.bounds.gate import GateResult
    from calibrant.inference.testing.result import TestResult


_SAID = {
    "too high": "Too high",
    "too low": "Too low",
    "too confident": "Too confident",
    "not confident enough": "Not confident enough",
    "uneven": "Uneven",
}
_TOP = {
    "too high": "Too confident of the most probable class",
    "too low": "Not confident enough of the most probable class",
}
"""What it is to predict that class with too much, and with too little."""
_NOT_SEEN = {"no evidence": "No error that matters", "too few rows": "No sign of error"}
"""What is said of an error that is ruled out, and of one that is neither seen nor ruled out."""
_MARGIN = 1.6
"""More rows than are needed on average: so many decide in nine of ten samples."""
_RECENT = "if what predictions mean has changed, use recent rows only"
_DISTANCE = "Distance from calibration (the least that predictions must change, on average, to be calibrated{less})"
_LESS = "; less than the {gaps} above, as others err less and opposite errors may meet"
_TWO_SIDED = ("too confident", "not confident enough", "uneven")
_SAME = 1e-12  # what is nearer is rounding
_NEAR = 0.005  # of the end of a range to 0 or 1, where it ends there in words
_DIGITS = 6  # at most, of two rates that are told apart


def answer(audit: Audit) -> Answer:
    """Put together what the audit found."""
    test, gate = audit.tests["calibration_test"].result, audit.gate
    state = decide(test, gate, None if audit.classes is None else audit.classes.state, audit.advice.gain)
    real = test is not None and rejected(test, gate)
    interval = None if gate is None else gate.lower_distance
    if interval is not None and not real and test is not None:
        interval = Interval(0.0, interval.high)  # what the test does not prove is not claimed by a bound
    proved = real and test is not None and test.reject
    line = audit.group_line
    by_line = None if line is None or proved else line.direction
    direction = audit.reliability.direction if proved else by_line
    value = audit.measures["lower_calibration_distance"].value
    found = Answer(
        state=state,
        direction=direction,
        size=audit.ties.lower_distance_bracket.upper if value is None else value,
        interval=interval,
        pvalue=None if test is None else test.pvalue,
        action=action_of(state, audit.advice, parts_off(audit)),
        headline="",
        details=(),
        max_distance=audit.max_distance,
    )
    if says_where(found, test) and blamed(audit, direction) is None:
        found = replace(found, examples=told(direction, audit))
    return replace(found, headline=headline(found, audit), details=details(found, audit))


def says_where(answer: Answer, test: TestResult | None) -> bool:
    """Whether the headline tells examples of places."""
    told = ("check the labels", "predict the base rate")
    return test is not None and test.reject and answer.direction is not None and answer.action not in told


def headline(answer: Answer, audit: Audit) -> str:
    """What is odd about the rows; in which direction predictions err, with an example, and whether that is chance."""
    return " ".join((*_odd_rows(audit), _in_brief(answer, audit)))


def _odd_rows(audit: Audit) -> list[str]:
    """Predictions that are labels, and outcomes that are all the same: there a reader should look first."""
    if audit.classes is not None:
        return []
    told = []
    at = audit.reliability.prediction[audit.reliability.mass > 0.0]
    if audit.n_distinct <= 2 and np.isin(at, (0.0, 1.0)).all():
        told.append(LABELS)
    if audit.auc is None:
        told.append(one_outcome(audit.n_rows, events=audit.base_rate > 0.5))
    return told


def _in_brief(answer: Answer, audit: Audit) -> str:
    if answer.pvalue is None:
        return f"Not tested for chance: {audit.tests['calibration_test'].not_run}."
    p = "p < 1e-15" if answer.pvalue < 1e-15 else f"p = {answer.pvalue:.2g}"
    # A column's name says that this may be wrong: then nothing is said of chance without it.
    name = audit.perhaps_groups
    given = "" if name is None else f" if rows of one {name} are independent"
    in_parts = answer.action == "look at the parts"
    if in_parts and answer.state in ("no evidence", "too few rows"):
        searched = found_off(audit)
        if audit.found_segments is not None and searched:
            first = searched[0]
            fine = f"{_NOT_SEEN[answer.state]} overall"
            held = f"{counted(first.n_rows, 'row')}; p = {first.pvalue:.2g}"
            among = f"allowing for all {counted(audit.found_segments.n_tested, 'segment')}"
            other = next((each for each in searched if each.direction != first.direction), None)
            also = (
                "" if other is None else f", and {other.words} ({counted(other.n_rows, 'row')}; p = {other.pvalue:.2g})"
            )
            return f"{fine} ({p}), but predictions are {first.words} ({held}, {among}){also}{given}."
        return f"{_NOT_SEEN[answer.state]} on all rows together ({p}), but {_those(audit)}{given}."
    if answer.state in _NOT_SEEN and answer.direction is not None and audit.group_line is not None:
        return f"{_SAID[answer.direction]}: by groups, {_numbers(audit.group_line)}. The test of all errors has {p}."
    if answer.state in _NOT_SEEN:
        seen = f"{_NOT_SEEN[answer.state]} ({p}; {counted(audit.n_rows, 'row')})"
        if answer.state == "no evidence" and audit.classes is None:
            seen += f": one above {asked(audit.max_distance)} is ruled out ({confidence(audit.level)} confidence)"
        return f"{seen}{given}."
    small = ", but too small to matter" if answer.state == "too small to matter" else ""
    if _by_classes(answer, audit):
        return f"The most probable class alone shows no miscalibration ({p}), but single classes do{small}{given}."
    where = blamed(audit, answer.direction)
    what = "This" if where is None else "The error"
    real = f"{what} is not chance{given} ({p}){small}."
    if in_parts:
        small = f"of all rows together it is too small to matter, but {_those(audit, where)}"
        real = f"{what} is not chance{given} ({p}{'' if where is None else ' over all rows'}); {small}."
    test = audit.tests["calibration_test"].result
    if test is not None and not test.reject:
        if test.impossible is not None:
            return sentence(f"{test.impossible.summary()}{small}")
        return f"Miscalibrated{given}, as the bound below proves; the test alone does not see it ({p})."
    if answer.action == "check the labels":
        return f"Backwards: the higher the prediction, the rarer the event. {real}"
    if answer.action == "predict the base rate":
        same = f"nothing here proves that it does better than saying {_every_time(audit)} every time"
        return f"Of no proved use: {same}. That the predictions are miscalibrated is not chance{given} ({p}){small}."
    if answer.direction is None:
        return f"Miscalibrated, though no range of predictions stands out. {real}"
    slightly = answer.state == "too small to matter" and where is None
    said = (_SAID if audit.classes is None else _SAID | _TOP)[answer.direction]
    said = f"Slightly {said[0].lower()}{said[1:]}" if slightly else said
    return f"{said}{_for_example(answer, audit) if where is None else _there_and_elsewhere(where)}. {real}"


def _by_classes(answer: Answer, audit: Audit) -> bool:
    """Whether single classes decide, and not the most probable one."""
    test = audit.tests["calibration_test"].result
    real = answer.state in ("worth correcting", "too small to matter")
    return real and audit.classes is not None and test is not None and not rejected(test, audit.gate)


def _those(audit: Audit, segment: Blamed | None = None) -> str:
    """Which parts are miscalibrated; of named segments the worst, and how far, unless that was told already."""
    off, searched = [each for each in audit.segments if named_off(audit, each)], found_off(audit)
    if segment is not None or (searched and not off):
        periods = "; and some periods are miscalibrated" if "periods" in parts_off(audit) else ""
        if segment is None:
            either = (searched[0], *(each for each in searched if each.direction != searched[0].direction))[:2]
            worst = ", and ".join(f"{each.words} ({counted(each.n_rows, 'row')})" for each in either)
            return f"predictions are {worst}{periods}"
        names = {equalities(audit.segmented_by, each.key) for each in off} | {each.name for each in searched}
        more = len(names - {segment.name})
        others = f", nor in {counted(more, 'other segment')}" if more else ""
        return f"not there{others}{periods}"
    if not off:
        return f"{' and '.join(f'some {kind}' for kind in parts_off(audit))} are miscalibrated"
    named = equalities(audit.segmented_by, off[0].key)
    held = counted(off[0].n_rows, "row")
    worst = f"{named}: {segment_in_words(off[0])}, {held}"
    others = "" if "periods" not in parts_off(audit) else "; and some periods are"
    other = next((each for each in off if each.direction != off[0].direction), None)
    if other is not None:
        name = equalities(audit.segmented_by, other.key)
        worst += f"; and {name}: {segment_in_words(other)}, {counted(other.n_rows, 'row')}"
    if len(off) == 1:
        return f"one segment is miscalibrated ({worst}){others}"
    return f"{len(off):,} segments are miscalibrated (most of all {worst}){others}"


def _for_example(answer: Answer, audit: Audit) -> str:
    """The clearest place, and for two-sided faults the clearest on the other side."""
    if not answer.examples:
        return ""
    first, happen = answer.examples[0], "happen" if audit.classes is None else "are right"
    says, happens = two_rates(first.predicted, first.happened)
    if answer.direction in ("too high", "too low"):
        if first.share > 0.9:
            says, happens = two_rates(audit.mean_prediction, audit.base_rate)
            told = f": it says {says} on average, and {happens} {happen}"
        elif first.low == first.high:
            told = f" where it says {rate(first.low)}: {happens} {happen}"
        else:
            told = f" {_between(first)}: it says {says} there on average, and {happens} {happen}"
        for other in answer.examples[1:]:
            says, happens = two_rates(other.predicted, other.happened)
            way = "too low" if other.happened > other.predicted else "too high"
            told += f"; and {way} {_between(other)}: it says {says}, and {happens} {happen}"
        return told
    about = "" if first.low == first.high else "about "
    told = f": where it says {about}{says}, {happens} {happen}"
    for other in answer.examples[1:]:
        says, happens = two_rates(other.predicted, other.happened)
        told += f"; where it says {says}, {happens}"
    return told


def _between(where: Region) -> str:
    if where.low == where.high:
        return f"where it says {rate(where.low)}"
    low = "0%" if where.low < _NEAR < 10.0 * _NEAR < where.high else rate(where.low)
    high = "100%" if 1.0 - where.high < _NEAR < 10.0 * _NEAR < 1.0 - where.low else rate(where.high)
    return f"between {low} and {high}"


def _which_err(audit: Audit) -> str:
    """Why one recalibration for all rows may not be enough, and what is."""
    one_by_one = "SegmentRecalibrator corrects segments one by one"
    if found_off(audit):
        return f"some segments err otherwise than the rest; {one_by_one}"
    # Segments by name are tested against their predictions, not against the rest.
    return f"single segments are off; if they err unlike one another, {one_by_one}"


def _there_and_elsewhere(where: Blamed) -> str:
    """The segment that errs, and that the other rows do not."""
    says, happens = two_rates(where.predicted, where.happened)
    elsewhere = f"elsewhere it says {rate(where.predicted_elsewhere)}, and {rate(where.happened_elsewhere)} happen"
    return f" where {where.name}: it says {says} there on average, and {happens} happen; {elsewhere}"


def details(answer: Answer, audit: Audit) -> tuple[str, ...]:
    """How far, and what to do."""
    test = audit.tests["calibration_test"].result
    # Too few to be more than rounding, but said.
    odd = test is not None and test.impossible is not None and answer.state in ("no evidence", "too few rows")
    beside = [sentence(test.impossible.summary())] if odd and test is not None and test.impossible is not None else []
    return (_how_far(answer, audit), *beside, *_few_groups(answer, audit), *_what_to_do(answer, audit))


def _few_groups(answer: Answer, audit: Audit) -> list[str]:
    """That groups are too few, and level and slope by them where the headline has not told these."""
    line = audit.group_line
    if line is None:
        return []
    few = sentence(f"{line.what} come from {too_few(line.worth)}")
    if answer.state in _NOT_SEEN and answer.direction is not None:
        return [few]
    return [few, f"By groups, {_numbers(line)}."]


def _numbers(line: GroupLine) -> str:
    return f"{line.numbers}; together {confidence(line.level)} confidence"


def _how_far(answer: Answer, audit: Audit) -> str:
    """How far on these rows, in the population, and what would be too small to matter."""
    here = f"{in_short(answer.size)} on these rows"
    gaps = [abs(each.happened - each.predicted) for each in answer.examples]
    less = _LESS.format(gaps="gaps" if gaps[1:] else "gap") if answer.direction in _TWO_SIDED and gaps else ""
    distance = _DISTANCE.format(less=less if answer.size < min(gaps, default=0.0) else "")
    if answer.interval is None:
        needs = "" if audit.rates else f" without {MAX_WEIGHT}, {_most_of_one(audit)}"
        return f"{distance}: {here}; the population's is not bounded{needs}."
    sure = confidence(audit.level)
    most = most_in_short(answer.interval, answer.max_distance)
    if _by_classes(answer, audit):
        return f"{distance}, of the most probable class: at most {most} in the population ({sure} confidence)."
    if answer.state == "too few rows":
        return (
            f"{distance}: {here}. In the population an error of up to {most} may still hide ({sure} confidence). "
            f"{_matters(answer, audit)}"
        )
    if answer.state == "no evidence":
        return f"{distance}: {here}, at most {most} in the population ({sure} confidence). {_matters(answer, audit)}"
    least = f"at least {least_in_short(answer.interval, answer.max_distance)} and " if answer.interval.low > 0.0 else ""
    each = "each with " if least else ""
    return (
        f"{distance}: {here}, {least}at most {most} in the population ({each}{sure} confidence). "
        f"{_matters(answer, audit)}"
    )


def _matters(answer: Answer, audit: Audit) -> str:
    """Whether the population's distance is beyond the limit of what is too small to matter."""
    assert answer.interval is not None
    usual = default_limit(audit.base_rate, audit.mean_prediction)
    which = "the default max_distance" if answer.max_distance == usual else "max_distance"
    if answer.max_distance == usual < USUAL_LIMIT:
        which += f" here, {default_in_words(audit.base_rate, audit.mean_prediction)}"
    limit = f"{asked(answer.max_distance)} ({which})"
    if answer.interval.high <= answer.max_distance:
        if answer.state == "worth correcting" and audit.classes is None:
            return f"That is within {limit}, but the log loss that it costs is not small."
        over = " over all rows" if answer.action == "look at the parts" else ""
        return f"That is within {limit}: too small to matter{over}."
    if answer.state in ("worth correcting", "not tested") and answer.interval.low > answer.max_distance:
        return f"That is above {limit}: it matters."
    return f"An error up to {limit} is too small to matter."


def _most_of_one(audit: Audit) -> str:
    """What `--max-weight` says."""
    if audit.n_groups is None:
        return "the most that one row can ever weigh"
    return f"the most {'that one group can ever weigh' if audit.weighted else 'rows that one group can ever have'}"


def _every_time(audit: Audit) -> str:
    """What one answer for all rows says: of classes base_rate is how often the most probable one is right."""
    return rate(audit.base_rate) if audit.classes is None else "how often each class occurs"


def _rows_to_collect(gate: GateResult) -> str:
    """How many rows in all may decide: if there is no error, and if it stays as it is on these rows.

    Without an error the upper end falls as one over the root of the rows. Chance moves both: docs/answer.md.
    """
    without = math.ceil(gate.n_rows * (gate.lower_distance.high / gate.max_distance) ** 2)
    least, average = sorted((without, gate.rows_needed or without))
    most = math.ceil(_MARGIN * average)
    if not practical(least, gate.n_rows):
        return "far more rows than these (over ten times as many)"
    fewest = whole(rounded_rows(least))
    if not practical(most, gate.n_rows):
        return f"{fewest} rows in all, or far more"
    return f"{fewest} to {whole(rounded_rows(most))} rows in all"


def _what_to_do(answer: Answer, audit: Audit) -> list[str]:
    action, advice = answer.action, audit.advice
    if action == "leave unchanged":
        return ["What to do: leave the predictions as they are."]
    if action == "collect more rows" and answer.direction is not None:
        return ["What to do: correct level and slope alone (PlattScaling), or collect more groups."]
    if action == "collect more rows":
        if audit.gate is None:  # of weights, trials or groups: without the most that one can weigh nothing is bounded
            return [f"What to do: give {MAX_WEIGHT}. Without it no error is ruled out, however large."]
        most = most_in_short(audit.gate.lower_distance, answer.max_distance)
        return [
            f"What to do: if an error of {most} would matter to you, collect {_rows_to_collect(audit.gate)}. "
            "If not, use the predictions."
        ]
    if action == "check the labels":
        return ["What to do: check that labels or columns are not swapped, before anything else."]
    if action == "predict the base rate":
        return [f"What to do: say {_every_time(audit)} for every row, or find better predictions."]
    alone = blamed(audit, answer.direction)
    if action == "look at the parts" and alone is not None:
        return _repair_alone(alone, audit)
    if action == "look at the parts":
        parts = parts_off(audit)
        where = " and ".join("drift" if kind == "periods" else kind for kind in parts)
        so = {
            "segments": "calibrant.SegmentRecalibrator corrects segments one by one.",
            "periods": "Recalibrate on recent rows.",
        }
        one = "One recalibration for all rows would not repair that."
        return [f"What to do: look at the {where} below. {one} {so[parts[0]]}"]
    if action == "look closer":
        helps = _no_recalibration(audit)
        parts = parts_off(audit)
        if parts:
            closer = "; SegmentRecalibrator corrects segments one by one" if parts[0] == "segments" else ""
            return [f"What to do: look at the {' and '.join(parts)} below{closer}. {helps}"]
        return [f"What to do: look at where it errs. {helps}"]
    if action == "none":
        return [advice.words] if answer.state == "worth correcting" else []
    method = title_of(advice.chosen or "")
    do = f"ecalibrate, by {method}."
    parts = parts_off(audit)
    if alone is not None:
        return _repair_alone(alone, audit)
    if parts:
        which = {"segments": _which_err(audit), "periods": _RECENT}
        do = f"look at the {' and '.join(parts)} below first: {'; '.join(which[part] for part in parts)}. Then r{do}"
    do = f"What to do: {do if parts else f'r{do}'}"
    return [f"{do} {_what_it_gains(audit)}"]


def _no_recalibration(audit: Audit) -> str:
    """Why no recalibration is advised where the error is real."""
    advice = audit.advice
    if audit.classes is None:
        return advice.words
    some = "" if advice.n_compared in (None, audit.n_rows) else f", on {whole(advice.n_compared or 0)} rows drawn"
    return f"No recalibration of the predictions helps beyond chance{some}."


def _what_it_gains(audit: Audit) -> str:
    """What the advised map gains: on new rows, or of classes on rows kept out of its fit."""
    advice = audit.advice
    if advice.gain is not None:
        return advice.gain.summary()
    compared = advice.n_compared or audit.n_rows
    of_rows = "rows" if compared == audit.n_rows else f"{whole(compared)} rows drawn at random, each"
    falls = falls_to(advice["unchanged"], advice[advice.chosen or ""], advice.noise or 0.0)
    if falls is not None:
        return f"On {of_rows} kept out of its fit, the distance falls from {falls}."
    return f"On {of_rows} kept out of its fit, the log score is better."


def _repair_alone(where: Blamed, audit: Audit) -> list[str]:
    """That one segment is to be recalibrated, and no other row."""
    left = abs(where.happened_elsewhere - where.predicted_elsewhere)
    err = f"err by {in_short(left)} on average, within {asked(audit.max_distance)}"
    others = f"The other rows {err}, and one recalibration for all rows would move them too."
    first = f" But look at the periods below first: {_RECENT}." if "periods" in parts_off(audit) else ""
    return [f"What to do: recalibrate where {where.name}, by calibrant.SegmentRecalibrator. {others}{first}"]


def least_in_short(interval: Interval, limit: float) -> str:
    """The lower end, rounded down, and never to a limit that it is above."""
    for digits in (2, 3, 4, 5):
        shown = in_short(interval.low, ROUND_FLOOR, digits)
        if not float(shown) <= limit < interval.low:
            return shown
    return repr(interval.low)


def most_in_short(interval: Interval, limit: float) -> str:
    """The upper end, rounded up, and never beyond a limit that it keeps to."""
    for digits in (2, 3, 4, 5):
        shown = in_short(interval.high, ROUND_CEILING, digits)
        if not interval.high <= limit < float(shown):
            return shown
    return asked(limit)


def two_rates(one: float, other: float) -> tuple[str, str]:
    """Two rates with as many digits as it takes to tell them apart."""
    shown = rate(one), rate(other)
    if abs(one - other) < _SAME:
        return shown
    for digits in range(1, _DIGITS):
        if shown[0] != shown[1]:
            break
        shown = f"{one:.{digits}%}", f"{other:.{digits}%}"
    return shown


def sentences(audit: Audit) -> tuple[str, ...]:
    """The sentences of the verdict."""
    said = []
    if audit.violations:
        failed = "; ".join(inequality.words for inequality in audit.violations)
        said.append(f"ERROR IN CALIBRANT, do not trust this report and please tell its authors: {failed} fails.")
    found = audit.answer
    said += [found.headline, *found.details]
    if audit.cost_of_acting is not None and not audit.cost_of_acting.worst:
        said.append(audit.cost_of_acting.summary())
    if audit.pos_label is not None:
        said.append(f"The positive class is {audit.pos_label!s}: its probability was audited.")
    if audit.classes is not None:
        said += audit.classes.sentences()
    where = blamed(audit, found.direction)
    above = None if where is None else where.name
    if audit.segments:
        said.append(segments_in_words(audit.segments, audit.segmented_by, chance=audit.segments_tested, above=above))
    if audit.found_segments is not None:
        said.append(found_in_words(audit.found_segments, above))
        differ = disagreement(audit)
        if differ is not None:
            said.append(differ)
        said.append("What is said of found segments holds if the predictions were not fitted to these rows.")
    if audit.periods:
        said.append(periods_in_words(audit.periods))
    said.append(discrimination(audit))
    if audit.n_groups is not None:
        said.append(_by_group(audit))
    if audit.rates:
        said.append(sentence(NO_TRIALS))
    return tuple(said)


def _by_group(audit: Audit) -> str:
    """How chance is judged, where it is, and what is not shown for the groups."""
    name = audit.columns.get("groups")
    of = "" if name is None else f" of {name}"
    many, test = counted(audit.n_groups or 0, "group"), audit.tests["calibration_test"].result
    judged = f"Chance is judged by whole groups, {many}{of}. " if isinstance(test, CalibrationTestResult) else ""
    return (
        f"{judged}For groups, the population's cost of acting is not bounded here (calibrant gate --max-regret does)."
    )


def discrimination(audit: Audit) -> str:
    """A useless predictor can be calibrated: how well this one tells outcomes apart."""
    if audit.auc is None:
        return "There is one outcome only, so how well predictions tell outcomes apart is not known."
    told = "area under the ROC curve; 0.5 is a coin, 1 is perfect"
    told += "; below 0.5 it ranks backwards" if audit.answer.action == "check the labels" else ""
    what = "events from the rest" if audit.classes is None else "rows in which its class is right from the rest"
    return f"How well it tells {what}: {audit.auc:.3f} ({told})."


def what_to_do(audit: Audit) -> str:
    """What a section on what to do begins with: the advice, and where parts are to be looked at that first."""
    alone = _to_repair(audit) is not None
    if audit.answer.action != "look at the parts" and not alone:
        return audit.advice.words
    do = audit.answer.details[-1].partition(": ")[2]
    return f"{do[0].upper()}{do[1:]} {'Of all rows together: ' if alone else ''}{audit.advice.words}"


def code(audit: Audit) -> str | None:
    """Lines of Python that do what is advised; None where no recalibration is."""
    where = _to_repair(audit)
    if where is None:
        return audit.advice.code
    y_true, y_prob = (audit.columns.get(each, each) for each in ("y_true", "y_prob"))
    return (
        "from calibrant import SegmentRecalibrator\n"
        f"repair = SegmentRecalibrator({y_prob!r}, features={list(where.features)!r})\n"
        f"repair.fit(rows, rows[{y_true!r}])  # rows kept for this\n"
        "better = repair.predict_proba(new_rows)[:, 1]"
    )


def _to_repair(audit: Audit) -> Blamed | None:
    """The segment that is to be recalibrated, and no other row."""
    found = audit.answer
    return blamed(audit, found.direction) if found.action in ("recalibrate", "look at the parts") else None
