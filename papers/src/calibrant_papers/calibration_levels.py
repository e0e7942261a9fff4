"""How often tests reject calibrated predictions, where that is hardest to get right: few rows, weights, groups."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import binomtest

from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.rows import INDEPENDENT, Rows
from calibrant.drift.periods import calibration_drift
from calibrant.inference.testing.calibration import calibration_test, test_lots
from calibrant.inference.testing.classical import cox_test, hosmer_lemeshow_test, spiegelhalter_test
from calibrant.inference.testing.components import lots_of_rows, pooled_into_cells
from calibrant.inference.testing.distance import (
    averaged_two_bin_test,
    cumulative_calibration_test,
    kernel_calibration_test,
    smooth_calibration_test,
)
from calibrant.inference.testing.result import TestResult
from calibrant.inference.testing.tcal import tcal_test
from calibrant.segments.by_column import calibration_by_segment
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

Draw = Callable[[np.random.Generator, int], FloatArray]

_LEVEL = 0.05
_DESIGNS: dict[str, tuple[int, Draw]] = {
    "uniform": (20, lambda rng, n: rng.random(n)),
    "uniform, more rows": (500, lambda rng, n: rng.random(n)),
    "all 0.001": (500, lambda _rng, n: np.full(n, 1e-3)),
    "rare, beta(.2, 50)": (2000, lambda rng, n: rng.beta(0.2, 50.0, n)),
    "beta(.05, .05)": (500, lambda rng, n: rng.beta(0.05, 0.05, n)),
    "two in five at 0 or 1": (500, lambda rng, n: np.where(rng.random(n) < 0.4, rng.random(n) < 0.5, rng.random(n))),
    "five values": (200, lambda rng, n: rng.choice([0.01, 0.1, 0.5, 0.9, 0.99], n)),
}
_ROWS = ("unweighted", "weights over 1,000 times", "trials from 1 to 10,000", "16,384 cells")

_MEANS: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.random(n),
    "uniform, one per group": lambda rng, n: rng.random(n),
    "mean 20%, beta(2, 8)": lambda rng, n: rng.beta(2.0, 8.0, n),
    "mean 5%, beta(1, 19)": lambda rng, n: rng.beta(1.0, 19.0, n),
    "mean 1%, beta(1, 99)": lambda rng, n: rng.beta(1.0, 99.0, n),
}
_GROUPED = (
    # groups, rows in each (0: 1 to 40, different), latent correlation, predictions
    (200, 10, 0.3, "uniform"),
    (200, 10, 0.9, "uniform"),
    (200, 10, 0.3, "uniform, one per group"),
    (60, 50, 0.3, "uniform"),
    (200, 0, 0.3, "uniform"),
    (200, 10, 0.3, "mean 20%, beta(2, 8)"),
    (200, 10, 0.3, "mean 5%, beta(1, 19)"),
    (200, 10, 0.3, "mean 1%, beta(1, 99)"),
    (1000, 10, 0.3, "mean 1%, beta(1, 99)"),
    (100, 100, 0.3, "mean 1%, beta(1, 99)"),
    (300, 100, 0.3, "mean 1%, beta(1, 99)"),
)
_TESTS: dict[str, Callable[..., TestResult]] = {
    "calibration test": calibration_test,
    "smooth": smooth_calibration_test,
    "kernel": kernel_calibration_test,
    "two-bin": averaged_two_bin_test,
    "Kuiper": cumulative_calibration_test,
    "Kolmogorov-Smirnov": partial(cumulative_calibration_test, form="kolmogorov-smirnov"),
    "Cox": cox_test,
    "Hosmer-Lemeshow": hosmer_lemeshow_test,
    "Spiegelhalter": spiegelhalter_test,
    "T-Cal": tcal_test,
}
_PARTS = (
    # what is asked, parts, whether a group lies in one part, predictions
    ("segments", 8, False, "uniform"),
    ("segments", 8, True, "uniform"),
    ("segments", 8, False, "mean 20%, beta(2, 8)"),
    ("segments", 2, False, "mean 5%, beta(1, 19)"),
    ("drift", 1, True, "uniform"),
    ("drift", 20, False, "uniform"),
    ("drift", 20, True, "uniform"),
    ("drift", 5, False, "mean 20%, beta(2, 8)"),
    ("drift", 5, False, "mean 5%, beta(1, 19)"),
)
_EVERY = ("weights over 1,000 times", "trials from 1 to 10,000", "200 groups of 10, correlation .3")


def levels(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Share of calibrated samples that are rejected."""
    trials = 2 if quick else 500
    single = [(design, rows, trials) for design in _DESIGNS for rows in _ROWS]
    grouped = [(*group, trials) for group in _GROUPED]
    grouped.append((100, 20, -0.8, "uniform", trials))
    every = [(name, rows, 1 if quick else 300) for name in _TESTS for rows in _EVERY]
    cells = [("single", *cell) for cell in single] + [("grouped", *cell) for cell in grouped]
    cells += [("every", *cell) for cell in every]
    parts = [(*part, 1 if quick else trials) for part in _PARTS]
    found = on_all_processors(_run, cells + [("parts", *part) for part in parts])
    of_single, of_grouped = found[: len(single)], found[len(single) : len(single) + len(grouped)]
    of_every, of_parts = found[len(single) + len(grouped) : len(cells)], found[len(cells) :]

    judged = [(rejected, trials) for rejected, _ in of_single] + [(rejected, trials) for rejected, _ in of_grouped]
    judged += [(rejected, many) for rejected, (_, _, many) in zip(of_every, every, strict=True)]
    judged += [(rejected, part[-1]) for (rejected, _), part in zip(of_parts, parts, strict=True)]
    over = sum(_interval(rejected, many)[0] > _LEVEL for rejected, many in judged)
    first = [
        [design, f"{_DESIGNS[design][0]:,}", rows, _said(rejected, trials), f"{pooling:.1g}" if pooling else "-"]
        for (design, rows, _), (rejected, pooling) in zip(single, of_single, strict=True)
    ]
    second = [
        [
            *_words(*cell[:4]),
            _said(rejected, trials),
            f"{as_rows / trials:.2f}",
        ]
        for cell, (rejected, as_rows) in zip(grouped, of_grouped, strict=True)
    ]
    parted = [
        [
            what,
            f"{number:,}",
            "in one part" if within else "in any parts",
            predictions,
            _said(rejected, many),
            f"{as_rows / many:.2f}",
        ]
        for (what, number, within, predictions, many), (rejected, as_rows) in zip(parts, of_parts, strict=True)
    ]
    third = [
        [name, *(_said(r, cell[2]) for cell, r in zip(every, of_every, strict=True) if cell[0] == name)]
        for name in _TESTS
    ]
    body = (
        f"Nominal level {_LEVEL}; {trials:,} samples per line, each drawn from its own predictions, 99 resamples; exact "
        "99% intervals. If few outcomes are possible the level is not reached. Rows in cells are pooled although they "
        "are few: the last column is the largest bound on what that adds.\n\n"
        + table(["predictions", "rows", "drawn how", "rejected", "pooling adds at most"], first)
        + "\n## Rows that depend on one another\n\nOutcomes of a group share a normal effect, so that each row has its "
        "stated probability and any two of a group the latent correlation. For forecasts in time the effect is "
        "autocorrelated (correlation .8), and runs of 20 are the groups. These depend on one another a little "
        "where they meet. Rows whose groups are too few for signs have a bound (docs/calibration-test.md). The last "
        "column is what the same test rejects if it takes rows to be independent.\n\n"
        + table(
            ["groups", "latent correlation", "predictions", "rejected", "rejected as rows"],
            second,
        )
        + "\n## Segments and drift, by group\n\n200 groups of 10, latent correlation .3. Rejected: any segment "
        "(`calibration_by_segment`), or any period (`calibration_drift`). A group's rows lie in one part, or each in any.\n\n"
        + table(["what", "parts", "a group's rows", "predictions", "rejected", "rejected as rows"], parted)
        + f"\n## Every test\n\nUniform predictions; {every[0][2]:,} samples per cell, of 300 weighted rows, of 100 rows of "
        "trials and of 200 groups of 10.\n\n" + table(["test", *_EVERY], third)
    )
    finding = f"{over} of {len(judged)} settings are significantly above the level."
    return Reproduction("Calibrated predictions rejected, for rows of every kind", finding, body)


