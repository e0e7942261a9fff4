"""Words of the page beside its headline: what to do, and whether the curve leaves its band."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import Interval, audit
from calibrant.findings import action_catalogue, catalogue
from calibrant.findings.action_catalogue import action_line, code, what_to_do
from calibrant.findings.catalogue import (
    _drift_in_words,
    _found_segment,
    _how_small,
    _how_sure_and_far,
    _may_hide,
    _named_segment,
    _parts_in_words,
    _those,
    _what,
    _where,
    _why_real,
    sentences,
)
from calibrant.findings.decision import Blamed
from calibrant.inference.bounds.gate import GateResult
from tests.findings.parts import an_answer, an_audit, found, period, segment

RNG = np.random.default_rng(0)
P = RNG.random(500)
OPTIONS = {"n_resamples": 39, "random_state": 0}


@pytest.mark.parametrize(("power", "action"), [(1.0, "collect more rows"), (3.0, "recalibrate")])
def test_what_to_do_is_the_advice_where_no_part_is_blamed(power, action):
    found = audit(RNG.random(500) < P**power, P, **OPTIONS)
    assert found.answer.action == action
    assert what_to_do(found.answer, found) == found.advice.words
    assert code(found.answer, found) == found.advice.code
    assert (code(found.answer, found) is None) == (action != "recalibrate")


@cache
def slightly_off():
    v = np.linspace(0.01, 0.99, 600)
    return audit(np.random.default_rng(0).random(600) < v**1.6, v, max_distance=0.3, **OPTIONS)


@pytest.mark.parametrize("rejects", [True, False])
def test_what_is_too_small_to_matter_is_said_to_be_so_once(rejects):
    found = slightly_off()
    test = found.tests["calibration_test"]
    test = replace(test, result=replace(test.result, reject=rejects))
    answer = replace(found.answer, state="too small to matter", action="leave unchanged")
    (said,) = _how_sure_and_far(answer, replace(found, tests={**found.tests, "calibration_test": test}))
    assert said.count("too small to matter") == 1
    assert said.count("the limit of 30") == 1
    assert not re.search(r"[.,:] *[.,:]|matter[^:]", said)


@pytest.mark.parametrize("direction", ["too high", "uneven"])
@pytest.mark.parametrize(("state", "proved"), [("no evidence", True), ("too few rows", False)])
@pytest.mark.parametrize("pvalue", [0.3, None])
def test_of_one_kind_that_is_seen_the_others_are_within_the_limit_or_may_hide(direction, state, proved, pvalue):
    answer = replace(slightly_off().answer, state=state, direction=direction, action="leave unchanged", pvalue=pvalue)
    (said,) = _how_sure_and_far(answer, slightly_off())
    assert ("could still hide" not in said) == proved
    assert ("(p " in said) == (not proved and pvalue is not None)
    assert "the limit of 30" in said


@pytest.mark.parametrize("high", [0.1, 0.999, 1.0])
def test_rows_that_rule_out_no_error_are_told_no_size(high):
    said = _may_hide(replace(slightly_off().answer, interval=Interval(0.0, high)), slightly_off())
    assert ("rule out no error" in said) == (high == 1.0) == ("points" not in said)


def test_what_a_correction_would_gain_is_told_where_it_is_known():
    found = slightly_off()
    unchanged = replace(found.answer, action="leave unchanged")
    nothing_known = replace(found, advice=replace(found.advice, gain=None))
    assert found.advice.gain is not None
    for audited, known in ((found, True), (nothing_known, False)):
        assert ("Correcting would improve" in action_line(unchanged, audited)) == known


@pytest.mark.parametrize("action", ["recalibrate", "look at the parts", "look closer"])
def test_one_segment_to_blame_is_corrected_alone(monkeypatch, action):
    found = slightly_off()
    one = Blamed("place = north", ("place",), 100, 0.5, 0.7, 0.4, 0.41)
    monkeypatch.setattr(action_catalogue, "blamed", lambda *_: one)
    said = action_line(replace(found.answer, action=action), found)
    assert "place = north" in said
    assert said.startswith("Do: ")


def test_a_segment_that_errs_in_a_part_is_told_by_its_words_alone():
    means = {"name": "region = north", "mean_prediction": 0.3, "base_rate": 0.2, "n_rows": 500, "n_unknown": 0}
    in_part = SimpleNamespace(in_part=True, words="too high between 0.2 and 0.4 for region = north", **means)
    assert _found_segment(in_part) == "Too high between 0.2 and 0.4 for region = north (500 rows)"
    whole = SimpleNamespace(in_part=False, **means)
    assert _found_segment(whole) == "Too high for region = north: 30% predicted, 20% happened (500 rows)"


ONE = Blamed("place = north", ("place",), 100, 0.5, 0.7, 0.4, 0.413)
THERE = "place = north: 50% predicted, 70% happened (100 rows). Elsewhere 40% predicted, 41% happened."
OFF = segment("a", 0.4, 0.6)
OFF_IN_WORDS = "Too low for place = a: 40% predicted, 60% happened (100 rows)"
FALSE = "Of segments called off, 5% may be false alarms."
BEYOND = GateResult("beyond", 0.02, Interval(0.03, 0.05), 0.05, 100, None)
REAL = {"state": "worth correcting", "action": "recalibrate", "pvalue": 1e-9}


def a_test(*, reject, impossible=None):
    """The calibration test of an audit, with what it says."""
    result = SimpleNamespace(reject=reject, impossible=impossible, level=0.05, statistic=1.0)
    return {"calibration_test": SimpleNamespace(result=result, not_run=None)}


def not_tested(why):
    """The calibration test of an audit that has none."""
    return {"calibration_test": SimpleNamespace(result=None, not_run=why)}


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ([OFF], f"{OFF_IN_WORDS}. {FALSE}"),
        ([OFF, segment("b", 0.4, 0.7)], f"{OFF_IN_WORDS}. 1 more segment is off. {FALSE}"),
        (
            [OFF, segment("b", 0.4, 0.7), segment("c", 0.6, 0.4), segment("d", 0.6, 0.3)],
            f"{OFF_IN_WORDS}. Too high for place = c: 60% predicted, 40% happened (100 rows). "
            f"2 more segments are off. {FALSE}",
        ),
        ([OFF, segment("c", 0.6, 0.4, off=False)], f"{OFF_IN_WORDS}. {FALSE}"),
    ],
)
def test_segments_are_told_by_the_first_of_either_direction_and_the_others_are_counted(segments, said):
    assert _parts_in_words(an_audit(segments=tuple(segments))) == said
    searched = found("x", -0.2)
    assert _parts_in_words(an_audit(segments=tuple(segments), found_segments=searched)) == said  # named ones come first


@pytest.mark.parametrize(
    ("pvalue", "sure"), [(1e-9, "This is not chance (p = 1e-9"), (0.01, "Chance alone rarely does this (p = 0.01")]
)
def test_found_segments_are_told_by_the_first_of_either_direction(pvalue, sure):
    high = found("x", -0.2, pvalue=pvalue)
    said = "Too high for c = x: 50% predicted, 30% happened (100 rows). "
    assert _parts_in_words(an_audit(found_segments=high)).startswith(f"{said}{sure}, allowing for 9 segments).")
    high.segments = (*high.segments, *high.segments, *found("y", 0.1).segments)
    low = "Too low for c = y: 50% predicted, 60% happened (100 rows). "
    assert _parts_in_words(an_audit(found_segments=high)).startswith(f"{said}{low}{sure}")


@pytest.mark.parametrize(
    ("happened", "later", "said"),
    [
        (0.9, None, "Too low since about period 1: 50% predicted, 90% happened (1,000 rows)"),
        (0.1, None, "Too high since about period 1: 50% predicted, 10% happened (1,000 rows)"),
        (0.521, None, "Too low since about period 1: 50% predicted, 52% happened (1,000 rows)"),
        (0.519, None, "Wrong, now too high and now too low, since about period 1: 50% predicted, 52% happened"),
        (0.481, None, "Wrong, now too high and now too low, since about period 1: 50% predicted, 48% happened"),
        (
            0.9,
            0.5,
            "Too low from about period 1 on: 50% predicted, 90% happened (1,000 rows). "
            "That ended about period 2: 50% predicted, 50% happened (1,000 rows)",
        ),
    ],
)
def test_drift_is_told_by_the_mean_error_where_that_matters(happened, later, said):
    periods = [period(0, 1_000, 0.5, 0.5), period(1, 1_000, 0.5, happened, off=True)]
    periods += [] if later is None else [period(2, 1_000, 0.5, later, off=True)]
    audit = an_audit(periods=tuple(periods))
    assert _drift_in_words(audit).startswith(said)
    assert _parts_in_words(audit).endswith(". The risk of any false alarm is 5%.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, OFF_IN_WORDS),
        ({"base_rate": 0.2}, "Too high for place = a: 40% predicted, 20% happened (100 rows)"),
        ({"where": (0.0, 1.0)}, OFF_IN_WORDS),
        ({"where": (0.25, 0.5)}, "place = a: predictions too low in [0.25, 0.5) (100 rows)"),
        ({"where": (0.25, 1.0)}, "place = a: predictions too low in [0.25, 1] (100 rows)"),
    ],
)
def test_a_segment_is_told_by_its_rates_or_by_where_it_errs(change, said):
    assert _named_segment(SimpleNamespace(**{**vars(OFF), **change}), ["place"]) == said


@pytest.mark.parametrize(
    ("others", "periods", "said"),
    [
        ((), (), "In that segment it is not small."),
        ((OFF,), (), "In that segment it is not small, nor in 1 other segment."),
        ((OFF, segment("b", 0.4, 0.6)), (), "In that segment it is not small, nor in 2 other segments."),
        ((), (period(0, 9, 0.5, 0.9, off=True),), "In that segment it is not small. Some periods are off as well."),
    ],
)
def test_beside_the_segment_to_blame_the_other_parts_are_counted(others, periods, said):
    audit = an_audit(segments=(segment("north", 0.5, 0.7), *others), periods=periods)
    assert _those(audit, ONE) == said
    assert _those(an_audit(segments=(OFF,)), None) == f"{OFF_IN_WORDS}. {FALSE}"


@pytest.mark.parametrize(
    ("reply", "audit", "said"),
    [
        ({"state": "not tested"}, {"tests": not_tested("no trials")}, "Not tested for chance: no trials."),
        (REAL, {"classes": object()}, "Single classes are off, though the most probable one shows no sign of error."),
        (
            REAL | {"action": "predict the base rate"},
            {"tests": a_test(reject=True)},
            "Of no proved use: predicting 50% for every row may do as well.",
        ),
        (
            REAL | {"action": "predict the base rate"},
            {"tests": a_test(reject=True), "classes": object()},
            "Of no proved use: predicting how often each class occurs for every row may do as well.",
        ),
        (
            REAL | {"action": "check the labels"},
            {"tests": a_test(reject=True)},
            "Backwards, as if yes and no were swapped: the higher the prediction, the rarer the event.",
        ),
        (
            REAL | {"direction": "too low"},
            {"tests": a_test(reject=True), "base_rate": 0.6},
            "Too low on average: 50% predicted, 60% happened (1,000 rows).",
        ),
        (
            REAL | {"direction": "too low", "state": "too small to matter"},
            {"tests": a_test(reject=True), "base_rate": 0.6},
            "Slightly too low on average: 50% predicted, 60% happened (1,000 rows).",
        ),
    ],
)
def test_the_first_line_is_that_of_the_state(reply, audit, said):
    assert _what(an_answer(**reply), an_audit(**audit)) == said


@pytest.mark.parametrize(("reject", "gate", "told"), [(False, None, True), (True, None, False), (False, BEYOND, False)])
def test_impossible_outcomes_are_the_first_line_where_nothing_else_proves_an_error(reject, gate, told):
    rows = SimpleNamespace(summary=lambda: "3 rows predicted 0 or 1 were wrong", by_rounding=0.01)
    audit = an_audit(tests=a_test(reject=reject, impossible=rows), gate=gate)
    said = _what(an_answer(**REAL, direction="too high"), audit)
    assert (said == "3 rows predicted 0 or 1 were wrong.") is told
    assert said.startswith("Too high on average: ") is not told


@pytest.mark.parametrize(("proved", "does"), [(True, "does better"), (False, "may do as well")])
def test_one_answer_for_every_row_does_better_where_that_is_proved(proved, does):
    advice = SimpleNamespace(gain=SimpleNamespace(proved=proved))
    audit = an_audit(tests=a_test(reject=True), advice=advice)
    said = _what(an_answer(**(REAL | {"action": "predict the base rate"})), audit)
    assert said == f"Of no proved use: predicting 50% for every row {does}."


@pytest.mark.parametrize(
    ("direction", "blame", "audit", "said"),
    [
        (None, ONE, {}, f"Too low for {THERE}"),
        (None, replace(ONE, happened=0.3), {}, f"Too high for {THERE.replace('70%', '30%')}"),
        ("too low", ONE, {}, f"Too low for {THERE}"),
        (None, None, {"segments": (OFF,)}, f"{OFF_IN_WORDS}. {FALSE}"),
        (None, None, {}, "Not calibrated, though no range of predictions stands out."),
        ("too low", None, {"segments": (OFF,), "base_rate": 0.6}, "Too low on average: 50% predicted, 60% happened"),
    ],
)
def test_a_real_error_is_told_by_what_it_comes_from(monkeypatch, direction, blame, audit, said):
    monkeypatch.setattr(catalogue, "blamed", lambda *_: blame)
    reply = an_answer(**REAL, direction=direction)
    assert _where(reply, an_audit(tests=a_test(reject=True), **audit)).startswith(said)


def test_an_error_since_some_period_is_told_so():
    periods = (period(0, 1_000, 0.5, 0.5), period(1, 1_000, 0.5, 0.9, off=True))
    said = "Too low since about period 1: 50% predicted, 90% happened (1,000 rows)."
    assert _where(an_answer(**REAL), an_audit(periods=periods)) == said


@pytest.mark.parametrize(
    ("audit", "reply", "said"),
    [
        ({"classes": object()}, {}, "Classes are tested at one level for all. "),
        ({"segments": (OFF,)}, {}, ""),
        ({"segments": (OFF,)}, {"direction": "too low"}, "That does not depend on the test (p = 1e-9). "),
        ({"gate": BEYOND, "tests": not_tested("x")}, {}, "A bound proves this, without a test. "),
        ({"tests": not_tested("x")}, {}, ""),
        ({"tests": a_test(reject=True)}, {}, "This is not chance (p = 1e-9). "),
        ({"tests": a_test(reject=True)}, {"pvalue": 0.01}, "Chance alone rarely does this (p < 0.05). "),
        ({"gate": BEYOND}, {"pvalue": 0.3}, "A bound proves this; the test alone does not see it (p > 0.05). "),
        ({"gate": BEYOND, "perhaps_groups": "id"}, {}, "A bound proves this; the test alone does not see it if rows "),
    ],
)
def test_why_an_error_is_real(audit, reply, said):
    assert _why_real(an_answer(**{**REAL, **reply}), an_audit(**audit)).startswith(said)
    assert said or not _why_real(an_answer(**{**REAL, **reply}), an_audit(**audit))


@pytest.mark.parametrize(
    ("reply", "audit", "parts"),
    [
        ({"direction": "too low"}, {"segments": (OFF,)}, f" {OFF_IN_WORDS}. {FALSE}"),
        ({}, {"segments": (OFF,)}, ""),  # which the headline told
    ],
)
def test_parts_are_told_once_beside_an_error_that_is_small(reply, audit, parts):
    small = {"state": "too small to matter", "interval": Interval(0.0, 0.01), "action": "look at the parts", **reply}
    said = "Over all rows it is small: at most 1.0 points on average, below the limit of 2 (95% confidence)."
    assert _how_small(an_answer(**small), an_audit(tests=a_test(reject=True), **audit)) == f"{said}{parts}"


@pytest.mark.parametrize("violations", [(), ("a <= b",), ("a <= b", "c <= d")])
def test_an_error_of_this_library_is_the_first_sentence(violations):
    broken = replace(slightly_off(), ties=replace(slightly_off().ties, inequalities=tuple(map(Fails, violations))))
    first, *rest = sentences(broken)
    assert rest[-len(sentences(slightly_off())) + 1 :] == list(sentences(slightly_off()))[1:]
    said = f"ERROR IN CALIBRANT, do not trust this report and please tell its authors: {'; '.join(violations)} fails."
    assert (first == said) == bool(violations)
    assert any("ERROR" in each for each in sentences(broken)) == bool(violations)


class Fails:
    """An inequality that does not hold."""

    holds = False

    def __init__(self, words):
        self.words = words


@pytest.mark.parametrize(
    ("pvalue", "level", "said"),
    [
        (0.0009, 0.5, "This is not chance"),
        (0.001, 0.05, "Chance alone rarely does this"),
        (0.1, 0.1, "Chance alone rarely does this"),
        (0.01, 0.11, "Chance alone does this in up to 11% of cases"),
        (0.4, 0.5, "Chance alone does this in up to 50% of cases"),
    ],
)
def test_what_chance_does_at_the_level_is_called_rare_only_up_to_a_tenth(pvalue, level, said):
    assert catalogue.chance_in_words(pvalue, level) == said
