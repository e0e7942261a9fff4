"""C-statistic and Brier score with intervals, by what each row contributes."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from calibrant.decisions.cases import Cases
from calibrant.decisions.estimate import Estimate
from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.kernels.sums import dot
from calibrant.measures.discrimination import auc_from_sample


def c_statistic(cases: Cases, level: float) -> Estimate:
    """Area under the ROC curve: DeLong's variance and Brunner and Munzel's degrees of freedom, on the log-odds.

    Newcombe's interval where the area is 0 or 1.
    """
    sample, w = cases.sample, cases.weight
    total = sample.total_weight
    events = sample.weighted_outcome / total
    others = np.maximum(sample.weight - sample.weighted_outcome, 0.0) / total
    rate, rest = float(events.sum()), float(others.sum())
    found = auc_from_sample(sample)
    if found is None:
        return Estimate(math.nan, Interval(0.0, 1.0))
    below = (others.cumsum() - 0.5 * others) / rest  # what an event at each prediction is ranked above
    above = 1.0 - (events.cumsum() - 0.5 * events) / rate
    area = float(round(found)) if abs(found - round(found)) <= 1e-12 else found  # all pairs, or none, up to rounding
    place = np.searchsorted(sample.prediction, cases.v)
    moved = w * (cases.y * (below[place] - area) / rate + (1.0 - cases.y) * (above[place] - area) / rest)
    error = _error(cases, moved)
    z = float(ndtri(1.0 - 0.5 * level))
    if area in (0.0, 1.0) or error <= 1e-15:
        return Estimate(area, _newcombe(area, *_sizes(cases, rate, rest), z))
    far = float(stdtrit(_freedom(cases, moved), 1.0 - 0.5 * level))
    odds, half = math.log(area / (1.0 - area)), far * error / (area * (1.0 - area))
    return Estimate(area, Interval(*(1.0 / (1.0 + math.exp(-min(max(odds + s * half, -700), 700))) for s in (-1, 1))))


def _freedom(cases: Cases, moved: FloatArray) -> float:
    """Degrees of freedom of a variance that has a part from events and a part from other rows (Satterthwaite)."""
    parts: list[tuple[float, float]] = []
    for share in (cases.y, 1.0 - cases.y):
        held, units = cases.by_unit(cases.weight * share), cases.by_unit(moved * share)
        number = float(held.sum()) ** 2 / float((held**2).sum())
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

    Few events make the mean skewed: a cubic of the standardised mean is not (Hall 1992).
    """
    each = cases.y * (1.0 - cases.v) ** 2 + (1.0 - cases.y) * cases.v**2
    value = dot(cases.weight, each)
    moved = cases.weight * (each - value)
    error, units, far = _error(cases, moved), cases.by_unit(moved), cases.normal_quantile(level)
    skew: float = float((units**3).sum()) / max(float((units**2).sum()), 1e-300) ** 1.5

    def straight(z: float) -> float:
        """Where the standardised mean is when the cubic of it is z."""
        if abs(skew) < 1e-9:
            return z
        return 3.0 / skew * (float(np.cbrt(1.0 + skew * (z - skew / 6.0))) - 1.0)

    low, high = value - error * straight(far), value - error * straight(-far)
    return Estimate(value, Interval(max(0.0, min(low, value)), min(1.0, max(high, value))))


def _error(cases: Cases, moved: FloatArray) -> float:
    """Standard error, from what each row moves the value by."""
    units = cases.by_unit(moved)
    return math.sqrt(cases.n_units / max(cases.n_units - 1, 1) * float((units**2).sum()))
