"""Decisions with proof: is the population within a distance or beyond it? Of all rows, or of rows that still come."""

from __future__ import annotations

__all__ = ["GateResult", "calibration_gate"]

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Literal

import numpy as np

from calibrant.door.arguments import check_level, fraction
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Bracket, Interval, as_points, confidence, in_points, in_short, outwards
from calibrant.door.ends import at_least as rounded_down
from calibrant.door.ends import at_most as rounded_up
from calibrant.door.errors import InputError
from calibrant.door.premises import Premises
from calibrant.door.sample import Sample
from calibrant.door.values import ReadOnly
from calibrant.inference.bounds.draws import AnyDraws, CellDraws, Draws, Weighing, premises_of_draws, read_draws
from calibrant.inference.bounds.one_event import (
    BET,
    Spread,
    boundary,
    end_of_bets,
    lower_end,
    lower_end_of_cells,
    lower_function,
    lower_moves,
    psi,
)
from calibrant.inference.bounds.population import sample_distance
from calibrant.inference.bounds.tally import Proof, needs, practical, rounded_rows

Verdict = Literal["within", "beyond", "undecided"]

_MOST_ROWS = 10**15  # more than that is said to be no number of rows
_FEWEST = 10  # more rows that are worth a word
_MARGIN = 1.6  # more rows than are needed on average: so many decide in nine of ten samples


@dataclass(frozen=True, slots=True, repr=False)
class GateResult(Proof):
    """Proof about the population's lower distance from calibration.

    Attributes
    ----------
    verdict : {"within", "beyond", "undecided"}
        Proved at most, proved more, or neither.
    max_distance : float
        The limit that was asked about.
    lower_distance : Interval
        Each end alone holds with probability 1 - level, at any number of rows: the verdict rests on one of them.
    level : float
        The verdict is wrong with at most this probability. Among several checks of a gate the lower end, which decides
        "beyond", takes this divided by their number.
    n_rows : int
        Rows that it rests on.
    rows_needed : int or None
        About how many rows would decide, with the same distance and Brier score; None if it is decided already, or no
        number would.
    anytime : bool
        Whether each end holds at all numbers of rows at once, so that you may look at it and stop at any time.
    n_groups, groups_needed : int or None
        Groups that it rests on, where whole groups are drawn, and about how many would decide; else None.
    n_unknown : int
        Rows beside these whose outcome is not known at the horizon. `rows_needed` counts such rows, too.
    premises : Premises
        What it takes as given.

    See Also
    --------
    calibration_gate, CalibrationGate
    """

    verdict: Verdict
    max_distance: float
    lower_distance: Interval
    level: float
    n_rows: int
    rows_needed: int | None
    anytime: bool = False
    n_groups: int | None = None
    groups_needed: int | None = None
    n_unknown: int = 0
    premises: Premises = field(default=None, compare=False)  # type: ignore[assignment]  # rows alone, where not given

    def __post_init__(self) -> None:
        """Take rows as independent and alike where nothing else is said."""
        if self.premises is None:
            premises = Premises(self.level, max_distance=self.max_distance, anytime=self.anytime)
            object.__setattr__(self, "premises", premises)

    @property
    def sentence(self) -> str:
        """The verdict, then how far predictions would have to move on average to be calibrated, in points."""
        sure, limit = confidence(self.level), as_points(asked(self.max_distance))
        both = "each end with " if self.verdict == "undecided" and self.lower_distance.low > 0.0 else ""
        when = ", at any time" if self.anytime else ""
        of = f"{both}{sure} confidence{when}; limit {limit}; {self.tally.summary()}"
        return f"{VERDICTS[self.verdict]}: {ends_in_points(self)} on average ({of}).{self._more_rows}"

    @property
    def _more_rows(self) -> str:
        if self.verdict != "undecided":
            return ""
        if not self.n_rows:
            return " It rests on no row."
        if self.rows_needed is None:
            return f" It may be right at the limit, where no number of {self.tally.units} decides."
        rows = rows_to_collect(self)
        return f" {rows[0].upper()}{rows[1:]} may decide."


