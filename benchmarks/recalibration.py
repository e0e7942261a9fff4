"""Speed of recalibration: fits at a million rows against a sort, and the choice between all methods.

Run from the checkout: ``python benchmarks/recalibration.py``. Prints the median of five, in milliseconds and in sorts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from calibrant.recalibration import (
    BetaScaling,
    HistogramBinning,
    IsotonicScaling,
    NearestCalibrated,
    PlattScaling,
    PolynomialScaling,
    ScalingBinning,
    TemperatureScaling,
    choose_recalibrator,
)

ROWS = 1_000_000
CHOICE_ROWS = 100_000


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    run()  # compile
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def main() -> None:
    rng = np.random.default_rng(0)
    y_prob = rng.beta(4, 0.7, ROWS)
    y_true = (rng.random(ROWS) < y_prob**1.5).astype(float)
    sort, indirect = seconds(lambda: np.sort(y_prob)), seconds(lambda: np.argsort(y_prob))
    print(f"{ROWS:,} rows")
    print(f"{'numpy.sort':18} {1e3 * sort:8.1f} ms")
    print(f"{'numpy.argsort':18} {1e3 * indirect:8.1f} ms {indirect / sort:6.1f} sorts")
    for kind in (
        HistogramBinning,
        ScalingBinning,
        TemperatureScaling,
        PlattScaling,
        BetaScaling,
        PolynomialScaling,
        IsotonicScaling,
        NearestCalibrated,
    ):
        taken = seconds(lambda kind=kind: kind().fit(y_prob, y_true))
        print(f"{kind.__name__:18} {1e3 * taken:8.1f} ms {taken / sort:6.1f} sorts")
    taken = seconds(lambda: choose_recalibrator(y_true[:CHOICE_ROWS], y_prob[:CHOICE_ROWS]), 1)
    print(f"choose_recalibrator, {CHOICE_ROWS:,} rows: {taken:.2f} s")


if __name__ == "__main__":
    main()
