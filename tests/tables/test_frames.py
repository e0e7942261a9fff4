"""One GROUP BY in every engine that runs in this process: the same cells as from arrays."""

import re

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant.door.errors import InputError
from calibrant.sketch.sketch import CalibrationSketch
from calibrant.tables.frames import OpenedFrame, as_weights, keys_of, of_trials

dd, ibis = (pytest.importorskip(name) for name in ("dask.dataframe", "ibis"))
CONNECTION = duckdb.connect()
ENGINES = {
    "pandas": lambda t: t.to_pandas(),
    "polars": pl.from_arrow,
    "polars lazy": lambda t: pl.from_arrow(t).lazy(),
    "pyarrow": lambda t: t,
    "duckdb": CONNECTION.from_arrow,
    "dask": lambda t: dd.from_pandas(t.to_pandas(), npartitions=3),
    "ibis": ibis.memtable,
}
EVERY = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())


def rows(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n) ** 2
    p[: n // 5] = np.round(p[: n // 5] * 64) / 64
    p[:4] = (0.0, 1.0, np.nextafter(0.5, 1), np.nextafter(0.5, 0))
    y = (rng.random(n) < p).astype(np.int64)
    return y, p, rng.random(n)


def assert_same_cells(found, wanted):
    (i, x), (j, y) = found.cells(), wanted.cells()
    np.testing.assert_array_equal(i, j)
    exact = [0, 1, 2, 8, 9]
    np.testing.assert_array_equal(x[:, exact], y[:, exact])
    np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-15)


@EVERY
@pytest.mark.parametrize("kind", ["integers", "booleans", "rates"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_are_those_of_the_arrays(engine, kind, weighted):
    y, p, w = rows()
    y = {"integers": y, "booleans": y.astype(bool), "rates": np.where(p < 0.5, y, 0.25)}[kind]
    frame = engine(pa.table({"clicked": y, "a score": p, "w": w}))
    weight = {"sample_weight": "w"} if weighted else {"unweighted": True}
    found = CalibrationSketch.from_frame(frame, y_true="clicked", y_prob="a score", **weight)
    assert_same_cells(found, CalibrationSketch().update(y, p, sample_weight=w if weighted else None))
    assert found.sample.binary == (kind != "rates")


@pytest.mark.slow
@EVERY
def test_bad_rows_are_counted_and_refused_or_left_out_when_told(engine):
    table = pa.table(
        {
            "y": pa.array([0, 1, None, 1, 0, 2, 0, 1, 1], pa.int32()),
            "p": pa.array([0.5, 0.25, 0.5, None, -0.1, 0.5, 1.5, 0.3, 0.4], pa.float64()),
            "w": pa.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, np.inf]),
        }
    )
    names = {"y_true": "y", "y_prob": "p", "sample_weight": "w"}
    with pytest.raises(InputError) as refused:
        CalibrationSketch.from_frame(engine(table), **names)
    said = str(refused.value)
    assert said.startswith("y_true: 1 row is null or NaN; y_true: 1 row is outside [0, 1]; y_prob: 1 row is null")
    assert "y_prob: 2 rows are outside [0, 1]; sample_weight: 2 rows are negative or infinite" in said
    left = CalibrationSketch.from_frame(engine(table), **names, exclude_bad=True)
    assert_same_cells(left, CalibrationSketch().update([0, 1], [0.5, 0.25], sample_weight=[1.0, 2.0]))


@EVERY
def test_nan_and_infinity_are_bad(engine):
    table = pa.table({"y": [0, 1, 1, 1], "p": [0.5, np.nan, np.inf, -np.inf]})
    with pytest.raises(InputError, match=r"1 row is null or NaN; y_prob: 2 rows are outside"):
        CalibrationSketch.from_frame(engine(table), y_true="y", y_prob="p")
    assert CalibrationSketch.from_frame(engine(table), y_true="y", y_prob="p", exclude_bad=True).n_rows == 1


