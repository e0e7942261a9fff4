"""True distance of domains of some tens of elements: a relaxation, and exact cover by parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels import columns, partitions
from calibrant.kernels.segments import cut
from calibrant.kernels.sums import dot
from calibrant.kernels.types import FloatArray, IntArray
from calibrant.measures.clock import Clock
from calibrant.measures.distance_proof import rounding_of_cover

_ELEMENTS = 128  # beyond, the relaxation takes too long
_GRID = 65  # values that are tried besides those of the elements
_ROUNDS = 6
_FEASIBLE = 1e-6
_CELLS = 256
_STEPS, _PARTS = 100_000_000, 20_000  # some seconds; and some ten in the exact cover
_NODES = 2_000
_FRACTION, _SMALLEST = 1.0 / 32.0, 1e-7  # of the gap; the first budget, doubled until it is the gap
_CLOSED = 5e-10
_UNITS = 1000.0  # a budget, in the units of the exact cover: its tolerances are 1e-7 and 1e-6 of one unit


@dataclass(frozen=True, slots=True, eq=False)
class ElementRelaxation:
    """Cheapest way to move shares of elements, each with its own mix of outcomes, to calibrated values.

    Attributes
    ----------
    credit : ndarray of shape (n,)
        No part costs less than the credits of its elements, weighted by their masses.
    target : ndarray of shape (n,)
        Mean value to which each element's shares move.
    """

    credit: FloatArray
    target: FloatArray


def element_relaxation(mass: FloatArray, v: FloatArray, y: FloatArray, clock: Clock) -> ElementRelaxation:
    """Solve the relaxation on a growing set of values, and lower its credits until they hold at all values."""
    values = np.unique(np.concatenate([np.linspace(0.0, 1.0, _GRID), v, y]))
    place = np.empty(v.size)
    for rounds in range(_ROUNDS):
        credit, target = _solved(mass, v, y, values)
        over = columns.credit_overdraft(v, y, credit, place)
        if over.max() <= _FEASIBLE or clock.up or rounds == _ROUNDS - 1:
            break
        values = np.union1d(values, place[over > 0.5 * _FEASIBLE])
    return ElementRelaxation(credit - max(float(over.max()), 0.0), target)


def _solved(mass: FloatArray, v: FloatArray, y: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Credits, and mean targets of the elements: least cost of shares x[i, k] of element i at value k."""
    n, size = v.size, values.size
    element, value = np.divmod(np.arange(n * size), size)
    share = np.arange(n * size)
    rows = np.concatenate([element, n + value])
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    whole_and_calibrated = csr_array(
        (np.append(np.ones(n * size), y[element] - values[value]), (rows, np.tile(share, 2)))
    )
    distance = np.abs(v[element] - values[value])
    solved = linprog(distance, A_eq=whole_and_calibrated, b_eq=np.append(mass, np.zeros(size)), method="highs-ds")
    if solved.x is None:  # any credits that are returned are made to hold
        return np.zeros(n), v.copy()
    moved = np.maximum(solved.x.reshape(n, size), 0.0)
    total = moved.sum(axis=1)
    target = np.divide(moved @ values, total, out=v.copy(), where=total > 0.0)  # tolerances may lose a tiny element
    return np.asarray(solved.eqlin.marginals[:n], dtype=np.float64), target


def partition_by_columns(
    mass: FloatArray, v: FloatArray, y: FloatArray, labels: IntArray, clock: Clock
) -> tuple[IntArray, float]:
    """Return a partition at least as good as `labels`, and a lower bound of what any costs; 0 for too many elements.

    They meet, to 1e-9, where the parts within the gap of the relaxation can be listed and the exact cover by them is
    solved. Cost: seconds, to some minutes without a time limit.
    """
    if v.size > _ELEMENTS:
        return labels, 0.0
    relaxation = element_relaxation(mass, v, y, clock)
    credit = relaxation.credit
    order = np.lexsort((v, np.round(relaxation.target, 9)))
    start = clock.run(cut, mass[order], v[order], y[order], np.arange(v.size + 1), v.size, clock.stop)
    rounded = np.empty(v.size, np.int64)
    rounded[order] = np.repeat(np.arange(start.size), np.diff(np.append(start, v.size)))
    starts = [np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (labels, rounded)]
    for each in starts:
        clock.run(partitions.improve, mass, v, y, each, clock.stop)
    labels = min(starts, key=lambda each: _cost(mass, v, y, each))
    relaxed = dot(mass, credit)
    proven, gap = max(relaxed, 0.0), _cost(mass, v, y, labels) - relaxed
    budget = max(_FRACTION * gap, _SMALLEST)
    while relaxed + gap - proven > _CLOSED and not clock.up:
        budget = min(budget, gap)
        parts: columns.Parts = clock.run(
            columns.parts_within, mass, v, y, credit, budget, _CELLS, (_STEPS, _PARTS), clock.stop
        )
        if not parts.complete:
            break
        cover, bound = _exact_cover(parts, v.size, budget, clock)
        if cover is not None and _cost(mass, v, y, cover) - relaxed < gap:
            labels, gap = cover, _cost(mass, v, y, cover) - relaxed
        # A partition that costs less than the budget beyond its credit is made of such parts.
        proven = max(proven, relaxed + min(budget, bound))
        budget = 2.0 * budget if 3.0 * budget < gap else gap
    rounding = rounding_of_cover(v.size, float(np.abs(credit).max()))
    return labels, min(proven, relaxed + gap) - rounding


def _exact_cover(parts: columns.Parts, n: int, budget: float, clock: Clock) -> tuple[IntArray | None, float]:
    """Cheapest partition into some of the parts, if one was found, and a lower bound of its excess."""
    if np.unique(parts.members).size < n:
        return None, np.inf
    count = parts.excess.size
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_array

    members = csc_array((np.ones(parts.members.size), parts.members, parts.start), shape=(n, count))
    limit = {"node_limit": _NODES} if clock.left is None else {"time_limit": max(clock.left, 1e-3)}
    unit = budget / _UNITS
    solved = milp(
        parts.excess / unit,
        constraints=LinearConstraint(members, 1.0, 1.0),
        integrality=np.ones(count),
        bounds=Bounds(0.0, 1.0),
        options={"mip_rel_gap": 0.0, **limit},
    )
    if solved.status == 2:
        return None, np.inf
    # Each part of a cover may be off by the dual tolerance, and the search stops within its absolute gap.
    bound = 0.0 if solved.mip_dual_bound is None else (float(solved.mip_dual_bound) - 1e-7 * n - 1e-6) * unit
    if solved.x is None:
        return None, bound
    label = np.full(n, -1, np.int64)
    for name, part in enumerate(np.flatnonzero(solved.x > 0.5)):
        label[parts.members[parts.start[part] : parts.start[part + 1]]] = name
    return (label if label.min() >= 0 else None), bound


def _cost(mass: FloatArray, v: FloatArray, y: FloatArray, labels: IntArray) -> float:
    total = np.bincount(labels, mass)
    mean = np.bincount(labels, mass * y) / np.where(total > 0.0, total, 1.0)
    return dot(mass, np.abs(v - mean[labels]))
