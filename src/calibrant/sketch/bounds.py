"""Cells as the sample that stands for their rows, and proved bounds of how far its numbers are from the rows'.

Proofs are in docs/sketch.md. In short: replacing every prediction v of a cell by the cell's mean m keeps each cell's
sum of residuals, so what moves is only where a residual sits, by |v - m|. Two sums bound everything:
`displacement` = mean of |v - m| and `moved_residual` = mean of |y - v| |v - m|. A third term is the rounding of the
sums themselves, known from the number of rows and from how they were added up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_band, generator
from calibrant.door.columns import NO_WEIGHT, FloatArray, IntArray
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.rows import OUTCOME_FREE, check_outcome_free
from calibrant.door.sample import Sample
from calibrant.kernels import sketching
from calibrant.kernels.sums import dot
from calibrant.lazily import above
from calibrant.measures.registry import measures
from calibrant.sketch.cells import UNIT

if TYPE_CHECKING:
    from calibrant import Audit
    from calibrant.inference.bounds.draws import AnyDraws
    from calibrant.inference.bounds.gate import GateResult
    from calibrant.inference.testing.calibration import CalibrationTestResult


ARITHMETIC = 1e-11
"""What a measure's own arithmetic on the cells may cost, besides one rounding of all residuals for every cell."""
_OUTWARDS = 1.0 + 1e-9  # more than the sums and products of a bound are rounded by


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of the rows within each cell; shares of the total weight, rounded outwards."""

    # low, high: (m,), smallest and largest prediction of each cell
    low: FloatArray
    high: FloatArray
    displacement: FloatArray  # (m,): at least the sum of w |v - m| over the rows of each cell
    moved_residual: FloatArray  # (m,): at least the sum of w |y - v| |v - m|
    residual: FloatArray  # (m,): at least the sum of w |y - v|; equal to it, up to rounding, where outcomes are 0 or 1
    # at least what the rounding of the sums changes the cells' shares of outcomes, of residuals and of weight by, the
    # changes of all cells added up
    misplaced: float

    @property
    def distance_moved(self) -> float:
        """At least what any distance from calibration differs by between the rows and the sample of the sketch."""
        return float(self.displacement.sum()) * _OUTWARDS + self.misplaced

    @property
    def smooth_moved(self) -> float:
        """At least what the smooth error differs by."""
        return float(self.moved_residual.sum()) * _OUTWARDS + self.misplaced


def moments(
    low: FloatArray,
    high: FloatArray,
    mean: FloatArray,
    label_one: tuple[FloatArray, FloatArray],
    total: float,
    label_zero: tuple[FloatArray, FloatArray],
    rounding: float,
) -> Moments:
    """Moments of cells from the weight and mean prediction of the label 1 and of the label 0.

    A row with event rate y counts as y of label 1 and 1 - y of label 0. |v - m| is convex in v, so among rows within
    [low, high] with a known mean it is largest on average when they sit on the two ends: the chord. Sums are known to
    within `rounding` of each cell's weight; constants are in docs/sketch.md.
    """
    width = high - low
    below, above = np.maximum(mean - low, 0.0), np.maximum(high - mean, 0.0)
    spread = np.where(width > 0.0, width, 1.0)
    misplaced = 16.0 * rounding + 64.0 * UNIT
    slack = misplaced * (label_one[0] + label_zero[0]) / total

    def chord(curve: tuple[FloatArray, FloatArray]) -> FloatArray:
        weight, at = curve
        share = np.clip((at - low) / spread, 0.0, 1.0)
        return weight / total * ((1.0 - share) * below + share * above)

    of_ones, of_zeros = chord(label_one), chord(label_zero)
    known = np.where(width > 0.0, slack, 0.0)  # a cell of one prediction has no moments to round
    residual = (label_one[0] * (1.0 - label_one[1]) + label_zero[0] * label_zero[1]) / total
    return Moments(
        low,
        high,
        of_ones + of_zeros + known,
        (1.0 - low) * of_ones + high * of_zeros + known,
        np.maximum(residual, 0.0) + slack,
        misplaced,
    )


def _smooth(_sample: Sample, cells: Moments) -> float:
    return float(cells.moved_residual.sum())


def _lower(_sample: Sample, cells: Moments, tol: float = 1e-9) -> float:
    return float(cells.displacement.sum()) + 2.0 * tol


def _two_bins(_sample: Sample, cells: Moments, norm: str = "l1") -> float:
    if norm == "l1":
        return 2.0 * float(cells.moved_residual.sum())
    return math.sqrt(2.0 * dot(cells.moved_residual, cells.residual))


def _cutoff(_sample: Sample, cells: Moments) -> float:
    """The interval of the rows may begin within one cell and end within another."""
    return float(np.sort(cells.residual[cells.high > cells.low])[-2:].sum())


def _decision_loss(sample: Sample, cells: Moments) -> float:
    """The best cut may lie within one cell, and the threshold within another (docs/decisions.md)."""
    wide = cells.high > cells.low
    if not wide.any():
        return 0.0
    total = sample.total_weight
    events = np.maximum(sample.weighted_outcome[wide], 0.0) / total
    others = np.maximum(sample.weight[wide] - sample.weighted_outcome[wide], 0.0) / total
    both = events + others
    inside = events * others / np.where(both > 0.0, both, 1.0)
    acting = np.maximum(cells.high[wide] * others, (1.0 - cells.low[wide]) * events)
    return 2.0 * float(inside.max() + acting.max())


def _random_interval(_sample: Sample, cells: Moments, width: float) -> float:
    return 2.0 / width * float(cells.moved_residual.sum())


def _surrogate(sample: Sample, cells: Moments, value: float | None = None) -> float:
    """Down to a width both sides are known within 2E / width; below it the error at that width is a lower bound."""
    measure = measures()["random_interval_calibration_error"]
    moved = 2.0 * float(cells.moved_residual.sum())
    if moved == 0.0:
        return 0.0
    value = measures()["surrogate_interval_calibration_error"].on_sample(sample) if value is None else value
    highest, coarse, lowest = math.inf, math.inf, 0.0
    for k in range(40):
        width = 2.0**-k
        at = measure.on_sample(sample, width=width)
        slack = moved / width
        highest = min(highest, at + slack + width)
        coarse = min(coarse, at - slack + width)
        lowest = max(lowest, min(coarse, at - slack))
        if slack > 1.0:
            break
    return max(highest - value, value - lowest, 0.0)


def _kernel(
    sample: Sample,
    cells: Moments,
    value: float | None = None,
    kernel: str = "laplace",
    bandwidth: float = 1.0,
    unbiased: bool = False,
) -> float:
    if unbiased:
        raise _no_bound("kernel_calibration_error with unbiased=True")
    if value is None:
        value = measures()["kernel_calibration_error"].on_sample(sample, kernel=kernel, bandwidth=bandwidth)
    # Largest slope of the kernel: 1/h for the Laplace kernel, exp(-1/2)/h for the Gaussian.
    slope = (1.0 if kernel == "laplace" else math.exp(-0.5)) / bandwidth
    # The square is a sum over pairs, which rounds in proportion to the residuals' own square.
    rounded = 4.0 * UNIT * (sample.n_distinct + 64.0) * float(np.abs(sample.residual()).sum()) ** 2
    square = 2.0 * slope * float(cells.moved_residual.sum()) * float(cells.residual.sum()) + rounded
    return min(math.sqrt(square), square / value if value > 0.0 else math.inf)


def _convolved(sample: Sample, cells: Moments, value: float | None = None, bandwidth: float | None = None) -> float:
    quadrature = 2e-4
    moved = math.sqrt(2.0 / math.pi) * float(cells.moved_residual.sum())
    if bandwidth is not None:
        return moved / bandwidth + quadrature
    value = measures()["convolved_calibration_error"].on_sample(sample) if value is None else value
    if value * value < 4.0 * moved:
        return max(value, 2.0 * math.sqrt(moved)) + quadrature
    # Cancels where `moved` is small, so written as a quotient.
    return 2.0 * moved / (value + math.sqrt(value * value - 4.0 * moved)) + quadrature if value > 0.0 else quadrature


def _uniform_bins(
    _sample: Sample, cells: Moments, n_bins: int = 15, strategy: str = "uniform", norm: str = "l1"
) -> float:
    exact = not np.any(cells.high > cells.low)
    if strategy not in ("uniform", "exact") or norm != "l1" or (strategy == "exact" and not exact):
        raise _no_bound(f"strategy={strategy!r} and norm={norm!r}")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    split = np.searchsorted(edges, cells.low) != np.searchsorted(edges, cells.high)
    split &= cells.high > cells.low
    return 2.0 * float(cells.residual[split].sum())


def _binned_bound(sample: Sample, cells: Moments, n_bins: int = 15, strategy: str = "uniform") -> float:
    return _uniform_bins(sample, cells, n_bins, strategy) + (4e-16 * n_bins)


BOUNDS: Mapping[str, Callable[..., float]] = {
    "smooth_calibration_error": _smooth,
    "lower_calibration_distance": _lower,
    "averaged_two_bin_calibration_error": _two_bins,
    "cutoff_calibration_error": _cutoff,
    "monotone_decision_loss": _decision_loss,
    "random_interval_calibration_error": _random_interval,
    "surrogate_interval_calibration_error": _surrogate,
    "kernel_calibration_error": _kernel,
    "convolved_calibration_error": _convolved,
    "expected_calibration_error": _uniform_bins,
    "binned_calibration_error_bound": _binned_bound,
}
"""Measure -> bound; a measure that is not here has none that is proved, and no answer on a sketch."""
_OF_VALUE = ("surrogate_interval_calibration_error", "kernel_calibration_error", "convolved_calibration_error")
"""Measures whose bound depends on their value on the sketch."""


def error_bound(
    measure: str, sample: Sample, cells: Moments, *, value: float | None = None, **parameters: Any
) -> float:
    """At least |answer on the sketch - answer on the rows|; `value` is the first, where it is known already.

    Raises InputError if the measure is unknown or has no proved bound.
    """
    if measure in BOUNDS:
        known = {"value": value} if measure in _OF_VALUE else {}
        bound = BOUNDS[measure](sample, cells, **known, **{**measures()[measure].parameters, **parameters})
    elif measure in measures() and not np.any(cells.high > cells.low):
        bound = 0.0  # every cell holds one distinct prediction: the sketch is the sample
    else:
        raise _no_bound(measure)
    arithmetic = ARITHMETIC + 4.0 * UNIT * sample.n_distinct * float(np.abs(sample.residual()).sum())
    return bound * _OUTWARDS + cells.misplaced + arithmetic


def error_bounds(
    sample: Sample, cells: Moments, values: Mapping[str, float | None] = MappingProxyType({})
) -> dict[str, float | None]:
    """Return the bound of every measure, None where none is proved; `values` on the sketch that are known already."""
    bounds: dict[str, float | None] = {}
    for name in measures():
        try:
            bounds[name] = error_bound(name, sample, cells, value=values.get(name))
        except InputError:
            bounds[name] = None
    return bounds


def _no_bound(what: str) -> InputError:
    return InputError("measure", f"{what} has no proved bound on a sketch; measures that have are {', '.join(BOUNDS)}")


def interval_error_above(on_cells: float, cells: Moments) -> float:
    """At least the interval error of the rows, from that of their cells (docs/sketch.md)."""
    return (
        (on_cells + 2.0 * float((cells.high - cells.low).max(initial=0.0))) * _OUTWARDS + cells.misplaced + ARITHMETIC
    )


def _mean(index: IntArray, cells: FloatArray, offset: FloatArray, weight: FloatArray, resolution: int) -> FloatArray:
    """Mean prediction of the rows that `offset` and `weight` sum up; the cell's lowest where there is no weight."""
    low, high = cells[:, sketching.LOW], cells[:, sketching.HIGH]
    positive = weight > 0.0
    mean = (index // 2 + offset / np.where(positive, weight, 1.0)) / resolution
    return np.where(positive, np.clip(mean, low, high), low)  # a mean leaves its range by rounding only


def sample_from_cells(index: IntArray, cells: FloatArray, resolution: int) -> Sample:
    """Return the sample with a row for each cell, at its mean prediction."""
    count, ones, fractional, weight, outcome, squared, offset, _, low, high = cells.T.copy()
    return Sample(
        _mean(index, cells, offset, weight, resolution),
        count,
        ones,
        weight,
        outcome,
        squared,
        high - low,
        binary=not fractional.any(),
    )


def moments_from_cells(index: IntArray, cells: FloatArray, resolution: int, rounding: float) -> Moments:
    """Moments of cells, for the bounds."""
    _, _, _, weight, outcome, _, offset, outcome_offset, low, high = cells.T.copy()
    rest, rest_offset = np.maximum(weight - outcome, 0.0), np.maximum(offset - outcome_offset, 0.0)
    return moments(
        low,
        high,
        _mean(index, cells, offset, weight, resolution),
        (outcome, _mean(index, cells, outcome_offset, outcome, resolution)),
        float(weight.sum()),
        (rest, _mean(index, cells, rest_offset, rest, resolution)),
        rounding,
    )


def gate_of_cells(
    sample: Sample,
    cells: Moments,
    *,
    max_distance: float,
    level: float,
    max_weight: float | None = None,
    shares: int = 1,
) -> GateResult:
    """The gate of the rows in these cells, `shares` as in `calibration_gate_on_sample`.

    Event rates are refused, and weights without their bound.
    """
    from calibrant.inference.bounds.gate import calibration_gate_on_sample, check_gate

    check_gate(max_distance, level)
    rows, units, moved = draws_of_cells(sample, cells, max_weight)
    return calibration_gate_on_sample(
        rows, max_distance=max_distance, level=level, displacement=moved, draws=units, shares=shares
    )


def draws_of_cells(sample: Sample, cells: Moments, max_weight: float | None) -> tuple[Sample, AnyDraws, float]:
    """The rows in these cells as a sample and as draws, and how far the sample's distance can be from theirs.

    Raises InputError if outcomes are event rates; if there are weights, and `max_weight` is not said, or seen to be
    exceeded.
    """
    from calibrant.inference.bounds.draws import CellDraws, Draws

    if not sample.binary:
        raise InputError("sketch", "holds event rates; the proof needs single outcomes, each 0 or 1")
    if max_weight is None:
        if not unweighted(sample):
            problem = "is needed, as the sketch holds weights: the largest weight in the rows is no bound"
            allowed = "the most that one row can weigh, known before the rows were drawn"
            raise InputError("max_weight", problem, allowed=allowed)
        count, ones = sample.count, sample.ones
        rows = Sample(sample.prediction, count, ones, count, ones, count, sample.cell_width, binary=True)
        return rows, Draws.of_sample(rows), cells.distance_moved + ARITHMETIC if rows.cell_width.any() else 0.0
    draws = CellDraws.of_sample(sample, max_weight, cells.misplaced)
    units = draws.as_units()
    return sample, draws if units is None else units, cells.distance_moved + ARITHMETIC


def unweighted(sample: Sample) -> bool:
    """Whether every row weighs 1: weights that are counts are added up as such."""
    return np.array_equal(sample.weight, sample.count) and np.array_equal(sample.squared_weight, sample.count)


class Answers(ABC):
    """Answers of everything that holds cells."""

    __slots__ = ()
    resolution: int

    @abstractmethod
    def cells(self) -> tuple[IntArray, FloatArray]:
        """Numbers of the cells that hold rows, in order, and their sums."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """At least the rounding of any sum of a cell, as a share of the cell's weight."""

    @property
    def has_weight(self) -> bool:
        """Whether any row has weight: without, nothing can be asked."""
        return bool(self.cells()[1][:, sketching.WEIGHT].any())

    @property
    def sample(self) -> Sample:
        """The sketch as a sample, one row a cell at its mean prediction: every measure runs on it."""
        return sample_from_cells(*self._weighed(), self.resolution)

    def points(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (y_true, y_prob, sample_weight), a row for each cell that has weight."""
        sample = self.sample
        positive = sample.weight > 0.0
        weight = sample.weight[positive]
        rate = np.clip(sample.weighted_outcome[positive] / weight, 0.0, 1.0)
        return rate, sample.prediction[positive], weight

    def moments(self) -> Moments:
        """Moments of the rows within each cell."""
        return moments_from_cells(*self._weighed(), self.resolution, self.rounding)

    def error_bound(self, measure: str, **parameters: Any) -> float:
        """Return at least |measure on the sketch - measure on the rows|, proved from the cells' own moments.

        Raises
        ------
        InputError
            If the measure is unknown or no bound is proved for it, or there are no rows.
        """
        return error_bound(measure, *self._sample_and_moments(), **parameters)

    def error_bounds(self) -> dict[str, float | None]:
        """Return the bound of every measure, None where none is proved."""
        return error_bounds(*self._sample_and_moments())

    @property
    def displacement(self) -> float:
        """At least what any distance from calibration moves by: the mean distance of predictions from `points`."""
        return self.moments().distance_moved

    def audit(
        self,
        *,
        max_distance: float | None = None,
        threshold: float | None = None,
        outcome_free_weights: bool = False,
        max_weight: float | None = None,
        level: float = 0.05,
        n_resamples: int = N_RESAMPLES,
        random_state: RandomState = None,
        title: str | None = None,
    ) -> Audit:
        """Audit the rows that the sketch stands for, as `audit_table` does: every number with what pooling can cost.

        Parameters
        ----------
        max_distance, threshold, outcome_free_weights, max_weight, level, n_resamples, random_state
            As for `audit`; weighted rows are tested only if weights are declared to say nothing of outcomes.
        title : str, optional
            Head of the report.

        Raises
        ------
        InputError
            If there are no rows, or an option cannot be used.

        Notes
        -----
        The test draws each cell from its mean, which its result accounts for; recalibrations are compared as if each
        row's prediction were its cell's.

        Examples
        --------
        >>> from calibrant import CalibrationSketch
        >>> week = CalibrationSketch().update([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
        >>> round(week.audit(n_resamples=0).measures["smooth_calibration_error"].value, 6)
        0.085
        """
        audit_table = above("findings.tables").audit_table
        audit: Audit = audit_table(
            self,
            max_distance=max_distance,
            threshold=threshold,
            outcome_free_weights=outcome_free_weights,
            max_weight=max_weight,
            level=level,
            n_resamples=n_resamples,
            random_state=random_state,
            title=title,
        )
        return audit

    def gate(self, *, max_distance: float, level: float = 0.05, max_weight: float | None = None) -> GateResult:
        """Decide whether the population's lower distance is within a limit, with proof, as `calibration_gate` does.

        Parameters
        ----------
        max_distance, level : float
            As for `calibration_gate`, whose very answer this is where each cell holds one prediction, and of each
            outcome one weight. Else the interval pays for what pooling can cost (docs/bounds.md).
        max_weight : float, optional
            Needed where rows have weights: the most that one can weigh, known before they were drawn. A sketch cannot
            tell every row that is heavier; one that it can tell is refused.

        Raises
        ------
        InputError
            If there are no rows, if outcomes are other than 0 and 1, if there are weights without a bound or beyond it,
            or an option cannot be used.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import CalibrationSketch
        >>> y_prob = np.random.default_rng(0).random(20_000)
        >>> CalibrationSketch().update(np.ones(20_000), y_prob).gate(max_distance=0.1).verdict
        'beyond'
        """
        return gate_of_cells(*self._sample_and_moments(), max_distance=max_distance, level=level, max_weight=max_weight)

    def measure(self, measure: str, **parameters: Any) -> Bracket:
        """Return between what a measure of the rows lies, proved.

        Parameters
        ----------
        measure : str
            Name of a registered measure: ``"smooth_calibration_error"``, ...
        **parameters
            Its parameters, where it has some, such as ``width=0.1``.

        Raises
        ------
        InputError
            If the measure is unknown or what pooling costs is not proved for it, or there are no rows.

        Examples
        --------
        >>> from calibrant import CalibrationSketch
        >>> week = CalibrationSketch().update([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
        >>> lower, upper = week.measure("smooth_calibration_error")
        >>> round(lower, 6), upper - lower < 1e-10
        (0.085, True)
        """
        from calibrant.measures.registry import measures

        sample, cells = self._sample_and_moments()
        bound = error_bound(measure, sample, cells, **parameters)
        registered = measures()[measure]
        value = registered.on_sample(sample, **{**registered.parameters, **parameters})
        return Bracket(max(0.0, value - bound), value + bound)

    def test(
        self,
        *,
        outcome_free_weights: bool = False,
        max_weight: float | None = None,
        level: float = 0.05,
        n_resamples: int = N_RESAMPLES,
        random_state: RandomState = None,
    ) -> CalibrationTestResult:
        """Test whether the predictions are calibrated, as `calibration_test` does of rows.

        Parameters
        ----------
        outcome_free_weights : bool, default False
            Declare that weights say nothing of outcomes at a given prediction; sums of weighted rows are refused else.
        max_weight : float, optional
            The most that one row can weigh, if it is known: it sharpens the bounds that the test of weighted rows uses.
        level, n_resamples, random_state
            As for `calibration_test`.

        Raises
        ------
        InputError
            If there are no rows, outcomes are no 0 or 1, weights may tell outcomes, or an option cannot be used.

        Notes
        -----
        Each cell is drawn from its mean; what that can add to the level is in the result's ``pooling``. Of rows that
        weigh differently it has bounds instead of redraws (docs/calibration-test.md).

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import CalibrationSketch
        >>> y_prob = np.random.default_rng(0).random(20_000)
        >>> CalibrationSketch().update(np.ones(20_000), y_prob).test(random_state=0).reject
        True
        """
        from calibrant.inference.testing.calibration import (
            calibration_test_on_sample,
            calibration_test_on_weighted_cells,
        )

        check_band(level, n_resamples)
        if n_resamples == 0:
            raise InputError("n_resamples", "is 0", allowed="the test is made of redraws")
        sample, cells = self._sample_and_moments()
        if not sample.binary:
            raise InputError("sketch", "holds event rates", allowed="the test needs single outcomes, each 0 or 1")
        weighted = sample.weights_differ
        check_outcome_free(outcome_free_weights, True if weighted else None, None)
        if weighted:
            if not outcome_free_weights:
                problem = "holds weights, which may tell outcomes, and sums in cells do not say how"
                raise InputError("sketch", problem, allowed=OUTCOME_FREE)
            moved = cells.distance_moved + ARITHMETIC
            return calibration_test_on_weighted_cells(sample, level, moved, max_weight)
        return calibration_test_on_sample(sample, level, n_resamples, int(generator(random_state).integers(2**31)))

    def _weighed(self) -> tuple[IntArray, FloatArray]:
        index, cells = self.cells()
        if not cells[:, sketching.WEIGHT].any():
            if len(index):
                raise InputError("sample_weight", NO_WEIGHT)
            raise InputError("sketch", "has no rows; update it first")
        return index, cells

    def _sample_and_moments(self) -> tuple[Sample, Moments]:
        """Both of one moment, should others add rows meanwhile."""
        pair = (*self._weighed(), self.resolution)
        return sample_from_cells(*pair), moments_from_cells(*pair, self.rounding)
