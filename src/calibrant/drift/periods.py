"""Calibration over time: one query, one row a period, and evidence that may be looked at after every one."""

from __future__ import annotations

__all__ = ["Period", "calibration_drift"]

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.door.columns import IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import not_taken
from calibrant.door.values import Result, Results, counted
from calibrant.drift.monitor import CalibrationMonitor, GroupMonitor, MonitorReading
from calibrant.drift.unchanged import FINE, ReferenceReading, readings_since
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


def _missing(key: Any) -> bool:
    # The missing value of a data frame is equal to nothing, and not even unequal.
    return key is None or type(key).__name__ == "NAType" or key != key


_WHOLE = re.compile(r"([+-]?\d+)(\.0*)?")
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(19|20|21)\d\d")
# Words before a number that count forwards, and no sign that could be a minus: "t-1" comes after "t-2". Any other text,
# and any behind the number, may turn the order round: "lag 1", "9 days ago".
_UNIT = "(years?|fy|quarters?|q|months?|m|weeks?|wk|w|days?|d|hours?|h|minutes?|min|periods?|epochs?|rounds?|batch)"
_BEFORE = re.compile(rf"\s*{_UNIT}[\s_.#]*", re.IGNORECASE)
_BEFORE_YEAR = re.compile(rf"\s*({_UNIT}[\s_.]*)?", re.IGNORECASE)
_BETWEEN = re.compile(rf"([-/.:_T]|,?\s*)({_UNIT}[\s_]?)?", re.IGNORECASE)


def in_order(keys: Sequence[Any]) -> list[Any]:
    """Distinct periods in the order of time.

    Numbers and dates sort as they are. Texts do if all are whole numbers, ISO dates or times, one unit of time with one
    number behind it ("day 9"), or numbers from a year downwards in one pattern ("2026-W9"). Raises InputError if the
    order is not known, or two texts are the same period.
    """
    if len(keys) < 2:
        return list(keys)
    if not any(isinstance(key, str | bytes) for key in keys):
        try:
            return sorted(keys)
        except TypeError:
            raise _unknown([str(key) for key in keys]) from None
    if not all(isinstance(key, str) for key in keys):
        raise _unknown([str(key) for key in keys])
    ranks = _whole_numbers(keys) or _iso(keys) or _numbers_in_a_pattern(keys)
    if ranks is None:
        raise _unknown(sorted(keys))
    ordered = sorted(zip(ranks, keys, strict=True))
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
    return times if len(zones) == 1 else None


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


def _from_the_year(numbers: Sequence[list[str]], between: Sequence[str]) -> list[Any] | None:
    """Numbers from a year downwards, in texts with these pieces before, between and after them."""
    first, *inner, _ = between
    if not all(_YEAR.fullmatch(row[0]) for row in numbers):
        return None
    if not _BEFORE_YEAR.fullmatch(first) or not all(_BETWEEN.fullmatch(piece) for piece in inner):
        return None
    # "2026.5" may be May or the middle of the year; an offset from UTC at the end is no part of the order.
    fraction = between == ["", ".", ""] and len({len(row[1]) for row in numbers}) > 1
    offset = ":" in inner and "-" in inner[inner.index(":") :]
    return None if fraction or offset else [tuple(map(int, row)) for row in numbers]


def _unknown(texts: Sequence[str]) -> InputError:
    strangest = sorted(texts, key=lambda text: _WHOLE.fullmatch(text.strip()) is not None)
    shown = ", ".join(f"{text!r:.40}" for text in strangest[:3])
    return InputError("by", f"the order in time of {shown} is not known; use dates such as '2026-01-31', or numbers")
