"""From a table to found segments: its columns are read, segments formed and searched, and the found ones described."""

from __future__ import annotations

__all__ = ["find_segments"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, flag, generator, text
from calibrant.door.columns import NOT_NULL, FloatArray, IntArray, read_columns
from calibrant.door.ends import Interval
from calibrant.door.errors import NO_VALUE, InputError
from calibrant.door.request import MAX_DEPTH
from calibrant.door.rows import Rows, not_taken, read_fractions
from calibrant.door.values import ReadOnly, counted
from calibrant.inference.testing.result import impossible_rows
from calibrant.lazily import EXTRAS, optional
from calibrant.progress import watched
from calibrant.segments.by_groups import ByGroups, ByRows
from calibrant.segments.candidates import FeatureLots, FollowedRows, SegmentCandidates, form, units_of, weightless
from calibrant.segments.catalogue import NOT_FITTED, SUMS_MIX_GROUPS, TRIALS_COUNT_ONCE
from calibrant.segments.evidence import Totals, holm, totals_of
from calibrant.segments.features import Feature, read_features
from calibrant.segments.request import MIN_ROWS, N_BINS, Search, names_of
from calibrant.segments.results import FoundSegment, FoundSegments, explained_once
from calibrant.segments.sums import found_in_sums
from calibrant.tables.frames import OpenedFrame
from calibrant.tables.table import RowsWithFeatures, Table


def found_in_table(table: Table, names: Mapping[str, str], search: Search) -> FoundSegments:
    """Read the columns `names` by argument, and find segments."""
    searchable = taken_features(table, names, search)
    if table.many:
        if "groups" in names:
            raise many_in_groups()
        with table.lazily(names, searchable, search.option) as lazy:
            return found_in_sums(lazy, dict(names), searchable, search)
    read = read_to_search(table, names, searchable, search)
    segments = find_in_rows(read.rows, read.features, search, read.followed)
    return replace(segments, left_out=ReadOnly(read.left_out), n_excluded=read.n_excluded)


def many_in_groups() -> InputError:
    """The problem of a table that is not read: its sums by cell do not tell groups apart."""
    return InputError("groups", SUMS_MIX_GROUPS, allowed="take some of its groups, all rows of each")


def taken_features(table: Table, names: Mapping[str, str], search: Search) -> tuple[str, ...]:
    """The columns that were named, or all others than those of `names`.

    Raises InputError if one of these was named, or there are no others.
    """
    option, features = search.option, search.features
    for argument, name in names.items():
        if features is not None and name in features:
            argument = "trials" if search.trials and argument == "sample_weight" else argument
            raise InputError(option, f"names {name!r}, the column of {argument}; segments are made of other columns")
    searchable = features or tuple(name for name in table.columns if name not in names.values())
    if not searchable:
        raise InputError(option, "are missing: the table has no columns except outcomes and predictions")
    return searchable


@dataclass(frozen=True, slots=True, eq=False)
class SearchRows:
    """Rows and features of a table."""

    rows: Rows
    features: list[Feature]
    left_out: dict[str, str]  # why columns were left out
    n_excluded: int  # bad rows that were
    largest: float  # of the weights
    followed: FollowedRows | None  # all rows, where a horizon leaves outcomes unknown


def read_to_search(table: Table, names: Mapping[str, str], searchable: tuple[str, ...], search: Search) -> SearchRows:
    """Read rows and features of a table."""
    numbers = {argument: name for argument, name in names.items() if argument != "groups"}
    groups = names.get("groups")
    read = table.with_features(numbers, searchable, search.option, exclude_bad=search.exclude_bad, groups=groups)
    read = _with_groups_known(read, groups, search)
    arrays = read.arrays
    outcome, prediction, weight = read_columns(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"))
    trials, weight = (weight, None) if search.trials else (None, weight)
    declared = search.outcome_free_weights, search.sampling_fractions
    followed, group, seen = None, read.group, outcome
    if search.followed and weight is not None:
        seen = np.where(weight > 0.0, outcome, np.nan)
    features, left_out = read_features(read.keys, {"y_true": seen, "y_prob": prediction}, search)
    if search.followed and weight is not None:
        followed, known = FollowedRows([each.code for each in features], prediction, group), weight > 0.0
        features = [replace(each, code=each.code[known]) for each in features]
        outcome, prediction, weight = outcome[known], prediction[known], weight[known]
        group = None if group is None else group[known]
    rows = Rows.of(outcome, prediction, weight, trials, group, *declared)
    fractions = read_fractions(search.sampling_fractions)
    weight = weight if fractions is None else fractions.weight_of(outcome)
    largest = 1.0 if weight is None else float(weight.max())
    return SearchRows(rows, features, left_out, read.n_excluded, largest, followed)


def _with_groups_known(read: RowsWithFeatures, groups: str | None, search: Search) -> RowsWithFeatures:
    """The rows that have a group, where they are in groups; a row without one is refused, or is bad and left out."""
    if read.group is None or not (read.group < 0).any():
        return read
    if not search.exclude_bad or (read.group < 0).all():
        row = int(np.argmax(read.group < 0))
        raise InputError("groups", f"column {groups!r}: {NO_VALUE.format(row)}", row=row, allowed=NOT_NULL)
    return read.kept(read.group >= 0)


def searched(
    rows: Rows, features: Sequence[Feature], search: Search, followed: FollowedRows | None = None
) -> tuple[FeatureLots, SegmentCandidates, ByRows | ByGroups]:
    """Evidence by redraws of all segments of rows that were read already."""
    seed = generator(search.random_state).integers(2**64, dtype=np.uint64)
    units = units_of(rows, features)
    candidates = form(units, features, min(search.max_depth, len(features)), search.min_rows, followed)
    by = ByRows if rows.group is None else ByGroups
    return units, candidates, by.of(units, candidates, int(search.n_resamples), float(search.level), seed)


def find_in_rows(
    rows: Rows, features: Sequence[Feature], search: Search, followed: FollowedRows | None = None
) -> FoundSegments:
    """Find segments of rows that were read already."""
    level, n_resamples = float(search.level), int(search.n_resamples)
    units, candidates, evidence = searched(rows, features, search, followed)
    beyond = np.flatnonzero(evidence.pvalue <= level)
    listed = explained_once(units, candidates, evidence, beyond)
    strongest = int(np.argmax(evidence.score))
    numbers = list(dict.fromkeys([*listed, strongest]))
    pvalue = evidence.pvalue.copy()
    for each in numbers:
        pvalue[each] = min(pvalue[each], evidence.tail(each))
    sizes = None if followed is None else followed.of(candidates)
    described = _Described(candidates, evidence, totals_of(rows, candidates), pvalue, level, sizes)
    segments = {each: described.segment(each) for each in numbers}
    joint = float(pvalue.min())
    signs = "" if rows.group is None else f"random signs of {counted(units.n_groups, 'group')}, "
    return FoundSegments(
        statistic=float(evidence.score[strongest]),
        pvalue=joint,
        reject=joint <= level,
        level=level,
        method=f"search of {len(candidates):,} segments ({signs}{n_resamples:,} resamples)",
        segments=tuple(segments[each] for each in listed),
        strongest=segments[strongest],
        n_tested=len(candidates),
        n_beyond=int(beyond.size),
        multicalibration_error=evidence.error,
        detectable=evidence.chance_error,
        features=ReadOnly({each.name: each.labels for each in features}),
        left_out=ReadOnly({}),
        max_depth=int(search.max_depth),
        n_resamples=n_resamples,
        tested=np.stack([described.totals.count, described.totals.bias, pvalue], axis=1),
        made_of=tuple(
            tuple(zip(*pair, strict=True)) for pair in zip(candidates.chosen, candidates.values, strict=True)
        ),
        impossible=impossible_rows(rows),
        premise=f"{rows.premise}, and {NOT_FITTED}",
        n_groups=rows.n_groups if followed is None else followed.n_groups,
        few_known=candidates.few_known,
        weightless=weightless(rows, features, min(search.max_depth, len(features)), search.min_rows, followed),
        n_few_groups=candidates.n_few_groups,
        n_by_bound=evidence.n_by_bound if isinstance(evidence, ByGroups) else 0,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Described:
    """The values from which segments are described one by one."""

    candidates: SegmentCandidates
    found: ByRows | ByGroups
    totals: Totals
    pvalue: FloatArray
    level: float
    sizes: tuple[IntArray, IntArray | None] | None  # rows of each, and groups, where some have no known outcome

    def segment(self, i: int) -> FoundSegment:
        """The segment of that number."""
        totals, weight = self.totals, self.totals.weight[i]
        low, high = (float(end[i]) for end in self.found.intervals(totals, self.level))
        direction, span = self.found.direction(i)
        there, share = self._within(i, span)
        groups = int(totals.by_group.number[i]) if totals.grouped and totals.by_group is not None else None
        n_unknown = 0
        if self.sizes is not None:
            of_rows, of_groups = self.sizes
            n_unknown = int(of_rows[i]) - int(totals.count[i])
            groups = None if of_groups is None else int(of_groups[i])
        return FoundSegment(
            conditions=self.candidates.conditions(i),
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
            n_groups=groups,
            n_unknown=n_unknown,
        )

    def _within(self, i: int, span: tuple[float, float]) -> tuple[float, float]:
        """Mean of outcome less prediction from one prediction to another, and the share of the weight there."""
        units = self.found.units
        rows = self.candidates.order[slice(*self.candidates.ends[i])]
        rows = rows[(units.prediction[rows] >= span[0]) & (units.prediction[rows] <= span[1])]
        v, count, ones, weight = (each[rows] for each in (units.prediction, units.count, units.ones, units.weight))
        weight_within = float((weight * count).sum())
        return float((weight * (ones - count * v)).sum()) / weight_within, min(
            1.0, weight_within / float(self.totals.weight[i])
        )


@optional("find_segments", *EXTRAS)
def find_segments(
    frame: Any,
    *,
    y_true: str,
    y_prob: str,
    features: str | Sequence[str] | None = None,
    max_depth: int = MAX_DEPTH,
    n_bins: int = N_BINS,
    min_rows: int = MIN_ROWS,
    sample_weight: str | None = None,
    trials: str | None = None,
    groups: str | None = None,
    outcome_free_weights: bool = False,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    exclude_bad: bool = False,
    unweighted: bool = False,
    progress: bool | Callable[[str], None] | None = None,
) -> FoundSegments:
    """Find the segments of a table in which predictions are off by more than noise, among all that features make.

    Parameters
    ----------
    frame : table
        As for `CalibrationSketch.from_frame`. Predictions must not have been fitted to its rows: use held-out or
        cross-fitted ones.
    y_true, y_prob : str
        Names of its columns of outcomes, each 0 or 1 (with ``trials`` the share of events), and of predicted
        probabilities.
    features : str or sequence of str, optional
        Columns whose values make the segments: numbers, days, texts or truth values. By default all other usable
        columns; ``.left_out`` of the result says which were not.
    max_depth : int, default 2
        Most features that a segment combines, from 1 to 4.
    n_bins : int, default 10
        Number of values of a feature of numbers, from 2 to 100: they are cut at quantiles. Of a category all values
        with `min_rows` rows are kept apart, and the rest put together. At most 1,000 are, or as many as leave no more
        than 50,000 combinations. Missing is a value of its own.
    min_rows : int, default 50
        Fewest rows of a segment. It needs a sum of v (1 - v) of 1 as well, v being the predictions.
    sample_weight : str, optional
        Column of non-negative weights, which may tell outcomes: both are redrawn together (docs/weights.md), which is
        exact for two values of weights, one for each outcome. Weights of rows that are summed are refused.
    trials : str, optional
        Column of how many independent outcomes are behind each row.
    groups : str, optional
        Column of what rows belong to (a patient, an account, a day) where only rows of different ones are independent.
    outcome_free_weights : bool, default False
        Declare that weights say nothing of outcomes at a given prediction: they stay where outcomes are redrawn.
    level : float, default 0.05
        Largest probability that any segment is named in whose rows every predicted probability is right; and one minus
        the coverage of the intervals.
    n_resamples : int, default 999
        Redrawn sets of outcomes, at least 1 / level.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.
    exclude_bad : bool, default False
        Leave out rows whose outcome, prediction or weight is null, NaN or out of range instead of refusing the table.
    unweighted : bool, default False
        Leave out a column that holds weights by its name, instead of asking about it.
    progress : bool or callable, optional
        Called with the name of each stage. True: work of over a second shows its progress on the standard error; this
        is the default in notebooks and interactive sessions. False: never.

    Returns
    -------
    FoundSegments
        With ``segments``, each with its conditions, direction, size, interval and adjusted p-value, the ``pvalue`` of
        calibration in all tested segments, and the ``multicalibration_error``.

    Raises
    ------
    InputError
        If a column or parameter cannot be used. A feature cannot be constant, nested, of times of day, of texts that
        are all different, or the outcome or prediction itself. If there are too many segments, or too few resamples.
        With `groups` if too few hold events, or there are more than 5,000,000 rows.

    See Also
    --------
    calibration_by_segment, calibration_test, audit_table

    Notes
    -----
    Each segment has the sum of w (y - v) and the range of its running sums in order of prediction. Both are
    studentised, with their skewness, and made comparable. Outcomes are redrawn with the predicted probabilities, and
    all segments are adjusted for at once by stepping down (Westfall and Young). That is exact at any number of rows for
    the null hypothesis that every row of a segment has its predicted probability. Predictions that are right on average
    in a segment, and wrong within it, are errors as well. ``marginal_pvalue`` (Holm) is about the average alone, and
    weaker. If no redraw is as extreme, Chernoff bounds of the segments' sums give p-values below 1 / (1 + n_resamples).
    Segments whose error the correction of those already named explains are not named. With `groups` whole groups get
    random signs instead, the same in all segments. That is exact if groups' errors and their opposites are equally
    likely, and nearly so with many groups. Segments need events, and non-events, in the equal of 30 groups;
    ``n_few_groups`` says how many combinations were left out for that. Beside it bounds of each segment's total, with a
    hundredth of the level, are proved for groups of any kind. Where all rows lie in fewer groups, they hold for all
    segments with all of it. Rows of a lazy table of more than 5,000,000 are not read. The table's engine sums segments
    in 64 cells of predictions. They are tested by proved tails, with Holm's correction. Nothing is redrawn, and
    ``summed`` is true. Cost: a sort, then O(n) per resample and combination of features, on all processors. About 128
    bytes per row and processor, and 4 per row and combination.

    References
    ----------
    docs/found-segments.md proves the level. Westfall and Young, Resampling-Based Multiple Testing, 1993, section 2.6;
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu, Metrics of calibration for probabilistic predictions, JMLR 23, 2022;
    Guy and others, Measuring multi-calibration, arXiv 2506.11251, 2025; Hebert-Johnson, Kim, Reingold and Rothblum,
    Multicalibration, ICML 2018; Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6, 1979.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> from calibrant import find_segments
    >>> rng = np.random.default_rng(0)
    >>> country, device = rng.choice(["de", "jp", "us"], 6_000), rng.choice(["phone", "tablet"], 6_000)
    >>> p = rng.uniform(0.1, 0.6, 6_000)
    >>> y = rng.random(6_000) < p - 0.1 * ((country == "jp") & (device == "tablet"))
    >>> table = pyarrow.table({"y": y, "p": p, "country": country, "device": device})
    >>> found = find_segments(table, y_true="y", y_prob="p", random_state=0)
    >>> [(segment.name, segment.direction) for segment in found.segments]
    [('country = jp and device = tablet', 'too high')]
    """
    for argument, name in {
        "y_true": y_true,
        "y_prob": y_prob,
        "sample_weight": sample_weight,
        "trials": trials,
        "groups": groups,
    }.items():
        text(name, argument)
    if trials is not None:
        not_taken(TRIALS_COUNT_ONCE, sample_weight=sample_weight)
    flag(exclude_bad, "exclude_bad")
    flag(unweighted, "unweighted")
    table, columns = OpenedFrame(frame, "frame"), names_of(features)
    request = Search(
        max_depth,
        n_bins,
        min_rows,
        level,
        n_resamples,
        random_state,
        features=columns,
        trials=trials is not None,
        exclude_bad=exclude_bad,
        outcome_free_weights=outcome_free_weights,
    )
    weights = sample_weight if trials is None else trials
    keys = (*(columns or ()), *([] if groups is None else [groups]))
    names = table.spoken(y_true, y_prob, weights, unweighted and trials is None, keys)
    if groups is not None:
        table.require([groups], "groups")
        names["groups"] = groups
    with watched(progress) as tell:
        tell("Finding segments")
        return found_in_table(table, names, request)
