"""Outcomes at a horizon of rows that are not all followed to it, with the weights that stand for the others."""

from __future__ import annotations

__all__ = ["CensoredOutcomes", "censored_outcomes"]

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.door.arguments import fraction, positive
from calibrant.door.columns import FINITE, Column, FloatArray, IntArray, as_numbers, shown
from calibrant.door.errors import InputError, Ways
from calibrant.door.premises import LEAST_FOLLOWED
from calibrant.door.rows import dimensions, read_groups
from calibrant.door.values import Result, counted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CensoredOutcomes(Result):
    """Outcomes at a horizon, and the weights with which known outcomes stand for unknown ones.

    Attributes
    ----------
    y_true : ndarray of shape (n,)
        1 where the event came by the horizon, 0 where it did not; 0 as well where that is not known, with weight 0.
    sample_weight : ndarray of shape (n,)
        1 / G, with G the estimated share of rows followed as long as this one had to be for a known outcome. 0 where
        the outcome is not known.
    max_weight : float
        The largest that a weight can be: one over the least share that is followed to the horizon, in any stratum.
    horizon : float
        The time by which events count.
    n_unknown : int
        Rows whose outcome is not known.

    See Also
    --------
    censored_outcomes, audit
    """

    y_true: IntArray
    sample_weight: FloatArray
    max_weight: float
    horizon: float
    n_unknown: int

    @property
    def known(self) -> IntArray:
        """Numbers of the rows whose outcome is known."""
        return np.flatnonzero(self.sample_weight > 0.0)

    def summary(self) -> str:
        r"""Say how many outcomes are known, and what is assumed.

        Examples
        --------
        >>> print(censored_outcomes([1.0, 3.0, 5.0, 6.0], [1, 0, 1, 0], horizon=4.0).summary().replace(" (", "\n("))
        3 of 4 outcomes are known at 4; a known row weighs at most 1.5
        (censoring is taken as independent of events and predictions)
        """
        known = f"{self.y_true.size - self.n_unknown:,} of {counted(self.y_true.size, 'outcome')} are known"
        most = f"a known row weighs at most {self.max_weight:.3g}"
        return f"{known} at {self.horizon:g}; {most} (censoring is taken as independent of events and predictions)"


