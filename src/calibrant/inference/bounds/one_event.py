"""Both ends of a supremum of means, each by one event of chance, and the functions that attain it (docs/bounds.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import AnyDraws, CellDraws, Draws, Function, Learn
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.smooth import witness_from_sample

BET = 0.55  # the most: up to here psi(x) < x / 2, on which both proofs rest
_SHARE = 0.1  # of the level, for the interval of the mean square that decides the bet
_STEPS = 60


@dataclass(frozen=True, slots=True)
class Spread:
    """Means over units of what the upper end depends on, in units of the most weight that a unit can have.

    With S a unit's weight and E its sum of w |y - v|: the means of S, S^2, E, E^2 and |S - c| E, c the mean of S.
    """

    n: int
    weight: float
    squared_weight: float
    squared: float
    least_squared: float
    uneven: float

    @classmethod
    def of(cls, draws: AnyDraws) -> Spread:
        """Take them from the units, or from what bounds them."""
        return cls(draws.n_units, *draws.spread)

    def knowing(self, squared: float) -> Spread:
        """The same, where the mean of E^2 is known to be at most this, from the rows themselves."""
        off = max(0.0, self.squared_weight - self.weight * self.weight)
        uneven = min(self.uneven, math.sqrt(squared * off))  # Cauchy and Schwarz
        return replace(self, squared=min(self.squared, squared), uneven=uneven)

    def upper_end(self, value: float, level: float, n: int | None = None) -> float:
        """Return an end, below the population's supremum with probability up to `level`; the sample's is `value`.

        With `n`, what it would be for that many units with these means.
        """
        n = self.n if n is None else n
        log, rare = -math.log((1.0 - _SHARE) * level), -math.log(0.5 * _SHARE * level)
        low, high = _below(self.least_squared, rare / n), _above(self.squared, rare / n)
        ends = (self._end(value, log / n, _bet(mean, log / n)) for mean in (low, high))
        return min(1.0, max(value, *ends))

    def _end(self, value: float, log: float, bet: float) -> float:
        """The largest d in [0, 1] with d S - G <= log / bet + (psi / bet) (E^2 + 2 d |S - c| E - 2 d c G + d^2 S^2)."""
        share = psi(bet) / bet
        sample = value * self.weight
        square = share * self.squared_weight
        linear = self.weight - 2.0 * share * (self.uneven - self.weight * sample)
        constant = sample + log / bet + share * self.squared
        inside = linear * linear - 4.0 * square * constant
        if linear <= 0.0 or inside <= 0.0 or linear + math.sqrt(inside) < 2.0 * square:
            return 1.0
        return 2.0 * constant / (linear + math.sqrt(inside))


def lower_end(draws: Draws, learn: Learn, level: float) -> float:
    """Return a lower end that exceeds the population's supremum with probability at most `level`.

    On every block but the first a function is bet that the blocks before it taught, as much as the last bet's noise
    allows.
    """
    log, lessons = -math.log(level), draws.lessons(learn)
    step, last = log / lessons.n_units, lessons.first
    bets = []
    for n, means in lessons.after:
        assert last is not None
        bets.append((_bet(_noise(*last), step), n, *means))
        last = means

    def capital(m: float) -> float:
        most = 1.0 + m
        total = 0.0
        for x, n, g, weight, gg, gs, ss in bets:
            z, zz = g - m * weight, gg - 2.0 * m * gs + m * m * ss
            total += n * (x * z / most - psi(x) * zz / (most * most))
        return total

    return 0.0 if capital(0.0) < log else boundary(lambda m: capital(m) >= log)[0]


def end_of_bets(
    sizes: FloatArray,
    log_shares: FloatArray | float,
    n: float,
    means: tuple[float, float, float, float, float],
    log: float,
) -> float:
    """The largest m below which every m' is excluded: the capital on "more than m'" is at least e^log.

    With t = 1 / (1 + m) what is bet on is (G + S) t - S, so that each bet's logarithm is concave in t: from t to 1 it
    is at least what it is at either end.
    """
    g, s, gg, gs, ss = means
    both, cross, square = g + s, gs + ss, gg + 2.0 * gs + ss
    bent = np.array([psi(x) for x in sizes])

    def logs(m: float) -> FloatArray:
        t = 1.0 / (1.0 + m)
        return np.asarray(n * (sizes * (t * both - s) - bent * (t * t * square - 2.0 * t * cross + ss)))

    at_zero = logs(0.0)

    def excluded(m: float) -> bool:
        return bool(np.logaddexp.reduce(log_shares + np.minimum(logs(m), at_zero)) >= log)

    return boundary(excluded)[0] if excluded(0.0) else 0.0


def boundary(holds: Callable[[float], bool], low: float = 0.0) -> tuple[float, float]:
    """Bracket the point of [low, 1] where a condition ceases to hold: the last with it, the first without."""
    high = 1.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _noise(g: float, s: float, gg: float, gs: float, ss: float) -> float:
    """Mean square of what is bet on, about the ratio of means."""
    m = max(0.0, g / s) if s else 0.0
    return max(0.0, gg - 2.0 * m * gs + m * m * ss) / (1.0 + m) ** 2


def psi(x: float) -> float:
    """-ln(1 - x) - x."""
    return -math.log1p(-x) - x


def _bet(mean_square: float, log: float) -> float:
    """The bet that is best against noise of this mean square, or nearly."""
    return BET if mean_square * BET * BET <= 2.0 * log else math.sqrt(2.0 * log / mean_square)


def _above(mean: float, log: float) -> float:
    """Bound the expectation of a variable in [0, 1]; it is above with probability at most exp(-n log) (Chernoff)."""
    root = math.sqrt(2.0 * log)
    return min(1.0, (0.5 * (root + math.sqrt(root * root + 4.0 * mean))) ** 2)


def _below(mean: float, log: float) -> float:
    """Bound it; it is below with probability at most exp(-n log) (Bernstein)."""
    return max(0.0, mean - math.sqrt(2.0 * mean * log))


Moves = Callable[[FloatArray, FloatArray, float, float], FloatArray]
"""Takes heights of w at two knots, and the knots; 1 where the class has a member that is linear between, else 0."""

PIECES = (1, 2, 4, 8)
"""Families: paths w over so many pieces of [0, 1], equally long."""
_FINER = 2  # heights a length of a piece
_NEAR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All paths w in [-1, 1] over some knots, in equal steps of height; each makes a member of the class."""

    # knots, heights: where a path turns, and the heights that it may have there
    knots: FloatArray
    heights: FloatArray
    moves: FloatArray  # (knots - 1, heights, heights): which height may follow which
    log_size: float  # logarithm of the number of paths

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


