"""Every option of every command, in every mode, alone and beside another."""

from __future__ import annotations

import random
import tempfile
import warnings
from pathlib import Path

from tests import test_options as options

from runs import Found, share_a_database

WHAT = (
    "Options of every command in every mode, alone and beside each other option, on rows where they matter. A finding "
    "is one without effect that is not refused by its name, or a refusal in words of Python."
)
SMALL = 10


def run(cases: int, seed: int) -> Found:
    """Options alone and in pairs, in turn."""
    share_a_database()
    drawn, findings = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options.built.cache_clear()
        options.built.place = Path(folder)
        for number in range(cases):
            case = drawn.choice(options.PAIRS if number % 2 else options.REST)
            try:
                options.matters_or_is_refused(*case)
            except Exception as problem:
                findings.append(f"{' '.join(case)}: {type(problem).__name__}: {problem!s:.300}")
    return Found(cases, findings)
