"""Segments of a table: one query, one row a segment, with false discoveries under control."""

from __future__ import annotations

__all__ = ["Segment", "calibration_by_segment"]

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import check_level, power_of_two, texts
from calibrant.door.coding import key_in_words
from calibrant.door.columns import NO_WEIGHT, IntArray
from calibrant.door.ends import Bracket, Interval, readable
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows, check_outcome_free, not_taken
from calibrant.door.sample import Sample
from calibrant.door.values import Result, Results, known_rows, plain_key
from calibrant.inference.bounds.draws import SEED
from calibrant.inference.testing import group_evidence as evidence
from calibrant.inference.testing.calibration import calibration_test_on_rows
from calibrant.inference.testing.discrete import mean_chance_interval
from calibrant.inference.testing.result import LEAST
from calibrant.kernels import sketching
from calibrant.kernels.sums import dot
from calibrant.lazily import EXTRAS, optional
from calibrant.measures.lower import lower_certificate_from_sample
from calibrant.measures.smooth import smooth_error_from_sample
from calibrant.measures.two_bin import two_bin_error_from_sample
from calibrant.resampling.redraw import random_signs
from calibrant.segments.catalogue import TRIALS_COUNT_ONCE
from calibrant.segments.evidence import segment_tails
from calibrant.sketch.bounds import ARITHMETIC, Moments, moments_from_cells, sample_from_cells
from calibrant.sketch.cells import arrow_numbers, numbers_of, read_cells, rounding_of_plain_sums
from calibrant.sketch.groups import Groups
from calibrant.tables.frames import OpenedFrame, groups_by

FloatArray = npt.NDArray[np.float64]
RESOLUTION = 128
_CERTIFIED = 1_000  # segments whose distance is bracketed by a certificate
_TOLERANCE = 1e-4
_LIGHTEST = 1e-100  # total weight of a segment whose squares can still be told


@dataclass(frozen=True, slots=True, repr=False)
class Segment(Result):
    """One segment: its size, its error and the evidence.

    For event rates the number of trials is not known, and nothing is said about chance.

    Attributes
    ----------
    key : tuple
        Values of the columns of `by`; None where a row has none. In JSON dates, and what else it has not, are text.
    n_rows : int
        Rows.
    base_rate, mean_prediction : float
        Weighted means of outcomes and predictions.
    smooth_calibration_error : float
        Smooth calibration error of the segment's sketch.
    smooth_error_bound : float
        The error of the segment's rows is within this of `smooth_calibration_error`.
    lower_distance_bracket : Bracket
        Holds the lower distance from calibration of the segment's rows. For the worst 1,000 segments its width is 1e-4
        and the cost of pooling. For the rest it comes from cheaper inequalities.
    bias : float
        Mean of outcome minus prediction; positive where predictions are too low.
    effective_rows : float
        Kish's effective number of rows; `n_rows` where weights are equal; None for event rates.
    bias_interval : Interval
        Holds the mean over the segment's rows of the outcome's probability minus the prediction. In all segments at
        once with probability 1 - level, at any number of rows. None for event rates.
    pvalue : float
        Of the hypothesis that the segment is calibrated. Valid at any number of rows. None for event rates, and, with
        all that follows and the interval before, for weights that may tell outcomes. With a horizon it is None only
        where an outcome is worth fewer than about ten equal rows.
    qvalue : float
        The same, adjusted for the number of segments (Benjamini and Hochberg; with groups, which may lie in several
        segments, Benjamini and Yekutieli). None for event rates.
    reject : bool
        Whether qvalue <= level: the expected share of calibrated segments among those rejected is at most the level;
        None for event rates.
    direction : str
        "too low" or "too high": predictions in the interval where the evidence is strongest; None for event rates.
    where : tuple of float
        That interval of predictions, without its upper end unless that is 1; None for event rates.
    n_groups : int or None
        Groups with rows in the segment, where rows of one group may depend on one another; else None.
    n_unknown : int
        Rows besides, whose outcome at a horizon is not known; `n_groups` has their groups.

    See Also
    --------
    calibration_by_segment
    """

    key: tuple[Any, ...] = field(metadata={"plain": plain_key})
    n_rows: int
    base_rate: float
    mean_prediction: float
    smooth_calibration_error: float
    smooth_error_bound: float
    lower_distance_bracket: Bracket
    bias: float
    effective_rows: float | None = None
    bias_interval: Interval | None = None
    pvalue: float | None = None
    qvalue: float | None = None
    reject: bool | None = None
    direction: str | None = None
    where: tuple[float, float] | None = None
    n_groups: int | None = None
    n_unknown: int = 0

    def summary(self) -> str:
        """Say how far the segment is from calibrated, chance left aside."""
        name, size = key_in_words(self.key), known_rows(self.n_rows, self.n_unknown)
        return f"{name}: {size}, lower distance from calibration {self.lower_distance_bracket.summary()}."


