"""What weights tell about outcomes: sampling by outcome, which is known exactly, and everything else, which is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from calibrant.door.arguments import LEAST_SHARE
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError, Ways
from calibrant.door.sample import Sample
from calibrant.door.special import expit

LEAST_EFFECTIVE = 10.0
"""Kish's effective rows of an outcome that a joint redraw needs (docs/reproductions/weighted-levels.md)."""
_SAME = 1e-9  # of a weight: what rounding makes of one value
_SUMMED = 1e-11  # of a sum of squares, the same
_LEAST, _MOST = 5e-324, 1.0 - 2.0**-53
_WAYS = Ways(
    "give the share that was kept of each outcome, such as {0: 0.1, 1: 1.0}",
    "say the share that was kept of each outcome, such as 0:0.1,1:1",
)


@dataclass(frozen=True, slots=True)
class SamplingFractions:
    """Shares of rows without the event and with it that were kept, one by one; only their ratio matters.

    Of a population in which an event has the chance v, the chance in the file is q = v f1 / (v f1 + (1 - v) f0), by
    Bayes' theorem (docs/weights.md).
    """

    without: float
    events: float
    seen: bool = field(default=False, compare=False)  # in weights, and not given

    @classmethod
    def read(cls, fractions: Any, name: str = "sampling_fractions") -> SamplingFractions:
        """Read {0: f0, 1: f1}, or the command line's "0:f0,1:f1".

        Raises InputError if it is no mapping of 0 and 1 to numbers in (0, 1].
        """
        given = _mapping(fractions) if isinstance(fractions, str) else fractions
        if not isinstance(given, Mapping) or len(given) != 2:
            raise InputError(name, f"is {fractions!r:.60}", allowed=_WAYS)
        try:
            values = {float(outcome): float(share) for outcome, share in given.items()}
        except (TypeError, ValueError):
            raise InputError(name, f"is {fractions!r:.60}", allowed=_WAYS) from None
        if set(values) != {0.0, 1.0}:
            raise InputError(name, f"is of the outcomes {', '.join(map(str, given))}; they are 0 and 1", allowed=_WAYS)
        for outcome, share in values.items():
            if not 0.0 < share <= 1.0:
                problem = (
                    f"of the outcome {outcome:g} is {share:g}; a share that was kept lies above 0, and is at most 1"
                )
                raise InputError(name, problem, allowed=_WAYS)
            if share < LEAST_SHARE:  # the square of a weight would be beyond all doubles
                problem = f"of the outcome {outcome:g} is {share:g}"
                raise InputError(name, problem, allowed=f"each must be at least {LEAST_SHARE:g}")
        return cls(values[0.0], values[1.0])

    @classmethod
    def of_weights(cls, outcome: FloatArray | IntArray, weight: FloatArray) -> SamplingFractions | None:
        """The fractions that weights undo, where each outcome has one value of them, another than the other outcome.

        Rows without weight are in no sample. None where an outcome is missing, or its weights differ.
        """
        ends = []
        for each in (0, 1):
            own = weight[(outcome == each) & (weight > 0.0)]
            if not own.size or own.max() - own.min() > _SAME * own.max():
                return None
            ends.append(float(own.max()))
        if abs(ends[0] - ends[1]) <= _SAME * max(ends):
            return None
        least = min(ends)
        return cls(least / ends[0], least / ends[1], seen=True)

    @classmethod
    def of_sample(cls, sample: Sample) -> SamplingFractions | None:
        """The same of sums of weights: rows of an outcome weigh alike exactly if no squares are beyond their mean's."""
        events, rows = float(sample.ones.sum()), float(sample.count.sum())
        weight = float(sample.weighted_outcome.sum())
        rest, squares = float(sample.weight.sum()) - weight, float(sample.squared_weight.sum())
        if not (0.0 < events < rows and weight > 0.0 < rest):
            return None
        least = weight * weight / events + rest * rest / (rows - events)
        if squares > (1.0 + _SUMMED) * least:
            return None
        return cls.of_weights(np.array([0, 1]), np.array([rest / (rows - events), weight / events]))

    @property
    def weights(self) -> tuple[float, float]:
        """Weight of a row without the event, and of one with it, by which a file describes its population."""
        return 1.0 / self.without, 1.0 / self.events

    @property
    def option(self) -> str:
        """The fractions as the command line takes them."""
        return f"0:{self.without:.6g},1:{self.events:.6g}"

    @property
    def max_weight(self) -> float:
        """The most that a row can weigh, known before any was drawn."""
        return max(self.weights)

    def weight_of(self, outcome: FloatArray | IntArray) -> FloatArray:
        """Weight of each row, whose outcomes are 0 or 1."""
        return np.where(np.asarray(outcome) == 1, self.weights[1], self.weights[0])

    def chance_in_file(self, prediction: FloatArray) -> FloatArray:
        """Chance q of an event among rows that were kept, where its chance in the population is the prediction."""
        return _turned(prediction, self.events, self.without)

    def chance_in_population(self, chance: FloatArray) -> FloatArray:
        """The prediction whose chance in the file this is."""
        return _turned(chance, self.without, self.events)

    def population(self, n_rows: int, base_rate: float) -> float:
        """Number of rows of the population that so many in the file stand for, where the population has that rate."""
        return n_rows / (self.events * base_rate + self.without * (1.0 - base_rate))

    def most_variance(self, rate: FloatArray) -> FloatArray:
        """Largest variance of weighted outcomes, for each row of the population, where their chances have this mean.

        At the chance v it is v (1 - v) ((1 - v) / f1 + v / f0). Of that this is the least concave function above.
        """
        without, events = self.weights
        if events > without:
            rate, without, events = 1.0 - rate, events, without
        more = without - events
        tangent = (more - events) / (2.0 * more) if more > events else 0.0  # up to it, a line from 0 is above
        at = np.maximum(rate, tangent)
        return np.asarray(rate * (1.0 - at) * (events + more * at))

    @property
    def sentence(self) -> str:
        """Say what is taken as given."""
        return f"{self.without:.6g} of the rows without the event and {self.events:.6g} of those with it were kept"


