"""The line through the log-odds, of all rows and by groups; intervals of its profile likelihood (docs/decisions.md)."""

from __future__ import annotations

__all__ = ["Estimate", "GroupLine"]

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.decisions.cases import Cases, expected_weights, weight_shift
from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval, confidence, fixed_outwards
from calibrant.door.rows import Rows
from calibrant.door.special import expit
from calibrant.door.values import Result
from calibrant.kernels.logistic import logistic_derivatives
from calibrant.kernels.sums import dot
from calibrant.resampling.redraw import LEAST_GROUPS, too_few, worth_for_signs

_STEPS = 100
_FAR = 2.0**20  # log-odds, or slopes times the spread of the log-odds: further out nothing changes
_CLOSE = 1e-10
_ALONE = 1e-3  # share of the curvature that is left without a unit, below which no fit is

Point = tuple[float, float]
# Takes a value; gives minus the largest log-likelihood there, its derivative, and the other parameter.
Profile = Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class LogitLine:
    """Log-odds(event) = intercept + slope * log-odds(prediction), of the predictions that are neither 0 nor 1."""

    features: FloatArray  # (2, m): ones, and the log-odds of the distinct predictions
    # rate, mass: (m,), their shares of events, and weights
    rate: FloatArray
    mass: FloatArray

    @classmethod
    def of(cls, cases: Cases) -> LogitLine | None:
        """Pool the rows; None where all predictions are 0 or 1."""
        sample = cases.sample
        v = sample.prediction
        mask = (v > 0.0) & (v < 1.0) & (sample.weight > 0.0)
        if not mask.any():
            return None
        odds = np.log(v[mask]) - np.log1p(-v[mask])
        mass = np.ascontiguousarray(sample.weight[mask])
        rate = np.clip(sample.weighted_outcome[mask] / mass, 0.0, 1.0)
        return cls(np.stack([np.ones(odds.size), odds]), rate, mass)

    @property
    def odds(self) -> FloatArray:
        """Log-odds of the distinct predictions."""
        return np.asarray(self.features[1])

    def derivatives(self, point: Point) -> tuple[float, FloatArray, FloatArray]:
        """Minus the log-likelihood, its gradient and its Hessian."""
        terms: tuple[float, FloatArray, FloatArray] = logistic_derivatives(
            self.features, self.rate, self.mass, np.array(point)
        )
        return terms

    def least(self, begin: Point, free: tuple[int, ...]) -> tuple[float, Point, FloatArray]:
        """Minus the largest log-likelihood over the free parameters, where it is, and the gradient there.

        Newton's steps, halved where they go too far; where it is infinitely far away they stop on the way.
        """
        at = np.array(begin)
        value, gradient, hessian = self.derivatives((at[0], at[1]))
        index = list(free)
        for _ in range(_STEPS):
            slope, bend = gradient[index], hessian[np.ix_(index, index)]
            step = _solved(bend, slope)
            most = 1.0 + 2.0 * float(np.abs(at[index]).max())  # where all is decided curvature says nothing
            step *= min(1.0, most / max(float(np.abs(step).max()), 1e-300))
            decrement = dot(step, slope)
            if decrement <= _CLOSE * abs(value):  # one more step is as good as exact
                if decrement > 0.0:
                    at[index] -= step
                    value, gradient, hessian = self.derivatives((at[0], at[1]))
                break
            share = 1.0
            while share > 1e-10:
                new = at.copy()
                new[index] -= share * step
                trial = self.derivatives((new[0], new[1]))
                if trial[0] <= value - 1e-4 * share * decrement:
                    break
                share *= 0.5
            else:
                break
            at, (value, gradient, hessian) = new, trial
            if np.abs(at).max() > _FAR:
                break
        return float(value), (float(at[0]), float(at[1])), gradient

    def variance(self, point: Point) -> float:
        """Variance of the number of events."""
        chance = expit(point[0] + point[1] * self.odds)
        return dot(self.mass, chance * (1.0 - chance))

    def squares(self, point: Point) -> float:
        """Sum of the squared differences of outcomes from their chances."""
        chance = expit(point[0] + point[1] * self.odds)
        return dot(self.mass, self.rate * (1.0 - chance) ** 2 + (1.0 - self.rate) * chance**2)

    def separated(self) -> float:
        """1 or -1 if a cut tells events and others apart, one prediction at most having both; 0 where none does.

        Also 1 where there is one outcome or one prediction only: then no slope is better than another.
        """
        events, others = self.odds[self.rate > 0.0], self.odds[self.rate < 1.0]
        if events.size == 0 or others.size == 0 or self.odds.size == 1:
            return math.nan
        if others[-1] <= events[0]:
            return 1.0
        return -1.0 if events[-1] <= others[0] else 0.0

    def lowest(self) -> float:
        """Minus the largest log-likelihood where a cut tells events from others: that of the prediction with both."""
        from calibrant.door.special import xlog1py, xlogy

        return float(-(self.mass * (xlogy(self.rate, self.rate) + xlog1py(1.0 - self.rate, -self.rate))).sum())


