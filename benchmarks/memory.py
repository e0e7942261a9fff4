"""Peak memory of every public function of rows at 10^6 rows, written into docs/benchmarks-memory.md.

    python benchmarks/memory.py               # every function, and the table
    python benchmarks/memory.py smooth lower  # those whose name holds a word; prints only

Each is called in a process of its own: once on 5,000 rows, so that imports and compiled code do not count, then on all.
The peak is the high-water mark of the process above what it held before the call, in arrays of the predictions' 8 MB.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from run import forget_peak, peak_megabytes

import calibrant
from calibrant import decisions, inference, measures, recalibration
from calibrant.recalibration.curves.base import curves

TABLE = Path(__file__).parent.parent / "docs" / "benchmarks-memory.md"
ROWS = 1_000_000
FEW = {"n_resamples": 99, "random_state": 0}
LONG = {"n_resamples": 19, "random_state": 0}
KERNEL = {"bandwidth": 1.0, "n_draws": 3, "random_state": 0}


def sample(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y_prob = rng.random(rows)
    return (rng.random(rows) < y_prob**1.1).astype(float), y_prob


def _frame(y_true: np.ndarray, y_prob: np.ndarray) -> Any:
    import pandas as pd

    rng = np.random.default_rng(1)
    day = pd.to_datetime("2026-01-01") + pd.to_timedelta(np.arange(y_true.size) * 10 // y_true.size, unit="D")
    return pd.DataFrame(
        {
            "y": y_true,
            "p": y_prob,
            "site": rng.integers(0, 8, y_true.size),
            "size": rng.normal(size=y_true.size),
            "day": day,
        }
    )


def _classes(y_prob: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A tenth of the rows with ten classes, so that the predictions take as much as those of one column."""
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(10), y_prob.size // 10)
    return (rng.random(table.shape[0])[:, None] > np.cumsum(table, 1)).sum(1).clip(0, 9), table


