"""Confidence bounds on what acting on the predictions loses in the population (docs/decisions.md)."""

from __future__ import annotations

__all__ = ["RegretBounds", "regret_bounds"]

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.door.arguments import check_level, check_threshold, fraction
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Interval, confidence
from calibrant.door.outwards import rounded_down, rounded_up
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.inference.one_event import Learn, lower_end, psi
from calibrant.inference.units import Function, Units
from calibrant.kernels.regret import penalised_gains, running
from calibrant.measures.decision_loss import Cuts, Threshold, mixed, mixture, worst_task

_BETS = 3
"""Fixed beforehand, each half of the one before: from hundreds to 100,000s of rows one of them is near the best."""


@dataclass(frozen=True, slots=True, repr=False)
class RegretBounds(Result):
    """What acting on the predictions loses in the population; each end holds with probability 1 - level by itself.

    Attributes
    ----------
    regret_interval : Interval
        Of the regret at `threshold`, or of the largest regret at any threshold.
    decision_loss_interval : Interval
        Of the monotone decision loss, over all decisions with payoffs in [0, 1].
    threshold : float or None
        The threshold that was asked about.
    verdict : "within", "beyond", "undecided" or None
        Whether the regret is at most `max_regret`, where that was asked; wrong with probability at most `level`.
    level : float
        Probability with which any one of the ends may fail.
    n_rows : int
        Rows that they rest on.

    See Also
    --------
    regret_bounds, PopulationBounds
    """

    regret_interval: Interval
    decision_loss_interval: Interval
    threshold: float | None
    verdict: Literal["within", "beyond", "undecided"] | None
    level: float
    n_rows: int

    def summary(self) -> str:
        """Say what is lost at most, and at least where that is proved."""
        where = "Whatever the threshold" if self.threshold is None else f"At the threshold {self.threshold:g}"
        most = rounded_up(self.regret_interval.high)
        low, some = self.regret_interval.low, "" if self.threshold is not None else "at some threshold "
        least = f" and {some}at least {rounded_down(low)}" if low > 0.0 else ""
        answer = f"{self.verdict.capitalize()}: " if self.verdict else ""
        if answer and self.threshold is None:
            where = "whatever the threshold"
        elif answer:
            where = f"at the threshold {self.threshold:g}"
        return (
            f"{answer}{where}, acting on these predictions loses at most {most}{least} per row against the best cut, "
            f"with {confidence(self.level)} confidence ({counted(self.n_rows, 'row')})."
        )


def regret_bounds(
    y_true: Column,
    y_prob: Column,
    *,
    threshold: float | None = None,
    max_regret: float | None = None,
    level: float = 0.05,
) -> RegretBounds:
    """Bound what acting on the predictions loses in the population that the rows were drawn from.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    threshold : float, optional
        In [0, 1): rows with predictions from here on are acted on. Without it the bound holds for all thresholds.
    max_regret : float, optional
        Between 0 and 1: say whether the population's regret is within it.
    level : float, default 0.05
        Probability with which each of the four ends may fail.

    Returns
    -------
    RegretBounds
        Both ends of the regret and of the decision loss, valid at any number of rows.

    Raises
    ------
    InputError
        If a column, the threshold or the level cannot be used.

    See Also
    --------
    decision_curve, monotone_decision_loss, population_bounds

    Notes
    -----
    Regret is a supremum of means of what one cut gains over another, never above 1. One of them is the population's
    best, whatever the sample, so that only one mean is at stake: for a bet x fixed beforehand the population's regret
    is at most (1 - exp(-(x m + L / n))) / x, where m is the sample's regret with (-ln(1 - x) / x - 1) times the gain's
    square added row by row, and exp(-L) is the chance of failure; the least of three bets is taken. m is the exact
    supremum over all thresholds and cuts. Below, cuts that some of the rows teach are bet on the others, as in
    `population_bounds`. Cost: a sort, then 12 passes of O(m log m).

    References
    ----------
    Fan, Grama and Liu, Exponential inequalities for martingales with applications, Electronic Journal of Probability
    20, 2015. Vickers and Elkin, Decision curve analysis, Medical Decision Making 26, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import regret_bounds
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(10_000)
    >>> found = regret_bounds(rng.random(10_000) < y_prob, y_prob)
    >>> found.regret_interval.high < 0.01
    True
    """
    level = check_level(level)
    if threshold is not None:
        threshold = check_threshold(threshold)
    if max_regret is not None:
        max_regret = fraction(max_regret, "max_regret")
    return regret_bounds_from_sample(Rows.of(y_true, y_prob).sample, level, threshold, max_regret)


