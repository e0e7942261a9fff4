"""The reliability diagram as a table: a curve or level sets, a consistency band, and a histogram of predictions.

**The curve** at t is t plus the mean residual near t, weighted by a Gaussian reflected at 0 and 1. Under calibration
its mean is t exactly, whatever the density (smoothing the outcomes alone bends the curve wherever the density is
steep), and at the convolved error's own bandwidth the area between the curve and the diagonal, weighted by the smoothed
density, is that error.

**The band** is where the curve of a calibrated predictor with these very predictions would lie, point by point: labels
are redrawn as Bernoulli(prediction), and the band's ends are order statistics of the redrawn curves, so that a
calibrated curve lies outside with probability at most ``level`` at each point, at any sample size.

**Redrawing costs no draw a row.** Rows are pooled into strata, and the ones in a stratum are one binomial draw. A
stratum spans at most 0.001 in arcsin(sqrt(prediction)), so the variance of its predictions is at most 1e-6 times
p (1 - p) at their mean p, and by Ehm's inequality (Statistics & Probability Letters 11, 1991) the law of the number of
ones is within 1e-6, in total variation, of that of one draw a row. A stratum that is a single prediction is exact. With
weights, a stratum holds one octave of weight, and its draw is scaled to the exact variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from calibrant.kernels.sums import rows_dot
from calibrant.sample import Sample

FloatArray = npt.NDArray[np.float64]

POINTS = 257  # of the curve
MOST_LEVELS = 30  # distinct predictions that are drawn one by one
_FINEST = 200  # the bandwidth is at least this part of the range of predictions
_STRATA_PER_BANDWIDTH = 16
_ARCSINE_WIDTH = 1e-3
_BLOCK = 256  # resamples at a time
_NOTHING = 1e-290  # a density below this is none: dividing by it may overflow


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """What a reliability diagram draws.

    Attributes
    ----------
    kind : {"curve", "levels"}
        A smooth curve, or one point for each distinct prediction where there are few.
    prediction : ndarray of shape (t,)
        Regular grid over the range of the predictions, or the distinct predictions.
    outcome : ndarray of shape (t,)
        Outcome rate there: prediction plus local mean residual. NaN where no prediction is near.
    lower, upper : ndarray of shape (t,) or None
        Pointwise consistency band; None where there is none.
    mass, count : ndarray of shape (t,)
        Share of the weight, and rows, whose nearest point this is.
    bandwidth : float or None
        Standard deviation of the smoothing; None for level sets.
    no_band : str or None
        Why there is no band.
    outside : float or None
        Share of the weight at whose nearest point the curve leaves the band; about `level` if calibrated.
    """

    kind: str
    prediction: FloatArray
    outcome: FloatArray
    lower: FloatArray | None
    upper: FloatArray | None
    mass: FloatArray
    count: FloatArray
    bandwidth: float | None
    no_band: str | None
    outside: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Rows pooled so finely that their place and their chances are as good as one."""

    prediction: FloatArray  # mean weighted by mass
    mass: FloatArray
    residual: FloatArray
    count: FloatArray
    chance: FloatArray  # mean prediction of the rows, for the binomial draw
    scale: FloatArray  # standard deviation of the residual over that of the draw


def reliability(
    sample: Sample, convolved_error: float, level: float, n_resamples: int, rng: np.random.Generator
) -> Reliability:
    """Reliability table of a sample, smoothed at its convolved error."""
    if sample.n_distinct <= MOST_LEVELS:
        bandwidth = None
        strata = stratify(sample, np.inf)
        at = strata.prediction
        near = np.eye(at.size)
    else:
        span = float(sample.prediction[-1] - sample.prediction[0])
        bandwidth = max(convolved_error, span / _FINEST)
        strata = stratify(sample, bandwidth / _STRATA_PER_BANDWIDTH)
        at = np.linspace(sample.prediction[0], sample.prediction[-1], POINTS)
        near = reflected_gaussian(at, strata.prediction, bandwidth)
        near[_distance(at, strata.prediction[strata.mass > 0.0]) > bandwidth] = 0.0
    density = rows_dot(near, strata.mass)
    held = density > _NOTHING
    smoother = near / np.where(held, density, np.nan)[:, None]
    curve = at + rows_dot(smoother, strata.residual)

    nearest = np.arange(at.size) if bandwidth is None else _nearest(at, strata.prediction)
    mass: FloatArray = np.bincount(nearest, strata.mass, at.size).astype(np.float64)
    count: FloatArray = np.bincount(nearest, strata.count, at.size).astype(np.float64)
    no_band = None
    lower = upper = outside = None
    if n_resamples == 0:
        no_band = "no resamples were asked for"
    elif not sample.binary:
        no_band = "outcomes are rates, so labels cannot be redrawn"
    else:
        noise = redraw(strata, smoother, n_resamples, rng)
        rank = int(level / 2.0 * (n_resamples + 1) + 1e-9)  # at least 1: the audit checks
        noise.partition((rank - 1, n_resamples - rank), axis=1)
        lower, upper = at + noise[:, rank - 1], at + noise[:, n_resamples - rank]
        beyond = (curve < lower - 1e-12) | (curve > upper + 1e-12)
        outside = min(1.0, float(mass[beyond].sum()))
    kind = "levels" if bandwidth is None else "curve"
    return Reliability(kind, at, curve, lower, upper, mass, count, bandwidth, no_band, outside)


