"""The reliability diagram as a table: the averaged map's curve with a simultaneous band, and where the rows are.

**The curve** is the mean of the averaged map's posterior (docs/recalibration.md), read at points of the axis. It needs
no bandwidth: it follows a jump of density or of the truth as closely as the rows bear out. It is drawn at any number
of rows, also where there are too few to advise a map: with few of them it stays near the diagonal, and the band is
wide.

**The band** holds the whole curve with posterior probability 1 - level. Members that cannot bend (a shift, a factor)
would make it as narrow as their form is sure, so it is drawn from the members that bend anywhere: with m the average's
mean, m' and s' mean and standard deviation of those members, and t**2 = s'**2 + (m' - m)**2, it is m plus and minus q t
in log-odds, q being the (1 - level)-quantile, over drawn curves f, of the largest |f - m| / t at any point.

**Gaps.** No point is drawn between two neighbouring predictions that are farther apart than a twentieth of the axis.

**The axis** is that of log-odds where more than half of the rows lie in the first and last twentieth of a linear one.
Of n rows predictions nearer to 0 or 1 than 1 / (10 n), which no outcome could tell apart, share the point at its end.
"""

from __future__ import annotations

__all__ = ["Reliability"]

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.special import expit
from calibrant.door.values import FloatsOrNull, Result
from calibrant.findings.regions import MOST_LEVELS, Places, Region, large_ones, regions_of
from calibrant.findings.word_catalogue import NO_TRIALS
from calibrant.kernels.sums import dot
from calibrant.measures.corp import CorpDecomposition, corp_from_sample
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant.recalibration.gain import Direction, direction_of, mean_direction
from calibrant.resampling.redraw import check_groups

FloatArray = npt.NDArray[np.float64]
Axis = Literal["linear", "log-odds"]

_POINTS = 257  # of the curve
_DRAWS, _SEED = 1000, 0  # curves behind the band; a constant seed, so that equal rows have equal bands
_GAP, _CORNER = 0.05, 0.05  # of the axis
_NARROW = 0.25  # predictions in a narrower range fill the axis
_STRETCHED = 0.0025  # share of the weight on either side that does not stretch the axis
_BEYOND = 0.1  # of a row: nearer to 0 and 1 than this over all rows, predictions share one point
_SOME = 16  # of them are read
_SAME = 1e-9  # of log-odds: a cell's mean is rounded
_SCALE = 2.0**64  # without rounding: among the smallest doubles steps would be rounded


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reliability(Result):
    """Values that a reliability diagram draws, and what is read off its curve.

    Attributes
    ----------
    kind : {"curve", "levels"}
        A curve, or one point for each distinct prediction where there are few.
    axis : {"linear", "log-odds"}
        On which its points are spread, and it is drawn.
    prediction : ndarray of shape (t,)
        Points over the range of the predictions, or the distinct predictions.
    outcome : ndarray of shape (t,)
        Outcome rate there: the mean of the averaged map's posterior. NaN where no prediction is near.
    isotonic : ndarray of shape (t,)
        Event rate there by isotonic regression of outcomes on predictions (CORP). It is a straight line between two
        distinct predictions, needs no prior, and never falls.
    band_lower, band_upper : ndarray of shape (t,) or None
        Simultaneous band: it holds the whole curve with posterior probability 1 - level. None where there is no band;
        NaN where no prediction is near.
    mass, count : ndarray of shape (t,)
        Share of the weight, and rows, whose nearest point this is.
    no_band : str or None
        Why there is no band; None where there is one.
    direction : str or None
        Which way predictions err, as the posterior has it; None where it is not sure.
    regions : tuple of Region
        Ranges in which they err, the clearest first.

    See Also
    --------
    Audit, ReliabilityDisplay, AveragedScaling
    """

    kind: str
    axis: Axis
    prediction: FloatArray
    outcome: FloatsOrNull
    isotonic: FloatArray
    band_lower: FloatsOrNull | None
    band_upper: FloatsOrNull | None
    mass: FloatArray
    count: FloatArray
    no_band: str | None
    direction: Direction | None
    regions: tuple[Region, ...]

    def summary(self) -> str:
        """Say how wide the band is, where there is one."""
        where = f"{self.prediction.size:,} predictions"
        if self.band_lower is None or self.band_upper is None:
            return f"A reliability {'curve' if self.kind == 'curve' else 'diagram'} at {where}, without a band."
        half = float(np.nanmax(self.band_upper - self.band_lower)) / 2.0
        return f"A reliability {'curve' if self.kind == 'curve' else 'diagram'} at {where}, at most {half:.2g} off."


