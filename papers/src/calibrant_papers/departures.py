"""Ways to be miscalibrated, each made as large as a test that knew it beforehand would need to find it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.door.columns import FloatArray

Departure = Callable[[FloatArray, float, np.random.Generator], FloatArray]
"""Takes sorted predictions, a size and a generator; returns true probabilities, at size 0 the predictions."""

DESIGNS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "confident, beta(.4, .4)": lambda rng, n: rng.beta(0.4, 0.4, n),
    "rare, beta(.5, 12)": lambda rng, n: rng.beta(0.5, 12.0, n),
}


def _odds(v: FloatArray) -> FloatArray:
    return np.asarray(np.log(v) - np.log1p(-v))


def _chance(odds: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def _rank(v: FloatArray) -> FloatArray:
    return np.asarray((np.arange(v.size) + 0.5) / v.size)


def _moved(v: FloatArray, by: FloatArray) -> FloatArray:
    """Move each prediction by so many of its own standard deviations."""
    return np.clip(v + by * np.sqrt(v * (1.0 - v)), 0.0, 1.0)


def _bump(centre: float, width: float) -> Departure:
    return lambda v, size, _rng: _moved(v, size * np.exp(-(((_rank(v) - centre) / width) ** 2)))


def _wave(cycles: Callable[[np.random.Generator], float]) -> Departure:
    def wave(v: FloatArray, size: float, rng: np.random.Generator) -> FloatArray:
        frequency, phase = cycles(rng), rng.random()
        return _moved(v, size * np.sin(2.0 * np.pi * (frequency * v + phase)))

    return wave


def _signs(bins: int) -> Departure:
    def signs(v: FloatArray, size: float, rng: np.random.Generator) -> FloatArray:
        sign = rng.choice([-1.0, 1.0], bins)
        return _moved(v, size * sign[np.minimum((_rank(v) * bins).astype(int), bins - 1)])

    return signs


DEPARTURES: dict[str, tuple[float, Departure]] = {
    "odds too low": (3.0, lambda v, size, _rng: _chance(_odds(v) + size)),
    "odds too high": (3.0, lambda v, size, _rng: _chance(_odds(v) - size)),
    "a constant added": (3.0, lambda v, size, _rng: np.clip(v + size, 0.0, 1.0)),
    "overconfident": (3.0, lambda v, size, _rng: _chance(_odds(v) / (1.0 + size))),
    "underconfident": (3.0, lambda v, size, _rng: _chance(_odds(v) * (1.0 + size))),
    "wide bump": (3.5, _bump(0.6, 0.15)),
    "narrow bump": (4.0, _bump(0.35, 0.03)),
    "upper tail": (3.5, lambda v, size, _rng: _moved(v, np.where(_rank(v) > 0.9, -size, 0.0))),
    "wave, 2 cycles": (4.0, _wave(lambda _rng: 2.0)),
    "wave, 8 cycles": (4.5, _wave(lambda _rng: 8.0)),
    "wave, 2 to 128 cycles": (5.0, _wave(lambda rng: float(2.0 ** rng.uniform(1.0, 7.0)))),
    "signs of 8 stretches": (4.0, _signs(8)),
    "signs of 64 stretches": (5.0, _signs(64)),
    "wave, 10 rows a cycle": (10.0, lambda v, size, _rng: _moved(v, size * np.sin(0.2 * np.pi * np.arange(v.size)))),
    "scaled": (3.0, lambda v, size, _rng: np.minimum(v * (1.0 + size), 1.0)),
    "sloped where rare": (3.0, lambda v, size, _rng: np.minimum(v * (v / np.median(v)) ** size, 1.0)),
}
"""The distance at which each is set, in standard deviations of the test that knows it, and how it moves predictions."""


def departed(name: str, v: FloatArray, seed: list[int]) -> FloatArray:
    """True probabilities of sorted predictions, at the distance that `DEPARTURES` names, or as near as they come."""
    distance, move = DEPARTURES[name]
    if name == "wave, 10 rows a cycle":  # finer with more rows, and harder
        distance *= (v.size / 2000.0) ** 0.25

    def reached(size: float) -> tuple[float, FloatArray]:
        p = move(v, size, np.random.default_rng(seed))
        return float(np.sqrt(((p - v) ** 2 / (v * (1.0 - v))).sum())), p

    low, high = 0.0, 1e-3
    while reached(high)[0] < distance and high < 8.0:
        low, high = high, 2.0 * high
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle)[0] > distance else (middle, high)
    return reached(high)[1]