def interval(profile: Profile, low: float, start: float, allowed: float, far: float) -> tuple[float, float]:
    """Both values at which twice the profile is `allowed` above `low`; infinite where it stays below up to `far`.

    The profile is convex, and at `start` below that.
    """

    def end(sign: float) -> float:
        def above(t: float) -> tuple[float, float]:
            value, slope, _ = profile(t)
            return 2.0 * (value - low) - allowed, 2.0 * slope

        inside, step = start, max(1e-3, 0.25 * abs(start))
        while True:
            outside = inside + sign * step
            if abs(outside) > far:
                return sign * math.inf
            if above(outside)[0] > 0.0:
                break
            inside, step = outside, 2.0 * step
        t = outside
        for _ in range(_STEPS):  # Newton on the root of twice the difference, which is nearly a line; else bisection
            height, slope = above(t)
            inside, outside = (t, outside) if height <= 0.0 else (inside, t)
            root = math.sqrt(max(height + allowed, 0.0))
            new = t - (root - math.sqrt(allowed)) * 2.0 * root / slope if slope != 0.0 else math.nan
            if abs(outside - inside) <= 1e-10 * (1.0 + abs(t)) or abs(new - t) <= 1e-11 * (1.0 + abs(t)):
                break
            between = min(inside, outside) < new < max(inside, outside)
            t = new if between else 0.5 * (inside + outside)
        return t

    return end(-1.0), end(1.0)


def profile_of(line: LogitLine, fixed: int, other: float) -> Profile:
    """Minus the largest log-likelihood over the other parameter, begun where it was found last."""
    last = [other]

    def profile(value: float) -> tuple[float, float, float]:
        start = (value, last[0]) if fixed == 0 else (last[0], value)
        least, point, gradient = line.least(start, (1 - fixed,))
        if abs(point[1 - fixed]) < 1e3:
            last[0] = point[1 - fixed]
        return least, float(gradient[fixed]), point[1 - fixed]

    return profile


def in_the_large(
    line: LogitLine, allowed: float, spread: Callable[[Point, tuple[int, ...]], FloatArray | None]
) -> Estimate:
    """Intercept with slope 1.

    Where events lie further from that line than its own variance says, as where the slope is none of 1, by as much.
    """
    only = float(line.rate.max()), float(line.rate.min())

    def profile(value: float) -> tuple[float, float, float]:
        least, gradient, _ = line.derivatives((value, 1.0))
        return least, float(gradient[0]), 1.0

    if only[0] == 0.0 or only[1] == 1.0:  # one outcome: the likelihood rises for ever
        sign = -1.0 if only[0] == 0.0 else 1.0
        start = sign * (float(np.abs(line.odds).max()) + 50.0 + math.log1p(float(line.mass.sum())))
        low, high = interval(profile, 0.0, start, _scaled(allowed, spread((start, 1.0), (0,)), 0), _FAR)
        return Estimate(sign * math.inf, Interval(low, high) if sign < 0 else Interval(low, math.inf))
    least, point, _ = line.least((0.0, 1.0), (0,))
    scales = spread(point, (0,))
    if scales is None:
        scales = np.array([max(1.0, line.squares(point) / line.variance(point))])
    return Estimate(point[0], Interval(*interval(profile, least, point[0], _scaled(allowed, scales, 0), _FAR)))


