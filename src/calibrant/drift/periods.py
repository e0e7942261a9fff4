"""Calibration over time: one query, one row a period; and whether predictions still mean what they meant."""

from __future__ import annotations

__all__ = ["Period", "ReferenceReading", "calibration_drift"]

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import at_most
from calibrant.door.errors import InputError
from calibrant.door.rows import not_taken
from calibrant.door.values import Result, Results, counted, in_a_row
from calibrant.drift.monitor import CalibrationMonitor, GroupMonitor, MonitorReading
from calibrant.kernels import sketching
from calibrant.kernels.sums import dot
from calibrant.lazily import EXTRAS, optional
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.sketch.bounds import sample_from_cells
from calibrant.sketch.groups import Groups
from calibrant.tables.columns import refuse_unspoken_weights
from calibrant.tables.frames import OpenedFrame, groups_by

RESOLUTION = 1024
SINGLE = "the evidence of drift counts single outcomes"


@dataclass(frozen=True, slots=True, repr=False)
class Period(Result):
    """One period, and the evidence up to its end.

    Attributes
    ----------
    period : object
        Value of the column of time.
    n_rows : int
        Rows of the period.
    base_rate, mean_prediction : float
        Means of its outcomes and predictions.
    smooth_calibration_error : float
        Smooth calibration error of its sketch: noise included, so not 0 for a calibrated predictor.
    reading : MonitorReading
        Evidence against calibration from all periods so far.
    n_groups : int or None
        Groups with rows in the period, where rows of one group may depend on one another; else None.
    since_reference : ReferenceReading or None
        Evidence that the meaning of predictions has changed since the reference periods; None without them, and up to
        the last of them.

    See Also
    --------
    calibration_drift
    """

    period: Any
    n_rows: int
    base_rate: float
    mean_prediction: float
    smooth_calibration_error: float
    reading: MonitorReading
    n_groups: int | None = None
    since_reference: ReferenceReading | None = None

    def summary(self) -> str:
        """Say what the period is like, and the evidence so far."""
        means = f"mean outcome {self.base_rate:.4g}, mean prediction {self.mean_prediction:.4g}"
        since = "" if self.since_reference is None else f" {self.since_reference.summary_by(self.period)}"
        return f"{self.period}: {counted(self.n_rows, 'row')}, {means}. So far: {self.reading.summary()}.{since}"


