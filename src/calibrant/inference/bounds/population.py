"""Confidence bounds on the population's measures: proved at any sample size, or resampled (docs/bounds.md)."""

from __future__ import annotations

__all__ = ["PopulationBounds", "bootstrap_bounds", "population_bounds"]

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Bracket, Interval, confidence
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import ReadOnly, Result, counted
from calibrant.inference.bounds.draws import AnyDraws, CellDraws, Draws, Learn, Weighing, read_draws
from calibrant.inference.bounds.one_event import (
    Spread,
    binned_function,
    kernel_function,
    lower_end,
    lower_end_of_cells,
    lower_function,
    lower_moves,
    smooth_function,
    smooth_moves,
)
from calibrant.kernels.sums import dot
from calibrant.measures.lower import audited_certificate
from calibrant.measures.registry import measures
from calibrant.measures.smooth import largest_correlation, smooth_error_from_sample
from calibrant.resampling.redraw import check_surprises, resampled


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
        The same of every registered measure with its default parameters, by name. Where nothing is proved it is from 0
        to 1 (16/15 of the binned error with its width).
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
    y_true, y_prob, sample_weight, trials, groups
        As for `calibration_gate`.
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
    sample, draws = read_draws(y_true, y_prob, Weighing(sample_weight, trials, max_weight), groups)
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
    smooth: Interval, lower: Interval, known: Mapping[str, Interval], level: float, n_rows: int, guaranteed: bool = True
) -> PopulationBounds:
    """Return bounds of every measure from intervals of smooth error and lower distance, and those known of others."""
    smooth, lower = tightened(smooth, lower)
    return PopulationBounds(smooth, lower, *every_measure(smooth, lower, known), level, n_rows, guaranteed)


def sample_distance(sample: Sample) -> Bracket:
    """Bracket of the sample's lower distance, to well within what chance does to it."""
    certificate = audited_certificate(sample)
    return Bracket(float(certificate.lower), float(certificate.upper))


HEADLINE = 0.2  # of the level, for each of the four ends of smooth error and lower distance
_OTHER = 0.2 / 9.0  # for each of at most nine ends besides
_ANY = Interval(0.0, 1.0)

# Constants of docs/constants.md.
KERNEL = math.sqrt(2.0)
"""The smooth error is at most so many Laplace kernel errors."""
SHIFTED = 1.0 / 8.0 + 1.0 / math.sqrt(48.0)
"""Over random shifts of a grid, predictions are within so many widths of their bin's mean, in the mean."""


def most_upper_distance(lower: float) -> float:
    """The most that the upper, and so the true, distance can be at this lower distance d: d + 1.468 sqrt(d (1 - d))."""
    return min(1.0, lower + math.sqrt(8.0 * SHIFTED * lower * max(0.0, 1.0 - lower)))


def most_interval_error(lower: float) -> float:
    """The most that the interval error can be at this lower distance d: d + sqrt(8 d (1 - d))."""
    return min(1.0, lower + math.sqrt(8.0 * lower * max(0.0, 1.0 - lower)))


def most_random_interval_error(lower: float, width: float) -> float:
    """The most that the random interval error at a width can be at this lower distance d: d + 2 d (1 - d) / width.

    It rises to 1 at half of the width, and is no less from there to 1.
    """
    d = min(lower, 1.0)
    return min(1.0, d + 2.0 * d * (1.0 - d) / width)


def most_surrogate(lower: float) -> float:
    """The most that the surrogate interval error can be at this lower distance: at the best of its widths."""
    return min(1.0, *(most_random_interval_error(lower, 0.5**k) + 0.5**k for k in range(40)))


def most_convolved_error(lower: float) -> float:
    """The most that the convolved error can be at this lower distance d: the root of s = d + sqrt(2 / pi) d / s."""
    return min(1.0, 0.5 * (lower + math.sqrt(lower * lower + 4.0 * math.sqrt(2.0 / math.pi) * lower)))


_LEARNED: Mapping[str, Learn] = {
    "kernel_calibration_error": kernel_function,
    "expected_calibration_error": binned_function,
}
_RANDOM, _CONVOLVED = "random_interval_calibration_error", "convolved_calibration_error"
_QUADRATURE = 1e-6  # what the convolved error promises
_ABOVE = (_RANDOM, "averaged_two_bin_calibration_error", "cutoff_calibration_error")


