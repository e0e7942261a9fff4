"""Decision loss: what acting on the predictions loses at worst, against the best monotone use of them."""

from __future__ import annotations

__all__ = ["monotone_decision_loss"]

from dataclasses import dataclass

import numpy as np

from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.sample import Sample
from calibrant.kernels.regret import hull, places, running, support
from calibrant.measures.registry import register


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Worth of every cut of a sample at every threshold (docs/decisions.md)."""

    prediction: FloatArray  # (m,): distinct predictions, increasing
    # events, others: (m + 1,), shares of the weight that events and that non-events before each prediction have; the
    # last is the sum of all
    events: FloatArray
    others: FloatArray
    # (k + 1,): numbers of the predictions from which on it is best to act at some threshold; the last, m, is to never
    # act
    best: IntArray
    # (k,): rates of events between them, increasing: the isotonic reliability curve. At a threshold t the best cut is
    # number ``searchsorted(rate, t)``.
    rate: FloatArray

    @classmethod
    def of(cls, sample: Sample) -> Cuts:
        """Add up a sample."""
        total = sample.total_weight
        others = np.maximum(sample.weight - sample.weighted_outcome, 0.0)  # below zero by rounding only
        others /= total
        events = sample.weighted_outcome / total
        best, rate = np.empty(events.size + 1, np.int64), np.empty(events.size)
        size = hull(events, others, best, rate)
        best, rate = best[: size + 1].copy(), rate[:size].copy()
        events = running(events)
        return cls(sample.prediction, events, running(others), best, rate)

    def best_at(self, t: FloatArray) -> IntArray:
        """The prediction from which on it is best to act at each threshold, by its number; of several the first.

        Thresholds, here and below, do not decrease.
        """
        return np.asarray(self.best[places(self.rate, t, False)])

    def now(self, t: FloatArray) -> IntArray:
        """The first prediction that is no less than each threshold, by its number."""
        return places(self.prediction, t, False)

    def worth(self, t: FloatArray, cut: IntArray) -> FloatArray:
        """Net benefit of a cut at each threshold below 1: events acted on less t / (1 - t) times the others."""
        acted = (self.events[-1] - self.events[cut]) - t / (1.0 - t) * (self.others[-1] - self.others[cut])
        return np.where(cut == self.prediction.size, 0.0, acted)

    def lost(self, t: FloatArray, cut: IntArray, best: IntArray) -> FloatArray:
        """Return the loss of a cut at each threshold against the best one, on average over rows: 0 or more."""
        gained, paid = self.events[cut], self.others[cut]
        gained -= self.events[best]
        gained *= 1.0 - t
        paid -= self.others[best]
        paid *= t
        gained -= paid
        return np.maximum(gained, 0.0, out=gained)  # below zero by rounding only

    def regret(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Regret at each threshold, and its limit from above, where predictions equal to it no longer act."""
        best = self.best_at(t)
        return self.lost(t, self.now(t), best), self.lost(t, self.after(t), best)

    def after(self, t: FloatArray) -> IntArray:
        """The first prediction above each threshold, by its number."""
        return places(self.prediction, t, True)


def decision_loss_from_sample(sample: Sample) -> float:
    """Decision loss of a sample.

    Between two predictions next to each other regret is a maximum of linear functions, so convex: its limits at the
    predictions, and its ends at 0 and 1, where it is 0, have the same concave envelope.
    """
    cuts = Cuts.of(sample)
    del sample  # whose sums may take as much as all that follows
    corners = regret_corners(cuts)
    del cuts
    return min(1.0, 2.0 * mixed(mixture(*corners)))


@dataclass(frozen=True, slots=True)
class Threshold:
    """One of the thresholds of a task: its share in the mixture, and what is lost at it."""

    # share, t, regret: its share, the threshold, and the regret there
    share: float
    t: float
    regret: float
    after: bool  # whether the limit from above is meant, where predictions equal to the threshold do not act


