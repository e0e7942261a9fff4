"""Weights that vary 1,000 times: the ends of a gate that is watched and of a sketch's, and how often its test errs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray
from calibrant.door.sample import Sample
from calibrant.inference.bounds.gate import calibration_gate
from calibrant.inference.bounds.population import sample_distance
from calibrant.inference.testing.calibration import calibration_test, calibration_test_on_weighted_cells
from calibrant.sketch.sketch import CalibrationSketch
from calibrant_papers.anytime import CELLS, COSTS, MOST, WEIGHTED, ever_wrong, rows_of_both
from calibrant_papers.processors import on_all_processors
from calibrant_papers.registry import Reproduction, table

_LEVEL, _HEAVIEST = 0.05, 1000.0
_HUNDREDTHS = np.linspace(0.005, 0.995, 100)
_FIVE = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_RARE = np.linspace(0.0002, 0.0018, 9)
# Predictions, equal shares; true rates.
_DESIGNS: dict[str, tuple[FloatArray, FloatArray]] = {
    "hundredths, calibrated": (_HUNDREDTHS, _HUNDREDTHS),
    "hundredths, 0.1 too low": (0.9 * _HUNDREDTHS, 0.9 * _HUNDREDTHS + 0.1),
    "hundredths, too confident": (_HUNDREDTHS, 0.5 + 0.8 * (_HUNDREDTHS - 0.5)),
    "five values, calibrated": (_FIVE, _FIVE),
    "five values, swapped": (_FIVE, _FIVE[[1, 0, 2, 4, 3]]),
    "one in 1,000, calibrated": (_RARE, _RARE),
    "one in 1,000, three times too low": (_RARE, 3.0 * _RARE),
}
_ROWS = (200, 2000, 20_000)
_FEW = 50
_WATCHED = ["five values, 0.1 too low", "five values, swapped", "rare, twice too low", "atoms at 0 and 1"]
_ASKED = (0, 7)  # of `COSTS`


def weighted_sketches(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Ends from a weighted sketch beside those from its rows, and rejections of both tests."""
    samples, rows = (1, _ROWS[:1]) if quick else (100, _ROWS)
    cells = [(design, n, samples) for design in (list(_DESIGNS)[:1] if quick else _DESIGNS) for n in rows]
    found = on_all_processors(_of_both, cells)
    streams, of_each = (1, 1) if quick else (100, 10)
    ways = (CELLS,) if quick else (WEIGHTED, CELLS)
    watches = [(design, how) for design in (_WATCHED[:1] if quick else _WATCHED) for how in ways]
    wrong = on_all_processors(ever_wrong, [(*each, streams, 0.2) for each in watches])
    asked = [(k, how) for k in (_ASKED[1:] if quick else _ASKED) for how in ways]
    costs = on_all_processors(rows_of_both, [(*each, of_each) for each in asked])
    ever = max(max(each[:2]) for each in wrong)
    ratios = [watch / fixed for fixed, watch, _, _ in costs]
    often = max(max(each[:2]) for each in found)
    false = max(each[6] for (design, _, _), each in zip(cells, found, strict=True) if design.endswith(", calibrated"))
    body = (
        "Weights are 10 to a power drawn evenly from 0 to 3, independently of the prediction; `max_weight` is 1,000. "
        f"Level {_LEVEL:g}.\n\n## Sketches\n\n{samples} samples per row. *Low*, *high*: how often either end of the "
        f"gate of a sketch failed, each at most {_LEVEL:g} by the proof. Intervals are means over samples; those of "
        "the rows are `calibration_gate`'s. *Rejected*: by `sketch.audit()`, which has bounds in place of redraws. "
        f"Also by `calibration_test` of the rows, 199 resamples, on the first {_FEW} samples of up to 2,000 rows.\n\n"
        + table(
            [
                *("predictions", "n", "low", "high", "interval of the sketch", "of its rows"),
                *("rejected: sketch", "rejected: rows"),
            ],
            [
                [
                    design,
                    f"{n:,}",
                    *(f"{each:.3f}" for each in (low, high)),
                    f"{ends[0]:.4f} to {ends[1]:.4f}",
                    f"{ends[2]:.4f} to {ends[3]:.4f}",
                    f"{rejected:.3f}",
                    "-" if np.isnan(of_rows) else f"{of_rows:.2f}",
                ]
                for (design, n, _), (low, high, *ends, rejected, of_rows) in zip(cells, found, strict=True)
            ],
        )
        + f"\n## At any number of rows\n\n{streams} streams per row, to {MOST:,} rows. The limit is the population's "
        "own distance, so that both verdicts are as close to false as possible. The ends are looked at after each "
        "batch (of 5 rows, later of a fifth of those so far) until one misses the limit. Sketches are of the same "
        "batches.\n\n"
        + table(
            [
                "predictions",
                "come in as",
                "distance",
                'ever above: false "beyond"',
                'ever below: false "within"',
                "looks",
            ],
            [
                [design, how, f"{distance:.4f}", f"{low:.3f}", f"{high:.3f}", looks]
                for (design, how), (low, high, distance, looks) in zip(watches, wrong, strict=True)
            ],
        )
        + "\nRows with which half of samples get the right verdict. `calibration_gate` of the weighted rows has that "
        "number fixed beforehand. `CalibrationGate` is watched every 5% of the rows so far. Predictions in "
        f"hundredths; {of_each} samples per row of the table, so that a median is known to about a fifth.\n\n"
        + table(
            ["predictions", "come in as", "limit", "verdict", "fixed", "watched", "ratio"],
            [
                [COSTS[k][0], how, *COSTS[k][3:], f"{fixed:,}", f"{watched:,}", f"{watched / fixed:.2f}"]
                for (k, how), (fixed, watched, _, _) in zip(asked, costs, strict=True)
            ],
        )
    )
    finding = (
        f"An end of the gate of a weighted sketch is wrong in at most {often:.3f} of samples. Its test rejects at "
        f"most {false:.3f} of calibrated ones, at level {_LEVEL:g}. A verdict of `CalibrationGate` is ever false in "
        f"at most {ever:.3f} of streams, and stopping at any time costs {min(ratios):.2f} to {max(ratios):.2f} times "
        "the rows."
    )
    return Reproduction("Weighted rows: sketches, and gates at any number of rows", finding, body)


