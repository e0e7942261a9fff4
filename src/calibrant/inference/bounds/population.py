"""Confidence bounds on the population's smooth error and lower distance, at any sample size (docs/bounds.md)."""

from __future__ import annotations

__all__ = ["PopulationBounds", "population_bounds"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibrant.door.arguments import check_level
from calibrant.door.columns import Column
from calibrant.door.ends import Bracket, Interval, confidence
from calibrant.door.sample import Sample
from calibrant.door.values import ReadOnly, Result, counted
from calibrant.inference.bounds.cells import AnyDraws, CellDraws
from calibrant.inference.bounds.draws import Draws, read_draws
from calibrant.inference.bounds.every_measure import HEADLINE, direct, every_measure, tightened
from calibrant.inference.bounds.family import lower_end_of_cells, lower_moves, smooth_moves
from calibrant.inference.bounds.functions import lower_function, smooth_function
from calibrant.inference.bounds.one_event import Spread, lower_end
from calibrant.measures.lower import audited_certificate
from calibrant.measures.smooth import smooth_error_from_sample


@dataclass(frozen=True, slots=True, repr=False)
class PopulationBounds(Result):
    """Intervals for the population that hold together with probability 1 - level.

    Attributes
    ----------
    smooth_error : Interval
        Lower and upper bound on the population's smooth calibration error.
    lower_distance : Interval
        Lower and upper bound on the population's lower distance from calibration. `calibration_gate` bounds it alone,
        with more of the level: its interval is narrower.
    population_distance : Interval
        The same of the true distance from calibration, for any features.
    intervals : mapping of str to Interval
        The same of every registered measure with its default parameters, by name; from 0 to 1 where nothing is proved.
    level : float
        Probability with which any of the bounds may fail.
    n_rows : int
        Rows that they rest on.
    guaranteed : bool
        Whether they hold at any number of rows (`population_bounds`) or in large samples (`bootstrap_bounds`).

    See Also
    --------
    population_bounds, bootstrap_bounds
    """

    smooth_error: Interval
    lower_distance: Interval
    population_distance: Interval
    intervals: Mapping[str, Interval]
    level: float
    n_rows: int
    guaranteed: bool = True

    def __post_init__(self) -> None:
        """Keep the mapping from being written to."""
        object.__setattr__(self, "intervals", ReadOnly(self.intervals))

    def summary(self) -> str:
        """Say between what both lie."""
        sure = f"With {confidence(self.level)} confidence" + ("" if self.guaranteed else ", in large samples,")
        return (
            f"{sure} for both together, the population's lower distance from calibration is "
            f"{self.lower_distance.summary()}, and its smooth error {self.smooth_error.summary()} "
            f"({counted(self.n_rows, 'row')})."
        )


def population_bounds(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    max_weight: float | None = None,
    level: float = 0.05,
) -> PopulationBounds:
    """Bound how far from calibrated the predictor is on the population that the rows were drawn from.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights of the rows.
    trials : column of shape (n,), optional
        Number of trials of each row; `y_true` is their share of events; the row, not the trial, is what is drawn
        independently.
    groups : column of shape (n,), optional
        Which group a row belongs to; groups are drawn independently, rows within one need not be.
    max_weight : float, optional
        Needed with any of these, and known before the rows were drawn. It is the most that one row can weigh (of
        trials: their number, times the weight). With groups it is the most of a whole group (without weights: its
        number of rows).
    level : float, default 0.05
        Probability with which any of the bounds may fail.

    Returns
    -------
    PopulationBounds
        Finite-sample intervals for the smooth error, the lower distance, the true distance and every measure.

    Raises
    ------
    InputError
        If a column or the level cannot be used. If rows can weigh differently and `max_weight` is not given, or is less
        than the weight of a row.

    See Also
    --------
    bootstrap_bounds, calibration_gate

    Notes
    -----
    Both quantities are suprema of means over a class of functions no larger than |y - v|. So a single fixed function
    decides whether the population's is far above the sample's, and no union bound over the class is needed. For the
    lower end a function learned from some of the rows is tried on the others. Which ones is drawn once the rows are
    sorted, with a fixed seed, so that the same rows give the same bounds. Constants and proofs are in docs/bounds.md.
    Cost: the two errors of the sample, and a pass over the rows.

    References
    ----------
    Fan, Grama and Liu, Exponential inequalities for martingales with applications, Electronic Journal of Probability
    20, 2015 (the supermartingale). Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting,
    Journal of the Royal Statistical Society B 86, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import population_bounds
    >>> bounds = population_bounds(np.ones(20_000), np.random.default_rng(0).random(20_000))
    >>> bounds.lower_distance.low < 0.5 < bounds.lower_distance.high
    True
    """
    level = check_level(level)
    sample, draws = read_draws(y_true, y_prob, sample_weight, trials, groups, max_weight)
    return bounds_from_sample(sample, smooth_error_from_sample(sample), sample_distance(sample), level, draws)


def bounds_from_sample(
    sample: Sample,
    smooth_error: float,
    distance: Bracket,
    level: float,
    draws: AnyDraws | None = None,
    values: Mapping[str, float] = ReadOnly({}),
) -> PopulationBounds:
    """Bounds from what is known of the sample already: its smooth error, and a bracket of its lower distance.

    Of rows that were pooled into cells both are to be at most these. `values` are other measures that are known.
    """
    draws = Draws.of_sample(sample) if draws is None else draws
    spread, each, known = Spread.of(draws), HEADLINE * level, {}
    if isinstance(draws, CellDraws):
        lows = (lower_end_of_cells(draws, moves, each) for moves in (smooth_moves, lower_moves))
    else:
        lows = (lower_end(draws, learn, each) for learn in (smooth_function, lower_function))
        if draws.moved is None:
            known = direct(sample, draws, spread, level, values)
    smooth, lower = (
        Interval(low, max(low, spread.upper_end(value, each)))
        for low, value in zip(lows, (smooth_error, distance.upper), strict=True)
    )
    return with_every_measure(smooth, lower, known, level, sample.n_rows)


def with_every_measure(
    smooth: Interval,
    lower: Interval,
    known: Mapping[str, Interval],
    level: float,
    n_rows: int,
    guaranteed: bool = True,
) -> PopulationBounds:
    """Return bounds of every measure from intervals of smooth error and lower distance, and those known of others."""
    smooth, lower = tightened(smooth, lower)
    return PopulationBounds(smooth, lower, *every_measure(smooth, lower, known), level, n_rows, guaranteed)


def sample_distance(sample: Sample) -> Bracket:
    """Bracket of the sample's lower distance, to well within what chance does to it."""
    certificate = audited_certificate(sample)
    return Bracket(float(certificate.lower), float(certificate.upper))
