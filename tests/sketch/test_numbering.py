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


@pytest.mark.slow
def test_the_heaviest_row_is_known_where_rows_have_weights():
    for w, heaviest in ((np.empty(0), None), (np.array([0.5, 3.0, 2.0]), 3.0)):
        sums = sketch_groups.Weighed(1, 8)
        assert sums.heaviest is None
        sums.add(np.ones(3), np.full(3, 0.3), w, np.zeros(3, np.int32), np.zeros(7, np.int64))
        assert sums.heaviest == heaviest


@pytest.mark.parametrize("weighted", [False, True])
def test_as_many_segments_as_their_cells_between_grid_points_have_room(weighted):
    resolution = 64
    of_a_cell = 8 * sketching.COLUMNS if weighted else 8 * 10  # four packed and six wide words
    for n in (1, 2, 7):
        room = n * resolution * of_a_cell
        for more, most in ((-1, max(1, n - 1)), (0, n), (resolution * of_a_cell - 1, n)):
            assert sketch_groups.most_segments(resolution, room + more, weighted=weighted) == most
    assert sketch_groups.most_segments(resolution, 0, weighted=weighted) == 1


def of_arrow(**columns):
    return nw.from_native(pa.table(columns), eager_only=True)


CODED = pa.array(["a", "b", "a"]).dictionary_encode()


@pytest.mark.parametrize(
    ("column", "wanted", "changed"),
    [
        (pa.array([1, 2, None]), [1, 2, None], False),
        (pa.array(["a", None, "b"]), ["a", None, "b"], False),
        (CODED, ["a", "b", "a"], False),
        (pa.array([0.0, 0.5, 1.0]), [0.0, 0.5, 1.0], False),
        (pa.array([-0.0, 0.5, None]), [0.0, 0.5, None], True),
        (pa.array([np.nan, 0.5, None], from_pandas=False), [None, 0.5, None], True),
        (pa.array([-0.0, -1.0, None], pa.float32()), [0.0, -1.0, None], True),
        (pa.array([-0.0, np.nan, 1.0], from_pandas=False).dictionary_encode(), [0.0, None, 1.0], True),
    ],
    ids=["whole", "text", "coded", "plain", "signed", "nan", "short", "coded numbers"],
)
@pytest.mark.parametrize("in_chunks", [False, True])
def test_keys_are_arrows_own_without_signs_of_zero(column, wanted, changed, in_chunks):
    column = pa.chunked_array([column[:1], column[1:]]) if in_chunks else column
    keys, may_merge = told_apart(of_arrow(key=column, other=pa.array([1, 2, 3])))
    found = keys.to_native()
    assert found["key"].to_pylist() == wanted
    assert not any(np.signbit(each) for each in found["key"].to_pylist() if each == 0.0)
    assert found["other"].to_pylist() == [1, 2, 3]
    assert not pa.types.is_dictionary(found["key"].type)
    assert may_merge == changed


@pytest.mark.parametrize(
    ("type_", "far"),
    [
        (pa.timestamp("s"), 2**40),
        (pa.timestamp("s"), -(2**40)),
        (pa.date32(), 2**30),
        (pa.duration("s"), 2**60),
        (pa.duration("s"), -(2**60)),
        (pa.timestamp("s"), None),
        (pa.date32(), None),
        (pa.duration("s"), None),
        (pa.int64(), None),
    ],
    ids=str,
)
def test_times_that_python_has_no_value_for_are_refused(type_, far):
    column = pa.array([1, far or 2**10, 3], pa.int32() if pa.types.is_date32(type_) else pa.int64())
    keys = of_arrow(place=pa.array(["a", "b", "c"]), key=column.cast(type_))
    if far is None:
        refuse_far(keys, "by")
        return
    with pytest.raises(InputError, match="outside the years 1 to 9999") as caught:
        refuse_far(keys, "find")
    assert (caught.value.argument, caught.value.allowed) == ("find", "write them as text or numbers")


@pytest.mark.parametrize("in_chunks", [False, True])
def test_values_are_ranked_in_their_order_and_combinations_numbered(in_chunks):
    values = [2.5, None, -0.0, 0.0, np.nan, -3.0]
    column, other = pa.array(values, from_pandas=False), pa.array(["x", "x", "y", "y", "x", None])
    if in_chunks:
        column, other = (pa.chunked_array([each[:2], each[2:]]) for each in (column, other))
    assert ranks_of(of_arrow(key=column)).tolist() == [2, -1, 1, 1, -1, 0]
    both = numbers_of(told_apart(of_arrow(key=column, other=other))[0])
    combinations = [(2.5, "x"), (None, "x"), (0.0, "y"), (0.0, "y"), (None, "x"), (-3.0, None)]
    assert len({*zip(both.tolist(), combinations, strict=True)}) == len({*combinations}) == len({*both.tolist()})
    assert sorted({*both.tolist()}) == [0, 1, 2, 3]


