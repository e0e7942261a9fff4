"""Parts of a search in sums, against the rows that the sums are of, and parts of tests of segments by groups."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.inference.testing import group_evidence as evidence
from calibrant.kernels import sketching
from calibrant.segments import by_column
from calibrant.segments.by_column import _redraws, _test, _weights_differ
from calibrant.segments.evidence import SHARES, holm
from calibrant.segments.results import Line
from calibrant.segments.sums import (
    RESOLUTION,
    CellBlock,
    _climbs,
    _detectable,
    _impossible,
    _in_cells,
    _moved,
    _of_totals,
    _totals,
    added_up,
    all_sets,
)


def drawn(n=40, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.1, 0.9, n)
    return (rng.random(n) < v).astype(float), v, rng.uniform(0.5, 2.0, n)


def test_sums_of_plain_rows_hold_the_squares_of_predictions_and_of_errors():
    y, v, w = drawn()
    sums = np.array([[40.0, y.sum(), 40.0, 40.0, y.sum(), v.sum(), (y * v).sum(), (v * (1.0 - v)).sum()]])
    plain = _totals(sums, False)
    assert plain.square == pytest.approx([v @ v])
    assert plain.errors == pytest.approx([(y - v) @ (y - v)])
    assert (plain.count, plain.bias, plain.weighted) == (40.0, pytest.approx([(y - v).mean()]), False)
    weighted = _totals(sums * 2.0, True)
    assert (weighted.square, weighted.errors, weighted.weighted) == (None, None, True)
    assert w.size == 40


def test_of_a_cell_no_more_is_known_than_where_it_ends():
    """Even cells are points of the grid, odd ones what lies between two."""
    index = np.array([0, 1, 2, 64, 65, 128])
    cells = _in_cells(index, np.arange(36.0).reshape(6, 6))
    assert cells[:, sketching.LOW] * RESOLUTION == pytest.approx([0, 0, 1, 32, 32, 64])
    assert cells[:, sketching.HIGH] * RESOLUTION == pytest.approx([0, 1, 1, 32, 33, 64])
    columns = [sketching.COUNT, sketching.ONES, sketching.WEIGHT, sketching.OUTCOME, sketching.SQUARED]
    assert cells[:, columns][1].tolist() == [6.0, 7.0, 8.0, 9.0, 10.0]
    assert cells[1, sketching.OFFSET] == 11.0


def test_totals_of_cells_have_what_was_predicted_and_the_least_of_events():
    y, v, _ = drawn()
    index = 2 * np.floor(v * RESOLUTION).astype(int) + 1
    cells = np.zeros((40, 10))
    cells[:, [sketching.COUNT, sketching.WEIGHT, sketching.SQUARED]] = 1.0
    cells[:, sketching.ONES] = cells[:, sketching.OUTCOME] = y
    cells[:, sketching.OFFSET] = v * RESOLUTION - index // 2
    cells[:, sketching.LOW], cells[:, sketching.HIGH] = index // 2 / RESOLUTION, (index // 2 + 1) / RESOLUTION
    found = _of_totals(index, cells)
    assert found[:, :5] == pytest.approx(np.column_stack([np.ones(40), y, np.ones(40), np.ones(40), y]))
    assert found[:, 5] == pytest.approx(v)
    assert found[:, 6] == pytest.approx(y * np.floor(v * RESOLUTION) / RESOLUTION)


@pytest.mark.parametrize(("level", "share"), [(0.05, 0.5), (0.2, 0.01)])
def test_of_weighted_rows_the_least_total_is_the_one_whose_hoeffding_s_bound_is_small_enough(level, share):
    squares = np.array([3.0, 5.0, 2.0])
    cells = np.zeros((3, 10))
    cells[:, sketching.SQUARED] = squares
    search = SimpleNamespace(
        level=level,
        share=[0.9, share],
        summed=SimpleNamespace(starts=[0, 1], ends=[1, 3], cells=cells, totals=SimpleNamespace(weighted=True)),
    )
    total = _detectable(search, 1)
    assert 2.0 * math.exp(-2.0 * total**2 / squares[1:].sum()) == pytest.approx(level * share * SHARES[0])


def test_a_climb_is_the_largest_sum_of_errors_over_neighbouring_cells_of_a_segment():
    off = np.array([0.0, 3.0, -1.0, 2.0, -5.0, 1.0, -2.0, -2.0])
    cells = np.zeros((8, 10))
    cells[:, sketching.WEIGHT] = np.array([4.0, 5.0, 6.0, 5.0, 9.0, 5.0, 5.0, 5.0])
    cells[:, sketching.SQUARED] = cells[:, sketching.WEIGHT]
    cells[:, sketching.OUTCOME] = 2.0 + off
    stated = SimpleNamespace(expected=np.full(8, 2.0))
    candidates = SimpleNamespace(cells=cells, starts=np.array([0, 5]), ends=np.array([5, 8]))
    error, by_noise = _climbs(candidates, stated, 0.05)
    climbs = [
        abs(off[a:b].sum()) for first, last in ((0, 5), (5, 8)) for a in range(first, last) for b in range(a, last + 1)
    ]
    assert error == pytest.approx(max(climbs) / 29.0)  # over the weight of the first, which is all rows
    mean = 2.0 / cells[:, sketching.WEIGHT]
    deviation = [
        math.sqrt((cells[a:b, sketching.SQUARED] * mean[a:b] * (1 - mean[a:b])).sum()) for a, b in ((0, 5), (5, 8))
    ]
    # The range of a Brownian path is beyond x with probability about 8 of a normal tail.
    tails = sum(4.0 * math.erfc(by_noise * 29.0 / each / math.sqrt(2.0)) for each in deviation)
    assert tails == pytest.approx(0.05)


def block(pattern=(0, 0, 0, 0)):
    cells = np.zeros((4, 12))
    cells[:, sketching.WEIGHT] = cells[:, sketching.COUNT] = np.array([2.0, 4.0, 3.0, 5.0])
    cells[:, sketching.OFFSET] = [0.0, 1.0, 0.0, 0.0]
    cells[:, sketching.ONES] = [0.0, 1.0, 2.0, 5.0]
    index = np.array([0, 33, 64, 2 * RESOLUTION])
    return CellBlock((), np.zeros((0, 4), np.int64), index, cells, np.array(pattern))


def test_a_line_moves_the_predictions_of_a_cell_and_none_that_is_certain():
    up, on = Line(0.5, 1.0), Line(0.0, 2.0)

    def moved(p, *lines):
        for line in lines:
            start = math.log(p / (1.0 - p))
            p = 1.0 / (1.0 + math.exp(-line.start - line.slope * start))
        return p

    first, second = 16.25 / 64, 0.5
    alone = [0.0, 4.0 * (moved(first, up) - first), 3.0 * (moved(second, up) - second), 0.0]
    assert _moved(block(), [up]) == pytest.approx(alone)
    once = moved(first, on)
    after = [0.0, 4.0 * (moved(once, up) - once), 3.0 * (moved(second, up) - second), 0.0]
    assert _moved(block((1, 1, 0, 1)), [on, up]) == pytest.approx(after)
    assert _moved(block((2, 2, 2, 2)), [on, up]) == pytest.approx(alone)  # they lie in another than the first


def test_certain_predictions_that_came_out_otherwise_are_counted_where_they_weigh_something():
    assert _impossible([block()]) is None
    other = block()
    other.cells[0, sketching.ONES], other.cells[3, sketching.ONES] = 1.0, 3.0
    found = _impossible([other])
    assert (found.n_rows, found.row) == (3, None)  # one event at 0, two others at 1
    other.cells[3, sketching.WEIGHT] = 0.0
    assert _impossible([other]).n_rows == 1


def test_keys_are_added_up_in_their_order_and_sets_are_all_of_up_to_so_many():
    keys, columns = added_up(np.array([7, 2, 7, 0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
    assert keys.tolist() == [0, 2, 7]
    assert columns.tolist() == [[7.0, 8.0], [3.0, 4.0], [6.0, 8.0]]
    assert all_sets(3, 2) == [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("n", [1, 20, 40, 100, 5_000])
def test_so_many_signs_are_drawn_that_one_segment_of_all_could_be_found(n):
    """Benjamini and Yekutieli's adjustment of the least p-value, 1 / (1 + N) over its 0.99 of the error, is 0.01."""
    found = _redraws(n)
    times = n * sum(1.0 / k for k in range(1, n + 1)) / 0.99
    assert 999 <= found <= 19_999
    if found < 19_999:
        assert times / (1.0 + found) <= 0.01 * (1.0 + 1e-12)
    if found > 999:
        assert times / found > 0.01


