"""Features where a lazy table holds them: kinds, values, pieces and codes by hand, and what cannot be told apart."""

import datetime
import decimal
import itertools
import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from calibrant.door.coding import Coding
from calibrant.door.errors import InputError
from calibrant.tables import features
from calibrant.tables.features import TIMES, Featured, in_blocks
from calibrant.tables.frames import OpenedFrame

NAMES = {"y_true": "y", "y_prob": "p"}
DAYS = [datetime.date(2026, 1, day) for day in (1, 3, 3)]
NOON = [datetime.datetime(2026, 1, day, 12) for day in (1, 3, 3)]


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        yield connection


def featured(column, there=None):
    """A table of a feature, in memory or in a database, asked for what it holds."""
    n = len(column)
    table = pa.table({"y": [k % 2 for k in range(n)], "p": [(k + 1) / (n + 1) for k in range(n)], "f": column})
    return Featured(OpenedFrame(table if there is None else there.from_arrow(table)), NAMES, False, "find")


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == "find"
    return caught.value.problem


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array(DAYS), "number"),
        (pa.array(NOON), "number"),
        (pa.array([1, 2, 3]), "number"),
        (pa.array([0.5, None, 1.5], pa.float32()), "number"),
        (pa.array([decimal.Decimal("1.5")] * 3), "number"),
        (pa.array([True, False, None]), "category"),
        (pa.array(["a", "b", None]), "category"),
        (pa.array(["a", "b", None]).dictionary_encode(), "category"),
        (pa.array(NOON, pa.timestamp("us", "UTC")), f"'f' {TIMES}"),
        (pa.array([datetime.time(1)] * 3), f"'f' {TIMES}"),
        (pa.array([datetime.timedelta(1)] * 3), f"'f' {TIMES}"),
        (pa.array([[1]] * 3), "'f' holds List(Int64); numbers, texts or truth values are needed"),
        (pa.array([b"a"] * 3), "'f' holds Binary; numbers, texts or truth values are needed"),
    ],
)
def test_a_column_holds_numbers_or_categories(column, kind):
    table = featured(column)
    if kind in ("number", "category"):
        assert table.kind("f") == kind
    else:
        assert refused(lambda: table.kind("f")) == kind


@pytest.mark.parametrize(
    ("column", "values", "counts", "missing"),
    [
        (["b", "a", None, "b"], ["a", "b"], [1, 2], 1),
        ([True, False, True], ["false", "true"], [1, 2], 0),
        ([None, None, "a"], ["a"], [1], 2),
    ],
)
def test_values_are_counted_in_their_order(column, values, counts, missing):
    found, number, none = featured(pa.array(column)).values("f")
    assert [str(each).lower() for each in found] == values
    assert number.tolist() == counts
    assert none == missing


@pytest.mark.parametrize(("n", "none", "many"), [(3, 0, False), (3, 1, False), (5, 0, True), (5, 1, True)])
def test_very_many_values_are_identifiers(monkeypatch, n, none, many):
    monkeypatch.setattr(features, "MOST_VALUES", 3)
    table = featured(pa.array([*"abcdefg"[:n], *[None] * none]))
    if many:
        assert refused(lambda: table.values("f")).startswith("'f' holds more than 3 different values: group them")
    else:
        assert table.values("f")[0] == list("abc")


@pytest.mark.parametrize(("texts", "many"), [("abcdefaaaa", True), ("abcdeaaaaa", False), ("abcdefghi", False)])
def test_texts_that_differ_in_most_of_many_rows_are_refused(monkeypatch, texts, many):
    monkeypatch.setattr(features, "_FIRST", 10)
    table = featured(pa.array(list(texts)))
    if many:
        assert refused(lambda: table.values("f")).startswith("'f' holds text that is different in most rows")
    else:
        assert table.values("f")[0] == sorted(set(texts))


@pytest.mark.parametrize(
    ("column", "numbers", "counts"),
    [
        (pa.array([3.0, 1.0, None, 3.0]), [1.0, 3.0], [1, 2]),
        (pa.array([math.nan, 1.0, 2.0, 2.0]), [1.0, 2.0], [1, 2]),
        (pa.array([-0.0, 0.0, 5.0]), [0.0, 5.0], [2, 1]),
        (pa.array([7, 7, 7]), [7.0], [3]),
        (pa.array([2**53, 0, 0]), [0.0, 2.0**53], [2, 1]),
        (pa.array([-(2**53), 0, 0]), [-(2.0**53), 0.0], [1, 2]),
    ],
)
def test_numbers_are_counted_one_by_one(column, numbers, counts):
    table = featured(column)
    pieces = table.one_by_one("f", table.pieces("f"), 99)
    assert pieces.low.tolist() == pieces.high.tolist() == numbers
    assert pieces.count.tolist() == counts
    assert pieces.n_missing == len(column) - sum(counts)
    assert not np.signbit(pieces.low[pieces.low == 0.0]).any()


