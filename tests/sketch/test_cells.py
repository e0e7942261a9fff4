"""What sums of a cell may be off by, and which sums no rows can have."""

from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest

from calibrant import CalibrationSketch, InputError
from calibrant.door.columns import HEAVIEST, LIGHTEST
from calibrant.kernels import sketching
from calibrant.sketch import groups as sketch_groups
from calibrant.sketch.cells import (
    NATIVE_ROUNDING,
    UNIT,
    coarser,
    read_cells,
    rounding_of_plain_sums,
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