def mixed(task: tuple[Threshold, ...]) -> float:
    """Mean regret of a mixture of thresholds."""
    return sum(each.share * each.regret for each in task)


def regret_corners(cuts: Cuts) -> tuple[FloatArray, FloatArray]:
    """Thresholds and the regret there, as `mixture` takes them."""
    v = cuts.prediction
    y = _in_turn(0.0, *cuts.regret(v), 0.0)
    return _in_turn(0.0, v, v, 1.0), y


def _in_turn(first: float, even: FloatArray, odd: FloatArray, last: float) -> FloatArray:
    """The values of two columns by turns, between a first and a last one."""
    column = np.empty(2 * even.size + 2)
    column[0], column[-1] = first, last
    column[1:-1:2], column[2:-1:2] = even, odd
    return column


def mixture(x: FloatArray, y: FloatArray) -> tuple[Threshold, ...]:
    """The mixture of at most two thresholds, of mean 1/2, whose mean of the values is largest.

    Values `y` at thresholds `x` are at 0, then at each prediction twice (there, and after it), then at 1.
    """
    i, j = support(x, y, 0.5)
    share = 0.0 if i == j else float((0.5 - x[i]) / (x[j] - x[i]))
    return tuple(
        Threshold(part, float(x[k]), float(y[k]), after=bool(k > 0 and k % 2 == 0))
        for k, part in ((i, 1.0 - share), (j, share))
        if part > 0.0
    )


@register(
    decision_loss_from_sample,
    sentence="Most that acting on the predictions loses per row against the best monotone use of them, in any task.",
    definition=(
        "Twice the concave envelope at 1/2 of the regret, the most that another cut than v >= t gains at threshold t, "
        "with its limits from both sides: the largest loss over all decisions with payoffs in [0, 1]; between 0 and 1."
    ),
    source=(
        "Hu and Wu, Predict to minimize swap regret for all payoff-bounded tasks, FOCS 2024, with post-processings "
        "that are monotone, as in Gopalan, Stavropoulos, Talwar and Tankala, Efficient calibration for decision "
        "making, arXiv 2511.13699, 2025."
    ),
    symmetric=True,
    order=27,
)
def monotone_decision_loss(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Most that acting on the predictions loses per row against the best monotone use of them, in any task.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As for `smooth_calibration_error`.

    Returns
    -------
    float
        The largest loss over all decisions whose payoffs lie in [0, 1], in payoff per row, between 0 and 1. It is 0
        only if no other increasing use of the predictions is worth more in any decision.

    Raises
    ------
    InputError
        If a column cannot be used; the message names it and its first bad row.

    See Also
    --------
    decision_curve, regret_bounds, cutoff_calibration_error, corp_decomposition

    Notes
    -----
    Regret at threshold t is the most that acting from another prediction on gains. Leaving a row without the event
    alone pays t, and acting on one with it 1 - t. Every decision with payoffs in [0, 1] is a mixture of thresholds with
    mean 1/2 and mass 2. So the worst one costs twice the regret's concave envelope at 1/2 (docs/decisions.md has the
    proof). Smooth error ^ 2 <= miscalibration part of the Brier score <= decision loss <= 2 * cutoff error. Like the
    cutoff error it is not continuous in the predictions. Cost: a sort, then O(m).

    References
    ----------
    Hu and Wu, Predict to minimize swap regret for all payoff-bounded tasks, FOCS 2024, with post-processings that are
    monotone, as in Gopalan, Stavropoulos, Talwar and Tankala, Efficient calibration for decision making, arXiv
    2511.13699, 2025.

    Examples
    --------
    >>> from calibrant import monotone_decision_loss
    >>> round(monotone_decision_loss([0, 0, 1, 1], [0.2, 0.4, 0.4, 0.6]), 6)
    0.175
    """
    return decision_loss_from_sample(Sample.from_columns(y_true, y_prob, sample_weight))
