"""Combinations of keys are numbered as they are first met, whatever their type and however near their values are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant.sketch import groups as sketch_groups
from calibrant.sketch.groups import Numbering
from tests.strategies import examples

TYPES = (pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.date32(), pa.string())


@st.composite
def batches(draw):
    """Types of a few columns, and their rows in several batches; values lie at one end of the type, or anywhere."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    values = []
    for of in types:
        bits = 32 if of in (pa.date32(), pa.string()) else of.bit_width
        low, high = (0, 2**bits - 1) if str(of).startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        start = draw(st.sampled_from([low, max(low, -5), high - 40]))
        span = draw(st.sampled_from([0, 3, 40, high - start]))
        values.append(st.one_of(st.integers(start, start + span), *([st.none()] if draw(st.booleans()) else [])))
    return types, draw(st.lists(st.lists(st.tuples(*values), min_size=1, max_size=12), min_size=1, max_size=5))


def in_arrow(types, rows):
    columns = zip(*rows, strict=True)
    return [
        pa.array([None if each is None else str(each) for each in column], of)
        if of == pa.string()
        else pa.array(column, pa.int32() if of == pa.date32() else of).view(of)
        for of, column in zip(types, columns, strict=True)
    ]


@examples(300)
@given(of=batches(), most=st.integers(1, 9))
@example(of=([pa.uint64()], [[(2**64 - 1,)], [(2**64 - 3,), (2**64 - 1,)], [(0,)]]), most=2)
@example(of=([pa.int64(), pa.int8()], [[(-(2**63), -128)], [(2**63 - 1, 127)], [(-(2**63), 127)]]), most=3)
@example(of=([pa.date32()], [[(day,) for day in range(12)], [(11,), (0,)], [(400_000,), (5,)]]), most=5)
def test_each_combination_has_a_number_in_one_scan(of, most):
    types, rows = of
    numbering, n, number_of = Numbering(99), 0, {}
    while not n or numbering.more:
        if n:
            numbering.go_on()
        numbering.start(most)
        for batch in rows:
            for row, number in zip(batch, numbering.numbers(in_arrow(types, batch)).tolist(), strict=True):
                if number >= 0:
                    assert number < most
                    assert number_of.setdefault(row, n + number) == n + number
                else:
                    assert number == -1
                    assert not n <= number_of.get(row, -1) < n + most
        wanted = sorted(number_of, key=number_of.get)[n:]
        assert numbering.keys(len(types)).columns == [pa.chunked_array([each]) for each in in_arrow(types, wanted)]
        n += most
    combinations = {row for batch in rows for row in batch}
    assert number_of.keys() == combinations
    assert sorted(number_of.values()) == list(range(len(combinations)))


def test_days_in_order_are_numbered_where_they_lie(monkeypatch):
    """Values that come again are not looked up; a new one is, once."""
    looked_up = []
    before = Numbering._looked_up
    monkeypatch.setattr(Numbering, "_looked_up", lambda *given: looked_up.append(1) or before(*given))
    numbering = Numbering()
    numbering.start(1000)
    for start in (0, 0, 20, 10, 0, 20):
        days = np.arange(100) % 30 + start
        numbers = numbering.numbers([pa.array(days, pa.int32()).view(pa.date32()), pa.array(days % 7, pa.int8())])
        assert len(set(zip(days.tolist(), numbers.tolist(), strict=True))) == 30
    assert len(looked_up) == 4  # the third needs a larger table, in which the next two have days that are not known yet


def test_places_that_are_given_anew_hold_for_rows_that_were_numbered_before():
    """Sums of rates are begun again, with other places than those of outcomes 0 or 1."""
    numbering, days = Numbering(9), [pa.array(range(20))]
    for most in (12, 17, 3):
        numbering.start(most)
        assert numbering.numbers(days).tolist() == [*range(most), *([-1] * (20 - most))]


@pytest.mark.parametrize("far", [2**18 - 1, 2**18])
def test_values_that_are_far_apart_are_looked_up(far):
    numbering = Numbering()
    numbering.start(10)
    assert numbering.numbers([pa.array([7, 7 + far, 7])]).tolist() == [0, 1, 0]
    assert (numbering._near is None) == (far == 2**18)


@pytest.mark.parametrize("most", [3, 12, 13])
def test_combinations_are_numbered_up_to_as_many_as_there_may_be(monkeypatch, most):
    monkeypatch.setattr(sketch_groups, "_MANY_COMBINATIONS", most)
    columns = [pa.array([f"a{k % 3}" for k in range(12)]), pa.array([k // 3 for k in range(12)])]
    numbering = Numbering()
    numbering.start(12)
    numbers = numbering.numbers(columns)
    assert (numbers is None) == (most < 12)
    assert numbers is None or numbers.tolist() == [4 * (k % 3) + k // 3 for k in range(12)]


def rows_of(columns):
    """Keys of rows as Python has them, with 0 for -0 and None for NaN."""
    lists = [(column.dictionary_decode() if pa.types.is_dictionary(column.type) else column) for column in columns]
    return [
        tuple(None if each != each else each + 0.0 if isinstance(each, float) else each for each in row)
        for row in zip(*(each.to_pylist() for each in lists), strict=True)
    ]


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize(("most", "n_scans", "numbered"), [(9, 1, [6]), (6, 1, [6]), (4, 2, [4, 2]), (2, 3, [2, 2, 2])])
def test_combinations_keep_their_numbers_from_batch_to_batch_and_scan_to_scan(coded, most, n_scans, numbered):
    days = [
        [pa.array(["a", "b", "a", "b"]), pa.array([0.0, -0.0, -0.0, np.nan], from_pandas=False)],
        [pa.array(["b", "b"]), pa.array([0.0, 0.0])],  # nothing that is new
        [pa.array(["c", "a", None, "a"]), pa.array([0.0, None, 1.0, 0.0])],
    ]
    if coded:
        days = [[each.dictionary_encode() for each in day] for day in days]
    numbering, known = Numbering(n_scans), {}
    numbering.start(most)
    for scan, n in enumerate(numbered):
        found = [(row, at) for day in days for row, at in zip(rows_of(day), numbering.numbers(day), strict=True)]
        keys = numbering.keys(2)
        assert keys.column_names == ["_s0", "_s1"]
        keys = rows_of(keys.columns)
        assert len(keys) == n
        for row, at in found:
            assert row == keys[at] if at >= 0 else row not in keys
        known.update(dict.fromkeys(keys))
        assert (numbering.first, numbering.more) == (scan * most, scan + 1 < len(numbered))
        numbering.go_on()
    assert len(known) == sum(numbered) == 6


def test_near_numbers_that_are_not_there_are_no_combinations():
    column = pa.array([0, 500] * 50)
    numbering = Numbering()
    numbering.start(1)
    assert numbering.numbers([column] * 3) is None  # two combinations of three columns, for one place
    numbering.start(2)
    assert numbering.numbers([column] * 3).tolist() == [0, 1] * 50


def test_combinations_without_a_place_in_any_scan_are_too_many():
    def first(most, n_scans):
        numbering = Numbering(n_scans)
        numbering.start(most)
        return numbering.numbers([pa.array([*range(7)])])

    assert first(2, 3) is None
    assert first(2, 4).tolist() == [0, 1, -1, -1, -1, -1, -1]


def test_before_the_first_row_there_are_keys_of_no_rows():
    keys = Numbering().keys(2)
    assert (keys.column_names, keys.num_rows) == (["_s0", "_s1"], 0)