@optional("calibration_drift", *EXTRAS)
def calibration_drift(
    frame: Any,
    *,
    y_true: str,
    y_prob: str,
    by: str,
    sample_weight: str | None = None,
    trials: str | None = None,
    groups: str | None = None,
    reference: Any = None,
    level: float = 0.05,
    exclude_bad: bool = False,
    unweighted: bool = False,
) -> Results[Period]:
    """Follow calibration through the periods of a table, in order, with a bounded probability of any false alarm.

    Parameters
    ----------
    frame : table
        As for `CalibrationSketch.from_frame`.
    y_true, y_prob : str
        Names of its columns; outcomes 0 or 1.
    by : str
        Column of periods, such as days: dates, numbers, or texts with a clear order, such as ISO dates, whole numbers,
        "day 9", "2026-W9".
    sample_weight : optional
        Refused: each outcome is a bet, which counts once.
    groups : str, optional
        Column of what rows belong to (a patient, an account), if only rows of different ones are independent. A group
        may have rows in several periods. Without it the probability of an outcome, given all before it, must be the
        forecast.
    trials : str, optional
        Column of how many independent outcomes are behind each row; y_true is then the share of events among them.
    reference : object or list, optional
        A period, or several, or a text ``"A..B"`` for A, B and all between them: later periods are also compared with
        them. Have events become more or less frequent at the same predictions, whether these are calibrated or not?
    level : float, default 0.05
        Largest probability that calibrated forecasts are ever rejected, in all periods together; and of a false alarm
        beside the reference.
    exclude_bad : bool, default False
        Leave out rows that are null, NaN or out of range instead of refusing the table.
    unweighted : bool, default False
        Leave out a column that holds weights by its name. The evidence counts single outcomes, so that weights cannot
        be used, and without this they are refused.

    Returns
    -------
    Results of Period
        A tuple in order of time, with ``.to_frame()``; the first whose ``reading.reject`` is true is where the alarm is
        raised.

    Raises
    ------
    InputError
        As `CalibrationSketch.from_frame`, if a column may hold weights, outcomes are rates, a period is null, or the
        order of texts is not known. If the reference is no period, if none is after it, or with `groups`.

    See Also
    --------
    calibration_by_segment, CalibrationMonitor

    Notes
    -----
    One GROUP BY into 1,024 cells per period; what pooling costs is conservative (`CalibrationMonitor.update_sample`).
    With `groups` the evidence is a sum of e-values of the groups' sums, which no dependence between periods can make
    too large (docs/tests.md). It needs more rows. The comparison with a reference assumes independent rows, and allows
    another distribution of predictions in each period. Events are compared among rows whose predictions are nearly the
    same, and what a change of these could explain is subtracted (docs/tests.md). Cost: one pass over the rows, two with
    a reference.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> from calibrant import calibration_drift
    >>> rng = np.random.default_rng(0)
    >>> p, day = rng.random(30_000), np.repeat(np.arange(30), 1000)
    >>> table = pyarrow.table({"day": day, "p": p, "y": rng.random(30_000) < np.where(day < 20, p, p**1.5)})
    >>> days = calibration_drift(table, y_true="y", y_prob="p", by="day")
    >>> next(day.period for day in days if day.reading.reject)
    20
    """
    table = OpenedFrame(frame, "frame")
    not_taken("each outcome is a bet, which counts once", sample_weight=sample_weight)
    table.require([] if groups is None else [groups], "groups")
    if not unweighted:
        roles = {y_true, y_prob, by, trials or by, groups or by}
        refuse_unspoken_weights(table.columns, roles, f"{SINGLE}; unweighted=True leaves them out")
    keys = [by] if groups is None else [by, groups]
    cells = groups_by(table, y_true, y_prob, keys, RESOLUTION, None, trials, exclude_bad, unweighted=True)
    periods = periods_of_groups(cells, level, grouped=groups is not None, exclude_bad=exclude_bad)
    if reference is None:
        return Results(periods)
    fine = groups_by(table, y_true, y_prob, keys, FINE, None, trials, exclude_bad, unweighted=True)
    return Results(beside_reference(periods, fine, reference, level, grouped=groups is not None))


def beside_reference(
    periods: Sequence[Period], groups: Groups, reference: Any, level: float, *, grouped: bool = False
) -> list[Period]:
    """The periods, those after the reference with the evidence of change since; `groups` are all rows in fine cells.

    Raises InputError if the reference is none of the periods, or the last, or rows belong to groups.
    """
    if grouped:
        raise InputError("reference", "cannot be combined with groups: it compares single, independent rows")
    readings = readings_since([period.period for period in periods], groups, reference, level)
    return [replace(period, since_reference=readings.get(number)) for number, period in enumerate(periods)]