@optional("calibration_by_segment", *EXTRAS)
def calibration_by_segment(
    frame: Any,
    *,
    y_true: str,
    y_prob: str,
    by: Sequence[str],
    sample_weight: str | None = None,
    trials: str | None = None,
    groups: str | None = None,
    outcome_free_weights: bool = False,
    level: float = 0.05,
    resolution: int = RESOLUTION,
    exclude_bad: bool = False,
    unweighted: bool = False,
) -> Results[Segment]:
    """Report for every segment of a table how far it is from calibrated and whether that is more than noise.

    Parameters
    ----------
    frame : table
        As for `CalibrationSketch.from_frame`.
    y_true, y_prob, sample_weight : str
        Names of its columns.
    by : sequence of str
        Columns whose combinations are the segments.
    trials : str, optional
        Column of how many independent outcomes are behind each row; y_true is then the share of events among them.
    groups : str, optional
        Column of what rows belong to (a patient, an account, a day), if only rows of different ones are independent. A
        group may lie in several segments.
    outcome_free_weights : bool, default False
        Declare that weights say nothing of outcomes at a given prediction. Only then are segments of weighted rows
        tested, as sums in cells do not say what weights tell. Segments of groups are tested by signs of groups.
    level : float, default 0.05
        Share of false discoveries, and one minus the coverage of the intervals.
    resolution : int, default 128
        Cells of predictions per segment, a power of two from 8.
    exclude_bad : bool, default False
        Leave out rows that are null, NaN or out of range instead of refusing the table.
    unweighted : bool, default False
        Leave out a column that holds weights by its name, instead of asking about it.

    Returns
    -------
    Results of Segment
        A tuple, with ``.to_frame()``: rejected segments first, within them and after them by smooth error less its
        bound, largest first. Rows without weight make no segment.

    Raises
    ------
    InputError
        As `CalibrationSketch.from_frame`, or if `by` or `level` cannot be used, or if no row has weight.

    See Also
    --------
    calibration_drift, CalibrationSketch

    Notes
    -----
    With `groups` the sums of whole groups are tested. One test is by random signs, which holds for many groups. It
    needs events and non-events in the equivalent of at least 30 equally large groups. The other is a bound that is
    proved for any number of groups (docs/tests.md). Without groups the test asks how unlikely the number of events is.
    It takes predictions as a whole, with 0.9 of the error, and in 2, 4 and 8 equal intervals, with 0.05, 0.03 and 0.02.
    Tails are those of independent outcomes with unequal probabilities. They are exact up to 512 rows if cells hold one
    prediction each. Else they are a proved bound, at most 1.31 times as large where measured. If weights are not all 1,
    Hoeffding's inequality is used. It assumes rows whose outcomes are independent given predictions and weights, and
    weights that do not depend on outcomes. For event rates nothing is said about chance, since the number of trials is
    not known. Intervals of the bias are Clopper and Pearson's, which also hold for unequal probabilities, or
    Hoeffding's for weights that are not all 1, or groups. Without groups the false discovery control assumes
    independent segments. Derivations are in docs/poisson-binomial.md. Cost: one GROUP BY, then about 1 ms per segment
    for the worst 1,000, and 0.3 ms for the others.

    References
    ----------
    Benjamini and Hochberg, Controlling the false discovery rate, JRSS B 57, 1995. Hoeffding, On the distribution of the
    number of successes in independent trials, Annals of Mathematical Statistics 27, 1956. Baillon, Cominetti and
    Vaisman, A sharp uniform bound for the distribution of sums of Bernoulli trials, 2016. Benjamini and Yekutieli, The
    control of the false discovery rate in multiple testing under dependency, Annals of Statistics 29, 2001.

    Examples
    --------
    >>> import pyarrow
    >>> from calibrant import calibration_by_segment
    >>> table = pyarrow.table({"day": [1] * 90 + [2] * 90, "y": [0, 1, 1] * 60, "p": [0.66] * 90 + [0.2] * 90})
    >>> [(s.key, s.reject, s.direction) for s in calibration_by_segment(table, y_true="y", y_prob="p", by=["day"])]
    [((2,), True, 'too low'), ((1,), False, 'too low')]
    """
    by = [by] if isinstance(by, str) else list(by)
    if not by:
        raise InputError("by", "is empty; name at least one column")
    texts(by, "by")
    level, resolution = check_level(level), power_of_two(resolution, "resolution", 8, 2**20)
    table = OpenedFrame(frame, "frame")
    if trials is not None:
        not_taken(TRIALS_COUNT_ONCE, sample_weight=sample_weight)
    check_outcome_free(outcome_free_weights, sample_weight, groups)
    keys = by if groups is None else [*by, groups]
    table.require(keys[len(by) :], "groups")
    cells = groups_by(table, y_true, y_prob, keys, resolution, sample_weight, trials, exclude_bad, unweighted)
    options: dict[str, Any] = {
        "grouped": groups is not None,
        "exclude_bad": exclude_bad,
        "outcome_free": outcome_free_weights,
    }
    return Results(segments_of_groups(cells, level, resolution, **options)[0], by)


