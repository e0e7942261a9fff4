"""What looks wrong about the rows is said first, and a message names the file, the cause and what to do."""

import gzip
import io
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import audit
from calibrant.cli.app import app
from calibrant.report.html import document
from tests.findings.test_table import columns

pytestmark = pytest.mark.usefixtures("one_database")

NAMED = ["--y-true", "label", "--y-prob", "score"]
QUICK = {"n_resamples": 99, "random_state": 0}


def command(*asked):
    return CliRunner().invoke(app, [str(each) for each in asked])


def said_of(path):
    return command("audit", path).stderr


def text_of(path, table):
    table.to_pandas().to_csv(path, index=False)
    return path


@pytest.mark.parametrize("predictions", [(0.0, 1.0), (0.0,)])
def test_labels_are_not_taken_for_probabilities(predictions):
    rng = np.random.default_rng(0)
    p = np.resize(predictions, 400)
    found = audit((rng.random(400) < 0.2 + 0.6 * p).astype(int), p, **QUICK)
    assert found.answer.headline.startswith("Every prediction is 0 or 1: these look like labels, not probabilities. ")
    assert found.answer.action == "none"
    assert found.answer.details[-1].endswith(
        "give the probabilities behind these labels (in scikit-learn predict_proba, not predict)."
    )
    between = audit((rng.random(400) < 0.5).astype(int), np.resize([0.0, 1.0, 0.5], 400), **QUICK)
    assert "labels" not in between.answer.sentence


@pytest.mark.parametrize(
    ("outcome", "said"),
    [(0, "All 400 outcomes are 0: no event. "), (1, "All 400 outcomes are 1: nothing but events. ")],
)
def test_one_outcome_alone_is_said_first(tmp_path, outcome, said):
    p = np.random.default_rng(0).random(400)
    found = audit(np.full(400, outcome), p, **QUICK)
    assert found.answer.headline.startswith(said)
    assert found.answer.details[-1] == (
        "Do: do not rely on the predictions yet. "
        "No recalibration is advised: that takes rows with the event and rows without."
    )
    path = text_of(tmp_path / "rows.csv", pa.table({"label": np.full(400, outcome), "score": p}))
    assert said.strip() in command("gate", path, "--max-distance", "0.1").stderr


def test_the_gate_tells_labels(tmp_path):
    path = text_of(tmp_path / "rows.csv", pa.table({"label": [0, 1, 1], "score": [0, 1, 0]}))
    assert "these look like labels" in command("gate", path, "--max-distance", "0.1").stderr


