"""What DuckDB is told and what it says: types, labels, durations, memory, and texts where numbers were meant."""

import datetime
import errno
import os
import resource

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from calibrant.door.errors import FileError, InputError
from calibrant.tables import duckdb as engine

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.fixture(scope="module")
def base():
    with duckdb.connect() as connection:
        yield connection


def refused(call, of=FileError):
    with pytest.raises(of) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("sql", "content"),
    [
        ("[1, 2]", "INTEGER[]"),
        ("{'a': 1}", "STRUCT(a INTEGER)"),
        ("MAP {'a': 1}", "MAP(VARCHAR, INTEGER)"),
        ("CAST('{}' AS JSON)", "JSON"),
        ("array_value(1, 2)", "INTEGER[2]"),
        ("1", None),
        ("'STRUCT'", None),
        ("DATE '2026-01-01'", None),
    ],
)
def test_keys_are_single_values(base, sql, content):
    relation = base.sql(f"SELECT {sql} AS k, [1] AS other")
    if content is None:
        engine.refuse_nested(relation, ["k"], "by")
    else:
        said = refused(lambda: engine.refuse_nested(relation, ["k"], "by"), InputError)
        assert said == f"by: names the column 'k', which holds {content}; single values are needed"


def test_durations_can_be_sorted_and_instants_are_in_utc(base):
    table = engine.in_plain_arrow(
        base.sql(
            "SELECT i, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS at, 7 AS n FROM "
            "(VALUES (INTERVAL '1 month'), (INTERVAL '2 days 3 microseconds'), (NULL)) AS t(i)"
        ),
        "by",
    )
    day = datetime.timedelta(days=1)
    assert table["i"].to_pylist() == [30 * day, 2 * day + datetime.timedelta(microseconds=3), None]
    assert [str(each.type) for each in table.itercolumns()] == ["duration[us]", "timestamp[us, tz=UTC]", "int32"]
    assert table["n"].to_pylist() == [7, 7, 7]
    long = base.sql("SELECT INTERVAL '300000 years' AS i")  # 12 times 30 days each: more than 2^63 microseconds
    assert "by: names a column of durations of which one is over 290,000 years" in refused(
        lambda: engine.in_plain_arrow(long, "by"), InputError
    )


@pytest.mark.parametrize(("processors", "kept"), [(1, True), (16, True), (17, False), (None, True)])
def test_groups_are_kept_in_arrays_where_threads_are_few(monkeypatch, processors, kept):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    with duckdb.connect() as connection:
        query = "SELECT current_setting('perfect_ht_threshold')"
        before = int(connection.sql(query).fetchall()[0][0])
        engine.keep_groups_in_arrays(connection)
        after = int(connection.sql(query).fetchall()[0][0])
    assert before < 19
    assert after == (19 if kept else before)


@pytest.mark.parametrize(
    ("limit", "little"), [(resource.RLIM_INFINITY, False), (7_999_999_999, True), (8_000_000_000, False)]
)
def test_one_thread_where_the_address_space_is_little(monkeypatch, limit, little):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    assert engine._little_address_space() == little


@pytest.mark.parametrize(
    ("problem", "short"),
    [
        (duckdb.OutOfMemoryException("failed"), True),
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "no"), True),
        (OSError(errno.EIO, "no"), False),
        (RuntimeError("std::bad_alloc"), True),
        (duckdb.Error("Out of Memory Error: could not"), True),
        (duckdb.Error("Invalid Input Error: memory"), False),
    ],
)
def test_a_lack_of_memory_says_nothing_of_a_file(problem, short):
    assert engine.lacks_memory(problem) == short


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Invalid Input Error: it is cut.", "it is cut"),
        ("IO Error: no\n  more \n\nPossible solutions:\n* none", "no; more"),
        ("Binder Error: no\nLINE 1: SELECT", "no"),
        ("no\n  file = a.csv\nx", "no"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300 + "..."),
        ("", "ValueError"),
    ],
)
def test_what_duckdb_says_is_told_without_its_advice(text, left):
    assert engine.shortened(ValueError(text)) == left


