"""Queries of a sketch: its sample, the cost of that, its audit and the gate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import N_RESAMPLES, RandomState, check_band, generator
from calibrant.door.columns import NO_WEIGHT
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.rows import OUTCOME_FREE, check_outcome_free
from calibrant.door.sample import Sample
from calibrant.kernels import sketching
from calibrant.lazily import above
from calibrant.sketch.bounds import (
    ARITHMETIC,
    Moments,
    error_bound,
    gate_of_cells,
    moments_from_cells,
    sample_from_cells,
)

if TYPE_CHECKING:
    from calibrant import Audit
    from calibrant.inference.bounds.gate import GateResult
    from calibrant.inference.testing.calibration import CalibrationTestResult

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


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
        from calibrant.measures.registry import measures

        sample, cells = self._sample_and_moments()
        bounds: dict[str, float | None] = {}
        for name in measures():
            try:
                bounds[name] = error_bound(name, sample, cells)
            except InputError:
                bounds[name] = None
        return bounds

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

    def require_rows(self) -> None:
        """Raise if there is nothing to measure."""
        self._weighed()

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