@pytest.mark.parametrize("column", [pa.array(DAYS), pa.array(NOON)], ids=["days", "times"])
def test_days_and_times_count_by_day(column):
    pieces = featured(column).pieces("f")
    assert pieces.high[-1] - pieces.low[0] == 2.0
    assert pieces.count.sum() == 3


BIG = 2**53 + 2
FAULTS = {
    "is missing in every row": pa.array([None, math.nan, None], pa.float64()),
    "holds the values of y_true, row by row; errors are to be explained without": pa.array([0.0, 1.0, 0.0]),
    "holds the values of y_prob, row by row": pa.array([0.25, 0.5, 0.75]),
    "holds whole numbers beyond 2**53, as identifiers do": pa.array([BIG, 1, 2]),
    "holds whole numbers beyond 2**53": pa.array([-BIG, 1, 2]),
    "holds decimals that are one number as doubles": pa.array([decimal.Decimal(2**53 + k) for k in (0, 1, 9)]),
    "holds decimals that are one number": pa.array([decimal.Decimal(f"0.1{k:018d}") for k in (0, 1, 10**17)]),
    "holds infinite numbers, or such as differ by more than doubles can say": pa.array([math.inf, 1.0, 2.0]),
    "holds infinite numbers": pa.array([-1.5e308, 1.5e308, 0.0]),
}


@pytest.mark.parametrize("said", FAULTS)
def test_numbers_that_cannot_be_cut_are_refused(said, database):
    table = featured(FAULTS[said], there=database)
    assert refused(lambda: table.pieces("f")).startswith(f"'f' {said}")


def test_outcomes_may_be_asked_what_they_hold():
    table = featured([5, 6, 7])
    assert table.pieces("y").count.sum() == 3
    assert table.pieces("p").count.sum() == 3


def test_doubles_beyond_whole_numbers_are_no_identifiers():
    assert featured(pa.array([2.0**60, 1.0, 2.0])).pieces("f").high[-1] == 2.0**60


def test_decimals_that_doubles_tell_apart_are_numbers(database):
    """However many digits their type has, and how large they are."""
    column = pa.array([decimal.Decimal(10**22), decimal.Decimal("1.5"), None], pa.decimal128(38, 10))
    assert featured(column, there=database).pieces("f").high[-1] == 1e22


def test_bad_rows_are_left_out_where_that_is_asked_for():
    column, p = ["a", "b", "c"], pa.array([0.5, 1.5, 0.25])
    table = pa.table({"y": [0, 1, 1], "p": p, "f": column})
    assert Featured(OpenedFrame(table), NAMES, True, "find").values("f")[0] == ["a", "c"]
    assert Featured(OpenedFrame(table), NAMES, False, "find").values("f")[0] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("n", "agree", "told"), [(20, 20, True), (20, 0, True), (20, 19, False), (20, 1, False), (19, 19, False)]
)
def test_a_feature_of_two_codes_may_be_the_outcome(n, agree, told):
    column = [k % 2 if k < agree else 1 - k % 2 for k in range(n)]
    table = featured(pa.array([float(each) for each in column]))
    assert table.is_outcome("f", Coding("number", (0.0,), 2)) is told


@pytest.mark.parametrize(
    ("sizes", "sets", "most", "blocks"),
    [
        ([2, 3, 5], [(0,), (1,), (2,)], 30, [(0, 1, 2)]),
        ([2, 3, 5], [(0,), (1,), (2,)], 29, None),
        ([2, 3, 5], [(0, 1), (1, 2)], 10, None),
        ([2, 3, 5], [(0, 1, 2)], 10, [(0, 1, 2)]),
        ([2, 3, 5], [], 10, []),
    ],
)
def test_every_set_is_in_a_block_of_few_combinations(sizes, sets, most, blocks):
    found = in_blocks(sizes, sets, most)
    if blocks is not None:
        assert found == blocks
    for each in sets:
        assert any(set(each) <= set(block) for block in found)
    for block in found:
        assert block == tuple(sorted(block))
        assert math.prod(sizes[at] for at in block) <= most or block in sets
    assert all(not set(one) <= set(other) for one, other in itertools.permutations(found, 2))