def _of_classes(call: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    def prepared(_y: np.ndarray, p: np.ndarray) -> Callable[[], Any]:
        labels, table = _classes(p)
        return lambda: call(labels, table)

    return prepared


def _of_frame(call: Callable[[Any], Any]) -> Callable[..., Callable[[], Any]]:
    def prepared(y: np.ndarray, p: np.ndarray) -> Callable[[], Any]:
        frame = _frame(y, p)
        return lambda: call(frame)

    return prepared


def _checked(make: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    def prepared(y: np.ndarray, p: np.ndarray) -> Callable[[], Any]:
        proof = make(y, p)
        return lambda: call(proof, y, p)

    return prepared


def _few_values(call: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    def prepared(y: np.ndarray, p: np.ndarray) -> Callable[[], Any]:
        rounded = np.round(p, 2)
        return lambda: call(y, rounded)

    return prepared


def _function(name: str) -> Callable[..., Any]:
    rooms = (calibrant, measures, inference, decisions, recalibration)
    found: Callable[..., Any] = next(getattr(room, name) for room in rooms if hasattr(room, name))
    return found


def _plain(name: str, **options: Any) -> tuple[str, Callable[..., Callable[[], Any]]]:
    return name, lambda y, p: lambda: _function(name)(y, p, **options)


def _weighted(name: str, **options: Any) -> tuple[str, Callable[..., Callable[[], Any]]]:
    def prepared(y: np.ndarray, p: np.ndarray) -> Callable[[], Any]:
        weight = np.random.default_rng(3).exponential(size=y.size)
        return lambda: _function(name)(y, p, sample_weight=weight, **options)

    return f"{name}, weights", prepared


def _of_rates(name: str, **options: Any) -> tuple[str, Callable[..., Callable[[], Any]]]:
    def prepared(_y: np.ndarray, p: np.ndarray) -> Callable[[], Any]:
        rate = np.clip(p + 0.01 * np.random.default_rng(3).normal(size=p.size), 0.0, 1.0)
        return lambda: _function(name)(rate, p, **options)

    return f"{name}, event rates", prepared


def _fits(name: str) -> tuple[str, Callable[..., Callable[[], Any]]]:
    return f"{name}.fit", lambda y, p: lambda: getattr(recalibration, name)().fit(p, y)


def _certificate(y: np.ndarray, p: np.ndarray) -> Any:
    return calibrant.lower_calibration_certificate(y, p, tol=1e-3)


CALLS: dict[str, Callable[..., Callable[[], Any]]] = dict(
    [
        # measures
        _plain("smooth_calibration_error"),
        _plain("smooth_calibration_witness"),
        _plain("lower_calibration_distance"),
        _plain("lower_calibration_certificate"),
        (
            "check_coupling",
            _checked(_certificate, lambda proof, y, p: measures.check_coupling(proof.coupling, y, p)),
        ),
        (
            "check_potentials",
            _checked(_certificate, lambda proof, y, p: measures.check_potentials(proof.potentials, y, p)),
        ),
        _plain("restricted_lower_distance", values=np.linspace(0, 1, 11)),
        _plain("calibration_distance", time_limit=10.0),
        _plain("upper_calibration_distance", time_limit=10.0),
        ("check_predictor", lambda y, p: lambda: measures.check_predictor(np.full(y.size, y.mean()), y, p)),
        _plain("interval_calibration_error"),
        _plain("interval_calibration_partition"),
        _plain("random_interval_calibration_error", width=0.1),
        _plain("surrogate_interval_calibration_error"),
        _plain("kernel_calibration_error"),
        ("squared_canonical_kernel_error", _of_classes(measures.squared_canonical_kernel_error)),
        _plain("convolved_calibration_error"),
        _plain("expected_calibration_error"),
        _plain("binned_calibration_error_bound"),
        _plain("calibration_bins"),
        _plain("squared_calibration_error", n_bins=15, strategy="quantile"),
        _plain("averaged_two_bin_calibration_error"),
        _plain("squared_averaged_two_bin_error"),
        _plain("cutoff_calibration_error"),
        _plain("monotone_decision_loss"),
        _plain("corp_decomposition"),
        # decisions
        _plain("decision_curve"),
        _plain("murphy_diagram"),
        _plain("clinical_calibration", **FEW),
        _plain("calibration_belt"),
        ("grade_test", _few_values(lambda y, p: inference.grade_test(y, np.round(0.9 * p, 1) + 0.05))),
        # tests, bounds and intervals
        _plain("calibration_test", **FEW),
        _plain("smooth_calibration_test", **FEW),
        _plain("kernel_calibration_test", **FEW),
        _plain("averaged_two_bin_test", **FEW),
        _plain("cumulative_calibration_test", **FEW),
        _plain("cox_test", **FEW),
        _plain("hosmer_lemeshow_test", **FEW),
        _plain("miller_test", **FEW),
        _plain("spiegelhalter_test", **FEW),
        ("discrete_calibration_test", _few_values(inference.discrete_calibration_test)),
        _plain("tcal_test", **FEW),
        _plain("debiased_plug_in", n_bins=100),
        _plain("two_sample_calibration_test", random_state=0),
        ("canonical_kernel_test", _of_classes(lambda y, p: inference.canonical_kernel_test(np.eye(10)[y], p, **LONG))),
        ("class_wise_test", _of_classes(inference.class_wise_test)),
        _plain("corp_regions", **FEW),
        _plain("population_bounds"),
        _plain("bootstrap_bounds", **FEW),
        _plain("regret_bounds"),
        _plain("calibration_gate", max_distance=0.05),
        (
            "compare_calibration",
            lambda y, p: lambda other=p**1.05: calibrant.compare_calibration(y, p, other, **FEW),
        ),
        (
            "compare_all",
            lambda y, p: lambda other=p**1.05: inference.compare_all(y, {"a": p, "b": other}, **FEW),
        ),
        (
            "squared_error_bootstrap",
            _few_values(lambda y, p: inference.squared_error_bootstrap(y, np.round(p, 1), **FEW)),
        ),
        # maps
        _fits("PlattScaling"),
        _fits("BetaScaling"),
        _fits("TemperatureScaling"),
        _fits("IsotonicScaling"),
        _fits("HistogramBinning"),
        _fits("ScalingBinning"),
        _fits("PolynomialScaling"),
        _fits("AveragedScaling"),
        _fits("NearestCalibrated"),
        _plain("choose_recalibrator"),
        _plain("compare_recalibrators"),
        _plain("certified_gain", random_state=0),
        ("censored_outcomes", lambda y, p: lambda: calibrant.censored_outcomes(p, y, horizon=0.5, least_followed=0.01)),
        # tables
        (
            "calibration_by_segment",
            _of_frame(lambda t: calibrant.calibration_by_segment(t, y_true="y", y_prob="p", by=["site"])),
        ),
        ("calibration_drift", _of_frame(lambda t: calibrant.calibration_drift(t, y_true="y", y_prob="p", by="day"))),
        (
            "find_segments",
            _of_frame(lambda t: calibrant.find_segments(t, y_true="y", y_prob="p", features=["site", "size"], **FEW)),
        ),
        ("audit_table", _of_frame(lambda t: calibrant.audit_table(t, y_true="y", y_prob="p"))),
        ("CalibrationSketch.update", lambda y, p: lambda: calibrant.CalibrationSketch().update(y, p)),
        # everything
        _plain("audit"),
        ("audit, ten classes", _of_classes(lambda y, p: calibrant.audit(y, p, random_state=0))),
    ]
)
for each in measures.measures().values():
    CALLS |= {} if each.name in CALLS else dict([_plain(each.name, **each.parameters)])
for test in inference.calibration_tests().values():
    CALLS |= {} if test.name in CALLS else dict([_plain(test.name, **(FEW if test.null == "redrawn" else {}))])
for each in curves().values():
    CALLS |= {} if f"{each.kind.estimator_name}.fit" in CALLS else dict([_fits(each.kind.estimator_name)])
for each in measures.measures().values():
    CALLS |= dict([make(each.name, **each.parameters) for make in (_weighted, _of_rates)])
FEWER = {"restricted_lower_distance": 10_000, "two_sample_calibration_test": 10_000}
"""Rows of those that a million would keep busy for hours."""

NOT_OF_ROWS = {
    "calibration_certificate": "writes numbers as text, of the rows that a checker reads",
    "calibration_tests": "lists tests",
    "calibration_scorer": "makes a scorer",
    "from_json": "reads a saved map",
    "load": "reads a saved map",
    "measures": "lists measures",
    "multiclass_sample": "checks the table of classes that the others take",
    "squared_error_interval": "takes an estimate",
    "squared_error_rows": "takes an estimate",
}
"""Public functions that no row of the table is about, and why."""


def one(name: str) -> None:
    """Call one function in this process and print what it took as JSON."""
    warnings.simplefilter("ignore")
    y_true, y_prob = sample(FEWER.get(name, ROWS))
    CALLS[name](y_true[:5000].copy(), y_prob[:5000].copy())()
    call = CALLS[name](y_true, y_prob)
    forget_peak()
    before, start = peak_megabytes(), time.process_time()
    call()
    print(json.dumps({"peak": peak_megabytes() - before, "seconds": time.process_time() - start}))


def row(name: str) -> str:
    """A line of the table, measured in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    rows = FEWER.get(name, ROWS)
    title = f"`{name}`" if rows == ROWS else f"`{name}`, {rows:,} rows"
    arrays = found["peak"] * 2**20 / (8 * rows)
    return f"| {title} | {arrays:.1f} | {found['peak']:.0f} | {found['seconds']:.2f} |"


def main(words: list[str]) -> None:
    lines = ["| function | arrays | megabytes | processor seconds |", "| --- | ---: | ---: | ---: |"]
    print("\n".join(lines))
    for name in CALLS:
        if words and not any(word in name for word in words):
            continue
        lines.append(row(name))
        print(lines[-1], flush=True)
    if not words:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"
        head, mark, _ = TABLE.read_text().partition("<!-- table -->\n")
        TABLE.write_text(f"{head}{mark}\n{machine}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main(sys.argv[1:])
