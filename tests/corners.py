"""Rare events and atoms: predictions at which approximations break, and what every inference promises of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import calibrant
from calibrant.inference.bounds.corp import corp_regions
from calibrant.inference.bounds.squared_error import squared_error_bootstrap
from calibrant_papers.smooth_tester import tolerant_smooth_test
from calibrant_papers.type_one import LEVEL, TESTS

SIZES = (20, 200, 2000)
NEXT_TO_1 = 1.0 - 2.0**-53
FIVE = np.array([0.001, 0.02, 0.3, 0.7, NEXT_TO_1])
OFF = np.array([0.011, 0.0, 0.4, 0.7, 0.9])  # how often the event comes where FIVE is predicted, in the design "off"

Draw = Callable[[np.random.Generator, int], np.ndarray]

CALIBRATED: dict[str, Draw] = {
    "rate 1e-3": lambda rng, n: 2e-3 * rng.random(n),
    "1e-3 for all": lambda _rng, n: np.full(n, 1e-3),
    "beta(.05, .05)": lambda rng, n: rng.beta(0.05, 0.05, n),
    "piled at 0 and 1": lambda rng, n: np.where(rng.random(n) < 0.5, rng.random(n) < 0.5, rng.random(n)),
    "five values": lambda rng, n: rng.choice(FIVE, n),
    "one 1 - 2^-53": lambda _rng, n: np.append(np.ones(n - 1), NEXT_TO_1),
    "saturated": lambda rng, n: np.minimum(1.0, 1.05 * rng.random(n)),
}


@dataclass(frozen=True)
class Truth:
    """Of the population."""

    smooth: float = 0.0
    distance: float = 0.0
    squared: float = 0.0


def draw(design: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, Truth]:
    """Outcomes, predictions and what is true of them."""
    if design in CALIBRATED:
        v = CALIBRATED[design](rng, n).astype(float)
        return (rng.random(n) < v).astype(float), v, Truth()
    v, rate = (FIVE, OFF) if design == "off, five values" else (np.array([1e-3]), np.array([3e-3]))
    at = rng.integers(v.size, size=n)
    truth = Truth(
        calibrant.smooth_calibration_error(rate, v),
        calibrant.lower_calibration_distance(rate, v),
        float(np.mean((rate - v) ** 2)),
    )
    return (rng.random(n) < rate[at]).astype(float), v[at], truth


DESIGNS = (*CALIBRATED, "off, five values", "off, rare")
Breaks = Callable[[np.ndarray, np.ndarray, Truth, np.random.Generator], bool]


def _population(y: np.ndarray, p: np.ndarray, truth: Truth, _rng: np.random.Generator) -> bool:
    found = calibrant.population_bounds(y, p, level=LEVEL)
    return not (_in(truth.smooth, found.smooth_error) and _in(truth.distance, found.lower_distance))


def _bootstrap(y: np.ndarray, p: np.ndarray, truth: Truth, rng: np.random.Generator) -> bool:
    found = calibrant.bootstrap_bounds(y, p, level=LEVEL, n_resamples=199, random_state=rng)
    return not (_in(truth.smooth, found.smooth_error) and _in(truth.distance, found.lower_distance))


def _gate(y: np.ndarray, p: np.ndarray, truth: Truth, _rng: np.random.Generator) -> bool:
    over = calibrant.calibration_gate(y, p, max_distance=max(truth.distance, 1e-9), level=LEVEL)
    under = calibrant.calibration_gate(y, p, max_distance=0.9 * truth.distance, level=LEVEL) if truth.distance else over
    return over.verdict == "beyond" or (truth.distance > 0.0 and under.verdict == "within")


def _watched(y: np.ndarray, p: np.ndarray, truth: Truth, _rng: np.random.Generator) -> bool:
    gate = calibrant.CalibrationGate(max_distance=max(truth.distance, 1e-9), level=0.5 * LEVEL)  # of two ends
    size = max(1, y.size // 5)
    for at in range(0, y.size, size):
        ends = gate.update(y[at : at + size], p[at : at + size]).lower_distance  # which only draw closer
    return not _in(truth.distance, ends)


def _squared(y: np.ndarray, p: np.ndarray, truth: Truth, rng: np.random.Generator) -> bool:
    found = squared_error_bootstrap(y, p, level=LEVEL, n_resamples=199, random_state=rng)
    return not _in(truth.squared, found.interval)


def _corp(y: np.ndarray, p: np.ndarray, _truth: Truth, rng: np.random.Generator) -> bool:
    """The consistency region, promised at each point, at the prediction of a row drawn."""
    found = corp_regions(y, p, level=LEVEL, n_resamples=99, random_state=rng)
    at = np.searchsorted(found.prediction, rng.choice(p))
    inside = found.consistency_lower[at] - 1e-12 <= found.recalibrated[at] <= found.consistency_upper[at] + 1e-12
    return not bool(inside)


def _corp_confidence(y: np.ndarray, p: np.ndarray, _truth: Truth, rng: np.random.Generator) -> bool:
    found = corp_regions(y, p, level=LEVEL, n_resamples=39, random_state=rng)
    low, high = found.confidence_lower <= found.prediction, found.prediction <= found.confidence_upper
    return not bool((low & high).all())


def _two_bin(y: np.ndarray, p: np.ndarray, _truth: Truth, rng: np.random.Generator) -> bool:
    return calibrant.inference.averaged_two_bin_test(y, p, level=LEVEL, n_resamples=19, random_state=rng).reject


def _in(value: float, interval: calibrant.Interval) -> bool:
    return bool(interval.low - 1e-12 <= value <= interval.high + 1e-12)


def _all(y: np.ndarray, p: np.ndarray, _truth: Truth, rng: np.random.Generator) -> bool:
    """Two predictors that are the same but for rows that change places are as well calibrated."""
    found = calibrant.inference.compare_all(y, {"a": p, "b": p}, level=LEVEL, n_resamples=39, random_state=rng)
    return bool(found.better)


def _grades(y: np.ndarray, p: np.ndarray, _truth: Truth, _rng: np.random.Generator) -> bool:
    return calibrant.inference.grade_test(y, p, level=LEVEL, alternative="two-sided").reject


def _classes(y: np.ndarray, p: np.ndarray, _truth: Truth, rng: np.random.Generator) -> bool:
    """The event is the first of three classes; the other two share the rest as predicted."""
    label = np.where(y == 1.0, 0, np.where(rng.random(p.size) < 0.7, 1, 2))
    table = np.column_stack([p, 0.7 * (1.0 - p), 0.3 * (1.0 - p)])
    return calibrant.inference.class_wise_test(label, table, level=LEVEL).reject


def _regret(y: np.ndarray, p: np.ndarray, truth: Truth, _rng: np.random.Generator) -> bool:
    """Calibrated predictions lose nothing; of others the promise is held elsewhere."""
    found = calibrant.inference.regret_bounds(y, p, level=LEVEL)
    return truth.distance == 0.0 and found.regret_interval.low > 0.0


def _tolerant_smooth(y: np.ndarray, p: np.ndarray, truth: Truth, _rng: np.random.Generator) -> bool:
    over = tolerant_smooth_test(
        y, p, accept_below=truth.smooth, reject_above=min(0.999, 4.1 * truth.smooth + 0.01), level=LEVEL
    )
    return over.verdict == "beyond"


INTERVALS: dict[str, Breaks] = {
    "population_bounds": _population,
    "bootstrap_bounds": _bootstrap,
    "calibration_gate": _gate,
    "CalibrationGate": _watched,
    "squared_error_bootstrap": _squared,
}
PROMISES: dict[str, Breaks] = {  # each is broken with probability LEVEL at most
    **{name: lambda y, p, _truth, rng, test=test: bool(test(y, p, rng)) for name, test in TESTS.items()},
    "averaged_two_bin_test": _two_bin,
    "class_wise_test": _classes,
    "compare_all": _all,
    "grade_test": _grades,
    "regret_bounds": _regret,
    "tolerant_smooth_test": _tolerant_smooth,
    **INTERVALS,
    "corp_regions, consistency": _corp,
    "corp_regions, confidence": _corp_confidence,
}
CELLS = [
    (name, design, n)
    for name in PROMISES
    for n in SIZES
    for design in DESIGNS
    if design in CALIBRATED or name in INTERVALS
]


def broken(name: str, design: str, n: int, trials: range) -> tuple[int, int, int]:
    """In how many of the trials the promise was broken, kept, and not given: `InputError` says so."""
    counts = [0, 0, 0]
    for trial in trials:
        rng = np.random.default_rng([n, trial, DESIGNS.index(design)])
        y, p, truth = draw(design, rng, n)
        try:
            counts[0 if PROMISES[name](y, p, truth, rng) else 1] += 1
        except calibrant.InputError:
            counts[2] += 1
    return counts[0], counts[1], counts[2]
