"""Sums of whole groups in many places at once, and where there are groups enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse

from calibrant.door.columns import FloatArray, IntArray
from calibrant.resampling.redraw import LEAST_GROUPS

if TYPE_CHECKING:
    from calibrant.segments.candidates import FeatureLots


def sums_by_group(place: IntArray, group: IntArray, column: FloatArray, shape: tuple[int, int]) -> sparse.csr_array:
    """What a column adds up to in each place and group, of so many places and groups; fastest in order of groups."""
    return sparse.coo_array((column, (place, group)), shape).tocsr()


def summed(of_groups: sparse.csr_array) -> FloatArray:
    """Sums over the groups, of each place."""
    return np.asarray(of_groups.sum(axis=1), np.float64).ravel()


def squared(of_groups: sparse.csr_array, others: sparse.csr_array | None = None) -> FloatArray:
    """Sums over the groups of the squares, or of products with others."""
    return summed(of_groups.multiply(of_groups if others is None else others))


def effective_number(total: FloatArray, squares: FloatArray) -> FloatArray:
    """(sum x)^2 / sum x^2, 0 where there is nothing."""
    held = squares > 0.0
    return np.where(held, total * total / np.where(held, squares, 1.0), 0.0)


def in_many_groups(units: FeatureLots, of: IntArray, place: IntArray, n_places: int) -> npt.NDArray[np.bool_]:
    """Whether events, and non-events, of the units `of` are to be expected in `LEAST_GROUPS` groups, in each place.

    Of the effective number of groups, (sum x)^2 / sum x^2 with x a group's events, both means are taken as if rows were
    independent: rows that go together hold theirs in fewer groups. Outcomes play no part.
    """
    group = grouped(units)[of]
    v, mass, weight = units.prediction[of], (units.weight * units.count)[of], units.weight[of]
    noise = np.bincount(place, weight * mass * v * (1.0 - v), n_places)
    many = np.ones(n_places, np.bool_)
    for chance in (v, 1.0 - v):
        mean = sums_by_group(place, group, mass * chance, (n_places, units.n_groups))
        many &= effective_number(summed(mean), squared(mean) + noise) >= LEAST_GROUPS
    return many


def grouped(units: FeatureLots) -> IntArray:
    """The group of each unit, where there are groups."""
    assert units.group is not None
    return units.group
