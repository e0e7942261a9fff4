"""How far the noise of a flexible curve reaches: its band, and how far its mean error is off (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import expit

from calibrant.decisions.cases import Cases
from calibrant.door.arguments import RandomState
from calibrant.door.columns import FloatArray, IntArray
from calibrant.kernels.sums import dot, rows_dot
from calibrant.resampling.redraw import random_signs, resampled

_BLOCK = 4096  # units at a time


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A flexible curve with what each stretch of predictions, a cell, contributes to it.

    Attributes
    ----------
    x : ndarray of shape (m,)
        Distinct predictions, increasing.
    at : ndarray of shape (a,)
        Numbers of those at which the curve is fitted; linear in between.
    fitted : ndarray of shape (a,)
        The curve there.
    cell : ndarray of shape (m,)
        Number of each prediction's cell.
    shares : ndarray of shape (a, k)
        What the mean outcome of each cell contributes to the curve at each place.
    one_row : ndarray of shape (a,)
        The most that a single row contributes.
    mass, mean : ndarray of shape (k,)
        Share of the weight of each cell, and its mean prediction.
    """

    x: FloatArray
    at: IntArray
    fitted: FloatArray
    cell: IntArray
    shares: FloatArray
    one_row: FloatArray
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
    """What the noise allows.

    Attributes
    ----------
    lower, upper : ndarray of shape (a,)
        The curve's simultaneous band, where it is fitted.
    off : float
        What the curve's mean error can be off by; infinite where the rows do not say.
    calibrated : float
        The largest mean error that is not too large for calibrated predictions.
    """

    lower: FloatArray
    upper: FloatArray
    off: float
    calibrated: float


def reach(cases: Cases, fit: Fit, level: float, n_resamples: int, random_state: RandomState) -> Reach:
    """Of single outcomes by drawing them again; of weights or groups by units' random signs."""
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


def _between(columns: FloatArray, known: FloatArray, at: FloatArray) -> FloatArray:
    """Linear interpolation of many columns at once."""
    if known.size == 1:
        return np.repeat(columns, at.size, axis=1)
    right = np.clip(np.searchsorted(known, at), 1, known.size - 1)
    part = np.clip((at - known[right - 1]) / (known[right] - known[right - 1]), 0.0, 1.0)
    return np.asarray((1.0 - part) * columns[:, right - 1] + part * columns[:, right])


def _binomials(cases: Cases, fit: Fit) -> Callable[[np.random.Generator], FloatArray]:
    """What the curve would differ by from its own mean: binomials in each cell.

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
    own, cubes, crossed, held = sums[:2], sums[2:4], sums[4], sums[5]
    shift = _shift(cases)
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
    lower = fit.fitted + _ends(above, spread, crossed, held)[0]
    upper = fit.fitted + _ends(below, spread, crossed, held)[1]
    typical, lost = (float(fit.mean_size(each[None, :])[0]) for each in (spread, held))
    rest = 1.0 - lost * (off / typical) ** 2 if typical > 0.0 else 1.0
    return Reach(
        np.where(fine, np.minimum(lower, v), lower),
        np.where(fine, np.maximum(upper, v), upper),
        off / float(np.sqrt(rest)) if rest > 0.0 else np.inf,
        calibrated,
    )


def _stretched(most: float, skew: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many spreads the noise may be below and above 0: the tail against the skew is longer by Edgeworth's term."""
    longer = (2.0 * most * most + 1.0) / 6.0 * skew
    return most + np.maximum(longer, 0.0), most + np.maximum(-longer, 0.0)


def _expected(chance: FloatArray, shift: float, weight: FloatArray, where: IntArray, fit: Fit) -> FloatArray:
    """Variance at each place of independent outcomes with these chances, events being heavier by the shift."""
    heavy = chance.copy()
    inside = (chance > 0.0) & (chance < 1.0)
    heavy[inside] = expit(np.log(chance[inside]) - np.log1p(-chance[inside]) + shift)
    variance = heavy * (1.0 - chance) ** 2 + (1.0 - heavy) * chance**2
    return rows_dot(fit.shares**2, np.bincount(where, weight**2 * variance, fit.mass.size).astype(np.float64))


def _shift(cases: Cases) -> float:
    """By how much the log-odds of squared weights are above those of weights: 0 if weights do not go with outcomes."""
    inside = (cases.v > 0.0) & (cases.v < 1.0)
    v, y, w = cases.v[inside], cases.y[inside], cases.weight[inside]
    if cases.w is None or not 0.0 < dot(w, y) < float(w.sum()):
        return 0.0
    odds = np.log(v) - np.log1p(-v)

    far = float(np.abs(odds).max()) + 40.0

    def level(mass: FloatArray) -> float:
        events = dot(mass, y)
        lacks: Callable[[float], float] = lambda a: dot(mass, expit(odds + a)) - events  # noqa: E731
        return -far if lacks(-far) >= 0.0 else far if lacks(far) <= 0.0 else float(brentq(lacks, -far, far))

    return level(w * w) - level(w)


def _ends(most: FloatArray, spread: FloatArray, crossed: FloatArray, held: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both d at each place with d^2 = most^2 (spread^2 - 2 d crossed + d^2 held); infinite where any d will do."""
    square = most * most
    lead, half, last = 1.0 - square * held, square * crossed, square * spread**2
    root = np.sqrt(np.maximum(half * half + lead * last, 0.0))
    open_ = lead <= 1e-9
    lead = np.where(open_, 1.0, lead)
    lower = np.where(open_, -np.inf, (-half - root) / lead)
    return np.minimum(lower, 0.0), np.maximum(np.where(open_, np.inf, (root - half) / lead), 0.0)
