"""Kernels in which numba checks every index."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from runs import Found

WHAT = (
    "Measures, tests, bounds, sketches and audits of hard rows (none, one, out of order, no numbers, ties, rare, "
    "certain) while numba checks every index. A finding is anything but an answer or a refusal."
)
HOUSE = Path(__file__).resolve().parents[2]
PARTS = 1
CASES = 5_000


def run(part: int, seed: int) -> Found:
    """All in one process, with compiled code of its own: to compile it takes longer than the calls."""
    del part
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(HOUSE / "tools" / "checked.py"), str(CASES), str(seed)],
            env={
                **os.environ,
                "NUMBA_BOUNDSCHECK": "1",
                "NUMBA_CACHE_DIR": folder,
                "PYTHONPATH": os.pathsep.join([str(HOUSE / "src"), str(HOUSE)]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    findings = done.stdout.splitlines()
    return Found(CASES, findings + ([f"ended with {done.returncode}: {done.stderr[-500:]}"] if done.returncode else []))
