"""Rare events and atoms: no level and no coverage is off its promise."""

from __future__ import annotations

import warnings

from scipy.stats import binomtest
from tests.corners import CELLS, LEVEL, broken

from runs import Found

WHAT = (
    "Every test, bound, interval and region of rare events and atoms (rates of 1e-3, beta(.05, .05), piled at 0 and 1, "
    "five values, one 1 - 2^-53, saturated; 20, 200 and 2,000 rows; 200 samples of each). A finding is a traceback, a "
    "warning, or a promise that is broken more often than its level, p < 0.01 over all cells together."
)
PARTS = len(CELLS)
TRIALS = 200


def run(part: int, seed: int) -> Found:
    """One function, design and number of rows."""
    name, design, n = CELLS[part]
    cell = f"{name}, {design}, {n} rows"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            failed, kept, refused = broken(name, design, n, range(seed * TRIALS, (seed + 1) * TRIALS))
        except Exception as problem:
            return Found(TRIALS, [f"{cell}: {type(problem).__name__}: {problem!s:.200}"])
    answered = failed + kept
    if answered and binomtest(failed, answered, LEVEL, "greater").pvalue < 0.01 / len(CELLS):
        return Found(TRIALS, [f"{cell}: broken in {failed} of {answered}, {refused} refused"])
    return Found(TRIALS, [])
