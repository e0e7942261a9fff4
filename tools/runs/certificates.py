"""Certificates as they are made, and with a number changed, beside what their definitions say in fractions."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.test_certificates import confirm, tamper

from runs import Found

WHAT = (
    "Certificates of small samples, two for each case, which are confirmed, and one with a number of the proof or "
    "the claim changed, swapped, left out or twice. A finding is one that the checker confirms and the definitions, in "
    "fractions, do not, or the other way round."
)
SMALL = 200


def run(cases: int, seed: int) -> Found:
    """As many that prove their claims no longer, and those between them that still do."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Found(confirm(Path(folder), seed, 2 * cases) + sum(tamper(Path(folder), seed, cases)), [])
        except AssertionError as problem:
            return Found(cases, [f"{problem!s:.500}"])
