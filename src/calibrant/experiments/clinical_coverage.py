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
from calibrant.decisions.clinical import clinical_calibration
from calibrant.decisions.smoothed import fitted_places
from calibrant.door.columns import FloatArray
from calibrant.experiments.processors import on_all_processors
from calibrant.experiments.registry import Reproduction, table

_LEVEL = 0.05
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
_VALUES = ("O:E", "in the large", "slope", "intercept", "C-statistic", "Brier")
_ERRORS = ("ICI", "E50", "E90", "Emax", "band")


def clinical_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Coverage of every interval of `clinical_calibration`, of both curves, and of the belt."""
    samples, belts, resamples = (3, 2, 39) if quick else (300, 100, 199)
    cells = [(name, n) for name, design in _DESIGNS.items() for n in design[-1][: 1 if quick else None]]
    found = on_all_processors(_coverage, [(*cell, samples, belts, resamples) for cell in cells])
    first, second, third = [], [], []
    for (name, n), (held, curves, belt) in zip(cells, found, strict=True):
        first.append([name, f"{n:,}", *(_percent(each) for each in held)])
        second += [[name, f"{n:,}", curve, *(_percent(each) for each in of)] for curve, of in curves.items()]
        third.append([name, f"{n:,}", _percent(belt[0]), _percent(belt[1]), _percent(belt[2])])
    error = np.sqrt(_LEVEL * (1.0 - _LEVEL) / samples)
    body = (
        f"Nominal 95%; {samples} samples a line (standard error {100 * error:.1f} points), {belts} of belts, {resamples} "
        "redrawn curves. Predictions are calibrated where no slope is said.\n\n## Values\n\n"
        + table(["predictions", "rows", *_VALUES], first)
        + "\nTruth is the population's value.\n\n"
        "## Errors read off the curve\n\n"
        + table(["predictions", "rows", "curve", *_ERRORS], second)
        + "\nTruth is what the curve would be of the true chances at these predictions. The band holds it at all places "
        "together. Above 95% is on purpose: E50, E90 and Emax are read off the whole band, so that they are not wrong "
        "near 0.\n\n## The calibration belt\n\n"
        + table(["predictions", "rows", "belt holds the true curve", "rejected", "degree above 1"], third)
        + "\nAt all 61 places. In each design the true curve is a line in the log-odds.\n"
    )
    values = min(min(held) for held, _, _ in found)
    errors = min(min(of) for _, curves, _ in found for of in curves.values())
    finding = (
        f"The lowest coverage of values is {100 * values:.1f}%, of what is read off the curve {100 * errors:.1f}%, of the "
        f"belt {100 * min(belt[0] for _, _, belt in found):.1f}%."
    )
    return Reproduction("Coverage of the clinical panel", finding, body)


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}"


Found = tuple[FloatArray, dict[str, FloatArray], FloatArray]


def _coverage(name: str, n: int, samples: int, belts: int, resamples: int) -> Found:
    """Shares of samples whose intervals hold the truth: values, errors by curve, and of the belt three shares."""
    a, b, factor, intercept, slope, _ = _DESIGNS[name]
    truth = _truth(name)
    held = np.zeros(len(_VALUES))
    curves = {curve: np.zeros(len(_ERRORS)) for curve in ("lowess", "spline")}
    belt = np.zeros(3)
    for sample in range(samples):
        rng = np.random.default_rng([n, sample, len(name)])
        v = factor * rng.beta(a, b, n)
        v = np.clip(v, 1e-9, 1.0 - 1e-9)
        p = expit(intercept + slope * logit(v))
        y = (rng.random(n) < p).astype(np.float64)
        options = {"level": _LEVEL, "n_resamples": resamples, "random_state": sample}
        for curve, errors in curves.items():
            panel = clinical_calibration(y, v, curve=curve, **options)  # type: ignore[arg-type]
            places, drawn = fitted_places(Cases.read(p, v), curve == "spline")
            error = np.abs(np.interp(v, places, drawn) - v)
            true = (error.mean(), *(np.quantile(error, share) for share in (0.5, 0.9)), error.max())
            within = [
                low - 1e-12 <= value <= high + 1e-12
                for value, (low, high) in zip(
                    true, (each.interval for each in (panel.ici, panel.e50, panel.e90, panel.emax)), strict=True
                )
            ]
            inside = (panel.observed_lower - 1e-9 <= drawn) & (drawn <= panel.observed_upper + 1e-9)
            errors += [*within, bool(inside.all())]
        of = (
            panel.observed_expected,
            panel.in_the_large,
            panel.calibration_slope,
            panel.calibration_intercept,
            panel.c_statistic,
            panel.brier_score,
        )
        held += [each.interval.low <= value <= each.interval.high for each, value in zip(of, truth, strict=True)]
        if sample < belts and 1.0 < y.sum() < n - 1.0:
            found = calibration_belt(y, v, level=_LEVEL)
            line = expit(intercept + slope * logit(found.prediction))
            inside = (found.observed_lower <= line + 1e-9) & (line <= found.observed_upper + 1e-9)
            belt += [bool(inside.all()), found.reject, found.degree > 1]
    return held / samples, {curve: errors / samples for curve, errors in curves.items()}, belt / belts


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
