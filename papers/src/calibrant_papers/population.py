"""Coverage and width of the population's bounds where chance shows itself least, and the rows that a gate needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws, Weighing, read_draws
from calibrant.inference.bounds.gate import Ends
from calibrant.inference.bounds.one_event import Spread
from calibrant.inference.bounds.population import bootstrap_bounds, population_bounds, sample_distance
from calibrant.measures.registry import measures
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_FIVE = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_TENTH = np.linspace(0.0002, 0.0018, 9)
# Predictions, their shares (equal ones where None), true rates.
_DESIGNS: dict[str, tuple[FloatArray, FloatArray | None, FloatArray]] = {
    "uniform, calibrated": (np.linspace(0, 1, 201), None, np.linspace(0, 1, 201)),
    "uniform, 0.1 too low": (np.linspace(0, 0.9, 201), None, np.linspace(0.1, 1, 201)),
    "one in 1,000, calibrated": (_TENTH, None, _TENTH),
    "one in 1,000, twice too low": (_TENTH, None, 2.0 * _TENTH),
    "one in 50, twice too high": (20.0 * _TENTH, None, 10.0 * _TENTH),
    "nearly certain, too sure": (1.0 - _TENTH, None, 1.0 - 4.0 * _TENTH),
    "atoms at 0 and 1": (np.array([0.0, 0.5, 1.0]), np.array([0.4, 0.2, 0.4]), np.array([0.01, 0.5, 0.98])),
    "five values, swapped": (_FIVE, None, _FIVE[[1, 0, 2, 4, 3]]),
    "one value, 0.4 too low": (np.array([0.5]), None, np.array([0.9])),
}
_HOW = ("rows", "weights over 1,000 times", "groups of 5")
_ROWS = (20, 200, 2000)
_LEVEL = 0.05

_NEEDED: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "beta(.5, .5)": lambda rng, n: rng.beta(0.5, 0.5, n),
    "rare, beta(.2, 10)": lambda rng, n: rng.beta(0.2, 10.0, n),
    "all 0.001": lambda _rng, n: np.full(n, 1e-3),
}
_LIMITS = (0.1, 0.05, 0.02, 0.01)


def population_intervals(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Coverage and width beside the bootstrap's, and rows that a gate needs to say "within"."""
    trials = 4 if quick else 100
    rows = _ROWS[:1] if quick else _ROWS
    cells = [(design, n, how, trials) for design in _DESIGNS for n in rows for how in _HOW]
    found = on_all_processors(_coverage, cells)
    limits = _LIMITS[:1] if quick else _LIMITS
    asked = [(predictions, limit, 3 if quick else 21) for predictions in _NEEDED for limit in limits]
    needed = dict(zip(asked, on_all_processors(_rows_needed, asked), strict=True))
    least = min(each[0] for each in found)
    often = max(max(each[1:3]) for each in found)
    body = (
        f"Nominal {1 - _LEVEL:g}; {trials} samples per row. *Joint*: the true distance, the smooth error and every "
        "measure of the population lay within their intervals, all of them. Of the true distance: at least the lower "
        "distance was. *Low*, *high*: how often either end of the gate's lower distance failed, each at most "
        f"{_LEVEL:g} by the proof. Widths are means over samples, of the lower distance; the bootstrap's of the "
        "samples that it answered, 79 resamples. Where there is one value, its weight is 1, of at most 1,000.\n\n"
        + table(
            [
                "predictions",
                "n",
                "drawn how",
                "joint",
                "low",
                "high",
                "mean interval",
                "width",
                "bootstrap",
                "answered",
            ],
            [
                [
                    design,
                    f"{n:,}",
                    how,
                    f"{joint:.3f}",
                    f"{low:.3f}",
                    f"{high:.3f}",
                    f"{ends[0]:.4f} to {ends[1]:.4f}",
                    f"{ends[1] - ends[0]:.4f}",
                    f"{width:.4f}" if answered else "-",
                    f"{answered:.2f}" if how == "rows" else "-",
                ]
                for (design, n, how, _), (joint, low, high, *ends, width, answered) in zip(cells, found, strict=True)
            ],
        )
        + "\n## Rows that a gate needs\n\nCalibrated predictions; fewest rows, to 2%, with which at least half of 21 "
        "samples are proved within the limit, at level 0.05. With the former bounds, for uniform predictions, 3,166 "
        "at 0.05 and 17,532 at 0.02.\n\n"
        + table(
            ["limit", *_NEEDED],
            [[limit, *(f"{needed[name, limit, 3 if quick else 21]:,}" for name in _NEEDED)] for limit in limits],
        )
    )
    finding = f"Joint coverage is at least {least:.3f}; an end of a gate is wrong in at most {often:.3f} of samples."
    return Reproduction("Bounds for the population", finding, body)


