"""Draws behind a bound: what is learned from, what a function's means allow for, and weights that are too large."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import CellDraws, Draws, draws_of


def lines(n, weight=1.0, unit=None):
    y, v = np.arange(n) % 2.0, np.linspace(0.1, 0.9, n)
    units = n if unit is None else int(unit.max()) + 1
    return Draws(y, v, np.full(n, weight), unit, np.ones(units), 1.0)


@pytest.mark.parametrize(("n", "cells"), [(100, 100), (4096, 4096), (4097, 2048), (6000, 2048)])
def test_many_lines_are_learned_from_in_cells_of_equal_numbers(n, cells):
    draws = lines(n)
    pooled = draws.pooled
    assert pooled.n_distinct == cells
    assert (pooled.weight.sum(), pooled.weighted_outcome.sum()) == pytest.approx((n, draws.y.sum()))
    assert pooled.weight @ pooled.prediction == pytest.approx(draws.v.sum())
    assert pooled.weight.max() <= -(-n // cells)


def test_lines_without_weight_are_still_lines():
    for n in (10, 5000):
        pooled = lines(n, 0.0).pooled
        assert (pooled.n_distinct, pooled.weight.any()) == (n, False)


@pytest.mark.parametrize("unit", [None, np.array([0, 0, 1])])
def test_means_of_pooled_rows_are_the_worst_that_their_predictions_allow(unit):
    """A function may be less by `moved` at a row, or more: at m = 1, where it is negative, that is reached."""
    y, v, w = np.array([0.0, 1.0, 1.0]), np.array([0.3, 0.5, 0.8]), np.array([1.0, 0.5, 1.0])
    moved, value = np.array([0.05, 0.0, 0.02]), np.array([-0.2, -0.4, -0.1])
    draws = Draws(y, v, w, unit, np.ones(3 if unit is None else 2), 2.0, moved)
    own = np.arange(3) if unit is None else unit
    g, off, s = (np.bincount(own, w * each / 2.0) for each in (value, moved, np.ones(3)))
    low, weight, gg, gs, ss = draws.means(lambda *_: value)
    assert low == pytest.approx(np.mean(g - off))
    assert (weight, gs, ss) == pytest.approx((np.mean(s), np.mean(g * s), np.mean(s * s)))
    for m in (0.0, 0.5, 1.0):
        worst = np.maximum((g - off - m * s) ** 2, (g + off - m * s) ** 2).mean()
        assert gg - 2.0 * m * gs + m * m * ss >= worst - 1e-12
    assert gg - 2.0 * gs + ss == pytest.approx(np.mean((g - off - s) ** 2))
    exact = Draws(y, v, w, unit, draws.copies, 2.0).means(lambda *_: value)
    assert exact == pytest.approx((g.mean(), s.mean(), (g * g).mean(), (g * s).mean(), (s * s).mean()))


def test_a_cell_has_twice_its_width_and_gaps_stay_between_0_and_1():
    sample = Sample.of_arrays(np.array([0.0, 1.0, 1.0]), np.array([0.02, 0.5, 0.97]), None)
    width = np.array([0.05, 0.0, 0.05])
    draws = Draws.of_sample(Sample(**{**{name: getattr(sample, name) for name in FIELDS}, "cell_width": width}))
    assert draws.moved.tolist() == pytest.approx([0.1, 0.0, 0.1])
    above, below = np.array([0.12, 0.5, 0.13]), np.array([0.0, 0.5, 0.0])
    assert draws.spread == pytest.approx((1.0, 1.0, np.mean(above**2), np.mean(below**2), 0.0))
    far = Draws(np.array([1.0]), np.array([0.05]), np.ones(1), None, np.ones(1), 1.0, np.array([0.2]))
    assert far.spread[2:4] == pytest.approx((1.0, 0.75**2))


FIELDS = ("prediction", "count", "ones", "weight", "weighted_outcome", "squared_weight", "binary")


@pytest.mark.parametrize(
    ("options", "words", "row"),
    [
        ({}, r"is 2, but row 2 \(from 0\) weighs 2.5", 2),
        ({"group": np.array([0, 1, 2, 1])}, r"is 2, but the group of row 1 \(from 0\) weighs 3", 1),
        ({"trials": np.array([1.0, 1.0, 0.5, 3.0])}, r"is 2, but row 3 \(from 0\) weighs 6", 3),
    ],
)
def test_a_row_or_group_that_weighs_more_than_it_may_is_named(options, words, row):
    y, v, w = np.array([0.0, 1, 1, 0]), np.array([0.4, 0.2, 0.9, 0.1]), np.array([1.0, 1.0, 2.5, 2.0])
    options = {"trials": None, "group": None, **options}
    with pytest.raises(InputError, match=words) as error:
        draws_of(y, v, w, options["trials"], options["group"], 2.0)
    assert (error.value.argument, error.value.row) == ("max_weight", row)
    _, draws = draws_of(y, v, w, options["trials"], options["group"], 8.0)
    assert draws.most == 8.0
    assert draws_of(y, v, w, None, None, 2.5 * (1.0 - 1e-13))[1].most == 2.5  # rounding is no weight


def cells(weight, squares, count=(2.0,), ones=(1.0,)):
    count, ones, weight, squares = (np.array(each, float) for each in (count, ones, weight, squares))
    where = np.linspace(0.3, 0.7, count.size)
    return Sample(where, count, ones, weight, 0.5 * weight, squares, np.zeros(count.size), True)


def test_a_cell_shows_a_row_that_weighs_more_than_it_may():
    """Some row weighs at least the mean, and at least the squares over the weight."""
    for weight, squares, least in (((4.0,), (10.0,), 2.5), ((4.0,), (8.0,), 2.0), ((1.0, 6.0), (0.5, 18.0), 3.0)):
        count = (2.0,) * len(weight)
        held = cells(weight, squares, count, (1.0,) * len(weight))
        assert CellDraws.of_sample(held, least, 0.0).most == least
        with pytest.raises(
            InputError, match=rf"holds a row that weighs {least:g} or more, at predictions near"
        ) as error:
            CellDraws.of_sample(held, 0.999 * least, 0.0)
        assert error.value.argument == "max_weight"
    assert "near 0.7" in str(error.value)
