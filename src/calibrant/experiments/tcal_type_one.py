"""How often tests of the T-Cal family reject predictions that are calibrated: measured, beside the promise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.errors import InputError
from calibrant.inference.discrete import discrete_calibration_test
from calibrant.inference.result import TestResult
from calibrant.inference.tcal import tcal_test
from calibrant.inference.tcal_scales import dyadic_scales
from calibrant.inference.two_sample import two_sample_calibration_test
from calibrant.inputs import FloatArray

LEVEL = 0.05
SIZES = (100, 1000, 10_000)
Test = Callable[[FloatArray, FloatArray, np.random.Generator], TestResult]

PREDICTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.3, 3.0, n),
    "discrete": lambda rng, n: rng.integers(1, 11, n) / 11,
    "tied": lambda rng, n: np.round(rng.random(n), 2),
}
"""Skewed is Beta(0.3, 3), discrete has ten values, tied is rounded to hundredths."""


def _resamples(n: int, parts: int = 1) -> int:
    """The fewest with which the level is reached exactly."""
    return round(len(dyadic_scales(n)) * parts / LEVEL) - 1


def _adaptive(how: str) -> Test:
    return lambda y, p, rng: tcal_test(y, p, n_resamples=_resamples(y.size), random_state=rng, critical_value=how)


def _smooth(y: FloatArray, p: FloatArray, rng: np.random.Generator) -> TestResult:
    return tcal_test(y, p, smoothness=0.6, n_resamples=199, random_state=rng)


BINOMIAL = "exact binomial tests"
REPEATED = ("discrete", "tied")  # predictions that the binomial tests are for
TESTS: dict[str, Test] = {
    "adaptive T-Cal, labels redrawn": _adaptive("label_resampling"),
    "adaptive T-Cal, rows and labels redrawn": _adaptive("consistency_resampling"),
    "adaptive T-Cal, the theorem's critical value": _adaptive("theorem"),
    "T-Cal for smoothness 0.6, labels redrawn": _smooth,
    BINOMIAL: lambda y, p, _rng: discrete_calibration_test(y, p),
    "two samples, multi-scale permutation": lambda y, p, rng: two_sample_calibration_test(
        y, p, n_resamples=_resamples(y.size, 6), random_state=rng
    ),
}


@dataclass(frozen=True)
class Measured:
    """One cell: how often one test rejected.

    Attributes
    ----------
    test, predictions : str
        Which test, on which distribution of calibrated predictions.
    n : int
        Rows a trial.
    trials, rejections, refused : int
        Trials that gave an answer, rejections among them, and trials in which the test said it does not apply.
    """

    test: str
    predictions: str
    n: int
    trials: int
    rejections: int
    refused: int

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95% binomial interval for the rate of rejections."""
        from scipy.stats import binomtest

        found = binomtest(self.rejections, self.trials).proportion_ci(0.95)
        return float(found.low), float(found.high)


def measure(
    trials: int = 10_000, seconds: float = float("inf"), sizes: tuple[int, ...] = SIZES, seed: int = 0
) -> Iterator[Measured]:
    """Count rejections of calibrated predictions, cell by cell.

    Parameters
    ----------
    trials : int, default 10,000
        Samples drawn for each cell.
    seconds : float
        Time after which a cell stops early, with the trials it has.
    sizes : tuple of int
        Rows a trial.
    seed : int
        For all randomness.
    """
    for n in sizes:
        for name, draw in PREDICTIONS.items():
            for test_name, test in TESTS.items():
                if test_name == BINOMIAL and name not in REPEATED:
                    continue
                rng = np.random.default_rng((seed, n, list(PREDICTIONS).index(name), list(TESTS).index(test_name)))
                done = rejections = refused = 0
                started = time.monotonic()
                while done + refused < trials and time.monotonic() - started < seconds:
                    y_prob = draw(rng, n)
                    y_true = (rng.random(n) < y_prob).astype(np.float64)
                    try:
                        rejections += test(y_true, y_prob, rng).reject
                        done += 1
                    except InputError:
                        refused += 1
                        if refused == 100 and done == 0:
                            break  # it is the distribution that the test does not apply to
                yield Measured(test_name, name, n, done, rejections, refused)


def table(cells: list[Measured]) -> str:
    """Rates of false rejection in Markdown, each with its binomial interval and its trials."""
    worst = max((c.interval[0] for c in cells if c.trials), default=0.0)
    lines = [
        "# False rejections of calibrated predictions: T-Cal and its relatives",
        "",
        f"Nominal level {LEVEL}. Each cell: measured rate, exact 95% interval, trials. The largest lower end of an "
        f"interval is {worst:.4f}. Skewed predictions are Beta(0.3, 3), discrete ones take ten values, tied ones are "
        "rounded to hundredths. Resamples are the fewest with which the level can be reached. A cell with fewer than "
        "10,000 trials ran out of the time it was given. A dash: the test says that it does not apply.",
        "",
        "| test | rows | " + " | ".join(PREDICTIONS) + " |",
        "| --- | --- |" + " --- |" * len(PREDICTIONS),
    ]
    found = {(c.test, c.n, c.predictions): c for c in cells}
    for test in TESTS:
        for n in sorted({c.n for c in cells}):
            row = [_cell(found.get((test, n, name))) for name in PREDICTIONS]
            lines.append(f"| {test} | {n:,} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _cell(cell: Measured | None) -> str:
    if cell is None or not cell.trials:
        return "-"
    low, high = cell.interval
    return f"{cell.rejections / cell.trials:.4f} [{low:.4f}, {high:.4f}] ({cell.trials:,})"
