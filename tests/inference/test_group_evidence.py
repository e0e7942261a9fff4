"""Evidence of groups: each e-value is its formula, has mean 1 at most, and is a number at the smallest predictions."""

import numpy as np
import pytest

from calibrant.inference.testing.group_evidence import (
    N_INTERVALS,
    bounds_of,
    contradicted,
    enough,
    intervals_of,
    kish,
    log_evalues,
    mixed,
    sums_of_cells,
    with_signs,
)
from calibrant.kernels import sketching
from calibrant.resampling.redraw import LEAST_GROUPS


@pytest.mark.parametrize("least", [5e-324, 1e-200, 1e-90])
def test_evidence_of_the_smallest_predictions_is_a_number(least):
    total, squares = np.array([1.0, 0.0, -least]), np.array([1.0, 0.0, least * least])
    low, variance = np.full(3, least), np.full(3, least)
    with np.errstate(all="raise", under="ignore"):
        found = log_evalues(total, squares, low, np.ones(3), variance)
    assert all(np.isfinite(each).all() for each in found)
    assert found[0][0] > 3.0  # an event where next to none is predicted


def psi(x):
    return -np.log(1.0 - x) - x


@pytest.mark.parametrize("variance", [4.0, 60.0, 4000.0])
def test_an_e_value_is_the_mean_over_five_exponents(variance):
    """The middle one is best where the log of the evidence is five, the others halves and doubles; none is above .9."""
    total, squares, low, high = 2.5, 3.0, 1.5, 2.0
    found = log_evalues(*(np.array([each]) for each in (total, squares, low, high, variance)))
    for side, moved, most in zip(found, (total, -total), (low, high), strict=True):
        exponents = np.minimum(0.9, np.sqrt(2.0 * 5.0 / variance) * most * 2.0 ** np.arange(-2.0, 3.0))
        evidence = np.exp(exponents * moved / most - psi(exponents) * squares / most**2)
        assert side[0] == pytest.approx(np.log(evidence.mean()), rel=1e-9)


@pytest.mark.parametrize("variance", [0.05, 1.0, 30.0])
def test_evidence_has_mean_one_at_most_however_rows_of_a_group_depend(variance):
    """Each of five groups is all events or none: the mean over all that can happen, on either side."""
    v, rows = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([3.0, 2.0, 1.0, 2.0, 3.0])
    happened = np.array(np.meshgrid(*[[0.0, 1.0]] * 5)).reshape(5, -1)
    chance = np.prod(np.where(happened == 1.0, v[:, None], 1.0 - v[:, None]), axis=0)
    excess = rows[:, None] * (happened - v[:, None])
    ends = np.full(chance.size, (rows * v).max()), np.full(chance.size, (rows * (1.0 - v)).max())
    sums = excess.sum(axis=0), (excess**2).sum(axis=0)
    for side in log_evalues(*sums, *ends, np.full(chance.size, variance)):
        assert 0.3 < chance @ np.exp(side) <= 1.0 + 1e-12


def test_where_nothing_is_predicted_nothing_is_shown():
    zero, one = np.zeros(1), np.ones(1)
    assert [each.tolist() for each in log_evalues(zero, zero, zero, one, zero)] == [[0.0], [0.0]]
    low, high = log_evalues(0.4 * one, one, 0.5 * one, one, one)
    assert low[0] != 0.0 != high[0]


def test_evidence_by_signs_has_nearly_all_of_the_weight():
    excess = np.array([[0.2, 0.0, 3.0], [-0.1, 0.0, 1.0], [0.3, 0.0, 2.0], [0.1, 0.0, -1.0]])
    many = np.array([True, True, True])
    proved = np.array([0.5, 1.0, 2.0]), np.array([-0.5, 0.0, 4.0])
    for side, own, way in zip(with_signs(proved, excess, many), proved, (1.0, -1.0), strict=True):
        for k in range(3):
            r = excess[:, k]
            size = np.sqrt((r**2).sum()) or 1.0
            tried = [np.sqrt(2.0 * aimed) / size for aimed in (3.0, 6.0, 12.0)]
            by_signs = np.mean([np.exp(way * x * r.sum()) / np.prod(np.cosh(x * r)) for x in tried])
            assert side[k] == pytest.approx(np.log(0.99 * by_signs + 0.01 * np.exp(own[k])))
    some = np.array([False, True, True])
    assert [each.size for each in with_signs(proved, excess, some)] == [2, 2]


