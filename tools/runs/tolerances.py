"""The lower distance of hard rows to one tolerance after another."""

from __future__ import annotations

import numpy as np
from tests.tolerances import hard_rows, wider

from calibrant import InputError
from runs import Found

WHAT = (
    "The lower distance of hard rows (ties, crowds, ends, one ulp apart, rates, weights over 16 orders) to eight "
    "tolerances from 1e-2 to 1e-13. A finding is a traceback, or a bracket wider than that of a coarser tolerance."
)


def run(cases: int, seed: int) -> Found:
    """So many samples."""
    findings = []
    for case in range(cases):
        rows = hard_rows(np.random.default_rng([seed, case]))
        try:
            said = wider(*rows)
        except InputError:  # the door's: rates that look like swapped arguments
            continue
        except Exception as problem:
            said = f"{type(problem).__name__}: {problem!s:.200}"
        if said:
            findings.append(f"case {case}: {said}")
    return Found(cases, findings)
