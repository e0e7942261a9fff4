"""How often the gain of the averaged map lies outside its posterior interval, for shapes that nothing was tuned to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from calibrant.door.columns import FloatArray
from calibrant.door.ends import Interval
from calibrant.door.sample import Sample
from calibrant.recalibration.choose import FEWEST
from calibrant.recalibration.curves.averaged import AveragedCurve
from calibrant.recalibration.gain import gain_of
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

Draw = Callable[[np.random.Generator, int], FloatArray]
Truth = Callable[[FloatArray], FloatArray]

_NEW = 100_000  # rows on which the true gain is measured
_LEVEL = 0.05
_SAME = 1e-12  # sums differ by rounding
_OFTEN = 0.1  # of the runs of a shape and size, above which they are named


class Shape(NamedTuple):
    """How predictions are drawn, and the true rate at each."""

    draw: Draw
    truth: Truth


def _bent(p: FloatArray) -> FloatArray:
    x = logit(p)
    return np.asarray(expit(np.sign(x) * np.log1p(np.abs(x))))


_GRADES = [0.02, 0.1, 0.3, 0.6, 0.95]
SHAPES: dict[str, Shape] = {
    "calibrated": Shape(lambda r, n: r.beta(0.8, 1.2, n), lambda p: p),
    "power 1.3": Shape(lambda r, n: r.beta(2.0, 5.0, n), lambda p: p**1.3),
    "log-odds halved": Shape(lambda r, n: r.beta(0.5, 0.5, n), lambda p: expit(0.5 * logit(p))),
    "log-odds of sd 4, halved": Shape(lambda r, n: expit(r.normal(0.0, 4.0, n)), lambda p: expit(0.5 * logit(p))),
    "sure on both sides, times 0.6": Shape(
        lambda r, n: expit(r.choice([-1.0, 1.0], n) * r.gamma(3.0, 2.0, n)), lambda p: expit(0.6 * logit(p))
    ),
    "far log-odds, bent": Shape(lambda r, n: expit(r.choice([-1.0, 1.0], n) * r.gamma(1.5, 12.0, n)), _bent),
    "wave": Shape(lambda r, n: r.random(n), lambda p: np.clip(p + 0.08 * np.sin(9.0 * p), 0.001, 0.999)),
    "rare, times 1.6": Shape(lambda r, n: 10.0 ** r.uniform(-3.5, -0.7, n), lambda p: 1.6 * p),
    "rare, times 0.6": Shape(lambda r, n: r.beta(0.5, 50.0, n), lambda p: 0.6 * p),
    "labels wrong in 2%": Shape(lambda r, n: r.beta(0.3, 0.3, n), lambda p: 0.02 + 0.96 * p),
    "step at 0.6": Shape(lambda r, n: r.random(n), lambda p: np.where(p > 0.6, 0.1 + 0.8 * p, p)),
    "five grades": Shape(lambda r, n: r.choice(_GRADES, n), lambda p: expit(0.8 * logit(p) + 0.3)),
    "near 1, log-odds times 0.55": Shape(lambda r, n: 1.0 - r.beta(0.3, 6.0, n), lambda p: expit(0.55 * logit(p))),
}


class Count(NamedTuple):
    """Runs, those with enough events, those doubted; true gains below and above intervals, and of runs not doubted."""

    fitted: int
    doubted: int
    below: int
    above: int
    outside_trusted: int
    outside_possible: int
    advised: int
    worse: int


def gain_coverage(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """The gain of the averaged map: how often the truth is outside, every run counted."""
    runs, sizes = (1, (100, 500)) if quick else (100, (100, 300, 500, 2000, 20_000))
    cells = [(name, n, runs) for name in SHAPES for n in sizes]
    counts = dict(zip(cells, on_all_processors(_count, cells), strict=True))
    rows = []
    for (name, n, _), c in counts.items():
        of_runs = (c.fitted, c.doubted, c.below, c.above, c.outside_trusted, c.outside_possible)
        rows.append([name, f"{n:,}", *map(str, of_runs), f"{c.worse} of {c.advised}"])
    trusted = sum(c.fitted - c.doubted for c in counts.values())
    outside = sum(c.outside_trusted for c in counts.values())
    advised, worse = (sum(getattr(c, each) for c in counts.values()) for each in ("advised", "worse"))
    finding = (
        f"The true gain lies outside the 95% interval in {outside} of {trusted} runs where the interval is not doubted "
        f"({outside / max(trusted, 1):.1%}). Of {advised} maps whose interval is above 0, {worse} are worse on new rows."
    )
    often = sorted(
        (-c.outside_trusted / (c.fitted - c.doubted), name, n, c)
        for (name, n, _), c in counts.items()
        if c.outside_trusted > _OFTEN * (c.fitted - c.doubted)
    )
    where = [[f"{name}, {n:,} rows", f"{c.outside_trusted} of {c.fitted - c.doubted}"] for _, name, n, c in often]
    for n in sizes:
        of = [c for (_, size, _), c in counts.items() if size == n]
        out, of_runs = sum(c.outside_trusted for c in of), sum(c.fitted - c.doubted for c in of)
        where.append([f"all, {n:,} rows", f"{out:,} of {of_runs:,}"])
    head = ["shape", "rows", "fitted", "doubted", "below", "above", "outside, not doubted", "possible outside", "worse"]
    body = (
        f"{runs} samples of each shape and size; fitted are those with {FEWEST} events and {FEWEST} rows without it. "
        f"The gain in log loss of the fitted map is measured on {_NEW:,} new predictions with their true rates. Below "
        "and above: the true gain is below, or above, its posterior interval. Doubted: the result itself says not to "
        "trust it, since hardly any outcome missed at an extreme. Possible: the gain of the true curve outside its own "
        "interval. Worse: maps whose interval lies above 0 and that lose on new rows.\n\n"
        f"Outside, where not doubted: each shape and size with more than {_OFTEN:.0%} of its runs, and all shapes by size.\n\n"
        + table(["runs", "outside"], where)
        + "\n"
        + table(head, rows)
    )
    return Reproduction("What the averaged map gains: coverage", finding, body)


def _count(name: str, n: int, runs: int) -> Count:
    shape, total = SHAPES[name], np.zeros(8, np.int64)
    for run in range(runs):
        rng = np.random.default_rng([run, n])
        p = _inside(shape.draw(rng, n))
        y = (rng.random(n) < shape.truth(p)).astype(np.float64)
        if min(y.sum(), n - y.sum()) < FEWEST:
            continue
        curve = AveragedCurve().fit_sample(Sample.of_arrays(y, p))
        found = gain_of(curve, _LEVEL)
        v = _inside(shape.draw(np.random.default_rng([run, n, 1]), _NEW))
        q = shape.truth(v)
        before, after, least = (_log_loss(q, each) for each in (v, curve._map(v), q))
        gain, (low, high) = before - after, found.log_loss.interval
        doubted, out = found.doubt is not None, not _holds(found.log_loss.interval, gain)
        possible = not _holds(found.log_loss.possible, before - least)
        total += np.array(
            [
                1,
                doubted,
                gain < low,
                gain > high,
                out and not doubted,
                possible,
                found.proved,
                found.proved and gain < 0.0,
            ]
        )
    return Count(*total.tolist())


def _holds(interval: Interval, value: float) -> bool:
    return interval.low - _SAME <= value <= interval.high + _SAME


def _inside(p: FloatArray) -> FloatArray:
    return np.clip(p, 1e-15, 1.0 - 1e-15)


def _log_loss(rate: FloatArray, said: FloatArray) -> float:
    return float(-(rate * np.log(said) + (1.0 - rate) * np.log1p(-said)).mean())
