"""Repair by boosted trees, also of features with many categories."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from calibrant import InputError
from calibrant.kernels.trees import best_cut
from calibrant.recalibration import SegmentRecalibrator
from calibrant.recalibration.by_segment import corrections
from calibrant.recalibration.by_segment.corrections import Fitting
from calibrant.recalibration.by_segment.estimator import Candidates
from calibrant.recalibration.by_segment.table import _of_array, _of_objects
from tests.strategies import examples


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(corrections, "_MOST_TREES", 60)


def drawn(n_categories, n=4000, seed=0):
    """Every category is off, by 1.5 either way; the first have most rows, and the last one row or none."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_categories + 1)
    store = rng.choice(n_categories, n, p=share / share.sum())
    table = pd.DataFrame({"y_prob": expit(rng.normal(-0.5, 1.0, n)), "age": rng.normal(size=n)})
    table["store"] = [f"s{k}" for k in store]
    table.loc[:20, "store"] = None
    true = expit(logit(table.y_prob) + np.where(store % 2, 1.5, -1.5))
    return table, (rng.random(n) < true).astype(int), np.asarray(true)


def divergence(true, said):
    return float(np.mean(true * np.log(true / said) + (1 - true) * np.log((1 - true) / (1 - said))))


@cache
def fitted(n_categories):
    table, y, _ = drawn(n_categories)
    return SegmentRecalibrator(method="boosting").fit(table, y)


@pytest.mark.slow
def test_many_categories_are_repaired():
    found = fitted(300)
    table, _, true = drawn(300, seed=1)
    after = found.predict_proba(table)[:, 1]
    assert divergence(true, after) < 0.7 * divergence(true, table.y_prob)
    assert found.chosen_ == "boosting"
    assert "most by store" in found.summary()
    again = SegmentRecalibrator(method="boosting").fit(*drawn(300)[:2])
    assert (again.predict_proba(table)[:, 1] == after).all()
    assert (pickle.loads(pickle.dumps(found)).predict_proba(table)[:, 1] == after).all()


CELLS = 6


def tallied(seed, n=300):
    """Rows of a number and of categories with some missing, and their sums by cell."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, [CELLS, CELLS - 1], (n, 2)).astype(np.int16)
    cells[rng.random(n) < 0.1, 1] = CELLS - 1
    features = corrections.Features(np.array([CELLS, CELLS - 1]), np.array([False, True]))
    residual, information = rng.normal(size=n), rng.uniform(0.0, 0.25, n)
    sums = np.zeros((2, CELLS + 1, 3))
    corrections.sums_by_cell(cells, np.arange(n), residual, information, sums)
    return cells, features, residual, information, sums


def gain_of(goes, residual, information, penalty):
    parts = [(residual[at].sum(), information[at].sum()) for at in (goes, ~goes, goes | ~goes)]
    left, right, whole = (g * g / (h + penalty) for g, h in parts)
    return left + right - whole


@examples(60)
@given(seed=st.integers(0, 10**6))
def test_no_division_of_cells_gains_more(seed):
    """Every place of the number and, where nothing shrinks their order, every set of categories was tried."""
    cells, features, residual, information, sums = tallied(seed)
    left = np.zeros(CELLS + 1, bool)
    gain, feature = best_cut(sums, *features, 1e-9, 1.0, 1e-9, np.empty(CELLS + 1, np.int64), left)
    goes = left[cells[:, feature]]
    gains = []
    for mask in range(1, 2**CELLS - 1):
        chosen = np.array([bool(mask >> k & 1) for k in range(CELLS)])
        gains.append(gain_of(chosen[cells[:, 1]], residual, information, 1e-9))
    gains += [gain_of(cells[:, 0] <= place, residual, information, 1e-9) for place in range(CELLS - 1)]
    assert gain == pytest.approx(max(gains))
    assert gain == pytest.approx(gain_of(goes, residual, information, 1e-9))


@examples(40)
@given(seed=st.integers(0, 10**6))
def test_a_tree_moves_rows_by_the_step_of_their_leaf(seed):
    """Rows of one leaf move alike, by a shrunk step of Newton's, and each leaf has enough rows."""
    cells, features, residual, information, _ = tallied(seed, 1000)
    grown = corrections._grown(cells, np.ascontiguousarray(cells.T), features, residual, information)
    if grown is None:
        return
    tree, leaves = grown
    change = tree.change(cells)
    assert (np.sort(np.concatenate(leaves)) == np.arange(1000)).all()
    for value, leaf in zip(tree.value[0], leaves, strict=False):
        assert leaf.size >= 50
        assert (change[leaf] == value).all()
        assert value == pytest.approx(0.05 * residual[leaf].sum() / (information[leaf].sum() + 10.0))
    assert change @ residual > 0.0


