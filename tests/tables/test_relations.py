"""Rows in DuckDB: sums by one scan or by GROUP BY, in lots, of a part of the rows; and files of the same rows."""

from types import SimpleNamespace

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem

from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import identities
from calibrant.door.overlap import Overlap
from calibrant.sketch.groups import Numbering
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables import relations
from calibrant.tables.entry import OpenedDataset, OpenedFile
from calibrant.tables.relations import InDuckDB, of_file, scan
from calibrant.tables.table import FINE, Grouping, Table

pytestmark = pytest.mark.usefixtures("one_database")

NAMES = {"y_true": "y", "y_prob": "p"}
GRID = 64


def rows(n=40, **changed):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    columns = {
        "y": (rng.random(n) < p).astype(float),
        "p": p,
        "k": [*"abcd"] * (n // 4),
        "w": rng.integers(1, 4, n) / 2,
    }
    for name, (at, value) in changed.items():
        columns[name] = [value if row in at else each for row, each in enumerate(columns[name])]
    return pa.table(columns)


def opened(folder, table, name="rows.parquet"):
    pq.write_table(table, folder / name)
    return OpenedFile(folder / name)


@pytest.fixture
def summed(monkeypatch):
    monkeypatch.setattr(OpenedFile, "summed", True)


def cells(groups):
    """Cell and key -> sums; a lot may have its key once."""
    keys = groups.keys.to_arrow().to_pylist()
    keys = keys * len(groups.index) if len(keys) == 1 else keys
    return {
        (int(i), *key.values()): cell.tolist() for i, key, cell in zip(groups.index, keys, groups.cells, strict=True)
    }


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for key, cell in wanted.items():
        assert found[key] == pytest.approx(cell, rel=1e-13, abs=1e-13)


def in_lots(table, names=NAMES, **asked):
    lots = list(table.in_lots(names, ["k"], GRID, **asked))
    assert all(len({tuple(row.values()) for row in lot.keys.to_arrow().to_pylist()}) == 1 for lot in lots)
    return lots


@pytest.mark.usefixtures("summed")
@pytest.mark.parametrize("names", [NAMES, {**NAMES, "sample_weight": "w"}])
def test_lots_are_the_segments_however_many_have_a_place_in_a_scan(tmp_path, monkeypatch, names):
    table = opened(tmp_path, rows())
    table.distinct = True
    wanted = cells(table.groups(names, ["k"], GRID))
    one_scan = in_lots(table, names)
    asked = []
    spied = lambda *given: asked.append(1) or scan(*given)  # noqa: E731
    monkeypatch.setattr(relations, "scan", spied)
    monkeypatch.setattr(relations, "most_segments", lambda *_, **__: 2)
    several = in_lots(table, names)
    assert len(asked) == 2
    monkeypatch.setattr(relations, "scan", no_scan)
    grouped = in_lots(table, names)
    for lots in (one_scan, several, grouped):
        assert len(lots) == 4
        assert_same({key: cell for lot in lots for key, cell in cells(lot).items()}, wanted)


@pytest.mark.usefixtures("summed")
@pytest.mark.parametrize("way", ["lots", "groups"])
@pytest.mark.parametrize("by_scan", [True, False])
def test_bad_rows_are_refused_or_left_out_with_the_segment_that_holds_no_others(tmp_path, monkeypatch, way, by_scan):
    table = opened(tmp_path, rows(p=(range(2, 40, 4), 7.0)))  # all of segment c
    table.distinct = True
    if not by_scan:
        monkeypatch.setattr(relations, "scan", no_scan)

    def found(**asked):
        return in_lots(table, **asked) if way == "lots" else [table.groups(NAMES, ["k"], GRID, **asked)]

    with pytest.raises(FileError, match=r"y_prob: 10 rows are outside \[0, 1\]; the first is row 2 \(counted from 0\)"):
        found()
    left = found(exclude_bad=True)
    assert {each.n_excluded for each in left} == {10}
    assert {key[1] for each in left for key in cells(each)} == set("abd")
    assert sum(each.cells[:, 0].sum() for each in left) == 30


@pytest.mark.usefixtures("summed")
@pytest.mark.parametrize("cells_of_a_segment", [GRID, FINE])
def test_rows_of_which_none_is_good_are_refused(tmp_path, cells_of_a_segment):
    table = opened(tmp_path, rows(p=(range(40), 7.0)))
    with pytest.raises(FileError, match="holds no rows that are not excluded"):
        table.groups(NAMES, ["k"], cells_of_a_segment, exclude_bad=True)


def no_scan(_relation, _numbers, groupings, _numbering=None):
    return [None] * len(groupings)


def relation_of(table, names=NAMES, by=()):
    relation = table._rows(list(names.values()), by)
    return relation, table._numbers(relation, names)


def test_a_scan_gives_up_where_keys_have_no_place_or_no_number(tmp_path, monkeypatch):
    table = opened(tmp_path, rows())
    asked = relation_of(table, by=["k"])
    by_key = Grouping(("k",), GRID)
    assert len(scan(*asked, [by_key])[0].keys) == 4
    monkeypatch.setattr(relations, "most_segments", lambda *_, **__: 3)
    none, whole = scan(*asked, [by_key, Grouping((), GRID)])
    assert none is None
    assert whole.groups().cells[:, 0].sum() == 40
    numbering = Numbering(2)
    (part,) = scan(*asked, [by_key], numbering)
    assert (len(part.keys), part.more) == (3, True)
    monkeypatch.undo()

    def fails(*_):
        raise pa.ArrowNotImplementedError("no")

    monkeypatch.setattr(Numbering, "numbers", fails)
    assert scan(*asked, [by_key]) == [None]


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_summed_by_weight_and_counted(tmp_path, weighted):
    names = {**NAMES, "sample_weight": "w"} if weighted else NAMES
    table = opened(tmp_path, rows(y=((3, 4), 0.25), p=((0, 1), None)))
    (scanned,) = scan(*relation_of(table, names), [Grouping((), GRID)])
    count, ones, fractional, weight = scanned.groups().cells[:, :4].sum(axis=0)
    y, w = (table.arrays({"a": name})["a"][2:] for name in "yw")
    assert (count, ones, fractional) == (38, (y == 1.0).sum(), 2)
    assert weight == (w.sum() if weighted else 38)
    assert scanned.n_bad == 2
    assert scanned.bad_rows.to_native().to_pylist() == [{"_cell": -3, "count": 2}]


@pytest.mark.usefixtures("summed")
@pytest.mark.parametrize(("start", "stop"), [(0, None), (7, None), (0, 12), (7, 12), (39, 40)])
def test_a_part_of_the_rows_is_summed_in_their_order(tmp_path, start, stop):
    held = rows(p=((8,), None))
    found = opened(tmp_path, held).within(NAMES, start, stop, exclude_bad=True)
    y, p = (np.array(held[name].to_pylist()[start:stop], float) for name in "yp")
    wanted = CalibrationSketch().update(y[~np.isnan(p)], p[~np.isnan(p)])
    assert found.n_rows == wanted.n_rows
    assert np.array_equal(found.cells()[0], wanted.cells()[0])


def test_after_a_part_all_rows_are_summed(tmp_path):
    table = opened(tmp_path, rows(p=((8,), None)))
    with pytest.raises(FileError):
        table.within(NAMES, 0, 20)
    assert table._within is None
    assert table.groups(NAMES, (), GRID, exclude_bad=True).cells[:, 0].sum() == 39


def test_of_a_summed_dataset_no_part_is_known(tmp_path):
    for at in range(2):
        pq.write_table(rows(40 + 4 * at), tmp_path / f"{at}.parquet")
    table = OpenedDataset.on(LocalFileSystem(), str(tmp_path))
    whole = table.sketched(NAMES)[0].identity
    assert [each.count for each in table.parts(NAMES, whole)] == [40, 44]
    assert [each.count for each in table.claims(NAMES, table.sketched(NAMES)[0])] == [84, 40, 44]
    table.summed = True
    assert table.parts(NAMES, whole) == ()


@pytest.mark.parametrize(
    ("folders", "bits", "refused"),
    [
        (("day=1", "day=1"), 5.0, True),
        (("day=1", "day=2"), 5.0, False),
        (("", ""), 5.0, True),
        (("day=1", "day=2"), 128.0, True),
        (("day=1", "day=2"), None, False),
    ],
)
def test_first_rows_that_may_be_equal_by_chance_are_acquitted_by_other_folders(folders, bits, refused):
    rng = np.random.default_rng(0)
    sources = [
        (f"t/{folder}/{n}.csv", *identities(rng.integers(0, 2, n).astype(float), rng.random(n)))
        for folder, n in zip(folders, (5, 9), strict=True)
    ]
    begun = None if bits is None else Overlap("begin", 1, (0,), 5, bits)
    table = SimpleNamespace(_begun=begun, dependent=False, files=["t"], path="t")
    if refused:
        with pytest.raises(FileError, match=r"9\.csv' begins with the same 5 rows as '.*5\.csv'"):
            InDuckDB._refuse_copies(table, sources)
    else:
        InDuckDB._refuse_copies(table, sources)


def test_a_source_without_a_name_is_told_as_its_table():
    (one,) = identities(np.array([0.0, 1.0, 0.0]), np.array([0.1, 0.2, 0.3]))
    for files, path, name in ((["a.csv", "b.csv"], "t", "a.csv"), ([], "dataset", "dataset")):
        table = SimpleNamespace(_begun=None, dependent=False, files=files, path=path)
        with pytest.raises(FileError, match=f"'{name}' holds the same 3 rows as '{name}'"):
            InDuckDB._refuse_copies(table, [("", one), ("", one)])


@pytest.mark.parametrize(("option", "value"), [("groups", "k"), ("trials", "w")])
def test_cells_do_not_tell_groups_or_trials_apart(tmp_path, option, value):
    table = opened(tmp_path, rows())
    table.check(SimpleNamespace(groups=None, trials=None))
    with pytest.raises(InputError, match=f"{option}: rows of a file as large as this are summed by cell") as refused:
        table.check(SimpleNamespace(**{"groups": None, "trials": None, option: value}))
    assert refused.value.allowed.startswith("audit ")


def test_an_error_of_the_input_is_one_of_the_file():
    for problem in (FileError("a", "b", row=1, allowed="c"), InputError("a", "b", row=1, allowed="c")):
        with pytest.raises(FileError) as told, of_file():
            raise problem
        assert (told.value is problem) == (type(problem) is FileError)
        assert str(told.value) == "a: b; c"
        assert told.value.row == 1


@pytest.mark.parametrize(
    ("files", "path", "is_summed", "compared"),
    [
        (["a"], "a", False, True),
        (["a"], "a", True, False),
        (["t/a"], "t", True, True),
        (["a", "b"], "t", True, True),
    ],
)
def test_rows_of_one_summed_file_are_compared_with_none(files, path, is_summed, compared):
    table = SimpleNamespace(files=files, path=path, summed=is_summed)
    assert InDuckDB.compared.fget(table) == compared


@pytest.mark.parametrize(
    ("more", "looked"),
    [
        ({}, True),
        ({"_once": True}, False),
        ({"distinct": True}, False),
        ({"names": {"y_prob": "p"}}, False),
        ({"n_files": 1}, False),
        ({"n_files": 1, "arrays": True}, True),
        ({"n_files": 1, "arrays": True, "dependent": True}, False),
        ({"n_files": 1, "arrays": None, "summed": False}, True),
        ({"n_files": 1, "arrays": None, "summed": True}, False),
        ({"dependent": True}, True),
    ],
)
def test_copies_are_looked_for_once_where_there_may_be_some(more, looked):
    asked = []
    rng = np.random.default_rng(0)
    y, v = rng.integers(0, 2, 200).astype(float), rng.random(200)
    twice = {"y_true": np.r_[y, y], "y_prob": np.r_[v, v]}
    held = {"_once": False, "distinct": False, "dependent": False, "n_files": 2, "summed": True} | more
    names, arrays = held.pop("names", NAMES), held.pop("arrays", {"y_true": y, "y_prob": v})
    arrays = twice if arrays is True else arrays
    table = SimpleNamespace(
        **held, _explained=relations.nullcontext, _identities=lambda _: asked.append(1), _refuse_copies=lambda _: None
    )
    InDuckDB._count_once(table, names, arrays)
    assert bool(asked) == looked
    assert table._once == (looked or held["_once"] or held["n_files"] == 1)


def test_lots_of_rows_that_are_read_are_those_of_their_groups(tmp_path):
    table = opened(tmp_path, rows())
    lots = in_lots(table)
    wanted = Table.in_lots(table, NAMES, ["k"], GRID)
    assert [cells(each) for each in lots] == [cells(each) for each in wanted]
    assert [lot.index.tolist() == sorted(lot.index.tolist()) for lot in lots] == [True] * 4
    assert isinstance(lots[0].keys, nw.DataFrame)
