"""Sums of whole groups in many places at once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from calibrant.door.columns import FloatArray, IntArray


def sums_by_group(place: IntArray, group: IntArray, column: FloatArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Sums of a column in each place and group, `shape` of them; fastest in order of groups."""
    return sparse.coo_array((column, (place, group)), shape).tocsr()


def summed(of_groups: sparse.csr_array) -> FloatArray:
    """Sums over the groups, of each place."""
    return np.asarray(of_groups.sum(axis=1), np.float64).ravel()


def squared(of_groups: sparse.csr_array, others: sparse.csr_array | None = None) -> FloatArray:
    """Sums over the groups of the squares, or of products with others."""
    return summed(of_groups.multiply(of_groups if others is None else others))


def effective_number(total: FloatArray, squares: FloatArray) -> FloatArray:
    """(sum x)^2 / sum x^2, 0 where there is nothing."""
    positive = squares > 0.0
    return np.where(positive, total * total / np.where(positive, squares, 1.0), 0.0)
