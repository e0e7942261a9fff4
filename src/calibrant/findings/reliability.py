"""The reliability diagram as a table: a curve or level sets, a consistency band, and a histogram of predictions.

**The curve** at t is t plus the mean residual near t, weighted by a Gaussian reflected at 0 and 1. Under calibration
its mean is t exactly, for any density (smoothing the outcomes alone bends the curve wherever the density is
steep). The bandwidth follows from predictions and weights alone: outcomes that choose it could not be compared with
redrawn ones.

**The band** holds the whole curve of a calibrated predictor with these very predictions: labels are redrawn as
Bernoulli(prediction), and at most a share ``level`` of the redrawn curves, the observed one among them, leaves it
anywhere, at any sample size (docs/report.md).

**Redrawing needs no draw per row.** Rows are pooled into strata, and the ones in a stratum are one binomial draw. A
stratum spans at most 0.001 in arcsin(sqrt(prediction)), so the variance of its predictions is at most 1e-6 times
p (1 - p) at their mean p, and by Ehm's inequality (Statistics & Probability Letters 11, 1991) the law of the number of
ones is within 1e-6, in total variation, of that of one draw per row. A stratum that is a single prediction is exact.
With weights, those of a stratum differ by less than a factor of sqrt(2), and given the number of ones among its rows
the sum of their weights is drawn with the mean and variance of a simple random sample of the rows: without ones, or
with ones only, it is exact.
That is for weights that say nothing of outcomes, as was declared; others are drawn row by row, together with outcomes.
"""

from __future__ import annotations

__all__ = ["Reliability"]

import math
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from calibrant.door.columns import IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import FloatsOrNull, Result
from calibrant.findings.words import CELLS_MIX_WEIGHTS, NO_TRIALS
from calibrant.kernels.sums import rows_dot
from calibrant.measures.corp import CorpDecomposition, corp_from_sample
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import check_groups, random_signs

FloatArray = npt.NDArray[np.float64]