def reliability(
    sample: Sample,
    level: float,
    rows: Rows | None = None,
    corp: CorpDecomposition | None = None,
    curve: AveragedCurve | None = None,
    axis: Axis | None = None,
) -> Reliability:
    """Reliability table of a sample; `rows` say which rows belong together, `corp` and `curve` are known already."""
    if curve is None:
        curve = fitted_curve(sample, rows)
    corp = corp_from_sample(sample) if corp is None else corp
    levels = sample.n_distinct <= MOST_LEVELS
    mass = sample.mass()
    axis = axis_of(sample.prediction, mass) if axis is None else axis
    if levels:
        v = sample.prediction
        none = np.empty(0)
        points = _Points(v, none, none, np.ones(v.size, dtype=bool), mass, np.ascontiguousarray(sample.count))
    else:
        points = _points(sample, axis, curve)
    at, near = points.prediction, points.near
    x = np.concatenate([points.below, curve.log_odds(at), points.above])
    mean, _ = curve.moments(x)
    why_not, regions = _no_band(sample, rows), regions_of(sample, curve, level, unit_of(rows))
    lower = upper = None
    if why_not is None:
        free = curve.free()
        other, spread = free.moments(x)
        spread = np.maximum(np.sqrt(spread**2 + (other - mean) ** 2), 1e-12)
        deviation = free.curves(x, _DRAWS, np.random.default_rng(_SEED)) - x
        shown = np.pad(near, (points.below.size, points.above.size), constant_values=True)
        largest = (np.abs(deviation - mean) / spread)[:, shown].max(axis=1)
        half = float(np.quantile(largest, 1.0 - level)) * spread
        lower, upper = (points.rates(expit(x + mean + side * half)) for side in (-1.0, 1.0))
    return Reliability(
        "levels" if levels else "curve",
        axis,
        at,
        points.rates(expit(x + mean)),
        _isotonic(points, corp),
        lower,
        upper,
        points.mass,
        points.rows,
        why_not,
        _direction(curve, level, regions),
        regions,
    )


def _isotonic(points: _Points, corp: CorpDecomposition) -> FloatArray:
    """Isotonic rates at the points; one that stands for all predictions beyond it has their mean, as the curve has."""

    def rates(prediction: FloatArray) -> FloatArray:
        return np.asarray(np.interp(prediction * _SCALE, corp.prediction * _SCALE, corp.recalibrated))

    shown = rates(points.prediction)
    for end, beyond in ((0, points.below), (-1, points.above)):
        if beyond.size:
            shown[end] = rates(expit(beyond)).mean()
    return shown


_SIDES: dict[str, Direction] = {"l": "too low", "h": "too high", "lh": "too confident", "hl": "not confident enough"}


def _direction(curve: AveragedCurve, level: float, regions: tuple[Region, ...]) -> Direction | None:
    """The direction that fits the ranges; where these err to both sides, that of their sides.

    It is stated if at least 1 - level of the drawn curves err as all of these ranges do. Of rare events one side may
    have little of the error, and most of the rows: then curves alone name the other side, and the ranges both. Where
    no range stands out, it is that of the mean error, if all but level / 2 of the curves that err agree on its side.
    """
    direction = _agreed(direction_of(curve, level), regions)
    sides = _sides_of(regions)
    if direction is not None or len(sides) == 1:
        return direction
    cells = curve.cells_
    error = expit(curve.curves(cells.x, _DRAWS, np.random.default_rng(_SEED))) - expit(cells.x)
    if not regions:
        return mean_direction(error @ cells.mass, level)
    right = np.ones(_DRAWS, np.bool_)
    for each in large_ones(regions):
        low, high = curve.log_odds(np.array([each.low, each.high]))
        first = min(int(np.searchsorted(cells.x, low - _SAME)), cells.x.size - 1)
        inside = slice(first, max(first + 1, int(np.searchsorted(cells.x, high + _SAME, side="right"))))
        right &= (error[:, inside] @ cells.mass[inside] > 0.0) == (each.direction == "low")
    return _SIDES.get(sides, "uneven") if right.mean() >= 1.0 - level else None


def _agreed(direction: Direction | None, regions: tuple[Region, ...]) -> Direction | None:
    """The direction, unless ranges that hold a tenth of the largest error err otherwise: then none is stated."""
    sides = _sides_of(regions)
    fits = direction in (None, "uneven") or sides in "".join(key for key, name in _SIDES.items() if name == direction)
    return direction if fits else None


def _sides_of(regions: tuple[Region, ...]) -> str:
    """The sides of ranges that hold a tenth of the largest error, from the lowest on, each once until it changes."""
    sides = "".join(each.direction[0] for each in sorted(large_ones(regions), key=lambda each: each.low))
    return "".join(side for k, side in enumerate(sides) if k == 0 or sides[k - 1] != side)


def fitted_curve(sample: Sample, rows: Rows | None) -> AveragedCurve:
    """The averaged map of rows; `rows` are the same one by one where weights, trials or groups tell them apart."""
    return AveragedCurve().fit_sample(sample) if rows is None else AveragedCurve().fit_rows(rows)


def unit_of(rows: Rows | None) -> str:
    """The unit that a number of rows counts: of trials, outcomes."""
    return "row" if rows is None or rows.trials is None else "outcome"


