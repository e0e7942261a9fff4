"""Compile the kernels that the usual commands call, for any processor of this kind, so that a wheel can hold them.

    python tools/compile_kernels.py FOLDER

The commands are run on small files; what numba kept of it is put into FOLDER, with what it was made for
(`calibrant.kernels.shipped`).
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from calibrant.kernels.shipped import DESCRIPTION

# Processors of ten years and less can run the first (x86-64-v3); others take what all of their kind have.
PROCESSORS = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "generic": ()}
COMMANDS = (
    "demo --folder .",
    "audit small.csv",
    "audit calibrated.csv",
    "audit rows.csv --unweighted --html page.html",
    "audit rows.csv --sample-weight w",
    "audit rows.csv --unweighted --groups customer",
    "audit rows.csv --unweighted --by country",
    "audit rows.csv --unweighted --find country,age",
    "audit rows.csv --unweighted --drift day",
    "audit rows.csv --unweighted --y-prob y_prob --y-prob other",
    "audit classes.csv",
    "gate rows.csv --unweighted --max-distance 0.05",
    "gate rows.csv --unweighted --max-distance 0.05 --by country",
    "gate rows.csv --unweighted --max-distance 0.05 --groups customer --max-weight 30",
)
ASK = """
import json
from numba.core.registry import cpu_target
from calibrant.kernels.shipped import here
print(json.dumps({"for": here(), "target": cpu_target.target_context.codegen().magic_tuple()}))
"""


def write_rows(folder: Path) -> None:
    """Forecasts that are calibrated, that are not, and of three classes."""
    rng = np.random.default_rng(0)
    n = 3000
    p = rng.random(n)
    named = {"y_prob": p, "other": p**1.3, "y_true": rng.random(n) < p**1.5, "w": 1.0 + rng.random(n)}
    more = {"country": rng.integers(0, 4, n), "age": rng.integers(20, 70, n), "customer": rng.integers(0, 900, n)}
    day = np.datetime64("2026-01-01") + np.sort(rng.integers(0, 30, n))
    write(folder / "rows.csv", {**named, **more, "day": day})
    write(folder / "calibrated.csv", {"y_prob": p.round(4), "y_true": rng.random(n) < p.round(4)})
    write(folder / "small.csv", {"y_prob": p[:40], "y_true": rng.random(40) < p[:40]})
    classes = rng.dirichlet(np.ones(3), n).round(6)
    classes[:, 2] = 1.0 - classes[:, 0] - classes[:, 1]
    label = (rng.random(n)[:, None] > classes.cumsum(axis=1)[:, :2]).sum(axis=1)
    write(folder / "classes.csv", {"y_true": label, **{f"p{k}": classes[:, k] for k in range(3)}})


def write(path: Path, columns: dict[str, np.ndarray]) -> None:
    rows = zip(*(column.astype(int) if column.dtype == bool else column for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


def main(folder: Path) -> None:
    processor = "x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"
    with tempfile.TemporaryDirectory() as at:
        cache = Path(at, "cache")
        write_rows(Path(at))
        settings = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
        run = {"cwd": at, "env": {**os.environ, **settings}}
        for command in COMMANDS:
            ended = subprocess.run([sys.executable, "-m", "calibrant", *command.split()], **run, capture_output=True)
            if ended.returncode not in (0, 1, 3):
                sys.exit(f"calibrant {command}: {ended.stderr.decode()}")
        made = json.loads(subprocess.run([sys.executable, "-c", ASK], **run, capture_output=True, check=True).stdout)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for kept in cache.rglob("*.nb[ci]"):
            shutil.copy(kept, folder)
        made["features"] = PROCESSORS[processor]
        (folder / DESCRIPTION).write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