VERDICTS: Mapping[Verdict, str] = ReadOnly({"within": "PASS", "beyond": "FAIL", "undecided": "UNDECIDED"})
"""What a person reads; JSON has the keys."""


def ends_in_points(gate: GateResult) -> str:
    """The end that decides, or both where neither does."""
    ends, limit = gate.lower_distance, gate.max_distance
    if gate.verdict == "within":
        return at_most(ends, limit)
    if gate.verdict == "beyond":
        return at_least(ends, limit)
    most = in_points(most_in_short(ends, limit))
    return f"{as_points(least_in_short(ends, limit))} to {most}" if ends.low > 0.0 else f"up to {most}"


def proved_by(gate: GateResult, *, alone: bool = False) -> str:
    """Say what a gate proves; where that stands `alone`, with the limit about which more rows would decide."""
    more = needs(gate.tally) if gate.verdict == "undecided" else ""
    if alone and more:
        more += f" (the limit is {asked(gate.max_distance)})"
    proved = where(gate.verdict, gate.lower_distance, gate.level, ", at any time" if gate.anytime else "")
    return f"{proved} ({gate.tally.summary()}){more}"


def calibration_gate(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    sampling_fractions: Any = None,
    max_weight: float | None = None,
    max_distance: float,
    level: float = 0.05,
) -> GateResult:
    """Decide whether the population's lower distance from calibration is within a limit, with proof.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights of the rows.
    trials : column of shape (n,), optional
        Number of trials of each row; `y_true` is their share of events; the row, not the trial, is what is drawn
        independently.
    groups : column of shape (n,), optional
        Which group a row belongs to; groups are drawn independently, rows within one need not be.
    sampling_fractions : mapping, optional
        Share of rows that were kept of each outcome, one by one, such as ``{0: 0.1, 1: 1.0}``. The limit is about the
        population that they were kept from. Without weights and trials.
    max_weight : float, optional
        Needed with weights, trials or groups: the most that one row can weigh, known before the rows were drawn. Of
        trials their number times the weight. With groups it is the most of a whole group; without weights its number of
        rows.
    max_distance : float
        The limit, in (0, 1).
    level : float, default 0.05
        At any number of rows the verdict is wrong with at most this probability.

    Returns
    -------
    GateResult
        With ``verdict``, the bounds, and about how many rows would decide.

    Raises
    ------
    InputError
        If a column or option cannot be used.

    See Also
    --------
    population_bounds, CalibrationGate

    Notes
    -----
    The limit is on the lower distance, which is what predictions and outcomes alone can prove; with features the true
    distance can only be larger. Both ends are those of `population_bounds`, for this one quantity; as "within" and
    "beyond" cannot both be false, each has the whole level (docs/bounds.md). Cost: a sort, then that of
    `lower_calibration_distance`.

    References
    ----------
    Hu, Jambulapati, Tian and Yang, Testing calibration in nearly-linear time, NeurIPS 2024, Definition 4.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import calibration_gate
    >>> y_prob = np.random.default_rng(0).random(20_000)
    >>> calibration_gate(np.ones(20_000), y_prob, max_distance=0.1).verdict
    'beyond'
    """
    level = check_gate(max_distance, level)
    weighing = Weighing(sample_weight, trials, max_weight, sampling_fractions)
    sample, draws = read_draws(y_true, y_prob, weighing, groups)
    result = gate_from_ends(Ends.of(sample, level, draws), max_distance, sample.n_rows, draws.n_groups)
    return replace(result, premises=premises_of_draws(result.premises, sample, draws, weighing))


