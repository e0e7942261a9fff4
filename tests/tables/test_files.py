"""Files of every kind give the same columns; what cannot be read is explained."""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest
from typer.testing import CliRunner

from calibrant import audit_table
from calibrant.cli.app import app
from calibrant.door.errors import FileError
from calibrant.tables.entry import OpenedDataset
from tests.tables.roads import read_file

pytestmark = pytest.mark.usefixtures("one_database")

FRAME = pd.DataFrame({"y_true": [0, 1, 1], "y_prob": [0.1, 0.1 + 0.2, 1.0], "other": ["a", "b", None]})


def write(folder, kind, frame=FRAME):
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif kind == "csv.gz":
        frame.to_csv(path, index=False, compression="gzip")
    elif kind in ("jsonl", "json"):
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    elif kind == "feather":
        pyarrow.feather.write_feather(pa.Table.from_pandas(frame), path)
    else:
        with pyarrow.ipc.new_stream(path, pa.Schema.from_pandas(frame)) as writer:
            writer.write_table(pa.Table.from_pandas(frame))
    return str(path)


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "csv.gz", "jsonl", "json", "feather", "arrow"])
def test_every_kind_of_file(tmp_path, kind):
    columns = read_file(write(tmp_path, kind))
    assert columns.y_true.tolist() == [0.0, 1.0, 1.0]
    assert columns.y_prob.tolist() == [0.1, 0.1 + 0.2, 1.0]
    assert columns.sample_weight is None
    assert columns.guessed == ("y_true", "y_prob")


def test_a_pattern_of_files(tmp_path):
    write(tmp_path, "parquet")
    (tmp_path / "rows.parquet").rename(tmp_path / "more.parquet")
    write(tmp_path, "parquet", FRAME.assign(y_prob=FRAME["y_prob"] / 2))
    assert read_file(str(tmp_path / "*.parquet")).y_true.size == 6


@pytest.mark.parametrize("name", ['a "quoted" name', "select", "ünïcode 漢字", "semi;colon--", "p'rob", " spaces "])
def test_hostile_column_names(tmp_path, name):
    frame = FRAME.rename(columns={"y_prob": name})
    path = write(tmp_path, "parquet", frame)
    assert read_file(path, y_prob=name).y_prob.tolist() == FRAME["y_prob"].tolist()


@pytest.mark.slow
def test_hostile_file_names(tmp_path):
    for name in ("it's.parquet", "a;b.parquet", 'qu"ote.parquet', "with space.parquet", "[brackets].parquet"):
        path = tmp_path / name
        FRAME.to_parquet(path)
        assert read_file(str(path)).y_true.size == 3


@pytest.mark.parametrize("name", ['a "quoted" name', "p'rob", "ünïcode 漢字"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "feather"])
def test_hostile_column_names_in_text_and_arrow(tmp_path, kind, name):
    path = write(tmp_path, kind, FRAME.rename(columns={"y_prob": name}))
    assert read_file(path, y_prob=name).y_prob.tolist() == FRAME["y_prob"].tolist()


@pytest.mark.parametrize("name", ["[ab].parquet", "*.parquet", "?.parquet"])
def test_a_file_of_the_very_name_goes_before_the_pattern(tmp_path, name):
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.head(1).to_parquet(tmp_path / name)
    assert read_file(str(tmp_path / name)).y_true.size == 1


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather"])
def test_columns_are_matched_by_name_across_files(tmp_path, kind):
    write(tmp_path, kind, FRAME[["y_true", "y_prob"]])
    (tmp_path / f"rows.{kind}").rename(tmp_path / f"a.{kind}")
    other = FRAME.assign(y_prob=FRAME["y_prob"] / 2)
    first = write(tmp_path, kind, other[["y_prob", "y_true"]])
    columns = read_file(str(tmp_path / f"*.{kind}"))
    assert columns.y_true.tolist() == 2 * FRAME["y_true"].tolist()
    assert columns.y_prob.tolist() == [*FRAME["y_prob"], *other["y_prob"]]
    assert read_file(first).y_true.size == 3


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather"])
def test_whole_numbers_first_do_not_make_the_rest_whole(tmp_path, kind):
    frames = (
        pd.DataFrame({"y_true": [0, 1], "y_prob": [0, 1]}),
        pd.DataFrame({"y_true": [0, 1], "y_prob": [0.3, 0.7]}),
    )
    for name, frame in zip("ab", frames, strict=True):
        write(tmp_path, kind, frame)
        (tmp_path / f"rows.{kind}").rename(tmp_path / f"{name}.{kind}")
    assert read_file(str(tmp_path / f"*.{kind}")).y_prob.tolist() == [0.0, 1.0, 0.3, 0.7]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_types_are_not_taken_from_the_first_rows(tmp_path, kind):
    y_prob = [0] * 30_000 + [0.25]
    lines = ["y_true,y_prob", *(f"0,{p}" for p in y_prob)]
    if kind == "jsonl":
        lines = [f'{{"y_true": 0, "y_prob": {p}}}' for p in y_prob]
    path = tmp_path / f"rows.{kind}"
    path.write_text("\n".join([*lines, ""]))
    assert read_file(str(path)).y_prob.tolist() == y_prob


