"""Segments that a gate bounds and searches, of a table's rows, of groups of them, or of rows that were summed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference.gate import GateResult, calibration_gate, calibration_gate_on_sample
from calibrant.kernels import sketching
from calibrant.scale.tables import Table
from calibrant.segments.asked import LEAST_LEVEL, Asked, AskedOf
from calibrant.segments.by_groups import ByGroups
from calibrant.segments.by_rows import ByRows
from calibrant.segments.features import Feature
from calibrant.segments.finding import many_in_groups, read_to_search, searched, taken_features
from calibrant.segments.formed import Formed, form, too_few_rows, units_of
from calibrant.segments.found_in_sums import TailSearch, summed_again, summed_to_search
from calibrant.segments.lazy_features import LazyFeature
from calibrant.segments.row_bets import at_knots, ends_at_knots
from calibrant.segments.sums import RESOLUTION, Block, Summed
from calibrant.segments.totals import Totals, totals_of

_FEW = 199  # redraws, after which most tables of calibrated predictions are known to be passed
Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class CalledOff:
    """A segment that the search calls off by more than noise.

    Attributes
    ----------
    at : int
        Which of the segments that are bounded.
    in_part : bool
        Whether the evidence is of a part of its predictions, or of the other sign than its mean error, so that this
        does not say how far off it is.
    pvalue : callable
        Gives the p-value, adjusted for all segments.
    """

    at: int
    in_part: bool
    pvalue: Callable[[], float]


def _beyond_noise(search: Formed | Summed, pvalue: FloatArray, level: float) -> list[int]:
    """Numbers of the segments that are called off, all rows together not among them."""
    return [int(i) for i in np.flatnonzero(pvalue <= level) if search.chosen[i]]


def _numbers(bounded: Formed | Summed) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
    """The bounded segments by what they fix: those that are searched are among them."""
    return {key: i for i, key in enumerate(zip(bounded.chosen, bounded.values, strict=True))}


@dataclass(frozen=True, eq=False)
class OfRows:
    """Segments of rows that were read: of single rows, or of groups of them."""

    rows: Rows
    features: list[Feature]
    formed: Formed
    totals: Totals
    max_weight: float | None

    @classmethod
    def read(
        cls,
        table: Table,
        names: Mapping[str, str],
        taken: tuple[str, ...],
        asked: Asked,
        of: AskedOf,
        most: float | None,
    ) -> OfRows:
        """Form the segments by features and numbers of rows alone: they are fixed before an outcome is seen."""
        rows, held, _, _ = read_to_search(table, names, taken, asked, of)
        if rows.count.sum() < asked.min_rows:
            raise too_few_rows(rows.count.sum(), asked.min_rows)
        # Bounds hold for any number of groups.
        alone = replace(rows, y_prob=np.full(rows.y_prob.size, 0.5), group=None)
        formed = form(units_of(alone, held), held, min(int(asked.max_depth), len(held)), asked.min_rows)
        return cls(rows, held, formed, totals_of(rows, formed), most)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The features and their values."""
        return {each.name: each.labels for each in self.features}

    def conditions(self, i: int) -> tuple[str, ...]:
        """What holds in a segment."""
        return self.formed.conditions(i)

    @cached_property
    def _at_knots(self) -> FloatArray:
        return at_knots(self.rows, self.formed)

    def ends(self, miss: float) -> Ends:
        """Ends for the population's mean of outcome less prediction, each passed with probability `miss` at most."""
        if self.rows.group is None:
            return ends_at_knots(self._at_knots, miss)
        return self.totals.population_intervals(2.0 * len(self.formed) * miss, self.max_weight)

    def called_off(self, asked: Asked) -> list[CalledOff]:
        """What `find_segments` calls off in these rows.

        Raises
        ------
        InputError
            If nothing can be tested.
        """
        if asked.n_resamples > _FEW and asked.level >= LEAST_LEVEL * (1 + asked.n_resamples) / (1 + _FEW):
            # The first of the same redraws: where so many are as extreme, no others make the smallest p-value as small.
            _, _, found = searched(self.rows, self.features, replace(asked, n_resamples=_FEW))
            if found.pvalue.min() * (1 + _FEW) / (1 + asked.n_resamples) > asked.level:
                return []
        units, formed, found = searched(self.rows, self.features, asked)
        number, told = _numbers(self.formed), []
        for i in _beyond_noise(formed, found.pvalue, asked.level):
            at, (direction, span) = number[formed.chosen[i], formed.values[i]], found.direction(i)
            first, last = formed.ends[i]
            v = units.prediction[formed.order[[first, last - 1]]]
            other = (self.totals.bias[at] > 0.0) != (direction == "too low")
            told.append(CalledOff(at, bool(other or span != tuple(v)), partial(_smaller, found, i)))
        return told

    def gate(self, i: int, max_distance: float, level: float) -> GateResult | None:
        """The gate of a segment that was named beforehand."""
        rows, held = self.rows, np.ones(self.rows.y_prob.size, np.bool_)
        for feature, value in zip(self.formed.chosen[i], self.formed.values[i], strict=True):
            held &= self.features[feature].code == value
        group = None if rows.group is None else rows.group[held]
        y_true, y_prob, most = rows.y_true[held], rows.y_prob[held], self.max_weight
        return calibration_gate(y_true, y_prob, groups=group, max_weight=most, max_distance=max_distance, level=level)