@pytest.mark.slow
def test_a_file_without_rows_or_cut_is_named_with_what_to_do(tmp_path):
    table = pa.table(columns())
    empty = text_of(tmp_path / "empty.csv", table[:0])
    pq.write_table(table[:0], tmp_path / "empty.parquet")
    for path in (empty, tmp_path / "empty.parquet"):
        assert f"{str(path)!r} holds column names but no rows" in command("audit", path).stderr
    whole = io.BytesIO()
    pq.write_table(table, whole)
    cut = {"cut.parquet": whole.getvalue(), "cut.csv.gz": gzip.compress(table.to_pandas().to_csv(index=False).encode())}
    for name, data in cut.items():
        (tmp_path / name).write_bytes(data[: len(data) // 2])
        said = command("audit", tmp_path / name).stderr
        assert name in said
        assert said.endswith("; copy it, or write it, once more\n")


@pytest.mark.slow
def test_of_several_files_the_one_at_fault_is_named(tmp_path):
    good = text_of(tmp_path / "good.csv", pa.table(columns()))
    lacks = text_of(tmp_path / "lacks.csv", pa.table(columns()).drop_columns("score"))
    for asked in (
        ["audit", good, lacks, "--resamples", "0"],
        ["gate", good, "--max-distance", "0.3", "--baseline", lacks],
    ):
        said = command(*asked, *NAMED).stderr
        assert f"--y-prob: in {str(lacks)!r}: there is no column 'score'" in said


@pytest.mark.slow
def test_a_predictor_beside_itself_is_told(tmp_path):
    path = text_of(tmp_path / "rows.csv", pa.table(columns(other=np.linspace(0, 1, 240))))
    copy, junit, summary = (tmp_path / name for name in ("copy.csv", "out.xml", "out.md"))
    copy.write_bytes(path.read_bytes())
    asked = ["gate", path, "--max-distance", "0.5", "--junit", junit, "--summary", summary, "--baseline", copy]
    said = "both hold the very same outcomes and predictions: a predictor beside itself"
    text = command(*asked, *NAMED).stdout
    assert json.loads(command(*asked, "--json", *NAMED).stdout)["checks"][1]["same"] is True
    assert all(said in each for each in (text, junit.read_text()))
    assert "a predictor beside itself" in summary.read_text()
    other = text_of(tmp_path / "other.csv", pa.table(columns()).set_column(1, "score", [np.linspace(0, 1, 240)]))
    assert "very same" not in command(*asked[:-1], other, *NAMED).stdout


def test_a_baseline_that_is_the_file_itself_is_refused(tmp_path):
    path = text_of(tmp_path / "rows.csv", pa.table(columns()))
    (link := tmp_path / "release.csv").symlink_to(path)
    folder = tmp_path / "days"
    folder.mkdir()
    (folder / "monday.csv").write_bytes(path.read_bytes())
    for file, baseline in ((path, path), (path, link), (link, path), (folder, folder), (folder, folder / "monday.csv")):
        done = command("gate", file, "--max-distance", "0.5", "--baseline", baseline, *NAMED)
        assert done.exit_code == 2
        assert f"--baseline: {str(baseline)!r} is FILE itself, or a part of it" in done.stderr


@pytest.mark.parametrize(
    ("given", "hint"), [("5", "; for 5% write 0.05"), ("2.5", "; for 2.5% write 0.025"), ("-1", ""), ("200", "")]
)
def test_a_limit_in_percent_is_told_as_a_share(tmp_path, given, hint):
    path = text_of(tmp_path / "rows.csv", pa.table(columns()))
    said = command("gate", path, "--max-distance", given).stderr
    assert said.endswith(f"it must lie strictly between 0 and 1{hint}\n")


def test_forecasts_listed_with_a_comma_are_told_how_to_be_compared(tmp_path):
    path = text_of(tmp_path / "rows.csv", pa.table(columns(older=np.full(240, 0.5))))
    said = command("audit", path, "--y-prob", "score,older").stderr
    assert said.endswith("; forecasts to compare are each a --y-prob of its own\n")


def test_what_more_rows_would_decide_is_said():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    found = audit((rng.random(300) < p).astype(int), p, max_distance=0.03, **QUICK)
    assert found.answer.state == "too few rows"
    collect = r"If not, collect ([0-9,]+) to ([0-9,]+) rows in all \(these included\) first"
    fewest, most = re.search(collect, found.answer.sentence).groups()
    assert 300 < int(fewest.replace(",", "")) < int(most.replace(",", ""))
    assert "if the error stays as it is here (the limit is 0.03)." in " ".join(found.summary().split())


@pytest.mark.parametrize(
    ("score", "hint"),
    [
        ("21.7%", ". Write '21.7%' as 0.217"),
        ('"0,25"', ". Write '0,25' as 0.25"),
        ("half", ""),
        ("1,2,3", None),
    ],
)
def test_a_text_that_means_a_number_is_told_as_one(tmp_path, score, hint):
    path = tmp_path / "rows.csv"
    path.write_text(f"label,score\n1,{score}\n0,0.5\n")
    said = command("audit", path).stderr
    assert said.startswith("calibrant: ")
    assert hint is None or said.endswith(f"holds text, {score.strip(chr(34))!r}; numbers are needed for y_prob{hint}\n")


def test_columns_of_json_are_told_to_be_written_as_rows(tmp_path):
    pa.table(columns()).to_pandas().to_json(tmp_path / "rows.json")
    assert said_of(tmp_path / "rows.json").endswith("to_json(path, orient='records', lines=True)\n")


@pytest.mark.parametrize(
    ("score", "hint"),
    [
        ([0.2, 1618.0], "a score becomes a probability by a map fitted to outcomes"),
        ([-2.0, 3.0], "pass 1 / (1 + exp(-x)) of each, scipy.special.expit"),
    ],
)
def test_numbers_that_are_no_probabilities_are_told_what_they_look_like(tmp_path, score, hint):
    path = text_of(tmp_path / "rows.csv", pa.table({"label": [0, 1], "score": score}))
    assert said_of(path).endswith(f"{hint}\n")


def test_a_first_line_of_rows_is_told_though_a_text_is_in_it(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("0,0.21,A\n1,0.7,B\n")
    assert "here it looks like data: add a line of names above it" in said_of(path)
    path.write_text("happened,2025,2026\n1,0.7,0.8\n")
    assert "looks like data" not in said_of(path)


def test_a_spreadsheet_is_told_what_is_read(tmp_path):
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    assert said_of(tmp_path / "rows.xlsx").endswith("; write the rows as one of these, such as CSV or Parquet\n")


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_rounded_certainties_alone_are_not_called_miscalibration_on_a_page():
    rng = np.random.default_rng(1)
    exact = rng.random(3000)
    found = audit((rng.random(3000) < exact).astype(int), np.round(exact, 1), **QUICK)
    test = found.tests["calibration_test"].result
    assert test.impossible is not None
    assert not test.reject
    assert "iscalibrated" not in f"{found.summary()} {document(found)}"
