"""T-Cal: is the miscalibration real? Tests on the debiased plug-in estimate of the squared calibration error."""

from __future__ import annotations

__all__ = ["TCalResult", "debiased_plug_in", "tcal_test"]

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from calibrant.door.arguments import (
    N_RESAMPLES,
    RandomState,
    check_level,
    check_number,
    generator,
    one_of,
    positive,
    positive_integer,
)
from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import Column, FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.rows import Rows, dimensions, not_taken
from calibrant.door.values import counted
from calibrant.inference.testing.result import TestResult, impossible_rows, register_test
from calibrant.kernels.tcal import BITS, LANES, resampled_statistics
from calibrant.resampling.redraw import (
    Redraws,
    by_signs_and_bound,
    joint_pvalue,
    pvalues_among,
    resampled,
    running_shares,
)
from calibrant.threads import in_blocks

Reduction = Literal["canonical", "top_label", "class_wise"]


@register_test(
    proof="the predictions are miscalibrated, at any scale.",
    limits="show the direction of the fault.",
    promise="level exact",
    source="T-Cal, Theorems 3 and 5, Remark 4.",
    order=20,
)
def tcal_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    smoothness: float | None = None,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
    critical_value: CriticalValue = "label_resampling",
    null_error: float = 0.0,
    reduction: Reduction = "canonical",
    correction: Correction = "joint",
) -> TCalResult:
    """Test whether miscalibration is real or chance, looking at every scale at once.

    Parameters
    ----------
    y_true : array-like of shape (n,), or (n, K) one-hot
        Outcomes, each 0 or 1; with K classes, labels 0 to K - 1 or one-hot rows.
    y_prob : array-like of shape (n,) or (n, K)
        Predicted probabilities of the event, or of each class. Rows of class probabilities add up to 1, as
        `multiclass_sample` takes them.
    sample_weight, trials, groups, outcome_free_weights
        As for `smooth_calibration_test`; for one column of predictions, with labels redrawn.
    smoothness : float, optional
        Hölder smoothness s of the miscalibration curve, which fixes floor(n^(2 / (4 s + K - 1))) bins per unit. None
        is the adaptive test: 2, 4, ..., 2^B bins.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions, over all scales, classes and resamples together.
    n_resamples : int, default 999
        Resamples for the critical values.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.
    critical_value : {"label_resampling", "consistency_resampling", "theorem"}
        Redraw the labels from the predictions, which is exact at any n. Redraw rows as well; or the constant of the
        paper's Theorem 3, which needs no resampling but has little power.
    null_error : float, default 0
        Largest l2 calibration error that still counts as calibrated. In the composite null of Remark 4 it is c0 n^(-2 s
        / (4 s + K - 1)). Above 0 it needs ``critical_value="theorem"``.
    reduction : {"canonical", "top_label", "class_wise"}
        With K classes: test the whole vector. Or the largest probability against whether it was right. Or each class by
        itself at level / K, so that the probability of any false rejection stays below the level.
    correction : {"joint", "bonferroni"}
        How the scales of the adaptive test share the level. Either by the smallest p-value's place among those of the
        resamples. Or each at level / B, as the paper has it. The theorem's p-values are always shared out by the
        latter.

    Returns
    -------
    TCalResult
        With ``statistic``, ``pvalue``, ``reject``, ``level``, ``method``, and the same at each scale.

    Raises
    ------
    InputError
        If the columns cannot be used, or the test does not apply. It needs more distinct predictions than scales;
        otherwise use `discrete_calibration_test`. It needs rows enough for the smoothness, two rows in one bin, and
        resamples enough to reject at all.

    See Also
    --------
    two_sample_calibration_test, discrete_calibration_test, debiased_plug_in

    Notes
    -----
    With bins B_i of N_i rows each, the statistic is the debiased plug-in estimate

        T = 1/n sum_i [ |sum_{j in B_i} (y_j - z_j)|^2 - sum_{j in B_i} |y_j - z_j|^2 ] / N_i,

    whose mean is 0 for calibrated predictions. Bins are equal intervals, or with K classes the m^(K-1) simplices of
    equal volume of Appendix B.3. With R resamples, p = (1 + number of resampled statistics at least as large) / (1 + R)
    at each scale. Jointly, every resample gets such p-values among all others, and its smallest. P is the share of the
    resamples whose smallest is no larger (of equal ones, whose largest standardised statistic is no smaller). With
    Bonferroni's correction p = min(1, B min p) over B scales. Never 0, and with labels redrawn valid at any n.

    Class probabilities give twice the statistic of the same predictions as one column where K = 2, because a residual
    then counts for both classes.

    The theorem's bound is that of its proof, K sqrt(2 / level) sqrt(cells with two rows or more) / n. The paper puts
    m^(K-1) and n^2 / m^(K-1) for the number of cells, the latter only true if predictions spread evenly. The composite
    null adds null_error^2, the mean that the statistic may then have and that Remark 4's threshold leaves out.

    Cost: O(n log n + R n) time with one column; rows are sorted once. About half a second per 3,000 resamples of
    50,000 rows on two cores.

    References
    ----------
    D. Lee, X. Huang, H. Hassani and E. Dobriban, "T-Cal: An Optimal Test for the Calibration of Predictive Models",
    JMLR 24 (2023), Theorems 3 and 5, Remark 4, Algorithms 1 and 2, Appendices B.3 and C.3.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import tcal_test
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.random(2000)
    >>> y_true = rng.random(2000) < y_prob
    >>> tcal_test(y_true, y_prob, random_state=0).reject
    False
    >>> tcal_test(y_true, y_prob**2, random_state=0).summary()
    'miscalibrated: adaptive T-Cal (20 scales, labels redrawn) rejects calibration at level 0.05 (p = 0.001)'
    """
    one_of(reduction, get_args(Reduction), "reduction")
    plan = TCalPlan(level, n_resamples, smoothness, critical_value, null_error, correction)
    if dimensions(y_prob) == 1:
        if reduction != "canonical":
            raise InputError("reduction", f"is {reduction!r}; one column of predictions has nothing to reduce")
        return tcal_test_on_rows(
            Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights), plan, random_state
        )
    why = "labels of several classes are drawn row by row; test the top label, or a class, as one column"
    not_taken(why, sample_weight=sample_weight, trials=trials, groups=groups)
    return tcal_test_on_classes(multiclass_sample(y_true, y_prob), plan, random_state, reduction)