def calibration_gate_on_sample(
    sample: Sample,
    *,
    max_distance: float,
    level: float,
    displacement: float = 0.0,
    bracket: Bracket | None = None,
    draws: AnyDraws | None = None,
    shares: int = 1,
    n_rows: int | None = None,
) -> GateResult:
    """`calibration_gate` of outcomes of 0 or 1 that are pooled already, without weights or drawn as these units.

    Where they are pooled into cells, `displacement` is at least the mean distance of predictions from their cells'
    points, and the widths of the cells bound the rest (docs/bounds.md). `bracket` is of the sample's distance, `shares`
    the number of gates among which the level of "beyond" is shared, `n_rows` that of rows, where not the
    sample's.
    """
    level = check_gate(max_distance, level)
    ends = Ends.of(sample, level, draws, displacement, bracket, shares)
    n_groups = None if draws is None else draws.n_groups
    return gate_from_ends(ends, max_distance, sample.n_rows if n_rows is None else n_rows, n_groups)


def gate_from_ends(ends: Ends, max_distance: float, n_rows: int, n_groups: int | None = None) -> GateResult:
    """The gate's decision, from both ends."""
    verdict = verdict_of(ends.proved, max_distance)
    needed = ends.rows_for(within=max_distance, beyond=max_distance) if verdict == "undecided" else None
    of_groups = None if n_groups is None else needed
    if needed is not None and ends.spread.n < n_rows:  # of groups, as many rows as these have in the mean
        needed = math.ceil(needed * n_rows / ends.spread.n)
    proof = verdict, float(max_distance), ends.proved, ends.level, n_rows, needed
    return GateResult(*proof, n_groups=n_groups, groups_needed=of_groups)


def verdict_of(proved: Interval, max_distance: float) -> Verdict:
    """Decide about a limit by an interval of the distance."""
    if proved.high <= max_distance:
        return "within"
    return "beyond" if proved.low > max_distance else "undecided"


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of the population's lower distance, each wrong with probability `level` at most; the use of more rows."""

    found: Bracket
    spread: Spread
    level: float
    proved: Interval

    @classmethod
    def of(
        cls,
        sample: Sample,
        level: float,
        draws: AnyDraws | None = None,
        moved: float = 0.0,
        bracket: Bracket | None = None,
        shares: int = 1,
    ) -> Ends:
        """Ends from a sample of rows without weights or of these units; rows' own distance may differ by `moved`.

        `bracket` is that of the sample's distance, where there is one already; the lower end takes one of so many
        `shares` of the level.
        """
        draws = Draws.of_sample(sample) if draws is None else draws
        low, high = sample_distance(sample) if bracket is None else bracket
        distance = Bracket(max(0.0, low - moved), high + moved)
        spread = Spread.of(draws)
        if isinstance(draws, CellDraws):
            low = lower_end_of_cells(draws, lower_moves, level / shares)
        else:
            low = lower_end(draws, lower_function, level / shares)
        return cls(distance, spread, level, Interval(low, max(low, spread.upper_end(distance.upper, level))))

    def rows_for(self, *, within: float, beyond: float) -> int | None:
        """Fewest rows that would prove either, were distance and spread what they are; as far below as above.

        Or farther, if the lower end is: it comes nearer as one over the root of the rows.
        """
        below = max(0.0, self.found.lower - self.proved.low) * math.sqrt(self.spread.n)

        def decides(n: int) -> bool:
            high = self.spread.upper_end(self.found.upper, self.level, n)
            return high < within or self.found.lower - max(high - self.found.upper, below / math.sqrt(n)) > beyond

        return fewest_rows(decides, self.spread.n)


