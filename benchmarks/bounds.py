"""Intervals for the population's error beside probcal's percentile bootstrap: coverage and mean width.

``python benchmarks/bounds.py`` prints a table; it needs probcal. Both intervals are for the expected calibration error,
0 where predictions are calibrated and 0.05 where every one is 0.05 too low, whatever the bins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from probcal.metrics import evaluate

import calibrant

_SAMPLES, _RESAMPLES = 100, 200
Draw = Callable[[np.random.Generator, int], np.ndarray]
_DESIGNS: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.0),
    "0.001 to 0.05": (lambda rng, n: rng.uniform(0.001, 0.05, n), 0.0),
    "beta(.05, .05)": (lambda rng, n: np.clip(rng.beta(0.05, 0.05, n), 1e-9, 1.0 - 1e-9), 0.0),
    "uniform, 0.05 too low": (lambda rng, n: rng.uniform(0.0, 0.95, n), 0.05),
}


def main() -> None:
    """Print the table."""
    print("| predictions | rows | here: covers | mean width | probcal: covers | mean width |")
    print("| --- | --- | --- | --- | --- | --- |")
    for design, (draw, shift) in _DESIGNS.items():
        for n in (200, 2000, 20_000):
            ours, theirs = [], []
            for seed in range(_SAMPLES):
                rng = np.random.default_rng([seed, n])
                v = draw(rng, n)
                y = (rng.random(n) < v + shift).astype(float)
                if 0.0 < y.mean() < 1.0:
                    ours.append(calibrant.population_bounds(y, v).intervals["expected_calibration_error"])
                    report = evaluate(y, v, n_boot=_RESAMPLES, metrics=("ece",), random_state=seed)
                    theirs.append((report.ci_low[0], report.ci_high[0]))
            covers = [[low - 1e-12 <= shift <= high + 1e-12 for low, high in found] for found in (ours, theirs)]
            widths = [[high - low for low, high in found] for found in (ours, theirs)]
            cells = [f"{np.mean(c):.2f} | {np.mean(w):.4f}" for c, w in zip(covers, widths, strict=True)]
            print(f"| {design} | {n:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
