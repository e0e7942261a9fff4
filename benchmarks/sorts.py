"""Smooth error in sorts, its time over that of `np.sort` of the predictions, written into docs/benchmarks-sorts.md.

    python benchmarks/sorts.py           # 10^6 and 10^7 rows, and the table
    python benchmarks/sorts.py 1000000   # these many rows; prints only

Error and sort run in turns. On one processor their processor times are compared, on two the times by the clock, for
which nothing else may run. Both with the sort that NumPy takes on this machine and, where that is a plain one, with
its vector sort for AVX2 (`NPY_DISABLE_CPU_FEATURES`), which is several times as fast: the harder measure.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TABLE = Path(__file__).parent.parent / "docs" / "benchmarks-sorts.md"
REPEATS = 7
VECTORS = "X86_V4 AVX512_ICL"
"""What NumPy must not use so that it sorts by AVX2 on processors whose AVX-512 it avoids."""


def sample(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    p = rng.random(n)
    rate = p
    if kind == "overconfident":
        rate = 0.2 + 0.6 * p
    elif kind == "too low":
        p, rate = 0.9 * p, 0.9 * p + 0.1
    elif kind == "tied":
        p = rate = np.round(p, 3)
    elif kind == "atoms":
        p = np.where(rng.random(n) < 0.3, 0.0, np.where(rng.random(n) < 0.3, 1.0, p))
        rate = 0.02 + 0.96 * p
    elif kind == "rare":
        p = rate = 1e-4 * rng.exponential(size=n)
    elif kind == "alternating":
        return np.arange(n) % 2.0, (np.arange(n) + 0.5) / n
    return (rng.random(n) < rate) * 1.0, p


KINDS = ("calibrated", "overconfident", "tied", "atoms", "rare", "alternating", "too low")


def one(n: int) -> None:
    """Print the ratios of every kind as JSON, measured in this process."""
    from calibrant import smooth_calibration_error

    clock: Callable[[], float] = time.process_time if len(os.sched_getaffinity(0)) == 1 else time.perf_counter
    smooth_calibration_error(*sample("calibrated", 200_000))
    found = {}
    for kind in KINDS:
        y, p = sample(kind, n)
        ratios, sorts = [], []
        for _ in range(REPEATS):
            start = clock()
            np.sort(p)
            between = clock()
            smooth_calibration_error(y, p)
            sorts.append(between - start)
            ratios.append((clock() - between) / sorts[-1])
        found[kind] = min(ratios), statistics.median(ratios), min(sorts) / n * 1e9
    print(json.dumps(found))


def measured(n: int, processors: int, disabled: str) -> dict[str, tuple[float, float, float]]:
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(n)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled},
        preexec_fn=lambda: os.sched_setaffinity(0, range(processors)),
    )
    found: dict[str, tuple[float, float, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(sizes: list[int]) -> None:
    lines = [
        "| rows | NumPy's sort | kind | np.sort, ns per row | one processor: least, median | two: least, median |",
        "| ---: | --- | --- | ---: | ---: | ---: |",
    ]
    print("\n".join(lines))
    for n in sizes or [10**6, 10**7]:
        for name, disabled in (("as it comes", ""), ("AVX2", VECTORS)):
            alone, both = measured(n, 1, disabled), measured(n, 2, disabled)
            for kind in KINDS:
                (least, median, sort), (least_2, median_2, _) = alone[kind], both[kind]
                ratios = f"{least:.2f}, {median:.2f} | {least_2:.2f}, {median_2:.2f}"
                lines.append(f"| {n:,} | {name} | {kind} | {sort:.1f} | {ratios} |")
                print(lines[-1], flush=True)
    if not sizes:
        machine = (
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
        )
        head, mark, _ = TABLE.read_text().partition("<!-- table -->\n")
        TABLE.write_text(f"{head}{mark}\n{machine}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]))
    else:
        main([int(rows) for rows in sys.argv[1:]])
