"""How often calibrated rows are rejected whose weights tell of how they came to be known, and what faults are found."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.censoring import censored_outcomes
from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.inference.testing.calibration import calibration_test
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL = 0.05
_REDRAWS = 99
ROWS = 300, 1_000, 3_000
_BEND = 0.75  # of the log-odds, where there is a fault
_AS_BEFORE = 100  # samples of which it is looked at what keeping weights would do
_ROOM = 40  # rows of the population for each of the file


@dataclass(frozen=True, slots=True)
class Design:
    """Rows of a calibrated population, and how they came to be known.

    Attributes
    ----------
    name : str
        In words.
    kind : str
        "by outcome", "fixed counts", "propensity", "harmless", "weak" or "censored".
    share : float
        Of rows without the event that is kept, or of all that is censored before the horizon.
    events : float
        Share of rows with the event that is kept.
    noise : float
        Standard deviation of the logarithm of weights given outcome and prediction.
    recognised : bool
        Whether weights of two values are taken as sampling by outcome.
    """

    name: str
    kind: str
    share: float = 1.0
    events: float = 1.0
    noise: float = 0.0
    recognised: bool = True


DESIGNS = (
    Design("half of the non-events kept", "by outcome", 0.5),
    Design("10% of the non-events kept", "by outcome", 0.1),
    Design("2% of the non-events kept", "by outcome", 0.02),
    Design("10% of the non-events, 40% of the events kept", "by outcome", 0.1, 0.4),
    Design("10% of the events kept", "by outcome", 1.0, 0.1),
    Design("as many events as non-events, counts fixed", "fixed counts"),
    Design("half of the non-events kept, drawn together", "by outcome", 0.5, recognised=False),
    Design("10% of the non-events kept, drawn together", "by outcome", 0.1, recognised=False),
    Design("2% of the non-events kept, drawn together", "by outcome", 0.02, recognised=False),
    Design("10% of the events kept, drawn together", "by outcome", 1.0, 0.1, recognised=False),
    Design("propensities with noise .5, 50% and 90%", "propensity", 0.5, 0.9, 0.5),
    Design("propensities with noise .5, 10% and 90%", "propensity", 0.1, 0.9, 0.5),
    Design("propensities with noise .5, 2% and 90%", "propensity", 0.02, 0.9, 0.5),
    Design("propensities with noise 1, 10% and 90%", "propensity", 0.1, 0.9, 1.0),
    Design("propensities with noise .5, 90% and 10%", "propensity", 0.9, 0.1, 0.5),
    Design("harmless, lognormal (1)", "harmless", noise=1.0),
    Design("harmless, lognormal (2)", "harmless", noise=2.0),
    Design("weak dependence, lognormal (.5)", "weak", noise=0.5),
    Design("weak dependence, lognormal (1.5)", "weak", noise=1.5),
    Design("10% censored within strata", "censored", 0.1),
    Design("30% censored within strata", "censored", 0.3),
    Design("60% censored within strata", "censored", 0.6),
)


def weighted_levels(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of calibrated samples that are rejected, and of faulty ones, beside complete rows."""
    draws, step = (2, 2) if quick else (500, 50)
    power = 2 if quick else 100
    lines = [(design, n) for design in range(len(DESIGNS)) for n in ROWS[: 1 if quick else None]]
    cells = [(*line, 1.0, first, step) for line in lines for first in range(0, draws, step)]
    faults = [(*line, _BEND, first, min(step, power)) for line in lines for first in range(0, power, step)]
    results = on_all_processors(_counts, cells + faults)
    calibrated = np.reshape(results[: len(cells)], (len(lines), -1, 3)).sum(axis=1)
    faulty = np.reshape(results[len(cells) :], (len(lines), -1, 3)).sum(axis=1)
    rows, worst = [], dict.fromkeys(ROWS, (0.0, ""))
    for (design, n), (rejected, refused, as_before), (found, none, complete) in zip(
        lines, calibrated.tolist(), faulty.tolist(), strict=True
    ):
        share = rejected / max(1, draws - refused)
        if draws - refused >= 100:
            worst[n] = max(worst[n], (share, DESIGNS[design].name))
        rows.append(
            [
                DESIGNS[design].name,
                f"{n:,}",
                _said(rejected, draws - refused),
                f"{refused / draws:.2f}",
                _said(as_before, min(draws, _AS_BEFORE)),
                _said(found, power - none),
                _said(complete, power),
            ]
        )
    told = " ".join(f"Of {n:,} rows: {share:.3f} ({name})." for n, (share, name) in worst.items() if name)
    told = told or "No line has 100 answers."
    body = (
        "Log-odds are uniform from -4 to 1 (where weights are harmless or weak, from -3 to 3). Of censored rows they "
        "depend on the stratum. Outcomes have the predicted chances in the population. About the stated number of "
        "rows is in the file; of censored rows before censoring. *By outcome*: kept one by one with those shares; by "
        "default that is recognised, and exact. *Drawn together* has weights times 1 + 1e-6 u instead, u uniform, "
        "which are not. *Propensities*: of the outcome, the prediction (twice as likely at 1 as at 0) and lognormal "
        "noise, known, and at most 1. Weights are one over them. *Weak*: log w = .3 y + noise in the population, "
        "rows kept as 1 / w. *Censored*: hazards of censoring 1.6 and .4 in two strata, whose risks differ; weights "
        f"are those of `censored_outcomes` with these strata.\n\n{draws} samples a line at level {_LEVEL}, {_REDRAWS} "
        f"redraws; the standard error of .05 is {np.sqrt(0.05 * 0.95 / draws):.3f}. *Rejected*: of calibrated samples "
        "that are not refused. *Refused*: an outcome has fewer than about ten effective rows. *Weights kept*: "
        f"rejected, of {min(draws, _AS_BEFORE)}, if weights were declared to say nothing of outcomes. *Found*: of "
        f"{power} samples whose true log-odds are {_BEND} times the predicted ones. *Complete*: the same of as many "
        "unweighted rows of the population, as if nothing had been thinned or censored.\n\n"
        + table(["how rows came to be known", "rows", "rejected", "refused", "weights kept", "found", "complete"], rows)
        + "\nAims: from 1,000 rows on none above .08, of 300 none above .11. These are the worst of the lines with "
        f"100 answers or more. {told}\n"
    )
    finding = f"This is the most that calibrated samples are rejected at level .05. {told}"
    return Reproduction("Weights that tell how rows came to be known", finding, body)


