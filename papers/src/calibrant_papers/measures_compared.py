"""What each measure is like to use: value of calibrated samples, continuity, and cost, measured side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.measures.registry import measures
from calibrant.synthetic import shifted_uniform
from calibrant_papers.registry import Reproduction, table

Value = Callable[[FloatArray, FloatArray], float]
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "kernel_calibration_error, Gaussian": ("kernel_calibration_error", {"kernel": "gaussian"}),
    "expected_calibration_error, equal mass": ("expected_calibration_error", {"strategy": "quantile"}),
    "expected_calibration_error, exact level sets": ("expected_calibration_error", {"strategy": "exact"}),
}
_SIZES = (100, 1000, 10_000, 100_000)
_TINY = 1e-9


def measures_compared(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """A row a measure."""
    sizes, draws, large = (_SIZES[:2], 2, 2000) if quick else (_SIZES, 20, 1_000_000)
    rows: list[list[object]] = []
    for name, value in _values().items():
        means = [np.mean([value(*shifted_uniform(n, 0.0, k)) for k in range(draws)]) for n in sizes]
        slope = np.polyfit(np.log(sizes), np.log(means), 1)[0]
        rows.append(
            [
                name,
                *(float(mean) for mean in means),
                f"{slope:.2f}",
                _largest_jump(value),
                value(*_alternating(1000)),
                _seconds(value, *shifted_uniform(large, 0.0, 0)),
            ]
        )
    head = ["measure", *(f"{n:,} calibrated rows" for n in sizes), "power of n", "jump", "near", f"s at {large:,} rows"]
    note = (
        f"Means over {draws} samples of calibrated uniform predictions: all tend to 0 with more rows, except the "
        "bound, which keeps its bins' width. Power of n: slope of their logarithms. Jump: largest change of the value "
        f"when each of 1,000 predictions on tenths moves by {_TINY:g}, over 20 random moves. Near: value of 1,000 "
        f"predictions 1/2 - {_TINY:g} where it happens and 1/2 + {_TINY:g} where it does not, which are {_TINY:g} from "
        "calibrated. Seconds: one call, calibrated rows, compiled before.\n\n"
    )
    worst = max(rows, key=lambda row: float(str(row[-3])))
    finding = f"The largest jump is that of {worst[0]}; at 100 calibrated rows values range from " + (
        f"{min(float(str(row[1])) for row in rows):.3f} to {max(float(str(row[1])) for row in rows):.3f}."
    )
    return Reproduction("The measures side by side", finding, note + table(head, rows))


def _values() -> dict[str, Value]:
    found = measures()
    named = {**{name: (name, measure.parameters) for name, measure in found.items()}, **_VARIANTS}
    return {label: partial(found[name].function, **options) for label, (name, options) in named.items()}


def _largest_jump(value: Value) -> float:
    rng = np.random.default_rng(0)
    y_prob = rng.integers(1, 10, 1000) / 10
    y_true = (rng.random(1000) < y_prob**1.3).astype(np.float64)
    before = value(y_true, y_prob)
    return max(abs(value(y_true, y_prob + rng.choice([-_TINY, _TINY], 1000)) - before) for _ in range(20))


def _alternating(n: int) -> tuple[FloatArray, FloatArray]:
    y_true = np.arange(n, dtype=np.float64) % 2.0
    return y_true, np.asarray(0.5 - _TINY * (2.0 * y_true - 1.0))


def _seconds(value: Value, y_true: FloatArray, y_prob: FloatArray) -> float:
    value(y_true[:1000], y_prob[:1000])
    start = time.perf_counter()
    value(y_true, y_prob)
    return time.perf_counter() - start
