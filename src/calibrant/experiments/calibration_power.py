"""How often `calibration_test` and its rivals reject, against many departures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import calibrant
from calibrant.experiments.departures import DEPARTURES, DESIGNS, departed
from calibrant.experiments.processors import on_all_processors
from calibrant.experiments.registry import Reproduction, table
from calibrant.inference.calibration import calibration_test

_RIVALS = {
    "T-Cal": ("tcal_test", {}),
    "T-Cal, Bonferroni": ("tcal_test", {"correction": "bonferroni", "n_resamples": 599}),
    "Cox": ("cox_test", {}),
    "Hosmer-Lemeshow": ("hosmer_lemeshow_test", {}),
    "Spiegelhalter": ("spiegelhalter_test", {}),
    "Kuiper": ("cumulative_calibration_test", {}),
    "smooth": ("smooth_calibration_test", {}),
    "kernel": ("kernel_calibration_test", {}),
}
_OURS = "calibration_test"
_PARTS = ("Cox score", "adaptive Neyman", "dyadic chi-square")
_SINGLE = tuple(name for name in _RIVALS if name != "T-Cal, Bonferroni")
_LEVEL = 0.05


def power(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of miscalibrated samples that each test rejects."""
    trials = {100: 2} if quick else {500: 24, 2000: 12, 10_000: 3}
    cells = [(n, design, name, some) for n, some in trials.items() for design in DESIGNS for name in DEPARTURES]
    found = dict(zip(cells, on_all_processors(_rejected, cells), strict=True))
    tests = [_OURS, *_RIVALS, *_PARTS]
    share = {cell: dict(zip(tests, np.array(counts) / cell[3], strict=True)) for cell, counts in found.items()}
    rivals = [name for name in tests if name != _OURS and name not in _PARTS]
    mean = {name: float(np.mean([each[name] for each in share.values()])) for name in tests}
    first = max(rivals, key=lambda name: mean[name])
    pooled = {
        name: {test: float(np.mean([each[test] for cell, each in share.items() if cell[2] == name])) for test in tests}
        for name in DEPARTURES
    }
    best = {name: max(each[test] for test in _SINGLE) for name, each in pooled.items()}
    half = {name: each[_OURS] / best[name] if best[name] else 1.0 for name, each in pooled.items()}
    worst = min(half, key=lambda name: half[name])
    finding = (
        f"Mean power {mean[_OURS]:.3f}; the best single test, {first}, has {mean[first]:.3f}. Against no departure has it "
        f"less than {half[worst]:.2f} of what the best single test has there ({worst})."
    )
    by_size = [
        [f"{n:,}", design, *(float(np.mean([share[c][t] for c in cells if c[:2] == (n, design)])) for t in tests)]
        for n in trials
        for design in DESIGNS
    ]
    some = ", ".join(f"{count} of {n:,} rows" for n, count in trials.items())
    body = (
        f"Level {_LEVEL}; {_OURS} with 199 resamples, at which it rejects 0.045 at most, the others with 99, at which they "
        f"reject 0.05 (T-Cal with Bonferroni's correction, as in the paper, needs 599). Samples in each cell: {some}. A departure is as large as the test that knows it beforehand needs: that many of its standard "
        "deviations, given as its distance. The last three columns are the test's own parts, each by itself.\n\n"
        "## By departure, over designs and sizes\n\n"
        + table(
            ["departure", "distance", *tests],
            [[name, DEPARTURES[name][0], *(pooled[name][test] for test in tests)] for name in DEPARTURES]
            + [["mean", "", *(mean[test] for test in tests)]],
        )
        + "\n## By size and design, over departures\n\n"
        + table(["rows", "predictions", *tests], by_size)
        + "\n## Every cell\n\n"
        + table(
            ["rows", "predictions", "departure", *tests],
            [[f"{c[0]:,}", c[1], c[2], *(float(share[c][test]) for test in tests)] for c in cells],
        )
    )
    return Reproduction("Power of calibration_test and its rivals", finding, body)


def _rejected(n: int, design: str, name: str, trials: int) -> list[int]:
    counts = np.zeros(1 + len(_RIVALS) + len(_PARTS), dtype=np.int64)
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        v = np.clip(np.sort(DESIGNS[design](rng, n)), 1e-12, 1.0 - 1e-12)
        y = (rng.random(n) < departed(name, v, [n, trial, 7])).astype(np.float64)
        ours = calibration_test(y, v, n_resamples=199, random_state=trial)
        counts[0] += ours.reject
        for k, (rival, more) in enumerate(_RIVALS.values()):
            options = {"n_resamples": 99, "random_state": trial, **more}
            counts[1 + k] += getattr(calibrant.inference, rival)(y, v, level=_LEVEL, **options).reject
        for k, part in enumerate(_PARTS):
            counts[1 + len(_RIVALS) + k] += ours.components[part].pvalue <= _LEVEL
    return [int(count) for count in counts]
