"""A file is opened once in a command, and its dialect detected once, however much is asked of it."""

import gzip
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from calibrant import FileError, InputError, audit_table
from calibrant.cli.app import app
from calibrant.tables import entry
from calibrant.tables.entry import OpenedFile
from calibrant.tables.formats import base, json_rows, text
from tests.tables.roads import file_by_segment, sketch_file

N = 60


def lines(separator=",", names=("y_true", "y_prob", "site", "day"), seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(N)
    columns = {"y_true": (rng.random(N) < p) * 1, "y_prob": p, "site": np.arange(N) % 2, "day": np.arange(N) // 20}
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    return "".join(separator.join(map(str, row)) + "\n" for row in [names, *rows])


@pytest.fixture
def counted(monkeypatch):
    """How often each of them was called, by what it was asked."""
    calls = {}

    def count(module, name):
        real = getattr(module, name)

        def counting(*arguments):
            key = (name, str(arguments[-1]))
            calls[key] = calls.get(key, 0) + 1
            return real(*arguments)

        monkeypatch.setattr(module, name, counting)

    count(text, "dialect_of")
    count(entry, "is_harness_log")
    count(json_rows, "json_keys")
    count(entry, "input_files")
    count(base, "check_compressed")
    return calls


COMMANDS = {
    "audit": ["audit", "--resamples", "0"],
    "with segments and drift": ["audit", "--resamples", "0", "--by", "site", "--drift", "day"],
    "without bad rows": ["audit", "--resamples", "0", "--by", "site", "--exclude-bad"],
    "with a report": ["audit", "--resamples", "0", "--html"],
    "gate": ["gate", "--max-distance", "0.2"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name"),
    [
        *((command, "rows.csv") for command in COMMANDS),
        ("with segments and drift", "rows.csv.gz"),
        ("with segments and drift", "rows.jsonl"),
        ("gate", "rows.jsonl"),
    ],
)
def test_each_file_is_opened_and_detected_once(tmp_path, counted, command, name):
    text = lines()
    if name == "rows.jsonl":
        names, *rows = [line.split(",") for line in text.splitlines()]
        text = "\n".join(json.dumps(dict(zip(names, map(float, row), strict=True))) for row in rows)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    verb, *options = COMMANDS[command]
    options += [str(tmp_path / "page.html")] if command == "with a report" else []
    done = CliRunner().invoke(app, [verb, str(path), *options])
    assert done.exit_code in (0, 1, 3), done.output
    assert counted.pop(("input_files", str(path))) == 1
    assert counted.pop(("check_compressed", str(path))) == 1
    detected = [("dialect_of", str(path))] if "csv" in name else [("json_keys", str([str(path)]))]
    assert {key: n for key, n in counted.items() if key[0] != "is_harness_log"} == dict.fromkeys(detected, 1)
    assert max((n for key, n in counted.items() if key[0] == "is_harness_log"), default=1) == 1


def test_nothing_is_detected_when_rows_are_read(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text(lines("|"))
    file = OpenedFile(tmp_path / "rows.csv")
    assert file.columns == ["y_true", "y_prob", "site", "day"]
    (dialect,) = file._reader.dialects
    assert dialect.delimiter == "|"
    assert "auto_detect=false" in dialect.source(file.files)
    monkeypatch.setattr(text, "dialect_of", lambda *_: pytest.fail("detected again"))
    assert file.read().y_prob.size == N
    assert file.groups({"y_true": "y_true", "y_prob": "y_prob"}, ["site"], 64).n_excluded == 0


@pytest.mark.slow
def test_files_written_in_different_ways_are_read_as_one(tmp_path):
    names = ("y_prob", "day", "y_true", "site")
    (tmp_path / "a.csv").write_text(lines(";"))
    (tmp_path / "b.csv").write_text(lines("\t", names, seed=1).replace("\n", "\r\n"))
    (tmp_path / "c.csv").write_text(lines(",", names[:3], seed=2))
    parts = [OpenedFile(tmp_path / f"{part}.csv").read() for part in "abc"]
    found = OpenedFile(tmp_path / "*.csv").read()
    for column in ("y_true", "y_prob"):
        assert getattr(found, column).tolist() == [x for part in parts for x in getattr(part, column).tolist()]
    segments = file_by_segment(tmp_path / "*.csv", ["site"])
    assert {each.key: each.n_rows for each in segments} == {("0",): N, ("1",): N, (None,): N}


@pytest.mark.slow
def test_a_text_in_a_column_of_a_large_file_is_said_to_be_one(tmp_path):
    (tmp_path / "rows.csv").write_text("y_true,p\n0,0.5\n1,high\n1,\n0,low\n")
    with pytest.raises(FileError, match=r"y_prob: column 'p': 2 rows are text, such as 'high'; numbers are needed"):
        sketch_file(tmp_path / "rows.csv")
    assert sketch_file(tmp_path / "rows.csv", exclude_bad=True).n_excluded == 3
    (tmp_path / "rows.csv").write_text("y_true,p\n0,0.5\n1,\n")
    with pytest.raises(InputError, match="y_prob: 1 row is null or NaN"):
        sketch_file(tmp_path / "rows.csv")


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
@pytest.mark.parametrize(("values", "row"), [([0.5, 2.0, None], 1), ([None, 0.5, 2.0], 0), ([0.5, -1.0, 2.0], 1)])
@pytest.mark.parametrize("read", [audit_table, sketch_file], ids=["read", "summed"])
def test_of_faults_of_two_kinds_the_first_row_is_named(tmp_path, name, values, row, read):
    frame = pl.DataFrame({"y_true": [0, 1, 0], "y_prob": values})
    getattr(frame, {"csv": "write_csv", "jsonl": "write_ndjson"}.get(name.rpartition(".")[2], "write_parquet"))(
        tmp_path / name
    )
    with pytest.raises(InputError, match=f"row {row} ") as caught:
        read(tmp_path / name)
    assert (caught.value.argument, caught.value.row) == ("y_prob", row)
