"""Panels, differences and gates of sampled, weighted, censored and grouped rows: how often they miss the truth."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr
from scipy.stats import rankdata

from calibrant.decisions.clinical import ClinicalCalibration, clinical_calibration
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.inference.bounds.gate import calibration_gate
from calibrant.inference.comparison.compare import compare_calibration
from calibrant.inference.testing.calibration import calibration_test
from calibrant.measures.lower import lower_calibration_distance
from calibrant.measures.smooth import smooth_calibration_error
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table
from calibrant_papers.weighted_levels import DESIGNS, Design, drawn, population

_LEVEL = 0.05
_REDRAWS = 99
_FEW = 39  # redrawn curves where only values are asked for
_BEND = 0.75  # of the log-odds, where there is a fault
_GROUP_BEND = 0.6
_ROWS = 300, 1_000
_LARGE = 200_000  # rows of a population whose values are taken as true
_SMALL = 4_000  # those of its lower distance
_SHIFT = 0.05  # of the predictions that the others are compared with
_VALUES = "O:E", "slope", "C-statistic", "Brier"
_AGAIN = 4  # times as many fresh samples of the worst lines, since the worst of many is partly chance
_CENSORED_MOST = 10.0  # weight: one over the default of least_followed

Grouped = Callable[[np.random.Generator], tuple[IntArray, FloatArray]]


def _like_risk(of_risk: float) -> Grouped:
    """300 groups, whose sizes depend on their risks."""

    def groups(rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        risk = rng.standard_normal(300)
        size = np.clip(np.exp(1.5 + of_risk * risk), 1, 60).astype(int)
        group = np.repeat(np.arange(300), size)
        return group, expit(-1.5 + risk[group] + 0.5 * rng.standard_normal(group.size))

    return groups


def _of_sizes(*sizes: tuple[int, int], odds: float = -1.0) -> Grouped:
    """Groups of fixed numbers and sizes."""
    of = np.concatenate([np.full(n, size) for n, size in sizes])
    group = np.repeat(np.arange(of.size), of)
    return lambda rng: (group, expit(odds + rng.standard_normal(group.size)))


def _rare_and_common(rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    group = np.repeat(np.arange(520), np.repeat([4, 100], [500, 20]))
    return group, np.concatenate([rng.uniform(0.2, 0.8, 2000), rng.uniform(0.02, 0.04, 2000)])


_HOSPITALS = (60 * (1 - (np.arange(40) + 0.5) / 40) ** -0.75).astype(int)
GROUPS: dict[str, Grouped] = {
    "40 hospitals, the largest ten times the least": _of_sizes(*((1, int(size)) for size in _HOSPITALS)),
    "500 of 4 common rows, 20 of 100 rare ones": _rare_and_common,
    "300 of 1 to 60, larger where risk is higher": _like_risk(0.8),
    "300 of 1 to 60, larger where risk is lower": _like_risk(-0.8),
    "3 of 1,000, 600 of 1": _of_sizes((3, 1000), (600, 1)),
    "1,000 of 3": _of_sizes((1000, 3)),
    "150 of 10, rare events": _of_sizes((150, 10), odds=-3.0),
}
_CORRELATION = 0.3  # of normal variables behind outcomes of a group


def row_origins(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Coverage of panels and differences, wrong ends of gates, levels by groups, and power beside complete rows."""
    draws, step, grouped = (2, 2, 1) if quick else (100, 25, 100)
    lines = [(design, n) for design in range(len(DESIGNS)) for n in _ROWS[: 1 if quick else None]]
    if quick:
        lines = lines[::5]
    cells = [(*line, bend, first, step) for line in lines for bend in (1.0, _BEND) for first in range(0, draws, step)]
    results = on_all_processors(_of_weights, cells)
    each = len(cells) // len(lines)
    pooled = np.reshape(results, (len(lines), each, -1)).sum(axis=1)
    names = list(GROUPS)[: 2 if quick else None]
    of_groups = on_all_processors(_of_groups, [(name, grouped) for name in names])

    panels, gates, missed = [], [], dict.fromkeys(_ROWS, (-1.0, 0, 0))
    wrong = 0.0
    for (index, n), sums in zip(lines, pooled, strict=True):
        design = DESIGNS[index]
        asked, answered, faulty, bounded = (float(sums[k]) for k in (0, 1, 8, 11))
        shares = _shares(sums)
        if answered >= 0.5 * asked and answered >= 100:
            missed[n] = max(missed[n], *((1.0 - share, index, k) for k, share in enumerate(shares)))
        found = [f"{sums[9] / faulty:.2f}" if faulty else "-", f"{2 * sums[10] / asked:.2f}"]
        panels.append([design.name, f"{n:,}", f"{1 - answered / asked:.2f}", *map(_shown, shares), *found])
        if bounded:
            ends = sums[12:14] / bounded
            wrong = max(wrong, float(ends.max()))
            gates.append(
                [design.name, f"{n:,}", *(f"{end:.3f}" for end in ends), *(f"{x / bounded:.3f}" for x in sums[14:])]
            )
    rejected = [(float(each[0]), name) for name, each in zip(names, of_groups, strict=True)]
    ends_of_groups = max(max(each[4:6]) for each in of_groups)
    worst_lines = {n: line for n, line in missed.items() if line[0] >= 0.0}
    told = " ".join(
        f"Of {n:,} rows: {share:.3f} ({_of_what(index, k)})." for n, (share, index, k) in worst_lines.items()
    )
    told = f"{told} {_drawn_again(worst_lines, draws, step)}" if told else "No line has 100 answers."
    body = (
        f"The {len(DESIGNS)} kinds of files are those of [levels](weighted-levels.md), and so are the words. A line has "
        f"{draws} calibrated samples, and {draws} whose true log-odds are {_BEND:g} times the predicted ones. Level "
        f"{_LEVEL:g}; the standard error of .95 is {math.sqrt(0.0475 / (2 * draws)):.3f}, "
        f"of {draws} samples {math.sqrt(0.0475 / draws):.3f}.\n\n"
        "## Panels and differences\n\n"
        "*Refused*: the panel refuses, of both kinds. Then shares whose intervals hold the population's value. "
        f"*Difference*: `compare_calibration` of smooth errors of the predictions and of those {_SHIFT:g} higher; "
        f"{_REDRAWS} resamples, a half of the samples. *Found*: the slope's interval lies below 1 where there is a "
        "fault. *Complete*: the same of as many unweighted rows of the population.\n\n"
        + table(["rows are", "rows", "refused", *_VALUES, "difference", "found", "complete"], panels)
        + "\nAims: from 1,000 rows on no interval misses in more than .08, of 300 in more than .11. The worst of lines "
        f"with 100 answers and at most half refused: {told}\n\n## Gates\n\n"
        'Files whose largest weight is known. *Low*, *high*: an end that the truth is beyond, so a false "beyond" or '
        '"within" at some limit. *Width*: mean, of both kinds; *complete*: that of as many unweighted rows.\n\n'
        + table(["rows are", "rows", "low wrong", "high wrong", "width", "complete"], gates)
        + f"\n## Groups\n\n{grouped} samples a line; outcomes of a group have normal variables with correlation "
        f"{_CORRELATION:g} behind them. *Rejected*: calibrated, by `calibration_test` ({_REDRAWS} resamples). *O:E*, "
        "*slope*: the panel's coverage. *Low*, *high*: as above, of calibrated samples and of such whose slope is "
        f"{_GROUP_BEND:g}; `max_weight` is the largest group. *Found*: of the latter, rejected. *Complete*: the same of "
        "independent rows of the same predictions.\n\n"
        + table(
            ["groups", "rejected", "panel refused", "O:E", "slope", "low wrong", "high wrong", "found", "complete"],
            [[name, *map(_shown, each)] for name, each in zip(names, of_groups, strict=True)],
        )
    )
    worst, whose = max(rejected)
    covered, of_whom = min(
        (min(each[2:4]), name) for name, each in zip(names, of_groups, strict=True) if not math.isnan(each[2])
    )
    finding = (
        f"This is the most that intervals of sampled, weighted and censored rows miss. {told} An end of a gate is wrong "
        f"in at most {max(wrong, ends_of_groups):.3f}. Of groups calibrated samples are rejected in at most {worst:.3f} "
        f"({whose}). Their level and slope are covered in at least {covered:.3f} ({of_whom})."
    )
    return Reproduction("Sampled, weighted, censored and grouped rows", finding, body)


