"""The calibration report that medicine and risk expect: one call, each number with its interval."""

from __future__ import annotations

__all__ = ["ClinicalCalibration", "clinical_calibration"]

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from scipy.optimize import brentq

from calibrant.decisions import catalogue as say
from calibrant.decisions.cases import Cases, certain_rows, drawing, expected_weights, weight_shift
from calibrant.decisions.flexible import smoothed
from calibrant.decisions.line import (
    LEAST_FOR_A_LINE,
    Estimate,
    LogitLine,
    in_the_large,
    intercept_and_slope,
    observed_expected,
    robust_scales,
)
from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, one_of
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Interval, confidence
from calibrant.door.errors import InputError
from calibrant.door.rows import require_single_outcomes
from calibrant.door.special import gammainc, ndtri, stdtrit
from calibrant.door.values import Result, counted
from calibrant.kernels.sums import dot
from calibrant.measures.corp import auc_from_sample
from calibrant.resampling.redraw import LEAST_GROUPS, too_few

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Curve = Literal["lowess", "spline"]
_ANY = Interval(-math.inf, math.inf)
_FARTHEST = 700  # log-odds whose exponential is still a number


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClinicalCalibration(Result):
    """Calibration as medical journals and credit risk report it; made by `clinical_calibration`.

    Attributes
    ----------
    observed_expected : Estimate
        Observed events over predicted events; 1 when calibrated.
    in_the_large : Estimate
        Intercept of the log-odds with slope 1; 0 when calibrated, above 0 if predictions are too low.
    calibration_slope, calibration_intercept : Estimate
        Joint fit of log-odds(event) = intercept + slope * log-odds(prediction); a slope below 1 is overconfidence.
    ici, e50, e90, emax : Estimate
        Mean, median, 90th percentile and maximum over rows of |curve - prediction|.
    c_statistic, brier_score : Estimate
        Area under the ROC curve, and mean squared error.
    curve : {"lowess", "spline"}
        How the flexible curve was made.
    prediction, observed, observed_lower, observed_upper : ndarray of shape (a,)
        The flexible curve with a band that holds it everywhere together with probability 1 - level.
    rows_left_out : int
        Predictions of exactly 0 or 1, which carry no information about intercepts and slope.
    rows_contradicted : int
        Those of them that the outcome contradicts: no intercept or slope can be right about these.
    n_rows : int
        Rows, or trials.
    n_events : float
        Events among them; with weights their weight.
    level : float
        Probability with which an interval misses, each by itself.
    deciles : ndarray of shape (g, 2)
        Mean prediction and share of events of up to ten groups of about equal weight, for the picture.
    histogram : ndarray of shape (2, 50)
        Weight of other rows and of events in fiftieths of [0, 1], for the picture.
    faults : tuple of str
        What is proved wrong, of the level and the slope: calibrated predictions have any with probability `level` at
        most (Holm's correction of two tests).
    few_groups : str or None
        That groups are too few for all but the level, the slope and the intercept. Other numbers between 0 and 1 then
        have the interval [0, 1], and so has the band. None where groups are enough, or rows are independent.

    See Also
    --------
    clinical_calibration, Estimate
    """

    observed_expected: Estimate
    in_the_large: Estimate
    calibration_slope: Estimate
    calibration_intercept: Estimate
    ici: Estimate
    e50: Estimate
    e90: Estimate
    emax: Estimate
    c_statistic: Estimate
    brier_score: Estimate
    curve: Curve
    prediction: FloatArray
    observed: FloatArray
    observed_lower: FloatArray
    observed_upper: FloatArray
    rows_left_out: int
    rows_contradicted: int
    n_rows: int
    n_events: float
    level: float
    deciles: FloatArray
    histogram: FloatArray
    faults: tuple[str, ...] = ()
    few_groups: str | None = None

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Every value by its name in print, in the order of a report."""
        return {
            "Observed : expected": self.observed_expected,
            "Calibration-in-the-large": self.in_the_large,
            "Calibration slope": self.calibration_slope,
            "Intercept (with slope)": self.calibration_intercept,
            "ICI": self.ici,
            "E50": self.e50,
            "E90": self.e90,
            "Emax": self.emax,
            "C-statistic": self.c_statistic,
            "Brier score": self.brier_score,
        }

    def summary(self) -> str:
        """Return the panel as a table, with what it says first."""
        counted_ones = float(self.n_events).is_integer() and self.n_events <= self.n_rows
        what = "events" if counted_ones else "in weight of events"
        head = f"{_verdict(self)} ({counted(self.n_rows, 'row')}, {self.n_events:.6g} {what}.)"
        lines = [head, f"{'':28}{'value':>9}   {confidence(self.level)} interval"]
        for name, estimate in self.estimates.items():
            low, high = estimate.interval
            lines.append(f"{name:28}{estimate.value:9.4f}   {low:.4f} to {high:.4f}")
        if self.few_groups is not None:
            lines.append(say.FEW_GROUPS.format(few=self.few_groups))
        if self.rows_left_out:
            lines.append(certain_rows(self.rows_left_out, self.rows_contradicted, "line"))
        return "\n".join(lines)

    def _table(self) -> Any:
        """One row a number of the panel."""
        return [
            {"name": name, "value": each.value, "low": each.interval.low, "high": each.interval.high}
            for name, each in self.estimates.items()
        ]

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Axes:
        """Draw curve, band, groups and the distribution of predictions on a matplotlib Axes, and return it.

        With a name, label or color: the curve and band alone, as `ReliabilityDisplay.from_predictions` does.
        """
        return cast("Axes", drawing("diagram", "draw_clinical")(self, ax, name=name, label=label, color=color))


def _verdict(panel: ClinicalCalibration) -> str:
    if panel.faults:
        return f"Predictions are {' and '.join(panel.faults)}."
    alone = _faults(panel.in_the_large, panel.calibration_slope)
    return say.NOT_WRONG.format(why=say.TOGETHER if any(alone) else "")


def _faults(large: Estimate, slope: Estimate) -> tuple[str, str]:
    """The faults that the interval of the level, and that of the slope, leaves no doubt of."""
    (low, high), (flat, steep) = large.interval, slope.interval
    level = "too low on average" if low > 0.0 else "too high on average" if high < 0.0 else ""
    return level, "too extreme" if steep < 1.0 else "too moderate" if flat > 1.0 else ""


def _holm(at_level: tuple[str, str], at_half: tuple[str, str]) -> tuple[str, ...]:
    """Faults proved of the two together, by Holm: one at half the level, and then the other at the whole."""
    return tuple(filter(None, at_level)) if any(at_half) else ()


def clinical_calibration(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    curve: Curve = "lowess",
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> ClinicalCalibration:
    """Return the calibration panel of medical and risk reports: each number with an interval, the curve and a plot.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1; with trials shares of events.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1].
    sample_weight : column of shape (n,), optional
        Non-negative weights.
    trials : column of shape (n,), optional
        Number of trials of each row; `y_true` is their share of events: it counts as so many rows.
    groups : column of shape (n,), optional
        Which group (hospital, patient, table row) a row belongs to: groups are drawn independently, rows within one
        need not be.
    curve : {"lowess", "spline"}
        The flexible curve. Either locally weighted lines through the nearest two thirds of the rows, with the defaults
        of R's lowess and rms's val.prob. Or a penalised cubic spline with five degrees of freedom. In the spline a row
        counts by its weight alone; lowess counts the nearest rows, however much they weigh.
    level : float, default 0.05
        Probability with which an interval misses, each by itself.
    n_resamples : int, default 999
        Redrawn curves behind the band and the intervals of ICI, E50, E90 and Emax.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result.

    Returns
    -------
    ClinicalCalibration
        Each value with ``.value`` and ``.interval``; ``.summary()``, ``.plot()``.

    Raises
    ------
    InputError
        If a column or option cannot be used, or all predictions are 0 or 1. If rows, events or non-events are worth
        fewer than 30 equal rows by their weights, or 6 equal groups. Below 30 groups the line alone has intervals.

    See Also
    --------
    decision_curve, cox_test, audit, murphy_diagram

    Notes
    -----
    Intercepts and slope have intervals from the profile likelihood, one-sided if a cut separates events from others.
    With weights or groups the likelihood ratio is divided by the robust variance over the model's. Observed over
    expected comes from the in-the-large fit. |curve - prediction| is never negative, so resampling it is wrong near 0.
    Instead the curve's noise is redrawn: an error differs from the true curve's by no more than the noise's own size.
    With weights or groups the noise is what rows or groups contribute, with random signs. The interval holds every
    error that such a test does not reject (docs/decisions.md, with measured coverage). The band does not include the
    curve's smoothing bias. Cost: a sort, some 100 fits of one pass, and per resample a product with 400 cells.

    References
    ----------
    Van Calster and others, A calibration hierarchy for risk models was defined, Journal of Clinical Epidemiology 74,
    2016. Austin and Steyerberg, The Integrated Calibration Index (ICI), Statistics in Medicine 38, 2019. Cleveland,
    Robust locally weighted regression, Journal of the American Statistical Association 74, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import clinical_calibration
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> y_true = rng.random(2000) < y_prob**2 / (y_prob**2 + (1 - y_prob) ** 2)
    >>> found = clinical_calibration(y_true, y_prob, random_state=0)
    >>> low, high = found.calibration_slope.interval
    >>> low < 2 < high, found.in_the_large.interval.low < 0 < found.in_the_large.interval.high
    (True, True)
    """
    one_of(curve, get_args(Curve), "curve")
    level = check_level(level)
    check_resamples(n_resamples, level)
    cases = Cases.read(y_true, y_prob, sample_weight, trials, groups)
    if trials is None:
        require_single_outcomes(cases.y)
    cases = cases.single()
    n_events = float(dot(cases.y, np.ones(cases.v.size) if cases.w is None else cases.w))
    if cases.w is not None and not np.ptp(cases.w):
        cases = replace(cases, w=None)
    if cases.n_units < 2:
        raise InputError("groups" if groups is not None else "y_prob", "is one draw; intervals need two or more")
    line = LogitLine.of(cases)
    if line is None:
        raise InputError("y_prob", "is 0 or 1 in every row that has weight; the panel needs probabilities in between")
    few = _few_groups(cases)
    own = _Line.of(cases, line, level)
    faults = _holm(own.faults, _Line.of(cases, line, 0.5 * level).faults)
    smooth = smoothed(cases, level, n_resamples, random_state, spline=curve == "spline")
    rank, brier = c_statistic(cases, level), brier_score(cases, level)
    if few is not None:
        smooth, rank, brier = smooth.without_noise(), _unknown(rank), _unknown(brier)
    certain = (cases.v == 0.0) | (cases.v == 1.0)
    weight = cases.weight
    return ClinicalCalibration(
        observed_expected=own.observed_expected,
        in_the_large=own.in_the_large,
        calibration_slope=own.slope,
        calibration_intercept=own.intercept,
        ici=smooth.ici,
        e50=smooth.e50,
        e90=smooth.e90,
        emax=smooth.emax,
        c_statistic=rank,
        brier_score=brier,
        curve=curve,
        prediction=smooth.prediction,
        observed=smooth.fitted,
        observed_lower=np.clip(smooth.lower, 0.0, 1.0),
        observed_upper=np.clip(smooth.upper, 0.0, 1.0),
        rows_left_out=int(certain.sum()),
        rows_contradicted=int(np.count_nonzero(certain & (cases.y != cases.v))),
        n_rows=cases.v.size,
        n_events=n_events,
        level=level,
        deciles=_deciles(cases),
        histogram=np.stack(
            [np.histogram(cases.v, 50, (0.0, 1.0), weights=weight * part)[0] for part in (1 - cases.y, cases.y)]
        ),
        faults=faults,
        few_groups=few,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The line's fits, with intervals at one level."""

    observed_expected: Estimate
    in_the_large: Estimate
    intercept: Estimate
    slope: Estimate

    @property
    def faults(self) -> tuple[str, str]:
        """The faults that the intervals of level and slope leave no doubt of."""
        return _faults(self.in_the_large, self.slope)

    @classmethod
    def of(cls, cases: Cases, line: LogitLine, level: float) -> _Line:
        allowed, scales = cases.normal_quantile(level) ** 2, robust_scales(cases, line)
        intercept, slope = intercept_and_slope(line, allowed, scales)
        large = in_the_large(line, allowed, scales)
        ratio = observed_expected(cases, line, allowed, large)
        for weight, moved in _as_if_rarer(cases, level):
            intercept, large = (_reaching(each, each.value + moved) for each in (intercept, large))
            ratio = _reaching(ratio, dot(weight, cases.y) / dot(weight, cases.v))
        return cls(ratio, large, intercept, slope)


