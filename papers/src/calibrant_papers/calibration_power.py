"""How often `calibration_test` and its rivals reject, against many departures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import calibrant
from calibrant.door.columns import FloatArray
from calibrant.inference.calibration import calibration_test
from calibrant_papers.departures import DEPARTURES, DESIGNS, departed
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
        f"Level {_LEVEL}; {_OURS} with 199 resamples, at which it rejects 0.045 at most, the others here with 99, at "
        "which they reject 0.05 (T-Cal with Bonferroni's correction, as in the paper, needs 599); those of other "
        "libraries by the p-values that they print, and a sample that they refuse is not rejected. Samples in each "
        f"cell: {some}; calibrated ones: {calibrated}. The size of a departure is set for the test that knows it "
        "beforehand: that many of its standard deviations, given as its distance. The last three columns are the "
        "test's components, each by itself."
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
