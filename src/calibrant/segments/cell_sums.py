"""Segments as sums over cells of predictions, rolled up from a few GROUP BYs over blocks of features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from calibrant.door.coding import cell_of
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.values import counted
from calibrant.kernels import sketching
from calibrant.segments.candidates import LEAST_INFORMATION, refines, too_few_rows, too_many, values_of
from calibrant.segments.features import LazyFeature
from calibrant.segments.request import MOST_SEGMENTS
from calibrant.segments.tails import Stated, stated
from calibrant.segments.totals import Totals
from calibrant.sketch.cells import MEASURED
from calibrant.sketch.groups import Groups
from calibrant.tables.features import TESTED, code_name, in_blocks
from calibrant.tables.frames import OpenedFrame

RESOLUTION = 64
"""Cells of predictions."""
MOST_GROUPS = 2**19
"""Groups of a block: combinations of values of its features, times cells of predictions."""
_PLACES = 2 * RESOLUTION + 1
_SUMS = [
    sketching.COUNT,
    sketching.ONES,
    sketching.WEIGHT,
    sketching.OUTCOME,
    sketching.SQUARED,
    sketching.OFFSET,
]
_TESTED, _INFORMATION = range(len(MEASURED), len(MEASURED) + len(TESTED))
_OWN = "calibrant_pattern"
Sets = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class CellBlock:
    """Sums of a table by the values of a few features and the cell of the prediction.

    Attributes
    ----------
    members : tuple of int
        The features, by number.
    codes : ndarray of shape (features, m)
        Their values.
    index : ndarray of shape (m,)
        Cells of predictions.
    cells : ndarray of shape (m, 12)
        Sums, the last two those of `TESTED`.
    pattern : ndarray of shape (m,)
        Which of the segments that were asked about the rows lie in, a bit for each.
    """

    members: tuple[int, ...]
    codes: IntArray
    index: IntArray
    cells: FloatArray
    pattern: IntArray

    def place(self, members: tuple[int, ...], shape: tuple[int, ...]) -> IntArray:
        """Number of each row's combination of values of some of the features, times the cells, and its cell."""
        codes = [self.codes[self.members.index(i)] for i in members]
        return np.asarray(cell_of(codes, shape, self.index.size) * _PLACES + self.index)


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """Segments that are tested, each as its cells.

    Attributes
    ----------
    chosen, values : list of tuple of int
        Of each segment the features that it fixes, and their values.
    starts : ndarray of shape (segments,)
        First cell of each; its cells follow one another.
    index, cells : ndarray of shape (m,) and (m, 10)
        The cells, without those of predictions that are certain.
    totals : Totals
        Sums of all rows of each segment.
    handicap : ndarray of shape (segments,)
        Logarithm of the number of segments that fix as many features.
    """

    chosen: Sets
    values: Sets
    starts: IntArray
    index: IntArray
    cells: FloatArray
    totals: Totals
    handicap: FloatArray

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
    names: dict[str, str],
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
        problem = "holds event rates; segments are found by events, so each must be 0 or 1"
        raise InputError("y_true", problem, allowed="or name the column of trials")
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

    ``whatever_predicted`` forms them by numbers of rows alone, those predicted 0 or 1 among them.

    Raises
    ------
    InputError
        If there are none, or too many.
    """
    sizes = [len(each.labels) for each in features]
    rows_of: dict[tuple[int, ...], FloatArray] = {}
    features_of: Sets = []
    values: Sets = []
    places, cells, sizes_of, totals = [], [], [], []
    for members in sets:
        shape = tuple(sizes[i] for i in members)
        if math.prod(shape) > 100 * MOST_SEGMENTS:
            raise too_many()
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


def added_up(key: IntArray, columns: FloatArray) -> tuple[IntArray, FloatArray]:
    """Distinct keys in order, and the sums of the columns over the rows of each."""
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    return key[order][first], np.add.reduceat(columns[order], first)


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