LABELS = [
    ("1, 2, 1, NULL", "INTEGER", 1, [1.0, 0.0, 1.0, None]),
    ("1, 2, 1", "BIGINT", 2.0, [0.0, 1.0, 0.0]),
    ("1, 2, 1", "DOUBLE", 1, [1.0, 0.0, 1.0]),
    ("1, 2, 1", "DECIMAL(4, 2)", "1", [1.0, 0.0, 1.0]),
    ("'1', '1.0', '1'", "VARCHAR", "1.0", [0.0, 1.0, 0.0]),
    ("'yes', 'no', NULL", "VARCHAR", "yes", [1.0, 0.0, None]),
    ("true, false", "BOOLEAN", True, [1.0, 0.0]),
    ("true, false", "BOOLEAN", "FALSE", [0.0, 1.0]),
    ("'\"a\"', '\"b\"', '\"a\"'", "JSON", "b", [0.0, 1.0, 0.0]),
    ("'it''s', 'no'", "VARCHAR", "it's", [1.0, 0.0]),
]


@pytest.mark.parametrize(("values", "kind", "label", "wanted"), LABELS)
def test_the_label_of_the_event_is_told_in_each_type(base, values, kind, label, wanted):
    relation = base.sql(f"SELECT CAST(v AS {kind}) AS y, 0.5::DOUBLE AS p FROM (SELECT unnest([{values}]) AS v)")
    for as_text in (False, True):
        sql = engine.numbers_in_sql(relation, {"y_prob": "p", "y_true": "y"}, as_text=as_text, pos_label=label)
        assert list(sql) == ["y_prob", "y_true"]
        assert [row[0] for row in relation.project(sql["y_true"]).fetchall()] == wanted


@pytest.mark.parametrize(("values", "label"), [("'a', 'b', 'c'", "a"), ("'a', 'b'", "c")])
def test_a_label_is_one_of_two(base, values, label):
    relation = base.sql(f"SELECT unnest([{values}]) AS y")
    with pytest.raises(InputError):
        engine.numbers_in_sql(relation, {"y_true": "y"}, as_text=False, pos_label=label)


def test_without_outcomes_a_label_is_not_looked_for(base):
    relation = base.sql("SELECT 0.5::DOUBLE AS p")
    assert engine.numbers_in_sql(relation, {"y_prob": "p"}, as_text=False, pos_label="a") == {
        "y_prob": 'CAST("p" AS DOUBLE)'
    }


@pytest.mark.parametrize(
    ("value", "argument", "said"),
    [
        ("'5%'", "y_prob", "holds text, such as '5%'; numbers are needed for y_prob. Write '5%' as 0.05"),
        ("'high'", "y_prob_3", "holds text, such as 'high'; numbers are needed for y_prob"),
        ("CAST(NULL AS VARCHAR)", "sample_weight", "holds text; numbers are needed for sample_weight"),
        ("DATE '2026-01-02'", "y_prob", "holds DATE, such as '2026-01-02'; numbers are needed for y_prob"),
        ("CAST('a' AS ENUM ('a', 'b'))", "y_prob", "holds text, such as 'a'; numbers are needed for y_prob"),
        ("'no'", "y_true", "numbers are needed for y_true: those of the classes' columns"),
        ("1.5::DECIMAL(3, 1)", "y_prob", None),
        ("true", "y_prob", None),
    ],
)
def test_a_column_without_numbers_is_described(base, value, argument, said):
    relation = base.sql(f"SELECT {value} AS c")
    if said is None:
        assert engine.numbers_in_sql(relation, {argument: "c"}, as_text=False) == {argument: 'CAST("c" AS DOUBLE)'}
    else:
        found = refused(lambda: engine.numbers_in_sql(relation, {argument: "c"}, as_text=False))
        assert found.startswith(f"{argument}: column 'c' holds ")
        assert found.endswith(said)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0,5", ". Write '0,5' as 0.5"),
        (" 50% ", ". Write '50%' as 0.5"),
        ("12,5 %", ". Write '12,5 %' as 0.125"),
        ("0.5", ""),
        ("a,b", ""),
        ("1,000,5", ""),
        ('{"0": 0.5}', ". In JSON every row is an object of its own: in pandas to_json(path, orient='records', "),
    ],
)
def test_a_text_that_means_a_number_is_told_how_to_write(text, advice):
    found = engine._how_to_write(text)
    assert found.startswith(advice)
    assert bool(found) == bool(advice)


