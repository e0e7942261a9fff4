"""How often `calibration_by_segment` finds broken segments and accuses sound ones, and what its intervals hold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from pathlib import Path

import numpy as np
from scipy.stats import binom, binomtest, false_discovery_control

from calibrant.door.columns import FloatArray
from calibrant.inference.testing.discrete import mean_chance_interval, two_sided_log_pvalues
from calibrant.segments.by_column import calibration_by_segment
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL = 0.05
_SEGMENTS = 200
_DESIGNS: dict[str, tuple[int, float, Callable[[np.random.Generator, int], FloatArray]]] = {
    "uniform": (300, 0.4, lambda rng, n: rng.random(n)),
    "rare, beta(1, 99)": (2000, 0.6, lambda rng, n: rng.beta(1.0, 99.0, n)),
    "five values": (300, 0.5, lambda rng, n: rng.choice([0.01, 0.1, 0.5, 0.9, 0.99], n)),
}
"""Rows of a segment, standard deviation of a broken segment's shift of log-odds, and predictions."""
_RATES: dict[str, Callable[[int], FloatArray]] = {
    "all 0.0001": lambda n: np.full(n, 1e-4),
    "all 0.001": lambda n: np.full(n, 1e-3),
    "all 0.03": lambda n: np.full(n, 0.03),
    "all 0.5": lambda n: np.full(n, 0.5),
    "0 to 0.02": lambda n: np.linspace(0.0, 0.02, n),
    "one sure event, else 0": lambda n: (np.arange(n) == 0).astype(np.float64),
    "one at 0.04, else 0": lambda n: 0.04 * (np.arange(n) == 0),
    "half at 0.001, half at 0.999": lambda n: np.where(np.arange(n) % 2, 0.001, 0.999),
}


def segment_rates(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Power and false discoveries on 200 segments, and coverage and width of the intervals of a rate."""
    trials, draws, segments = (1, 200, 10) if quick else (40, 20_000, _SEGMENTS)
    cells = [(design, trial, segments) for design in _DESIGNS for trial in range(trials)]
    results = list(starmap(_discoveries, cells)) if quick else on_all_processors(_discoveries, cells)
    found = np.reshape(results, (len(_DESIGNS), trials, 4)).mean(axis=1)
    first = [
        [design, f"{rows:,}", shift, *(f"{x:.3f}" for x in means)]
        for (design, (rows, shift, _)), means in zip(_DESIGNS.items(), found, strict=True)
    ]
    second, worst = [], 0.0
    for kind, chances in _RATES.items():
        for n in (200, 20_000):
            missed, ratio = _intervals(chances(n), draws)
            worst = max(worst, missed)
            second.append([kind, f"{n:,}", f"{1.0 - missed:.4f}", f"{ratio:.4f}"])
    body = (
        f"{segments} segments, {segments // 5} of them broken: their log-odds are shifted by a normal number of that "
        f"standard deviation. Level {_LEVEL}; means of {trials:,} tables. For comparison Benjamini and Hochberg's "
        "procedure on tails of the whole segments' events alone, each row at its own prediction.\n\n"
        + table(
            [
                "predictions",
                "rows",
                "shift",
                "power",
                "false discoveries",
                "power, totals",
                "false discoveries, totals",
            ],
            first,
        )
        + f"\n## Intervals of a mean probability\n\nNominal {1 - _LEVEL}; {draws:,} draws per row. Width: the mean over draws "
        "beside Clopper and Pearson's interval for equal probabilities.\n\n"
        + table(["chances", "rows", "coverage", "width : Clopper-Pearson"], second)
    )
    finding = (
        f"Of {segments // 5} broken segments {found[0, 0]:.3f} are found (uniform predictions), at "
        f"{found[:, 1].max():.3f} false discoveries at most; the lowest coverage of an interval is {1.0 - worst:.4f}."
    )
    return Reproduction("Segments: power, false discoveries, intervals", finding, body)


def _discoveries(design: str, trial: int, segments: int) -> list[float]:
    """Power and share of false discoveries, of ours and of totals alone."""
    import pyarrow as pa

    rows, deviation, draw = _DESIGNS[design]
    broken = segments // 5
    rng = np.random.default_rng([rows, trial])
    segment = np.repeat(np.arange(segments), rows)
    v = draw(rng, segment.size)
    shift = np.where(np.arange(segments) < broken, rng.normal(0.0, deviation, segments), 0.0)[segment]
    y = (rng.random(v.size) < v / (v + (1.0 - v) * np.exp(-shift))).astype(np.float64)
    ours = calibration_by_segment(
        pa.table({"y": y, "p": v, "s": segment}), y_true="y", y_prob="p", by="s", level=_LEVEL
    )
    start = np.arange(segments) * rows
    tails = two_sided_log_pvalues(np.ones(v.size), (v, v), start, np.add.reduceat(y, start))
    named = [
        np.array([each.key[0] for each in ours if each.reject], int),
        np.flatnonzero(false_discovery_control(np.exp(tails)) <= _LEVEL),
    ]
    return [
        share
        for found in named
        for share in (float((found < broken).sum()) / broken, float((found >= broken).sum()) / max(1, found.size))
    ]


def _intervals(chances: FloatArray, draws: int) -> tuple[float, float]:
    """Share of draws whose interval misses the mean chance, and its width beside Clopper and Pearson's."""
    n, rng = chances.size, np.random.default_rng(chances.size)
    values, rows = np.unique(chances, return_counts=True)
    ones = binom.rvs(rows, values, size=(draws, values.size), random_state=rng).sum(axis=1)
    seen, at, often = np.unique(ones, return_inverse=True, return_counts=True)
    low, high = mean_chance_interval(seen.astype(np.float64), np.full(seen.size, float(n)), _LEVEL / 2.0)
    theirs = [binomtest(int(k), n).proportion_ci(1.0 - _LEVEL, "exact") for k in seen]
    width = float(often @ (high - low)) / float(often @ np.array([each.high - each.low for each in theirs]))
    mean = float(chances.mean())
    return float(np.mean(((mean < low) | (mean > high))[at])), width
