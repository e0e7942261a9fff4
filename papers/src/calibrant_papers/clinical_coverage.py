"""How often the intervals of the clinical panel hold the population's values, rare events and 200 rows included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import beta

from calibrant.decisions.belt import calibration_belt
from calibrant.decisions.cases import Cases
from calibrant.decisions.clinical import Curve, clinical_calibration
from calibrant.door.columns import FloatArray
from calibrant_papers.clinical_draws import (
    DRAWS,
    ERRORS,
    VALUES,
    coverage_of_draws,
    values_within,
    within,
)
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL = 0.05
_FEW = 39  # redrawn curves where only values are asked for
_GRID = (np.arange(40_000) + 0.5) / 40_000
_DESIGNS: dict[str, tuple[float, float, float, float, float, tuple[int, ...]]] = {
    "uniform": (1.0, 1.0, 1.0, 0.0, 1.0, (200, 1000)),
    "up to 4%": (1.0, 1.0, 0.04, 0.0, 1.0, (1000, 5000)),
    "up to 10%": (1.0, 1.0, 0.1, 0.0, 1.0, (200,)),
    "beta(0.3, 0.3)": (0.3, 0.3, 1.0, 0.0, 1.0, (200,)),
    "uniform, slope 0.6, intercept 0.3": (1.0, 1.0, 1.0, 0.3, 0.6, (500,)),
    "beta(1, 20), slope 0.8, intercept 0.4": (1.0, 20.0, 1.0, 0.4, 0.8, (1000,)),
}
"""Predictions are beta(a, b) times a factor; log-odds of the event are an intercept and a slope times theirs."""


def clinical_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Coverage of every interval of `clinical_calibration`, of both curves, of groups and weights, and of the belt."""
    most, samples, belts, resamples = (2, 2, 1, 39) if quick else (500, 200, 60, 199)
    cells = [(name, n) for name, design in _DESIGNS.items() for n in design[-1][: 1 if quick else None]]
    names = list(DRAWS)[: 2 if quick else None]
    drawn = on_all_processors(coverage_of_draws, [(name, samples, resamples, _LEVEL) for name in names])
    found = on_all_processors(_coverage, [(*cell, most, samples, belts, resamples) for cell in cells])
    first, second, third = [], [], []
    for (name, n), (held, curves, belt) in zip(cells, found, strict=True):
        first.append([name, f"{n:,}", *_percents(held)])
        second += [[name, f"{n:,}", curve, *_percents(of)] for curve, of in curves.items()]
        third.append([name, f"{n:,}", *_percents(belt)])
    fourth = [[name, _percent(each.refused), *_percents(each.errors)] for name, each in zip(names, drawn, strict=True)]
    fifth = [
        [name, *(f"{value:.3f} ({width:.3f})" for value, width in zip(each.true, each.widths, strict=True))]
        for name, each in zip(names, drawn, strict=True)
        if not np.isnan(each.true).any()
    ]
    sixth = [[name, *_percents(each.values)] for name, each in zip(names, drawn, strict=True)]
    error, fine = (100 * np.sqrt(_LEVEL * (1.0 - _LEVEL) / number) for number in (samples, most))
    body = (
        f"Nominal 95%; {samples} samples per line (standard error {error:.1f} points), {most} of values of rows by "
        f"themselves ({fine:.1f}), {belts} of belts, {resamples} redrawn curves. Predictions are uniform and "
        "calibrated unless stated otherwise.\n\n## Values\n\n"
        + table(["predictions", "rows", *VALUES], first)
        + "\nTruth is the population's value.\n\n"
        "## Errors from the curve\n\n"
        + table(["predictions", "rows", "curve", *ERRORS], second)
        + "\nTruth is the curve of the true probabilities at these predictions. The band holds it at all places "
        "together. Coverage above 95% is on purpose: E50, E90 and Emax come from the whole band, so that they are "
        "right near 0.\n\n## Groups and weights: errors from the curve\n\n"
        + table(["draws", "refused", *ERRORS], fourth)
        + "\nOf the samples that are not refused, where they are a fifth or more. Outcomes of a group have normal "
        "variables with correlation 0.1 behind them unless stated otherwise.\n\nThe true errors, and in brackets the "
        "mean widths of their intervals:\n\n"
        + table(["draws", *ERRORS[:-1]], fifth)
        + "\n## Groups and weights: values\n\n"
        + table(["draws", *VALUES], sixth)
        + "\n## The calibration belt\n\n"
        + table(["predictions", "rows", "belt holds the true curve", "rejected", "degree above 1"], third)
        + "\nAt all 61 places. In each design the true curve is a line in the log-odds.\n"
    )
    answered = [each for each in drawn if each.refused < 0.5]
    lowest = (
        min(min(held) for held, _, _ in found),
        min(min(of) for _, curves, _ in found for of in curves.values()),
        min(min(each.errors) for each in answered),
        min(min(each.values) for each in answered),
        min(belt[0] for _, _, belt in found),
    )
    values, errors, errors_of_draws, values_of_draws, belt = (f"{100 * each:.1f}%" for each in lowest)
    finding = (
        f"The lowest coverage of values is {values}, of what comes from the curve {errors}; with groups or weights, "
        f"where at most half of the samples are refused, {values_of_draws} and {errors_of_draws}; of the belt {belt}."
    )
    return Reproduction("Coverage of the clinical panel", finding, body)


