"""The JSON of hostile audits, comparisons and gates beside its published schemas."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from tests.hostile import WAYS, document
from tests.published import Document, broken

from runs import Found

WHAT = (
    "Audits, comparisons and gates of hard rows (keys that are numbers, truth values, dates, empty or missing; "
    "predictions that are denormal, equal, 0 and 1; one row, one outcome, 1,000 classes; weights, trials, groups), as "
    "JSON. A finding is a traceback, a warning, or JSON that is not strict, or not as its schema in docs/schema says."
)
SMALL = 18


def run(cases: int, seed: int) -> Found:
    """As many documents; rows that are refused are none."""
    findings, looked, number = [], 0, 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        while looked < cases:
            case = f"{WAYS[number % len(WAYS)].__name__}, seed {seed} number {number}"
            try:
                made = document(number, seed, Path(folder))
                faults = [] if made is None else broken(made)
            except Exception as problem:
                made, faults = Document("", "", {}), [f"{type(problem).__name__}: {problem!s:.200}"]
            findings += [f"{case}: {fault}" for fault in faults]
            looked += made is not None
            number += 1
    return Found(looked, findings)