def tightened(smooth: Interval, lower: Interval) -> tuple[Interval, Interval]:
    """Both, each at least half of the other."""

    def tight(each: Interval, other: Interval) -> Interval:
        low = max(each.low, other.low / 2.0)
        return Interval(low, max(low, min(each.high, 2.0 * other.high)))

    return tight(smooth, lower), tight(lower, smooth)


def teach(draws: AnyDraws | None, *, everything: bool = True) -> None:
    """Learn beforehand, beside other work, what is bet on for the gate and, with `everything`, for all bounds."""
    if isinstance(draws, Draws):
        others = (smooth_function, *(_LEARNED.values() if draws.moved is None else ())) if everything else ()
        for learn in (lower_function, *others):
            draws.lessons(learn)


def direct(
    sample: Sample, draws: Draws, spread: Spread, level: float, values: Mapping[str, float]
) -> dict[str, Interval]:
    """Intervals that cost an event for each end: each end of all fails with probability at most `level` / 45.

    The random interval error at the width that is nearest to n^(-1/3) gives those of the "surrogate" and of the true
    distance, "true". `values` are those of the sample's measures that are known already.
    """
    each, known = _OTHER * level, measures()
    intervals = {}
    for name in (*_LEARNED, *_ABOVE):
        value = values[name] if name in values else known[name].on_sample(sample, **known[name].parameters)
        low = lower_end(draws, _LEARNED[name], each) if name in _LEARNED else 0.0
        intervals[name] = Interval(low, max(low, spread.upper_end(value, each)))
    width = 2.0 ** -round(math.log2(draws.n_units) / 3.0)
    value = known[_RANDOM].on_sample(sample, width=width)
    most = spread.upper_end(value, each)
    # The convolved error falls with its bandwidth, so its fixed point is at most any bandwidth or the error there.
    bandwidth = max(1e-5, draws.n_units**-0.4)
    value = known[_CONVOLVED].on_sample(sample, bandwidth=bandwidth) + _QUADRATURE
    intervals[_CONVOLVED] = Interval(0.0, max(bandwidth, spread.upper_end(value, each)))
    return intervals | {"surrogate": Interval(0.0, most + width), "true": Interval(0.0, most + SHIFTED * width)}


def every_measure(
    smooth: Interval, lower: Interval, known: Mapping[str, Interval]
) -> tuple[Interval, dict[str, Interval]]:
    """Interval of the true distance, and of every registered measure with its default parameters."""
    s, d = smooth, lower
    surrogate = min(known.get("surrogate", _ANY).high, most_surrogate(d.high))
    least = max(d.low, s.low)
    width = float(measures()[_RANDOM].parameters["width"])
    binned, random = (known.get(name, _ANY) for name in ("expected_calibration_error", _RANDOM))
    widest = 1.0 / 15.0
    interval = min(surrogate, most_interval_error(d.high), binned.high + widest)
    ties: dict[str, tuple[float, float]] = {
        "smooth_calibration_error": (s.low, s.high),
        "lower_calibration_distance": (d.low, d.high),
        "interval_calibration_error": (least, interval),
        "surrogate_interval_calibration_error": (least, surrogate),
        _RANDOM: (max(d.low - SHIFTED * width, s.low - width / 4.0), most_random_interval_error(d.high, width)),
        "kernel_calibration_error": (s.low / KERNEL, math.sqrt(d.high)),
        _CONVOLVED: (d.low / 2.0, most_convolved_error(d.high)),
        "expected_calibration_error": (max(d.low - widest / 2.0, s.low - widest * (1.0 + widest) / 4.0), 1.0),
        "binned_calibration_error_bound": (max(least, binned.low + widest), binned.high + widest),
        "averaged_two_bin_calibration_error": (d.low, min(2.0 * s.high, 3.0 * d.high)),
        "cutoff_calibration_error": (max(d.low / 2.0, s.low / 1.5), 1.0),
        "monotone_decision_loss": (s.low * s.low, 2.0 * known.get("cutoff_calibration_error", _ANY).high),
    }

    def interval_of(name: str) -> Interval:
        most = 1.0 + widest if name == "binned_calibration_error_bound" else 1.0  # of any law
        tied, direct = ties.get(name, (0.0, 1.0)), known.get(name, Interval(0.0, most))
        low = min(most, max(0.0, tied[0], direct.low))
        return Interval(low, max(low, min(most, tied[1], direct.high)))

    most = min(known.get("true", _ANY).high, random.high + SHIFTED * width, binned.high + widest / 2.0, interval)
    true = Interval(d.low, max(d.low, min(most, most_upper_distance(d.high))))
    return true, {name: interval_of(name) for name in measures()}