def intercept_and_slope(
    line: LogitLine, allowed: float, spread: Callable[[Point, tuple[int, ...]], FloatArray | None]
) -> tuple[Estimate, Estimate]:
    """The joint fit."""
    odds = line.odds
    centre = dot(line.mass, odds) / float(line.mass.sum())
    size = math.sqrt(dot(line.mass, (odds - centre) ** 2) / float(line.mass.sum()))
    apart = line.separated()
    if math.isnan(apart) or size == 0.0:
        nothing = Estimate(math.nan, Interval(-math.inf, math.inf))
        return nothing, nothing
    if apart == 0.0:
        rate = min(max(dot(line.mass, line.rate) / float(line.mass.sum()), 1e-6), 1.0 - 1e-6)
        # Begun with slope 1 at the right mean, or flat: whichever fits better.
        starts = [line.least((0.0, 1.0), (0,)), (math.inf, (math.log(rate / (1.0 - rate)), 0.0), np.zeros(2))]
        least, (a, b), _ = line.least(min(starts, key=lambda start: start[0])[1], (0, 1))
        scales = spread((a, b), (0, 1))
        ends = [
            interval(
                profile_of(line, k, (b, a)[k]), least, (a, b)[k], _scaled(allowed, scales, k), _FAR / min(size, 1.0)
            )
            for k in (0, 1)
        ]
        return Estimate(a, Interval(*ends[0])), Estimate(b, Interval(*ends[1]))
    # A cut: the likelihood rises as the slope does, and the intercept with it unless log-odds of 0 can be the cut.
    events, others = odds[line.rate > 0.0], odds[line.rate < 1.0]
    low, high = (others[-1], events[0]) if apart > 0.0 else (events[-1], others[0])
    cut = 0.5 * (low + high)
    steep = apart * 200.0 / max(high - low, 1e-3 * size)
    least, scales = line.lowest(), spread((-cut * steep, steep), (0, 1))
    far = max(_FAR, 2.0 * abs(steep) * max(1.0, abs(cut)))
    inner = interval(profile_of(line, 1, -cut * steep), least, steep, _scaled(allowed, scales, 1), far)
    slope = Interval(inner[0], math.inf) if apart > 0.0 else Interval(-math.inf, inner[1])
    if low < 0.0 < high:
        return Estimate(math.nan, Interval(-math.inf, math.inf)), Estimate(apart * math.inf, slope)
    inner = interval(profile_of(line, 0, steep), least, -cut * steep, _scaled(allowed, scales, 0), far)
    side = -apart * (1.0 if cut > 0.0 else -1.0)
    intercept = Interval(inner[0], math.inf) if side > 0.0 else Interval(-math.inf, inner[1])
    return Estimate(side * math.inf, intercept), Estimate(apart * math.inf, slope)


def _solved(bend: FloatArray, slope: FloatArray) -> FloatArray:
    """Newton's step, or the slope itself, scaled up, where curvature is lost to rounding."""
    if slope.size == 1:
        return np.asarray(slope / max(float(bend[0, 0]), 1e-100 * abs(float(slope[0])), 1e-300))
    determinant = bend[0, 0] * bend[1, 1] - bend[0, 1] * bend[1, 0]
    if determinant <= 1e-14 * bend[0, 0] * bend[1, 1]:
        return slope * 1e6
    turned = np.array([bend[1, 1] * slope[0] - bend[0, 1] * slope[1], bend[0, 0] * slope[1] - bend[1, 0] * slope[0]])
    return np.asarray(turned / determinant)


def _scaled(allowed: float, scales: FloatArray | None, k: int) -> float:
    return allowed if scales is None else allowed * float(scales[k])


def robust_scales(cases: Cases, line: LogitLine) -> Callable[[Point, tuple[int, ...]], FloatArray | None]:
    """By how much weights and groups make variances larger than the likelihood says: robust over the model's variance.

    None for single outcomes that are drawn one by one.
    """
    if cases.plain:
        return lambda _point, _free: None
    inside = (cases.v > 0.0) & (cases.v < 1.0)
    odds = np.zeros(cases.v.size)
    odds[inside] = np.log(cases.v[inside]) - np.log1p(-cases.v[inside])
    w = np.where(inside, 1.0 if cases.w is None else cases.w, 0.0)
    whole = cases.by_unit(w)
    kish = np.full(2, float((whole**2).sum() / whole.sum()))
    drawn_by_row = cases.w is not None and cases.unit is None
    shift = weight_shift(cases) if drawn_by_row else 0.0

    def scales(point: Point, free: tuple[int, ...]) -> FloatArray:
        _, _, hessian = line.derivatives(point)
        index = list(free)
        bend = hessian[np.ix_(index, index)]
        least = 1e-9 * float(line.mass.min())  # less curvature than one row's: all is decided there, or nearly
        if np.diag(bend).min() <= least or np.linalg.cond(bend) > 1e12:
            return kish
        inverse = np.linalg.inv(bend)
        chance = expit(point[0] + point[1] * odds)
        residual, curvature = w * (cases.y - chance), w * chance * (1.0 - chance)
        score = np.stack([cases.by_unit(residual * odds**k) for k in index], axis=1)
        own = np.stack([cases.by_unit(curvature * odds ** (j + k)) for j in index for k in index], axis=1)
        # What a fit without the unit would move by: residuals are too small where a unit pulls the line to itself.
        rest = np.eye(len(index)) - own.reshape(-1, len(index), len(index)) @ inverse
        alone = np.linalg.det(rest) <= _ALONE
        rest[alone] = np.eye(len(index))
        moved = np.linalg.solve(rest, score[:, :, None])[:, :, 0] @ inverse
        scale = kish.copy()
        scale[index] = np.einsum("uk,uk->k", moved, moved) / np.diag(inverse)
        if drawn_by_row:  # at least what outcomes of these chances vary by: heavy ones may not have been seen
            other, event = (each * inside for each in expected_weights(cases, chance, shift, 2))
            spread = event * (1.0 - chance) ** 2 + other * chance**2
            turned = np.stack([odds**k for k in index], axis=1) @ inverse
            scale[index] = np.maximum(scale[index], spread @ turned**2 / np.diag(inverse))
        scale[index] = np.where(alone.any(), np.maximum(scale[index], kish[index]), scale[index])
        return np.where(scale > 0.0, scale, kish)

    return scales