def test_the_first_row_without_a_number_is_told_unless_one_out_of_range_comes_first(base):
    names = {"y_true": "y", "y_prob": "p"}

    def fetched(rows, names=names, n_files=1):
        relation = base.sql(f"SELECT * FROM (VALUES {rows}) AS t(y, p)")
        numbers = engine.numbers_in_sql(relation, names, as_text=True)
        return engine.fetch(relation, names, numbers, "a.csv", n_files)

    found = fetched("('1', '0.5'), ('0', '0.25')")
    assert [each.tolist() for each in found.values()] == [[1.0, 0.0], [0.5, 0.25]]
    assert "y_prob: column 'p': row 1 (counted from 0) holds text, 'x'" in refused(
        lambda: fetched("('1', '0.5'), ('0', 'x')")
    )
    assert "y_true: column 'y': row 1 (counted from 0 over the 3 files) is null" in refused(
        lambda: fetched("('1', 'x'), (NULL, 'x')", n_files=3)
    )
    assert np.isnan(fetched("('1', '7'), ('0', 'x')")["y_prob"]).tolist() == [False, True]
    assert "y_true: row 1 (counted from 0) holds text, 'x'" in refused(
        lambda: engine.fetch(
            one := base.sql("SELECT * FROM (VALUES ('7'), ('x')) AS t(y_true)"),
            {"y_true": "y_true"},
            engine.numbers_in_sql(one, {"y_true": "y_true"}, as_text=True),
            "a.csv",
            1,
        )
    )
    assert refused(lambda: engine._fetched(base.sql("SELECT 1 AS y WHERE false"), {"y": "y"}, "a.csv")) == (
        "file: 'a.csv' holds column names but no rows"
    )


def test_of_good_rows_there_is_one_at_least(base):
    relation = base.sql("SELECT * FROM (VALUES (1.0, 0.5), (2.0, 0.5), (0.0, NULL)) AS t(y, p)")
    numbers = engine.numbers_in_sql(relation, {"y_true": "y", "y_prob": "p"}, as_text=False)
    arrays, good = engine.fetch_good(relation, numbers, "a.csv")
    assert good.tolist() == [True, False, False]
    assert {argument: each.tolist() for argument, each in arrays.items()} == {"y_true": [1.0], "y_prob": [0.5]}
    with pytest.raises(FileError, match=r"'a\.csv' "):
        engine.fetch_good(relation.filter("y = 2"), numbers, "a.csv")


@pytest.mark.parametrize(
    ("kind", "as_text", "sql"),
    [
        ("BIGINT", True, '"k"'),  # the value of a folder
        ("VARCHAR", True, 'TRY_CAST("k" AS DOUBLE)'),
        ("VARCHAR", False, '"k"'),
    ],
)
def test_texts_alone_are_tried_as_numbers(base, kind, as_text, sql):
    relation = base.sql(f"SELECT CAST(unnest([1, 2, 3]) AS {kind}) AS k")
    assert engine.feature_sql(relation, ["k"], "find", as_text=as_text) == {"k": sql}


@pytest.mark.parametrize(
    ("texts", "sql"),
    [
        (["2026-01-01", "2026-01-02"], 'TRY_CAST("k" AS TIMESTAMP)'),
        (["2026-01-01", "no day"], '"k"'),
        (["1", None], 'TRY_CAST("k" AS DOUBLE)'),
        (["1_0", "2"], '"k"'),
        ([None, None], '"k"'),
        (["1.0", "1"], '"k"'),  # few texts, of which two are one number: codes
    ],
)
def test_texts_are_numbers_or_times_where_all_are(base, texts, sql):
    relation = base.from_arrow(pa.table({"k": pa.array(texts, pa.string())}))
    assert engine.feature_sql(relation, ["k"], "find", as_text=True) == {"k": sql}


def test_texts_that_are_no_numbers_are_counted(base):
    relation = base.sql("SELECT * FROM (VALUES ('1', 1), ('b', 2), ('a', 3), (NULL, 4)) AS t(y, n)")
    number = engine._NUMBER_IN_TEXT.format('"y"')
    assert engine.first_text(relation, "y", number) == (2, "a")
    assert engine.first_text(relation.filter("n IN (1, 4)"), "y", number) is None
    said = str(engine.texts_in_rows("y_true", {"y_true": "y", "y_prob": "p"}, 2, "a"))
    assert said.startswith("y_true: column 'y': 2 rows are text, such as 'a'; numbers are needed for y_true: 1 where")
    assert engine.in_column("y_true", {"y_true": "y_true"}) == ""
