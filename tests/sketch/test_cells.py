"""What sums of a cell may be off by, and which sums no rows can have."""

from contextlib import nullcontext
from fractions import Fraction

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pytest

from calibrant import CalibrationSketch, InputError
from calibrant.door.columns import HEAVIEST, LIGHTEST
from calibrant.kernels import sketching
from calibrant.sketch import groups as sketch_groups
from calibrant.sketch.cells import (
    NATIVE_ROUNDING,
    UNIT,
    coarser,
    numbers_of,
    ranks_of,
    read_cells,
    refuse_far,
    rounding_of_plain_sums,
    told_apart,
)

COUNT, ONES, FRACTIONAL, WEIGHT, OUTCOME, SQUARED, OFFSET, OUTCOME_OFFSET, LOW, HIGH = range(10)


def test_rounding_is_that_of_any_order_of_terms_of_three_factors():
    assert np.finfo(float).eps / 2.0 == UNIT
    assert NATIVE_ROUNDING == 16.0 * UNIT
    for n in (1.0, 100.0, 1e9):
        u = Fraction(1, 2**53) * (int(n) + 4)
        assert rounding_of_plain_sums(n) == pytest.approx(float(u / (1 - u)), rel=1e-12)
    assert np.isfinite(rounding_of_plain_sums(2.0**51))
    assert rounding_of_plain_sums(2.0**52) == np.inf
    rng = np.random.default_rng(0)
    terms = rng.random(3000) * rng.random(3000) * rng.random(3000)
    exact = sum(map(Fraction, terms.tolist()))
    assert abs(Fraction(float(np.cumsum(terms)[-1])) - exact) <= exact * Fraction(rounding_of_plain_sums(3000.0))


def cells_of_rows():
    rng = np.random.default_rng(1)
    v, w = rng.random(60), rng.uniform(0.5, 2.0, 60)
    y = (rng.random(60) < v).astype(float)
    return CalibrationSketch(16).update(y, v, sample_weight=w).cells()


def test_cells_of_rows_obey_every_law_and_each_law_refuses_what_breaks_it():
    index, cells = cells_of_rows()
    read_cells(index, cells, 16)
    at = int(np.argmax(cells[:, COUNT] - cells[:, ONES] > 1))
    broken = {
        COUNT: 0.0,
        ONES: -1.0,
        FRACTIONAL: -1.0,
        WEIGHT: -1.0,
        OUTCOME: cells[at, WEIGHT] * 1.01,
        SQUARED: cells[at, WEIGHT] ** 2 / cells[at, COUNT] * 0.99,  # less than equal weights have
        OFFSET: cells[at, WEIGHT] * 1.01,
        OUTCOME_OFFSET: cells[at, OUTCOME] * 1.01 + 0.01,
        LOW: cells[at, LOW] - 1.0 / 16.0,
        HIGH: cells[at, HIGH] + 1.0 / 16.0,
    }
    for column, value in broken.items():
        wrong = cells.copy()
        wrong[at, column] = value
        with pytest.raises(InputError, match=f"row {at} "):
            read_cells(index, wrong, 16)
    for column, value in ((SQUARED, cells[at, WEIGHT] ** 2 * 1.01), (COUNT, 2.5), (WEIGHT, np.nan), (WEIGHT, 1e160)):
        wrong = cells.copy()
        wrong[at, column] = value
        with pytest.raises(InputError):
            read_cells(index, wrong, 16)
    for wrong in (np.append(index[:-1], 33), np.append(-1, index[1:]), index.astype(float)):
        with pytest.raises(InputError, match="index"):
            read_cells(wrong, cells, 16)
    with pytest.raises(InputError, match="cells: have shape"):
        read_cells(index, cells[:, :9], 16)


def one_cell(**sums):
    """A cell of resolution 2 whose one row has the prediction .25, with other sums; some are put into cell 0, at 0."""
    plain = {"count": 1.0, "weight": 1.0, "squared_weight": 1.0, "offset": 0.5, "low": 0.25, "high": 0.25}
    of = dict.fromkeys(sketch_groups.MEASURED, 0.0) | plain
    if sums.pop("at_zero", False):
        return [0], [[*(of | {"offset": 0.0, "low": 0.0, "high": 0.0} | sums).values()]]
    return [1], [[*(of | sums).values()]]


def obey(**sums):
    try:
        read_cells(*one_cell(**sums), 2)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("n", [1.0, 4.0, 16.0, 1024.0])
