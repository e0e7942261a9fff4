"""Tests of segments by their rows, where weights tell outcomes: of sampling by outcome, or of a horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval, readable
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.inference.testing.calibration import calibration_test_on_rows
from calibrant.segments.by_column import MOST_RESAMPLES, Segment


@dataclass(frozen=True, slots=True, eq=False)
class SegmentRows:
    """Rows of a table, their segments as keys in a frame, and how outcomes are drawn again."""

    rows: Rows
    keys: object
    n_resamples: int
    seed: int

    def tested(self, segments: list[Segment | None], segment: IntArray, level: float) -> list[Segment | None]:
        """The segments with what `calibration_test` says of their rows; `segment` has the number of each row's.

        Left as it is where too few rows of an outcome count for weights to be drawn again.
        """
        used = [i for i, each in enumerate(segments) if each is not None]
        n_resamples = min(max(self.n_resamples, math.ceil(2 * len(used) / level)), MOST_RESAMPLES)
        order = np.argsort(segment, kind="stable")
        ends = np.searchsorted(segment[order], np.arange(len(segments) + 1))
        results = {}
        for i in used:
            rows = self.rows.take(order[ends[i] : ends[i + 1]])
            try:
                results[i] = calibration_test_on_rows(rows, level, n_resamples, self.seed), self._reach(rows)
            except InputError:  # too few
                continue
        if not results:
            return segments
        from scipy.stats import false_discovery_control

        qvalue = dict(zip(results, false_discovery_control([each.pvalue for each, _ in results.values()]), strict=True))
        far = math.sqrt(2.0 * math.log(2.0 * len(results) / level))
        tested = list(segments)
        for i, (result, error) in results.items():
            each, region = segments[i], result.region
            assert each is not None
            mean = each.mean_prediction
            tested[i] = replace(
                each,
                bias_interval=Interval(max(-mean, each.bias - far * error), min(1.0 - mean, each.bias + far * error)),
                pvalue=result.pvalue,
                qvalue=float(qvalue[i]),
                reject=bool(qvalue[i] <= level),
                direction=("too low" if each.bias > 0.0 else "too high") if region is None else region.direction,
                where=(0.0, 1.0) if region is None else _ends(region.low, region.high),
            )
        return tested

    def _reach(self, rows: Rows) -> float:
        """Standard error of the mean of outcome less prediction, by the root of the sum of squares."""
        weight: FloatArray = np.ones(rows.y_prob.size) if rows.weight is None else rows.weight
        off = rows.y_true - rows.y_prob
        bias = float((weight * off).sum() / weight.sum())
        return math.sqrt(float(((weight * (off - bias)) ** 2).sum())) / float(weight.sum())


def _ends(low: float, high: float) -> tuple[float, float]:
    """The ends of a range outwards, in as many decimals as its width asks for."""
    first, last = readable(low, high)
    return float(first), float(last)