def _shares(sums: FloatArray) -> list[float]:
    """Shares of intervals that hold the truth: four of the panel, and of differences."""
    asked = np.array([sums[1]] * len(_VALUES) + [sums[6]])
    held = np.array([*sums[2:6], sums[7]])
    return [float(each) for each in np.divide(held, asked, out=np.full(5, np.nan), where=asked > 0.0)]


def _shown(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.3f}"


def _of_what(index: int, k: int) -> str:
    return f"{(*_VALUES, 'difference')[k]}, {DESIGNS[index].name}"


def _drawn_again(lines: dict[int, tuple[float, int, int]], draws: int, step: int) -> str:
    """What fresh samples say of the worst lines."""
    cells = [
        (index, n, bend, first, step)
        for n, (_, index, _) in lines.items()
        for bend in (1.0, _BEND)
        for first in range(draws, (1 + _AGAIN) * draws, step)
    ]
    if not cells:
        return ""
    results = np.reshape(on_all_processors(_of_weights, cells), (len(lines), -1, 16)).sum(axis=1)
    fresh = [
        f"{1.0 - _shares(sums)[k]:.3f} of {n:,}" for sums, (n, (_, _, k)) in zip(results, lines.items(), strict=True)
    ]
    return f"They are the worst of many. In {2 * _AGAIN * draws} fresh samples of these lines it is {', '.join(fresh)} rows."


