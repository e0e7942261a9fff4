"""Adaptive T-Cal with 3,000 resamples, beside a loop that draws and sorts again for every scale and resample.

Run from the checkout: ``python benchmarks/tcal.py``. The loop is the procedure as the paper's experiments run it:
consistency resampling, each scale by itself, each resample sorted into its bins. It is timed on a few resamples at each
scale and scaled up to 3,000, because the whole takes minutes.
"""

from __future__ import annotations

import os
import time

import numpy as np

from calibrant.inference.testing.tcal import dyadic_scales, tcal_test

N_RESAMPLES = 3000
TIMED = 5


def confidences(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A calibrated network's confidences: most near 1."""
    rng = np.random.default_rng(0)
    y_prob = rng.beta(4, 0.7, n)
    return rng.random(n) < y_prob, y_prob


def statistic(y_true: np.ndarray, y_prob: np.ndarray, m: int) -> float:
    """The debiased plug-in estimate, rows sorted into bins."""
    order = np.argsort(y_prob)
    z, residual = y_prob[order], (y_true - y_prob)[order]
    starts = np.flatnonzero(np.diff(np.floor(z * m), prepend=-1.0))
    count = np.diff(starts, append=z.size)
    total = np.add.reduceat(residual, starts)
    square = np.add.reduceat(residual**2, starts)
    return float(((total**2 - square) / count).sum()) / z.size


def loop(y_prob: np.ndarray, n_resamples: int) -> float:
    """Seconds for so many resamples at every scale."""
    rng = np.random.default_rng(1)
    started = time.perf_counter()
    for m in dyadic_scales(y_prob.size):
        for _ in range(n_resamples):
            z = rng.choice(y_prob, y_prob.size)
            statistic(rng.random(z.size) < z, z, m)
    return time.perf_counter() - started


def main() -> None:
    tcal_test(*confidences(1000), random_state=0, critical_value="consistency_resampling")  # compiled before timing
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"adaptive T-Cal, {N_RESAMPLES:,} resamples, {cores} cores; best of 5; seconds")
    print(
        "| rows | scales | labels redrawn | rows redrawn too | sorting loop, scaled up | ratio, labels | ratio, rows |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n in (10_000, 50_000):
        y_true, y_prob = confidences(n)
        best = {}
        for how in ("label_resampling", "consistency_resampling"):
            times = []
            for _ in range(5):
                started = time.perf_counter()
                tcal_test(y_true, y_prob, n_resamples=N_RESAMPLES, random_state=0, critical_value=how)
                times.append(time.perf_counter() - started)
            best[how] = min(times)
        slow = loop(y_prob, TIMED) * N_RESAMPLES / TIMED
        labels, rows = best["label_resampling"], best["consistency_resampling"]
        print(
            f"| {n:,} | {len(dyadic_scales(n))} | {labels:.2f} | {rows:.2f} | {slow:.0f} "
            f"| {slow / labels:,.0f} | {slow / rows:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
