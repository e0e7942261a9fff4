"""Each side of an inequality is the number that its words say."""

import re

import numpy as np
import pytest

from calibrant import audit

SIDE = re.compile(r"^(?P<squared>squared )?(?P<name>.+?)(?: (?P<sign>[/*]) (?P<number>[0-9/]+))?$")


@pytest.mark.parametrize("bend", [0.4, 2.5])
def test_each_side_is_the_number_that_its_words_say(bend):
    rng = np.random.default_rng(0)
    v = rng.random(300)
    found = audit((rng.random(300) < v**bend).astype(int), v, n_resamples=0, random_state=0).to_dict()["inequalities"]
    sides = [
        pair for each in found for pair in ((each["left"], each["left_value"]), (each["right"], each["right_value"]))
    ]
    plain = dict(sides)
    looked_at = set()
    for words, value in sides:
        part = SIDE.match(words)
        if part["name"] == words or part["name"] not in plain or part["squared"]:
            continue
        over, _, under = (part["number"] or "1").partition("/")
        by = float(over) / float(under or 1)
        looked_at.add(words)
        expected = plain[part["name"]] / by if part["sign"] == "/" else plain[part["name"]] * by
        assert value == pytest.approx(expected, abs=3e-5)
    assert looked_at >= {"averaged two-bin error / 2", "averaged two-bin error / 3", "smooth error * 2/3"}


@pytest.mark.parametrize("bend", [0.4, 2.5])
def test_single_distinct_predictions_have_one_error(bend):
    rng = np.random.default_rng(0)
    v = np.round(rng.random(300), 2)
    y = (rng.random(300) < v**bend).astype(int)
    found = audit(y, v, n_resamples=0, random_state=0).to_dict()["inequalities"]
    told = {each["right_value"] for each in found if each["right"] == "error of single distinct predictions"}
    assert sum(each["right"] == "error of single distinct predictions" for each in found) >= 4
    assert list(told) == [pytest.approx(sum(abs((y - v)[v == u].sum()) for u in np.unique(v)) / 300)]
