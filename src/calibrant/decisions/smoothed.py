"""The flexible calibration curve, its band, and the errors that are read off it (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.decisions.cases import Cases
from calibrant.decisions.estimate import Estimate
from calibrant.decisions.spline import spline_rows
from calibrant.door.arguments import RandomState
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval
from calibrant.kernels.lowess import anchors, bandwidths, local_weights
from calibrant.kernels.sums import dot, rows_dot
from calibrant.resampling.redraw import resampled

SHARE = 2.0 / 3.0
"""Of the rows, in each local fit; with the step below it is what R's lowess does unless told otherwise."""
_STEP = 0.01  # of the range of predictions, between fits; linear in between
_CELLS = 400  # stretches of predictions whose noise is drawn as one


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A flexible curve with what its noise could be.

    Attributes
    ----------
    prediction, fitted, half_width : ndarray of shape (a,)
        Where it was fitted, what it is there, and half the width of its simultaneous band.
    ici, e50, e90, emax : Estimate
        Mean, median, 90th percentile and maximum over rows of |curve - prediction|.
    """

    prediction: FloatArray
    fitted: FloatArray
    half_width: FloatArray
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
    x_cell = np.bincount(cell, mass * x, k) / mass_cell
    noise = resampled(_noise(cases, x, x[at], fitted, cell, shares), at.size, n_resamples, random_state)
    rank = int(np.ceil((1.0 - level) * (n_resamples + 1) - 1e-9)) - 1
    spread = np.sqrt((noise**2).mean(axis=0) + one_row**2)
    half = float(np.sort((np.abs(noise) / spread).max(axis=1))[rank]) * spread
    error, slack = np.abs(np.interp(x, x[at], fitted) - x), np.interp(x, x[at], half)
    mean_noise = rows_dot(np.abs(_between(noise, x[at], x_cell)), mass_cell)
    off = float(np.sort(mean_noise)[rank])
    ici = dot(mass, error)
    plain = cases.plain

    def read(statistic: Callable[[FloatArray], float]) -> Estimate:
        """From the band: no curve within it has an error below the least or above the most at any row."""
        low, high = statistic(np.maximum(error - slack, 0.0)), statistic(np.minimum(error + slack, 1.0))
        return Estimate(statistic(error), Interval(low, max(high, statistic(error))))

    return Smoothed(
        x[at],
        fitted,
        half,
        Estimate(ici, Interval(max(0.0, ici - off), max(ici, min(1.0, ici + off)))),
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


def _between(columns: FloatArray, known: FloatArray, at: FloatArray) -> FloatArray:
    """Linear interpolation of many columns at once."""
    if known.size == 1:
        return np.repeat(columns, at.size, axis=1)
    right = np.clip(np.searchsorted(known, at), 1, known.size - 1)
    part = np.clip((at - known[right - 1]) / (known[right] - known[right - 1]), 0.0, 1.0)
    return np.asarray((1.0 - part) * columns[:, right - 1] + part * columns[:, right])


def _noise(
    cases: Cases, x: FloatArray, known: FloatArray, fitted: FloatArray, cell: IntArray, shares: FloatArray
) -> Callable[[np.random.Generator], FloatArray]:
    """What the curve would differ by from its own mean, drawn.

    Single outcomes are binomials in each cell, with the larger of the variances that curve and prediction give. With
    weights or groups, units' own residuals get random signs.
    """
    k = shares.shape[1]
    curve = np.clip(np.interp(x, known, fitted), 0.0, 1.0)
    if cases.plain:
        sample = cases.sample
        rows = np.bincount(cell, sample.count, k)
        spread = np.maximum(curve * (1.0 - curve), x * (1.0 - x))
        # The share, on the prediction's own side of 1/2, that has the mean variance of the cell's rows.
        variance = np.bincount(cell, sample.count * spread, k) / rows
        rare = 0.5 - np.sqrt(np.maximum(0.25 - variance, 0.0))
        middle = np.bincount(cell, sample.count * curve, k) / rows
        chance = np.where(middle <= 0.5, rare, 1.0 - rare)
        whole = rows.astype(np.int64)

        def redrawn(rng: np.random.Generator) -> FloatArray:
            return rows_dot(shares, rng.binomial(whole, chance) / rows - chance)

        return redrawn
    place = np.minimum(np.searchsorted(x, cases.v), x.size - 1)
    mass = np.bincount(cell, np.bincount(place, cases.weight, x.size), k)
    pushed = cases.weight * (cases.y - curve[place]) / mass[cell[place]]
    unit = np.arange(cases.v.size) if cases.unit is None else cases.unit
    where = cell[place]
    more = np.sqrt(cases.n_units / max(cases.n_units - 1, 1))

    def signed(rng: np.random.Generator) -> FloatArray:
        sign = np.where(rng.random(cases.n_units) < 0.5, -more, more)
        return rows_dot(shares, np.bincount(where, pushed * sign[unit], k).astype(np.float64))

    return signed
