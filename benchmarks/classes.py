"""Many classes beside the peers: values against brute force, seconds of processor and memory above the input.

Run from the checkout: ``python benchmarks/classes.py --peers PYTHON [--write]``, where PYTHON is an interpreter that
has netcal, torchmetrics and uncertainty-calibration. Each figure is of a process of its own, after its imports and a
run on a few rows. ``--write`` writes docs/benchmarks-classes.md; ``--done FILE`` takes lines that this command printed
before from a file, and measures the others.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from run import forget_peak, peak_megabytes

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-classes.md"
SIZES = ((10_000, 10), (10_000, 100), (50_000, 1000))
BINS = 15
LIMIT = 300.0  # seconds
WARM = 300
LONG, LONG_CLASSES = ("vector", "Dirichlet"), 100  # fits that are not timed of more classes
Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def brute_ece(y: np.ndarray, p: np.ndarray) -> float:
    top, right = p.max(axis=1).astype(float), p.argmax(axis=1) == y
    edges, total = np.linspace(0.0, 1.0, BINS + 1), 0.0
    for low, high in pairwise(edges):
        held = (top > low) & (top <= high)
        total += abs((right[held] - top[held]).sum())
    return total / y.size


def brute_temperature(y: np.ndarray, p: np.ndarray) -> float:
    from scipy.optimize import minimize_scalar

    score = np.log(np.maximum(p.astype(float), 1e-12))
    at = np.arange(y.size)

    def loss(log_t: float) -> float:
        z = score / np.exp(log_t)
        z -= z.max(axis=1, keepdims=True)
        return float((np.log(np.exp(z).sum(axis=1)) - z[at, y]).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9}).x))


def our_ece(y: np.ndarray, p: np.ndarray) -> float:
    from calibrant import expected_calibration_error
    from calibrant.door import multiclass_sample

    top = multiclass_sample(y, p).top_label()
    return float(expected_calibration_error(top.y_true, top.y_prob, n_bins=BINS))


def our_temperature(y: np.ndarray, p: np.ndarray) -> float:
    from calibrant.recalibration import TemperatureScaling

    return float(TemperatureScaling().fit(p, y).temperature_)


def our_fit(name: str) -> Callable[[np.ndarray, np.ndarray], float]:
    def fit(y: np.ndarray, p: np.ndarray) -> float:
        from calibrant import recalibration

        found = getattr(recalibration, name)().fit(p, y)
        return float(-np.log(found.predict(p)[np.arange(y.size), y]).mean())

    return fit


def our_audit(y: np.ndarray, p: np.ndarray) -> float:
    import calibrant

    return float(calibrant.audit(y, p, random_state=0).smooth_calibration_error)


def our_audit_of_logits(y: np.ndarray, z: np.ndarray) -> float:
    import calibrant

    return float(calibrant.audit(y, z, from_logits=True, random_state=0).smooth_calibration_error)


def netcal_ece(y: np.ndarray, p: np.ndarray) -> float:
    from netcal.metrics import ECE

    return float(ECE(bins=BINS).measure(p, y))


def netcal_temperature(y: np.ndarray, p: np.ndarray) -> float:
    from netcal.scaling import TemperatureScaling

    found = TemperatureScaling()
    found.fit(p.astype(float), y)  # of single precision it returns 1
    return float(1.0 / np.ravel(found.temperature)[0])


def torchmetrics_ece(y: np.ndarray, p: np.ndarray) -> float:
    import torch
    from torchmetrics.classification import MulticlassCalibrationError

    metric = MulticlassCalibrationError(num_classes=p.shape[1], n_bins=BINS, norm="l1")
    return float(metric(torch.from_numpy(p), torch.from_numpy(y)))


def uncertainty_ece(y: np.ndarray, p: np.ndarray) -> float:
    import calibration

    return float(calibration.get_ece(p, y, num_bins=BINS))


def uncertainty_classes(y: np.ndarray, p: np.ndarray) -> float:
    import calibration

    return float(calibration.get_calibration_error(p, y, mode="marginal"))


def our_classes(y: np.ndarray, p: np.ndarray) -> float:
    from calibrant.inference import class_wise_test

    return float(class_wise_test(y, p).statistic)


TASKS: dict[str, dict[str, Callable[[np.ndarray, np.ndarray], float]]] = {
    "ECE of the top label, 15 bins": {
        "brute force": brute_ece,
        "calibrant": our_ece,
        "netcal": netcal_ece,
        "torchmetrics": torchmetrics_ece,
        "uncertainty-calibration": uncertainty_ece,
    },
    "temperature": {"brute force": brute_temperature, "calibrant": our_temperature, "netcal": netcal_temperature},
    "vector scaling: log loss": {"calibrant": our_fit("VectorScaling")},
    "Dirichlet (matrix) scaling: log loss": {"calibrant": our_fit("DirichletScaling")},
    "every class: error, or classes found": {
        "calibrant, classes found": our_classes,
        "uncertainty-calibration, error": uncertainty_classes,
    },
    "audit: smooth error": {"calibrant": our_audit, "calibrant, from logits": our_audit_of_logits},
}
OURS = ("brute force", "calibrant")


def data(n: int, k: int) -> Data:
    """Labels, overconfident probabilities and their logits, in single precision."""
    rng = np.random.default_rng(0)
    z = (2.0 * rng.normal(size=(n, k))).astype(np.float32)
    truth = np.exp(0.7 * z)
    ends = truth.cumsum(axis=1)
    y = (ends < rng.random((n, 1)) * ends[:, -1:]).sum(axis=1).clip(0, k - 1)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return y, p / p.sum(axis=1, keepdims=True), z


def child(task: str, who: str, folder: str) -> None:
    """Run one task in this process and print what it found, took and held."""
    import warnings

    warnings.simplefilter("ignore")
    run = TASKS[task][who]
    y = np.load(f"{folder}/y.npy")
    p = np.load(f"{folder}/{'z' if 'logits' in who else 'p'}.npy")
    # Few rows of few classes first: imports, and compiled code from its cache.
    few = data(WARM, 10)
    run(few[0], few[2] if "logits" in who else few[1])
    forget_peak()  # a process begins with the peak of the one that started it
    before = peak_megabytes()
    start = time.process_time()
    value = run(y, p)
    taken = time.process_time() - start
    held = peak_megabytes() - before
    print(json.dumps({"value": value, "seconds": taken, "mb": held, "input": p.nbytes / 2**20}))


def measured(python: str, task: str, who: str, folder: str) -> dict[str, Any] | str:
    command = [python, __file__, "--child", task, who, folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT:g} s by the clock"
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
        return f"fails: {last:.80}"
    return json.loads(done.stdout.strip().splitlines()[-1])


def rows_of(peers: str, n: int, k: int, done: list[str]) -> list[str]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, array in zip("ypz", data(n, k), strict=True):
            np.save(f"{folder}/{name}.npy", array)
        for task, each in TASKS.items():
            for who in each:
                head = f"| {n:,} x {k:,} | {task} | {who} |"
                before = [line for line in done if line.startswith(head)]
                if before or (task.startswith(LONG) and k > LONG_CLASSES):
                    found += before
                    continue
                python = sys.executable if who.startswith(OURS) else peers
                result = measured(python, task, who, folder)
                cells = (
                    f"{result} | | "
                    if isinstance(result, str)
                    else f"{result['value']:.6g} | {result['seconds']:.2f} | {result['mb']:,.0f}"
                )
                found.append(f"{head} {cells} |")
                print(found[-1], flush=True)
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--peers", default=sys.executable)
    asked.add_argument("--write", action="store_true")
    asked.add_argument("--note", default="", help="a sentence about the machine, for the page")
    asked.add_argument("--child", nargs=3)
    asked.add_argument("--done", type=Path)
    options = asked.parse_args()
    if options.child:
        child(*options.child)
        return
    done = options.done.read_text().splitlines() if options.done else []
    lines = [line for n, k in SIZES for line in rows_of(options.peers, n, k, done)]
    names = ("netcal", "torchmetrics", "uncertainty-calibration", "torch")
    code = f"from importlib.metadata import version; print(', '.join(n + ' ' + version(n) for n in {names!r}))"
    theirs = subprocess.run([options.peers, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    page = f"""# Many classes, beside other libraries