def periods_of_groups(
    groups: Groups, level: float, *, grouped: bool = False, exclude_bad: bool = False
) -> list[Period]:
    """Periods of groups by one column, in order; `grouped`, by a second, which says what rows belong to."""
    group: IntArray | None = None
    if grouped:
        groups, group = groups.in_groups(exclude_bad)
    index, cells, keys = groups.index, groups.cells, groups.keys["_s0"].to_list()
    if any(_missing(key) for key in keys):
        raise InputError("by", "holds a null or NaN; every row needs a period")
    place = {key: at for at, key in enumerate(in_order(list(dict.fromkeys(keys))))}
    if cells[:, sketching.FRACTIONAL].any():
        raise InputError("y_true", "holds event rates", allowed=f"{SINGLE}, each 0 or 1")
    order = sorted(range(len(keys)), key=lambda i: (place[keys[i]], index[i]))
    starts = [at for at, i in enumerate(order) if at == 0 or keys[i] != keys[order[at - 1]]]
    monitor = CalibrationMonitor(level)
    by_group = None if group is None else GroupMonitor(int(group.max()) + 1, level)
    periods = []
    for first, last in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = np.array(order[first:last])
        part = Groups(index[rows], cells[rows], groups.keys[rows.tolist()], 0)
        part = part if group is None else part.merged()
        sample = sample_from_cells(part.index, part.cells, RESOLUTION)
        mean = dot(sample.mass(), sample.prediction)
        if by_group is None or group is None:
            reading, n_groups = monitor.update_sample(sample, resolution=RESOLUTION, distinct=True), None
        else:
            reading = by_group.update(index[rows], cells[rows], group[rows], RESOLUTION)
            n_groups = int(np.unique(group[rows]).size)
        periods.append(
            Period(
                keys[order[first]],
                sample.n_rows,
                min(1.0, max(0.0, mean + float(sample.residual().sum()))),
                mean,
                smooth_error_from_sample(sample),
                reading,
                n_groups,
            )
        )
    return periods


def in_population(periods: Sequence[Period], groups: Groups) -> list[Period]:
    """Periods whose evidence is of rows sampled by outcome, with rates of the population; `groups` are all weighted."""
    of = {period.period: at for at, period in enumerate(periods)}
    place = np.array([of[key] for key in groups.keys["_s0"].to_list()])
    described = []
    for at, period in enumerate(periods):
        here = np.flatnonzero(place == at)
        here = here[np.argsort(groups.index[here])]
        sample = sample_from_cells(groups.index[here], groups.cells[here], RESOLUTION)
        mean = dot(sample.mass(), sample.prediction)
        rate = min(1.0, max(0.0, mean + float(sample.residual().sum())))
        error = smooth_error_from_sample(sample)
        described.append(replace(period, base_rate=rate, mean_prediction=mean, smooth_calibration_error=error))
    return described


def _missing(key: Any) -> bool:
    # The missing value of a data frame is equal to nothing, and not even unequal.
    return key is None or type(key).__name__ == "NAType" or key != key


_WHOLE = re.compile(r"([+-]?\d+)(\.0*)?")
_NUMBER = re.compile(r"\d+")
_FINE = re.compile(r"[.,]\d{6}(\d+)")
_YEAR = re.compile(r"(19|20|21)\d\d")
# Words before a number that count forwards, and no sign that could be a minus: "t-1" comes after "t-2". Any other text,
# and any behind the number, may turn the order round: "lag 1", "9 days ago".
_UNIT = "(years?|fy|quarters?|q|months?|m|weeks?|wk|w|days?|d|hours?|h|minutes?|min|periods?|epochs?|rounds?|batch)"
_BEFORE = re.compile(rf"\s*{_UNIT}[\s_.#]*", re.IGNORECASE)
_BEFORE_YEAR = re.compile(rf"\s*({_UNIT}[\s_.]*)?", re.IGNORECASE)
_BETWEEN = re.compile(rf"([-/.:_T]|,?\s*)({_UNIT}[\s_]?)?", re.IGNORECASE)


def in_order(periods: Sequence[Any]) -> list[Any]:
    """Distinct periods in the order of time.

    Numbers and dates sort as they are. Texts do if all are whole numbers, ISO dates or times, one unit of time with one
    number behind it ("day 9"), or numbers from a year downwards in one pattern ("2026-W9"). Raises InputError if the
    order is not known, or two texts are the same period.
    """
    if len(periods) < 2:
        return list(periods)
    if not any(isinstance(key, str | bytes) for key in periods):
        try:
            return sorted(periods)
        except TypeError:
            raise _unknown([str(key) for key in periods]) from None
    if not all(isinstance(key, str) for key in periods):
        raise _unknown([str(key) for key in periods])
    ranks = _whole_numbers(periods) or _iso(periods) or _numbers_in_a_pattern(periods)
    if ranks is None:
        raise _unknown(sorted(periods))
    ordered = sorted(zip(ranks, periods, strict=True))
    for (rank, key), (after, other) in pairwise(ordered):
        if rank == after:
            raise InputError("by", f"holds {key!r:.40} and {other!r:.40}, two ways to write one period; use one")
    return [key for _, key in ordered]


