"""The list of tests of calibration, which the contract tests, the measured error rates and the docs all read.

A test registers where it is defined, and ``tests/oracles/`` holds a slow twin of its name, which gives its statistic.
What follows from a registration, ``python tools/registered.py`` writes.
"""

from __future__ import annotations

__all__ = ["CalibrationTest", "calibration_tests"]

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from calibrant.door.registry import Registry
from calibrant.door.values import Result

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
    source: str,
    order: int,
    null: Null = "redrawn",
    admits: tuple[str, ...] = ROWS,
    of_classes: bool = False,
) -> Callable[[F], F]:
    """Enter the decorated public function in the list of tests, and return it unchanged; ValueError if a text lacks."""

    def enter(function: F) -> F:
        entry = CalibrationTest(function.__name__, function, proof, limits, source, null, admits, order, of_classes)
        _TESTS.enter(entry, function.__module__, proof=proof, limits=limits, source=source)
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
