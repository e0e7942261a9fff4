"""Where predictions err, in numbers and in words: ranges fixed beforehand, with the posterior of the averaged map.

The ranges have round ends that no outcome decides; where there are few distinct predictions each of them is one. A
range has the rate that the averaged map estimates, which shrinks it for having been picked, with its interval, and the
rate that was counted. Only ranges count whose mean error is larger than `_CLEAR` of its posterior standard deviations.
"""

from __future__ import annotations

__all__ = ["Region"]

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.ends import Interval, in_points, in_short
from calibrant.door.sample import Sample
from calibrant.door.special import expit
from calibrant.door.values import Result, counted
from calibrant.findings import word_catalogue as say
from calibrant.findings.word_catalogue import ends, percent, rate
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant.recalibration.gain import Direction

FloatArray = npt.NDArray[np.float64]

MOST_LEVELS = 30  # distinct predictions of which each is a range
# Where one range ends and the next begins, each with its lower end.
EDGES = np.array(
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *(k / 10.0 for k in range(1, 10)), 0.95, 0.98, 0.99, 0.995, 0.998, 0.999]
)
_PARTS = 16  # of equal weight, in each of which the curve is read once
_CLEAR = 2.5  # posterior standard deviations
_FEWEST, _LEAST_SHARE = 20.0, 0.005  # rows in effect, and share of the weight, of a range that is told
_DRAWS, _SEED = 1000, 0  # curves; a constant seed, so that equal rows are told alike


@dataclass(frozen=True, slots=True, repr=False)
class Region(Result):
    """A range of predictions that are too high, or too low, by more than its rows leave open.

    Attributes
    ----------
    low, high : float
        First and last prediction of the rows in it.
    predicted : float
        Weighted mean of its predictions.
    happened : float
        Weighted mean of its outcomes.
    estimate : float
        Rate of the event there by the averaged map: the posterior mean, shrunk towards what was predicted.
    interval : Interval or None
        Holds that rate with posterior probability 1 - level. None for event rates, whose trials are not known.
    n_rows : int
        Rows in it.
    share : float
        Its share of the weight.
    errors : float
        Posterior standard deviations between `predicted` and `estimate`.
    unit : {"row", "outcome"}
        What `n_rows` counts: of trials, outcomes.

    See Also
    --------
    Audit, audit
    """

    low: float
    high: float
    predicted: float
    happened: float
    estimate: float
    interval: Interval | None
    n_rows: int
    share: float
    errors: float
    unit: str = "row"

    @property
    def mean_error(self) -> float:
        """The estimate minus the mean prediction: negative where predictions are too high."""
        return self.estimate - self.predicted

    @property
    def direction(self) -> str:
        """Whether predictions are too "high" or too "low"."""
        return "high" if self.mean_error < 0.0 else "low"

    @property
    def range_words(self) -> str:
        """The one prediction, or between which two: "of 0.5", "between 0.2 and 0.3"."""
        if self.low == self.high:
            return f"of {self.low:.6g}"
        edges = np.r_[0.0, EDGES, 1.0]
        first = int(np.searchsorted(EDGES, self.low, side="right"))
        if self.high > edges[first + 1]:  # of cells that hold predictions on both sides of an end
            return "between " + " and ".join(ends(self.low, self.high))
        return f"between {edges[first]:g} and {edges[first + 1]:g}"

    @property
    def words(self) -> str:
        """The range in words, to stand in a sentence."""
        return (
            f"predictions {self.range_words} are too {self.direction} by {in_points(in_short(abs(self.mean_error)))} "
            "on average "
            f"({counted(self.n_rows, self.unit)}, {percent(self.share)})"
        )

    @property
    def rates_in_words(self) -> str:
        """Say what was predicted, what happened, and what the curve estimates, with the interval."""
        likely = "" if self.interval is None else f" ({rate(self.interval.low)} to {rate(self.interval.high)})"
        happened = f"{rate(self.happened)} happened; on new rows likely {rate(self.estimate)}{likely}"
        return f"{rate(self.predicted)} predicted, {happened}"

    def summary(self) -> str:
        """The range, what was predicted, and what happened."""
        return f"{self.words}: {self.rates_in_words}"


