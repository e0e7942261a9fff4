"""Columns of a user's as independent draws: rows, weighted rows, rows of trials, or groups of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.door.arguments import positive
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import InputError
from calibrant.door.premises import Premises
from calibrant.door.rows import Rows, read_groups, read_trials, require_single_outcomes
from calibrant.door.sample import Sample
from calibrant.inference.bounds.cells import Cells
from calibrant.inference.bounds.units import Units

Draws = Units | Cells
"""What is drawn independently: units, or rows in cells of which only sums are known."""

SEED = 20_230_618
"""Of draws that decide nothing by themselves; part of the method, no option."""
_OUTWARDS = 1.0 + 1e-12  # more than a sum of weights is rounded by


def read_draws(
    y_true: Column,
    y_prob: Column,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    max_weight: float | None = None,
    *,
    batch: bool = False,
) -> tuple[Sample, Units]:
    """Read columns, once; a `batch` as in `read_columns`.

    Raises
    ------
    InputError
        As the door does; if outcomes are shares without trials; if rows can weigh differently and `max_weight` is not
        said, or is exceeded.
    """
    if sample_weight is None and trials is None and groups is None:
        if max_weight is not None:
            problem = "has no effect: there are no weights, trials or groups"
            raise InputError("max_weight", problem)
        sample = Rows.of(y_true, y_prob).sample
        return sample, Units.of_sample(sample)
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight, batch=batch)
    if trials is None:
        require_single_outcomes(outcome)
    count = None if trials is None else read_trials(trials, prediction.size, 2.0**53)
    group = None if groups is None else read_groups(groups, prediction.size)
    return draws_of(outcome, prediction, weight, count, group, max_weight)


def premises_of_draws(
    plain: Premises, units: Units, sample_weight: object, trials: object, groups: object, max_weight: float | None
) -> Premises:
    """Return premises of draws that were read from these columns, besides those of any rows."""
    return replace(
        plain,
        grouped=groups is not None,
        n_groups=None if groups is None else int(units.n_units),
        weighted=sample_weight is not None,
        trials=trials is not None,
        max_weight=max_weight,
    )


def draws_of(
    outcome: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None,
    trials: FloatArray | None,
    group: IntArray | None,
    max_weight: float | None,
) -> tuple[Sample, Units]:
    """Take rows with weights, trials or groups that were validated already, with outcomes as shares of events."""
    if max_weight is None:
        problem = "is needed with weights, trials or groups: the largest weight in the rows is no bound"
        allowed = "the most that one row can weigh (a row of trials: their number; with groups: a whole group)"
        raise InputError("max_weight", problem, allowed=f"{allowed}, known before the rows were drawn")
    most = positive(max_weight, "max_weight")
    w = np.ones(prediction.size) if weight is None else weight
    if trials is not None:
        w = w * trials
    order = np.lexsort((w, outcome, prediction))
    y, v, w = outcome[order], prediction[order] + 0.0, w[order]
    unit = None if group is None else _in_order(group[order], y, v, w)
    each = w if unit is None else np.bincount(unit, w)
    if each.max() > most * _OUTWARDS:
        most_of = np.argmax(each)
        row = int(order[most_of] if unit is None else order[unit == most_of].min())
        what = f"{'' if unit is None else 'the group of '}row {row} (from 0)"
        raise InputError("max_weight", f"is {max_weight:g}, but {what} weighs {each.max():g}", row=row)
    return Sample.of_arrays(y, v, w), Units(y, v, w, unit, np.ones(each.size), max(most, float(each.max())))


def _in_order(unit: IntArray, y: FloatArray, v: FloatArray, w: FloatArray) -> IntArray:
    """Groups numbered by their contents, not their names: lines with equal contents have one number."""
    new = np.ones(v.size, dtype=np.int64)
    new[1:] = (v[1:] != v[:-1]) | (y[1:] != y[:-1]) | (w[1:] != w[:-1])
    content = np.cumsum(new) - 1
    key = np.bincount(unit, np.random.default_rng(SEED).random(int(content[-1]) + 1)[content])
    rank = np.empty(key.size, np.int64)
    rank[np.argsort(key, kind="stable")] = np.arange(key.size)
    return rank[unit]
