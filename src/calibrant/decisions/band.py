"""Simultaneous confidence bands of a decision curve, from resampled rows or groups."""

from __future__ import annotations

__all__ = ["DecisionBand"]

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.decisions.cases import Cases
from calibrant.door.arguments import RandomState, check_level, check_resamples
from calibrant.door.columns import FloatArray
from calibrant.door.ends import confidence
from calibrant.door.errors import InputError
from calibrant.door.values import Result, counted
from calibrant.resampling.redraw import resampled

_MOST = 256  # thresholds


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionBand(Result):
    """A band that holds the population's net benefit at all its thresholds with probability 1 - level.

    Attributes
    ----------
    thresholds : ndarray of shape (k,)
        Where it is given, increasing.
    net_benefit, net_benefit_lower, net_benefit_upper : ndarray of shape (k,)
        Net benefit of acting on the predictions, and the band's ends.
    level : float
        Probability that it misses anywhere.
    n_resamples : int
        Resamples behind it.

    See Also
    --------
    DecisionCurve, decision_curve
    """

    thresholds: FloatArray
    net_benefit: FloatArray
    net_benefit_lower: FloatArray
    net_benefit_upper: FloatArray
    level: float
    n_resamples: int

    def summary(self) -> str:
        """Say where acting on the predictions is worth something, for sure."""
        sure = self.net_benefit_lower > 0.0
        where = counted(self.thresholds.size, "threshold")
        if not sure.any():
            return f"At none of {where} is the net benefit above 0 with {confidence(self.level)} confidence for all."
        low, high = self.thresholds[sure][[0, -1]]
        return (
            f"The net benefit is above 0 at {int(sure.sum()):,} of {where}, from {low:.6g} to {high:.6g}, with "
            f"{confidence(self.level)} confidence for all together."
        )


def band_of(
    cases: Cases, thresholds: FloatArray, level: float, n_resamples: int, random_state: RandomState
) -> DecisionBand:
    """The band at these thresholds, or at some of them, evenly by rank."""
    level = check_level(level)
    check_resamples(n_resamples, level)
    if cases.n_units < 2:
        raise InputError("groups" if cases.unit is not None else "y_prob", "is one draw; a band needs two or more")
    t = thresholds
    if t.size > _MOST:
        t = t[np.unique(np.linspace(0, t.size - 1, _MOST).round().astype(np.int64))]
    cases = cases.in_order()
    cell = np.searchsorted(t, cases.v, side="right")  # number of thresholds at which the row acts
    draw = _cells_of_rows(cases, cell, t.size) if cases.plain else _cells_of_units(cases, cell, t.size)
    ones = cases.weight * cases.y
    events, others = _masses(cell, ones, t.size), _masses(cell, cases.weight - ones, t.size)

    def worth(events: FloatArray, others: FloatArray) -> FloatArray:
        """Net benefit times 1 - t at each threshold."""
        acting = [mass[::-1].cumsum()[::-1][1:] for mass in (events, others)]
        return np.asarray((1.0 - t) * acting[0] - t * acting[1])

    observed = worth(events, others)
    deviation = resampled(lambda rng: worth(*draw(rng)) - observed, t.size, n_resamples, random_state)
    largest_unit = float(cases.by_unit(cases.weight).max())
    spread = np.sqrt((deviation**2).mean(axis=0) + largest_unit**2)
    most = np.sort(np.abs(deviation / spread).max(axis=1))
    rank = int(np.ceil((1.0 - level) * (n_resamples + 1) - 1e-9))
    half = most[rank - 1] * spread
    return DecisionBand(
        t, observed / (1.0 - t), (observed - half) / (1.0 - t), (observed + half) / (1.0 - t), level, int(n_resamples)
    )


def _masses(cell: np.ndarray, mass: FloatArray, k: int) -> FloatArray:
    return np.bincount(cell, mass, k + 1).astype(np.float64)


Draw = Callable[[np.random.Generator], tuple[FloatArray, FloatArray]]


def _cells_of_rows(cases: Cases, cell: np.ndarray, k: int) -> Draw:
    """Rows drawn with replacement, counted in cells: multinomial, so that a resample costs no pass over the rows."""
    n = cases.v.size
    count = np.bincount(2 * cell + (cases.y == 1.0), minlength=2 * (k + 1)) / n

    def draw(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        drawn = rng.multinomial(n, count) / n
        return drawn[1::2], drawn[::2]

    return draw


def _cells_of_units(cases: Cases, cell: np.ndarray, k: int) -> Draw:
    """Units drawn with replacement."""
    w, unit = cases.weight, cases.unit

    def draw(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        times = np.bincount(rng.integers(cases.n_units, size=cases.n_units), minlength=cases.n_units)
        drawn = w * (times if unit is None else times[unit])
        drawn /= max(float(drawn.sum()), 1e-300)
        ones = drawn * cases.y
        return _masses(cell, ones, k), _masses(cell, drawn - ones, k)

    return draw
