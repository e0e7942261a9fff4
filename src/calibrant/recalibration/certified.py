"""A calibration error that is proved at any number of rows, by what a map of one half gains on the other."""

from __future__ import annotations

__all__ = ["CertifiedGain", "certified_gain"]

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.door.arguments import RandomState, check_level, generator
from calibrant.door.classes import ClassTable, MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, FloatArray, IntArray, Labels, Table
from calibrant.door.errors import InputError
from calibrant.door.labels import event_outcomes
from calibrant.door.rows import Rows, dimensions
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.lazily import optional
from calibrant.recalibration.curves.averaged import AveragedCurve

_FEWEST = 4  # rows: two in either half
_STAKES = np.exp2(-np.arange(12.0)) * 0.75  # shares of what may be lost, each with as much of the capital
_HALVINGS = 40  # of the interval of the mean; what is returned is its lower end


@dataclass(frozen=True, slots=True, repr=False)
class CertifiedGain(Result):
    """A lower bound of the calibration error of the population, proved for rows that are drawn independently.

    Attributes
    ----------
    bound : float
        At most the population's expected Brier score of the predictions less that of E[outcome | prediction], with
        probability 1 - level. Of classes half of it, so that it lies in [0, 1] too. 0 where nothing is proved.
    mean_gain : float
        Mean gain of both maps on the half that they were not fitted to.
    n_rows : int
        Number of rows.
    level : float
        Probability of error.

    See Also
    --------
    certified_gain, squared_error_interval
    """

    bound: float
    mean_gain: float
    n_rows: int
    level: float

    def summary(self) -> str:
        """Say what is proved."""
        if self.bound == 0.0:
            return f"No calibration error is proved on these {self.n_rows:,} rows (level {self.level:g})."
        return (
            f"The Brier score of the population could be lower by {self.bound:.2g} at least, by a map of the "
            f"predictions (level {self.level:g}, {self.n_rows:,} rows)."
        )


@optional("certified_gain", "sklearn")
def certified_gain(
    y_true: Labels | Table,
    y_prob: Column | Table,
    *,
    pos_label: Any = None,
    level: float = 0.05,
    random_state: RandomState = None,
) -> CertifiedGain:
    """Prove a calibration error from below at any number of rows, also of many classes, by a bet.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, 0 or 1; labels, if y_prob has a column per class. Rows are drawn independently from one population.
    y_prob : column of shape (n,), or table of shape (n, K)
        Predicted probabilities, in [0, 1], not fitted to these rows.
    pos_label : label, optional
        The positive class, as for `audit`.
    level : float, default 0.05
        Probability that the bound is above the population's error.
    random_state : int, Generator or None
        Deals rows to halves.

    Returns
    -------
    CertifiedGain
        With ``.bound``, which is at most the population's squared calibration error.

    Raises
    ------
    InputError
        If a column or a parameter cannot be used, or rows are fewer than 4.

    See Also
    --------
    squared_error_interval, choose_recalibrator

    Notes
    -----
    A map is fitted to each half (`AveragedScaling`; of classes `TemperatureScaling`), and its gain in Brier score on
    the other half is bet on. No map of the prediction gains more than E[outcome | prediction]. So a lower bound of any
    map's gain is one of the calibration error. docs/recalibration.md has the proof, and the rows that it takes. Cost:
    two fits and a few passes over the rows.

    References
    ----------
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
    Statistical Society B 86, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibration import certified_gain
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(4000)
    >>> found = certified_gain(rng.random(4000) < y_prob**3, y_prob, random_state=0)
    >>> 0.03 < found.bound < found.mean_gain < 0.09
    True
    """
    level, rng = check_level(level), generator(random_state)
    if dimensions(y_prob) == 2:
        classes = multiclass_sample(y_true, y_prob, pos_label=pos_label)
        rows: Rows | MulticlassSample = classes
        if classes.n_classes == 2:
            event = classes.event()
            rows = Rows.of(event.y_true, event.y_prob)
    else:
        rows = Rows.of(event_outcomes(y_true, pos_label), y_prob)  # type: ignore[arg-type]
    n = rows.y_true.size
    if n < _FEWEST:
        raise InputError("y_true", f"has {n:,} rows; {_FEWEST} are needed, two in either half")
    order = rng.permutation(n)
    halves = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    gains = [_gains(rows, *pair) for pair in (halves, halves[::-1])]
    return CertifiedGain(least_mean(gains, level), float(np.concatenate([gain for gain, _ in gains]).mean()), n, level)


def _gains(rows: Rows | MulticlassSample, fit_to: IntArray, bet_on: IntArray) -> tuple[FloatArray, float]:
    """How much lower the Brier score of each row is by the map of the other half, and what no gain exceeds in size.

    The map is drawn in so that it moves no prediction farther than any of those that it was fitted to: then the largest
    gain or loss is known before a row of this half is seen.
    """
    if isinstance(rows, Rows):
        v, y = rows.y_prob, rows.y_true.astype(np.float64)
        curve = AveragedCurve().fit_sample(Sample.of_arrays(y[fit_to], v[fit_to]))
        farthest = float(np.abs(curve._map(v[fit_to]) - v[fit_to]).max())
        before, outcome = v[bet_on], y[bet_on]
        after = before + np.clip(curve._map(before) - before, -farthest, farthest)
        return (before - after) * (before + after - 2.0 * outcome), 2.0 * farthest
    from calibrant.recalibration.scaling import TemperatureScaling

    table, label = rows.y_prob, rows.y_true[bet_on, None]
    part = MulticlassSample(rows.y_true[fit_to], ClassTable(table[fit_to]), None, tuple(range(table.shape[1])))
    scaling = TemperatureScaling().fit_classes(part)
    farthest = float(np.abs(scaling._map_classes(table[fit_to]) - table[fit_to]).sum(axis=1).max())
    before = table[bet_on]
    move = scaling._map_classes(before) - before
    far = np.abs(move).sum(axis=1)
    after = before + move * np.minimum(1.0, farthest / np.maximum(far, 1e-300))[:, None]
    both = (before - after) * (before + after)
    right = np.take_along_axis(before - after, label, axis=1)[:, 0]
    return np.asarray(0.5 * both.sum(axis=1) - right), farthest


def log_capital(halves: list[tuple[FloatArray, float]], mean: float) -> float:
    """Logarithm of what 1 has become that was bet on gains with a mean above this one; 1 is expected at most if not.

    Gains lie within their bound b. A bet pays 1 + s (gain - mean) / (b + mean) for each row; several stakes s below 1
    share the capital evenly, and so do the halves.
    """
    logs = [
        np.log1p(stake * (gain - mean) / (bound + mean)).sum() if bound > 0.0 else 0.0
        for gain, bound in halves
        for stake in _STAKES
    ]
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))


def least_mean(halves: list[tuple[FloatArray, float]], level: float) -> float:
    """Mean below which the capital has reached 1 / level; 0 where none is.

    The capital falls as the mean rises, so that halving finds where it passes 1 / level. No mean exceeds the bounds.
    """
    low, high = 0.0, max(bound for _, bound in halves)
    if log_capital(halves, low) < -np.log(level):
        return 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_capital(halves, middle) >= -np.log(level) else (low, middle)
    return low