def segments_of_groups(
    groups: Groups,
    level: float,
    resolution: int = RESOLUTION,
    *,
    grouped: bool = False,
    exclude_bad: bool = False,
    outcome_free: bool = False,
    rows: SegmentRows | None = None,
) -> tuple[list[Segment], list[tuple[tuple[Any, ...], int]]]:
    """Segments of groups, as `calibration_by_segment` has them; keys and rows of those whose rows have no weight.

    `grouped`, the last key says what depends. Weighted rows in no groups are tested where weights are `outcome_free`,
    or by the `rows` themselves.
    """
    in_groups = None
    if grouped:
        groups, in_groups = _tests_by_group(groups, resolution, exclude_bad)
    index, cells = read_cells(groups.index, groups.cells, resolution)
    of = numbers_of(groups.keys)
    order = np.lexsort((index, of))
    index, cells, of = index[order], cells[order], of[order]
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    labels = _labels(groups.keys, order[starts])
    ends = np.append(starts[1:], index.size)
    weight = np.add.reduceat(cells[:, sketching.WEIGHT], starts)
    _refuse_light(weight)
    rates = bool(cells[:, sketching.FRACTIONAL].any())
    tests = None
    if in_groups is not None:
        tests = _Tests(in_groups.pvalue, in_groups.where, in_groups.low_side, None, level, in_groups)
    elif not rates and (outcome_free or not _weights_differ(cells)):
        tests = _Tests(*segment_tails(index, cells, starts, resolution), level)
    segments: list[Segment | None] = []
    found_at = []
    for i, (first, last) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if weight[i] == 0.0:
            segments.append(None)
            continue
        part = slice(first, last)
        sample = sample_from_cells(index[part], cells[part], resolution)
        rounding = rounding_of_plain_sums(float(cells[part, sketching.COUNT].max()))
        moments = moments_from_cells(index[part], cells[part], resolution, rounding)
        found_at.append((first, last, moments.distance_moved + ARITHMETIC))
        segment = _measured(labels[i], sample, moments)
        if not rates:
            segment = replace(segment, effective_rows=sample.effective_rows)
        if tests is not None:
            segment = tests.told(segment, i, sample.effective_rows, moments.misplaced, rounding)
        segments.append(segment)
    if rows is not None and tests is None and not rates:
        segments = rows.tested(segments, _places(groups.keys[order[starts].tolist()], rows.keys), level)
    count = np.add.reduceat(cells[:, sketching.COUNT], starts)
    weightless = [(labels[i], int(count[i])) for i in np.flatnonzero(weight == 0.0)]
    found = [each for each in segments if each is not None]
    return _worst_first(found, found_at, (index, cells, resolution)), weightless