def _said(number: float, of: float) -> str:
    return f"{number / of:.3f}" if of else "-"


def _counts(index: int, n: int, bend: float, first: int, draws: int) -> tuple[int, int, int]:
    """Rejected and refused; and rejected with weights kept, or where there is a fault of complete rows."""
    design = DESIGNS[index]
    rejected = refused = other = 0
    for number in range(first, first + draws):
        rng = np.random.default_rng([zlib.crc32(design.name.encode()), n, int(100 * bend), number])
        y, v, w = drawn(design, n, bend, rng)
        options: dict[str, Any] = {"level": _LEVEL, "n_resamples": _REDRAWS, "random_state": number}
        try:
            rejected += calibration_test(y, v, sample_weight=w, **options).reject
        except InputError:
            refused += 1
        if bend == 1.0 and number < _AS_BEFORE:
            other += calibration_test(y, v, sample_weight=w, outcome_free_weights=True, **options).reject
        if bend != 1.0:
            y, v = population(design, n, bend, rng)[:2]
            other += calibration_test(y, v, **options).reject
    return int(rejected), refused, int(other)


def population(
    design: Design, n: int, bend: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Outcomes, predictions, and strata."""
    stratum = (rng.random(n) < 0.5).astype(np.float64)
    if design.kind == "censored":
        odds = rng.uniform(-3.0, 1.0, n) + 1.6 * (stratum - 0.5)
    else:
        odds = rng.uniform(-3.0, 3.0, n) if design.kind in ("harmless", "weak") else rng.uniform(-4.0, 1.0, n)
    chance = 1.0 / (1.0 + np.exp(-bend * odds))
    return (rng.random(n) < chance).astype(np.float64), 1.0 / (1.0 + np.exp(-odds)), stratum


def drawn(design: Design, n: int, bend: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Outcomes, predictions and weights of the file."""
    if design.kind == "censored":
        return _censored(design, n, bend, rng)
    y, v, _ = population(design, n * (1 if design.kind == "harmless" else _ROOM), bend, rng)
    if design.kind == "harmless":
        return y, v, np.asarray(np.exp(design.noise * rng.standard_normal(n)))
    if design.kind == "fixed counts":
        kept = np.concatenate([np.flatnonzero(y == each)[: n // 2] for each in (0.0, 1.0)])
        share = np.array([(n // 2) / np.count_nonzero(y == each) for each in (0.0, 1.0)])
        return y[kept], v[kept], 1.0 / share[y[kept].astype(int)]
    share = np.where(y == 1.0, design.events, design.share)
    if design.kind == "propensity":
        share = np.minimum(share * np.exp(-design.noise * np.abs(rng.standard_normal(y.size))) * (0.5 + 0.5 * v), 1.0)
    if design.kind == "weak":
        share = np.exp(-0.3 * y - design.noise * rng.standard_normal(y.size))
        share = np.minimum(share / np.quantile(share, 0.999), 1.0)
    kept = np.flatnonzero(rng.random(y.size) < share)[:n]
    weight = 1.0 / share[kept]
    if not design.recognised:
        weight *= 1.0 + 1e-6 * rng.random(kept.size)
    return y[kept], v[kept], weight


def _censored(
    design: Design, n: int, bend: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    y, v, stratum = population(design, n, bend, rng)
    odds = bend * (np.log(v) - np.log1p(-v))
    hazard = np.log1p(np.exp(odds))  # with which the event comes by time 1 with its chance
    # Given whether it comes by then, when: an exponential time cut at 1, or beyond it.
    at = rng.random(n)
    came = np.where(y == 1.0, -np.log1p(at * np.expm1(-hazard)) / hazard, 1.0 - np.log1p(-at) / hazard)
    left = rng.exponential(1.0, n) / (-np.log1p(-design.share) * np.where(stratum == 1.0, 1.6, 0.4))
    known = censored_outcomes(np.minimum(came, left), came <= left, 1.0, strata=stratum, least_followed=0.02)
    return known.y_true[known.known].astype(np.float64), v[known.known], known.sample_weight[known.known]
