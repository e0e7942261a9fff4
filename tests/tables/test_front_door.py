"""One table through every road of the front door: one answer, or a refusal that names what is wrong."""

import datetime
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from calibrant import CalibrationSketch, audit_table
from calibrant.door.errors import FileError, InputError
from calibrant.drift.periods import RESOLUTION
from calibrant.tables.entry import filesystem_of, open_table
from calibrant.tables.folders import check_folder_columns
from calibrant.tables.inputs import _as_regex

pytestmark = pytest.mark.usefixtures("one_database")

HERE = pyarrow.fs.LocalFileSystem()
NAMES = {"y_true": "y", "y_prob": "p"}
DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), datetime.date(2026, 2, 1)]


def rows(n=200, seed=0, **columns):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(3)
    return pa.table({"y": (rng.random(n) < p**2).astype(np.int8), "p": p, **columns})


def put(folder, files):
    for name, table in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(table, bytes):
            (folder / name).write_bytes(table)
        elif name.endswith(".csv"):
            pa.csv.write_csv(table, folder / name)
        elif name.endswith(".feather"):
            with pa.ipc.new_file(folder / name, table.schema) as writer:
                writer.write_table(table)
        else:
            pq.write_table(table, folder / name)
    return str(folder)


def by_day(folder, ending):
    """Folders of three days, the last of them in two files."""
    parts = [rows(seed=k) for k in range(4)]
    places = [f"day={DAYS[min(k, 2)]}/part-{k}.{ending}" for k in range(4)]
    put(folder, dict(zip(places, parts, strict=True)) | {"_SUCCESS": b"", f"day={DAYS[0]}/.part-0.crc": b"x"})
    together = pa.concat_tables(
        [part.append_column("day", pa.array([DAYS[min(k, 2)]] * 200)) for k, part in enumerate(parts)]
    )
    return str(folder), together


def answer(table, names=NAMES, **asked):
    """What must be the same by every road: rows, cells, keys."""
    opened = open_table(table, **asked)
    chosen = opened.choose(**names)
    groups = opened.groups(chosen.names, ["day"], RESOLUTION)
    keyed = zip(groups.keys["_s0"].to_list(), groups.index.tolist(), groups.cells.tolist(), strict=True)
    return sorted((str(key), index, cells) for key, index, cells in keyed)


