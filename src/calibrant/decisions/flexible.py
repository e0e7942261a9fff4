"""The flexible calibration curve, its band, and the errors that are read off it (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import eigh
from scipy.sparse import csr_array

from calibrant.decisions.cases import Cases, heavier, weight_shift
from calibrant.decisions.line import Estimate
from calibrant.door.arguments import RandomState
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval
from calibrant.kernels.lowess import anchors, bandwidths, local_weights
from calibrant.kernels.sums import dot, rows_dot
from calibrant.resampling.redraw import random_signs, resampled

# Of the rows, in each local fit; with the step below it is what R's lowess does unless told otherwise.
SHARE = 2.0 / 3.0
_STEP = 0.01  # of the range of predictions, between fits; linear in between
_CELLS = 400  # stretches of predictions whose noise is drawn as one


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A flexible curve with what its noise could be."""

    # prediction, fitted, lower, upper: (a,), where it was fitted, what it is there, and its simultaneous band
    prediction: FloatArray
    fitted: FloatArray
    lower: FloatArray
    upper: FloatArray
    # ici, e50, e90, emax: mean, median, 90th percentile and maximum over rows of |curve - prediction|
    ici: Estimate
    e50: Estimate
    e90: Estimate
    emax: Estimate

    def without_noise(self) -> Smoothed:
        """The curve alone, where draws are too few to tell its noise: values lie between 0 and 1."""
        sizes = {
            name: replace(getattr(self, name), interval=Interval(0.0, 1.0)) for name in ("ici", "e50", "e90", "emax")
        }
        zero = np.zeros_like(self.fitted)
        return replace(self, lower=zero, upper=zero + 1.0, **sizes)


def smoothed(
    cases: Cases, level: float, n_resamples: int, random_state: RandomState, *, spline: bool = False
) -> Smoothed:
    """Fit the curve, and draw what noise would make of it."""
    sample = cases.sample
    mask = sample.weight > 0.0
    x = np.ascontiguousarray(sample.prediction[mask])
    mass = sample.weight[mask] / sample.total_weight
    rate = np.clip(sample.weighted_outcome[mask] / sample.weight[mask], 0.0, 1.0)
    count = np.ascontiguousarray(sample.count[mask])
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
    band = reach(cases, fit, level, n_resamples, random_state)
    error = np.abs(np.interp(x, x[at], fitted) - x)
    lower, upper = (np.interp(x, x[at], np.clip(end, -1.0, 2.0)) for end in (band.lower, band.upper))
    least, most = np.maximum(np.maximum(lower - x, x - upper), 0.0), np.minimum(np.maximum(x - lower, upper - x), 1.0)
    ici = dot(mass, error)
    low = max(0.0, ici - band.off) if ici > band.calibrated else 0.0
    plain = cases.plain

    def read(statistic: Callable[[FloatArray], float]) -> Estimate:
        """From the band: no curve within it has an error below the least or above the most at any row."""
        return Estimate(statistic(error), Interval(statistic(least), max(statistic(most), statistic(error))))

    return Smoothed(
        x[at],
        fitted,
        band.lower,
        band.upper,
        Estimate(ici, Interval(low, max(ici, min(1.0, ici + band.off)))),
        read(lambda e: _quantile(e, 0.5, count if plain else mass, plain)),
        read(lambda e: _quantile(e, 0.9, count if plain else mass, plain)),
        read(lambda e: float(e.max())),
    )


def fitted_places(cases: Cases, spline: bool) -> tuple[FloatArray, FloatArray]:
    """Return the places at which the curve is fitted, and its values there, of shares of events too."""
    sample = cases.sample
    mask = sample.weight > 0.0
    x, mass = np.ascontiguousarray(sample.prediction[mask]), sample.weight[mask] / sample.total_weight
    rate = sample.weighted_outcome[mask] / sample.weight[mask]
    at = anchors(x, _STEP * float(x[-1] - x[0]))
    count = np.ascontiguousarray(sample.count[mask])
    fits = spline_rows(x, mass, at) if spline else _lowess_rows(x, mass, count, at)
    return x[at], np.array([dot(weight, rate) for weight in fits])


