"""Groups of rows at their most dependent: one chance for all rows of a group.

Under calibration let y = 1 where U <= v, with one uniform U for each group. Of all ways in which a group's rows may
depend on one another, this has the largest mean of any convex function of their sum (docs/calibration-test.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray, IntArray

LEAST_GROUPS = 30
"""Fewest, in effect, whose signs are redrawn (docs/reproductions/test-levels.md)."""

_LEAST_SHARE = 0.01
"""Of the level, for the bound."""

_EXPONENTS = 2.0 ** np.arange(-4.0, 5.0)
"""Times the exponent that a normal sum would need."""
_NEARBY = 2.0 ** np.arange(-0.75, 1.0, 0.25)
_ROUNDING = 1e-13  # of each group's log


@dataclass(frozen=True, slots=True, eq=False)
class GroupSteps:
    """What the sums of groups can be, each with its probability, one after another."""

    # probability, value: (k,), of each value that a group's excess of events takes
    probability: FloatArray
    value: FloatArray
    first: IntArray  # (groups,): where each group's values begin

    @classmethod
    def of(cls, group: IntArray, v: FloatArray, weight: FloatArray) -> GroupSteps:
        """Steps of rows in numbered groups; `weight` is a row's own, times its trials."""
        order = np.lexsort((weight, v, group))
        order = order[_by_content(group[order], v[order], weight[order])]
        group, v, weight = group[order], v[order], weight[order]
        start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        at = np.cumsum(np.concatenate([[0], group[1:] != group[:-1]]))  # number of each row's group
        end = np.append(start[1:], v.size) - 1
        mean = np.add.reduceat(weight * v, start)
        past = np.cumsum(weight)
        upper = past[end][at] - past + weight  # of this row and those predicted higher in its group
        below = np.concatenate([[0.0], v[:-1]])
        below[start] = 0.0
        # After the rows of a group comes the value where U exceeds all its predictions.
        places = end + 1
        probability = np.insert(v - below, places, 1.0 - v[end])
        value = np.insert(upper - mean[at], places, -mean)
        return cls(probability, value, start + np.arange(start.size))

    def moment(self, power: int) -> FloatArray:
        """Central moment of each group's sum."""
        return np.asarray(np.add.reduceat(self.probability * self.value**power, self.first))

    def log_generating(self, exponent: float) -> float:
        """Log of the mean of exp(exponent * sum of all groups)."""
        lifted = exponent * self.value
        top = np.maximum.reduceat(lifted, self.first)
        sizes = np.diff(np.append(self.first, self.value.size))
        part = np.add.reduceat(self.probability * np.exp(lifted - np.repeat(top, sizes)), self.first)
        logs = top + np.log(part)
        # Added up exactly, so that no order of groups shows in the result.
        return math.fsum(logs.tolist()) + _ROUNDING * (math.fsum(np.abs(top).tolist()) + logs.size)


def _by_content(group: IntArray, v: FloatArray, weight: FloatArray) -> IntArray:
    """Order in which groups follow one another by what they hold, so that their numbers do not show in any last bit."""
    new = np.concatenate([[True], group[1:] != group[:-1]])
    start = np.flatnonzero(new)
    sizes = np.diff(np.append(start, group.size))
    keys = np.lexsort((np.add.reduceat(weight * v, start), np.add.reduceat(v, start), v[start], sizes))
    place = np.empty(start.size, np.int64)
    place[keys] = np.arange(start.size)
    return np.argsort(place[np.cumsum(new) - 1], kind="stable")


def worth_of(worth: float, least: int = LEAST_GROUPS) -> str:
    """So many equal groups as there are in effect, and as are needed, in words."""
    return f"worth {math.floor(worth)}; {least} needed"


def too_few(worth: float, least: int = LEAST_GROUPS) -> str:
    """That groups are too few, in words."""
    return f"too few groups ({worth_of(worth, least)})"


def enough_for_signs(
    group: IntArray, v: FloatArray, weight: FloatArray, least: float | None = None
) -> npt.NDArray[np.bool_]:
    """Which rows lie in a range of v (1 - v), between powers of two, where groups are many and alike enough for signs.

    With s2 and s4 the second and fourth moments of the groups' sums there at their most dependent, (sum s2)^2 / sum s4
    is to be at least `least`, by default 30: an effective number of groups, less where events are rare. Outcomes have
    no part in it.
    """
    return number_for_signs(group, v, weight) >= (LEAST_GROUPS if least is None else least)


def number_for_signs(group: IntArray, v: FloatArray, weight: FloatArray) -> FloatArray:
    """The effective number of groups in each row's range, of `enough_for_signs`; infinite where nothing can vary."""
    chance = -np.frexp(v * (1.0 - v))[1].astype(np.int64)
    number = np.full(chance.size, np.inf)
    for each in np.unique(chance):
        here = chance == each
        steps = GroupSteps.of(group[here], v[here], weight[here])
        second, fourth = (math.fsum(steps.moment(power).tolist()) for power in (2, 4))
        if fourth > 0.0:
            number[here] = second**2 / fourth
    return number


def joined(by_signs: float, bound: float, variance: FloatArray, signed: npt.NDArray[np.bool_]) -> float:
    """One p-value of both kinds of rows: each has its share of the level, the bound's by its share of the variance.

    `variance` is that of each row were rows independent, so that no outcome has a part in the shares.
    """
    total = math.fsum(variance.tolist())
    share = min(0.5, max(_LEAST_SHARE, math.fsum(variance[~signed].tolist()) / total if total > 0.0 else 0.5))
    return min(1.0, by_signs / (1.0 - share), bound / share)


def log_tail_of_total(group: IntArray, v: FloatArray, weight: FloatArray, excesses: FloatArray) -> float:
    """Log of a p-value of the excess of all events, for any dependence within groups and any number of them.

    Chernoff's bound: exp is convex, so no dependence has a larger moment generating function. Both sides count.
    """
    steps = GroupSteps.of(group, v, weight)
    variance, excess = math.fsum(steps.moment(2).tolist()), math.fsum(excesses.tolist())
    if excess == 0.0 or not variance > 0.0:
        return 0.0
    usual = excess / variance

    def bound(times: float) -> float:
        return steps.log_generating(times * usual) - times * usual * excess

    best = min(_EXPONENTS.tolist(), key=bound)
    return min(0.0, math.log(2.0) + min(bound(best * near) for near in _NEARBY.tolist()))
