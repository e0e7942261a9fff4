"""Evidence of every segment: of independent rows by redrawn outcomes, of groups of rows by random signs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.special import logsumexp
from calibrant.inference.testing import components
from calibrant.inference.testing import group_evidence as evidence
from calibrant.inference.testing.components import chernoff
from calibrant.inference.testing.result import LEAST
from calibrant.kernels.excursions import squared_evidence
from calibrant.resampling.redraw import (
    FEW_AND_WEIGHTED,
    LEAST_GROUPS,
    GroupSteps,
    enough_for_signs,
    log_tail_of_total,
    random_signs,
)
from calibrant.segments.candidates import (
    FeatureLots,
    SegmentCandidates,
    each_set,
    effective_number,
    grouped,
    in_many_groups,
    squared,
    summed,
    sums_by_group,
)
from calibrant.segments.evidence import (
    STRETCH,
    ResampleSearch,
    Totals,
    observed_climbs,
    reached_by_noise,
    scored,
    search,
    spare,
    stepped_down,
)
from calibrant.segments.request import BY_REDRAWS, BY_TAIL
from calibrant.threads import in_blocks

_AT_ONCE = 64  # resamples
# So many equal groups a range of predictions is worth whose rows have signs: measured, not derived.
# Less than what tests ask, which look at each range by itself (docs/found-segments.md).
_LEAST_ALIKE = 5.0
_SHARES = 2.0 * np.array(evidence.LOG_SHARES)


@dataclass(frozen=True, slots=True, eq=False)
class ByGroups:
    """Evidence of all segments by random signs of groups; it answers as `ByRows` does."""

    units: FeatureLots
    candidates: SegmentCandidates
    parts: GroupSums
    level: float
    # (segments,): evidence, comparable across segments: by signs, or what is proved, on a scale on which both are
    # beyond noise from `critical` on
    score: FloatArray
    pvalue: FloatArray  # (segments,): adjusted for all segments
    critical: float  # scores above it are beyond noise, in one step
    # error, chance_error: largest climb of any segment, over the weight of all units, and about what it stays below in
    # calibrated predictions
    error: float
    chance_error: float

    @classmethod
    def of(
        cls, units: FeatureLots, candidates: SegmentCandidates, n_resamples: int, level: float, seed: np.uint64
    ) -> ByGroups:
        """Give groups random signs, which all segments share, and step down from the highest score.

        A part's score is the square of its total over the sum of its groups' squares, which no sign changes; of the
        outcomes the divisor is never less than the variance that predictions state. That only lowers the score: where
        groups and their opposites are as likely the level is exact (docs/found-segments.md).
        """
        parts = parts_of(units, candidates)
        if not parts.many.any() and (units.weight != 1.0).any():
            raise InputError("groups", FEW_AND_WEIGHTED, allowed="more groups")
        scores = np.empty((len(candidates), 1 + n_resamples))
        scores[:, 0] = _scores(parts, candidates, np.where(parts.many, parts.total**2 / parts.spread, -math.inf))

        def fill(first: int, last: int) -> None:
            for start in range(first, last, _AT_ONCE):
                signs = random_signs(np.random.default_rng([int(seed), start]), (_AT_ONCE, units.n_groups))
                total = parts.sums @ signs[: last - start].T
                part = _scores(parts, candidates, total**2 / parts.squares[:, None])
                scores[:, 1 + start : 1 + start + _AT_ONCE] = part

        in_blocks(fill, n_resamples, work=parts.sums.nnz * n_resamples, multiple=_AT_ONCE)
        highest = np.sort(scores[:, 1:].max(axis=0))
        critical = float(highest[-1 - spare(1 + n_resamples, BY_REDRAWS * level)])
        excess, every = units.weight * (units.ones - units.count * units.prediction), np.arange(len(candidates))
        logs = _log_proved(units, parts, candidates, every, excess, (parts.whole[0], parts.whole[1]))
        needed = _needed(candidates, parts.share)
        by_signs = np.minimum(1.0, stepped_down(scores) / BY_REDRAWS)
        weight = float((units.weight * units.count).sum())
        values = observed_climbs(units, candidates, units.prediction, candidates.ends)
        return cls(
            units,
            candidates,
            parts,
            level,
            score=np.maximum(scores[:, 0], 2.0 * (logs - needed + math.log(level)) + critical),
            pvalue=np.minimum(by_signs, np.exp(np.clip(needed - logs, -700.0, 0.0))),
            critical=critical,
            error=float(np.maximum(values[:, 1], -values[:, 2]).max()) / weight,
            chance_error=reached_by_noise(np.sqrt(parts.spread[parts.first] + parts.unlike), level) / weight,
        )

    @property
    def n_by_bound(self) -> int:
        """Segments in which signs say nothing, so that only the proved bound speaks."""
        return int((~np.logical_or.reduceat(self.parts.many, self.parts.first)).sum())

    def tail(self, segment: int) -> float:
        """A p-value for all segments at once, in which what is proved was counted already."""
        return float(self.pvalue[segment])

    def scored(self, prediction: FloatArray, segments: IntArray) -> FloatArray:
        """Scores of some segments, were the units predicted otherwise."""
        if not segments.size:
            return np.empty(0)
        parts, candidates = self.parts, self.candidates
        own = np.flatnonzero(np.isin(parts.segment, segments))
        of, sums = parts.segment[own], sums_again(self.units, candidates, prediction, parts, own, parts.signed)
        total, squares = summed(sums), np.maximum(squared(sums), 1e-290)
        score = total**2 / np.maximum(squares, parts.variance[own]) + _SHARES[parts.interval[own]]
        whole = parts.interval[own] == 0
        every = np.ones(parts.signed.size, np.bool_)
        sums = sums if parts.signed.all() else sums_again(self.units, candidates, prediction, parts, own, every)
        both = summed(sums)[whole], np.maximum(squared(sums), 1e-290)[whole]
        excess = self.units.weight * (self.units.ones - self.units.count * prediction)
        logs = _log_proved(self.units, parts, candidates, of[whole], excess, both)
        scores = np.empty(len(candidates))
        needed = _needed(candidates, parts.share * self.level)[of[whole]]
        scores[of[whole]] = 2.0 * (logs - needed) + self.critical
        many = parts.many[own]
        np.maximum.at(scores, of[many], (score - candidates.handicap[of])[many])
        return np.asarray(scores[segments])

    def direction(self, i: int) -> tuple[str, tuple[float, float]]:
        """Direction and range of predictions of the strongest evidence."""
        parts = self.parts
        here = np.flatnonzero(parts.segment == i)
        strength = parts.total[here] ** 2 / parts.spread[here] + _SHARES[parts.interval[here]]
        some = bool(parts.many[here].any())
        best = int(np.argmax(np.where(parts.many[here], strength, -math.inf))) if some else 0
        total = parts.total[here[best]] if some else parts.whole[0][i]
        v = self.units.prediction[self.candidates.order[slice(*self.candidates.ends[i])]]
        interval = int(parts.interval[here[best]])
        low, high = evidence.bounds_of(interval)
        inside = v if interval == 0 else v[(v >= low) & ((v < high) | (high == 1.0))]
        return ("too low" if total > 0.0 else "too high"), (float(inside[0]), float(inside[-1]))

    def detectable(self, i: int) -> float:
        """Smallest total, of either sign, that is beyond noise in one step."""
        whole = self.parts.first[i]
        if not self.parts.many[whole]:
            return math.inf
        return math.sqrt((self.critical + self.candidates.handicap[i] - _SHARES[0]) * self.parts.spread[whole])

    def intervals(self, totals: Totals, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean over each segment's rows of chance less prediction, in all segments at once.

        What signs, of groups about the segment's own mean, do not reject; where they say nothing, Hoeffding's.
        """
        low, high = totals.intervals(self.parts.share * level)
        assert totals.by_group is not None
        whole = self.parts.first
        spread = np.maximum(totals.by_group.about(totals.bias), self.parts.variance[whole]) + self.parts.unlike
        reach = np.sqrt((self.critical + self.candidates.handicap - _SHARES[0]) * spread) / totals.weight
        many, mean = self.parts.many[whole], totals.prediction / totals.weight
        low = np.where(many, np.maximum(totals.bias - reach, -mean), low)
        return low, np.where(many, np.minimum(totals.bias + reach, 1.0 - mean), high)