@pytest.mark.parametrize(
    ("weight", "squared", "differ"),
    [
        ((4.0, 2.0), (8.0, 4.0), False),  # two rows of weight 2, and one
        ((4.0, 1.0), (8.0, 1.0), True),
        ((4.0, 2.0), (10.0, 4.0), True),  # weights of 1 and 3 in one cell
    ],
)
def test_weights_differ_within_cells_or_between_them(weight, squared, differ):
    cells = np.zeros((2, 10))
    cells[:, sketching.COUNT] = 2.0, 1.0
    cells[:, sketching.WEIGHT], cells[:, sketching.SQUARED] = weight, squared
    assert _weights_differ(cells) == differ


def test_of_weighted_groups_hoeffding_s_interval_is_made_as_wide_as_a_normal_one():
    """Its reach is the root of log / 2 n; a normal one's is the root of 2 log times the variance of the mean."""
    rng = np.random.default_rng(0)
    weight, expected, excess = rng.uniform(1.0, 3.0, 5), rng.uniform(0.2, 0.9, 5), rng.normal(size=5)
    sums = np.zeros((5, 5, evidence.N_INTERVALS))
    sums[:, :, 0] = excess + expected, weight, excess, expected, expected * (1.0 - expected)
    pvalue, where, low_side, n_groups, effective = _test(sums, np.zeros(1), 999, False)
    bias = excess.sum() / weight.sum()
    variance = ((excess - bias * weight) ** 2).sum() / weight.sum() ** 2
    assert 1.0 / (2.0 * effective) == pytest.approx(2.0 * variance)
    assert (pvalue, where, n_groups) == (1.0, (0.0, 1.0), 5)  # nothing is proved, and groups are too few for signs
    assert by_column._test(sums, np.zeros(1), 999, True)[4] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert isinstance(low_side, bool)


def test_shares_of_the_level_are_those_of_holm():
    """The least is tested at its share of all; then of those that are left."""
    pvalues, share = np.array([0.02, 0.001, 0.5]), np.array([0.5, 0.25, 0.25])
    assert holm(pvalues, share) == pytest.approx([0.02 / 0.5 * 0.75, 0.001 / 0.25, 0.5])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
