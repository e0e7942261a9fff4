"""The lower end where rows cannot be told apart: functions from families that were fixed before the rows came."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.inference.bounds.cells import CellDraws
from calibrant.inference.bounds.draws import Function
from calibrant.inference.bounds.one_event import BET, end_of_bets

Moves = Callable[[FloatArray, FloatArray, float, float], FloatArray]
"""Takes heights of w at two knots, and the knots; 1 where the class has a member that is linear between, else 0."""

PIECES = (1, 2, 4, 8)
"""Families: paths w over so many pieces of [0, 1], equally long."""
_FINER = 2  # heights a length of a piece
_NEAR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All paths w in [-1, 1] over some knots, in equal steps of height; each makes a member of the class.

    Attributes
    ----------
    knots, heights : ndarray
        Where a path turns, and the heights that it may have there.
    moves : ndarray of shape (knots - 1, heights, heights)
        Which height may follow which.
    log_size : float
        Logarithm of the number of paths.
    """

    knots: FloatArray
    heights: FloatArray
    moves: FloatArray
    log_size: float

    @classmethod
    def of(cls, pieces: int, allowed: Moves) -> Family:
        """Count the paths."""
        knots = np.linspace(0.0, 1.0, pieces + 1)
        heights = np.linspace(-1.0, 1.0, 2 * _FINER * pieces + 1)
        ways = np.ones(heights.size)
        moves = np.stack([allowed(heights[:, None], heights, knots[k], knots[k + 1]) for k in range(pieces)])
        for each in moves:
            ways = ways @ each
        return cls(knots, heights, moves, math.log(float(ways.sum())))

    def best(self, gain: FloatArray) -> FloatArray:
        """The path w, by its heights at the knots, with the largest sum of gain times height."""
        reached, came = gain[0] * self.heights, []
        for each, more in zip(self.moves, gain[1:], strict=True):
            ahead = np.where(each > 0.0, reached[:, None], -np.inf)
            came.append(ahead.argmax(axis=0))
            reached = ahead.max(axis=0) + more * self.heights
        path = [int(reached.argmax())]
        for before in came[::-1]:
            path.append(int(before[path[-1]]))
        return np.asarray(self.heights[path[::-1]])


def smooth_moves(before: FloatArray, after: FloatArray, u: float, v: float) -> FloatArray:
    """Whether w is 1-Lipschitz."""
    return np.asarray(np.abs(after - before) <= v - u + _NEAR, np.float64)


def lower_moves(before: FloatArray, after: FloatArray, u: float, v: float) -> FloatArray:
    """Whether the potentials -u w(u) and (1 - u) w(u) are, w being linear between: their slopes are linear too."""
    slope = (after - before) / (v - u)
    ends = (before + u * slope, after + v * slope, before - (1.0 - u) * slope, after - (1.0 - v) * slope)
    return np.asarray(np.abs(np.stack(ends)).max(axis=0) <= 1.0 + _NEAR, np.float64)


def lower_end_of_cells(cells: CellDraws, moves: Moves, level: float) -> float:
    """Return a lower end of the supremum over (y - v) w(v), wrong with probability up to `level`; w makes these moves.

    The capital is shared equally by families, by their paths and by bets; what the best path's share has become alone
    is at most what all have. So the path may be chosen by the very rows that it is tried on.
    """
    n = cells.n_units
    bets = [BET]
    while bets[-1] * bets[-1] * n > -2.0 * math.log(level):
        bets.append(0.5 * bets[-1])
    low = 0.0
    for pieces in PIECES:
        family = Family.of(pieces, moves)
        means = cells.means(_function(family.knots, family.best(_gain(cells, family.knots))))
        log = -math.log(level) + math.log(len(PIECES)) + family.log_size + math.log(len(bets))
        low = max(low, end_of_bets(np.array(bets), 0.0, n, means, log))
    return low


def _function(knots: FloatArray, path: FloatArray) -> Function:
    return lambda y, v: (y - v) * np.interp(v, knots, path)


def _gain(cells: CellDraws, knots: FloatArray) -> FloatArray:
    """Return the gain of a path by its height at each knot."""
    zeros, ones = cells.weight
    residual = ones * (1.0 - cells.v) - zeros * cells.v
    piece = np.clip(np.searchsorted(knots, cells.v, side="right") - 1, 0, knots.size - 2)
    share = (cells.v - knots[piece]) / (knots[1] - knots[0])
    ends = (piece, 1.0 - share), (piece + 1, share)
    left, right = (np.bincount(at, part * residual, knots.size) for at, part in ends)
    return np.asarray(left + right)