def test_signs_count_where_events_and_others_lie_in_enough_groups():
    share = np.array([[0.5, 0.0, 3.0], [0.5, 0.0, 0.0], [0.5, 0.0, 1.0]])
    assert kish(share) == pytest.approx([3.0, 0.0, 1.6])
    assert kish(share * [1e-200, 1.0, 1e200]) == pytest.approx([3.0, 0.0, 1.6])
    n = LEAST_GROUPS
    even, few = np.ones((n, 1)), np.append(np.ones(n - 1), 0.0)[:, None]
    assert [bool(enough(*each)[0]) for each in ((even, even), (few, even), (even, few))] == [True, False, False]


def test_every_cell_lies_in_one_interval_of_each_depth():
    """Cells at grid points are even, those between them odd; the last interval holds 1 as well."""
    for resolution in (8, 64):
        index = np.arange(2 * resolution + 1)
        found = intervals_of(index, resolution)
        for depth, parts in enumerate((1, 2, 4, 8)):
            inside = np.minimum(np.floor(index / 2 / resolution * parts), parts - 1)
            assert found[depth].tolist() == (parts - 1 + inside).tolist()
            for cell, interval in zip(index, found[depth], strict=True):
                low, high = bounds_of(interval)
                assert high - low == 1.0 / parts
                assert low <= cell / 2 / resolution <= high
    assert [bounds_of(k) for k in (0, 1, 2, 3, 14)] == [(0, 1), (0, 0.5), (0.5, 1), (0, 0.25), (0.875, 1)]


def test_the_mean_of_all_e_values_is_one_where_each_is_and_tells_which_adds_most():
    none = np.zeros((1, N_INTERVALS))
    log, _, _ = mixed((none, none))
    assert log[0] == pytest.approx(0.0, abs=1e-12)
    for interval, share in ((0, 0.9), (2, 0.025), (5, 0.0075), (14, 0.0025)):
        much = none.copy()
        much[0, interval] = 9.0
        for sides, sign in (((much, none), 1.0), ((none, much), -1.0)):
            log, best, way = mixed(sides)
            assert np.exp(log[0]) == pytest.approx(1.0 + 0.5 * share * (np.exp(9.0) - 1.0))
            assert (best[0], way[0]) == (interval, sign)


def test_sums_of_cells_are_those_of_their_rows():
    """Of weight w, w' and their squares at 0.5 + offset / 4, at exactly 0 and at exactly 1."""
    cells = np.zeros((4, 1 + max(sketching.WEIGHT, sketching.OUTCOME, sketching.OFFSET, sketching.SQUARED)))
    index = np.array([0, 5, 8, 8])
    cells[:, sketching.WEIGHT] = [2.0, 3.0, 1.0, 2.0]
    cells[:, sketching.OUTCOME] = [0.0, 1.0, 1.0, 0.5]
    cells[:, sketching.OFFSET] = [0.0, 1.2, 0.0, 0.0]
    cells[:, sketching.SQUARED] = [2.0, 5.0, 1.0, 4.0]
    excess, expected, variance = sums_of_cells(index, cells, 4)
    assert expected == pytest.approx([0.0, (3.0 * 2 + 1.2) / 4, 1.0, 2.0])
    assert excess == pytest.approx([0.0, 1.0 - 1.8, 0.0, -1.5])
    assert variance == pytest.approx([0.0, 5.0 * 0.6 * 0.4, 0.0, 0.0])
    cells[0, sketching.OUTCOME] = 0.5
    assert contradicted(index, cells, 4).tolist() == [1.0, 0.0, 0.0, -1.0]
    cells[:, sketching.WEIGHT] = 0.0
    assert (sums_of_cells(index, 0.0 * cells, 4)[2] == 0.0).all()
