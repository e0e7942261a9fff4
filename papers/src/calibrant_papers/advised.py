"""What `choose_recalibrator` advises: of calibrated predictions, shifted ones, ones that say nothing, swapped ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from calibrant.door.columns import FloatArray
from calibrant.recalibration.choose import choose_recalibrator
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table


class Setting(NamedTuple):
    """How rows are drawn."""

    outcomes: str
    predictions: str
    rows: int
    weights: str = ""


_WIDE, _FEW, _TAIL = "1 to 1,000", "one row in 50 has 1,000, others 1", "Pareto, exponent 1.2"
_SETTINGS = (
    *(Setting("calibrated", "uniform", n) for n in (200, 1000, 10_000)),
    *(Setting("calibrated", "beta(.7, 3)", n) for n in (200, 2000)),
    *(Setting("calibrated", "beta(.05, .05)", n) for n in (200, 2000)),
    *(Setting("calibrated", "five values", n) for n in (200, 2000)),
    *(Setting("calibrated", "rare", n) for n in (200, 2000)),
    Setting("log-odds shifted by -.3", "beta(.7, 3)", 2000),
    Setting("log-odds times 0.8", "uniform", 2000),
    *(Setting("log-odds halved", "uniform", n) for n in (45, 200)),
    *(Setting("independent", "uniform", n) for n in (200, 2000)),
    *(Setting("independent", "rare", n) for n in (200, 2000)),
    *(Setting("swapped", "uniform", n) for n in (50, 200)),
    *(Setting("calibrated", "uniform", n, _WIDE) for n in (200, 2000)),
    Setting("calibrated", "five values", 2000, _WIDE),
    Setting("calibrated", "rare", 2000, _WIDE),
    *(Setting("calibrated", "uniform", n, _FEW) for n in (200, 2000)),
    *(Setting("calibrated", "uniform", n, _TAIL) for n in (200, 2000)),
    Setting("log-odds shifted by -.3", "beta(.7, 3)", 7000, _WIDE),
)


def advice(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Advice: how often it is right over the first seeds, every run counted."""
    runs = 1 if quick else 80
    cells = [(setting, runs) for setting in _SETTINGS]
    counts = list(on_all_processors(_count, cells))
    rows = []
    changed, calibrated, helped = Counter[bool](), Counter[bool](), Counter[bool]()
    for setting, found in zip(_SETTINGS, counts, strict=True):
        weighted = setting.weights != ""
        if setting.outcomes == "calibrated":
            changed[weighted] += found["averaged"] + found["constant"]
            calibrated[weighted] += runs
        if setting.outcomes == "log-odds shifted by -.3":
            helped[weighted] = found["averaged"]
        said = ", ".join(f"{name.replace('_', ' ')} {times}" for name, times in found.most_common())
        rows.append([setting.outcomes, setting.predictions, f"{setting.rows:,}", setting.weights or "none", said])
    body = (
        f"{runs} samples per row, level 0.05. Predictions are uniform on [0, 1], log-uniform between "
        "0.001 and 0.1 (rare), beta, or 0.05, 0.3, 0.5, 0.8 and 0.99. Independent outcomes have rate 0.2; swapped "
        "ones are calibrated for the other class. Weights from 1 to 1,000 have uniform logarithms: 7,000 rows of them "
        "are worth 2,000 equal ones. Below ten events no map is advised.\n\n"
        + table(["outcomes", "predictions", "rows", "weights", "advised"], rows)
    )
    finding = (
        f"{changed[False]} of {calibrated[False]} calibrated samples are changed "
        f"({changed[False] / calibrated[False]:.1%}), with weights {changed[True]} of {calibrated[True]} "
        f"({changed[True] / calibrated[True]:.1%}). With log-odds shifted by -.3 {helped[False]} of {runs} are given a "
        f"map, with weights {helped[True]}."
    )
    return Reproduction("Advice: how often it is right", finding, body)


def _count(setting: Setting, runs: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for run in range(runs):
        rng = np.random.default_rng([run, setting.rows])
        p = _predictions(setting, rng)
        true = {
            "calibrated": p,
            "log-odds shifted by -.3": expit(logit(p) - 0.3),
            "log-odds times 0.8": expit(0.8 * logit(p)),
            "log-odds halved": expit(0.5 * logit(p)),
            "independent": np.full(p.size, 0.2),
            "swapped": 1.0 - p,
        }[setting.outcomes]
        y = rng.random(p.size) < true
        weight, free = _weights(setting, rng), setting.weights != ""
        choice = choose_recalibrator(y, p, sample_weight=weight, outcome_free_weights=free)
        few = choice.reject and choice.gain is None
        found["too few events" if few else "labels swapped?" if choice.direction == "wrong" else choice.chosen] += 1
    return found


def _predictions(setting: Setting, rng: np.random.Generator) -> FloatArray:
    n = setting.rows
    if setting.predictions == "uniform":
        return rng.random(n)
    if setting.predictions == "rare":
        return 10.0 ** rng.uniform(-3.0, -1.0, n)
    if setting.predictions == "five values":
        return rng.choice([0.05, 0.3, 0.5, 0.8, 0.99], n)
    a, b = (0.7, 3.0) if setting.predictions == "beta(.7, 3)" else (0.05, 0.05)
    return np.clip(rng.beta(a, b, n), 1e-12, 1.0 - 1e-12)


def _weights(setting: Setting, rng: np.random.Generator) -> FloatArray | None:
    n = setting.rows
    if setting.weights == _WIDE:
        return np.asarray(10.0 ** rng.uniform(0.0, 3.0, n))
    if setting.weights == _FEW:
        return np.where(rng.random(n) < 0.02, 1000.0, 1.0)
    return (1.0 - rng.random(n)) ** (-1.0 / 1.2) if setting.weights else None
