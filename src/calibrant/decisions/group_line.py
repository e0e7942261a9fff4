"""Level and slope by groups that are too few for anything else."""

from __future__ import annotations

__all__ = ["GroupLine"]

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.decisions.cases import Cases
from calibrant.decisions.estimate import Estimate
from calibrant.decisions.line import LogitLine, in_the_large, intercept_and_slope, observed_expected, robust_scales
from calibrant.door.ends import confidence
from calibrant.door.outwards import fixed_outwards
from calibrant.door.rows import Rows
from calibrant.door.values import Result
from calibrant.resampling.comonotone import LEAST_GROUPS, number_for_signs, too_few

LEAST_FOR_A_LINE = 6.0
"""So many equal groups the events, the non-events and the rows must be worth (docs/reproductions/known-rows.md)."""


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
        """How predictions err, where an interval leaves 1 out."""
        flat, steep = self.calibration_slope.interval
        low, high = self.observed_expected.interval
        if steep < 1.0 or flat > 1.0:
            return "too confident" if steep < 1.0 else "not confident enough"
        return "too low" if low > 1.0 else "too high" if high < 1.0 else None

    @property
    def level_in_words(self) -> str:
        """How many events happen for each that is predicted."""
        value, low, high = (round(100.0 * float(each)) for each in _rounded(self.observed_expected))
        return f"for every 100 events predicted {value} happened, likely {low} to {high}"

    @property
    def sign_in_words(self) -> str:
        """What the direction rests on: the slope where that names it, else the level."""
        if self.direction in ("too confident", "not confident enough"):
            value, low, high = _rounded(self.calibration_slope)
            return f"the calibration slope is {value}, likely {low} to {high}"
        return self.level_in_words

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
        Events come from too few groups (worth 19; 30 needed).
        By groups, observed over expected events is 0.68 (0.58 to 0.79), and the calibration slope 0.60 (0.42 to 0.78);
        together 95% confidence.
        """
        return f"{self.what.capitalize()} come from {too_few(self.worth)}. {self.both}"


def group_line(rows: Rows, level: float) -> GroupLine | None:
    """Level and slope of rows in groups that are too few for signs; None of others, and where these are unknown too."""
    if rows.group is None:
        return None
    w = rows.weight if rows.trials is None else rows.trials * (1.0 if rows.weight is None else rows.weight)
    cases = Cases(rows.y_true / rows.count, rows.y_prob, w, None, rows.group).single()
    worth, what = cases.worth
    line = LogitLine.of(cases)
    if worth < LEAST_FOR_A_LINE or line is None:
        return None
    if worth >= LEAST_GROUPS:  # events are many; at their most dependent the groups may be few all the same
        number = number_for_signs(rows.group, rows.y_prob, np.broadcast_to(1.0 if w is None else w, rows.y_prob.shape))
        worth, what = float(number.max()), "rows"
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


def _rounded(estimate: Estimate) -> tuple[str, str, str]:
    """A value and both ends of its interval in two decimals, the ends outwards."""
    low, high = estimate.interval
    return f"{estimate.value:.2f}", *fixed_outwards(low, high, 2)
