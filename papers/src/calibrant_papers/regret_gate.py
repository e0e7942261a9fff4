"""False verdicts of the gate on regret, of rows, weights, trials, groups and sketches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.inference.bounds.regret import regret_bounds, regret_bounds_from_sample
from calibrant.sketch.sketch import CalibrationSketch
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL = 0.05
_THRESHOLDS: tuple[float | None, ...] = (0.25, None)
_KINDS = ("rows", "weights", "trials", "groups", "sketch")
_POWERS = (1.0, 1.2, 2.0)  # of the prediction: the chance of the event


def regret_gate(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often either end of the population's regret is wrong, and how far apart they are."""
    samples, sizes = (3, (300,)) if quick else (150, (1000,))
    cells = [
        (kind, power, n, threshold, samples)
        for kind in _KINDS
        for power in _POWERS
        for threshold in _THRESHOLDS
        for n in sizes
    ]
    found = on_all_processors(_wrong, cells)
    rows = [
        [kind, power, "any" if threshold is None else threshold, f"{n:,}", _true(power, threshold), *each]
        for (kind, power, n, threshold, _), each in zip(cells, found, strict=True)
    ]
    body = (
        f"Level {_LEVEL}; {samples} samples per line. Predictions are uniform, and the probability of the event is a "
        'power of the prediction. With a limit just below the population\'s regret "within" is as frequent as a wrong '
        'upper end. With one just above it "beyond" is as frequent as a wrong lower end. Weights are 0.2 or 1, rows of '
        "trials have 1 to 8 of them, groups are pairs of equal rows, the sketch has 4,096 cells.\n\n"
        + table(
            ["draws", "power", "threshold", "rows", "regret", "false within", "false beyond", "mean low", "mean high"],
            rows,
        )
    )
    worst = max(max(each[:2]) for each in found)
    return Reproduction("False verdicts of the gate on regret", f"At most {worst:.4f} of samples, at level 0.05.", body)


def _regret(power: float, t: float) -> float:
    """Of uniform predictions v whose chance is v^power: what rows from t to the power's root of t lose."""
    best = float(t ** (1.0 / power))
    return float(t * (best - t) - (best ** (power + 1.0) - t ** (power + 1.0)) / (power + 1.0))


def _true(power: float, threshold: float | None) -> float:
    if threshold is not None:
        return _regret(power, threshold)
    return -float(minimize_scalar(lambda t: -_regret(power, t), bounds=(1e-6, 1.0), method="bounded").fun)


def _wrong(kind: str, power: float, n: int, threshold: float | None, samples: int) -> tuple[float, ...]:
    """Shares of samples in which each end is wrong, and the means of both."""
    truth = _true(power, threshold)
    ends = np.array([tuple(_ends(kind, power, n, threshold, seed)) for seed in range(samples)])
    low, high = ends.T
    wrong = float((high < truth - 1e-12).mean()), float((low > truth + 1e-12).mean())
    return (*wrong, float(low.mean()), float(high.mean()))


def _ends(kind: str, power: float, n: int, threshold: float | None, seed: int) -> Interval:
    rng = np.random.default_rng([n, seed])
    v: FloatArray = rng.random(n)
    options: dict[str, Any] = {}
    number = np.ones(n, np.int64)
    if kind == "weights":
        options = {"sample_weight": rng.choice([0.2, 1.0], n), "max_weight": 1.0}
    elif kind == "trials":
        number = rng.integers(1, 9, n)
        options = {"trials": number, "max_weight": 8.0}
    elif kind == "groups":
        v = np.repeat(v[: n // 2], 2)
        options = {"groups": np.arange(v.size) // 2, "max_weight": 2.0}
    y = rng.binomial(number[: v.size], v**power) / number[: v.size]
    if kind == "groups":
        y[1::2] = y[::2]
    if kind == "sketch":
        cells = CalibrationSketch(2048).update(y, v).sample
        return regret_bounds_from_sample(cells, _LEVEL, threshold).regret_interval
    return regret_bounds(y, v, threshold=threshold, level=_LEVEL, **options).regret_interval