def tcal_test_on_rows(rows: Rows, plan: TCalPlan, random_state: RandomState) -> TCalResult:
    """`tcal_test` of rows that were read already."""
    tested = rows.tested
    if tested.weight is None and tested.trials is None and tested.group is None:
        result = _test(tested.y_true, tested.y_prob, plan, generator(random_state))
    else:
        result = _test_lots(tested, plan, random_state)
    return replace(result, impossible=impossible_rows(rows), premise=rows.premise)


def tcal_test_on_classes(
    sample: MulticlassSample, plan: TCalPlan, random_state: RandomState, reduction: Reduction = "canonical"
) -> TCalResult:
    """`tcal_test` of classes that were read already."""
    rng = generator(random_state)
    label, table = sample.y_true, np.ascontiguousarray(sample.y_prob)
    if reduction == "canonical":
        return _test(label, table, plan, rng)
    if reduction == "top_label":
        top = np.argmax(table, axis=1)
        hit = (label == top).astype(np.int64)
        result = _test(hit, table[np.arange(top.size), top], plan, rng)
        return replace(result, method=f"top-label {result.method}")
    return _test_by_class(label, table, plan, rng)


def debiased_plug_in(y_true: Column, y_prob: Column, *, n_bins: int) -> float:
    """Estimate the squared l2 calibration error on equal bins, without the bias of chance.

    Parameters
    ----------
    y_true, y_prob : array-like
        As in `tcal_test`.
    n_bins : int
        Bins per unit, m; m^(K-1) cells with K classes.

    Returns
    -------
    float
        Squared probability; may be negative, its mean is 0 for calibrated predictions.

    Raises
    ------
    InputError
        If the columns cannot be used.

    See Also
    --------
    tcal_test, squared_calibration_error

    Notes
    -----
    Cost: one pass.

    References
    ----------
    T-Cal, equation (6).

    Examples
    --------
    >>> from calibrant.inference import debiased_plug_in
    >>> debiased_plug_in([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5], n_bins=2)
    -0.0625
    """
    positive_integer(n_bins, "n_bins")
    if dimensions(y_prob) == 1:
        read = Rows.of(y_true, y_prob)
        rows = event_rows(read.y_true, read.y_prob, (int(n_bins),))
    else:
        sample = multiclass_sample(y_true, y_prob)
        rows = class_rows(sample.y_true, np.ascontiguousarray(sample.y_prob), (int(n_bins),))
    return float(_statistics(rows, 1, 0, np.uint64(0), redraw_rows=False)[0, 0])