@pytest.mark.parametrize("weighted", [False, True])
def test_good_rows_of_segments_are_in_the_cells_of_rows_one_by_one(weighted):
    rng, resolution = np.random.default_rng(0), 8
    v = np.r_[np.arange(9) / 8, rng.random(40), 0.0, 1.0]
    y, segment = rng.integers(0, 2, v.size).astype(float), rng.integers(0, 2, v.size).astype(np.int32)
    w = rng.uniform(0.5, 2.0, v.size) if weighted else np.empty(0)
    sums = sketch_groups.Weighed(2, resolution)
    sums.add(y, v, w, segment, np.zeros(7, np.int64))
    of, number, cells = sums.cells(0, 2)
    for each in (0, 1):
        here = segment == each
        table = np.zeros((2 * resolution + 1, sketching.COLUMNS))
        sketching.add_rows(y[here], v[here], w[here] if weighted else w, resolution, table)
        full = table[:, sketching.COUNT] > 0.0
        assert number[of == each].tolist() == np.flatnonzero(full).tolist()
        np.testing.assert_array_equal(cells[of == each], table[full][:, : len(sketch_groups.MEASURED)])


def of_trials(trials, events):
    """Cells with so many trials and events in all."""
    cells = np.zeros((len(trials), HIGH + 1))
    cells[:, COUNT], cells[:, WEIGHT], cells[:, OUTCOME], cells[:, FRACTIONAL] = 1.0, trials, events, 1.0
    keys = nw.from_native(pa.table({"place": np.arange(len(trials))}), eager_only=True)
    return sketch_groups.Groups(np.arange(len(trials)), cells, keys, 3).of_trials()


def test_rows_of_trials_are_single_outcomes_and_no_trials_no_rows():
    found = of_trials([10.0, 0.0, 4.0], [3.0 + 1e-9, 0.0, 4.0])
    assert found.index.tolist() == [0, 2]
    assert found.keys["place"].to_list() == [0, 2]
    assert found.n_excluded == 3
    wanted = {COUNT: [10, 4], WEIGHT: [10, 4], SQUARED: [10, 4], ONES: [3, 4], OUTCOME: [3, 4], FRACTIONAL: [0, 0]}
    for column, values in wanted.items():
        assert found.cells[:, column].tolist() == values


@pytest.mark.parametrize(
    ("trials", "events", "argument"),
    [
        (2.5, 1.0, "trials"),
        (10.0, 3.5, "y_true"),
        (10.0, 1e-6, None),
        (10.0, 1.1e-6, "y_true"),
        (1e7, 0.9e-5, None),
        (1e7, 1.1e-5, "y_true"),
    ],
)
def test_events_may_miss_a_whole_number_by_a_millionth_and_by_rounding(trials, events, argument):
    if argument is None:
        assert of_trials([trials], [events]).cells[0, ONES] == 0.0
        return
    with pytest.raises(InputError) as caught:
        of_trials([trials], [events])
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("codes", "counts", "first", "argument", "row", "said"),
    [
        ([-2], [3], None, "y_true", None, "3 rows are outside [0, 1]"),
        ([-2, -2, 4], [2, 1, 9], None, "y_true", None, "3 rows are outside [0, 1]"),
        ([-3, 0], [1, 9], (7, "null", True), "y_prob", 7, "1 row is null or NaN; it is null"),
        (
            [-6, -6],
            [1, 1],
            (0, "-1.0", False),
            "sample_weight",
            0,
            "2 rows are negative or infinite; the first is -1.0",
        ),
        (
            [-1, -2],
            [2, 1],
            (5, "1.5", False),
            "y_true",
            5,
            "1 row is outside [0, 1]; it is 1.5; y_true: 2 rows are null or NaN",
        ),
        (
            [-4, -2, -1],
            [4, 2, 1],
            (5, "None", True),
            "y_true",
            5,
            "1 row is null or NaN; it is None; y_true: 2 rows are outside [0, 1]; y_prob: 4 rows are outside [0, 1]",
        ),
    ],
)
def test_bad_rows_are_counted_by_their_fault_that_of_the_first_one_first(codes, counts, first, argument, row, said):
    cells = nw.from_native(pa.table({"_cell": codes, "count": counts}), eager_only=True)
    asked = []
    with pytest.raises(InputError) as caught:
        sketch_groups.refuse_bad_rows(cells, None if first is None else lambda name: asked.append(name) or first)
    assert (caught.value.argument, caught.value.row, caught.value.problem) == (argument, row, said)
    assert asked == ([] if first is None else [argument])


def test_no_bad_rows_are_not_refused():
    sketch_groups.refuse_bad_rows(nw.from_native(pa.table({"_cell": [0, 5], "count": [1, 2]}), eager_only=True))


@pytest.mark.parametrize("in_chunks", [False, True])
def test_nulls_of_dictionaries_are_a_value_like_any_other(in_chunks):
    column = pa.array(["a", None, "b", None, "a"]).dictionary_encode()
    column = pa.chunked_array([column[:2], column[2:]]) if in_chunks else column
    keys = nw.from_native(pa.table({"g": column, "h": column}), eager_only=True)
    numbers = numbers_of(keys)
    assert [numbers[0] == numbers[4], numbers[1] == numbers[3], len(set(numbers.tolist()))] == [True, True, 3]
