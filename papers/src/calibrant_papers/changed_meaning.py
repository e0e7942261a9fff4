"""Predictions beside a reference period: how often is a change told where there is none, and where there is one?"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from calibrant.door.columns import FloatArray, IntArray
from calibrant.drift.periods import calibration_drift
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL, _PERIODS, _REFERENCE = 0.05, 6, 2
_CHANGE = 0.3
_DESIGNS = {
    "beta, more high ones each period": lambda p: p**1.6,
    "rounded to 0.01, the same": lambda p: p**1.6,
    "rare: below 0.01, three times as high since": lambda p: 8.0 * p,
    "two values within 0.001, other shares since": lambda p: 300.0 * p,
    "0, 0.1, 0.5, 0.9, 1, more of 0.9 since": lambda p: p**1.6,
    "0.1 and 0.101, 0.5 and 0.501, more of 0.101": lambda p: p**1.6,
    "saturated logits, twice as far since": lambda p: p**1.6,
}
_ROWS = (600, 6000, 60_000)


def changed_meaning(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Alarms beside a reference, with the meaning of predictions kept or changed, and of a plain z-test."""
    rows = _ROWS[:1] if quick else _ROWS
    cells = [
        (design, n, 4 if quick else 400 if n < _ROWS[-1] else 100)
        for design in list(_DESIGNS)[: 1 if quick else None]
        for n in rows
    ]
    found = on_all_processors(_alarms, cells)
    body = (
        f"{_PERIODS} periods of equal size, the first {_REFERENCE} the reference; level {_LEVEL:g} for all that come "
        "after together. The predictions are not calibrated, and come in another mix after the reference. *False*: "
        "share of samples with an alarm at any period, without a change. *z-test*: the same for a test of whether the "
        "mean of outcome - prediction differs between the reference and all rows since. It is tested once, at the end. "
        f"*Found*: share with an alarm where events are {_CHANGE:.0%} more frequent since. 400 samples per cell, 100 "
        f"of {_ROWS[-1]:,} rows.\n\n"
        + table(
            ["predictions", "rows", "false", "z-test, false", "found"],
            [
                [design, f"{n:,}", f"{false:.3f}", f"{naive:.2f}", f"{power:.2f}"]
                for (design, n, _), (false, naive, power) in zip(cells, found, strict=True)
            ],
        )
    )
    finding = (
        f"Without a change at most {max(each[0] for each in found):.3f} of samples raise an alarm at level {_LEVEL:g}, "
        f"however the mix of predictions changes. A z-test of mean errors: up to {max(each[1] for each in found):.2f}."
    )
    return Reproduction("Has the meaning of predictions changed since?", finding, body)


def _drawn(design: str, late: np.ndarray, day: FloatArray, rng: np.random.Generator) -> FloatArray:
    m = day.size
    since = late & (rng.random(m) < 0.5)
    if design.startswith(("beta", "rounded")):
        p = rng.beta(1.0 + day / 3.0, 2.0)
        return np.round(p, 2) if design.startswith("rounded") else p
    if design.startswith("rare"):
        return np.minimum(0.01, np.where(late, rng.beta(0.5, 150.0, m), rng.beta(1.0, 900.0, m)))
    if design.startswith("two"):
        return np.where(rng.random(m) < np.where(late, 0.8, 0.2), 4e-4, 9e-4)
    if design.startswith("saturated"):
        return 1.0 / (1.0 + np.exp(-rng.normal(0.0, np.where(late, 12.0, 6.0), m)))
    if design.startswith("0.1 and"):
        return np.where(since, 0.101, rng.choice([0.1, 0.101, 0.5, 0.501, 0.9], m))
    return np.where(since, 0.9, rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], m))


def _alarms(design: str, n: int, samples: int) -> list[float]:
    told = np.zeros(3)
    day = np.repeat(np.arange(_PERIODS), n // _PERIODS)
    late = day >= _REFERENCE
    for number in range(samples):
        rng = np.random.default_rng([n, number])
        p = _drawn(design, late, day.astype(np.float64), rng)
        rate, chance = _DESIGNS[design](p), rng.random(day.size)
        same = (chance < rate).astype(np.int64)
        changed = (chance < np.where(late, (1.0 + _CHANGE) * rate, rate)).astype(np.int64)
        error = same - p
        means = error[late].mean() - error[~late].mean()
        spread = math.sqrt(error[late].var() / late.sum() + error[~late].var() / (~late).sum())
        told += [_alarm(day, p, same), abs(means) > 1.959964 * spread, _alarm(day, p, changed)]
    return [float(each) for each in told / samples]


def _alarm(day: IntArray, p: FloatArray, y: IntArray) -> bool:
    rows = pa.table({"day": day, "p": p, "y": y})
    found = calibration_drift(rows, y_true="y", y_prob="p", by="day", reference=list(range(_REFERENCE)), level=_LEVEL)
    return any(period.since_reference.reject for period in found if period.since_reference is not None)