POINTS = 257  # of the curve
MOST_LEVELS = 30  # distinct predictions that are drawn one by one
_FINEST = 100  # the bandwidth is at least this part of the range of predictions
_SLOPE = 0.3  # standard deviation of the slope of the curve's noise
_STRATA_PER_BANDWIDTH = 8
_ARCSINE_WIDTH = 1e-3
_BLOCK = 256  # resamples at a time
_VANISHED = 39.0  # bandwidths away a Gaussian is 0 in doubles
_NOTHING = 1e-290  # a density below this is none: dividing by it may overflow
_SCALE = 2.0**64  # without rounding: among the smallest doubles steps would be rounded, and slopes infinite
_TIE = 1e-12  # rounding of a sum over strata, whose terms add up to at most 1: closer values are equal


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reliability(Result):
    """Values that a reliability diagram draws.

    Attributes
    ----------
    kind : {"curve", "levels"}
        A smooth curve, or one point for each distinct prediction where there are few.
    prediction : ndarray of shape (t,)
        Regular grid over the range of the predictions, or the distinct predictions.
    outcome : ndarray of shape (t,)
        Outcome rate there: prediction plus local mean residual. NaN where no prediction is near.
    isotonic : ndarray of shape (t,)
        Event rate there by isotonic regression of outcomes on predictions (CORP), on a straight line between two
        distinct predictions: it needs no bandwidth, and never falls.
    band_lower, band_upper : ndarray of shape (t,) or None
        Simultaneous consistency band: it holds the whole curve of calibrated predictions with probability 1 - level.
        None where there is no band; NaN where no prediction is near.
    mass, count : ndarray of shape (t,)
        Share of the weight, and rows, whose nearest point this is.
    bandwidth : float or None
        Standard deviation of the smoothing; None for level sets.
    no_band : str or None
        Why there is no band; None where there is one.
    outside : float or None
        Share of the weight at whose nearest point the curve leaves the band; None without a band.
    leaves_band : bool or None
        Whether it leaves the band anywhere, which a calibrated curve does with probability at most level; None
        without a band.
    deviation : ndarray of shape (t,) or None
        Of rows in groups, the standard deviation of `outcome` that the groups show.

    See Also
    --------
    Audit, ReliabilityDisplay
    """

    kind: str
    prediction: FloatArray
    outcome: FloatsOrNull
    isotonic: FloatArray
    band_lower: FloatsOrNull | None
    band_upper: FloatsOrNull | None
    mass: FloatArray
    count: FloatArray
    bandwidth: float | None
    no_band: str | None
    outside: float | None
    leaves_band: bool | None
    deviation: FloatArray | None = None

    def summary(self) -> str:
        """Say whether the curve leaves its band, where there is one."""
        where = f"{self.prediction.size:,} predictions"
        if self.outside is None or self.no_band is not None:
            return f"A reliability {'curve' if self.kind == 'curve' else 'diagram'} at {where}, without a band."
        if not self.leaves_band:
            return f"Over {where} the outcomes stay within the calibrated band."
        return f"Over {where} the outcomes leave the calibrated band for {self.outside:.1%} of the weight."


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Rows pooled so finely that their place and their chances are as good as one."""

    first: FloatArray  # the least prediction
    prediction: FloatArray  # mean weighted by mass: where they are, and their chance
    mass: FloatArray
    count: FloatArray
    residual: FloatArray  # share of the mass that is on ones, less that expected
    weight: FloatArray  # mean mass of a row
    spread: FloatArray  # standard deviation of it over the rows; exactly 0 where they weigh the same


def reliability(
    sample: Sample,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
    rows: Rows | None = None,
    corp: CorpDecomposition | None = None,
    *,
    outcome_free: bool = False,
) -> Reliability:
    """Reliability table of a sample; `rows` say which rows belong together, `corp` is the sample's if known already."""
    grouped = None if rows is None or rows.group is None else rows
    paired = None if rows is None or not rows.informative else rows
    by_weight = grouped is None and paired is None
    if sample.n_distinct <= MOST_LEVELS:
        bandwidth = None
        strata = stratify(sample, np.inf, by_weight=by_weight)
        at = strata.prediction
        near = np.eye(at.size)
    else:
        bandwidth = noise_bandwidth(sample)
        strata = stratify(sample, bandwidth / _STRATA_PER_BANDWIDTH, by_weight=by_weight)
        first, last = sample.prediction[[0, -1]] * _SCALE
        at = np.linspace(first, last, POINTS) / _SCALE
        near = reflected_gaussian(at, strata.prediction, bandwidth)
        near[_distance(at, strata.prediction[strata.mass > 0.0]) > bandwidth] = 0.0
    density = rows_dot(near, strata.mass)
    occupied = density > _NOTHING
    smoother = near / np.where(occupied, density, np.nan)[:, None]

    nearest = np.arange(at.size) if bandwidth is None else _nearest(at, strata.prediction)
    mass: FloatArray = np.bincount(nearest, strata.mass, at.size).astype(np.float64)
    count: FloatArray = np.bincount(nearest, strata.count, at.size).astype(np.float64)
    why_not = None
    if not sample.binary:
        why_not = NO_TRIALS
    elif n_resamples == 0:
        why_not = "no resamples were asked for"
    elif grouped is not None:
        why_not = _too_few_groups(grouped)
    elif paired is not None:
        why_not = _too_few_rows(paired)
    elif rows is None and not outcome_free and sample.weight is not sample.count and sample.weights_differ:
        why_not = CELLS_MIX_WEIGHTS
    elif _unlike_weights(sample):
        why_not = "rows of one prediction weigh differently, and which of them had the event is not kept"
    n_draws = 0 if why_not else n_resamples
    lower = upper = outside = leaves = deviation = scale = None
    if grouped is None:
        with threadpool_limits(1, user_api="blas"):  # more threads would round otherwise
            if n_draws and paired is not None:
                curves = redraw_pairs(strata, smoother, paired, n_draws, rng)
            else:
                curves = redraw(strata, smoother, n_draws, rng)
    else:
        curves, deviation, scale = redraw_groups(strata, smoother, grouped, n_draws, rng)
    if n_draws:
        low, high = envelope(curves, level) if scale is None else fixed_envelope(curves, scale, level)
        lower, upper = at + low, at + high
        beyond = (curves[:, 0] < low - _TIE) | (curves[:, 0] > high + _TIE)
        outside, leaves = float(min(1.0, mass[beyond].sum())), bool(beyond.any())
    kind = "levels" if bandwidth is None else "curve"
    corp = corp_from_sample(sample) if corp is None else corp
    isotonic = np.asarray(np.interp(at * _SCALE, corp.prediction * _SCALE, corp.recalibrated))
    # A rate lies between 0 and 1; whether the curve leaves the band was looked at before.
    outcome = np.clip(at + curves[:, 0], 0.0, 1.0)
    lower, upper = (None if each is None else np.clip(each, 0.0, 1.0) for each in (lower, upper))
    return Reliability(
        kind, at, outcome, isotonic, lower, upper, mass, count, bandwidth, why_not, outside, leaves, deviation
    )


