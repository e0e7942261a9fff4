"""Boosted trees on cells of features: sums in the cells of a leaf, its best division, and rows' way through trees."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.types import FloatArray, IntArray


@njit(cache=True, nogil=True)
def sums_by_cell(
    cells: IntArray, rows: IntArray, residual: FloatArray, information: FloatArray, sums: FloatArray
) -> None:
    """Add residual, information and number of these rows to sums of shape (features, cells, 3)."""
    for at in range(rows.size):
        row = rows[at]
        for feature in range(cells.shape[1]):
            cell = cells[row, feature]
            sums[feature, cell, 0] += residual[row]
            sums[feature, cell, 1] += information[row]
            sums[feature, cell, 2] += 1.0


@inner
def in_order(sums: FloatArray, last: int, category: bool, penalty: float, order: IntArray) -> None:
    """Fill in the cells of a feature in their order, those of categories by mean residual, shrunk as a leaf's is."""
    for cell in range(last):
        at = cell
        if category:
            key = sums[cell, 0] / (sums[cell, 1] + penalty)
            while at > 0 and sums[order[at - 1], 0] / (sums[order[at - 1], 1] + penalty) > key:
                order[at] = order[at - 1]
                at -= 1
        order[at] = cell


@njit(cache=True, nogil=True)
def best_cut(
    sums: FloatArray, missing: IntArray, categories: np.ndarray, penalty: float, least_rows: float,
    least_information: float, order: IntArray, left: np.ndarray,
) -> tuple[float, int]:  # fmt: skip
    """Find the division of a leaf that gains most; return twice its gain, and the feature, and fill in what goes left.

    A number is cut at a place, categories in the order of their mean residual, which is shrunk here; unshrunk, the
    best division keeps them in it (Fisher 1958). Missing values, the last cell of each feature, go where more is
    gained. The gain is 0 where no division leaves enough on both sides. order and left have room for all cells; left is
    False.
    """
    slope, bend, rows = 0.0, 0.0, 0.0
    for cell in range(missing[0] + 1):
        slope += sums[0, cell, 0]
        bend += sums[0, cell, 1]
        rows += sums[0, cell, 2]
    alone = slope * slope / (bend + penalty)
    best, chosen, place, side = 0.0, 0, 0, 0
    for feature in range(missing.size):
        last = missing[feature]
        in_order(sums[feature], last, categories[feature], penalty, order)
        for with_missing in range(2):
            g, h, n = 0.0, 0.0, 0.0
            if with_missing == 1:
                g, h, n = sums[feature, last, 0], sums[feature, last, 1], sums[feature, last, 2]
                if n == 0.0:
                    break
            for at in range(last):
                cell = order[at]
                g += sums[feature, cell, 0]
                h += sums[feature, cell, 1]
                n += sums[feature, cell, 2]
                if n < least_rows or h < least_information:
                    continue
                if rows - n < least_rows or bend - h < least_information:
                    break
                gain = g * g / (h + penalty) + (slope - g) * (slope - g) / (bend - h + penalty) - alone
                if gain > best:
                    best, chosen, place, side = gain, feature, at, with_missing
    if best > 0.0:
        in_order(sums[chosen], missing[chosen], categories[chosen], penalty, order)
        for at in range(place + 1):
            left[order[at]] = True
        left[missing[chosen]] = side == 1
    return best, chosen


@njit(cache=True, nogil=True)
def walked(
    cells: IntArray, feature: IntArray, left: np.ndarray, below: IntArray, value: FloatArray, change: FloatArray
) -> None:
    """Add what every tree says of each row to change.

    Node s of tree t asks for `feature[t, s]`; a row whose cell is in `left[t, s]` goes to `below[t, s, 0]`, others to
    `below[t, s, 1]`. A number below 0 is a leaf, -1 - k the one with `value[t, k]`. The first node is 0.
    """
    for row in range(cells.shape[0]):
        total = 0.0
        for tree in range(feature.shape[0]):
            node = 0
            while node >= 0:
                right = 1 - int(left[tree, node, cells[row, feature[tree, node]]])
                node = below[tree, node, right]
            total += value[tree, -1 - node]
        change[row] += total
