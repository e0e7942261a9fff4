"""Mean errors of all segments that features make, bounded at once: is any of them proved beyond a limit?

Where none is, each that the search calls off must be proved within, as if it had been named beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant.door.coding import pooled
from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.outwards import at_least
from calibrant.door.values import Result, counted
from calibrant.scale.tables import Table
from calibrant.segments.asked import Asked
from calibrant.segments.to_bound import CalledOff, Ends, OfRows, OfSums, read_to_bound

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
    """

    name: str
    n_rows: int
    bias: float
    bias_interval: Interval
    pvalue: float | None = None
    in_part: bool = False

    @property
    def proved(self) -> float:
        """What the mean error is at least."""
        return max(self.bias_interval.low, -self.bias_interval.high, 0.0)

    def summary(self) -> str:
        """One clause."""
        way, rows = "too low" if self.bias > 0.0 else "too high", counted(self.n_rows, "row")
        if self.pvalue is None:
            return f"{self.name}: predictions are at least {at_least(self.proved, 2)} {way} ({rows})"
        least = f", at least {at_least(self.proved, 2)} in the population" if self.proved > 0.0 else ""
        mean = f"{abs(self.bias):.2g} {way} on these rows{least}"
        said = f"off in a part of their range, on average {mean}" if self.in_part else mean
        return f"{self.name}: predictions are {said} ({rows}, p = {self.pvalue:.2g})"


@dataclass(frozen=True, slots=True, repr=False)
class BoundedSegments(Result):
    """What is proved of the mean errors of all segments.

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
        Rows of the table.
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
    """

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

    def summary(self) -> str:
        """One sentence."""
        most = min(self.max_depth, len(self.features))
        made = f"made of {', '.join(self.features)}" + (f", up to {most} at a time," if most > 1 else "")
        made += f" (looked at together: {', '.join(self.together)})" if self.together else ""
        of = f"{counted(self.n_tested, 'segment')} {made}"
        if self.verdict == "beyond":
            be = "is" if self.n_beyond == 1 else "are"
            said = f"beyond {self.max_distance:g}: {self.n_beyond:,} of {of} {be} proved so"
            return f"{said}. {_told(self.beyond, self.n_beyond)}"
        if self.verdict == "undecided":
            said = f"undecided about {self.max_distance:g}: none of {of} is proved beyond it"
            if self.untested is not None:
                return f"{said}, and none can be tested: {self.untested}"
            be = "is" if self.n_undecided == 1 else "are"
            off = f"{self.n_undecided:,} {be} off by more than noise and not proved within"
            return f"{said}, but {off}. {_told(self.undecided, self.n_undecided)}"
        proved = self.largest.proved
        rest = f"; the largest mean error that is proved is {at_least(proved, 2)}, {self.largest.name}"
        none = f"none of {of} is proved beyond {self.max_distance:g}{rest if proved > 0.0 else ''}"
        if self.provable >= 1.0:
            return f"{none}. At least half of these segments are so small that no error could have been proved."
        size = f"an error below about {self.provable:.2g} could not have been proved"
        return f"{none}. At least half of these segments are so small that {size}."


def _told(segments: tuple[BoundedSegment, ...], n: int) -> str:
    more = n - min(_NAMED, len(segments))
    return "; ".join(each.summary() for each in segments[:_NAMED]) + (f"; and {more:,} more" if more else "")


def bounded_in_table(
    table: Table,
    names: Mapping[str, str],
    features: tuple[str, ...] | None,
    asked: Asked,
    *,
    level: float,
    max_distance: float,
    shares: int = 1,
    max_weight: float | None = None,
    exclude_bad: bool = False,
) -> BoundedSegments:
    """Bound the mean error of every segment of a table, formed as is `asked`, and search them where none is beyond.

    "Beyond" takes one of so many shares of the level, for all segments together, and each "within" all of it; the
    level of the search is that of `asked` (docs/gate.md).
    """
    held = read_to_bound(table, names, features, asked, max_weight=max_weight, exclude_bad=exclude_bad)
    found, ends = bounded(held, int(asked.max_depth), level / shares, max_distance)
    return found if found.n_beyond else _with_called_off(found, ends, held, asked, level)