_SAMPLED_FROM, _MOST_TIMES, _OTHER_ODDS = 200, 5, 2.0
"""Rows below which chance often makes numbers of outcomes alike, and what is no chance (docs/weights.md)."""
_NEAR, _FAR_ODDS = 0.01, 3.0
"""How far from 1/2 classes still look balanced by hand, and how far off predictions are then."""
_ERRORS, _DIFFERENT, _ALIKE = 2.0, 1.96, 0.25
"""Standard errors by which odds are farther off than that, and at which their ratio is no constant; what slope is."""
_DISTINCT, _INFORMED, _STEPS, _CLOSE = 3, 1.0, 50, 1e-6  # predictions, information, and steps of Newton's


def perhaps_sampled(sample: Sample, mean_prediction: float) -> tuple[int, int] | None:
    """In about how many of so many rows the event came, where rows may have been chosen by it: (1, 2) of balanced ones.

    Single rows of one outcome are then one to five times those of the other, to the row, or nearly as many. Predictions
    have other odds. Or odds are off by one factor at all predictions, as of rows that were thinned by any share.
    """
    events, rows = int(sample.ones.sum()), int(sample.count.sum())
    rarer, rest = sorted((events, rows - events))
    alike = sample.binary and np.array_equal(sample.weight, sample.count)
    if not alike or rows < _SAMPLED_FROM or not 0.0 < mean_prediction < 1.0 or not rarer:
        return None
    odds = events / (rows - events) * (1.0 - mean_prediction) / mean_prediction
    off = max(odds, 1.0 / odds)
    if off >= _FAR_ODDS and rarer >= (0.5 - _NEAR) * rows:
        return 1, 2
    times = rest // rarer
    if rest % rarer == 0 and times <= _MOST_TIMES and off >= _OTHER_ODDS:
        return (1 if events == rarer else times), times + 1
    if off < _OTHER_ODDS or not _one_factor(sample):
        return None
    share = Fraction(events, rows).limit_denominator(max(_MOST_TIMES, rows // rarer))
    return share.numerator, share.denominator


def _one_factor(sample: Sample) -> bool:
    """Whether odds are plainly off by more than threefold, and by the same factor at all predictions.

    The factor is fitted by maximum likelihood. It is the same where the score of the slope is that of
    chance, or a step of Newton's changes the slope by less than a quarter.
    """
    inside = (sample.prediction > 0.0) & (sample.prediction < 1.0)
    v, n, ones = sample.prediction[inside], sample.count[inside], sample.ones[inside]
    if v.size < _DISTINCT:
        return False
    odds, shift = np.log(v) - np.log1p(-v), 0.0
    for _ in range(_STEPS):
        chance = expit(odds + shift)
        variance = n * chance * (1.0 - chance)
        information = float(variance.sum())
        if information < _INFORMED:
            return False
        step = float((ones - n * chance).sum()) / information
        shift += min(1.0, max(-1.0, step))
        if abs(step) < _CLOSE:
            break
    if abs(shift) - _ERRORS / np.sqrt(information) < np.log(_FAR_ODDS):
        return False
    centred = odds - variance @ odds / information
    score, spread = abs(float(centred @ (ones - n * chance))), float(variance @ centred**2)
    return score <= max(_DIFFERENT * float(np.sqrt(spread)), _ALIKE * spread)


def _turned(chance: FloatArray, events: float, without: float) -> FloatArray:
    most = max(events, without)
    of, others = chance * (events / most), (1.0 - chance) * (without / most)
    inside = (chance > 0.0) & (chance < 1.0)  # what is not certain stays so
    return np.where(inside, np.clip(of / (of + others), _LEAST, _MOST), chance)


def _mapping(fractions: str) -> dict[str, float] | None:
    pairs = [each.partition(":") for each in fractions.split(",")]
    try:
        shares = {outcome.strip(): _share(share.strip()) for outcome, _, share in pairs}
    except ValueError:
        return None
    return shares if len(shares) == len(pairs) else None


def _share(text: str) -> float:
    return float(text[:-1]) / 100.0 if text.endswith("%") else float(text)


def effective(weight: FloatArray) -> float:
    """Kish's number of equal rows that tell as much of a mean: (sum w)^2 / sum w^2."""
    most = float(weight.max(initial=0.0))
    if most == 0.0:
        return 0.0
    share = weight / most
    return float(share.sum()) ** 2 / float((share * share).sum())


def check_effective(outcome: IntArray, weight: FloatArray, among: str = "") -> None:
    """Refuse weighted rows where too few of an outcome count, in effect, for their weights to be drawn again.

    `among` names the part of all rows that these are.

    Raises InputError if an outcome has fewer than about ten effective rows.
    """
    for what, mask in (("with", outcome == 1), ("without", outcome != 1)):
        rows = effective(weight[mask])
        if rows < LEAST_EFFECTIVE:
            raise InputError(
                "sample_weight",
                f"make rows {what} the event{among} worth {rows:.3g} equal ones ((sum w)^2 / sum w^2), and "
                f"{LEAST_EFFECTIVE:g} are needed, for weights may tell outcomes",
                allowed=Ways(
                    "give more rows, or outcome_free_weights=True if weights tell no outcomes at a given prediction",
                    "give more rows, or --outcome-free-weights if weights tell no outcomes at a given prediction",
                ),
            )


def outcome_score(outcome: IntArray, prediction: FloatArray, weight: FloatArray) -> float:
    """Score test of the logarithm of weights on outcomes given the log-odds: a normal number, if unrelated.

    It is printed, and decides nothing: a test that chose the redraw would spoil the level of what follows.
    """
    mask = (weight > 0.0) & (prediction > 0.0) & (prediction < 1.0)
    y, v, log = outcome[mask].astype(np.float64), prediction[mask], np.log(np.where(weight > 0.0, weight, 1.0)[mask])
    if y.size < 4:
        return 0.0
    odds = np.log(v) - np.log1p(-v)
    design = np.stack([np.ones(y.size), odds - odds.mean()], axis=1)
    left, of = (each - design @ np.linalg.lstsq(design, each, rcond=None)[0] for each in (y, log))
    spread = float(np.sqrt(((left * of) ** 2).sum()))
    return float((left * of).sum()) / spread if spread > 1e-12 * float(np.abs(log).max(initial=0.0)) else 0.0
