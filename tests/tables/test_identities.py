"""Identities of the files of a table, by hand: ids, rows in order, first rows of other files, and sizes that may be."""

from dataclasses import replace

import duckdb
import numpy as np
import pytest

from calibrant.door.identity import Identity, identities
from calibrant.tables.formats.base import FILE
from calibrant.tables.identities import (
    NOTHING,
    Begun,
    Ordered,
    _joint_hashes,
    _row_numbers,
    find_begun,
    hashed,
    ids_of,
    ordered,
    repeats,
    suspects,
    three_columns,
    together,
)

NUMBERS = {"y_true": "y", "y_prob": "v"}


@pytest.fixture(scope="module")
def base():
    with duckdb.connect() as connection:
        yield connection


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n).astype(float), rng.random(n)


def of(*parts, **more):
    """Rows of files that hold these parts of 300 rows."""
    y, v = rows(300)
    at = np.concatenate([np.arange(300)[part] for part in parts])
    ids = (at + 7).astype(np.uint64) if more.pop("ids", False) else None
    sizes = tuple(len(np.arange(300)[part]) for part in parts)
    return Ordered(y[at], v[at], None, ids, "csv: id", sizes, tuple("abcd"[: len(parts)]), **more)


def test_the_first_file_that_begins_with_all_rows_of_another_is_found():
    first, longer, other = slice(0, 150), slice(0, 180), slice(200, 300)
    for parts, found in (
        ((first, longer), (1, 0)),
        ((longer, first), (0, 1)),
        ((other, longer, first), (1, 2)),
        ((first, other), None),
        ((first, first), None),  # a copy is another finding
        ((first, slice(1, 181)), None),
    ):
        held = of(*parts)
        overlap = held.find_grown([each for _, each in held.named()])
        if found is None:
            assert overlap is None
        else:
            assert (overlap.how, overlap.one, overlap.others, overlap.count) == ("begin", found[0], (found[1],), 150)
            assert overlap.certain


def test_first_rows_whose_ids_are_others_are_no_first_rows_of_that_file():
    one, other = of(slice(0, 150), ids=True), of(slice(0, 180), ids=True)
    same = together([one, other])
    apart = together([one, Ordered(other.y, other.v, None, other.ids + np.uint64(5), other.ids_name, (180,))])
    for both, found in ((same, True), (apart, False)):
        held = replace(both, files=("a", "b"))
        overlap = held.find_grown([each for _, each in held.named()])
        assert (overlap is not None) == found


def test_rows_are_those_of_sources_one_after_another():
    y, v = rows(300)
    held = of(slice(0, 300))

    def source(first, last, **more):
        (one,) = identities(y[first:last], v[first:last])
        return one if not more else Identity(one.count, one.rows, one.cells, one.bits, **more)

    a, b, c = source(0, 120), source(120, 250), source(130, 250)
    begun = {(): NOTHING, (a,): Begun(120, (0,)), (a, b): Begun(250, (0, 1)), (b, a): Begun(250, (1, 0))}
    begun |= {(b,): NOTHING, (a, c): Begun(120, (0,)), (source(0, 300),): Begun(300, (0,)), (c, a): Begun(120, (1,))}
    for sources, wanted in begun.items():
        for certain in (False, True):
            assert find_begun(held, sources, certain=certain) == wanted
    assert find_begun(held, [a, source(0, 200)], certain=True) == Begun(200, (1,))
    assert find_begun(held, [a], certain=True, distinct=True) == NOTHING
    named = source(0, 120, path="here")
    assert find_begun(held, [named], certain=True, path="here", distinct=True) == Begun(120, (0,))
    assert find_begun(held, [named], certain=True, path="there", distinct=True) == NOTHING
    few = source(0, 3)
    assert find_begun(held, [few], certain=False) == Begun(3, (0,))
    assert find_begun(held, [few], certain=True) == NOTHING
    assert find_begun(held, [source(0, 3, path="here")], certain=True, path="here") == Begun(3, (0,))


