"""Columns that folders stand for, files that have the same columns, and stamps of files, by hand."""

import datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from calibrant import CalibrationSketch
from calibrant.door.errors import FileError, InputError
from calibrant.drift.periods import RESOLUTION, periods_of_groups
from calibrant.tables.duckdb import connect
from calibrant.tables.entry import open_table
from calibrant.tables.folders import StampedFiles, check_same, folder_columns, folder_types, typed_folders

pytestmark = pytest.mark.usefixtures("one_database")

NONE = "__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("files", "columns"),
    [
        (["t/day=1/a.csv", "t/day=2/b.csv"], ["day"]),
        (["t/day=1/at=x/a.csv"], ["day", "at"]),
        (["t/day=1/a.csv", "t/b.csv"], []),
        (["t/a=b.csv"], []),
        ([], []),
    ],
)
def test_folders_stand_for_columns_where_those_of_every_file_do(files, columns):
    assert folder_columns(files) == columns


@pytest.mark.parametrize(
    ("values", "kind", "typed"),
    [
        (["2026-01-02", "2026-01-03"], "DATE", [datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)]),
        (["2026-01-02", NONE], "DATE", [datetime.date(2026, 1, 2), None]),
        (["2026-01-02", "7"], "VARCHAR", ["2026-01-02", "7"]),
        (["7", "-1"], "BIGINT", [7, -1]),
        (["7", "x%20y"], "VARCHAR", ["7", "x y"]),
        ([NONE, NONE], "VARCHAR", [None, None]),
        (["1=2", "b"], "VARCHAR", ["1=2", "b"]),
    ],
)
def test_values_of_folders_have_the_type_that_all_of_them_have(values, kind, typed):
    files = [f"t/k={value}/{at}.csv" for at, value in enumerate(values)]
    assert folder_types(files) == {"k": kind}
    assert typed_folders(files, [2, 1])["k"].to_pylist() == [typed[0], typed[0], typed[1]]
    assert typed_folders(["t/a.csv"], [2]) == {}


@pytest.mark.parametrize(
    "values",
    [
        *(["2026-01-02"], ["2026-1-2"], ["2026-01-02 03:00:00"], ["2026-01-02 03:00"], ["2026-01-02T03:00:00"]),
        *(
            ["2026-01-02 03%3A00", "2026-01-02 15%3A00"],
            ["2026%2D01%2D02"],
            ["2026/01/02".replace("/", "%2F")],
            ["2026-01"],
        ),
        *(
            ["2026-01-02", "2026-01-02 03:00:00"],
            ["2026-13-02"],
            ["7"],
            ["-7", "0"],
            ["007", "7"],
            ["+7"],
            ["1.0", "1"],
        ),
        *(
            ["1e3", "1000"],
            ["1_000"],
            ["%37"],
            ["9223372036854775807"],
            ["9223372036854775808"],
            ["true"],
            ["12:00:00"],
        ),
    ],
    ids=str,
)
def test_folders_have_the_types_that_duckdb_reads_them_with(tmp_path, monkeypatch, values):
    for value in values:
        (tmp_path / f"k={value}").mkdir()
        (tmp_path / f"k={value}" / "a.csv").write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    files = sorted(str(each) for each in Path().glob("*/a.csv"))
    read = connect().sql("SELECT k FROM read_csv('*/a.csv', hive_partitioning=true) ORDER BY filename")
    assert folder_types(files) == {"k": str(read.types[0])}
    assert typed_folders(files, [1] * len(files))["k"].to_pylist() == [k for (k,) in read.fetchall()]


@pytest.mark.parametrize(
    ("types", "names", "said"),
    [
        ({"a": {"p": ""}, "b": {"P": ""}}, ["p"], None),
        (
            {"a": {"p": ""}, "b": {"q": ""}},
            ["p"],
            "'b' has no column 'p', and 'a' has; files that are read as one table",
        ),
        ({"a": {"q": ""}, "b": {"p": ""}}, ["p"], "'a' has no column 'p', and 'b' has"),
        ({"a": {"q": ""}, "b": {"q": ""}}, ["p"], None),  # of which another says so
        ({"a": {"p": "BYTE_ARRAY"}, "b": {"p": ""}}, ["p"], "column 'p' is text in 'a' and is not in 'b'"),
        ({"a": {"p": ""}, "b": {"p": "BYTE_ARRAY"}}, ["p"], "column 'p' is text in 'b' and is not in 'a'"),
        ({"a": {"p": "BYTE_ARRAY"}, "b": {"p": "BYTE_ARRAY"}}, ["p"], None),
        ({"a": {"p": "INT32"}, "b": {"p": "DOUBLE"}}, ["p"], None),
        ({"a": {"p": ""}, "b": {"q": ""}}, [], None),
    ],
)
def test_files_have_the_columns_that_are_read(types, names, said):
    if said is None:
        check_same(types, names)
    else:
        with pytest.raises(FileError) as refused:
            check_same(types, names)
        assert said in str(refused.value)


ROWS = {"y": [0, 1] * 30, "p": [0.3, 0.6] * 30}


def write_csv(path, shift):
    rows = zip(ROWS["y"], ROWS["p"], strict=True)
    path.with_suffix(".csv").write_text("y,p\n" + "".join(f"{y},{p + shift}\n" for y, p in rows))