def test_sums_of_cells_may_be_off_by_four_times_the_rows_and_eight_in_units_of_rounding(n):
    """By sixteen times as many where weights are squared and divided by."""
    share = 4.0 * (n + 8.0) * UNIT
    rows = {"count": n, "at_zero": True}
    for off, sound in ((1.0, True), (-1.0, True), (1.06, False), (-1.06, False)):
        equal = {"weight": n, "squared_weight": n * (1.0 + 4.0 * off * share)}
        assert obey(**rows, **equal) == (sound or (n > 1.0 and off > 0.0))  # where weights differ, squares are more
        alone = {"weight": 1.0, "squared_weight": 1.0 + 4.0 * off * share}  # all weight is that of one row
        assert obey(**rows, **alone) == (sound or (n > 1.0 and off < 0.0))
        inside = {"count": n, "weight": n, "squared_weight": n, "offset": n * (0.5 + off * share)}
        assert obey(**inside) == sound
        ones = {"ones": n, "weight": 1.0, "squared_weight": 1.0 / n, "weighted_outcome": 1.0 + off * share}
        assert obey(**rows, **ones) == sound


@pytest.mark.parametrize("light", [0.001, 0.3, 0.7, 0.999])
def test_ones_and_zeros_weigh_no_less_than_the_lighter_of_two_rows(light):
    """Of two rows whose weights have these squares one is an event: its weight is the outcome, and no less can be."""
    of = {"count": 2.0, "ones": 1.0, "weight": 1.0 + light, "squared_weight": 1.0 + light**2, "at_zero": True}
    for outcome, sound in ((light, True), (1.0, True), (light * 0.999, False), (1.0 + light * 0.001, False)):
        assert obey(**of, weighted_outcome=outcome) == sound


@pytest.mark.parametrize("n", [4.0, 64.0])
def test_ones_of_equal_weights_weigh_their_part_up_to_rounding_of_the_variance(n):
    """Half of the rows: n times the variance is off by four shares of both its terms, which are 1 here."""
    far = np.sqrt(0.25 * 8.0 * 4.0 * (n + 8.0) * UNIT)
    for off, sound in ((0.99, True), (1.02, False)):
        ones = {"count": n, "ones": n / 2.0, "weight": n, "squared_weight": n, "at_zero": True}
        assert obey(**ones, weighted_outcome=n * (0.5 - off * far)) == sound
        assert obey(**ones, weighted_outcome=n * (0.5 + off * far)) == sound


@pytest.mark.parametrize(
    ("sums", "sound"),
    [
        ({"count": 2.0**53, "weight": 2.0**53, "squared_weight": 2.0**53, "offset": 2.0**52}, True),
        ({"count": 2.0**54, "weight": 2.0**54, "squared_weight": 2.0**54, "offset": 2.0**53}, False),
        ({"weight": 0.0, "squared_weight": 0.0, "offset": 0.0}, True),
        ({"weight": 1e-151, "squared_weight": 0.0, "offset": 0.5e-151}, True),
        ({"weight": 1e-151, "squared_weight": 1e-299, "offset": 0.5e-151}, True),
        ({"weight": 1e-151, "squared_weight": 1.1e-299, "offset": 0.5e-151}, False),
        ({"weight": 1.1e-150, "squared_weight": 0.0, "offset": 0.55e-150}, False),
        ({"weight": 1e156, "squared_weight": 1e308, "offset": 0.5e156}, False),
        ({"count": 2.0**40, "weight": 1e156, "squared_weight": 1e300, "offset": 0.5e156}, True),
        ({"count": 2.0**40, "weight": 1.01e156, "squared_weight": 1e300, "offset": 0.505e156}, False),
        ({"weight": 0.0, "squared_weight": 0.0, "offset": 1e-300}, True),
        ({"weight": 0.0, "squared_weight": 0.0, "offset": 1.1e-300, "low": 0.25, "high": 0.25}, False),
        ({"weighted_outcome": 1e-310, "outcome_offset": 0.5e-310}, False),  # of no row with an event
        ({"fractional": 1.0, "weighted_outcome": 1e-310, "outcome_offset": 0.5e-310}, True),
        ({"low": 0.25, "high": 0.3}, False),  # one row has one prediction
        ({"count": 2.0, "squared_weight": 0.5, "low": 0.2, "high": 0.3}, True),
        ({"low": 0.0, "high": 0.0, "offset": 0.0}, False),
        ({"low": 0.5, "high": 0.5, "offset": 1.0}, False),
        ({"low": 5e-324, "high": 5e-324, "offset": 0.0}, True),
        ({"low": 5e-324, "high": 5e-324, "offset": 0.0, "at_zero": True}, False),
        ({"offset": 1e-305, "at_zero": True}, False),
    ],
)
def test_cells_at_the_ends_of_what_the_laws_allow(sums, sound):
    assert obey(**sums) == sound