@pytest.mark.parametrize(
    ("columns", "keys", "found"),
    [
        (["id", "y", "v"], (), ["id"]),
        ([" UUID ", "when", "created_at"], (), [" UUID ", "created_at"]),
        (["id", "time"], ("time",), ["id"]),
        (["ts", "y"], (), ["ts"]),
    ],
)
def test_ids_are_known_by_their_names(columns, keys, found):
    assert ids_of(columns, {"y_true": "y", "y_prob": "v"}, keys) == found
    assert ids_of(columns, dict(zip("ab", found, strict=False)), keys) == found[2:]


def test_rows_of_a_relation_that_holds_none(base):
    found = ordered(base.sql("SELECT 1.0 AS y, 0.5 AS v, 3 AS id WHERE false"), NUMBERS, ["id"], "csv")
    assert (found.y.size, found.v.size, found.w, found.ids, found.sizes) == (0, 0, None, None, (0,))


def test_rows_of_a_relation_and_what_tells_them_apart(base):
    values = "(1, .5, 4, 'x', 9), (0, .25, 4, 'y', 8)"
    base.execute(f"CREATE OR REPLACE TABLE t AS SELECT * FROM (VALUES {values}) AS t(y, v, id, k, w)")
    relation = base.table("t")
    numbers = {name: f"{sql}::DOUBLE" for name, sql in NUMBERS.items()}
    plain = ordered(relation, numbers, [], "csv")
    assert (plain.y.tolist(), plain.v.tolist(), plain.w) == ([1.0, 0.0], [0.5, 0.25], None)
    assert (plain.ids, plain.keys, plain.sizes, plain.files, plain.ids_name) == (None, None, (2,), (), "")
    weighted = ordered(relation, {**numbers, "sample_weight": "w::DOUBLE"}, ["id"], "csv")
    assert weighted.w.tolist() == [9.0, 8.0]
    assert weighted.ids[0] == weighted.ids[1]
    assert (weighted.ids_name, weighted.keys, weighted.numbered) == ("csv: id", None, (False,))
    keyed = ordered(relation, numbers, [], "csv", keys=["k"])
    assert (keyed.ids, keyed.ids_name, keyed.numbered) == (None, "csv: k", ())
    assert keyed.keys[0] != keyed.keys[1]


def test_rows_of_several_files_are_told_by_the_hash_of_their_names(base):
    relation = base.sql(
        f"SELECT 1.0 AS y, i / 10 AS v, i AS id, CASE WHEN i < 2 THEN 'a' ELSE 'b' END AS {FILE} FROM range(5) AS t(i)"
    )
    by_hash = {base.sql(f"SELECT hash('{name}')").fetchall()[0][0]: name for name in "ab"}
    found = ordered(relation, {"y_true": "y::DOUBLE", "y_prob": "v::DOUBLE"}, ["id"], "csv", by_hash)
    assert (found.sizes, found.files, found.numbered) == ((2, 3), ("a", "b"), (True, False))  # 0, 1 and 2, 3, 4
    assert [name for name, _ in found.named()] == ["a", "b"]


@pytest.mark.parametrize(
    ("ids", "firsts", "places", "numbered"),
    [
        ([[0, 1, 2, 3]], [0], [0], (True,)),
        ([[1, 2, 3, 4]], [0], [0], (True,)),
        ([[2, 3, 4, 5]], [0], [0], (False,)),
        ([[0, 1, 0, 1]], [0, 2], [0], (True, True)),
        ([[0, 1, 2, 3]], [0, 2], [0], (True, False)),
        ([[0, 1, 3, 4]], [0], [0], (False,)),
        ([[0, 1, 2, 3], [5, 5, 6, 6]], [0], [1], (False,)),
        ([[0, 1, 2, 3], [1, 2, 3, 4]], [0], [0, 1], (True,)),
        ([[np.nan] * 4], [0], [0], (False,)),
    ],
)
def test_ids_that_count_on_are_numbers_of_rows(ids, firsts, places, numbered):
    assert _row_numbers([np.array(each, float) for each in ids], np.array(firsts)) == (places, numbered)


