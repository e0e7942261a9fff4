"""Boosted trees that correct log-odds: by lightgbm where it is installed, else by scikit-learn's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from calibrant.door.columns import FloatArray, IntArray
from calibrant.recalibration.by_segment.corrections import Fitting
from calibrant.resampling.folds import Split

_LEAVES = 8
_LEAST_ROWS = 50  # to a leaf
_RATE = 0.05
_PENALTY = 10.0
_PATIENCE = 20  # trees without a better log score on the rows left out
_MOST_TREES = 400
_LEAST_INFORMATION = 1e-9  # of a row, beside the row with most
_FEW_ROWS = 1_000_000  # which one thread fits as fast as several, and many times as fast where these wait for others
_MOST_CATEGORIES = 255  # that scikit-learn's trees take
_TREES_A_STEP = 5  # of scikit-learn's, between two steps of Newton's

Ranks = dict[int, FloatArray]
"""By feature, the number that stands for each of its categories; the last is NaN, for missing values."""


class Boosted(Protocol):
    """Trees that were fitted."""

    n_trees: int

    def change(self, table: FloatArray) -> FloatArray:
        """Return the term added to the log-odds of each row."""
        ...


def most_moved(trees: Boosted, table: FloatArray, names: Sequence[str | int]) -> str:
    """Say how far the trees move the log-odds of these rows, and by which features most.

    A feature counts by how its cells' mean changes spread over the rows; the first column is the prediction.
    """
    change = trees.change(table)
    spread = []
    for column in table.T:
        cell = np.unique(column, return_inverse=True)[1]  # NaN is one cell
        mean = np.bincount(cell, change) / np.bincount(cell)
        spread.append(float(np.std(mean[cell])))
    first = sorted(range(1, len(names)), key=lambda k: -spread[k])[:2]
    by = " and ".join(str(names[k]) for k in first if spread[k] > 0.0)
    moved = f" (log-odds move by {np.abs(change).mean():.2g} on average, by {np.abs(change).max():.2g} at most"
    return f"{moved}, most by {by})" if by else f"{moved})"


def has_lightgbm() -> bool:
    """Whether lightgbm is installed."""
    return find_spec("lightgbm") is not None


def fit_boosted(
    rows: Fitting, table: FloatArray, sizes: Mapping[int, int], splits: list[Split], seed: int
) -> Boosted | None:
    """Trees on the features with the old log-odds as offset, as many as do best on rows left out; None if none does.

    `table` holds numbers of cells, NaN where a value is missing; `sizes` how many cells each feature of categories has.
    How many trees do best on the rows that each split leaves out, on average, is what is then fitted to all rows.
    """
    fit = _with_lightgbm if has_lightgbm() else _with_scikit_learn
    with threadpool_limits(1 if rows.offset.size < _FEW_ROWS else None, user_api="openmp"):
        curves = [fit(rows, table, sizes, seed, inside, outside, _MOST_TREES)[1] for inside, outside in splits]
        longest = max(map(len, curves))
        # A curve ends where it has risen for long: it stays there.
        mean = np.mean([curve + [curve[-1]] * (longest - len(curve)) for curve in curves], axis=0)
        steps = int(np.argmin(mean))
        return fit(rows, table, sizes, seed, np.arange(rows.offset.size), None, steps)[0] if steps else None


class _OfLightgbm:
    def __init__(self, booster: Any, n_trees: int) -> None:
        self.booster, self.n_trees = booster, n_trees

    def change(self, table: FloatArray) -> FloatArray:
        return np.asarray(self.booster.predict(table, raw_score=True), dtype=np.float64)


def _with_lightgbm(
    rows: Fitting,
    table: FloatArray,
    sizes: Mapping[int, int],
    seed: int,
    at: IntArray,
    validation: IntArray | None,
    most: int,
) -> tuple[Boosted, list[float]]:
    import lightgbm

    options = {"feature_pre_filter": False, "verbosity": -1}

    def data(part: IntArray, reference: Any = None) -> Any:
        return lightgbm.Dataset(
            table[part],
            rows.outcome[part],
            weight=rows.weight[part],
            init_score=rows.offset[part],
            categorical_feature=list(sizes),
            reference=reference,
            params=options,
        )

    training = data(at)
    training.construct()
    # The first entry is the log score before any tree: early stopping would count from the first tree.
    losses: list[float] = [] if validation is None else [_loss(rows, rows.offset, validation)]

    def watch(environment: Any) -> None:
        losses.append(environment.evaluation_result_list[0][2])
        if len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE:
            raise lightgbm.callback.EarlyStopException(len(losses), environment.evaluation_result_list)

    booster = lightgbm.train(
        {
            **options,
            "objective": "binary",
            "metric": "binary_logloss",
            "boost_from_average": False,
            "learning_rate": _RATE,
            "num_leaves": _LEAVES,
            "min_data_in_leaf": _LEAST_ROWS,
            "min_sum_hessian_in_leaf": 1.0,
            "lambda_l2": _PENALTY,
            "cat_l2": _PENALTY,
            "deterministic": True,
            "force_row_wise": True,
            "seed": seed,
            "num_threads": 1 if at.size < _FEW_ROWS else 0,
        },
        training,
        num_boost_round=most,
        valid_sets=None if validation is None else [data(validation, training)],
        callbacks=None if validation is None else [watch],
    )
    return _OfLightgbm(booster, most), losses


class _OfScikitLearn:
    def __init__(self, steps: list[Any], ranks: Ranks) -> None:
        self.steps, self.n_trees, self.ranks = steps, len(steps) * _TREES_A_STEP, ranks

    def change(self, table: FloatArray) -> FloatArray:
        ranked = _ranked(table, self.ranks)
        return sum((each.predict(ranked) for each in self.steps), np.zeros(len(table)))


def _ranks_of(rows: Fitting, table: FloatArray, sizes: Mapping[int, int], at: IntArray) -> Ranks:
    """By how much each category moves log-odds in these rows, shrunk; 0 for one that none of them has.

    Of features with more categories than scikit-learn takes. Trees part such numbers in their order, which is the order
    that the first of them would part the categories in (Fisher 1958).
    """
    residual, information = (each[at] for each in rows.residual_and_information(rows.offset))
    ranks = {}
    for feature, size in sizes.items():
        if size > _MOST_CATEGORIES:
            cell = _numbered(table[at, feature], size)
            slope, bend = (np.bincount(cell, each, size + 1)[:-1] for each in (residual, information))
            ranks[feature] = np.append(slope / (bend + _PENALTY), np.nan)
    return ranks


def _in_bins(rank: FloatArray) -> FloatArray:
    """At most as many values as trees have bins: neighbours share the one nearest 0; NaN stays.

    With more of them each fit would look for weighted quantiles of all rows, bin by bin.
    """
    distinct, which = np.unique(rank[:-1], return_inverse=True)
    starts = np.unique(np.arange(_MOST_CATEGORIES) * distinct.size // _MOST_CATEGORIES)
    above, below = (each.reduceat(distinct, starts) for each in (np.minimum, np.maximum))
    nearest = np.where(above > 0.0, above, np.minimum(below, 0.0))
    return np.append(np.repeat(nearest, np.diff(starts, append=distinct.size))[which], np.nan)


def _numbered(column: FloatArray, size: int) -> IntArray:
    """Cells as whole numbers; `size` is that of missing values."""
    return np.where(np.isnan(column), size, column).astype(np.int64)


def _ranked(table: FloatArray, ranks: Ranks) -> FloatArray:
    """The table with these features as numbers."""
    ranked = table.copy() if ranks else table
    for feature, rank in ranks.items():
        ranked[:, feature] = rank[_numbered(table[:, feature], rank.size - 1)]
    return ranked


def _with_scikit_learn(
    rows: Fitting,
    table: FloatArray,
    sizes: Mapping[int, int],
    seed: int,
    at: IntArray,
    validation: IntArray | None,
    most: int,
) -> tuple[Boosted, list[float]]:
    """Few trees at a time to Newton's working response: its classifier takes no offset (its issue 27109)."""
    steps: list[Any] = []
    score = rows.offset.copy()
    ranks = {feature: _in_bins(rank) for feature, rank in _ranks_of(rows, table, sizes, at).items()}
    table = _ranked(table, ranks)
    categories = [each for each in sizes if each not in ranks]
    losses = [] if validation is None else [_loss(rows, score, validation)]
    for _ in range(most if validation is None else most // _TREES_A_STEP):
        residual, information = (each[at] for each in rows.residual_and_information(score))
        trees = HistGradientBoostingRegressor(
            learning_rate=_RATE,
            max_iter=_TREES_A_STEP,
            max_leaf_nodes=_LEAVES,
            min_samples_leaf=_LEAST_ROWS,
            l2_regularization=_PENALTY,
            categorical_features=categories or None,
            early_stopping=False,
            random_state=seed,
        )
        # With these weights a leaf is -G / (H + penalty) and a split gains G^2 / (H + penalty), as for a classifier.
        weight = np.maximum(information, _LEAST_INFORMATION * (information.max() or 1.0))
        trees.fit(table[at], residual / weight, sample_weight=weight)
        change = trees.predict(table)
        if not steps and np.ptp(change[at]) == 0.0:
            break  # without a split it only shifts all rows, which is no correction by features
        steps.append(trees)
        score = score + change
        if validation is not None:
            losses.append(_loss(rows, score, validation))
            if (len(losses) - 1 - int(np.argmin(losses))) * _TREES_A_STEP >= _PATIENCE:
                break
    return _OfScikitLearn(steps, ranks), losses


def _loss(rows: Fitting, score: FloatArray, at: IntArray) -> float:
    """Mean log score of some rows."""
    outcome, weight = rows.outcome[at], rows.weight[at]
    return float(weight @ np.logaddexp(0.0, np.where(outcome > 0.5, -score[at], score[at])) / max(weight.sum(), 1e-300))
