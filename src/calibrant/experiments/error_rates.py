"""Measured error rates: false rejections of every test, power against three departures, coverage of every interval."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binomtest

import calibrant
from calibrant import synthetic
from calibrant.experiments.registry import Reproduction, table
from calibrant.inference.verified_bounds import squared_error_bootstrap, squared_error_interval
from calibrant.inputs import FloatArray
from calibrant.measures.registry import measures
from calibrant.report.reliability import reliability
from calibrant.sample import Sample

_LEVEL = 0.05
_PREDICTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.3, 3.0, n),
    "discrete": lambda rng, n: rng.choice([0.1, 0.4, 0.7], n),
    "tied": lambda rng, n: np.round(rng.random(n), 2),
}
_TESTS: dict[str, dict[str, Any]] = {
    "smooth_calibration_test": {},
    "kernel_calibration_test": {},
    "cox_test": {},
    "hosmer_lemeshow_test": {},
    "miller_test": {},
    "spiegelhalter_test": {},
    "cumulative_calibration_test": {},
    "cumulative_calibration_test, Kolmogorov-Smirnov": {"form": "kolmogorov-smirnov"},
}
_MONITOR = "CalibrationMonitor, 20 looks"
_LOOKS = 20


def type_one_errors(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """False rejections of the tests that redraw outcomes, and of the monitor."""
    sizes, trials = ((100,), 100) if quick else ((100, 1000, 10_000), 10_000)
    cells = [(test, n, kind, trials) for test in (*_TESTS, _MONITOR) for n in sizes for kind in _PREDICTIONS]
    rows: list[list[object]] = []
    over = 0
    for (test, n, kind, _), rejected in zip(cells, _on_all_processors(_false_rejections, cells), strict=True):
        low, high = binomtest(rejected, trials).proportion_ci(0.99, "exact")
        over += low > _LEVEL
        if kind == "uniform":
            rows.append([test, f"{n:,}"])
        rows[-1].append(f"{rejected / trials:.4f} [{low:.4f}, {high:.4f}]")
    note = (
        f"Nominal level {_LEVEL}, 19 resamples (a multiple of 20 less one, with which the level is reached exactly), "
        f"{trials:,} trials a cell; calibrated predictions; exact 99% intervals. Skewed predictions are Beta(0.3, 3), "
        "discrete ones take three values, tied ones are rounded to hundredths.\n\n"
    )
    finding = f"{over} of {len(cells)} cells are significantly above the level."
    return Reproduction(
        "False rejections of calibrated predictions", finding, note + table(["test", "rows", *_PREDICTIONS], rows)
    )


def _false_rejections(name: str, n: int, kind: str, trials: int) -> int:
    rejected = 0
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        y_prob = _PREDICTIONS[kind](rng, n)
        y_true = (rng.random(n) < y_prob).astype(np.float64)
        if name == _MONITOR:
            monitor = calibrant.CalibrationMonitor(_LEVEL)
            for rows in np.array_split(np.arange(n), _LOOKS):
                monitor.update(y_true[rows], y_prob[rows])
            rejected += monitor.reading().reject
        else:
            rejected += _run(name, y_true, y_prob, 19, trial)
    return rejected


def _run(name: str, y_true: FloatArray, y_prob: FloatArray, n_resamples: int, seed: int) -> bool:
    test = getattr(calibrant, name.partition(",")[0])
    result = test(y_true, y_prob, level=_LEVEL, n_resamples=n_resamples, random_state=seed, **_TESTS.get(name, {}))
    return bool(result.reject)


_DEPARTURES: dict[str, tuple[str, tuple[float, ...], Callable[[int, float, int], tuple[FloatArray, FloatArray]]]] = {
    "temperature": (
        "temperature of the predictor (1: calibrated)",
        (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6),
        synthetic.temperature_family,
    ),
    "oscillation": (
        "height rho of 10 bumps (equation 10)",
        (0.0, 10.0, 20.0, 30.0, 40.0, 50.0),
        lambda n, rho, seed: synthetic.oscillating(n, 10, 0.6, rho, seed),
    ),
    "hidden bias": (
        "bias of each of 30 predictions, in a random direction",
        (0.0, 0.03, 0.06, 0.09, 0.12, 0.15),
        lambda n, bias, seed: synthetic.hidden_bias(n, 30, bias, seed),
    ),
}
_RIVALS = ("tcal_test", *(name for name in _TESTS if "Kolmogorov" not in name))


def power(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often each test rejects, against departures of three kinds."""
    n, trials = (300, 10) if quick else (2000, 400)
    cells = [
        (name, departure, n, strength, trials)
        for departure, (_, strengths, _) in _DEPARTURES.items()
        for name in _RIVALS
        for strength in strengths
    ]
    rejected = dict(zip(cells, _on_all_processors(_rejections, cells), strict=True))
    figure = Figure(figsize=(7, 9), layout="constrained")
    axes, parts, best = figure.subplots(len(_DEPARTURES), 1), [], []
    for ax, (departure, (label, strengths, _)) in zip(axes, _DEPARTURES.items(), strict=True):
        rows: list[list[object]] = []
        for k, name in enumerate(_RIVALS):
            rates = [rejected[name, departure, n, strength, trials] / trials for strength in strengths]
            ax.plot(strengths, rates, marker="ovs^D<>*"[k], ms=4, lw=1.2, label=name.replace("_", " "))
            rows.append([name, *rates])
        ax.set(xlabel=label, ylabel=f"rejected of {trials}", ylim=(-0.02, 1.02))
        ax.axhline(_LEVEL, color="0.6", lw=0.8, ls=":")
        parts.append(f"## {departure.capitalize()}: {label}\n\n" + table(["test", *map(str, strengths)], rows))
        mean = {str(row[0]): float(np.mean([float(str(x)) for x in row[1:]])) for row in rows}
        best.append(f"against {departure} {max(mean, key=lambda name: mean[name])}")
    axes[0].legend(fontsize=7, ncols=2)
    note = f"Share of {trials} samples of {n:,} rows rejected at level {_LEVEL}; 99 resamples, T-Cal 1,999.\n\n"
    finding = f"Most often rejects {', '.join(best)}; no test is best against all."
    return Reproduction("Power of the tests", finding, note + "\n".join(parts), figure)


