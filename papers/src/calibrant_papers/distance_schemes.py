"""The hardness paper's two approximation schemes for the true distance: few types, or few predicted values."""

from __future__ import annotations

__all__ = ["ApproximateDistance", "prediction_sparsified_distance", "type_sparsified_distance"]

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.arguments import TimeLimit, positive_integer
from calibrant.door.columns import Column, read_columns
from calibrant.door.ends import rounded_down, rounded_up
from calibrant.door.errors import InputError
from calibrant.door.values import Result
from calibrant.kernels.sums import dot
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.distance import partition_by_types

_MOST_STATES = 2_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApproximateDistance(Result):
    """A calibrated predictor that is proved to be nearly a nearest one.

    Attributes
    ----------
    value : float
        Its distance, in probability units.
    guarantee : float
        The true distance lies between `value - guarantee` and `value`.
    predictor : ndarray of shape (n,)
        Its predictions, one per row.

    See Also
    --------
    type_sparsified_distance, prediction_sparsified_distance, calibration_distance
    """

    value: float
    guarantee: float
    predictor: FloatArray

    def summary(self) -> str:
        """Say between what the true distance lies."""
        least = rounded_down(max(0.0, self.value - self.guarantee))
        return f"The true distance from calibration is at least {least} and at most {rounded_up(self.value)}."


def type_sparsified_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, epsilon: float = 0.25
) -> ApproximateDistance:
    """Approximate the true distance from calibration by rounding outcomes and masses to a few types.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `calibration_distance`.
    epsilon : float, default 0.25
        Conditional probabilities are rounded to its multiples and masses to powers of 1 + epsilon; masses below
        epsilon / n are set aside.

    Returns
    -------
    ApproximateDistance
        With a guarantee of at most epsilon for equal masses and 6 epsilon for any, computed from what rounding did.

    Raises
    ------
    InputError
        If a column cannot be used, or there are still too many elements and types for the dynamic program.

    See Also
    --------
    calibration_distance, prediction_sparsified_distance

    Notes
    -----
    Cost: a search over types, which grows fast as `epsilon` falls.

    References
    ----------
    Computational and Statistical Hardness of Calibration Distance, 2026, Lemmas 2, 3 and 5; docs/distance-general.md.

    Examples
    --------
    >>> from calibrant_papers.distance_schemes import type_sparsified_distance
    >>> found = type_sparsified_distance([0, 0.9, 1, 0.1], [0.2, 0.7, 0.9, 0.4], epsilon=0.5)
    >>> round(found.value, 6), round(found.guarantee, 6)
    (0.15, 0.05)
    """
    if not 0.0 < epsilon <= 1.0:
        raise InputError("epsilon", f"is {epsilon}; it must lie in (0, 1]")
    mass, v, y = _elements(y_true, y_prob, sample_weight)
    n = v.size
    rounded = np.minimum(np.round(y / epsilon) * epsilon, 1.0)
    step = np.floor(np.log(mass / mass.max()) / math.log1p(epsilon) + 1e-9)
    lighter = np.minimum(mass.max() * (1.0 + epsilon) ** step, mass)
    kept = mass >= epsilon / n
    labels = np.arange(n)  # what is set aside is moved to its own outcome
    found = partition_by_types(lighter[kept], v[kept], rounded[kept], TimeLimit(None))
    if found is None:
        raise InputError("epsilon", f"is {epsilon}: too many types are left among {n:,} elements; raise it")
    labels[kept] = n + found
    # What any partition may cost more in the rounded domain (docs/distance-general.md).
    more = lighter * np.abs(rounded - y) + (mass - lighter)
    more[~kept] = mass[~kept]
    least = _cost(lighter[kept], v[kept], _values(lighter[kept], rounded[kept], labels[kept])) - float(more.sum())
    return _approximation(mass, v, y, labels, least)


