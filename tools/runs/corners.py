"""Rare events and atoms: no level and no coverage is off its promise."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import binomtest
from tests.corners import CELLS, LEVEL, broken

from runs import Found

WHAT = (
    "Every test, bound, interval and region of rare events and atoms (rates of 1e-3, beta(.05, .05), piled at 0 and 1, "
    "five values, one 1 - 2^-53, saturated; 20, 200 and 2,000 rows; 60 samples of each, 200 where over 3 of these "
    "break a promise). A finding is a traceback, a warning, or a promise that is broken more often than its level, "
    "p < 0.01 over all cells together."
)
PARTS = len(CELLS)
TRIALS, FIRST = 200, 60
_FEW = 3  # of the first: a promise that is broken in 15% of samples breaks as few once in 60 times


def run(part: int, seed: int) -> Found:
    """One function, design and number of rows."""
    name, design, n = CELLS[part]
    cell, trials = f"{name}, {design}, {n} rows", range(seed * TRIALS, (seed + 1) * TRIALS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            counts = np.array(broken(name, design, n, trials[:FIRST]))
            if counts[0] > _FEW:
                counts += broken(name, design, n, trials[FIRST:])
        except Exception as problem:
            return Found(1, [f"{cell}: {type(problem).__name__}: {problem!s:.200}"])
    failed, kept, refused = counts.tolist()
    said = []
    if failed + kept and binomtest(failed, failed + kept, LEVEL, "greater").pvalue < 0.01 / len(CELLS):
        said.append(f"{cell}: broken in {failed} of {failed + kept}, {refused} refused")
    return Found(failed + kept + refused, said)
