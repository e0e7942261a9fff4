"""Everything that reaches a kernel, on hard rows, in a process in which numba checks every index.

Started by tools/runs/bounds_checking.py. Prints each call that ends in anything but an answer or an `InputError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import config
from tests.corners import DESIGNS, draw
from tests.inference.test_degenerate import CALLS, OUTCOMES, PREDICTIONS

from calibrant import CalibrationSketch, InputError, audit
from calibrant.door.sample import Sample
from calibrant.measures.registry import measures


def _rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """From 1 to 300 rows of a kind drawn; one time in ten some are no numbers."""
    if rng.random() < 0.3:
        p = PREDICTIONS[rng.choice(list(PREDICTIONS))]
        y = OUTCOMES[rng.choice(list(OUTCOMES))](p)
    else:
        y, p, _ = draw(rng.choice(DESIGNS), rng, int(rng.choice([1, 2, 3, 5, 20, 100, 300])))
    order = rng.permutation(p.size)
    y, p = y[order], p[order].copy()
    if rng.random() < 0.1:
        p[rng.integers(p.size)] = rng.choice([np.nan, np.inf, -0.1])
    if rng.random() < 0.02:
        y, p = y[:0], p[:0]
    return y, p


def _calls(y: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], Any]]]:
    w = np.exp(rng.normal(0.0, 3.0, p.size))
    for name, measure in measures().items():
        weight = w if rng.random() < 0.5 else None
        yield (
            name,
            lambda m=measure, weight=weight: m.on_sample(Sample.from_columns(y, p, weight), **m.parameters),
        )
    yield from ((name, lambda call=CALLS[name]: call(y, p)) for name in rng.choice(list(CALLS), 3, replace=False))
    yield "sketch", lambda: CalibrationSketch(64).update(y, p, sample_weight=w).audit()
    if rng.random() < 0.1:
        yield "audit", lambda: audit(y, p, sample_weight=w, n_resamples=39, random_state=0)


def look(cases: int, seed: int) -> None:
    """That many calls."""
    if not config.BOUNDSCHECK:
        raise SystemExit("NUMBA_BOUNDSCHECK is not set")
    done = number = 0
    while done < cases:
        rng = np.random.default_rng([seed, number])
        y, p = _rows(rng)
        for name, call in _calls(y, p, rng):
            done += 1
            try:
                call()
            except InputError:
                continue
            except Exception as problem:
                print(f"rows {seed}, {number}: {name}: {type(problem).__name__}: {problem!s:.200}", flush=True)
        number += 1


if __name__ == "__main__":
    look(int(sys.argv[1]), int(sys.argv[2]))
