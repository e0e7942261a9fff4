"""From a table to found segments: its columns are read, segments formed and searched, and the found ones described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant.door.arguments import generator
from calibrant.door.columns import NOT_NULL, FloatArray, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows
from calibrant.door.values import ReadOnly, counted
from calibrant.inference.result import impossible_rows
from calibrant.resampling.redraw import check_groups
from calibrant.scale.tables import Table
from calibrant.segments.asked import Asked, AskedOf
from calibrant.segments.by_groups import ByGroups
from calibrant.segments.by_rows import ByRows
from calibrant.segments.explained import explained_once
from calibrant.segments.features import Feature, read_features
from calibrant.segments.formed import Formed, Units, form, units_of
from calibrant.segments.found_in_sums import found_in_sums
from calibrant.segments.found_results import FoundSegment, FoundSegments
from calibrant.segments.totals import Totals, holm, totals_of


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
        if "groups" in names:
            raise many_in_groups()
        with table.lazily(names, taken, option) as lazy:
            return found_in_sums(lazy, dict(names), taken, asked, of)
    rows, told_apart, left_out, n_bad = read_to_search(table, names, taken, asked, of)
    return replace(find_in_rows(rows, told_apart, asked), left_out=ReadOnly(left_out), n_excluded=n_bad)


def many_in_groups() -> InputError:
    """The problem of a table that is not read: its sums by cell do not tell groups apart."""
    why = "cannot be searched by in a table of so many rows: they are summed by cell, which does not tell groups apart"
    return InputError("groups", why, allowed="take some of its groups, all rows of each")


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
    numbers = {argument: name for argument, name in names.items() if argument != "groups"}
    groups = names.get("groups")
    read = table.with_features(numbers, taken, of.option, exclude_bad=of.exclude_bad, groups=groups)
    if read.group is not None and (read.group < 0).any():
        if not of.exclude_bad or (read.group < 0).all():
            row = int(np.argmax(read.group < 0))
            raise InputError("groups", f"column {groups!r}: row {row} is missing", row=row, allowed=NOT_NULL)
        read = read.kept(read.group >= 0)
    arrays = read.arrays
    outcome, prediction, weight = read_columns(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"))
    single = Rows.of(outcome, prediction, None if of.trials else weight, weight if of.trials else None, read.group)
    seen: dict[str, FloatArray | None] = {"y_true": outcome, "y_prob": prediction}
    told_apart, left_out = read_features(read.keys, seen, asked, chosen=of.chosen, option=of.option)
    return single, told_apart, left_out, read.n_excluded


def searched(rows: Rows, features: Sequence[Feature], asked: Asked) -> tuple[Units, Formed, ByRows | ByGroups]:
    """What redraws say of all segments of rows that were read already."""
    seed = generator(asked.random_state).integers(2**64, dtype=np.uint64)
    check_groups(rows)
    units = units_of(rows, features)
    formed = form(units, features, min(asked.max_depth, len(features)), asked.min_rows)
    by = ByRows if rows.group is None else ByGroups
    return units, formed, by.of(units, formed, int(asked.n_resamples), float(asked.level), seed)


def find_in_rows(rows: Rows, features: Sequence[Feature], asked: Asked) -> FoundSegments:
    """Find segments of rows that were read already."""
    level, n_resamples = float(asked.level), int(asked.n_resamples)
    units, formed, found = searched(rows, features, asked)
    beyond = np.flatnonzero(found.pvalue <= level)
    listed = explained_once(units, formed, found, beyond)
    strongest = int(np.argmax(found.score))
    told = list(dict.fromkeys([*listed, strongest]))
    pvalue = found.pvalue.copy()
    for each in told:
        pvalue[each] = min(pvalue[each], found.tail(each))
    described = _Described(formed, found, totals_of(rows, formed), pvalue, level)
    segments = {each: described.segment(each) for each in told}
    joint = float(pvalue.min())
    drawn = "" if rows.group is None else f"random signs of {counted(units.n_groups, 'group')}, "
    return FoundSegments(
        statistic=float(found.score[strongest]),
        pvalue=joint,
        reject=joint <= level,
        level=level,
        method=f"search of {len(formed):,} segments ({drawn}{n_resamples:,} resamples)",
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
        tested=np.stack([described.totals.count, described.totals.bias, pvalue], axis=1),
        made_of=tuple(tuple(zip(*pair, strict=True)) for pair in zip(formed.chosen, formed.values, strict=True)),
        impossible=impossible_rows(rows),
        assumption=f"{rows.assumption}, and predictions were not fitted to them",
        n_groups=rows.n_groups,
        n_few_groups=formed.n_few_groups,
        n_by_bound=found.n_by_bound if isinstance(found, ByGroups) else 0,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Described:
    """What is needed to describe segments one by one."""

    formed: Formed
    found: ByRows | ByGroups
    totals: Totals
    pvalue: FloatArray
    level: float

    def segment(self, i: int) -> FoundSegment:
        """The segment of that number."""
        totals, weight = self.totals, self.totals.weight[i]
        low, high = (float(end[i]) for end in self.found.intervals(totals, self.level))
        direction, span = self.found.direction(i)
        there, share = self._within(i, span)
        return FoundSegment(
            conditions=self.formed.conditions(i),
            n_rows=int(totals.count[i]),
            base_rate=float(totals.outcome[i] / weight),
            mean_prediction=float(totals.prediction[i] / weight),
            bias=float(totals.bias[i]),
            bias_interval=Interval(low, high),
            direction=direction,
            where=span,
            where_bias=there,
            where_share=share,
            pvalue=float(self.pvalue[i]),
            marginal_pvalue=float(holm(totals.marginal)[i]),
            detectable=min(1.0, self.found.detectable(i) / float(weight)),
            n_groups=None if totals.by_group is None else int(totals.by_group.number[i]),
        )

    def _within(self, i: int, span: tuple[float, float]) -> tuple[float, float]:
        """Mean of outcome less prediction from one prediction to another, and the share of the weight there."""
        units = self.found.units
        rows = self.formed.order[slice(*self.formed.ends[i])]
        rows = rows[(units.prediction[rows] >= span[0]) & (units.prediction[rows] <= span[1])]
        v, count, ones, weight = (each[rows] for each in (units.prediction, units.count, units.ones, units.weight))
        held = float((weight * count).sum())
        return float((weight * (ones - count * v)).sum()) / held, min(1.0, held / float(self.totals.weight[i]))