def _of_both(design: str, n: int, samples: int) -> list[float]:
    v, rate = _DESIGNS[design]
    truth = sample_distance(Sample.of_arrays(rate, v, np.ones(v.size)))
    held, tried = np.zeros(7), []
    for number in range(samples):
        rng = np.random.default_rng([n, number])
        at, w = rng.integers(0, v.size, n), _HEAVIEST ** rng.random(n)
        y = (rng.random(n) < rate[at]).astype(np.float64)
        sketch = CalibrationSketch(1024).update(y, v[at], sample_weight=w)
        low, high = sketch.gate(max_distance=0.1, level=_LEVEL, max_weight=_HEAVIEST).lower_distance
        rows = calibration_gate(
            y, v[at], sample_weight=w, max_weight=_HEAVIEST, max_distance=0.1, level=_LEVEL
        ).lower_distance
        test = calibration_test_on_weighted_cells(sketch.sample, _LEVEL, sketch.displacement, None)
        held += np.array([low > truth.upper, high < truth.lower, low, high, *rows, test.reject])
        if number < _FEW and n <= _ROWS[1]:
            of_rows = calibration_test(
                y, v[at], sample_weight=w, outcome_free_weights=True, level=_LEVEL, n_resamples=199, random_state=number
            )
            tried.append(of_rows.reject)
    return [*(held / samples).tolist(), float(np.mean(tried)) if tried else float("nan")]
