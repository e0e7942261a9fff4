"""Segments of rows that depend on one another within groups, which may lie in several segments."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray
from calibrant.inference import group_evidence as evidence
from calibrant.inference.draws import SEED
from calibrant.inference.result import LEAST
from calibrant.kernels import sketching
from calibrant.resampling.redraw import random_signs

_BY_SIGNS, _PROVED = 0.99, 0.01  # of the error
_RESAMPLES, _MOST_RESAMPLES, _AT_ONCE = 999, 19_999, 64
_UNCLEAR = 5
"""Redraws, of the first 999, as large as what was seen, from which on more of them would decide nothing."""
_LEAST_ADJUSTED = 0.01
"""What the smallest p-value by signs is to come to when it is adjusted for all segments."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupTests:
    """What groups say of each segment.

    Attributes
    ----------
    pvalue : ndarray of shape (k,)
        Of the hypothesis that the segment is calibrated.
    where : list of tuple of float
        The interval of predictions where evidence is strongest.
    low_side : ndarray of shape (k,)
        Whether predictions are too low there.
    n_groups, effective : ndarray of shape (k,)
        Groups with rows in the segment, and Kish's effective number of them.
    """

    pvalue: FloatArray
    where: list[tuple[float, float]]
    low_side: npt.NDArray[np.bool_]
    n_groups: IntArray
    effective: FloatArray


def group_tests(index: IntArray, cells: FloatArray, segment: IntArray, group: IntArray, resolution: int) -> GroupTests:
    """Test each segment by the sums of its groups, of cells that hold rows of one group and segment each.

    Two p-values share the error: one proved for any number of groups, which is one over an e-value, and, where events
    and non-events lie in the equal of enough groups, one by random signs of whole groups.
    """
    order = np.lexsort((group, segment))
    index, cells, segment, group = index[order], cells[order], segment[order], group[order]
    events, weight = cells[:, sketching.OUTCOME], cells[:, sketching.WEIGHT]
    excess, expected, variance = evidence.sums_of_cells(index, cells, resolution)
    intervals = evidence.intervals_of(index, resolution)
    impossible = evidence.contradicted(index, cells, resolution)
    first = np.flatnonzero(np.diff(segment, prepend=-1))
    most = _redraws(first.size)
    found = []
    for start, stop in zip(first, [*first[1:], segment.size], strict=True):
        here = slice(start, stop)
        of = np.cumsum(np.diff(group[here], prepend=-1) != 0) - 1
        place = of * evidence.N_INTERVALS + intervals[:, here]
        columns = (events, weight, excess, expected, variance)
        sums = np.stack([_by_interval(place, column[here], int(of[-1]) + 1) for column in columns])
        found.append(_test(sums, impossible[here], most))
    pvalue, where, low_side, n_groups, effective = zip(*found, strict=True)
    return GroupTests(np.array(pvalue), list(where), np.array(low_side), np.array(n_groups), np.array(effective))


def _by_interval(place: IntArray, column: FloatArray, n_groups: int) -> FloatArray:
    """Sums of each group in each interval, of cells that lie in one interval at each depth."""
    shape = n_groups, evidence.N_INTERVALS
    sums = np.bincount(place.ravel(), np.tile(column, len(place)), math.prod(shape))
    return np.asarray(sums.reshape(shape), np.float64)


def _redraws(n_segments: int) -> int:
    """Signs that are drawn at most, so that one segment can be found among as many (Benjamini and Yekutieli, 2001)."""
    harmonic = sum(1.0 / i for i in range(1, n_segments + 1))
    wanted = math.ceil(n_segments * harmonic / (_BY_SIGNS * _LEAST_ADJUSTED)) - 1
    return min(max(_RESAMPLES, wanted), _MOST_RESAMPLES)


def _test(sums: FloatArray, impossible: FloatArray, most: int) -> tuple[float, tuple[float, float], bool, int, float]:
    """Of one segment what `GroupTests` holds, from the sums of its groups in each interval."""
    events, weight, excess, expected, variance = sums
    total, length, missing = excess.sum(axis=0), variance.sum(axis=0), weight - expected
    squares = np.einsum("gk,gk->k", excess, excess)
    sides = evidence.log_evalues(total, squares, expected.max(axis=0), missing.max(axis=0), length)
    for way, side in zip((1.0, -1.0), sides, strict=True):
        side[0] = math.inf if (impossible == way).any() else side[0]
    logs, best, signs = evidence.mixed(sides)
    log, interval, sign = float(logs), int(best), float(signs)
    pvalue = math.exp(-min(max(log, 0.0), 700.0))
    if evidence.enough(events, weight - events)[0]:
        by_signs, strongest = _by_signs(excess, length, most)
        pvalue = min(pvalue / _PROVED, by_signs / _BY_SIGNS)
        if log < math.inf:
            interval, sign = strongest, float(total[strongest])
    n_groups, effective = int(np.count_nonzero(weight[:, 0])), float(evidence.kish(weight)[0])
    return max(LEAST, min(1.0, pvalue)), evidence.bounds_of(interval), sign > 0.0, n_groups, effective


def _by_signs(sums: FloatArray, length: FloatArray, most: int) -> tuple[float, int]:
    """The p-value of the clearest interval, whole groups having random signs, and which it is.

    Where few of the first 999 draws are as large, more are drawn. That is valid at every level a: the p-value is
    at most a only if that of the first 999 draws is so, where a is 6/1000 or more, and else that of all draws.

    An interval counts by the size of its sum against the variance of independent rows, not by its outcomes, and of
    shares of the error; how much more the sums vary than that is taken from the whole.
    """
    used = length > 0.0
    design = float((sums[:, 0] ** 2).sum()) / max(float(length[0]), 1e-300)
    if not design > 0.0:
        return 1.0, 0
    scaled = np.where(used, sums / np.sqrt(np.where(used, length, 1.0) * design), 0.0)
    share = np.array(evidence.LOG_SHARES)

    def strength(signs: FloatArray) -> FloatArray:
        return np.asarray(0.5 * (signs @ scaled) ** 2 + share)

    own = strength(np.ones((1, sums.shape[0])))[0]
    rng, larger = np.random.default_rng(SEED), 0
    done = 0
    for stop in (_RESAMPLES, most):
        for start in range(done, stop, _AT_ONCE):
            drawn = strength(random_signs(rng, (min(_AT_ONCE, stop - start), sums.shape[0])))
            larger += int((drawn.max(axis=1) >= own.max() - 1e-9).sum())
        done = stop
        if larger >= _UNCLEAR:
            break
    return (1.0 + larger) / (1.0 + done), int(np.argmax(own))