def _lowess_rows(x: FloatArray, mass: FloatArray, count: FloatArray, at: IntArray) -> Iterator[FloatArray]:
    """Yield the weights of the mean outcomes in lowess, one place after the other."""
    rows = max(2.0, np.floor(SHARE * count.sum() + 1e-7))
    for i, width in zip(at, bandwidths(x, count, at, rows), strict=True):
        yield local_weights(x, mass, x[i], width, float(x[-1] - x[0]))


def _quantile(values: FloatArray, share: float, weight: FloatArray, plain: bool) -> float:
    """Return a quantile: of rows as R's does; with weights the least value that has the share at or below it."""
    if plain:
        return float(np.quantile(np.repeat(values, weight.astype(np.int64)), share))
    order = np.argsort(values)
    below = weight[order].cumsum()
    return float(values[order][min(np.searchsorted(below, share * below[-1] * (1.0 - 1e-12)), values.size - 1)])


_BLOCK = 4096  # units at a time


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A flexible curve with what each stretch of predictions, a cell, contributes to it."""

    x: FloatArray  # (m,): distinct predictions, increasing
    at: IntArray  # (a,): numbers of those at which the curve is fitted; linear in between
    fitted: FloatArray  # (a,): the curve there
    cell: IntArray  # (m,): number of each prediction's cell
    shares: FloatArray  # (a, k): what the mean outcome of each cell contributes to the curve at each place
    one_row: FloatArray  # (a,): the most that a single row contributes
    # mass, mean: (k,), share of the weight of each cell, and its mean prediction
    mass: FloatArray
    mean: FloatArray

    @property
    def curve(self) -> FloatArray:
        """At every prediction, as a chance."""
        return np.clip(np.interp(self.x, self.x[self.at], self.fitted), 0.0, 1.0)

    def mean_size(self, noise: FloatArray) -> FloatArray:
        """Mean over rows of the absolute value of each line of noise, known where the curve is fitted."""
        return rows_dot(np.abs(_between(noise, self.x[self.at], self.mean)), self.mass)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Ends and errors that the noise allows."""

    # lower, upper: (a,), the curve's simultaneous band, where it is fitted
    lower: FloatArray
    upper: FloatArray
    off: float  # what the curve's mean error can be off by; infinite where the rows do not say
    calibrated: float  # the largest mean error that is not too large for calibrated predictions


def reach(cases: Cases, fit: Fit, level: float, n_resamples: int, random_state: RandomState) -> Reach:
    """Find the reach of the noise: of single outcomes by drawing them again, of weights or groups by random signs."""
    rank = int(np.ceil((1.0 - level) * (n_resamples + 1) - 1e-9)) - 1
    if not cases.plain:
        return _of_units(cases, fit, rank, n_resamples, random_state)
    noise = resampled(_binomials(cases, fit), fit.at.size, n_resamples, random_state)
    spread = np.sqrt((noise**2).mean(axis=0) + fit.one_row**2)
    half = _largest(noise, spread, rank) * spread
    off = _at_rank(fit.mean_size(noise), rank)
    return Reach(fit.fitted - half, fit.fitted + half, off, off)


def _at_rank(values: FloatArray, rank: int) -> float:
    return float(np.sort(values)[rank])


def _largest(noise: FloatArray, spread: FloatArray, rank: int) -> float:
    """Quantile of the largest ratio of noise to spread; where nothing spreads there is no noise."""
    ratio = np.divide(np.abs(noise), spread, out=np.zeros_like(noise), where=spread > 0.0)
    return _at_rank(ratio.max(axis=1), rank)