def _tests_by_group(groups: Groups, resolution: int, exclude_bad: bool) -> tuple[Groups, GroupTests | None]:
    """The cells of segments without their groups, and tests by these; none of rows that are rates."""
    groups, group = groups.in_groups(exclude_bad)
    index, cells = read_cells(groups.index, groups.cells, resolution)
    merged = groups.merged()
    if cells[:, sketching.FRACTIONAL].any():
        return merged, None
    numbers = _numbered_as(merged.keys, groups.keys)
    return merged, group_tests(index, cells, numbers, group, resolution, proved=not _weights_differ(cells))


def _refuse_light(weight: FloatArray) -> None:
    """Refuse segments without weight, and one with hardly any."""
    if not weight.any():
        raise InputError("sample_weight", NO_WEIGHT)
    if ((weight > 0.0) & (weight < _LIGHTEST)).any():
        raise InputError("sample_weight", "adds up to next to nothing in a segment; scale the weights to lie near 1")


def _worst_first(
    segments: Sequence[Segment], spans: list[tuple[int, int, float]], rows: tuple[IntArray, FloatArray, int]
) -> list[Segment]:
    """Segments in the order of their error, rejected ones first; the distance of the worst has a certificate."""
    index, cells, resolution = rows
    worst = sorted(
        zip(segments, spans, strict=True),
        key=lambda s: (not s[0].reject, s[0].smooth_error_bound - s[0].smooth_calibration_error),
    )
    return [
        segment if at >= _CERTIFIED else _certified(segment, index[first:last], cells[first:last], resolution, moved)
        for at, (segment, (first, last, moved)) in enumerate(worst)
    ]


def _measured(labels: tuple[Any, ...], sample: Sample, moments: Moments) -> Segment:
    """A segment with how far it errs, from its rows in cells, and nothing about chance."""
    mean = dot(sample.mass(), sample.prediction)
    bias = float(sample.residual().sum())
    smooth, moved = smooth_error_from_sample(sample), moments.smooth_moved + ARITHMETIC
    two_bin = two_bin_error_from_sample(sample)
    return Segment(
        labels,
        sample.n_rows,
        min(1.0, max(0.0, mean + bias)),
        mean,
        smooth,
        moved,
        # Mean error, smooth error / 2 and averaged two-bin error / 3 are below it, the last itself is above.
        Bracket(
            max(abs(bias) - moments.misplaced - ARITHMETIC, (smooth - moved) / 2.0, two_bin / 3.0 - moved, 0.0),
            min(1.0, two_bin + moments.distance_moved + ARITHMETIC),
        ),
        bias,
    )


def _weights_differ(cells: FloatArray) -> bool:
    """Whether some rows weigh more than others."""
    count, weight, squared = (cells[:, each] for each in (sketching.COUNT, sketching.WEIGHT, sketching.SQUARED))
    each = weight.sum() / count.sum()
    return bool(np.abs(weight - each * count).max() > 1e-9 * weight.sum() / weight.size) or bool(
        (squared * count > weight * weight * (1.0 + 1e-9)).any()
    )


def _certified(
    segment: Segment, index: npt.NDArray[np.int64], cells: FloatArray, resolution: int, displaced: float
) -> Segment:
    """The segment with its distance bracketed by the certificate, where that says more."""
    proved = lower_certificate_from_sample(sample_from_cells(index, cells, resolution), tol=_TOLERANCE)
    low, high = segment.lower_distance_bracket
    bracket = Bracket(max(low, float(proved.lower) - displaced), min(high, float(proved.upper) + displaced))
    return replace(segment, lower_distance_bracket=bracket)


def _numbered_as(keys: Any, others: Any) -> npt.NDArray[np.int64]:
    """Numbers of other keys, each being that of the same among these."""
    import narwhals as nw

    return numbers_of(nw.concat([keys, others]))[len(keys) :]


def _places(keys: Any, others: Any) -> npt.NDArray[np.int64]:
    """At which of these keys each of the others stands; all are there."""
    import narwhals as nw

    numbers = numbers_of(nw.concat([keys, others]))
    place = np.zeros(numbers.max() + 1, np.int64)
    place[numbers[: len(keys)]] = np.arange(len(keys))
    return place[numbers[len(keys) :]]


