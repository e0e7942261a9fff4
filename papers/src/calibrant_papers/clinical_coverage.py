"""How often the intervals of the clinical panel hold the population's values, rare events and 200 rows included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr
from scipy.stats import beta

from calibrant.decisions.belt import calibration_belt
from calibrant.decisions.cases import Cases
from calibrant.decisions.clinical import ClinicalCalibration, Curve, clinical_calibration
from calibrant.decisions.flexible import fitted_places
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
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
        f"The lowest coverage of values is {values}, of what comes from the curve {errors}. With groups or weights, "
        f"where at most half of the samples are refused, it is {values_of_draws} and {errors_of_draws}. Of the belt "
        f"it is {belt}."
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


_FAR = 1000.0  # the largest weight over the smallest, where weights say so
_ANSWERED = 0.2  # share of the samples, below which too few are left to say how often they hold
_FEWER = 10  # one in so many is drawn, and weighs so much
VALUES = ("O:E", "in the large", "slope", "intercept", "C-statistic", "Brier")
ERRORS = ("ICI", "E50", "E90", "Emax", "band")
Weights = Literal["none", "even", "log-normal", "thousands", "rising", "falling", "all events", "all others"]


@dataclass(frozen=True, slots=True)
class Draws:
    """A population, and how rows are drawn from it.

    Attributes
    ----------
    rows, groups : int
        How many; where there are groups, rows are the mean number in each.
    sizes : {"equal", "5 to 30", "log-normal"}
        Of groups.
    correlation : float
        Of the normal variables behind the outcomes of a group.
    shared : bool
        Whether a group has one prediction.
    weights : str
        Even between a half and 3/2; log-normal; over a thousand times, at random or with the prediction; or those of a
        sample with one in ten of the other rows, or of the events.
    spread : float
        Standard deviation of the logarithm of log-normal weights, or of groups' sizes.
    a, b, factor : float
        Predictions are beta(a, b) times a factor.
    steps : int
        Predictions are rounded to so many; 0 for none.
    intercept, slope : float
        Of the log-odds of the true chance.
    curve : {"lowess", "spline"}
    """

    rows: int
    groups: int = 0
    sizes: Literal["equal", "5 to 30", "log-normal"] = "equal"
    correlation: float = 0.1
    shared: bool = False
    weights: Weights = "none"
    spread: float = 1.0
    a: float = 1.0
    b: float = 1.0
    factor: float = 1.0
    steps: int = 0
    intercept: float = 0.0
    slope: float = 1.0
    curve: Literal["lowess", "spline"] = "lowess"

    def chance(self, v: FloatArray) -> FloatArray:
        """Of an event, at a prediction."""
        if (self.intercept, self.slope) == (0.0, 1.0):
            return v
        return np.asarray(expit(self.intercept + self.slope * logit(np.clip(v, 1e-12, 1.0 - 1e-12))))

    def prediction(self, v: FloatArray) -> FloatArray:
        """Of a beta variable."""
        return np.asarray(self.factor * (np.round(self.steps * v) / self.steps if self.steps else v))

    def weight(self, v: FloatArray) -> FloatArray:
        """Of a prediction, in the population."""
        rises = {"rising": 1.0, "falling": -1.0}.get(self.weights, 0.0)
        return np.asarray(_FAR ** (rises * v / self.factor))

    def drawn(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
        """Outcomes, predictions, true chances, weights and groups."""
        unit = np.arange(self.rows)
        if self.groups:
            size = np.full(self.groups, self.rows)
            if self.sizes == "5 to 30":
                size = rng.integers(5, 31, self.groups)
            elif self.sizes == "log-normal":
                size = np.maximum(1, np.round(rng.lognormal(np.log(self.rows), self.spread, self.groups))).astype(int)
            unit = np.repeat(np.arange(self.groups), size)
        n = unit.size
        base = rng.beta(self.a, self.b, self.groups)[unit] if self.shared else rng.beta(self.a, self.b, n)
        v = self.prediction(base)
        p = self.chance(v)
        if self.groups:
            common = np.sqrt(self.correlation) * rng.standard_normal(self.groups)[unit]
            y = (ndtr(common + np.sqrt(1.0 - self.correlation) * rng.standard_normal(n)) < p).astype(np.float64)
        else:
            y = (rng.random(n) < p).astype(np.float64)
        w = self.weight(v)
        if self.weights == "even":
            w = rng.uniform(0.5, 1.5, n)
        elif self.weights == "log-normal":
            w = rng.lognormal(0.0, self.spread, n)
        elif self.weights == "thousands":
            w = _FAR ** rng.random(n)
        elif self.weights in ("all events", "all others"):
            whole = y == (1.0 if self.weights == "all events" else 0.0)
            w = np.where(whole, 1.0, float(_FEWER))
            kept = whole | (rng.random(n) * _FEWER < 1.0)
            y, v, p, w, unit = y[kept], v[kept], p[kept], w[kept], unit[kept]
        return y, v, p, w, unit

    def truth(self) -> tuple[float, ...]:
        """The population's values, by the predictions' quantiles."""
        v = self.prediction(beta.ppf(_GRID, self.a, self.b))
        p, w = self.chance(v), self.weight(v)
        w = w / w.sum()
        order = np.argsort(v, kind="stable")
        odds = logit(np.clip(v, 1e-12, 1.0 - 1e-12))
        large = brentq(lambda shift: float(w @ (p - expit(shift + odds))), -20.0, 20.0)
        events, others = (w * p)[order], (w * (1.0 - p))[order]
        _, which = np.unique(v[order], return_inverse=True)
        event, other = np.bincount(which, events), np.bincount(which, others)
        area = float(event @ (other.cumsum() - 0.5 * other)) / (event.sum() * other.sum())
        brier = float(w @ (p * (1.0 - v) ** 2 + (1.0 - p) * v**2))
        return float(w @ p / (w @ v)), float(large), self.slope, self.intercept, area, brier


DRAWS: dict[str, Draws] = {
    "40 groups of 15": Draws(15, 40),
    "40 groups of 15, spline": Draws(15, 40, curve="spline"),
    "40 groups of 15, correlation 0.3, slope 0.6, intercept 0.2": Draws(
        15, 40, correlation=0.3, slope=0.6, intercept=0.2
    ),
    "40 groups of 5, correlation 0.3": Draws(5, 40, correlation=0.3),
    "40 groups of 15, one prediction each, correlation 0.3": Draws(15, 40, correlation=0.3, shared=True),
    "40 groups of 15, six predictions": Draws(15, 40, steps=5),
    "60 groups, sizes log-normal (0.8), correlation 0.3": Draws(8, 60, sizes="log-normal", spread=0.8, correlation=0.3),
    "150 groups, sizes log-normal (1.2)": Draws(10, 150, sizes="log-normal", spread=1.2),
    "150 groups, sizes log-normal (1.2), spline": Draws(10, 150, sizes="log-normal", spread=1.2, curve="spline"),
    "100 groups of 5 to 30, intercept 0.4": Draws(0, 100, sizes="5 to 30", intercept=0.4),
    "100 groups of 5 to 30, up to 10%, correlation 0.3": Draws(0, 100, sizes="5 to 30", factor=0.1, correlation=0.3),
    "300 groups of 5 to 30, up to 4%": Draws(0, 300, sizes="5 to 30", factor=0.04),
    "300 groups of 5 to 30, correlation 0.3, slope 0.6": Draws(0, 300, sizes="5 to 30", correlation=0.3, slope=0.6),
    "200 rows, weights 0.5 to 1.5": Draws(200, weights="even"),
    "200 rows, weights log-normal (1), intercept 0.5": Draws(200, weights="log-normal", intercept=0.5),
    "200 rows, weights log-normal (1.5)": Draws(200, weights="log-normal", spread=1.5),
    "600 rows, weights log-normal (1.15)": Draws(600, weights="log-normal", spread=1.15),
    "600 rows, weights log-normal (1.15), spline": Draws(600, weights="log-normal", spread=1.15, curve="spline"),
    "300 rows of beta(0.3, 0.3), weights log-normal (1)": Draws(300, weights="log-normal", a=0.3, b=0.3),
    "1,000 rows, weights log-normal (1), slope 0.6": Draws(1000, weights="log-normal", slope=0.6),
    "1,000 rows, weights over 1,000 times": Draws(1000, weights="thousands"),
    "1,000 rows, weights rising with the prediction": Draws(1000, weights="rising"),
    "1,000 rows, weights falling with it": Draws(1000, weights="falling"),
    "3,000 rows up to 20%, one in 10 without the event kept": Draws(3000, weights="all events", factor=0.2),
    "1,000 rows, one in 10 events kept": Draws(1000, weights="all others"),
    "1,000 rows up to 4%, weights log-normal (1)": Draws(1000, weights="log-normal", factor=0.04),
    "2,500 rows up to 4%, weights log-normal (1)": Draws(2500, weights="log-normal", factor=0.04),
    "5,000 rows up to 4%, weights log-normal (1)": Draws(5000, weights="log-normal", factor=0.04),
    "100 groups of 15, one prediction each, correlation 0.3": Draws(15, 100, correlation=0.3, shared=True),
    "600 rows of six predictions, weights log-normal (1)": Draws(600, weights="log-normal", steps=5),
}
"""Weights rising and falling are 1,000 to the power of the prediction, or of minus it."""


@dataclass(frozen=True, slots=True)
class Held:
    """Of samples that were not refused: shares whose intervals hold the truth, and mean widths; NaN of too few."""

    refused: float
    values: FloatArray
    errors: FloatArray
    widths: FloatArray
    true: FloatArray


def coverage_of_draws(name: str, samples: int, resamples: int, level: float) -> Held:
    """Draw, ask for the panel, and compare."""
    design = DRAWS[name]
    truth = design.truth()
    number = list(DRAWS).index(name)
    found: list[tuple[list[bool], list[bool], list[float], tuple[float, ...]]] = []
    for sample in range(samples):
        y, v, p, w, unit = design.drawn(np.random.default_rng([sample, number]))
        weight = None if design.weights == "none" else w
        groups = unit if design.groups else None
        try:
            panel = clinical_calibration(
                y,
                v,
                sample_weight=weight,
                groups=groups,
                curve=design.curve,
                level=level,
                n_resamples=resamples,
                random_state=sample,
            )
        except InputError:
            continue
        values = values_within(panel, truth)
        errors, true = within(panel, Cases.read(p, v, weight), v, weight)
        widths = [each.interval.width for each in (panel.ici, panel.e50, panel.e90, panel.emax)]
        found.append((values, errors, widths, true))
    refused = 1.0 - len(found) / samples
    if len(found) < _ANSWERED * samples:
        return Held(refused, *(np.full(k, np.nan) for k in (len(VALUES), len(ERRORS), 4, 4)))
    return Held(refused, *(np.array(each, dtype=np.float64).mean(axis=0) for each in zip(*found, strict=True)))


def values_within(panel: ClinicalCalibration, truth: tuple[float, ...]) -> list[bool]:
    """Whether the intervals of the six values hold the truth."""
    of = (
        panel.observed_expected,
        panel.in_the_large,
        panel.calibration_slope,
        panel.calibration_intercept,
        panel.c_statistic,
        panel.brier_score,
    )
    return [bool(each.interval.low <= value <= each.interval.high) for each, value in zip(of, truth, strict=True)]


def within(
    panel: ClinicalCalibration, chances: Cases, v: FloatArray, weight: FloatArray | None
) -> tuple[list[bool], tuple[float, ...]]:
    """Whether the four errors' intervals and the band hold what the curve of the true chances gives; and those errors."""
    places, drawn = fitted_places(chances, panel.curve == "spline")
    error = np.abs(np.interp(v, places, drawn) - v)
    w = np.ones(v.size) if weight is None else weight
    order = np.argsort(error)
    below = w[order].cumsum() / w.sum()

    def quantile(q: float) -> float:
        if weight is None:
            return float(np.quantile(error, q))
        return float(error[order][min(int(np.searchsorted(below, q * (1.0 - 1e-12))), v.size - 1)])

    true = (float(w @ error / w.sum()), quantile(0.5), quantile(0.9), float(error.max()))
    held = [
        bool(each.interval.low - 1e-9 <= value <= each.interval.high + 1e-9)
        for each, value in zip((panel.ici, panel.e50, panel.e90, panel.emax), true, strict=True)
    ]
    chance = np.clip(drawn, 0.0, 1.0)
    inside = (panel.observed_lower - 1e-9 <= chance) & (chance <= panel.observed_upper + 1e-9)
    return [*held, bool(inside.all())], true
