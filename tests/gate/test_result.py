"""A gate's checks put together: one verdict, what is shown of many, how many more rows decide, and what to do."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import Interval
from calibrant.door.premises import Premises
from calibrant.gate.asides import Asides
from calibrant.gate.result import NOTHING, Check, Gated, said
from calibrant.inference.bounds.gate import GateResult
from calibrant.inference.bounds.regret import regret_bounds
from calibrant.inference.comparison.not_worse import NotWorse


def distance(verdict="within", n=900, needed=None, ends=(0.0, 0.05), **more):
    return GateResult(verdict, 0.1, Interval(*ends), 0.05, n, needed, **more)


def check(verdict="within", name="c", kind="segment", asides=NOTHING, **more):
    return Check(name, kind, distance(verdict, **more), asides)


def worse(verdict="within", needed=None):
    return NotWorse(verdict, "old", 0.02, Interval(-0.01, 0.015), 0.05, 60, 50, needed, "two samples")


def gated(*checks):
    return Gated("t", checks, Premises(0.05))


REGRET = regret_bounds(np.arange(40) % 2, np.linspace(0.1, 0.9, 40), max_regret=0.9)


@pytest.mark.parametrize(
    ("result", "proved", "needs", "number"),
    [
        (worse(), f"smooth error less the baseline's: {worse().cell()}", "", 60),
        (worse("undecided", 400), f"smooth error less the baseline's: {worse('undecided', 400).cell()}", "", 60),
        (REGRET, REGRET.sentence, "", 40),
        (distance(), "at most 5.0 points", "", 900),
        (
            distance("undecided", needed=None),
            None,
            "; it may be right at the limit, where no number of rows decides",
            900,
        ),
        (distance("within", n_groups=30), "at most 5.0 points", "", 30),
    ],
)
def test_a_check_says_what_is_proved_and_on_how_many_rows_it_rests(result, proved, needs, number):
    of = Check("all rows", "rows", result)
    assert of.verdict == result.verdict
    assert proved is None or of.proved == proved
    assert (of.needs, of.number) == (needs, number)
    whole = result.sentence if isinstance(result, GateResult | type(REGRET)) else result.summary()
    assert of.sentence == whole
    assert of.summary() == f"all rows: {whole}"
    if isinstance(result, GateResult):
        assert of.line() == f"all rows: {said(result.verdict)}, {of.proved} ({result.tally.summary()}){needs}"
    else:
        assert of.line() == of.summary()


@pytest.mark.parametrize(
    ("checks", "needed", "groups"),
    [
        ((check(), check()), None, None),
        ((check("undecided", needed=1000), check()), 1000, None),
        ((check(), check("undecided", n=90, needed=100), check("beyond", n=9, needed=10**6)), 1000, None),
        ((check(), check("undecided", n=90, needed=100), check("undecided", n=90, needed=None)), None, None),
        ((check(), check("undecided", n=90, needed=101), check("undecided", n=300, needed=310)), 1010, None),
        ((check(n=600, n_unknown=300), check("undecided", n=60, n_unknown=30, needed=100)), 1000, None),
        ((check(n_groups=30), check("undecided", n=90, n_groups=5, needed=91)), 910, 31),
        ((check(n_groups=30), check()), None, None),
        ((check(n=600, n_unknown=300, n_groups=30), check("undecided", n=90, n_groups=5, needed=90)), 900, 30),
        ((check(), Check("baseline", "baseline", worse("undecided", 90))), 1350, None),
    ],
)
def test_rows_that_decide_are_of_the_check_that_asks_for_most_in_rows_of_the_table(checks, needed, groups):
    found = gated(*checks)
    assert (found.rows_needed, found.groups_needed) == (needed, groups)
    assert found.tally.needed == (needed if groups is None else groups)
    assert found.tally.number == (found.rows.n_groups or found.rows.n_rows + found.rows.n_unknown)


FAR = 900 + 1_000_000


@pytest.mark.parametrize(
    ("checks", "headline"),
    [
        ((check("beyond"),), distance("beyond").sentence),
        ((check(), check()), "PASS: of 2 checks 2 pass"),
        (
            (check(), check("beyond"), check("undecided", needed=1000)),
            "FAIL: of 3 checks 1 fails, 1 is undecided, 1 passes",
        ),
        ((check(), check("undecided", needed=None)), "UNDECIDED: of 2 checks 1 is undecided, 1 passes"),
        (
            (check(), check("undecided", needed=1234)),
            "UNDECIDED: of 2 checks 1 is undecided, 1 passes; about 340 more rows would decide them",
        ),
        (
            (check("undecided", needed=FAR), check("undecided", needed=1000)),
            "UNDECIDED: of 2 checks 2 are undecided; about 1,000,000 more rows would decide them",
        ),
        ((check("undecided", needed=FAR + 1), check()), "UNDECIDED: of 2 checks 1 is undecided, 1 passes"),
        (
            (check(n_groups=30), check("undecided", n_groups=30, needed=1800)),
            "UNDECIDED: of 2 checks 1 is undecided, 1 passes; about 30 more groups would decide them",
        ),
    ],
)
def test_the_headline_counts_the_checks_and_says_how_many_rows_would_decide(checks, headline):
    assert gated(*checks).headline == headline


OFF = Asides(warning="it may cost much.", action="look again.")


@pytest.mark.parametrize(
    ("checks", "warning", "action"),
    [
        ((check(),), "", "Do: use the predictions as they are."),
        ((check(asides=OFF),), "Warning: it may cost much.", "Do: look again."),
        ((check(), check(asides=OFF)), "", "Do: use the predictions as they are."),
        (
            (check(asides=OFF), check("beyond")),
            "",
            "Do: do not use the predictions yet; calibrant audit shows where they err and what to correct.",
        ),
        (
            (check("undecided", asides=OFF),),
            "",
            "Do: do not use the predictions yet if the limit matters; collect more rows and gate them again.",
        ),
        (
            (check("undecided", n_groups=9),),
            "",
            "Do: do not use the predictions yet if the limit matters; collect rows of more groups and gate them again.",
        ),
    ],
)
def test_what_to_do_follows_from_the_verdict(checks, warning, action):
    found = gated(*checks)
    assert (found.warning, found.action) == (warning, action)
    lines = found.summary().removesuffix(found.premises.summary()).splitlines()
    assert lines[: 2 + bool(warning)] == [found.headline, *([warning] if warning else []), action]
    assert (found.what in lines) == (len(checks) > 1)
    assert [line for line in lines if line.startswith("  ")] == (
        [f"  {each.line()}" for each in found.shown()[0]] if len(checks) > 1 else []
    )
    told = found.to_dict()
    assert (told["warning"], told["action"], told["headline"]) == (warning, action, found.headline)


@pytest.mark.parametrize("n", [18, 19, 22])
def test_twenty_checks_are_shown_all_that_are_named_among_them(n):
    segments = [check(name=f"s{k}", ends=(0.0, 0.001 * k)) for k in range(n - 1)]
    found = gated(
        check(name="all rows", kind="rows"), *segments, check("beyond", "last"), check(name="b", kind="baseline")
    )
    shown, rest = found.shown()
    left = max(0, n + 2 - 20)
    assert len(shown) == n + 2 - left == min(20, n + 2)
    assert shown[0].name == "last"  # beyond first
    assert {"all rows", "b"} <= {each.name for each in shown}
    of_segments = [each.name for each in shown if each.kind == "segment"][1:]
    assert of_segments == [f"s{k}" for k in range(n - 2, left - 1, -1)]  # the farthest first
    assert rest == (f"and {left} more: {left} PASS; --json and --junit have all of them" if left else "")
    assert (f"\n  {rest}\n" in found.summary()) == bool(rest)


def test_found_segments_are_said_in_a_clause_of_their_own():
    verdicts = ("beyond", "undecided", "within", "none beyond")
    assert [said(each) for each in verdicts] == ["FAIL", "UNDECIDED", "PASS", "none beyond"]
    found = Check("found segments", "found", SimpleNamespace(verdict="none beyond"))
    assert gated(check(), found).headline == "PASS: of 2 checks 1 passes; no found segment is proved beyond"
    low, high = (check("undecided", name, ends=ends) for name, ends in (("low", (0.0, 0.4)), ("high", (0.01, 0.2))))
    other = Check("baseline", "baseline", worse("undecided", 90))
    shown, _ = gated(check(name="all rows", kind="rows"), other, low, high).shown()
    assert [each.name for each in shown] == ["high", "low", "baseline", "all rows"]
    premises = replace(Premises(0.05), max_distance=0.1)
    assert Gated("t", (check(), other), premises).what.startswith("How far predictions would have to move")
    assert Gated("t", (Check("all rows", "rows", REGRET), other), premises).what == ""