def test_truth_in_words(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y_true,y_prob\nTrue,0.1\nFalse,0.2\n")
    columns = read_file(str(path))
    assert columns.y_true.tolist() == [1.0, 0.0]
    assert columns.y_prob.tolist() == [0.1, 0.2]


def test_columns_that_are_not_asked_for_may_hold_anything(tmp_path):
    table = pa.table(
        {
            "y_true": [0, 1],
            "y_prob": [0.1, 0.2],
            "at": pa.array([0, 1], pa.timestamp("us", tz="UTC")),
            "inside": pa.array([{"y_prob": 1}, {"y_prob": 2}]),
        }
    )
    for name, writer in (("t.parquet", pa.parquet.write_table), ("t.feather", pyarrow.feather.write_feather)):
        writer(table, tmp_path / name)
        assert read_file(str(tmp_path / name)).y_prob.tolist() == [0.1, 0.2]


def test_half_floats(tmp_path):
    table = pa.table({"y_true": [0, 1], "y_prob": pa.array(np.array([0.25, 0.5], np.float16))})
    for name, writer in (("t.parquet", pa.parquet.write_table), ("t.feather", pyarrow.feather.write_feather)):
        writer(table, tmp_path / name)
        assert read_file(str(tmp_path / name)).y_prob.tolist() == [0.25, 0.5]


def test_of_other_numbers_no_table_is_made_in_memory():
    rows = OpenedDataset.__new__(OpenedDataset)
    rows.files, rows._connection = ["one"], SimpleNamespace(from_arrow=lambda what: what)
    rows._dataset = SimpleNamespace(schema=pa.schema([("y_prob", pa.float32()), ("half", pa.float16())]))
    assert rows._rows(["y_prob"]) is rows._dataset


@pytest.mark.slow
@pytest.mark.parametrize("twin", ["p", "P"])
def test_names_that_cannot_be_told_apart_are_refused(tmp_path, twin):
    table = pa.table([pa.array([0]), pa.array([0.1]), pa.array([0.9])], names=["y_true", "p", twin])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    (tmp_path / "t.csv").write_text(f"y_true,p,{twin}\n0,0.1,0.9\n")
    for name in ("t.parquet", "t.feather", "t.csv"):
        for asked in (None, "p"):
            with pytest.raises(FileError, match="could be any of"):
                read_file(str(tmp_path / name), y_prob=asked)


@pytest.mark.parametrize(
    ("names", "guessed"),
    [
        (["label", "score"], ("label", "score")),
        (["Target", "Confidence"], ("Target", "Confidence")),
        (["correct", "p"], ("correct", "p")),
    ],
)
def test_usual_names_are_guessed(tmp_path, names, guessed):
    path = write(tmp_path, "parquet", FRAME[["y_true", "y_prob"]].set_axis(names, axis=1))
    columns = read_file(path)
    assert (columns.names["y_true"], columns.names["y_prob"]) == guessed


def test_numbers_of_every_type(tmp_path):
    table = pa.table(
        {
            "y_true": pa.array([True, False]),
            "y_prob": pa.array([0.25, 0.5], pa.float32()),
            "sample_weight": pa.array([1, 2], pa.decimal128(5, 2)),
        }
    )
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(table, path)
    columns = read_file(str(path))
    assert columns.y_true.tolist() == [1.0, 0.0]
    assert columns.y_prob.tolist() == [0.25, 0.5]
    assert columns.sample_weight.tolist() == [1.0, 2.0]


def bad(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"y_true,y_prob\n", "no rows"),
        ("broken.parquet", b"PAR1 this is not PAR1", "cannot be read as parquet"),
        ("broken.feather", b"ARROW1 this is not arrow", "is not that of an Arrow file"),
        ("rows.xlsx", b"x", "the ending is not one that is read"),
        ("rows", b"x", "the ending is not one that is read"),
        ("text.csv", b"y_true,y_prob\n0,low\n1,high\n", "y_prob: row 0 (counted from 0) holds text, 'low'"),
        ("late.csv", b"y_true,y_prob\n0,0.1\nyes,0.3\n", "y_true: row 1 (counted from 0) holds text, 'yes'"),
        (
            "names.csv",
            b"y_true,y_prob\ngood,0.1\n",
            "'good'; numbers are needed for y_true: 1 where the event happened, 0",
        ),
        ("null.csv", b"y_true,y_prob\n0,0.5\n,0.5\n", "y_true: row 1 (counted from 0) is null"),
        ("na.csv", b"y_true,y_prob\n0,0.5\n1,NA\n", "y_prob: row 1 (counted from 0) holds text, 'NA'"),
        ("comma.csv", b"y_true;y_prob\n0;0,5\n", "y_prob: row 0 (counted from 0) holds text, '0,5'"),
        ("bare.csv", b"0,0.5\n1,0.5\n", "here it looks like data"),
        ("ragged.csv", b"y_true,y_prob\n0,0.1\n1\n1,0.5,7\n", "line 3 has 1 column; 2 are expected"),
        ("latin.csv", "y_true,y_prob,né\n0,0.5,é\n".encode("latin1"), "not utf-8 encoded"),
        ("really.csv", b"PAR1\xff\xfe\x00\n", "By its content it is parquet"),
        ("text.jsonl", b'{"y_true":0,"y_prob":"0.1"}', "y_prob: row 0 (counted from 0) holds text, '\"0.1\"'"),
        ("broken.jsonl", b'{"y_true":0,"y_prob":', "cannot be read as json"),
        ("names.csv", b"a,b\n0,0.5\n", "y_true: cannot be guessed; name one of the columns: 'a', 'b'"),
        ("two.csv", b"y_true,y_prob,score\n0,0.5,0.5\n", "y_prob: could be any of 'y_prob', 'score'"),
    ],
)
def test_bad_files_are_explained(tmp_path, name, content, message):
    with pytest.raises(FileError) as caught:
        read_file(bad(tmp_path, name, content))
    assert message in str(caught.value)