def _as_if_rarer(cases: Cases, level: float) -> list[tuple[FloatArray, float]]:
    """Weights of the rows if either outcome were as rare as it may be, and by how much log-odds then differ.

    Of weighted rows, which are refused where an outcome is worth too few: of those not refused it is worth too many.
    So that worth is taken as a count, and no smaller one is shown.
    """
    if cases.w is None or cases.unit is not None:
        return []
    rarer = []
    for outcome, worth, sign in zip((1.0, 0.0), cases.effective_outcomes, (1.0, -1.0), strict=True):
        share = _least_share(worth, 0.5 * level)
        moved = sign * (math.log(share) if share > 0.0 else -math.inf)
        rarer.append((np.where(cases.y == outcome, share * cases.w, cases.w), moved))
    return rarer


def _least_share(worth: float, miss: float) -> float:
    """The lower end for a count's mean over the count, where none below `LEAST_GROUPS` is shown (Poisson)."""

    def beyond(mean: float) -> float:
        shown, least = (math.log(max(float(gammainc(count, mean)), 1e-300)) for count in (worth, LEAST_GROUPS))
        return shown - least - math.log(miss)

    return 0.0 if worth <= LEAST_GROUPS or beyond(1.0) >= 0.0 else float(brentq(beyond, 1.0, worth)) / worth


