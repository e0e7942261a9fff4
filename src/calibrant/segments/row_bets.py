"""Mean errors of segments of independent rows, bounded by bets that they are larger (docs/found-segments.md)."""

from __future__ import annotations

import math

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import Rows
from calibrant.segments.formed import Formed, each_set

_PARTS = 32
"""Of the errors from -1 to 1. Rows between two knots are put on both: this costs power, never level."""
_ODDS = 2.0 ** np.arange(-9, 5)
_STAKES = _ODDS / (1.0 + _ODDS)
"""Each has as much of the capital: large ones win where rows are few, small ones where they are many."""
_STEPS = 2048  # to 1, of the means that are looked at
_AT_ONCE = 1024  # segments


def at_knots(rows: Rows, formed: Formed) -> FloatArray:
    """Rows of each segment at each knot, of outcomes less predictions without weights: (segments, 33)."""
    error = rows.y_true - rows.y_prob
    order = np.argsort(error)  # so that sums do not depend on the order of rows
    x = error[order]
    code = [each.code[order] for each in formed.features]
    at, shares = _knots(x)
    held = np.empty((len(formed), _PARTS + 1))
    for first, n, of_rows, segment in each_set(formed, code, x.size):
        place, share = segment * (_PARTS + 1) + at[of_rows], shares[of_rows]
        size = n * (_PARTS + 1)
        found = np.bincount(place, 1.0 - share, size) + np.bincount(place + 1, share, size)
        held[first : first + n] = found.reshape(n, _PARTS + 1)
    return held


def _knots(x: FloatArray) -> tuple[IntArray, FloatArray]:
    """The knot below each error, and the share that the one above has of it."""
    place = 0.5 * _PARTS * (x + 1.0)
    below = np.minimum(place.astype(np.int64), _PARTS - 1)
    return below, place - below


def ends_at_knots(held: FloatArray, miss: float) -> tuple[FloatArray, FloatArray]:
    """Ends for means of errors, of which `held` (k, 33) lie at each knot, at `miss` for each end."""
    mean = np.arange(1 - _STEPS, _STEPS) / _STEPS
    z = np.linspace(0.0, 2.0, _PARTS + 1) / (1.0 + mean[:, None]) - 1.0
    log_factors = np.log1p(_STAKES[:, None] * z[:, None, :])
    means = np.concatenate([[-1.0], mean])
    parts = [slice(i, i + _AT_ONCE) for i in range(0, len(held), _AT_ONCE)]
    low, high = (
        np.concatenate([means[_refuted(each[part], log_factors, miss)] for part in parts]) * way
        for each, way in ((held, 1.0), (held[:, ::-1], -1.0))
    )
    return low, high


def _refuted(held: FloatArray, log_factors: FloatArray, miss: float) -> IntArray:
    """How many means are refuted, from the least on: capital falls with the mean, so that halving finds the last."""
    needed = math.log(_STAKES.size / miss) * (1.0 + 1e-9)
    sure, open_ = np.zeros(len(held), np.int64), np.full(len(held), len(log_factors))
    while (open_ > sure).any():
        middle = (sure + open_ + 1) // 2
        won = (log_factors[middle - 1] @ held[:, :, None])[:, :, 0]
        is_refuted = np.logaddexp.reduce(won, axis=1) >= needed
        sure, open_ = np.where(is_refuted, middle, sure), np.where(is_refuted, open_, middle - 1)
    return sure