def _of_weights(index: int, n: int, bend: float, first: int, draws: int) -> FloatArray:
    """Sums over samples.

    Asked, answered by the panel, four that hold the truth; compared, and held; with a fault answered, found, found of
    complete rows; gates, low ends and high ends that are wrong, widths, and those of complete rows.
    """
    design = DESIGNS[index]
    values, difference, distance = _truth(design, bend)
    sums = np.zeros(16)
    for number in range(first, first + draws):
        rng = np.random.default_rng([zlib.crc32(design.name.encode()), n, int(100 * bend), number, 11])
        y, v, w = drawn(design, n, bend, rng)
        whole = population(design, n, bend, rng)[:2]
        sums[0] += 1
        options: dict[str, Any] = {"level": _LEVEL, "n_resamples": _FEW, "random_state": number}
        try:
            panel = clinical_calibration(y, v, sample_weight=w, **options)
        except InputError:
            panel = None
        if panel is not None:
            sums[1] += 1
            sums[2:6] += _held(panel, values)
        if bend != 1.0:
            if panel is not None:
                sums[8:10] += 1, panel.calibration_slope.interval.high < 1.0
            sums[10] += clinical_calibration(*whole, **options).calibration_slope.interval.high < 1.0
        if number % 2:
            options["n_resamples"] = _REDRAWS
            try:
                low, high = compare_calibration(y, v, _higher(v), sample_weight=w, **options).interval
            except InputError:
                pass
            else:
                sums[6:8] += 1, low <= difference <= high
        most = _most(design, w)
        if most is not None:
            limit: dict[str, Any] = {"max_distance": 0.1, "level": _LEVEL}
            low, high = calibration_gate(y, v, sample_weight=w, max_weight=most, **limit).lower_distance
            ends = calibration_gate(*whole, **limit).lower_distance
            sums[11:] += 1, low > distance + 1e-4, high < distance - 1e-4, high - low, ends.high - ends.low
    return sums