def regions_of(sample: Sample, curve: AveragedCurve, level: float, unit: str = "row") -> tuple[Region, ...]:
    """Ranges in which predictions err, the clearest first; none of too few rows to be shown as an example."""
    v, mass = sample.prediction, sample.mass()
    weight = np.maximum(mass, 1e-300)  # rows without weight have places too
    of_range, alone = np.searchsorted(EDGES, v, side="right"), (v.size <= MOST_LEVELS) | curve.stand_out(v)
    first = np.flatnonzero(np.r_[True, (np.diff(of_range) > 0) | alone[1:] | alone[:-1]])
    size = np.diff(np.r_[first, v.size])
    inside = np.add.reduceat(weight, first)
    middle = np.cumsum(weight) - 0.5 * weight - np.repeat(np.cumsum(inside) - inside, size)
    part = np.clip(np.floor(_PARTS * middle / np.repeat(inside, size)), 0, _PARTS - 1)
    part_of_range = part + _PARTS * np.repeat(np.arange(first.size), size)
    start = np.flatnonzero(np.r_[True, np.diff(part_of_range) != 0.0])
    in_part = np.add.reduceat(weight, start)
    x = np.add.reduceat(weight * curve.log_odds(v), start) / in_part
    to_range = np.searchsorted(start, first)
    predicted = np.clip(np.add.reduceat(weight * v, first) / inside, 0.0, 1.0)

    mean = np.add.reduceat(in_part * expit(curve.curves(x, _DRAWS, np.random.default_rng(_SEED))), to_range, axis=1)
    mean /= inside
    inner = np.add.reduceat(sample.weight, first)
    happened = np.add.reduceat(sample.weighted_outcome, first) / np.maximum(inner, 1e-300)
    estimate, spread = mean.mean(axis=0), np.maximum(mean.std(axis=0), 1e-12)
    low, high = np.quantile(mean, [level / 2.0, 1.0 - level / 2.0], axis=0)
    share, count = np.add.reduceat(mass, first), np.add.reduceat(sample.count, first)
    rows = np.minimum(count, share * curve.cells_.rows.sum())
    clear = np.abs(estimate - predicted) / spread
    off = np.flatnonzero((clear > _CLEAR) & (rows >= _FEWEST * (1.0 - 1e-9)) & (share >= _LEAST_SHARE))
    last = first + size - 1
    return tuple(
        Region(
            low=float(v[first[k]]),
            high=float(v[last[k]]),
            predicted=float(predicted[k]),
            happened=min(1.0, float(happened[k])),
            estimate=float(estimate[k]),
            interval=Interval(float(low[k]), float(high[k])) if sample.binary else None,
            n_rows=round(float(count[k])),
            share=min(1.0, float(share[k])),
            errors=float(clear[k]),
            unit=unit,
        )
        for k in off[np.argsort(-clear[off], kind="stable")].tolist()
    )


SAID = {
    "too high": "Too high",
    "too low": "Too low",
    "too confident": "Too confident",
    "not confident enough": "Not confident enough",
    "uneven": "Uneven",
}
# What it is to predict that class with too much, and with too little.
_TOP = {"too high": say.TOO_CONFIDENT, "too low": say.TOO_LITTLE}
_SIDES = {"too low": "low", "too high": "high"}
_LARGE = 0.1  # of the largest error of a range: less is no example
_SURE = 4.0  # posterior standard deviations
_MOST = 0.9  # of the rows, in ranges that stand for all
_SAME = 1e-12  # what is nearer is rounding
_DIGITS = 6  # at most, of two rates that are told apart


