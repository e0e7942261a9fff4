"""The result of a test, and the list of tests, which the contract tests, the measured error rates and the docs read."""

from __future__ import annotations

__all__ = ["CalibrationTest", "ClassicalResult", "TestResult", "calibration_tests"]

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
from calibrant.door.rows import INDEPENDENT, Rows
from calibrant.door.values import Registry, Result

LEAST = sys.float_info.min
"""A p-value is never said to be 0: one that underflows is said to be this, 2.2e-308."""


@dataclass(frozen=True, slots=True, repr=False)
class ImpossibleRows(Result):
    """Rows whose outcome cannot be, were the predictions calibrated: predicted 0 and seen 1, or predicted 1 and seen 0.

    Attributes
    ----------
    n_rows : int
        How many.
    row : int or None
        The first of them, counted from 0 as the rows were given; None where their order is not known.
    predicted : float
        What was predicted there, 0 or 1.
    by_rounding : float
        At most so likely are as many where 0 and 1 are calibrated predictions that were rounded as the others may be
        (to one or two decimals), for any dependence within groups, and of weighted rows for any that tell outcomes and
        are as far apart as these; 1 of weighted cells, of which that is not known.
    """

    n_rows: int
    row: int | None
    predicted: float
    by_rounding: float = field(default=1.0, compare=False)

    def summary(self) -> str:
        """Say which row it is, and what follows.

        Examples
        --------
        >>> ImpossibleRows(1, 17, 1.0).summary()
        'row 17 was predicted 1 and was 0, which calibrated predictions rule out (unless 1 is a rounded number)'
        """
        one = self.n_rows == 1 and self.row is not None
        rounded = f"{self.predicted:g} is a rounded number" if one else "0 and 1 are rounded numbers"
        follows = f"which calibrated predictions rule out (unless {rounded})"
        if self.by_rounding <= _MANY:
            follows = "which calibrated predictions rule out (rounding hardly makes so many)"
        if self.row is None:
            return f"{self.n_rows:,} of the rows predicted 0 or 1 turned out otherwise, {follows}"
        was = f"row {self.row:,} was predicted {self.predicted:g} and was {1.0 - self.predicted:g}"
        return f"{was}, {follows}" if one else f"{was}, and {self.n_rows - 1:,} more like it, {follows}"


def impossible_rows(rows: Rows) -> ImpossibleRows | None:
    """Find certain predictions that the outcomes contradict; what weighs nothing contradicts nothing."""
    count, ones = rows.count, rows.y_true
    if rows.weight is not None:
        count, ones = np.where(rows.weight > 0.0, (count, ones), 0.0)
    impossible = contradicted(rows.y_prob, count, ones)
    if impossible is None:
        return None
    by = 1.0 if rows.weight is None else rows.weight.max() / rows.weight.min(where=rows.weight > 0.0, initial=np.inf)
    sure = np.where((rows.y_prob == 0.0) | (rows.y_prob == 1.0), count, 0.0)
    of_unit = sure if rows.group is None else np.bincount(rows.group, sure)
    single = rows.group is None and rows.trials is None
    sizes, numbers = (np.ones(1), np.array([sure.sum()])) if single else np.unique(of_unit, return_counts=True)
    rounded = _rounded(rows.y_prob)
    rounded = rounded * by / (rounded * by + 1.0 - rounded)  # odds in the file, where weights tell outcomes
    return replace(impossible, by_rounding=_by_rounding(impossible.n_rows, sizes, numbers, rounded))


def contradicted(prediction: FloatArray, count: FloatArray, ones: npt.NDArray[Any]) -> ImpossibleRows | None:
    """The same of so many single outcomes at each prediction, and events among them."""
    sure = (prediction == 0.0) | (prediction == 1.0)
    against = np.where(sure, np.where(prediction == 0.0, ones, count - ones), 0.0)
    if not against.any():
        return None
    row, number = int(np.argmax(against > 0.0)), np.asarray([count[sure].sum()])
    chance = _by_rounding(int(against.sum()), np.ones(1), number, _rounded(prediction))
    return ImpossibleRows(int(against.sum()), row, float(prediction[row]), chance)


_MANY = 0.05  # chance of as many or more
_ROUNDED = 0.005, 0.05  # by so much rounding to two decimals, and to one, moves a prediction
_EXPONENTS = np.geomspace(1e-3, 40.0, 200)


def _rounded(prediction: FloatArray) -> float:
    """By so much the predictions may have been rounded: half of the least step to 0 or 1, within `_ROUNDED`."""
    steps = np.minimum(prediction, 1.0 - prediction)
    return float(np.clip(0.5 * np.min(steps, where=steps > 0.0, initial=0.0 if not steps.any() else 1.0), *_ROUNDED))


def _by_rounding(n_wrong: int, sizes: FloatArray, n_units: npt.NDArray[Any], rounded: float) -> float:
    """Largest chance of so many outcomes against predictions of 0 or 1 whose own chance is at most `rounded`.

    There are `n_units` units of each of these `sizes`. Chernoff's bound: the outcomes of a unit may all be the same,
    and exp is convex, so no dependence within units has a larger moment generating function.
    """
    t = _EXPONENTS / sizes.max()
    generating = n_units @ np.log1p(rounded * np.expm1(np.outer(sizes, t)))
    return float(np.exp(min(0.0, (generating - t * n_wrong).min())))


