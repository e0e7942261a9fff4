"""Rows of many are added up in one scan: the cells are those of a loop, of GROUP BY, and of any order of the rows."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from pyarrow.fs import LocalFileSystem

from calibrant.door.errors import InputError
from calibrant.sketch.cells import numbers_of
from calibrant.sketch.groups import Numbering, good_groups
from calibrant.tables import relations as scanning
from calibrant.tables.duckdb import group_relation
from calibrant.tables.entry import OpenedDataset, OpenedFile, filesystem_of
from calibrant.tables.identities import suspects
from calibrant.tables.relations import scan
from calibrant.tables.table import Grouping
from tests.strategies import examples, samples

pytestmark = pytest.mark.usefixtures("one_database")

GRID = 65536
EDGES = np.array([0.0, -0.0, 5e-324, 1 / GRID, 1 - 1 / GRID, np.nextafter(1.0, 0.0), 1.0, 1.0, 0.5])
NAMES = {"y_true": "y", "y_prob": "p", "sample_weight": "w"}


def opened(path, columns):
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)
    return OpenedFile(path)


def numbers_in(table, weighted=False):
    names = NAMES if weighted else {argument: NAMES[argument] for argument in ("y_true", "y_prob")}
    relation = table._rows(list(names.values()))
    return relation, table._numbers(relation, names)


def cells_of(y, p, w):
    """Cell -> its rows, by a loop."""
    held = {}
    for row in zip(y.tolist(), p.tolist(), (np.ones(y.size) if w is None else w).tolist(), strict=True):
        x = row[1] * GRID
        held.setdefault(math.floor(x) + math.ceil(x), []).append((*row, x - math.floor(x)))
    return held


@pytest.mark.slow
@examples(60)
@given(rows=samples())
@example(rows=(np.array([0, 1, 1, 0, 1, 0, 1, 0, 1.0]), EDGES, None))
@example(rows=(np.ones(1), np.ones(1), np.ones(1)))
@example(rows=(np.arange(700) % 3 % 2 / 1.0, np.resize([0.3, 0.7, 1e-9], 700), None))
def test_cells_of_a_scan_are_those_of_a_loop(tmp_path_factory, rows):
    y, p, w = rows
    whole = bool(np.isin(y, (0.0, 1.0)).all())
    columns = {"y": y.astype(np.int8) if whole else y, "p": p} | ({} if w is None else {"w": w})
    table = opened(tmp_path_factory.mktemp("rows") / "rows.parquet", columns)
    (scanned,) = scan(*numbers_in(table, w is not None), [Grouping((), GRID)])
    groups, wanted = scanned.groups(), cells_of(y, p, w)
    assert groups.index.tolist() == sorted(wanted)
    assert scanned.sums.heaviest == (None if w is None else w.max())
    for cell, got in zip(groups.index.tolist(), groups.cells.tolist(), strict=True):
        ys, ps, ws, offsets = np.array(wanted[cell]).T
        count, ones, fractional, weight, outcome, squared, offset, outcome_offset, low, high = got
        exact = (count, ones, fractional, low, high)
        assert exact == (ys.size, (ys == 1).sum(), (~np.isin(ys, (0, 1))).sum(), ps.min(), ps.max())
        sums = [math.fsum(each) for each in (ws, ws * ys, ws * ws, ws * offsets, ws * ys * offsets)]
        assert [weight, outcome, squared, offset, outcome_offset] == pytest.approx(sums, rel=1e-15, abs=ys.size / 2**53)


BAD = [("p", math.nan), ("p", math.inf), ("p", None), ("p", -1e-300), ("y", math.nan), ("y", 1.5), ("y", -1.0)]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("column", "bad"), [*BAD, ("w", math.inf), ("w", None), ("w", -1.0)])
def test_a_bad_row_is_counted_by_its_fault(tmp_path, column, bad, weighted):
    """Of a column of ones the statistics of a file say that all are 1, whether there is a NaN or not."""
    if column == "w" and not weighted:
        return
    held = {"y": [1.0] * 9, "p": [1.0] * 9, "w": [2.0] * 9}
    held[column][4] = bad
    table = opened(tmp_path / "rows.parquet", {name: pa.array(held[name], from_pandas=False) for name in held})
    (scanned,) = scan(*numbers_in(table, weighted), [Grouping((), GRID)])
    code = "ypw".index(column) * 2 + (1 if bad is None or math.isnan(bad) else 2)
    assert scanned.faults.nonzero()[0].tolist() == [code]
    assert scanned.groups().cells[0, 0] == 8


@pytest.mark.slow
def test_large_files_are_scanned_and_bad_rows_named_or_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("calibrant.tables.entry.MANY_ROWS", 0)
    ways = []
    spied = lambda *given: ways.append(1) or scan(*given)  # noqa: E731
    monkeypatch.setattr("calibrant.tables.relations.scan", spied)
    names = {"y_true": "y", "y_prob": "p"}
    good = opened(tmp_path / "good.parquet", {"y": [1.0, 0.0], "p": [1.0, 0.3]}).groups(names, (), GRID)
    assert (sorted(good.index.tolist()), ways) == ([2 * math.floor(0.3 * GRID) + 1, 2 * GRID], [1])
    bad = opened(tmp_path / "bad.parquet", {"y": [1.0, 0.0, 1.0], "p": [1.0, 0.3, math.nan]})
    with pytest.raises(InputError, match="1 row is null or NaN") as caught:
        bad.groups(names, (), GRID)
    assert caught.value.argument == "y_prob"
    left = bad.groups(names, (), GRID, exclude_bad=True)
    assert (left.n_excluded, left.cells[:, 0].tolist()) == (1, [1.0, 1.0])


@pytest.mark.parametrize("by", [(), ("k",), ("text",)])
def test_the_first_bad_row_is_looked_for_where_rows_keep_their_order(tmp_path, monkeypatch, by):
    monkeypatch.setattr(OpenedFile, "summed", True)
    rows = {"y": [1.0, 0.0] * 8, "p": [0.5] * 9 + [7.0] * 7, "k": [1, 2] * 8}
    table = opened(tmp_path / "rows.parquet", rows | {"text": [f"{each}" for each in range(16)]})
    in_order, first_bad = [], scanning.first_bad

    def spied(*given):
        in_order.append(table._connection.sql("SELECT current_setting('preserve_insertion_order')").fetchall()[0][0])
        return first_bad(*given)

    monkeypatch.setattr(scanning, "first_bad", spied)
    if by == ("text",):
        monkeypatch.setattr(Numbering, "numbers", lambda *_: None)  # by GROUP BY
    with pytest.raises(InputError) as caught:
        table.groups({"y_true": "y", "y_prob": "p"}, by, GRID)
    assert (in_order, caught.value.row) == ([True], 9)


def keyed_rows(n):
    rng = np.random.default_rng(n)
    p = rng.random(n).astype("f4").astype(float)
    return {
        "y": (rng.random(n) < p).astype(np.int8),
        "p": p,
        "w": rng.integers(1, 4, n) / 2.0,
        "rate": rng.integers(0, 3, n) / 2.0,
        "text": pa.array(rng.choice(["a", "b", None], n).tolist()).dictionary_encode(),
        "day": pa.array(rng.integers(0, 40, n)).cast(pa.int32()).cast(pa.date32()),
        "number": rng.choice([0.0, -0.0, np.nan, 2.5], n),
        "flag": rng.choice([True, False], n),
        "span": pa.array(rng.integers(0, 3, n)).cast(pa.duration("us")),
    }


KEYS = ["day", "text", "flag"]


def in_order(groups):
    keys = groups.keys.to_arrow().to_pylist()
    return {
        (int(i), *map(str, key.values())): cell.tolist()
        for i, key, cell in zip(groups.index, keys, groups.cells, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("names", [{"y_true": "y"}, {"y_true": "y", "sample_weight": "w"}, {"y_true": "rate"}])
@pytest.mark.parametrize(
    "by", [["text"], ["day"], ["number"], ["flag", "text"], ["number", "day", "text"], ["span", "flag"]]
)
def test_segments_of_a_scan_are_those_of_a_group_by(tmp_path, by, names):
    import narwhals as nw

    table = opened(tmp_path / "rows.parquet", keyed_rows(3000))
    names = {**names, "y_prob": "p"}
    relation = table._rows(list(names.values()), by)
    numbers = table._numbers(relation, names)
    grouped = nw.from_native(group_relation(relation, numbers, by, 128), eager_only=True)
    wanted = in_order(good_groups(grouped, exclude_bad=False))
    (scanned,) = scan(relation, numbers, [Grouping(tuple(by), 128)])
    got = in_order(scanned.groups())
    assert got.keys() == wanted.keys()
    for key, cell in wanted.items():
        assert got[key] == pytest.approx(cell, rel=1e-14, abs=1e-14)


@pytest.mark.slow
def test_sums_are_the_same_in_any_order_and_in_lots(tmp_path, monkeypatch):
    rows = keyed_rows(20_000)
    order = np.random.default_rng(0).permutation(20_000)
    mixed = {name: pa.array(column).take(order) for name, column in rows.items()}
    monkeypatch.setattr(scanning, "BATCH", 2048)
    by, names = ["day", "text"], {"y_true": "y", "y_prob": "p"}
    wanted = None
    for number, columns in enumerate((rows, mixed)):
        table = opened(tmp_path / f"{number}.parquet", columns)
        monkeypatch.setattr(OpenedFile, "summed", True)
        whole = in_order(table.groups(names, by, GRID))
        for most in (scanning.MOST_BYTES, 8 * GRID * 80):
            monkeypatch.setattr(scanning, "MOST_BYTES", most)
            monkeypatch.setattr("calibrant.tables.relations.group_relation", None)  # not needed
            lots = list(table.in_lots(names, by, GRID))
            monkeypatch.undo()
            monkeypatch.setattr(OpenedFile, "summed", True)
            assert len(lots) == 120
            assert all(numbers_of(lot.keys).max() == 0 for lot in lots)
            together = {key: cell for lot in lots for key, cell in in_order(lot).items()}
            assert together == whole
        assert wanted in (None, whole)
        wanted = whole


@pytest.mark.slow
@pytest.mark.parametrize(("way", "n_scans"), [("groups", 1), ("in_lots", 2)])
def test_a_scan_stops_where_keys_have_no_place(tmp_path, monkeypatch, way, n_scans):
    """Of forty days twelve have a place in one scan, sixteen in lots of one; without lots one scan is tried again."""
    monkeypatch.setattr(OpenedFile, "summed", True)
    monkeypatch.setattr(scanning, "BATCH", 2048)
    if way == "in_lots":
        monkeypatch.setattr(scanning, "MOST_BYTES", GRID * 80)
    batches, numbers = [], Numbering.numbers
    monkeypatch.setattr(Numbering, "numbers", lambda *given: batches.append(1) or numbers(*given))
    table = opened(tmp_path / "rows.parquet", keyed_rows(20_000))
    groups = getattr(table, way)({"y_true": "y", "y_prob": "p"}, ["day"], GRID)
    held = [groups] if way == "groups" else list(groups)
    assert sum(each.cells[:, 0].sum() for each in held) == 20_000
    assert len(batches) == n_scans  # of ten batches each


@pytest.mark.slow
def test_each_segment_of_rates_comes_once(tmp_path, monkeypatch):
    """More of them have a place than of outcomes 0 and 1, whose sums are begun before the first rate is met."""
    monkeypatch.setattr(OpenedFile, "summed", True)
    monkeypatch.setattr(scanning, "BATCH", 2048)
    monkeypatch.setattr(scanning, "MOST_BYTES", 14 * GRID * 80)
    monkeypatch.setattr("calibrant.tables.relations.group_relation", None)  # not needed
    rows = pa.table(keyed_rows(20_000)).sort_by("day")
    lots = list(opened(tmp_path / "rows.parquet", rows).in_lots({"y_true": "rate", "y_prob": "p"}, KEYS, GRID))
    keys = [tuple(lot.keys.to_arrow().to_pylist()[0].values()) for lot in lots]
    assert len(keys) == len(set(keys)) == 240
    assert sum(lot.cells[:, 0].sum() for lot in lots) == 20_000


def test_a_filesystem_is_opened_by_its_name(monkeypatch):
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert [filesystem_of(name).type_name for name in ("local", "s3")] == ["local", "s3"]
    with pytest.raises(InputError, match="filesystem: is 'ftp', which is not known"):
        filesystem_of("ftp")


@pytest.mark.parametrize(
    ("sizes", "ends", "wanted"),
    [
        ([5, 5, 7], [(0, 1), (0, 1), (0, 1)], [0, 1]),
        ([5, 5, 7], [(0, 1), (0, 0.5), (0, 1)], []),
        ([5, 5, 5], [(0, 1), None, (0, 0.5)], [0, 1, 2]),
        ([5, 5, 10], [(0, 1), (0, 0.5), None], [0, 1, 2]),
        ([5, 6, 8], [None, None, None], []),
    ],
)
def test_files_whose_ends_differ_hold_other_rows(sizes, ends, wanted):
    assert suspects(sizes, 0, ends) == wanted


@pytest.mark.slow
def test_ends_are_told_of_floats_alone(tmp_path):
    p = np.random.default_rng(0).random(999)
    odd = {"single": p.astype("f4"), "double": p, "whole": (p > 0.5).astype(int)}
    for name, column in odd.items():
        pq.write_table(pa.table({"P": pa.array(column)}), tmp_path / f"{name}.parquet")
    ends = OpenedFile(tmp_path)._reader.ends("p")
    found = {file.rsplit("/", 1)[-1].split(".")[0]: each for file, each in ends.items()}
    assert found["single"] == found["double"] == (np.float32(p.min()), np.float32(p.max()))
    assert "whole" not in found


@pytest.mark.slow
@pytest.mark.parametrize("names", [{"y_true": "y"}, {"y_true": "y", "sample_weight": "w"}, {"y_true": "rate"}])
def test_one_scan_makes_all_sums_that_will_be_asked_for(tmp_path, monkeypatch, names):
    """The same as of scans of their own; keys that have no place in it are left to a GROUP BY."""
    monkeypatch.setattr(OpenedFile, "summed", True)
    monkeypatch.setattr(scanning, "BATCH", 2048)
    path, names = tmp_path / "rows.parquet", {**names, "y_prob": "p"}
    groupings = [
        Grouping((), GRID),
        Grouping(("text", "flag"), 128),
        Grouping(("day",), 1024),
        Grouping(("day",), GRID),
    ]
    alone = [opened(path, keyed_rows(20_000)).groups(names, each.by, each.resolution) for each in groupings]
    scans, grouped = [], []
    monkeypatch.setattr(scanning, "scan", lambda *given: scans.append(1) or scan(*given))
    monkeypatch.setattr(scanning, "group_relation", lambda *given: grouped.append(1) or group_relation(*given))
    table = OpenedFile(path)
    table.groupings = tuple(groupings[1:])
    for each, wanted in zip(groupings, alone, strict=True):
        got = in_order(table.groups(dict(reversed(names.items())), each.by, each.resolution))
        wanted = in_order(wanted)
        assert got.keys() == wanted.keys()
        grouped_rows = each == groupings[-1]  # forty days of so many cells are too many
        for key, cell in wanted.items():
            assert got[key] == (pytest.approx(cell, rel=1e-14, abs=1e-14) if grouped_rows else cell)
    assert (len(scans), len(grouped)) == (1, 1)
    table.groups(names, (), GRID)
    assert len(scans) == 2  # sums are given once, and not kept


def test_segments_of_a_scan_come_in_the_order_of_their_keys(tmp_path, monkeypatch):
    """As GROUP BY has them, so that what is tied comes in one order whoever reads which rows first."""
    monkeypatch.setattr(OpenedFile, "summed", True)
    rows = keyed_rows(2000)
    for by in (("day",), ("text", "flag"), ("number",)):
        keys = opened(tmp_path / "rows.parquet", rows).groups({"y_true": "y", "y_prob": "p"}, by, 128).keys.to_arrow()
        assert keys.equals(keys.sort_by([(name, "ascending") for name in keys.column_names]))


@pytest.mark.slow
@pytest.mark.parametrize("n_keys", [12, 13, 17, 18, 40])
def test_no_segment_of_rates_is_lost_whatever_number_has_a_place(tmp_path, monkeypatch, n_keys):
    monkeypatch.setattr(OpenedFile, "summed", True)
    rows = {"k": np.arange(4000) % n_keys, "p": np.arange(4000) / 4000, "y": np.arange(4000) % 3 / 2.0}
    lots = list(opened(tmp_path / "rows.parquet", rows).in_lots({"y_true": "y", "y_prob": "p"}, ["k"], GRID))
    assert sorted(lot.keys["_s0"][0] for lot in lots) == list(range(n_keys))
    assert sum(lot.cells[:, 0].sum() for lot in lots) == 4000


@pytest.mark.slow
def test_a_fault_of_other_columns_is_told_to_who_asks_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(OpenedFile, "summed", True)
    names = {"y_true": "y", "y_prob": "p"}
    rows = {"y": [1, 0, 1], "p": [0.1, 0.2, 0.3], "list": [[1], [2], [3]], "far": pa.array([1, 2, 3]).cast(pa.int32())}
    rows["far"] = pa.array([2**31 - 1, 0, 0], pa.int32()).cast(pa.date32())
    for name in ("list", "far"):
        table = opened(tmp_path / "rows.parquet", rows)
        table.groupings = (Grouping((name,), 128),)
        assert table.groups(names, (), GRID).cells[:, 0].tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(InputError, match=r"by: names (the|a) column"):
            table.groups(names, (name,), 128)


@pytest.mark.parametrize("many", [False, True])
def test_ids_tell_files_of_a_dataset_apart_where_rows_are_read(tmp_path, monkeypatch, many):
    if many:
        monkeypatch.setattr("calibrant.tables.entry.MANY_ROWS", 0)
    rows = {"y": np.arange(40) % 3 % 2 * 1.0, "p": np.arange(40) / 40}
    for name, ids in (("a", [f"a{i}" for i in range(40)]), ("b", [f"b{i}" for i in range(40)])):
        pq.write_table(pa.table(rows | {"id": ids}), tmp_path / f"{name}.parquet")
    table = OpenedDataset.on(LocalFileSystem(), str(tmp_path))
    (_, one), (_, other) = table._identities({"y_true": "y", "y_prob": "p"})
    assert (table.summed, one.equals(other)) == (many, True)
    assert one.apart(other) is not many
