"""Segments formed of features: all combinations of the values of a few of them that hold enough to be tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from calibrant.door.coding import cell_of
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Lots, Rows
from calibrant.door.values import counted
from calibrant.kernels import excursions as kernel
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import LEAST_GROUPS
from calibrant.segments.features import AnyFeature, Feature
from calibrant.segments.request import MOST_SEGMENTS

# Sum of v (1 - v) below which a segment is not formed: tiny ones would drown the others. It is 1, but for rounding,
# which depends on the order of a sum.
LEAST_INFORMATION = 1.0 - 1e-9
_MOST_DRAWN = 3_000_000_000  # bytes of outcomes redrawn with their weights, for each processor
_MOST_PLACES = 400_000_000  # rows times combinations of features, kept in memory
_LEAST = 1e-40  # prediction


@dataclass(frozen=True, slots=True, eq=False)
class FeatureLots(Lots):
    """Lots of one prediction, weight and value of every feature, in an order of their own; none is exactly 0 or 1."""

    rank: IntArray  # (k,): number of its prediction among the distinct ones
    codes: IntArray  # (features, k): values of the features
    group: IntArray | None = None  # (k,): number of its rows' group, where rows of one group depend on one another
    # the rows, each a lot, where weights may tell outcomes and are drawn again with them
    joint: JointRows | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return 0 if self.group is None else int(self.group.max(initial=-1)) + 1

    @property
    def drawn_type(self) -> type[np.generic]:
        """Type that holds redrawn numbers of events."""
        return np.uint8 if self.count.max() <= 255.0 else np.float64


def units_of(rows: Rows, features: Sequence[Feature]) -> FeatureLots:
    """Pool rows that nothing tells apart; the order of the units does not depend on that of the rows."""
    if rows.informative:
        return _single_lots(JointRows.of(rows), features)
    used = (rows.y_prob > 0.0) & (rows.y_prob < 1.0)
    if rows.weight is not None:
        used &= rows.mask
    keys = [*((each.code, len(each.labels)) for each in features)]
    if rows.group is not None:
        keys.append((rows.group, int(rows.group.max()) + 1))
    codes = np.stack([each.code[used] for each in features])
    joint = np.zeros(codes.shape[1], np.int64)
    size = 1
    for code, values in keys:
        if size > 2**62 // values:
            joint = np.asarray(np.unique(joint, return_inverse=True)[1], np.int64)
            size = int(joint.max(initial=0)) + 1
        joint = joint * values + code[used]
        size *= values
    v = np.maximum(rows.y_prob[used], _LEAST)
    w = np.ones(v.size) if rows.weight is None else rows.weight[used]
    order = np.argsort(v)
    if (np.diff(v[order]) == 0.0).any():  # else it is the same, which takes a fifth of the time
        order = np.lexsort((joint, v) if rows.weight is None else (joint, w, v))
    v, w, joint = v[order], w[order], joint[order]
    new = np.ones(v.size, np.bool_)
    new[1:] = (v[1:] != v[:-1]) | (w[1:] != w[:-1]) | (joint[1:] != joint[:-1])
    first = np.flatnonzero(new)
    group = None if rows.group is None else rows.group[used][order][first]
    if not first.size:
        return FeatureLots(v, v, v, v, joint, codes, group)
    count, ones = (np.add.reduceat(each[used][order], first) for each in (rows.count, rows.y_true.astype(np.float64)))
    v = v[first]
    rank = np.cumsum(np.concatenate([[False], v[1:] != v[:-1]]), dtype=np.int64)
    return FeatureLots(v, count, ones, w[first], rank, codes[:, order[first]], group)


def _single_lots(joint: JointRows, features: Sequence[Feature]) -> FeatureLots:
    """Every row by itself."""
    v, one = joint.prediction, np.ones(joint.prediction.size)
    rank = np.cumsum(np.diff(v, prepend=v[:1]) > 0.0, dtype=np.int64)
    codes = np.stack([each.code[joint.order] for each in features])
    return FeatureLots(v, one, joint.outcome.astype(np.float64), joint.weight, rank, codes, None, joint)


def in_many_groups(lots: FeatureLots, of: IntArray, place: IntArray, n_places: int) -> npt.NDArray[np.bool_]:
    """Whether events, and non-events, of the lots `of` are to be expected in `LEAST_GROUPS` groups, in each place.

    Of the effective number of groups, (sum x)^2 / sum x^2 with x a group's events, both means are taken as if rows were
    independent: rows that go together hold theirs in fewer groups. Outcomes play no part.
    """
    group = grouped(lots)[of]
    v, mass, weight = lots.prediction[of], (lots.weight * lots.count)[of], lots.weight[of]
    noise = np.bincount(place, weight * mass * v * (1.0 - v), n_places)
    many = np.ones(n_places, np.bool_)
    for chance in (v, 1.0 - v):
        mean = sums_by_group(place, group, mass * chance, (n_places, lots.n_groups))
        many &= effective_number(summed(mean), squared(mean) + noise) >= LEAST_GROUPS
    return many


def grouped(lots: FeatureLots) -> IntArray:
    """The group of each lot, where there are groups."""
    assert lots.group is not None
    return lots.group


@dataclass(frozen=True, slots=True, eq=False)
class FollowedRows:
    """All rows that were followed to a horizon or left before: they say how large segments are, known or not.

    Which outcomes are known depends on the outcomes: events are known early.
    """

    codes: list[IntArray]  # of each feature
    prediction: FloatArray
    group: IntArray | None  # (n,): number of each row's group

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None where there are none."""
        return None if self.group is None else int(np.unique(self.group).size)

    @property
    def content(self) -> tuple[list[IntArray], FloatArray, FloatArray]:
        """Codes of all rows, which of them a segment counts, and their information."""
        p = self.prediction
        return self.codes, ((p > 0.0) & (p < 1.0)).astype(np.float64), p * (1.0 - p)

    def of(self, candidates: SegmentCandidates) -> tuple[IntArray, IntArray | None]:
        """Rows of each segment, and groups with rows there."""
        n = np.zeros((2, len(candidates)), np.int64)
        for first, size, rows, segment in each_set(candidates, self.codes, self.prediction.size):
            here = slice(first, first + size)
            n[0, here] = np.bincount(segment, minlength=size)
            if self.group is not None:
                shape = size, int(self.group.max()) + 1
                n[1, here] = np.diff(sums_by_group(segment, self.group[rows], np.ones(rows.size), shape).indptr)
        return n[0], None if self.group is None else n[1]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentCandidates:
    """Segments that are tested."""

    features: tuple[Feature, ...]  # what they are made of
    chosen: list[tuple[int, ...]]  # of each segment the features that it fixes, by number
    values: list[tuple[int, ...]]  # and their values, by code
    order: npt.NDArray[np.int32]  # units, segment after segment, each in the order of predictions
    ends: IntArray  # (segments, 2): where each segment lies in it
    # second, third: (segments,), variance and third central moment of its total, were the predictions calibrated
    second: FloatArray
    third: FloatArray
    handicap: FloatArray  # (segments,): logarithm of the number of segments that fix as many features
    # combinations that are no segments for this alone: their events, or non-events, are to be expected in too few
    # groups
    n_few_groups: int = 0
    few_known: tuple[str, ...] = ()  # those that are none because too few of their outcomes are known
    few: bool = False  # whether those of all rows are. Then none is left out, and every segment has a bound alone.

    def __len__(self) -> int:
        """Number of segments."""
        return len(self.chosen)

    def conditions(self, segment: int) -> tuple[str, ...]:
        """Conditions of a segment, in words."""
        pairs = zip(self.chosen[segment], self.values[segment], strict=True)
        return tuple(self.features[i].labels[value] for i, value in pairs)