def _rejections(name: str, departure: str, n: int, strength: float, trials: int) -> int:
    draw = _DEPARTURES[departure][2]
    resamples = 1999 if name == "tcal_test" else 99  # T-Cal splits the level between scales
    return sum(_run(name, *draw(n, strength, trial), resamples, trial) for trial in range(trials))


_COVERED = ("population: smooth", "population: distance", "bootstrap: smooth", "bootstrap: distance")
_PAIRS = (
    ("calibrated", "coarse"),
    ("calibrated", "shifted"),
    ("shifted", "sharp"),
    ("shifted", "more"),
    ("coarse", "sharp"),
)
_COMPARED = (
    "smooth_calibration_error",
    "kernel_calibration_error",
    "expected_calibration_error",
    "lower_calibration_distance",
)


def interval_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often every interval and band holds, for calibrated predictors too."""
    sizes, trials, few = ((200,), 8, 8) if quick else ((200, 2000, 20_000), 1000, 200)
    shifts = (0.0, 0.02, 0.1)
    cells = [(n, shift, trials if n < 10_000 else few) for n in sizes for shift in shifts]
    bounds = [
        [f"{n:,}", shift, *(row for row in found)]
        for (n, shift, _), found in zip(cells, _on_all_processors(_bounds_coverage, cells), strict=True)
    ]
    others = [(n, few) for n in sizes]
    bands = [
        [f"{n:,}", *found] for (n, _), found in zip(others, _on_all_processors(_band_coverage, others), strict=True)
    ]
    smaller = sizes[:2]
    compared = [(measure, *pair, n, few) for measure in _COMPARED for n in smaller for pair in _PAIRS]
    pairs = [
        [measure.replace("_", " "), f"{first} - {second}", f"{n:,}", *found]
        for (measure, first, second, n, _), found in zip(
            compared, _on_all_processors(_comparison_coverage, compared), strict=True
        )
    ]
    worst = min(*(float(str(x)) for row in bounds for x in row[2:6]), *(float(str(row[4])) for row in pairs))
    body = (
        f"Nominal 0.95. {trials:,} trials a row for bounds up to 2,000 rows, {few:,} else.\n\n## Bounds for the population\n\n"
        "Shifted uniform predictors, whose smooth error and lower distance are the shift. Both ends, together.\n\n"
        + table(["rows", "truth", *_COVERED, "mean width: population", "bootstrap"], bounds)
        + "\n## Band and squared error, calibrated predictors\n\n"
        "The band: share of the plotted points where a calibrated curve stays inside, on average over samples; nominal "
        "pointwise. Regions of the isotonic curve: consistency at each point, confidence at all points at once. Squared error of a binned calibrated predictor (truth 0): the theorem's interval where it applies, and the "
        "bootstrap's.\n\n"
        + table(
            [
                "rows",
                "band, uniform",
                "band, skewed",
                "isotonic: consistency",
                "isotonic: confidence",
                "squared: theorem",
                "squared: bootstrap",
            ],
            bands,
        )
        + "\n## Differences between two predictors\n\n"
        "Predictors of one uniform rate: itself (calibrated), its tenths (coarse, calibrated), shifted by 0.05 or 0.06 "
        "(more), sharpened. 199 resamples.\n\n"
        + table(["measure", "difference", "rows", "truth", "covered", "mean width"], pairs)
    )
    return Reproduction(
        "Coverage of every interval", f"The lowest coverage of bounds and comparisons is {worst:.3f}.", body
    )


def _bounds_coverage(n: int, shift: float, trials: int) -> list[float]:
    held, widths = np.zeros(4), np.zeros(2)
    for trial in range(trials):
        rows = synthetic.shifted_uniform(n, shift, int(1e6 * n + trial))
        sure = calibrant.population_bounds(*rows)
        near = calibrant.bootstrap_bounds(*rows, n_resamples=199, random_state=trial)
        intervals = (sure.smooth_error, sure.lower_distance, near.smooth_error, near.lower_distance)
        held += [low <= shift <= high for low, high in intervals]
        widths += [intervals[1][1] - intervals[1][0], intervals[3][1] - intervals[3][0]]
    return [*(held / trials).tolist(), *(widths / trials).tolist()]


def _band_coverage(n: int, trials: int) -> list[object]:
    inside: dict[str, list[float]] = {"uniform": [], "skewed": []}
    held, applied, resampled, isotonic = 0, 0, 0, 0
    consistent: list[float] = []
    values = np.linspace(0.05, 0.95, 10)
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        for kind, found in inside.items():
            y_prob = _PREDICTIONS[kind](rng, n)
            sample = Sample.from_columns((rng.random(n) < y_prob).astype(np.float64), y_prob)
            bandwidth = measures()["convolved_calibration_error"].on_sample(sample, bandwidth=None)
            outside = reliability(sample, bandwidth, _LEVEL, 199, rng).outside
            found.append(1.0 - (outside or 0.0))
        y_prob = rng.choice(values, n)
        y_true = (rng.random(n) < y_prob).astype(np.float64)
        smooth = rng.random(n)
        regions = calibrant.corp_regions(
            (rng.random(n) < smooth).astype(np.float64), smooth, n_resamples=199, random_state=trial
        )
        truth, curve = regions.prediction, regions.recalibrated
        isotonic += bool(((regions.confidence_lower <= truth) & (truth <= regions.confidence_upper)).all())
        consistent.append(float(((regions.consistency_lower <= curve) & (curve <= regions.consistency_upper)).mean()))
        estimate = calibrant.squared_calibration_error(y_true, y_prob)
        try:
            found_interval = squared_error_interval(estimate, n, values.size)
        except calibrant.InputError:
            pass
        else:
            applied += 1
            held += found_interval.lower <= 0.0 <= found_interval.upper
        again = squared_error_bootstrap(y_true, y_prob, n_resamples=199, random_state=trial)
        resampled += again.lower <= 0.0 <= again.upper
    share = f"{held / applied:.3f}" if applied else "does not apply"
    times = trials
    means = [float(np.mean(found)) for found in (*inside.values(), consistent)]
    return [*means, isotonic / times, share, resampled / times]


def _predictors(rate: FloatArray) -> dict[str, FloatArray]:
    return {
        "calibrated": rate,
        "coarse": (np.floor(10.0 * rate) + 0.5) / 10.0,
        "shifted": np.clip(rate + 0.05, 0.0, 1.0),
        "more": np.clip(rate + 0.06, 0.0, 1.0),
        "sharp": rate**1.5 / (rate**1.5 + (1.0 - rate) ** 1.5),
    }


def _comparison_coverage(measure: str, first: str, second: str, n: int, trials: int) -> list[float]:
    fine = (np.arange(100_000) + 0.5) / 100_000
    function, every = getattr(calibrant, measure), _predictors(fine)
    options = {"tol": 1e-5} if measure == "lower_calibration_distance" else {}
    truth = function(fine, every[first], **options) - function(fine, every[second], **options)
    held, width = 0, 0.0
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        rate = rng.random(n)
        y_true, every = (rng.random(n) < rate).astype(np.float64), _predictors(rate)
        low, high = calibrant.compare_calibration(
            y_true, every[first], every[second], measure=measure, n_resamples=199, random_state=trial
        ).interval
        held += low - 1e-6 <= truth <= high + 1e-6  # the truth itself is known to a grid
        width += high - low
    return [round(truth, 6) + 0.0, held / trials, width / trials]


def _on_all_processors(function: Callable[..., Any], cells: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Results in the order of the cells; every cell seeds itself, and every worker keeps to one processor."""
    context = multiprocessing.get_context("spawn")
    free = context.Queue()
    for processor in range(cpu_count() or 1):
        free.put(processor)
    with ProcessPoolExecutor(cpu_count(), mp_context=context, initializer=_keep_to_one, initargs=(free,)) as pool:
        return [job.result() for job in [pool.submit(function, *cell) for cell in cells]]


def _keep_to_one(free: Any) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[free.get() % len(os.sched_getaffinity(0))]})
