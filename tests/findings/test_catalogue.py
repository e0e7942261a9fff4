"""Words of the page beside its headline: what to do, and whether the curve leaves its band."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import Interval, audit
from calibrant.findings import actions
from calibrant.findings.actions import action_line, code, what_to_do
from calibrant.findings.catalogue import _found_segment, _how_sure_and_far, _may_hide
from calibrant.findings.decision import Blamed

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
    monkeypatch.setattr(actions, "blamed", lambda *_: one)
    said = action_line(replace(found.answer, action=action), found)
    assert "place = north" in said
    assert said.startswith("Do: ")


def test_a_segment_that_errs_in_a_part_is_told_by_its_words_alone():
    means = {"name": "region = north", "mean_prediction": 0.3, "base_rate": 0.2, "n_rows": 500, "n_unknown": 0}
    in_part = SimpleNamespace(in_part=True, words="too high between 0.2 and 0.4 for region = north", **means)
    assert _found_segment(in_part) == "Too high between 0.2 and 0.4 for region = north (500 rows)"
    whole = SimpleNamespace(in_part=False, **means)
    assert _found_segment(whole) == "Too high for region = north: 30% predicted, 20% happened (500 rows)"