def _whole_numbers(texts: Sequence[str]) -> list[Any] | None:
    matches = [_WHOLE.fullmatch(text.strip()) for text in texts]
    return None if None in matches else [int(match[1]) for match in matches if match]


def _iso(texts: Sequence[str]) -> list[Any] | None:
    try:
        times = [datetime.fromisoformat(text.strip()) for text in texts]
    except ValueError:
        return None
    zones = {time.tzinfo is not None for time in times}
    return list(zip(times, map(_below_microseconds, texts), strict=True)) if len(zones) == 1 else None


def _below_microseconds(text: str) -> str:
    """Digits of a second that Python's times do not have, in an order in which they count as numbers."""
    digits = _FINE.search(text)
    return digits[1].rstrip("0") if digits else ""


def _numbers_in_a_pattern(texts: Sequence[str]) -> list[Any] | None:
    numbers = [_NUMBER.findall(text) for text in texts]
    between = _NUMBER.split(texts[0])
    if any(_NUMBER.split(text) != between for text in texts):
        return None
    first, *inner, last = between  # two distinct texts of one pattern hold a number
    if last.strip():
        return None
    if not inner:
        return [int(only) for (only,) in numbers] if _BEFORE.fullmatch(first) else None
    return _from_the_year(numbers, between)


def _from_the_year(texts: Sequence[list[str]], between: Sequence[str]) -> list[Any] | None:
    """Numbers from a year downwards, in texts with these pieces before, between and after them."""
    first, *inner, _ = between
    if not all(_YEAR.fullmatch(row[0]) for row in texts):
        return None
    if not _BEFORE_YEAR.fullmatch(first) or not all(_BETWEEN.fullmatch(piece) for piece in inner):
        return None
    # "2026.5" may be May or the middle of the year; an offset from UTC at the end is no part of the order.
    year = between == ["", ".", ""]
    points = [at for at, piece in enumerate(inner) if piece in (".", ",") and (year or ":" in inner[:at])]
    fraction = any(len({len(row[at + 1]) for row in texts}) > 1 for at in points)
    offset = ":" in inner and "-" in inner[inner.index(":") :]
    return None if fraction or offset else [tuple(map(int, row)) for row in texts]


def _unknown(texts: Sequence[str]) -> InputError:
    strangest = sorted(texts, key=lambda text: _WHOLE.fullmatch(text.strip()) is not None)
    shown = ", ".join(f"{text!r:.40}" for text in strangest[:3])
    return InputError("by", f"the order in time of {shown} is not known; use dates such as '2026-01-31', or numbers")


_SHARES = 0.9, 0.05, 0.03, 0.02  # of the error, for tests of 1, 2, 4 and 8 intervals of predictions
_ROWS_A_STRATUM = 16  # of the reference
_WIDEST = 0.2  # in log odds: predictions further apart are not in one stratum
# How many times as fast as a prediction's log odds the event's may move within a stratum.
STEEPEST = 2.0
_EXACT = 1e-9  # share of a sum that its rounding can be