def _held(panel: ClinicalCalibration, values: tuple[float, ...]) -> list[bool]:
    of = panel.observed_expected, panel.calibration_slope, panel.c_statistic, panel.brier_score
    return [bool(each.interval.low <= true <= each.interval.high) for each, true in zip(of, values, strict=True)]


def _most(design: Design, w: FloatArray) -> float | None:
    """The most that a row can weigh; None where nothing bounds it."""
    if design.kind == "by outcome":
        return (1.0 + 1e-6) / min(design.share, design.events)
    if design.kind == "fixed counts":
        return float(w.max())
    return _CENSORED_MOST if design.kind == "censored" else None


def _higher(v: FloatArray) -> FloatArray:
    return np.clip(v + _SHIFT, 0.0, 1.0)


def _truth(design: Design, bend: float) -> tuple[tuple[float, ...], float, float]:
    """The population's values, difference of smooth errors, and lower distance."""
    v = population(design, _LARGE, 1.0, np.random.default_rng([7]))[1]
    p = expit(bend * logit(v))
    rank = rankdata(v)
    # AUC: the chance that an event is predicted higher, by ranks weighted with chances of both outcomes
    order = np.argsort(rank, kind="stable")
    below = np.cumsum((1.0 - p)[order]) - 0.5 * (1.0 - p)[order]
    area = float(p[order] @ below / (p.sum() * (1.0 - p).sum()))
    brier = float(np.mean(p * (1.0 - v) ** 2 + (1.0 - p) * v**2))
    difference = smooth_calibration_error(p, v) - smooth_calibration_error(p, _higher(v))
    few = v[:_SMALL]
    distance = 0.0 if bend == 1.0 else lower_calibration_distance(expit(bend * logit(few)), few, tol=1e-6)
    return (float(p.sum() / v.sum()), bend, area, brier), difference, distance


def _of_groups(name: str, draws: int) -> tuple[float, ...]:
    """Shares: rejected; refused by the panel, O:E and slope held; ends wrong; found, and of independent rows."""
    sums, panels = np.zeros(8), 0
    many = np.random.default_rng([7]).permutation(GROUPS[name](np.random.default_rng([8]))[1])[:_SMALL]
    distance = lower_calibration_distance(expit(_GROUP_BEND * logit(many)), many, tol=1e-6)
    for number in range(draws):
        rng = np.random.default_rng([zlib.crc32(name.encode()), number, 12])
        group, v = GROUPS[name](rng)
        n_groups = int(group.max()) + 1
        shared, own = rng.standard_normal(n_groups)[group], rng.standard_normal(group.size)
        below = ndtr(math.sqrt(_CORRELATION) * shared + math.sqrt(1.0 - _CORRELATION) * own)
        y, flat = below < v, below < expit(_GROUP_BEND * logit(v))
        alone = rng.random(v.size) < expit(_GROUP_BEND * logit(v))
        options: dict[str, Any] = {"level": _LEVEL, "n_resamples": _REDRAWS, "random_state": number}
        sums[0] += calibration_test(y, v, groups=group, **options).reject
        sums[6] += calibration_test(flat, v, groups=group, **options).reject
        sums[7] += calibration_test(alone, v, **options).reject
        limit: dict[str, Any] = {"groups": group, "max_weight": float(np.bincount(group).max()), "level": _LEVEL}
        sums[4] += calibration_gate(y, v, max_distance=0.1, **limit).lower_distance.low > 1e-4
        sums[5] += calibration_gate(flat, v, max_distance=0.1, **limit).lower_distance.high < distance - 1e-4
        try:
            panel = clinical_calibration(y, v, groups=group, **options | {"n_resamples": _FEW})
        except InputError:
            continue
        panels += 1
        held = [
            each.interval.low <= 1.0 <= each.interval.high
            for each in (panel.observed_expected, panel.calibration_slope)
        ]
        sums[2:4] += held
    shares = sums / draws
    shares[1] = 1.0 - panels / draws
    shares[2:4] = sums[2:4] / panels if panels else math.nan
    return tuple(shares.tolist())
