"""Time calibrant beside its peers in one run and write the table into docs/benchmarks.md.

    python benchmarks/run.py            # every case
    python benchmarks/run.py smooth     # the cases whose title holds the word; prints only

Every figure comes from a process of its own: one call to warm up (compiled code, imports, first touch of memory), then
the median of the repeats. Peak memory is the high-water mark of the warm-up call above what the process held before it.
Peers that are not installed are said to be missing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

TABLE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PEERS = [
    "numpy",
    "scipy",
    "scikit-learn",
    "relplot",
    "probcal",
    "netcal",
    "MAPIE",
    "torchmetrics",
    "uncertainty-calibration",
    "mcgrad",
]


def processes() -> list[Path]:
    """This process and those that it has started."""
    started = [child for each in Path("/proc/self/task").iterdir() for child in (each / "children").read_text().split()]
    return [Path("/proc", each) for each in ("self", *started)]


def peak_megabytes() -> float:
    told = [(process / "status").read_text() for process in processes()]
    return sum(int(status.split("VmHWM:")[1].split()[0]) for status in told) / 1024


def forget_peak() -> None:
    for process in processes():
        with contextlib.suppress(OSError):
            (process / "clear_refs").write_text("5")


def one(case_index: int, name: str) -> None:
    """Time one way of one case in this process and print the figures as JSON."""
    warnings.simplefilter("ignore")
    case = CASES[case_index]
    run = case.runs[name]
    y_true, y_prob = case.sample(case.rows)
    with contextlib.redirect_stdout(io.StringIO()):
        run(y_true[:200].copy(), y_prob[:200].copy())  # imports and compilation are not memory of the call
        forget_peak()
        before = peak_megabytes()
        start = time.perf_counter()
        run(y_true, y_prob)
        seconds = [time.perf_counter() - start]
        peak = peak_megabytes() - before
        if case.commands:
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        if case.repeats > 1:
            seconds = []
            for _ in range(case.repeats):
                start = time.perf_counter()
                run(y_true, y_prob)
                seconds.append(time.perf_counter() - start)
    told = {"seconds": statistics.median(seconds), "worst": max(seconds)}
    print(json.dumps(told | {"peak": peak, "array": y_prob.nbytes / 2**20}))


def in_own_process(case_index: int, name: str) -> dict[str, float] | str:
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(case_index), name], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    last = done.stderr.strip().splitlines()[-1]
    return "not installed" if "ModuleNotFoundError" in last else last[:60]


def of_rms() -> str:
    """R's rms and its version."""
    ask = 'cat("R", format(getRversion()), "with rms", format(packageVersion("rms")))'
    try:
        return subprocess.run(["Rscript", "-e", ask], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "R with rms not installed"


def machine() -> str:
    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package} not installed"

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}. "
        + ", ".join([*(of(p) for p in PEERS), of_rms()])
    )


def in_units(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def main(words: list[str]) -> None:
    lines = ["| case | | median | worst | times ours | peak memory |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    print("\n".join(lines))
    for index, case in enumerate(CASES):
        if words and not any(word in case.title for word in words):
            continue
        ours = None
        for name in case.runs:
            figures = in_own_process(index, name)
            title = case.title if ours is None else ""
            if isinstance(figures, str):
                line = f"| {title} | {name} | {figures} | | | |"
            else:
                ours = ours or figures["seconds"]
                seconds = figures["seconds"]
                shown, worst = (in_units(figures[each]) for each in ("seconds", "worst"))
                arrays = figures["peak"] / figures["array"]
                memory = f"{figures['peak']:.0f} MB = {arrays:.1f} arrays"
                line = f"| {title} | {name} | {shown} | {worst} | {seconds / ours:.2f} | {memory} |"
            print(line, flush=True)
            lines.append(line)
    if not words:
        head, mark, _ = TABLE.read_text().partition("<!-- table -->\n")
        TABLE.write_text(f"{head}{mark}\n{machine()}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]), sys.argv[3])
    else:
        main(sys.argv[1:])