def _too_few_groups(rows: Rows) -> str | None:
    try:
        check_groups(rows)
    except InputError as too_few:
        return str(too_few)
    return None


def _too_few_rows(rows: Rows) -> str | None:
    try:
        rows.tested  # noqa: B018  # refuses
    except InputError as too_few:
        return str(too_few)
    return None


def _unlike_weights(sample: Sample) -> bool:
    """Whether rows of one prediction weigh differently: then their sums have no law that is known from the sums."""
    largest = sample.squared_weight * sample.count
    return bool((largest > sample.weight * sample.weight * (1.0 + 1e-9)).any())


def envelope(curves: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Ends, at every point, of the band that a share 1 - level of the curves stays within everywhere.

    The band is the median plus and minus a multiple of the distance to the quantiles at each point, each side its own,
    since the noise of rare events is skewed. Median, quantiles and the multiple treat all curves alike, the observed
    one too, so each of them is outside with the same probability (docs/report.md).
    """
    n = curves.shape[1]
    rank = max(1, int(level / 2.0 * n))
    ordered = np.partition(curves, (rank - 1, n // 2, n - rank), axis=1)
    low, middle, high = ordered[:, [rank - 1, n // 2, n - rank]].T[:, :, None]
    away = curves - middle
    # Where a quantile is the median itself, which rare events make it, the spread of all curves stands in for it.
    least = curves.std(axis=1)[:, None]
    below, above = (np.where(side > _TIE, side, least) for side in (middle - low, high - middle))
    scale = np.where(away < 0.0, below, above)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(np.abs(away) <= _TIE, 0.0, np.abs(away) / scale)
    farthest = np.nan_to_num(ratio, nan=0.0).max(axis=0)
    # At most n - rank of all curves are farther than this one, and the observed one is as likely as any to be.
    rank = max(1, math.ceil((1.0 - level) * n - 1e-9))
    most = np.partition(farthest, rank - 1)[rank - 1]
    return (middle - most * below)[:, 0], (middle + most * above)[:, 0]


def fixed_envelope(curves: FloatArray, scale: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The same with a shape that predictions alone decide, for curves that random signs turned round.

    Their own spread would not do: where there are no events, all residuals have one sign, and redrawn ones cancel.
    """
    n = curves.shape[1]
    ratio = np.abs(curves) / np.where(scale > 0.0, scale, np.inf)[:, None]
    farthest = np.nan_to_num(ratio, nan=0.0).max(axis=0)
    rank = max(1, math.ceil((1.0 - level) * n - 1e-9))
    most = np.partition(farthest, rank - 1)[rank - 1]
    return -most * scale, most * scale


def noise_bandwidth(sample: Sample) -> float:
    """Bandwidth at which the noise of calibrated outcomes alone hardly makes the curve fall.

    Noise of variance V, spread evenly over a length L, has after smoothing with a Gaussian of width s the standard
    deviation L sqrt(V / (2 sqrt(pi) s L)), and its slope 1 / (sqrt(2) s) times that; the slope's is _SLOPE for
    s**3 = L V / (4 sqrt(pi) _SLOPE**2). A calibrated curve has slope 1, and falls where noise has a slope below -1.
    """
    v = sample.prediction
    span = float(v[-1] - v[0])
    share = sample.squared_weight / sample.total_weight / sample.total_weight
    noise = float((share * (v * (1.0 - v))).sum())
    narrowest = max(span / _FINEST, sys.float_info.min)  # of the smallest doubles a part may be 0
    return float(max(np.cbrt(span * noise / (4.0 * math.sqrt(math.pi) * _SLOPE**2)), narrowest))


def stratify(sample: Sample, width: float, *, by_weight: bool = True) -> Strata:
    """Pool neighbours: cells no wider than `width`, nor than Ehm's inequality allows; weights within sqrt(2)."""
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
        if by_weight and not np.array_equal(sample.weight, sample.count):
            group = np.cumsum(new)
            octave = np.frexp(sample.squared_weight / sample.count)[1]
            order = np.lexsort((octave, group))
            new[1:] = (np.diff(group[order]) != 0) | (np.diff(octave[order]) != 0)
        start = np.flatnonzero(new)

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values if order is None else values[order], start))

    mass, count, ones = total(sample.mass()), total(sample.count), total(sample.ones)
    some = mass > 0.0
    chance = np.where(some, total(sample.mass() * v) / np.where(some, mass, 1.0), total(sample.count * v) / count)
    chance = np.clip(chance, 0.0, 1.0)
    weight = mass / count
    variance = total(sample.squared_weight / sample.total_weight / sample.total_weight) / count - weight * weight
    spread = np.sqrt(np.where(variance > 1e-10 * weight * weight, variance, 0.0))
    on_ones = total(sample.weighted_outcome) / sample.total_weight
    # As the draws have it, to the last digit.
    numbers = ones * weight
    same = (spread == 0.0) | (ones == 0.0) | (ones == count)
    on_ones = np.where(same, numbers, on_ones) if sample.binary else on_ones
    first = v[start if order is None else order[start]]
    return Strata(first, chance, mass, count, on_ones - mass * chance, weight, spread)


