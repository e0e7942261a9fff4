"""Segments as sums over cells, rolled up from GROUP BYs: no redraws, but proved tails and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.coding import cell_of
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.ends import Interval
from calibrant.door.errors import InputError
from calibrant.door.rows import INDEPENDENT, OUTCOME_FREE
from calibrant.door.values import ReadOnly, counted
from calibrant.inference.testing.discrete import two_sided_log_pvalues
from calibrant.inference.testing.result import ImpossibleRows, contradicted
from calibrant.kernels import sketching
from calibrant.segments.candidates import LEAST_INFORMATION, refines, shape_of, too_few_rows, too_many, values_of
from calibrant.segments.catalogue import EVENT_RATES, NOT_FITTED, SUMS_MIX_WEIGHTS
from calibrant.segments.evidence import SHARES, Stated, Totals, holm, reached_by_noise, segment_tails, stated
from calibrant.segments.features import LazyFeature, lazy_features
from calibrant.segments.request import MOST_SEGMENTS, Search
from calibrant.segments.results import MOST, FoundSegment, FoundSegments, Line
from calibrant.sketch.cells import MEASURED
from calibrant.sketch.groups import Groups
from calibrant.tables.features import TESTED, Featured, code_name, in_blocks
from calibrant.tables.frames import OpenedFrame

# Cells of predictions.
RESOLUTION = 64
# Groups of a block: combinations of values of its features, times cells of predictions.
MOST_GROUPS = 2**19
_SUMS = [sketching.COUNT, sketching.ONES, sketching.WEIGHT, sketching.OUTCOME, sketching.SQUARED, sketching.OFFSET]
_TESTED, _INFORMATION = range(len(MEASURED), len(MEASURED) + len(TESTED))
_OWN = "calibrant_pattern"
Sets = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class CellBlock:
    """Sums of a table by the values of a few features and the cell of the prediction."""

    members: tuple[int, ...]  # the features, by number
    codes: IntArray  # (features, m): their values
    index: IntArray  # (m,): cells of predictions
    cells: FloatArray  # (m, 12): sums, the last two those of `TESTED`
    pattern: IntArray  # (m,): which of the segments that were asked about the rows lie in, a bit for each

    def place(self, members: tuple[int, ...], shape: tuple[int, ...]) -> IntArray:
        """Number of each row's combination of values of some of the features, times the cells, and its cell."""
        codes = [self.codes[self.members.index(i)] for i in members]
        return np.asarray(cell_of(codes, shape, self.index.size) * _PLACES + self.index)


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """Segments that are tested, each as its cells."""

    # chosen, values: of each segment the features that it fixes, and their values
    chosen: Sets
    values: Sets
    starts: IntArray  # (segments,): first cell of each; its cells follow one another
    # index, cells: (m,), the cells, without those of predictions that are certain
    index: IntArray
    cells: FloatArray
    totals: Totals  # sums of all rows of each segment
    handicap: FloatArray  # (segments,): logarithm of the number of segments that fix as many features

    def __len__(self) -> int:
        """Number of segments."""
        return len(self.chosen)

    @property
    def ends(self) -> IntArray:
        """Behind the last cell of each."""
        return np.append(self.starts[1:], self.index.size)

    def conditions(self, features: Sequence[LazyFeature], segment: int) -> tuple[str, ...]:
        """Conditions of a segment, in words."""
        pairs = zip(self.chosen[segment], self.values[segment], strict=True)
        return tuple(features[i].labels[value] for i, value in pairs)

    def only(self, segments: IntArray) -> tuple[IntArray, IntArray]:
        """Cells of some segments one after the other, and where each begins."""
        ends = self.ends
        places = [np.arange(self.starts[i], ends[i]) for i in segments]
        sizes = np.array([0, *(each.size for each in places)])
        return np.concatenate(places), np.cumsum(sizes)[:-1]

    def stated(self) -> Stated:
        """Predictions of the rows of each cell."""
        return stated(self.index, self.cells, RESOLUTION)


