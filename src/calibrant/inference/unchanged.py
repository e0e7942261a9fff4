"""Unchanged since then: do predictions mean what they meant in a reference period, whether calibrated or not?"""

from __future__ import annotations

__all__ = ["ReferenceReading"]

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.outwards import at_most
from calibrant.door.values import Result

_SHARES = 0.9, 0.05, 0.03, 0.02  # of the error, for tests of 1, 2, 4 and 8 intervals of predictions
_ROWS_A_CELL = 16  # of the reference, at least, in the mean: a rate is one number in a cell
_EXACT = 1e-9  # share of a sum that its rounding can be


@dataclass(frozen=True, slots=True, repr=False)
class ReferenceReading(Result):
    """Evidence, up to a period's end, that predictions mean something else than they did in a reference period.

    Attributes
    ----------
    reference : str
        The reference: a period, or the first and the last of several.
    pvalue : float
        Smallest so far, adjusted for every interval and period that was looked at: valid whenever one looks.
    reject : bool
        Whether it has ever been at most the level.
    level : float
        Probability of any false alarm, in all periods together, at most.
    difference : float
        Event rate of the period's rows less the reference's at the same predictions, where both have rows.
    where : tuple of float
        The interval of predictions where the evidence of this period is strongest.

    See Also
    --------
    Period, calibration_drift
    """

    reference: str
    pvalue: float
    reject: bool
    level: float
    difference: float
    where: tuple[float, float]

    def summary(self) -> str:
        """One sentence."""
        said = "changed" if self.reject else "no change is proved"
        chance = "" if self.reject else ", which may be chance"
        more = "more" if self.difference > 0.0 else "less"
        low, high = self.where
        place = "" if self.where == (0.0, 1.0) else f", most of all where predictions are between {low:g} and {high:g}"
        return (
            f"{said} since {self.reference} (anytime-valid p = {at_most(self.pvalue, 2)}): events are "
            f"{100.0 * abs(self.difference):.2g} percentage points {more} frequent than they were at the same "
            f"predictions{place}{chance}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Rows and ones in cells of predictions, by the cells' numbers from 0 to 2 * resolution, each once and in order."""

    index: IntArray
    rows: FloatArray
    ones: FloatArray
    resolution: int

    def pooled(self, n_cells: int) -> _Cells:
        """The counts in so many equal cells, a power of two that is at most the resolution."""
        cell = np.minimum(self.index // 2 * n_cells // self.resolution, n_cells - 1)
        return _Cells(*(np.bincount(cell, each, n_cells).astype(np.float64) for each in (self.rows, self.ones)))


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    rows: FloatArray
    ones: FloatArray


class Since:
    """Compares one period after the other with a reference.

    Given how many rows and events a cell has in both together, the period's events are hypergeometric if the cell's
    rate is one and the same: a sum of independent outcomes with unequal chances, so that Bennett's inequality holds
    with the very variance. Cells are the smallest equal ones in which the reference has 16 rows in the mean. Period k
    is looked at by itself and together with all since the reference, and has the share 1 / (k (k + 1)) of the level.
    Source: V. A. Vatutin and V. G. Mikhailov, Limit theorems for the number of empty cells, Theory of Probability and
    its Applications 27, 1982 (the sum); G. Bennett, Probability inequalities for the sum of independent random
    variables, Journal of the American Statistical Association 57, 1962.
    """

    def __init__(self, name: str, reference: Sequence[Counts], level: float) -> None:
        rows = sum(float(each.rows.sum()) for each in reference)
        most = max(2.0 ** len(_SHARES), rows / _ROWS_A_CELL)
        self._n_cells = min(reference[0].resolution, 2 ** int(math.log2(most)))
        pooled = [each.pooled(self._n_cells) for each in reference]
        self._reference = _Cells(
            *(np.sum([getattr(each, name) for each in pooled], axis=0) for name in ("rows", "ones"))
        )
        self._name, self._level = name, level
        self._rows, self._ones = np.zeros(self._n_cells), np.zeros(self._n_cells)
        self._looks, self._smallest = 0, 1.0

    def update(self, period: Counts) -> ReferenceReading:
        """Look at the next period."""
        self._looks += 1
        alone = period.pooled(self._n_cells)
        self._rows, self._ones = self._rows + alone.rows, self._ones + alone.ones
        log, where = _strongest(self._reference, alone)
        log = min(log, _strongest(self._reference, _Cells(self._rows, self._ones))[0])
        log += math.log(2.0 * self._looks * (self._looks + 1.0))
        self._smallest = min(self._smallest, math.exp(max(-700.0, min(0.0, log))))
        difference = _difference(self._reference, alone)
        reject = self._smallest <= self._level
        return ReferenceReading(self._name, self._smallest, reject, self._level, difference, where)


def _difference(before: _Cells, now: _Cells) -> float:
    """Event rate of the rows now less that before in the same cells, where both have rows."""
    both = (before.rows > 0.0) & (now.rows > 0.0)
    if not both.any():
        return 0.0
    expected = now.rows[both] * before.ones[both] / before.rows[both]
    return float((now.ones[both] - expected).sum() / now.rows[both].sum())


def _strongest(before: _Cells, now: _Cells) -> tuple[float, tuple[float, float]]:
    """Log of the p-value of all intervals together, perhaps above 0, and the interval that is strongest."""
    both = before.rows + now.rows
    rate = (before.ones + now.ones) / np.maximum(both, 1.0)
    mean = now.rows * rate
    variance = mean * (1.0 - rate) * before.rows / np.maximum(both - 1.0, 1.0)
    best, where = math.inf, (0.0, 1.0)
    for depth, share in enumerate(_SHARES):
        parts = 2**depth
        sums = (each.reshape(parts, -1).sum(axis=1).tolist() for each in (now.ones - mean, variance, mean))
        for k, (excess, spread, size) in enumerate(zip(*sums, strict=True)):
            log = _bennett(abs(excess) - _EXACT * size, spread * (1.0 + _EXACT)) + math.log(parts / share)
            if log < best:
                best, where = log, (k / parts, (k + 1) / parts)
    return best, where


def _bennett(excess: float, variance: float) -> float:
    """Log of at least the probability that a sum of independent outcomes is so far from its mean, on either side."""
    if excess <= 0.0 or variance <= 0.0:
        return 0.0
    u = excess / variance
    return math.log(2.0) - variance * ((1.0 + u) * math.log1p(u) - u)