@dataclass(frozen=True, repr=False)
class TestResult(Result):
    """The outcome of a test of "the predictions are calibrated".

    Attributes
    ----------
    statistic : float
        The value of the test statistic on the sample.
    pvalue : float
        Probability, for calibrated predictions, of a statistic at least as extreme; never 0 if it was found by
        resampling.
    reject : bool
        Whether calibration is rejected at ``level``.
    level : float
        Largest probability of rejecting calibrated predictions.
    method : str
        What was tested, and how the p-value was found, in words.
    impossible : ImpossibleRows or None
        Rows that calibrated predictions do not allow: a proof, even if the p-value is large. None if there are none.
    premise : str
        What the test assumes of the rows, in one line.

    See Also
    --------
    smooth_calibration_test, kernel_calibration_test, canonical_kernel_test
    """

    __test__ = False  # not a collection of pytest's, in spite of its name

    statistic: float
    pvalue: float
    reject: bool
    level: float
    method: str
    impossible: ImpossibleRows | None = field(default=None, kw_only=True)
    premise: str = field(default=INDEPENDENT, kw_only=True)

    @classmethod
    def of(cls, rows: Rows, statistic: float, pvalue: float, level: float, method: str, *more: Any) -> Self:
        """Result of a test of rows, with what they have that cannot be and what is taken to be true of them."""
        bad = impossible_rows(rows)
        reject = pvalue <= level
        return cls(statistic, pvalue, reject, level, method, *more, impossible=bad, premise=rows.premise)

    def summary(self) -> str:
        """One sentence for a reader in a hurry; an impossible outcome comes first.

        Examples
        --------
        >>> TestResult(0.013, 0.0004, True, 0.05, "adaptive T-Cal").summary()
        'miscalibrated: adaptive T-Cal rejects calibration at level 0.05 (p = 0.0004)'
        """
        least = "p < 1e-300" if self.pvalue < 1e-300 else f"p = {self.pvalue:.2g}"
        at = f"at level {self.level:g} ({least})"
        sentence = f"{self.method} {'rejects' if self.reject else 'does not reject'} calibration {at}"
        if self.impossible is not None:
            if not self.reject:
                sentence = f"{self.method} by itself shows no miscalibration {at}"
            return f"miscalibrated: {self.impossible.summary()}; {sentence}"
        return f"{'miscalibrated' if self.reject else 'no miscalibration found'}: {sentence}"


@dataclass(frozen=True, repr=False)
class ClassicalResult(TestResult):
    """The outcome of a test whose statistic has a known distribution in large samples.

    Attributes
    ----------
    statistic, pvalue, reject, level, method, impossible, premise
        As in `TestResult`; the p-value comes from redrawn outcomes and is exact at any number of rows.
    asymptotic_pvalue : float
        The textbook's, from the distribution that the statistic tends to where rows are independent; for comparison
        with other programs.

    See Also
    --------
    cox_test, hosmer_lemeshow_test, spiegelhalter_test, miller_test, cumulative_calibration_test
    """

    asymptotic_pvalue: float


Null = Literal["redrawn", "exact"]
ROWS = ("sample_weight", "trials", "groups")


@dataclass(frozen=True, repr=False)
class CalibrationTest(Result):
    """One registered test of calibration.

    Attributes
    ----------
    name : str
        Its public name.
    call : callable
        ``(y_true, y_prob, *, level, ...) -> TestResult``.
    proof : str
        What a rejection proves.
    limits : str
        What it does not do.
    promise : str
        What holds of its level, and at how many rows.
    source : str
        Who defined it, and where.
    null : {"redrawn", "exact"}
        Whether outcomes are redrawn from the predictions, or the p-value is computed without a draw.
    admits : tuple of str
        Columns that rows may have besides: weights, trials, groups.
    order : int
        Its place in lists, the least first.
    of_classes : bool
        Whether ``y_prob`` has a column per class.

    See Also
    --------
    calibration_tests, TestResult
    """

    name: str
    call: Callable[..., Any]
    proof: str
    limits: str
    promise: str
    source: str
    null: Null
    admits: tuple[str, ...]
    order: int
    of_classes: bool

    def summary(self) -> str:
        """Say what it asks, and what a rejection proves."""
        return f"{self.name}: {self.sentence} A rejection proves: {self.proof}"

    @property
    def sentence(self) -> str:
        """Its question: the first line of its docstring."""
        return (inspect.getdoc(self.call) or "").partition("\n")[0]


F = TypeVar("F", bound=Callable[..., Any])
_TESTS: Registry[CalibrationTest] = Registry("test", __name__.rpartition(".")[0])


def register_test(
    *,
    proof: str,
    limits: str,
    promise: str,
    source: str,
    order: int,
    null: Null = "redrawn",
    admits: tuple[str, ...] = ROWS,
    of_classes: bool = False,
) -> Callable[[F], F]:
    """Enter the decorated public function in the list of tests, and return it unchanged; ValueError if a text lacks."""

    def enter(function: F) -> F:
        name = function.__name__
        entry = CalibrationTest(name, function, proof, limits, promise, source, null, admits, order, of_classes)
        _TESTS.enter(entry, function.__module__, proof=proof, limits=limits, promise=promise, source=source)
        return function

    return enter


def calibration_tests() -> Mapping[str, CalibrationTest]:
    """All registered tests of calibration by name, the same on every call.

    Returns
    -------
    mapping of str to CalibrationTest
        What each proves and does not, how its p-value is found, and which rows it takes.

    See Also
    --------
    measures, calibration_test

    Examples
    --------
    >>> from calibrant.inference import calibration_tests
    >>> calibration_tests()["cox_test"].admits
    ('sample_weight', 'trials', 'groups')
    """
    return _TESTS.entries()
