"""Evidence of every segment where rows of a group depend on one another: random signs of whole groups."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference import group_evidence as evidence
from calibrant.kernels import found as kernel
from calibrant.resampling.redraw import random_signs
from calibrant.resampling.threads import in_blocks
from calibrant.segments.asked import BY_REDRAWS, BY_TAIL
from calibrant.segments.formed import Formed, Units
from calibrant.segments.group_parts import Parts, parts_of, sums_again
from calibrant.segments.group_sums import squared, summed
from calibrant.segments.search import spare, stepped_down
from calibrant.segments.tails import reached_by_noise
from calibrant.segments.totals import Totals

_AT_ONCE = 64  # resamples
_SHARES = 2.0 * np.array(evidence.LOG_SHARES)


@dataclass(frozen=True, slots=True, eq=False)
class ByGroups:
    """What random signs of groups say of all segments; it answers as `ByRows` does.

    Attributes
    ----------
    score : ndarray of shape (segments,)
        Evidence, comparable across segments: by signs, or what is proved, on a scale on which both are beyond noise
        from `critical` on.
    pvalue : ndarray of shape (segments,)
        Adjusted for all segments.
    critical : float
        Scores above it are beyond noise, in one step.
    error, chance_error : float
        Largest climb of any segment, over the weight of all units, and about what it stays below in calibrated
        predictions.
    """

    units: Units
    formed: Formed
    parts: Parts
    level: float
    score: FloatArray
    pvalue: FloatArray
    critical: float
    error: float
    chance_error: float

    @classmethod
    def of(cls, units: Units, formed: Formed, n_resamples: int, level: float, seed: np.uint64) -> ByGroups:
        """Give groups random signs, which all segments share, and step down from the highest score.

        A part's score is the square of its total over the sum of its groups' squares, which no sign changes; of the
        outcomes the divisor is never less than the variance that predictions state. That only lowers the score: where
        groups and their opposites are as likely the level is exact (docs/found-segments.md).
        """
        parts = parts_of(units, formed)
        scores = np.empty((len(formed), 1 + n_resamples))
        scores[:, 0] = _scores(parts, formed, np.where(parts.many, parts.total**2 / parts.spread, -math.inf))

        def fill(first: int, last: int) -> None:
            for start in range(first, last, _AT_ONCE):
                signs = random_signs(np.random.default_rng([int(seed), start]), (_AT_ONCE, units.n_groups))
                total = parts.sums @ signs[: last - start].T
                found = _scores(parts, formed, total**2 / parts.squares[:, None])
                scores[:, 1 + start : 1 + start + _AT_ONCE] = found

        in_blocks(fill, n_resamples, work=parts.sums.nnz * n_resamples, multiple=_AT_ONCE)
        highest = np.sort(scores[:, 1:].max(axis=0))
        critical = float(highest[-1 - spare(1 + n_resamples, BY_REDRAWS * level)])
        logs = _log_evalues(parts, formed, parts.first, parts.total[parts.first], parts.squares[parts.first])
        by_signs = np.minimum(1.0, stepped_down(scores) / BY_REDRAWS)
        weight = float((units.weight * units.count).sum())
        found = np.empty((3, len(formed), 1))
        mean = units.weight * units.count * units.prediction
        kernel.excursions(units.ones[:, None], units.weight, mean, units.rank, formed.order, formed.ends, found)
        return cls(
            units,
            formed,
            parts,
            level,
            score=np.maximum(scores[:, 0], 2.0 * (logs - _needed(formed, level)) + critical),
            pvalue=np.minimum(by_signs, np.exp(np.clip(_needed(formed, 1.0) - logs, -700.0, 0.0))),
            critical=critical,
            error=float(np.maximum(found[1], -found[2]).max()) / weight,
            chance_error=reached_by_noise(np.sqrt(parts.spread[parts.first]), level) / weight,
        )

    @property
    def n_by_bound(self) -> int:
        """Segments in which signs say nothing, so that only the proved bound speaks."""
        return int((~np.logical_or.reduceat(self.parts.many, self.parts.first)).sum())

    def tail(self, segment: int) -> float:
        """A p-value for all segments at once, in which what is proved was counted already."""
        return float(self.pvalue[segment])

    def scored(self, prediction: FloatArray, segments: IntArray) -> FloatArray:
        """Scores of some segments, were the units predicted otherwise."""
        if not segments.size:
            return np.empty(0)
        parts, formed = self.parts, self.formed
        held = np.flatnonzero(np.isin(parts.segment, segments))
        of, sums = parts.segment[held], sums_again(self.units, formed, prediction, parts, held)
        total, squares = summed(sums), np.maximum(squared(sums), 1e-290)
        score = total**2 / np.maximum(squares, parts.variance[held]) + _SHARES[parts.interval[held]]
        whole = parts.interval[held] == 0
        logs = _log_evalues(parts, formed, held[whole], total[whole], squares[whole])
        found = np.empty(len(formed))
        found[of[whole]] = 2.0 * (logs - _needed(formed, self.level)[of[whole]]) + self.critical
        many = parts.many[held]
        np.maximum.at(found, of[many], (score - formed.handicap[of])[many])
        return np.asarray(found[segments])

    def direction(self, i: int) -> tuple[str, tuple[float, float]]:
        """Direction and range of predictions of the strongest evidence."""
        parts = self.parts
        here = np.flatnonzero(parts.segment == i)
        strength = parts.total[here] ** 2 / parts.spread[here] + _SHARES[parts.interval[here]]
        best = int(np.argmax(np.where(parts.many[here], strength, -math.inf))) if parts.many[here].any() else 0
        v = self.units.prediction[self.formed.order[slice(*self.formed.ends[i])]]
        interval = int(parts.interval[here[best]])
        low, high = evidence.bounds_of(interval)
        inside = v if interval == 0 else v[(v >= low) & ((v < high) | (high == 1.0))]
        return ("too low" if parts.total[here[best]] > 0.0 else "too high"), (float(inside[0]), float(inside[-1]))

    def detectable(self, i: int) -> float:
        """Smallest total, of either sign, that is beyond noise in one step."""
        whole = self.parts.first[i]
        if not self.parts.many[whole]:
            return math.inf
        return math.sqrt((self.critical + self.formed.handicap[i] - _SHARES[0]) * self.parts.spread[whole])

    def intervals(self, totals: Totals, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean over each segment's rows of chance less prediction, in all segments at once.

        What signs, of groups about the segment's own mean, do not reject; where they say nothing, Hoeffding's.
        """
        low, high = totals.intervals(BY_TAIL * level)
        assert totals.by_group is not None
        whole = self.parts.first
        spread = np.maximum(totals.by_group.about(totals.bias), self.parts.variance[whole])
        reach = np.sqrt((self.critical + self.formed.handicap - _SHARES[0]) * spread) / totals.weight
        many, mean = self.parts.many[whole], totals.prediction / totals.weight
        low = np.where(many, np.maximum(totals.bias - reach, -mean), low)
        return low, np.where(many, np.minimum(totals.bias + reach, 1.0 - mean), high)


def _needed(formed: Formed, level: float) -> FloatArray:
    """The log of the e-value that each segment needs; its share of the error is one over the root of those like it."""
    all_shares = float(logsumexp(-0.5 * formed.handicap))
    return np.asarray(0.5 * formed.handicap + all_shares - math.log(BY_TAIL * level))


def _scores(parts: Parts, formed: Formed, squares: FloatArray) -> FloatArray:
    """The largest over each segment's parts, of shape (parts,) or (parts, draws)."""
    found = (squares.T + (_SHARES[parts.interval] - formed.handicap[parts.segment])).T
    return np.asarray(np.maximum.reduceat(found, parts.first, axis=0))


def _log_evalues(parts: Parts, formed: Formed, whole: IntArray, total: FloatArray, squares: FloatArray) -> FloatArray:
    """Logs of e-values against the calibration of whole segments: proved for groups of any kind and number."""
    most = parts.expected[whole], parts.lacking[whole]
    sides = evidence.log_evalues(total, squares, *most, formed.second[parts.segment[whole]])
    return np.asarray(np.logaddexp(*sides) - math.log(2.0))
