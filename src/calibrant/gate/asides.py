"""What stands beside a gate's verdict: where rows that fail err, and what a small error may cost, as an audit says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calibrant.decisions.line import group_line
from calibrant.door.arguments import N_RESAMPLES
from calibrant.door.ends import in_points, in_short
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.findings.action_catalogue import IF_ALL_RIGHT
from calibrant.findings.advice import advice_on_sample, may_gain
from calibrant.findings.catalogue import BOTH_SIGNS, SURELY, by_groups, could_cost, p_in_words
from calibrant.findings.decision import action_of, decide, rejected, stakes
from calibrant.findings.evidence import evidence
from calibrant.findings.regions import Region, of_no_use
from calibrant.findings.reliability import fitted_curve, places_of
from calibrant.findings.word_catalogue import rate
from calibrant.gate import catalogue as say
from calibrant.gate.result import Asides
from calibrant.inference.bounds.gate import GateResult
from calibrant.recalibration.choose import choose_on_sample, level_and_slope
from calibrant.recalibration.curves.averaged import AveragedCurve

if TYPE_CHECKING:
    from calibrant.door.classes import MulticlassSample

_SEED = 0  # the side of the level on which a p-value lies depends on no seed


def asides(
    gate: GateResult,
    sample: Sample,
    rows: Rows | None,
    *,
    classes: bool = False,
    all_classes: MulticlassSample | None = None,
    misplaced: float = 0.0,
    max_weight: float | None = None,
    max_distance: float | None = None,
) -> Asides:
    """What an audit says of the same rows, by the same curve, test and table of cases.

    `rows` are the sample's one by one where weights, trials or groups tell them apart. Of a sketch's cells `misplaced`
    is what rounding may have misplaced. With `classes` rows are those of the top label, whose costs are not asked; of
    `all_classes` it is said where single ones are off, by the limit that was given or by their own.
    """
    sample = sample if rows is None else rows.sample
    if not sample.binary or gate.verdict == "undecided":
        return Asides()
    if classes and gate.verdict == "within":
        return _of_classes(all_classes, gate.level, max_distance)
    curve = fitted_curve(sample, rows)
    line = None if rows is None else group_line(rows, gate.level)
    few = "" if line is None or line.direction is None else by_groups(line, classes=classes)
    if gate.verdict == "beyond":
        return Asides(where=_where(gate, sample, rows, curve, classes) or few)
    if few:
        return Asides(
            warning=f"{few[0].lower()}{few[1:]}", action=f"{level_and_slope(classes=classes)} {say.FEW_GROUPS}"
        )
    two = may_gain(sample)
    gain = choose_on_sample(sample, rows, False, gate.level, curve=curve).gain if two else None
    if stakes(gain) == "small":
        return Asides()
    if gate.anytime:  # the test is for one look
        return Asides(warning=f"{could_cost(gain, 'an error within the limit')}.", action=IF_ALL_RIGHT)
    return _of_test(gate, sample, rows, curve, classes, misplaced, max_weight)


def _of_test(
    gate: GateResult,
    sample: Sample,
    rows: Rows | None,
    curve: AveragedCurve,
    classes: bool,
    misplaced: float,
    max_weight: float | None,
) -> Asides:
    """Of an error within the limit that may cost something: whether the test shows it, and what to do."""
    how = sample, rows, sample.weights_differ, gate.level, N_RESAMPLES, _SEED, misplaced, max_weight
    test = evidence(*how)["calibration_test"].result
    advice = advice_on_sample(sample, rows, test, gate, gate.level, curve)
    cost = stakes(advice.gain)
    if test is None or not rejected(test, gate):
        return Asides(warning=say.NO_SIGN.format(cost=could_cost(advice.gain, "one")), action=IF_ALL_RIGHT)
    near = could_cost(advice.gain)
    if cost == "large" and advice.gain is not None:
        near = say.IMPROVES.format(by=advice.gain.log_loss.summary())
    error = say.REAL
    if test.reject and test.pvalue >= SURELY:  # not sure
        error = say.NOT_SURE.format(p=p_in_words(test.pvalue, gate.level))
    where = _where(gate, sample, rows, curve, classes) if test.reject else ""  # not by outcomes that cannot be
    recalibrates = action_of(decide(test, gate, cost=cost), advice, ()) == "recalibrate"
    return Asides(
        warning=f"{error}: {near}. {where}".rstrip(), action=say.CORRECT_ALL_THE_SAME if recalibrates else say.SEE_AUDIT
    )


def _of_classes(sample: MulticlassSample | None, level: float, max_distance: float | None) -> Asides:
    """That single classes are off where the top label passes, as an audit finds them; nothing where none are known."""
    if sample is None:
        return Asides()
    from calibrant.findings.classes import single_classes  # with tests that few gates need

    questions, result, state = single_classes(sample, level, max_distance)
    if state != "worth correcting":
        return Asides()
    off = [each for each in questions if each.qvalue is not None and each.qvalue <= result.level]
    worst = max(off, key=lambda each: each.lower_calibration_distance)
    size = in_points(in_short(worst.lower_calibration_distance))
    return Asides(warning=say.CLASSES_OFF.format(worst=worst.name, size=size), action=say.SEE_CLASSES)


def _where(gate: GateResult, sample: Sample, rows: Rows | None, curve: AveragedCurve, classes: bool) -> str:
    """Say which way predictions err, and where, as an audit's headline does; empty where a curve cannot tell."""
    places, level = places_of(sample, rows, curve, gate.level, classes=classes), gate.level
    if places is None:
        return ""
    places = replace(places, already=places.unit != "row")
    if places.unit == "row":  # those without weight, too
        places = replace(places, n_rows=gate.n_rows)
    if not classes and may_gain(sample):
        choice = choose_on_sample(sample, rows, True, level, curve=curve)
        if choice.direction == "wrong":
            return places.backwards()
        if choice.chosen == "constant":
            return of_no_use(rate(places.happened), better=choice.gain is not None and choice.gain.proved)
    examples = places.examples()
    return f"{places.sentence(examples)} {_cancel(gate, examples)}".rstrip()


def _cancel(gate: GateResult, examples: tuple[Region, ...]) -> str:
    """Why rows err by more than the bound of a gate that passes: a distance takes errors of both signs together."""
    error = sum(each.share * abs(each.mean_error) for each in examples)
    both = len({each.direction for each in examples}) > 1
    return BOTH_SIGNS if gate.verdict == "within" and both and error > gate.lower_distance.high else ""
