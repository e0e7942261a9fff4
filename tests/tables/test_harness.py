"""Language-model evaluation logs: confidences by hand, verbalised ones by the discrete road, broken lines refused."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from calibrant import FileError, InputError
from calibrant.cli.app import app
from calibrant.door.request import LOG
from calibrant.tables.entry import OpenedFile
from calibrant.tables.formats.json_rows import _samples

pytestmark = pytest.mark.usefixtures("one_database")


def sample(logs, acc, nested=False):
    answers = [[str(x), "False"] for x in logs]
    return {"doc_id": 0, "target": 1, "filtered_resps": [[a] for a in answers] if nested else answers, "acc": acc}


def written(tmp_path, samples, name="samples_arc.jsonl"):
    path = tmp_path / name
    text = "\n".join(json.dumps(each) for each in samples) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return str(path)


@pytest.mark.parametrize("name", ["samples_arc.jsonl", "samples_arc.jsonl.gz"])
@pytest.mark.parametrize("nested", [False, True])
def test_confidences_by_hand(tmp_path, name, nested):
    path = written(tmp_path, [sample([-1.0, -2.0, -3.0], 1.0, nested), sample([-50.0, -40.0], 0.0, nested)], name)
    assert OpenedFile(path).is_harness_log
    read = OpenedFile(path).read()
    expected = [1 / (1 + np.exp(-1) + np.exp(-2)), 1 / (1 + np.exp(-10))]
    assert read.y_prob == pytest.approx(expected)
    assert read.y_true.tolist() == [1.0, 0.0]


@pytest.mark.slow
def test_one_command(tmp_path):
    rng = np.random.default_rng(0)
    logs = 3 * rng.normal(size=(800, 4))
    shares = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    right = (rng.random(800) < 0.6 * shares.max(axis=1)).astype(float)
    path = written(tmp_path, [sample(row.tolist(), acc) for row, acc in zip(logs, right, strict=True)])
    done = CliRunner().invoke(app, ["audit", path, "--seed", "0"])
    assert done.exit_code == 0, done.output
    assert "'acc' as the outcomes" in done.stderr
    assert "Too high on average: 78% predicted, 48% happened (800 rows)." in done.stdout


@pytest.mark.slow
def test_verbalised_confidences_are_tested(tmp_path):
    rng = np.random.default_rng(0)
    said = rng.choice([0.7, 0.8, 0.9, 0.95], 400)
    lines = [{"question": "?", "confidence": c, "is_correct": bool(rng.random() < 0.6)} for c in said]
    path = written(tmp_path, lines, "answers.jsonl")
    done = CliRunner().invoke(app, ["audit", path, "--seed", "0"])
    assert done.exit_code == 0, done.output
    assert "This is not chance (p < 1e-15)." in done.stdout
    assert "Do: use 59% for every row instead, until there are better predictions." in done.stdout
    whole = CliRunner().invoke(app, ["audit", path, "--seed", "0", "--all"])
    assert whole.exit_code == 0, whole.output
    assert "calibration test (999 resamples" in " ".join(whole.stdout.split())


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"filtered_resps": [["-1", "True"], ["-2", "False"]], "acc": 0.5}, "acc: row 1 is 0.5"),
        ({"filtered_resps": ["a long answer"], "acc": 1.0}, "filtered_resps: row 1"),
        ({"acc": 1.0}, "filtered_resps: row 1"),
        (["a list"], "acc: row 1"),
    ],
)
def test_broken_samples_are_refused_by_row(tmp_path, line, fault):
    path = written(tmp_path, [sample([-1.0, -2.0], 1.0), line])
    with pytest.raises(FileError, match=fault):
        OpenedFile(path).read()


def test_other_files_are_left_alone(tmp_path):
    assert not OpenedFile(written(tmp_path, [{"y_true": 1, "y_prob": 0.5}], "rows.jsonl")).is_harness_log
    (tmp_path / "rows.csv").write_text("y_true,y_prob\n1,0.5\n")
    assert not OpenedFile(str(tmp_path / "rows.csv")).is_harness_log
    (tmp_path / "broken.jsonl").write_bytes(b"\xff{")
    assert not OpenedFile(str(tmp_path / "broken.jsonl")).is_harness_log


def test_a_copy_of_a_log_is_refused_by_name(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("a", 200), ("b", 150)):
        written(
            tmp_path, [sample(3 * rng.normal(size=3), float(rng.random() < 0.5)) for _ in range(n)], f"{name}.jsonl"
        )
    assert OpenedFile(tmp_path).read().y_true.size == 350
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    with pytest.raises(FileError, match=r"c\.jsonl\.gz' holds the same 200 rows"):
        OpenedFile(tmp_path).read()
    (tmp_path / "b.jsonl").unlink()
    with pytest.raises(FileError, match=r"c\.jsonl\.gz' holds the same 200 rows"):
        OpenedFile(tmp_path).read()
    assert OpenedFile(tmp_path / "a.jsonl").read().y_true.size == 200
    told = OpenedFile(tmp_path)
    told.distinct = True
    assert told.read().y_true.size == 400


def test_documents_of_a_log_are_its_items(tmp_path):
    each = [sample([-1.0, -2.0], 1.0) | {"doc_id": at, "doc_hash": "ab"[at]} for at in range(2)]
    log = OpenedFile(written(tmp_path, each))
    assert log.items(None, {}) == ["0 a", "1 b"]
    with pytest.raises(InputError, match="items: ") as refused:
        log.items("doc_id", {})
    assert refused.value.problem == LOG
    assert log.items("acc", {"y_prob": "doc_id", "y_true": "doc_id"}) is not None  # a column of the log that is named
    bare = OpenedFile(written(tmp_path, [sample([-1.0, -2.0], 1.0) | {"doc_id": None}], "bare.jsonl"))
    assert bare.items(None, {}) is None


def test_blank_lines_of_a_log_are_no_samples(tmp_path):
    path = written(tmp_path, [sample([-1.0, -2.0], 1.0), sample([-1.0, -3.0], 0.0)])
    with Path(path).open("a") as file:
        file.write("\n  \n" + json.dumps({"acc": 0.5}) + "\n")
    with pytest.raises(FileError, match=r"acc: row 2 is 0\.5"):
        OpenedFile(path).read()
    with Path(path).open("a") as file:
        file.write("no json\n")
    with pytest.raises(FileError, match="row 3 is no JSON"):
        list(_samples([path]))
