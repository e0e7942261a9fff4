"""Both ends of a supremum of means, each by one event of chance (docs/bounds.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.inference.bounds.cells import AnyDraws
from calibrant.inference.bounds.draws import Draws, Learn

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