NUMBERS = [0.0, 1e-300, 1e-200, 1.0, 1.0, 2.0, 1e10, None]


@pytest.mark.parametrize("ranks", [[0], [1, 2], [3], [4, 6], [0, 1, 2, 3, 4, 5, 6]])
def test_numbers_of_asked_ranks_are_in_pieces_of_their_own(ranks):
    table = featured(pa.array(NUMBERS))
    pieces = table.at_ranks("f", table.pieces("f"), np.array(ranks))
    at = pieces.holding(np.array(ranks))
    assert pieces.single[at].all()
    assert pieces.low[at].tolist() == [NUMBERS[rank] for rank in ranks]
    assert pieces.count.sum() == 7
    assert (np.diff(pieces.low) > 0.0).all()
    assert pieces.n_missing == 1


def test_numbers_of_too_different_sizes_are_not_cut(monkeypatch):
    monkeypatch.setattr(features, "_PASSES", 1)
    table = featured(pa.array(NUMBERS))
    said = refused(lambda: table.at_ranks("f", table.pieces("f"), np.array([1])))
    assert said == "'f' holds numbers of too different sizes to be cut; pass their logarithm"


def test_only_few_numbers_are_told_one_by_one():
    table = featured(pa.array([1.0, 1.0 + 2e-16, 1.0 + 4e-16, 1e6, 2e6]))
    pieces = table.pieces("f")
    assert not pieces.single.all()
    assert table.one_by_one("f", pieces, pieces.low.size - 1) is pieces
    assert table.one_by_one("f", pieces, pieces.low.size).low.tolist() == sorted(
        {1.0, 1.0 + 2e-16, 1.0 + 4e-16, 1e6, 2e6}
    )
    single = featured(pa.array([1.0, 1.0])).pieces("f")
    assert featured(pa.array([1.0, 1.0])).parted("f", single, np.array([0])) is single


@pytest.mark.parametrize(
    ("column", "coding", "codes"),
    [
        ([0.5, 1.0, 1.5, 9.0, None, math.nan], Coding("number", (1.0, 2.0), 3), [0, 0, 1, 2, 3, 3]),
        (["b", "a", "z", None], Coding("category", ("a", "b"), 3), [1, 0, 2, 3]),
        ([True, False, None], Coding("category", (False, True), 2), [1, 0, 2]),
        (["a", None], Coding("category", (), 1), [0, 1]),
    ],
)
def test_codes_are_those_of_the_coding(column, coding, codes):
    table = featured(pa.array(column)).coded({"f": coding}, trials=False)
    assert table.held[features.code_name(0)].to_list() == codes
    assert set(table.columns) == {"y", "p", features.code_name(0), *features.TESTED}


@pytest.mark.parametrize(("trials", "tested"), [(False, [1.0, 0.0, 1.0]), (True, [3.0, 0.0, 0.5])])
def test_a_row_stands_for_its_trials_or_for_one_where_it_has_weight(trials, tested):
    table = pa.table({"y": [0, 1, 1], "p": [0.5, 0.25, 0.5], "w": [3.0, 0.0, 0.5]})
    names = {**NAMES, "sample_weight": "w"}
    found = Featured(OpenedFrame(table), names, False, "find").coded({}, trials=trials).held
    assert found[features.TESTED[0]].to_list() == tested
    assert found[features.TESTED[1]].to_list() == [
        each * p * (1 - p) for each, p in zip(tested, [0.5, 0.25, 0.5], strict=True)
    ]
    plain = Featured(OpenedFrame(table), NAMES, False, "find").coded({}, trials=False).held
    assert plain[features.TESTED[0]].to_list() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("column", "text", "day"),
    [
        (["a", "b"], True, False),
        (pa.array(["a", "b"]).dictionary_encode(), True, False),
        ([1, 2], False, False),
        ([True, False], False, False),
        (DAYS[:2], False, True),
        (NOON[:2], False, True),
        (pa.array(NOON[:2], pa.timestamp("us", "UTC")), False, False),
    ],
)
def test_texts_and_days_are_known_by_their_types(column, text, day):
    table = featured(column)
    assert (table.is_text("f"), table.is_day("f")) == (text, day)