def _interval(rejected: int, trials: int) -> tuple[float, float]:
    low, high = binomtest(rejected, trials).proportion_ci(0.99, "exact")
    return float(low), float(high)


def _said(rejected: int, trials: int) -> str:
    low, high = _interval(rejected, trials)
    return f"{rejected / trials:.3f} [{low:.3f}, {high:.3f}]"


def _words(groups: int, size: int, correlation: float, predictions: str) -> list[str]:
    if correlation < 0.0:
        return [f"{groups * size:,} in time, as {groups} of {size}", f"{-correlation:g} to the next", predictions]
    return [f"{groups:,} of {size or '1 to 40'}", f"{correlation:g}", predictions]


def _run(kind: str, *cell: Any) -> Any:
    kinds: dict[str, Callable[..., Any]] = {"single": _rejected, "grouped": _grouped, "every": _of_every}
    kinds["parts"] = _in_parts
    return kinds[kind](*cell)


def _rejected(design: str, rows: str, trials: int) -> tuple[int, float]:
    n, draw = _DESIGNS[design]
    rejected, pooling = 0, 0.0
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        v = draw(rng, n).astype(np.float64)
        if rows == _ROWS[3]:
            y = (rng.random(n) < v).astype(np.float64)
            units = pooled_into_cells(lots_of_rows(Rows.of(y, v)))
            pooling = max(pooling, units.pooling)
            rejected += test_lots(units, _LEVEL, 99, trial, INDEPENDENT, None, by_tail=True).reject
            continue
        y_true, given = _drawn(rng, v, rows)
        rejected += calibration_test(y_true, v, **given, n_resamples=99, random_state=trial).reject
    return rejected, pooling


