"""Measured false rejections of every test: predictors for which the hypothesis is true, and how often it is rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import calibrant
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.inference.testing.result import calibration_tests
from calibrant.inference.testing.tcal import CriticalValue, dyadic_scales
from calibrant.inference.testing.two_sample import TwoSampleTest
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.tolerant import tolerant_calibration_test

LEVEL = 0.05
PREDICTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.3, 3.0, n),
    "discrete": lambda rng, n: rng.choice([0.1, 0.4, 0.7], n),
    "tied": lambda rng, n: np.round(rng.random(n), 2),
}
_CORNERS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "rare": lambda rng, n: 2e-3 * rng.random(n),
    "at the ends": lambda rng, n: rng.beta(0.05, 0.05, n),
    "atoms": lambda rng, n: np.where(rng.random(n) < 0.5, rng.random(n) < 0.5, rng.random(n)),
    "five values": lambda rng, n: rng.choice([0.001, 0.02, 0.3, 0.7, 1.0 - 2.0**-53], n),
}
_MEANT_CORNERS = (
    "Rare predictions are uniform up to 0.002. Predictions at the ends are Beta(0.05, 0.05), of which many round to "
    "0 or 1. Atoms are 0 or 1 in half of the rows, uniform else. The five values are 0.001, 0.02, 0.3, 0.7 and the "
    "last number before 1."
)
_MEANT = "Skewed predictions are Beta(0.3, 3), discrete ones take three values, tied ones are rounded to hundredths."
_CHUNK = 500
_QUICK_TRIALS = 3
_MORE = 10  # times as many trials, where a cell is above the level
_LOOKS = 20
_NEAR, _FAR = 0.02, 0.1
_OFF = 0.05
_COMPARISON = f"compare_calibration, {_OFF:g} too low against {_OFF:g} too high"

Test = Callable[[FloatArray, FloatArray, np.random.Generator], bool]
"""Takes outcomes, calibrated predictions and a source of randomness; says whether the test rejects."""


def _redrawn(name: str, **options: object) -> Test:
    def test(y: FloatArray, p: FloatArray, rng: np.random.Generator) -> bool:
        function = calibration_tests()[name].call
        return bool(function(y, p, level=LEVEL, n_resamples=19, random_state=rng, **options).reject)

    return test


def _monitor(y: FloatArray, p: FloatArray, _rng: np.random.Generator) -> bool:
    monitor = calibrant.CalibrationMonitor(LEVEL)
    for rows in np.array_split(np.arange(y.size), _LOOKS):
        monitor.update(y[rows], p[rows])
    return bool(monitor.reading().reject)


def _off_by(p: FloatArray, rng: np.random.Generator, bias: float) -> tuple[FloatArray, FloatArray]:
    """Outcomes anew, from rates that a prediction can be off from on both sides."""
    rate = np.clip(p, bias, 1.0 - bias)
    return (rng.random(p.size) < rate).astype(np.float64), rate


def _tolerant(_y: FloatArray, p: FloatArray, rng: np.random.Generator) -> bool:
    y, rate = _off_by(p, rng, _NEAR)
    found = tolerant_calibration_test(y, rate + _NEAR, accept_below=_NEAR, reject_above=_FAR, level=LEVEL)
    return found.verdict == "beyond"


def _compared(_y: FloatArray, p: FloatArray, rng: np.random.Generator) -> bool:
    y, rate = _off_by(p, rng, _OFF)
    return calibrant.compare_calibration(y, rate - _OFF, rate + _OFF, n_resamples=39, random_state=rng).reject


def _canonical(_y: FloatArray, p: FloatArray, rng: np.random.Generator) -> bool:
    rows = np.column_stack([p, 0.7 * (1.0 - p), 0.3 * (1.0 - p)])
    label = (rng.random(p.size)[:, None] > rows.cumsum(axis=1)[:, :2]).sum(axis=1)
    return calibrant.inference.canonical_kernel_test(label, rows, level=LEVEL, n_resamples=19, random_state=rng).reject


_ELSEWHERE = ("calibration_test", "averaged_two_bin_test", "tcal_test", "two_sample_calibration_test")
REDRAWN = tuple(
    name
    for name, each in calibration_tests().items()
    if each.null == "redrawn" and not each.of_classes and name not in _ELSEWHERE
)
"""Registered tests that are measured here as they stand; the others need other resamples, or are in `test-levels`."""
_TESTS: dict[str, Test] = {
    **{name: _redrawn(name) for name in REDRAWN},
    "cumulative_calibration_test, Kolmogorov-Smirnov": _redrawn(
        "cumulative_calibration_test", form="kolmogorov-smirnov"
    ),
    "canonical_kernel_test, three classes": _canonical,
    f"CalibrationMonitor, {_LOOKS} looks": _monitor,
    f"tolerant_calibration_test, distance {_NEAR:g} accepted": _tolerant,
    _COMPARISON: _compared,
}


def _scaled(n: int, parts: int = 1) -> int:
    """The fewest resamples with which the level is reached exactly when scales and parts share it."""
    return round(len(dyadic_scales(n)) * parts / LEVEL) - 1


def _adaptive(how: CriticalValue) -> Test:
    return lambda y, p, rng: (
        calibrant.tcal_test(
            y,
            p,
            level=LEVEL,
            n_resamples=_scaled(y.size),
            random_state=rng,
            critical_value=how,
            correction="bonferroni",
        ).reject
    )


def _known_smoothness(y: FloatArray, p: FloatArray, rng: np.random.Generator) -> bool:
    return calibrant.tcal_test(y, p, level=LEVEL, smoothness=0.6, n_resamples=199, random_state=rng).reject


def _two_samples(how: TwoSampleTest, smoothness: float | None = None) -> Test:
    def test(y: FloatArray, p: FloatArray, rng: np.random.Generator) -> bool:
        # Two samples of 3 rows have 10 scales, as many as 50 rows together.
        resamples = max(_scaled(y.size, 6), _scaled(50, 6)) if smoothness is None else round(6 / LEVEL) - 1
        return calibrant.two_sample_calibration_test(
            y, p, test=how, smoothness=smoothness, level=LEVEL, n_resamples=resamples, random_state=rng
        ).reject

    return test


_MULTI_SCALE = "two samples, multi-scale permutation"
_TCAL: dict[str, Test] = {
    "adaptive T-Cal, labels redrawn": _adaptive("label_resampling"),
    "adaptive T-Cal, rows and labels redrawn": _adaptive("consistency_resampling"),
    "adaptive T-Cal, the theorem's critical value": _adaptive("theorem"),
    "T-Cal for smoothness 0.6, labels redrawn": _known_smoothness,
    "discrete_calibration_test": lambda y, p, _rng: calibrant.discrete_calibration_test(y, p, level=LEVEL).reject,
    "two samples, permutation, smoothness 0.6": _two_samples("permutation", 0.6),
    "two samples, chi-squared, smoothness 0.6": _two_samples("chi_squared", 0.6),
    _MULTI_SCALE: _two_samples("multiscale_permutation"),
}
TESTS = {**_TESTS, **_TCAL}
"""What `count` knows."""
_FEWER = {
    (_COMPARISON, 10_000): 1000,
    ("adaptive T-Cal, rows and labels redrawn", 10_000): 5000,
    ("two samples, permutation, smoothness 0.6", 10_000): 2500,
    ("two samples, chi-squared, smoothness 0.6", 10_000): 2500,
    (_MULTI_SCALE, 10_000): 250,
    (_COMPARISON, 200): 200,
    (_COMPARISON, 2000): 200,
    ("adaptive T-Cal, rows and labels redrawn", 2000): 200,
    ("two samples, permutation, smoothness 0.6", 2000): 200,
    ("two samples, chi-squared, smoothness 0.6", 2000): 200,
    (_MULTI_SCALE, 2000): 200,
}
"""Trials of the cells of which as many as of the others would take hours."""


def type_one_errors(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """False rejections of every test but T-Cal's family."""
    notes = (
        "19 resamples (a multiple of 20 less one, with which the level is reached exactly; the comparison 39). The "
        f"tolerant test is given predictions {_NEAR:g} too high, the most that it must accept. The comparison is "
        "given two predictors whose errors are equal and not 0. The canonical test has p, 0.7 (1 - p) and 0.3 (1 - "
        "p) for three classes."
    )
    return _measured("False rejections of calibrated predictions", _TESTS, notes, quick)


