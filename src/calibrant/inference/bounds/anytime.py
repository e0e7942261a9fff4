"""Both ends of a supremum of means at all numbers of rows at once: bets fixed beforehand (docs/bounds.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Bracket, Interval
from calibrant.door.errors import InputError
from calibrant.door.outwards import at_least, at_most
from calibrant.door.sample import Sample
from calibrant.inference.bounds.cells import AnyDraws, CellDraws
from calibrant.inference.bounds.functions import lower_function
from calibrant.inference.bounds.gate import GateResult, fewest_rows, verdict_of
from calibrant.inference.bounds.one_event import BET, Spread, boundary, end_of_bets, psi
from calibrant.inference.bounds.population import sample_distance

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

    def logs(self, total: float, squares: float) -> FloatArray:
        """Logarithm of what 1 on each bet has become at least, by the sum of what was bet on and of its squares."""
        return np.asarray(self.sizes * total - self.psi * squares)

    def log_capital(self, logs: FloatArray) -> float:
        """Logarithm of what 1 shared by all bets has become, by those of each."""
        return float(np.logaddexp.reduce(self.log_shares + logs))


@dataclass(frozen=True, slots=True)
class Won:
    """Rows that were bet on, and sums over them: with G what earlier rows taught to bet, and S the weight.

    In units of the most weight of a row. The last three are such that G^2 - 2 m G S + m^2 S^2 is from above, m >= 0.
    """

    n: float = 0.0
    total: float = 0.0
    weight: float = 0.0
    squares: float = 0.0
    cross: float = 0.0
    squared_weight: float = 0.0

    def lower_end(self, bets: Bets, level: float) -> float:
        """Return a lower end that ever exceeds the population's supremum with probability at most `level`."""
        sums = self.total, self.weight, self.squares, self.cross, self.squared_weight
        return end_of_bets(bets.sizes, bets.log_shares, 1.0, sums, -math.log(level))

    def after(self, past: Sample | None, batch: AnyDraws, number: int, before: float) -> Won:
        """Bet on a batch, the `number`-th, what the rows before it teach, which are `before` in number.

        Where these are few the batch is split into shares that teach too, unless its rows cannot be told apart.
        """
        total = self
        for share in _shares(before, batch, number):
            if past is not None and past.weight.any():
                n = float(share.n_units)
                sums = (n * mean for mean in share.means(lower_function(past)))
                total = Won(total.n + n, *(a + b for a, b in zip(astuple(total)[1:], sums, strict=True)))
            lesson = share.pooled
            past = lesson if past is None else past.merge(lesson)
        return total


def _shares(before: float, batch: AnyDraws, number: int) -> Iterator[AnyDraws]:
    """The batch, split by chance so that what teaches grows by no more than a half from share to share."""
    if isinstance(batch, CellDraws):
        return iter([batch])
    ends = [before + batch.n_units]
    while (end := ends[0] / _GROWTH) > max(before, _FIRST * ends[-1]):
        ends.insert(0, end)
    if len(ends) == 1:
        return iter([batch])
    shares = np.diff([before, *ends]) / batch.n_units
    return iter(batch.split(shares, number))


class OtherPopulationError(InputError):
    """Rows that cannot be of one population with those before; `ends` says which distances they prove together."""

    def __init__(self, ends: str) -> None:
        self.ends = ends
        why = f"cannot be of one population with those before ({ends}): predictor, data or label changed"
        super().__init__("rows", why, allowed="begin a new gate; CalibrationMonitor finds when it changed")

    def __reduce__(self) -> tuple[Callable[..., InputError], tuple[str, ...]]:
        """Pickle what it was made of."""
        return type(self), (self.ends,)


@dataclass(frozen=True, slots=True)
class AnytimeEnds:
    """Both ends of the population's lower distance: each is ever wrong with probability `level` at most."""

    found: Bracket
    spread: Spread
    bets: Bets
    level: float
    proved: Interval

    @classmethod
    def of(
        cls, rows: Sample, spread: Spread, moved: float, won: Won, bets: Bets, level: float, before: Interval
    ) -> AnytimeEnds:
        """From all rows so far, whose own distance may differ by `moved`, and what was proved before.

        Raises
        ------
        InputError
            If both ends cannot hold of one population.
        """
        near = sample_distance(rows)
        distance = Bracket(max(0.0, near.lower - moved), near.upper + moved)
        known = spread.n, distance.upper, spread, bets, level
        above = boundary(lambda d: not excludes(d, *known), min(distance.upper, 1.0))[1]
        high, low = min(before.high, above), max(before.low, won.lower_end(bets, level))
        if low > high:
            least, most = at_least(low, 3), at_most(max(high, 1e-300), 3)
            first, second = ("before" if end == was else "now" for end, was in zip((low, high), before, strict=True))
            raise OtherPopulationError(f"distance at least {least} {first}, at most {most} {second}")
        return cls(distance, spread, bets, level, Interval(low, high))

    def result(self, max_distance: float) -> GateResult:
        """The gate's decision."""
        verdict = verdict_of(self.proved, max_distance)
        n, upper = self.spread.n, self.found.upper
        # As far from the sample's distance as the limit is, above it, wherever the limit lies.
        as_far = max(max_distance, self.found.lower + upper - max_distance)
        needed = None
        if verdict == "undecided":
            needed = fewest_rows(lambda more: excludes(as_far, more, upper, self.spread, self.bets, self.level), n)
        return GateResult(verdict, max_distance, self.proved, self.level, n, needed, anytime=True)


def excludes(d: float, n: int, distance: float, spread: Spread, bets: Bets, level: float) -> bool:
    """Whether n rows with these means and a supremum of at most `distance` exclude that the population's is d or more.

    The logarithm of each bet's capital is concave in d: from d to 1 it is at least what it is at either end.
    """
    mean, logs = spread.weight, []
    for at in (d, 1.0):
        square = spread.squared + 2.0 * at * (spread.uneven - mean * mean * distance) + at * at * spread.squared_weight
        logs.append(bets.logs(n * (at - distance) * mean, n * square))
    return bets.log_capital(np.minimum(*logs)) >= -math.log(level)