@pytest.mark.slow
def test_missing_things_are_named(tmp_path):
    path = write(tmp_path, "parquet")
    with pytest.raises(FileError, match="does not exist"):
        read_file(str(tmp_path / "nothing.parquet"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="is a folder without files"):
        read_file(str(tmp_path / "empty"))
    with pytest.raises(FileError, match=r"there is no column 'y_pro'; there are 'y_true', .* Did you mean 'y_prob'"):
        read_file(path, y_prob="y_pro")
    with pytest.raises(FileError, match="is given for"):
        read_file(path, y_true="y_prob", y_prob="y_prob")
    with pytest.raises(FileError, match="is an address"):
        read_file("https://example.org/*.parquet")
    with pytest.raises(FileError, match="not valid UTF-8"):
        read_file("\udcff.parquet")
    with pytest.raises(FileError, match="no file matches the pattern"):
        read_file(str(tmp_path / "none-*.parquet"))


def test_values_are_not_rounded_on_the_way(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y_true": rng.integers(0, 2, 2000), "y_prob": rng.random(2000)})
    for kind in ("csv", "jsonl", "parquet"):
        assert np.array_equal(read_file(write(tmp_path, kind, frame)).y_prob, frame["y_prob"])


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 700])
def test_no_line_is_a_comment(tmp_path, at):
    lines = [f"{'#' if i >= at and i % 2 else ''}{i},{i % 2},0.{i % 9 + 1}" for i in range(1000)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["id,y_true,y_prob", *lines, ""]))
    assert read_file(str(path)).y_true.tolist() == [i % 2 for i in range(1000)]
    assert read_file(str(tmp_path / "*.csv")).y_true.size == 1000
    marked = tmp_path / "marked.csv"
    marked.write_text("\n".join(["y_true,y_prob", "1,0.5", "#0,0.25", "1,0.75", ""]))
    with pytest.raises(FileError, match=r"row 1 \(counted from 0\) holds text, '#0'"):
        read_file(str(marked))


