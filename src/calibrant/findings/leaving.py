"""Which columns tell how soon rows of a follow-up are lost from sight: log-rank tests of leaving, within strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import erfc, sqrt

import numpy as np

from calibrant.door.columns import FloatArray, IntArray

_LEVEL = 0.001
_LEAST_EXPECTED = 5.0  # leavers: values with fewer are taken together, so that chi-squared fits
_MOST_ROWS, _MOST_STRATA, _MOST_COLUMNS = 50_000, 50, 3


def columns_of_leaving(
    time: FloatArray, event: FloatArray, horizon: float, columns: Mapping[str, IntArray], strata: Sequence[IntArray]
) -> Sequence[str]:
    """Columns in whose values rows leave before the horizon at other rates, the strongest evidence first.

    Each next one is tested within the values of those before, and within given strata. Of all columns together one is
    named by chance with probability 0.001 at most. Of many rows 50,000 are tested.
    """
    rows = slice(None, None, -(-time.size // _MOST_ROWS))
    time, event, within = time[rows], event[rows], np.zeros(time[rows].size, np.int64)
    for rank in strata:
        within = _crossed(within, rank[rows])
    free, found = {name: rank[rows] for name, rank in columns.items()}, list[str]()
    while free and len(found) < _MOST_COLUMNS and within.max(initial=0) < _MOST_STRATA:
        surprise = {name: _surprise(time, event, horizon, rank, within) for name, rank in free.items()}
        name = max(surprise, key=surprise.__getitem__)
        if 0.5 * erfc(surprise[name] / sqrt(2.0)) * len(columns) > _LEVEL:
            break
        found.append(name)
        within = _crossed(within, free.pop(name))
    return found


def _crossed(one: IntArray, other: IntArray) -> IntArray:
    """Number of each row's combination of two values."""
    return np.unique(np.column_stack([one, other]), axis=0, return_inverse=True)[1].reshape(-1)


def _surprise(time: FloatArray, event: FloatArray, horizon: float, value: IntArray, within: IntArray) -> float:
    """The log-rank statistic of leaving as a standard normal value, large where values leave at other rates.

    It is comparable between columns of few values and of many (Wilson and Hilferty), where p-values are all 0.
    """
    value = np.unique(value, return_inverse=True)[1]
    n_values = int(value.max(initial=0)) + 1
    order = np.argsort(within, kind="stable")
    ends = [0, *np.cumsum(np.bincount(within)).tolist()]
    parts = [log_rank(time[at], event[at], horizon, value[at], n_values) for at in _slices(order, ends)]
    excess, variance, expected = (sum(each[1:], each[0]) for each in zip(*parts, strict=True))
    enough = expected >= _LEAST_EXPECTED
    together = np.vstack([np.eye(n_values)[enough], ~enough])
    excess, variance, expected = together @ excess, together @ variance @ together.T, together @ expected
    kept = expected >= _LEAST_EXPECTED
    degrees = int(kept.sum()) - 1
    if degrees < 1:
        return -np.inf
    excess, variance = excess[kept][1:], variance[np.ix_(kept, kept)][1:, 1:]
    chi_squared = float(excess @ np.linalg.pinv(variance, hermitian=True) @ excess)
    spread = 2.0 / (9.0 * degrees)
    cube_root: float = np.cbrt(chi_squared / degrees)
    return (cube_root - (1.0 - spread)) / sqrt(spread)


def _slices(order: IntArray, ends: Sequence[int]) -> Sequence[IntArray]:
    return [order[start:end] for start, end in pairwise(ends)]


def log_rank(
    time: FloatArray, event: FloatArray, horizon: float, value: IntArray, n_values: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each value the leavers less those expected, their covariances, and those expected, in one stratum."""
    leaves = (event == 0.0) & (time < horizon)
    moments = np.unique(time[leaves])
    # a row may leave at this many moments; an event comes before leaving at the same time
    last = np.where(event == 1.0, np.searchsorted(moments, time), np.searchsorted(moments, time, side="right"))
    shape = moments.size + 1, n_values
    stop = np.bincount(last * n_values + value, minlength=shape[0] * n_values).reshape(shape)
    at_risk = stop[::-1].cumsum(axis=0)[::-1][1:]
    moment = np.searchsorted(moments, time[leaves])
    left = np.bincount(moment * n_values + value[leaves], minlength=shape[0] * n_values).reshape(shape)[:-1]
    n, n_left = at_risk.sum(axis=1), left.sum(axis=1)
    share = at_risk / n[:, None]
    expected = n_left @ share
    weight = n_left * (n - n_left) / np.maximum(n - 1, 1)
    return left.sum(axis=0) - expected, np.diag(weight @ share) - share.T @ (weight[:, None] * share), expected
