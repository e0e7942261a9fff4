"""Files of every kind give the same columns; what cannot be read is explained."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest

from calibrant.errors import FileError
from calibrant.scale.files import read_file

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
    (tmp_path / "more.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes())
    assert read_file(str(tmp_path / "*.parquet")).y_true.size == 6


@pytest.mark.parametrize("name", ['a "quoted" name', "select", "ünïcode 漢字", "semi;colon--", "p'rob", " spaces "])
def test_hostile_column_names(tmp_path, name):
    frame = FRAME.rename(columns={"y_prob": name})
    path = write(tmp_path, "parquet", frame)
    assert read_file(path, y_prob=name).y_prob.tolist() == FRAME["y_prob"].tolist()


def test_hostile_file_names(tmp_path):
    for name in ("it's.parquet", "a;b.parquet", 'qu"ote.parquet', "with space.parquet", "[brackets].parquet"):
        path = tmp_path / name
        FRAME.to_parquet(path)
        assert read_file(str(path)).y_true.size == 3


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
        ("broken.parquet", b"PAR1 this is not parquet", "cannot be read as parquet"),
        ("broken.feather", b"ARROW1 this is not arrow", "cannot be read as arrow"),
        ("rows.xlsx", b"x", "the ending is not one that is read"),
        ("rows", b"x", "the ending is not one that is read"),
        ("text.csv", b"y_true,y_prob\n0,low\n1,high\n", "y_prob: row 0 (counted from 0) holds text, 'low'"),
        ("late.csv", b"y_true,y_prob\n0,0.1\nyes,0.3\n", "y_true: row 1 (counted from 0) holds text, 'yes'"),
        ("null.csv", b"y_true,y_prob\n0,0.5\n,0.5\n", "y_true: row 1 (counted from 0) is null"),
        ("names.csv", b"a,b\n0,0.5\n", "--y-true: cannot be guessed; name one of the columns: 'a', 'b'"),
        ("two.csv", b"y_true,y_prob,score\n0,0.5,0.5\n", "--y-prob: could be any of 'y_prob', 'score'"),
    ],
)
def test_bad_files_are_explained(tmp_path, name, content, message):
    with pytest.raises(FileError) as caught:
        read_file(bad(tmp_path, name, content))
    assert message in str(caught.value)


def test_missing_things_are_named(tmp_path):
    path = write(tmp_path, "parquet")
    with pytest.raises(FileError, match="does not exist"):
        read_file(str(tmp_path / "nothing.parquet"))
    with pytest.raises(FileError, match="is a folder"):
        read_file(str(tmp_path))
    with pytest.raises(FileError, match=r"there is no column 'y_pro'; there are 'y_true', .* Did you mean 'y_prob'"):
        read_file(path, y_prob="y_pro")
    with pytest.raises(FileError, match="is given for"):
        read_file(path, y_true="y_prob", y_prob="y_prob")
    with pytest.raises(FileError, match="no file matches the pattern"):
        read_file(str(tmp_path / "none-*.parquet"))


def test_values_are_not_rounded_on_the_way(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y_true": rng.integers(0, 2, 2000), "y_prob": rng.random(2000)})
    for kind in ("csv", "jsonl", "parquet"):
        assert np.array_equal(read_file(write(tmp_path, kind, frame)).y_prob, frame["y_prob"])