def summed_by(
    table: OpenedFrame,
    names: Mapping[str, str],
    features: Sequence[LazyFeature],
    sets: Sets,
    *,
    option: str,
    trials: bool,
    inside: Sequence[Sequence[tuple[int, int]]] = (),
) -> list[CellBlock]:
    """Blocks that hold these sets, of a coded table.

    Of `inside`, segments as pairs of a feature and its value, the last one's rows alone are summed, by which of the
    others they lie in.
    """
    sizes = [len(each.labels) for each in features]
    if inside:
        holds = [[_is(i, value) for i, value in each] for each in inside]
        pattern = _literal(0)
        for bit, conditions in enumerate(holds[:-1]):
            pattern = pattern + _all_of(conditions, 2**bit)
        rows = table.held.filter(*holds[-1]) if holds[-1] else table.held
        table = table.like(rows.with_columns(**{_OWN: pattern}))
    blocks = []
    for members in in_blocks(sizes, sets, MOST_GROUPS // RESOLUTION):
        by = [code_name(i) for i in members] + ([_OWN] if inside else [])
        groups = table.groups(names, by, RESOLUTION, option=option, more=TESTED)
        if trials:
            groups = groups.of_trials()
        blocks.append(_block(members, groups, bool(inside)))
    return blocks


def _block(members: tuple[int, ...], groups: Groups, patterned: bool) -> CellBlock:
    keys = [groups.keys[name].to_numpy().astype(np.int64) for name in groups.keys.columns]
    pattern = keys.pop() if patterned else np.zeros(groups.index.size, np.int64)
    codes = np.array(keys, np.int64).reshape(len(members), groups.index.size)
    if groups.cells[:, sketching.FRACTIONAL].any():
        raise InputError("y_true", EVENT_RATES, allowed="or name the column of trials")
    return CellBlock(members, codes, groups.index, groups.cells, pattern)


def _is(feature: int, value: int) -> Any:
    import narwhals as nw

    return nw.col(code_name(feature)) == value


def _literal(value: int) -> Any:
    import narwhals as nw

    return nw.lit(value)


def _all_of(conditions: Sequence[Any], value: int) -> Any:
    """The value where all conditions hold, else 0."""
    import narwhals as nw

    if not conditions:  # all rows
        return nw.lit(value)
    return nw.when(nw.all_horizontal(*conditions, ignore_nulls=False)).then(nw.lit(value)).otherwise(nw.lit(0))


def form_sums(
    blocks: Sequence[CellBlock],
    features: Sequence[LazyFeature],
    sets: Sets,
    min_rows: int,
    *,
    weighted: bool,
    whatever_predicted: bool = False,
) -> Summed:
    """Form the segments that `segments.candidates.form` forms, of sums.

    ``whatever_predicted`` forms them by numbers of rows alone, and counts rows predicted 0 or 1. Raises InputError
    if there are none, or too many.
    """
    rows_of: dict[tuple[int, ...], FloatArray] = {}
    features_of: Sets = []
    values: Sets = []
    places, cells, sizes_of, totals = [], [], [], []
    for members in sets:
        shape = shape_of(features, members)
        block = next(each for each in blocks if set(members) <= set(each.members))
        place, sums = added_up(block.place(members, shape), block.cells[:, [*_SUMS, _TESTED, _INFORMATION]])
        combination, index = place // _PLACES, place % _PLACES
        part, count, spread = _in_cells(index, sums[:, : len(_SUMS)]), sums[:, -2], sums[:, -1]
        tested = (index > 0) & (index < _PLACES - 1) & (count > 0.0)
        if whatever_predicted:
            rows = np.asarray(np.bincount(combination, part[:, sketching.COUNT], math.prod(shape)), np.float64)
            enough = rows >= min_rows
            if not members and not enough[0]:
                raise too_few_rows(rows[0], min_rows)
        else:
            rows = np.asarray(np.bincount(combination, np.where(tested, count, 0.0), math.prod(shape)), np.float64)
            information = np.bincount(combination, spread, math.prod(shape))
            if not members:
                _require_information(rows[0], information[0], min_rows)
            enough = (rows >= min_rows) & (information >= LEAST_INFORMATION)
        rows_of[members] = rows.reshape(shape)
        enough &= refines(rows_of, members)
        number = np.cumsum(enough) - 1
        combinations = enough[combination]
        all_of = np.zeros((int(enough.sum()), 8))
        np.add.at(
            all_of, number[combination[combinations]], np.column_stack([_of_totals(index, part), spread])[combinations]
        )
        totals.append(all_of)
        combinations &= tested
        places.append(index[combinations])
        cells.append(part[combinations])
        sizes_of.append(np.bincount(number[combination[combinations]], minlength=int(enough.sum())))
        features_of += [members] * int(enough.sum())
        values += values_of(np.flatnonzero(enough), shape)
        if len(features_of) > MOST_SEGMENTS:
            raise too_many()
    size = np.concatenate(sizes_of)
    depth = np.array([len(each) for each in features_of])
    return Summed(
        features_of,
        values,
        np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64),
        np.concatenate(places),
        np.concatenate(cells),
        _totals(np.concatenate(totals), weighted),
        np.log(np.bincount(depth)[depth]),
    )


