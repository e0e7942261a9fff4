"""One decision behind all words: the table of cases, directions, and audits that do not contradict themselves."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from calibrant import Interval, audit, audit_table, calibration_test
from calibrant.door.ends import in_points, in_short
from calibrant.door.sample import Sample
from calibrant.door.values import counted
from calibrant.findings.action_catalogue import code
from calibrant.findings.catalogue import answer
from calibrant.findings.decision import (
    CASES,
    _sides,
    action_of,
    decide,
    default_in_words,
    default_limit,
    split_by_alarm,
)
from calibrant.findings.word_catalogue import rate
from calibrant.gate.asides import asides
from calibrant.inference.bounds.gate import GateResult, calibration_gate_on_sample
from calibrant.inference.bounds.tally import Tally, rows_to_decide
from calibrant.inference.testing.result import ImpossibleRows, TestResult
from calibrant.report.html import bars, document
from tests import contradictions
from tests.strategies import examples

WITHIN = GateResult("within", 0.02, Interval(0.0, 0.01), 0.05, 100, None)
UNDECIDED = GateResult("undecided", 0.02, Interval(0.0, 0.05), 0.05, 100, 900)
BEYOND = GateResult("beyond", 0.02, Interval(0.03, 0.05), 0.05, 100, None)
REJECTS = TestResult(5.0, 0.001, True, 0.05, "a test")
DOES_NOT = TestResult(1.0, 0.4, False, 0.05, "a test")
IMPOSSIBLE = TestResult(1.0, 0.4, False, 0.05, "a test", impossible=ImpossibleRows(1, 3, 1.0))
TOO_MANY = TestResult(1.0, 0.4, False, 0.05, "a test", impossible=ImpossibleRows(184, 3, 1.0, 0.01))


@pytest.mark.parametrize(
    ("test", "gate", "state"),
    [
        (None, WITHIN, "not tested"),
        (None, UNDECIDED, "not tested"),
        (None, BEYOND, "worth correcting"),  # a bound needs no test
        (REJECTS, WITHIN, "too small to matter"),
        (REJECTS, UNDECIDED, "worth correcting"),
        (REJECTS, None, "worth correcting"),
        (IMPOSSIBLE, UNDECIDED, "too few rows"),  # it may be rounding
        (IMPOSSIBLE, BEYOND, "worth correcting"),
        (IMPOSSIBLE, None, "too few rows"),  # it may be rounding, whether a bound is known or not
        (IMPOSSIBLE, WITHIN, "no evidence"),
        (TOO_MANY, UNDECIDED, "worth correcting"),  # more than rounding makes
        (TOO_MANY, WITHIN, "too small to matter"),
        (DOES_NOT, WITHIN, "no evidence"),
        (DOES_NOT, UNDECIDED, "too few rows"),
        (DOES_NOT, None, "too few rows"),  # nothing rules an error out
    ],
)
def test_the_table_of_cases(test, gate, state):
    assert decide(test, gate) == state
    assert decide(test, gate, by_line=True) == ("too few rows" if state == "not tested" else state)


@pytest.mark.parametrize(
    ("test", "gate", "classes", "state"),
    [
        (None, WITHIN, "worth correcting", "not tested"),
        (DOES_NOT, WITHIN, "too small to matter", "too small to matter"),  # the top label alone says too little
        (DOES_NOT, WITHIN, "too few rows", "too few rows"),
        (DOES_NOT, UNDECIDED, "worth correcting", "worth correcting"),
        (DOES_NOT, UNDECIDED, "no evidence", "too few rows"),
        (REJECTS, WITHIN, "worth correcting", "worth correcting"),
        (REJECTS, WITHIN, "no evidence", "too small to matter"),
        (REJECTS, UNDECIDED, "too small to matter", "worth correcting"),
    ],
)
def test_the_table_of_cases_with_classes(test, gate, classes, state):
    assert decide(test, gate, classes) == state


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_audits_do_not_contradict_themselves(block):
    for seed in range(10_000 + 4 * block, 10_004 + 4 * block):
        found = contradictions.audited(seed)
        assert contradictions.faults(found) == [], (seed, found.answer.sentence)
    found, gated = contradictions.searched(block)
    assert [*contradictions.faults(found), *contradictions.apart(found, gated)] == [], (block, gated.summary())


@pytest.mark.slow
def test_the_checker_can_find_fault(monkeypatch):
    found = contradictions.audited(10_001)
    monkeypatch.setattr(type(found), "summary", lambda _self: "could be noise")
    assert "could be noise" in contradictions.faults(found)


def curve(p, outcome):
    """Rows of which exactly this share has the event at each prediction."""
    y, v = [], []
    for each, share in zip(p, outcome, strict=True):
        ones = round(1000 * share)
        y += [1] * ones + [0] * (1000 - ones)
        v += [each] * 1000
    return audit(y, v, n_resamples=199, random_state=0).answer


@pytest.mark.parametrize(
    ("outcome", "direction", "words"),
    [
        (
            [0.2, 0.4, 0.6, 0.8],
            "too confident",
            "Too confident. At 10%, about 21% happen (1,000 rows); at 90%, about 79% happen (1,000 rows).",
        ),
        ([0.1, 0.3, 0.7, 0.9], None, "No error that matters"),
        (
            [0.02, 0.2, 0.8, 0.98],
            "not confident enough",
            "Not confident enough. At 10%, about 2.4% happen (1,000 rows); at 90%, about 98% happen (1,000 rows).",
        ),
        ([0.05, 0.2, 0.6, 0.8], "too high", "Too high on average: 50% predicted, 41% happened (4,000 rows)."),
        ([0.2, 0.4, 0.8, 0.96], "too low", "Too low on average: 50% predicted, 59% happened (4,000 rows)."),
        (
            [0.1, 0.3, 0.6, 0.9],
            None,
            "Too high at 70%: about 61% happen (1,000 rows). Which way other predictions err is not clear.",
        ),
        (
            [0.1, 0.2, 0.8, 0.8],
            "uneven",
            "Uneven. At 90%, about 80% happen (1,000 rows); at 70%, about 80% happen (1,000 rows).",
        ),
    ],
)
def test_directions(outcome, direction, words):
    found = curve([0.1, 0.3, 0.7, 0.9], outcome)
    assert found.direction == direction
    assert found.sentence.startswith(words)


@pytest.mark.parametrize(
    ("base", "mean", "limit"), [(0.5, 0.5, 0.02), (0.001, 0.002, 0.0002), (0.0, 0.01, 0.001), (0.0, 0.0, 0.02)]
)
def test_the_limit_is_of_the_size_of_the_risk(base, mean, limit):
    assert default_limit(base, mean) == pytest.approx(limit)
    assert default_limit(1.0 - base, 1.0 - mean) == pytest.approx(limit)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0%"), (1.0, "100%"), (0.00031, "0.031%"), (0.074, "7.4%"), (0.62, "62%"), (0.9977, "99.8%"), (0.99, "99%")],
)
def test_rates(share, words):
    assert rate(share) == words


@pytest.mark.slow
def test_the_limit_that_is_asked_for_decides():
    rows = [1] * 4_650 + [0] * 5_350, [0.45] * 10_000
    assert audit(*rows, max_distance=0.05).answer.state == "too small to matter"
    assert audit(*rows, max_distance=0.01).answer.state == "worth correcting"
    far = [1] * 520 + [0] * 480, [0.45] * 1000  # within a limit, where a map may gain a hundredth of the log loss
    assert audit(*far, max_distance=0.3).answer.state == "worth correcting"


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "direction"), [(0.6, "too confident"), (1.7, "not confident enough")])
def test_the_direction_is_that_of_the_advice(slope, direction):
    """A slope of the log-odds errs on both sides, though one may be clearer than the other."""
    named = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        v = rng.beta(0.7, 0.9, 700)
        found = audit(rng.random(700) < expit(slope * logit(v)), v, n_resamples=99, random_state=0).answer
        assert found.direction in (direction, None)
        named.append(found.direction)
    assert named.count(direction) >= 3


@pytest.mark.slow
def test_rare_events_are_advised_on_enough_of_them():
    rng = np.random.default_rng(3)
    v = rng.beta(0.5, 500.0, 200_000)
    found = audit(rng.random(200_000) < v / 2.0, v, n_resamples=99, random_state=0)
    assert found.answer.action == "recalibrate"
    assert found.advice.recalibrator.predict([0.002]) == pytest.approx([0.001], rel=0.2)


def test_rounded_predictions_are_not_evidence_by_themselves():
    rng = np.random.default_rng(9)
    q = rng.beta(0.5, 3.0, 2000)
    found = audit(rng.random(2000) < q, q.round(2), random_state=9, n_resamples=99)
    assert found.tests["calibration_test"].result.impossible is not None
    assert found.answer.state == "too few rows"
    wrong = found.tests["calibration_test"].result.impossible.n_rows
    assert f"{counted(wrong, 'row')} predicted 0 or 1 w" in found.answer.sentence
    assert "Rounding can make " in found.answer.sentence


def test_hard_predictions_that_are_often_wrong_are_evidence():
    rng = np.random.default_rng(0)
    v = (rng.random(500) < 0.5).astype(float)
    y = np.where(rng.random(500) < 0.3, 1.0 - v, v)
    found = audit(y, v, n_resamples=99, random_state=0).answer
    assert found.state == "worth correcting"
    assert "Too confident. At 0%, " in found.headline
    assert found.direction == "too confident"
    assert found.details[0].startswith("A bound proves this. Predictions would")


@pytest.mark.slow
def test_parts_that_err_to_both_sides_are_not_told_to_stay_as_they_are():
    rng = np.random.default_rng(4)
    v, site = rng.random(3000), np.repeat(["a", "b"], 1500)
    y = (rng.random(3000) < v + np.where(site == "a", 0.8, -0.8) * v * (1.0 - v)).astype(float)
    frame = pd.DataFrame({"y": y, "p": v, "site": site, "other": rng.choice(["c", "d"], 3000)})
    options = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "random_state": 0}
    answer = audit_table(frame, by="site", **options).answer
    assert answer.state in ("no evidence", "too few rows")
    assert answer.action == "look at the parts"
    assert "in all rows" in answer.details[0]
    assert "Too low for site = a: " in answer.headline
    assert "Too high for site = b: " in answer.headline
    assert "Of segments called off, 5% may be false alarms if rows of one site are independent." in answer.headline
    found = audit_table(frame, find="site", **options).answer
    assert "Too low" in found.headline
    assert "Too high" in found.headline
    assert "change nothing" not in answer.sentence
    other = audit_table(frame, by="other", **options).answer
    assert other.action in ("leave unchanged", "collect more rows")
    huge = audit_table(frame, by="site", max_distance=0.4, **options).answer
    assert huge.action == "leave unchanged"


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
def test_one_map_for_all_is_not_advised_in_silence_where_a_part_errs_alone():
    rng = np.random.default_rng(0)
    p, part = rng.random(6000), rng.choice(["u", "v", "w"], 6000)
    y = (rng.random(6000) < np.where(part == "u", p**2.5, p)).astype(int)
    frame = pd.DataFrame({"y": y, "p": p, "part": part})
    found = audit_table(frame, y_true="y", y_prob="p", by="part", n_resamples=199, random_state=0)
    assert found.answer.action == "recalibrate"
    do = "Do: correct the rows with part = u alone (SegmentRecalibrator). The other rows err by"
    left = in_points(in_short(abs((frame["y"] - frame["p"])[frame["part"] != "u"].mean())))
    assert f"{do} {left} on average, within the limit of 2." in found.answer.sentence
    assert "correct the predictions" not in found.answer.sentence
    assert "part = u, as told above (" in " ".join(found.sentences)  # in percentages, and not in another unit again
    assert all("After" not in bar.name for bar in bars(found))
    told = {"rows": frame, "new_rows": frame}
    assert code(found.answer, found) in document(found).replace("&#39;", "'")
    exec(code(found.answer, found), told)  # the lines that the page shows
    moved = told["better"] - p
    assert moved[part == "u"].mean() < -0.1
    assert abs(moved[part != "u"]).max() < 0.1
    alone = audit_table(frame.drop(columns="part"), y_true="y", y_prob="p", n_resamples=199, random_state=0)
    assert "egment" not in alone.answer.sentence


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"by": "part"}, {"find": ["part", "other"]}])
def test_the_headline_names_the_segment_whose_error_is_that_of_all_rows(how):
    """And not the predictions in it; the means that it tells are those of the rows."""
    rng = np.random.default_rng(0)
    p, part, other = rng.random(6000), rng.choice(["u", "v", "w"], 6000), rng.choice(["x", "y"], 6000)
    frame = pd.DataFrame({"p": p, "part": part, "other": other})
    options = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "random_state": 0, **how}
    told = {}
    for power in (1.0, 1.4, 0.8):
        frame["y"] = (rng.random(6000) < np.where(part == "u", p**2.5, p**power)).astype(int)
        told[power] = audit_table(frame, **options).answer
        if power == 1.0:
            (_, there), (_, rest) = frame[["p", "y"]].groupby(part != "u")
    (says, happens), (says_too, happens_too) = ([rate(each[name].mean()) for name in "py"] for each in (there, rest))
    rows = f"{(part == 'u').sum():,} rows"
    words = f"Too high for part = u: {says} predicted, {happens} happened ({rows}). Elsewhere {says_too} predicted"
    assert told[1.0].headline == f"{words}, {happens_too} happened."
    assert told[1.0].details[0].startswith("This is not chance")
    assert told[1.0].examples == ()
    for errs_too in (told[1.4], told[0.8]):
        assert "Elsewhere" not in errs_too.headline
        assert "Single segments are off: if they err unlike one another, " in errs_too.sentence


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"by": "part"}, {"find": ["part"]}, {"by": "other", "find": ["part"]}])
def test_no_segment_is_blamed_alone_where_others_are_proved_off(how):
    """Errors that cancel in the mean of the other rows: of two segments, or of low and high predictions."""
    rng = np.random.default_rng(11)
    part, p, drawn = rng.choice(list("aabcdefghi"), 12_000), rng.uniform(0.25, 0.7, 12_000), rng.random(12_000)
    frame = pd.DataFrame({"p": p, "part": part, "other": rng.choice(["x", "y"], 12_000)})
    options = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "random_state": 0, **how}
    a, off = part == "a", {"b": -0.2, "c": 0.2}
    chances = {
        "alone": np.where(a, p + 0.25, p),
        "two more": p + [0.25 if each == "a" else off.get(each, 0.0) for each in part],
        "too confident": np.where(a, p + 0.25, 0.475 + 0.4 * (p - 0.475)),
    }
    told = {}
    for name, chance in chances.items():
        audit = audit_table(frame.assign(y=(drawn < chance).astype(int)), **options)
        told[name] = audit.answer
        assert ("as told above" in " ".join(audit.sentences)) == (name == "alone")
        assert (drawn[~a] < chance[~a]).mean() == pytest.approx(p[~a].mean(), abs=0.01)
    assert told["alone"].headline.startswith("Too low for part = a: ")
    for name in ("two more", "too confident"):
        assert told[name].direction in (None, "too low" if name == "two more" else "too confident")
        assert "Elsewhere" not in told[name].headline
        assert "The other rows" not in told[name].sentence


@pytest.mark.slow
def test_what_is_said_of_the_other_rows_is_what_their_two_rates_say():
    """And none is blamed if these differ by more than the limit, even where that may be chance."""
    rng = np.random.default_rng(12)
    part, p, drawn = rng.choice(list("abbbb"), 20_000), rng.uniform(0.25, 0.7, 20_000), rng.random(20_000)
    frame = pd.DataFrame({"p": p, "part": part})
    options = {"y_true": "y", "y_prob": "p", "by": "part", "n_resamples": 39, "random_state": 0}
    told, seen = {}, {}
    for n_rows, off in ((20_000, 0.0), (20_000, 0.014), (1_000, 0.04)):
        frame["y"] = (drawn < p + np.where(part == "a", 0.29, off)).astype(int)
        few = frame[:n_rows]
        seen[off] = (few["y"] - few["p"])[few["part"] == "b"].mean()
        told[off] = audit_table(few, **options).answer.sentence
    in_words = {off: in_points(in_short(abs(each))) for off, each in seen.items()}
    assert f"The other rows err by {in_words[0.0]} on average, within the limit of 2." in told[0.0]
    assert 2.0 * (0.25 / 16_000) ** 0.5 < seen[0.014] < 0.02
    assert f"The other rows err by {in_words[0.014]} on average, within the limit of 2." in told[0.014]
    assert 0.02 < seen[0.04] < 2.0 * (0.24 / 800) ** 0.5
    assert "The other rows" not in told[0.04]
    assert "Elsewhere" not in told[0.04]


@pytest.mark.slow
def test_a_segment_that_errs_much_is_named_where_all_rows_together_err_little():
    rng = np.random.default_rng(1)
    p, part = rng.uniform(0.1, 0.6, 20_000), rng.choice(list("abcdefghijklmnopqrst"), 20_000)
    frame = pd.DataFrame({"y": rng.random(20_000) < np.where(part == "c", 0.2 * p, p), "p": p, "part": part})
    found = audit_table(
        frame, y_true="y", y_prob="p", find="part", max_distance=0.04, n_resamples=39, random_state=0
    ).answer
    assert (found.state, found.action) == ("too small to matter", "look at the parts")
    assert found.headline.startswith("Too high for part = c: 3")
    assert found.details[0].endswith("In that segment it is not small.")


@pytest.mark.slow
def test_of_an_error_that_is_nearly_all_of_one_side_the_other_is_told_too():
    rng = np.random.default_rng(5)
    v = rng.random(12_000)
    off = np.where(v < 0.08, 0.06, -0.12)
    both = audit((rng.random(12_000) < v + off) * 1, v, n_resamples=39, random_state=0).answer
    assert both.direction == "too high"
    assert "Too high on average: " in both.headline
    assert "; too low near " in both.headline
    assert len(both.examples) == 2
    one = audit((rng.random(12_000) < v - 0.12) * 1, v, n_resamples=39, random_state=0).answer
    assert "too low" not in one.headline


@pytest.mark.slow
def test_where_rows_may_belong_together_that_is_said_with_what_it_makes_doubtful():
    rng = np.random.default_rng(0)
    v = rng.random(4_000)
    frame = pd.DataFrame({"y": (rng.random(4_000) < v**2) * 1, "p": v})
    options = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "random_state": 0}
    many, one = (frame.assign(customer_id=np.arange(4_000) // each) for each in (4, 1))
    told = "This is not chance if rows of one customer_id are independent (p < "
    assert told in audit_table(many, **options).answer.details[0]
    assert "This is not chance (p < " in audit_table(one, **options).answer.details[0]  # no value stands twice
    assert "This is not chance (p" in audit_table(many, groups="customer_id", **options).answer.details[0]
    fine = many.assign(y=(rng.random(4_000) < v) * 1)
    said = audit_table(fine, max_distance=0.1, **options).answer.headline
    assert said.startswith("No error that matters if rows of one customer_id are independent: at most ")


@pytest.mark.parametrize(
    ("base", "mean", "limit", "which"),
    [(0.001, 0.002, 0.0002, "predicted"), (0.999, 0.9995, 0.0001, "observed"), (0.0, 0.01, 0.001, "predicted")],
)
def test_what_the_default_limit_is_a_tenth_of(base, mean, limit, which):
    assert default_limit(base, mean) == pytest.approx(limit)
    assert default_in_words(base, mean) == f"a tenth of the rarer outcome's {which} rate"


@pytest.mark.parametrize(
    ("rows", "n", "number"),
    [(18_300, 300, True), (1_000_300, 300, True), (2_000_000, 300, False), (10**8, 10**7, True)],
)
def test_more_rows_than_anybody_has_are_no_number(rows, n, number):
    assert ("about " in rows_to_decide(Tally(n, rows))) == number
    assert ("more rows than is practical (over ten times as many)" in rows_to_decide(Tally(n, rows))) != number


def test_a_bound_that_proves_more_than_the_test_is_told():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    fine, off = (audit(rng.random(2000) < true, p, max_distance=0.01, n_resamples=199) for true in (p, p**2))
    assert (fine.answer.state, off.gate.verdict) == ("too few rows", "beyond")
    both = answer(replace(fine, gate=off.gate))
    assert both.state == "worth correcting"
    assert both.details[0].startswith("A bound proves this; the test alone does not see it (p > 0.05).")
    least = float(re.search(r"likely ([0-9.]+[0-9]) to", both.details[0])[1])
    assert 1.0 < least <= 100.0 * off.gate.lower_distance.low
    assert "a bound proves" not in fine.answer.sentence + off.answer.sentence


GATES = {
    "within": Interval(0.0, 0.01),
    "undecided": Interval(0.0, 0.03),
    "beyond": Interval(0.03, 0.05),
    None: None,
}
LESS = {"within": ("undecided", None), "undecided": (None,), "beyond": ("undecided", None), None: ()}
REASSURING = ("no evidence", "too small to matter")


COSTS = ("small", "open", "large")
LESS_KNOWN = {"small": ("open",), "open": (), "large": ("open",)}


def decided(reject, impossible, verdict, classes, cost):
    """The state of one case of the table in docs/answer.md."""
    odd = None if impossible is None else SimpleNamespace(by_rounding=0.01 if impossible == "many" else 0.2)
    test = None if reject is None else SimpleNamespace(reject=reject, impossible=odd, level=0.05)
    gate = None if verdict is None else SimpleNamespace(verdict=verdict, lower_distance=GATES[verdict])
    return decide(test, gate, classes, cost)


def test_the_table_has_every_case_once():
    """What is beyond is proved; of all else there is one row."""
    cases = {(proved, bound, cost) for proved in (True, False) for bound in GATES for cost in COSTS}
    cases -= {(False, "beyond", cost) for cost in COSTS}
    assert {(each.proved, each.bound, each.cost) for each in CASES} == cases
    assert all(state in REASSURING for each, state in CASES.items() if (each.bound, each.cost) == ("within", "small"))
    assert sum(state in REASSURING for state in CASES.values()) == 2


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("classes", [None, "no evidence", "too small to matter", "worth correcting"])
@pytest.mark.parametrize("impossible", [None, "few", "many"])
@pytest.mark.parametrize("reject", [None, False, True])
def test_every_case_has_a_state_and_less_information_never_reassures(reject, impossible, classes, cost):
    states = {verdict: decided(reject, impossible, verdict, classes, cost) for verdict in GATES}
    for verdict, state in states.items():
        if reject is None and verdict != "beyond":
            assert state == "not tested"
            continue
        proved = verdict == "beyond" or reject or impossible == "many"
        expected = {
            (True, True): "too small to matter",
            (True, False): "worth correcting",
            (False, True): "no evidence",
            (False, False): "too few rows",
        }[proved, verdict == "within" and cost == "small"]
        if classes == "worth correcting" or (classes is not None and expected == "no evidence"):
            expected = classes
        assert state == expected
        # A bound that is wider, or none, a test that did not run, a gain that is not known: never more at ease.
        less = [states[each] for each in LESS[verdict]] + [decided(None, impossible, verdict, classes, cost)]
        less += [decided(reject, impossible, verdict, classes, each) for each in LESS_KNOWN[cost]]
        assert state in REASSURING or not {*less} & {*REASSURING}


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [2_000, 20_000])
@pytest.mark.parametrize(("said", "true"), [(0.9999, 0.99), (0.9999, 0.999), (0.999, 0.99)])
@pytest.mark.parametrize("seed", range(2))
def test_networks_that_are_too_sure_are_not_told_to_be_left(n_rows, said, true, seed):
    """Their distance is within any usual limit, and their log loss a multiple of what it could be."""
    rng = np.random.default_rng([seed, n_rows])
    high = rng.random(n_rows) < 0.5
    p, chance = (np.where(high, each, 1.0 - each) for each in (said, true))
    found = audit(rng.random(n_rows) < chance, p).answer
    assert found.action not in ("leave unchanged", "look at the parts")
    assert "No error that matters" not in found.sentence
    # Of 1,400 calibrated tables with as few misses none was called so, and 56 by p < 0.05 (seven kinds of 20,000 rows).
    for true_rate, real in ((chance, True), (p, False)):
        sample = Sample.of_arrays((rng.random(n_rows) < true_rate) * 1.0, p)
        gate = calibration_gate_on_sample(sample, max_distance=0.02, level=0.05)
        warning = asides(gate, sample, None).warning
        assert gate.verdict != "within" or (warning != "" if real else not warning.startswith("a real error"))


@pytest.mark.slow
@pytest.mark.parametrize("rows", range(3))
def test_the_seed_decides_nothing(rows):
    """Borderline errors: state, action, direction, map and every sentence are those of any other seed."""
    rng = np.random.default_rng([rows, 38])
    v = rng.beta(2.0, 3.0, 400)
    y = rng.random(400) < expit(logit(v) + (0.15, 0.2, 0.25)[rows])
    told = {(x.answer, x.advice.chosen) for x in (audit(y, v, random_state=seed) for seed in range(5))}
    assert len({(each.state, each.action, each.direction, each.sentence, chosen) for each, chosen in told}) == 1
    assert audit(y, v).summary() == audit(y, v).summary()


@pytest.mark.slow
def test_calibrated_rows_hear_how_large_an_error_may_hide_and_how_many_rows_show_less():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        v = rng.random(1_500)
        found = audit(rng.random(1_500) < v, v, random_state=seed).answer
        if found.state == "too few rows":
            hide = r"An error of up to ([0-9.]+) points on average could still hide here \(95% confidence\)\."
            most = re.fullmatch(hide, found.details[0])[1]
            rows = r"([0-9,]+) to ([0-9,]+) rows in all \(these included\)"
            use = rf"Do: use the predictions if an error of {most} points is all right for you\."
            do = rf"{use} If not, collect {rows} first\. They may decide whether the error is above 2 points\."
            fewest, largest = (int(each.replace(",", "")) for each in re.fullmatch(do, found.details[1]).groups())
            assert 1_500 < fewest < largest


@pytest.mark.slow
@pytest.mark.parametrize("n_resamples", [0, 59])
@pytest.mark.parametrize(("power", "limit"), [(1.0, 0.3), (3.0, 0.02), (3.0, 0.9), (1.3, 0.04)])
def test_what_the_bound_settles_is_not_called_unsettled(power, limit, n_resamples):
    """Whatever the test says, or where it was not run: a decided gate is told as decided, an undecided one as open."""
    y_prob = np.linspace(0.01, 0.99, 4_000)
    y_true = np.random.default_rng(0).random(4_000) < y_prob**power
    found = audit(y_true, y_prob, max_distance=limit, n_resamples=n_resamples, random_state=0)
    told = f"below the limit of {100.0 * limit:g}" in found.answer.sentence
    assert told == (found.gate.verdict == "within")
    assert ("could still hide" in found.answer.sentence) == (found.answer.state == "too few rows")


def test_predictions_that_are_the_wrong_way_round_are_called_backwards():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 400)
    found = audit((rng.random(400) < p).astype(int), 1.0 - p, n_resamples=39, random_state=0)
    assert found.answer.action == "check the labels"
    assert found.answer.headline.startswith("Backwards, as if yes and no were swapped: where ")
    assert "Do: check whether yes and no are swapped" in found.summary()


@pytest.mark.parametrize(
    ("rows", "happened", "elsewhere", "to_blame"),
    [
        (500, 0.60, 0.50, True),
        (501, 0.60, 0.50, False),  # more than half of the rows are no part
        (100, 0.40, 0.515, False),  # it errs the other way than all rows do
        (100, 0.60, 0.515, False),  # less than half of the error is its own, though the rest may err by chance
        (100, 0.70, 0.515, True),  # more than half, and the rest may err by chance
        (100, 0.90, 0.536, False),  # the rest is off by more than two deviations and a fifth of the error
        (100, 0.90, 0.530, True),  # by less than two deviations
        (100, 0.90, 0.551, False),  # by more than matters
        (9, 0.60, 0.5001, True),  # of the one event that is too many, nearly all are its own
    ],
)
def test_a_part_is_to_blame_for_half_the_error_or_more_where_the_rest_errs_by_chance_or_a_fifth(
    rows, happened, elsewhere, to_blame
):
    """Of 1,000 rows that are all predicted 1/2; the rest of 900 has a deviation of 15 events, 1.7% of its rows."""
    rate = (rows * happened + (1000 - rows) * elsewhere) / 1000
    table = SimpleNamespace(mass=np.ones(1), prediction=np.array([0.5]))
    audited = SimpleNamespace(n_rows=1000, mean_prediction=0.5, base_rate=rate, max_distance=0.05, reliability=table)
    audited.sampling_fractions = None
    part = SimpleNamespace(
        name="a", fixed={"part": "a"}, of=SimpleNamespace(n_rows=rows, mean_prediction=0.5, base_rate=happened)
    )
    found = _sides(audited, part)
    assert (found is not None) == to_blame
    if found is not None:
        assert found.happened_elsewhere == pytest.approx(elsewhere)


@pytest.mark.parametrize(
    ("state", "parts", "chosen", "action"),
    [
        ("not tested", ("segments",), "platt", "none"),
        ("too small to matter", ("segments",), "platt", "look at the parts"),
        ("too few rows", ("segments",), "platt", "look at the parts"),
        ("too few rows", (), "platt", "collect more rows"),
        ("no evidence", (), "platt", "leave unchanged"),
        ("worth correcting", ("segments",), "platt", "recalibrate"),
        ("worth correcting", (), None, "none"),
        ("worth correcting", (), "constant", "predict the base rate"),
        ("worth correcting", (), "unchanged", "look closer"),
    ],
)
def test_what_to_do_follows_from_the_state_and_the_advice(state, parts, chosen, action):
    advice = SimpleNamespace(backwards=False, chosen=chosen)
    assert action_of(state, advice, parts) == action
    assert action_of(state, advice, parts, more_helps=True) == (
        action if state != "not tested" else "collect more rows"
    )
    if state == "worth correcting":
        assert action_of(state, SimpleNamespace(backwards=True, chosen=chosen), parts) == "check the labels"


def test_a_bound_that_proves_an_error_needs_no_test():
    """Weighted rows of which too few have the event for a test: an audit said "not tested", and the gate FAIL."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.2, 0.3, 3_000)
    y, weight = (np.arange(3_000) < 6) * 1, rng.choice([1.0, 2.0, 3.0], 3_000)
    found = audit(y, p, sample_weight=weight, max_weight=3.0, random_state=0)
    assert found.tests["calibration_test"].result is None
    assert found.gate.verdict == "beyond"
    assert (found.answer.state, found.answer.direction) == ("worth correcting", "too high")
    assert found.answer.headline.startswith("Too high on average: 25% predicted, 0.17% happened")
    assert found.answer.details[0].startswith("A bound proves this, without a test. Predictions would have to ")
    assert "not tested" not in found.answer.sentence


