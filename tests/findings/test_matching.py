"""How rows of several files are matched: by ids, in order, or not at all; what says so, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import compare_calibration
from calibrant.cli.app import app
from calibrant.findings.matching import IN_ORDER, SharedIds, match_rows
from calibrant.tables.columns import item_columns


def run(*args):
    done = CliRunner().invoke(app, [str(each) for each in args])
    return done.exit_code, " ".join(done.stdout.split()), " ".join(done.stderr.split())


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Questions with answers of two models: a; b in the same order, d in another, and its row numbers as ids."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p, q = rng.random(120), rng.random(120)
    ids = 7 * np.arange(120) + 3
    a = pd.DataFrame({"id": ids, "y_true": (rng.random(120) < p) * 1, "y_prob": p})
    b = pd.DataFrame({"id": ids, "y_true": (rng.random(120) < q) * 1, "y_prob": 0.9 * q})
    order = rng.permutation(120)
    frames = {
        "a": a,
        "b": b,
        "d": b.iloc[order],
        "same": a.assign(y_prob=0.9 * p).iloc[order],
        "part": b.assign(id=ids + 280),
        "plain": b.drop(columns="id"),
        "a_numbers": a.assign(id=np.arange(120)),
        "b_numbers": b.assign(id=np.arange(120)),
        "more_numbers": pd.concat([b, b.assign(y_prob=0.8 * q)]).assign(id=np.arange(240)),
    }
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv", index=False)
    return frames


def test_columns_of_ids_go_by_their_names():
    assert item_columns(["ID", "y", "question_id", "uuid", "idea", "day", "time"]) == ["ID", "question_id", "uuid"]


@pytest.mark.slow
def test_an_order_that_ids_contradict_is_refused(files):
    # It was accepted in silence, and 120 items were compared with other ones.
    row = int(np.flatnonzero(files["d"]["id"].to_numpy() == 3)[0])
    for args in (("audit", "a.csv", "d.csv", "--resamples", 0), ("gate", "a.csv", "--baseline", "d.csv")):
        code, _, said = run(*args, "--items", "in order")
        name = "a.csv" if args[0] == "audit" else "FILE"
        assert code == 2
        assert f"column id says otherwise: row 0 of {name} is 3, which is row {row} of d.csv; say --items id" in said


@pytest.mark.slow
def test_an_order_that_ids_of_several_rows_contradict_is_refused(files):
    # Ids that each stood twice were not looked at: 120 items were compared with other ones.
    twice = np.arange(120) // 2
    files["a"].assign(id=twice).to_csv("a.csv", index=False)
    files["d"].assign(id=twice[::-1]).to_csv("d.csv", index=False)
    for args in (("audit", "a.csv", "d.csv", "--resamples", 0), ("gate", "a.csv", "--baseline", "d.csv")):
        code, _, said = run(*args, "--items", "in order")
        name = "a.csv" if args[0] == "audit" else "FILE"
        assert code == 2
        assert f"column id says otherwise: row 0 of {name} is 0, and that of d.csv is 59; put rows in one order" in said
    alike = files["a"].assign(id=twice[::-1], y_prob=0.9 * files["a"]["y_prob"])
    alike.to_csv("alike.csv", index=False)
    assert "column id says otherwise" in run("audit", "a.csv", "alike.csv", "--resamples", 0)[1]
    said = run("gate", "a.csv", "--baseline", "alike.csv")[1]
    assert "Rows of alike.csv are taken as others than those of FILE." in said


@pytest.mark.slow
def test_how_items_were_matched_is_a_premise_of_a_comparison(tmp_path):
    of = "all 120 rows of each of a.csv and"
    for other, items, said in (("d.csv", ("--items", "id"), f"Rows were matched by column id: {of} d.csv."),):
        result = json.loads(run("audit", "a.csv", other, *items, "--resamples", 0, "--html", "out.html", "--json")[1])
        assert result["matching"] == said
        assert said in (tmp_path / "out.html").read_text()


@pytest.mark.slow
def test_outcomes_that_are_alike_by_chance_of_their_order_are_compared_by_ids(files):
    # Both sorted by outcome: "the same rows", of which nearly none were.
    for name in ("a", "same"):
        files[name].sort_values(["y_true", "y_prob" if name == "a" else "id"]).to_csv(f"{name}.csv", index=False)
    _, said, _ = run("audit", "a.csv", "same.csv", "--resamples", 0)
    assert "Rows were matched by column id" in said


@pytest.mark.slow
def test_an_audit_matches_ids_by_the_same_rule_as_a_gate():
    # It took ids only where they were named, and sent to compare_calibration otherwise.
    found = json.loads(run("audit", "a.csv", "d.csv", "--resamples", 0, "--json")[1])
    named = json.loads(run("audit", "a.csv", "d.csv", "--resamples", 0, "--items", "id", "--json")[1])
    assert found["comparison"] == named["comparison"]
    assert found["matching"] == "Rows were matched by column id: all 120 rows of each of a.csv and d.csv."
    for other, what in (("part.csv", "80 of 120 values"), ("b_numbers.csv", "120 of 120 values")):
        first = "a.csv" if other == "part.csv" else "a_numbers.csv"
        words = f"{what} of column id of {other} stand in"
        assert f"not compared row by row: {words} {first} too; " in run("audit", first, other, "--resamples", 0)[1]
        assert f"baseline: {words} FILE too; " in run("gate", first, "--baseline", other)[2]


def test_rows_that_may_be_others_are_sent_to_commands():
    said = run("audit", "a.csv", "plain.csv", "--resamples", 0)[1]
    ways = "say --items COLUMN, a column of ids, or --items 'in order'"
    assert f"If they are of the same items, {ways}; calibrant gate FILE --baseline FILE compares other rows" in said
    assert "y_true_b" not in said


@pytest.fixture
def answers(files):
    """Forty questions, three answers to each of either model, those of one question alike."""
    rng, n = np.random.default_rng(3), 40
    question = np.repeat([f"q{k:02}" for k in range(n)], 3)
    hard = np.repeat(rng.normal(0.0, 1.5, n), 3)
    for name, bend in (("one", 0.0), ("two", 0.8)):
        p = 1.0 / (1.0 + np.exp(-hard))
        y = (rng.random(3 * n) < p) * 1
        files[name] = pd.DataFrame({"qid": question, "y_true": y, "y_prob": p ** (1.0 + bend)})
    files["one"].to_csv("one.csv", index=False)
    # question by question in another order, the three answers of each in theirs
    turn = (3 * rng.permutation(n)[:, None] + np.arange(3)).ravel()
    files["two"].iloc[turn].to_csv("two.csv", index=False)
    files["two"].iloc[1:].to_csv("fewer.csv", index=False)
    return files


@pytest.mark.slow
def test_several_answers_to_one_question_are_matched_in_turn_and_drawn_together(answers):
    # Ids with several rows were refused ("row 1 is 'q00' again"), without a way out.
    said = run("audit", "one.csv", "two.csv", "--items", "qid", "--resamples", 0)[1]
    assert "Rows were matched by column qid: all 120 rows of each of one.csv and two.csv." in said
    assert "Those of one qid follow one another alike, and are a group." in said
    found = json.loads(run("audit", "one.csv", "two.csv", "--items", "qid", "--resamples", 0, "--json")[1])
    one, two = answers["one"], answers["two"]
    by_hand = compare_calibration(
        one["y_true"],
        one["y_prob"],
        two["y_prob"],
        y_true_b=two["y_true"],
        items="in order",
        groups=one["qid"],
        n_resamples=199,
        random_state=0,
    )
    assert list(found["comparison"]["interval"].values()) == list(by_hand.interval)
    assert found["same_items"] == 120


@pytest.mark.usefixtures("answers")
def test_answers_that_are_not_as_many_are_refused_with_the_row():
    code, _, said = run("audit", "one.csv", "fewer.csv", "--items", "qid", "--resamples", 0)
    assert code == 2
    assert (
        "items: row 0 of one.csv is 'q00', which stands in 3 rows here and in 2 on the other side; an id needs" in said
    )
    code, _, said = run("gate", "one.csv", "--baseline", "two.csv", "--items", "qid")
    assert code == 2
    assert "have several rows of one qid, which may depend on one another; a baseline takes independent ones" in said
    assert "calibrant audit FILE two.csv --items qid compares them by groups" in said


def test_an_id_that_is_missing_is_said_with_its_file(answers):
    # It said "of two.csv: row 3 is missing".
    answers["b"].assign(id=[f"{k}" if k != 3 else None for k in range(120)]).to_csv("gaps.csv", index=False)
    said = run("audit", "a.csv", "gaps.csv", "--items", "id", "--resamples", 0)[2]
    assert "items: row 3 of gaps.csv has no id" in said


@pytest.mark.slow
def test_a_baseline_of_the_same_items_is_matched_by_their_ids():
    # The same questions were "120 others", whatever their ids said.
    code, said, _ = run("gate", "a.csv", "--baseline", "d.csv")
    assert code != 2
    assert "the same 120 items, outcomes of either's own" in said
    assert "Rows were matched by column id: all 120 rows of each of FILE and d.csv." in said
    result = json.loads(run("gate", "a.csv", "--baseline", "d.csv", "--json")[1])
    assert result["premises"]["matching"].startswith("Rows were matched by column id")
    alone = json.loads(run("gate", "a.csv", "--baseline", "b.csv", "--items", "id", "--json")[1])
    assert result["checks"][1]["difference"] == alone["checks"][1]["difference"]  # in any order
    assert "(the same 120 rows)" in run("gate", "a.csv", "--baseline", "same.csv")[1]


@pytest.mark.slow
def test_a_baseline_that_may_be_of_the_same_items_is_asked_about():
    code, _, said = run("gate", "a_numbers.csv", "--baseline", "b_numbers.csv")
    assert code == 2
    assert "120 of 120 values of column id of b_numbers.csv stand in FILE too; say --items id" in said
    assert "the same 120 items" in run("gate", "a_numbers.csv", "--baseline", "b_numbers.csv", "--items", "id")[1]
    apart = run("gate", "a_numbers.csv", "--baseline", "b_numbers.csv", "--distinct")[1]
    assert "120 rows against 120 others" in apart
    assert "matched" not in apart
    code, _, said = run("gate", "a.csv", "--baseline", "part.csv")
    assert code == 2
    ways = "keep the rows of the same items in both files"
    assert f"80 of 120 values of column id of part.csv stand in FILE too; {ways}" in said
    assert run("gate", "a.csv", "--baseline", "part.csv", "--distinct")[0] != 2


@pytest.mark.slow
def test_rows_without_ids_are_said_to_be_taken_as_others():
    for name in ("plain", "more_numbers"):
        said = run("gate", "a_numbers.csv", "--baseline", f"{name}.csv")[1]
        assert f"Rows of {name}.csv are taken as others than those of FILE. If both are of the same items, say" in said
    said = run("gate", "a.csv", "--baseline", "plain.csv", "--items", "in order")[1]
    assert "the same 120 items" in said
    assert "Rows were matched in order, as was said (items)" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--items", "id"), "name it with --baseline"),
        (("--baseline", "b.csv", "--items", "question"), "there is no column 'question'"),
        (("--baseline", "part.csv", "--items", "id"), "which the other side lacks, as it does 39 more"),
        (("--baseline", "more_numbers.csv", "--items", "in order"), "120 on one side and 240 on the other"),
    ],
)
def test_items_that_cannot_be_used_are_refused(args, said):
    code, _, error = run("gate", "a.csv", *args)
    assert code == 2
    assert said in error


def test_an_order_that_documents_of_logs_contradict_is_refused_too(tmp_path):
    sample = '{"doc_id": %d, "target": %d, "filtered_resps": [["%s", false], ["-1", false]], "acc": %d}'
    for name, order in (("x", range(40)), ("z", range(39, -1, -1))):
        lines = [sample % (i, i % 2, -2.0 + i / 20.0, i % 3 > 0) for i in order]
        (tmp_path / f"samples_{name}.jsonl").write_text("\n".join(lines))
    code, _, said = run("gate", "samples_x.jsonl", "--baseline", "samples_z.jsonl", "--items", "in order")
    assert code == 2
    assert "documents of the logs say otherwise: row 0 of FILE is 0, which is row 39 of samples_z.jsonl" in said
    assert "leave out --items, and documents are matched" in said
    said = run("gate", "samples_x.jsonl", "--baseline", "samples_z.jsonl")[1]
    assert "Rows were matched by documents of the logs: all 40 rows" in said


def test_rows_that_are_said_to_be_other_ones_are_paired_where_all_outcomes_are_the_same():
    y = np.array([0.0, 1.0, 1.0])
    match, why_not = match_rows((), [y, y, y], None, distinct=True)
    assert (match.how, len(match.others), match.by_user, why_not) == (IN_ORDER, 2, False, None)
    for other in (1.0 - y, y[:2]):
        assert match_rows((), [y, y, other], None, distinct=True) == (None, None)


@pytest.mark.parametrize("first", [0, 1, 2, 1000])
def test_only_what_counts_from_0_or_1_on_is_numbers_of_rows(first):
    one = [str(first + k) for k in range(50)]
    assert SharedIds("id", one, one[:40]).numbers_rows == (first < 2)
    assert not SharedIds("id", one, one[::-1]).numbers_rows
    assert not SharedIds(None, one, one).numbers_rows


def test_a_baseline_of_some_of_the_ids_is_refused_though_they_follow_one_another():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"id": 1000 + np.arange(120), "y_true": rng.integers(0, 2, 120), "y_prob": rng.random(120)})
    rows.to_csv("all.csv", index=False)
    rows.assign(y_prob=0.8 * rows["y_prob"])[:100].to_csv("some.csv", index=False)
    code, _, said = run("gate", "all.csv", "--baseline", "some.csv", "--max-worse", "0.1")
    assert code == 2, said
    assert "100 of 100 values of column id of some.csv stand in FILE too" in said
