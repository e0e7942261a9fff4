"""The gate at any number of rows: how often it is ever wrong, and what that costs in rows beside the gate of fixed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.sample import Sample
from calibrant.gate.anytime import CalibrationGate
from calibrant.inference.bounds.draws import Weighing, read_draws
from calibrant.inference.bounds.gate import GateResult
from calibrant.inference.bounds.one_event import Spread, lower_end, lower_function
from calibrant.inference.bounds.population import sample_distance
from calibrant.sketch.sketch import CalibrationSketch
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL = 0.05
_FIVE = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
# Predictions, true rates; equal shares.
WATCHED: dict[str, tuple[FloatArray, FloatArray]] = {
    "five values, 0.1 too low": (_FIVE, _FIVE + 0.1),
    "five values, swapped": (_FIVE, _FIVE[[1, 0, 2, 4, 3]]),
    "one value, 0.2 too low": (np.array([0.5]), np.array([0.7])),
    "rare, twice too low": (0.04 * _FIVE, 0.08 * _FIVE),
    "rare, twice too high": (0.04 * _FIVE, 0.02 * _FIVE),
    "atoms at 0 and 1": (np.array([0.0, 0.0, 0.5, 1.0, 1.0]), np.array([0.05, 0.05, 0.5, 0.9, 0.9])),
}
MOST = 2000  # rows that are watched
ROWS, WEIGHTED, CELLS = ("rows", "rows, weights over 1,000 times", "sketches, weights over 1,000 times")
HEAVIEST = 1000.0

Draw = Callable[[np.random.Generator, int], FloatArray]
# Predictions, true rates as a function of them, limit, the right verdict.
COSTS: list[tuple[str, Draw, Callable[[FloatArray], FloatArray], float, str]] = [
    ("uniform, calibrated", lambda rng, n: rng.random(n), lambda v: v, 0.1, "within"),
    ("uniform, calibrated", lambda rng, n: rng.random(n), lambda v: v, 0.05, "within"),
    ("beta(.5, .5), calibrated", lambda rng, n: rng.beta(0.5, 0.5, n), lambda v: v, 0.05, "within"),
    ("beta(.05, .05), calibrated", lambda rng, n: rng.beta(0.05, 0.05, n), lambda v: v, 0.05, "within"),
    ("rare, beta(.2, 10), calibrated", lambda rng, n: rng.beta(0.2, 10.0, n), lambda v: v, 0.02, "within"),
    ("uniform, 0.05 too low", lambda rng, n: 0.95 * rng.random(n), lambda v: v + 0.05, 0.1, "within"),
    ("uniform, 0.1 too low", lambda rng, n: 0.9 * rng.random(n), lambda v: v + 0.1, 0.05, "beyond"),
    ("uniform, 0.3 too low", lambda rng, n: 0.7 * rng.random(n), lambda v: v + 0.3, 0.1, "beyond"),
    ("rare, three times too low", lambda rng, n: 0.04 * rng.random(n), lambda v: 3.0 * v, 0.02, "beyond"),
]


def anytime_gate(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Wrong verdicts of `CalibrationGate` under stopping that wants them, and its rows beside `calibration_gate`'s."""
    streams, samples = (1, 1) if quick else (100, 20)
    watched = list(WATCHED)[:1] if quick else list(WATCHED)
    asked = [7] if quick else range(len(COSTS))
    wrong = on_all_processors(ever_wrong, [(design, ROWS, streams) for design in watched])
    costs = on_all_processors(rows_of_both, [(k, ROWS, samples) for k in asked])
    least = _LEVEL + 1.645 * (_LEVEL * (1.0 - _LEVEL) / streams) ** 0.5
    worst = max(max(each[:2]) for each in wrong)
    ratios = [watch / fixed for each in costs for fixed, watch in (each[:2], each[2:])]
    body = (
        f"Level {_LEVEL:g}. {streams} streams per row, to {MOST:,} rows. The limit is the population's own distance, "
        "so that both verdicts are as close to false as possible. The ends are looked at after each batch (of 5 rows, "
        f"later of a tenth of those so far) until one misses the limit. Had the streams a rate of {_LEVEL:g}, they "
        f"would show at most {least:.3f} nineteen times in twenty.\n\n"
        + table(
            ["predictions", "distance", 'ever above: false "beyond"', 'ever below: false "within"', "looks"],
            [
                [design, f"{distance:.4f}", f"{low:.3f}", f"{high:.3f}", looks]
                for design, (low, high, distance, looks) in zip(watched, wrong, strict=True)
            ],
        )
        + "\n## Rows\n\nRows with which half, and nine tenths, of samples get the right verdict. `calibration_gate` "
        "has that number of rows, fixed beforehand. `CalibrationGate` has its verdict by then, and was watched all "
        f"the way, every 5% of the rows so far. {samples} samples per row of the table, so that a median is known to "
        "about a tenth.\n\n"
        + table(
            [
                "predictions",
                "limit",
                "verdict",
                "half: fixed",
                "half: watched",
                "ratio",
                "9/10: fixed",
                "9/10: watched",
                "ratio",
            ],
            [
                [
                    *(COSTS[k][0], COSTS[k][3], COSTS[k][4]),
                    *(f"{half:,}", f"{half_watched:,}", f"{half_watched / half:.2f}"),
                    *(f"{most:,}", f"{most_watched:,}", f"{most_watched / most:.2f}"),
                ]
                for k, (half, half_watched, most, most_watched) in zip(asked, costs, strict=True)
            ],
        )
    )
    finding = (
        f"A verdict is ever false in at most {worst:.3f} of streams at level {_LEVEL:g}; stopping at any time costs "
        f"{min(ratios):.2f} to {max(ratios):.2f} times the rows."
    )
    return Reproduction("The gate at any number of rows", finding, body)