Written by benchmarks/classes.py: each line is a process of its own, after its imports and a run on a few rows. Seconds
are the processor's, of all threads together. Megabytes are the peak above the memory in use before, when the input was
there. The input is in single precision: 10,000 x 100 are 4 MB, 50,000 x 1,000 are 191 MB. A machine with {cores} cores
and {gigabytes:.0f} GiB, {platform.machine()}, Python {platform.python_version()}, numpy {version("numpy")}; {theirs}.
{options.note}

| rows x classes | what | who | value | seconds | MB |
|---|---|---|---:|---:|---:|
"""
    page += "\n".join(lines)
    page += """

A fit's value is its log loss on the rows that it was fitted to. Vector and Dirichlet scaling of 1,000 classes
were not timed. netcal's temperature of these single-precision
probabilities was 1, so it is given doubles. uncertainty-calibration's error of all classes is a root mean square over
bins, less its bias. Ours is how many classes are found to err, with false-discovery control. An audit has the top
label's measures, test, bounds and band, and every class with its distance and test. It also has pairs of classes,
tests of whole vectors and the comparison of recalibrations. Of 1,000 classes those are compared
on 2,000 rows drawn at random.
"""
    if options.write:
        PAGE.write_text(page)
    else:
        print(page)


if __name__ == "__main__":
    main()
