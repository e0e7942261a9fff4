"""Measured error rates: how often each test rejects calibrated predictions, and how often each bound fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from calibrant import synthetic
from calibrant.experiments.registry import Reproduction, table
from calibrant.inference.bounds import population_bounds
from calibrant.inference.distance_tests import kernel_calibration_test, smooth_calibration_test
from calibrant.inputs import FloatArray

_LEVEL = 0.05
_RESAMPLES = 99  # a multiple of 20 less one: the level is reached exactly
_PREDICTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.3, 3.0, n),
    "discrete": lambda rng, n: rng.choice([0.1, 0.4, 0.7], n),
    "tied": lambda rng, n: np.round(rng.random(n), 2),
}
_TESTS = {"smooth calibration test": smooth_calibration_test, "kernel calibration test": kernel_calibration_test}


def type_one_errors(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """False rejections of the tests on distances."""
    trials = {100: 100} if quick else {100: 4000, 1000: 2000}
    rows: list[list[object]] = []
    over = 0
    for name, test in _TESTS.items():
        for n, times in trials.items():
            for kind, predictions in _PREDICTIONS.items():
                rejected = 0
                for trial in range(times):
                    rng = np.random.default_rng([n, trial])
                    y_prob = predictions(rng, n)
                    y_true = (rng.random(n) < y_prob).astype(np.float64)
                    rejected += test(y_true, y_prob, n_resamples=_RESAMPLES, random_state=trial).reject
                low, high = binomtest(rejected, times).proportion_ci(0.99, "wilson")
                over += low > _LEVEL
                rows.append([name, n, kind, times, rejected / times, f"{low:.4f} to {high:.4f}"])
    note = f"Nominal level {_LEVEL}, {_RESAMPLES} resamples, calibrated predictions; 99% Wilson intervals.\n\n"
    finding = f"{over} of {len(rows)} cells are significantly above the level."
    head = ["test", "rows", "predictions", "trials", "false rejections", "interval"]
    return Reproduction("False rejections: tests on distances", finding, note + table(head, rows))


def interval_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often the bounds for the population hold, for calibrated predictors too."""
    sizes, times = ((200,), 20) if quick else ((200, 2000, 20_000), 400)
    rows: list[list[object]] = []
    failed = 0
    for n in sizes:
        for shift in (0.0, 0.05, 0.3):
            held = np.zeros(4, np.int64)
            widths = []
            for trial in range(times):
                bounds = population_bounds(*synthetic.shifted_uniform(n, shift, [n, trial]))
                held += [
                    bounds.smooth_error[0] <= shift,
                    shift <= bounds.smooth_error[1],
                    bounds.lower_distance[0] <= shift,
                    shift <= bounds.lower_distance[1],
                ]
                widths.append(bounds.lower_distance[1] - bounds.lower_distance[0])
            failed += int((times - held).sum())
            rows.append([n, shift, times, *(held / times).tolist(), float(np.mean(widths))])
    note = (
        "Shifted uniform predictors, whose smooth error and lower distance are the shift; level 0.05 for all four bounds "
        "together. Bounds that hold at any size are wide: they are seldom, if ever, seen to miss.\n\n"
    )
    total = 4 * times * len(rows)
    finding = f"The bounds held {total - failed:,} times out of {total:,}."
    head = ["rows", "truth", "trials", "smooth: below", "above", "distance: below", "above", "mean width"]
    return Reproduction("Coverage of the bounds for the population", finding, note + table(head, rows))
