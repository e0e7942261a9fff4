"""Evidence over time from rows that depend on one another within groups, which may go on from period to period."""

from __future__ import annotations

import math

import numpy as np

from calibrant.door.arguments import check_level
from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference import group_evidence as evidence
from calibrant.inference.monitor import MonitorReading
from calibrant.inference.result import LEAST
from calibrant.kernels import sketching

_LONGER = 4  # times the stretch before
_MOST_EVIDENCE = 709.0  # in logs


class _Stretch:
    """Sums of each group in each interval of predictions, over the periods since it was begun."""

    def __init__(self, n_groups: int) -> None:
        self._columns = [np.zeros(n_groups * evidence.N_INTERVALS) for _ in range(4)]
        self._variance = np.zeros(evidence.N_INTERVALS)

    def add(self, at: IntArray, columns: list[FloatArray], variance: FloatArray) -> None:
        """Add a period's sums, at places that are each named once."""
        for mine, column in zip(self._columns, columns, strict=True):
            mine[at] += column
        self._variance += variance

    def logs(self) -> tuple[float, int, float]:
        """Log of the e-value, the interval that adds most to it, and on which side."""
        excess, low, high, events = (column.reshape(-1, evidence.N_INTERVALS) for column in self._columns)
        squares = np.einsum("gk,gk->k", excess, excess)
        sides = evidence.log_evalues(excess.sum(axis=0), squares, low.max(axis=0), high.max(axis=0), self._variance)
        many = evidence.enough(events, low + high - events)
        for side, signed in zip(sides, evidence.with_signs(sides, excess, many), strict=True):
            side[many] = signed
        log, interval, sign = evidence.mixed(sides)
        return float(log), int(interval), float(sign)


class GroupMonitor:
    """As `CalibrationMonitor`, of cells that hold rows of one group each.

    An e-value of each period's end, t = 1, 2, ..., counts 1 / (t (t + 1)): their sum never falls, and its mean is at
    most 1 at the end of all time, however periods depend on one another, so that by Markov's inequality it ever
    reaches 1 / level with probability at most the level. The e-value is the mean of those of the stretches that end
    there: this period, each 4, 16, ... periods from the first on, and all of them.
    """

    def __init__(self, n_groups: int, level: float) -> None:
        self._level, self._n_groups = check_level(level), n_groups
        self._since_start = _Stretch(n_groups)
        self._stretches: dict[int, _Stretch] = {}
        self._next = 1
        self._log, self._n_rows, self._n_batches = -math.inf, 0, 0
        self._best, self._alternative = -math.inf, ""

    def update(self, index: IntArray, cells: FloatArray, group: IntArray, resolution: int) -> MonitorReading:
        """Add the cells of the next period, and read."""
        self._n_batches += 1
        self._n_rows += int(cells[:, sketching.COUNT].sum())
        t = self._n_batches
        sums = self._sums(index, cells, group, resolution)
        ended = []
        for length, stretch in list(self._stretches.items()):
            stretch.add(*sums)
            if t % length == 0:
                ended.append(stretch.logs())
                self._stretches[length] = _Stretch(self._n_groups)
        self._since_start.add(*sums)
        ended.append(self._since_start.logs())
        if t == self._next:  # the first so long is all so far
            self._stretches[t] = _Stretch(self._n_groups)
            self._next *= _LONGER
        for log, interval, sign in ended:
            if log > self._best:
                self._best, self._alternative = log, _in_words(interval, sign)
        impossible = evidence.contradicted(index, cells, resolution)
        log = np.logaddexp.reduce([each for each, _, _ in ended]) - math.log(len(ended) * t * (t + 1.0))
        if impossible.any():
            log = math.inf
            self._best, self._alternative = math.inf, "forecasts of exactly 0 or 1 that were wrong"
        self._log = float(np.logaddexp(self._log, log))
        return self._reading()

    def _sums(
        self, index: IntArray, cells: FloatArray, group: IntArray, resolution: int
    ) -> tuple[IntArray, list[FloatArray], FloatArray]:
        excess, expected, variance = evidence.sums_of_cells(index, cells, resolution)
        missing = cells[:, sketching.WEIGHT] - expected
        intervals = evidence.intervals_of(index, resolution)
        place = (group * evidence.N_INTERVALS + intervals).ravel()
        at, number = np.unique(place, return_inverse=True)
        many = len(intervals)
        columns = (excess, expected, missing, cells[:, sketching.OUTCOME])
        spread = np.bincount(intervals.ravel(), np.tile(variance, many), evidence.N_INTERVALS).astype(np.float64)
        sums = [np.bincount(number, np.tile(each, many), at.size).astype(np.float64) for each in columns]
        return at, sums, spread

    def _reading(self) -> MonitorReading:
        known = min(self._log, _MOST_EVIDENCE)
        return MonitorReading(
            evalue=math.inf if math.isinf(self._log) and self._log > 0.0 else math.exp(known),
            pvalue=max(LEAST, min(1.0, math.exp(-known))) if self._log < math.inf else LEAST,
            reject=self._log >= -math.log(self._level),
            level=self._level,
            n_rows=self._n_rows,
            n_batches=self._n_batches,
            alternative=self._alternative,
        )


def _in_words(interval: int, sign: float) -> str:
    low, high = evidence.bounds_of(interval)
    where = "" if (low, high) == (0.0, 1.0) else f" between {low:g} and {high:g}"
    return f"forecasts{where} too {'low' if sign > 0.0 else 'high'}"