def bootstrap_bounds(
    y_true: Column,
    y_prob: Column,
    *,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> PopulationBounds:
    """Bound the population's smooth error and lower distance more tightly than `population_bounds`, in large samples.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    level : float, default 0.05
        Probability with which any of the bounds may fail, as the rows grow in number.
    n_resamples : int, default 999
        Resamples.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.

    Returns
    -------
    PopulationBounds
        With ``guaranteed`` False.

    Raises
    ------
    InputError
        If a column or option cannot be used, or there are too few resamples for the level. If there are too few
        surprises, under 5 expected or seen. Expected is the sum of v (1 - v); seen is the sum of squares of y - v less
        its mean. For rare events both are about the number of events, expected and seen.

    See Also
    --------
    population_bounds, compare_calibration

    Notes
    -----
    What was never seen is never resampled: with no event among rare ones the bounds would close on a single value.
    Coverage just above the minimum is measured in docs/reproductions/few-surprises.md; below it `population_bounds`
    holds, at any number of rows.

    An error is a supremum over a class of functions. The sample's differs from the population's by at most the largest
    gap between the two over that class (docs/bounds.md). The distribution of that gap, not of the error itself, is
    resampled with normal multipliers. It is that of a norm of noise, so it also works for calibrated predictors, where
    a bootstrap of the error fails. Cost: two passes per resample.

    References
    ----------
    van der Vaart and Wellner, Weak convergence and empirical processes, 1996, Section 2.9 (multiplier bootstrap).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import bootstrap_bounds
    >>> bounds = bootstrap_bounds(np.ones(2000), np.random.default_rng(0).random(2000), random_state=0)
    >>> bounds.lower_distance.low < 0.5 < bounds.lower_distance.high, bounds.guaranteed
    (True, False)
    """
    rows = Rows.of(y_true, y_prob)
    label, prediction = rows.y_true, rows.y_prob
    level = check_level(level)
    check_resamples(n_resamples, level, share=0.5)  # half of the level for each of the two quantities
    check_surprises(label, prediction, "population_bounds holds at any number of rows")
    order = np.lexsort((label, prediction))
    y, v = label[order].astype(np.float64), prediction[order]
    n = v.size
    distinct, first = np.unique(v, return_index=True)
    residual, zero = (y - v) / n, y == 0.0
    steps = np.diff(v, append=1.0), np.diff(v, prepend=0.0)

    def gaps(rng: np.random.Generator) -> tuple[float, float]:
        multiplier = rng.standard_normal(n)
        multiplier -= multiplier.mean()
        smooth = largest_correlation(distinct, np.add.reduceat(multiplier * residual, first))
        return smooth, _area(np.where(zero, multiplier, 0.0), np.where(zero, 0.0, multiplier), *steps) / n

    draws = resampled(gaps, n, n_resamples, random_state)
    rank = int(np.floor(0.5 * level * (n_resamples + 1) + 1e-9))
    smooth_margin, distance_margin = np.sort(draws, axis=0)[-rank].tolist()
    error = smooth_error_from_sample(rows.sample)
    low, high = sample_distance(rows.sample)
    smooth = Interval(max(0.0, error - smooth_margin), min(1.0, error + smooth_margin))
    lower = Interval(max(0.0, low - distance_margin), min(1.0, high + distance_margin))
    return with_every_measure(smooth, lower, {}, level, n, guaranteed=False)


def _area(zeros: FloatArray, ones: FloatArray, gap_after: FloatArray, gap_before: FloatArray) -> float:
    """Largest sum of r_y(v) for 1-Lipschitz r_0 with r_0(0) = 0 and r_1 with r_1(1) = 0.

    The slope of r_0 at u earns the sum over zeros beyond u, that of r_1 the sum over ones before u.
    """
    beyond = zeros[::-1].cumsum()[::-1]
    upto = ones.cumsum()
    return dot(np.abs(beyond), gap_before) + dot(np.abs(upto), gap_after)