def _batches(most: int, least: int, share: float, start: int = 0) -> Iterator[tuple[int, int]]:
    """Where batches begin and end."""
    at = 0
    while at < most:
        end = min(most, max(start, at + max(least, int(share * at))))
        yield at, end
        at = end


def _gate(limit: float, how: str) -> CalibrationGate:
    return CalibrationGate(max_distance=limit, level=_LEVEL, max_weight=None if how == ROWS else HEAVIEST)


def _add(gate: CalibrationGate, how: str, y: FloatArray, v: FloatArray, w: FloatArray | None) -> GateResult:
    if how == ROWS:
        return gate.update(y, v)
    if how == WEIGHTED:
        return gate.update(y, v, sample_weight=w)
    return gate.update_sketch(CalibrationSketch().update(y, v, sample_weight=w))


def ever_wrong(design: str, how: str, streams: int, share: float = 0.1) -> tuple[float, float, float, int]:
    """Shares of streams with a lower end ever above, an upper end ever below; the distance, and looks a stream."""
    v, rate = WATCHED[design]
    truth = sample_distance(Sample.of_arrays(rate, v, np.ones(v.size)))
    batches = list(_batches(MOST, 5, share))
    low = high = 0
    for stream in range(streams):
        rng = np.random.default_rng([len(design), stream])
        drawn = rng.integers(0, v.size, MOST)
        y = (rng.random(MOST) < rate[drawn]).astype(np.float64)
        w = HEAVIEST ** rng.random(MOST)
        gate = _gate(0.5 * (truth.lower + truth.upper), how)
        for begin, end in batches:
            ends = _add(gate, how, y[begin:end], v[drawn[begin:end]], w[begin:end]).lower_distance
        # The ends only draw closer: the last are the worst that anyone who stopped has met.
        low += ends.low > truth.upper
        high += ends.high < truth.lower
    return low / streams, high / streams, truth.upper, len(batches)


def rows_of_both(k: int, how: str, samples: int) -> tuple[int, int, int, int]:
    """Rows for half of the samples, fixed and watched; and for nine tenths."""
    _, draw, rates, limit, verdict = COSTS[k]
    most = 256
    while sum(_right(draw, rates, limit, verdict, how, most, seed) for seed in range(9)) < 9:
        most *= 2
    looks = list(_batches(most, 1, 0.05, start=most // 40))
    fixed = np.zeros((samples, len(looks)), bool)
    watched = np.zeros((samples, len(looks)), bool)
    for seed in range(samples):
        rng = np.random.default_rng([k, seed])
        v = _drawn(draw, rng, most, how)
        y = (rng.random(most) < rates(v)).astype(np.float64)
        w = None if how == ROWS else HEAVIEST ** rng.random(most)
        gate = _gate(limit, how)
        for at, (begin, end) in enumerate(looks):
            if not watched[seed, at - 1] or not at:
                part = slice(begin, end)
                said = _add(gate, how, y[part], v[part], None if w is None else w[part])
                watched[seed, at] = said.verdict == verdict
            else:
                watched[seed, at] = True
            fixed[seed, at] = _proved(y[:end], v[:end], None if w is None else w[:end], limit, verdict)
    ends = np.array([end for _, end in looks])
    found = []
    for share in (0.5, 0.9):
        for decided in (fixed, watched):
            enough = decided.mean(axis=0) >= share
            found.append(int(ends[np.argmax(enough)]) if enough.any() else most)
    return found[0], found[1], found[2], found[3]


def _drawn(draw: Draw, rng: np.random.Generator, n: int, how: str) -> FloatArray:
    """Predictions; with weights in hundredths, so that a cell of a sketch holds several weights."""
    v = draw(rng, n)
    return v if how == ROWS else np.round(v, 2)


def _right(
    draw: Draw, rates: Callable[[FloatArray], FloatArray], limit: float, verdict: str, how: str, n: int, seed: int
) -> bool:
    rng = np.random.default_rng([n, seed])
    v = _drawn(draw, rng, n, how)
    y = (rng.random(n) < rates(v)).astype(np.float64)
    return _proved(y, v, None if how == ROWS else HEAVIEST ** rng.random(n), limit, verdict)


def _proved(y: FloatArray, v: FloatArray, w: FloatArray | None, limit: float, verdict: str) -> bool:
    """Whether `calibration_gate` of these rows would say so; of its ends the one that it rests on."""
    sample, units = read_draws(y, v, Weighing(w, max_weight=None if w is None else HEAVIEST))
    if verdict == "beyond":
        return lower_end(units, lower_function, _LEVEL) > limit
    return Spread.of(units).upper_end(sample_distance(sample).upper, _LEVEL) <= limit
