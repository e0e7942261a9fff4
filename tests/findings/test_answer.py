"""One decision behind all words: the table of cases, directions, and audits that do not contradict themselves."""

import pytest

from calibrant import Interval, audit
from calibrant.findings.answer import decide, default_limit
from calibrant.findings.words import rate
from calibrant.inference.gate import GateResult
from calibrant.inference.result import ImpossibleRows, TestResult
from tests import contradictions

WITHIN = GateResult("within", 0.02, Interval(0.0, 0.01), 0.05, 100, None)
UNDECIDED = GateResult("undecided", 0.02, Interval(0.0, 0.05), 0.05, 100, 900)
BEYOND = GateResult("beyond", 0.02, Interval(0.03, 0.05), 0.05, 100, None)
REJECTS = TestResult(5.0, 0.001, True, 0.05, "a test")
DOES_NOT = TestResult(1.0, 0.4, False, 0.05, "a test")
IMPOSSIBLE = TestResult(1.0, 0.4, False, 0.05, "a test", impossible=ImpossibleRows(1, 3, 1.0))


@pytest.mark.parametrize(
    ("test", "gate", "state"),
    [
        (None, WITHIN, "not tested"),
        (REJECTS, WITHIN, "too small to matter"),
        (REJECTS, UNDECIDED, "worth correcting"),
        (REJECTS, None, "worth correcting"),
        (IMPOSSIBLE, UNDECIDED, "too few rows"),  # it may be rounding
        (IMPOSSIBLE, BEYOND, "worth correcting"),
        (IMPOSSIBLE, None, "worth correcting"),
        (IMPOSSIBLE, WITHIN, "no evidence"),
        (DOES_NOT, WITHIN, "no evidence"),
        (DOES_NOT, UNDECIDED, "too few rows"),
        (DOES_NOT, None, "no evidence"),
    ],
)
def test_the_table_of_cases(test, gate, state):
    assert decide(test, gate) == state


@pytest.mark.parametrize("block", range(5))
def test_audits_do_not_contradict_themselves(block):
    for seed in range(10_000 + 6 * block, 10_006 + 6 * block):
        found = contradictions.audited(seed)
        assert contradictions.faults(found) == [], (seed, found.answer.sentence)


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
            "Too confident: where it says about 10%, 20% happen; where it says 90%, 80%.",
        ),
        ([0.1, 0.3, 0.7, 0.9], None, "No sign of miscalibration"),
        (
            [0.02, 0.2, 0.8, 0.98],
            "not confident enough",
            "Not confident enough: where it says about 10%, 2.0% happen; where it says 90%, 98%.",
        ),
        ([0.05, 0.2, 0.6, 0.8], "too high", "Too high where it says 90%: 80% happen."),
        ([0.2, 0.4, 0.8, 0.96], "too low", "Too low where it says 10%: 20% happen."),
        ([0.1, 0.3, 0.6, 0.9], "too high", "Too high where it says 70%: 60% happen."),
        ([0.1, 0.2, 0.8, 0.8], "uneven", "Uneven: where it says about 90%, 80% happen; where it says 70%, 80%."),
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


def test_the_limit_that_is_asked_for_decides():
    rows = [1] * 520 + [0] * 480, [0.45] * 1000
    assert audit(*rows, max_distance=0.3, random_state=0).answer.state == "too small to matter"
    assert audit(*rows, max_distance=0.05, random_state=0).answer.state == "worth correcting"