@dataclass(frozen=True, slots=True, repr=False)
class ReferenceReading(Result):
    """Evidence, up to a period's end, that the meaning of predictions has changed since a reference period.

    Attributes
    ----------
    reference : str
        The reference: its periods, and of several in a row the first and the last.
    pvalue : float
        Smallest so far, adjusted for every interval and period that was looked at: valid whenever you look.
    reject : bool
        Whether it has ever been at most the level.
    level : float
        Probability of any false alarm, in all periods together, at most.
    difference : float or None
        Event rate of the period's rows minus the reference's at the same predictions; None if nothing can be compared.
    compared : float
        Share of the period's rows that are compared. The others have too few reference rows with similar predictions,
        or predictions so near 0 or 1 that they cannot be distinguished.
    where : tuple of float
        The lowest and the highest prediction between which the evidence of this period is strongest; 0 and 1 for all.
    difference_there : float or None
        As `difference`, of the rows between these; None if none of them can be compared.

    See Also
    --------
    Period, calibration_drift
    """

    reference: str
    pvalue: float
    reject: bool
    level: float
    difference: float | None
    compared: float
    where: tuple[float, float]
    difference_there: float | None

    def summary(self) -> str:
        """One sentence."""
        return self._told(f"since {self.reference}")

    def summary_by(self, by: object) -> str:
        """One sentence, with the period by whose end that is."""
        reference, last = (f"period {each}" if str(each).isdigit() else str(each) for each in (self.reference, by))
        return f"Compared with {reference}: {self._told(f'by {last}')}."

    def _told(self, when: str) -> str:
        verdict = "changed" if self.reject else "no change is proved"
        verdict = f"{verdict} {when} (anytime-valid p = {at_most(self.pvalue, 2)})"
        if self.difference is None:
            return f"{verdict}: no rows can be compared with the reference's"
        narrow = self.reject and self.where != (0.0, 1.0) and self.difference_there is not None
        change, place = self.difference, ""
        if narrow and self.difference_there is not None:
            low, high = (f"{end:.3g}" for end in self.where)
            change, place = (
                self.difference_there,
                f" where they are {low}" if low == high else f" between {low} and {high}",
            )
        more = "higher" if change > 0.0 else "lower"
        chance = "" if self.reject else ", which may be chance"
        verdict = (
            f"{verdict}: the event rate is {abs(change):.2g} {more} than it was at the same predictions{place}{chance}"
        )
        if self.compared > 0.95:
            return verdict
        return f"{verdict}; {100.0 * (1.0 - self.compared):.0f}% of the rows cannot be compared with the reference's"


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Rows and ones in fine cells of predictions, in their order; each cell's mean, least and largest prediction."""

    index: IntArray
    rows: FloatArray
    ones: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def together(cls, parts: Sequence[Counts]) -> Counts:
        """The rows of several counts."""
        index = np.concatenate([part.index for part in parts])
        distinct, of = np.unique(index, return_inverse=True)
        rows, ones, moment = (
            np.bincount(of, np.concatenate(each), distinct.size).astype(np.float64)
            for each in zip(*((part.rows, part.ones, part.rows * part.mean) for part in parts), strict=True)
        )
        low, high = np.full(distinct.size, np.inf), np.full(distinct.size, -np.inf)
        np.minimum.at(low, of, np.concatenate([part.low for part in parts]))
        np.maximum.at(high, of, np.concatenate([part.high for part in parts]))
        return cls(distinct, rows, ones, np.clip(moment / rows, low, high), low, high)


class Since:
    """Compares one period after the other with a reference.

    Rows of both are put into strata of neighbouring predictions, which the reference's predictions decide. Given how
    many rows and events a stratum has in both together, the period's events are hypergeometric if they have one rate:
    a sum of independent outcomes with unequal chances, so that Bennett's inequality holds with the very variance. Where
    the rate moves within a stratum, at most `STEEPEST` times as fast in log odds as the prediction, the means of the
    two sides differ by no more than that times the transport distance of their predictions, which is taken off the
    excess. Period k is looked at by itself and together with all since the reference, and has the share
    1 / (k (k + 1)) of the level: docs/tests.md.
    Source: V. A. Vatutin and V. G. Mikhailov, Limit theorems for the number of empty cells, Theory of Probability and
    its Applications 27, 1982 (the sum); G. Bennett, Probability inequalities for the sum of independent random
    variables, Journal of the American Statistical Association 57, 1962; I. Kim, M. Neykov, S. Balakrishnan and
    L. Wasserman, Local permutation tests for conditional independence, Annals of Statistics 50, 2022 (the strata).
    """

    def __init__(self, name: str, reference: Sequence[Counts], level: float, resolution: int) -> None:
        self._reference = Counts.together(reference)
        self._breaks = _breaks(self._reference, resolution)
        self._name, self._level = name, level
        self._since: list[Counts] = []
        self._looks, self._smallest = 0, 1.0

    def update(self, period: Counts) -> ReferenceReading:
        """Look at the next period."""
        self._looks += 1
        self._since = [Counts.together([*self._since, period])]
        alone = _Strata(self._reference, period, self._breaks)
        log, where, there = alone.strongest()
        if self._looks > 1:
            log = min(log, _Strata(self._reference, self._since[0], self._breaks).strongest()[0])
        log += math.log(2.0 * self._looks * (self._looks + 1.0))
        self._smallest = min(self._smallest, math.exp(max(-700.0, log)))
        return ReferenceReading(
            self._name,
            self._smallest,
            self._smallest <= self._level,
            self._level,
            *alone.difference(float(period.rows.sum())),
            where,
            there,
        )


