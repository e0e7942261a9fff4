"""The n-th call of the file system fails, or a signal comes there, for every n; too little memory; killed workers.

Needs Linux and a C compiler. A server is started with tools/faulty.c loaded before libc; every case is a fork of it, in
which all is imported and compiled, so that a case takes a fraction of a second.
"""

from __future__ import annotations

import errno
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from faulty import write_inputs

from runs import Found

WHAT = (
    "The n-th open, read, write, fsync, rename, chmod or unlink of every command and function that writes fails, or a "
    "signal comes there, for every n; forty limits of memory; a worker of Spark and of Dask is killed. A finding is an "
    "exit code that is not documented, a file neither old nor new, a verdict without its words, or a leftover."
)
HERE = Path(__file__).resolve()
HOUSE = HERE.parents[2]
OLD = b"what stood here before\n"
SECONDS = re.compile(rb"(?<=\()\d[\d.,]* s(?=\))|(?<=; )\d[\d.,]* s(?= on \d)")  # what the clock said


def _tasks(folder: str) -> dict[str, tuple[list[str], list[str]]]:
    """Name -> what is run, and the files that it writes."""
    rows, other, html = f"{folder}/rows.csv", f"{folder}/other.csv", f"{folder}/out.html"
    quick = ["--resamples", "0"]
    return {
        "audit": (["audit", rows, *quick, "--html", html], ["out.html"]),
        "audit of two": (["audit", rows, other, *quick, "--html", html, "--json"], ["out.html"]),
        "audit by and drift": (["audit", rows, *quick, "--by", "day", "--drift", "day", "--json"], []),
        "audit of a gz file": (["audit", f"{folder}/rows.csv.gz", *quick], []),
        "gate, beyond": (["gate", other, "--max-distance", "0.01"], []),
        "gate, within": (["gate", f"{folder}/rows.parquet", "--max-distance", "0.5"], []),
        "demo": (["demo", "--folder", folder], ["calibrant-demo.html"]),
        "reproduce": (["reproduce", "unifying-theory-lemmas", "--out", folder], ["unifying-theory-lemmas.md"]),
        "reproduce a figure": (
            ["reproduce", "hardness-one-sided-convergence", "--quick", "--out", folder],
            ["hardness-one-sided-convergence.md", "hardness-one-sided-convergence.svg"],
        ),
        "sketch to a file": (["function", "sketch", f"{folder}/out.parquet"], ["out.parquet"]),
        "sketch from a file": (["function", "read sketch", f"{folder}/sketch.parquet"], []),
        "recalibrator to a file": (["function", "map", f"{folder}/map.json"], ["map.json"]),
        "recalibrator from a file": (["function", "read map", f"{folder}/saved.json"], []),
        "report of an audit": (["function", "report", html], ["out.html"]),
    }


HOWS: dict[str, dict[str, str]] = {
    "no space": {"FAULTY_ERROR": str(errno.ENOSPC)},
    "a broken disk": {"FAULTY_ERROR": str(errno.EIO)},
    "no rights": {"FAULTY_ERROR": str(errno.EACCES)},
    "no space from then on": {"FAULTY_ERROR": str(errno.ENOSPC), "FAULTY_STAYS": "1"},
    "half a write": {"FAULTY_ERROR": str(errno.ENOSPC), "FAULTY_SHORT": "1"},
    "Ctrl-C": {"FAULTY_SIGNAL": str(int(signal.SIGINT))},
    "told to end": {"FAULTY_SIGNAL": str(int(signal.SIGTERM))},
    "killed": {"FAULTY_SIGNAL": str(int(signal.SIGKILL))},
}
_CODES = {"Ctrl-C": {130}, "told to end": {143}, "killed": {-9}}
_NAMES = list(_tasks(""))
_LIMITS = [320, 500, 630, *(650 + 40 * i for i in range(17))]  # MB; twenty of them
PARTS = len(_NAMES) + 2
SMALL = 20
_FIRST_CALLS = 60  # among which `some` draws: few tasks make more


def run(part: int, seed: int) -> Found:
    """One task, in every way at every call; the last two parts are of memory and of workers."""
    del seed
    if part == PARTS - 2:
        return _with_little_memory()
    if part == PARTS - 1:
        return _with_killed_workers()
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        return _every_call(server, _NAMES[part])


def some(cases: int, seed: int) -> Found:
    """As many cases of one task, in ways and at calls that are drawn."""
    rng = np.random.default_rng(seed)
    name, findings = str(rng.choice(_NAMES)), []
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        wanted = server.case(name)
        if faults := _of_no_fault(name, wanted):
            return Found(1, faults)
        for _ in range(cases):
            how, at = str(rng.choice(list(HOWS))), int(rng.integers(1, _FIRST_CALLS))
            done = server.case(name, at, HOWS[how])
            findings += [f"{name}, {how} at call {at} ({done.where}): {said}" for said in _wrong(done, wanted, how)]
    return Found(cases, findings)


def _every_call(server: Server, name: str) -> Found:
    wanted, findings, cases = server.case(name), [], 1
    if findings := _of_no_fault(name, wanted):
        return Found(1, findings)
    for how, faulty in HOWS.items():
        for at in itertools.count(1):
            done = server.case(name, at, faulty)
            cases += 1
            findings += [f"{name}, {how} at call {at} ({done.where}): {said}" for said in _wrong(done, wanted, how)]
            if not done.where:
                break
    return Found(cases, findings)


