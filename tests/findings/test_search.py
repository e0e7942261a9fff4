"""Segments that an audit is asked to find: in its answer, on its pages and in its JSON, by every road."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant
from calibrant import InputError, audit_table
from calibrant.cli.app import app
from calibrant.door.request import AuditRequest
from calibrant.findings import parts
from calibrant.report.html import document
from calibrant.report.segments import pair_names, pair_svg, pairs_to_draw
from calibrant.segments import search as search_module
from calibrant.segments.request import Search
from calibrant.segments.search import found_in_table
from calibrant.tables.entry import OpenedFile

RNG = np.random.default_rng(2)
N = 6_000
FRAME = pd.DataFrame(
    {
        "country": RNG.choice(["de", "jp", "us"], N),
        "device": RNG.choice(["phone", "tablet"], N),
        "y_prob": RNG.uniform(0.1, 0.6, N),
    }
)
BROKEN = (FRAME["country"] == "jp") & (FRAME["device"] == "tablet")
FRAME["y_true"] = (RNG.random(N) < FRAME["y_prob"] + np.where(BROKEN, -0.1, 0.02)) + 0
OPTIONS = {"n_resamples": 99, "random_state": 0}


@pytest.fixture(scope="module")
def audited():
    return audit_table(FRAME, find=["country", "device"], **OPTIONS)


@pytest.mark.slow
def test_the_answer_says_where_it_is_off_though_all_rows_show_nothing(audited):
    first = audited.found_segments.segments[0]
    assert first.name == "country = jp and device = tablet"
    assert audited.answer.state in ("no evidence", "too few rows")
    assert audited.answer.action == "look at the parts"
    predicted, happened = FRAME.loc[BROKEN, ["y_prob", "y_true"]].mean()
    rates = f"{predicted:.0%} predicted, {happened:.0%} happened ({BROKEN.sum():,} rows)"
    sure = f"(p = {first.pvalue:.1g}, allowing for {audited.found_segments.n_tested} segments)."
    assert audited.answer.headline == f"Too high for {first.name}: {rates}. Chance alone rarely does this {sure}"
    assert "change nothing" not in audited.answer.sentence
    assert first.words == f"too high by {100.0 * (predicted - happened):.2g} points where {first.name}"


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_it_is_shown_on_every_page(audited):
    assert "Segments found in country, device\n" in audited.summary()
    assert "not fitted to these rows" in audited.summary().replace("\n", " ")
    html = document(audited)
    assert "1. country = jp and device = tablet" in html
    assert "Rows of each tested segment" in html
    kept = json.loads(audited.to_json())["found_segments"]
    assert kept["segments"][0]["conditions"] == ["country = jp", "device = tablet"]
    assert "tested" not in kept
    assert audited.found_segments.tested.shape == (audited.found_segments.n_tested, 3)


@pytest.mark.slow
def test_every_road_finds_the_same(audited, tmp_path):
    names = {"y_true": "y_true", "y_prob": "y_prob"}
    assert calibrant.find_segments(FRAME, n_resamples=99, random_state=0, **names) == audited.found_segments
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_json(tmp_path / "a.jsonl", orient="records", lines=True, double_precision=15)
    asked = Search(n_resamples=99, random_state=0)
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        again = found_in_table(OpenedFile(tmp_path / name), names, asked)
        told = [each.conditions for each in audited.found_segments.segments]
        assert [each.conditions for each in again.segments] == told
        assert again.pvalue == pytest.approx(audited.found_segments.pvalue)


@pytest.mark.slow
def test_features_of_text_files_are_numbers_times_or_texts(tmp_path):
    at = np.arange(2_000)
    table = FRAME[:2_000].assign(age=at % 70, day=[f"2026-01-0{k % 9 + 1}" for k in at])
    table.loc[5, "age"] = None
    table.to_csv(tmp_path / "a.csv", index=False)
    names = {"y_true": "y_true", "y_prob": "y_prob"}
    found = found_in_table(OpenedFile(tmp_path / "a.csv"), names, Search(n_resamples=39, random_state=0))
    assert found.features["age"][-1] == "age is missing"
    assert "age > 62" in found.features["age"]
    assert found.features["day"][:2] == ("day = 2026-01-01", "day = 2026-01-02")


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_sound_predictions_stay_fine():
    table = FRAME.assign(y_true=(np.random.default_rng(1).random(N) < FRAME["y_prob"]) + 0)[:1_000]
    found = audit_table(table, find="country", **OPTIONS)
    assert found.found_segments.segments == ()
    assert "none is proved off, allowing for all of them" in " ".join(found.sentences)
    assert "strongest sign" in document(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, "country, device, c0, c1, c2 and 3 others"),
        ({"by": ["country", "c0"], "find": "c1", "drift": "c2", "groups": "c3"}, "device, c4, c5"),
        ({"find": "all"}, None),
        ({"y_prob": ["y_prob", "c5"]}, "country, device, c0, c1, c2 and 2 others"),
    ],
)
def test_columns_that_nobody_asked_about_are_named(options, names):
    table = FRAME[:400].assign(**{f"c{k}": (np.arange(400) + k) % (100 if k == 3 else 2) for k in range(5)}, c5=0.5)
    found = audit_table(table, y_true="y_true", **{"y_prob": "y_prob", **OPTIONS, **options})
    for each in getattr(found, "audits", [found]):
        said = [one for one in each.premises.sentences if "not looked at" in one]
        assert [one.partition("; --find all")[0] for one in said] == (
            [f"Columns not looked at: {names}"] if names else []
        )


def test_columns_of_event_rates_are_not_offered_to_a_search_that_would_refuse_them():
    assert audit_table(FRAME[:200].assign(y_true=0.5), random_state=0).not_looked_at == ()


def test_no_search_is_advised_that_an_option_refuses(monkeypatch):
    assert audit_table(FRAME[:200], n_resamples=0).not_looked_at != ()
    monkeypatch.setattr("calibrant.door.request.AuditRequest.beside", lambda *_: ("--trim",))
    assert audit_table(FRAME[:200], n_resamples=0).not_looked_at == ()


@pytest.mark.slow
def test_where_a_segment_by_name_is_off_and_not_in_the_search_a_sentence_says_why():
    """They are the same segments, told as columns with their values by one and as words by the other."""
    seen = {"by name": 0, "in the search": 0, "": 0}
    for seed in (0, 6):
        rng = np.random.default_rng(seed)
        p, k = rng.uniform(0.05, 0.6, 3_000), rng.integers(0, 9, 3_000)
        key = np.where(k == 8, np.nan, k)
        y = rng.random(3_000) < np.where(k == 7, 0.77 * p, p)
        table = pd.DataFrame({"y_true": y, "y_prob": p, "k": key, "part": rng.choice(list("uv"), 3_000)})
        found = audit_table(table, by="k", find=["k", "part"], n_resamples=39, random_state=0)
        searched = found.found_segments
        labels = searched.features["k"]
        assert labels[7:] == ("k = 7", "k is missing")
        beyond = {
            labels[made_of[0][1]]
            for made_of, (_, _, p) in zip(searched.made_of, searched.tested, strict=True)
            if len(made_of) == 1 and made_of[0][0] == 0 and p <= 0.05
        }
        off = [each.key[0] for each in found.segments if each.reject]
        named = {"k is missing" if key is None else f"k = {key:g}" for key in off}
        said = [one for one in found.sentences if "has its own test and rule" in one]
        assert bool(said) == (named != beyond)
        way = "" if not said else "by name" if "noise by name" in said[0] else "in the search"
        assert way != "by name" or named - beyond
        assert way != "in the search" or beyond - named
        seen[way] += 1
    assert seen[""]
    assert seen["by name"]


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        (FRAME[:200], {"find": 3}, "find: is 3"),
        (FRAME[:200], {"find": "y_prob"}, "column of y_prob"),
        (FRAME[:200], {"find": "nothing"}, "there is no column 'nothing'"),
        (FRAME[:200].assign(all=1), {"find": "all"}, "the name of one"),
        (FRAME[:200], {"find": "country", "max_depth": 9}, "max_depth: is 9"),
        (FRAME[:200].assign(g=1), {"find": ["country", "g"], "groups": "g"}, "find: names 'g', the column of groups"),
        (FRAME[:200], {"find": "country", "n_resamples": 0}, "n_resamples"),
        (FRAME[:200].assign(y_true=0.5), {"find": "country", "n_resamples": 999}, "find: has no effect on event rates"),
        (calibrant.CalibrationSketch(), {"find": "country"}, "find: is for tables"),
    ],
)
def test_what_cannot_be_searched_is_refused(table, options, why):
    with pytest.raises(InputError, match=why):
        audit_table(table, **(OPTIONS | options))


@pytest.mark.slow
def test_rows_of_a_group_are_taken_together_by_every_road(tmp_path):
    table = FRAME.assign(patient=[f"{k % 300:03d}" for k in range(N)])
    found = audit_table(table, find=["country", "device"], groups="patient", **OPTIONS)
    wanted = calibrant.find_segments(table, y_true="y_true", y_prob="y_prob", groups="patient", **OPTIONS)
    assert found.found_segments == wanted
    assert wanted.n_groups == 300
    assert [each.name for each in wanted.segments] == ["country = jp and device = tablet"]
    assert f"rows of {wanted.segments[0].n_groups} groups" in " ".join(found.summary().split())
    assert json.loads(found.to_json())["found_segments"]["segments"][0]["n_groups"] == wanted.segments[0].n_groups
    table.to_csv(tmp_path / "a.csv", index=False)
    done = CliRunner().invoke(
        app,
        [
            "audit",
            str(tmp_path / "a.csv"),
            "--find",
            "country,device",
            "--groups",
            "patient",
            "--resamples",
            "99",
            "--json",
        ],
    )
    again = json.loads(done.stdout)["found_segments"]
    assert [each["n_groups"] for each in again["segments"]] == [each.n_groups for each in wanted.segments]
    assert again["pvalue"] == pytest.approx(wanted.pvalue)


@pytest.mark.slow
def test_small_lazy_tables_are_read_to_be_searched_though_they_are_summed():
    import polars as pl

    read = audit_table(FRAME, find="country", **OPTIONS).found_segments
    audit = audit_table(pl.from_pandas(FRAME).lazy(), find="country", **OPTIONS)
    assert audit.n_cells is not None
    assert not audit.found_segments.summed
    assert [each.name for each in audit.found_segments.segments] == [each.name for each in read.segments]
    assert audit.found_segments.multicalibration_error == pytest.approx(read.multicalibration_error)


@pytest.mark.slow
def test_pairs_are_drawn_with_what_is_proved_framed(audited):
    found = audited.found_segments
    assert pairs_to_draw(found) == [(0, 1)]
    assert pair_names(found, (0, 1)) == ("country", "device")
    text = pair_svg(found, (0, 1), 5.0)
    shown = dict(zip(found.made_of, found.tested.tolist(), strict=True))
    pairs = {fixed: each for fixed, each in shown.items() if len(fixed) == 2}
    assert len(pairs) == 6
    assert all(f">{off:+.3f}<".replace("0.", ".", 1) in text for _, off, _ in pairs.values())
    proved = sum(pvalue <= found.level for *_, pvalue in pairs.values())
    assert proved > 0
    assert text.count("stroke-width: 1.8") == proved  # their frames
    page = document(audited)
    assert "By country and device" in page
    assert " object at 0x" not in page
    many = FRAME.assign(shop=[f"s{k % 20}" for k in range(len(FRAME))])
    drawn = audit_table(many, find=["shop", "device"], **OPTIONS)
    assert "12 of 20 values of shop: those with the strongest evidence." in document(drawn)
    one = audit_table(FRAME, find="country", **OPTIONS).found_segments
    assert pairs_to_draw(one) == []
    assert one.searched == "values of one feature"


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
@pytest.mark.parametrize("parts_differ", [False, True])
def test_an_error_that_is_the_same_everywhere_sends_nobody_to_segments(parts_differ):
    rng = np.random.default_rng(2)
    p, part = rng.uniform(0.1, 0.9, 3_000), rng.choice(list("uvw"), 3_000)
    off = np.where(part == "u", -0.3, -0.1) if parts_differ else -0.1
    table = pd.DataFrame({"y_true": rng.random(3_000) < p + off, "y_prob": p, "part": part})
    found = audit_table(table, find=["part"], n_resamples=39, random_state=0)
    said = f"{' '.join(found.sentences)} {found.found_segments.summary()} {document(found)}"
    assert found.answer.action == "recalibrate"
    told = found.advice.gain.summary()
    assert told in found.answer.sentence
    assert told in found.advice.words  # the same numbers, by the same function
    assert ("none differs from the rest beyond chance" not in said) == parts_differ
    assert ("SegmentRecalibrator" in said) == parts_differ
    assert ("each told with the error of all its rows: " in said) == parts_differ


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_where_no_segment_is_large_enough_none_is_said_to_be_in_order():
    table = FRAME[:70].assign(device=np.arange(70) // 10)
    found = audit_table(table, find="device", **{**OPTIONS, "n_resamples": 39})
    assert found.found_segments.n_tested == 1
    said = f"{' '.join(found.sentences)} {found.found_segments.summary()} {document(found)}"
    assert "only all rows together: a segment needs 50 rows" in said
    assert "proved off" not in said


@pytest.mark.parametrize(
    ("held", "hint"), [({"id": "u"}, False), ({"id": "u", "visit": "v"}, False), ({"row": ""}, True)]
)
def test_no_search_is_advised_that_would_be_refused(tmp_path, held, hint):
    """Of texts that differ in every row nothing can be formed; numbers are cut into ranges."""
    rows = FRAME[["y_true", "y_prob"]][:200]
    table = rows.assign(**{name: [f"{start}{k}" if start else k for k in range(200)] for name, start in held.items()})
    found = audit_table(table, n_resamples=0)
    assert found.not_looked_at == (tuple(held) if hint else ())
    assert ("--find all" in " ".join(found.premises.sentences)) == hint
    table.to_csv(tmp_path / "rows.csv", index=False)
    gate = CliRunner().invoke(app, ["gate", str(tmp_path / "rows.csv"), "--max-distance", "0.3"])
    assert ("--find all" in gate.stdout) == hint


@pytest.mark.parametrize("seed", [None, 7])
def test_segments_are_searched_by_the_seed_of_the_audit_where_it_has_one(monkeypatch, seed):
    searched = []
    monkeypatch.setattr(search_module, "found_in_table", lambda *each: searched.append(each[2]))
    request = AuditRequest(y_true="y", y_prob="p", find=("s",), random_state=3)
    parts._found(None, SimpleNamespace(seed=seed, columns={}), {}, request)
    assert searched[0].random_state == (3 if seed is None else seed)
