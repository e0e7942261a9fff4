"""Repair by a feature of more categories than scikit-learn's trees take."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from calibrant.recalibration import SegmentRecalibrator
from calibrant.recalibration.by_segment import boosting
from calibrant.recalibration.by_segment.corrections import Fitting
from calibrant.recalibration.by_segment.estimator import Candidates
from tests.strategies import examples


@pytest.fixture(autouse=True)
def without_lightgbm(monkeypatch):
    monkeypatch.setattr(boosting, "has_lightgbm", lambda: False)
    monkeypatch.setattr(boosting, "_MOST_TREES", 60)


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
    return SegmentRecalibrator(method="boosting", random_state=0).fit(table, y)


@pytest.mark.slow
@pytest.mark.parametrize("n_categories", [300])
def test_many_categories_are_repaired(n_categories):
    found = fitted(n_categories)
    table, _, true = drawn(n_categories, seed=1)
    after = found.predict_proba(table)[:, 1]
    assert divergence(true, after) < 0.7 * divergence(true, table.y_prob)
    assert found.chosen_ == "boosting"
    assert "most by store" in found.summary()
    again = SegmentRecalibrator(method="boosting", random_state=0).fit(*drawn(n_categories)[:2])
    assert (again.predict_proba(table)[:, 1] == after).all()
    assert (pickle.loads(pickle.dumps(found)).predict_proba(table)[:, 1] == after).all()


def rows_of(seed, n=400, size=260):
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, size, n).astype(float)
    cell[rng.random(n) < 0.1] = np.nan
    table = np.column_stack([rng.random(n), cell])
    rows = Fitting(rng.normal(size=n), (rng.random(n) < 0.4) * 1.0, rng.integers(0, 3, n) * 1.0)
    return rng, rows, table, {1: size}


@examples(60)
@given(seed=st.integers(0, 10**6))
def test_numbers_of_categories_come_from_the_rows_of_the_fit_alone(seed):
    """Outcomes and weights of all other rows tell nothing, and a category that only they have stands for 0."""
    rng, rows, table, sizes = rows_of(seed)
    at = np.flatnonzero(rng.random(400) < 0.5)
    others = np.setdiff1d(np.arange(400), at)
    outcome, weight = rows.outcome.copy(), rows.weight.copy()
    outcome[others], weight[others] = 1.0 - outcome[others], 7.0
    found = boosting._ranks_of(rows, table, sizes, at)[1]
    other = boosting._ranks_of(Fitting(rows.offset, outcome, weight), table, sizes, at)[1]
    assert np.array_equal(found, other, equal_nan=True)
    absent = np.setdiff1d(np.arange(260), table[at, 1])
    assert absent.size
    assert (found[absent] == 0.0).all()
    ranked = boosting._ranked(table, {1: found})
    assert (np.isnan(ranked[:, 1]) == np.isnan(table[:, 1])).all()
    assert (ranked[:, 0] == table[:, 0]).all()
    for cell in np.unique(table[at, 1][~np.isnan(table[at, 1])])[:5]:
        part = at[table[at, 1] == cell]
        residual, information = (each[part].sum() for each in rows.residual_and_information(rows.offset))
        assert ranked[part, 1] == pytest.approx(residual / (information + 10.0), abs=1e-14)


@examples(30)
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_so_many_rows(seed):
    _, rows, table, sizes = rows_of(seed)
    many = np.repeat(np.arange(400), rows.weight.astype(int))
    single = Fitting(rows.offset[many], rows.outcome[many], np.ones(many.size))
    found = boosting._ranks_of(rows, table, sizes, np.arange(400))[1]
    assert found == pytest.approx(boosting._ranks_of(single, table[many], sizes, np.arange(many.size))[1], nan_ok=True)


@examples(100)
@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=600), st.booleans())
def test_neighbours_share_a_value_where_trees_have_too_few_bins(values, fewer):
    rank = np.append(np.round(values, 1) if fewer else values, np.nan)
    found = boosting._in_bins(rank)
    assert np.isnan(found[-1])
    rank, found = rank[:-1], found[:-1]
    n_distinct = np.unique(rank).size
    assert np.unique(found).size == min(n_distinct, 255)
    assert n_distinct > 255 or (found == rank).all()
    assert (np.diff(found[np.argsort(rank)]) >= 0.0).all()
    assert (found[rank == 0.0] == 0.0).all()
    assert (found * rank >= 0.0).all()
    assert set(found.tolist()) <= set(rank.tolist()) | {0.0}


def test_many_rows_leave_one_part_out(monkeypatch):
    """Every method is then scored on the rows of that part; rows in groups are all left out in turn."""
    monkeypatch.setattr(boosting, "_MOST_TREES", 10)
    monkeypatch.setattr("calibrant.recalibration.by_segment.estimator._MANY_ROWS", 400)
    table, y, _ = drawn(20, n=2000)
    fits = []
    crossed = Candidates.crossed
    monkeypatch.setattr(Candidates, "crossed", lambda self, splits: fits.append(splits) or crossed(self, splits))
    one = SegmentRecalibrator(random_state=0).fit(table, y)
    all_parts = SegmentRecalibrator(random_state=0).fit(table, y, groups=np.arange(2000))
    assert [len(each) for each in fits] == [1, 5]
    at = fits[0][0][1]
    unchanged = next(score for score in one.scores_ if score.method == "unchanged")
    v = table.y_prob.to_numpy()[at]
    assert unchanged.log == pytest.approx(-np.log(np.where(y[at] == 1, v, 1.0 - v)).mean())
    assert one.chosen_ == all_parts.chosen_


@pytest.mark.slow
def test_a_category_that_is_new_and_one_that_is_rare_are_treated_alike():
    table, _, _ = drawn(300)
    seen_once = next(each for each, n in table.store.value_counts().items() if n == 1)
    rows = table.iloc[100:110]
    event = [fitted(300).predict_proba(rows.assign(store=name))[:, 1] for name in ("new", seen_once)]
    assert (event[0] == event[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 255, 256])
def test_any_number_of_cells_is_fitted_and_predicted(size):
    """With rows of all of them, and where those of the last are only among rows left out."""
    rng = np.random.default_rng(size)
    cell = np.append(np.tile(np.arange(size), 4), rng.integers(0, size, 400)).astype(float)
    n = cell.size
    rows = Fitting(np.zeros(n), (rng.random(n) < np.where(cell % 2, 0.8, 0.2)) * 1.0, np.ones(n))
    table = np.column_stack([rng.random(n), cell])
    for part in (rng.permutation(n), rng.permutation(np.flatnonzero(cell < max(size - 3, 1)))):
        trees = boosting._with_scikit_learn(rows, table, {1: size}, 0, part[::2], part[1::2], 10)[0]
        assert np.isfinite(trees.change(table)).all()
        assert set(trees.ranks) == ({1} if size > 255 else set())
