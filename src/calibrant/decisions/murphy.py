"""Murphy diagram and ROC curve: every elementary score, split as the Brier score is, and the hull behind both."""

from __future__ import annotations

__all__ = ["MurphyDiagram", "murphy_diagram"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant.decisions.cases import drawing
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.sample import Sample
from calibrant.door.values import Result
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
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Axes:
        """Draw the score and its parts by threshold on a matplotlib Axes, a new one by default, and return it.

        With a name, label or color: the score alone, as `ReliabilityDisplay.from_predictions` does.
        """
        return cast("Axes", drawing("decisions", "draw_murphy")(self, ax, name=name, label=label, color=color))

    def plot_triptych(
        self,
        ax: Sequence[Axes] | None = None,
        *,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Figure:
        """Draw reliability curve, Murphy diagram and ROC curve on three Axes, and return their figure.

        With a name, label or color: as one of several (`ReliabilityDisplay.from_predictions`).
        """
        return cast("Figure", drawing("decisions", "draw_triptych")(self, ax, name=name, label=label, color=color))


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

    now, after = cuts.now(t), cuts.after(t)
    uncertainty = 2.0 * np.minimum((1.0 - t) * rate, t * rest)
    with np.errstate(invalid="ignore"):
        false_positive = (rest - cuts.others) / rest
        true_positive = (rate - cuts.events) / rate
    return MurphyDiagram(
        thresholds=t,
        elementary_score=score(now),
        elementary_score_after=score(after),
        elementary_miscalibration=2.0 * cuts.lost(t, now),
        elementary_miscalibration_after=2.0 * cuts.lost(t, after),
        elementary_discrimination=np.maximum(uncertainty - score(cuts.best_at(t)), 0.0),
        elementary_uncertainty=uncertainty,
        false_positive_rate=false_positive,
        true_positive_rate=true_positive,
        on_hull=cuts.best,
        corp=corp_from_sample(sample) if corp is None else corp,
    )
