"""What acting on the predictions costs, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.door.arguments import check_threshold
from calibrant.door.ends import Interval, confidence
from calibrant.door.outwards import at_least, at_most
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.inference.regret import regret_bounds_from_sample
from calibrant.measures.decision_loss import Cuts


@dataclass(frozen=True, slots=True, repr=False)
class Cost(Result):
    """What acting on the predictions loses at one threshold.

    Attributes
    ----------
    threshold : float
        That was asked about, or at which these rows lose most.
    worst : bool
        Whether it is the latter.
    lost : float
        Per row, in payoff of 1 - t for an event that is acted on and t for another row that is not.
    best_cut : float
        Prediction from which on acting is best there; infinite where it is best to act on none.
    regret_interval : Interval or None
        The population's regret, at the threshold or at its own worst one; None where rows
        weigh differently, or are trials.
    level : float
        Probability with which either end of it may fail.
    """

    threshold: float
    worst: bool
    lost: float
    best_cut: float
    regret_interval: Interval | None
    level: float

    def summary(self) -> str:
        """Say what it costs."""
        if self.lost == 0.0:
            said = "at no threshold is another cut better"
            if not self.worst:
                said = f"at the threshold {self.threshold:.6g} no other cut is better"
        else:
            acts = f"acting from {self.threshold:.6g} on"
            if self.worst:
                short = threshold_in_words(self.threshold)
                short = f"just above {short}" if short == f"{self.best_cut:.3g}" else short
                acts = f"acting from {short} on, the worst threshold,"
            lost = f"loses {self.lost:.2g} per row against {acting_from(self.best_cut)}"
            said = f"{acts} {lost}, as much as {self._as_cases()} in 1,000 rows"
        return f"What it costs: {said}{self._population()}."

    def _as_cases(self) -> str:
        """The loss as errors of the kind that the best cut avoids: a missed event costs 1 - t, a needless action t."""
        fewer = self.best_cut > self.threshold  # rows acted on from the best cut on
        each, kind = (self.threshold, "needless actions") if fewer else (1.0 - self.threshold, "missed events")
        return f"{float(f'{1000.0 * self.lost / each:.2g}'):g} {kind}"

    def _population(self) -> str:
        if self.regret_interval is None:
            return ""
        low, high = self.regret_interval
        some, where = (" at some threshold", " at any") if self.worst else ("", "")
        least = f"at least {at_least(low, 2)}{some} and " if low > 0.0 else ""
        where = " at any threshold" if self.worst and not least else where
        sure = f"({confidence(self.level)} confidence; a missed event costs 1 - t, a needless action t)"
        return f"; in the population {least}at most {at_most(high, 2)} per row{where} {sure}"


def threshold_in_words(threshold: float, digits: int = 3) -> str:
    """A threshold in so many digits; the least number above 0, where only rows predicted 0 do not act, by name.

    >>> threshold_in_words(0.25), threshold_in_words(5e-324)
    ('0.25', 'just above 0')
    """
    return "just above 0" if 0.0 < threshold < np.finfo(np.float64).tiny else f"{threshold:.{digits}g}"


def acting_from(cut: float) -> str:
    """What to do at a cut, in words; one below 1 is not said to be 1.

    >>> acting_from(0.25), acting_from(0.99999999), acting_from(float("inf"))
    ('acting from 0.25 on', 'acting from just below 1 on', 'acting on none')
    """
    if cut == np.inf:
        return "acting on none"
    short = f"{cut:.3g}"
    return f"acting from {short if (float(short) == 1.0) == (cut == 1.0) else 'just below 1'} on"


def cost_from_sample(sample: Sample, level: float, threshold: float | None = None, *, bounded: bool = True) -> Cost:
    """What it costs at a threshold, or at the one where these rows lose most; `bounded` for the population too."""
    cuts = Cuts.of(sample)
    if threshold is None:
        below = cuts.prediction[cuts.prediction < 1.0]
        at, above = cuts.regret(below)
        # Above a prediction means from the next number on: a row acts where its prediction is the threshold.
        worst = int(np.argmax(np.maximum(at, above))) if below.size else 0
        t = float(below[worst]) if below.size else 0.0
        if below.size and above[worst] > at[worst] and np.nextafter(t, 1.0) < 1.0:
            t = float(np.nextafter(t, 1.0))
        lost = float(max(at[worst], above[worst])) if below.size else 0.0
    else:
        t = check_threshold(threshold)
        lost = float(cuts.regret(np.array([t]))[0][0])
    cut = float(np.append(cuts.prediction, np.inf)[cuts.best_at(np.array([t]))[0]])
    single = sample.binary and np.array_equal(sample.weight, sample.count)
    bounds = regret_bounds_from_sample(sample, level, threshold).regret_interval if single and bounded else None
    return Cost(t, threshold is None, lost, cut, bounds, level)