def _coverage(design: str, n: int, how: str, trials: int) -> list[float]:
    v, share, rate = _DESIGNS[design]
    share = np.full(v.size, 1.0 / v.size) if share is None else share
    heavy = np.geomspace(1.0, 1000.0, v.size)[np.random.default_rng(0).permutation(v.size)]
    mass = share * heavy if how == _HOW[1] else share
    truth = Sample.of_arrays(rate, v, mass)
    values = {name: each.on_sample(truth, **each.parameters) for name, each in measures().items()}
    distance = values["lower_calibration_distance"]
    held = np.zeros(7)
    for trial in range(trials):
        rng = np.random.default_rng([n, trial])
        drawn, chance = rng.choice(v.size, n, p=share), rng.random(n)
        options: dict[str, Any] = {}
        if how == _HOW[1]:
            options = {"sample_weight": heavy[drawn], "max_weight": 1000.0}
        elif how == _HOW[2]:
            drawn, chance = np.repeat(drawn[::5], 5), np.repeat(chance[::5], 5)
            options = {"groups": np.arange(n) // 5, "max_weight": 5}
        y = (chance < rate[drawn]).astype(np.int64)
        held += _held(y, v[drawn], options, values, distance, trial, how == _HOW[0])
    answered = held[6]
    return [*(held[:5] / trials).tolist(), held[5] / max(answered, 1.0), answered / trials]


def _held(
    y: Any, v: FloatArray, options: dict[str, Any], values: dict[str, float], distance: float, seed: int, resample: bool
) -> FloatArray:
    near = 1e-9
    found = population_bounds(y, v, level=_LEVEL, **options)
    joint = all(i.low - near <= values[name] <= i.high + near for name, i in found.intervals.items())
    joint &= found.population_distance.high >= distance - near
    weighing = Weighing(*(options.get(name) for name in ("sample_weight", "trials", "max_weight")))
    sample, units = read_draws(y, v, weighing, options.get("groups"))
    low, high = Ends.of(sample, _LEVEL, units).proved
    width, answered = 0.0, 0.0
    if resample:
        try:
            width = bootstrap_bounds(y, v, level=_LEVEL, n_resamples=79, random_state=seed).lower_distance.width
            answered = 1.0
        except InputError:  # too few surprises: it says so
            pass
    return np.array([joint, low > distance + near, high < distance - near, low, high, width, answered])


def _rows_needed(predictions: str, limit: float, samples: int) -> int:
    draw = _NEEDED[predictions]

    def within(n: int) -> bool:
        ends = []
        for seed in range(samples):
            rng = np.random.default_rng([n, seed])
            v = draw(rng, n)
            sample = Sample.from_columns((rng.random(n) < v).astype(np.float64), v)
            ends.append(Spread.of(Draws.of_sample(sample)).upper_end(sample_distance(sample).upper, _LEVEL))
        return float(np.median(ends)) <= limit

    few, many = 8, 16
    while not within(many):
        few, many = many, 2 * many
    while many > 1.02 * few + 1:
        middle = (few + many) // 2
        few, many = (few, middle) if within(middle) else (middle, many)
    return many
