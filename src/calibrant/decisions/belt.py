"""The calibration belt: a polynomial in the log-odds, its degree chosen forward, and all polynomials that fit as well.

Definitions, and what the choice does to the likelihood ratio's distribution, are in docs/decisions.md.
"""

from __future__ import annotations

__all__ = ["CalibrationBelt", "calibration_belt"]

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy.optimize import brentq

from calibrant.decisions import catalogue as say
from calibrant.decisions.cases import Cases, certain_rows, drawing
from calibrant.decisions.line import LogitLine
from calibrant.door.arguments import check_level
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import confidence
from calibrant.door.errors import InputError
from calibrant.door.rows import require_single_outcomes
from calibrant.door.special import expit, ndtr, ndtri
from calibrant.door.values import Result, counted
from calibrant.inference.testing.result import LEAST
from calibrant.kernels.logistic import logistic_derivatives
from calibrant.threads import one_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HIGHEST = 4  # degree
_CHOSEN = 0.95  # the share of chance gains that a degree more has to exceed
_ENTERS = float(ndtri(0.5 + 0.5 * _CHOSEN))  # the same of the gain's root, which is half-normal
_POINTS = 61
_RANGES, _FINER = 128, 8  # that predictions are cut into where there are four times as many; and how many times more
_ALIKE = 1e-3  # a curvature is by the ranges' points, beside that by all predictions: else ranges are finer
_ROOM = 1 << 21  # places times points that are looked at together
_NODE, _WEIGHT = np.polynomial.legendre.leggauss(64)
_STEPS = 100
_NEWTON = 12  # steps towards an end before less is allowed
_LEAST_SHARE = 1e-6  # of what is allowed, in a step
_SCALE = 10.0  # about what is allowed; where the likelihood is flat, a step's own scale has no end
_FAR = 1e4  # coefficients, in units of the features' spread: further out the fit has no end


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationBelt(Result):
    """A smooth calibration curve, and a belt that holds it; made by `calibration_belt`.

    Attributes
    ----------
    degree : int
        Of the polynomial in the log-odds of the prediction, from 1 to 4.
    coefficients : ndarray of shape (degree + 1,)
        Of the powers of the log-odds, from 0 on; 0, 1, 0, ... if calibrated.
    statistic : float
        Twice the log-likelihood that the polynomial gains over the predictions themselves.
    pvalue : float
        Probability of a statistic as large, for calibrated predictions and this degree.
    reject : bool
        Whether the p-value is at most `level`.
    prediction, observed, observed_lower, observed_upper : ndarray of shape (61,)
        The curve and the belt from the lowest prediction to the highest, half of the places even in rank and half in
        log-odds.
    level : float
        One minus the confidence of the belt, taken as a whole.
    n_rows : int
        Rows, or trials, that it rests on.
    rows_left_out : int
        Predictions of exactly 0 or 1, which have no log-odds.
    rows_contradicted : int
        Those of them that the outcome contradicts: no curve can be right about these.

    See Also
    --------
    calibration_belt, ClinicalCalibration
    """

    degree: int
    coefficients: FloatArray
    statistic: float
    pvalue: float
    reject: bool
    prediction: FloatArray
    observed: FloatArray
    observed_lower: FloatArray
    observed_upper: FloatArray
    level: float
    n_rows: int
    rows_left_out: int
    rows_contradicted: int

    def summary(self) -> str:
        """Say where the belt leaves the diagonal, and how sure that is."""
        parts = []
        for outside, what in (
            (self.observed_lower > self.prediction, "too low"),
            (self.observed_upper < self.prediction, "too high"),
        ):
            edges = np.flatnonzero(np.diff(np.concatenate([[False], outside, [False]]).astype(np.int64)))
            ranges = [f"{self.prediction[a]:.3g} to {self.prediction[b - 1]:.3g}" for a, b in edges.reshape(-1, 2)]
            if ranges:
                parts.append(f"{what} from {' and from '.join(ranges)}")
        nowhere = say.NOT_ALONE if self.reject else say.ON_DIAGONAL
        claim = f"predictions are {' and '.join(parts)}" if parts else nowhere
        said = (
            f"Calibration belt of degree {self.degree} (p = {self.pvalue:.3g}): with {confidence(self.level)} "
            f"confidence {claim} ({counted(self.n_rows, 'row')})."
        )
        return (
            f"{said} {certain_rows(self.rows_left_out, self.rows_contradicted, 'curve')}"
            if self.rows_left_out
            else said
        )

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Axes:
        """Draw curve and belt on a matplotlib Axes, a new one by default, and return it.

        With a name, label or color: the curve and belt alone, as `ReliabilityDisplay.from_predictions` does.
        """
        return cast("Axes", drawing("diagram", "draw_belt")(self, ax, name=name, label=label, color=color))


