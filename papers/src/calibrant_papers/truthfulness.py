"""Who looks better calibrated by not saying what he knows: mean errors of other reports than the chances themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.sample import Sample
from calibrant.measures.registry import measures
from calibrant.measures.two_bin import squared_averaged_two_bin_error, two_bin_error_from_sample
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_SQUARED, _DEBIASED, _ROOT = "squared averaged two-bin error", "the same, debiased", "its root (norm l2)"
_SLOW = ("lower_calibration_distance", "convolved_calibration_error")
_FEWEST = 10  # rows up to which all outcomes are gone through
_ERRORS = 4.0  # standard errors below the truth's mean that are worth naming among eight reports


def _middles(n: int) -> FloatArray:
    return np.asarray((np.arange(n) + 0.5) / n)


_DESIGNS: dict[str, Callable[[int], FloatArray]] = {
    "uniform": _middles,
    "rare, beta(1, 19)": lambda n: 1.0 - (1.0 - _middles(n)) ** (1.0 / 19.0),
    "five values, 0.1 to 0.9": lambda n: np.asarray(0.1 + 0.2 * (np.arange(n) % 5), dtype=np.float64),
}


def _sharpened(p: FloatArray) -> FloatArray:
    return p**1.25 / (p**1.25 + (1.0 - p) ** 1.25)


def _means_of_five(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    means = np.concatenate([np.full(part.size, p[part].mean()) for part in np.array_split(order, 5)])
    return means[np.argsort(order)]


_REPORTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "the chances": lambda p: p,
    "their mean": lambda p: np.full(p.size, p.mean()),
    "means of fifths": _means_of_five,
    "rounded to tenths": lambda p: np.round(p, 1),
    "a tenth nearer the mean": lambda p: 0.9 * p + 0.1 * p.mean(),
    "half-way to the mean": lambda p: 0.5 * p + 0.5 * p.mean(),
    "log-odds times 1.25": _sharpened,
    "a tenth lower": lambda p: 0.9 * p,
    "0.02 up and down by turns": lambda p: np.clip(p + np.where(np.arange(p.size) % 2, 0.02, -0.02), 0.0, 1.0),
}


def _judges(slow: bool) -> dict[str, Callable[[Sample], float]]:
    judges: dict[str, Callable[[Sample], float]] = {
        name: partial(measure.on_sample, **{**measure.parameters, **measure.when_resampled})
        for name, measure in measures().items()
        if (name in _SLOW) == slow
    }
    return judges if slow else {**judges, _ROOT: partial(two_bin_error_from_sample, norm="l2")}


def truthfulness(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Which reports lower the mean of each measure below that of the chances themselves, and by how much."""
    sizes = (6, 30) if quick else (10, 30, 100, 300, 1000)
    draws, slow = (10, 4) if quick else (200, 40)
    cells = [(design, n, slow if each else draws, each) for design in _DESIGNS for n in sizes for each in (False, True)]
    found = dict(zip(cells, on_all_processors(_gains, cells), strict=True))
    body, most, squared = [], dict.fromkeys(_DESIGNS, 0.0), 0.0
    for design in _DESIGNS:
        by_size = []
        for n in sizes:
            gains = {
                name: each for cell, part in found.items() if cell[:2] == (design, n) for name, each in part.items()
            }
            by_size.append({**gains, **_exactly(design, n)})
        rows = [
            [name.replace("_", " "), *(_said(at[name]) for at in by_size)]
            for name in [*measures(), _SQUARED, _DEBIASED, _ROOT]
        ]
        squared = max(squared, *(gain for at in by_size for gain, _ in at[_SQUARED].values()))
        most[design] = max(gain for name in measures() for gain, _ in by_size[-1][name].values())
        body.append(f"## {design.capitalize()}\n\n" + table(["measure", *(f"{n:,} rows" for n in sizes)], rows))
    low, high = min(most.values()), max(most.values())
    finding = (
        ("No report lowers" if squared < 1e-12 else f"A report lowers by {squared:.2%}")
        + " the mean of the squared averaged two-bin error. The measure that most rewards another report falls "
        f"by {low:.0%} to {high:.0%} at {sizes[-1]:,} rows, by design."
    )
    about = (
        "The forecaster knows the probability of every row. A cell names the report that brings the mean of the "
        "measure furthest below that of the true probabilities, less four standard errors. Then come by how much of "
        f"it, and a standard error. Up to {_FEWEST} rows all outcomes are enumerated, above them {draws:,} draws, the "
        f"same ones for every report. The lower distance and the convolved error, which are slow, have {slow} draws "
        "at any size. The squared error's means are exact at any size "
        "([why](../two-bin.md#nobody-gains-by-another-report)). Debiased, the truth's mean is 0, and the gain is in "
        f"shares of the mean of the default form.\n\nReports: {'; '.join(list(_REPORTS)[1:6])}. Others: "
        f"{'; '.join(list(_REPORTS)[6:])}.\n\n"
    )
    return Reproduction("Which reports look better calibrated than the truth", finding, about + "\n".join(body))


Gains = Mapping[str, tuple[float, float]]
"""By report: share of the truth's mean by which its own is lower, and a standard error."""


def _gains(design: str, n: int, draws: int, slow: bool) -> dict[str, Gains]:
    p = _DESIGNS[design](n)
    reports = {name: report(p) for name, report in _REPORTS.items()}
    if n <= _FEWEST and not slow:
        outcomes = np.array(list(product((0.0, 1.0), repeat=n)))
        weight = np.where(outcomes == 1.0, p, 1.0 - p).prod(axis=1)
    else:
        outcomes = np.array([np.random.default_rng([n, k]).random(n) < p for k in range(draws)], dtype=np.float64)
        weight = np.full(draws, 1.0 / draws)
    judges = _judges(slow)
    values = np.empty((len(reports), len(judges), outcomes.shape[0]))
    for i, v in enumerate(reports.values()):
        for k, y in enumerate(outcomes):
            sample = Sample.from_columns(y, v)
            values[i, :, k] = [judge(sample) for judge in judges.values()]
    truth = values[0] @ weight
    lower = values[0] - values[1:]
    gain, spread = lower @ weight, lower.std(axis=2, ddof=1) / math.sqrt(draws)
    exact = n <= _FEWEST and not slow
    return {
        name: {
            report: (gain[i, j] / truth[j], 0.0 if exact else spread[i, j] / truth[j])
            for i, report in enumerate(list(reports)[1:])
        }
        for j, name in enumerate(judges)
    }


def _exactly(design: str, n: int) -> dict[str, Gains]:
    """The squared errors, whose mean is the noise and what the chances in place of outcomes would have."""
    p = _DESIGNS[design](n)
    noise = float((p * (1.0 - p)).sum()) / n**2
    plain, debiased = {}, {}
    for name, report in list(_REPORTS.items())[1:]:
        v = report(p)
        bias = squared_averaged_two_bin_error(p, v)
        own = float(((p - v) ** 2).sum()) / n**2
        plain[name] = -bias / noise, 0.0
        debiased[name] = -(bias - own) * n / (n - 1) / noise, 0.0
    return {_SQUARED: plain, _DEBIASED: debiased}


def _said(gains: Gains) -> str:
    name, (gain, error) = max(gains.items(), key=lambda item: item[1][0] - _ERRORS * item[1][1])
    if gain - _ERRORS * error <= 1e-9:
        return "none"
    return f"{name}: {gain:.1%}" + (f" ± {error:.1%}" if error else "")