def _reaching(estimate: Estimate, value: float) -> Estimate:
    """The estimate with an interval that reaches to another value, where there is one."""
    low, high = estimate.interval
    return replace(estimate, interval=Interval(min(low, value), max(high, value))) if value == value else estimate


def _unknown(estimate: Estimate) -> Estimate:
    return replace(estimate, interval=Interval(0.0, 1.0))


def _few_groups(cases: Cases) -> str | None:
    """Say that groups are enough for a line alone; refuse draws so few that their spread cannot be estimated."""
    if cases.plain:
        return None
    worth, part = cases.worth
    if cases.unit is None:
        if worth < LEAST_GROUPS:
            few = f"{part} are worth {math.floor(worth)} equal ones; intervals need {LEAST_GROUPS}"
            raise InputError("sample_weight", few, allowed="more rows, or weights that differ less")
        return None
    few = f"{part} come from {too_few(worth)}"
    if worth < LEAST_FOR_A_LINE:
        raise InputError("groups", few, allowed=f"level and slope need {LEAST_FOR_A_LINE:g}, the curve {LEAST_GROUPS}")
    return few[0].upper() + few[1:] if worth < LEAST_GROUPS else None


def _deciles(cases: Cases) -> FloatArray:
    sample = cases.sample
    mass = sample.mass()
    part = np.minimum((10.0 * (mass.cumsum() - 0.5 * mass)).astype(np.int64), 9)
    total = np.bincount(part, mass, 10)
    mask = total > 0.0
    v, y = (np.bincount(part, column, 10) for column in (mass * sample.prediction, sample.weighted_outcome))
    return np.column_stack([v[mask] / total[mask], y[mask] / sample.total_weight / total[mask]])


