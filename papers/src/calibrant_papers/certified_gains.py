"""How many rows `certified_gain` takes to prove an error, for one probability and for classes, and whether it is true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from calibrant.door.columns import FloatArray, IntArray
from calibrant.recalibration import certified_gain
from calibrant_papers.gain_coverage import SHAPES
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_NEW = 200_000  # rows on which the true error is measured
_RUNS = {500: 40, 2000: 40, 10_000: 40, 50_000: 8}
_FEWER = {500: 2, 2000: 2}
_BINARY = (
    "log-odds halved",
    "near 1, log-odds times 0.55",
    "power 1.3",
    "wave",
    "rare, times 1.6",
    "labels wrong in 2%",
    "calibrated",
)


def _chances(score: FloatArray) -> FloatArray:
    powers = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class Classes(NamedTuple):
    """How many classes, and the true log-odds of normal ones of standard deviation 1.5."""

    number: int
    truth: Callable[[FloatArray], FloatArray]


_CLASSES = {
    "3 classes, log-odds halved": Classes(3, lambda z: 0.5 * z),
    "10 classes, log-odds halved": Classes(10, lambda z: 0.5 * z),
    "10 classes, log-odds times 0.8": Classes(10, lambda z: 0.8 * z),
    "100 classes, log-odds halved": Classes(100, lambda z: 0.5 * z),
    "10 classes, each shifted": Classes(10, lambda z: z + np.linspace(-1.0, 1.0, 10)),
    "10 classes, calibrated": Classes(10, lambda z: z),
}


class Count(NamedTuple):
    """The true error, the median bound, in how many samples it is above 0, and in how many above the truth."""

    truth: float
    bound: float
    proved: int
    above: int


def certified_gains(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Median bound and how often there is one, by shape and number of rows; every sample counted."""
    sizes = _FEWER if quick else _RUNS
    names = [*_BINARY, *_CLASSES] if not quick else [_BINARY[0], *list(_CLASSES)[:1]]
    cells = [(name, n, runs) for name in names for n, runs in sizes.items()]
    counts = dict(zip(cells, on_all_processors(_count, cells), strict=True))
    rows = []
    for name in names:
        of = [counts[name, n, runs] for n, runs in sizes.items()]
        said = [f"{c.bound:.4f} ({c.proved})" for c in of]
        rows.append([name, f"{of[0].truth:.4f}", *said])
    above, samples = sum(c.above for c in counts.values()), sum(runs for *_, runs in cells)
    finding = f"The bound is above the truth in {above} of {samples:,} samples; at most 5% are allowed."
    head = ["shape", "truth", *(f"{n:,} rows" for n in sizes)]
    samples_of = ", ".join(f"{runs} of {n:,} rows" for n, runs in sizes.items())
    body = (
        f"Samples: {samples_of}. Truth: the squared calibration error on {_NEW:,} new predictions with their true rates, of "
        f"classes half of it, on {_NEW // 10:,}. Then the median bound, and in brackets in how many samples it is above 0.\n\n"
        + table(head, rows)
    )
    return Reproduction("Rows that a proved gain takes", finding, body)


def _drawn(name: str, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Predictions and the truth: of one probability columns, of classes tables."""
    if name in SHAPES:
        v = np.clip(SHAPES[name].draw(rng, n), 1e-15, 1.0 - 1e-15)
        return v, SHAPES[name].truth(v)
    z = 1.5 * rng.normal(size=(n, _CLASSES[name].number))
    return _chances(z), _chances(_CLASSES[name].truth(z))


def _outcome(truth: FloatArray, rng: np.random.Generator) -> IntArray:
    if truth.ndim == 1:
        return (rng.random(truth.size) < truth).astype(np.int64)
    below = truth.cumsum(axis=1)[:, :-1] < rng.random((len(truth), 1))
    return np.asarray(below.sum(axis=1))


def _count(name: str, n: int, runs: int) -> Count:
    v, q = _drawn(name, np.random.default_rng([n, 3]), _NEW if name in SHAPES else _NEW // 10)
    truth = float(((v - q) ** 2).mean() if v.ndim == 1 else 0.5 * ((v - q) ** 2).sum(axis=1).mean())
    bounds = []
    for run in range(runs):
        rng = np.random.default_rng([run, n, 4])
        v, q = _drawn(name, rng, n)
        label = _outcome(q, rng)
        bounds.append(certified_gain(label, v, random_state=run).bound)
    found = np.array(bounds)
    return Count(truth, float(np.median(found)), int((found > 0.0).sum()), int((found > truth).sum()))