def smooth_moves(w_u: FloatArray, w_v: FloatArray, u: float, v: float) -> FloatArray:
    """Whether w is 1-Lipschitz."""
    return np.asarray(np.abs(w_v - w_u) <= v - u + _NEAR, np.float64)


def lower_moves(w_u: FloatArray, w_v: FloatArray, u: float, v: float) -> FloatArray:
    """Whether the potentials -u w(u) and (1 - u) w(u) are, w being linear between: their slopes are linear too."""
    slope = (w_v - w_u) / (v - u)
    ends = (w_u + u * slope, w_v + v * slope, w_u - (1.0 - u) * slope, w_v - (1.0 - v) * slope)
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


_GRID = np.linspace(0.0, 1.0, 1025)


def smooth_function(sample: Sample) -> Function:
    """(y - v) w(v) for the sample's witness w."""
    witness = witness_from_sample(sample)
    return lambda y, v: (y - v) * witness(v)


def lower_function(sample: Sample) -> Function:
    """r_y(v) for potentials, near to the sample's best, that are feasible at every u in [0, 1].

    The sample may stand for many more rows than it has lines, so how near is near enough cannot be told from these.
    """
    potentials = lower_certificate_from_sample(sample, tol=1e-5).potentials
    at = np.union1d(potentials.nodes, _GRID)
    r0, r1 = (_extended(potentials.nodes, heights, at) for heights in (potentials.r0, potentials.r1))
    r0, r1 = np.clip(r0, -at, at), np.clip(r1, at - 1.0, 1.0 - at)
    # Linear between these knots, (1 - u) r0 + u r1 is a quadratic there: its maximum is at a knot or within a piece.
    broken = max(0.0, _largest(at, r0, r1))

    def function(y: FloatArray, v: FloatArray) -> FloatArray:
        zero, one = (np.interp(v, at, r) - broken for r in (r0, r1))
        return (1.0 - y) * np.maximum(zero, -v) + y * np.maximum(one, v - 1.0)

    return function


def _extended(nodes: FloatArray, heights: FloatArray, at: FloatArray) -> FloatArray:
    """The lowest 1-Lipschitz function that is at least these heights at the nodes, elsewhere."""
    known = np.full(at.size, -np.inf)
    known[np.searchsorted(at, nodes)] = heights
    up = np.maximum.accumulate(known + at) - at
    down = np.maximum.accumulate((known - at)[::-1])[::-1] + at
    return np.maximum(up, down)


def _largest(at: FloatArray, r0: FloatArray, r1: FloatArray) -> float:
    """Largest (1 - u) r0 + u r1 on [0, 1], the potentials linear between knots."""
    ends = (1.0 - at) * r0 + at * r1
    width = np.diff(at)
    rise = np.diff(r1 - r0) / width  # half of the second derivative
    slope = np.diff(ends) / width - rise * width  # at the left end of a piece
    within = np.where(rise < 0.0, np.clip(-slope / (2.0 * np.where(rise < 0.0, rise, -1.0)), 0.0, width), 0.0)
    return float(max(ends.max(), (ends[:-1] + (slope + rise * within) * within).max()))


def binned_function(sample: Sample) -> Function:
    """(y - v) times the sign of the sample's mean residual, in each of the default bins of equal width."""
    edges = np.linspace(0.0, 1.0, 16)
    sign = np.sign(np.bincount(_bins(sample.prediction, edges), sample.residual(), 15))
    return lambda y, v: (y - v) * sign[_bins(v, edges)]


def _bins(v: FloatArray, edges: FloatArray) -> IntArray:
    """Bins (lower, upper], the first with 0."""
    return np.asarray(np.maximum(np.searchsorted(edges, v, side="left") - 1, 0))


def kernel_function(sample: Sample) -> Function:
    """(y - v) w(v) for w of norm 1 in the Laplace kernel's space: the sample's own, linear between knots."""
    knots = np.linspace(0.0, 1.0, 257)
    w = np.exp(-np.abs(knots[:, None] - sample.prediction)) @ sample.residual()
    rise, step = np.diff(w), knots[1]
    # Norm of exp(-|u - v|) on [0, 1]: half of w(0)^2 + w(1)^2 and of the integral of w^2 + w'^2.
    inside = float((w[:-1] * w[:-1] + w[:-1] * w[1:] + w[1:] * w[1:]).sum()) * step / 3.0 + float(rise @ rise) / step
    norm = math.sqrt(0.5 * (w[0] ** 2 + w[-1] ** 2 + inside))
    w = w / (norm * (1.0 + 1e-12)) if norm > 0.0 else w
    return lambda y, v: (y - v) * np.interp(v, knots, w)