def _percents(shares: FloatArray) -> list[str]:
    return [_percent(each) for each in shares]


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100.0 * share:.1f}"


Found = tuple[FloatArray, dict[Curve, FloatArray], FloatArray]


def _coverage(name: str, n: int, most: int, samples: int, belts: int, resamples: int) -> Found:
    """Shares of samples whose intervals hold the truth: values, errors by curve, and of the belt three shares."""
    a, b, factor, intercept, slope, _ = _DESIGNS[name]
    truth = _truth(name)
    held = np.zeros(len(VALUES))
    curves: dict[Curve, FloatArray] = {"lowess": np.zeros(len(ERRORS)), "spline": np.zeros(len(ERRORS))}
    belt = np.zeros(3)
    for sample in range(most):
        rng = np.random.default_rng([n, sample, len(name)])
        v = factor * rng.beta(a, b, n)
        v = np.clip(v, 1e-9, 1.0 - 1e-9)
        p = expit(intercept + slope * logit(v))
        y = (rng.random(n) < p).astype(np.float64)
        if sample >= samples:
            panel = clinical_calibration(y, v, level=_LEVEL, n_resamples=_FEW, random_state=sample)
            held += values_within(panel, truth)
            continue
        for curve, errors in curves.items():
            panel = clinical_calibration(y, v, curve=curve, level=_LEVEL, n_resamples=resamples, random_state=sample)
            errors += within(panel, Cases.read(p, v), v, None)[0]
        held += values_within(panel, truth)
        if sample < belts and 1.0 < y.sum() < n - 1.0:
            found = calibration_belt(y, v, level=_LEVEL)
            line = expit(intercept + slope * logit(found.prediction))
            inside = (found.observed_lower <= line + 1e-9) & (line <= found.observed_upper + 1e-9)
            belt += [bool(inside.all()), found.reject, found.degree > 1]
    return held / most, {curve: errors / samples for curve, errors in curves.items()}, belt / belts


def _truth(name: str) -> tuple[float, ...]:
    """The population's values, by the predictions' quantiles."""
    a, b, factor, intercept, slope, _ = _DESIGNS[name]
    v = np.clip(factor * beta.ppf(_GRID, a, b), 1e-9, 1.0 - 1e-9)
    p = expit(intercept + slope * logit(v))
    large: Callable[[float], float] = lambda shift: float((p - expit(shift + logit(v))).mean())  # noqa: E731
    events, others = p / p.sum(), (1.0 - p) / (1.0 - p).sum()
    area = float(events @ (others.cumsum() - 0.5 * others))
    brier = float((p * (1.0 - v) ** 2 + (1.0 - p) * v**2).mean())
    return float(p.mean() / v.mean()), float(brentq(large, -20.0, 20.0)), slope, intercept, area, brier