def assert_same_answer(found, wanted):
    assert [each[:2] for each in found] == [each[:2] for each in wanted]
    assert np.allclose([each[2] for each in found], [each[2] for each in wanted], rtol=1e-13, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders_patterns_datasets_and_filesystems_are_one_table(tmp_path, ending):
    folder, together = by_day(tmp_path / "rows", ending)
    wanted = answer(together)
    within = pyarrow.fs.SubTreeFileSystem(str(tmp_path), HERE)
    hive = ds.partitioning(pa.schema([("day", pa.date32())]), flavor="hive")
    roads = {
        "folder": (folder, {}),
        "pattern": (f"{folder}/**/*.{ending}", {}),
        "file system": (folder, {"filesystem": HERE}),
        "its name": (folder, {"filesystem": "local"}),
        "its address": ("rows", {"filesystem": f"file://{tmp_path}"}),
        "a part of one": ("rows/", {"filesystem": within}),
        "pattern there": (f"rows/day=2026-*/part-[0-3].{ending}", {"filesystem": within}),
        "dataset": (ds.dataset(folder, format=ending, partitioning=hive), {}),
    }
    read = open_table(together).read(**NAMES)
    for road, (table, asked) in roads.items():
        assert_same_answer(answer(table, **asked), wanted)
        opened = open_table(table, **asked)
        assert not opened.summed, road
        found = opened.read(**NAMES)  # in the order of the files
        assert np.array_equal(np.asarray(found.y_prob), np.asarray(read.y_prob)), road
        assert np.array_equal(np.asarray(found.y_true), np.asarray(read.y_true)), road


@pytest.mark.slow
def test_fsspec_is_a_filesystem(tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    folder, together = by_day(tmp_path / "rows", "csv")
    assert_same_answer(answer(folder, filesystem=fsspec.filesystem("file")), answer(together))


def test_a_sketch_of_a_folder_is_that_of_its_rows(tmp_path):
    folder, together = by_day(tmp_path, "parquet")
    there = CalibrationSketch.from_frame(folder, **NAMES, filesystem=HERE)
    here = CalibrationSketch.from_frame(folder, **NAMES)
    wanted = CalibrationSketch().update(together["y"], together["p"])
    for found in (here, there):
        assert (found.n_rows, found.n_cells) == (wanted.n_rows, wanted.n_cells)
        assert np.allclose(found.cells()[1], wanted.cells()[1], rtol=1e-13, atol=1e-13)


@pytest.mark.slow
def test_large_datasets_are_summed_and_say_so(tmp_path, monkeypatch):
    folder, together = by_day(tmp_path, "parquet")
    read = audit_table(folder, **NAMES, n_resamples=0, filesystem=HERE)
    assert read.road is None
    monkeypatch.setattr("calibrant.tables.entry.MANY_ROWS", 100)
    assert open_table(folder, filesystem=HERE).summed
    summed = audit_table(folder, **NAMES, n_resamples=0, filesystem=HERE, by="day")
    assert "DuckDB summed 800 rows" in summed.road
    assert summed.to_dict()["road"] == summed.road
    bound = CalibrationSketch.from_frame(together, **NAMES).error_bound("smooth_calibration_error")
    assert abs(summed.smooth_lower - read.smooth_lower) <= bound
    assert [segment.key for segment in summed.segments]
    assert {segment.key[0] for segment in summed.segments} == set(DAYS)


@pytest.mark.parametrize(
    ("ending", "sizes", "most", "read"),
    [
        ("parquet", (5, 7, 7), 100, "abc"),
        ("parquet", (5, 7, 7), 10, "bc"),
        ("parquet", (5, 7, 8), 10, ""),
        ("parquet", (5, 7, 12), 10, "abc"),  # the last may be the others together
        ("feather", (5, 7, 7), 100, "abc"),
        ("feather", (5, 7, 8), 10, "abc"),
    ],
)
def test_of_a_summed_dataset_files_are_read_whose_counts_of_rows_may_be_of_equal_contents(
    tmp_path, monkeypatch, ending, sizes, most, read
):
    """Where a file says at no cost how many rows it has; ids of rows are read where rows are."""
    monkeypatch.setattr("calibrant.tables.entry.MANY_ROWS", most)
    whole = rows().append_column("row_id", pa.array([f"r{k}" for k in range(200)]))
    parts = {f"{name}.{ending}": whole.slice(20 * at, n) for at, (name, n) in enumerate(zip("abc", sizes, strict=True))}
    table = open_table(put(tmp_path, parts), filesystem=HERE)
    assert table.summed == (most < sum(sizes))
    found = table._identities(NAMES)
    assert [path.removesuffix(f".{ending}")[-1] for path, _ in found] == list(read)
    assert {each.ids is None for _, each in found} <= {table.summed}


def test_half_floats_of_a_dataset_are_read(tmp_path):
    table = rows().set_column(1, "p", pa.array(np.float16([0.25, 0.5] * 100)))
    found = open_table(put(tmp_path, {"a.feather": table}), filesystem=HERE).read(**NAMES)
    assert set(np.asarray(found.y_prob)) == {0.25, 0.5}


def refused(table, **asked):
    with pytest.raises(InputError) as caught:
        audit_table(table, **NAMES, n_resamples=0, **asked)
    return str(caught.value)


def texts(table, name):
    return table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.string()))


