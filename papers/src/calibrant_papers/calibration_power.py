"""How often `calibration_test` and its rivals reject, against many departures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import calibrant
from calibrant.door.columns import FloatArray
from calibrant.inference.testing.calibration import calibration_test
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_OTHERS = {
    "T-Cal": ("tcal_test", {}),
    "T-Cal, Bonferroni": ("tcal_test", {"correction": "bonferroni", "n_resamples": 599}),
    "Cox": ("cox_test", {}),
    "Hosmer-Lemeshow": ("hosmer_lemeshow_test", {}),
    "Spiegelhalter": ("spiegelhalter_test", {}),
    "Kuiper": ("cumulative_calibration_test", {}),
    "smooth": ("smooth_calibration_test", {}),
    "kernel": ("kernel_calibration_test", {}),
}
_PEERS = ("belt (probcal)", "Kuiper (MAPIE)", "Kolmogorov-Smirnov (MAPIE)", "Spiegelhalter (MAPIE)")
_OURS = "calibration_test"
_PARTS = ("Cox score", "adaptive Neyman", "dyadic chi-square")
_SINGLE = tuple(name for name in (*_OTHERS, *_PEERS) if name != "T-Cal, Bonferroni")
_CALIBRATED = "none: calibrated"
_LEVEL = 0.05


def power(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of miscalibrated samples that each test rejects."""
    trials = {100: 1} if quick else {500: 100, 2000: 60, 10_000: 30}
    sizes = {100: 1} if quick else {500: 1000, 2000: 600, 10_000: 300}
    cells = [(n, design, name, some) for n, some in trials.items() for design in DESIGNS for name in DEPARTURES]
    null = [(n, design, _CALIBRATED, some) for n, some in sizes.items() for design in DESIGNS]
    found = dict(zip([*cells, *null], on_all_processors(_rejected, [*cells, *null]), strict=True))
    peers = _installed()
    tests = [_OURS, *_OTHERS, *peers, *_PARTS]
    share = {cell: dict(zip(tests, np.array(counts) / cell[3], strict=True)) for cell, counts in found.items()}
    single = [name for name in tests if name in _SINGLE]
    mean = {test: float(np.mean([share[cell][test] for cell in cells])) for test in tests}
    pooled = {
        name: {test: float(np.mean([share[c][test] for c in [*cells, *null] if c[2] == name])) for test in tests}
        for name in [*DEPARTURES, _CALIBRATED]
    }
    first = max(single, key=lambda name: mean[name])
    part = {name: pooled[name][_OURS] / max(max(pooled[name][test] for test in single), 1e-9) for name in DEPARTURES}
    worst = min(part, key=lambda name: part[name])
    level = pooled[_CALIBRATED]
    finding = (
        f"Mean power {mean[_OURS]:.3f}; the best single test, {first}, has {mean[first]:.3f}; of calibrated samples "
        f"they reject {level[_OURS]:.3f} and {level[first]:.3f}. Against every departure it has at least "
        f"{part[worst]:.2f} of what the best single test has there ({worst})."
    )
    by_size = [
        [f"{n:,}", design, *(float(np.mean([share[c][t] for c in cells if c[:2] == (n, design)])) for t in tests)]
        for n in trials
        for design in DESIGNS
    ]
    some = ", ".join(f"{count} of {n:,} rows" for n, count in trials.items())
    calibrated = ", ".join(f"{count} of {n:,}" for n, count in sizes.items())
    absent = [name for name in _PEERS if name not in peers]
    body = (
        f"Level {_LEVEL}; {_OURS} has 199 resamples, at which it rejects 0.045 at most. The others here have 99, at "
        "which they reject 0.05. T-Cal with Bonferroni's correction, as in the paper, needs 599. Tests of other "
        "libraries reject by the p-values that they print, and a sample that they refuse is not rejected. Samples in "
        f"each cell: {some}. Calibrated ones: {calibrated}. The size of a departure is set for the test that knows it "
        "beforehand. It is that many of its standard deviations, given as its distance. The last three columns are "
        "the test's components, each by itself."
        + (f" Not installed, and left out: {', '.join(absent)}." if absent else "")
        + "\n\n## By departure, over designs and sizes\n\n"
        + table(
            ["departure", "distance", *tests],
            [[name, DEPARTURES[name][0], *(pooled[name][test] for test in tests)] for name in DEPARTURES]
            + [["mean", "", *(mean[test] for test in tests)]],
        )
        + "\nThe share of calibrated samples that each rejects; the power of a test that rejects more than the level does not count.\n\n"
        + table(
            ["rows", "predictions", *tests],
            [[f"{c[0]:,}", c[1], *(float(share[c][test]) for test in tests)] for c in null],
        )
        + "\n## By size and design, over departures\n\n"
        + table(["rows", "predictions", *tests], by_size)
        + "\n## Every cell\n\n"
        + table(
            ["rows", "predictions", "departure", *tests],
            [[f"{c[0]:,}", c[1], c[2], *(float(share[c][test]) for test in tests)] for c in cells],
        )
    )
    return Reproduction("Power of calibration_test and other tests", finding, body)


def _rejected(n: int, design: str, name: str, trials: int) -> list[int]:
    peers = _installed()
    counts = np.zeros(1 + len(_OTHERS) + len(peers) + len(_PARTS), dtype=np.int64)
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        v = np.clip(np.sort(DESIGNS[design](rng, n)), 1e-12, 1.0 - 1e-12)
        chance = v if name == _CALIBRATED else departed(name, v, [n, trial, 7])
        y = (rng.random(n) < chance).astype(np.float64)
        ours = calibration_test(y, v, n_resamples=199, random_state=trial)
        rejected = [ours.reject]
        for other, more in _OTHERS.values():
            options = {"n_resamples": 99, "random_state": trial, **more}
            rejected.append(getattr(calibrant.inference, other)(y, v, level=_LEVEL, **options).reject)
        rejected += [_rejects(peer, y, v) for peer in peers.values()]
        rejected += [ours.components[part].pvalue <= _LEVEL for part in _PARTS]
        counts += np.array(rejected, dtype=np.int64)
    return [int(count) for count in counts]


def _rejects(peer: Callable[[FloatArray, FloatArray], float], y: FloatArray, v: FloatArray) -> bool:
    """Whether a peer's p-value is at most the level; where it refuses the sample, it does not reject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return peer(y, v) <= _LEVEL
        except ValueError:
            return False


def _installed() -> dict[str, Callable[[FloatArray, FloatArray], float]]:
    """p-values of other libraries' tests, of those that are installed."""
    found: dict[str, Callable[[FloatArray, FloatArray], float]] = {}
    try:
        from probcal import calibration_belt

        found[_PEERS[0]] = lambda y, v: float(calibration_belt(y, v).p_value)
    except ImportError:
        pass
    try:
        from mapie.metrics.calibration import kolmogorov_smirnov_p_value, kuiper_p_value, spiegelhalter_p_value

        found |= dict(zip(_PEERS[1:], (kuiper_p_value, kolmogorov_smirnov_p_value, spiegelhalter_p_value), strict=True))
    except ImportError:
        pass
    return found


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
