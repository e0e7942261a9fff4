"""Compile the kernels that the usual commands call, for any processor of this kind, so that a wheel can hold them.

    python tools/compile_kernels.py FOLDER

The commands are run on small files, which says what is called with which types. That is compiled again in order by one
process, so that a wheel that is built twice is the same, and put into FOLDER with what it was made for
(`calibrant.kernels.shipped`).
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.kernels.shipped import DESCRIPTION, here

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
    "audit sharpened.csv",
    "gate rows.csv --unweighted --max-distance 0.05",
    "gate rows.csv --unweighted --max-distance 0.05 --by country",
    "gate rows.csv --unweighted --max-distance 0.05 --groups customer --max-weight 30",
)


def write_rows(folder: Path) -> None:
    """Forecasts that are calibrated, that are not, and of three classes in both states."""
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
    for name, rates in (("classes", classes), ("sharpened", classes**3 / (classes**3).sum(axis=1, keepdims=True))):
        write(folder / f"{name}.csv", {"y_true": label, **{f"p{k}": rates[:, k] for k in range(3)}})


def write(path: Path, columns: dict[str, np.ndarray]) -> None:
    rows = zip(*(column.astype(int) if column.dtype == bool else column for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


def main(folder: Path) -> None:
    processor = "x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"
    with tempfile.TemporaryDirectory() as at:
        called, ordered = Path(at, "called"), Path(at, "ordered")
        write_rows(Path(at))
        # Numba's names of functions and the order of their parts depend on the seed of hashes.
        settings = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}

        def run(cache: Path, *command: str) -> subprocess.CompletedProcess[str]:
            env = {**os.environ, **settings, "NUMBA_CACHE_DIR": str(cache)}
            return subprocess.run([sys.executable, *command], cwd=at, env=env, capture_output=True, text=True)

        for command in COMMANDS:
            ended = run(called, "-m", "calibrant", *command.split())
            if ended.returncode not in (0, 1, 3):
                sys.exit(f"calibrant {command}: {ended.stderr}")
        ended = run(ordered, str(Path(__file__).resolve()), "--again", str(called))
        if ended.returncode:
            sys.exit(ended.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for kept in ordered.rglob("*.nb[ci]"):
            shutil.copy(kept, folder)
        made = {**json.loads(ended.stdout), "features": PROCESSORS[processor]}
        (folder / DESCRIPTION).write_text(json.dumps(made, indent=2) + "\n")


def compile_again(called: Path) -> None:
    """Compile in order whatever a cache of numba's holds, and print what it is for."""
    from numba.core.compiler import CompileResult
    from numba.core.registry import cpu_target
    from numba.np.ufunc import array_exprs

    reduce = CompileResult._reduce

    def without_notes(result: Any) -> Any:  # which hold addresses of this process and paths of this machine
        parts = list(reduce(result))
        parts[6] = ""
        return tuple(parts)

    CompileResult._reduce = without_notes
    numbers = itertools.count()
    array_exprs.hash = lambda _expression: next(numbers)  # is part of a name, and else an address
    for index in sorted(called.rglob("*.nbi"), key=lambda path: path.name):
        module, name = re.fullmatch(r"(\w+)\.(\w+)-\d+\.py\d+\.nbi", index.name).groups()
        kernel = getattr(importlib.import_module(f"calibrant.kernels.{module}"), name)
        with index.open("rb") as file:
            pickle.load(file)  # numba's version
            _, signatures = pickle.load(file)
        for signature, *_ in sorted(signatures, key=str):
            kernel.compile(signature)
    print(json.dumps({"for": here(), "target": cpu_target.target_context.codegen().magic_tuple()}))


if __name__ == "__main__":
    if sys.argv[1] == "--again":
        compile_again(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]).resolve())
