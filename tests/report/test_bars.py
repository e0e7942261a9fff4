"""Bars of the headline: where they begin and end, and what may be left of an error by chance."""

from types import SimpleNamespace

import pytest

from calibrant.door.ends import Interval
from calibrant.report import html as module
from calibrant.report.html import _placed, bars


def test_a_bar_is_placed_in_percent_of_the_scale_and_never_too_narrow_to_be_seen():
    assert _placed(0.1, 0.3, 0.5) == (20.0, 40.0)
    assert _placed(0.0, 0.2, 0.2) == (0.0, 100.0)
    left, width = _placed(0.1, 0.1, 0.1)
    assert width > 0.0
    assert left + width == pytest.approx(100.0)
    assert _placed(0.2, 0.2016, 0.2) == (99.2, 0.8)  # nothing is narrower than .8 percent of the scale
    assert _placed(0.05, 0.0525, 0.25) == (20.0, 1.0)


LEFT = [(0.05, "5", 50.0), (0.03, "3", 30.0), (0.02, "below", 0.0)]


@pytest.mark.parametrize(("left", "words", "begins"), LEFT)
def test_what_a_recalibration_leaves_is_told_where_it_is_more_than_chance(monkeypatch, left, words, begins):
    monkeypatch.setattr(module, "blamed", lambda *_: None)
    score = SimpleNamespace(method="platt", lower_calibration_distance=left)
    audit = SimpleNamespace(
        level=0.05,
        answer=SimpleNamespace(max_distance=0.01, size=0.09, interval=Interval(0.04, 0.1), direction="none"),
        ties=SimpleNamespace(lower_distance_bracket=Interval(0.08, 0.09)),
        advice=SimpleNamespace(scores=(score,), chosen="platt", noise=0.03),
    )
    rows, population, after = bars(audit)
    assert {each.most for each in (rows, population, after)} == {0.1}
    assert (rows.left, rows.width) == pytest.approx((80.0, 10.0))
    assert (population.left, population.width) == pytest.approx((40.0, 60.0))
    assert population.name == "Population, each end with 95% confidence"
    assert population.words == "4.0 to 10"
    assert after.words.startswith(words)
    assert after.left == pytest.approx(begins)
    assert rows.limit == pytest.approx(10.0)
    assert bars(audit, at_least=0.15)[0].most == 0.2
    audit.advice.chosen = "unchanged"
    assert len(bars(audit)) == 2
    audit.answer.interval = Interval(0.0, 0.1)
    assert [(each.name, each.words) for each in bars(audit)[1:]] == [("Population, 95% confidence", "at most 10")]


@pytest.mark.parametrize(
    ("limit", "least", "most"),
    [(0.004, 0.0, 0.01), (0.01, 0.0, 0.01), (0.011, 0.0, 0.02), (0.3, 0.0, 0.3), (0.9, 3.0, 1.0)],
)
def test_the_scale_is_the_least_that_holds_all_and_ends_at_one(limit, least, most):
    audit = SimpleNamespace(
        level=0.05,
        answer=SimpleNamespace(max_distance=limit, size=0.003, interval=None),
        ties=SimpleNamespace(lower_distance_bracket=Interval(0.003, 0.003)),
        advice=SimpleNamespace(scores=(), chosen=None, noise=None),
    )
    (bar,) = bars(audit, least)
    assert bar.most == most
    assert bar.end == f"{100 * most:g}"
    assert bar.limit == pytest.approx(100.0 * limit / most, abs=1e-3)
    assert bar.left == pytest.approx(min(100.0 * 0.003 / most, 99.2), abs=1e-3)