class _Strata:
    """Counts of two samples by stratum: rows, events and what a change of the mix could account for."""

    def __init__(self, earlier: Counts, now: Counts, breaks: IntArray) -> None:
        cells = Counts.together([earlier, now])
        size = cells.index.size
        sides = []
        for part in (earlier, now):
            rows, ones, mean = np.zeros(size), np.zeros(size), cells.mean.copy()
            at = np.searchsorted(cells.index, part.index)
            rows[at], ones[at], mean[at] = part.rows, part.ones, part.mean
            sides.append((rows, ones, mean))
        (rows_before, ones_before, mean_before), (rows_now, ones_now, mean_now) = sides
        starts = np.flatnonzero(np.diff(np.searchsorted(breaks, cells.index, side="right"), prepend=-1))

        def summed(values: FloatArray) -> FloatArray:
            return np.add.reduceat(values, starts)

        self.before, self.now = summed(rows_before), summed(rows_now)
        self.events_before, self.events = summed(ones_before), summed(ones_now)
        both = self.before + self.now
        rate = (self.events_before + self.events) / both
        self.mean = self.now * rate
        self.variance = self.mean * (1.0 - rate) * self.before / np.maximum(both - 1.0, 1.0)
        self.low, self.high = cells.low[starts], np.maximum.reduceat(cells.high, starts)
        moved = _transport(starts, cells, (rows_before, mean_before), (rows_now, mean_now))
        center = summed((rows_before + rows_now) * cells.mean) / both
        odds = np.minimum(self.low * (1.0 - self.low), self.high * (1.0 - self.high))
        odds = np.where(moved > 0.0, odds, np.maximum(center * (1.0 - center), 0.25))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # infinite: the mix could account for all
            slope = STEEPEST * rate * (1.0 - rate) / odds
            share = self.now * self.before / both
            self.mix = np.where(moved > 0.0, share * slope * moved, 0.0)
        # Where the mix could account for as much as chance does, nothing is compared: decided by what is held fixed.
        comparable = (self.before > 0.0) & (self.now > 0.0)
        self.used = comparable & (self.mix <= np.sqrt(self.variance))

    def difference(self, n_now: float) -> tuple[float | None, float]:
        """Event rate now less that before at the same predictions, and the share of rows that are compared."""
        rows = self.now[self.used]
        total = float(rows.sum())
        if total == 0.0:
            return None, 0.0
        expected = rows * self.events_before[self.used] / self.before[self.used]
        return float((self.events[self.used] - expected).sum() / total), total / n_now

    def strongest(self) -> tuple[float, tuple[float, float], float | None]:
        """Log of the p-value of all intervals together, perhaps above 0; the strongest's ends, and its difference."""
        used = self.used & (self.variance > 0.0)
        if not used.any():
            return 0.0, (0.0, 1.0), None
        excess = (self.events - self.mean)[used]
        variance, mean, mix = self.variance[used], self.mean[used], self.mix[used]
        low, high = self.low[used], self.high[used]
        reached = np.cumsum(variance)
        expected = self.now[used] * self.events_before[used] / self.before[used]
        best, where, there = math.inf, (0.0, 1.0), None
        for depth, share in enumerate(_SHARES):
            parts = 2**depth
            ends = np.searchsorted(reached, reached[-1] * np.arange(1, parts) / parts, side="right")
            for first, last in zip([0, *ends.tolist()], [*ends.tolist(), excess.size], strict=True):
                part = slice(first, last)  # an empty one's bound is above that of all intervals together
                far = abs(float(excess[part].sum())) - float(mix[part].sum()) - _EXACT * float(mean[part].sum())
                log = _bennett(far, float(variance[part].sum()) * (1.0 + _EXACT)) + math.log(parts / share)
                if log < best:
                    best, where = log, (float(low[first]), float(high[last - 1])) if depth else (0.0, 1.0)
                    gone = float((self.events[used][part] - expected[part]).sum())
                    there = gone / float(self.now[used][part].sum())
        return best, where, there