def _of_no_fault(name: str, done: Done) -> list[str]:
    """What is wrong with a task below which no call failed."""
    if done.code in (0, 1) and "Traceback" not in done.errors and OLD not in done.files.values():
        return []
    return [f"{name}: without any fault: code {done.code}, {done.errors[-200:]!r}"]


class Done:
    """What a case left behind."""

    def __init__(self, code: int, folder: Path, files: list[str], inputs: set[str]) -> None:
        self.code = code
        mark = folder / "mark"
        self.where = mark.read_text() if mark.exists() else ""
        self.output = SECONDS.sub(b"", (folder / "output").read_bytes())
        self.errors = (folder / "errors").read_text(errors="replace")
        work = folder / "work"
        self.files = {
            name: SECONDS.sub(b"", (work / name).read_bytes()) if (work / name).exists() else None for name in files
        }
        self.left = sorted({path.name for path in work.iterdir()} - inputs - set(files))


def _wrong(done: Done, wanted: Done, how: str) -> Iterator[str]:
    allowed = {wanted.code} if not done.where else {wanted.code, 2, 70} | _CODES.get(how, set())
    if done.code not in allowed:
        yield f"exit code {done.code}: {done.errors[-300:]!r}"
    if "Traceback" in done.errors or "Exception ignored" in done.errors:
        yield f"a traceback: {done.errors[-500:]!r}"
    for name, content in done.files.items():
        # A page that stood already when a signal came says that there is no result, as the exit code does.
        no_result = done.code in (130, 143) and content is not None and b"<h1>No result of " in content
        if content not in (OLD, wanted.files[name]) and not no_result:
            yield f"{name} is neither old nor new: {'gone' if content is None else len(content)}"
        elif done.code == wanted.code and content == OLD:
            yield f"exit code {done.code}, but {name} is the old one"
    if done.code == wanted.code and done.output != wanted.output:
        yield f"exit code {done.code}, but it printed {done.output[-100:]!r}"
    if done.code in (2, 70) and not done.errors and how != "no space from then on" and done.where != "write":
        yield "nothing was said"
    if done.left and how not in ("killed", "no space from then on") and done.where != "unlink":
        yield f"left behind: {done.left}"


class Server:
    """A process with faulty.c below it, which forks for every case; `folder` holds all that it reads and writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        library = folder / "faulty.so"
        compiled = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(HOUSE / "tools" / "faulty.c"), "-ldl"]
        subprocess.run(compiled, check=True)
        (folder / "work").mkdir()
        self._process = subprocess.Popen(
            [sys.executable, str(HOUSE / "tools" / "faulty.py"), str(folder)],
            env=_environment() | {"LD_PRELOAD": str(library)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._inputs: set[str] = set(self._answer())

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]

    def _answer(self) -> Any:
        return json.loads(self._process.stdout.readline())  # type: ignore[union-attr]

    def case(self, name: str, at: int = 0, how: dict[str, str] | None = None) -> Done:
        """Run a task; call number `at` fails, if it is not 0."""
        work = self._folder / "work"
        arguments, files = _tasks(str(work))[name]
        for path in work.iterdir():
            if path.name not in self._inputs:
                path.unlink()
        for file in files:
            (work / file).write_bytes(OLD)
        (self._folder / "mark").unlink(missing_ok=True)
        faulty = {"FAULTY_FOLDER": str(work), "FAULTY_AT": str(at), "FAULTY_MARK": str(self._folder / "mark")}
        asked = {"arguments": arguments, "environment": faulty | (how or {})}
        self._process.stdin.write(json.dumps(asked) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return Done(self._answer(), self._folder, files, self._inputs)


@cache
def _environment() -> dict[str, str]:
    paths = [str(HOUSE / "src"), str(HOUSE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OPENBLAS_NUM_THREADS": "1"}


def _with_little_memory() -> Found:
    findings = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        write_inputs(folder / "work")
        for task in ("audit", "gate, within"):
            arguments, _ = _tasks(str(folder / "work"))[task]
            for limit in _LIMITS:
                target = folder / "work" / "out.html"
                target.write_bytes(OLD)
                line = 'ulimit -v "$0"; exec "$@"'
                done = subprocess.run(
                    ["bash", "-c", line, str(limit * 1000), sys.executable, "-m", "calibrant", *arguments],
                    env=_environment(),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                content = target.read_bytes()
                said = f"{task} with {limit} MB: exit code {done.returncode}"
                if done.returncode not in (0, 70) or "Traceback" in done.stderr:
                    findings.append(f"{said}: {done.stderr[-300:]!r}")
                if done.returncode == 0 and not done.stdout:
                    findings.append(f"{said}: no words")
                if (done.returncode == 70) is not ("no verdict was reached" in done.stderr):
                    findings.append(f"{said}: {done.stderr[-300:]!r}")
                if content != OLD and not content.rstrip().endswith(b"</html>"):
                    findings.append(f"{said}: half a report")
                if done.returncode == 0 and task == "audit" and content == OLD:
                    findings.append(f"{said}: no report")
    return Found(2 * len(_LIMITS), findings)


def _with_killed_workers() -> Found:
    """The tests of it, in a process of their own."""
    engines = {"dask": importlib.util.find_spec("distributed"), "spark": shutil.which("java")}
    chosen = [name for name, there in engines.items() if there]
    if not chosen:
        return Found(0, [])
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "killed"]
    pytest += ["--hypothesis-profile", "thorough"]  # Spark's is left out of the suite
    done = subprocess.run(
        [*pytest, str(HOUSE / "tests" / "tables" / "test_engines.py")],
        cwd=HOUSE,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return Found(len(chosen), [] if done.returncode == 0 else [done.stdout[-2000:]])