@pytest.mark.parametrize(("wrong", "real"), [(3, False), (150, True)])
def test_wrong_rows_are_compared_with_what_rounding_makes(wrong, real):
    """Of 2,000 labels 184 were wrong, and "too few to be more than rounding" was said of them."""
    p = np.arange(2_000) % 2 * 1.0
    y = np.where(np.arange(2_000) * wrong % 2_000 < wrong, 1.0 - p, p)
    found = audit(y, p, groups=np.arange(2_000) // 50, max_weight=50.0, random_state=0)
    impossible = found.tests["calibration_test"].result.impossible
    assert impossible.n_rows == wrong
    assert (impossible.by_rounding <= 0.05) is real
    assert (found.answer.state == "worth correcting") is real
    assert ("Rounding can make so many." in found.answer.sentence) is not real
    assert ("(rounding hardly makes so many)" in found.answer.sentence) is real


@pytest.mark.parametrize("how", ["weights", "groups", "both"])
@pytest.mark.parametrize(("wrong", "real"), [(3, False), (700, True)])
def test_wrong_rows_of_which_no_bound_is_known_are_compared_with_what_rounding_makes(how, wrong, real):
    """One row that was predicted 0 proved an error of rows that weigh, or in groups, without `max_weight`."""
    p = np.r_[np.arange(1_000) % 2 * 1.0, np.full(1_000, 0.5)]
    y = np.where(np.arange(2_000) < wrong, 1.0 - p, np.where(p == 0.5, np.arange(2_000) % 2, p))
    options = {"sample_weight": 1.0 + np.arange(2_000) % 3, "groups": np.arange(2_000) // 2}
    kept = {"weights": ["sample_weight"], "groups": ["groups"], "both": list(options)}[how]
    found = audit(y, p, n_resamples=39, random_state=0, **{name: options[name] for name in kept})
    assert found.gate is None
    assert (found.answer.state == "worth correcting") is real
    assert ("Rounding can make so many." in found.answer.sentence) is not real


def test_the_chance_of_rounding_of_weighted_rows_is_that_of_the_largest_odds_in_the_file():
    """Half of the rows predicted 1 were rounded from .995, and of those with no event four times as many were kept."""
    from scipy.stats import binom

    n, wrong = 2_000, 60
    p, y = np.ones(n), np.arange(n) >= wrong
    weight = np.where(y, 4.0, 1.0)
    found = calibration_test(y, p, sample_weight=weight, n_resamples=39).impossible.by_rounding
    exact = binom.sf(wrong - 1, n, 4 * 0.005 / (4 * 0.005 + 0.995))
    assert exact <= found <= min(1.0, 50.0 * exact)
    weight[0] = 0.0  # of no row
    assert calibration_test(y, p, sample_weight=weight, n_resamples=39).impossible.by_rounding >= found


def test_the_chance_of_rounding_is_an_upper_bound():
    from scipy.stats import binom

    for n, wrong in ((200, 3), (2_000, 25), (50, 50), (40_000, 260)):
        p, y = np.ones(n), np.arange(n) >= wrong
        single = calibration_test(y, p, n_resamples=39).impossible.by_rounding
        exact = binom.sf(wrong - 1, n, 0.005)
        assert exact <= single <= min(1.0, 50.0 * exact)
        alike = calibration_test(y, p, groups=np.arange(n) // 10, n_resamples=39).impossible.by_rounding
        assert max(single, binom.sf(-(-wrong // 10) - 1, -(-n // 10), 0.005)) <= alike * (1.0 + 1e-12)


def days(chance, rows, alarm, predicted=0.3, limit=0.02):
    """What the split by an alarm sees of an audit: thirty days of so many rows, the alarm on one of them.

    Of 4,000 rows the day of a change by 0.1 is mistaken once in 10^10 times, of 1,000 once in 3,000.
    """
    events = np.random.default_rng(chance.sum().view(np.uint64)).binomial(rows, chance)
    periods = [
        SimpleNamespace(period=k, n_rows=rows, mean_prediction=predicted, base_rate=n / rows, reading=reading)
        for k, n in enumerate(events.tolist())
        for reading in [SimpleNamespace(reject=k >= alarm)]
    ]
    return SimpleNamespace(periods=periods, max_distance=limit, weighted=False, n_groups=None, sampling_fractions=None)


@examples(300)
@given(start=st.integers(2, 20), size=st.floats(0.1, 0.3), late=st.integers(0, 4))
def test_an_error_that_lasts_is_told_since_it_began_and_not_as_ended(start, size, late):
    chance = np.where(np.arange(30) >= start, 0.3 + size, 0.3)
    before, error, after = split_by_alarm(days(chance, 4_000, start + late))
    assert after is None
    assert error.first == start
    assert before.n_rows == 4_000 * start


@examples(300)
@given(start=st.integers(2, 10), lasts=st.integers(4, 12), size=st.floats(0.1, 0.3))
def test_an_error_that_ended_or_turned_is_told_so(start, lasts, size):
    day = np.arange(30)
    during = (day >= start) & (day < start + lasts)
    _, error, after = split_by_alarm(days(np.where(during, 0.3 + size, 0.3), 4_000, start + 1))
    assert (error.first, after.first) == (start, start + lasts)
    turned = np.where(during, 0.3 + size, np.where(day < start, 0.3, 0.2))
    _, error, after = split_by_alarm(days(turned, 4_000, start + 1))
    assert (error.first, after) == (start + lasts, None)
