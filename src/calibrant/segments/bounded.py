"""Mean errors of all segments that features make, bounded at once: is any of them proved beyond a limit?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant.door.coding import pooled
from calibrant.door.ends import Interval
from calibrant.door.outwards import at_least
from calibrant.door.values import Result, counted
from calibrant.scale.tables import Table
from calibrant.segments.asked import Asked, AskedOf
from calibrant.segments.finding import many_in_groups, read_to_search, taken_features
from calibrant.segments.formed import form, too_few_rows, units_of
from calibrant.segments.found_in_sums import summed_to_search
from calibrant.segments.row_bets import ends_of_rows
from calibrant.segments.totals import totals_of

_TOLD = 20
_NAMED = 3


@dataclass(frozen=True, slots=True, repr=False)
class BoundedSegment(Result):
    """A segment whose mean error is proved to be beyond the limit.

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
    """

    name: str
    n_rows: int
    bias: float
    bias_interval: Interval

    @property
    def proved(self) -> float:
        """What the mean error is at least."""
        return max(self.bias_interval.low, -self.bias_interval.high, 0.0)

    def summary(self) -> str:
        """One clause."""
        way = "too low" if self.bias > 0.0 else "too high"
        return f"{self.name}: predictions are at least {at_least(self.proved, 2)} {way} ({counted(self.n_rows, 'row')})"


@dataclass(frozen=True, slots=True, repr=False)
class BoundedSegments(Result):
    """What is proved of the mean errors of all segments.

    Attributes
    ----------
    verdict : {"beyond", "none beyond"}
        Whether a segment's mean error in the population is proved to be more than the limit.
    max_distance : float
        The limit.
    level : float
        Probability that any segment is said to be beyond that is not, at most.
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
    rows_needed : None
        More rows would decide nothing that is asked here.
    """

    verdict: Literal["beyond", "none beyond"]
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
    rows_needed: None = None

    def summary(self) -> str:
        """One sentence."""
        most = min(self.max_depth, len(self.features))
        made = f"made of {', '.join(self.features)}" + (f", up to {most} at a time," if most > 1 else "")
        made += f" (looked at together: {', '.join(self.together)})" if self.together else ""
        of = f"{counted(self.n_tested, 'segment')} {made}"
        if not self.beyond:
            proved = self.largest.proved
            rest = f"; the largest mean error that is proved is {at_least(proved, 2)}, {self.largest.name}"
            none = f"none of {of} is proved beyond {self.max_distance:g}{rest if proved > 0.0 else ''}"
            if self.provable >= 1.0:
                return f"{none}. In half of them or more no error could be proved: there are too few rows or groups"
            return f"{none}. In half of them or more only an error above about {self.provable:.2g} could be proved"
        be = "is" if self.n_beyond == 1 else "are"
        told = "; ".join(each.summary() for each in self.beyond[:_NAMED])
        more = self.n_beyond - min(_NAMED, len(self.beyond))
        return (
            f"beyond {self.max_distance:g}: {self.n_beyond:,} of {of} {be} proved so. {told}"
            f"{f'; and {more:,} more' if more else ''}"
        )


def bounded_in_table(
    table: Table,
    names: Mapping[str, str],
    features: tuple[str, ...] | None,
    asked: Asked,
    *,
    level: float,
    max_distance: float,
    max_weight: float | None = None,
    exclude_bad: bool = False,
) -> BoundedSegments:
    """Bound the mean error of every segment of a table, formed as is `asked`, at a level for all of them together."""
    taken = taken_features(table, names, features, "find")
    of = AskedOf(features is not None, trials=False, exclude_bad=exclude_bad, option="find", whatever_predicted=True)
    if table.many:
        if "groups" in names:
            raise many_in_groups()
        with table.lazily(names, taken, "find") as lazy:
            summed, _, _, lazy_ones, _ = summed_to_search(lazy, dict(names), taken, asked, of)
        totals, labels = summed.totals, {each.name: each.labels for each in lazy_ones}
        conditions = [summed.conditions(lazy_ones, i) for i in range(len(summed))]
        low, high = totals.population_intervals(level)
    else:
        rows, held, _, _ = read_to_search(table, names, taken, asked, of)
        if rows.count.sum() < asked.min_rows:
            raise too_few_rows(rows.count.sum(), asked.min_rows)
        # Candidates may depend on features alone, and bounds hold for any number of groups.
        alone = replace(rows, y_prob=np.full(rows.y_prob.size, 0.5), group=None)
        formed = form(units_of(alone, held), held, min(int(asked.max_depth), len(held)), asked.min_rows)
        totals, labels = totals_of(rows, formed), {each.name: each.labels for each in held}
        conditions = [formed.conditions(i) for i in range(len(formed))]
        if rows.group is None:
            low, high = ends_of_rows(rows, formed, level)
        else:
            low, high = totals.population_intervals(level, max_weight)
    proved = np.maximum(low, -high)
    order = np.argsort(-proved, kind="stable")
    n_beyond = int((proved > max_distance).sum())

    def told(i: int) -> BoundedSegment:
        name = " and ".join(conditions[i]) or "all rows"
        return BoundedSegment(
            name, int(totals.count[i]), float(totals.bias[i]), Interval(float(low[i]), float(high[i]))
        )

    return BoundedSegments(
        verdict="beyond" if n_beyond else "none beyond",
        max_distance=max_distance,
        level=level,
        n_rows=int(totals.count[0]),
        n_tested=len(conditions),
        n_beyond=n_beyond,
        beyond=tuple(told(int(i)) for i in order[: min(n_beyond, _TOLD)]),
        largest=told(int(order[0])),
        provable=max_distance + float(np.median(0.5 * (high - low))),
        features=tuple(labels),
        max_depth=int(asked.max_depth),
        together=tuple(pooled(labels)),
    )
