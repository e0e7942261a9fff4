"""Runs the command, or a function that reads or writes a file, in a fork of a process below which calls fail.

Started by tools/runs/faults.py with tools/faulty.c loaded before libc. Takes a line of JSON for every case and answers
with its exit code.
"""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_inputs(folder: Path) -> None:
    """Files that the cases read."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    lines = [f"{a},{b!r},{i % 3}\n" for i, (a, b) in enumerate(zip(y.tolist(), p.tolist(), strict=True))]
    (folder / "rows.csv").write_text("".join(["y_true,y_prob,day\n", *lines]))
    (folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes(), mtime=0))
    pq.write_table(pa.table({"y_true": y, "y_prob": p}), folder / "rows.parquet", write_page_checksum=True)
    many = [f"{i % 2},{1 - i % 2}\n" for i in range(300)]
    (folder / "other.csv").write_text("".join(["y_true,y_prob\n", *many]))
    sketch, fitted, _ = _made()
    sketch.to_parquet(folder / "sketch.parquet")
    fitted.save(folder / "saved.json")


def _made() -> tuple[Any, Any, Any]:
    from calibrant import CalibrationSketch, audit
    from calibrant.recalibration import BetaScaling

    y, p = [0, 1, 0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8, 0.6, 0.45]
    return CalibrationSketch(64).update(y, p), BetaScaling().fit(p, y), audit(y, p, n_resamples=0, random_state=0)


def _function(name: str, path: str) -> None:
    """What a user calls to read or write a file, its failures told as the command tells them."""
    from calibrant import CalibrationSketch
    from calibrant.exits import claim_streams, explained, show
    from calibrant.recalibration import load

    calls: dict[str, Callable[[], object]] = {
        "sketch": lambda: MADE[0].to_parquet(path),
        "map": lambda: MADE[1].save(path),
        "report": lambda: MADE[2].to_html(path),
        "read sketch": lambda: CalibrationSketch.from_parquet(path).to_bytes().hex(),
        "read map": lambda: load(path).to_json(),
    }
    claim_streams()
    with explained():
        show(str(calls[name]()))


def _case(folder: Path, arguments: list[str], environment: dict[str, str]) -> int:
    """In a child of its own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for name, number in (("output", 1), ("errors", 2)):
        held = os.open(folder / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(held, number)
    code = 71
    try:
        from calibrant.__main__ import command

        sys.argv = ["calibrant", *arguments]
        os.environ.update(environment)
        ctypes.CDLL(None).faulty_begin()
        if arguments[0] == "function":
            _function(*arguments[1:])
        else:
            command()  # `main` would end the process before what it imported is written
        code = 0
    except SystemExit as left:
        code = int(left.code or 0)
    finally:
        os.environ.pop("FAULTY_FOLDER", None)
        (folder / "imported").write_text("\n".join(sys.modules))
        os._exit(code)


def serve(folder: Path) -> None:
    """Answer until there is nothing more to do."""
    work = folder / "work"
    write_inputs(work)
    MADE.extend(_made())
    _warm()
    print(json.dumps(sorted(path.name for path in work.iterdir())), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_case(folder, asked["arguments"], asked["environment"])), flush=True)
        for module in set((folder / "imported").read_text().split()) - set(sys.modules):  # once, not in every case
            with contextlib.suppress(Exception):
                importlib.import_module(module)


def _warm() -> None:
    """Load and compile here what every case would else for itself; nothing that starts threads and keeps them."""
    from calibrant import calibration_gate
    from calibrant.cli.demo import comparison
    from calibrant_papers.registry import reproduce

    rows = [i % 2 for i in range(300)], [i / 300 for i in range(300)]
    calibration_gate(*rows, max_distance=0.5)
    str(comparison(0).to_json())
    with tempfile.TemporaryDirectory() as folder:
        MADE[2].to_html(Path(folder) / "report.html")
    reproduce("hardness-one-sided-convergence", quick=True)


MADE: list[Any] = []

if __name__ == "__main__":
    serve(Path(sys.argv[1]))
