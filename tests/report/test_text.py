"""The page in plain text: what it says of many periods and classes, of groups and seeds, and when it draws nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.findings.classes import ClassFindings, Question
from calibrant.report import text
from calibrant.report.text import ASCII, Page, Table, _in_groups, _labels, _of_comparison, _parts

NOTHING = {"segments": (), "segments_tested": False, "found_segments": None, "periods": (), "classes": None}


def said_of(**parts):
    page = Page(80)
    _parts(SimpleNamespace(level=0.05, **{**NOTHING, **parts}), page)
    return page.text()


def periods(n, rejected=()):
    return tuple(SimpleNamespace(period=k, reading=SimpleNamespace(reject=k in rejected)) for k in range(n))


@pytest.mark.parametrize(("n", "every"), [(1, None), (20, None), (21, 2), (40, 2), (41, 3), (1000, 50)])
def test_of_more_than_twenty_periods_it_is_told_that_some_are_shown(monkeypatch, n, every):
    monkeypatch.setattr(text.say, "periods_in_words", lambda _: "In words.")
    monkeypatch.setattr(text, "_periods", lambda shown: f"{len(shown)} in the table")
    said = " ".join(said_of(periods=periods(n)).split())
    told = "" if every is None else f" Of {n:,} periods one in {every} is shown, and the first with enough evidence."
    assert said == f"Drift ----- In words.{told} {n} in the table"


@pytest.mark.parametrize("n", [1, 19, 20, 21, 60, 1000])
@pytest.mark.parametrize("alarm", [None, 0, 7, 18])
def test_the_periods_shown_are_the_last_of_every_few_and_the_first_with_enough_evidence(n, alarm):
    shown = [each.period for each in text.some_periods(periods(n, () if alarm is None else range(alarm, n)))]
    step = next(k for k in range(1, n + 1) if 20 * k >= n)
    also = set() if alarm is None or alarm >= n else {alarm}
    assert shown == sorted({k for k in range(n) if (k + 1) % step == 0} | also)


def question(k, qvalue=0.5):
    return Question(f"class {k}", 0.1, 0.2, 0.01, 0.01, (k * 37 % 101) / 101.0, qvalue, None, None)


@pytest.mark.parametrize(("n", "told"), [(19, ""), (20, ""), (21, "1 class is not"), (22, "2 classes are not")])
def test_of_more_than_twenty_classes_it_is_told_how_many_are_left_out(n, told):
    top = question(999, None)
    classes = ClassFindings(n, (top, *map(question, range(n))), {})
    said = said_of(classes=classes)
    assert (" not shown here; the HTML page and the JSON have all." in said) == (n > 20)
    assert told in said
    first, *rest = text.shown_first(classes)
    plainest = sorted(classes.class_wise, key=lambda each: each.pvalue)[:20]
    assert (first, rest) == (top, plainest if n > 20 else list(classes.class_wise))
    head, of_top, *lines = text._questions(classes).lines(200)
    assert head.split()[-2:] == ["p", "q"]
    assert [len(line.split()) for line in (of_top, *lines)] == [7, *[8] * len(rest)]  # no q-value is no cell


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_the_seed_of_a_comparison_is_told_where_it_has_one(seed):
    page = Page(80)
    said = {"headline": "Neither.", "details": (), "facts": list, "names": (), "audits": (), "premises": ()}
    said["not_compared"] = None
    _of_comparison(SimpleNamespace(**said, seed=seed), page, ())
    told = page.text().partition("Taken as given\n--------------")[2]
    assert told.strip() == ("" if seed is None else text.say.repeats(seed))


@pytest.mark.parametrize(
    ("n", "columns", "unknown", "told"),
    [
        (None, {}, None, ""),
        (None, {"groups": "id"}, None, ", each with its own id"),
        (1, {}, None, " in 1 group"),
        (5, {"groups": "id"}, None, " in 5 groups (id)"),
        (5, {"groups": "id"}, 0, " in 5 groups (id)"),
        (5, {"groups": "id"}, 2, ", in 5 groups (id)"),
    ],
)
def test_groups_are_told_by_their_number_or_that_every_row_is_one(n, columns, unknown, told):
    followed = None if unknown is None else SimpleNamespace(n_unknown=unknown)
    assert _in_groups(SimpleNamespace(n_groups=n, columns=columns, followed=followed)) == told


def audited(band):
    """What a picture is drawn of: three predictions, with a band or without."""
    v = np.array([0.2, 0.5, 0.8])
    ends = (v - 0.1, v + 0.1) if band else (None, None)
    table = {"kind": "levels", "axis": "linear", "prediction": v, "outcome": v, "isotonic": v}
    table |= {"band_lower": ends[0], "band_upper": ends[1], "mass": np.full(3, 1.0 / 3.0)}
    answer = SimpleNamespace(examples=())
    return SimpleNamespace(reliability=SimpleNamespace(**table), answer=answer, level=0.05)


def test_where_there_is_no_room_nothing_is_drawn():
    several = SimpleNamespace(audits=(audited(band=True), audited(band=False)), names=("one", "other"))
    for draw, finding in ((text._of_one, audited(band=True)), (text._of_several, several)):
        assert draw(finding, 29, ASCII) == []
        drawn = draw(finding, 30, ASCII)
        assert (drawn[0], max(map(len, drawn))) == ("observed rate", 30)


@pytest.mark.parametrize("band", [False, True])
@pytest.mark.parametrize("headline", [False, True])
def test_the_legend_names_what_is_drawn_and_nothing_else(band, headline):
    finding = audited(band)
    finding.answer.examples = (SimpleNamespace(predicted=0.5, estimate=0.9),) if headline else ()
    lines = text._of_one(finding, 60, ASCII)
    rows, legend = [line.partition("|")[2] for line in lines if "|" in line], " ".join(lines[13:])
    for mark, name, there in ((":", "95% band", band), ("@", "headline", headline), ("#", "estimated rate", True)):
        assert any(mark in row for row in rows) == (f"{mark} {name}" in legend) == there


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((0.01, 0.99), ["99%", "50%", "1.0%"]),
        ((0.001, 0.5), ["50%", "3.1%", "0.10%"]),  # odds of 1/999 and 1: their geometric mean is 1/31.6
        ((1e-6, 0.01), ["1.0%", "0.010%", "0.00010%"]),
    ],
)
def test_the_middle_of_an_axis_of_log_odds_is_that_of_the_log_odds(ends, told):
    labels = _labels(*ends, "log-odds")
    assert [each.strip() for each in labels] == told
    assert len(set(map(len, labels))) == 1


def test_a_table_without_a_head_has_its_rows_alone():
    table = Table()
    table.add_row("a", "b")
    assert table.lines(80) == ["a  b"]


ROWS = {
    "n_rows": 1000,
    "trials": False,
    "followed": None,
    "rates": False,
    "weighted": False,
    "effective_rows": 250.0,
    "sampling_fractions": None,
    "fractions_given": False,
    "base_rate": 0.2,
    "mean_prediction": 0.3,
    "classes": None,
    "n_distinct": 7,
    "n_cells": None,
    "n_excluded": 0,
    "unweighted": False,
    "n_groups": None,
    "columns": {},
}
BY_OUTCOME = "0.1 of rows without the event were kept, 1 of those with it"


@pytest.mark.parametrize(
    ("given", "rows", "means", "more"),
    [
        ({}, "1,000 rows, 7 distinct predictions", "", ""),
        ({"n_groups": 9}, "1,000 rows in 9 groups, 7 distinct predictions", "", ""),
        ({"followed": SimpleNamespace(n_unknown=0)}, "1,000 rows, 7 distinct predictions", "", ""),
        ({"followed": SimpleNamespace(n_unknown=5)}, "1,000 of 1,005 rows known, 7 distinct predictions", "", ""),
        ({"weighted": True}, "1,000 rows, 7 distinct predictions, weighted (as good as 250 equal rows)", "", ""),
        ({"weighted": True, "rates": True}, "1,000 rows, 7 distinct predictions, weighted", "", ""),
        (
            {"weighted": True, "sampling_fractions": (0.1, 1.0)},
            f"1,000 rows, 7 distinct predictions, sampled by outcome (as good as 250 equal rows): {BY_OUTCOME}, as the "
            "weights say",
            "",
            "",
        ),
        (
            {"sampling_fractions": (0.1, 1.0), "fractions_given": True},
            f"1,000 rows, 7 distinct predictions, sampled by outcome: {BY_OUTCOME}",
            "",
            "",
        ),
        ({"n_cells": 16}, "1,000 rows, pooled into 16 cells of predictions", "", ""),
        ({"n_excluded": 1}, "1,000 rows, 7 distinct predictions", "", " 1 bad row was left out."),
        ({"n_excluded": 2}, "1,000 rows, 7 distinct predictions", "", " 2 bad rows were left out."),
        ({"unweighted": True}, "1,000 rows, 7 distinct predictions", "", " Weights were left out (unweighted)."),
        (
            {"classes": SimpleNamespace(n_classes=3)},
            "3 classes; but for the section on classes, all is about each row's most probable one. 1,000 rows, "
            "7 distinct predictions",
            "it is right in 20%, and predicted with 30% on average",
            "",
        ),
    ],
)
def test_facts_are_those_of_the_rows(given, rows, means, more):
    told = text.facts(SimpleNamespace(**{**ROWS, **given}))
    assert told == f"{rows}; {means or 'base rate 20%, mean prediction 30%'}.{more}"


SECTIONS = ("_numbers", "_what_to_do", "_parts", "_premises", "_agreement")


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("lines", [None, "code"])
@pytest.mark.parametrize("title", ["", "a model"])
def test_the_sections_of_a_page_are_those_that_were_asked_for(monkeypatch, everything, lines, title):
    for name in SECTIONS:
        monkeypatch.setattr(
            text,
            name,
            lambda *given, name=name, **_: next(each for each in given if isinstance(each, Page)).print(f"<{name}>"),
        )
    monkeypatch.setattr(text, "standing", lambda _: "It stands.")
    monkeypatch.setattr(text, "facts", lambda _: "Facts.")
    monkeypatch.setattr(text, "code", lambda *_: lines)
    answer = SimpleNamespace(details=("Detail.",), state="worth correcting")
    found = SimpleNamespace(title=title, sentences=["First.", "Detail.", "It stands.", "Last."], answer=answer)
    found.premises, found.hints = SimpleNamespace(beside=lambda *_: ()), ()
    found.rates, found.classes, found.n_groups, found.weighted = False, None, None, False
    for cost in (None, SimpleNamespace(summary=lambda: "It costs.")):
        for state in ("worth correcting", "no evidence"):
            for seed, resamples in ((None, 99), (0, 0), (0, 99)):
                found.cost_of_acting, answer.state, found.seed, found.n_resamples = cost, state, seed, resamples
                page = Page(80)
                text._of_audit(found, page, (), everything=everything)
                said = page.text()
                named = "Calibration of a model" if title else "Calibration"
                assert said.startswith(f"{named}\n{'=' * len(named)}\n\nFirst.\nDetail.\nIt stands.\n\nFacts.\nLast.")
                assert [f"<{name}>" in said for name in SECTIONS] == [
                    everything,
                    everything or lines is not None,
                    True,
                    True,
                    everything,
                ]
                assert ("It costs." in said) == (everything and cost is not None and state == "worth correcting")
                assert ("--all shows the measures" in said) == (not everything)
                assert said.endswith(text.say.repeats(0)) == (seed is not None and resamples > 0)


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("scores", [(), (1,)])
@pytest.mark.parametrize("lines", [None, "one()\ntwo()"])
def test_what_to_do_has_the_advice_where_all_is_asked_for_and_its_code(monkeypatch, everything, scores, lines):
    monkeypatch.setattr(text, "what_to_do", lambda *_: "Do so.")
    monkeypatch.setattr(text, "_methods", lambda _: "methods")
    monkeypatch.setattr(text, "code", lambda *_: lines)
    page = Page(80)
    text._what_to_do(SimpleNamespace(answer=None, advice=SimpleNamespace(scores=scores)), page, everything=everything)
    head = ["", "What to do", "-" * 10, "Do so."] if everything else ["", "How to do it", "-" * 12]
    methods = ["methods"] if everything and scores else []
    assert page.text().split("\n") == [*head, *methods, *([] if lines is None else ["", "    one()", "    two()"])]


@pytest.mark.parametrize(("test", "rejects", "told"), [(None, 0, 1), ("test", 1, 1), ("test", 0, 0)])
def test_a_test_is_told_to_reject_unless_rounded_outcomes_alone_bear_it(monkeypatch, test, rejects, told):
    monkeypatch.setattr(text, "rejected", lambda *_: bool(rejects))
    found = SimpleNamespace(tests={"calibration_test": SimpleNamespace(result=test)}, gate=None)
    assert text.beside_the_answer("miscalibrated: p = 0.01", found) == "miscalibrated: " * told + "p = 0.01"


@pytest.mark.parametrize("gate", [None, "gate"])
@pytest.mark.parametrize("no_band", [None, "too few rows"])
@pytest.mark.parametrize("rates", [False, True])
def test_bounds_and_the_lack_of_a_band_are_told_where_there_are_any(monkeypatch, gate, no_band, rates):
    monkeypatch.setattr(text, "proved_by", lambda *_, **__: "proved")
    found = SimpleNamespace(gate=gate, reliability=SimpleNamespace(no_band=no_band), rates=rates)
    band = ["There is no band: too few rows."] if no_band and not rates else []
    assert text.reality(found) == [*([text.say.sentence("proved")] if gate else []), *band]


@pytest.mark.parametrize("regions", [(), ("one", "other")])
@pytest.mark.parametrize("line", [None, "Level and slope said."])
def test_ranges_that_err_are_listed_or_it_is_told_that_there_is_none(monkeypatch, regions, line):
    monkeypatch.setattr(text, "reality", lambda _: ["Bounded."])
    monkeypatch.setattr(text, "beside_the_answer", lambda tested, _: tested)
    parts = {"regions": [SimpleNamespace(summary=lambda each=each: f"{each} errs") for each in regions]}
    measure = {"title": "Error", "parameters": {}, "shown": "0.1"}
    parts["measures"] = {
        "computed": SimpleNamespace(**measure, not_computed=None, sentence="How far."),
        "set": SimpleNamespace(
            **{**measure, "parameters": {"width": 0.1}}, not_computed="Too many rows.", sentence="No."
        ),
    }
    parts["tests"] = {"a": SimpleNamespace(title="A test", summary=lambda: "p = 0.1")}
    parts["group_line"] = None if line is None else SimpleNamespace(both=line)
    page = Page(80)
    text._numbers(SimpleNamespace(**parts), page)
    said = page.text().split("\n")
    assert said[3:5] == ["0.1  Error. How far.", "0.1  Error (width 0.1). Too many rows."]
    where = said.index("Where it errs (by the averaged map)") + 2
    listed = [f"- {each} errs" for each in regions] or [text.say.NO_REGION]
    assert said[where : where + len(listed) + 1] == [*listed, ""]
    real = said[said.index("Is it real?") + 2 :]
    assert real == ["- A test: p = 0.1", *([] if line is None else [f"- Level and slope: {line}"]), "- Bounded."]


@pytest.mark.parametrize("chance", [False, True])
@pytest.mark.parametrize("interval", [None, (-0.0312, 0.0512)])
@pytest.mark.parametrize("reject", [False, True])
def test_a_segment_s_line_has_what_is_sure_of_its_bias_where_that_was_tested(monkeypatch, chance, interval, reject):
    monkeypatch.setattr(text.say, "segment_name", lambda _: "a = 1")
    monkeypatch.setattr(text.say, "segment_in_words", lambda _: "too low")
    monkeypatch.setattr(text.say, "proved", lambda *_: ("0.01", ""))
    segment = {"lower_distance_bracket": (0.01, 0.01), "n_rows": 30, "n_unknown": 0, "bias": 0.01}
    told = text._segment(SimpleNamespace(**segment, bias_interval=interval, qvalue=0.0123, reject=reject), chance)
    bias = "outcome minus prediction +0.0100"
    if chance and interval is not None:
        where = ", too low" if reject else ""
        low, high = text.outwards(*interval, signed=True)
        assert told == f"a = 1: distance 0.01, 30 rows, q = 0.012{where}; {bias} [{low}, {high}]"
    else:
        why_not = f"; {text.say.NOT_TESTED}" if chance else ""
        assert told == f"a = 1: distance 0.01, 30 rows; {bias}{why_not}"


@pytest.mark.parametrize("tested", [False, True])
def test_segments_are_listed_up_to_twenty_and_their_intervals_explained_where_they_were_tested(monkeypatch, tested):
    monkeypatch.setattr(text, "_segment", lambda segment, chance: f"{segment} {chance}")
    said = said_of(segments=range(22), segments_tested=tested, segmented_by=("a", "b")).split("\n")
    assert said[1] == "Segments by a, b"
    words = [text.say.segments_sorted(0.05, chance=tested), *([text.say.segment_intervals(0.05)] if tested else [])]
    head = " ".join(said[3:]).partition("- 0 ")[0]
    assert head.split() == " ".join(words).split()
    assert [line for line in said if line.startswith("- ")] == [f"- {k} {tested}" for k in range(20)]


def test_periods_with_enough_evidence_are_marked(monkeypatch):
    monkeypatch.setattr(text.say, "enough", lambda reading: reading.evalue > 20.0)
    rows = {"n_rows": 1000, "base_rate": 0.2, "mean_prediction": 0.3}
    each = [
        SimpleNamespace(period=k, reading=SimpleNamespace(evalue=e, reject=e > 20.0), **rows)
        for k, e in enumerate((2.0, 30.0))
    ]
    _, *lines = text._periods(each).lines(80)
    assert [" ".join(line.split()) for line in lines] == [
        "0 1,000 20% 30% 2",
        "1 1,000 20% 30% 30, enough",
    ]
