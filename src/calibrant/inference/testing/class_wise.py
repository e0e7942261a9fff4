"""Tests of K classes: every class by itself, every pair of them, and whole vectors."""

from __future__ import annotations

__all__ = ["ClassEvidence", "ClassWiseResult", "canonical_kernel_test", "class_wise_test"]

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator
from calibrant.door.classes import BinaryReduction, MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, FloatArray, IntArray, Labels, Table
from calibrant.door.ends import Interval
from calibrant.door.rows import INDEPENDENT, Rows, read_groups
from calibrant.door.sample import Sample
from calibrant.door.values import Result, counted
from calibrant.door.weights import LEAST_EFFECTIVE
from calibrant.inference.testing.components import UncertainLots, lots_of_rows, sum_bound
from calibrant.inference.testing.discrete import mean_chance_interval, two_sided_log_pvalues
from calibrant.inference.testing.result import LEAST, TestResult, impossible_rows, register_test
from calibrant.kernels.canonical import draw_labels, paired_sum
from calibrant.kernels.class_cells import class_cells
from calibrant.kernels.classes import add_rows
from calibrant.kernels.sums import dot
from calibrant.measures.kernel import paired
from calibrant.resampling.redraw import pvalue_among, resampled, running_shares

Direction = Literal["too high", "too low", "too confident", "not confident enough"]

_CELLS = 256
_QUARTERS = 4
_SHARES = np.array([0.5, 0.25, *(_QUARTERS * [0.25 / _QUARTERS])])
"""Of the error: all rows, the upper half against the lower, and each quarter; halves and quarters of variance."""
_UNIT = 2.0**-50  # what a mean of a cell may be off by, for each row of it


@dataclass(frozen=True, slots=True, repr=False)
class ClassEvidence(Result):
    """Evidence of the outcomes about one class.

    Attributes
    ----------
    name : str
        The question, "class cat".
    rate, mean_prediction : float
        How often it was this class, and the mean probability of it, by weight.
    pvalue : float
        Of the hypothesis that its probabilities are calibrated, for this class alone.
    qvalue : float
        The same, adjusted for the number of classes.
    direction : str or None
        "too high" or "too low" if the evidence is strongest in all of the rows or a quarter of them. "too confident" or
        "not confident enough" if it is strongest in the contrast of high and low probabilities. None if the p-value is
        1.
    bias_interval : Interval or None
        Holds the mean difference of true and predicted probability, each end at half the level for this class alone;
        None for weighted or grouped rows.

    See Also
    --------
    ClassWiseResult, class_wise_test
    """

    name: str
    rate: float
    mean_prediction: float
    pvalue: float
    qvalue: float
    direction: str | None
    bias_interval: Interval | None

    def summary(self) -> str:
        """Say what was predicted, and what was seen."""
        sentence = f"{self.name}: {self.mean_prediction:.3g} predicted, {self.rate:.3g} seen, q = {self.qvalue:.2g}"
        return sentence if self.direction is None else f"{sentence}, {self.direction}"


@dataclass(frozen=True, repr=False)
class ClassWiseResult(TestResult):
    """The outcome of `class_wise_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`: the number of classes found miscalibrated, the smallest adjusted p-value, and whether it is
        at most the level.
    each_class : tuple of ClassEvidence
        Every class, in the order of the columns.
    n_impossible : int
        Rows whose class was predicted exactly 0, or that are of another class than one predicted exactly 1; counted for
        each class. They are set aside, as such probabilities may be rounded.

    See Also
    --------
    class_wise_test, ClassEvidence
    """

    _parts = "each_class"
    each_class: tuple[ClassEvidence, ...]
    n_impossible: int = 0

    @property
    def found_classes(self) -> tuple[ClassEvidence, ...]:
        """Classes with an adjusted p-value of at most the level, smallest first."""
        return tuple(
            sorted((each for each in self.each_class if each.qvalue <= self.level), key=lambda each: each.pvalue)
        )

    def summary(self) -> str:
        """Say how many classes are miscalibrated, and which most plainly."""
        k, classes = len(self.each_class), self.found_classes
        how = f"{self.method}; false-discovery rate at most {self.level:g}"
        if not classes:
            return f"no class of {k:,} is found miscalibrated ({how})"
        return f"{len(classes):,} of {counted(k, 'class', 'classes')} miscalibrated, {classes[0].summary()} ({how})"


