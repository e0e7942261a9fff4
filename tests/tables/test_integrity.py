"""A cut or damaged file gives no number: wherever it is cut, whichever bit is flipped."""

import base64
import datetime
import errno
import gzip
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from calibrant.door.errors import FileError
from calibrant.tables.duckdb import connect
from calibrant.tables.entry import OpenedFile
from calibrant.tables.formats import base
from calibrant.tables.formats import parquet as arrow
from calibrant.tables.formats import parquet as format_parquet
from calibrant.tables.inputs import input_files
from tests.tables.roads import file_by_segment, file_drift, read_file, sketch_file

ROWS = 300
RNG = np.random.default_rng(0)
Y, P = RNG.integers(0, 2, ROWS), RNG.random(ROWS)
TABLE = pa.table({"y_true": Y, "y_prob": P})
CSV = "\n".join(["y_true,y_prob", *(f"{y},{p!r}" for y, p in zip(Y, P.tolist(), strict=True)), ""]).encode()
JSONL = "\n".join(json.dumps({"y_true": int(y), "y_prob": p}) for y, p in zip(Y, P.tolist(), strict=True)).encode()
SAMPLES = ({"acc": int(y), "filtered_resps": [[-p, 0], [-1, 0]]} for y, p in zip(Y, P, strict=True))
LOG = "\n".join(map(json.dumps, SAMPLES)).encode()


