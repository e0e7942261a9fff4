"""The page as a browser reads it: what its policy needs of every tag, and what acting is worth."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import audit
from calibrant.report import html
from calibrant.report.html import document

RNG = np.random.default_rng(0)
P = RNG.random(300)
Y = (RNG.random(300) < P**2).astype(int)


class Tags(HTMLParser):
    """The names of the attributes of every tag."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, _, attrs):
        self.found.append([name for name, _ in attrs])


@pytest.mark.usefixtures("blank_pictures")
def test_no_tag_has_a_style_of_its_own_nor_an_attribute_twice():
    found = Tags(document(audit(Y, P, n_resamples=39, random_state=0))).found
    assert len(found) > 100
    assert [each for each in found if "style" in each or len(set(each)) < len(each)] == []


@pytest.mark.usefixtures("blank_pictures")
def test_the_best_cut_of_the_page_is_that_of_the_cost_of_acting():
    found = audit(Y, P, threshold=0.3, n_resamples=39, random_state=0)
    cut = float(re.search(r"the best cut: acting from ([0-9.]+[0-9])", document(found))[1])
    assert cut == pytest.approx(found.cost_of_acting.best_cut, abs=0.01)


@pytest.mark.parametrize(("begin", "start"), [(0.1, 0), (0.2, 0), (0.3, 250), (0.6, 1000), (0.9, 1000)])
def test_the_slider_starts_at_the_headline_or_at_the_mean_prediction_within_the_axis(monkeypatch, begin, start):
    monkeypatch.setattr(html, "diagram", lambda _: ("", (0.1, 0.9), (0.2, 0.6)))
    monkeypatch.setattr(html, "_coloured", lambda *_: "")
    monkeypatch.setattr(html, "beyond", lambda *_: [])
    values = np.array([0.25, np.nan])
    table = SimpleNamespace(
        prediction=values, outcome=values, isotonic=values, band_lower=None, band_upper=values, axis="linear"
    )
    for examples, mean in (((SimpleNamespace(predicted=begin),), 0.5), ((), begin)):
        drawn = html._diagram(
            SimpleNamespace(reliability=table, answer=SimpleNamespace(examples=examples), mean_prediction=mean)
        )
        assert drawn["start"] == start
        assert drawn["table"] == {key: [0.25, None] for key in ("prediction", "outcome", "isotonic", "upper")}


def test_without_a_cost_the_page_has_nothing_on_acting():
    assert html._acting(SimpleNamespace(acting=None)) is None
