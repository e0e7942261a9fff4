"""From a table to found segments: its columns are read, segments formed and searched, and the found ones described."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.arguments import generator
from calibrant.door.columns import FloatArray, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.values import ReadOnly
from calibrant.inference import calibration_units
from calibrant.inference.calibration_tail import chernoff
from calibrant.inference.result import LEAST, impossible_rows
from calibrant.kernels.found import squared_evidence
from calibrant.scale.tables import Table
from calibrant.segments.asked import BY_REDRAWS, BY_TAIL, Asked, AskedOf
from calibrant.segments.explained import explained_once
from calibrant.segments.features import Feature, read_features
from calibrant.segments.formed import Formed, Units, form, units_of
from calibrant.segments.found_in_sums import found_in_sums
from calibrant.segments.found_results import FoundSegment, FoundSegments
from calibrant.segments.search import STRETCH, Search, search
from calibrant.segments.totals import Totals, holm, totals_of

_SCALES = np.arange(60)


def found_in_table(
    table: Table,
    names: Mapping[str, str],
    features: tuple[str, ...] | None,
    asked: Asked,
    *,
    trials: bool = False,
    exclude_bad: bool = False,
    option: str = "features",
) -> FoundSegments:
    """Read the columns `names` by argument, and find segments; with `trials` the weights are numbers of trials."""
    taken = taken_features(table, names, features, option, trials=trials)
    of = AskedOf(features is not None, trials, exclude_bad, option)
    if table.many:
        with table.lazily(names, taken, option) as lazy:
            return found_in_sums(lazy, dict(names), taken, asked, of)
    rows, told_apart, left_out, n_bad = read_to_search(table, names, taken, asked, of)
    return replace(find_in_rows(rows, told_apart, asked), left_out=ReadOnly(left_out), n_excluded=n_bad)


def taken_features(
    table: Table, names: Mapping[str, str], features: tuple[str, ...] | None, option: str, *, trials: bool = False
) -> tuple[str, ...]:
    """The columns that were named, or all others than those of `names`.

    Raises
    ------
    InputError
        If one of these was named, or there are no others.
    """
    for argument, name in names.items():
        if features is not None and name in features:
            argument = "trials" if trials and argument == "sample_weight" else argument
            raise InputError(option, f"names {name!r}, the column of {argument}; segments are made of other columns")
    taken = features or tuple(name for name in table.columns if name not in names.values())
    if not taken:
        raise InputError(option, "are missing: the table has no columns except outcomes and predictions")
    return taken


def read_to_search(
    table: Table, names: Mapping[str, str], taken: tuple[str, ...], asked: Asked, of: AskedOf
) -> tuple[Rows, list[Feature], dict[str, str], int]:
    """Rows and features of a table, why columns were left out, and how many bad rows were."""
    arrays, keys, n_bad = table.with_features(names, taken, of.option, exclude_bad=of.exclude_bad)
    outcome, prediction, weight = read_columns(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"))
    rows = Rows.of(outcome, prediction, None if of.trials else weight, weight if of.trials else None)
    seen: dict[str, FloatArray | None] = {"y_true": outcome, "y_prob": prediction}
    told_apart, left_out = read_features(
        keys, seen, n_bins=asked.n_bins, min_rows=asked.min_rows, chosen=of.chosen, option=of.option
    )
    return rows, told_apart, left_out, n_bad


def find_in_rows(rows: Rows, features: Sequence[Feature], asked: Asked) -> FoundSegments:
    """Find segments of rows that were read already."""
    level, n_resamples = float(asked.level), int(asked.n_resamples)
    seed = generator(asked.random_state).integers(2**64, dtype=np.uint64)
    units = units_of(rows, features)
    formed = form(units, features, min(asked.max_depth, len(features)), asked.min_rows)
    found = search(units, formed, n_resamples, BY_REDRAWS * level, seed)
    totals = totals_of(rows, formed)
    redrawn = np.minimum(1.0, found.pvalue / BY_REDRAWS)
    beyond = np.flatnonzero(redrawn <= level)
    listed = explained_once(units, formed, found, beyond)
    strongest = int(np.argmax(found.score))
    told = list(dict.fromkeys([*listed, strongest]))
    pvalue = redrawn.copy()
    for each in told:
        if found.pvalue[each] * (n_resamples + 1) < 1.5:
            pvalue[each] = min(redrawn[each], _by_tail(units, formed, found, each))
    described = _Described(units, formed, found, totals, pvalue, level)
    segments = {each: described.segment(each) for each in told}
    joint = float(pvalue.min())
    return FoundSegments(
        statistic=float(found.score[strongest]),
        pvalue=joint,
        reject=joint <= level,
        level=level,
        method=f"search of {len(formed):,} segments ({n_resamples:,} resamples)",
        segments=tuple(segments[each] for each in listed),
        strongest=segments[strongest],
        n_tested=len(formed),
        n_beyond=int(beyond.size),
        multicalibration_error=found.error,
        detectable=found.chance_error,
        features=ReadOnly({each.name: each.labels for each in features}),
        left_out=ReadOnly({}),
        max_depth=int(asked.max_depth),
        n_resamples=n_resamples,
        tested=np.stack([totals.count, totals.bias, pvalue], axis=1),
        made_of=tuple(tuple(zip(*pair, strict=True)) for pair in zip(formed.chosen, formed.values, strict=True)),
        impossible=impossible_rows(rows),
        assumption=f"{rows.assumption}, and predictions were not fitted to them",
    )


def _by_tail(units: Units, formed: Formed, found: Search, segment: int) -> float:
    """A p-value for all segments at once from Chernoff's bound on a segment's total, both sides of it.

    A segment's share of the error goes as one over the root of the number of those that fix as many features.
    """
    rows = formed.order[slice(*formed.ends[segment])]
    one = np.ones(rows.size)
    v, count, ones, weight = (each[rows] for each in (units.prediction, units.count, units.ones, units.weight))
    part = calibration_units.Units(v, count, ones, weight, rows.size, None, 0.0)
    all_shares = float(np.exp(-0.5 * formed.handicap).sum())
    shares = math.log(2.0 * all_shares / BY_TAIL) + 0.5 * formed.handicap[segment]
    return min(1.0, max(LEAST, math.exp(chernoff(part, one if found.total[segment] > 0.0 else -one) + shares)))


@dataclass(frozen=True, slots=True, eq=False)
class _Described:
    """What is needed to describe segments one by one."""

    units: Units
    formed: Formed
    found: Search
    totals: Totals
    pvalue: FloatArray
    level: float

    def segment(self, i: int) -> FoundSegment:
        """The segment of that number."""
        totals, weight = self.totals, self.totals.weight[i]
        low, high = (float(end[i]) for end in totals.intervals(self.level))
        direction, span = self._direction(i)
        return FoundSegment(
            conditions=self.formed.conditions(i),
            n_rows=int(totals.count[i]),
            base_rate=float(totals.outcome[i] / weight),
            mean_prediction=float(totals.prediction[i] / weight),
            bias=float(totals.bias[i]),
            bias_interval=Interval(low, high),
            direction=direction,
            where=span,
            pvalue=float(self.pvalue[i]),
            marginal_pvalue=float(holm(totals.marginal)[i]),
            detectable=min(1.0, self._detectable(i) / float(weight)),
        )

    def _direction(self, i: int) -> tuple[str, tuple[float, float]]:
        """Direction and range of predictions of the strongest evidence."""
        units, found = self.units, self.found
        moments = self.formed.second[i], self.formed.third[i]
        rows = self.formed.order[slice(*self.formed.ends[i])]
        v, rank = units.prediction[rows], units.rank[rows]
        rise, fall = (squared_evidence(each, *moments) for each in (found.rise[i], found.fall[i]))
        if squared_evidence(found.total[i], *moments) >= max(rise, fall) - STRETCH:
            return ("too low" if found.total[i] > 0.0 else "too high"), (float(v[0]), float(v[-1]))
        last = np.flatnonzero(np.append(rank[1:] != rank[:-1], True))
        sign = 1.0 if rise >= fall else -1.0
        excess = sign * units.weight[rows] * (units.ones[rows] - units.count[rows] * v)
        sums = np.concatenate([[0.0], np.cumsum(excess)[last]])
        end = int(np.argmax(sums - np.minimum.accumulate(sums)))
        start = int(np.argmin(sums[: end + 1]))
        return ("too low" if sign > 0.0 else "too high"), (float(v[last[start]]), float(v[last[end - 1]]))

    def _detectable(self, i: int) -> float:
        """Smallest total, of either sign, that is beyond noise in one step; by bisection."""
        second, third = float(self.formed.second[i]), float(self.formed.third[i])
        needed = self.found.critical + float(self.formed.handicap[i])
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
