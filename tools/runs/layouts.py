"""The JSON of hostile audits, comparisons and gates beside its published schemas."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from tests.hostile import WAYS, document
from tests.published import broken

from runs import Found

WHAT = (
    "Audits, comparisons and gates of hard rows (keys that are numbers, truth values, dates, empty or missing; "
    "predictions that are denormal, equal, 0 and 1; one row, one outcome, 1,000 classes; weights, trials, groups), as "
    "JSON. A finding is JSON that is not strict, or not as its schema in docs/schema says."
)
SMALL = 36


def run(cases: int, seed: int) -> Found:
    """As many documents; rows that are refused are none."""
    findings, looked, number = [], 0, 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        while looked < cases:
            made = document(number, seed, Path(folder))
            if made is not None:
                looked += 1
                way = WAYS[number % len(WAYS)].__name__
                findings += [f"{way}, seed {seed} number {number}: {fault}" for fault in broken(made)]
            number += 1
    return Found(looked, findings)