@dataclass(frozen=True, slots=True)
class Places:
    """Direction in which predictions err, if it is known, and the ranges in which they clearly do.

    `predicted` and `happened` are rates of all rows; with `classes` they are of the likeliest one.
    """

    direction: Direction | None
    regions: tuple[Region, ...]
    predicted: float
    happened: float
    n_rows: int
    classes: bool
    unit: str = "row"  # what n_rows counts: of trials, outcomes
    already: bool = False  # whether all rows are counted beside it, and perhaps in another unit

    def examples(self) -> tuple[Region, ...]:
        """Choose the ranges to name: the clearest in the direction, and for faults to both sides the clearest of each.

        If nearly all errors are to one side, a range of the other is named only where it is clear beyond doubt. If
        nearly all rows err one way, all of them are the example. Without a direction it is the clearest of each side.
        """
        if not self.regions:
            return ()
        large = large_ones(self.regions)
        if self.direction in _SIDES:
            one_way = [each for each in self.regions if each.direction == _SIDES[self.direction]]
            same = [each for each in large if each in one_way]
            other = [each for each in self.regions if each not in one_way]
            if sum(each.share for each in one_way) > _MOST:
                low, high = min(each.low for each in one_way), max(each.high for each in one_way)
                rates = self.predicted, self.happened, self.happened
                same = [Region(low, high, *rates, None, self.n_rows, 1.0, one_way[0].errors)]
            return (*same[:1], *(each for each in other[:1] if same and each.errors >= _SURE))
        others = [each for each in large if each.direction != large[0].direction]
        return (large[0], *others[:1])

    def sentence(self, examples: tuple[Region, ...], *, slightly: bool = False) -> str:
        """The direction and the examples; without a direction the places that are clear."""
        if self.direction is None:
            if not examples:
                return say.NO_RANGE
            near = [f"too {each.direction} {self._near(each)}" for each in examples]
            return f"{'; '.join(near).capitalize()}. {self._others(examples)}"
        way = f"Slightly {self.way[0].lower()}{self.way[1:]}" if slightly else self.way
        return f"{way}{self._for_example(examples)}."

    def _others(self, examples: tuple[Region, ...]) -> str:
        """Which way predictions err that are no example: as their ranges tell, and if these have nearly all."""
        others = [each for each in self.regions if each not in examples]
        if not others:
            return say.OTHERS_NOT_CLEAR
        sides = {each.direction for each in others}
        if sum(each.share for each in self.regions) > _MOST:
            return "Other ranges err both ways." if len(sides) > 1 else f"Other ranges are too {min(sides)}."
        way = f"{'is' if len(others) == 1 else 'are'} too {min(sides)}" if len(sides) == 1 else "err, both ways"
        return say.REST_NOT_CLEAR.format(ranges=counted(len(others), "more range"), way=way)

    @property
    def way(self) -> str:
        """The direction, as a sentence begins."""
        assert self.direction is not None
        return (SAID | _TOP if self.classes else SAID)[self.direction]

    def backwards(self) -> str:
        """That events are rarer where predictions are higher, with the clearest example."""
        wrong = [each for each in large_ones(self.regions) if (each.predicted - 0.5) * (each.estimate - 0.5) < 0.0]
        where = say.RARER
        if wrong:
            share, rows = _happens(rate(wrong[0].estimate), self.classes), counted(wrong[0].n_rows, self.unit)
            where = f"where {rate(wrong[0].predicted)} is predicted, {share} ({rows})"
        return say.BACKWARDS.format(where=where)

    def _for_example(self, examples: tuple[Region, ...]) -> str:
        """The clearest place, and for two-sided faults the clearest on the other side."""
        number = None if self.already else self.n_rows
        of_all = f" on average: {rates_in_words(self.predicted, self.happened, number, self.classes, self.unit)}"
        if not examples:
            right = (self.happened > self.predicted) == (self.direction == "too low")
            return of_all if self.direction in _SIDES and right else ""
        first, *others = examples
        if self.direction in _SIDES:
            same = of_all if first.share > _MOST else f" {self._near(first)}"
            return same + "".join(f"; too {each.direction} {self._near(each)}" for each in others)
        near = "; ".join(self._near(each).replace(":", ",", 1) for each in examples)
        return f". {near[0].upper()}{near[1:]}"

    def _near(self, region: Region) -> str:
        """A range of predictions: what is predicted there, what happens by the curve, and how many rows there were."""
        says, share = two_rates(region.predicted, region.estimate)
        place = f"at {rate(region.low)}" if region.low == region.high else f"near {says}"
        return f"{place}: {_happens(share, self.classes)} ({counted(region.n_rows, self.unit)})"


def large_ones(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    """The ranges that hold a tenth of the largest error or more, in the order given."""
    error = [each.share * abs(each.mean_error) for each in regions]
    return tuple(each for each, size in zip(regions, error, strict=True) if size >= _LARGE * max(error))


def of_no_use(instead: str, *, better: bool) -> str:
    """That one answer for every row may do as well, or does better, where a correction is proved to gain."""
    does = "does better" if better else "may do as well"
    return f"Of no proved use: predicting {instead} for every row {does}."


def rates_in_words(predicted: float, happened: float, n_rows: int | None, classes: bool, unit: str = "row") -> str:
    """Say what was predicted and what happened, or was right, in so many rows."""
    expectation, share = two_rates(predicted, happened)
    of = "" if n_rows is None else f" ({counted(n_rows, unit)})"
    return f"{expectation} predicted, {share} {'were right' if classes else 'happened'}{of}"


def _happens(share: str, classes: bool) -> str:
    """What the curve estimates: a count would be "happened"."""
    return f"about {share} {'are right' if classes else 'happen'}"


def two_rates(one_rate: float, other_rate: float) -> tuple[str, str]:
    """Two rates with as many digits as it takes to tell them apart."""
    shown = rate(one_rate), rate(other_rate)
    if abs(one_rate - other_rate) < _SAME:
        return shown
    for digits in range(1, _DIGITS):
        if shown[0] != shown[1]:
            break
        shown = f"{one_rate:.{digits}%}", f"{other_rate:.{digits}%}"
    return shown