def _test(label: IntArray, prediction: FloatArray, plan: TCalPlan, rng: np.random.Generator) -> TCalResult:
    n = prediction.shape[0]
    n_classes = prediction.shape[1] if prediction.ndim == 2 else 2
    scales = scales_of(n, n_classes, plan)
    rows = (class_rows if prediction.ndim == 2 else event_rows)(label, prediction, scales)
    check_applies(rows.n_distinct, n, n_classes, any(rows.shared_cells(len(scales))), plan)

    if plan.critical_value == "theorem":
        statistics = _statistics(rows, len(scales), 0, np.uint64(0), redraw_rows=False)[0]
        pvalues = _theorem_pvalues(rows, scales, statistics, plan.null_error)
        n_resamples = 0
    else:
        n_resamples = enough_resamples(plan, scales)
        seed = rng.integers(2**64, dtype=np.uint64)
        consistency = plan.critical_value == "consistency_resampling"
        table = _statistics(rows, len(scales), n_resamples, seed, redraw_rows=consistency)
        statistics = table[0]
        pvalues = pvalues_among(statistics, table[1:])

    pvalue = None if n_resamples == 0 or plan.correction == "bonferroni" else joint_pvalue(table)
    return result_of(plan, scales, statistics, pvalues, pvalue, n_resamples)


def _test_lots(rows: Rows, plan: TCalPlan, random_state: RandomState) -> TCalResult:
    """The same of rows with weights, of trials or in groups: labels, or signs of groups, are redrawn."""
    if plan.critical_value != "label_resampling":
        problem = f"is {plan.critical_value!r}, which is for independent single rows that count once"
        raise InputError("critical_value", problem, allowed="with weights, trials or groups labels are redrawn")
    redraws = Redraws.of(rows)
    n = int(redraws.count.sum())
    scales = scales_of(n, 2, plan)
    n_resamples = enough_resamples(plan, scales)
    cells = WeightedCells.of(redraws, scales)
    check_applies(redraws.first.size, n, 2, cells.shared, plan)
    observed = cells.statistics(redraws.excess)
    signed, joined_with_bound = by_signs_and_bound(rows, redraws)
    if signed is None:
        bound = joined_with_bound(1.0)
        return result_of(plan, scales, observed, np.full(len(scales), bound), bound, 0)
    cells = cells if signed is redraws else WeightedCells.of(signed, scales)
    draws = resampled(lambda source: cells.statistics(signed.again(source)), n, n_resamples, random_state)
    statistics = cells.statistics(signed.excess)
    pvalues = np.array([joined_with_bound(each) for each in pvalues_among(statistics, draws).tolist()])
    joint = None
    if plan.correction == "joint":
        joint = joined_with_bound(joint_pvalue(np.vstack([statistics, draws])))
    return result_of(plan, scales, observed, pvalues, joint, n_resamples)


def _statistics(
    rows: OrderedRows, n_scales: int, n_resamples: int, seed: np.uint64, *, redraw_rows: bool
) -> FloatArray:
    """Debiased statistics, shape (1 + n_resamples, n_scales): the observed ones, then the resampled ones."""
    out = np.empty((1 + n_resamples, n_scales))
    n = rows.label.size

    def fill(first: int, last: int) -> None:
        resampled_statistics(
            rows.component, rows.threshold, rows.label, rows.gap, seed, first, redraw_rows, out[first:last]
        )

    in_blocks(fill, 1 + n_resamples, work=n_resamples * rows.component.size, multiple=LANES)
    out /= n
    return out


