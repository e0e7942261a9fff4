"""Both ends of a supremum of means at all numbers of rows at once: bets fixed beforehand (docs/bounds.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Bracket, Interval
from calibrant.door.errors import InputError
from calibrant.door.outwards import at_least, at_most
from calibrant.door.sample import Sample
from calibrant.inference.bounds import sample_distance
from calibrant.inference.functions import lower_function
from calibrant.inference.gate import GateResult, fewest_rows, verdict_of
from calibrant.inference.one_event import BET, Spread, boundary, means, psi
from calibrant.inference.units import SEED, Units

_FINER = 20  # bets below those that the limit asks for, for distances near to it
_GROWTH = 1.5  # of the rows that teach, within a batch
_FIRST = 0.1  # of all rows, at least, are in the first share of the first batch


@dataclass(frozen=True, slots=True)
class Bets:
    """Bets by halves from the largest down, and the logarithms of the capital's shares that are put on them."""

    sizes: FloatArray
    log_shares: FloatArray
    psi: FloatArray

    @classmethod
    def against(cls, limit: float) -> Bets:
        """Equal shares on the bets above the limit, and one more that is shared by halves among those below."""
        equal = max(1, math.ceil(math.log2(BET / limit)))
        k = np.arange(float(equal + _FINER))
        sizes = BET * np.exp2(-k)
        halved = np.maximum(0.0, k - equal + 1.0)
        return cls(sizes, -math.log(equal + 1) - halved * math.log(2.0), np.array([psi(x) for x in sizes]))

    def log_capital(self, total: float, squares: float) -> float:
        """Logarithm of what 1 has become at least, by the sum of what was bet on and that of its squares."""
        return float(np.logaddexp.reduce(self.log_shares + self.sizes * total - self.psi * squares))


@dataclass(frozen=True, slots=True)
class Won:
    """Rows that were bet on, and sums of what earlier rows taught to bet, and of its squares."""

    n: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def lower_end(self, bets: Bets, level: float) -> float:
        """What the population's supremum is ever said to be above with probability at most `level`, where it is not."""
        log = -math.log(level)

        def capital(m: float) -> float:
            most = 1.0 + m
            squares = self.squares - 2.0 * m * self.total + m * m * self.n
            return bets.log_capital((self.total - m * self.n) / most, squares / (most * most))

        return 0.0 if capital(0.0) < log else boundary(lambda m: capital(m) >= log)[0]

    def after(self, past: Sample | None, batch: Units, number: int) -> Won:
        """Bet on a batch, the `number`-th, what rows before it teach: where these are few, in shares that teach too."""
        found = self
        for share in _shares(past, batch, number):
            if past is not None:
                g, _, squares, _, _ = means(share, lower_function(past))
                n = float(share.n_units)
                found = Won(found.n + n, found.total + n * g, found.squares + n * squares)
            taught = share.pooled()
            past = taught if past is None else past.merge(taught)
        return found


def _shares(past: Sample | None, batch: Units, number: int) -> Iterator[Units]:
    """The batch, split by chance so that what teaches grows by no more than a half from share to share."""
    before = 0.0 if past is None else past.weight.sum()
    ends = [before + batch.n_units]
    while (end := ends[0] / _GROWTH) > max(before, _FIRST * ends[-1]):
        ends.insert(0, end)
    if len(ends) == 1:
        return iter([batch])
    shares = np.diff([before, *ends]) / batch.n_units
    return iter(batch.split(shares, np.random.default_rng([SEED, number])))


@dataclass(frozen=True, slots=True)
class AnytimeEnds:
    """Both ends of the population's lower distance, each but for probability `level` at all numbers of rows."""

    found: Bracket
    spread: Spread
    bets: Bets
    level: float
    proved: Interval

    @classmethod
    def of(cls, rows: Sample, moved: float, won: Won, bets: Bets, level: float, before: Interval) -> AnytimeEnds:
        """From all rows so far, whose own distance may differ by `moved`, and what was proved before.

        Raises
        ------
        InputError
            If both ends cannot hold of one population.
        """
        near = sample_distance(rows)
        found = Bracket(max(0.0, near.lower - moved), near.upper + moved)
        spread = Spread.of(Units.of_sample(rows))
        known = spread.n, found.upper, spread.squared, bets, level
        above = boundary(lambda d: not excludes(d, *known), min(found.upper, 1.0))[1]
        high, low = min(before.high, above), max(before.low, won.lower_end(bets, level))
        if low > high:
            least, most = at_least(low, 3), at_most(max(high, 1e-300), 3)
            raise InputError(
                "y_true",
                f"contradicts the rows before: together they prove a distance of at least {least} and of at most "
                f"{most}, which one population allows with probability {2.0 * level:g} at most: the predictor or the "
                "population has changed",
                allowed="begin a new gate; a monitor says since when",
            )
        return cls(found, spread, bets, level, Interval(low, high))

    def result(self, max_distance: float) -> GateResult:
        """The gate's decision."""
        verdict = verdict_of(self.proved, max_distance)
        n, squared, found = self.spread.n, self.spread.squared, self.found.upper
        # As far from the sample's distance as the limit is, above it, wherever the limit lies.
        as_far = max(max_distance, self.found.lower + found - max_distance)
        needed = None
        if verdict == "undecided":
            needed = fewest_rows(lambda more: excludes(as_far, more, found, squared, self.bets, self.level), n)
        return GateResult(verdict, max_distance, self.proved, self.level, n, needed, anytime=True)


def excludes(d: float, n: int, found: float, squared: float, bets: Bets, level: float) -> bool:
    """Whether n rows, their supremum at most `found` and mean square `squared`, exclude that the population's is d."""
    return bets.log_capital(n * (d - found), n * (squared - 2.0 * d * found + d * d)) >= -math.log(level)
