"""Evidence of every segment of independent rows, whose outcomes are redrawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference.testing import components
from calibrant.inference.testing.components import chernoff
from calibrant.inference.testing.result import LEAST
from calibrant.kernels.excursions import squared_evidence
from calibrant.segments.candidates import FeatureLots, SegmentCandidates
from calibrant.segments.evidence import STRETCH, ResampleSearch, scored, search
from calibrant.segments.request import BY_REDRAWS, BY_TAIL
from calibrant.segments.totals import Totals

_SCALES = np.arange(60)


@dataclass(frozen=True, slots=True, eq=False)
class ByRows:
    """Evidence of all segments by redrawn outcomes, made of a `ResampleSearch`."""

    units: FeatureLots
    candidates: SegmentCandidates
    redraws: ResampleSearch
    n_resamples: int

    @classmethod
    def of(
        cls, units: FeatureLots, candidates: SegmentCandidates, n_resamples: int, level: float, seed: np.uint64
    ) -> ByRows:
        """Redraw, at the share of the level that redraws have."""
        return cls(units, candidates, search(units, candidates, n_resamples, BY_REDRAWS * level, seed), n_resamples)

    @property
    def score(self) -> FloatArray:
        """Evidence, comparable across segments."""
        return self.redraws.score

    @property
    def pvalue(self) -> FloatArray:
        """Adjusted for all segments, by redraws alone."""
        return np.minimum(1.0, self.redraws.pvalue / BY_REDRAWS)

    @property
    def critical(self) -> float:
        """Scores above it are beyond noise, in one step."""
        return self.redraws.critical

    @property
    def error(self) -> float:
        """Largest climb of any segment, over the weight of all units."""
        return self.redraws.error

    @property
    def chance_error(self) -> float:
        """Bound that it stays below in calibrated predictions."""
        return self.redraws.chance_error

    def tail(self, i: int) -> float:
        """A p-value for all segments at once from Chernoff's bound on a segment's total, where no redraw is as extreme.

        Of both sides of it. A segment's share of the error goes as one over the root of the number of those that fix
        as many features.
        """
        if self.redraws.pvalue[i] * (self.n_resamples + 1) >= 1.5 or self.units.joint is not None:
            return 1.0  # there is no such bound where weights are drawn as well
        units, handicap = self.units, self.candidates.handicap
        rows = self.candidates.order[slice(*self.candidates.ends[i])]
        one = np.ones(rows.size)
        v, count, ones, weight = (each[rows] for each in (units.prediction, units.count, units.ones, units.weight))
        part = components.UncertainLots(v, count, ones, weight, rows.size, None, 0.0)
        all_shares = float(np.exp(-0.5 * handicap).sum())
        shares = math.log(2.0 * all_shares / BY_TAIL) + 0.5 * handicap[i]
        return max(LEAST, math.exp(chernoff(part, one if self.redraws.total[i] > 0.0 else -one) + shares))

    def scored(self, prediction: FloatArray, segments: IntArray) -> FloatArray:
        """Scores of some segments, were the units predicted otherwise."""
        return scored(self.units, self.candidates, prediction, segments)

    def direction(self, i: int) -> tuple[str, tuple[float, float]]:
        """Direction and range of predictions of the strongest evidence."""
        units, redraws = self.units, self.redraws
        moments = self.candidates.second[i], self.candidates.third[i]
        rows = self.candidates.order[slice(*self.candidates.ends[i])]
        v, rank = units.prediction[rows], units.rank[rows]
        rise, fall = (squared_evidence(each, *moments) for each in (redraws.rise[i], redraws.fall[i]))
        if squared_evidence(redraws.total[i], *moments) >= max(rise, fall) - STRETCH:
            return ("too low" if redraws.total[i] > 0.0 else "too high"), (float(v[0]), float(v[-1]))
        last = np.flatnonzero(np.append(rank[1:] != rank[:-1], True))
        sign = 1.0 if rise >= fall else -1.0
        excess = sign * units.weight[rows] * (units.ones[rows] - units.count[rows] * v)
        sums = np.concatenate([[0.0], np.cumsum(excess)[last]])
        end = int(np.argmax(sums - np.minimum.accumulate(sums)))
        start = int(np.argmin(sums[: end + 1]))
        return ("too low" if sign > 0.0 else "too high"), (float(v[last[start]]), float(v[last[end - 1]]))

    def detectable(self, i: int) -> float:
        """Smallest total, of either sign, that is beyond noise in one step; by bisection."""
        second, third = float(self.candidates.second[i]), float(self.candidates.third[i])
        needed = self.redraws.critical + float(self.candidates.handicap[i])
        most = 0.0
        for skew in (third, -third):
            low, high = 0.0, math.sqrt(second)
            while squared_evidence(high, second, skew) <= needed:
                low, high = high, 2.0 * high
            for _ in _SCALES:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if squared_evidence(middle, second, skew) <= needed else (low, middle)
            most = max(most, high)
        return most

    def intervals(self, totals: Totals, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean over each segment's rows of chance less prediction, in all segments at once."""
        return totals.intervals(level)