def _drawn(rng: np.random.Generator, v: FloatArray, rows: str) -> tuple[FloatArray, dict[str, Any]]:
    """Outcomes of calibrated predictions, and what else is told of the rows."""
    if rows == _ROWS[2]:
        count = np.floor(10.0 ** (4.0 * rng.random(v.size)))
        return rng.binomial(count.astype(np.int64), v) / count, {"trials": count}
    y = (rng.random(v.size) < v).astype(np.float64)
    weights = {"sample_weight": 10.0 ** (3.0 * rng.random(v.size)), "outcome_free_weights": True}
    return y, weights if rows == _ROWS[1] else {}


def _in_groups(
    rng: np.random.Generator, groups: int, size: int, correlation: float, draw: Draw
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Outcomes, predictions and groups; a correlation below 0 is that of each row with the next."""
    group = np.repeat(np.arange(groups), size if size else rng.integers(1, 41, groups))
    alike = draw is _MEANS["uniform, one per group"]
    v = draw(rng, groups)[group] if alike else draw(rng, group.size)
    own = rng.standard_normal(group.size)
    if correlation < 0.0:
        from scipy.signal import lfilter

        rest = np.sqrt(1.0 - correlation**2)
        latent = lfilter([rest], [1.0, correlation], np.concatenate([[own[0] / rest], own[1:]]))
    else:
        latent = np.sqrt(correlation) * rng.standard_normal(groups)[group] + np.sqrt(1.0 - correlation) * own
    return (ndtr(latent) < v).astype(np.float64), v, group.astype(np.float64)


def _grouped(groups: int, size: int, correlation: float, predictions: str, trials: int) -> tuple[int, int]:
    rejected = as_rows = 0
    for trial in range(trials):
        rng = np.random.default_rng([groups, size, trial])
        y, v, group = _in_groups(rng, groups, size, correlation, _MEANS[predictions])
        as_rows += calibration_test(y, v, n_resamples=99, random_state=trial).reject
        rejected += calibration_test(y, v, groups=group, n_resamples=99, random_state=trial).reject
    return rejected, as_rows


def _of_every(name: str, rows: str, trials: int) -> int:
    rejected = 0
    for trial in range(trials):
        rng = np.random.default_rng([7, trial])
        if rows == _EVERY[2]:
            y, v, group = _in_groups(rng, 200, 10, 0.3, _MEANS["uniform"])
            given = {"groups": group}
        else:
            v = rng.random(300 if rows == _ROWS[1] else 100)
            y, given = _drawn(rng, v, rows)
        rejected += _TESTS[name](y, v, **given, n_resamples=99, random_state=trial).reject
    return rejected


def _in_parts(what: str, parts: int, within: bool, predictions: str, trials: int) -> tuple[int, int]:
    rejected = as_rows = 0
    for trial in range(trials):
        rng = np.random.default_rng([11, parts, trial])
        y, v, group = _in_groups(rng, 200, 10, 0.3, _MEANS[predictions])
        part = group.astype(np.int64) * parts // 200 if within else rng.integers(0, parts, y.size)
        rejected += _parted(what, y, v, part, group)
        as_rows += _parted(what, y, v, part, None)
    return rejected, as_rows


def _parted(what: str, y: FloatArray, v: FloatArray, part: IntArray, group: FloatArray | None) -> bool:
    """Whether anything is rejected, by group or as rows."""
    import pyarrow

    columns = {"y": y, "v": v, "part": part} | ({} if group is None else {"g": group})
    names: dict[str, Any] = {"y_true": "y", "y_prob": "v", "groups": None if group is None else "g"}
    if what == "drift":
        return calibration_drift(pyarrow.table(columns), by="part", **names)[-1].reading.reject
    found = calibration_by_segment(pyarrow.table(columns), by=["part"], **names)
    return any(segment.reject for segment in found)
