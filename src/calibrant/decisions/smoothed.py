"""The flexible calibration curve, its band, and the errors that are read off it (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.decisions.cases import Cases
from calibrant.decisions.estimate import Estimate
from calibrant.decisions.reach import Fit, reach
from calibrant.decisions.spline import spline_rows
from calibrant.door.arguments import RandomState
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval
from calibrant.kernels.lowess import anchors, bandwidths, local_weights
from calibrant.kernels.sums import dot

SHARE = 2.0 / 3.0
"""Of the rows, in each local fit; with the step below it is what R's lowess does unless told otherwise."""
_STEP = 0.01  # of the range of predictions, between fits; linear in between
_CELLS = 400  # stretches of predictions whose noise is drawn as one


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A flexible curve with what its noise could be.

    Attributes
    ----------
    prediction, fitted, lower, upper : ndarray of shape (a,)
        Where it was fitted, what it is there, and its simultaneous band.
    ici, e50, e90, emax : Estimate
        Mean, median, 90th percentile and maximum over rows of |curve - prediction|.
    """

    prediction: FloatArray
    fitted: FloatArray
    lower: FloatArray
    upper: FloatArray
    ici: Estimate
    e50: Estimate
    e90: Estimate
    emax: Estimate


def smoothed(
    cases: Cases, level: float, n_resamples: int, random_state: RandomState, *, spline: bool = False
) -> Smoothed:
    """Fit the curve, and draw what noise would make of it."""
    sample = cases.sample
    held = sample.weight > 0.0
    x = np.ascontiguousarray(sample.prediction[held])
    mass = sample.weight[held] / sample.total_weight
    rate = np.clip(sample.weighted_outcome[held] / sample.weight[held], 0.0, 1.0)
    count = np.ascontiguousarray(sample.count[held])
    at = anchors(x, _STEP * float(x[-1] - x[0]))
    cell = np.minimum(np.floor(_CELLS * (mass.cumsum() - 0.5 * mass)).astype(np.int64), _CELLS - 1)
    cell = np.unique(cell, return_inverse=True)[1]
    k = int(cell[-1]) + 1
    fitted, one_row, shares = np.empty(at.size), np.empty(at.size), np.empty((at.size, k))
    for a, weight in enumerate(spline_rows(x, mass, at) if spline else _lowess_rows(x, mass, count, at)):
        fitted[a] = dot(weight, rate)
        one_row[a] = float(np.abs(weight / count).max())
        shares[a] = np.bincount(cell, weight, k)
    mass_cell = np.bincount(cell, mass, k).astype(np.float64)
    fit = Fit(x, at, fitted, cell, shares, one_row, mass_cell, np.bincount(cell, mass * x, k) / mass_cell)
    found = reach(cases, fit, level, n_resamples, random_state)
    error = np.abs(np.interp(x, x[at], fitted) - x)
    lower, upper = (np.interp(x, x[at], np.clip(end, -1.0, 2.0)) for end in (found.lower, found.upper))
    least, most = np.maximum(np.maximum(lower - x, x - upper), 0.0), np.minimum(np.maximum(x - lower, upper - x), 1.0)
    ici = dot(mass, error)
    low = max(0.0, ici - found.off) if ici > found.calibrated else 0.0
    plain = cases.plain

    def read(statistic: Callable[[FloatArray], float]) -> Estimate:
        """From the band: no curve within it has an error below the least or above the most at any row."""
        return Estimate(statistic(error), Interval(statistic(least), max(statistic(most), statistic(error))))

    return Smoothed(
        x[at],
        fitted,
        found.lower,
        found.upper,
        Estimate(ici, Interval(low, max(ici, min(1.0, ici + found.off)))),
        read(lambda e: _quantile(e, 0.5, count if plain else mass, plain)),
        read(lambda e: _quantile(e, 0.9, count if plain else mass, plain)),
        read(lambda e: float(e.max())),
    )


def fitted_places(cases: Cases, spline: bool) -> tuple[FloatArray, FloatArray]:
    """Where the curve is fitted and what it is there, of shares of events too."""
    sample = cases.sample
    held = sample.weight > 0.0
    x, mass = np.ascontiguousarray(sample.prediction[held]), sample.weight[held] / sample.total_weight
    rate = sample.weighted_outcome[held] / sample.weight[held]
    at = anchors(x, _STEP * float(x[-1] - x[0]))
    count = np.ascontiguousarray(sample.count[held])
    fits = spline_rows(x, mass, at) if spline else _lowess_rows(x, mass, count, at)
    return x[at], np.array([dot(weight, rate) for weight in fits])


def _lowess_rows(x: FloatArray, mass: FloatArray, count: FloatArray, at: IntArray) -> Iterator[FloatArray]:
    """What the mean outcome at each prediction contributes to lowess at some of them, one place after the other."""
    rows = max(2.0, np.floor(SHARE * count.sum() + 1e-7))
    for i, width in zip(at, bandwidths(x, count, at, rows), strict=True):
        yield local_weights(x, mass, x[i], width, float(x[-1] - x[0]))


def _quantile(values: FloatArray, share: float, weight: FloatArray, plain: bool) -> float:
    """Of rows, as R's quantile does; with weights the least value that has the share at or below it."""
    if plain:
        return float(np.quantile(np.repeat(values, weight.astype(np.int64)), share))
    order = np.argsort(values)
    below = weight[order].cumsum()
    return float(values[order][min(np.searchsorted(below, share * below[-1] * (1.0 - 1e-12)), values.size - 1)])