def observed_expected(cases: Cases, line: LogitLine, allowed: float, large: Estimate) -> Estimate:
    """Events over those expected; the interval is that of the events that the in-the-large fit expects.

    Where outcomes lie further from the ratio times the prediction than from that fit, by as much. Predictions of 0 and
    1, to which no intercept makes a difference, count with their own outcomes.
    """
    w = np.ones(cases.v.size) if cases.w is None else cases.w
    expected = dot(w, cases.v)
    sure = float((w * cases.y)[(cases.v == 0.0) | (cases.v == 1.0)].sum())
    ratio = dot(w, cases.y) / expected
    scales = robust_scales(cases, line)

    def further(point: Point, free: tuple[int, ...]) -> FloatArray:
        inside = (cases.v > 0.0) & (cases.v < 1.0)
        chance = cases.v.copy()
        chance[inside] = expit(np.log(cases.v[inside]) - np.log1p(-cases.v[inside]) + point[0])
        # Of predictions near the smallest double the ratio is infinite, and what it expects of each is not.
        often = ratio * cases.v if math.isfinite(ratio) else dot(w, cases.y) * (cases.v / expected)
        own, fits = (float((cases.by_unit(w * (cases.y - each)) ** 2).sum()) for each in (often, chance))
        scale = scales(point, free)
        if scale is None:
            return np.full(2, max(1.0, own / line.variance(point)))
        return scale * max(1.0, own / fits) if fits > 0.0 else scale

    if np.isfinite(large.value):
        large = in_the_large(line, allowed, further)

    def at(intercept: float) -> float:
        return (sure + dot(line.mass, expit(line.odds + intercept))) / expected

    low, high = large.interval
    return Estimate(ratio, Interval(at(low), at(high)))


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Result):
    """A value of these rows, with an interval that holds the population's with probability 1 - level.

    Attributes
    ----------
    value : float
        The value of these rows; infinite or NaN if they have no finite or no unique one.
    interval : Interval
        Its ends; infinite where the rows rule nothing out on that side.

    See Also
    --------
    ClinicalCalibration, clinical_calibration
    """

    value: float
    interval: Interval

    def summary(self) -> str:
        """Return value and interval."""
        return f"{self.value:.4g} ({self.interval.low:.4g} to {self.interval.high:.4g})"


# So many equal groups the events, the non-events and the rows must be worth (docs/reproductions/known-rows.md).
LEAST_FOR_A_LINE = 6.0


_OF_CLASSES = {"events": "right rows", "non-events": "wrong rows", "rows": "rows"}


