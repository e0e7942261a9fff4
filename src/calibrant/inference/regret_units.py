"""What acting loses at most where draws weigh differently: rows with weights, rows of trials, groups of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
from calibrant.inference.one_event import psi
from calibrant.inference.units import Units
from calibrant.kernels.regret import running
from calibrant.kernels.regret_units import most_allowed, reached

_CELLS = 1500
"""Up to so many distinct predictions all thresholds and cuts are tried; more are put together, which is paid for."""
_LARGEST = 0.36
"""Bets up to here have psi(x) / x < 1/4, on which the proof rests."""
_BETS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines by rising prediction, with their shares of all weight.

    Attributes
    ----------
    v : ndarray of shape (n,)
        Prediction.
    new : ndarray of bool, shape (n,)
        Whether the line's prediction is another one than that of the line before.
    sums : ndarray of shape (5, n)
        w, w y, w s, w s y and w s y^2, with w the share of the weight and s the weight of the line's unit over the most
        that one can have.
    scale : float
        The most that a unit can weigh, over the sum of all weights.
    """

    v: FloatArray
    new: npt.NDArray[np.bool_]
    sums: FloatArray
    scale: float

    @classmethod
    def of(cls, units: Units) -> Lines:
        """Take them from the units, of which there is one of each."""
        total = float(units.w.sum())
        weight = units.sums(units.w) / units.most
        w, s, y = units.w / total, weight if units.unit is None else weight[units.unit], units.y
        new = np.append(True, units.v[1:] > units.v[:-1])
        return cls(units.v, new, np.stack([w, w * y, w * s, w * s * y, w * s * y * y]), units.most / total)

    def mirrored(self) -> Lines:
        """Seen from the other end: 1 - y, 1 - v."""
        w, wy, s, sy, syy = self.sums[:, ::-1]
        new = np.append(True, self.new[:0:-1])  # 1 - v of two predictions may be one and the same number
        return Lines(1.0 - self.v[::-1], new, np.stack([w, w - wy, s, s - sy, s - 2.0 * sy + syy]), self.scale)


def regret_upper_end(units: Units, level: float, threshold: float | None, times: float = 1.0) -> float:
    """What the population's largest regret, or that at a threshold, exceeds with probability at most `level`.

    With `times` it is what so many times these units would say, for an estimate of how many are needed.
    """
    lines = Lines.of(units)
    square = float(lines.sums[2].sum())
    first = min(_LARGEST, 10.0 * (units.n_units * times) ** (-1.0 / 3.0))
    bets = sorted({_LARGEST, *(first / 2.0**j for j in range(_BETS - 1))})
    found = 1.0
    for bet in bets:
        log = math.log(_BETS / level) * lines.scale / (bet * times)
        share = psi(bet) / bet
        if threshold is None:
            found = min(found, _everywhere(lines, share, square, log, found))
        else:
            found = min(found, _at(lines, threshold, share, square, log))
    return found


def _at(lines: Lines, t: float, share: float, square: float, log: float) -> float:
    """The most that any cut allows at one threshold."""
    best = 0.0
    for seen, at, side in ((lines, t, "left"), (lines.mirrored(), 1.0 - t, "right")):
        # Rows at the threshold act: they are beyond it seen from below, and before it seen from above.
        ends = int(np.searchsorted(lines.v, t))
        ends = ends if side == "left" else lines.v.size - ends
        part = np.stack([running(np.ascontiguousarray(column[:ends])) for column in seen.sums])
        w, wy, s, sy, syy = part[:, -1:] - part
        cross, gained = sy - at * s, wy - at * w + share * (syy - 2.0 * at * sy + at * at * s) + log
        for k in [*np.flatnonzero(seen.new[:ends]), ends]:  # cuts fall between distinct predictions
            if best * (1.0 + 2.0 * share * cross[k]) - share * best * best * square < gained[k]:
                best = max(best, reached(float(gained[k]), float(cross[k]), square, share))
    return best


def _everywhere(lines: Lines, share: float, square: float, log: float, enough: float) -> float:
    """The most that any cut at any threshold allows."""
    best = 0.0
    for seen in (lines, lines.mirrored()):
        low, high, several, cells = _cells(seen)
        sums = np.stack([running(column) for column in cells])
        n = low.size
        part = (1.0 - low) * (cells[1] + share * cells[3])  # events alone can add to it
        places, many = np.arange(n), np.flatnonzero(several)
        t = np.concatenate([low, high, [1.0], low[many], high[many]])
        ends = np.concatenate([places, places + 1, [n], many, many])
        of_threshold = np.concatenate([np.zeros(2 * n + 1), part[many], part[many]])
        begins, of_cut = np.append(np.arange(n + 1), many + 1), np.append(np.zeros(n + 1), part[many])
        order = np.argsort(begins, kind="stable")
        beyond = of_threshold, of_cut[order]
        allowed = most_allowed(t, ends, begins[order], beyond, sums, share, square, log, enough)
        best = float(np.maximum(best, allowed))  # NaN stays
        if best >= enough:
            break
    return best


def _cells(lines: Lines) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_], FloatArray]:
    """Lowest and highest prediction of stretches of about equal weight, whether they have several, what they hold."""
    new = np.flatnonzero(lines.new)
    v, held = lines.v[new], np.add.reduceat(lines.sums, new, axis=1)
    if v.size > _CELLS:
        place = np.floor(_CELLS * (held[0].cumsum() - 0.5 * held[0])).astype(np.int64)
        start = np.flatnonzero(np.append(True, place[1:] > place[:-1]))
        end = np.append(start[1:], v.size)
        return v[start], v[end - 1], end - start > 1, np.ascontiguousarray(np.add.reduceat(held, start, axis=1))
    return v, v, np.zeros(v.size, np.bool_), np.ascontiguousarray(held)