def _in_order_of_cells(cell: IntArray, n_cells: int) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Rows in the order of their cells, and where each cell begins and the last one ends."""
    # Of small integers a stable sort is by their digits: time goes as the rows.
    short = cell.astype(np.uint16) if n_cells <= 2**16 else cell
    first = np.concatenate([[0], np.bincount(cell, minlength=n_cells).cumsum()])
    return np.argsort(short, kind="stable").astype(np.int32), first


def form(
    units: FeatureLots, features: Sequence[Feature], max_depth: int, min_rows: int, followed: FollowedRows | None = None
) -> SegmentCandidates:
    """Form all combinations that hold `min_rows` outcomes and enough information, and differ from those they refine.

    Rows that were `followed` say how many they hold. The first is that of all rows. Raises InputError if there are
    none, or too many.
    """
    v = units.prediction
    information = units.count * v * (1.0 - v)
    codes, size, holds = (units.codes, units.count, information) if followed is None else followed.content
    sets = list(chain.from_iterable(combinations(range(len(features)), depth) for depth in range(max_depth + 1)))
    _refuse_size(units, float(size.sum()), float(information.sum()), len(sets), min_rows)
    rows_of: dict[tuple[int, ...], FloatArray] = {}
    features_of: list[tuple[int, ...]] = []
    values: list[tuple[int, ...]] = []
    few_known: list[str] = []
    orders: list[npt.NDArray[np.int32]] = []
    ends: list[tuple[int, int]] = []
    place, n_few_groups, few = 0, 0, False
    of_groups = np.argsort(np.zeros(0) if units.group is None else units.group, kind="stable")
    for members in sets:
        shape = shape_of(features, members)
        n_cells = math.prod(shape)
        cell = _cells_of_set(units.codes, members, shape, v.size)
        every = cell if followed is None else _cells_of_set(codes, members, shape, size.size)
        rows = np.asarray(np.bincount(every, size, n_cells), np.float64)
        enough = (rows >= min_rows) & (np.bincount(every, holds, n_cells) >= LEAST_INFORMATION)
        rows_of[members] = rows.reshape(shape)
        enough &= refines(rows_of, members)
        if followed is not None:
            told = np.bincount(cell, information, n_cells) >= LEAST_INFORMATION
            few_known += _names_of(features, members, np.flatnonzero(enough & ~told), shape)
            enough &= told
        if units.group is not None:
            many = in_many_groups(units, of_groups, cell[of_groups], n_cells)
            few = few or not (members or many[0])  # then nothing is left out: all segments have a bound
            if not few:
                n_few_groups += int((enough & ~many).sum())
                enough &= many
        if not enough.any():
            continue
        order, first = _in_order_of_cells(cell, n_cells)
        numbers = np.flatnonzero(enough)
        features_of += [members] * numbers.size
        values += values_of(numbers, shape)
        ends += zip((place + first[numbers]).tolist(), (place + first[numbers + 1]).tolist(), strict=True)
        if len(features_of) > MOST_SEGMENTS:
            raise too_many()
        orders.append(order)
        place += order.size
    joined, bounds = np.concatenate(orders), np.array(ends, np.int64)
    depth = np.array([len(each) for each in features_of])
    handicap = np.log(np.bincount(depth)[depth])
    second, third = moments(units, v, joined, bounds)
    return SegmentCandidates(
        tuple(features),
        features_of,
        values,
        joined,
        bounds,
        second,
        third,
        handicap,
        n_few_groups,
        tuple(few_known),
        few,
    )


def weightless(
    rows: Rows, features: Sequence[Feature], max_depth: int, min_rows: int, followed: FollowedRows | None = None
) -> tuple[str, ...]:
    """Name the combinations of `min_rows` rows or more that have no weight, and the number of their rows.

    What refines one of them is not named again. Where rows were `followed`, `form` names those with too few that are
    known.
    """
    if rows.weight is None or followed is not None:
        return ()
    of, names = [each.code for each in features], list[str]()
    silent_in: dict[tuple[int, ...], npt.NDArray[np.bool_]] = {}
    for members in chain.from_iterable(combinations(range(len(features)), depth + 1) for depth in range(max_depth)):
        shape = shape_of(features, members)
        cell = _cells_of_set(of, members, shape, rows.y_prob.size)
        count, weight = (np.bincount(cell, each, math.prod(shape)) for each in (rows.count, rows.count * rows.mask))
        silent = (weight == 0.0).reshape(shape)
        known = np.zeros(shape, np.bool_)
        for axis in range(len(members)):
            if coarser := members[:axis] + members[axis + 1 :]:
                known |= np.expand_dims(silent_in[coarser], axis)
        silent_in[members] = silent
        numbers = np.flatnonzero((silent & ~known).ravel() & (count >= min_rows))
        for number, name in zip(numbers, _names_of(features, members, numbers, shape), strict=True):
            names.append(f"{name} ({counted(int(count[number]), 'row')})")
    return tuple(names)


def moments(
    units: FeatureLots, prediction: FloatArray, order: npt.NDArray[np.int32], ends: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Variance and third central moment of segments' totals, were these predictions calibrated."""
    if units.joint is None:
        second, third = kernel.cumulants(prediction, units.count, units.weight, order, ends)
    else:
        joint = units.joint.at(prediction)
        second, third = kernel.cumulants(joint.chance, units.count, joint.spread, order, ends)
    return second, third


