"""Segments that a gate bounds and searches, of a table's rows, of groups of them, or of rows that were summed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from functools import cached_property, partial
from typing import Literal

import numpy as np

from calibrant.door.coding import pooled
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval, in_points, in_short
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted, known_rows
from calibrant.inference.bounds.gate import GateResult, asked, calibration_gate, calibration_gate_on_sample
from calibrant.kernels import sketching
from calibrant.segments import catalogue as say
from calibrant.segments.by_groups import ByGroups, ByRows
from calibrant.segments.candidates import (
    FollowedRows,
    SegmentCandidates,
    each_set,
    form,
    too_few_rows,
    units_of,
    weightless,
)
from calibrant.segments.evidence import Totals, totals_of
from calibrant.segments.features import Feature, LazyFeature
from calibrant.segments.request import LEAST_LEVEL, Search
from calibrant.segments.search import many_in_groups, read_to_search, searched, taken_features
from calibrant.segments.sums import RESOLUTION, CellBlock, Summed, TailSearch, summed_again, summed_to_search
from calibrant.tables.table import Table

_FEW = 199  # redraws, after which most tables of calibrated predictions are known to be passed
Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class CalledOff:
    """A segment that the search calls off by more than noise."""

    at: int  # which of the segments that are bounded
    # whether the evidence is of a part of its predictions, or of the other sign than its mean error, so that this does
    # not say how far off it is
    in_part: bool
    pvalue: Callable[[], float]  # gives the p-value, adjusted for all segments


def _beyond_noise(search: SegmentCandidates | Summed, pvalue: FloatArray, level: float) -> list[int]:
    """Numbers of the segments that are called off, all rows together not among them."""
    return [int(i) for i in np.flatnonzero(pvalue <= level) if search.chosen[i]]


def _numbers(candidates: SegmentCandidates | Summed) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
    """The bounded segments by what they fix: those that are searched are among them."""
    return {key: i for i, key in enumerate(zip(candidates.chosen, candidates.values, strict=True))}


@dataclass(frozen=True, eq=False)
class OfRows:
    """Segments of rows that were read: of single rows, or of groups of them."""

    rows: Rows
    features: list[Feature]
    candidates: SegmentCandidates
    totals: Totals
    max_weight: float | None
    followed: FollowedRows | None = None
    weightless: tuple[str, ...] = ()  # segments whose rows have no weight

    @classmethod
    def read(
        cls, table: Table, names: Mapping[str, str], searchable: tuple[str, ...], search: Search, most: float | None
    ) -> OfRows:
        """Form the segments by features and numbers of rows alone: they are fixed before an outcome is seen."""
        read = read_to_search(table, names, searchable, search)
        rows, features, followed = read.rows, read.features, read.followed
        n_rows = rows.count.sum() if followed is None else followed.prediction.size
        if n_rows < search.min_rows:
            raise too_few_rows(n_rows, search.min_rows)
        # Bounds hold for any number of groups, and any weights; of rows without weight nothing is known.
        known = None if rows.weight is None else rows.mask.astype(np.float64)
        half = np.full(rows.y_prob.size, 0.5)
        alone = replace(rows, y_prob=half, group=None, weight=known, outcome_free=True, fractions=None)
        if followed is not None:
            followed = replace(followed, prediction=np.full(followed.prediction.size, 0.5))
        depth = min(int(search.max_depth), len(features))
        candidates = form(units_of(alone, features), features, depth, search.min_rows, followed)
        most = None if most is None else most / read.largest  # as weights are in `rows`
        silent = weightless(rows, features, depth, search.min_rows, followed)
        return cls(rows, features, candidates, totals_of(rows, candidates), most, read.followed, silent)

    @cached_property
    def n_unknown(self) -> IntArray:
        """Rows of each segment whose outcome at a horizon is not known."""
        known = self.totals.count.astype(np.int64)
        return np.zeros_like(known) if self.followed is None else self.followed.of(self.candidates)[0] - known

    @property
    def few_known(self) -> tuple[str, ...]:
        """Names of those that are none because too few of their outcomes are known."""
        return self.candidates.few_known

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The features and their values."""
        return {each.name: each.labels for each in self.features}

    def conditions(self, i: int) -> tuple[str, ...]:
        """Conditions of a segment, in words."""
        return self.candidates.conditions(i)

    @cached_property
    def _at_knots(self) -> FloatArray:
        return at_knots(self.rows, self.candidates)

    def ends(self, miss: float) -> Ends:
        """Ends for the population's mean of outcome less prediction, each passed with probability `miss` at most."""
        if self.totals.by_group is None:
            return ends_at_knots(self._at_knots, miss)
        return self.totals.population_intervals(2.0 * len(self.candidates) * miss, self.max_weight)

    def called_off(self, search: Search) -> list[CalledOff]:
        """Segments that `find_segments` flags in these rows. InputError if nothing can be tested."""
        of = self.rows, self.features
        if search.n_resamples > _FEW and search.level >= LEAST_LEVEL * (1 + search.n_resamples) / (1 + _FEW):
            # The first of the same redraws: where so many are as extreme, no others make the smallest p-value as small.
            _, _, evidence = searched(*of, replace(search, n_resamples=_FEW), self.followed)
            if evidence.pvalue.min() * (1 + _FEW) / (1 + search.n_resamples) > search.level:
                return []
        units, candidates, evidence = searched(*of, search, self.followed)
        number, segments = _numbers(self.candidates), []
        for i in _beyond_noise(candidates, evidence.pvalue, search.level):
            at, (direction, span) = number[candidates.chosen[i], candidates.values[i]], evidence.direction(i)
            first, last = candidates.ends[i]
            v = units.prediction[candidates.order[[first, last - 1]]]
            other = (self.totals.bias[at] > 0.0) != (direction == "too low")
            segments.append(CalledOff(at, bool(other or span != tuple(v)), partial(_smaller, evidence, i)))
        return segments

    def gate(self, i: int, max_distance: float, level: float) -> GateResult | None:
        """The gate of a segment that was named beforehand."""
        rows, inside = self.rows, np.ones(self.rows.y_prob.size, np.bool_)
        for feature, value in zip(self.candidates.chosen[i], self.candidates.values[i], strict=True):
            inside &= self.features[feature].code == value
        weight, group = (None if each is None else each[inside] for each in (rows.weight, rows.group))
        return calibration_gate(
            rows.y_true[inside],
            rows.y_prob[inside],
            sample_weight=weight,
            groups=group,
            max_weight=None if weight is group is None else self.max_weight,
            max_distance=max_distance,
            level=level,
        )