WHOLE = rows()
TWO = np.full(200, 2)
BAD = {
    "nothing": ({}, "is a folder without files"),
    "only hidden files": ({"_SUCCESS": b"x", ".a.parquet": WHOLE}, "is a folder without files"),
    "two kinds": ({"a.parquet": WHOLE, "b.csv": WHOLE}, "holds files of several kinds: '{0}/a.parquet' is parquet"),
    "an unknown kind": ({"a.parquet": WHOLE, "notes.md": b"x"}, "'{0}/notes.md': the ending is not one that is read"),
    "a missing column": ({"a.parquet": WHOLE, "b.parquet": WHOLE.drop(["p"])}, "'{0}/b.parquet' has no column 'p'"),
    "a missing column of text": ({"a.csv": WHOLE, "b.csv": WHOLE.drop(["p"])}, "'{0}/b.csv' has no column 'p'"),
    "text among numbers": ({"a.parquet": WHOLE, "b.parquet": texts(WHOLE, "p")}, "'p' is text in '{0}/b.parquet'"),
    "an empty file": ({"a.parquet": WHOLE, "b.parquet": b""}, "'{0}/b.parquet' is empty"),
    "a line that was cut": ({"a.csv": WHOLE, "b.csv": b"y,p\n1,0.5\n0,0."}, "'{0}/b.csv' ends in the middle of a line"),
    "a file that was cut": ({"a.parquet": WHOLE, "b.parquet": b"PAR1 and half of it"}, "{0}/b.parquet'"),
    "other folders": ({"day=1/a.parquet": WHOLE, "week=1/a.parquet": WHOLE}, "holds folders of different columns"),
    "a column twice": (
        {f"day={k}/a.parquet": WHOLE.append_column("day", pa.array(TWO)) for k in (1, 2)},
        "'day' could be any of 2 columns: 'day', 'day (of the folders)'",
    ),
    "a column of text twice": (
        {f"day={k}/a.csv": WHOLE.append_column("day", pa.array(TWO)) for k in (1, 2)},
        "'day' could be any of 2 columns: 'day', 'day (of the folders)'",
    ),
}


@pytest.mark.parametrize("where", [None, HERE], ids=["here", "file system"])
@pytest.mark.parametrize("fault", BAD)
def test_what_is_wrong_with_a_folder_is_named(tmp_path, fault, where):
    files, message = BAD[fault]
    by = "day" if "twice" in fault else None
    assert message.format(tmp_path) in refused(put(tmp_path, files), filesystem=where, by=by)


@pytest.mark.slow
def test_a_column_that_stands_twice_does_no_harm_where_nobody_asks_for_it(tmp_path):
    files, _ = BAD["a column of text twice"]
    folder = put(tmp_path, files)
    there, here = (open_table(folder, filesystem=where, distinct=True).read(**NAMES) for where in (HERE, None))
    assert np.array_equal(there.y_prob, here.y_prob)


def test_names_and_filesystems_that_lead_nowhere_are_refused(tmp_path):
    folder = put(tmp_path, {"a.parquet": WHOLE, "b.jsonl": b"{}\n"})
    missing = str(tmp_path / "none")
    assert "does not exist" in refused(missing)
    assert "does not exist on the file system" in refused(missing, filesystem=HERE)
    assert "no file on the file system matches" in refused(f"{folder}/*.csv", filesystem=HERE)
    assert "name the path within the file system: 'bucket/a'" in refused("s3://bucket/a", filesystem=HERE)
    assert "is an address" in refused("s3://bucket/a")
    assert "is read from this machine only" in refused(f"{folder}/b.jsonl", filesystem=HERE)
    assert "filesystem: is 3; a FileSystem" in refused(folder, filesystem=3)
    assert "'ftp', which is not known" in refused(folder, filesystem="ftp")
    said = refused(folder, filesystem="nowhere://key:secret@host/x")
    assert "filesystem: cannot be opened" in said
    assert "secret" not in said
    assert "filesystem: is for names of files" in refused(WHOLE, filesystem="local")
    assert "can be read only once" in refused(WHOLE.to_reader())
    assert "can be read only once" in refused(ds.dataset(folder + "/a.parquet").scanner())