def _needed(candidates: SegmentCandidates, share: float) -> FloatArray:
    """The log of the e-value that each segment needs; its share of the error is one over the root of those like it."""
    all_shares = float(logsumexp(-0.5 * candidates.handicap))
    return np.asarray(0.5 * candidates.handicap + all_shares - math.log(share))


def _scores(parts: GroupSums, candidates: SegmentCandidates, squares: FloatArray) -> FloatArray:
    """The largest over each segment's parts, of shape (parts,) or (parts, draws)."""
    scores = (squares.T + (_SHARES[parts.interval] - candidates.handicap[parts.segment])).T
    return np.asarray(np.maximum.reduceat(scores, parts.first, axis=0))


def _log_proved(
    units: FeatureLots,
    parts: GroupSums,
    candidates: SegmentCandidates,
    segments: IntArray,
    excess: FloatArray,
    of_all: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Minus logs of p-values of whole segments that are proved for groups of any kind and number.

    That of an e-value, or where there are no signs of the total at its most dependent, if less: twice the lesser.
    None is known where rows have weights, which may tell outcomes.
    """
    if (units.weight != 1.0).any():
        return np.full(segments.size, -math.inf)
    whole = parts.first[segments]
    most = parts.expected[whole], parts.lacking[whole]
    sides = evidence.log_evalues(*of_all, *most, candidates.second[segments])
    logs = np.logaddexp(*sides) - math.log(2.0)
    for k in np.flatnonzero(~parts.many[whole]):
        rows = candidates.order[slice(*candidates.ends[segments[k]])]
        of = grouped(units)[rows], units.prediction[rows], (units.weight * units.count)[rows]
        logs[k] = max(logs[k], -log_tail_of_total(*of, excess[rows])) - math.log(2.0)
    return np.asarray(logs)


_MOST_SUMS = 150_000_000  # sums of a group in a part of a segment, kept in memory


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums:
    """Segments, and equal intervals of predictions in them: whole, in 2, 4 and 8, where groups are enough."""

    # segment, interval: (parts,), of each part the segment, rising, and the number of its interval; that of the whole,
    # 0, comes first
    segment: IntArray
    interval: IntArray
    # (units,): of units in ranges of predictions where groups are alike enough for signs; of these alone are the sums
    signed: npt.NDArray[np.bool_]
    whole: FloatArray  # (2, segments): the same of each segment, of all units
    unlike: float  # variance of the total of the others, at their most dependent
    few: bool  # whether no segment has signs, for events, or non-events, are to be expected in few groups
    sums: sparse.csr_array  # (parts, groups): each group's weighted events less those expected
    # total, squares: (parts,), their sums, and those of their squares
    total: FloatArray
    squares: FloatArray
    # (parts,): of their total, were all predictions calibrated and any two rows of a group correlated as they are on
    # the whole
    variance: FloatArray
    # (parts,): whether events, and non-events, lie in the equal of `LEAST_GROUPS` groups or more
    many: npt.NDArray[np.bool_]
    # expected, lacking: (parts,), the most that a group's predictions add up to, and what they lack of certain events
    expected: FloatArray
    lacking: FloatArray

    @property
    def first(self) -> IntArray:
        """Index at which each segment begins."""
        return np.flatnonzero(np.diff(self.segment, prepend=-1))

    @property
    def share(self) -> float:
        """Share of the error for bounds: all of it where predictions say that no segment has signs."""
        return 1.0 if self.few else BY_TAIL

    @property
    def spread(self) -> FloatArray:
        """Divisor of a part's squared total: the squares, but never less than the variance."""
        return np.maximum(self.squares, self.variance)


def parts_of(units: FeatureLots, candidates: SegmentCandidates) -> GroupSums:
    """All segments, and their intervals of predictions in which events are to be expected in groups enough."""
    v, mass, group = units.prediction, units.weight * units.count, grouped(units)
    signed = enough_for_signs(group, v, mass, _LEAST_ALIKE)
    few = ~signed
    unlike = GroupSteps.of(group[few], v[few], mass[few]).moment(2) if few.any() else np.zeros(1)
    deviation = np.sqrt(v * (1.0 - v)) * signed
    noise, events = units.weight * mass * deviation**2, units.weight * units.ones
    excess = events - mass * v
    columns = (excess * signed, mass * deviation, mass * v, mass * (1.0 - v), events * signed, (mass - events) * signed)
    records, wholes = [], []
    correlation, n_sums = 0.0, 0
    order = np.argsort(group, kind="stable")
    for first, n, rows, segment in each_set(candidates, units.codes[:, order], v.size):
        of, place = _placed(v, order[rows], segment)
        enough = in_many_groups(units, of, place, n * evidence.N_INTERVALS)
        enough[:: evidence.N_INTERVALS] = True
        number = np.where(enough, np.cumsum(enough) - 1, -1)[place]
        of, number = of[number >= 0], number[number >= 0]
        shape = int(enough.sum()), units.n_groups

        sums, together, expected, lacking, occurred, not_occurred = (
            sums_by_group(number, group[of], column[of], shape) for column in columns
        )
        alone = np.bincount(number, noise[of], shape[0])
        shared, squares = squared(together) - alone, np.maximum(squared(sums), 1e-290)
        if not first:
            correlation = _correlation(units, signed, float(squares[0]), float(shared[0]))
        many = [effective_number(summed(each), squared(each)) >= LEAST_GROUPS for each in (occurred, not_occurred)]
        numbers = np.flatnonzero(enough)
        of_all = sums_by_group(segment, group[order[rows]], excess[order[rows]], (n, units.n_groups))
        wholes.append((summed(of_all), np.maximum(squared(of_all), 1e-290)))
        n_sums += sums.nnz
        if n_sums > _MOST_SUMS:
            raise InputError(
                "features",
                f"make segments in which more than {_MOST_SUMS:,} sums of groups are to be kept",
                allowed="name fewer features, lower max_depth or take some of the groups, all rows of each",
            )
        records.append(
            (
                first + numbers // evidence.N_INTERVALS,
                numbers % evidence.N_INTERVALS,
                sums,
                summed(sums),
                squares,
                alone + correlation * shared,
                many[0] & many[1] & (not candidates.few),
                expected.max(axis=1).toarray().ravel(),
                lacking.max(axis=1).toarray().ravel(),
            )
        )
    each_segment, interval, matrices, *others = zip(*records, strict=True)
    sums = sparse.vstack(matrices, format="csr")
    whole = np.concatenate(wholes, axis=1)
    parts = np.concatenate(each_segment), np.concatenate(interval), signed, whole
    rest = map(np.concatenate, others)
    return GroupSums(*parts, math.fsum(unlike.tolist()), candidates.few, sums, *rest)


def _correlation(units: FeatureLots, signed: npt.NDArray[np.bool_], squares: float, shared: float) -> float:
    """Correlation of two rows of a group in the noise of calibrated predictions, from all pairs of rows; at least 0."""
    v, w, ones = units.prediction, units.weight * signed, units.ones
    own = float((w * w * (ones * (1.0 - v) ** 2 + (units.count - ones) * v * v)).sum())
    return min(1.0, max(0.0, (squares - own) / shared)) if shared > 0.0 else 0.0


def _placed(v: FloatArray, rows: IntArray, segment: IntArray) -> tuple[IntArray, IntArray]:
    """Each of some rows at every depth of intervals, and the number of its interval in its segment there."""
    parts = 2 ** np.arange(len(evidence.SHARES))[:, None]
    interval = parts - 1 + np.minimum((v[rows] * parts).astype(np.int64), parts - 1)
    return np.tile(rows, parts.size), (segment * evidence.N_INTERVALS + interval).ravel()


def sums_again(
    units: FeatureLots,
    candidates: SegmentCandidates,
    prediction: FloatArray,
    parts: GroupSums,
    of: IntArray,
    mask: npt.NDArray[np.bool_],
) -> sparse.csr_array:
    """The groups' sums in the parts `of`, under other predictions; intervals stay, and only units in `mask` count."""
    excess = units.weight * (units.ones - units.count * prediction) * mask
    key = parts.segment[of] * evidence.N_INTERVALS + parts.interval[of]
    matrices, order = [], np.argsort(grouped(units), kind="stable")
    for first, n, rows, segment in each_set(candidates, units.codes[:, order], prediction.size):
        start = first * evidence.N_INTERVALS
        here = slice(*np.searchsorted(key, [start, start + n * evidence.N_INTERVALS]))
        if here.start == here.stop:
            continue
        number = np.full(n * evidence.N_INTERVALS, -1)
        number[key[here] - start] = np.arange(here.stop - here.start)
        inside, place = _placed(units.prediction, order[rows], segment)
        at = number[place]
        inside = inside[at >= 0]
        shape = here.stop - here.start, units.n_groups
        matrices.append(sums_by_group(at[at >= 0], grouped(units)[inside], excess[inside], shape))
    return sparse.vstack(matrices, format="csr")


_SCALES = np.arange(60)


@dataclass(frozen=True, slots=True, eq=False)
class ByRows:
    """Evidence of all segments by redrawn outcomes, made of a `ResampleSearch`."""

    units: FeatureLots
    candidates: SegmentCandidates
    redraws: ResampleSearch
    n_resamples: int

    @classmethod
    def of(
        cls, units: FeatureLots, candidates: SegmentCandidates, n_resamples: int, level: float, seed: np.uint64
    ) -> ByRows:
        """Redraw, at the share of the level that redraws have."""
        return cls(units, candidates, search(units, candidates, n_resamples, BY_REDRAWS * level, seed), n_resamples)

    @property
    def score(self) -> FloatArray:
        """Evidence, comparable across segments."""
        return self.redraws.score

    @property
    def pvalue(self) -> FloatArray:
        """Adjusted for all segments, by redraws alone."""
        return np.minimum(1.0, self.redraws.pvalue / BY_REDRAWS)

    @property
    def critical(self) -> float:
        """Scores above it are beyond noise, in one step."""
        return self.redraws.critical

    @property
    def error(self) -> float:
        """Largest climb of any segment, over the weight of all units."""
        return self.redraws.error

    @property
    def chance_error(self) -> float:
        """Bound that it stays below in calibrated predictions."""
        return self.redraws.chance_error

    def tail(self, i: int) -> float:
        """A p-value for all segments at once from Chernoff's bound on a segment's total, where no redraw is as extreme.

        Of both sides of it. A segment's share of the error goes as one over the root of the number of those that fix
        as many features.
        """
        if self.redraws.pvalue[i] * (self.n_resamples + 1) >= 1.5 or self.units.joint is not None:
            return 1.0  # there is no such bound where weights are drawn as well
        units, handicap = self.units, self.candidates.handicap
        rows = self.candidates.order[slice(*self.candidates.ends[i])]
        one = np.ones(rows.size)
        v, count, ones, weight = (each[rows] for each in (units.prediction, units.count, units.ones, units.weight))
        part = components.UncertainLots(v, count, ones, weight, rows.size, None, 0.0)
        all_shares = float(np.exp(-0.5 * handicap).sum())
        shares = math.log(2.0 * all_shares / BY_TAIL) + 0.5 * handicap[i]
        return max(LEAST, math.exp(chernoff(part, one if self.redraws.total[i] > 0.0 else -one) + shares))

    def scored(self, prediction: FloatArray, segments: IntArray) -> FloatArray:
        """Scores of some segments, were the units predicted otherwise."""
        return scored(self.units, self.candidates, prediction, segments)

    def direction(self, i: int) -> tuple[str, tuple[float, float]]:
        """Direction and range of predictions of the strongest evidence."""
        units, redraws = self.units, self.redraws
        moments = self.candidates.second[i], self.candidates.third[i]
        rows = self.candidates.order[slice(*self.candidates.ends[i])]
        v, rank = units.prediction[rows], units.rank[rows]
        rise, fall = (squared_evidence(each, *moments) for each in (redraws.rise[i], redraws.fall[i]))
        if squared_evidence(redraws.total[i], *moments) >= max(rise, fall) - STRETCH:
            return ("too low" if redraws.total[i] > 0.0 else "too high"), (float(v[0]), float(v[-1]))
        last = np.flatnonzero(np.append(rank[1:] != rank[:-1], True))
        sign = 1.0 if rise >= fall else -1.0
        excess = sign * units.weight[rows] * (units.ones[rows] - units.count[rows] * v)
        sums = np.concatenate([[0.0], np.cumsum(excess)[last]])
        end = int(np.argmax(sums - np.minimum.accumulate(sums)))
        start = int(np.argmin(sums[: end + 1]))
        return ("too low" if sign > 0.0 else "too high"), (float(v[last[start]]), float(v[last[end - 1]]))

    def detectable(self, i: int) -> float:
        """Smallest total, of either sign, that is beyond noise in one step; by bisection."""
        second, third = float(self.candidates.second[i]), float(self.candidates.third[i])
        needed = self.redraws.critical + float(self.candidates.handicap[i])
        most = 0.0
        for skew in (third, -third):
            low, high = 0.0, math.sqrt(second)
            while squared_evidence(high, second, skew) <= needed:
                low, high = high, 2.0 * high
            for _ in _SCALES:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if squared_evidence(middle, second, skew) <= needed else (low, middle)
            most = max(most, high)
        return most

    def intervals(self, totals: Totals, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends for the mean over each segment's rows of chance less prediction, in all segments at once."""
        return totals.intervals(level)