def calibration_belt(
    y_true: Column, y_prob: Column, *, trials: Column | None = None, level: float = 0.05
) -> CalibrationBelt:
    """Fit the GiViTI calibration belt: all smooth calibration curves that agree with the rows.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1, of independent rows; with trials shares of events.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1], of a model that was fitted to other rows.
    trials : column of shape (n,), optional
        Number of trials of each row; `y_true` is their share of events: it counts as so many rows.
    level : float, default 0.05
        One minus the confidence of the belt, and of the test.

    Returns
    -------
    CalibrationBelt
        Curve, belt and p-value; ``.summary()``, ``.plot()``.

    Raises
    ------
    InputError
        If a column or the level cannot be used. If fewer than two distinct predictions lie between 0 and 1. If a cut
        separates events from other rows, so that no curve fits best.

    See Also
    --------
    clinical_calibration, calibration_test

    Notes
    -----
    log-odds(event) is a polynomial in log-odds(prediction), of degree 1 to 4. A degree is added as long as twice the
    log-likelihood rises by more than the 95% point of chi-square. Given the degree m, consider twice the gain over the
    predictions themselves. It is chi-square with two degrees of freedom, plus m - 1 squares that are known to be above
    that point. The belt is all polynomials of degree m whose likelihood is within the quantile of this distribution. It
    holds in large samples, if the true curve is such a polynomial. The ends of more than 512 distinct predictions are
    found on points that stand for them, two for each of 128 ranges or more (docs/decisions.md). There are no weights or
    groups: the likelihood is of single, independent outcomes. Predictions of exactly 0 or 1 have no log-odds; they are
    left out, counted and told. Cost: a sort, and some ten passes.

    References
    ----------
    Nattino, Finazzi and Bertolini, A new calibration test and a reappraisal of the calibration belt for the assessment
    of prediction models based on dichotomous outcomes, Statistics in Medicine 33, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decisions import calibration_belt
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> belt = calibration_belt(rng.random(2000) < y_prob**2, y_prob)
    >>> belt.reject, bool((belt.observed_upper < belt.prediction).any())
    (True, True)
    """
    level = check_level(level)
    cases = Cases.read(y_true, y_prob, None, trials)
    if trials is None:
        require_single_outcomes(cases.y)
    else:
        cases = cases.single()
    line = LogitLine.of(cases)
    if line is None or line.odds.size < 2:
        raise InputError("y_prob", "has fewer than two distinct values between 0 and 1; a line needs two")
    if line.separated() != 0.0:
        raise InputError("y_true", "is separated by a cut of the predictions, or all the same: no curve fits best")
    powers, best = _best(line)
    degree = best.theta.size - 1
    bisector = float((line.mass * (np.logaddexp(0.0, line.odds) - line.rate * line.odds)).sum())
    statistic = max(0.0, 2.0 * (bisector - best.value))
    pvalue = max(LEAST, survival(statistic, degree))
    at = _grid(line)
    own = powers.features(at, degree)
    lost, allowed = _lost(line, powers, best), quantile(level, degree)
    lower, upper = (_ends(lost, best.theta, allowed, own, sign) for sign in (-1.0, 1.0))
    certain = (cases.v == 0.0) | (cases.v == 1.0)
    return CalibrationBelt(
        degree=degree,
        coefficients=powers.coefficients(best.theta),
        statistic=statistic,
        pvalue=pvalue,
        reject=pvalue <= level,
        prediction=expit(at),
        observed=expit(best.theta @ own),
        observed_lower=expit(lower),
        observed_upper=expit(upper),
        level=level,
        n_rows=int(line.mass.sum()),
        rows_left_out=int(np.count_nonzero(certain)),
        rows_contradicted=int(np.count_nonzero(certain & (cases.y != cases.v))),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Powers:
    """Powers of the log-odds, made orthogonal and of size 1 on some points, the lower ones first."""

    centre: float
    size: float
    inverse: FloatArray

    @classmethod
    def of(cls, odds: FloatArray, mass: FloatArray) -> _Powers:
        share = mass / mass.sum()
        centre = float((share * odds).sum())
        size = math.sqrt(float((share * (odds - centre) ** 2).sum()))
        highest = min(_HIGHEST, odds.size - 1)
        raw = np.vander((odds - centre) / size, highest + 1, increasing=True)
        raw *= np.sqrt(share)[:, None]
        return cls(centre, size, np.linalg.inv(np.linalg.qr(raw, mode="r")))

    def features(self, odds: FloatArray, degree: int | None = None) -> FloatArray:
        """Those up to a degree, by default all, at some log-odds, as logistic_derivatives takes them."""
        inverse = self.inverse if degree is None else self.inverse[: degree + 1, : degree + 1]
        raw = np.vander((odds - self.centre) / self.size, inverse.shape[0], increasing=True)
        return np.ascontiguousarray((raw @ inverse).T)

    def coefficients(self, theta: FloatArray) -> FloatArray:
        """Coefficients of the powers of the log-odds themselves."""
        degree = theta.size - 1
        scaled = self.inverse[: degree + 1, : degree + 1] @ theta
        shift = np.polynomial.Polynomial([-self.centre / self.size, 1.0 / self.size])
        whole = np.polynomial.Polynomial(scaled)(shift)
        return np.pad(np.asarray(whole.coef, dtype=np.float64), (0, degree + 1 - whole.coef.size))


class _PolynomialLikelihood(NamedTuple):
    """Minus a log-likelihood: the sum of mass * (log(1 + exp(z)) - rate * z), with z = theta . features."""

    features: FloatArray  # (powers, points)
    # rate, mass: (points,)
    rate: FloatArray
    mass: FloatArray

    @classmethod
    def of(cls, line: LogitLine, powers: _Powers) -> _PolynomialLikelihood:
        """That of a line's rows."""
        return cls(powers.features(line.odds), line.rate, line.mass)

    def up_to(self, degree: int) -> _PolynomialLikelihood:
        """That of polynomials of a lower degree."""
        return self._replace(features=self.features[: degree + 1])


class _Fit(NamedTuple):
    """The polynomial of most likelihood: its coefficients, minus the logarithm, and that one's second derivatives."""

    theta: FloatArray
    value: float
    curvature: FloatArray


def _points(line: LogitLine, ranges: int) -> LogitLine:
    """Gauss's two points for each range of predictions, short in rank and in log-odds; or all, where these are few.

    Masses and first three moments are the range's, and so is the rate of both points.
    """
    if line.odds.size <= 4 * ranges:
        return line
    odds, mass = line.odds, line.mass
    rank = (mass.cumsum() - 0.5 * mass) / mass.sum()
    height = (odds - odds[0]) / (odds[-1] - odds[0])
    place = np.floor(0.5 * ranges * np.stack([rank, height]))
    first = np.flatnonzero(np.append(True, (place[:, 1:] > place[:, :-1]).any(axis=0)))
    total = np.add.reduceat(mass, first)
    mean = np.add.reduceat(mass * odds, first) / total
    apart = odds - np.repeat(mean, np.diff(first, append=odds.size))
    moment = mass * apart
    moment *= apart
    second = np.add.reduceat(moment, first) / total
    moment *= apart
    third = np.add.reduceat(moment, first) / total
    # Of t**2 - 2 * lean * t - second, which is orthogonal to 1 and t, the roots are the points.
    lean = np.divide(0.5 * third, second, out=np.zeros(mean.size), where=second > 0.0)
    reach = np.sqrt(lean * lean + second)
    upper = 0.5 - 0.5 * np.divide(lean, reach, out=np.zeros(mean.size), where=reach > 0.0)
    rate = np.clip(np.add.reduceat(mass * line.rate, first) / total, 0.0, 1.0)
    points = np.stack([mean + lean - reach, mean + lean + reach], axis=1).ravel()
    masses = (total[:, None] * np.stack([1.0 - upper, upper], axis=1)).ravel()
    return LogitLine(np.stack([np.ones(points.size), points]), np.repeat(rate, 2), masses)


def _grid(line: LogitLine) -> FloatArray:
    """Log-odds at which the belt is drawn: half of them even in rank, half in the log-odds."""
    rank = (line.mass.cumsum() - 0.5 * line.mass) / line.mass.sum()
    even = np.linspace(line.odds[0], line.odds[-1], _POINTS // 2 + 1)
    by_rank = np.interp((np.arange(_POINTS // 2) + 0.5) / (_POINTS // 2), rank, line.odds)
    return np.sort(np.concatenate([even, by_rank]))


def _best(line: LogitLine) -> tuple[_Powers, _Fit]:
    """The polynomial of the degree that is chosen, and the powers that its coefficients are of."""
    points = _points(line, _RANGES)
    powers = _Powers.of(points.odds, points.mass)
    whole, rough = _PolynomialLikelihood.of(line, powers), _PolynomialLikelihood.of(points, powers)

    def fit(start: FloatArray) -> _Fit | None:
        degree = start.size - 1
        near = _fit(rough.up_to(degree), start) if points is not line else None
        found = None if near is None else _fit(whole.up_to(degree), near.theta)
        return found or _fit(whole.up_to(degree), start)

    best = fit(np.zeros(2))
    if best is None:
        raise InputError("y_true", "is nearly separated by a cut of the predictions: no curve fits best")
    for _ in range(2, whole.features.shape[0]):
        higher = fit(np.append(best.theta, 0.0))
        if higher is None or 2.0 * (best.value - higher.value) <= _ENTERS**2:
            break
        best = higher
    return powers, best


def _fit(likelihood: _PolynomialLikelihood, theta: FloatArray) -> _Fit | None:
    """The fit, by Newton's method; None where no polynomial has most likelihood."""
    value, gradient, hessian = logistic_derivatives(*likelihood, theta)
    for _ in range(_STEPS):
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return None
        decrement = float(step @ gradient)
        if decrement <= 1e-12 * (1.0 + abs(value)):
            theta, value = theta - step, value - 0.5 * decrement  # so near, it is a parabola
            break
        share = 1.0
        while share > 1e-10:
            trial = logistic_derivatives(*likelihood, theta - share * step)
            if trial[0] <= value - 1e-4 * share * decrement:
                break
            share *= 0.5
        else:
            break
        theta = theta - share * step
        value, gradient, hessian = trial
        if np.abs(theta).max() > _FAR:
            return None
    else:
        return None
    return _Fit(theta, value, hessian) if np.abs(theta).max() <= _FAR else None


class _Lost(NamedTuple):
    """The log-likelihood that polynomials lose to the best one, but for a constant: the best one's chances are rates.

    Its gradient is 0 at the best fit, so that a product of outcomes and powers is one of chances and powers.
    """

    features: FloatArray  # (powers, points)
    # chance, other, mass: (points,); one minus the chance is a column of its own, for it may be too small for one
    chance: FloatArray
    other: FloatArray
    mass: FloatArray

    def derivatives(self, theta: FloatArray, room: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of each row of theta, in a room of shape (5, rows, points): it, its gradient and its Hessian.

        In place: new pages for what holds all places and points took most of the time.
        """
        odds, rest, both, chance, cost = room
        size = theta.shape[1]
        np.matmul(theta, self.features, out=odds)
        np.abs(odds, out=cost)
        np.exp(-cost, out=rest)  # of either chance to the other: one exponential for all
        high = odds >= 0.0
        np.copyto(both, self.chance)
        np.copyto(both, self.other, where=high)
        cost *= both
        cost += np.log1p(rest, out=both)
        np.add(1.0, rest, out=both)
        np.copyto(chance, rest)
        np.copyto(chance, 1.0, where=high)
        chance /= both
        rest /= np.square(both, out=both)
        rest *= self.mass
        chance -= self.chance
        chance *= self.mass
        squares = (self.features[:, None] * self.features).reshape(size * size, -1).T
        return cost @ self.mass, chance @ self.features.T, (rest @ squares).reshape(-1, size, size)


def _lost(line: LogitLine, powers: _Powers, best: _Fit) -> _Lost:
    """On points of ranges so fine that the curvature at the best fit is about that by all predictions."""
    ranges = _RANGES
    while True:
        points = _points(line, ranges)
        features = powers.features(points.odds, best.theta.size - 1)
        odds = best.theta @ features
        lost = _Lost(features, expit(odds), expit(-odds), points.mass)
        if points is line:
            return lost
        _, _, curvature = logistic_derivatives(features, lost.chance, lost.mass, best.theta)
        if np.abs(np.linalg.eigvals(np.linalg.solve(best.curvature, curvature)) - 1.0).max() < _ALIKE:
            return lost
        ranges *= _FINER


class _Touching(NamedTuple):
    """Points where the likelihood's gradient is a multiple of a height: nothing as likely is higher."""

    theta: FloatArray  # (points, powers)
    multiple: FloatArray  # (points,)


def _ends(lost: _Lost, best: FloatArray, allowed: float, at: FloatArray, sign: float) -> FloatArray:
    """The most (or least) that polynomials reach whose likelihood is within what is allowed, at each place.

    The likelihood is concave, so that a point that touches is the only one. Newton's method finds most at once, from
    where an ellipsoid would have them. Where it does not, it begins at the place beside, or less is allowed first.
    Infinite where none is found, as where the likelihood is too flat.
    """
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):  # more threads would round otherwise
        (low,), _, (curvature,) = lost.derivatives(best[None], np.empty((5, 1, lost.mass.size)))
        limit, heights = low + 0.5 * allowed, sign * at.T
        towards = np.asarray(np.linalg.solve(curvature, heights.T).T, np.float64)
        theta, multiple = _near_the_fit(best, heights, towards, allowed)
        found: list[_Touching | None] = []
        step = max(1, _ROOM // lost.mass.size)
        for some in (slice(first, first + step) for first in range(0, len(heights), step)):
            found += _touching(lost, limit, heights[some], _Touching(theta[some], multiple[some]))
        for order in (range(len(heights)), range(len(heights) - 1, -1, -1)):
            beside: _Touching | None = None
            for i in order:
                if found[i] is None and beside is not None:
                    (found[i],) = _touching(lost, limit, heights[i : i + 1], beside)
                if found[i] is None and order.step > 0:
                    found[i] = _outwards(lost, low, allowed, heights[i : i + 1], best, towards[i : i + 1])
                beside = found[i]
    reached = (
        math.inf if point is None else float(point.theta[0] @ height)
        for point, height in zip(found, heights, strict=True)
    )
    return sign * np.fromiter(reached, np.float64, len(heights))


def _near_the_fit(best: FloatArray, height: FloatArray, towards: FloatArray, allowed: float) -> _Touching:
    """The points that touch if the region is an ellipsoid about the best fit."""
    multiple = np.sqrt(allowed / (height * towards).sum(axis=1))
    return _Touching(best + multiple[:, None] * towards, multiple)


def _outwards(
    lost: _Lost,
    low: float,
    allowed: float,
    height: FloatArray,
    best: FloatArray,
    towards: FloatArray,
) -> _Touching | None:
    """The point that touches, by way of those for less that is allowed: near the best fit they are on a line."""
    reached: _Touching | None = None
    done, share = 0.0, 1.0
    while share > _LEAST_SHARE:
        target = min(1.0, done + share)
        start = reached or _near_the_fit(best, height, towards, target * allowed)
        (found,) = _touching(lost, low + 0.5 * target * allowed, height, start)
        if found is None:
            share *= 0.5
        elif target == 1.0:
            return found
        else:
            reached, done, share = found, target, 2.0 * share
    return None


def _touching(lost: _Lost, limit: float, height: FloatArray, start: _Touching) -> list[_Touching | None]:
    """The point for each height, (places, features), at which minus the log-likelihood is at its limit.

    By Newton's method for all at once; None where it goes elsewhere.
    """
    n = len(height)
    theta, multiple = start
    points: list[_Touching | None] = [None] * n
    left, room = np.arange(n), np.empty((5, n, lost.mass.size))
    for _ in range(_NEWTON):
        value, gradient, hessian = lost.derivatives(theta, room[:, : left.size])
        sides = np.stack([gradient - multiple[:, None] * height, height], axis=2)
        try:
            off, towards = np.moveaxis(np.linalg.solve(hessian, sides), 2, 0)
        except np.linalg.LinAlgError:
            break
        slope = (gradient * towards).sum(axis=1)
        scale = np.minimum(multiple * slope, _SCALE)
        apart = (off * (hessian @ off[:, :, None])[:, :, 0]).sum(axis=1)
        there = (slope > 0.0) & (np.abs(value - limit) <= 1e-9 * scale) & (apart <= 1e-12 * scale)
        for k in np.flatnonzero(there).tolist():
            points[left[k]] = _Touching(theta[k : k + 1], multiple[k : k + 1])
        more = (limit - value + (gradient * off).sum(axis=1)) / np.where(slope > 0.0, slope, 1.0)
        theta, multiple = theta - off + more[:, None] * towards, multiple + more
        on = ~there & (slope > 0.0) & (multiple > 0.0) & (np.abs(theta).max(axis=1) <= _FAR)
        left, height, theta, multiple = left[on], height[on], theta[on], multiple[on]
        if not left.size:
            break
    return points


def survival(statistic: float, degree: int) -> float:
    """Probability that chi-square with 2 degrees of freedom and degree - 1 squares above the bar add up to as much."""
    return float(_survival(np.array([statistic]), degree)[0])


def _survival(statistic: FloatArray, degree: int) -> FloatArray:
    """The same of many: one square is half-normal's, u above the bar, and is integrated by Gauss-Legendre."""
    if degree == 1:
        return np.exp(-0.5 * np.maximum(statistic, 0.0))
    rest = (degree - 2) * _ENTERS**2  # what the other squares add up to at least
    last = np.sqrt(np.maximum(statistic - rest, _ENTERS**2))
    if degree == 2:
        # The density of u and what the rest then has to exceed make up for one another.
        within = np.exp(-0.5 * last**2) * (last - _ENTERS)
    else:
        half = 0.5 * (last - _ENTERS)[..., None]
        u = _ENTERS + half * (_NODE + 1.0)
        inner = np.exp(-0.5 * u * u) * _survival(statistic[..., None] - u * u, degree - 1)
        within = half[..., 0] * (inner @ _WEIGHT)
    probability = (math.sqrt(2.0 / math.pi) * within + 2.0 * ndtr(-last)) / (1.0 - _CHOSEN)
    return np.asarray(np.minimum(probability, 1.0))


def quantile(level: float, degree: int) -> float:
    """The statistic that is exceeded with this probability."""
    least = (degree - 1) * _ENTERS**2
    far = least - 2.0 * math.log(level) + 60.0
    return float(brentq(lambda t: survival(t, degree) - level, least, far, xtol=1e-10))