@dataclass(frozen=True, eq=False)
class OfSums:
    """Segments of rows that were summed by cells of predictions."""

    summed: Summed
    blocks: list[Block]
    features: list[LazyFeature]

    @classmethod
    def read(cls, table: Table, names: Mapping[str, str], taken: tuple[str, ...], asked: Asked, of: AskedOf) -> OfSums:
        """As `OfRows.read`, of a table that is summed where it lies."""
        if "groups" in names:
            raise many_in_groups()
        with table.lazily(names, taken, "find") as lazy:
            summed, blocks, _, features, _ = summed_to_search(lazy, dict(names), taken, asked, of)
        return cls(summed, blocks, features)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The features and their values."""
        return {each.name: each.labels for each in self.features}

    @property
    def totals(self) -> Totals:
        """Sums over the rows of each segment."""
        return self.summed.totals

    def conditions(self, i: int) -> tuple[str, ...]:
        """What holds in a segment."""
        return self.summed.conditions(self.features, i)

    def ends(self, miss: float) -> Ends:
        """Ends for the population's mean of outcome less prediction, each passed with probability `miss` at most."""
        return self.totals.population_intervals(2.0 * len(self.summed) * miss)

    def called_off(self, asked: Asked) -> list[CalledOff]:
        """What `find_segments` calls off in these sums.

        Raises
        ------
        InputError
            If nothing can be tested.
        """
        formed = summed_again(self.blocks, self.features, asked)
        found = TailSearch.of(formed, float(asked.level))
        number, told = _numbers(self.summed), []
        for i in _beyond_noise(formed, found.pvalue, asked.level):
            at = number[formed.chosen[i], formed.values[i]]
            other = (self.totals.bias[at] > 0.0) != found.low_side[i]
            in_part = bool(other or found.where[i] != (0.0, 1.0))
            told.append(CalledOff(at, in_part, partial(float, found.pvalue[i])))
        return told

    def gate(self, i: int, max_distance: float, level: float) -> GateResult | None:
        """The gate of a segment, rows of a cell moved by half its width at most; None where sums leave rows out."""
        summed, part = self.summed, slice(self.summed.starts[i], self.summed.ends[i])
        index, cells = summed.index[part], summed.cells[part]
        count, ones, offset = (cells[:, each] for each in (sketching.COUNT, sketching.ONES, sketching.OFFSET))
        if count.sum() < self.totals.count[i]:  # predicted 0 or 1, of which cells hold nothing
            return None
        low, high = cells[:, sketching.LOW], cells[:, sketching.HIGH]
        at = np.clip((index // 2 + offset / count) / RESOLUTION, low, high)
        sample = Sample(at, count, ones, count, ones, count, high - low, binary=True)
        moved = 0.5 / RESOLUTION
        return calibration_gate_on_sample(sample, max_distance=max_distance, level=level, displacement=moved)


def _smaller(found: ByRows | ByGroups, i: int) -> float:
    """By redraws, or by a tail where none of them is as extreme."""
    return min(float(found.pvalue[i]), found.tail(i))


def read_to_bound(
    table: Table,
    names: Mapping[str, str],
    features: tuple[str, ...] | None,
    asked: Asked,
    *,
    max_weight: float | None = None,
    exclude_bad: bool = False,
) -> OfRows | OfSums:
    """Read or sum a table, and form its segments."""
    taken = taken_features(table, names, features, "find")
    of = AskedOf(features is not None, trials=False, exclude_bad=exclude_bad, option="find", whatever_predicted=True)
    if table.many:
        return OfSums.read(table, names, taken, asked, of)
    return OfRows.read(table, names, taken, asked, of, max_weight)