def write_json(path, shift):
    rows = zip(ROWS["y"], ROWS["p"], strict=True)
    path.with_suffix(".jsonl").write_text("".join(f'{{"y": {y}, "p": {p + shift}}}\n' for y, p in rows))


def write_parquet(path, shift):
    table = pa.table({"y": ROWS["y"], "p": [p + shift for p in ROWS["p"]]})
    pq.write_table(table, path.with_suffix(".parquet"))


def write_sketch(path, shift):
    sketch = CalibrationSketch().update(ROWS["y"], [p + shift for p in ROWS["p"]])
    path.with_suffix(".sketch").write_bytes(sketch.to_bytes())


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("write", [write_csv, write_json, write_parquet, write_sketch])
@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        (["2026-01-02", "2026-1-2"], "two ways to write one period"),
        (["2026-01-02 03:00", "2026-01-02 03:00:00"], "is not known|two ways to write one period"),
        (["2026-01-02 03:00:00", "2026-01-02 03:00:00+02"], "is not known"),
        (["2026-01-02 03:00:00Z", "2026-01-02 03:00:00+02:00"], None),
        (["2026-01-02 03:00:00", "2026-01-02 03:00:00Z"], "is not known"),
        (["-0", "0"], "two ways to write one period"),
    ],
    ids=str,
)
def test_folders_of_two_names_are_two_keys_and_no_offset_is_dropped(tmp_path, write, there, values, ordered):
    for at, value in enumerate(values):
        (tmp_path / f"k={value}").mkdir()
        write(tmp_path / f"k={value}" / "a", at / 100)
    if there and write in (write_json, write_sketch):
        return  # are read from this machine only
    table = open_table(str(tmp_path), filesystem=pyarrow.fs.LocalFileSystem() if there else None)
    groups = table.groups({} if write is write_sketch else {"y_true": "y", "y_prob": "p"}, ["k"], RESOLUTION)
    assert set(groups.keys["_s0"].to_list()) == set(values)
    if ordered is None:
        assert [each.period for each in periods_of_groups(groups, 0.05)] == values[::-1]
    else:
        with pytest.raises(InputError, match=ordered):
            periods_of_groups(groups, 0.05)


@pytest.mark.parametrize("write", [write_csv, write_json, write_parquet])
@pytest.mark.parametrize("names", [["=x", "=y"], ["K=1/k=2", "K=1/k=3"], ["k=1/k=2", "k=1/k=3"]], ids=str)
def test_folders_whose_names_are_no_columns_do_no_harm_where_nobody_asks_for_them(tmp_path, write, names):
    for at, name in enumerate(names):
        (tmp_path / name).mkdir(parents=True)
        write(tmp_path / name / "a", at / 100)
    assert len(open_table(str(tmp_path)).read(y_true="y", y_prob="p").y_prob) == 120


def stamped(folder, *names):
    for name in names:
        (folder / name).write_text(name)
    return StampedFiles([str(folder / name) for name in names])


def test_a_file_that_was_changed_while_it_was_read_is_named_before_any_other_fault(tmp_path):
    files = stamped(tmp_path, "a", "b")
    with files.unchanged():
        pass
    with pytest.raises(KeyError), files.unchanged():
        raise KeyError("x")
    (tmp_path / "b").write_text("longer")
    for problem, told in ((KeyError("x"), FileError), (MemoryError(), MemoryError)):
        with pytest.raises(told) as refused, files.unchanged():
            raise problem
        assert told is MemoryError or "b' was changed while it was read; run this again once" in str(refused.value)
    with pytest.raises(FileError, match="b' was changed while it was read"), files.unchanged():
        pass
    (tmp_path / "b").unlink()
    with pytest.raises(FileError, match="b' is gone while it was read"):
        files.check()
    files.part(files[:1]).check()


def test_files_together_have_a_stamp_each(tmp_path):
    one, other = stamped(tmp_path, "a"), stamped(tmp_path, "b", "c")
    both = StampedFiles.together([one, other])
    assert both == [*one, *other]
    assert both.prints() == {**one.prints(), **other.prints()}
    assert len(set(both.prints().values())) == 3
    Path(both[2]).write_text("longer")
    with pytest.raises(FileError, match="c' was changed"):
        both.check()
    before = one.prints()
    (tmp_path / "a").rename(tmp_path / "d")
    assert list(StampedFiles([str(tmp_path / "d")]).prints().values()) == list(before.values())  # under any name


def test_a_file_system_that_does_not_tell_sizes_any_more_is_told(tmp_path):
    files = stamped(tmp_path, "a", "b")
    there = StampedFiles(files, pyarrow.fs.LocalFileSystem())
    there.check()
    assert len(set(there.prints().values())) == 2
    assert StampedFiles([], pyarrow.fs.LocalFileSystem()).prints() == {}
    (tmp_path / "b").unlink()
    with pytest.raises(FileError, match="b' is gone while it was read"):
        there.check()

    def fails(_):
        raise OSError("no route")

    with pytest.raises(FileError, match="a': the file system does not tell its size any more: no route"):
        StampedFiles(files, SimpleNamespace(get_file_info=fails))