def regret_bounds_from_sample(
    sample: Sample, level: float, threshold: float | None = None, max_regret: float | None = None
) -> RegretBounds:
    """`regret_bounds` of unweighted rows with outcomes 0 or 1."""
    n = float(sample.count.sum())
    v = np.concatenate([[0.0], sample.prediction, [1.0]])
    events, others = (np.concatenate([[0.0], part, [0.0]]) / n for part in (sample.ones, sample.count - sample.ones))

    def upper_end(penalised: Callable[[float], float]) -> float:
        log = math.log(_BETS / level) / n
        bets = [min(0.5, 10.0 * n ** (-1.0 / 3.0)) / 2.0**j for j in range(_BETS)]
        return float(min(1.0, *(-math.expm1(-(x * max(0.0, penalised(psi(x) / x)) + log)) / x for x in bets)))

    def everywhere(share: float) -> FloatArray:
        return _penalised(v, events, others, share)

    def loss(share: float) -> float:
        return 2.0 * mixed(mixture(np.repeat(v, 2), everywhere(2.0 * share)))

    def regret(share: float) -> float:
        return float(everywhere(share).max()) if threshold is None else _at(threshold, v, events, others, share)

    blocks = Units.of_sample(sample).blocks()

    def interval(penalised: Callable[[float], float], learn: Learn) -> Interval:
        low = lower_end(blocks, learn, level)
        return Interval(low, max(low, upper_end(penalised)))

    found = interval(regret, lambda taught: _best_cut(taught, threshold))
    return RegretBounds(found, interval(loss, _task), threshold, _verdict(found, max_regret), level, int(n))


def _verdict(found: Interval, limit: float | None) -> Literal["within", "beyond", "undecided"] | None:
    if limit is None:
        return None
    return "within" if found.high <= limit else "beyond" if found.low > limit else "undecided"


def _best_cut(taught: Sample, threshold: float | None) -> Function:
    """What the best cut of these rows gains at the threshold, or at the one where they lose most."""
    cuts = Cuts.of(taught)
    if threshold is not None:
        return _gains(cuts, (Threshold(1.0, threshold, 0.0, after=False),))
    at, above = cuts.regret(cuts.prediction)
    worst = int(np.argmax(np.maximum(at, above)))
    after = bool(above[worst] > at[worst])
    return _gains(cuts, (Threshold(1.0, float(cuts.prediction[worst]), 0.0, after),))


def _task(taught: Sample) -> Function:
    """What the best cuts gain in the task in which these rows lose most."""
    cuts = Cuts.of(taught)
    found = _gains(cuts, worst_task(cuts))
    return lambda y, v: 2.0 * found(y, v)


def _gains(cuts: Cuts, task: tuple[Threshold, ...]) -> Function:
    """Mean gain over a task's thresholds of acting from the best cuts on, by outcome and prediction."""
    ends = np.append(cuts.prediction, np.inf)
    best = [float(ends[cuts.best_at(np.array([each.t]))[0]]) for each in task]

    def gain(y: FloatArray, v: FloatArray) -> FloatArray:
        total = np.zeros(v.shape)
        for each, cut in zip(task, best, strict=True):
            acted = v > each.t if each.after else v >= each.t
            total += each.share * (y - each.t) * ((v >= cut).astype(np.float64) - acted)
        return total

    return gain


def _penalised(v: FloatArray, events: FloatArray, others: FloatArray, share: float) -> FloatArray:
    """Most that any cut gains with `share` of the gain's square, at each prediction and just above it, in turn."""
    lower_at, lower_above = penalised_gains(v, events, others, share)
    # Seen from the other end, events and non-events change places, and so do both sides of a threshold.
    higher_above, higher_at = penalised_gains(
        np.ascontiguousarray(1.0 - v[::-1]),
        np.ascontiguousarray(others[::-1]),
        np.ascontiguousarray(events[::-1]),
        share,
    )
    at, above = np.maximum(lower_at, higher_at[::-1]), np.maximum(lower_above, higher_above[::-1])
    return np.column_stack([at, above]).ravel()


def _at(t: float, v: FloatArray, events: FloatArray, others: FloatArray, share: float) -> float:
    """The same at one threshold."""
    now = int(np.searchsorted(v, t))
    ones, zeros = running(events), running(others)
    ones, zeros = ones[now] - ones, zeros[now] - zeros  # of the rows that a cut acts on in addition; below 0: in less
    square = share * (np.abs(ones) * (1.0 - t) ** 2 + np.abs(zeros) * t * t)
    return float(((1.0 - t) * ones - t * zeros + square).max())