def _totals(sums: FloatArray, weighted: bool) -> Totals:
    count, ones, weight, squared, outcome, prediction, of_events, information = sums.T.copy()
    if weighted:
        return Totals(count, ones, weight, squared, outcome, prediction, weighted)
    square = prediction - information
    return Totals(count, ones, weight, squared, outcome, prediction, weighted, square, square + ones - 2.0 * of_events)


def added_up(number: IntArray, columns: FloatArray) -> tuple[IntArray, FloatArray]:
    """Distinct keys in order, and the sums of the columns over the rows of each."""
    order = np.argsort(number, kind="stable")
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    return number[order][first], np.add.reduceat(columns[order], first)


def all_sets(n_features: int, depth: int) -> Sets:
    """Sets of up to so many features, those of fewer first."""
    return [each for size in range(depth + 1) for each in combinations(range(n_features), size)]


def _in_cells(index: IntArray, sums: FloatArray) -> FloatArray:
    """Sums as cells; of the range of predictions no more is known than the cell."""
    cells = np.zeros((index.size, 10))
    cells[:, _SUMS] = sums
    cells[:, sketching.LOW] = index // 2 / RESOLUTION
    cells[:, sketching.HIGH] = (index + 1) // 2 / RESOLUTION
    return cells


def _of_totals(index: IntArray, cells: FloatArray) -> FloatArray:
    """Columns of `Totals`, in its order, and the smallest sum of predictions of events."""
    expected = stated(index, cells, RESOLUTION).expected
    columns = (sketching.COUNT, sketching.ONES, sketching.WEIGHT, sketching.SQUARED, sketching.OUTCOME)
    least = cells[:, sketching.ONES] * (index // 2) / RESOLUTION
    return np.column_stack([cells[:, columns], expected, least])


def _require_information(rows: float, information: float, min_rows: int) -> None:
    if rows < min_rows or information < LEAST_INFORMATION:
        raise InputError(
            "y_prob",
            f"is strictly between 0 and 1 in {counted(int(rows), 'row')} with a sum of v (1 - v) of "
            f"{information:.3g}; a segment needs {min_rows:,} rows and {LEAST_INFORMATION:g}",
        )


_PLACES = 2 * RESOLUTION + 1


def found_in_sums(
    table: OpenedFrame, names: Mapping[str, str], features: Sequence[str], search: Search
) -> FoundSegments:
    """Find segments of a lazy table in the columns `features`."""
    if search.sampling_fractions is not None:
        raise InputError("sampling_fractions", "cannot be used with so many rows: they are summed by cell")
    if "sample_weight" in names and not (search.trials or search.outcome_free_weights):
        raise InputError("sample_weight", SUMS_MIX_WEIGHTS, allowed=OUTCOME_FREE)
    candidates, blocks, coded, told_apart, left_out = summed_to_search(table, names, features, search)
    n_bad = table.n_rows() - coded.n_rows() if search.exclude_bad else 0
    tails = TailSearch.of(candidates, float(search.level))

    def again(inside: Sequence[int], sets: Sets) -> list[CellBlock]:
        """Sums of the rows of the last of some segments, by which of the others they lie in."""
        if len(inside) == 1 and not candidates.chosen[inside[0]]:
            return blocks
        pairs = [list(zip(candidates.chosen[i], candidates.values[i], strict=True)) for i in inside]
        return summed_by(coded, names, told_apart, sets, option=search.option, trials=search.trials, inside=pairs)

    sizes = [len(each.labels) for each in told_apart]
    listed = _explained(tails, np.flatnonzero(tails.pvalue <= tails.level), again, sizes)
    strongest = int(np.argmax(tails.score))
    segments = {i: _described(tails, told_apart, i) for i in dict.fromkeys([*listed, strongest])}
    return FoundSegments(
        statistic=float(tails.score[strongest]),
        pvalue=float(tails.pvalue.min()),
        reject=bool(tails.pvalue.min() <= tails.level),
        level=tails.level,
        method=f"search of {len(candidates):,} segments (proved tails of sums)",
        segments=tuple(segments[i] for i in listed),
        strongest=segments[strongest],
        n_tested=len(candidates),
        n_beyond=int((tails.pvalue <= tails.level).sum()),
        multicalibration_error=tails.error,
        detectable=tails.chance_error,
        features=ReadOnly({each.name: each.labels for each in told_apart}),
        left_out=ReadOnly(left_out),
        max_depth=int(search.max_depth),
        n_resamples=0,
        n_excluded=n_bad,
        summed=True,
        tested=np.stack([candidates.totals.count, candidates.totals.bias, tails.pvalue], axis=1),
        made_of=tuple(
            tuple(zip(*pair, strict=True)) for pair in zip(candidates.chosen, candidates.values, strict=True)
        ),
        impossible=_impossible(blocks),
        premise=f"{INDEPENDENT}, and {NOT_FITTED}",
    )


def summed_to_search(
    table: OpenedFrame, names: Mapping[str, str], features: Sequence[str], search: Search
) -> tuple[Summed, list[CellBlock], OpenedFrame, list[LazyFeature], dict[str, str]]:
    """Segments of a lazy table as sums, what they were made of, the table with codes, its features, and those left
    out.
    """
    rows = Featured(table, names, search.exclude_bad, search.option)
    told_apart, left_out = lazy_features(rows, features, search)
    coded = rows.coded({each.name: each.coding for each in told_apart}, trials=search.trials)
    sets = all_sets(len(told_apart), min(int(search.max_depth), len(told_apart)))
    weighted = "sample_weight" in names and not search.trials
    blocks = summed_by(coded, names, told_apart, sets, option=search.option, trials=search.trials)
    candidates = form_sums(
        blocks, told_apart, sets, search.min_rows, weighted=weighted, whatever_predicted=search.any_prediction
    )
    return candidates, blocks, coded, told_apart, left_out


def summed_again(blocks: Sequence[CellBlock], features: Sequence[LazyFeature], search: Search) -> Summed:
    """The segments that are searched, of sums without weights in which more were formed."""
    sets = all_sets(len(features), min(int(search.max_depth), len(features)))
    return form_sums(blocks, features, sets, search.min_rows, weighted=False)


@dataclass(frozen=True, slots=True, eq=False)
class TailSearch:
    """Evidence of all segments by proved tails.

    `score` is about twice the exponent of a segment's p-value, less its handicap; `share` its part of the level.
    """

    summed: Summed
    level: float
    stated: Stated
    where: list[tuple[float, float]]
    low_side: npt.NDArray[np.bool_]
    score: FloatArray
    share: FloatArray
    pvalue: FloatArray
    error: float
    chance_error: float

    @classmethod
    def of(cls, candidates: Summed, level: float) -> TailSearch:
        """Tails of all segments, adjusted for one another."""
        stated = candidates.stated()
        single, where, low_side, _ = segment_tails(
            candidates.index, candidates.cells, candidates.starts, RESOLUTION, stated
        )
        share = np.exp(-0.5 * candidates.handicap)
        share /= share.sum()
        error, chance_error = _climbs(candidates, stated, level)
        return cls(
            candidates,
            level,
            stated,
            where,
            low_side,
            -2.0 * np.log(single) - candidates.handicap,
            share,
            holm(single, share),
            error,
            chance_error,
        )


def _climbs(candidates: Summed, stated: Stated, level: float) -> tuple[float, float]:
    """Largest climb of any segment, at the ends of cells, over the weight of all; and what noise stays below."""
    cells = candidates.cells
    off = cells[:, sketching.OUTCOME] - stated.expected
    weight = np.maximum(cells[:, sketching.WEIGHT], 1e-300)
    mean = np.clip(stated.expected / weight, 0.0, 1.0)
    deviation = np.sqrt(np.add.reduceat(cells[:, sketching.SQUARED] * mean * (1.0 - mean), candidates.starts))
    largest = 0.0
    for first, last in zip(candidates.starts, candidates.ends, strict=True):
        path = np.cumsum(off[first:last])
        largest = max(largest, max(path.max(), 0.0) - min(path.min(), 0.0))
    all_rows = float(cells[candidates.starts[0] : candidates.ends[0], sketching.WEIGHT].sum())
    return largest / all_rows, reached_by_noise(deviation, level) / all_rows


def _explained(
    search: TailSearch, beyond: IntArray, again: Callable[[Sequence[int], Sets], list[CellBlock]], sizes: list[int]
) -> list[int]:
    """As `explained_once`, of sums: after each segment the rows of it are summed again, with what was corrected."""
    candidates, cells = search.summed, search.summed.cells
    weight = np.maximum(cells[:, sketching.WEIGHT], 1e-300)
    expected = search.stated.expected.copy()
    explanations: list[int] = []
    lines: list[Line] = []
    score, left = search.score[beyond], beyond
    needed = (
        -2.0 * math.log(search.level * float(search.share.max())) - candidates.handicap[int(np.argmax(search.share))]
    )
    while left.size and len(explanations) < MOST:
        best = int(np.argmax(score))
        if not score[best] >= needed:
            break
        explanations.append(int(left[best]))
        left = np.delete(left, best)
        rows = slice(candidates.starts[explanations[-1]], candidates.ends[explanations[-1]])
        mean, cells_held = expected[rows] / weight[rows], cells[rows]
        lines.append(
            Line.through(mean, cells_held[:, sketching.OUTCOME] / weight[rows], cells_held[:, sketching.WEIGHT])
        )
        if not left.size or len(explanations) == MOST:
            break
        sets = list(dict.fromkeys(candidates.chosen[i] for i in left))
        blocks = again(explanations, sets)
        for members in sets:
            block = next(each for each in blocks if set(members) <= set(each.members))
            shape = tuple(sizes[i] for i in members)
            place, moved = added_up(block.place(members, shape), _moved(block, lines)[:, None])
            for i in (int(each) for each in left if candidates.chosen[each] == members):
                own = np.ravel_multi_index(candidates.values[i], shape) if members else 0
                part = slice(candidates.starts[i], candidates.ends[i])
                wanted_places = own * _PLACES + candidates.index[part]
                at = np.minimum(np.searchsorted(place, wanted_places), place.size - 1) if place.size else None
                if at is not None:
                    expected[part] += np.where(place[at] == wanted_places, moved[at, 0], 0.0)
        within, starts = candidates.only(left)
        mean = np.clip(expected[within] / weight[within], 0.0, 1.0)
        stated = Stated(expected[within], mean, mean)
        single = segment_tails(candidates.index[within], cells[within], starts, RESOLUTION, stated)[0]
        score = -2.0 * np.log(single) - candidates.handicap[left]
    return explanations


def _moved(block: CellBlock, lines: Sequence[Line]) -> FloatArray:
    """By how much the last line moves the sum of the predictions of each of a block's rows, corrected before."""
    weight = np.maximum(block.cells[:, sketching.WEIGHT], 1e-300)
    mean = (block.index // 2 + block.cells[:, sketching.OFFSET] / weight) / RESOLUTION
    for bit, line in enumerate(lines[:-1]):
        mean = np.where(block.pattern >> bit & 1, line(mean), mean)
    certain = (block.index == 0) | (block.index == _PLACES - 1)
    return np.where(certain, 0.0, block.cells[:, sketching.WEIGHT] * (lines[-1](mean) - mean))


def _described(search: TailSearch, features: Sequence[LazyFeature], i: int) -> FoundSegment:
    candidates, totals = search.summed, search.summed.totals
    weight = totals.weight[i]
    low, high = (float(end[i]) for end in totals.intervals(search.level))
    index = candidates.index[candidates.starts[i] : candidates.ends[i]]
    where = search.where[i]
    part = slice(candidates.starts[i], candidates.ends[i])
    at = np.minimum(index // 2, RESOLUTION - 1) / RESOLUTION  # an interval holds its left end, the last one 1 as well
    there = (at >= where[0]) & (at < where[1])
    weight_there = float(candidates.cells[part, sketching.WEIGHT][there].sum())
    off = float((candidates.cells[part, sketching.OUTCOME] - search.stated.expected[part])[there].sum())
    if where == (0.0, 1.0):
        where = (float(index[0] // 2 / RESOLUTION), float((index[-1] + 1) // 2 / RESOLUTION))
    return FoundSegment(
        conditions=candidates.conditions(features, i),
        n_rows=int(totals.count[i]),
        base_rate=float(totals.outcome[i] / weight),
        mean_prediction=float(totals.prediction[i] / weight),
        bias=float(totals.bias[i]),
        bias_interval=Interval(low, high),
        direction="too low" if search.low_side[i] else "too high",
        where=where,
        where_bias=off / weight_there,
        where_share=min(1.0, weight_there / float(weight)),
        pvalue=float(search.pvalue[i]),
        marginal_pvalue=float(holm(totals.marginal)[i]),
        detectable=min(1.0, _detectable(search, i) / float(weight)),
    )


def _detectable(search: TailSearch, i: int) -> float:
    """Smallest total of outcome less prediction, of either sign, whose p-value is small enough in one step."""
    candidates, part = search.summed, slice(search.summed.starts[i], search.summed.ends[i])
    cells = candidates.cells[part]
    enough = math.log(search.level * float(search.share[i]) * SHARES[0])
    if candidates.totals.weighted:
        return math.sqrt(0.5 * float(cells[:, sketching.SQUARED].sum()) * (math.log(2.0) - enough))
    count, expected = cells[:, sketching.COUNT], float(search.stated.expected[part].sum())
    ends = search.stated.low[part], search.stated.high[part]

    def sure(ones: int) -> bool:
        return bool(two_sided_log_pvalues(count, ends, np.zeros(1, np.int64), np.array([float(ones)]))[0] <= enough)

    most = 0.0
    for end, way in ((int(count.sum()), 1), (0, -1)):
        near = math.floor(expected) if way > 0 else math.ceil(expected)
        if not sure(end):
            return math.inf
        far = end
        while abs(far - near) > 1:
            middle = (near + far) // 2
            near, far = (near, middle) if sure(middle) else (middle, far)
        most = max(most, abs(far - expected))
    return most


def _impossible(blocks: Sequence[CellBlock]) -> ImpossibleRows | None:
    """Certain predictions that outcomes contradict."""
    block = blocks[0]
    prediction = block.index / (2.0 * RESOLUTION)
    weighs = block.cells[:, sketching.WEIGHT] > 0.0
    count, ones = (np.where(weighs, block.cells[:, each], 0.0) for each in (sketching.COUNT, sketching.ONES))
    rows = contradicted(prediction, count, ones)
    return None if rows is None else replace(rows, row=None)