def test_a_line_of_words_before_the_names_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("# made by hand\ny_true,y_prob\n1,0.1\n0,0.2\n")
    with pytest.raises(FileError, match="# made by hand"):
        read_file(str(path))


def test_apostrophes_do_not_join_lines(tmp_path):
    path = tmp_path / "rows.csv"
    words = ["'tis", "dogs'"]
    path.write_text("y_true,y_prob,word\n" + "".join(f"{i % 2},0.5,{words[i % 2]}\n" for i in range(100)))
    assert read_file(str(path)).y_true.tolist() == [0, 1] * 50


@pytest.mark.slow
def test_json_keys_that_come_late_are_seen(tmp_path):
    path = tmp_path / "rows.jsonl"
    row, late = '{"y_true": 1, "y_prob": 0.5}', '{"y_true": 0, "y_prob": 0.5, "sample_weight": 2}'
    path.write_text("\n".join([row] * 30_000 + [late] * 1000))
    with pytest.raises(FileError, match=r"sample_weight: row 0 .* is null"):
        read_file(str(path))
    assert read_file(str(path), unweighted=True).y_true.sum() == 30_000
    for i in range(40):
        (tmp_path / f"part-{i:02}.jsonl").write_text(late if i == 39 else row)
    with pytest.raises(FileError, match=r"sample_weight: row 0 .* is null"):
        read_file(str(tmp_path / "part-*.jsonl"))


def test_json_rows_with_many_keys_are_no_map(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"y_true": 1, "y_prob": 0.5} | {f"k{i}": 0.5 for i in range(300)}
    path.write_text("\n".join([json.dumps(row)] * 50))
    assert read_file(str(path)).y_true.size == 50


def test_json_keys_that_differ_in_case_alone_are_not_told_apart(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"y_true": 1, "y_prob": 0.5}\n{"Y_true": 0, "y_prob": 0.5}\n')
    with pytest.raises(FileError, match="y_true"):
        read_file(str(path), y_true="y_true")


def test_json_without_objects_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    for text in ("1\n2\n", "{}\n{}\n", "[1]\n[2]\n"):
        path.write_text(text)
        with pytest.raises(FileError, match="no JSON objects"):
            read_file(str(path))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (
            ["good", "bad"],
            "holds text, such as 'good'; numbers are needed for y_true: 1 where the event happened, 0 where",
        ),
        (
            [30, 12],
            "rows counted from 0: row 0 is 30; outcomes must be 0 or 1, or event rates in [0, 1]. Of counts of events",
        ),
    ],
)
@pytest.mark.parametrize("command", [("audit", "--resamples", "0"), ("gate", "--max-distance", "0.5")])
def test_labels_and_counts_are_answered_without_python(tmp_path, command, held, said):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"y_true": held, "y_prob": [0.5, 0.25]}).to_parquet(path)
    refused = CliRunner().invoke(app, [command[0], str(path), *command[1:]])
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert "==" not in refused.stderr


@pytest.mark.parametrize("bits", ["16", "32"])
@pytest.mark.parametrize("order", ["", "-le", "-be"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.csv.gz", "rows.jsonl.gz"])
def test_wide_text_is_told_for_what_it_is(tmp_path, bits, order, name):
    path = tmp_path / name
    text = "y_true,y_prob\n1,0.5\n0,0.25\n" if "csv" in name else '{"y_true": 1, "y_prob": 0.5}\n'
    data = text.encode(f"utf-{bits}{order}")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(FileError, match=f"is UTF-{bits} text; convert it to UTF-8"):
        audit_table(path)
    if name == "rows.csv":
        with pytest.raises(FileError, match=f"is UTF-{bits} text"):
            audit_table(name, filesystem=f"file://{tmp_path}")