@register_test(
    proof="which of up to thousands of classes have wrong probabilities.",
    limits="detect faults that cancel within each quarter of a class's variance.",
    promise="exact tails, false-discovery rate",
    source="Benjamini and Yekutieli, 2001.",
    order=70,
    null="exact",
    admits=("sample_weight", "groups"),
    of_classes=True,
)
def class_wise_test(
    y_true: Labels | Table,
    y_prob: Table,
    *,
    sample_weight: Column | None = None,
    groups: Any = None,
    classes: Sequence[Any] | None = None,
    from_logits: bool = False,
    level: float = 0.05,
) -> ClassWiseResult:
    """Test each class's probabilities by itself, and name the classes that err, with false-discovery control.

    Parameters
    ----------
    y_true : column of shape (n,), or table of shape (n, K)
        Labels, as `multiclass_sample` takes them.
    y_prob : table of shape (n, K)
        Class probabilities, rows adding up to 1; or logits.
    sample_weight : column of shape (n,), optional
        Non-negative weights, which may tell outcomes. Results are then asymptotic.
    groups : column of shape (n,), optional
        Which group each row belongs to, if only rows of different groups are independent.
    classes : sequence of K names, optional
        Names of the columns.
    from_logits : bool, default False
        Whether `y_prob` holds logits.
    level : float, default 0.05
        The false-discovery rate: the largest expected share of calibrated classes among all found.

    Returns
    -------
    ClassWiseResult
        With the evidence of every class; ``.found_classes`` are the ones that err.

    Raises
    ------
    InputError
        If a table or parameter cannot be used.

    See Also
    --------
    canonical_kernel_test, tcal_test, calibration_by_segment

    Notes
    -----
    A class is calibrated if, among the rows with a given probability of it, that share is of it. Then its events among
    any rows chosen by their predictions are Poisson-binomial. Six numbers of events are compared with that
    distribution. One is of all events, with half of the error. One is of the upper half of the variance with the lower,
    with a quarter. Four are of its quarters, with a sixteenth each. The smallest of their p-values, each divided by its
    share, is a p-value at any number of rows; nothing is redrawn. With groups the six sums are bounded group by group.
    With weights each is divided by the root of the sum of its squares, and compared with Student's distribution. Its
    degrees of freedom are the effective rows (or groups) less one. Below ten of them it is no evidence. p-values of
    classes are adjusted by Benjamini and Yekutieli's procedure. As each row has one label, classes depend on one
    another. The procedure controls the false-discovery rate under any dependence. Its adjusted p-values are 1 + 1/2 +
    ... + 1/K times those of Benjamini and Hochberg. Cost: O(n K).

    References
    ----------
    Y. Benjamini and D. Yekutieli, The control of the false discovery rate in multiple testing under dependency, Annals
    of Statistics 29, 2001. docs/poisson-binomial.md derives the tails.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import class_wise_test
    >>> table = np.random.default_rng(0).dirichlet(np.ones(4), 2000)
    >>> ends = (table * [1.0, 1.0, 1.0, 1.4]).cumsum(axis=1)
    >>> label = (np.random.default_rng(1).random((2000, 1)) * ends[:, -1:] > ends).sum(axis=1)
    >>> result = class_wise_test(label, table)
    >>> result.reject, result.found_classes[0].name, result.found_classes[0].direction
    (True, 'class 3', 'too low')
    """
    level = check_level(level)
    sample = multiclass_sample(y_true, y_prob, sample_weight=sample_weight, classes=classes, from_logits=from_logits)
    group = None if groups is None else read_groups(groups, sample.y_true.size)
    return gathered((evidence_of(question, level, group) for question in sample.each_class()), sample, level, group)


