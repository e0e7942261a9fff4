"""One table by every road: one number or one error."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

from runs import Found, share_a_database

WHAT = "Generated tables, good and bad, each by two of twenty roads; a finding is another number or another error"
SMALL = 80


def run(cases: int, seed: int) -> Found:
    """Tables that hypothesis draws from this seed."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st
    from tests.tables.differential import ROADS, disagreements
    from tests.tables.generated import generated

    share_a_database()
    findings, looked_at = [], 0

    with tempfile.TemporaryDirectory() as folder:

        @seeded(seed)
        @settings(
            max_examples=cases,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(generated(), st.lists(st.sampled_from(list(ROADS)), min_size=2, max_size=2, unique=True))
        def every(table, roads):
            nonlocal looked_at
            looked_at += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wrong = disagreements(table, Path(folder), roads)
            findings.extend(f"{each}\n    {table}" for each in wrong)

        every()
    return Found(looked_at, findings)