def c_statistic(cases: Cases, level: float) -> Estimate:
    """Area under the ROC curve: DeLong's variance and Brunner and Munzel's degrees of freedom, on the log-odds.

    Newcombe's interval where the area is 0 or 1.
    """
    sample, w = cases.sample, cases.weight
    total = sample.total_weight
    events = sample.weighted_outcome / total
    others = np.maximum(sample.weight - sample.weighted_outcome, 0.0) / total
    rate, rest = float(events.sum()), float(others.sum())
    auc = auc_from_sample(sample)
    if auc is None:
        return Estimate(math.nan, Interval(0.0, 1.0))
    below = (others.cumsum() - 0.5 * others) / rest  # what an event at each prediction is ranked above
    above = 1.0 - (events.cumsum() - 0.5 * events) / rate
    area = float(round(auc)) if abs(auc - round(auc)) <= 1e-12 else auc  # all pairs, or none, up to rounding
    place = np.searchsorted(sample.prediction, cases.v)
    of_event, of_other = (below[place] - area) / rate, (above[place] - area) / rest
    moved = w * (cases.y * of_event + (1.0 - cases.y) * of_other)
    error = _error(cases, moved)
    moments = _expected_moments(cases, of_event, of_other)
    error = error if moments is None else max(error, math.sqrt(moments[0]))
    z = float(ndtri(1.0 - 0.5 * level))
    if area in (0.0, 1.0) or error <= 1e-15:
        return Estimate(area, _newcombe(area, *_sizes(cases, rate, rest), z))
    far = float(stdtrit(_freedom(cases, moved), 1.0 - 0.5 * level))
    odds, half = math.log(area / (1.0 - area)), far * error / (area * (1.0 - area))
    ends = (min(max(odds + s * half, -_FARTHEST), _FARTHEST) for s in (-1, 1))
    return Estimate(area, Interval(*(1.0 / (1.0 + math.exp(-end)) for end in ends)))


