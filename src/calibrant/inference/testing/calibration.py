"""Are the predictions calibrated? One test with power against lines, waves and steps; of rows, or of cells' sums."""

from __future__ import annotations

__all__ = ["CalibrationTestResult", "calibration_test"]

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_level, check_resamples, generator
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import at_most, readable
from calibrant.door.errors import InputError
from calibrant.door.rows import INDEPENDENT, WEIGHTS, Rows
from calibrant.door.sample import Sample
from calibrant.door.values import ReadOnly, Result
from calibrant.inference.testing.components import (
    COX,
    GROUPS,
    LEAST_DRAWN,
    WAVES,
    Components,
    UncertainLots,
    joint_statistics,
    log_tail,
    lots_of_joint,
    lots_of_rows,
    lots_of_sample,
    signed_statistics,
)
from calibrant.inference.testing.result import LEAST, TestResult, contradicted, impossible_rows, register_test
from calibrant.resampling.joint import JointRows
from calibrant.resampling.redraw import FEW_AND_WEIGHTED, enough_for_signs, joined, log_tail_of_total

_BY_REDRAWS, _BY_TAIL = 0.99, 0.01  # shares of the level that the two p-values get
_SHARE = {COX: 1.0, WAVES: 1.0, GROUPS: 0.25}
"""How much each component counts: measured power says that steps are worth a quarter (docs/calibration-test.md)."""
_EVEN_AT = 0.05


@dataclass(frozen=True, slots=True, repr=False)
class TestComponent(Result):
    """One component of `calibration_test`.

    Attributes
    ----------
    analytic_pvalue : float
        The smallest by formula over the component's degrees, not adjusted for their number.
    pvalue : float
        Share of the redraws that are at least as extreme: the component's own p-value, exact by itself.
    degree : int
        Waves or groups at which it is smallest.
    """

    __test__ = False  # not a collection of pytest's, in spite of its name

    analytic_pvalue: float
    pvalue: float
    degree: int

    def summary(self) -> str:
        """Its own p-value, and where it was smallest."""
        return f"p = {self.pvalue:.2g} by itself; {self.analytic_pvalue:.2g} by formula, at {self.degree}"


@dataclass(frozen=True, slots=True, repr=False)
class TestRegion(Result):
    """The range of predictions where the fault that a test found is clearest.

    Attributes
    ----------
    low, high : float
        Smallest and largest prediction in it, strictly between 0 and 1; of pooled rows the means of the end cells.
    direction : str
        "too low" or "too high": the predictions, compared with the outcomes.
    n_rows : int
        Single outcomes in it.
    mean_prediction, event_rate : float
        Weighted means there.
    """

    __test__ = False

    low: float
    high: float
    direction: str
    n_rows: int
    mean_prediction: float
    event_rate: float

    def summary(self) -> str:
        """Say where, and in which direction."""
        rates = f"{self.mean_prediction:.3g} predicted, {self.event_rate:.3g} seen"
        low, high = readable(self.low, self.high)
        certain = [each for each, shown in (("0", low), ("1", high)) if float(shown) == float(each)]
        without = f", without those of exactly {' or '.join(certain)}," if certain else ""
        where = f"predictions from {low} to {high}{without}"
        return f"{where} are {self.direction} ({rates}, {self.n_rows:,} rows)"


@dataclass(frozen=True, repr=False)
class CalibrationTestResult(TestResult):
    """The outcome of `calibration_test`.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`. The statistic is minus the log of the smallest p-value by formula, made comparable by the
        redraws. ``pvalue`` does not include the rows in ``impossible``, which were set aside.
    components : mapping of str to TestComponent
        "Cox score" (lines in the log-odds), "adaptive Neyman" (waves), "dyadic chi-square" (steps). None for weighted
        rows in the cells of a sketch, which cannot be redrawn: their p-value is from Chernoff bounds alone.
    leading : str or None
        The component with the smallest p-value; None where there are none, or no prediction lies strictly between 0
        and 1.
    region : TestRegion or None
        The range of predictions where the fault is clearest, with its direction; None where none stands out.
    redrawn_pvalue : float
        From the redraws alone, at least 1 / (1 + n_resamples).
    tail_pvalue : float or None
        From Chernoff bounds alone; computed where no redraw was as extreme as the outcomes.
    pooling : float
        The most that pooling near predictions into cells can add to the level; 0 if no rows were pooled.
    n_resamples : int
        Redraws.

    See Also
    --------
    calibration_test, TCalResult
    """

    components: Mapping[str, TestComponent]
    leading: str | None
    region: TestRegion | None
    redrawn_pvalue: float
    tail_pvalue: float | None
    pooling: float
    n_resamples: int

    def summary(self) -> str:
        """One sentence, and where it points at if it rejects.

        Examples
        --------
        >>> from calibrant import calibration_test
        >>> calibration_test([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], random_state=0).reject
        False
        """
        sentence = TestResult.summary(self)
        if self.reject and self.region is not None:
            sentence += f"; {self.region.summary()}"
        if self.pooling > 0.0:
            sentence += f"; pooling near predictions adds at most {at_most(self.pooling, 2)} to the level"
        return sentence


