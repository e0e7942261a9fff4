"""The page as a browser reads it: what its policy needs of every tag, and what acting is worth."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import audit
from calibrant.report import html
from calibrant.report.html import document
from calibrant.report.style import COLOURS

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


@pytest.mark.slow
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


@pytest.mark.parametrize("cost", [None, SimpleNamespace(best_cut=0.25)])
def test_what_acting_is_worth_is_told_at_the_threshold(monkeypatch, cost):
    monkeypatch.setattr(html, "decision_svg", lambda _: "<svg>")
    monkeypatch.setattr(html, "triptych_svgs", lambda _: [("one", "<svg>"), ("two", "<svg>")])
    worths = {"net_benefit": [0.1, 0.2], "best_net_benefit": [0.3, 0.4], "treat_all": [0.5, 0.6]}
    told = html._acting(SimpleNamespace(acting=SimpleNamespace(at=1, threshold=0.2, **worths), cost_of_acting=cost))
    words, values = zip(*told["worths"], strict=True)
    assert values == (0.2, 0.4, 0.6, 0.0)
    assert words[1] == f"the best cut: {html.acting_from(np.inf if cost is None else 0.25)}"
    assert [title for title, _ in told["triptych"]] == ["one", "two"]


@pytest.mark.parametrize("table", [None, "table"])
@pytest.mark.parametrize("confusions", [(), ("pair",)])
def test_pairs_of_classes_are_drawn_where_some_err(monkeypatch, table, confusions):
    drawn = []
    monkeypatch.setattr(html, "errors_svg", lambda *_: "<svg>")
    monkeypatch.setattr(html, "pairs_svg", lambda what, width: drawn.append((what, width)) or "<svg>")
    pictures = html._class_pictures(SimpleNamespace(confusion_table=table, confusions=confusions))
    there = table is not None and bool(confusions)
    assert drawn == [("table", 6.0), ("table", 3.8)] * there
    assert list(pictures["pairs"]) == ["wide-page", "narrow-page"] * there
    assert list(pictures["errors"]) == ["wide-page", "narrow-page"]


def test_classes_that_are_not_shown_first_are_the_rest_in_their_order(monkeypatch):
    each = [SimpleNamespace(name=f"class {k}") for k in range(5)]
    monkeypatch.setattr(html, "shown_first", lambda _: [each[3], each[1]])
    told = html._class_questions(SimpleNamespace(class_wise=each))
    assert told == {"first": [each[3], each[1]], "rest": [each[0], each[2], each[4]]}


def test_styles_become_classes_beside_those_that_a_tag_has():
    page = (
        '<style>a {}</style><p style="top:0;left:1px">a</p><p class="b" style="top:1px">b</p><p style="top:0;left:1px">'
    )
    sealed = html._sealed(page)
    assert [re.findall(r'<p class="([^"]*)">', sealed)] == [["style-0", "style-1 b", "style-0"]]
    assert "style=" not in sealed
    assert ".style-0 { top:0 !important;left:1px !important }" in sealed
    assert ".style-1 { top:1px !important }" in sealed


def test_colours_of_a_picture_are_those_of_the_page():
    picture = "".join(f'<path fill="{colour}"/>' for colour in (*COLOURS.values(), "#000000"))
    told = html._coloured(f'<svg width="3.5pt" height="4pt">{picture}', "a label")
    assert re.findall(r'fill="var\(--(\w+)\)"', told) == [*COLOURS, "ink"]
    assert told.startswith('<svg role="img" aria-label="a label" >')


FINDINGS = ("periods", "classes", "found_segments")


@pytest.mark.parametrize("there", [(), *((name,) for name in FINDINGS), FINDINGS])
def test_a_page_draws_what_the_audit_has(monkeypatch, there):
    for name in ("sentences", "facts", "reality", "what_to_do", "code", "bars", "_diagram", "_acting", "some_periods"):
        monkeypatch.setattr(html, name, lambda *_, **__: None)
    for name in ("_drift", "_class_questions", "_class_pictures", "_found", "_pairs"):
        monkeypatch.setattr(html, name, lambda *_, name=name: name)
    monkeypatch.setattr(html.say, "periods_in_words", lambda _: "periods_in_words")
    has = {"periods": (), "classes": None, "found_segments": None}
    has |= {name: [SimpleNamespace(reading=SimpleNamespace(evalue=2e12))] for name in there}
    premises = SimpleNamespace(beside=lambda *_: ())
    distance = SimpleNamespace(lower=0.1, upper=0.2)
    told = html._context(
        SimpleNamespace(**has, hints=(), premises=premises, distance=distance, measures=(), answer=None)
    )
    assert told["drift_words"] == ("periods_in_words" if "periods" in there else "")
    assert told["drift_beyond"] == ("periods" in there)
    assert told["drift_pictures"] == ("_drift" if "periods" in there else {})
    assert told["class_questions"] == ("_class_questions" if "classes" in there else {})
    assert told["class_pictures"] == ("_class_pictures" if "classes" in there else {})
    assert told["found_pictures"] == ("_found" if "found_segments" in there else {})
    assert told["found_pairs"] == ("_pairs" if "found_segments" in there else [])
