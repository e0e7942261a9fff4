"""Exact p-values at any sample size: outcomes are drawn again as calibrated predictions would have them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import RandomState, check_resamples, generator
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.kernels.sums import dot
from calibrant.resampling.joint import JointRows
from calibrant.threads import in_blocks

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
    """Values that the sums of groups can take, each with its probability, one after another."""

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


def too_few(worth: float, least: int = LEAST_GROUPS) -> str:
    """That groups are too few, in words: there may be many, of which a few hold most of the rows."""
    return f"too few groups (as good as {math.floor(worth)} equal ones; {least} are needed)"


def enough_for_signs(
    group: IntArray, v: FloatArray, weight: FloatArray, least: float | None = None
) -> npt.NDArray[np.bool_]:
    """Which rows lie in a range of v (1 - v), between powers of two, where groups are many and alike enough for signs.

    With s2 and s4 the second and fourth moments of the groups' sums there at their most dependent, (sum s2)^2 / sum s4
    is to be at least `least`, by default 30: an effective number of groups, less where events are rare. Outcomes have
    no part in it.
    """
    return number_for_signs(group, v, weight) >= (LEAST_GROUPS if least is None else least)


def worth_for_signs(rows: Rows) -> float:
    """So many equal groups as rows are worth where they are worth most; below 30 none of them has signs."""
    assert rows.group is not None
    weight = rows.count if rows.weight is None else rows.count * rows.weight
    return float(number_for_signs(rows.group, rows.y_prob, weight).max())


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
    few, total = (math.fsum(each.tolist()) for each in (variance[~signed], variance))
    share = few / total if total > 0.0 else 1.0  # of predictions near 0 squares may be 0
    share = min(0.5, max(_LEAST_SHARE, share))
    return min(1.0, by_signs / (1.0 - share), bound / share)


def log_tail_of_total(group: IntArray, v: FloatArray, weight: FloatArray, excesses: FloatArray) -> float:
    """Log of a p-value of the excess of all events, for any dependence within groups and any number of them.

    Chernoff's bound: exp is convex, so no dependence has a larger moment generating function. Both sides count.
    """
    steps = GroupSteps.of(group, v, weight)
    variance, excess = math.fsum(steps.moment(2).tolist()), math.fsum(excesses.tolist())
    if not variance > 0.0:
        return 0.0
    usual = excess / variance

    def bound(times: float) -> float:
        return steps.log_generating(times * usual) - times * usual * excess

    best = min(_EXPONENTS.tolist(), key=bound)
    return min(0.0, math.log(2.0) + min(bound(best * near) for near in _NEARBY.tolist()))


LEAST_SURPRISES = 5
"""Fewest with which `bootstrap_bounds` keeps its promise (docs/reproductions/few-surprises.md)."""

FEW_AND_WEIGHTED = "are too few to test weighted rows by groups, whose weights may tell outcomes"

Statistic = Callable[[FloatArray], float]
"""Takes the excess of ones over those expected, at each distinct prediction; larger is more extreme."""


@dataclass(frozen=True, slots=True, eq=False)
class Redraws:
    """Rows in the order of their predictions, and how their excess of events is drawn again."""

    # prediction, count, weight: (k,), of rows with one prediction and one weight, pooled where they are in no groups
    prediction: FloatArray
    count: FloatArray
    weight: FloatArray
    group: IntArray | None  # (k,): number of each row's group
    excess: FloatArray  # (k,): weighted events less those expected, as observed
    # takes a source of randomness, and gives another excess, as calibrated predictions would have it: outcomes are
    # redrawn with the predictions as their chances, together with weights that may tell them; of rows in groups the
    # signs of whole groups are
    again: Callable[[np.random.Generator], FloatArray]
    jointly: bool = False  # whether weights are drawn as well: then every row stands alone

    @classmethod
    def of(cls, rows: Rows) -> Redraws:
        """Prepare rows as tests take them; InputError if too few rows count."""
        if rows.group is not None:
            return cls._of_signs(rows)
        return cls._of_pairs(rows) if rows.jointly else cls._of_outcomes(rows)

    @classmethod
    def _of_pairs(cls, rows: Rows) -> Redraws:
        assert rows.weight is not None
        joint = JointRows.of(rows)
        ends = [np.flatnonzero(rows.mask & (rows.y_prob == each)) for each in (0.0, 1.0)]
        order = np.concatenate([ends[0], joint.order, ends[1]])
        v, weight, y = rows.y_prob[order], rows.weight[order], rows.y_true[order]
        draw, certain = joint.again(), (ends[0].size, ends[1].size)
        excess = weight * (y - v)
        return cls(v, np.ones(v.size), weight, None, excess, lambda rng: np.pad(draw(rng), certain), jointly=True)

    @classmethod
    def _of_outcomes(cls, rows: Rows) -> Redraws:
        lots = rows.lots
        v, count = np.ascontiguousarray(lots.prediction), lots.count.astype(np.int64)
        expected = count * v
        single = count == 1
        tied_count, tied = count[~single], v[~single]
        loose = v[single]

        def again(rng: np.random.Generator) -> FloatArray:
            ones = np.empty(v.size)
            ones[single] = rng.random(loose.size) < loose  # much cheaper than a binomial of one trial
            if tied.size:
                ones[~single] = rng.binomial(tied_count, tied)
            ones -= expected
            if rows.weight is not None:
                ones *= lots.weight
            return ones

        return cls(v, lots.count, lots.weight, None, lots.weight * (lots.ones - expected), again)

    @classmethod
    def _of_signs(cls, rows: Rows) -> Redraws:
        assert rows.group is not None
        one = np.broadcast_to(1.0, rows.y_prob.shape)
        columns = (rows.y_prob, one if rows.weight is None else rows.weight, rows.count, rows.y_true, rows.group)
        parts = [column[rows.mask] for column in columns]
        v, weight, count, ones, group = (column[np.lexsort(parts[::-1])] for column in parts)
        excess, n_groups = weight * (ones - count * v), int(group.max()) + 1
        return cls(v, count, weight, group, excess, lambda rng: random_signs(rng, n_groups)[group] * excess)

    @property
    def first(self) -> IntArray:
        """Index of the first row of each distinct prediction."""
        return np.flatnonzero(np.concatenate([[True], self.prediction[1:] != self.prediction[:-1]]))


def redrawn_pvalue(
    rows: Rows, statistic: Statistic, *, level: float, n_resamples: int, random_state: RandomState
) -> tuple[float, float]:
    """Observed statistic, and (1 + number of redrawn ones at least as large) / (1 + number of resamples).

    Of rows in groups signs are redrawn where groups are many and alike enough; the others' total has a bound, and each
    has a share of the level (docs/calibration-test.md). Beside weights that may tell outcomes nothing is bounded.
    Raises InputError if there are too few resamples to reject at this level at all, or all groups of weighted rows are
    too few.
    """
    check_resamples(n_resamples, level)
    redraws = Redraws.of(rows)
    first = redraws.first

    def value(excess: FloatArray) -> float:
        return statistic(np.asarray(np.add.reduceat(excess, first)))

    observed = value(redraws.excess)
    signed, joined_with_bound = by_signs_and_bound(rows, redraws)
    if signed is None:
        return observed, joined_with_bound(1.0)
    draws = resampled(lambda rng: value(signed.again(rng)), signed.prediction.size, n_resamples, random_state)
    return observed, joined_with_bound(pvalue_among(value(signed.excess), draws))


def by_signs_and_bound(rows: Rows, redraws: Redraws) -> tuple[Redraws | None, Callable[[float], float]]:
    """What is to be redrawn of rows, and how its p-value becomes that of all rows.

    Of rows in groups the excess stays where groups are many and alike enough for signs, and is 0 elsewhere: there the
    total has a bound, unless weights may tell outcomes. Nothing is redrawn where there are no such groups. Raises
    InputError if all groups of rows whose weights may tell outcomes are too few.
    """
    group, v = redraws.group, redraws.prediction
    if group is None:
        return redraws, float
    mass = redraws.weight * redraws.count
    signed = enough_for_signs(group, v, mass)
    if signed.all():
        return redraws, float
    part = replace(redraws, excess=redraws.excess * signed, again=lambda rng: redraws.again(rng) * signed)
    if rows.weight is not None and not rows.outcome_free:
        if not signed.any():
            raise InputError("groups", FEW_AND_WEIGHTED, allowed="more groups")
        return part, float
    few = ~signed
    bound = math.exp(log_tail_of_total(group[few], v[few], mass[few], redraws.excess[few]))
    if not signed.any():
        return None, lambda _: bound
    variance = redraws.weight * mass * v * (1.0 - v)
    return part, lambda pvalue: joined(pvalue, bound, variance, signed)


def random_signs(rng: np.random.Generator, shape: int | tuple[int, int]) -> FloatArray:
    """Draw 1 or -1, each with probability one half."""
    return np.asarray(2.0 * rng.integers(0, 2, shape) - 1.0)


def check_groups(rows: Rows, least: int = LEAST_GROUPS) -> None:
    """Refuse groups whose signs say too little: events, or non-events, that lie in the equal of a few groups.

    They are worth (sum x)^2 / sum x^2 equal groups, x being a group's events. Rare or clustered ones make a group's
    excess skew, which random signs are not: calibrated predictions would be rejected too often.
    """
    if rows.group is None:
        return
    weight = np.broadcast_to(1.0, rows.y_prob.shape) if rows.weight is None else rows.weight
    for what, number in (("events", rows.y_true), ("non-events", rows.count - rows.y_true)):
        masses = np.bincount(rows.group, weight * number)
        effective = float(masses.sum()) ** 2 / max(float((masses * masses).sum()), 1e-300)
        if effective < least:
            raise InputError("groups", f"{what} come from {too_few(effective, least)}")


def check_surprises(label: IntArray, prediction: FloatArray, instead: str, *, least: int = LEAST_SURPRISES) -> None:
    """Refuse rows in which chance shows too little of itself for a resample to be like a new sample.

    The sum of v (1 - v) is the variance of the number of events, and about their number where they are rare (or that
    of non-events); the sum of squares of y - v, about its mean, is what was seen of it: an error that all rows have in
    common is no chance.
    """
    error = label - prediction
    error = error - error.mean()
    expected, observed = dot(prediction, 1.0 - prediction), dot(error, error)
    if min(expected, observed) < least:
        raise InputError(
            "y_true",
            f"holds {observed:.3g} surprises, of which the predictions expect {expected:.3g}. They are sums of "
            f"v (1 - v), and of squares of y - v less its mean: where events are rare, about their number. Resampling "
            f"needs {least} of both; {instead}",
        )


def pvalue_among(observed: float, draws: FloatArray) -> float:
    """Share of the redrawn statistics, and the observed one itself, that are at least as large as it."""
    return float(pvalues_among(np.array([observed]), draws[:, None])[0])


def pvalues_among(observed: FloatArray, draws: FloatArray) -> FloatArray:
    """The same for several statistics at once, of shape (k,), redrawn ones of shape (resamples, k).

    Infinite statistics tie with infinite ones. What cannot be compared (there should be none) counts as at least as
    large, so that it never speaks against the predictions.
    """
    # Rounding must not make one of two equal statistics the larger.
    slack = np.where(np.isfinite(observed), 1e-12 * np.abs(observed), 0.0)
    smaller = draws < observed - slack
    return np.asarray((1.0 + (~smaller).sum(axis=0)) / (1.0 + len(draws)))


def joint_pvalue(statistics: FloatArray) -> float:
    """Share of the draws, the observed one first, whose smallest p-value among all of them is at most the observed.

    Of draws that share the smallest, the one with the largest standardised statistic comes first: without that, all
    that lead at some scale would tie. Both orders treat every draw alike, so that the level is exact.
    """
    draws = len(statistics)
    smallest = np.full(draws, draws)
    largest = np.full(draws, -math.inf)
    for column in statistics.T:
        spread = math.sqrt(float((column**2).mean()))
        if spread == 0.0:
            continue
        rising = np.sort(column)
        slack = 1e-12 * np.abs(column)  # rounding must not make one of two equal statistics the larger
        np.minimum(smallest, draws - np.searchsorted(rising, column - slack), out=smallest)
        np.maximum(largest, column / spread, out=largest)
    first, size = smallest[0], largest[0] - 1e-12 * abs(largest[0])
    return float(((smallest < first) | ((smallest == first) & (largest >= size))).sum() / draws)


def resampled(
    draw: Callable[[np.random.Generator], Any], rows: int, n_resamples: int, random_state: RandomState
) -> FloatArray:
    """Call `draw` once a resample, each with its own generator, so that threads cannot matter; results in order."""
    entropy = int(generator(random_state).integers(2**63))
    seeds = np.random.SeedSequence(entropy).spawn(n_resamples)
    results: list[Any] = [None] * n_resamples

    def fill(first: int, last: int) -> None:
        for k in range(first, last):
            results[k] = draw(np.random.default_rng(seeds[k]))

    in_blocks(fill, n_resamples, work=rows * n_resamples)
    return np.array(results, dtype=np.float64)


def running_shares(table: FloatArray) -> FloatArray:
    """Return running sums of class probabilities from which labels are drawn; each row ends at exactly 1.

    What a row misses 1 by is shared in proportion, so that no class is drawn more often for being the last.
    """
    running = np.cumsum(table, axis=1)
    return np.asarray(running / running[:, -1:])
