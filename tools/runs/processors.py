"""The suite as other processors would run it: other matrix kernels, and numpy without its widest registers.

Some of its files alone: ``PYTEST_ADDOPTS='-k "test_storage or test_bounds"' python tools/long_runs.py processors``.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from runs import Found

WHAT = (
    "The test suite with OpenBLAS as Haswell, Zen, SkylakeX and Prescott, and with numpy without its AVX-512 paths, "
    "and without AVX2 too, where the machine has them. A finding is a test that fails."
)
HOUSE = Path(__file__).resolve().parents[2]
CORES = ("Haswell", "Zen", "SkylakeX", "Prescott") if platform.machine() in ("x86_64", "AMD64") else ()


def _without(*beginnings: str) -> str:
    """Paths that numpy chooses when it starts, of which only those may be named that the machine has."""
    return " ".join(each for each in __cpu_dispatch__ if each.startswith(beginnings) and __cpu_features__[each])


KINDS = [
    *({"OPENBLAS_CORETYPE": core} for core in CORES),
    *(
        {"NPY_DISABLE_CPU_FEATURES": paths}
        for paths in (_without("AVX512", "X86_V4"), _without("AVX", "X86_V"))
        if paths
    ),
]
PARTS = max(1, len(KINDS))


def run(part: int, seed: int) -> Found:
    """The suite under one kind; generated tests begin with this seed, and slow tests are drawn with it."""
    if not KINDS:
        return Found(0, [])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--hypothesis-seed={seed}",
        f"--draw={seed}",
    ]
    done = subprocess.run(
        command, cwd=HOUSE, env={**os.environ, **KINDS[part]}, capture_output=True, text=True, check=False
    )
    kind = "=".join(*KINDS[part].items())
    lines = done.stdout.splitlines()
    failed = [f"{kind}: {line}" for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failed:
        failed = [f"{kind}: ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"]
    return Found(_counted(lines[-1] if lines else ""), failed)


def _counted(last: str) -> int:
    """Tests that ran, from the last line."""
    words = last.replace(",", "").split()
    return sum(int(n) for n, what in pairwise(words) if what in ("passed", "failed", "error", "errors"))