def _theorem_pvalues(
    rows: OrderedRows, scales: tuple[int, ...], statistics: FloatArray, null_error: float
) -> FloatArray:
    """Chebyshev's inequality with the variance bound of Theorem 3, or of Remark 4, at each scale."""
    n, k = rows.label.size, rows.n_classes
    if null_error == 0.0:
        cells = np.array(rows.shared_cells(len(scales)), dtype=float)
    else:
        # The bound must not depend on the rows: at most all cells, and at most half the rows, can hold two.
        cells = np.array([min(float(m) ** (k - 1), n // 2) for m in scales])
    variance = k**2 * (2.0 * cells / n**2 + 5.0 * null_error**2 / n)
    excess = np.maximum(statistics - null_error**2, 0.0)
    pvalues = np.ones_like(excess)
    np.divide(variance, excess**2, out=pvalues, where=excess**2 > variance)
    return pvalues


def _test_by_class(label: IntArray, table: FloatArray, plan: TCalPlan, rng: np.random.Generator) -> TCalResult:
    n_classes = table.shape[1]
    part = replace(plan, level=plan.level / n_classes)
    parts = tuple(
        _test((label == k).astype(np.int64), np.ascontiguousarray(table[:, k]), part, rng) for k in range(n_classes)
    )
    worst = min(parts, key=lambda result: result.pvalue)
    pvalue = min(1.0, n_classes * worst.pvalue)
    return replace(
        worst,
        pvalue=pvalue,
        reject=pvalue <= plan.level,
        level=plan.level,
        method=f"class-wise {worst.method} of {n_classes} classes, family-wise",
        by_class=parts,
    )


@dataclass(frozen=True, slots=True, eq=False)
class WeightedCells:
    """First rows of the cells of each scale, and the part left out of the squares of their sums.

    The statistic of a scale is the sum over its cells of (S^2 - Q) / (sum of w), over the sum of all w: S adds up the
    cell's w (y - v), and Q the squares that S^2 has of single outcomes, or of the sums of single groups.
    """

    # of each scale from the finest to the coarsest, where its cells begin among those of the scale before, the first
    # among rows
    starts: tuple[IntArray, ...]
    over: tuple[FloatArray, ...]  # one over the weight of each cell, 0 where it holds a single outcome
    own: tuple[FloatArray, ...]  # Q of each cell, of groups; of single outcomes the part that does not depend on them
    slope: FloatArray | None  # (k,): Q of single outcomes less that is the sum of slope * excess
    total: float
    jointly: bool  # whether Q is the sum of squared excess, as weights are redrawn with outcomes

    @classmethod
    def of(cls, redraws: Redraws, scales: tuple[int, ...]) -> WeightedCells:
        """Cells of predictions in increasing order."""
        v, count, weight, group = redraws.prediction, redraws.count, redraws.weight, redraws.group
        fixed = 0.0 * v if redraws.jointly else weight * weight * count * v * (1.0 - v)
        starts, over, own, before = [], [], [], np.arange(v.size)
        for m in scales[::-1]:
            cell = interval_cells(v, m)
            first = np.flatnonzero(np.diff(cell, prepend=-1))
            starts.append(np.searchsorted(before, first))
            mass, n = np.add.reduceat(weight * count, first), np.add.reduceat(count, first)
            over.append(np.where(n > 1.0, 1.0 / mass, 0.0))
            if group is None:
                own.append(np.asarray(np.add.reduceat(fixed, first)))
            else:
                at = np.repeat(np.arange(first.size), np.diff(first, append=v.size))
                pair, where = np.unique(np.stack([at, group]), axis=1, return_inverse=True)
                sums = np.bincount(where.reshape(-1), redraws.excess)
                own.append(np.asarray(np.bincount(pair[0], sums * sums, first.size)))
            before = first
        slope = None if group is not None else weight * (1.0 - 2.0 * v)
        total = float((weight * count).sum())
        return cls(tuple(starts), tuple(over), tuple(own), slope, total, redraws.jointly)

    @property
    def shared(self) -> bool:
        """Whether any cell holds two outcomes."""
        return any(bool(each.any()) for each in self.over)

    def statistics(self, excess: FloatArray) -> FloatArray:
        """Statistic at each scale, the coarsest first."""
        sums, moved = excess, None if self.slope is None else (excess if self.jointly else self.slope) * excess
        values = []
        for starts, over, own in zip(self.starts, self.over, self.own, strict=True):
            sums = np.add.reduceat(sums, starts)
            left = own
            if moved is not None:
                moved = np.add.reduceat(moved, starts)
                left = own + moved
            values.append(float((over * (sums * sums - left)).sum()) / self.total)
        return np.array(values[::-1])


CriticalValue = Literal["label_resampling", "consistency_resampling", "theorem"]
Correction = Literal["joint", "bonferroni"]


@dataclass(frozen=True, repr=False)
class TCalResult(TestResult):
    """The outcome of `tcal_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`; the statistic is that of the scale with the smallest p-value, in squared probability.
    scales : tuple of int
        Bins per unit that were looked at: 2, 4, ..., 2^B in the adaptive test, one number where smoothness is known.
    statistics : tuple of float
        Debiased plug-in estimate of the squared l2 calibration error at each scale.
    pvalues : tuple of float
        p-value at each scale, before the correction for their number.
    n_resamples : int
        Resamples behind each p-value; 0 with critical values from the theorem.
    by_class : tuple of TCalResult
        Results for each class, at the level divided by their number, in the class-wise reduction; empty otherwise.

    See Also
    --------
    tcal_test
    """

    scales: tuple[int, ...]
    statistics: tuple[float, ...]
    pvalues: tuple[float, ...]
    n_resamples: int
    by_class: tuple[TCalResult, ...] = ()


@dataclass(frozen=True)
class TCalPlan:
    """Arguments of a test besides its rows; InputError if it cannot be done."""

    level: float
    n_resamples: int
    smoothness: float | None = None
    critical_value: CriticalValue = "label_resampling"
    null_error: float = 0.0
    correction: Correction = "joint"

    def __post_init__(self) -> None:
        """Check every option."""
        one_of(self.critical_value, get_args(CriticalValue), "critical_value")
        one_of(self.correction, get_args(Correction), "correction")
        object.__setattr__(self, "n_resamples", check_number(self.n_resamples))
        if self.smoothness is not None:
            positive(self.smoothness, "smoothness")
        if self.null_error != 0.0:
            positive(self.null_error, "null_error")
            if self.critical_value != "theorem":
                problem = "above 0 needs critical_value='theorem'; resampling knows calibration only"
                raise InputError("null_error", problem)
        object.__setattr__(self, "level", check_level(self.level))


def scales_of(n: int, n_classes: int, plan: TCalPlan) -> tuple[int, ...]:
    """Bins per unit that are looked at."""
    if n == 1:
        raise InputError("y_prob", "has one row; T-Cal needs rows that share a bin. Use discrete_calibration_test")
    if plan.smoothness is None:
        return dyadic_scales(n, n_classes)
    return (smooth_scale(n, n_classes, plan.smoothness),)


def enough_resamples(plan: TCalPlan, scales: tuple[int, ...]) -> int:
    """Return how many resamples are asked for; InputError if they cannot reject at all."""
    shares = len(scales) if plan.correction == "bonferroni" else 1
    least = math.ceil(shares / plan.level - 1e-9) - 1
    if plan.n_resamples < least:
        raise InputError(
            "n_resamples",
            f"is {plan.n_resamples:,}; with {shares} scales corrected for, a p-value can only reach level "
            f"{plan.level:g} with at least {least:,} resamples",
        )
    return plan.n_resamples


def result_of(
    plan: TCalPlan,
    scales: tuple[int, ...],
    statistics: FloatArray,
    pvalues: FloatArray,
    joint: float | None,
    n_resamples: int,
) -> TCalResult:
    """Result of statistics and p-values at each scale; Bonferroni's unless there is a joint one."""
    best = int(np.argmin(pvalues))
    pvalue = min(1.0, len(scales) * float(pvalues[best])) if joint is None else joint
    return TCalResult(
        statistic=float(statistics[best]),
        pvalue=pvalue,
        reject=pvalue <= plan.level,
        level=plan.level,
        method=_method(plan, scales),
        scales=scales,
        statistics=tuple(statistics.tolist()),
        pvalues=tuple(pvalues.tolist()),
        n_resamples=n_resamples,
    )


def check_applies(n_distinct: int, n: int, n_classes: int, shared: bool, plan: TCalPlan) -> None:
    """Refuse predictions that take few values, and scales at which no two rows meet."""
    if n_distinct <= len(dyadic_scales(n, n_classes)):
        raise InputError(
            "y_prob",
            f"holds {counted(n_distinct, 'distinct prediction')}; T-Cal is for predictions that vary continuously"
            ". Use discrete_calibration_test, which tests each value exactly",
        )
    if not shared:
        if plan.smoothness is None:
            advice = "Use reduction='top_label' or 'class_wise', or more rows"
        else:
            advice = "Raise the smoothness, or leave it out for the adaptive test"
        name = "y_prob" if plan.smoothness is None else "smoothness"
        raise InputError(name, f"leaves no two of {n:,} rows in one bin: nothing to test. {advice}")


def _method(plan: TCalPlan, scales: tuple[int, ...]) -> str:
    how = {
        "label_resampling": "labels redrawn",
        "consistency_resampling": "rows and labels redrawn",
        "theorem": "critical value of the theorem",
    }[plan.critical_value]
    if plan.null_error:
        how += f", l2 error up to {plan.null_error:g} allowed"
    if plan.smoothness is None:
        return f"adaptive T-Cal ({len(scales)} scales, {how})"
    return f"T-Cal (smoothness {plan.smoothness:g}, {scales[0]} bins per unit, {how})"


def dyadic_scales(n: int, n_classes: int = 2) -> tuple[int, ...]:
    """Bins per unit, 2, 4, ..., 2^B with B = ceil(2 / (K - 1) log2(n / sqrt(log n))), of the adaptive test."""
    b = math.ceil(2.0 / (n_classes - 1) * math.log2(n / math.sqrt(math.log(n))))
    return tuple(2**k for k in range(1, max(b, 1) + 1))


def smooth_scale(n: int, n_classes: int, smoothness: float) -> int:
    """Bins per unit, floor(n^(2 / (4 s + K - 1))), of the test for Hölder smoothness s.

    Raises InputError if that is a single bin, which would test the mean alone.
    """
    exponent = (4.0 * smoothness + n_classes - 1.0) / 2.0
    m = int(float(n) ** (1.0 / exponent))
    if (m + 1) ** exponent <= n * (1.0 + 1e-12):  # the power above was rounded down past a whole number
        m += 1
    if m < 2:
        least = f"; at least {math.ceil(2.0**exponent):,} rows" if exponent < 50 else ""
        raise InputError(
            "smoothness",
            f"is {smoothness:g}, for which {n:,} rows leave a single bin: too few to test{least}. "
            "Lower the smoothness, or leave it out for the adaptive test",
        )
    return m


@dataclass(frozen=True, slots=True, eq=False)
class OrderedRows:
    """Rows in an order in which every cell of every scale is contiguous; fields as `kernels.tcal` takes them."""

    component: FloatArray  # (n, J): predictions: the one of the event, or one for each class
    threshold: IntArray  # (n, J): running sums of the predictions as whole numbers of 53 bits
    label: IntArray  # (n,): the component whose label is 1; -1 where there is none
    gap: IntArray  # (n,): coarsest scale (from 1) that parts the row from the next one; 0 after the last
    n_classes: int  # k, which is 2 for predictions of one event
    n_distinct: int  # number of different predictions

    def shared_cells(self, n_scales: int) -> list[int]:
        """Number of cells that hold two or more rows, a scale each."""
        counts = []
        for scale in range(1, n_scales + 1):
            ends = np.flatnonzero(self.gap <= scale)
            counts.append(int((np.diff(ends, prepend=-1) >= 2).sum()))
        return counts


def interval_cells(z: FloatArray, m: int) -> IntArray:
    """Return the one of m bins [0, 1/m), ..., [1 - 1/m, 1] that each prediction is in."""
    return np.asarray(np.minimum(np.floor(z * m), m - 1.0).astype(np.int64))


def event_rows(label: IntArray, prediction: FloatArray, scales: tuple[int, ...]) -> OrderedRows:
    """Order rows of one event: m bins [0, 1/m), ..., [1 - 1/m, 1] a scale."""
    order = np.lexsort((label, prediction))
    z = prediction[order]
    return OrderedRows(
        component=np.ascontiguousarray(z[:, None]),
        threshold=np.ceil(z * 2.0**BITS).astype(np.int64)[:, None],
        label=label[order] - 1,
        gap=_gaps(z.size, len(scales), (interval_cells(z, m) for m in reversed(scales))),
        n_classes=2,
        n_distinct=1 + int((z[1:] != z[:-1]).sum()),
    )


def class_rows(label: IntArray, y_prob: FloatArray, scales: tuple[int, ...]) -> OrderedRows:
    """Order rows of K classes: the m^(K-1) equal-volume cells of the simplex a scale."""
    names = [np.unique(simplex_cells(y_prob, m), axis=0, return_inverse=True)[1].reshape(-1) for m in scales]
    order = np.lexsort((label, *y_prob.T[::-1], *names[::-1]))
    z = np.ascontiguousarray(y_prob[order])
    threshold = np.ceil(running_shares(z) * 2.0**BITS).astype(np.int64)
    # The last class takes what rounding left; so does a class after which all are impossible.
    last = z.shape[1] - 1 - np.argmax(z[:, ::-1] > 0.0, axis=1)
    threshold[np.arange(z.shape[1]) >= last[:, None]] = 2**BITS
    return OrderedRows(
        component=z,
        threshold=threshold,
        label=label[order],
        gap=_gaps(order.size, len(scales), (name[order] for name in reversed(names))),
        n_classes=z.shape[1],
        n_distinct=1 + int((z[1:] != z[:-1]).any(axis=1).sum()),
    )


def _gaps(n: int, n_scales: int, cells: Iterator[IntArray]) -> IntArray:
    """Coarsest scale that parts each of n rows from the next; cells nest, and those of the finest scale come first."""
    gap = np.full(n, n_scales + 1, dtype=np.int64)
    for scale, cell in zip(range(n_scales, 0, -1), cells, strict=True):
        gap[:-1][cell[1:] != cell[:-1]] = scale
    gap[-1] = 0
    return gap


def simplex_cells(y_prob: FloatArray, m: int) -> IntArray:
    """Name the cell of each row among the m^(K-1) of equal volume.

    Parameters
    ----------
    y_prob : ndarray of shape (n, K)
        Class probabilities, each row adding up to 1.
    m : int
        Cells per unit along an edge.

    Returns
    -------
    ndarray of shape (n, 2 (K - 1))
        Whole parts of the running sums, then the classes in order of their fractional parts. Two rows share a cell if
        and only if these agree. A row on a boundary goes to the cell above it, and below it where there is none above.

    Notes
    -----
    O(n K log K), for any m.

    References
    ----------
    D. Lee, X. Huang, H. Hassani and E. Dobriban, "T-Cal: An Optimal Test for the Calibration of Predictive Models",
    JMLR 24 (2023), Appendix B.3.
    """
    running = np.minimum(np.cumsum(y_prob[:, :-1], axis=1), np.nextafter(1.0, 0.0))
    scaled = running * m
    whole = np.minimum(np.floor(scaled), m - 1.0)  # the product may round up to m
    # Ties are in the order of classes, which is the order that cells inside the simplex have.
    order = np.argsort(scaled - whole, axis=1, kind="stable")
    return np.concatenate([whole.astype(np.int64), order.astype(np.int64)], axis=1)
