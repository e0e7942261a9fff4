"""Certificates with a number changed, beside what their definitions say of them in fractions."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.test_certificates import tamper

from runs import Found

WHAT = (
    "Certificates of small samples with one number of the proof or of the claim changed, swapped, left out or twice. A "
    "finding is one that the checker confirms and the definitions, in fractions, do not, or the other way round."
)
SMALL = 100


def run(cases: int, seed: int) -> Found:
    """As many that prove their claims no longer, and those between them that still do."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Found(sum(tamper(Path(folder), seed, cases)), [])
        except AssertionError as problem:
            return Found(cases, [f"{problem!s:.500}"])