def _breaks(reference: Counts, resolution: int) -> IntArray:
    """Numbers of the cells with which strata start: at lines in log odds, and after enough rows of the reference."""
    line = np.arange(-math.log(resolution), math.log(resolution), _WIDEST)
    lines = 2 * np.floor(resolution / (1.0 + np.exp(-line))).astype(np.int64)
    lines = np.unique(np.concatenate([lines, [0, 1, 2 * resolution]]))  # 0 and 1 are strata of their own
    stretch = np.searchsorted(lines, reference.index, side="right")
    starts, mass, last = [], 0.0, -1
    for cell, rows, of in zip(reference.index.tolist(), reference.rows.tolist(), stretch.tolist(), strict=True):
        if mass >= _ROWS_A_STRATUM and of == last:
            starts.append(cell)
        if mass >= _ROWS_A_STRATUM or of != last:
            mass, last = 0.0, of
        mass += rows
    return np.union1d(lines, np.array(starts, dtype=np.int64))


def _transport(
    starts: IntArray, counts: Counts, reference: tuple[FloatArray, FloatArray], now: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """At least the transport distance of the two sides' predictions in every stratum, where both have rows.

    Every cell's rows are moved to their mean on either side, by 2 (mean - low) (high - mean) / (high - low) at most on
    average (two points have that, and no other rows between the ends more); from mean to mean the distance is exact.
    """
    stratum = np.repeat(np.arange(starts.size), np.diff(np.append(starts, counts.index.size)))
    within, places, shares, of = np.zeros(starts.size), [], [], []
    for sign, (rows, mean) in ((1.0, reference), (-1.0, now)):
        total = np.add.reduceat(rows, starts)[stratum]
        share = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0.0)
        width = counts.high - counts.low
        above = np.divide(counts.high - mean, width, out=np.zeros_like(mean), where=(width > 0.0) & (rows > 1.0))
        moved = 2.0 * (mean - counts.low) * above  # in this order, as predictions may be too small to be multiplied
        within += np.bincount(stratum, share * moved, starts.size)
        positive = rows > 0.0
        places.append(mean[positive])
        shares.append(sign * share[positive])
        of.append(stratum[positive])
    place, share, stratum = np.concatenate(places), np.concatenate(shares), np.concatenate(of)
    order = np.lexsort((place, stratum))
    place, share, stratum = place[order], share[order], stratum[order]
    level = np.cumsum(share)  # every stratum's shares sum to 0, but where a side has no rows, which is not used
    first = np.flatnonzero(np.diff(stratum, prepend=-1))
    level -= np.repeat((level - share)[first], np.diff(np.append(first, stratum.size)))
    gap = np.where(np.diff(stratum, append=-1) == 0, np.diff(place, append=0.0), 0.0)
    return within + np.bincount(stratum, np.abs(level) * gap, starts.size)


def _bennett(excess: float, variance: float) -> float:
    """Log of at least the probability that a sum of independent outcomes is so far from its mean, on either side."""
    if excess <= 0.0 or variance <= 0.0:
        return 0.0
    u = excess / variance
    return math.log(2.0) - variance * ((1.0 + u) * math.log1p(u) - u)