def _labels(keys: Any, rows: npt.NDArray[np.intp]) -> list[tuple[Any, ...]]:
    """Values of the keys in these rows."""
    return list(zip(*(_values(keys[name], rows) for name in keys.columns), strict=True))


def _values(column: Any, rows: npt.NDArray[np.intp]) -> list[Any]:
    if not column.implementation.is_pyarrow():
        return list(column[rows.tolist()].to_list())
    return list(column.to_native().take(arrow_numbers(rows.astype(np.int64))).to_pylist())


def false_discovery_rates(pvalue: FloatArray, *, dependent: bool = False) -> FloatArray:
    """Adjusted p-values by Benjamini and Hochberg, or by Benjamini and Yekutieli where tests depend on one another.

    As `scipy.stats.false_discovery_control`, which takes half a second to load.
    """
    number = np.arange(1, pvalue.size + 1)
    order = np.argsort(pvalue)
    adjusted = pvalue[order] * (pvalue.size / number)
    if dependent:
        adjusted *= np.sum(1.0 / number)
    rates = np.empty(pvalue.size)
    rates[order] = np.minimum.accumulate(adjusted[::-1])[::-1]
    return np.clip(rates, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Tests:
    """Results of `segment_tails` for all segments."""

    pvalue: FloatArray
    where: list[tuple[float, float]]
    low_side: npt.NDArray[np.bool_]
    counts: tuple[FloatArray, FloatArray] | None
    level: float
    in_groups: GroupTests | None = None
    qvalue: FloatArray = field(init=False)
    rate: tuple[FloatArray, FloatArray] | None = field(init=False)

    def __post_init__(self) -> None:
        # Segments that share groups depend on one another, in any way.
        qvalue = false_discovery_rates(self.pvalue, dependent=self.in_groups is not None)
        object.__setattr__(self, "qvalue", qvalue)
        miss = self.level / (2.0 * self.pvalue.size)  # of either end, all segments at once
        object.__setattr__(self, "rate", self.counts and mean_chance_interval(*self.counts, miss))

    def told(self, segment: Segment, i: int, effective_rows: float, misplaced: float, rounding: float) -> Segment:
        """The segment with its sentence about chance."""
        mean, bias = segment.mean_prediction, segment.bias
        independent = effective_rows if self.in_groups is None else float(self.in_groups.effective[i])
        if self.rate is not None:
            low, high = (float(end[i]) - mean for end in self.rate)
        else:  # Hoeffding: the mean of outcome minus prediction given the predictions, with chances of any kind.
            spread = math.log(2.0 * self.pvalue.size / self.level) / (2.0 * independent)
            reach = math.sqrt(spread) * (1.0 + 4.0 * rounding)
            low, high = bias - reach, bias + reach
        return replace(
            segment,
            effective_rows=effective_rows,
            bias_interval=Interval(max(-mean, low - misplaced), min(1.0 - mean, high + misplaced)),
            pvalue=float(self.pvalue[i]),
            qvalue=float(self.qvalue[i]),
            reject=bool(self.qvalue[i] <= self.level),
            direction="too low" if self.low_side[i] else "too high",
            where=self.where[i],
            n_groups=None if self.in_groups is None else int(self.in_groups.n_groups[i]),
        )


_BY_SIGNS, _PROVED = 0.99, 0.01  # of the error
_RESAMPLES, MOST_RESAMPLES, _AT_ONCE = 999, 19_999, 64
# Redraws, of the first 999, as large as what was seen, from which on more of them would decide nothing.
_UNCLEAR = 5
# What the smallest p-value by signs is to come to when it is adjusted for all segments.
_LEAST_ADJUSTED = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class GroupTests:
    """Tests of each segment by groups."""

    pvalue: FloatArray  # (k,): of the hypothesis that the segment is calibrated
    where: list[tuple[float, float]]  # the interval of predictions where evidence is strongest
    low_side: npt.NDArray[np.bool_]  # (k,): whether predictions are too low there
    # n_groups, effective: (k,), groups with rows in the segment, and Kish's effective number of them; of weighted rows,
    # as many as would make Hoeffding's interval as wide as a normal one by what groups add to the error
    n_groups: IntArray
    effective: FloatArray


def group_tests(
    index: IntArray, cells: FloatArray, segment: IntArray, group: IntArray, resolution: int, *, proved: bool = True
) -> GroupTests:
    """Test each segment by the sums of its groups, of cells that hold rows of one group and segment each.

    Two p-values share the error: one proved for any number of groups, which is one over an e-value, and, where events
    and non-events lie in the equal of enough groups, one by random signs of whole groups. Nothing is `proved` of rows
    with weights, which may tell outcomes.
    """
    order = np.lexsort((group, segment))
    index, cells, segment, group = index[order], cells[order], segment[order], group[order]
    events, weight = cells[:, sketching.OUTCOME], cells[:, sketching.WEIGHT]
    excess, expected, variance = evidence.sums_of_cells(index, cells, resolution)
    intervals = evidence.intervals_of(index, resolution)
    impossible = evidence.contradicted(index, cells, resolution)
    first = np.flatnonzero(np.diff(segment, prepend=-1))
    most = _redraws(first.size)
    tests = []
    for start, stop in zip(first, [*first[1:], segment.size], strict=True):
        here = slice(start, stop)
        of = np.cumsum(np.diff(group[here], prepend=-1) != 0) - 1
        place = of * evidence.N_INTERVALS + intervals[:, here]
        columns = (events, weight, excess, expected, variance)
        sums = np.stack([_by_interval(place, column[here], int(of[-1]) + 1) for column in columns])
        tests.append(_test(sums, impossible[here], most, proved))
    pvalue, where, low_side, n_groups, effective = zip(*tests, strict=True)
    return GroupTests(np.array(pvalue), list(where), np.array(low_side), np.array(n_groups), np.array(effective))


def _by_interval(place: IntArray, column: FloatArray, n_groups: int) -> FloatArray:
    """Sums of each group in each interval, of cells that lie in one interval at each depth."""
    shape = n_groups, evidence.N_INTERVALS
    sums = np.bincount(place.ravel(), np.tile(column, len(place)), math.prod(shape))
    return np.asarray(sums.reshape(shape), np.float64)


def _redraws(n_segments: int) -> int:
    """Signs that are drawn at most, so that one segment can be found among as many (Benjamini and Yekutieli, 2001)."""
    harmonic = sum(1.0 / i for i in range(1, n_segments + 1))
    number = math.ceil(n_segments * harmonic / (_BY_SIGNS * _LEAST_ADJUSTED)) - 1
    return min(max(_RESAMPLES, number), MOST_RESAMPLES)


def _test(
    sums: FloatArray, impossible: FloatArray, most: int, proved: bool
) -> tuple[float, tuple[float, float], bool, int, float]:
    """One segment's part of `GroupTests`, from the sums of its groups in each interval."""
    events, weight, excess, expected, variance = sums
    total, length, missing = excess.sum(axis=0), variance.sum(axis=0), weight - expected
    squares = np.einsum("gk,gk->k", excess, excess)
    sides = evidence.log_evalues(total, squares, expected.max(axis=0), missing.max(axis=0), length)
    if not proved:
        sides = (np.zeros_like(sides[0]), np.zeros_like(sides[1]))
    for way, side in zip((1.0, -1.0), sides, strict=True):
        side[0] = math.inf if (impossible == way).any() else side[0]
    logs, best, signs = evidence.mixed(sides)
    log, interval, sign = float(logs), int(best), float(signs)
    pvalue = math.exp(-min(max(log, 0.0), 700.0))
    if evidence.enough(events, weight - events)[0]:
        by_signs, strongest = _by_signs(excess, length, most)
        pvalue = min(pvalue / _PROVED, by_signs / _BY_SIGNS)
        if log < math.inf:
            interval, sign = strongest, float(total[strongest])
    n_groups, effective = int(np.count_nonzero(weight[:, 0])), float(evidence.kish(weight)[0])
    if not proved:
        mass, bias = float(weight[:, 0].sum()), float(total[0]) / float(weight[:, 0].sum())
        effective = 0.25 * mass * mass / max(float(((excess[:, 0] - bias * weight[:, 0]) ** 2).sum()), 1e-300)
    return max(LEAST, min(1.0, pvalue)), evidence.bounds_of(interval), sign > 0.0, n_groups, effective


def _by_signs(sums: FloatArray, length: FloatArray, most: int) -> tuple[float, int]:
    """The p-value of the clearest interval, whole groups having random signs, and which it is.

    Where few of the first 999 draws are as large, more are drawn. That is valid at every level a: the p-value is
    at most a only if that of the first 999 draws is so, where a is 6/1000 or more, and else that of all draws.

    An interval counts by the size of its sum against the variance of independent rows, not by its outcomes, and of
    shares of the error; how much more the sums vary than that is taken from the whole.
    """
    used = length > 0.0
    design = float((sums[:, 0] ** 2).sum()) / max(float(length[0]), 1e-300)
    if not design > 0.0:
        return 1.0, 0
    scaled = np.where(used, sums / np.sqrt(np.where(used, length, 1.0) * design), 0.0)
    share = np.array(evidence.LOG_SHARES)

    def strength(signs: FloatArray) -> FloatArray:
        return np.asarray(0.5 * (signs @ scaled) ** 2 + share)

    own = strength(np.ones((1, sums.shape[0])))[0]
    rng, larger = np.random.default_rng(SEED), 0
    n_done = 0
    for stop in (_RESAMPLES, most):
        for start in range(n_done, stop, _AT_ONCE):
            lengths = strength(random_signs(rng, (min(_AT_ONCE, stop - start), sums.shape[0])))
            larger += int((lengths.max(axis=1) >= own.max() - 1e-9).sum())
        n_done = stop
        if larger >= _UNCLEAR:
            break
    return (1.0 + larger) / (1.0 + n_done), int(np.argmax(own))


@dataclass(frozen=True, slots=True, eq=False)
class SegmentRows:
    """Rows of a table, their segments as keys in a frame, and how outcomes are drawn again."""

    rows: Rows
    keys: object
    n_resamples: int
    seed: int

    def tested(self, segments: Sequence[Segment | None], segment: IntArray, level: float) -> list[Segment | None]:
        """The segments with what `calibration_test` says of their rows; `segment` has the number of each row's.

        Left as it is where too few rows of an outcome count for weights to be drawn again.
        """
        used = [i for i, each in enumerate(segments) if each is not None]
        n_resamples = min(max(self.n_resamples, math.ceil(2 * len(used) / level)), MOST_RESAMPLES)
        order = np.argsort(segment, kind="stable")
        ends = np.searchsorted(segment[order], np.arange(len(segments) + 1))
        results = {}
        for i in used:
            rows = self.rows.take(order[ends[i] : ends[i + 1]])
            try:
                test = calibration_test_on_rows(rows, level, n_resamples, self.seed)
                results[i] = test, self._reach(rows), int(((rows.y_prob > 0.0) & (rows.y_prob < 1.0)).sum())
            except InputError:  # too few
                continue
        if not results:
            return list(segments)
        pvalues = np.array([each.pvalue for each, *_ in results.values()])
        qvalue = dict(zip(results, false_discovery_rates(pvalues), strict=True))
        far = math.sqrt(2.0 * math.log(2.0 * len(results) / level))
        tested = list(segments)
        for i, (result, error, n_between) in results.items():
            each, region = segments[i], result.region
            of_all = region is None or region.n_rows == n_between
            assert each is not None
            mean = each.mean_prediction
            tested[i] = replace(
                each,
                bias_interval=Interval(max(-mean, each.bias - far * error), min(1.0 - mean, each.bias + far * error)),
                pvalue=result.pvalue,
                qvalue=float(qvalue[i]),
                reject=bool(qvalue[i] <= level),
                direction=("too low" if each.bias > 0.0 else "too high") if region is None else region.direction,
                where=(0.0, 1.0) if region is None or of_all else _range_ends(region.low, region.high),
            )
        return tested

    def _reach(self, rows: Rows) -> float:
        """Standard error of the mean of outcome less prediction, by the root of the sum of squares."""
        weight: FloatArray = np.ones(rows.y_prob.size) if rows.weight is None else rows.weight
        off = rows.y_true - rows.y_prob
        bias = float((weight * off).sum() / weight.sum())
        return math.sqrt(float(((weight * (off - bias)) ** 2).sum())) / float(weight.sum())


def _range_ends(low: float, high: float) -> tuple[float, float]:
    """The ends of a range outwards, in as many decimals as its width asks for."""
    first, last = readable(low, high)
    return float(first), float(last)
