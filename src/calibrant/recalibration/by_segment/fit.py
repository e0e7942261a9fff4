"""The candidates of a repair by segment, fitted to some of the rows and tried on the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from calibrant.door.coding import Values
from calibrant.door.columns import FloatArray, IntArray
from calibrant.measures.logistic import inner_expit, log_odds
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.by_segment.boosting import Boosted, fit_boosted
from calibrant.recalibration.by_segment.cells import Cut
from calibrant.recalibration.by_segment.corrections import Block, Fitting, corrected, fit_corrections, pair_bins
from calibrant.recalibration.by_segment.table import Name
from calibrant.recalibration.judging import Rows, mapped
from calibrant.resampling.folds import Split, cross_fitted, folds

CLIP = 1e-12
"""Predictions closer than this to 0 or 1 are read as being this far from it."""
_BINS = 10
_FINE_BINS = 64  # for trees, which put cells together again
_PARTS = 5  # which are left out in turn to count the trees
_MANY_ROWS = 10_000  # of which one part is enough to count them


class Cuts(NamedTuple):
    """How all features are cut: for each depth of segments, and finely for trees; the prediction is the first."""

    by_depth: list[list[Cut]]
    fine: list[Cut]

    @classmethod
    def fitted(cls, values: dict[Name, Values], max_depth: int) -> Cuts:
        """Cuts of these rows; they do not look at outcomes."""
        rows = len(next(iter(values.values())))
        bins = [_BINS, pair_bins(rows, _BINS)][:max_depth]
        by_depth = [[Cut.fitted(name, each, n_bins) for name, each in values.items()] for n_bins in bins]
        return cls(by_depth, [Cut.fitted(name, each, _FINE_BINS) for name, each in values.items()])

    def cells(self, values: dict[Name, Values]) -> list[list[IntArray]]:
        """Cell of every row, for each depth and feature."""
        return [[cut.cells(values[cut.name]) for cut in of_depth] for of_depth in self.by_depth]

    def table(self, values: dict[Name, Values]) -> FloatArray:
        """Fine cells as trees take them: NaN where a value is missing."""
        columns = []
        for cut in self.fine:
            cell = cut.cells(values[cut.name]).astype(np.float64)
            columns.append(np.where(cell == cut.size - 1, np.nan, cell))
        return np.column_stack(columns)

    @property
    def categories(self) -> dict[int, int]:
        """Which columns of the table are categories, and how many cells each has besides that of missing values."""
        return {at: cut.size - 1 for at, cut in enumerate(self.fine) if cut.values is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All rows with their cells, and how each candidate is fitted to a part of them.

    Attributes
    ----------
    rows : Rows
        Outcomes, predictions, weights, groups.
    cuts : Cuts
        How features are cut.
    cells : list of list of ndarray
        Cells of every row.
    table : ndarray of shape (n, d)
        The same for trees.
    recalibrator : Recalibrator or None
        The global map, not fitted; None to leave predictions as they are.
    seed : int
        Of splits and trees.
    """

    rows: Rows
    cuts: Cuts
    cells: list[list[IntArray]]
    table: FloatArray
    recalibrator: Recalibrator | None
    seed: int

    def mapped(self, at: Any) -> tuple[Recalibrator | None, FloatArray]:
        """The global map fitted to these rows, and the log-odds that it gives all rows."""
        fitted = None if self.recalibrator is None else self.rows.fitted(clone(self.recalibrator), at)
        return fitted, old_log_odds(fitted, self.rows.prediction)

    def _fitting(self, at: Any, offset: FloatArray) -> Fitting:
        outcome = self.rows.outcome[at]
        weight = np.ones(outcome.size) if self.rows.weight is None else self.rows.weight[at]
        # Information in effective rows: five rows of weight 1 tell more than one of weight 5.
        return Fitting(offset[at], outcome, weight * (weight.sum() / (weight @ weight)))

    def segments(self, at: Any, offset: FloatArray) -> tuple[float, tuple[Block, ...]]:
        """Corrections by segment fitted to these rows."""
        cells = [[each[at] for each in of_depth] for of_depth in self.cells]
        return fit_corrections(self._fitting(at, offset), cells, self.cuts.by_depth)

    def boosting(self, at: Any, offset: FloatArray) -> Boosted | None:
        """Trees fitted to these rows; None where no tree helps rows left out, or groups are too few to leave any."""
        group = None if self.rows.group is None else self.rows.group[at]
        outcome = self.rows.outcome[at]
        parts = min(_PARTS, outcome.size if group is None else np.unique(group).size)
        if parts < 2:
            return None
        splits = folds(outcome, parts, groups=group, seed=self.seed)
        if outcome.size >= _MANY_ROWS:
            splits = splits[:1]
        return fit_boosted(self._fitting(at, offset), self.table[at], self.cuts.categories, splits, self.seed)

    def crossed(self, splits: list[Split]) -> dict[str, FloatArray]:
        """Every row as each candidate predicts it from the others."""

        def predict(train: IntArray, test: IntArray) -> FloatArray:
            _, offset = self.mapped(train)
            shift, blocks = self.segments(train, offset)
            cells = [[each[test] for each in of_depth] for of_depth in self.cells]
            by_segment = corrected(offset[test], shift, blocks, cells, self.cuts.by_depth)
            trees = self.boosting(train, offset)
            boosted = offset[test] + (0.0 if trees is None else trees.change(self.table[test]))
            return inner_expit(np.column_stack([offset[test], by_segment, boosted]))

        found = cross_fitted(predict, splits)
        unchanged = {"unchanged": inner_expit(old_log_odds(None, self.rows.prediction))}
        if self.recalibrator is not None:
            unchanged["global"] = found[:, 0]
        return unchanged | {"segments": found[:, 1], "boosting": found[:, 2]}


def old_log_odds(fitted: Recalibrator | None, prediction: FloatArray) -> FloatArray:
    """Log-odds after the global map, which corrections are added to."""
    return log_odds(prediction if fitted is None else mapped(fitted, prediction), CLIP)