Found = tuple[ClassEvidence, int]


def evidence_of(
    question: BinaryReduction, level: float, group: IntArray | None = None, sample: Sample | None = None
) -> Found:
    """Evidence of one question, its q-value not yet adjusted, and its impossible rows; `sample` are its rows."""
    if group is None and question.sample_weight is None:
        return _exactly(question.name, question.sample if sample is None else sample, level)
    return _by_bounds(question, group)


def gathered(
    evidence: Iterable[Found], sample: MulticlassSample, level: float, group: IntArray | None = None
) -> ClassWiseResult:
    """The result of all classes."""
    each, impossible = zip(*evidence, strict=True)
    adjusted = benjamini_yekutieli(np.array([one.pvalue for one in each]))
    classes = tuple(
        ClassEvidence(one.name, one.rate, one.mean_prediction, one.pvalue, float(q), one.direction, one.bias_interval)
        for one, q in zip(each, adjusted, strict=True)
    )
    least = float(adjusted.min())
    how = "bounded" if group is not None else "exact"
    how = how if sample.sample_weight is None else "asymptotic"
    premise = INDEPENDENT if group is None else f"{INDEPENDENT} between groups"
    if sample.sample_weight is not None:
        premise += ", and many: sums with weights, which may tell outcomes, are taken to be like a Student's variable"
    return ClassWiseResult(
        float((adjusted <= level).sum()),
        least,
        least <= level,
        level,
        f"each class by {how} tails",
        classes,
        sum(impossible),
        premise=premise,
    )