@dataclass(frozen=True, eq=False)
class OfSums:
    """Segments of rows that were summed by cells of predictions."""

    summed: Summed
    blocks: list[CellBlock]
    features: list[LazyFeature]

    @classmethod
    def read(cls, table: Table, names: Mapping[str, str], searchable: tuple[str, ...], search: Search) -> OfSums:
        """As `OfRows.read`, of a table that is summed where it lies."""
        if "groups" in names:
            raise many_in_groups()
        if "sample_weight" in names or search.sampling_fractions is not None:
            argument = "sample_weight" if "sample_weight" in names else "sampling_fractions"
            raise InputError(argument, say.SUMS_HIDE_WEIGHTS, allowed="take some of its rows")
        with table.lazily(names, searchable, "find") as lazy:
            candidates, blocks, _, features, _ = summed_to_search(lazy, dict(names), searchable, search)
        return cls(candidates, blocks, features)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The features and their values."""
        return {each.name: each.labels for each in self.features}

    @property
    def totals(self) -> Totals:
        """Sums over the rows of each segment."""
        return self.summed.totals

    @property
    def n_unknown(self) -> IntArray:
        """None is unknown: a horizon is of rows that are read."""
        return np.zeros(self.totals.count.size, np.int64)

    @property
    def few_known(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def weightless(self) -> tuple[str, ...]:
        """None: weights are of rows that are read."""
        return ()

    def conditions(self, i: int) -> tuple[str, ...]:
        """Conditions of a segment, in words."""
        return self.summed.conditions(self.features, i)

    def ends(self, miss: float) -> Ends:
        """Ends for the population's mean of outcome less prediction, each passed with probability `miss` at most."""
        return self.totals.population_intervals(2.0 * len(self.summed) * miss)

    def called_off(self, search: Search) -> list[CalledOff]:
        """Segments that `find_segments` flags in these sums. InputError if nothing can be tested."""
        candidates = summed_again(self.blocks, self.features, search)
        evidence = TailSearch.of(candidates, float(search.level))
        number, segments = _numbers(self.summed), []
        for i in _beyond_noise(candidates, evidence.pvalue, search.level):
            at = number[candidates.chosen[i], candidates.values[i]]
            other = (self.totals.bias[at] > 0.0) != evidence.low_side[i]
            in_part = bool(other or evidence.where[i] != (0.0, 1.0))
            segments.append(CalledOff(at, in_part, partial(float, evidence.pvalue[i])))
        return segments

    def gate(self, i: int, max_distance: float, level: float) -> GateResult | None:
        """The gate of a segment, rows of a cell moved by half its width at most; None where sums leave rows out."""
        candidates, part = self.summed, slice(self.summed.starts[i], self.summed.ends[i])
        index, cells = candidates.index[part], candidates.cells[part]
        count, ones, offset = (cells[:, each] for each in (sketching.COUNT, sketching.ONES, sketching.OFFSET))
        if count.sum() < self.totals.count[i]:  # predicted 0 or 1, of which cells hold nothing
            return None
        low, high = cells[:, sketching.LOW], cells[:, sketching.HIGH]
        at = np.clip((index // 2 + offset / count) / RESOLUTION, low, high)
        sample = Sample(at, count, ones, count, ones, count, high - low, binary=True)
        moved = 0.5 / RESOLUTION
        return calibration_gate_on_sample(sample, max_distance=max_distance, level=level, displacement=moved)


def _smaller(search: ByRows | ByGroups, i: int) -> float:
    """By redraws, or by a tail where none of them is as extreme."""
    return min(float(search.pvalue[i]), search.tail(i))


def read_to_bound(
    table: Table, names: Mapping[str, str], search: Search, *, max_weight: float | None = None
) -> OfRows | OfSums:
    """Read or sum a table, and form its segments."""
    search = replace(search, option="find", any_prediction=True)
    searchable = taken_features(table, names, search)
    if table.many:
        return OfSums.read(table, names, searchable, search)
    return OfRows.read(table, names, searchable, search, max_weight)


_TOLD = 20
_NAMED = 3
_LEAST_MORE = 1.1  # times the rows: an estimate is no finer
_MOST_ROWS = 10**15  # more than that is said to be no number of rows


@dataclass(frozen=True, slots=True, repr=False)
class BoundedSegment(Result):
    """A segment, and what is proved of its mean error.

    Attributes
    ----------
    name : str
        What holds in its rows.
    n_rows : int
        How many there are.
    bias : float
        Mean of outcome less prediction.
    bias_interval : Interval
        Holds the population's mean of outcome less prediction in the segment, in all segments at once.
    pvalue : float or None
        Of its calibration, adjusted for all segments, where the search calls it off; else None.
    in_part : bool
        Whether it is called off for a part of its predictions, so that the mean error does not say how far off it is.
    n_unknown : int
        Rows besides, whose outcome at a horizon is not known.
    """

    name: str
    n_rows: int
    bias: float
    bias_interval: Interval
    pvalue: float | None = None
    in_part: bool = False
    n_unknown: int = 0

    @property
    def proved(self) -> float:
        """Lower bound of the mean error's size."""
        return max(self.bias_interval.low, -self.bias_interval.high, 0.0)

    def summary(self) -> str:
        """One clause."""
        way, rows = "too low" if self.bias > 0.0 else "too high", known_rows(self.n_rows, self.n_unknown)
        if self.pvalue is None:
            return (
                f"{self.name}: predictions are at least {in_points(in_short(self.proved, ROUND_FLOOR))} {way} ({rows})"
            )
        proved = in_points(in_short(self.proved, ROUND_FLOOR))
        least = f", at least {proved} in the population" if self.proved > 0.0 else ""
        mean = f"{in_points(in_short(abs(self.bias)))} {way} on these rows{least}"
        error = say.PART_OFF.format(mean=mean) if self.in_part else mean
        return f"{self.name}: predictions are {error} ({rows}, p = {self.pvalue:.2g})"


@dataclass(frozen=True, slots=True, repr=False)
class BoundedSegments(Result):
    """Proved bounds on the mean errors of all segments.

    Attributes
    ----------
    verdict : {"beyond", "undecided", "none beyond"}
        "Beyond" if a segment's mean error in the population is proved to be more than the limit. Else "undecided" if
        the search calls a segment off by more than noise that is not proved to be within it, or nothing can be tested.
    max_distance : float
        The limit.
    level : float
        Probability that any segment is said to be beyond that is not, at most: already the gate's level divided by the
        number of its checks. "Within" and the search of segments take the gate's whole level.
    n_rows : int
        Rows of the table, at a horizon those whose outcome is known.
    n_tested, n_beyond : int
        Segments that were formed, and those that are proved beyond.
    beyond : tuple of BoundedSegment
        The first 20 of these, the largest proved error first.
    largest : BoundedSegment
        The segment with the largest proved error.
    provable : float
        In half of the segments or more, a mean error must be about as large to be proved beyond the limit.
    features : tuple of str
        What the segments are made of.
    max_depth : int
        Features that a segment fixes at most.
    together : tuple of str
        Values that were too rare or too many to be looked at one by one.
    n_undecided : int
        Segments that are called off and not proved within the limit, where none is proved beyond it.
    undecided : tuple of BoundedSegment
        The first 20 of these, the largest error first.
    untested : str or None
        Why the search could test nothing; None where it tested.
    rows_needed : int or None
        About how many rows of the table would decide about those that are undecided; None if none is, or no number
        would.
    n_unknown : int
        Rows of the table besides, whose outcome at a horizon is not known; `rows_needed` has them.
    few_known : tuple of str
        Segments that are not among those formed, because too few of their outcomes are known.
    weightless : tuple of str
        Segments that are not among them, because their rows have no weight, and how many rows they have.
    """

    _parts = "beyond"
    _columns = ("name", "n_rows", "bias", "bias_interval_low", "bias_interval_high", "pvalue", "in_part", "n_unknown")
    verdict: Literal["beyond", "undecided", "none beyond"]
    max_distance: float
    level: float
    n_rows: int
    n_tested: int
    n_beyond: int
    beyond: tuple[BoundedSegment, ...]
    largest: BoundedSegment
    provable: float
    features: tuple[str, ...]
    max_depth: int
    together: tuple[str, ...] = ()
    n_undecided: int = 0
    undecided: tuple[BoundedSegment, ...] = ()
    untested: str | None = None
    rows_needed: int | None = None
    n_unknown: int = 0
    few_known: tuple[str, ...] = ()
    weightless: tuple[str, ...] = ()

    def summary(self) -> str:
        """One sentence."""
        most = min(self.max_depth, len(self.features))
        made = f"made of {', '.join(self.features)}" + (f", up to {most} at a time," if most > 1 else "")
        made += f" (looked at together: {', '.join(self.together)})" if self.together else ""
        made += f" ({say.few_known_in_words(self.few_known)})" if self.few_known else ""
        made += f" ({say.weightless_in_words(self.weightless)})" if self.weightless else ""
        of, limit = f"{counted(self.n_tested, 'segment')} {made}", in_points(asked(self.max_distance))
        if self.verdict == "beyond":
            verdict = f"beyond {limit}: {self.n_beyond:,} of {of} {say.be(self.n_beyond)} proved so"
            return f"{verdict}. {_told(self.beyond, self.n_beyond)}"
        if self.verdict == "undecided":
            verdict = f"undecided about {limit}: none of {of} is proved beyond it"
            if self.untested is not None:
                return say.UNTESTED.format(verdict=verdict, why=self.untested)
            off = say.NOT_WITHIN.format(n=self.n_undecided, be=say.be(self.n_undecided))
            return f"{verdict}, but {off}. {_told(self.undecided, self.n_undecided)}"
        proved = self.largest.proved
        least = in_points(in_short(proved, ROUND_FLOOR))
        rest = say.LARGEST.format(least=least, name=self.largest.name)
        none = f"none of {of} is proved beyond {limit}{rest if proved > 0.0 else ''}"
        if self.provable >= 1.0:
            return say.NO_ERROR_PROVED.format(none=none)
        return say.NONE_BELOW.format(none=none, size=in_points(in_short(self.provable)))


def _told(segments: tuple[BoundedSegment, ...], n: int) -> str:
    more = n - min(_NAMED, len(segments))
    return "; ".join(each.summary() for each in segments[:_NAMED]) + (f"; and {more:,} more" if more else "")


def bounded_in_table(
    table: Table,
    names: Mapping[str, str],
    search: Search,
    *,
    level: float,
    max_distance: float,
    shares: int = 1,
    max_weight: float | None = None,
) -> BoundedSegments:
    """Bound the mean error of every segment of a table, formed as `request` says, and search them where none is beyond.

    "Beyond" takes one of so many shares of the level, for all segments together, and each "within" all of it; the
    level of the search is that of `request` (docs/gate.md).
    """
    source = read_to_bound(table, names, search, max_weight=max_weight)
    bounds, ends = bounded(source, int(search.max_depth), level / shares, max_distance)
    return bounds if bounds.n_beyond else _with_called_off(bounds, ends, source, search, level)


def bounded(source: OfRows | OfSums, max_depth: int, level: float, max_distance: float) -> tuple[BoundedSegments, Ends]:
    """The result of the bounds alone, at a level for all segments together, and the bounds."""
    totals = source.totals
    low, high = ends = source.ends(level / (2.0 * totals.count.size))
    proved = np.maximum(low, -high)
    order = np.argsort(-proved, kind="stable")
    n_beyond = int((proved > max_distance).sum())
    bounds = BoundedSegments(
        verdict="beyond" if n_beyond else "none beyond",
        max_distance=max_distance,
        level=level,
        n_rows=int(totals.count[0]),
        n_tested=totals.count.size,
        n_beyond=n_beyond,
        beyond=tuple(_segment(source, ends, int(i)) for i in order[: min(n_beyond, _TOLD)]),
        largest=_segment(source, ends, int(order[0])),
        provable=max_distance + float(np.median(0.5 * (high - low))),
        features=tuple(source.labels),
        max_depth=max_depth,
        together=tuple(pooled(source.labels)),
        n_unknown=int(source.n_unknown[0]),
        few_known=source.few_known,
        weightless=source.weightless,
    )
    return bounds, ends


def _segment(source: OfRows | OfSums, ends: Ends, i: int, off: CalledOff | None = None) -> BoundedSegment:
    totals, ends_of_it = source.totals, Interval(*(float(end[i]) for end in ends))
    name = " and ".join(source.conditions(i)) or "all rows"
    pvalue, in_part = (None, False) if off is None else (off.pvalue(), off.in_part)
    count, n_unknown = int(totals.count[i]), int(source.n_unknown[i])
    return BoundedSegment(name, count, float(totals.bias[i]), ends_of_it, pvalue, in_part, n_unknown)


def _with_called_off(
    bounds: BoundedSegments, ends: Ends, source: OfRows | OfSums, search: Search, level: float
) -> BoundedSegments:
    """Bounds that prove no segment beyond: undecided where the search flags one that is not proved within."""
    within = source.ends(level)
    try:
        off = source.called_off(search)
    except InputError as problem:
        low, high = within
        if max(float(high.max()), -float(low.min())) <= bounds.max_distance:  # of every segment: nothing is left open
            return bounds
        return replace(bounds, verdict="undecided", untested=str(problem))
    times = _not_within(off, ends, within, source, bounds.max_distance, level)
    if not times:
        return bounds
    worst_first = sorted(times, key=lambda each: -abs(float(source.totals.bias[each.at])))
    needed = max(times.values()) * (bounds.n_rows + bounds.n_unknown)
    return replace(
        bounds,
        verdict="undecided",
        n_undecided=len(times),
        undecided=tuple(_segment(source, ends, each.at, each) for each in worst_first[:_TOLD]),
        rows_needed=math.ceil(needed) if needed < _MOST_ROWS else None,
    )


def _not_within(
    off: list[CalledOff], ends: Ends, within: Ends, source: OfRows | OfSums, max_distance: float, level: float
) -> dict[CalledOff, float]:
    """Those that are not proved within the limit, and how many times the rows would decide about each.

    What must be within it is the mean error and, where that does not say how far off the segment is, its distance from
    calibration. Each "within" has the whole level: of a segment that is beyond, this one statement has to be wrong.
    """
    low, high = within
    times = {}
    for each in off:
        if max(high[each.at], -low[each.at]) > max_distance:
            times[each] = _times(source.totals.bias, ends, within, each.at, max_distance)
        elif each.in_part:
            gate = source.gate(each.at, max_distance, level)
            if gate is None or gate.verdict != "within":
                needed = None if gate is None else gate.rows_needed
                times[each] = math.inf if needed is None else needed / source.totals.count[each.at]
    return times


def _times(bias: FloatArray, ends: Ends, within: Ends, i: int, limit: float) -> float:
    """Factor by which rows must grow to prove a segment's mean error, if it stays, within or beyond the limit.

    The ends come nearer as one over the root of the rows.
    """
    size = float(bias[i])
    if abs(size) < limit:
        root = max((float(within[1][i]) - size) / (limit - size), (size - float(within[0][i])) / (limit + size))
    elif abs(size) > limit:
        root = (size - float(ends[0][i]) if size > 0.0 else float(ends[1][i]) - size) / (abs(size) - limit)
    else:
        return math.inf
    return max(_LEAST_MORE, root * root)


# Of the errors from -1 to 1. Rows between two knots are put on both: this costs power, never level.
_PARTS = 32
_ODDS = 2.0 ** np.arange(-9, 5)
# Each has as much of the capital: large ones win where rows are few, small ones where they are many.
_STAKES = _ODDS / (1.0 + _ODDS)
_STEPS = 2048  # to 1, of the means that are looked at
_AT_ONCE = 1024  # segments


def at_knots(rows: Rows, candidates: SegmentCandidates) -> FloatArray:
    """Rows of each segment at each knot, of outcomes less predictions without weights: (segments, 33)."""
    error = rows.y_true - rows.y_prob
    order = np.argsort(error)  # so that sums do not depend on the order of rows
    x = error[order]
    code = [each.code[order] for each in candidates.features]
    at, shares = _knots(x)
    rows_at = np.empty((len(candidates), _PARTS + 1))
    for first, n, of_rows, segment in each_set(candidates, code, x.size):
        place, share = segment * (_PARTS + 1) + at[of_rows], shares[of_rows]
        size = n * (_PARTS + 1)
        counts = np.bincount(place, 1.0 - share, size) + np.bincount(place + 1, share, size)
        rows_at[first : first + n] = counts.reshape(n, _PARTS + 1)
    return rows_at


def _knots(x: FloatArray) -> tuple[IntArray, FloatArray]:
    """The knot below each error, and the share that the one above has of it."""
    place = 0.5 * _PARTS * (x + 1.0)
    below = np.minimum(place.astype(np.int64), _PARTS - 1)
    return below, place - below


def ends_at_knots(shares: FloatArray, miss: float) -> tuple[FloatArray, FloatArray]:
    """Ends for means of errors with `shares` (k, 33) at the knots, at `miss` for each end."""
    mean = np.arange(1 - _STEPS, _STEPS) / _STEPS
    z = np.linspace(0.0, 2.0, _PARTS + 1) / (1.0 + mean[:, None]) - 1.0
    log_factors = np.log1p(_STAKES[:, None] * z[:, None, :])
    means = np.concatenate([[-1.0], mean])
    parts = [slice(i, i + _AT_ONCE) for i in range(0, len(shares), _AT_ONCE)]
    low, high = (
        np.concatenate([means[_refuted(each[part], log_factors, miss)] for part in parts]) * way
        for each, way in ((shares, 1.0), (shares[:, ::-1], -1.0))
    )
    return low, high


def _refuted(shares: FloatArray, log_factors: FloatArray, miss: float) -> IntArray:
    """Number of means refuted, from the least on: capital falls with the mean, so that halving finds the last."""
    needed = math.log(_STAKES.size / miss) * (1.0 + 1e-9)
    sure, open_ = np.zeros(len(shares), np.int64), np.full(len(shares), len(log_factors))
    while (open_ > sure).any():
        middle = (sure + open_ + 1) // 2
        won = (log_factors[middle - 1] @ shares[:, :, None])[:, :, 0]
        is_refuted = np.logaddexp.reduce(won, axis=1) >= needed
        sure, open_ = np.where(is_refuted, middle, sure), np.where(is_refuted, open_, middle - 1)
    return sure