def test_hashes_of_several_columns_depend_on_each_and_on_their_order():
    a, b = np.array([1, 2, 3], np.uint64), np.array([1, 1, 3], np.uint64)
    assert _joint_hashes([]) is None
    assert _joint_hashes([a]).tolist() != _joint_hashes([b]).tolist()
    assert _joint_hashes([a, b])[0] != _joint_hashes([a, b])[1]
    assert _joint_hashes([a, b])[1] != _joint_hashes([b, a])[1]


def test_sources_one_after_another_keep_what_each_has():
    one, other = of(slice(0, 5), ids=True, numbered=(True,)), of(slice(5, 9), ids=True, numbered=(False,))
    both = together([one, other])
    assert (both.sizes, both.numbered, both.w, both.keys, both.ids_name) == (
        (5, 4),
        (True, False),
        None,
        None,
        "csv: id",
    )
    assert both.ids.tolist() == list(range(7, 16))
    y, v = rows(9)
    weighted = Ordered(y, v, v, None, "", (9,), keys=np.arange(9).astype(np.uint64))
    both = together([weighted, weighted])
    assert (both.ids, len(both.w), len(both.keys)) == (None, 18, 18)


def test_of_classes_first_whether_the_first_was_right():
    columns = {
        "y_true": np.array([1.0, 2.0, 1.0]),
        "y_prob_0": np.array([0.5, 0.25, 1.0]),
        "y_prob_1": np.array([0.5, 0.75, 0.0]),
    }
    y, v, rest = three_columns(columns)
    assert (y.tolist(), v.tolist()) == ([1.0, 0.0, 1.0], [0.5, 0.25, 1.0])
    assert rest == pytest.approx(columns["y_true"] + columns["y_prob_0"] * 2**0.5 + columns["y_prob_1"] * 3**0.5)
    weight = np.array([3.0, 1.0, 2.0])
    assert three_columns({**columns, "sample_weight": weight})[2] == pytest.approx(rest + weight)
    none = three_columns({name: each[:0] for name, each in columns.items()})
    assert [each.size for each in none] == [0, 0, 0]
    plain = {"y_true": columns["y_true"], "y_prob": weight, "sample_weight": weight}
    assert three_columns(plain) == (plain["y_true"], weight, weight)


def test_rows_that_are_there_twice_show():
    y, v = rows(200)
    assert not repeats({"y_true": y, "y_prob": v})
    assert repeats({"y_true": np.r_[y, y], "y_prob": np.r_[v, v]})


@pytest.mark.parametrize(
    ("sizes", "slack", "wanted"),
    [
        ([100, 150, 230], 0, []),
        ([100, 130, 230], 0, [0, 1, 2]),  # the last may be the others together
        ([100, 150, 100], 0, [0, 2]),
        ([100, 150, 199, 900], 49, [1, 2]),
        ([100, 150, 201, 700], 50, [0, 1]),
        ([5], 0, []),
    ],
)
def test_files_whose_sizes_are_near_may_hold_the_same_rows(sizes, slack, wanted):
    assert suspects(sizes, slack) == wanted


def test_rows_of_files_are_hashed_in_any_order_with_their_keys(base):
    one, other, third = (
        "1, .5, 'x', DATE '2026-01-01'",
        "0, .25, 'y', DATE '2026-01-02'",
        "1, .5, 'z', DATE '2026-01-01'",
    )
    held = ((one, "a"), (other, "a"), (other, "b"), (one, "b"), (third, "c"), (other, "c"))
    values = ", ".join(f"({row}, '{file}')" for row, file in held)
    base.execute(f"CREATE OR REPLACE TABLE h AS SELECT * FROM (VALUES {values}) AS t(y, v, k, day, {FILE})")
    numbers = {name: f"{sql}::DOUBLE" for name, sql in NUMBERS.items()}
    plain = hashed(base.table("h"), numbers, [])
    assert [plain[name].count for name in "abc"] == [2, 2, 2]
    assert plain["a"].rows == plain["b"].rows == plain["c"].rows
    assert plain["a"].ids is None
    keyed = hashed(base.table("h"), numbers, ["k", "day"])
    assert keyed["a"].ids == keyed["b"].ids != keyed["c"].ids
    assert keyed["a"].ids[0] == "k and day"
    assert keyed["a"].keyed
    assert 0 <= keyed["a"].ids[1] < 2**64
