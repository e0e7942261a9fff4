"""Measured coverage of the difference between two predictors."""

from __future__ import annotations

import math
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

import calibrant
from calibrant.door.columns import FloatArray
from calibrant.measures.registry import measures
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.type_one import PREDICTIONS

_PAIRS = {
    "uniform": (
        ("calibrated", "coarse"),
        ("calibrated", "shifted"),
        ("shifted", "sharp"),
        ("shifted", "more"),
        ("coarse", "sharp"),
    ),
    "skewed": (("calibrated", "sharp"), ("shifted", "sharp")),
}
_MEASURES = ("smooth_calibration_error", "kernel_calibration_error", "expected_calibration_error")
"""One of each kind: a supremum, a quadratic form, bins."""
_GROUPS, _SIZE, _CORRELATION = 200, 10, 0.3
_GRID = 20_000
_RESAMPLES = 99


def comparison_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """How often the interval of `compare_calibration` holds the truth."""
    sizes, trials, grid, resamples = ((200,), 1, 2000, 39) if quick else ((200, 1000), 150, _GRID, _RESAMPLES)
    cells = [
        (measure, rates, *pair, n, trials, grid, resamples, False)
        for measure in _MEASURES
        for n in sizes
        for rates, pairs in _PAIRS.items()
        for pair in pairs
    ]
    single, many = len(cells), 40 * _SIZE if quick else _GROUPS * _SIZE
    cells += [
        (measure, "uniform", *pair, many, trials, grid, resamples, True)
        for measure in (_MEASURES[:1] if quick else _MEASURES)
        for pair in _PAIRS["uniform"]
    ]
    found = on_all_processors(_coverage, cells)
    rows = [
        [measure.replace("_", " "), rates, f"{first} - {second}", f"{n:,}", *numbers]
        for (measure, rates, first, second, n, *_), numbers in zip(cells[:single], found, strict=False)
    ]
    of_groups = [
        [measure.replace("_", " "), f"{first} - {second}", *numbers]
        for (measure, _, first, second, *_), numbers in zip(cells[single:], found[single:], strict=True)
    ]
    worst = min(numbers[1] for numbers in found)
    body = (
        f"Nominal 0.95; {trials:,} trials per row, {resamples} resamples. The rate is uniform or skewed (Beta(0.3, "
        "3)). Its predictors: itself (calibrated), its tenths (coarse, calibrated where the rate is uniform), "
        "shifted by 0.05 or 0.06 (more), sharpened.\n\n"
        + table(["measure", "rates", "difference", "rows", "truth", "covered", "mean width"], rows)
        + f"\n## Rows that depend on one another\n\n{many // _SIZE} groups of {_SIZE} rows, uniform rates; outcomes of a "
        f"group share a normal effect, with latent correlation {_CORRELATION:g}. Compared with `groups`; {trials:,} "
        "trials per row. The last column is the coverage without `groups`.\n\n"
        + table(["measure", "difference", "truth", "covered", "mean width", "covered as rows"], of_groups)
    )
    return Reproduction("Coverage of differences between predictors", f"The lowest coverage is {worst:.3f}.", body)


def _predictors(rate: FloatArray) -> dict[str, FloatArray]:
    return {
        "calibrated": rate,
        "coarse": (np.floor(10.0 * rate) + 0.5) / 10.0,
        "shifted": np.clip(rate + 0.05, 0.0, 1.0),
        "more": np.clip(rate + 0.06, 0.0, 1.0),
        "sharp": rate**1.5 / (rate**1.5 + (1.0 - rate) ** 1.5),
    }


@cache
def _population(rates: str, grid: int) -> FloatArray:
    """Rates on a grid, which are its outcomes too."""
    even = (np.arange(grid) + 0.5) / grid
    return even if rates == "uniform" else np.asarray(beta(0.3, 3.0).ppf(even))


@cache
def _truth(measure: str, rates: str, predictor: str, grid: int) -> float:
    rate, found = _population(rates, grid), measures()[measure]
    return found.function(rate, _predictors(rate)[predictor], **found.parameters)


def _coverage(
    measure: str, rates: str, first: str, second: str, n: int, trials: int, grid: int, resamples: int, grouped: bool
) -> list[float]:
    """Truth, share of intervals that hold it, and their mean width; of groups also the share if they are not said."""
    truth = _truth(measure, rates, first, grid) - _truth(measure, rates, second, grid)
    held, width, as_rows = 0, 0.0, 0
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        rate = PREDICTIONS[rates](rng, n)
        given: dict[str, Any] = {}
        if grouped:
            group = np.repeat(np.arange(n // _SIZE), _SIZE)
            shared = rng.standard_normal(n // _SIZE)[group]
            own = rng.standard_normal(n)
            latent = math.sqrt(_CORRELATION) * shared + math.sqrt(1.0 - _CORRELATION) * own
            y_true, given = (ndtr(latent) < rate).astype(np.float64), {"groups": group}
        else:
            y_true = (rng.random(n) < rate).astype(np.float64)
        every = _predictors(rate)
        compared = partial(calibrant.compare_calibration, y_true, every[first], every[second], measure=measure)
        low, high = compared(n_resamples=resamples, random_state=trial, **given).interval
        held += low - 1e-6 <= truth <= high + 1e-6  # the truth itself is known to a grid
        width += high - low
        if grouped:
            low, high = compared(n_resamples=resamples, random_state=trial).interval
            as_rows += low - 1e-6 <= truth <= high + 1e-6
    found = [round(truth, 6) + 0.0, held / trials, width / trials]
    return [*found, as_rows / trials] if grouped else found