def zstandard(data):
    """Without a checksum: pyarrow writes none."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


# 30 rows as the command zstd writes them, which adds a checksum.
CHECKED = base64.b64decode(
    "KLUv/QRYXQMAQkUQFLAlbeCwBLE7Qg3uIru7eyeyE8/FohJrl/BI9WfPtJURl2jv9FeztLMKd4/oVO23zCIeFzbxsBAAJlDOGAZGUE4cBAIAAwww"
    "wAADDDDAAAMMMMAAAwwwwAADDDDAAAMMMMAAAwzwMcfZw0PD"
)
PACKED = {
    "csv.gz": gzip.compress(CSV),
    "csv.zst": zstandard(CSV),
    "jsonl.gz": gzip.compress(JSONL),
    "jsonl.zst": zstandard(JSONL),
    "log.jsonl.gz": gzip.compress(LOG),
    "checked.csv.zst": CHECKED,
}


READS = (
    read_file,
    sketch_file,
    lambda path: OpenedFile(path).summed,
    lambda path: file_by_segment(path, ["y_true"]),
    lambda path: file_drift(path, "y_true"),
)


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return str(path)


def cuts(data, n):
    return sorted({int(at) for at in np.linspace(1, len(data) - 1, n)} | {len(data) - at for at in range(1, 15)})


def flipped(data, n):
    for bit in np.random.default_rng(1).choice(8 * len(data), n, replace=False).tolist():
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << (bit % 8)
        yield bytes(damaged)


@pytest.mark.parametrize("name", PACKED)
def test_a_compressed_file_cut_anywhere_is_refused(tmp_path, name):
    whole_one = written(tmp_path, name, PACKED[name])
    assert input_files(whole_one) == [whole_one]
    for at in cuts(PACKED[name], 90):
        with pytest.raises(FileError, match="cut or damaged"):
            input_files(written(tmp_path, f"{at}.{name}", PACKED[name][:at]))


@pytest.mark.parametrize("name", ["csv.gz", "jsonl.gz", "checked.csv.zst"])
def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path, name):
    refused = 0
    wanted = gzip.decompress(PACKED[name]) if name.endswith("gz") else None
    for i, data in enumerate(flipped(PACKED[name], 100)):
        path = written(tmp_path, f"{i}.{name}", data)
        try:
            input_files(path)
        except FileError:
            refused += 1
        else:  # the time and the name in the header of gzip, a reserved bit
            assert wanted is None or gzip.decompress(data) == wanted
    assert refused >= 95


@pytest.mark.slow
def test_every_reader_refuses(tmp_path):
    cut = written(tmp_path, "cut.csv.zst", PACKED["csv.zst"][:-9])
    log = written(tmp_path, "log.jsonl.gz", PACKED["log.jsonl.gz"][:-9])
    for read in (
        lambda: read_file(cut),
        lambda: sketch_file(cut),
        lambda: file_by_segment(cut, ["y_true"]),
        lambda: file_drift(cut, "y_true"),
        lambda: OpenedFile(cut).summed,
        lambda: OpenedFile(cut).choose_classes(None),
        lambda: OpenedFile(log).is_harness_log,
        lambda: read_file(str(tmp_path / "*.csv.zst")),
    ):
        with pytest.raises(FileError, match="cut or damaged"):
            read()


@pytest.mark.slow
def test_parts_one_after_another_are_one_file(tmp_path):
    half = CSV.index(b"\n", len(CSV) // 2) + 1
    for name, pack in (("two.csv.gz", gzip.compress), ("two.csv.zst", zstandard)):
        path = written(tmp_path, name, pack(CSV[:half]) + pack(b"") + pack(CSV[half:]))
        assert read_file(path).y_prob.tolist() == P.tolist()
        for extra in (b"garbage!", b"\0x"):
            with pytest.raises(FileError, match="cut or damaged"):
                read_file(written(tmp_path, name, pack(CSV) + extra))


def test_a_file_is_decompressed_once_and_again_when_it_changed(tmp_path):
    path = written(tmp_path, "rows.csv.gz", PACKED["csv.gz"])
    base._decompress.cache_clear()
    read_file(path)
    read_file(path)
    assert base._decompress.cache_info().misses == 1
    written(tmp_path, "rows.csv.gz", PACKED["csv.gz"][:-1])
    with pytest.raises(FileError):
        read_file(path)


def parquet(**options):
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=100, **options)
    return sink.getvalue().to_pybytes()


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", [False, True])
def test_checksums_of_parquet_pages_are_looked_at(tmp_path, dictionary):
    plain = parquet(use_dictionary=dictionary)
    checked = parquet(use_dictionary=dictionary, write_page_checksum=True)
    for name, data in (("checked", checked), ("plain", plain)):
        path = written(tmp_path, f"{name}.parquet", data)
        begins, _ = format_parquet._chunks(connect(), [path])[path]
        assert sorted(begins) == [0, 1]
        assert all(format_parquet._has_checksum(path, first) is (name == "checked") for first in begins.values())
    assert read_file(str(tmp_path / "checked.parquet")).y_prob.tolist() == P.tolist()
    # One bit of one number, in the last group of rows.
    chunk = pq.ParquetFile(pa.BufferReader(checked)).metadata.row_group(2).column(1)
    damaged = bytearray(checked)
    damaged[chunk.data_page_offset + chunk.total_compressed_size // 2 - 400 * dictionary] ^= 1
    path = written(tmp_path, "damaged.parquet", bytes(damaged))
    for read in (read_file, sketch_file):
        with pytest.raises(FileError, match="damaged"):
            read(path)


def test_no_end_of_a_column_that_the_last_bytes_state_changes_its_keys(tmp_path):
    """These have no checksum, and DuckDB groups by them."""
    first, path = 20_454, tmp_path / "rows.parquet"
    days = pa.array([first + k // 20 for k in range(100)], pa.date32())
    table = pa.table({"y": np.tile([0, 1], 50), "p": np.linspace(0.1, 0.9, 100), "day": days})
    pq.write_table(table, path, write_page_checksum=True)

    def keys():
        held = OpenedFile(path).groups({"y_true": "y", "y_prob": "p"}, ["day"], 16)
        return sorted(held.keys["_s0"].to_list(), key=str)

    data, wanted, refused = path.read_bytes(), keys(), []
    last_bytes = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for end, bit in ((first, 1), (first + 4, 2)):  # the least becomes more, and the largest less
        text = end.to_bytes(4, "little")
        places = [at for at in range(last_bytes, len(data) - 8) if data[at : at + 4] == text]
        assert places
        for at in places:
            changed = bytearray(data)
            changed[at] ^= bit
            path.write_bytes(changed)
            try:
                assert keys() == wanted
            except FileError as problem:
                refused.append("is damaged" in problem.problem)
    assert len(refused) >= 2
    assert all(refused)


@pytest.mark.slow
@pytest.mark.parametrize("day", [pa.date32(), pa.decimal128(12, 1)])
def test_no_bit_of_a_columns_type_changes_what_it_holds(tmp_path, day):
    """The last bytes tell types in two ways; by one DuckDB took days for numbers, and by the other pyarrow did not."""
    path, connection = str(tmp_path / "rows.parquet"), connect()
    table = pa.table({"y": [0, 1, 0, 1], "p": np.linspace(0.1, 0.9, 4), "day": pa.array([20_454] * 4).cast(pa.int32())})
    if not pa.types.is_decimal(day):
        table = table.set_column(2, "day", table["day"].cast(pa.date32()))
    table = table.set_column(2, "day", table["day"].cast(day))
    pq.write_table(table, path, write_page_checksum=True)
    data, names = Path(path).read_bytes(), ["y", "p", "day"]
    wanted, n_refused = connection.read_parquet(path).fetchall(), 0
    name = data.index(b"\x18\x03day", len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    for bit in [*range(8 * (name + 5), 8 * (name + 9)), 8 * (name - 2)]:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        Path(path).write_bytes(changed)
        try:
            format_parquet.check_pages(connection, [path], names)
        except (FileError, OSError, duckdb.Error):
            n_refused += 1
        else:
            assert connection.read_parquet(path).fetchall() == wanted, (bit // 8 - name, bit % 8)
    assert n_refused > 10


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, None, -0.0, 0.0, np.nan, np.inf]),
        pa.array([None] * 6, pa.float64()),
        pa.array(np.array([0.5, 1.5, np.nan, 0.0, 2.0, 3.0], np.float16)),
        pa.array([np.nan] * 6, pa.float32()),
        pa.array([-(2**63), 2**63 - 1, 0, None, 1, 2]),
        pa.array([0, 2**64 - 1, 2**63, None, 1, 2], pa.uint64()),
        pa.array([0, 2**32 - 1, 2**31, None, 1, 2], pa.uint32()),
        pa.array(["b", "", None, "\U0001f600", "\uffee", "a"]),
        pa.array(["b", "a", None, "b", "c", "a"]).dictionary_encode(),
        pa.array([1000, -1000, None, 10**12, 0, 2000], pa.timestamp("ns")),
        pa.array([1, -1, None, 86_400_000, 0, 0], pa.int64()).cast(pa.date64(), safe=False),
        pa.array([True, None, False, True, True, False]),
        pa.array([[1, 2], None, [], [3], [4], [5]]),
    ],
)
def test_whole_files_of_any_type_have_the_ends_that_they_state(tmp_path, column):
    table = pa.table({"y": [0, 1, 0, 1, 0, 1], "p": np.linspace(0.1, 0.9, 6), "x": column})
    for version in ("1.0", "2.6"):
        path = tmp_path / "rows.parquet"
        pq.write_table(table, path, write_page_checksum=True, row_group_size=4, version=version)
        format_parquet.check_pages(connect(), [str(path)], ["y", "p", "x"])


@pytest.mark.slow
def test_no_flipped_bit_of_a_checked_parquet_file_changes_a_number(tmp_path):
    for i, data in enumerate(flipped(parquet(write_page_checksum=True), 25)):
        try:
            found = read_file(written(tmp_path, f"{i}.parquet", data), y_true="y_true", y_prob="y_prob")
        except FileError:
            continue
        assert found.y_prob.tolist() == P.tolist()
        assert found.y_true.tolist() == Y.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow"])
def test_cut_parquet_and_arrow_files_are_refused(tmp_path, kind):
    sink = pa.BufferOutputStream()
    if kind == "feather":
        pyarrow.feather.write_feather(TABLE, sink)
    elif kind == "arrow":
        with pyarrow.ipc.new_stream(sink, TABLE.schema) as stream:
            for batch in TABLE.to_batches(100):
                stream.write_batch(batch)
    data = parquet() if kind == "parquet" else sink.getvalue().to_pybytes()
    assert read_file(written(tmp_path, f"whole.{kind}", data)).y_true.size == ROWS
    for at in cuts(data, 12):
        with pytest.raises(FileError):
            read_file(written(tmp_path, f"{at}.{kind}", data[:at]))
    with pytest.raises(FileError):
        read_file(written(tmp_path, f"more.{kind}", data + b"garbage!"))


@pytest.mark.slow
@pytest.mark.parametrize("legacy", [False, True])
def test_zeros_at_the_end_of_a_batch_are_no_end_of_a_stream(tmp_path, legacy):
    table = TABLE.append_column("zeros", pa.array(np.zeros(ROWS, np.int64))).slice(0, 24)
    version = pa.ipc.MetadataVersion.V4 if legacy else pa.ipc.MetadataVersion.V5
    options = pa.ipc.IpcWriteOptions(use_legacy_format=legacy, metadata_version=version)
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema, options=options) as stream:
        after_batches = []
        for batch in table.to_batches(8):
            stream.write_batch(batch)
            after_batches.append(sink.tell())
    data = sink.getvalue().to_pybytes()
    assert after_batches[-1] == len(data) - (4 if legacy else 8)
    assert data[: after_batches[0]].endswith(bytes(8))
    assert read_file(written(tmp_path, "whole.arrow", data)).y_true.size == 24
    for at in {*range(8, len(data), 8), *after_batches, *range(len(data) - 16, len(data))}:
        with pytest.raises(FileError, match="cut or damaged"):
            arrow.check_arrow_stream(written(tmp_path, "cut.arrow", data[:at]))
    for at in after_batches:
        with pytest.raises(FileError, match="cut or damaged"):
            read_file(written(tmp_path, f"{at}.arrow", data[:at]))
    for more in (bytes(4), bytes(8), data):
        with pytest.raises(FileError, match="cut or damaged"):
            arrow.check_arrow_stream(written(tmp_path, "more.arrow", data + more))


@pytest.mark.parametrize("asked", ["model.score", "p", "Model.Score"])
def test_checksums_are_looked_at_whatever_the_name_of_the_column(tmp_path, asked):
    name = "p" if asked == "p" else "model.score"
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"y": Y, name: P}), sink, use_dictionary=False, write_page_checksum=True)
    data = bytearray(sink.getvalue().to_pybytes())
    chunk = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0).column(1)
    data[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path = written(tmp_path, "damaged.parquet", bytes(data))
    format_parquet.check_pages(connect(), [path], {"y"})
    with pytest.raises(FileError, match="damaged"):
        format_parquet.check_pages(connect(), [path], {asked})
    with pytest.raises(FileError, match="damaged"):  # a column that is not found leaves nothing unchecked
        format_parquet.check_pages(connect(), [path], {"y", "year"})
    if asked == name:
        with pytest.raises(FileError, match="damaged"):
            read_file(path, y_true="y", y_prob=name)


OBJECTS = [json.dumps({"y_true": i % 2, "y_prob": 0.5, "more": [1, {}]}) for i in range(3)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard], ids=["plain", "gz", "zst"])
@pytest.mark.parametrize(
    "text",
    [f"[{','.join(OBJECTS)}]", "\ufeff [\n" + ",\n".join(OBJECTS) + "\n]" + " " * 5000],
    ids=["one line", "lines"],
)
def test_a_json_array_cut_anywhere_is_refused(tmp_path, text, pack):
    ending = {bytes: "json", gzip.compress: "JSON.gz", zstandard: "json.zst"}[pack]
    data = text.encode()
    if "\ufeff" not in text:
        assert read_file(written(tmp_path, f"whole.{ending}", pack(data))).y_true.size == 3
    else:
        assert input_files(written(tmp_path, f"whole.{ending}", pack(data)))
    for at in range(data.index(b"[") + 1, len(data.rstrip())):
        if data[:at].endswith(b"]"):  # of an array within: DuckDB sees that
            continue
        with pytest.raises(FileError, match=r"is cut or damaged: its array is not closed by '\]'"):
            input_files(written(tmp_path, f"{at}.{ending}", pack(data[:at])))
    at = data.index(b"]") + 1
    with pytest.raises(FileError):
        read_file(written(tmp_path, f"within.{ending}", pack(data[:at])))


@pytest.mark.parametrize("between", ["\n", ""])
def test_json_objects_one_after_another_are_read(tmp_path, between):
    assert read_file(written(tmp_path, "rows.json", between.join(OBJECTS).encode())).y_true.size == 3


def test_an_empty_part_is_refused_by_its_name(tmp_path):
    written(tmp_path, "a.csv", CSV)
    written(tmp_path, "b.csv", b"")
    with pytest.raises(FileError, match=r"b\.csv' is empty"):
        input_files(str(tmp_path / "*.csv"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes")
def test_devices_and_pipes_are_no_plain_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in ("/dev/null", "/dev/zero", str(tmp_path / "pipe.csv")):
        with pytest.raises(FileError, match="is not a plain file"):
            input_files(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.csv", "rows.TSV", "rows.txt"])
def test_a_text_cut_in_the_middle_of_a_line_is_refused(tmp_path, name):
    data = CSV.replace(b",", b"\t") if name.endswith("TSV") else CSV
    assert read_file(written(tmp_path, name, data.replace(b"\n", b"\r\n"))).y_prob.tolist() == P.tolist()
    in_a_number = len(data) - 5
    for at in (in_a_number, len(data) - 1, 20, data.index(b"\n")):
        path = written(tmp_path, name, data[:at])
        for read in READS:
            with pytest.raises(FileError, match=r"file: .* ends in the middle of a line, .* add a line end"):
                read(path)
    written(tmp_path, f"a{name}", data)
    with pytest.raises(FileError, match=f"/{name}' ends in the middle of a line"):
        read_file(str(tmp_path / f"*{name[-8:]}"))


def test_what_is_compressed_need_not_end_a_line(tmp_path):
    assert read_file(written(tmp_path, "rows.csv.gz", gzip.compress(CSV[:-1]))).y_prob.tolist() == P.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_json_cut_within_its_last_value_is_refused(tmp_path, kind):
    data = JSONL if kind == "jsonl" else b"[" + JSONL.replace(b"\n", b",\n") + b"]\n"
    assert read_file(written(tmp_path, f"rows.{kind}", data)).y_prob.tolist() == P.tolist()
    last = data.rindex(b"{")
    within = [last + 1, data.index(b",", last), data.rindex(b"."), data.rindex(b"}")]
    for at in within if kind == "jsonl" else [last - 2, last - 1, last, *within, data.rindex(b"}") + 1]:
        path = written(tmp_path, f"cut.{kind}", data[:at])
        for read in (each for each in READS if each is not READS[2]):  # which looks at the size alone
            with pytest.raises(FileError, match=r"cannot be read as json|is cut or damaged"):
                read(path)


@pytest.mark.parametrize("last", ["1", '1,0.5,"b', '1,0.5,"b\n', "1,0.5", "1\n", "1,0.5\n"])
def test_a_last_line_with_too_few_fields_is_refused(tmp_path, last):
    path = written(tmp_path, "rows.csv", f'y_true,y_prob,text\n0,0.1,"a, ""\nb"\n1,0.2,c\n{last}'.encode())
    for read in (read_file, sketch_file):
        with pytest.raises(FileError):
            read(path)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst"])
def test_a_compressed_file_of_nothing_is_empty(tmp_path, name):
    path = written(tmp_path, name, gzip.compress(b"") if name.endswith("gz") else zstandard(b""))
    with pytest.raises(FileError, match=rf"{re.escape(name)}' is empty"):
        base.check_compressed(str(path))
    base.check_compressed(str(tmp_path / "not compressed, and not looked at"))


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (OSError(errno.ENOMEM, "no"), MemoryError),
        (pa.ArrowMemoryError("allocation error"), MemoryError),
        (OSError("Allocation error : not enough memory"), MemoryError),
        (PermissionError(errno.EACCES, "no"), r"a\.csv\.gz' cannot be read: \[Errno 13\] no$"),
        (EOFError("it ends"), r"a\.csv\.gz' is cut or damaged: it ends; copy it, or write it, once more"),
    ],
    ids=repr,
)
def test_a_lack_of_memory_is_no_damage_of_a_compressed_file(tmp_path, monkeypatch, problem, said):
    def fails(_):
        raise problem

    path = str(written(tmp_path, "a.csv.gz", gzip.compress(b"a\n")))
    monkeypatch.setattr(gzip, "open", fails)
    if said is MemoryError:
        with pytest.raises(MemoryError):
            base.check_compressed(path)
    else:
        with pytest.raises(FileError, match=said):
            base.check_compressed(path)


def stated(low=None, high=None, nulls=None):
    """Ends of a column as the last bytes of a file state them."""
    return SimpleNamespace(
        has_null_count=nulls is not None, null_count=nulls, has_min_max=low is not None, min=low, max=high
    )


@pytest.mark.parametrize(
    ("column", "ends", "said"),
    [
        (pa.array([1, None, 3]), stated(1, 3, 1), None),
        (pa.array([1, None, 3]), stated(0, 4), None),
        (pa.array([1, None, 3]), stated(1, 3, 2), "column 'c' lacks 1 numbers, and 2 are said to be missing"),
        (pa.array([1, None, 3]), stated(nulls=0), "column 'c' lacks 1 numbers, and 0 are said to be missing"),
        (pa.array([1, None, 3]), stated(2, 3), "column 'c' holds what lies beyond 2 and 3"),
        (pa.array([1, None, 3]), stated(1, 2, 1), "column 'c' holds what lies beyond 1 and 2"),
        (pa.array([0.5, 1.5]), stated(0.5, 1.0), "beyond 0.5 and 1.0"),
        (pa.array([0.5, 1.5], pa.float32()), stated(1.0, 1.5), "beyond 1.0 and 1.5"),
        (pa.array(["a", "c"]), stated("a", "b"), "beyond 'a' and 'b'"),
        (pa.array([datetime.date(2026, 1, 2)]), stated(datetime.date(2026, 1, 3), datetime.date(2026, 1, 4)), "beyond"),
        (pa.array([1, 3], pa.uint32()), stated(2, 2), None),  # whose order is another one in older files
        (pa.nulls(2, pa.int64()), stated(1, 2, 2), None),
        (pa.array([1, 3]), stated(), None),
        (pa.array([1, 3]), None, None),
    ],
)
def test_a_column_holds_what_its_stated_ends_allow(column, ends, said):
    table = pa.table({"c": column})
    format_parquet._check_ends(table, "other", ends)
    if said is None:
        format_parquet._check_ends(table, "c", ends)
    else:
        with pytest.raises(OSError, match=said):
            format_parquet._check_ends(table, "c", ends)


@pytest.mark.parametrize(
    ("columns", "leaves"),
    [(["b"], [1]), (["B", "a"], [0, 1]), (["c"], [2, 3]), (["c", "a"], [0, 2, 3]), (["z"], [0, 1, 2, 3, 4]), ([], [])],
)
def test_leaves_of_a_column_are_all_that_lie_in_it(columns, leaves):
    assert list(format_parquet._leaves_of(columns, ["a", "b", "c.x", "c.y", "cc"])) == leaves


@pytest.mark.parametrize(
    ("old", "new", "scale", "same"),
    [
        ("UTF8", "StringType()", None, True),
        ("UTF8", "DateType()", None, False),
        ("DECIMAL", "DecimalType(scale=2,precision=5)", 2, True),
        ("DECIMAL", "DecimalType(scale=3,precision=5)", 2, False),
        ("INT_8", "IntType(bitWidth=8, isSigned=1)", None, True),
        ("INT_8", "IntType(bitWidth=8, isSigned=0)", None, False),
        ("INT_8", None, None, True),
        (None, "StringType()", None, True),
    ],
)
def test_two_words_for_a_type_say_the_same(old, new, scale, same):
    assert format_parquet._same_type(old, new, scale) == same