def prediction_sparsified_distance(
    y_true: Column, y_prob: Column, *, sample_weight: Column | None = None, cells: int = 3, units: int | None = None
) -> ApproximateDistance:
    """Approximate the true distance from calibration by predictors with at most one value in each cell of a grid.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `calibration_distance`.
    cells : int, default 3
        Cells of equal width.
    units : int, optional
        Masses of outcomes are rounded down to multiples of 1 / units; 4 n * cells by default.

    Returns
    -------
    ApproximateDistance
        With a guarantee of at most 3 / (2 cells) and what rounding adds, 6 n / units; computed from what it did.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, or the program has more than two million states.

    See Also
    --------
    calibration_distance, type_sparsified_distance

    Notes
    -----
    Cost: one program of the size of the cells, which grows fast with `cells`.

    References
    ----------
    Computational and Statistical Hardness of Calibration Distance, 2026, Lemmas 6 and 7 and Theorem 1.

    Examples
    --------
    >>> from calibrant_papers.distance_schemes import prediction_sparsified_distance
    >>> found = prediction_sparsified_distance([0, 1, 1, 0], [0.9, 0.1, 0.2, 0.8], cells=3, units=4)
    >>> round(found.value, 6), round(found.guarantee, 6)
    (0.35, 0.333333)
    """
    positive_integer(cells, "cells")
    mass, v, y = _elements(y_true, y_prob, sample_weight)
    n = v.size
    units = 4 * n * cells if units is None else units
    positive_integer(units, "units")
    ones = np.floor(mass * y * units + 1e-9).astype(np.int64)
    zeros = np.floor(mass * (1.0 - y) * units + 1e-9).astype(np.int64)
    middle = (np.arange(cells) + 0.5) / cells
    # State: zeros and ones of every cell, in units; what it maps to is the least cost and how it was reached.
    states: dict[tuple[int, ...], float] = {(0,) * (2 * cells): 0.0}
    came: list[dict[tuple[int, ...], tuple[tuple[int, ...], int]]] = []
    for i in range(n):
        reached: dict[tuple[int, ...], float] = {}
        steps: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
        price = (zeros[i] + ones[i]) / units * np.abs(v[i] - middle)
        for state, cost in states.items():
            for cell in range(cells):
                after = list(state)
                after[2 * cell] += int(zeros[i])
                after[2 * cell + 1] += int(ones[i])
                key = tuple(after)
                if cost + price[cell] < reached.get(key, math.inf):
                    reached[key] = cost + float(price[cell])
                    steps[key] = (state, cell)
        if len(reached) > _MOST_STATES:
            raise InputError("cells", f"is {cells}: more than {_MOST_STATES:,} states; lower cells or units")
        states = reached
        came.append(steps)
    valid = {state: cost for state, cost in states.items() if _within(state, cells)}
    state = min(valid, key=lambda each: valid[each])
    least = valid[state]
    labels = np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        state, labels[i] = came[i][state]
    # A best predictor's values, cell by cell, are within half a cell of their mean, and the cell's middle is of that.
    lost = float(np.abs(mass * y - ones / units).sum() + np.abs(mass * (1.0 - y) - zeros / units).sum())
    return _approximation(mass, v, y, labels, least - 1.0 / cells - lost)


def _within(state: tuple[int, ...], cells: int) -> bool:
    """Whether the mean outcome of every cell that is used lies in the cell."""
    return all(
        zeros + ones == 0 or cell * (zeros + ones) <= ones * cells <= (cell + 1) * (zeros + ones)
        for cell, (zeros, ones) in enumerate(zip(state[::2], state[1::2], strict=True))
    )


def _elements(
    y_true: Column, y_prob: Column, sample_weight: Column | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight)
    mass = np.full(prediction.size, 1.0 / prediction.size) if weight is None else weight / weight.sum()
    if not mass.all():
        row = int(np.argmin(mass))
        raise InputError("sample_weight", f"row {row} carries no mass; every element needs some here", row=row)
    return mass, prediction, outcome


def _values(mass: FloatArray, y: FloatArray, labels: IntArray) -> FloatArray:
    """Mean outcome of each element's part."""
    _, part = np.unique(labels, return_inverse=True)
    return np.asarray((np.bincount(part, mass * y) / np.bincount(part, mass))[part], dtype=np.float64)


def _cost(mass: FloatArray, v: FloatArray, value: FloatArray) -> float:
    return dot(mass, np.abs(v - value))


def _approximation(
    mass: FloatArray, v: FloatArray, y: FloatArray, labels: IntArray, least: float
) -> ApproximateDistance:
    """What a partition attains, where no partition costs less than `least`."""
    predictor = _values(mass, y, labels)
    value = _cost(mass, v, predictor)
    return ApproximateDistance(value, value - min(max(least, 0.0), value), predictor)