@register_test(
    proof="the predictions are miscalibrated.",
    limits="tell how far off they are.",
    promise="level exact at any number of rows",
    source="J. Neyman, 1937; D. R. Cox, 1958; T-Cal.",
    order=10,
)
def calibration_test(
    y_true: Column,
    y_prob: Column,
    *,
    sample_weight: Column | None = None,
    trials: Column | None = None,
    groups: Any = None,
    outcome_free_weights: bool = False,
    sampling_fractions: Any = None,
    level: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> CalibrationTestResult:
    """Test whether miscalibration is real or chance: lines, waves and steps of any width at once.

    Parameters
    ----------
    y_true : column of shape (n,)
        Outcomes, each 0 or 1; with ``trials`` the share of events among them.
    y_prob : column of shape (n,)
        Predicted probabilities, in [0, 1]. Rows predicted exactly 0 or 1 are set aside, and reported if contradicted.
    sample_weight : column of shape (n,), optional
        Non-negative weights, which may tell outcomes. Two values, one for each outcome, are taken to undo a sampling by
        outcome, and the test is exact. Other weights are redrawn together with outcomes, which is asymptotic, and is
        refused below the equal of about ten rows of an outcome (docs/weights.md).
    trials : column of shape (n,), optional
        Independent outcomes behind each row, whole numbers from 1.
    groups : column of shape (n,), optional
        Which group each row belongs to, such as a patient or a day, if only rows of different groups are independent.
        Rows in ranges of predictions with too few groups are tested by their total, with a bound for any dependence.
    outcome_free_weights : bool, default False
        Declare that weights say nothing of outcomes at a given prediction. They then stay where outcomes are redrawn,
        which is exact at any number of rows.
    sampling_fractions : mapping, optional
        Share of rows that were kept of each outcome, such as ``{0: 0.1, 1: 1.0}``: the population is tested, exactly.
    level : float, default 0.05
        Largest probability of rejecting calibrated predictions.
    n_resamples : int, default 999
        Redrawn sets of outcomes; any number that can reach the level, such as 199, is valid.
    random_state : int, numpy.random.Generator or None
        The same number gives the same result, with any number of threads and any order of rows.

    Returns
    -------
    CalibrationTestResult
        With ``statistic``, ``pvalue``, ``reject``, the components, which of them led, and the range of predictions with
        the fault.

    Raises
    ------
    InputError
        If a column or parameter cannot be used, events are no whole numbers, or there are too few resamples to reject.

    See Also
    --------
    cox_test, cumulative_calibration_test, discrete_calibration_test, tcal_test

    Notes
    -----
    Each component has p-values by formula. A quantile of the redraws and the outcomes together makes their minima
    comparable. The test compares the smallest of all with the redraws'. This keeps the level at any number of rows. If
    at most a hundredth of the redraws is as extreme, Chernoff bounds along fixed directions give smaller p-values.
    Cost: a sort, then O(n) per resample. Unweighted rows with more than 20,000 distinct predictions are pooled into at
    most 2^14 cells, and ``pooling`` is what that can add to the level. Weighted rows are never pooled. Where weights
    are redrawn, or rows with weights lie in groups, there is no bound on the tail.

    References
    ----------
    docs/calibration-test.md proves the level, the tail and the cells. J. Neyman, "Smooth test" for goodness of fit,
    Skandinavisk Aktuarietidskrift 20, 1937; D. R. Cox, Two further applications of a model for binary regression,
    Biometrika 45, 1958; W. Ehm, Binomial approximation to the Poisson binomial distribution, Statistics and
    Probability Letters 11, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import calibration_test
    >>> y_prob = np.linspace(0.02, 0.98, 2000)
    >>> y_true = np.random.default_rng(0).random(2000) < y_prob**1.3
    >>> result = calibration_test(y_true, y_prob, random_state=0)
    >>> result.reject, result.region.direction
    (True, 'too high')
    """
    rows = Rows.of(y_true, y_prob, sample_weight, trials, groups, outcome_free_weights, sampling_fractions)
    return calibration_test_on_rows(rows, level, n_resamples, random_state)


def calibration_test_on_rows(
    rows: Rows, level: float, n_resamples: int, random_state: RandomState
) -> CalibrationTestResult:
    """`calibration_test` of rows that were read already."""
    level = check_level(level)
    n_resamples = check_resamples(n_resamples, level, share=_BY_REDRAWS)
    tested = rows.tested
    if rows.jointly:
        joint = JointRows.of(rows)
        lots = lots_of_joint(joint, rows)
        return test_lots(lots, level, n_resamples, random_state, rows.premise, joint, by_tail=False)
    lots = lots_of_rows(tested)
    run = test_lots if lots.group is None else test_groups
    by_tail = tested.group is None or tested.weight is None or tested.outcome_free
    result = run(lots, level, n_resamples, random_state, rows.premise, None, by_tail=by_tail)
    return replace(result, region=_in_population(result.region, rows), impossible=impossible_rows(rows))


def calibration_test_on_sample(sample: Sample, level: float, n_resamples: int, seed: int) -> CalibrationTestResult:
    """`calibration_test` of unweighted outcomes 0 or 1 that were pooled already, exactly or into cells."""
    check_resamples(n_resamples, level, share=_BY_REDRAWS)
    return test_lots(lots_of_sample(sample), level, n_resamples, seed, INDEPENDENT, None, by_tail=True)


def _in_population(region: TestRegion | None, rows: Rows) -> TestRegion | None:
    """The region of rows that were sampled by outcome, in the population's terms."""
    if region is None or rows.fractions is None:
        return region
    assert rows.weight is not None
    chance = rows.tested.y_prob
    inside = (region.low <= chance) & (chance <= region.high) & (chance > 0.0) & (chance < 1.0)
    ends = np.array([region.low, region.high, region.mean_prediction, region.event_rate])
    low, high, mean, rate = rows.fractions.chance_in_population(ends).tolist()
    if inside.any():  # of pooled rows the ends are means of cells, which may hold none between them
        weight = rows.weight[inside]
        mean = min(high, max(low, float(np.average(rows.y_prob[inside], weights=weight))))
        rate = float(np.average(rows.y_true[inside], weights=weight))
    return replace(region, low=low, high=high, mean_prediction=mean, event_rate=rate)


def test_lots(
    lots: UncertainLots,
    level: float,
    n_resamples: int,
    random_state: RandomState,
    premise: str,
    joint: JointRows | None,
    *,
    by_tail: bool,
) -> CalibrationTestResult:
    """Run `calibration_test` on lots, whose weights are redrawn as well if they are those of `joint`.

    `by_tail`, the tail is bounded: where outcomes are drawn at given weights.
    """
    seed = generator(random_state).integers(2**64, dtype=np.uint64)
    method = f"calibration test ({n_resamples:,} resamples)"
    if lots.impossible is not None:
        others = lots.prediction.size
        method += f", {'of the' if others else 'which has no'} rows predicted strictly between 0 and 1,"
    if not lots.prediction.size:
        return CalibrationTestResult(
            0.0, 1.0, False, level, method, ReadOnly({}), None, None, 1.0, None, 0.0, n_resamples,
            premise=premise, impossible=lots.impossible,
        )  # fmt: skip
    if joint is not None:
        parts, statistics = joint_statistics(joint, lots, n_resamples, seed)
    elif lots.group is not None:
        parts, statistics = signed_statistics(lots, n_resamples, seed)
    else:
        parts = Components.of(lots)
        statistics = parts.statistics(lots, n_resamples, seed)
    logs = parts.logs(statistics)
    kinds = np.array([name for name, _ in parts.names])
    best = {name: logs[:, kinds == name].min(axis=1) for name in _SHARE}
    least, leading = evened_minimum(best)
    redrawn = share_as_extreme(least)
    beyond = by_tail and redrawn <= max(_BY_TAIL, 1.5 / (n_resamples + 1))  # else the redraws show that it is no tail
    tail = log_tail(lots, parts) if beyond else None
    pvalue = redrawn / _BY_REDRAWS
    if tail is not None:
        pvalue = min(pvalue, max(LEAST, math.exp(tail) / _BY_TAIL))
    components = {}
    for name, column in best.items():
        at = int(np.flatnonzero(kinds == name)[np.argmin(logs[0, kinds == name])])
        components[name] = TestComponent(max(LEAST, math.exp(column[0])), share_as_extreme(column), parts.names[at][1])
    pvalue = min(1.0, pvalue)
    if pvalue < redrawn / _BY_REDRAWS:
        method = method.replace("resamples)", "resamples, and a bound on the tail beyond them)")
    return CalibrationTestResult(
        statistic=float(-least[0]),
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=method,
        components=ReadOnly(components),
        leading=leading,
        region=_region(lots, parts, leading, components[leading].degree),
        redrawn_pvalue=redrawn,
        tail_pvalue=None if tail is None else max(LEAST, math.exp(tail)),
        pooling=lots.pooling,
        n_resamples=n_resamples,
        premise=premise,
        impossible=lots.impossible,
    )


def test_groups(
    lots: UncertainLots,
    level: float,
    n_resamples: int,
    random_state: RandomState,
    premise: str,
    joint: JointRows | None,
    *,
    by_tail: bool,
) -> CalibrationTestResult:
    """Run `calibration_test` on lots in groups: signs where these are many and alike enough, else a bound on the total.

    Which rows have which is decided by predictions, weights and groups, and each has a share of the level. Of rows
    with weights, which may tell outcomes, no tail is bounded, and those in few groups are no evidence.
    """
    assert lots.group is not None
    signed = enough_for_signs(lots.group, lots.prediction, lots.weight * lots.count)
    by_signs = test_lots(lots.part(signed), level, n_resamples, random_state, premise, joint, by_tail=by_tail)
    if signed.all():
        return by_signs
    if not by_tail:
        if not signed.any():
            raise InputError("groups", FEW_AND_WEIGHTED, allowed="more groups")
        return by_signs
    few = lots.part(~signed)
    assert few.group is not None
    tail = log_tail_of_total(few.group, few.prediction, few.weight * few.count, few.excess)
    bound = max(LEAST, math.exp(tail))
    by_bound = f"a bound for any dependence within groups, which are too few for signs in {int(few.count.sum()):,}"
    if not signed.any():
        return replace(
            by_signs,
            statistic=-math.log(bound),
            pvalue=bound,
            reject=bound <= level,
            method=f"calibration test ({by_bound} rows)",
            region=_total_region(few),
            redrawn_pvalue=1.0,
            tail_pvalue=bound,
        )
    pvalue = joined(by_signs.pvalue, bound, lots.variance, signed)
    return replace(
        by_signs,
        pvalue=pvalue,
        reject=pvalue <= level,
        method=f"{by_signs.method}, and {by_bound} of the rows",
        region=_total_region(few) if bound < by_signs.pvalue else by_signs.region,
        tail_pvalue=bound if by_signs.tail_pvalue is None else min(bound, by_signs.tail_pvalue),
    )


def _total_region(lots: UncertainLots) -> TestRegion:
    """All lots as one range."""
    mass = lots.weight * lots.count
    return TestRegion(
        float(lots.prediction.min()),
        float(lots.prediction.max()),
        "too low" if lots.excess.sum() > 0.0 else "too high",
        int(lots.count.sum()),
        float((mass * lots.prediction).sum() / mass.sum()),
        float((lots.weight * lots.ones).sum() / mass.sum()),
    )


def evened_minimum(best: Mapping[str, FloatArray]) -> tuple[FloatArray, str]:
    """Smallest log p-value of each draw after every component's are evened, and which component led the first draw.

    Evening subtracts a component's own 5% quantile over all draws, the outcomes among them, so that none is ahead for
    its formula's sake. It treats every draw alike, which leaves the level exact.
    """
    evened = {}
    for name, logs in best.items():
        k = max(1, int(_EVEN_AT * logs.size))
        evened[name] = logs - np.partition(logs, k - 1)[k - 1] - math.log(_SHARE[name])
    return np.minimum.reduce(list(evened.values())), min(evened, key=lambda name: evened[name][0])


def share_as_extreme(logs: FloatArray) -> float:
    """Share of the redraws, and the outcomes themselves, that are at least as extreme; rounding makes no difference."""
    slack = 1e-9 * (1.0 + abs(float(logs[0])))
    return float((1 + (logs[1:] <= logs[0] + slack).sum()) / logs.size)


def _region(lots: UncertainLots, parts: Components, leading: str, degree: int) -> TestRegion | None:
    """Among the stretches on which the leading component's fit has one sign, the one with the clearest excess."""
    excess, variance = lots.excess, lots.variance
    if leading == COX:
        fit = float(excess.sum()) / float(variance.sum()) + float((parts.slope * excess).sum()) * parts.slope
    elif leading == WAVES:
        wave = parts.wave[:, :degree]
        moved = np.bincount(parts.block, excess, wave.shape[0])
        fit = np.einsum("bk,k->b", wave, np.einsum("b,bk->k", moved, wave))[parts.block]
    else:
        group = parts.block // (parts.wave.shape[0] // degree)
        fit = np.bincount(group, excess, degree)[group]
    # Units of one prediction, which may differ in weight, stay together.
    first = np.flatnonzero(np.concatenate([[True], lots.prediction[1:] != lots.prediction[:-1]]))
    fit = np.add.reduceat(fit * variance, first)
    excess, variance = np.add.reduceat(excess, first), np.add.reduceat(variance, first)
    sign = np.sign(fit)
    start = np.flatnonzero(np.concatenate([[True], sign[1:] != sign[:-1]]))
    sums = np.add.reduceat(excess, start)
    clear = sums * np.sign(sign[start]) / np.sqrt(np.add.reduceat(variance, start))
    at = int(np.argmax(clear))
    if not clear[at] > 0.0:
        return None
    end = int(first[start[at + 1]]) if at + 1 < start.size else lots.prediction.size
    here = slice(int(first[start[at]]), end)
    v, mass = lots.prediction[here], lots.weight[here] * lots.count[here]
    total = float(mass.sum())
    return TestRegion(
        float(v[0]),
        float(v[-1]),
        "too low" if sums[at] > 0.0 else "too high",
        int(lots.count[here].sum()),
        float((mass * v).sum()) / total,
        float((lots.weight[here] * lots.ones[here]).sum()) / total,
    )


_STEPS = 40
_NEGLIGIBLE = 1e-100  # cells that weigh less than this share of the heaviest are set aside: their squares may vanish
_ROUNDING = 2.0**-51  # of a sum of squares, for each of its terms


def calibration_test_on_weighted_cells(
    sample: Sample, level: float, misplaced: float, max_weight: float | None
) -> CalibrationTestResult:
    """Test weighted rows with outcomes 0 or 1, from sums of w, wy and w^2 by cell (docs/calibration-test.md).

    Parameters
    ----------
    sample : Sample
        The cells.
    level : float
        Largest probability of rejecting calibrated predictions.
    misplaced : float
        What the rounding of the sums changes the cells' shares of residuals by, all added up.
    max_weight : float or None
        The most that a row weighs, where it is known: it sharpens the bounds.
    """
    v, scale = sample.prediction, float(sample.weight.max())
    weighs = sample.weight > 0.0
    impossible = contradicted(v, np.where(weighs, sample.count, 0.0), np.where(weighs, sample.ones, 0.0))
    if impossible is not None:
        impossible = replace(impossible, row=None, by_rounding=1.0)  # weights may tell outcomes
    used = (sample.weight > _NEGLIGIBLE * scale) & (v > 0.0) & (v < 1.0)
    pvalue, n_rows = 1.0, sample.n_rows
    if used.any():
        cells = _Bounded.of(sample, used, scale, misplaced, max_weight)
        # Lots of equal rows that have the cells' weight and squared weight: directions are as for those.
        effective, each = cells.weight**2 / cells.squares, cells.squares / cells.weight
        events = sample.weighted_outcome[used] / scale / each
        lots = UncertainLots(np.maximum(v[used], LEAST_DRAWN), effective, events, each, n_rows, impossible, 0.0)
        pvalue = max(LEAST, math.exp(log_tail(lots, Components.of(lots), cells.log_bound)))
    method = "calibration test (no redraws: bounds from the sums of weighted cells)"
    if impossible is not None:
        method += ", of the rows predicted strictly between 0 and 1,"
    return CalibrationTestResult(
        statistic=-math.log(pvalue),
        pvalue=pvalue,
        reject=pvalue <= level,
        level=level,
        method=method,
        components=ReadOnly({}),
        leading=None,
        region=None,
        redrawn_pvalue=1.0,
        tail_pvalue=pvalue,
        pooling=0.0,
        n_resamples=0,
        premise=f"{INDEPENDENT}, and {WEIGHTS}",
        impossible=impossible,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Bounded:
    """Sums of w by cell; bounds from above of those of w^2 and w^2 v (1 - v), and of one row's w (1 - v) and w v."""

    weight: FloatArray
    squares: FloatArray
    variance: FloatArray
    above: FloatArray
    below: FloatArray
    misplaced: float

    @classmethod
    def of(
        cls, sample: Sample, used: npt.NDArray[np.bool_], scale: float, misplaced: float, max_weight: float | None
    ) -> _Bounded:
        """Bound the cells that are used, weights in units of `scale`; `misplaced` is a share of all weight."""
        n, weight, width = sample.count[used], sample.weight[used] / scale, sample.cell_width[used]
        squares = sample.squared_weight[used] / scale / scale * (1.0 + (n + 8.0) * _ROUNDING)
        v = np.maximum(sample.prediction[used], LEAST_DRAWN)
        low, high = np.maximum(v - width, 0.0), np.minimum(v + width, 1.0)
        middle = np.clip(0.5, low, high)
        mean = weight / n
        # No number is further from the mean of n than the root of n - 1 standard deviations (Samuelson 1968).
        spread = np.maximum(squares / n - mean * mean, 0.0)
        heaviest = np.minimum(mean + np.sqrt((n - 1.0) * spread), np.sqrt(squares))
        heaviest = np.where(n > 1.0, heaviest, weight) * (1.0 + (n + 8.0) * _ROUNDING)
        if max_weight is not None:
            heaviest = np.minimum(heaviest, max_weight / scale)
        lost = misplaced * (sample.total_weight / scale)
        return cls(weight, squares, squares * middle * (1.0 - middle), heaviest * (1.0 - low), heaviest * high, lost)

    def log_bound(self, lots: UncertainLots, direction: FloatArray) -> float:
        """Log of a bound on P(sum of direction * excess >= what was seen).

        A variable x <= b of mean 0 has E exp(t x) <= exp(Var (e^(t b) - 1 - t b) / b^2) (Bennett 1962). Any t will do;
        the best is where the derivative vanishes, which is no further than where it would with b = 0.
        """
        observed = float((direction * lots.excess).sum()) - self.misplaced * float(np.abs(direction).max())
        if observed <= 0.0:
            return 0.0
        most = np.abs(direction) * np.where(direction > 0.0, self.above, self.below)
        variance = direction * direction * self.variance
        mask = (most > 0.0) & (variance > 0.0)
        most, variance = most[mask], variance[mask]
        total = float(variance.sum())
        low, high = 0.0, observed / total
        with np.errstate(over="ignore"):
            for _ in range(_STEPS):
                t = 0.5 * (low + high)
                slope = float((variance / most * np.expm1(t * most)).sum()) - observed
                low, high = (t, high) if slope < 0.0 else (low, t)
        s = low * most
        # e^s - 1 - s of small s by its series, whose next term is less than the rounding that is added.
        rest = np.where(s < 1e-4, s * s * (0.5 + s / 6.0 + s * s / 12.0), np.expm1(s) - s)
        return min(0.0, float((variance / most / most * rest).sum()) * (1.0 + 1e-9) - low * observed)