@EVERY
def test_text_and_missing_columns_are_refused_by_name(engine):
    frame = engine(pa.table({"y": [0, 1], "p": ["0.5", "x"]}))
    objects = isinstance(frame, pd.DataFrame) and frame.p.dtype == object  # which is what text is before pandas 3
    told = "y_prob: row 0 is '0.5'" if objects else "y_prob: names the column 'p', which holds String"
    with pytest.raises(InputError, match=told):
        CalibrationSketch.from_frame(frame, y_true="y", y_prob="p")
    with pytest.raises(InputError, match="y_true: there is no column 'z'"):
        CalibrationSketch.from_frame(frame, y_true="z", y_prob="p")


def test_decimals_single_floats_and_nullable_integers():
    wanted = CalibrationSketch().update([0, 1], [0.25, 0.5])
    decimals = pa.table({"y": [0, 1], "p": pa.array([0.25, 0.5]).cast(pa.decimal128(9, 4))})
    nullable = pd.DataFrame({"y": pd.array([0, 1], "Int8"), "p": np.array([0.25, 0.5], np.float32)})
    for frame in (decimals, CONNECTION.from_arrow(decimals), pl.from_arrow(decimals), nullable):
        assert_same_cells(CalibrationSketch.from_frame(frame, y_true="y", y_prob="p"), wanted)
    missing = pd.DataFrame({"y": pd.array([0, None], "Int8"), "p": [0.25, 0.5]})
    with pytest.raises(InputError, match="y_true: 1 row is null"):
        CalibrationSketch.from_frame(missing, y_true="y", y_prob="p")


def test_what_is_no_table_or_has_no_rows():
    with pytest.raises(InputError, match="frame: is a list"):
        CalibrationSketch.from_frame([1], y_true="y", y_prob="p")
    with pytest.raises(InputError, match="holds no rows"):
        CalibrationSketch.from_frame(pd.DataFrame({"y": [0.0][:0], "p": [0.0][:0]}), y_true="y", y_prob="p")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()], ids=str)
@EVERY
def test_whole_numbers_beyond_those_of_doubles_are_bad_rows(engine, kind):
    table = pa.table({"y": pa.array([0, 1] * 50 + [2**62 + 1], kind), "p": [0.5] * 101})
    with pytest.raises(InputError, match="1 row is outside"):
        CalibrationSketch.from_frame(engine(table), y_true="y", y_prob="p")
    found = CalibrationSketch.from_frame(engine(table), y_true="y", y_prob="p", exclude_bad=True)
    assert found.n_rows == 100
    weighted = table.append_column("w", pa.array([2**62 + 1] * 101, kind)).slice(0, 100)
    found = CalibrationSketch.from_frame(engine(weighted), y_true="y", y_prob="p", sample_weight="w")
    assert found.sample.weight.sum() == 100 * 2.0**62


@pytest.mark.slow
@pytest.mark.parametrize("name", ["_rows", "rows", "t", "calibrant"])
def test_a_relation_is_itself_whatever_tables_its_connection_holds(name):
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE {name} AS SELECT 0 AS y, 0.9 AS v FROM range(77)")
    connection.execute("CREATE TABLE held AS SELECT 1 AS y, 0.9 AS v FROM range(2000)")
    for _ in range(2):
        for query in ("SELECT * FROM held", "SELECT y, v FROM held LIMIT 2000"):
            found = CalibrationSketch.from_frame(connection.sql(query), y_true="y", y_prob="v")
            assert found.n_rows == 2000
        other = CalibrationSketch.from_frame(connection.table(name), y_true="y", y_prob="v")
        assert other.n_rows == 77
        renamed = connection.sql("SELECT y AS yy, v AS p FROM held")
        assert CalibrationSketch.from_frame(renamed, y_true="yy", y_prob="p").n_rows == 2000
    assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchone() == (0,)