def stratify(sample: Sample, width: float) -> Strata:
    """Pool neighbours: cells no wider than `width`, nor than Ehm's inequality allows, and one octave of weight each."""
    v = sample.prediction
    if np.isinf(width):
        start, order = np.arange(v.size), None
    else:
        cell = np.floor(v / width)
        arc = np.floor(np.arcsin(np.sqrt(v)) / _ARCSINE_WIDTH)
        new = np.empty(v.size, dtype=bool)
        new[0] = True
        new[1:] = (np.diff(cell) > 0.0) | (np.diff(arc) > 0.0)
        order = None
        if not np.array_equal(sample.weight, sample.count):
            group = np.cumsum(new)
            octave = np.frexp(sample.squared_weight / sample.count)[1]
            order = np.lexsort((octave, group))
            new[1:] = (np.diff(group[order]) != 0) | (np.diff(octave[order]) != 0)
        start = np.flatnonzero(new)

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values if order is None else values[order], start))

    mass, count = total(sample.mass()), total(sample.count)
    chance = np.clip(total(sample.count * v) / count, 0.0, 1.0)
    centre = np.where(mass > 0.0, total(sample.mass() * v) / np.where(mass > 0.0, mass, 1.0), chance)
    variance = total(sample.squared_weight * (v * (1.0 - v))) / sample.total_weight / sample.total_weight
    drawn = count * chance * (1.0 - chance)
    scale = np.sqrt(variance / np.where(drawn > 0.0, drawn, 1.0))
    return Strata(centre, mass, total(sample.residual()), count, chance, scale)


def redraw(strata: Strata, smoother: FloatArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Smoothed residuals of calibrated labels at the same predictions, shape (points, n_resamples)."""
    rows = np.rint(strata.count).astype(np.int64)
    mean = strata.count * strata.chance
    noise = np.empty((smoother.shape[0], n_resamples))
    for first in range(0, n_resamples, _BLOCK):
        block = min(_BLOCK, n_resamples - first)
        ones = np.empty((rows.size, block))
        for s in range(rows.size):  # one call a stratum, so that the sampler sets itself up once
            ones[s] = rng.binomial(rows[s], strata.chance[s], block)
        ones -= mean[:, None]
        ones *= strata.scale[:, None]
        with threadpool_limits(1, user_api="blas"):  # more threads would round otherwise
            noise[:, first : first + block] = smoother @ ones
    return noise


def reflected_gaussian(at: FloatArray, centre: FloatArray, bandwidth: float) -> FloatArray:
    """Gaussian kernel on [0, 1], reflected at both ends, up to a constant; shape (at, centre)."""
    reach = int(4.0 * bandwidth) + 1
    kernel = np.zeros((at.size, centre.size))
    for shift in range(-reach, reach + 1):
        for mirrored in (centre, -centre):
            kernel += np.exp(-0.5 * ((at[:, None] - mirrored[None, :] - 2.0 * shift) / bandwidth) ** 2)
    return kernel


def _nearest(at: FloatArray, centre: FloatArray) -> npt.NDArray[np.intp]:
    """Index of the point of a regular grid that is nearest to each centre."""
    return np.asarray(np.rint((centre - at[0]) / (at[-1] - at[0]) * (at.size - 1)), dtype=np.intp)


def _distance(at: FloatArray, centre: FloatArray) -> FloatArray:
    """Distance from each point to the nearest centre."""
    ordered = np.concatenate([[-np.inf], np.sort(centre), [np.inf]])
    right = np.searchsorted(ordered, at)
    return np.asarray(np.minimum(at - ordered[right - 1], ordered[right] - at))
