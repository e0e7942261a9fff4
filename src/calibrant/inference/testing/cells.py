"""The calibration test of weighted rows in cells: no redraws, bounds on fixed directions from the cells' sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
from calibrant.door.rows import INDEPENDENT, WEIGHTS
from calibrant.door.sample import Sample
from calibrant.door.values import ReadOnly
from calibrant.inference.testing.calibration import CalibrationTestResult
from calibrant.inference.testing.components import Components
from calibrant.inference.testing.lots import LEAST_DRAWN, UncertainLots
from calibrant.inference.testing.result import LEAST, contradicted
from calibrant.inference.testing.tail import log_tail

_STEPS = 40
_NEGLIGIBLE = 1e-100  # cells that weigh less than this share of the heaviest are set aside: their squares may vanish
_ROUNDING = 2.0**-51  # of a sum of squares, for each of its terms


def calibration_test_on_weighted_cells(
    sample: Sample, level: float, misplaced: float, max_weight: float | None
) -> CalibrationTestResult:
    """Test weighted rows with outcomes 0 or 1, from sums of w, wy and w^2 by cell (docs/calibration-test.md).

    Parameters
    ----------
    sample : Sample
        The cells.
    level : float
        Largest probability of rejecting calibrated predictions.
    misplaced : float
        What the rounding of the sums changes the cells' shares of residuals by, all added up.
    max_weight : float or None
        The most that a row weighs, where it is known: it sharpens the bounds.
    """
    v, scale = sample.prediction, float(sample.weight.max())
    weighs = sample.weight > 0.0
    impossible = contradicted(v, np.where(weighs, sample.count, 0.0), np.where(weighs, sample.ones, 0.0))
    if impossible is not None:
        impossible = replace(impossible, row=None)
    used = (sample.weight > _NEGLIGIBLE * scale) & (v > 0.0) & (v < 1.0)
    pvalue, n_rows = 1.0, sample.n_rows
    if used.any():
        cells = _Bounded.of(sample, used, scale, misplaced, max_weight)
        # Lots of equal rows that have the cells' weight and squared weight: directions are as for those.
        effective, each = cells.weight**2 / cells.squares, cells.squares / cells.weight
        events = sample.weighted_outcome[used] / scale / each
        lots = UncertainLots(np.maximum(v[used], LEAST_DRAWN), effective, events, each, n_rows, impossible, 0.0)
        pvalue = max(LEAST, math.exp(log_tail(lots, Components.of(lots), cells.log_bound)))
    method = "calibration test (no redraws: bounds from the sums of weighted cells)"
    if impossible is not None:
        method += ", of the rows predicted strictly between 0 and 1,"
    return CalibrationTestResult(
        statistic=-math.log(pvalue),
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=method,
        components=ReadOnly({}),
        leading=None,
        region=None,
        redrawn_pvalue=1.0,
        tail_pvalue=pvalue,
        pooling=0.0,
        n_resamples=0,
        premise=f"{INDEPENDENT}, and {WEIGHTS}",
        impossible=impossible,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Bounded:
    """Sums of w by cell; bounds from above of those of w^2 and w^2 v (1 - v), and of one row's w (1 - v) and w v."""

    weight: FloatArray
    squares: FloatArray
    variance: FloatArray
    above: FloatArray
    below: FloatArray
    misplaced: float

    @classmethod
    def of(
        cls,
        sample: Sample,
        used: npt.NDArray[np.bool_],
        scale: float,
        misplaced: float,
        max_weight: float | None,
    ) -> _Bounded:
        """Bound the cells that are used, weights in units of `scale`; `misplaced` is a share of all weight."""
        n, weight, width = sample.count[used], sample.weight[used] / scale, sample.cell_width[used]
        squares = sample.squared_weight[used] / scale / scale * (1.0 + (n + 8.0) * _ROUNDING)
        v = np.maximum(sample.prediction[used], LEAST_DRAWN)
        low, high = np.maximum(v - width, 0.0), np.minimum(v + width, 1.0)
        middle = np.clip(0.5, low, high)
        mean = weight / n
        # No number is further from the mean of n than the root of n - 1 standard deviations (Samuelson 1968).
        spread = np.maximum(squares / n - mean * mean, 0.0)
        heaviest = np.minimum(mean + np.sqrt((n - 1.0) * spread), np.sqrt(squares))
        heaviest = np.where(n > 1.0, heaviest, weight) * (1.0 + (n + 8.0) * _ROUNDING)
        if max_weight is not None:
            heaviest = np.minimum(heaviest, max_weight / scale)
        lost = misplaced * (sample.total_weight / scale)
        return cls(weight, squares, squares * middle * (1.0 - middle), heaviest * (1.0 - low), heaviest * high, lost)

    def log_bound(self, lots: UncertainLots, direction: FloatArray) -> float:
        """Log of a bound on P(sum of direction * excess >= what was seen).

        A variable x <= b of mean 0 has E exp(t x) <= exp(Var (e^(t b) - 1 - t b) / b^2) (Bennett 1962). Any t will do;
        the best is where the derivative vanishes, which is no further than where it would with b = 0.
        """
        observed = float((direction * lots.excess).sum()) - self.misplaced * float(np.abs(direction).max())
        if observed <= 0.0:
            return 0.0
        most = np.abs(direction) * np.where(direction > 0.0, self.above, self.below)
        variance = direction * direction * self.variance
        mask = (most > 0.0) & (variance > 0.0)
        most, variance = most[mask], variance[mask]
        total = float(variance.sum())
        low, high = 0.0, observed / total
        with np.errstate(over="ignore"):
            for _ in range(_STEPS):
                t = 0.5 * (low + high)
                slope = float((variance / most * np.expm1(t * most)).sum()) - observed
                low, high = (t, high) if slope < 0.0 else (low, t)
        s = low * most
        # e^s - 1 - s of small s by its series, whose next term is less than the rounding that is added.
        rest = np.where(s < 1e-4, s * s * (0.5 + s / 6.0 + s * s / 12.0), np.expm1(s) - s)
        return min(0.0, float((variance / most / most * rest).sum()) * (1.0 + 1e-9) - low * observed)