# Cells of the comparison: finer than the monitor's, for what changes within a cell is no evidence.
FINE = 2**16

_DAY = re.compile(r"-?\d{4,}-\d\d-\d\d")


def readings_since(names: Sequence[Any], groups: Groups, reference: Any, level: float) -> dict[int, ReferenceReading]:
    """Number of each period after the reference -> evidence of change since; `groups` are all rows in fine cells.

    Raises InputError if the reference is none of the periods, or the last.
    """
    base = _places(reference, names)
    number_of = {name: number for number, name in enumerate(names)}
    of = np.array([number_of[key] for key in groups.keys["_s0"].to_list()])
    counts = [_counts(groups.index[of == number], groups.cells[of == number]) for number in range(len(names))]
    since = Since(_title(base, names), [counts[number] for number in base], level, FINE)
    return {number: since.update(counts[number]) for number in range(base[-1] + 1, len(names))}


def _title(places: Sequence[int], names: Sequence[Any]) -> str:
    """Periods of a reference in words; of those in a row the first and the last."""
    starts = [number for number in places if number - 1 not in places]
    stops = [number for number in places if number + 1 not in places]
    parts = [" to ".join(dict.fromkeys((str(names[a]), str(names[b])))) for a, b in zip(starts, stops, strict=True)]
    return in_a_row(parts)


def _counts(index: np.ndarray[Any, np.dtype[np.int64]], cells: np.ndarray[Any, np.dtype[np.float64]]) -> Counts:
    order = np.argsort(index)
    index, cells = index[order], cells[order]
    rows, ones = cells[:, sketching.COUNT], cells[:, sketching.ONES]
    mean = sample_from_cells(index, cells, FINE).prediction
    return Counts(index, rows, ones, mean, cells[:, sketching.LOW], cells[:, sketching.HIGH])


def _places(reference: Any, names: Sequence[Any]) -> list[int]:
    """Numbers of the reference periods, by their values or as texts; "A..B" is A, B and all between them."""
    references = reference if isinstance(reference, list | tuple) else [reference]
    places = [at for each in references for at in _from_to(each, names)]
    distinct = set(places)
    if len(distinct) < len(places):
        raise _no_reference(reference, names, " names a period twice")
    if not distinct or max(distinct) == len(names) - 1:
        why = " holds the last period, after which there is nothing to compare" if distinct else ""
        raise _no_reference(reference, names, why)
    return sorted(distinct)


def _from_to(reference: Any, names: Sequence[Any]) -> range:
    begin = end = _periods(reference, names)
    if not begin and isinstance(reference, str):
        begin, end = (_periods(each, names) for each in reference.partition("..")[::2])
    if not begin or not end:
        raise _no_reference(reference, names, " names a period that is not there")
    if begin.start >= end.stop:
        raise _no_reference(reference, names, " begins after its end")
    return range(begin.start, end.stop)


def _periods(reference: Any, names: Sequence[Any]) -> range:
    """The period of that name, or of times of day all that lie on the day that is named; none is an empty range."""
    text = str(reference)
    places = [at for at, name in enumerate(names) if name == reference or str(name) == text][:1]
    if not places and _DAY.fullmatch(text):
        places = [at for at, name in enumerate(names) if str(name).startswith((f"{text} ", f"{text}T"))]
    return range(places[0], places[-1] + 1) if places else range(0)


def _no_reference(reference: Any, names: Sequence[Any], why: str) -> InputError:
    periods = ", ".join(map(repr, map(str, names[:5]))) + (", ..." if len(names) > 5 else "")
    allowed = f"name periods before the last, or A..B for all from A to B, of {periods}"
    shown = ",".join(map(str, reference)) if isinstance(reference, list | tuple) else reference
    return InputError("reference", f"is {shown!r:.60}" + (f", which{why}" if why else ""), allowed=allowed)