def censored_outcomes(
    time: Column, event: Column, horizon: float, *, strata: Any = None, least_followed: float = LEAST_FOLLOWED
) -> CensoredOutcomes:
    """Turn times with censoring into outcomes at a horizon, with weights for the rows whose outcome is not known.

    Parameters
    ----------
    time : column of shape (n,)
        When the event came, or until when a row was followed without it; not negative.
    event : column of shape (n,)
        1 where the event came at that time, 0 where the row was followed no longer.
    horizon : float
        Positive: predictions are probabilities of the event by this time.
    strata : column of shape (n,), or table of shape (n, k), optional
        Rows of one value, or of one combination of values, are censored alike: the share that is followed is estimated
        for each by itself.
    least_followed : float, default 0.1
        The horizon is refused if a smaller share of a stratum is followed to it: single rows would stand for many.

    Returns
    -------
    CensoredOutcomes
        With ``y_true``, ``sample_weight`` and ``max_weight``, as `audit` takes them.

    Raises
    ------
    InputError
        If a column cannot be used; if too few rows are followed to the horizon.

    See Also
    --------
    audit, calibration_test

    Notes
    -----
    Let T be the time of the event, C that of censoring, t the horizon, and G(u) = P(C >= u) in a row's stratum. The
    outcome 1[T <= t] is known if C >= min(T, t). Given T and the prediction this has probability G(min(T, t)), if C
    does not depend on them within strata. So known rows with weight 1 / G(min(T, t)) have the population's means
    (docs/weights.md). That independence is an assumption, which no rows can show. G is the product over times of
    censoring (Kaplan and Meier), where events at one time come before censoring. It is estimated, so what rests on
    these weights is asymptotic; and the weights tell outcomes, which tests allow for. Rows are never left out for
    weighing much, as that would select on outcomes. Cost: a sort.

    References
    ----------
    E. Graf, C. Schmoor, W. Sauerbrei and M. Schumacher, Assessment and comparison of prognostic classification schemes
    for survival data, Statistics in Medicine 18, 1999. T. A. Gerds and M. Schumacher, Consistent estimation of the
    expected Brier score in general survival models with right-censored event times, Biometrical Journal 48, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import audit, censored_outcomes
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(0.05, 0.6, 2000)
    >>> came, left = -np.log(rng.random(2000)) / -np.log(1 - risk), rng.uniform(0.2, 2.0, 2000)
    >>> known = censored_outcomes(np.minimum(came, left), came <= left, horizon=1.0)
    >>> result = audit(known.y_true, risk, sample_weight=known.sample_weight, random_state=0)
    >>> result.tests["calibration_test"].result.reject
    False
    """
    times, events = as_numbers(time, "time"), as_numbers(event, "event")
    at, least = positive(horizon, "horizon"), fraction(least_followed, "least_followed")
    if not times.size:
        raise InputError("time", "is empty; at least one row is needed")
    if events.size != times.size:
        raise InputError("event", f"has {counted(events.size, 'row')} but time has {times.size:,}; they must match")
    _check_each("time", times, (times >= 0.0) & (times < math.inf), "a time must be finite and not negative")
    _check_each("event", events, (events == 0.0) | (events == 1.0), "it must be 0 or 1")
    stratum = np.zeros(times.size, np.int64) if strata is None else read_strata(strata, times.size)
    weight, smallest = np.zeros(times.size), 1.0
    known = (times >= at) | (events == 1.0)
    for k in range(int(stratum.max()) + 1):
        rows = np.flatnonzero(stratum == k)
        share, last = _followed(times[rows], events[rows] == 1.0, at)
        if last < least:
            where = "" if strata is None else f" in the stratum of row {rows[0]:,}"
            raise InputError(
                "horizon",
                f"is {at:g}, to which {last:.3g} of the rows are followed{where}; known ones would stand for too many",
                allowed=Ways(
                    f"take an earlier horizon, or least_followed below {last:.3g}",
                    f"take an earlier horizon, or --least-followed below {last:.3g}",
                )
                if last > 0.0
                else "take an earlier horizon" + ("" if strata is None else ", or columns of fewer strata"),
            )
        smallest = min(smallest, last)
        weight[rows] = np.where(known[rows], 1.0 / share, 0.0)
    outcome = ((times <= at) & (events == 1.0)).astype(np.int64)
    return CensoredOutcomes(outcome, weight, 1.0 / smallest, at, int(np.count_nonzero(~known)))


def read_strata(strata: Any, rows: int) -> IntArray:
    """Number of each row's stratum; what is wrong is said of `strata`."""
    try:
        if dimensions(strata) != 2:
            return read_groups(strata, rows)
        table = np.asarray(strata)
        each = np.column_stack([read_groups(table[:, column], rows) for column in range(table.shape[1])])
        return np.unique(each, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    except InputError as problem:
        raise InputError("strata", problem.problem, row=problem.row, allowed=problem.allowed) from None


def _followed(time: FloatArray, event: Any, horizon: float) -> tuple[FloatArray, float]:
    """Estimated probability to be followed as long as each row's time or the horizon, and to the horizon itself."""
    moment, place = np.unique(time, return_inverse=True)
    here = np.bincount(place, minlength=moment.size)
    events = np.bincount(place, event, moment.size)
    at_risk = here[::-1].cumsum()[::-1] - events  # events come before censoring at the same time
    censored = here - events
    stay = 1.0 - np.where(censored > 0.0, censored / np.maximum(at_risk, 1.0), 0.0)
    before = np.concatenate([[1.0], np.cumprod(stay)])  # up to each moment, without it
    share = before[np.searchsorted(moment, np.minimum(time, horizon), side="left")]
    last = float(before[np.searchsorted(moment, horizon, side="left")])
    return share, last


def _check_each(name: str, values: FloatArray, good: Any, allowed: str) -> None:
    if good.all():
        return
    row = int(np.argmin(good))
    if not np.isfinite(values[row]):
        raise InputError(name, f"row {row} is {values[row]}", row=row, allowed=FINITE)
    raise InputError(name, f"row {row} is {shown(values[row])}", row=row, allowed=allowed)