def redraw(strata: Strata, smoother: FloatArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Smoothed residuals: the observed ones, then those of calibrated labels; shape (points, 1 + n_resamples)."""
    if n_resamples == 0:
        return rows_dot(smoother, strata.residual)[:, None]
    rows = np.rint(strata.count).astype(np.int64)
    expected = strata.mass * strata.prediction
    uneven = np.flatnonzero(strata.spread > 0.0)
    draws = np.empty((smoother.shape[0], 1 + n_resamples))
    for first in range(0, 1 + n_resamples, _BLOCK):
        block = min(_BLOCK, 1 + n_resamples - first)
        ones = np.empty((rows.size, block))
        for s in range(rows.size):  # one call per stratum, so that the sampler sets itself up once
            ones[s] = rng.binomial(rows[s], strata.prediction[s], block)
        residual = ones * strata.weight[:, None]
        if uneven.size:
            k, c = ones[uneven], strata.count[uneven, None]
            sampled = np.sqrt(k * (c - k) / np.maximum(c - 1.0, 1.0))
            residual[uneven] += strata.spread[uneven, None] * sampled * rng.standard_normal(k.shape)
        residual -= expected[:, None]
        if first == 0:
            residual[:, 0] = strata.residual
        draws[:, first : first + block] = smoother @ residual
    return draws


def redraw_pairs(
    strata: Strata, smoother: FloatArray, rows: Rows, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """As `redraw`, weights being drawn together with outcomes (docs/weights.md). Strata follow one another."""
    assert rows.weight is not None
    joint, seed = JointRows.of(rows), rng.integers(2**64, dtype=np.uint64)
    of = np.searchsorted(strata.first, joint.prediction, side="right") - 1
    inside = np.flatnonzero(np.diff(of, prepend=-1))  # first row of each stratum that holds any
    total = float(rows.weight.sum())
    curves = np.empty((smoother.shape[0], 1 + n_resamples))
    for first, lanes in joint.blocks(1 + n_resamples):
        residual = np.zeros((strata.mass.size, lanes))
        residual[of[inside]] = np.add.reduceat(joint.excesses(seed, first, lanes), inside, axis=0) / total
        if first == 0:
            residual[:, 0] = strata.residual  # with what was predicted with certainty
        curves[:, first : first + lanes] = smoother @ residual
    return curves


def redraw_groups(
    strata: Strata, smoother: FloatArray, rows: Rows, n_resamples: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `redraw`, the groups' residuals having random signs; the standard deviation at each point, and of rows alone.

    Strata follow one another, so that a row's is found by its prediction.
    """
    assert rows.group is not None
    mass = rows.count if rows.weight is None else rows.weight * rows.count
    order = np.lexsort(
        (mass, rows.count, rows.y_true, rows.group, rows.y_prob)
    )  # sums round alike in any order of rows
    mass, count, v = mass[order], rows.count[order], rows.y_prob[order]
    share = mass / mass.sum()
    of = np.searchsorted(strata.first, v, side="right") - 1
    alone = np.bincount(of, share * share / count * v * (1.0 - v), strata.first.size)
    with threadpool_limits(1, user_api="blas"):  # more threads would round otherwise
        residual = share * (rows.y_true[order] / count - v)
        curves, deviation = signed_curves(smoother, of, residual, rows.group[order], n_resamples, rng)
        return curves, deviation, np.sqrt(smoother**2 @ alone)


def reflected_gaussian(at: FloatArray, centre: FloatArray, bandwidth: float) -> FloatArray:
    """Gaussian kernel on [0, 1], reflected at both ends, up to a constant; shape (at, centre)."""
    reach = int(4.0 * bandwidth) + 1
    far = _VANISHED * bandwidth
    kernel = np.zeros((at.size, centre.size))
    for shift in range(-reach, reach + 1):
        for mirrored in (centre, -centre):
            image = mirrored + 2.0 * shift
            rows = (at >= image.min() - far) & (at <= image.max() + far)
            columns = (image >= at.min() - far) & (image <= at.max() + far)
            apart = at[rows, None] - mirrored[None, columns] - 2.0 * shift
            kernel[np.ix_(rows, columns)] += np.exp(-0.5 * (apart / bandwidth) ** 2)
    return kernel


def _nearest(at: FloatArray, centre: FloatArray) -> npt.NDArray[np.intp]:
    """Index of the point of a regular grid that is nearest to each centre."""
    place = np.rint((centre - at[0]) / (at[-1] - at[0]) * (at.size - 1))
    return np.asarray(np.clip(place, 0.0, at.size - 1), dtype=np.intp)  # a mean can round beyond the ends


def _distance(at: FloatArray, centre: FloatArray) -> FloatArray:
    """Distance from each point to the nearest centre."""
    ordered = np.concatenate([[-np.inf], np.sort(centre), [np.inf]])
    right = np.searchsorted(ordered, at)
    return np.asarray(np.minimum(at - ordered[right - 1], ordered[right] - at))


_GROUP_BLOCK = 128  # resamples, or groups, at a time


def signed_curves(
    smoother: FloatArray,
    stratum: IntArray,
    residual: FloatArray,
    group: IntArray,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Curves at the smoother's points: the one observed, then redrawn ones; and its standard deviation by group.

    `smoother` is (points, strata); `stratum`, `residual` and `group` are of rows.
    """
    from scipy.sparse import coo_array

    n_groups = int(group.max()) + 1
    each = coo_array((residual, (stratum, group)), (smoother.shape[1], n_groups)).tocsc()
    squared = np.zeros(smoother.shape[0])
    curves = [smoother @ np.asarray(each @ np.ones((n_groups, 1)))]
    for start in range(0, n_resamples, _GROUP_BLOCK):
        signs = random_signs(rng, (n_groups, min(_GROUP_BLOCK, n_resamples - start)))
        curves.append(smoother @ np.asarray(each @ signs))
    for start in range(0, n_groups, _GROUP_BLOCK):
        squared += ((smoother @ each[:, start : start + _GROUP_BLOCK].toarray()) ** 2).sum(axis=1)
    return np.concatenate(curves, axis=1), np.sqrt(squared)