@pytest.mark.parametrize(
    ("sums", "heaviest", "argument"),
    [
        ({}, 1.0, None),
        ({"low": 0.0, "high": 1.0}, None, None),
        ({"low": -5e-324}, 1.0, "frame"),
        ({"high": np.nextafter(1.0, 2.0)}, 1.0, "frame"),
        ({"squared_weight": np.inf}, 1.0, "frame"),
        ({"weighted_outcome": 2.0}, 1.0, None),
        ({"weighted_outcome": 2.0 * (1.0 + 0.99e-6)}, 1.0, None),
        ({"weighted_outcome": 2.0 * (1.0 + 1.01e-6)}, 1.0, "frame"),
        ({"weighted_outcome": -1e-300}, 1.0, "frame"),
        ({"weight": 0.0, "weighted_outcome": 0.0}, 1.0, None),
        ({"weight": 0.0, "weighted_outcome": 1e-9}, 1.0, "frame"),
        ({}, LIGHTEST, "sample_weight"),
        ({}, np.nextafter(LIGHTEST, 1.0), None),
        ({}, HEAVIEST, "sample_weight"),
        ({}, np.nextafter(HEAVIEST, 1.0), None),
        ({"fractional": 1.0, "low": 0.0, "high": 0.0}, None, "y_true"),
        ({"fractional": 1.0, "low": 1.0, "high": 1.0}, None, "y_true"),
        ({"fractional": 1.0, "low": 1.0, "high": 1.0}, 1.0, None),
        ({"fractional": 1.0, "low": 5e-324, "high": 0.5}, None, None),
        ({"fractional": 1.0, "low": np.nextafter(1.0, 0.0), "high": 1.0}, None, None),
        ({"low": 0.0, "high": 0.0}, None, None),
    ],
)
def test_sums_of_an_engine_are_those_of_rows_in_their_ranges(sums, heaviest, argument):
    plain = {"count": 2.0, "weight": 2.0, "squared_weight": 2.0, "offset": 0.5, "low": 0.25, "high": 0.25}
    of = dict.fromkeys(sketch_groups.MEASURED, 0.0) | plain
    # of two groups the second is changed
    cells = np.array(
        [[*of.values()], [*(of | sums).values()]] if "fractional" not in sums else [[*(of | sums).values()]]
    )
    with pytest.raises(InputError) if argument else nullcontext() as caught:
        sketch_groups.check_sums(cells, heaviest)
    assert argument is None or caught.value.argument == argument


@pytest.mark.parametrize("wanted", [2, 4, 8, 16])
def test_coarser_cells_are_those_that_rows_make_at_once(wanted):
    rng = np.random.default_rng(2)
    v = np.append(rng.random(80), [0.0, 0.25, 0.5, 1.0])
    y, w = rng.integers(0, 2, 84).astype(float), rng.uniform(0.5, 2.0, 84)
    index, cells = coarser(*CalibrationSketch(16).update(y, v, sample_weight=w).cells(), 16, wanted)
    expected_index, expected = CalibrationSketch(wanted).update(y, v, sample_weight=w).cells()
    for k, one in zip(expected_index, expected, strict=True):
        part = cells[index == k]
        sums = np.append(part[:, :8].sum(axis=0), [part[:, LOW].min(), part[:, HIGH].max()])
        assert sums == pytest.approx(one[:10], abs=1e-12)
    assert set(index) == set(expected_index)


def test_the_unit_is_the_largest_relative_error_of_one_rounding():
    assert 1.0 + UNIT == 1.0 < 1.0 + np.nextafter(UNIT, 1.0)


@pytest.mark.parametrize(("heaviest", "refused"), [(None, False), (1.0, False), (1e150, True), (1e-150, True)])
def test_sums_of_weights_far_from_one_are_refused(heaviest, refused):
    table = CalibrationSketch().update(np.array([0.0, 1.0]), np.array([0.2, 0.7]))._table
    cells = table[table[:, sketching.COUNT] > 0.0]
    with pytest.raises(InputError, match="as its largest value; scale the weights") if refused else nullcontext():
        sketch_groups.check_sums(np.ascontiguousarray(cells[:, : len(sketch_groups.MEASURED)]), heaviest)


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