def _refuse_size(units: FeatureLots, n_rows: float, information: float, n_sets: int, min_rows: int) -> None:
    """Refuse rows that are fewer than a segment needs, or more than fit into memory in so many sets of features."""
    size = units.prediction.size
    if n_rows < min_rows or information < LEAST_INFORMATION:
        raise InputError(
            "y_prob",
            f"is strictly between 0 and 1 in {counted(int(n_rows), 'row')} with a sum of v (1 - v) of "
            f"{information:.3g}; a segment needs {min_rows:,} rows and {LEAST_INFORMATION:g}",
        )
    n_bytes = 0 if units.joint is None else 8 * size * kernel.LANES
    if n_sets * size > _MOST_PLACES or n_bytes > _MOST_DRAWN:
        raise InputError(
            "features",
            f"make {n_sets:,} combinations of {size:,} rows, more than fit into memory; "
            "name fewer features, lower max_depth or take a random part of the rows",
        )


def shape_of(features: Sequence[AnyFeature], members: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of values of a set of features; raises InputError if they make too many combinations."""
    shape = tuple(len(features[i].labels) for i in members)
    if math.prod(shape) > 100 * MOST_SEGMENTS:
        raise too_many()
    return shape


def _cells_of_set(
    codes: IntArray | Sequence[IntArray], members: tuple[int, ...], shape: tuple[int, ...], n_rows: int
) -> IntArray:
    """Number of each row's combination of values of a set of features."""
    return cell_of([codes[i] for i in members], shape, n_rows)


def _names_of(
    features: Sequence[AnyFeature], members: tuple[int, ...], numbers: IntArray, shape: tuple[int, ...]
) -> list[str]:
    """Conditions of these combinations of a set's values, in words."""
    return [
        " and ".join(features[i].labels[code] for i, code in zip(members, each, strict=True))
        for each in values_of(numbers, shape)
    ]


def values_of(numbers: IntArray, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Values of features, by code, of these combinations of a set's values."""
    return [tuple(int(code) for code in np.unravel_index(each, shape)) if shape else () for each in numbers]


def refines(rows_of: Mapping[tuple[int, ...], FloatArray], members: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Mask of the combinations of a set's values that hold fewer rows than each combination that they refine."""
    own = rows_of[members]
    mask = np.ones(own.size, np.bool_)
    for axis in range(len(members)):
        mask &= (own < np.expand_dims(rows_of[members[:axis] + members[axis + 1 :]], axis)).ravel()
    return mask


def each_set(
    candidates: SegmentCandidates, codes: IntArray | Sequence[IntArray], size: int
) -> Iterator[tuple[int, int, IntArray, IntArray]]:
    """First segment of each set of features, number of its segments, the rows in them, and the segment of each row.

    `codes` (features, size) are the features of any rows.
    """
    first = 0
    while first < len(candidates):
        members, last = candidates.chosen[first], first
        while last < len(candidates) and candidates.chosen[last] == members:
            last += 1
        shape = shape_of(candidates.features, members)
        values = np.array(candidates.values[first:last], np.int64).reshape(last - first, len(members))
        number = np.full(math.prod(shape), -1)
        number[np.ravel_multi_index(tuple(values.T), shape) if members else [0]] = np.arange(last - first)
        of = number[_cells_of_set(codes, members, shape, size)]
        inside = np.flatnonzero(of >= 0)
        yield first, last - first, inside, of[inside]
        first = last


def too_few_rows(n_rows: float, min_rows: int) -> InputError:
    """The problem of a table that is smaller than a segment."""
    return InputError("table", f"has {counted(int(n_rows), 'row')}; a segment needs {min_rows:,}")


def too_many() -> InputError:
    """The problem of features that make too many segments."""
    return InputError(
        "features",
        f"make more than {MOST_SEGMENTS:,} segments; name fewer features, lower max_depth or n_bins, or raise min_rows",
    )


def sums_by_group(place: IntArray, group: IntArray, column: FloatArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Sums of a column in each place and group, `shape` of them; fastest in order of groups."""
    return sparse.coo_array((column, (place, group)), shape).tocsr()


def summed(of_groups: sparse.csr_array) -> FloatArray:
    """Sums over the groups, of each place."""
    return np.asarray(of_groups.sum(axis=1), np.float64).ravel()


def squared(of_groups: sparse.csr_array, factors: sparse.csr_array | None = None) -> FloatArray:
    """Sums over the groups of the squares, or of products with others."""
    return summed(of_groups.multiply(of_groups if factors is None else factors))


def effective_number(total: FloatArray, squares: FloatArray) -> FloatArray:
    """(sum x)^2 / sum x^2, 0 where there is nothing."""
    positive = squares > 0.0
    return np.where(positive, total * total / np.where(positive, squares, 1.0), 0.0)