@dataclass(frozen=True, slots=True, repr=False)
class GroupLine(Result):
    """Level and slope of predictions, with intervals by groups that are too few for anything else.

    Attributes
    ----------
    observed_expected : Estimate
        Observed events over predicted events; 1 when calibrated.
    calibration_slope : Estimate
        Slope of log-odds(event) on log-odds(prediction); 1 when calibrated, below if predictions are too extreme.
    worth : float
        So many equal groups events come from, or non-events, or rows: the least of them.
    what : {"events", "non-events", "rows"}
        Which of them.
    level : float
        Probability with which one of both intervals misses, at most; with few groups measured, not proved.

    See Also
    --------
    clinical_calibration, audit
    """

    observed_expected: Estimate
    calibration_slope: Estimate
    worth: float
    what: Literal["events", "non-events", "rows"]
    level: float

    @property
    def direction(self) -> Literal["too confident", "not confident enough", "too high", "too low"] | None:
        """Direction in which predictions err, where an interval leaves 1 out as it is printed.

        The level comes first. Only where it may be right does a line of another slope cross the diagonal within the
        predictions, so that they err both ways.
        """
        low, high = _off(self.observed_expected)
        flat, steep = _off(self.calibration_slope)
        if low or high:
            return "too low" if low else "too high"
        return "not confident enough" if flat else "too confident" if steep else None

    def of_what(self, classes: bool) -> str:
        """What comes from too few groups; of classes an event is a row whose most probable class was right."""
        return _OF_CLASSES[self.what] if classes else self.what

    def level_in_words(self, classes: bool) -> str:
        """Say how many events happen for every 100 that are predicted."""
        value, low, high = (round(100.0 * float(each)) for each in _rounded(self.observed_expected))
        one = f"right rows predicted {value} were right" if classes else f"events predicted {value} happened"
        return f"for every 100 {one}, likely {low} to {high}"

    def signs(self, classes: bool) -> list[tuple[str, str]]:
        """The level, the slope or both, where an interval leaves the right value out, each with that value."""
        level, slope = any(_off(self.observed_expected)), any(_off(self.calibration_slope))
        value, low, high = _rounded(self.calibration_slope)
        slope_in_words = f"the calibration slope is {value}, likely {low} to {high}"
        return [(self.level_in_words(classes), "100")] * level + [(slope_in_words, "1")] * slope

    @property
    def numbers(self) -> str:
        """Both values with their intervals."""
        level, slope = (_said(each) for each in (self.observed_expected, self.calibration_slope))
        return f"observed over expected events is {level}, and the calibration slope {slope}"

    @property
    def both(self) -> str:
        """The same in a sentence."""
        return f"By groups, {self.numbers}; together {confidence(self.level)} confidence."

    def summary(self) -> str:
        r"""Both values with their intervals, and why there is no more.

        Examples
        --------
        >>> from calibrant.door.ends import Interval
        >>> level, slope = Estimate(0.68, Interval(0.58, 0.79)), Estimate(0.6, Interval(0.42, 0.78))
        >>> line = GroupLine(level, slope, 19.7, "events", 0.05)
        >>> print(line.summary().replace(". By", ".\nBy").replace("; t", ";\nt"))
        Events come from too few groups (as good as 19 equal ones; 30 are needed).
        By groups, observed over expected events is 0.68 (0.58 to 0.79), and the calibration slope 0.60 (0.42 to 0.78);
        together 95% confidence.
        """
        return f"{self.what.capitalize()} come from {too_few(self.worth)}. {self.both}"


def group_line(rows: Rows | None, level: float) -> GroupLine | None:
    """Level and slope of rows in groups that are too few for signs; None of others, and where these are unknown too."""
    if rows is None or rows.group is None:
        return None
    w = rows.weight if rows.trials is None else rows.trials * (1.0 if rows.weight is None else rows.weight)
    cases = Cases(rows.y_true / rows.count, rows.y_prob, w, None, rows.group).single()
    worth, what = cases.worth
    line = LogitLine.of(cases)
    if worth < LEAST_FOR_A_LINE or line is None:
        return None
    if worth >= LEAST_GROUPS:  # events are many; at their most dependent the groups may be few all the same
        worth, what = worth_for_signs(rows), "rows"
        if worth >= LEAST_GROUPS:
            return None
    allowed, scales = cases.normal_quantile(0.5 * level) ** 2, robust_scales(cases, line)
    slope = intercept_and_slope(line, allowed, scales)[1]
    ratio = observed_expected(cases, line, allowed, in_the_large(line, allowed, scales))
    known = all(map(math.isfinite, (*slope.interval, *ratio.interval)))
    return GroupLine(ratio, slope, worth, what, level) if known else None


def _said(estimate: Estimate) -> str:
    value, low, high = _rounded(estimate)
    return f"{value} ({low} to {high})"


def _off(estimate: Estimate) -> tuple[bool, bool]:
    """Whether the interval as it is printed lies above 1, or below."""
    _, low, high = _rounded(estimate)
    return float(low) > 1.0, float(high) < 1.0


def _rounded(estimate: Estimate) -> tuple[str, str, str]:
    """A value and both ends of its interval in two decimals, the ends outwards."""
    low, high = estimate.interval
    return f"{estimate.value:.2f}", *fixed_outwards(low, high, 2)
