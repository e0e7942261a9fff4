"""Two audits side by side: the paired test where rows are the same, a reason where not, and a hostile name."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

from calibrant import audit, audit_table, compare_calibration
from calibrant.cli.app import app
from calibrant.door.ends import in_points, in_short
from calibrant.drift.monitor import MonitorReading
from calibrant.drift.periods import Period
from calibrant.findings import comparison
from calibrant.findings.comparison import compare
from calibrant.findings.word_catalogue import periods_in_words
from tests.inference.test_items import questions

pytestmark = pytest.mark.usefixtures("one_database")


FEW = {"n_resamples": 199, "random_state": 0}


def written(tmp_path, name, y, v):
    path = tmp_path / name
    pd.DataFrame({"y_true": y, "y_prob": v}).to_csv(path, index=False)
    return str(path)


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v).astype(int), v


@pytest.mark.slow
def test_two_files_are_compared(tmp_path):
    y, v = rows()
    files = [written(tmp_path, "good.csv", y, v), written(tmp_path, "<b>bad.csv", y, v**3)]
    target, asked = tmp_path / "both.html", ["--seed", "0", "--resamples", "199"]
    done = CliRunner().invoke(app, ["audit", *files, "--html", str(target), *asked])
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    told = (
        "good.csv is better calibrated than <b>bad.csv on the same 600 rows. Chance alone rarely does this (p < 0.05)"
    )
    assert said.startswith(f"{told}. Predictions of <b>bad.csv would have to move by ")
    assert max(map(len, done.stdout.splitlines()[:30])) <= 80
    page = target.read_text()
    assert "<b>bad" not in page
    assert page.count("<figure>") == 2 * (1 + 1 + 3)  # of each the diagram, the decision curve and three panels
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    found = json.loads(CliRunner().invoke(app, ["audit", *files, "--json", *asked]).stdout)
    assert found["names"] == ["good.csv", "<b>bad.csv"]
    assert found["comparison"]["reject"]
    assert len(found["audits"]) == 2


@pytest.mark.slow
def test_names_and_numbers_are_in_one_order():
    y, v = rows()
    good, bad = (audit(y, each, n_resamples=0, random_state=0) for each in (v, v**3))
    columns = (y.astype(float), v), (y.astype(float), v**3)
    one = compare(("good", "bad"), (good, bad), columns, seed=0)
    other = compare(("bad", "good"), (bad, good), columns[::-1], seed=0)
    far, near = (in_points(in_short(each.answer.size)) for each in (bad, good))
    assert one.details[0].startswith(f"Predictions of bad would have to move by {far} on average, likely ")
    assert re.search(rf" Those of good would have to move by {near}[,.]", one.details[0])
    assert one.details[:2] == other.details[:2]


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_a_page_without_a_seed_tells_the_seed_that_repeats_it(tmp_path):
    y, v = rows(100)
    one = written(tmp_path, "one.csv", y, v)
    for files in ([one], [one, written(tmp_path, "two.csv", y, v**2)]):
        target = tmp_path / "page.html"
        done = CliRunner().invoke(app, ["audit", *files, "--html", str(target), "--resamples", "39"])
        assert done.exit_code == 0, done.output
        (seed,) = re.findall(
            r"^--seed (\d+) repeats this page; in Python random_state=\1\.$", done.stdout, re.MULTILINE
        )
        page = target.read_text()
        assert page.count(f"--seed {seed} repeats this page; in Python random_state={seed}.") == 1
        again = CliRunner().invoke(app, ["audit", *files, "--html", str(target), "--resamples", "39", "--seed", seed])
        assert again.stdout == done.stdout
        assert target.read_text() == page


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_no_seed_is_told_where_none_repeats_the_page(tmp_path):
    y, v = rows(100)
    drawn = audit(y, v, n_resamples=39, random_state=np.random.default_rng(0))
    other = audit(y, v, n_resamples=39, random_state=1)
    both = compare(("drawn", "other"), (drawn, other), (None, None), seed=1)
    for found in (drawn, both):
        found.to_html(tmp_path / "page.html")
        assert "repeats this page" not in found.summary() + (tmp_path / "page.html").read_text()
    assert "--seed 1 repeats this page" in other.summary()


@pytest.mark.slow
def test_files_of_other_rows_are_set_side_by_side_only(tmp_path):
    files = [written(tmp_path, "a.csv", *rows(seed=0)), written(tmp_path, "b.csv", *rows(seed=1))]
    done = CliRunner().invoke(app, ["audit", *files, "--resamples", "0"])
    assert done.exit_code == 0, done.output
    assert "their outcomes differ in " in " ".join(done.stdout.split())


@pytest.mark.slow
def test_three_files_are_shown_in_one_picture_and_every_pair_is_compared(tmp_path):
    y, v = rows(700)
    files = [written(tmp_path, f"{name}.csv", y, each) for name, each in (("bent", v**3), ("good", v), ("odd", v**2))]
    target = tmp_path / "all.html"
    done = CliRunner().invoke(app, ["audit", *files, "--html", str(target), "--seed", "0", "--resamples", "39"])
    assert done.exit_code == 0, done.output
    assert " ".join(done.stdout.split()).startswith(
        "good.csv is better calibrated than all others (at most 5% for any of the 3 comparisons to be wrong)"
    )
    page = target.read_text()
    assert page.count("<figure") == 1 + 3 * (1 + 1 + 3)  # of each the diagram, the decision curve and three panels
    assert all(f">{name}.csv<" in page.split("</figure>")[0] for name in ("bent", "good", "odd"))  # in the legend
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    asked = ["audit", *files, "--json", "--seed", "0", "--resamples", "0"]
    found = json.loads(CliRunner().invoke(app, asked).stdout)
    assert found["comparison"] is None
    by_name = {(each["first"][:4], each["second"][:4]): each for each in found["pairs"]}
    assert set(by_name) == {("good", "odd."), ("good", "bent"), ("odd.", "bent")}
    for (first, second), each in by_name.items():
        sizes = {file["title"][:4]: file["smooth_calibration_error"]["attained"] for file in found["audits"]}
        assert (each["value_a"], each["value_b"]) == pytest.approx((sizes[first], sizes[second]), abs=1e-9)
        assert each["value_a"] <= each["value_b"]
        assert each["better"] == (each["holm_pvalue"] <= 0.05)


@pytest.mark.slow
def test_models_of_which_none_is_best_are_said_so():
    y, v = rows(300)
    names, parts = ("a", "b", "c"), [(y.astype(float), each) for each in (v, v, v**4)]
    audits = [audit(*each, n_resamples=0, random_state=0) for each in parts]
    said = compare(names, audits, parts, seed=0).sentence
    assert said.startswith("None of the 3 is proved better than all others. Proved: ")
    assert "better calibrated than c" in said
    assert compare(names, audits, [*parts[:2], None], seed=0).sentence.startswith("The 3 were not compared row by row")


@pytest.mark.slow
def test_nine_files_are_too_many(tmp_path):
    file = written(tmp_path, "a.csv", *rows())
    done = CliRunner().invoke(app, ["audit", *[file] * 9])
    assert done.exit_code == 2
    assert "9 files" in done.stderr


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_drift_and_excluded_rows_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    day = np.repeat(np.arange(20), 300)
    v = rng.random(day.size)
    frame = pd.DataFrame({"day": day, "y": (rng.random(day.size) < np.where(day < 10, v, v**2)).astype(int), "p": v})
    frame.loc[5, "p"] = np.nan
    path, target = tmp_path / "rows.parquet", tmp_path / "report.html"
    frame.to_parquet(path)
    asked = ["audit", str(path), "--drift", "day", "--by", "day", "--html", str(target)]
    assert CliRunner().invoke(app, asked).exit_code == 2
    done = CliRunner().invoke(app, [*asked, "--exclude-bad"])
    assert done.exit_code == 1, done.output
    assert "Left out 1 row that is" in done.stderr
    assert "there was enough evidence against calibration" in " ".join(done.stdout.split())
    page = target.read_text()
    assert 'id="drift"' in page
    assert 'id="segments"' in page
    unknown = CliRunner().invoke(app, ["audit", str(path), "--drift", "dya", "--exclude-bad"])
    assert "--drift: there is no column 'dya'" in unknown.stderr
    weighted = CliRunner().invoke(app, [*asked, "--exclude-bad", "--sample-weight", "day"])
    assert weighted.exit_code == 2
    assert "--sample-weight: column 'day' cannot be used with periods of drift" in weighted.stderr


def test_files_whose_bad_rows_were_left_out_are_not_taken_for_the_same_rows(tmp_path):
    y, v = np.ones(40, int), rows(40)[1]
    files = [written(tmp_path, f"{row}.csv", y, np.where(np.arange(40) == row, np.nan, v).round(3)) for row in (3, 30)]
    done = CliRunner().invoke(app, ["audit", *files, "--exclude-bad", "--resamples", "0"])
    assert done.exit_code == 0, done.output
    assert "not compared row by row: bad rows were left out" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (
            [1.0, 25.0, 40.0],
            "By period 1 there was enough evidence against calibration (anytime-valid p = 0.04): forecasts",
        ),
        ([30.0, 0.5, 50.0], "After that it was too weak for a while; since period 2 it has been enough throughout."),
        ([30.0, 0.5, 0.2], "Since then it has fallen to 0.2 (20 is enough): the error may be gone, or the alarm was"),
    ],
)
def test_evidence_that_fell_again_is_told(evidence, told):
    def period(number, evalue, most):
        reading = MonitorReading(
            evalue, 1.0 / most, most >= 20.0, 0.05, 100 * (number + 1), number + 1, "forecasts too high"
        )
        return Period(number, 100, 0.2, 0.25, 0.05, reading)

    most = np.maximum.accumulate(evidence)
    said = periods_in_words([period(i, *pair) for i, pair in enumerate(zip(evidence, most, strict=True))])
    assert told in said


def test_a_comparison_is_given_what_the_command_is_given(tmp_path, monkeypatch):
    """The level and the seed of the command are those of the comparison, and its groups are those of each file."""
    rng, taken = np.random.default_rng(0), []
    for name in ("a.csv", "b.csv"):
        v = rng.random(240).round(3)
        frame = pd.DataFrame({"y_true": (rng.random(240) < v) * 1, "y_prob": v, "who": np.arange(240) // 2})
        frame.to_csv(tmp_path / name, index=False)
    made = comparison.compare
    monkeypatch.setattr(
        comparison, "compare", lambda *parts, **options: taken.append(options) or made(*parts, **options)
    )
    options = ["--level", "0.2", "--seed", "7", "--groups", "who", "--resamples", "39"]
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), *options])
    assert done.exit_code == 0, done.output
    assert (taken[0]["level"], taken[0]["seed"]) == (0.2, 7)
    assert [len(np.unique(each)) for each in taken[0]["groups_of"]] == [120, 120]


def answers(tmp_path, name, y, v, *, ids, order):
    path = tmp_path / name
    if name.endswith(".jsonl"):
        shares = [[[np.log(p), False], [np.log1p(-p), False]] for p in v]
        lines = [
            json.dumps({"doc_id": int(k), "doc_hash": f"h{k}", "acc": int(y[k]), "filtered_resps": shares[k]})
            for k in order
        ]
        path.write_text("\n".join(lines) + "\n")
    else:
        columns = {"question": [f"q{k}" for k in ids], "topic": ids // 2, "correct": y.astype(int), "confidence": v}
        pd.DataFrame(columns).iloc[order].to_csv(path, index=False)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_models_that_answer_the_same_questions_are_compared_by_question(tmp_path, ending):
    # The examiners' case: two models' answers to the same 1,000 questions were "not of the same rows".
    y, v, _ = questions()
    v = [np.maximum(each, 1.0 - each) for each in v]  # what a log has: the likelier of two answers
    ids, turn = np.arange(1000), np.random.default_rng(1).permutation(1000)
    first = answers(tmp_path, f"A.{ending}", y[0], v[0], ids=ids, order=ids)
    second = answers(tmp_path, f"B.{ending}", y[1], v[1], ids=ids, order=turn)
    items = ["--items", "question"] if ending == "csv" else []
    done = CliRunner().invoke(app, ["audit", first, second, *items, "--json", "--seed", "0", "--resamples", "39"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["same_items"] == 1000
    assert found["not_compared"] is None
    values = {
        name: audit["smooth_calibration_error"]["attained"] for name, audit in zip("AB", found["audits"], strict=True)
    }
    assert found["comparison"]["value_a"] == pytest.approx(values["A"], abs=1e-9)
    assert found["comparison"]["value_b"] == pytest.approx(values["B"], abs=1e-9)
    better, worse = ("A", "B") if values["A"] < values["B"] else ("B", "A")
    said = f"{better}.{ending} is better calibrated than {worse}.{ending} on the same 1,000 items. "
    assert found["sentence"].startswith(said)
    alone = compare_calibration(y[0], v[0], v[1], y_true_b=y[1], items="in order", n_resamples=199, random_state=0)
    assert found["comparison"]["interval"] == pytest.approx(
        dict(zip(("low", "high"), alone.interval, strict=True)), abs=1e-9
    )


@pytest.mark.slow
def test_what_items_refuse_and_what_they_need(tmp_path):
    y, v, _ = questions(200)
    ids = np.arange(200)
    first, second = (answers(tmp_path, f"{k}.csv", y[k], v[k], ids=ids, order=ids) for k in (0, 1))
    third = answers(tmp_path, "2.csv", y[1], v[1] ** 2, ids=ids, order=ids)
    short = answers(tmp_path, "short.csv", y[1], v[1], ids=ids, order=ids[:199])
    log = answers(tmp_path, "log.jsonl", y[1], np.maximum(v[1], 1 - v[1]), ids=ids, order=ids)
    quick = ["--resamples", "39", "--seed", "0"]

    def run(*command):
        return CliRunner().invoke(app, ["audit", *command, *quick])

    said = " ".join(run(first, second, "--distinct").stdout.split())
    differ = int((y[0] != y[1]).sum())
    assert f"differ in {differ} of 200 rows. If they are of the same items, say --items COLUMN, a column of ids" in said
    assert "Rows were matched by column question" in " ".join(run(first, second).stdout.split())
    assert "on the same 200 items" in " ".join(run(first, second, "--items", "in order").stdout.split())
    grouped = " ".join(run(first, second, "--items", "question", "--groups", "topic").stdout.split())
    assert "on the same 200 items" in grouped
    all_three = " ".join(run(first, second, third).stdout.split())
    assert "on the same 200 items" in all_three
    assert f"Outcomes differ in {differ} of 200 items; each file is judged by its own." in all_three
    # One flipped by mistake made items of two models' rows, and no word of it.
    flipped = answers(tmp_path, "flipped.csv", np.where(ids == 7, 1 - y[0], y[0]), v[1], ids=ids, order=ids)
    said = " ".join(run(first, flipped, "--items", "question").stdout.split())
    assert said.count("Outcomes differ in 1 of 200 items; each file is judged by its own. ") == 1
    shared = "199 of 199 values of column question of short.csv stand in 0.csv too; keep the rows of the same items"
    assert shared in " ".join(run(first, short).stdout.split())
    assert "they have 200 and 199 rows. If" in " ".join(run(first, short, "--distinct").stdout.split())
    assert "--items: has no effect on one FILE" in run(first, "--items", "question").stderr
    lacks = run(first, short, "--items", "question")
    assert lacks.exit_code == 2
    assert "--items: row 199 of 0.csv is 'q199', which the other side lacks" in lacks.stderr
    assert "--items: row 199 of 0.csv" in run(short, first, "--items", "question").stderr
    assert "in order, but 200 on one side and 199" in run(first, short, "--items", "in order").stderr
    assert "--items: cannot be used: a log" in run(log, first, "--items", "doc_id").stderr


@pytest.mark.slow
def test_ids_of_a_text_file_are_read_as_they_are_written(tmp_path):
    # 007 and 7 were one item across files, for columns of numbers in text are numbers elsewhere.
    files = [tmp_path / f"{name}.csv" for name in ("codes", "numbers")]
    for file, ids in zip(files, (["007", "8"], [7, 8]), strict=True):
        pd.DataFrame({"id": ids, "y_true": [0, 1], "y_prob": [0.2, 0.7]}).to_csv(file, index=False)
    done = CliRunner().invoke(app, ["audit", *map(str, files), "--items", "id", "--resamples", "0"])
    assert "--items: row 0 of codes.csv is '007', which the other side lacks" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("three", [False, True])
def test_models_that_two_measures_rank_differently_are_not_ranked(three):
    n = 40_000 if three else 4_000
    high = np.arange(n) % 2 == 1
    y = np.where(high, np.arange(n) % 200 < 185, np.arange(n) % 200 < 4)  # 92% and 2% happen
    models = {"A": np.where(high, 0.99, 0.09), "B": np.where(high, 0.67, 0.27)}
    models |= {"C": np.full(n, 0.7)} if three else {}
    frame = pd.DataFrame({"y": y * 1, **models})
    found = audit_table(frame, y_true="y", y_prob=list(models), random_state=0)
    smooth = {name: each.smooth_calibration_error for name, each in zip(found.names, found.audits, strict=True)}
    far = {name: each.answer.size for name, each in zip(found.names, found.audits, strict=True)}
    assert smooth["B"] < smooth["A"] < far["A"] + 1e-4 < far["B"]
    if three:
        assert found.headline.startswith("B is better calibrated than all others")
        assert "By distance A is best: its predictions would have to move least (" in found.sentence
    else:
        assert found.headline == "A and B cannot be ranked on the same 4,000 rows: it depends on the measure."
        assert "Predictions of B would have to move by 1" in found.sentence
        assert "By the smooth calibration error B is better by 2.0 points" in found.sentence


@pytest.mark.slow
def test_what_to_do_about_too_few_groups_without_a_direction_is_said():
    rng = np.random.default_rng(5)
    hospital, p = rng.integers(0, 12, 1_200), rng.beta(2.0, 4.0, 1_200)
    y = (rng.random(1_200) < p) * 1
    other = expit(logit(p) + rng.normal(0.0, 0.1, 1_200))
    rows = [(y, p), (y, other)]
    audits = [audit(*each, groups=hospital, n_resamples=39) for each in rows]
    assert {(each.answer.action, each.answer.direction) for each in audits} == {("collect more rows", None)}
    found = compare(("a", "b"), audits, rows, groups_of=[hospital, hospital], seed=0)
    assert found.details[-1] == "Do: collect rows of more groups before you rely on a and b."


@pytest.mark.slow
def test_a_segment_that_errs_alone_is_what_is_to_be_corrected_on_every_line(tmp_path):
    # The table and the first lines said "look closer" where the part below said what to correct.
    rng = np.random.default_rng(3)
    n = 2_000
    p, topic = rng.beta(2.0, 2.0, n), np.arange(n) % 5
    one = pd.DataFrame({"id": np.arange(n), "y_true": (rng.random(n) < p) * 1, "y_prob": p, "topic": topic})
    truth = np.where(topic == 0, 0.6 * p, p)
    two = one.assign(y_true=(rng.random(n) < truth) * 1)
    files = [str(tmp_path / name) for name in ("one.csv", "two.csv")]
    for frame, file in zip((one, two), files, strict=True):
        frame.to_csv(file, index=False)
    done = CliRunner().invoke(app, ["audit", *files, "--by", "topic", "--resamples", "199", "--seed", "0"])
    page = " ".join(done.stdout.split())
    assert "two.csv: correct topic = 0 alone." in page
    assert "a segment errs" in page
    assert "look closer" not in page
    assert "repair = SegmentRecalibrator('y_prob', features=['topic'])" in page
    assert repr(audit_table(two, by="topic", **FEW)).startswith("Audit(a segment errs, too high")


@pytest.mark.slow
def test_segments_that_are_all_off_to_one_side_are_not_said_to_err_unlike_one_another():
    rng = np.random.default_rng(0)
    p, topic = rng.beta(2.0, 2.0, 5_000), np.arange(5_000) % 5
    frame = pd.DataFrame({"y_true": (rng.random(5_000) < 0.7 * p) * 1, "y_prob": p, "topic": topic})
    do = audit_table(frame, by="topic", **FEW).answer.details[-1]
    assert "All 5 segments are off to the same side on average." in do
    assert "SegmentRecalibrator" not in do
    truth = np.where(topic < 2, np.clip(p - 0.1, 0.0, 1.0), 0.6 - 0.4 * p)  # means are as far off, curves are unlike
    unlike = frame.assign(y_true=(rng.random(5_000) < truth) * 1)
    assert "to the same side" not in audit_table(unlike, by="topic", **FEW).answer.sentence


@pytest.mark.slow
def test_files_of_other_numbers_of_rows_are_said_to_be_so():
    y, v = rows(60)
    both = [(y.astype(float), v), (y[:40].astype(float), v[:40])]
    found = compare(("one", "two"), [audit(*each, n_resamples=0) for each in both], both)
    assert "they have 60 and 40 rows" in " ".join(str(found).split())
