"""What to do, in words: the last line of the answer, and the lines of Python that do it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from calibrant.door.coding import equalities
from calibrant.door.ends import as_points, in_points, in_short
from calibrant.door.premises import LEAST_FOLLOWED, if_chosen
from calibrant.door.weights import SamplingFractions
from calibrant.findings.advice import lines_of_fit
from calibrant.findings.decision import (
    Answer,
    Blamed,
    blamed,
    few_groups_err,
    found_off,
    named_off,
    parts_off,
    since,
    split_by_alarm,
)
from calibrant.findings.word_catalogue import MAX_WEIGHT, period_in_words, rate, share_of_score, whole
from calibrant.inference.bounds.gate import asked, most_in_short, rows_to_collect
from calibrant.inference.bounds.tally import rounded_rows
from calibrant.recalibration.choose import falls_to, level_and_slope
from calibrant.recalibration.curves.base import title_of
from calibrant.resampling.redraw import LEAST_GROUPS

if TYPE_CHECKING:
    from calibrant.door.premises import Followed
    from calibrant.findings.record import AuditRecord
    from calibrant.recalibration.gain import RecalibrationGain

# What a line begins with that says what to do.
DO = "Do: "
# Where a small error may cost much, and none is seen.
IF_ALL_RIGHT = "use the predictions if that is all right for you. If not, collect more rows first."
_CORRECT = "correct the predictions before you use them (recalibrate, by the code on the page)"
_AVERAGED = ("averaged", "averaged_classes")
_ONE_BY_ONE = "SegmentRecalibrator corrects segments one by one"
_REPAIRS = ("recalibrate", "look at the parts", "look closer")  # actions that one segment to blame makes its own
_TIMES = 10  # as many groups: more are no number to plan with
_SAME_GROUPS = "More rows of the same ones help little."
_LITTLE = 0.0005  # of the score: less is told as less than a tenth of a per cent


def action_line(answer: Answer, audit: AuditRecord) -> str:
    """The line that says what to do, or why nothing is advised."""
    do = _what_to_do(answer, audit)
    if audit.perhaps_sampled is not None:  # rows cannot tell which, and the other way another thing is to be done
        first = if_chosen(audit.refuse_fractions)
        return f"{DO}{first[0].lower()}{first[1:]} {f'If not, {do}' if do[0].islower() else do}"
    return f"{DO}{do}" if do[0].islower() else do


def _what_to_do(answer: Answer, audit: AuditRecord) -> str:
    """One thing to do, beginning with its verb in lower case; or why nothing is advised."""
    action, alone = answer.action, blamed(audit, answer.direction)
    if alone is not None and action in _REPAIRS:
        return _repair_alone(alone, answer, audit)
    match action:
        case "leave unchanged":
            return _leave(audit)
        case "collect more rows":
            return _collect(answer, audit)
        case "check the labels":
            return "check whether yes and no are swapped, in labels or columns. Do not use the predictions before that."
        case "predict the base rate":
            return f"use {every_time(audit)} for every row instead, until there are better predictions."
        case "look at the parts":
            return _look_at_parts(audit)
        case "look closer":
            return _look_closer(audit)
        case "recalibrate":
            return _recalibrate(answer, audit)
        case "none":
            return f"do not rely on the predictions yet. {audit.advice.words}"


def _leave(audit: AuditRecord) -> str:
    gain = audit.advice.gain
    worth = "" if gain is None else f" Correcting would improve the score (log loss) by {_no_more_than(gain)}."
    return f"use the predictions as they are, and change nothing.{worth}"


def _look_at_parts(audit: AuditRecord) -> str:
    if parts_off(audit)[0] == "periods":
        return _on_recent(audit)
    return f"{_these_segments(audit)}, and leave all other rows as they are (SegmentRecalibrator).{_drift_too(audit)}"


def _look_closer(audit: AuditRecord) -> str:
    parts = parts_off(audit)
    if "segments" in parts:
        little = f"One correction for all rows helps little.{_drift_too(audit)}"
        return f"{_these_segments(audit)} (SegmentRecalibrator). {little}"
    some = " Some periods are off." if parts else ""
    return f"look at where they err before you use them.{some} {_no_recalibration(audit)}"


def _drift_too(audit: AuditRecord) -> str:
    return " Some periods are off as well." if "periods" in parts_off(audit) else ""


def _recalibrate(answer: Answer, audit: AuditRecord) -> str:
    if since(audit, answer.direction) is not None:
        return _on_recent(audit)
    advice, parts = audit.advice, parts_off(audit)
    by = "" if advice.chosen in _AVERAGED else f" by {title_of(advice.chosen or '')}"
    gains = f"{_CORRECT}{by}. {_what_it_gains(audit)}"
    if not parts:
        return gains
    if parts[0] == "periods":
        return f"find out whether something changed. If so, correct with the rows since it did; if not, {gains}"
    if _to_one_side(audit):
        return f"{gains} All {len(audit.segments)} segments are off to the same side on average."
    return f"{gains} Single segments are off: if they err unlike one another, {_ONE_BY_ONE}."


def _to_one_side(audit: AuditRecord) -> bool:
    """Whether every named segment is off, mostly to the same side, and none twice as far as another: one map may do.

    A distance from calibration is at least the mean error, and equal to it where a segment errs to one side alone.
    """
    if len(audit.segments) < 2 or found_off(audit) or not all(named_off(audit, each) for each in audit.segments):
        return False
    errors = np.array([each.base_rate - each.mean_prediction for each in audit.segments])
    far = np.array([each.lower_distance_bracket.upper for each in audit.segments])
    one_side = bool((np.sign(errors) == np.sign(errors[0])).all() and (np.abs(errors) > 0.9 * far).all())
    return one_side and float(np.abs(errors).max()) < 2.0 * float(np.abs(errors).min())


def _these_segments(audit: AuditRecord) -> str:
    """Name the segments to correct, where all rows together are not off."""
    named = [equalities(audit.segmented_by, each.key) for each in audit.segments if named_off(audit, each)]
    off = list(dict.fromkeys((*named, *(each.name for each in found_off(audit)))))
    return f"correct the rows with {off[0]} alone" if len(off) == 1 else "correct each of these segments by itself"


def _on_recent(audit: AuditRecord) -> str:
    """Advise on predictions that err since some period."""
    _, error, after = split_by_alarm(audit)
    if after is not None:
        return "find out what happened then. Do not correct later predictions by those rows."
    when = period_in_words(error.first)
    return f"find out what changed. If it lasts, correct the predictions with the rows since {when} (recalibrate)."


def _no_more_than(gain: RecalibrationGain) -> str:
    most = gain.log_loss.possible_share
    return "less than 0.1%" if most < _LITTLE else f"at most {share_of_score(most)}"


def _collect(answer: Answer, audit: AuditRecord) -> str:
    """Say how many rows would show an error; with weights, trials or groups, what a bound needs before that."""
    if answer.direction is not None:
        until = level_and_slope(classes=audit.classes is not None)
        return f"collect rows of {_more_groups(audit)}. Until then {until}."
    if audit.gate is None or answer.interval is None:
        few_groups = answer.pvalue is None or audit.group_line is not None
        if audit.n_groups is not None and (few_groups or audit.n_groups < LEAST_GROUPS):
            return f"collect rows of {_more_groups(audit)} before you rely on the predictions. {_SAME_GROUPS}"
        return f"run this again with {what_bounds(audit)}: that bounds the error."
    if audit.gate.verdict == "within":
        return IF_ALL_RIGHT
    rows = rows_to_collect(audit.gate)
    decide = f"They may decide whether the error is above {in_points(asked(answer.max_distance))}."
    if audit.group_line is not None:  # fewer than any test needs
        rows, decide = f"rows of {_more_groups(audit)}", _SAME_GROUPS
    if answer.interval.high >= _spread(audit):  # so far off they would tell no row from another
        return f"collect {rows} before you rely on the predictions. {decide}"
    most = in_points(most_in_short(answer.interval, answer.max_distance))
    return f"use the predictions if an error of {most} is all right for you. If not, collect {rows} first. {decide}"


def _spread(audit: AuditRecord) -> float:
    """How far predictions are from their mean, on average: one number for all rows is no farther from them."""
    at, mass = audit.reliability.prediction, audit.reliability.mass
    mean = float(mass @ at) / float(mass.sum())
    return float(mass @ np.abs(at - mean)) / float(mass.sum())


def _more_groups(audit: AuditRecord) -> str:
    """About how many more groups like these are enough."""
    name, line = audit.columns.get("groups"), audit.group_line
    of = "" if name is None else f" (column {name})"
    if line is None or audit.n_groups is None:
        return f"more groups{of}"
    more = more_groups(audit.n_groups, line.worth)
    if more > _TIMES * audit.n_groups:
        return f"far more groups{of}, over ten times as many"
    return f"about {more:,} more {'group' if more == 1 else 'groups'}{of}"


def more_groups(n_groups: int, worth: float) -> int:
    """About how many more groups like these are needed, which are worth so many alike."""
    return rounded_rows(math.ceil(n_groups * (LEAST_GROUPS / worth - 1.0)))


def _no_recalibration(audit: AuditRecord) -> str:
    """Why no recalibration is advised where the error is real."""
    advice = audit.advice
    if audit.classes is None:
        return advice.words
    some = "" if advice.n_compared in (None, audit.n_rows) else f", on {whole(advice.n_compared or 0)} rows drawn"
    return f"No recalibration of the predictions helps beyond chance{some}."


def _what_it_gains(audit: AuditRecord) -> str:
    """Say what the advised map gains on new rows; for classes, on rows that its fit did not use."""
    advice = audit.advice
    if advice.gain is not None:
        return advice.gain.summary()
    compared = advice.n_compared or audit.n_rows
    of_rows = "rows" if compared == audit.n_rows else f"{whole(compared)} rows drawn at random, each"
    falls = falls_to(advice["unchanged"], advice[advice.chosen or ""], advice.noise or 0.0)
    if falls is not None:
        return f"On {of_rows} that the correction has not seen, the error falls from {falls}."
    return f"On {of_rows} that the correction has not seen, the score (log loss) is better."


def _repair_alone(where: Blamed, answer: Answer, audit: AuditRecord) -> str:
    """That one segment is to be recalibrated, and no other row; the limit is named where no line before has it."""
    left = abs(where.happened_elsewhere - where.predicted_elsewhere)
    above = answer.interval is not None and answer.interval.high <= audit.max_distance
    limit = "within the limit" if above else f"within the limit of {as_points(asked(audit.max_distance))}"
    others = f"The other rows err by {in_points(in_short(left))} on average, {limit}."
    first = (
        " Some periods are off as well: find out whether something changed." if "periods" in parts_off(audit) else ""
    )
    return f"correct the rows with {where.name} alone (SegmentRecalibrator). {others}{first}"


def every_time(audit: AuditRecord) -> str:
    """The one answer that fits all rows: the event rate, or how often each class occurs."""
    return rate(audit.base_rate) if audit.classes is None else "how often each class occurs"


def what_bounds(audit: AuditRecord) -> str:
    """Say what option bounds the error for the population, where none was given that does."""
    others = set(audit.refuse_fractions) - {"--sample-weight"}  # whose place they take
    if audit.sampling_fractions is None or audit.n_groups is not None or others:
        return f"{MAX_WEIGHT}, {most_of_one(audit)}"
    from calibrant.tables.columns import may_hold_weights

    named = bool(audit.refuse_fractions)
    left_out = not named or may_hold_weights(audit.columns["sample_weight"])
    way = f"--sampling-fractions {SamplingFractions(*audit.sampling_fractions).option} (in Python sampling_fractions)"
    place = "--sample-weight" if named else "the weights"
    return f"{'--unweighted ' if left_out else ''}{way}, in place of {place}"


def most_of_one(audit: AuditRecord) -> str:
    """Say what number `--max-weight` takes."""
    one = "row" if audit.n_groups is None else "group"
    if audit.trials:
        return f"the most outcomes that one {one} can ever have"
    if audit.n_groups is None or audit.weighted:
        return f"the most that one {one} can ever weigh"
    return "the most rows that one group can ever have"


def what_to_do(answer: Answer, audit: AuditRecord) -> str:
    """Begin a section on what to do: with the parts, where they are to be looked at first, and with the advice."""
    alone = to_repair(answer, audit) is not None
    if answer.action != "look at the parts" and not alone:
        return answer.details[-1] if few_groups_err(answer) else audit.advice.words
    do = answer.details[-1]
    return f"{do} {'Of all rows together: ' if alone else ''}{audit.advice.words}"


def code(answer: Answer, audit: AuditRecord) -> str | None:
    """Lines of Python that do what is advised; None where no recalibration is."""
    where = to_repair(answer, audit)
    if where is None and since(audit, answer.direction) is not None:
        return None  # it is of rows since then, which the page does not have apart
    if where is None:
        advised = _level_and_slope(audit) if few_groups_err(answer) else audit.advice.code
        return advised if advised is None or audit.followed is None else _outcomes_at_horizon(audit.followed) + advised
    y_true, y_prob = (audit.columns.get(each, each) for each in ("y_true", "y_prob"))
    more, weight = _weights_of_repair(audit, y_true)
    return (
        f"{more}from calibrant import SegmentRecalibrator\n"
        f"repair = SegmentRecalibrator({y_prob!r}, features={list(where.features)!r})\n"
        "# rows are those kept for this\n"
        f"repair.fit(rows, rows[{y_true!r}]{weight})\n"
        "better = repair.predict_proba(new_rows)[:, 1]"
    )


def _level_and_slope(audit: AuditRecord) -> str | None:
    """Lines that correct level and slope alone; None of rows of trials, which that fit does not take."""
    if audit.trials:
        return None
    kind = "PlattScaling" if audit.classes is None else "TemperatureScaling"
    if audit.sampling_fractions is not None and audit.fractions_given:
        weight = _weight_of(audit.sampling_fractions, "y_true")
        return f"import numpy\n{lines_of_fit(kind, f'y_prob, y_true, {weight}')}"
    weighted = audit.weighted or audit.followed is not None
    return lines_of_fit(kind, "y_prob, y_true, sample_weight" if weighted else "y_prob, y_true")


def _weights_of_repair(audit: AuditRecord, y_true: str) -> tuple[str, str]:
    """What the repair of a segment imports, and its argument, where rows were sampled by outcome."""
    if audit.sampling_fractions is None:
        return "", ""
    if "sample_weight" in audit.columns:
        return "", f", sample_weight=rows[{audit.columns['sample_weight']!r}]"
    return "import numpy\n", f", sample_weight={_weight_of(audit.sampling_fractions, f'rows[{y_true!r}]')}"


def _weight_of(fractions: tuple[float, float], expression: str) -> str:
    """What rows sampled by outcome weigh, in Python."""
    without, event = SamplingFractions(*fractions).weights
    return f"numpy.where({expression} == 1, {event}, {without})"


def _outcomes_at_horizon(followed: Followed) -> str:
    """Lines that make outcomes and weights of followed rows."""
    strata = followed.strata[0] if len(followed.strata) == 1 else list(followed.strata)
    more = [f"strata=rows[{strata!r}]"] if strata else []
    if followed.least_followed != LEAST_FOLLOWED:
        more.append(f"least_followed={followed.least_followed!r}")
    columns = f"rows[{followed.time!r}], rows[{followed.event!r}]"
    return (
        "from calibrant import censored_outcomes\n"
        f"known = censored_outcomes({', '.join((columns, f'{followed.horizon!r}', *more))})\n"
        "y_true, sample_weight = known.y_true, known.sample_weight\n"
    )


def to_repair(answer: Answer, audit: AuditRecord) -> Blamed | None:
    """The segment that is to be recalibrated alone, if one is."""
    return blamed(audit, answer.direction) if answer.action in _REPAIRS else None


def short_action(answer: Answer, audit: AuditRecord) -> str:
    """Name the action in a few words, with the segment that is to be corrected alone, or the error that may hide."""
    alone = to_repair(answer, audit)
    if alone is not None:
        return f"correct {alone.name} alone"
    if answer.action != "collect more rows":
        return answer.action
    if audit.group_line is not None or answer.direction is not None:
        return "collect more groups"
    if answer.interval is None or answer.interval.high >= _spread(audit):
        return answer.action
    return f"use if {in_points(most_in_short(answer.interval, answer.max_distance))} off is all right"
