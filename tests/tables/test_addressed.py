"""Cells by address are those of a loop over the rows, and DuckDB does keep them in an array."""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given

from calibrant.door.errors import InputError
from calibrant.tables.duckdb import keep_groups_in_arrays
from calibrant.tables.entry import filesystem_of
from calibrant.tables.files import OpenedFile
from calibrant.tables.relations import GRID, by_address, sum_by_address
from tests.strategies import examples, samples

pytestmark = pytest.mark.usefixtures("one_database")

EDGES = np.array([0.0, -0.0, 5e-324, 1 / GRID, 1 - 1 / GRID, np.nextafter(1.0, 0.0), 1.0, 1.0, 0.5])
NAMES = {"y_true": "y", "y_prob": "p", "sample_weight": "w"}

IN_AN_ARRAY = "Perfect Hash Group By"


def opened(path, columns):
    pq.write_table(pa.table(columns), path)
    return OpenedFile(path)


def numbers_in(table, weighted):
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
def test_cells_by_address_are_those_of_a_loop(tmp_path_factory, rows):
    y, p, w = rows
    whole = bool(np.isin(y, (0.0, 1.0)).all())
    columns = {"y": y.astype(np.int8) if whole else y, "p": p} | ({} if w is None else {"w": w})
    table = opened(tmp_path_factory.mktemp("rows") / "rows.parquet", columns)
    found = sum_by_address(*numbers_in(table, w is not None)).to_pydict()
    wanted = cells_of(y, p, w)
    assert sorted(found["_cell"]) == sorted(wanted)
    for at, cell in enumerate(found["_cell"]):
        ys, ps, ws, offsets = np.array(wanted[cell]).T
        got = {name: column[at] for name, column in found.items()}
        exact = (got["count"], got["ones"], got["fractional"], got["low"], got["high"])
        assert exact == (ys.size, (ys == 1).sum(), (~np.isin(ys, (0, 1))).sum(), ps.min(), ps.max())
        sums = [(ws * ys).sum(), (ws * offsets).sum(), (ws * ys * offsets).sum()]
        assert [got[name] for name in ("weighted_outcome", "offset", "outcome_offset")] == pytest.approx(
            sums, rel=1e-13
        )
        if w is not None:
            weights = [ws.sum(), (ws * ws).sum(), ws.max()]
            assert [got[name] for name in ("weight", "squared_weight", "heaviest")] == pytest.approx(weights, rel=1e-13)


BAD = [("p", math.nan), ("p", math.inf), ("p", None), ("p", -1e-300), ("y", math.nan), ("y", 1.5)]


@pytest.mark.slow
@pytest.mark.parametrize(("column", "bad"), BAD)
def test_a_bad_row_among_ones_is_left_to_the_query_that_names_it(tmp_path, column, bad):
    """Of a column of ones the statistics of a file say that all are 1, whether there is a NaN or not."""
    held = {"y": [1.0] * 9, "p": [1.0] * 9}
    held[column][4] = bad
    table = opened(tmp_path / "rows.parquet", {name: pa.array(held[name], from_pandas=False) for name in held})
    assert sum_by_address(*numbers_in(table, weighted=False)) is None


@pytest.mark.slow
def test_large_files_are_summed_by_address_and_bad_rows_named_or_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("calibrant.tables.files.MANY_ROWS", 0)
    ways = []
    spied = lambda *asked: ways.append(1) or sum_by_address(*asked)  # noqa: E731
    monkeypatch.setattr("calibrant.tables.relations.sum_by_address", spied)
    names = {"y_true": "y", "y_prob": "p"}
    good = opened(tmp_path / "good.parquet", {"y": [1.0, 0.0], "p": [1.0, 0.3]}).groups(names, (), GRID)
    assert (sorted(good.index.tolist()), ways) == ([2 * math.floor(0.3 * GRID) + 1, 2 * GRID], [1])
    bad = opened(tmp_path / "bad.parquet", {"y": [1.0, 0.0, 1.0], "p": [1.0, 0.3, math.nan]})
    with pytest.raises(InputError, match="1 row is null or NaN") as caught:
        bad.groups(names, (), GRID)
    assert caught.value.argument == "y_prob"
    left = bad.groups(names, (), GRID, exclude_bad=True)
    assert (left.n_excluded, left.cells[:, 0].tolist()) == (1, [1.0, 1.0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["whole", "doubles", "singles", "nulls", "two files", "csv"])
def test_duckdb_keeps_an_array(tmp_path, kind, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 3000), rng.random(3000)
    columns = {"y": y if kind == "whole" else y.astype(float), "p": p.astype("f4") if kind == "singles" else p, "w": p}
    if kind == "nulls":
        columns["p"] = pa.array(p, mask=p > 0.9)
    path = tmp_path / "rows.parquet"
    table = opened(path, columns)
    if kind == "two files":
        pq.write_table(pa.table(columns), tmp_path / "more.parquet")
        table = OpenedFile(tmp_path)
    if kind == "csv":
        lines = [f"{a},{b},{b}" for a, b in zip(y, p, strict=True)]
        (tmp_path / "rows.csv").write_text("\n".join(["y,p,w", *lines, ""]), encoding="utf-8")
        table = OpenedFile(tmp_path / "rows.csv")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    keep_groups_in_arrays(table._connection)
    assert IN_AN_ARRAY in by_address(*numbers_in(table, weighted)).explain()


def test_segments_of_few_whole_numbers_are_kept_in_an_array(tmp_path, monkeypatch):
    plans, found = [], duckdb.DuckDBPyRelation.to_arrow_table
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(
        "duckdb.DuckDBPyRelation.to_arrow_table", lambda asked: plans.append(asked.explain()) or found(asked)
    )
    columns = {"y": np.arange(999) % 2, "p": np.arange(999) / 998, "g": np.arange(999, dtype=np.int16) % 37}
    table = opened(tmp_path / "rows.parquet", columns)
    monkeypatch.setattr(OpenedFile, "summed", True)
    assert table.groups({"y_true": "y", "y_prob": "p"}, ["g"], 128).cells[:, 0].sum() == 999
    assert IN_AN_ARRAY in plans[0]


def test_a_filesystem_is_opened_by_its_name(monkeypatch):
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert [filesystem_of(name).type_name for name in ("local", "s3")] == ["local", "s3"]
    with pytest.raises(InputError, match="filesystem: is 'ftp', which is not known"):
        filesystem_of("ftp")
