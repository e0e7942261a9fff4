"""Coverage of resampled intervals just above the fewest surprises that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.inference.bounds.population import bootstrap_bounds
from calibrant.inference.bounds.squared_error import squared_error_bootstrap
from calibrant.resampling.redraw import LEAST_SURPRISES
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_FIVE = np.array([0.1, 0.5, 1.0, 1.5, 1.9])
_RARE: dict[str, Callable[[np.random.Generator, int, float], FloatArray]] = {
    "rare, uniform": lambda rng, n, mean: 2.0 * mean * rng.random(n),
    "rare, beta": lambda rng, n, mean: rng.beta(0.2, 0.2 / mean - 0.2, n),
    "rare, five values": lambda rng, n, mean: mean * rng.choice(_FIVE, n),
    "nearly certain, beta": lambda rng, n, mean: 1.0 - rng.beta(0.2, 0.2 / mean - 0.2, n),
    "one value": lambda _rng, n, mean: np.full(n, mean),
    "atoms at 0 and 1": lambda rng, n, mean: np.where(rng.random(n) < 6.0 * mean, rng.random(n), rng.random(n) < 0.5),
}
"""Predictions that expect about n * mean surprises."""
_FACTORS = (
    1.0,
    0.5,
    1.9,
)  # of the predictions: the true rates; the smooth error and the distance are |factor - 1| mean
_RATES: dict[str, tuple[FloatArray, FloatArray]] = {
    "one value": (np.array([0.5]), np.array([1.0])),
    "five values": (np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])),
    "twenty values": (np.linspace(0.025, 0.975, 20), np.tile([1.0, -1.0], 10)),
    "five rare values": (0.1 * _FIVE, np.array([0.1, 0.5, 1.0, 1.5, 1.9])),
    "a hundred values": (np.linspace(0.3, 0.7, 100), np.tile([1.0, -1.0], 50)),
    "a hundred, all too low": (np.linspace(0.3, 0.7, 100), np.full(100, 2.0)),
    "a hundred rare, too high": (np.linspace(0.05, 0.2, 100), -3.75 * np.linspace(0.25, 1.0, 100)),
}
"""Values, and the direction in which each is off; the last by a factor, down to a quarter."""
_OFF = (0.0, 0.05, 0.1, 0.2)


def few_surprises(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Coverage of `bootstrap_bounds` and `squared_error_bootstrap` near the least that they take."""
    trials, many, sizes = (2, 8, (400,)) if quick else (200, 300, (400,))
    cells = [
        (kind, factor, n, expected, trials)
        for kind in _RARE
        for factor in (_FACTORS if kind.startswith("rare") else _FACTORS[:1])
        for n in sizes
        for expected in (5.0, 7.0, 12.0, 20.0)
        if not (kind == "atoms at 0 and 1" and 6.0 * expected > 0.5 * n)
    ]
    # Of 100 events that are expected a few fall: hardly any chance, and a large error that all rows have in common.
    cells += [("one value", factor, n, 100.0, trials) for n in sizes for factor in (0.01, 0.02, 0.05, 0.1)]
    bounds = list(on_all_processors(_bounds, cells))
    squares = [
        (kind, off, surprises, debiased, many)
        for kind, (values, _) in _RATES.items()
        for off in _OFF
        for surprises in ((40, 60, 200) if values.size < 100 else (400, 600))
        for debiased in (True, False)
        if debiased or values.size >= 20
    ]
    intervals = list(on_all_processors(_squares, squares))
    first = [
        [kind, factor, f"{n:,}", e, *_cells(found)]
        for (kind, factor, n, e, _), found in zip(cells, bounds, strict=True)
    ]
    second = [
        [kind, off, s, "debiased" if debiased else "plug-in", *_cells(found)]
        for (kind, off, s, debiased, _), found in zip(squares, intervals, strict=True)
    ]
    body = (
        f"Nominal 0.95; {trials:,} samples per row of the first table, {many:,} of the second; 79 resamples (a "
        "multiple of 40 less one). Surprises are sums of v (1 - v), expected, and of squares of y - v less its mean, "
        "seen. Coverage is of the samples that were answered; the rest were refused. A dash: none was answered.\n\n## "
        f"bootstrap_bounds, from {LEAST_SURPRISES} surprises\n\nSmooth error and lower distance both covered. True "
        "rates are the predictions times a factor.\n\n"
        + table(["predictions", "factor", "rows", "expected surprises", "coverage", "answered"], first)
        + "\n## squared_error_bootstrap, from 50 surprises, and 5 and 20 rows per value\n\nAs many rows of each "
        "value. Each value is off by the same amount, up or down in turn. Rare values: by that share of the largest "
        "of them. All too low: by twice as much. All too high: by 3.75 times that share of themselves.\n\n"
        + table(["predictions", "off by", "expected surprises", "estimate", "coverage", "answered"], second)
    )
    finding = (
        f"The lowest coverage is {_lowest(bounds):.3f} for the bounds and {_lowest(intervals):.3f} for the squared "
        "error, in lines that answer at least one sample in twenty."
    )
    return Reproduction("Coverage just above the fewest surprises", finding, body)


def _lowest(found: list[tuple[float, float]]) -> float:
    return min((coverage for coverage, answered in found if answered >= 0.05), default=np.nan)


def _cells(found: tuple[float, float]) -> list[object]:
    coverage, answered = found
    return [f"{coverage:.3f}" if answered else "-", f"{answered:.2f}"]


def _bounds(kind: str, factor: float, n: int, expected: float, trials: int) -> tuple[float, float]:
    """Share covered of those answered, and share answered."""
    held = answered = 0
    mean = expected / n
    for trial in range(trials):
        rng = np.random.default_rng([n, int(expected), trial])
        y_prob = np.clip(_RARE[kind](rng, n, mean), 0.0, 1.0)
        y_true = (rng.random(n) < np.minimum(factor * y_prob, 1.0)).astype(np.float64)
        try:
            found = bootstrap_bounds(y_true, y_prob, n_resamples=79, random_state=trial)
        except InputError:
            continue
        truth = abs(factor - 1.0) * mean
        answered += 1
        held += all(low <= truth <= high for low, high in (found.smooth_error, found.lower_distance))
    return held / max(answered, 1), answered / trials


def _squares(kind: str, off: float, surprises: int, debiased: bool, trials: int) -> tuple[float, float]:
    """The same for the squared error."""
    values, direction = _RATES[kind]
    rates = np.clip(values + off * direction * values.max(), 0.0, 1.0)
    at = np.tile(np.arange(values.size), round(surprises / float((values * (1.0 - values)).sum())))
    truth = float(np.mean((values - rates) ** 2))
    held = answered = 0
    for trial in range(trials):
        rng = np.random.default_rng([surprises, trial])
        y_true = (rng.random(at.size) < rates[at]).astype(np.float64)
        try:
            found = squared_error_bootstrap(y_true, values[at], debiased=debiased, n_resamples=79, random_state=trial)
        except InputError:
            continue
        answered += 1
        held += found.interval.low <= truth <= found.interval.high
    return held / max(answered, 1), answered / trials
