"""Simultaneous confidence bands of a decision curve, from resampled rows or groups."""

from __future__ import annotations

__all__ = ["DecisionBand"]

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.decisions.cases import Cases
from calibrant.door.arguments import RandomState, check_level, check_resamples
from calibrant.door.columns import FloatArray
from calibrant.door.ends import confidence
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.kernels.sums import dot
from calibrant.resampling.redraw import resampled

_MOST, _MOST_OF_UNITS = 256, 64  # thresholds; fewer where each resample is a pass over all units
_LEAST = 10  # of each outcome: with five events in 1,000 rows the band missed 12% at nominal 5%
_EVENTS, _OTHERS = ("event", "events"), ("row without the event", "rows without the event")
_UNSEEN = 2.0  # events and other rows that are added to the variance, as if seen: where none acts it is not 0


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
    cases = cases.single()
    if cases.plain:
        return band_of_sample(cases.sample, thresholds, level, n_resamples, random_state)
    level = _checked(level, n_resamples)
    for share, kind in ((cases.y, _EVENTS), (1.0 - cases.y, _OTHERS)):
        units = int(np.count_nonzero(cases.by_unit(cases.weight * share)))
        _check_enough(units, kind if cases.unit is None else [f"{each} with {kind[1]}" for each in ("group", "groups")])
    shares = cases.by_unit(cases.weight)
    unit = float((shares**3).sum() / (shares**2).sum())  # 1 / n where all weigh the same
    t = _some(thresholds, _MOST_OF_UNITS)
    return _drawn(*_of_units(cases, t, n_resamples, random_state), unit, t, level, n_resamples)


def band_of_sample(
    sample: Sample, thresholds: FloatArray, level: float, n_resamples: int, random_state: RandomState
) -> DecisionBand:
    """The same of single outcomes, each counted once and drawn by itself."""
    level = _checked(level, n_resamples)
    _check_enough(int(sample.ones.sum()), _EVENTS)
    _check_enough(int((sample.count - sample.ones).sum()), _OTHERS)
    t = _some(thresholds, _MOST)
    return _drawn(*_of_rows(sample, t, n_resamples, random_state), 1.0 / sample.n_rows, t, level, n_resamples)


def _checked(level: float, n_resamples: int) -> float:
    level = check_level(level)
    check_resamples(n_resamples, level, share=0.5)
    return level


def _check_enough(units: int, kind: Sequence[str]) -> None:
    """Refuse rows among which a resample finds too few of a kind."""
    if units < _LEAST:
        raise InputError("y_true", f"has {counted(units, *kind)}", allowed=f"a band is drawn from {_LEAST} or more")


def _some(t: FloatArray, most: int) -> FloatArray:
    if t.size <= most:
        return t
    return t[np.unique(np.linspace(0, t.size - 1, most).round().astype(np.int64))]


def _drawn(
    observed: Worths, redrawn: Worths, unit: float, t: FloatArray, level: float, n_resamples: int
) -> DecisionBand:
    """The band, from what the rows give and what resamples do; `unit` is the share that a row has."""
    unseen = _UNSEEN * ((1.0 - t) ** 2 + t * t) * unit * unit
    (worth, variance), (worths, variances) = observed, redrawn
    z = (worths - worth) / np.sqrt(variances + unseen)
    farthest = np.sort(np.column_stack([z.max(axis=1), -z.min(axis=1)]), axis=0)
    above, below = farthest[int(np.ceil((1.0 - 0.5 * level) * (n_resamples + 1) - 1e-9)) - 1]
    error = np.sqrt(variance + unseen)
    lower, upper = worth - above * error, worth + below * error
    price = 1.0 - t
    return DecisionBand(t, worth / price, lower / price, upper / price, level, int(n_resamples))


Worths = tuple[FloatArray, FloatArray]
"""Net benefit times 1 - t at each threshold, and its variance: of shape (k,), of resamples (n_resamples, k)."""


def _acting(mass: FloatArray) -> FloatArray:
    """What rows that act at each threshold have of a mass by cell, the number of thresholds at which a row acts."""
    return np.asarray(mass[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:])


def _of_rows(sample: Sample, t: FloatArray, n_resamples: int, random_state: RandomState) -> tuple[Worths, Worths]:
    """Rows drawn with replacement, counted in cells: multinomial, so that a resample costs no pass over the rows."""
    n = sample.n_rows
    cell = np.searchsorted(t, sample.prediction, side="right")
    counts = [np.bincount(cell, part, t.size + 1) for part in (sample.count - sample.ones, sample.ones)]
    chance = np.stack(counts, axis=1).ravel() / n

    def worths(share: FloatArray) -> Worths:
        events, others = _acting(share[..., 1::2]), _acting(share[..., ::2])
        worth = (1.0 - t) * events - t * others
        return worth, np.maximum((1.0 - t) ** 2 * events + t * t * others - worth * worth, 0.0) / n

    drawn = resampled(lambda rng: rng.multinomial(n, chance), t.size, n_resamples, random_state)
    return worths(chance), worths(drawn / n)


def _of_units(cases: Cases, t: FloatArray, n_resamples: int, random_state: RandomState) -> tuple[Worths, Worths]:
    """Rows of other weights, or groups, drawn with replacement."""
    weight = cases.by_unit(cases.weight)
    worths = np.stack([cases.by_unit(cases.weight * (cases.y - at) * (cases.v >= at)) for at in t], axis=1)
    squares, crossed, n = worths**2, worths * weight[:, None], cases.n_units

    def of(times: FloatArray) -> Worths:
        whole = max(dot(times, weight), 1e-300)
        worth, square, cross = (np.einsum("u,uk->k", times, each) for each in (worths, squares, crossed))
        worth = worth / whole
        spread = square - 2.0 * worth * cross + worth * worth * dot(times, weight**2)
        return worth, np.maximum(spread, 0.0) / whole**2

    def again(rng: np.random.Generator) -> Worths:
        return of(np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64))

    drawn = resampled(again, t.size, n_resamples, random_state)
    return of(np.ones(n)), (drawn[:, 0], drawn[:, 1])