def places_of(sample: Sample, rows: Rows | None, curve: AveragedCurve, level: float, *, classes: bool) -> Places | None:
    """Find which way predictions err, and where, without a diagram; None where groups are too few for a curve."""
    if _no_band(sample, rows) is not None:
        return None
    unit, predicted = unit_of(rows), min(1.0, dot(sample.mass(), sample.prediction))
    regions = regions_of(sample, curve, level, unit)
    happened = min(1.0, max(0.0, predicted + float(sample.residual().sum())))
    direction = _direction(curve, level, regions)
    return Places(direction, regions, predicted, happened, sample.n_rows, classes, unit)


def _no_band(sample: Sample, rows: Rows | None) -> str | None:
    if not sample.binary:
        return NO_TRIALS
    if rows is not None and rows.group is not None:
        try:
            check_groups(rows)
        except InputError as too_few:
            return too_few.problem
    return None


def axis_of(prediction: FloatArray, mass: FloatArray) -> Axis:
    """Log-odds where more than half of the weight lies in the corners of a linear axis that holds nearly all of it."""
    low, high = shown_ends(*_nearly_all(prediction, mass))
    corner = _CORNER * (high - low)
    outside = mass[(prediction < low + corner) | (prediction > high - corner)].sum()
    return "log-odds" if prediction.size > MOST_LEVELS and outside > 0.5 else "linear"


def shown_ends(low: float, high: float) -> tuple[float, float]:
    """Ends of a linear axis for predictions between these: 0 and 1, unless they keep to a narrow range."""
    span = max(high - low, 1e-3)
    if span >= _NARROW:
        return 0.0, 1.0
    return max(0.0, low - 0.08 * span), min(1.0, high + 0.08 * span)


def _nearly_all(place: FloatArray, mass: FloatArray) -> tuple[float, float]:
    """Ends of all but the outermost predictions, which would stretch the axis."""
    sums = np.cumsum(mass)
    first, last = np.searchsorted(sums, [_STRETCHED * sums[-1], (1.0 - _STRETCHED) * sums[-1]])
    return float(place[first]), float(place[min(int(last), place.size - 1)])


class _Points(NamedTuple):
    """Points over the axis: predictions, which of them lie in no gap, the share of the weight and the rows nearest.

    On an axis of log-odds the first and the last may stand for all predictions beyond them. `below` and `above` are
    log-odds of some of these, evenly by rank.
    """

    prediction: FloatArray
    below: FloatArray
    above: FloatArray
    near: npt.NDArray[np.bool_]
    mass: FloatArray
    rows: FloatArray

    def rates(self, rates: FloatArray) -> FloatArray:
        """Rates at the points, NaN in gaps, of those read below, at and above them."""
        first, last = self.below.size, rates.size - self.above.size
        at = np.where(self.near, rates[first:last], np.nan)
        if self.below.size:
            at[0] = rates[:first].mean()
        if self.above.size:
            at[-1] = rates[last:].mean()
        return at


def _points(sample: Sample, axis: Axis, curve: AveragedCurve) -> _Points:
    """Predictions beyond nearly all of the others are near to none."""
    mass = sample.mass()
    if axis == "linear":
        place, limit = sample.prediction * _SCALE, np.inf
    else:
        place, limit = curve.log_odds(sample.prediction), float(np.log(sample.n_rows / _BEYOND))
    low, high = _nearly_all(place, mass)
    if axis == "linear" and high - low >= _NARROW * _SCALE:
        low, high, width = float(place[0]), float(place[-1]), _SCALE
    else:
        low, high = max(low, -limit), min(high, limit)
        width = high - low
    first, last = np.searchsorted(place, low), np.searchsorted(place, high, side="right")
    beyond = low == -limit and first > 0, high == limit and last < place.size  # whose rows stand at the ends
    within = np.r_[[low] if beyond[0] else [], place[first:last], [high] if beyond[1] else []]
    gap = np.flatnonzero(np.diff(within) > _GAP * width)
    left, right = within[gap], within[gap + 1]
    grid = np.linspace(low, high, _POINTS)
    if gap.size:
        before = np.searchsorted(left, grid) - 1  # the last gap that begins before each
        grid = grid[(before < 0) | (grid >= right[before])]
    breaks = 0.5 * (left + right)
    at = np.unique(np.r_[grid, left, right, breaks, place[curve.stand_out(sample.prediction)].clip(low, high)])
    near = ~np.isin(at, breaks)
    edges = np.asarray(np.searchsorted(place, np.r_[low, 0.5 * (at[:-1] + at[1:]), np.nextafter(high, np.inf)]))
    below = above = np.empty(0)
    if beyond[0]:
        below, edges[0], near[1] = _some(place[:first], sample.count[:first]), 0, False
    if beyond[1]:
        above, edges[-1], near[-2] = _some(place[last:], sample.count[last:]), place.size, False
    shares, counts = (np.diff(np.r_[0.0, np.cumsum(each)][edges]) for each in (mass, sample.count))
    return _Points(at / _SCALE if axis == "linear" else expit(at), below, above, near, shares, counts)


def _some(values: FloatArray, count: FloatArray) -> FloatArray:
    """A few of the values, evenly by rank."""
    rank = (np.cumsum(count) - 0.5 * count) / count.sum()
    return np.asarray(np.interp((np.arange(_SOME) + 0.5) / _SOME, rank, values))