def bounded(held: OfRows | OfSums, max_depth: int, level: float, max_distance: float) -> tuple[BoundedSegments, Ends]:
    """What the bounds say alone, at a level for all segments together, and the bounds."""
    totals = held.totals
    low, high = ends = held.ends(level / (2.0 * totals.count.size))
    proved = np.maximum(low, -high)
    order = np.argsort(-proved, kind="stable")
    n_beyond = int((proved > max_distance).sum())
    found = BoundedSegments(
        verdict="beyond" if n_beyond else "none beyond",
        max_distance=max_distance,
        level=level,
        n_rows=int(totals.count[0]),
        n_tested=totals.count.size,
        n_beyond=n_beyond,
        beyond=tuple(_segment(held, ends, int(i)) for i in order[: min(n_beyond, _TOLD)]),
        largest=_segment(held, ends, int(order[0])),
        provable=max_distance + float(np.median(0.5 * (high - low))),
        features=tuple(held.labels),
        max_depth=max_depth,
        together=tuple(pooled(held.labels)),
    )
    return found, ends


def _segment(held: OfRows | OfSums, ends: Ends, i: int, off: CalledOff | None = None) -> BoundedSegment:
    totals, ends_of_it = held.totals, Interval(*(float(end[i]) for end in ends))
    name = " and ".join(held.conditions(i)) or "all rows"
    said = (None, False) if off is None else (off.pvalue(), off.in_part)
    return BoundedSegment(name, int(totals.count[i]), float(totals.bias[i]), ends_of_it, *said)


def _with_called_off(
    found: BoundedSegments, ends: Ends, held: OfRows | OfSums, asked: Asked, level: float
) -> BoundedSegments:
    """Of bounds by which no segment is beyond: undecided where the search calls one off that is not proved within."""
    within = held.ends(level)
    try:
        off = held.called_off(asked)
    except InputError as problem:
        low, high = within
        if max(float(high.max()), -float(low.min())) <= found.max_distance:  # of every segment: nothing is left open
            return found
        return replace(found, verdict="undecided", untested=str(problem))
    times = _not_within(off, ends, within, held, found.max_distance, level)
    if not times:
        return found
    worst_first = sorted(times, key=lambda each: -abs(float(held.totals.bias[each.at])))
    needed = max(times.values()) * found.n_rows
    return replace(
        found,
        verdict="undecided",
        n_undecided=len(times),
        undecided=tuple(_segment(held, ends, each.at, each) for each in worst_first[:_TOLD]),
        rows_needed=math.ceil(needed) if needed < _MOST_ROWS else None,
    )


def _not_within(
    off: list[CalledOff], ends: Ends, within: Ends, held: OfRows | OfSums, max_distance: float, level: float
) -> dict[CalledOff, float]:
    """Those that are not proved within the limit, and how many times the rows would decide about each.

    What must be within it is the mean error and, where that does not say how far off the segment is, its distance from
    calibration. Each "within" has the whole level: of a segment that is beyond, this one statement has to be wrong.
    """
    low, high = within
    times = {}
    for each in off:
        if max(high[each.at], -low[each.at]) > max_distance:
            times[each] = _times(held.totals.bias, ends, within, each.at, max_distance)
        elif each.in_part:
            gate = held.gate(each.at, max_distance, level)
            if gate is None or gate.verdict != "within":
                needed = None if gate is None else gate.rows_needed
                times[each] = math.inf if needed is None else needed / held.totals.count[each.at]
    return times


def _times(bias: FloatArray, ends: Ends, within: Ends, i: int, limit: float) -> float:
    """How many times the rows would prove a segment's mean error within or beyond the limit, were it what it is.

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