def test_pages_of_a_dataset_are_held_to_their_checksums(tmp_path):
    pq.write_table(WHOLE, tmp_path / "a.parquet", write_page_checksum=True, compression="none", use_dictionary=False)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    at = data.find(np.asarray(WHOLE["p"])[100].tobytes())
    data[at] ^= 1
    (tmp_path / "a.parquet").write_bytes(bytes(data))
    for where in (None, HERE):
        with pytest.raises(FileError, match=r"a\.parquet"):
            open_table(str(tmp_path / "a.parquet"), filesystem=where).read(**NAMES)


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        ("a/*.csv", ["a/b.csv"], ["a/b/c.csv", "a/b.csvx", "xa/b.csv"]),
        ("a/**/*.csv", ["a/b.csv", "a/x/y/b.csv"], ["ab.csv"]),
        ("a/?[0-9].csv", ["a/x7.csv"], ["a/7.csv", "a/xx.csv"]),
        ("a/[!0-9]+.csv", ["a/x+.csv"], ["a/7+.csv", "a/xx.csv"]),
        ("a/**", ["a/b", "a/b/c"], ["b"]),
    ],
)
def test_patterns_on_a_filesystem_are_those_of_names(pattern, matches, others):
    import re

    wanted = re.compile(_as_regex(pattern))
    assert all(wanted.fullmatch(each) for each in matches)
    assert not any(wanted.fullmatch(each) for each in others)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["t/x.csv"], None),
        (["t/day=1/x.csv", "t/day=2/y.csv", "t/day=2/more/z.csv"], None),
        (["t/day=1/x=y.csv", "t/day=1/z.csv"], None),  # the name of a file is no folder
        (["t/day=1/x.csv", "t/place=a/y.csv"], "those of 't/day=1/x.csv' give day, those of 't/place=a/y.csv' place"),
        (["t/day=1/x.csv", "t/y.csv"], "those of 't/day=1/x.csv' give day, those of 't/y.csv' no column"),
        (
            ["t/day=1/x.csv", "t/day=1/place=a/y.csv", "t/place=a/day=1/z.csv"],
            "those of 't/day=1/x.csv' give day, those of 't/day=1/place=a/y.csv' day, place",
        ),
    ],
)
def test_folders_of_one_table_give_the_same_columns(files, said):
    if said is None:
        check_folder_columns(files, "t")
        return
    with pytest.raises(FileError) as caught:
        check_folder_columns(files, "t")
    assert caught.value.problem == f"'t' holds folders of different columns: {said}"


def test_file_systems_are_those_of_pyarrow_or_fsspec_or_named():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    found = filesystem_of(fsspec.filesystem("file"))
    assert type(found) is pyarrow.fs.PyFileSystem
    assert filesystem_of(found) is found
    assert filesystem_of("gcs").type_name == "gcs"
    assert type(filesystem_of("file:///")) is pyarrow.fs.LocalFileSystem
    assert type(filesystem_of("file:///tmp")) is pyarrow.fs.SubTreeFileSystem
    with pytest.raises(InputError, match="filesystem: is 'ftp', which is not known; a FileSystem"):
        filesystem_of("ftp")


def numbered(k, n=200):
    return rows(n, seed=k)


OTHERS = pa.table({"y": numbered(0)["y"], "p": [each / 2 for each in numbered(0)["p"].to_pylist()]})


@pytest.fixture
def sums(monkeypatch):
    """Files are summed, however few their rows are."""
    monkeypatch.setattr("calibrant.tables.entry.MANY_ROWS", 0)
    monkeypatch.setattr("calibrant.tables.entry.MANY_BYTES", 0)


@pytest.mark.usefixtures("sums")
@pytest.mark.parametrize(
    ("files", "read"),
    [
        ({"a.parquet": numbered(0), "b.parquet": numbered(1, 150), "c.parquet": numbered(0)}, "ac"),
        ({"a.parquet": numbered(0), "b.parquet": OTHERS, "c.parquet": numbered(2, 50)}, ""),  # whose ends differ
        ({"a.csv": numbered(0), "b.csv": numbered(1, 150), "c.csv": numbered(0)}, "ac"),
        ({"a.csv": numbered(0), "b.csv": numbered(1, 150)}, ""),
        ({"a.csv": numbered(0), "b.csv": numbered(1, 150), "c.csv.gz": numbered(2, 50)}, "abc"),
    ],
)
def test_files_whose_sizes_allow_that_they_hold_the_same_rows_are_hashed(tmp_path, files, read):
    files = dict(files)
    for name in [name for name in files if name.endswith(".gz")]:
        put(tmp_path, {name.removesuffix(".gz"): files.pop(name)})
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / name.removesuffix(".gz")).read_bytes()))
        (tmp_path / name.removesuffix(".gz")).unlink()
    table = open_table(put(tmp_path, files))
    assert table.summed
    found = {file.rsplit("/", 1)[1][0]: each for file, each in table._hashed(NAMES).items()}
    assert "".join(sorted(found)) == read
    if read == "ac":
        assert found["a"].equals(found["c"])
        assert found["a"].bits == found["c"].bits >= 50.0
    elif read:
        assert [found[name].count for name in read] == [200, 150, 50]
        assert {each.bits for each in found.values()} == {0.0}
    headed = table._identities(NAMES)
    assert [each.head is not None for _, each in headed] == [n.num_rows >= 128 for n in files.values()] + [False] * (
        read == "abc"
    )


