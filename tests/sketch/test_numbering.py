"""Combinations of keys are numbered as they are first met, whatever their type and however near their values are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
        pa.array([None if each is None else str(each) for each in column])
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
        numbering.most = most
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
    numbering.most = 1000
    for start in (0, 0, 20, 10, 0, 20):
        days = np.arange(100) % 30 + start
        numbers = numbering.numbers([pa.array(days, pa.int32()).view(pa.date32()), pa.array(days % 7, pa.int8())])
        assert len(set(zip(days.tolist(), numbers.tolist(), strict=True))) == 30
    assert len(looked_up) == 4  # the third needs a larger table, in which the next two have days that are not known yet


@pytest.mark.parametrize("far", [2**18 - 1, 2**18])
def test_values_that_are_far_apart_are_looked_up(far):
    numbering = Numbering()
    numbering.most = 10
    assert numbering.numbers([pa.array([7, 7 + far, 7])]).tolist() == [0, 1, 0]
    assert (numbering._near is None) == (far == 2**18)