def type_one_errors_tcal(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """False rejections of T-Cal's family."""
    notes = "Resamples are the fewest with which the level can be reached. A dash: the test does not apply."
    return _measured("False rejections of calibrated predictions: T-Cal and its relatives", _TCAL, notes, quick)


def type_one_errors_in_corners(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """False rejections of every test where predictions are rare, certain or few."""
    plan = _Plan(_CORNERS, (20, 200, 2000), 1000, _MEANT_CORNERS)
    notes = "Resamples, and what the tests are given, as in the two larger tables. A dash: the test does not apply."
    return _measured("False rejections of calibrated predictions: rare, certain and few", TESTS, notes, quick, plan)


@dataclass(frozen=True)
class _Plan:
    """Predictions and what they are in words, numbers of rows, and trials per cell."""

    predictions: Mapping[str, Callable[[np.random.Generator, int], FloatArray]]
    sizes: tuple[int, ...]
    trials: int
    meant: str


_USUAL = _Plan(PREDICTIONS, (100, 1000, 10_000), 10_000, _MEANT)


def _measured(title: str, tests: Mapping[str, Test], notes: str, quick: bool, plan: _Plan = _USUAL) -> Reproduction:
    sizes, most = (plan.sizes[:1], _QUICK_TRIALS) if quick else (plan.sizes, plan.trials)
    cells = [(test, n, kind) for test in tests for n in sizes for kind in plan.predictions]
    chunks = [
        (*cell, first, min(first + _CHUNK, trials))
        for cell in cells
        for trials in [min(most, _FEWER.get(cell[:2], most))]
        for first in range(0, trials, _CHUNK)
    ]
    counted = {cell: np.zeros(2, dtype=np.int64) for cell in cells}
    for chunk, found in zip(chunks, on_all_processors(count, chunks), strict=True):
        counted[chunk[:3]] += found
    rows: list[list[object]] = []
    above, answered = [], 0
    for test in tests:
        for n in sizes:
            rows.append([test, f"{n:,}"])
            for kind in plan.predictions:
                rejected, trials = counted[test, n, kind].tolist()
                if not trials:
                    rows[-1].append("-")
                    continue
                said, low = _share(rejected, trials)
                above += [(test, n, kind)] if low > LEVEL else []
                answered += 1
                rows[-1].append(said)
    fewer = [
        f"Of {test}: {trials:,} at {n:,} rows." for (test, n), trials in _FEWER.items() if test in tests and n in sizes
    ]
    less = " ".join(["", "Some have fewer trials, for their cost.", *fewer]) if fewer else ""
    note = f"Nominal level {LEVEL}; {most:,} trials per cell; exact 99% intervals.{less} {plan.meant} {notes}\n\n"
    finding = f"{len(above)} of {answered} cells are significantly above the level"
    body = note + table(["test", "rows", *plan.predictions], rows)
    if above:
        again, still = _again(above, most)
        finding += f"; in {_MORE * most:,} other samples {still} of these"
        body += again
    return Reproduction(title, f"{finding}.", body)


def _share(rejected: int, trials: int) -> tuple[str, float]:
    """Rejections as a share with its interval, in words, and where the interval begins."""
    low, high = binomtest(rejected, trials).proportion_ci(0.99, "exact")
    return f"{rejected / trials:.4f} [{low:.4f}, {high:.4f}]", float(low)


def _again(above: list[tuple[str, int, str]], most: int) -> tuple[str, int]:
    """Cells above the level in samples of their own, which those that chance alone chose do not share."""
    rows, still = [], 0
    for test, n, kind in above:
        last = (1 + _MORE) * most
        chunks = [(test, n, kind, first, min(first + _CHUNK, last)) for first in range(most, last, _CHUNK)]
        said, low = _share(*np.sum(list(on_all_processors(count, chunks)), axis=0).tolist())
        rows.append([test, f"{n:,}", kind, said])
        still += low > LEVEL
    text = (
        "\nAll tests get the same samples, so that the cells of a column go together. Of cells exactly at the level "
        f"one in 200 is above it by chance. Those above it, in {_MORE * most:,} other samples:\n\n"
    )
    return text + table(["test", "rows", "predictions", "rejected"], rows), still


def count(test: str, n: int, kind: str, first: int, last: int) -> tuple[int, int]:
    """Rejections, and trials in which the test applied, of those from `first` to before `last`."""
    rejects = TESTS[test]
    rejected = done = 0
    for trial in range(first, last):
        rng = np.random.default_rng([n, trial])
        y_prob = {**PREDICTIONS, **_CORNERS}[kind](rng, n)
        y_true = (rng.random(n) < y_prob).astype(np.float64)
        try:
            rejected += rejects(y_true, y_prob, rng)
            done += 1
        except InputError as problem:
            if problem.argument != "y_prob":  # it is the predictions that a test does not apply to
                raise
    return rejected, done