@pytest.mark.usefixtures("sums")
def test_of_very_many_summed_files_the_first_rows_are_not_read(tmp_path, monkeypatch):
    table = open_table(put(tmp_path, {"a.parquet": numbered(0), "b.parquet": numbered(1)}))
    monkeypatch.setattr("calibrant.tables.entry._FEW_FILES", 1)
    assert [each.head for _, each in table._identities(NAMES)] == [None, None]
    monkeypatch.setattr("calibrant.tables.entry._FEW_FILES", 2)
    assert None not in [each.head for _, each in table._identities(NAMES)]


def test_parts_of_a_file_are_known_where_they_are_few(tmp_path, monkeypatch):
    folder = put(tmp_path, {"a.parquet": numbered(0), "b.parquet": numbered(1)})
    whole = open_table(folder).sketched(NAMES)[0].identity
    one, several = open_table(f"{folder}/a.parquet"), open_table(folder)
    assert [[each.count for each in table.parts(NAMES, whole)] for table in (one, several)] == [[200], [200, 200]]
    monkeypatch.setattr("calibrant.tables.entry.MANY_ROWS", 0)
    one, several = open_table(f"{folder}/a.parquet"), open_table(folder)
    assert several.parts(NAMES, whole) == ()
    (part,) = one.parts(NAMES, whole)
    assert (part.count, part.head is None) == (400, False)


def test_sketches_are_not_read_from_a_file_system(tmp_path):
    table = pa.table({"sketch": [b"a"], "n_rows": [1]})
    for columns, refuses in ((["sketch", "n_rows"], True), (["sketch"], False), (["n_rows"], False)):
        folder = put(tmp_path / columns[0] / str(len(columns)), {"a.parquet": table.select(columns)})
        if refuses:
            with pytest.raises(FileError, match=r"filesystem: cannot be used: .* holds sketches, which are"):
                open_table(folder, filesystem=HERE)
        else:
            assert open_table(folder, filesystem=HERE).columns == columns


def test_bytes_tell_whether_text_files_of_a_dataset_are_many(tmp_path, monkeypatch):
    folder = put(tmp_path, {"a.csv": numbered(0), "b.csv": numbered(1)})
    size = sum((tmp_path / name).stat().st_size for name in ("a.csv", "b.csv"))
    for most, summed in ((size, False), (size - 1, True)):
        monkeypatch.setattr("calibrant.tables.entry.MANY_BYTES", most)
        assert open_table(ds.dataset(folder, format="csv")).summed is summed
        assert open_table(folder, filesystem=HERE).summed is summed
        assert open_table(folder).summed is summed


def test_a_part_without_rows_has_no_identity(tmp_path):
    folder = put(tmp_path, {"a.parquet": numbered(0), "b.parquet": numbered(1).slice(0, 0)})
    found = open_table(folder, filesystem=HERE)._identities(NAMES)
    assert [(path.rsplit("/", 1)[1], each.count) for path, each in found] == [("a.parquet", 200)]
    empty = open_table(put(tmp_path / "none", {"a.parquet": numbered(0).slice(0, 0)}), filesystem=HERE)
    assert empty._identities(NAMES) == []


@pytest.mark.parametrize(("table", "said"), [("", "is an empty name"), ("  ", "is an empty name")])
def test_an_empty_name_is_refused(table, said):
    assert said in refused(table)