def benjamini_yekutieli(pvalues: FloatArray, tests: int | None = None) -> FloatArray:
    """Adjusted p-values: those at most q make up a false-discovery rate of at most q, for any dependence.

    Of more tests than p-values the others' are 1.
    """
    k = pvalues.size if tests is None else tests
    order = np.argsort(pvalues, kind="stable")
    harmonic = float((1.0 / np.arange(1, k + 1)).sum())
    raised = pvalues[order] * (k * harmonic) / np.arange(1, pvalues.size + 1)
    qvalues = np.empty(pvalues.size)
    qvalues[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return qvalues


def _exactly(name: str, sample: Sample, level: float) -> Found:
    n, events = float(sample.count.sum()), float(sample.ones.sum())
    rows = np.ascontiguousarray(sample.count)
    count, chance, ones, impossible = class_cells(sample.prediction, rows, sample.ones, _CELLS)
    mean = min(1.0, dot(sample.count, sample.prediction) / n)
    low, high = mean_chance_interval(np.array([events]), np.array([n]), min(level / 2.0, 0.2))
    slack = _UNIT * mean
    interval = Interval(float(low[0]) - mean - slack, float(high[0]) - mean + slack)
    pvalue, direction = 1.0, None
    if count.size:
        logs, sides = _six_tails(count, chance, ones)
        pvalue, direction = _smallest(logs, sides)
    evidence = ClassEvidence(name, events / n, mean, pvalue, 1.0, direction, interval)
    return evidence, int(impossible)


def _six_tails(count: FloatArray, chance: FloatArray, ones: FloatArray) -> tuple[FloatArray, list[Direction]]:
    """Logarithms of two-sided p-values of the six numbers of events, and what each says."""
    doubt = _UNIT * (count + 1.0)
    # One row is known exactly; of more the mean is, nearly, and their chances may differ.
    off = np.where(count > 1.0, doubt * chance, 0.0)
    low, high = np.maximum(chance - off, 0.0), np.minimum(chance + off, 1.0)
    quarter = quarters(count * chance * (1.0 - chance))
    lower = quarter < _QUARTERS // 2
    against = np.where(lower, count - ones, ones)
    turned_low = np.where(lower, 1.0 - high - _UNIT, low)
    turned_high = np.where(lower, np.minimum(1.0 - low + _UNIT, 1.0), high)
    at = [np.arange(count.size), np.arange(count.size), *(np.flatnonzero(quarter == q) for q in range(_QUARTERS))]
    used = [i for i, part in enumerate(at) if part.size and not (i == 1 and (lower.all() or not lower.any()))]
    parts = [at[i] for i in used]
    where = np.concatenate(parts)
    contrast = np.repeat([i == 1 for i in used], [part.size for part in parts])
    ends = np.where(contrast, turned_low[where], low[where]), np.where(contrast, turned_high[where], high[where])
    observed = np.where(contrast, against[where], ones[where])
    start = np.cumsum([0, *(part.size for part in parts[:-1])])
    logs = np.zeros(_SHARES.size)
    totals = np.add.reduceat(observed, start)
    logs[used] = two_sided_log_pvalues(count[where], (np.maximum(ends[0], 0.0), ends[1]), start, totals)
    expected = np.zeros(_SHARES.size)
    expected[used] = totals - np.add.reduceat(count[where] * 0.5 * (ends[0] + ends[1]), start)
    return logs, [_direction(i, value) for i, value in enumerate(expected)]


def quarters(variance: FloatArray) -> IntArray:
    """Return the quarter of the variance, in the order of the predictions, that each cell or row lies in."""
    total = float(variance.sum())
    if not total > 0.0:
        return np.zeros(variance.size, np.int64)
    time = (np.cumsum(variance) - 0.5 * variance) / total
    return np.minimum((time * _QUARTERS).astype(np.int64), _QUARTERS - 1)


def _studentised(lots: UncertainLots, direction: FloatArray) -> float:
    """Log of Student's tail of the sum over the root of its own squares, of as many rows or groups as it has in effect.

    Where they are fewer than ten, it is no evidence.
    """
    from calibrant.door.special import stdtr

    squares = lots.count * lots.prediction**2 + lots.ones * (1.0 - 2.0 * lots.prediction)
    squares = (direction * lots.weight) ** 2 * squares
    each = direction * lots.excess
    if lots.group is not None:
        each = np.asarray(np.bincount(lots.group, each), np.float64)
        squares = each * each
    total = float(squares.sum())
    effective = total * total / max(float((squares * squares).sum()), 1e-300)
    if not total > 0.0 or effective < LEAST_EFFECTIVE:
        return 0.0
    return math.log(max(LEAST, float(stdtr(effective - 1.0, -float(each.sum()) / math.sqrt(total)))))


def _direction(i: int, excess: float) -> Direction:
    """Say the direction of the predictions where events are more or fewer than expected."""
    if i == 1:
        return "not confident enough" if excess > 0.0 else "too confident"
    return "too low" if excess > 0.0 else "too high"


def _smallest(logs: FloatArray, sides: list[Direction]) -> tuple[float, Direction | None]:
    shared = logs - np.log(_SHARES)
    best = int(np.argmin(shared))
    log = float(shared[best])
    return (1.0, None) if log >= 0.0 else (max(LEAST, math.exp(log)), sides[best])


def _by_bounds(question: BinaryReduction, group: IntArray | None) -> Found:
    """The same six sums of weighted excesses, each bounded as a sum of independent groups, or with weights studentised.

    Weights may tell outcomes, so that no bound at given weights holds.
    """
    rows = Rows.of_arrays(question.y_true, question.y_prob, question.sample_weight, None, group)
    lots = lots_of_rows(rows)
    impossible = impossible_rows(rows)
    mass = np.ones(rows.y_prob.size) if rows.weight is None else rows.weight
    total = float(mass.sum())
    rate, mean = float((mass * rows.y_true).sum()) / total, float((mass * rows.y_prob).sum()) / total
    pvalue, direction = 1.0, None
    variance = lots.variance
    if lots.prediction.size and float(variance.sum()) > 0.0:
        quarter = quarters(variance)
        one = np.ones(variance.size)
        directions = [one, np.where(quarter < _QUARTERS // 2, -1.0, 1.0)]
        directions += [(quarter == q).astype(np.float64) for q in range(_QUARTERS)]
        logs, sides = np.zeros(_SHARES.size), []
        for i, along in enumerate(directions):
            observed = float((along * lots.excess).sum())
            sides.append(_direction(i, observed))
            # Less than a standard deviation cannot be evidence of anything.
            if observed**2 > float((along**2 * variance).sum()):
                bound = sum_bound if rows.weight is None else _studentised
                logs[i] = min(0.0, math.log(2.0) + bound(lots, along if observed > 0.0 else -along))
        pvalue, direction = _smallest(logs, sides)
    evidence = ClassEvidence(question.name, min(1.0, rate), min(1.0, mean), pvalue, 1.0, direction, None)
    return evidence, 0 if impossible is None else impossible.n_rows


_ROUNDING = 1e-11  # relative, more than that of the incomplete beta function


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Rows by the class that is most probable, and by the class they are of."""

    rows: IntArray  # (K,): rows whose most probable class it is; rows predicted with certainty are left out
    # observed, expected: (K, K), of those, rows that are of each class, and the sum of their probabilities of it. Rows
    # of a class that was called impossible are not counted.
    observed: IntArray
    expected: FloatArray
    # what each probability was rounded to a multiple of, for sums that do not depend on the order of the rows
    unit: float


def pair_counts(sample: MulticlassSample) -> PairCounts:
    """Count pairs of predicted and actual class, in one pass over the table."""
    k = sample.n_classes
    bits = 62 - sample.y_true.size.bit_length()
    expected = np.zeros((k, k), np.int64)
    rows, observed = np.zeros(k, np.int64), np.zeros((k, k), np.int64)
    for part, block in sample.table.blocks():
        top = block.argmax(axis=1)
        label = sample.y_true[part]
        at = np.arange(top.size)
        used = block[at, top] < 1.0
        mask = used & (block[at, label] > 0.0)
        np.add.at(observed, (top[mask], label[mask]), 1)
        rows += np.bincount(top[used], minlength=k)
        add_rows(block[used], top[used], 2.0**bits, expected)
    return PairCounts(rows, observed, np.ldexp(expected.astype(np.float64), -bits), 2.0**-bits)


def pair_pvalues(counts: PairCounts) -> tuple[IntArray, FloatArray, FloatArray]:
    """Pairs with any evidence, shape (pairs, 2), their p-values, and these adjusted for the number of all pairs.

    Rows of one predicted class with unequal chances have tails no larger than as many rows with their mean chance, from
    one event beyond the mean on (Hoeffding 1956, Theorem 4): there twice the binomial tail is a p-value, and nearer to
    the mean it is 1. Adjusted by Benjamini and Yekutieli's procedure, which holds under any dependence.
    """
    from calibrant.door.special import betainc

    prediction, was = np.nonzero(np.abs(counts.observed - counts.expected) >= 1.0)
    n = counts.rows[prediction].astype(np.float64)
    x, mean = counts.observed[prediction, was].astype(np.float64), counts.expected[prediction, was]
    more = x > mean
    # Means rounded against us.
    off = n * counts.unit + _ROUNDING * mean
    chance = np.clip(np.where(more, mean + off, mean - off) / n, 0.0, 1.0)
    above = betainc(np.maximum(x, 1.0), n - x + 1.0, chance)
    below = betainc(np.maximum(n - x, 1.0), x + 1.0, 1.0 - chance)
    pvalue = np.clip(2.0 * np.where(more, above, below) * (1.0 + _ROUNDING), LEAST, 1.0)
    pairs = int((counts.rows > 0).sum()) * counts.rows.size
    return np.stack([prediction, was], axis=1), pvalue, benjamini_yekutieli(pvalue, pairs)


def most_involved(k: int, pairs: IntArray, pvalues: FloatArray, most: int) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Classes with the most evidence in their pairs, in their order, and minus the logarithm (base 10) of each pair."""
    evidence = -np.log10(pvalues)
    each = np.bincount(pairs[:, 0], evidence, k) + np.bincount(pairs[:, 1], evidence, k)
    shown = np.sort(np.argsort(-each, kind="stable")[:most])
    place = np.full(k, -1)
    place[shown] = np.arange(shown.size)
    table = np.zeros((shown.size, shown.size))
    mask = (place[pairs] >= 0).all(axis=1)
    table[place[pairs[mask, 0]], place[pairs[mask, 1]]] = evidence[mask]
    return shown, table


@register_test(
    proof="the vectors of class probabilities are miscalibrated.",
    limits="have much power with many classes.",
    promise="level exact",
    source="D. Widmann et al., 2019; T-Cal, Section 2.",
    order=60,
    admits=(),
    of_classes=True,
)
def canonical_kernel_test(
    y_true: Column,
    y_prob: Column,
    *,
    bandwidth: float = 1.0,
    block_size: int = 16,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> TestResult:
    """Test whether whole vectors of class probabilities are the frequencies of the classes, by their kernel error.

    Parameters
    ----------
    y_true : column of shape (n,), or (n, K) one-hot
        Labels, as `multiclass_sample` takes them.
    y_prob : table of shape (n, K)
        Class probabilities, rows adding up to 1.
    bandwidth : float, default 1.0
        As for `squared_canonical_kernel_error`.
    block_size : int, default 16
        As for `squared_canonical_kernel_error`; larger blocks have more power.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 999
        Redrawn sets of labels.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result.

    Returns
    -------
    TestResult
        The statistic is `squared_canonical_kernel_error`.

    Raises
    ------
    InputError
        If a table or parameter cannot be used, or there are too few resamples to reject at all.

    See Also
    --------
    squared_canonical_kernel_error, tcal_test

    Notes
    -----
    Labels redrawn from the rows' own probabilities have the distribution of the null hypothesis, so the p-value is
    exact at any n. The pairs of rows are drawn once and kept. Cost: O(n K block_size), then O(n block_size) per
    resample.

    References
    ----------
    D. Widmann, F. Lindsten and D. Zachariah, Calibration tests in multi-class classification: a unifying framework,
    NeurIPS 2019. T-Cal, Section 2 (full calibration).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference import canonical_kernel_test
    >>> table = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    >>> canonical_kernel_test(np.zeros(500, int), table, random_state=0).reject
    True
    """
    return canonical_kernel_test_on_classes(
        multiclass_sample(y_true, y_prob),
        bandwidth=bandwidth,
        block_size=block_size,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def canonical_kernel_test_on_classes(
    sample: MulticlassSample,
    *,
    bandwidth: float = 1.0,
    block_size: int = 16,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> TestResult:
    """`canonical_kernel_test` of classes that were read already."""
    level = check_level(level)
    check_resamples(n_resamples, level)
    rng = generator(random_state)
    label, table, pairs = paired(sample, bandwidth, block_size, rng)
    cumulative = running_shares(table)

    def redrawn(source: np.random.Generator) -> float:
        other = np.empty_like(label)
        draw_labels(cumulative, source.random(label.size), other)
        return paired_sum(other, table, *pairs)

    observed = paired_sum(label, table, *pairs)
    draws = resampled(redrawn, pairs[0].size, n_resamples, rng)
    pvalue = pvalue_among(observed, draws)
    method = f"canonical kernel test ({n_resamples:,} resamples)"
    return TestResult(observed / pairs[0].size, pvalue, pvalue <= level, level, method)