def fewest_rows(decides: Callable[[int], bool], n: int) -> int | None:
    """Fewest rows, more than n, that decide; None where no number does."""
    few = many = n
    while not decides(many):
        few, many = many, 2 * many
        if many > _MOST_ROWS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return max(many, n + max(_FEWEST, n // 10))  # it is an estimate, and no finer


def check_gate(max_distance: float, level: float) -> float:
    """Return the level; refuse a limit that is not strictly between 0 and 1, or a level that is none."""
    fraction(max_distance, "max_distance")
    return check_level(level)


def where(verdict: str, proved: Interval, level: float, when: str = "") -> str:
    """Say the end that decides the verdict, or both ends where neither does."""
    low, high = outwards(*proved)
    sure, what = f"{confidence(level)} confidence{when}", "the population's lower distance from calibration is"
    if verdict == "undecided" and proved.low > 0.0:
        return f"{what} at least {low} and at most {high}, each with {sure}"
    return f"with {sure}, {what} {f'at least {low}' if verdict == 'beyond' else f'at most {high}'}"


def asked(value: float) -> str:
    """In few digits where these are the exact number, else in all of them."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def rows_to_collect(gate: GateResult) -> str:
    """How many rows in all may decide: if there is no error and none is proved, and if it stays as it is on these rows.

    Without an error the upper end falls as one over the root of the rows. Chance moves both: docs/answer.md.
    """
    tally = gate.tally
    without = math.ceil(tally.number * (gate.lower_distance.high / gate.max_distance) ** 2)
    needed = tally.needed or without
    least, average = sorted((needed if gate.lower_distance.low > 0.0 else without, needed))
    most = math.ceil(_MARGIN * average)
    of = "rows of " if tally.unit == "group" else ""
    if not practical(least, tally.number, tally.unit):
        return f"{of}far more {tally.units} than these (over ten times as many)"
    fewest, rest = f"{rounded_rows(least):,}", f"{tally.units} in all{tally.as_they_come('these included')}"
    if not practical(most, tally.number, tally.unit):
        return f"{of}at least {fewest} {rest}"
    return f"{of}{fewest} to {rounded_rows(most):,} {rest}"


def least_in_short(interval: Interval, limit: float) -> str:
    """The lower end, rounded down, and never below a limit that it is above: nearer than is printed it is the limit."""
    for digits in _digits(limit):
        shown = in_short(interval.low, ROUND_FLOOR, digits)
        if not float(shown) <= limit < interval.low:
            return shown
    return asked(limit)


def most_in_short(interval: Interval, limit: float) -> str:
    """The upper end, rounded up, and below a limit that it is below: nearer than is printed it is the limit."""
    for digits in _digits(limit):
        shown = in_short(interval.high, ROUND_CEILING, digits)
        if not interval.high < limit or float(shown) < float(asked(limit)):
            return shown
    return asked(limit)


def _digits(limit: float) -> range:
    """Two, or as many as it takes to tell an end from the limit: at most three, or one more than the limit has."""
    return range(2, max(3, len(Decimal(asked(limit)).normalize().as_tuple().digits) + 1) + 1)


def at_most(interval: Interval, limit: float) -> str:
    """The upper end in points, and "less than" a limit that no short number tells it from."""
    most = most_in_short(interval, limit)
    return f"{'less than' if interval.high < limit == float(most) else 'at most'} {in_points(most)}"


def at_least(interval: Interval, limit: float) -> str:
    """The lower end in points, and "more than" a limit that no short number tells it from."""
    least = least_in_short(interval, limit)
    return f"{'more than' if interval.low > limit == float(least) else 'at least'} {in_points(least)}"


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

    def __init__(self, distances: str) -> None:
        self.ends = distances
        why = f"cannot be of one population with those before ({distances}): predictor, data or label changed"
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
        cls, rows: Sample, spread: Spread, moved: float, won: Won, bets: Bets, level: float, earlier: Interval
    ) -> AnytimeEnds:
        """From all rows so far, whose own distance may differ by `moved`, and what was proved before.

        Raises InputError if both ends cannot hold of one population.
        """
        near = sample_distance(rows)
        distance = Bracket(max(0.0, near.lower - moved), near.upper + moved)
        known = spread.n, distance.upper, spread, bets, level
        above = boundary(lambda d: not excludes(d, *known), min(distance.upper, 1.0))[1]
        high, low = min(earlier.high, above), max(earlier.low, won.lower_end(bets, level))
        if low > high:
            least, most = rounded_down(low, 3), rounded_up(max(high, 1e-300), 3)
            first, second = ("before" if end == was else "now" for end, was in zip((low, high), earlier, strict=True))
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
