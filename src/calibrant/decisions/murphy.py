"""Costs of acting: in one sentence, and as a Murphy diagram, with the ROC curve and the hull behind both."""

from __future__ import annotations

__all__ = ["MurphyDiagram", "murphy_diagram"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant.decisions import catalogue as say
from calibrant.decisions.cases import drawing
from calibrant.door.arguments import check_threshold
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.ends import Interval, at_least, at_most, confidence
from calibrant.door.sample import Sample
from calibrant.door.values import FloatOrNull, Result
from calibrant.inference.bounds.regret import regret_bounds_from_sample
from calibrant.kernels.sums import dot
from calibrant.measures.corp import CorpDecomposition, corp_from_sample
from calibrant.measures.decision_loss import Cuts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MurphyDiagram(Result):
    """Mean elementary scores by threshold, and their parts.

    Everywhere, and so for the integrals, score = miscalibration - discrimination + uncertainty. Between neighbours of
    `thresholds` all are linear; at predictions score and miscalibration jump.

    Attributes
    ----------
    thresholds : ndarray of shape (k,)
        Every one from 0 to 1 at which anything bends or jumps.
    elementary_score, elementary_miscalibration : ndarray of shape (k,)
        Where predictions equal to the threshold act.
    elementary_score_after, elementary_miscalibration_after : ndarray of shape (k,)
        Limits from above, where they do not.
    elementary_discrimination, elementary_uncertainty : ndarray of shape (k,)
        What the best cut gains over the better of acting on all and on none, and the score of the latter.
    false_positive_rate, true_positive_rate : ndarray of shape (m + 1,)
        The ROC curve, from acting on all rows to acting on none; NaN where there is no row of the kind.
    on_hull : ndarray of shape (h,)
        Numbers of the points of the ROC curve that are best at some threshold.
    corp : CorpDecomposition
        The Brier score's decomposition, with the isotonic reliability curve: these are the integrals of the above.

    See Also
    --------
    murphy_diagram, DecisionCurve, CorpDecomposition
    """

    thresholds: FloatArray
    elementary_score: FloatArray
    elementary_score_after: FloatArray
    elementary_miscalibration: FloatArray
    elementary_miscalibration_after: FloatArray
    elementary_discrimination: FloatArray
    elementary_uncertainty: FloatArray
    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    on_hull: IntArray
    corp: CorpDecomposition

    @property
    def area(self) -> float:
        """Area under the ROC curve: the C-statistic; NaN where there is one outcome only."""
        return float(np.trapezoid(self.true_positive_rate[::-1], self.false_positive_rate[::-1]))

    def integral(self, values: FloatArray, after: FloatArray | None = None) -> float:
        """Integrate values at `thresholds` from 0 to 1, exactly; `after` are their limits from above, if others."""
        first = values if after is None else after
        return dot(np.diff(self.thresholds), 0.5 * (first[:-1] + values[1:]))

    def summary(self) -> str:
        """Say the parts of the scores, and how well predictions separate events from other rows."""
        return f"{self.corp.summary()} Area under the ROC curve: {self.area:.6g}."

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Axes:
        """Draw the score and its parts by threshold on a matplotlib Axes, a new one by default, and return it.

        With a name, label or color: the score alone, as `ReliabilityDisplay.from_predictions` does.
        """
        return cast("Axes", drawing("diagram", "draw_murphy")(self, ax, name=name, label=label, color=color))

    def plot_triptych(
        self, ax: Sequence[Axes] | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Figure:
        """Draw reliability curve, Murphy diagram and ROC curve on three Axes, and return their figure.

        With a name, label or color: as one of several (`ReliabilityDisplay.from_predictions`).
        """
        return cast("Figure", drawing("diagram", "draw_triptych")(self, ax, name=name, label=label, color=color))


def murphy_diagram(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> MurphyDiagram:
    """Split the elementary score of every threshold into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes 0 or 1, or event rates in [0, 1].
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.

    Returns
    -------
    MurphyDiagram
        Exact at every threshold; with the ROC curve and its hull, ``.plot()`` and ``.plot_triptych()``.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    decision_curve, corp_decomposition, ReliabilityDisplay

    Notes
    -----
    The elementary score at threshold t is 2 (1 - t) for an event that is not acted on. It is 2 t for another row that
    is. Every proper score is a mixture of them, the Brier score their integral. Miscalibration is twice the regret. A
    predictor with the lower curve at a threshold is better there. One with the lower curve at all thresholds is better
    by every proper score. Cost: a sort, then O(m), with m distinct predictions.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger, Of quantiles and expectiles, Journal of the Royal Statistical Society B 78, 2016.
    Dimitriadis, Gneiting, Jordan and Vogel, Evaluating probabilistic classifiers: the triptych, International Journal
    of Forecasting 40, 2024.

    Examples
    --------
    >>> from calibrant import murphy_diagram
    >>> found = murphy_diagram([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8])
    >>> round(found.integral(found.elementary_score, found.elementary_score_after), 6), found.area
    (0.2, 0.75)
    >>> round(found.integral(found.elementary_miscalibration, found.elementary_miscalibration_after), 6)
    0.075
    """
    return murphy_from_sample(Sample.from_columns(y_true, y_prob, sample_weight))


def murphy_from_sample(
    sample: Sample,
    corp: CorpDecomposition | None = None,
    cuts: Cuts | None = None,
    some: Callable[[int], IntArray] | None = None,
) -> MurphyDiagram:
    """`murphy_diagram` of a sample, whose split of the Brier score and cuts may be known already.

    `some` of so many thresholds, by their numbers, may do.
    """
    cuts = Cuts.of(sample) if cuts is None else cuts
    rate, rest = cuts.events[-1], cuts.others[-1]
    t = np.unique(np.concatenate([[0.0, min(1.0, max(0.0, rate / (rate + rest))), 1.0], cuts.prediction, cuts.rate]))
    t = t if some is None else t[some(t.size)]

    def score(cut: IntArray) -> FloatArray:
        return np.asarray(2.0 * ((1.0 - t) * cuts.events[cut] + t * (rest - cuts.others[cut])))

    now, after, best = cuts.now(t), cuts.after(t), cuts.best_at(t)
    uncertainty = 2.0 * np.minimum((1.0 - t) * rate, t * rest)
    with np.errstate(invalid="ignore"):
        false_positive = (rest - cuts.others) / rest
        true_positive = (rate - cuts.events) / rate
    return MurphyDiagram(
        thresholds=t,
        elementary_score=score(now),
        elementary_score_after=score(after),
        elementary_miscalibration=2.0 * cuts.lost(t, now, best),
        elementary_miscalibration_after=2.0 * cuts.lost(t, after, best),
        elementary_discrimination=np.maximum(uncertainty - score(best), 0.0),
        elementary_uncertainty=uncertainty,
        false_positive_rate=false_positive,
        true_positive_rate=true_positive,
        on_hull=cuts.best,
        corp=corp_from_sample(sample) if corp is None else corp,
    )


_NOTHING = 1e-12  # what less is lost is rounding


@dataclass(frozen=True, slots=True, repr=False)
class Cost(Result):
    """Loss by acting on the predictions at one threshold.

    Attributes
    ----------
    threshold : float
        That was asked about, or at which these rows lose most.
    worst : bool
        Whether it is the latter.
    lost : float
        Per row, in payoff of 1 - t for an event that is acted on and t for another row that is not.
    best_cut : float
        Prediction from which on acting is best there; infinite, in JSON null, where it is best to act on none.
    regret_interval : Interval or None
        The population's regret, at the threshold or at its own worst one; None where rows
        weigh differently, or are trials.
    level : float
        Probability with which either end of it may fail.
    """

    threshold: float
    worst: bool
    lost: float
    best_cut: FloatOrNull
    regret_interval: Interval | None
    level: float

    def summary(self) -> str:
        """Say what it costs."""
        return f"{self._on_these_rows()} {self._population()}".rstrip()

    def _on_these_rows(self) -> str:
        if self.lost < _NOTHING:
            if self.worst:
                return say.NO_BETTER_CUT
            return say.NO_BETTER_AT.format(threshold=self.threshold)
        here, best = _told_apart(self.threshold, self.best_cut, 3 if self.worst else 6)
        cases = float(f"{self._as_cases(self.lost):.2g}")
        lost = say.LOSES.format(here=here, cases=cases, errors=self._kind[1], best=best)
        if self.worst:
            return f"The costliest threshold is {here}{worth_in_words(self.threshold)}: {lost}."
        return f"At the threshold {here}{worth_in_words(self.threshold)}, {lost}."

    @property
    def _kind(self) -> tuple[float, str]:
        """Name the error that the best cut avoids, and its cost: a missed event 1 - t, a needless action t."""
        fewer = self.best_cut > self.threshold  # rows acted on from the best cut on
        return (self.threshold, "needless actions") if fewer else (1.0 - self.threshold, "missed events")

    def _as_cases(self, lost: float) -> float:
        """So many errors of that kind in 1,000 rows."""
        return 1000.0 * min(lost, max(self.threshold, 1.0 - self.threshold)) / self._kind[0]

    def _population(self) -> str:
        if self.regret_interval is None:
            return ""
        low, high = self.regret_interval
        sure = f"({confidence(self.level)} confidence)"
        if not self.worst and self.lost >= _NOTHING:
            least = f"at least {at_least(self._as_cases(low), 2)} and " if low > 0.0 else ""
            return f"In the population it is {least}at most {at_most(self._as_cases(high), 2)} {sure}."
        if not self.worst:
            return say.ANOTHER_BETTER.format(most=at_most(high, 2), sure=sure)
        least = f"some threshold costs at least {at_least(low, 2)} and none" if low > 0.0 else "no threshold costs"
        return say.COSTS.format(least=least, most=at_most(high, 2), sure=sure)


def _told_apart(threshold: float, cut: float, least: int) -> tuple[str, str]:
    """A threshold, and acting from a cut on, in as many digits as tell them apart."""
    if threshold < np.finfo(np.float64).tiny:
        return threshold_in_words(threshold), acting_from(cut)
    for digits in range(least, 17):
        here, there = f"{threshold:.{digits}g}", f"{cut:.{digits}g}"
        if (float(here) < float(there)) == (threshold < cut) and here != there:
            return here, acting_from(cut) if digits == least or cut == np.inf else f"acting from {there} on"
    return f"{threshold:.17g}", f"acting from {cut:.17g} on"


def worth_in_words(threshold: float) -> str:
    """Compare the two kinds of errors at a threshold, in brackets.

    >>> worth_in_words(0.25), worth_in_words(0.8), worth_in_words(0.5), worth_in_words(5e-324)
    (' (a missed event being worth 3 needless actions)', ' (a needless action being worth 4 missed events)', \
' (a missed event being worth a needless action)', '')
    """
    if not 1e-6 < threshold < 1.0 - 1e-6:
        return ""
    odds = max(threshold, 1.0 - threshold) / min(threshold, 1.0 - threshold)
    if float(f"{odds:.2g}") == 1.0:
        return say.ONE_EACH
    pair = "a missed event", "needless actions"
    if threshold > 0.5:
        pair = "a needless action", "missed events"
    return f" ({pair[0]} being worth {odds:.2g} {pair[1]})"


def threshold_in_words(threshold: float, digits: int = 3) -> str:
    """A threshold in so many digits; the least number above 0, where only rows predicted 0 do not act, by name.

    >>> threshold_in_words(0.25), threshold_in_words(5e-324)
    ('0.25', 'just above 0')
    """
    return "just above 0" if 0.0 < threshold < np.finfo(np.float64).tiny else f"{threshold:.{digits}g}"


def acting_from(cut: float) -> str:
    """Say what to do at a cut; one below 1 is not said to be 1.

    >>> acting_from(0.25), acting_from(0.99999999), acting_from(float("inf"))
    ('acting from 0.25 on', 'acting from just below 1 on', 'acting on none')
    """
    if cut == np.inf:
        return "acting on none"
    short = f"{cut:.3g}"
    return f"acting from {short if (float(short) == 1.0) == (cut == 1.0) else 'just below 1'} on"


def cost_from_sample(
    sample: Sample, level: float, threshold: float | None = None, *, with_bounds: bool = True, cuts: Cuts | None = None
) -> Cost:
    """Return the cost at a threshold, or at the one where these rows lose most; of the population too `with_bounds`.

    `cuts` are the sample's if known.
    """
    cuts = Cuts.of(sample) if cuts is None else cuts
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
    bounds = regret_bounds_from_sample(sample, level, threshold).regret_interval if single and with_bounds else None
    return Cost(t, threshold is None, lost, cut, bounds, level)
