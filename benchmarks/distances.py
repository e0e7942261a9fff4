"""Cost of the distances against size, written into docs/benchmarks-distances.md and .svg.

    python benchmarks/distances.py

Lower distance: seconds to 1e-9 and to 1e-3 from 10^4 to 10^6 rows, thirty draws of each kind at 10^5. True distance:
seconds to the exact answer, or the bracket after the time limit, beside the plain n^4 program where that can still be
run. Median and worst of the draws.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

from calibrant import calibration_distance, lower_calibration_certificate

DOCS = Path(__file__).parent.parent / "docs"
KINDS = ("calibrated", "overconfident", "chance", "skewed")
MORE_KINDS = (*KINDS, "rates 1e-2", "rates 1e-3", "weights")  # of the lower distance alone
LIMIT = 60.0


def sample(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y_prob = rng.beta(0.3, 2.0, n) if kind == "skewed" else rng.random(n)
    rate = np.full(n, 0.5) if kind == "chance" else y_prob
    y_true = (rng.random(n) < rate).astype(float)
    if kind == "overconfident":
        y_prob = y_prob**2 / (y_prob**2 + (1 - y_prob) ** 2)
    return y_true, y_prob


def sample_of_any_kind(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Event rates are off by a normal error of that size; weights are whole numbers from 1 to 1000."""
    rng = np.random.default_rng(seed)
    if kind.startswith("rates"):
        y_prob = rng.random(n)
        return np.clip(y_prob + rng.normal(0.0, float(kind.split()[1]), n), 0.0, 1.0), y_prob, None
    if kind == "weights":
        return *sample("calibrated", n, seed), np.random.default_rng(seed + 1000).integers(1, 1001, n).astype(float)
    return *sample(kind, n, seed), None


@njit
def plain_program(zeros: np.ndarray, ones: np.ndarray) -> float:
    """The n^4 dynamic program, each part's cost from running sums."""
    n0, n1 = zeros.size, ones.size
    sum0 = np.append(0.0, np.cumsum(zeros))
    sum1 = np.append(0.0, np.cumsum(ones))
    best = np.full((n0 + 1, n1 + 1), np.inf)
    best[0, 0] = 0.0
    for i in range(n0 + 1):
        for j in range(n1 + 1):
            for i0 in range(i + 1):
                for j0 in range(j + 1):
                    if i0 + j0 < i + j:
                        mu = (j - j0) / (i - i0 + j - j0)
                        k = min(max(np.searchsorted(zeros, mu), i0), i)
                        m = min(max(np.searchsorted(ones, mu), j0), j)
                        cost = (2 * k - i0 - i) * mu - 2 * sum0[k] + sum0[i0] + sum0[i]
                        cost += (2 * m - j0 - j) * mu - 2 * sum1[m] + sum1[j0] + sum1[j]
                        best[i, j] = min(best[i, j], best[i0, j0] + cost)
    return best[n0, n1] / (n0 + n1)


def lower(n: int, kind: str, tol: float) -> list[float]:
    seconds = []
    draws = 30 if n == 100_000 and tol < 1e-3 else 5 if n <= 100_000 else 3
    for seed in range(draws):
        y_true, y_prob, weight = sample_of_any_kind(kind, n, seed)
        start = time.process_time()
        certificate = lower_calibration_certificate(y_true, y_prob, sample_weight=weight, tol=tol)
        seconds.append(time.process_time() - start if certificate.converged else float("inf"))
        print(f"lower {kind} {n} {tol:g} {seconds[-1]:.2f} s", file=sys.stderr)
    return seconds


def true(n: int, kind: str) -> list[tuple[float, float, float]]:
    found = []
    for seed in range(30 if n == 2_000 else 3):
        y_true, y_prob = sample(kind, n, seed)
        start = time.process_time()
        bracket = calibration_distance(y_true, y_prob, time_limit=LIMIT)
        found.append((time.process_time() - start, bracket.width, (bracket.upper - bracket.certificate.lower) * n))
        print(f"true {kind} {n} {found[-1]}", file=sys.stderr)
    return found


def main() -> None:
    calibration_distance(*sample("calibrated", 300, 0))
    lines = ["# Cost of the distances", "", "Written by `python benchmarks/distances.py`.", ""]
    lines += [
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}",
        "",
    ]
    lines += [
        "## Lower distance, processor seconds",
        "",
        "| rows | kind | to 1e-9: median | worst | to 1e-3: median |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    sizes = (10_000, 31_623, 100_000, 316_228, 1_000_000)
    curves: dict[str, list[float]] = {}
    for kind in MORE_KINDS:
        for n in sizes if kind in ("calibrated", "overconfident") else (100_000, 1_000_000):
            fine, coarse = lower(n, kind, 1e-9), lower(n, kind, 1e-3)
            curves.setdefault(kind, []).append(statistics.median(fine))
            times = f"{statistics.median(fine):.3f} | {max(fine):.3f} | {statistics.median(coarse):.3f}"
            lines.append(f"| {n:,} | {kind} | {times} |")
    lines += [
        "",
        "![cost against size](benchmarks-distances.svg)",
        "",
        "## True distance of distinct rows, exactly: processor seconds",
        "",
    ]
    lines += [
        "| rows | kind | median | worst | n (true - lower) of three | open after 60 s |",
        "| ---: | --- | ---: | ---: | ---: | --- |",
    ]
    for n in (100, 1_000, 2_000, 5_000, 10_000):
        for kind in KINDS:
            found = true(n, kind)
            seconds = [s for s, _, _ in found]
            left = [f"{width:.1g}" for _, width, _ in found if width > 1e-9]
            gaps = " ".join(f"{gap:.2f}" for _, _, gap in found[:3])
            times = f"{statistics.median(seconds):.2f} | {max(seconds):.2f}"
            lines.append(f"| {n:,} | {kind} | {times} | {gaps} | {', '.join(left) or 'none'} |")
    y_true, y_prob = sample("calibrated", 200, 0)
    sides = np.sort(y_prob[y_true == 0]), np.sort(y_prob[y_true == 1])
    plain_program(*(side[:5] for side in sides))
    start = time.process_time()
    value = plain_program(*sides)
    seconds = time.process_time() - start
    difference = abs(value - calibration_distance(y_true, y_prob).upper)
    lines += [
        "",
        f"The plain n^4 program, compiled as well: {seconds:.2f} s at 200 rows (a difference of {difference:.0e}); by "
        f"its fourth power {seconds * 1e4:,.0f} s at 2,000.",
    ]
    (DOCS / "benchmarks-distances.md").write_text("\n".join(lines) + "\n")
    draw(sizes, curves)


def draw(sizes: tuple[int, ...], curves: dict[str, list[float]]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "calibrant"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for kind, seconds in curves.items():
        if len(seconds) < len(sizes):
            continue
        axes.loglog(sizes, seconds, "o-", label=kind)
    axes.loglog(sizes, [curves["calibrated"][0] * n / sizes[0] for n in sizes], ":", color="grey", label="linear")
    axes.set(xlabel="rows", ylabel="seconds to 1e-9, median", title="Lower distance from calibration")
    axes.legend()
    figure.tight_layout()
    figure.savefig(DOCS / "benchmarks-distances.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