@examples(40)
@given(seed=st.integers(0, 10**6))
def test_a_tree_is_that_of_the_rows_in_any_order(seed):
    cells, features, residual, information, _ = tallied(seed, 1000)
    residual, information = np.round(256 * residual) / 256, np.round(256 * information) / 256  # sums are exact
    order = np.random.default_rng(seed).permutation(1000)
    one, other = (
        corrections._grown(cells[at], np.ascontiguousarray(cells[at].T), features, residual[at], information[at])
        for at in (np.arange(1000), order)
    )
    assert (one is None) == (other is None)
    assert one is None or (one[0].change(cells) == other[0].change(cells)).all()


@pytest.mark.slow
def test_many_rows_leave_one_part_out(monkeypatch):
    """Every method is then scored on the rows of that part; rows in groups are all left out in turn."""
    monkeypatch.setattr(corrections, "_MOST_TREES", 10)
    monkeypatch.setattr("calibrant.recalibration.by_segment.estimator._MANY_ROWS", 400)
    table, y, _ = drawn(20, n=2000)
    fits = []
    crossed = Candidates.crossed
    monkeypatch.setattr(
        Candidates, "crossed", lambda self, splits: fits.append((self.rows, splits)) or crossed(self, splits)
    )
    one = SegmentRecalibrator().fit(table, y)
    all_parts = SegmentRecalibrator().fit(table, y, groups=np.arange(2000))
    assert [len(splits) for _, splits in fits] == [1, 5]
    rows, [(_, at)] = fits[0]
    unchanged = next(score for score in one.scores_ if score.method == "unchanged")
    v = rows.prediction[at]
    assert unchanged.log == pytest.approx(-np.log(np.where(rows.outcome[at] == 1, v, 1.0 - v)).mean())
    assert one.chosen_ == all_parts.chosen_


def test_a_category_that_is_new_and_one_that_is_rare_are_treated_alike():
    table, _, _ = drawn(300)
    seen_once = next(each for each, n in table.store.value_counts().items() if n == 1)
    rows = table.iloc[100:110]
    event = [fitted(300).predict_proba(rows.assign(store=name))[:, 1] for name in ("new", seen_once)]
    assert (event[0] == event[1]).all()


@pytest.mark.parametrize("size", [2, 256])
def test_any_number_of_cells_is_fitted_and_predicted(size):
    """With rows of all of them, and where those of the last are only among rows left out."""
    rng = np.random.default_rng(size)
    cell = np.append(np.tile(np.arange(size), 4), rng.integers(0, size, 400))
    n = cell.size
    rows = Fitting(np.zeros(n), (rng.random(n) < np.where(cell % 2, 0.8, 0.2)) * 1.0, np.ones(n))
    cells = np.column_stack([rng.integers(0, 9, n), cell]).astype(np.int16)
    features = corrections.Features(np.array([9, size]), np.array([False, True]))
    for part in (rng.permutation(n), rng.permutation(np.flatnonzero(cell < max(size - 3, 1)))):
        trees, losses = corrections._fit(rows, cells, features, part[::2], part[1::2], 10)
        assert losses[0] == pytest.approx(np.log(2.0))
        if trees is None:  # too few rows to divide
            assert (size, len(losses)) == (2, 1)
            continue
        assert trees.n_trees == 10
        assert np.isfinite(trees.change(cells)).all()
        assert size > 2 or losses[-1] < losses[0]


def test_whole_numbers_are_told_apart_and_infinite_ones_are_the_largest():
    large = 2**53 + np.arange(3)
    with pytest.raises(InputError, match="whole numbers beyond 2"):
        _of_array(large, "x")
    assert _of_array(large.astype(float), "x").tolist() == large.astype(float).tolist()
    assert np.isfinite(_of_array(np.array([np.inf, 1.0, -np.inf]), "x")).all()
    assert _of_array(np.arange(3), "x").tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("column", "read"),
    [
        (["a", None], ["a", None]),
        ([None, None], [None, None]),
        ([True, None], ["True", None]),
        ([1, None], [1.0, np.nan]),
        ([np.nan, np.nan], [np.nan, np.nan]),
    ],
)
def test_texts_without_a_text_stay_texts_and_numbers_without_a_number_numbers(column, read):
    found = _of_objects(column, "x")
    assert found.dtype == (object if None in read or "a" in read else np.float64)
    assert [*map(repr, found.tolist())] == [*map(repr, read)]
