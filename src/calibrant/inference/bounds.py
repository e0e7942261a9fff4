"""Confidence bounds on the population's smooth error and lower distance, at any sample size (docs/bounds.md)."""

from __future__ import annotations

__all__ = ["PopulationBounds", "population_bounds"]

import math
from dataclasses import dataclass

from calibrant.door.arguments import check_level
from calibrant.door.columns import Column
from calibrant.door.ends import Bracket, Interval, confidence
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.smooth import smooth_error_from_sample


@dataclass(frozen=True, slots=True, repr=False)
class PopulationBounds(Result):
    """Intervals that hold with a stated probability, together.

    Attributes
    ----------
    smooth_error : Interval
        Lower and upper bound on the population's smooth calibration error.
    lower_distance : Interval
        Lower and upper bound on the population's lower distance from calibration.
    level : float
        Probability with which any of the four bounds may fail.
    n_rows : int
        Rows that they rest on.
    guaranteed : bool
        Whether they hold at any number of rows (`population_bounds`) or in large samples (`bootstrap_bounds`).
    """

    smooth_error: Interval
    lower_distance: Interval
    level: float
    n_rows: int
    guaranteed: bool = True

    def summary(self) -> str:
        """Say between what both lie."""
        sure = f"With {confidence(self.level)} confidence" + ("" if self.guaranteed else ", in large samples,")
        return (
            f"{sure} the population's lower distance from calibration is {self.lower_distance.summary()}, and its "
            f"smooth error {self.smooth_error.summary()} ({self.n_rows:,} rows)."
        )


def population_bounds(y_true: Column, y_prob: Column, *, level: float = 0.05) -> PopulationBounds:
    """Bound how far from calibrated the predictor is on the population that the rows were drawn from.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    level : float, default 0.05
        Probability with which any of the bounds may fail.

    Returns
    -------
    PopulationBounds
        Finite-sample intervals for the smooth error and the lower distance.

    Raises
    ------
    InputError
        If a column or the level cannot be used.

    See Also
    --------
    bootstrap_bounds, calibration_gate

    Notes
    -----
    Both quantities are suprema of means over a class of functions no larger than |y - v|. The mean gap between sample
    and population over the whole class has an elementary bound in moments of |y - v|; Bousquet's inequality bounds how
    far above its mean the gap can be, by the Brier score; the moments are bounded by their sample means. All constants
    are explicit in docs/bounds.md. No randomness. Cost: the two errors of the sample.

    References
    ----------
    Bousquet, A Bennett concentration inequality and its application to suprema of empirical processes, Comptes Rendus
    de l'Académie des Sciences 334, 2002, Theorem 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import population_bounds
    >>> bounds = population_bounds(np.ones(20_000), np.random.default_rng(0).random(20_000))
    >>> bounds.lower_distance.low < 0.5 < bounds.lower_distance.high
    True
    """
    return population_bounds_on_rows(Rows.of(y_true, y_prob), level=level)


def population_bounds_on_rows(rows: Rows, *, level: float) -> PopulationBounds:
    """`population_bounds` of rows that were read already."""
    sample, level = rows.sample, check_level(level)
    distance = Moments.of(sample).sample_distance(sample)
    return bounds_from_sample(sample, smooth_error_from_sample(sample), distance, level)


def bounds_from_sample(sample: Sample, smooth_error: float, distance: Bracket, level: float) -> PopulationBounds:
    """Bounds from what is known of the sample already: its smooth error, and a bracket of its lower distance."""
    moments = Moments.of(sample)
    log = math.log(7.0 / level)  # three moments, and two suprema on two sides
    smooth, around = moments.smooth_margin(log), moments.distance_margin(log)
    return PopulationBounds(
        Interval(max(0.0, smooth_error - smooth), min(1.0, smooth_error + smooth)),
        Interval(max(0.0, distance.lower - around), min(1.0, distance.upper + around)),
        level,
        sample.n_rows,
    )


@dataclass(frozen=True, slots=True)
class Moments:
    """Sample means of |y - v|, (y - v)^2 and (y - v)^2 |v - 1/2|: all that the margins depend on."""

    n: int
    absolute: float
    squared: float
    off_centre: float

    @classmethod
    def of(cls, sample: Sample) -> Moments:
        """Take them from rows with outcomes 0 or 1 and no weights."""
        v, n = sample.prediction, sample.n_rows
        zeros = sample.count - sample.ones
        squared = sample.ones * (1.0 - v) ** 2 + zeros * v**2
        return cls(
            n,
            float((sample.ones * (1.0 - v) + zeros * v).sum()) / n,
            float(squared.sum()) / n,
            float((squared * abs(v - 0.5)).sum()) / n,
        )

    def sample_distance(self, sample: Sample) -> Bracket:
        """Bracket of the sample's lower distance, to well within its margin."""
        found = lower_certificate_from_sample(sample, tol=min(1e-4, 0.1 / math.sqrt(self.n)))
        return Bracket(float(found.lower), float(found.upper))

    def distance_margin(self, log: float, n: int | None = None) -> float:
        """Farthest apart the lower distances of sample and population are; three events of exp(-log) each, a side.

        With `n`, what the margin would be for that many rows with these moments.
        """
        n = self.n if n is None else n
        absolute, squared = _mean_above(self.absolute, log, n), _mean_above(self.squared, log, n)
        return _supremum_above(math.sqrt(2.0 * absolute / n), squared, absolute, log, n)

    def smooth_margin(self, log: float) -> float:
        """The same for the smooth errors; one event more."""
        absolute, squared, off_centre = (
            _mean_above(mean, log, self.n) for mean in (self.absolute, self.squared, self.off_centre)
        )
        mean_gap = (math.sqrt(squared) + math.sqrt(off_centre)) / math.sqrt(self.n)
        return _supremum_above(mean_gap, squared, absolute, log, self.n)


def _mean_above(mean: float, log: float, n: int) -> float:
    """Upper bound on the expectation of a variable in [0, 1]: the m with m - sqrt(2 m log / n) = mean (Chernoff)."""
    root = math.sqrt(2.0 * log / n)
    return min(1.0, (0.5 * (root + math.sqrt(root * root + 4.0 * mean))) ** 2)


def _supremum_above(mean_gap: float, variance: float, absolute: float, log: float, n: int) -> float:
    """Bousquet's bound on a supremum of centred means; its functions are at most 1 + absolute."""
    most = 1.0 + absolute
    return mean_gap + math.sqrt(2.0 * log * (variance + 2.0 * most * mean_gap) / n) + most * log / (3.0 * n)