def _freedom(cases: Cases, moved: FloatArray) -> float:
    """Degrees of freedom of a variance that has a part from events and a part from other rows (Satterthwaite)."""
    parts: list[tuple[float, float]] = []
    for share in (cases.y, 1.0 - cases.y):
        weights, units = cases.by_unit(cases.weight * share), cases.by_unit(moved * share)
        number = float(weights.sum()) ** 2 / float((weights**2).sum())
        parts.append((float((units**2).sum()), max(number - 1.0, 1.0)))
    whole = sum(part for part, _ in parts)
    return whole * whole / max(sum(part * part / free for part, free in parts), 1e-300)


def _sizes(cases: Cases, rate: float, rest: float) -> tuple[float, float]:
    """Effective numbers of events and of other rows."""
    units = cases.by_unit(cases.weight)
    n = 1.0 / float((units**2).sum())
    return max(1.0, n * rate), max(1.0, n * rest)


def _newcombe(area: float, m: float, n: float, z: float) -> Interval:
    """Areas whose own standard error (Hanley and McNeil's) reaches to the one that was found."""
    half = 0.5 * (m + n) - 1.0

    def reach(c: float) -> float:
        spread = c * (1.0 - c) * (1.0 + half * ((1.0 - c) / (2.0 - c) + c / (1.0 + c))) / (m * n)
        return z * math.sqrt(max(spread, 0.0))

    # At 0 and 1 the standard error is 0: the root looked for is the other one.
    low = 0.0 if area <= 0.0 else brentq(lambda c: area - c - reach(c), 0.0, area - 1e-9)
    high = 1.0 if area >= 1.0 else brentq(lambda c: c - area - reach(c), area + 1e-9, 1.0)
    return Interval(float(low), float(high))


def brier_score(cases: Cases, level: float) -> Estimate:
    """Mean squared error of outcomes, with Hall's interval within [0, 1]; a share counts as its ones and zeros.

    Few events make the mean skewed: a cubic of the standardised mean is not (Hall 1992). With weights its
    variance and skew are those of outcomes as predicted, where these vary more: heavy rows may not have been seen.
    """
    each = cases.y * (1.0 - cases.v) ** 2 + (1.0 - cases.y) * cases.v**2
    value = dot(cases.weight, each)
    moved = cases.weight * (each - value)
    error, units, far = _error(cases, moved), cases.by_unit(moved), cases.normal_quantile(level)
    square, cube = float((units**2).sum()), float((units**3).sum())
    moments = _expected_moments(cases, (1.0 - cases.v) ** 2 - value, cases.v**2 - value)
    if moments is not None and moments[0] > error * error:
        (square, cube), error = moments, math.sqrt(moments[0])
    skew: float = cube / max(square, 1e-300) ** 1.5

    def straight(z: float) -> float:
        """Return the standardised mean at which its cubic is z."""
        if abs(skew) < 1e-9:
            return z
        return 3.0 / skew * (float(np.cbrt(1.0 + skew * (z - skew / 6.0))) - 1.0)

    low, high = value - error * straight(far), value - error * straight(-far)
    estimate = Estimate(value, Interval(max(0.0, min(low, value)), min(1.0, max(high, value))))
    for weight, _ in _as_if_rarer(cases, level):
        estimate = _reaching(estimate, dot(weight, each) / float(weight.sum()))
    return estimate


def _expected_moments(cases: Cases, of_event: FloatArray, of_other: FloatArray) -> tuple[float, float] | None:
    """Second and third moment of a weighted mean, of outcomes as predicted; a row adds one of two values.

    None without weights, and of groups, whose outcomes need not be independent.
    """
    if cases.w is None or cases.unit is not None:
        return None
    shift = weight_shift(cases)
    scale = 1.0 / float(cases.w.sum())

    def moment(power: int) -> float:
        other, event = expected_weights(cases, cases.v, shift, power)
        return scale**power * float(dot(event, of_event**power) + dot(other, of_other**power))

    return moment(2), moment(3)


def _error(cases: Cases, moved: FloatArray) -> float:
    """Standard error, from what each row moves the value by."""
    units = cases.by_unit(moved)
    return math.sqrt(cases.n_units / max(cases.n_units - 1, 1) * float((units**2).sum()))