@pytest.mark.parametrize("lazy", [False, True])
def test_sums_of_labels_are_those_of_outcomes(lazy):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    table = pl.DataFrame({"y": y, "word": np.where(y == 1, "yes", "no"), "p": rng.random(60), "g": np.arange(60) % 3})
    table = table.lazy() if lazy else table
    of_words = OpenedFrame(table, pos_label="yes").groups({"y_true": "word", "y_prob": "p"}, ["g"], 16)
    of_numbers = OpenedFrame(table).groups({"y_true": "y", "y_prob": "p"}, ["g"], 16)
    found = []
    for each in (of_words, of_numbers):
        order = np.lexsort((each.index, each.keys["_s0"].to_numpy()))
        found.append((each.index[order].tolist(), each.cells[order]))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_table_of_one_row_has_rows(n):
    opened = OpenedFrame(pd.DataFrame({"y": [1.0, 0.0][:n], "p": [0.5, 0.25][:n]}))
    names = {"y_true": "y", "y_prob": "p"}
    for read in (lambda: opened.arrays(names)["y_true"], lambda: opened.groups(names, [], 16).index):
        if n:
            assert len(read()) == n
        else:
            with pytest.raises(InputError, match="holds no rows"):
                read()


@pytest.mark.parametrize("lazy", [False, True])
def test_of_two_labels_a_lazy_table_has_one_where_the_events_stands(lazy):
    table = pl.DataFrame({"word": ["yes", "no", None], "p": [0.5, 0.25, 0.75], "text": ["a", "b", "c"]})
    table = table.lazy() if lazy else table
    with OpenedFrame(table, pos_label="yes").lazily({"y_true": "word", "y_prob": "p"}, ["text"], "find") as found:
        assert found.pos_label is None
        assert nw.from_native(found.held.lazy().collect())["word"].to_list() == [1.0, 0.0, None]
    for names, label, argument in (
        ({"y_true": "word", "y_prob": "p"}, None, "y_true"),
        ({"y_true": "word", "y_prob": "text"}, "yes", "y_prob"),
        ({"y_true": "word", "y_prob": "p", "sample_weight": "text"}, "yes", "sample_weight"),
    ):
        opened = OpenedFrame(table, pos_label=label).lazily(names, [], "find")
        with pytest.raises(InputError, match=f"{argument}: names the column '.*', which holds String; numbers"), opened:
            pass
    plain = OpenedFrame(table)
    with plain.lazily({"y_prob": "p"}, [], "find") as same:
        assert same is plain
    with pytest.raises(InputError, match="find: there is no column 'z'"), plain.lazily({}, ["z"], "find"):
        pass


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["a", None, "b"], ["a", None, "b"]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([1, np.int64(2)], [1, 2]),
        ([True, np.bool_(False), None], [True, False, None]),
        ([1, "a"], "holds texts, numbers or truth values side by side; write all in one way"),
        ([1, True], "side by side"),
        ([{"a": 1}, {"a": 2}], "holds values such as {'a': 1}; single values are needed"),
        (pd.period_range("2026-01", periods=2, freq="M"), [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-02-01")]),
        (pd.Categorical(pd.IntervalIndex.from_breaks([0, 1, 2])), ["(0, 1]", "(1, 2]"]),
        (pd.arrays.IntervalArray.from_tuples([(0, 1), None, (1, 2)]), ["(0.0, 1.0]", None, "(1.0, 2.0]"]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
    ],
    ids=repr,
)
def test_keys_of_pandas_are_single_values_of_one_kind(values, wanted):
    objects = isinstance(values, list) and not isinstance(values[0], str)
    series = nw.from_native(pd.Series(values, dtype=object if objects else None), series_only=True)
    if isinstance(wanted, str):
        with pytest.raises(InputError, match=f"by: names the column 'k', which .*{re.escape(wanted)}"):
            keys_of(series, "k", "by")
    else:
        assert keys_of(series, "k", "by").to_pylist() == wanted


def test_trials_are_read_as_weights_and_told_as_trials():
    assert as_weights({"y_true": "y", "trials": "n"}) == {"y_true": "y", "sample_weight": "n"}
    told = of_trials(InputError("sample_weight", "sample_weight is negative", row=3, allowed="none"))
    assert (told.argument, told.problem, told.row, told.allowed) == ("trials", "trials is negative", 3, "none")


def test_names_of_columns_are_text_and_each_is_there_once():
    with pytest.raises(InputError, match="table: has a column named 0; names of columns must be text"):
        OpenedFrame(pd.DataFrame({0: [1.0]}))
    with pytest.raises(InputError, match="table: has several columns of one name; rename all but one"):
        OpenedFrame(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