def _between(columns: FloatArray, knots: FloatArray, at: FloatArray) -> FloatArray:
    """Linear interpolation of many columns at once."""
    if knots.size == 1:
        return np.repeat(columns, at.size, axis=1)
    right = np.clip(np.searchsorted(knots, at), 1, knots.size - 1)
    part = np.clip((at - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    return np.asarray((1.0 - part) * columns[:, right - 1] + part * columns[:, right])


def _binomials(cases: Cases, fit: Fit) -> Callable[[np.random.Generator], FloatArray]:
    """Draw differences of the curve from its own mean: binomials in each cell.

    They have the larger of the variances that curve and prediction give.
    """
    sample, cell, x = cases.sample, fit.cell, fit.x
    curve, k = fit.curve, fit.mass.size
    rows = np.bincount(cell, sample.count, k)
    spread = np.maximum(curve * (1.0 - curve), x * (1.0 - x))
    # The share, on the prediction's own side of 1/2, that has the mean variance of the cell's rows.
    variance = np.bincount(cell, sample.count * spread, k) / rows
    rare = 0.5 - np.sqrt(np.maximum(0.25 - variance, 0.0))
    middle = np.bincount(cell, sample.count * curve, k) / rows
    chance = np.where(middle <= 0.5, rare, 1.0 - rare)
    whole = rows.astype(np.int64)
    return lambda rng: rows_dot(fit.shares, rng.binomial(whole, chance) / rows - chance)


def _of_units(cases: Cases, fit: Fit, rank: int, n_resamples: int, random_state: RandomState) -> Reach:
    """Residuals of whole units with random signs: from the predictions, and from the curve.

    Those from the predictions tell whether calibrated ones would do so. Those from the curve are too small, for it
    follows the rows: a curve that is d higher has residuals that are d lower, so the band holds each d that is not too
    large for the residuals that it leaves.
    """
    place = np.minimum(np.searchsorted(fit.x, cases.v), fit.x.size - 1)
    curve, where, k = fit.curve[place], fit.cell[place], fit.mass.size
    unit = np.arange(cases.v.size) if cases.unit is None else cases.unit
    weight = cases.weight / fit.mass[where]
    columns = (weight * (cases.y - cases.v), weight * (cases.y - curve), weight)
    tables = [csr_array((column, (unit, where)), shape=(cases.n_units, k)) for column in columns]
    sums = np.zeros((6, fit.at.size))
    for first in range(0, cases.n_units, _BLOCK):
        p, r, h = (table[first : first + _BLOCK] @ fit.shares.T for table in tables)
        sums += np.stack([part.sum(axis=0) for part in (p * p, r * r, p * p * p, r * r * r, r * h, h * h)])
    own, cubes, crossed, squares = sums[:2], sums[2:4], sums[4], sums[5]
    shift = weight_shift(cases)
    expected = [_expected(chance, shift, weight, where, fit) for chance in (cases.v, curve)]
    least = np.stack([expected[0], np.maximum(*expected)])
    lots = [table.tocoo() for table in tables[:2]]

    def signed(rng: np.random.Generator) -> FloatArray:
        sign = random_signs(rng, cases.n_units)
        pushed = [np.bincount(lot.col, lot.data * sign[lot.row], k) for lot in lots]
        return np.stack([rows_dot(fit.shares, each.astype(np.float64)) for each in pushed])

    noise = resampled(signed, 2 * cases.v.size, n_resamples, random_state)
    noise *= np.sqrt(np.maximum(1.0, np.divide(least, own, out=np.ones_like(own), where=own > 0.0)))
    calm, spread = np.sqrt(np.maximum(own, least) + fit.one_row**2)
    skew = cubes / np.maximum(np.maximum(own, least) ** 1.5, 1e-300)
    v = fit.x[fit.at]
    most = _largest(noise[:, 0], calm, rank)
    below, above = _stretched(most, skew[0])
    calibrated = _at_rank(fit.mean_size(noise[:, 0] * np.maximum(below, above) / max(most, 1e-300)), rank)
    fine = (-below * calm <= fit.fitted - v) & (fit.fitted - v <= above * calm)
    most = max(most, _largest(noise[:, 1], spread, rank))
    below, above = _stretched(most, skew[1])
    off = _at_rank(fit.mean_size(noise[:, 1] * np.maximum(below, above) / max(most, 1e-300)), rank)
    lower = fit.fitted + _ends(above, spread, crossed, squares)[0]
    upper = fit.fitted + _ends(below, spread, crossed, squares)[1]
    typical, lost = (float(fit.mean_size(each[None, :])[0]) for each in (spread, squares))
    rest = 1.0 - lost * (off / typical) ** 2 if typical > 0.0 else 1.0
    return Reach(
        np.where(fine, np.minimum(lower, v), lower),
        np.where(fine, np.maximum(upper, v), upper),
        off / float(np.sqrt(rest)) if rest > 0.0 else np.inf,
        calibrated,
    )


def _stretched(most: float, skew: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the spreads that the noise may be below and above 0; Edgeworth's term lengthens one tail by the skew."""
    longer = (2.0 * most * most + 1.0) / 6.0 * skew
    return most + np.maximum(longer, 0.0), most + np.maximum(-longer, 0.0)


def _expected(chance: FloatArray, shift: float, weight: FloatArray, cell: IntArray, fit: Fit) -> FloatArray:
    """Variance at each place of independent outcomes with these chances, events being heavier by the shift."""
    heavy = heavier(chance, shift)
    variance = heavy * (1.0 - chance) ** 2 + (1.0 - heavy) * chance**2
    return rows_dot(fit.shares**2, np.bincount(cell, weight**2 * variance, fit.mass.size).astype(np.float64))


def _ends(
    most: FloatArray, spread: FloatArray, crossed: FloatArray, squares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Both d at each place with d^2 = most^2 (spread^2 - 2 d crossed + d^2 held); infinite where any d will do."""
    square = most * most
    lead, half, last = 1.0 - square * squares, square * crossed, square * spread**2
    root = np.sqrt(np.maximum(half * half + lead * last, 0.0))
    open_ = lead <= 1e-9
    lead = np.where(open_, 1.0, lead)
    lower = np.where(open_, -np.inf, (-half - root) / lead)
    return np.minimum(lower, 0.0), np.maximum(np.where(open_, np.inf, (root - half) / lead), 0.0)


# Effective degrees of freedom: about those of lowess through two thirds of the rows.
FREEDOM = 5.0
_KNOTS = 20  # inside the range, evenly: close ones, as of predictions in clusters, would leave no digits
_HALVINGS = 80


def spline_rows(x: FloatArray, mass: FloatArray, at: IntArray) -> Iterator[FloatArray]:
    """Yield the weights of the mean outcomes in the spline, one place after the other.

    The least of the weighted squared error plus a multiple of the integral of the squared second derivative, which is
    set so that the spline has `FREEDOM` degrees of freedom, or where predictions are fewer than eight, half as many as
    a line and they have together.
    """
    if x.size == 1:
        yield np.ones(1)
        return
    scaled = (x - x[0]) / (x[-1] - x[0])
    inside = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
    knots = np.concatenate([np.zeros(4), inside, np.ones(4)])
    basis = np.asarray(BSpline.design_matrix(scaled, knots, 3).todense())
    square = basis.T @ (mass[:, None] * basis)
    bends = _penalty(knots)
    # Their sum is definite: what does not bend is a line, and two predictions tell lines apart, unless one weighs
    # next to nothing.
    both = square + np.trace(square) / np.trace(bends) * bends
    eigenvalues, directions = eigh(square, both + 1e-15 * np.trace(both) * np.eye(len(both)))
    eigenvalues = np.clip(eigenvalues, 0.0, 1.0)

    def shares(multiple: float) -> FloatArray:
        denominator = eigenvalues + multiple * (1.0 - eigenvalues)
        return np.asarray(np.divide(1.0, denominator, out=np.zeros_like(eigenvalues), where=denominator > 0.0))

    target = min(FREEDOM, 0.5 * (x.size + 2))
    low, high = -18.0, 40.0  # below, nothing but rounding is left of what bends
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        free = float((eigenvalues * shares(float(np.exp(middle)))).sum())
        low, high = (middle, high) if free > target else (low, middle)
    inverse = directions * shares(float(np.exp(0.5 * (low + high))))[None, :]
    basis_of_rows = np.ascontiguousarray((basis * mass[:, None]).T)
    for left in basis[at] @ (inverse @ directions.T):
        yield np.asarray(left @ basis_of_rows)


def _penalty(knots: FloatArray) -> FloatArray:
    """Integrals of the products of second derivatives, by two points an interval: of squares of lines it is exact."""
    ends = np.unique(knots)
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    at = np.concatenate([middle - half / np.sqrt(3.0), middle + half / np.sqrt(3.0)])
    second = BSpline(knots, np.eye(knots.size - 4), 3)(at, nu=2)
    return np.asarray(second.T @ (np.tile(half, 2)[:, None] * second))
