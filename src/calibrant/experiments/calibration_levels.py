"""How often `calibration_test` rejects calibrated predictions, where that is hardest to get right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from calibrant.door.columns import FloatArray
from calibrant.door.rows import INDEPENDENT, Rows
from calibrant.experiments.processors import on_all_processors
from calibrant.experiments.registry import Reproduction, table
from calibrant.inference.calibration import calibration_test, test_units
from calibrant.inference.calibration_units import pooled_into_cells, units_of_rows

_LEVEL = 0.05
_DESIGNS: dict[str, tuple[int, Callable[[np.random.Generator, int], FloatArray]]] = {
    "uniform": (20, lambda rng, n: rng.random(n)),
    "uniform, more rows": (500, lambda rng, n: rng.random(n)),
    "all 0.001": (500, lambda _rng, n: np.full(n, 1e-3)),
    "rare, beta(.2, 50)": (2000, lambda rng, n: rng.beta(0.2, 50.0, n)),
    "beta(.05, .05)": (500, lambda rng, n: rng.beta(0.05, 0.05, n)),
    "two in five at 0 or 1": (500, lambda rng, n: np.where(rng.random(n) < 0.4, rng.random(n) < 0.5, rng.random(n))),
    "five values": (200, lambda rng, n: rng.choice([0.01, 0.1, 0.5, 0.9, 0.99], n)),
}
_ROWS = ("unweighted", "weights over 1,000 times", "trials from 1 to 10,000", "16,384 cells")


def levels(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of calibrated samples that are rejected."""
    trials = 5 if quick else 500
    cells = [(design, rows, trials) for design in _DESIGNS for rows in _ROWS]
    found = list(on_all_processors(_rejected, cells))
    over, listed = 0, []
    for (design, rows, _), (rejected, pooling) in zip(cells, found, strict=True):
        low, high = binomtest(rejected, trials).proportion_ci(0.99, "exact")
        over += low > _LEVEL
        said = f"{rejected / trials:.3f} [{low:.3f}, {high:.3f}]"
        listed.append([design, f"{_DESIGNS[design][0]:,}", rows, said, f"{pooling:.1g}" if pooling else "-"])
    body = (
        f"Nominal level {_LEVEL}; {trials:,} samples a row, each drawn from its own predictions, 99 resamples; exact 99% "
        "intervals. Where few outcomes are possible the level is not reached. Rows in cells are pooled although they "
        "are few: the last column is the largest bound on what that adds.\n\n"
        + table(["predictions", "rows", "drawn how", "rejected", "pooling adds at most"], listed)
    )
    finding = f"{over} of {len(cells)} cells are significantly above the level."
    return Reproduction("Calibrated predictions rejected by calibration_test", finding, body)


def _rejected(design: str, rows: str, trials: int) -> tuple[int, float]:
    n, draw = _DESIGNS[design]
    rejected, pooling = 0, 0.0
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        v = draw(rng, n).astype(np.float64)
        if rows == _ROWS[2]:
            count = np.floor(10.0 ** (4.0 * rng.random(n)))
            share = rng.binomial(count.astype(np.int64), v) / count
            rejected += calibration_test(share, v, trials=count, n_resamples=99, random_state=trial).reject
            continue
        y = (rng.random(n) < v).astype(np.float64)
        if rows == _ROWS[3]:
            units = pooled_into_cells(units_of_rows(Rows.of(y, v)))
            pooling = max(pooling, units.pooling)
            rejected += test_units(units, _LEVEL, 99, trial, INDEPENDENT).reject
            continue
        weight = 10.0 ** (3.0 * rng.random(n)) if rows == _ROWS[1] else None
        rejected += calibration_test(y, v, sample_weight=weight, n_resamples=99, random_state=trial).reject
    return rejected, pooling
