"""Keys of several files: of one kind, and each kept exactly, by every road; else refused with both types and files."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import InputError, audit_table
from calibrant.cli.app import app
from calibrant.tables.entry import open_table
from calibrant.tables.sketches import open_sketches, write_rows

pytestmark = pytest.mark.usefixtures("one_database")

NAMES = {"y_true": "y", "y_prob": "p"}
DECIMAL, WIDE, FINE = pa.decimal128(38, 0), pa.decimal128(38, 2), pa.decimal128(20, 18)
UTC, NAIVE = pa.timestamp("us", "UTC"), pa.timestamp("us")
NOON = dt.datetime(2026, 1, 2, 12)
NOON_UTC = NOON.replace(tzinfo=dt.UTC)


def feather(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def write(folder, ending, *columns):
    """Files a and b with these keys."""
    folder.mkdir(exist_ok=True)
    for at, (name, keys) in enumerate(zip("ab", columns, strict=True)):
        p = np.random.default_rng(at).random(len(keys)).round(3)
        table = pa.table({"y": (p > 0.4).astype(int), "p": p, "k": keys})
        (feather if ending == "feather" else pq.write_table)(table, folder / f"{name}.{ending}")
    return folder


def of_sketches(folder, ending, *columns):
    rows, kept = write(folder, ending, *columns), folder / "kept"
    kept.mkdir()
    for name in "ab":
        table = open_table(str(rows / f"{name}.{ending}"))
        write_rows(table, kept / f"{name}.parquet", names=NAMES, by=["k"])
    return open_sketches(str(kept))


ROADS = {
    "parquet": lambda folder, *keys: open_table(str(write(folder, "parquet", *keys))),
    "feather": lambda folder, *keys: open_table(str(write(folder, "feather", *keys))),
    "file system": lambda folder, *keys: open_table(
        str(write(folder, "parquet", *keys)), filesystem=pyarrow.fs.LocalFileSystem()
    ),
    "dataset": lambda folder, *keys: open_table(ds.dataset(str(write(folder, "parquet", *keys)))),
    "sketches": lambda folder, *keys: of_sketches(folder, "parquet", *keys),
}

MERGED = {
    "whole numbers and floats": ([2**24, 2**24 + 1], pa.int32(), [5.0], pa.float32()),
    "long whole numbers and doubles": ([2**53, 2**53 + 1], pa.int64(), [5.0], pa.float64()),
    "decimals and doubles": ([decimal.Decimal(2**53), decimal.Decimal(2**53 + 1)], DECIMAL, [5.0], pa.float64()),
    "decimals of few and of many digits": (
        [decimal.Decimal("0.1"), decimal.Decimal("0.2")],
        FINE,
        [decimal.Decimal(10**36)],
        DECIMAL,
    ),
}
APART = {
    "times with and without a zone": ([NOON_UTC], UTC, [NOON], NAIVE),
    "days and times with a zone": ([NOON.date()], pa.date32(), [NOON_UTC], UTC),
    "texts and times with a zone": (["noon"], pa.string(), [NOON_UTC], UTC),
    "texts and numbers": (["5"], pa.string(), [5], pa.int64()),
    "truth values and numbers": ([True], pa.bool_(), [1], pa.int64()),
    "numbers and days": ([5], pa.int32(), [NOON.date()], pa.date32()),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("mix", MERGED)
def test_keys_that_one_type_for_all_files_would_merge_are_refused_or_told_apart(tmp_path, road, mix):
    """Roads take other types for all files: to some of them each of the three keys is exact."""
    few, one, others, other = MERGED[mix]
    try:
        table = ROADS[road](tmp_path, pa.array(few * 2, one), pa.array(others, other))
        groups = table.groups(NAMES, ["k"], 64)
    except InputError:
        return
    assert len(set(groups.keys["_s0"].to_list())) == 3


@pytest.mark.parametrize("mix", MERGED)
def test_the_column_both_types_both_files_and_a_key_that_is_lost_are_named(tmp_path, mix):
    few, one, others, other = MERGED[mix]
    write(tmp_path, "parquet", pa.array(few, one), pa.array(others, other))
    with pytest.raises(InputError, match=r"'k' is .* in '.*a\.parquet' and .* in '.*b\.parquet'; .* does not keep \S+"):
        open_table(str(tmp_path)).groups(NAMES, ["k"], 64)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("mix", APART)
def test_kinds_of_keys_are_not_mixed(tmp_path, road, mix):
    few, one, others, other = APART[mix]
    with pytest.raises(InputError) as refused:
        ROADS[road](tmp_path, pa.array(few, one), pa.array(others, other)).groups(NAMES, ["k"], 64)
    assert "column 'k' holds" in str(refused.value)


@pytest.mark.parametrize("option", ["by", "drift", "groups", "find"])
def test_every_option_that_names_keys_refuses_them(tmp_path, option):
    keys = pa.array([2**24, 2**24 + 1] * 20, pa.int32()), pa.array([5.0] * 20, pa.float32())
    write(tmp_path, "parquet", *keys)
    with pytest.raises(InputError, match="column 'k' is INTEGER in"):
        audit_table(str(tmp_path), **NAMES, n_resamples=99, **{option: "k"})


@pytest.mark.parametrize(
    ("few", "one", "others", "other", "read"),
    [
        ([1, 2**52], pa.int64(), [5.5, None], pa.float64(), {1.0, 2.0**52, 5.5, None}),
        ([1, 2], pa.int64(), [2**63], pa.uint64(), {1, 2, 2**63}),
        ([1, 2], pa.int8(), [2**40], pa.int64(), {1, 2, 2**40}),
        ([decimal.Decimal("0.10")], WIDE, [7], pa.int64(), {decimal.Decimal("0.10"), decimal.Decimal(7)}),
        (["a"], pa.string(), [None, None], pa.float64(), {"a", None}),
        ([NOON_UTC], UTC, [None], pa.null(), {NOON_UTC, None}),
        ([NOON], NAIVE, [NOON.date()], pa.date32(), {NOON, dt.datetime(2026, 1, 2)}),
        ([NOON], NAIVE, [NOON], pa.timestamp("ms"), {NOON}),
    ],
)
def test_keys_that_are_kept_exactly_are_read(tmp_path, few, one, others, other, read):
    """A column without a value in a file, such as pandas writes it, is of any kind there."""
    write(tmp_path, "parquet", pa.array(few, one), pa.array(others, other))
    assert set(open_table(str(tmp_path)).groups(NAMES, ["k"], 64).keys["_s0"].to_list()) == read


@pytest.mark.parametrize(("zoned", "bare"), [(pa.array([NOON_UTC]), pa.nulls(1, pa.string()))])
def test_no_key_is_read_in_the_zone_of_the_machine(tmp_path, zoned, bare):
    write(tmp_path, "parquet", zoned, bare)
    with pytest.raises(InputError, match="does not keep what the clock shows in each time zone"):
        open_table(str(tmp_path)).groups(NAMES, ["k"], 64)


@pytest.mark.parametrize("road", ["parquet", "feather", "file system", "dataset"])
@pytest.mark.parametrize("column", ["k", "p"])
def test_decimals_of_very_many_digits_are_no_damage_and_are_refused_by_name(tmp_path, road, column):
    """DuckDB reads them as doubles, which do not tell them apart."""
    table = pa.table({"y": [0, 1], "p": [0.3, 0.6], "k": [1, 2]})
    values = pa.array([decimal.Decimal("0.25"), decimal.Decimal("0.5")], pa.decimal256(50, 2))
    table = table.set_column(table.column_names.index(column), column, values)
    path = str(tmp_path / ("a.feather" if road == "feather" else "a.parquet"))
    (feather if road == "feather" else pq.write_table)(table, path)
    there = pyarrow.fs.LocalFileSystem() if road == "file system" else None
    opened = open_table(ds.dataset(path) if road == "dataset" else path, filesystem=there)
    with pytest.raises(InputError, match=f"column '{column}' holds decimals of 50 digits; at most 38 are read exactly"):
        opened.groups(NAMES, ["k"], 64)


def test_decimals_of_few_digits_are_read_however_wide_arrow_keeps_them(tmp_path):
    few = pa.array([decimal.Decimal("0.25"), decimal.Decimal("0.5")], pa.decimal256(20, 2))
    write(tmp_path, "parquet", few, few)
    found = open_table(str(tmp_path), distinct=True).groups(NAMES, ["k"], 64)
    assert set(found.keys["_s0"].to_list()) == set(few.to_pylist())


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
@pytest.mark.parametrize("others", [1, 2])
def test_files_that_lack_a_column_of_keys_are_named(tmp_path, ending, others):
    """The rows of these are missing keys, which may be meant or a column that was forgotten."""
    for at in range(1 + others):
        p = np.random.default_rng(at).random(60).round(3)
        table = pa.table({"y": (p > 0.4).astype(int), "p": p, "k": ["x"] * 60})
        put = {"parquet": pq.write_table, "csv": pyarrow.csv.write_csv, "feather": feather}[ending]
        put(table.drop(["k"]) if at else table, tmp_path / f"{at}.{ending}")
    first = str(tmp_path / f"1.{ending}")
    said = f"{first!r} has no column 'k'; it is missing in its rows."
    if others > 1:
        said = f"2 files, such as {first!r}, have no column 'k'; it is missing in their rows."
    options = [str(tmp_path), "--y-true", "y", "--y-prob", "p"]
    gated, audited, plain = (
        CliRunner().invoke(app, [command, *options, *asked])
        for command, asked in (("gate", ["--by", "k"]), ("audit", ["--by", "k"]), ("gate", []))
    )
    assert said in gated.output
    assert "k = (missing)" in gated.output
    assert said in audited.output
    assert "column 'k'" not in plain.output
    kept = tmp_path / "kept.parquet"
    assert said in CliRunner().invoke(app, ["sketch", *options, "--by", "k", "-o", str(kept)]).output


def test_a_column_that_is_not_asked_for_may_be_of_any_types(tmp_path):
    write(tmp_path, "parquet", pa.array(["x"]), pa.array([2**53 + 1]))
    assert len(open_table(str(tmp_path)).read(**NAMES).y_prob) == 2
