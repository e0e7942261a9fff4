"""Mutation testing of every room: change one constant, level, guard or decision, and see whether the tests notice.

    python tools/mutate.py --sample 300 --seed 0 --log mutants.jsonl            # results as they come, and a table
    python tools/mutate.py --sample 300 --seed 0 --log mutants.jsonl --resume   # the mutants that are not in it yet

Mutants are drawn alike from every room (`tools/mutants.py` says what is changed). Each is put into a copy of the
checkout, where the tests that run the changed function (`tools/nearest.py`) are asked, nearest first, in the quick
loop, until one fails; when all have been asked, what survived is asked again of the nearest files whole, as the suite
runs them. Pinned numbers are not asked. Mutants that change no answer are told apart by a written argument, those of
which a rule says so only where no quick test notices them (`tools/equivalent.py`). What each file of tests runs is
found once, in the copy, and kept beside the log. Processes start as copies of one that has the libraries loaded, so
Linux or macOS is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from equivalent import RULES, argued, rule_of  # noqa: E402
from mutants import KINDS, Mutant, mutants  # noqa: E402
from nearest import PINNED, Nearest  # noqa: E402

ROOMS = sorted(
    each.name
    for each in (ROOT / "src" / "calibrant").iterdir()
    if (each / "__init__.py").exists() and each.name not in ("experiments", "integrations")
)
KINDS_DRAWN = KINDS[:4]  # constants, levels, guards and decisions; the others where they are asked for
LIBRARIES = (
    "numpy scipy.stats scipy.optimize numba pytest hypothesis sklearn.linear_model sklearn.isotonic duckdb pandas "
    "pyarrow.parquet matplotlib.pyplot jinja2 rich typer narwhals statsmodels.api"
)
SECONDS = 60  # of a processor that the tests of a mutant may take beyond three times what they took unchanged
NEAREST, SLOW = 2, 45  # files that are asked as the suite runs them, and seconds of a processor that they are given
LEVELS = "tests/test_levels.py"  # is asked first of levels, wherever they are
MOST = 15  # seconds of tests that a mutant is given to survive


def drawn(root: Path, sample: int, seed: int, rooms: list[str], of_kinds: list[str]) -> list[Mutant]:
    """Mutants, alike from every room and, in it, of every kind."""
    rng = random.Random(seed)
    by_room = {}
    for room in rooms:
        kinds: dict[str, list[Mutant]] = defaultdict(list)
        for file in sorted((root / "src/calibrant" / room).rglob("*.py")):
            for each in mutants(str(file.relative_to(root / "src/calibrant")), file.read_text()):
                kinds[each.kind].append(each)
        order: list[Mutant] = []
        while any(kinds[kind] for kind in of_kinds):
            pool = kinds[rng.choice([kind for kind in of_kinds if kinds[kind]])]
            order.append(pool.pop(rng.randrange(len(pool))))
        by_room[room] = iter(order)
    chosen: list[Mutant] = []
    while len(chosen) < sample and by_room:
        for room in list(by_room):
            each = next(by_room[room], None)
            if each is None:
                del by_room[room]
            elif len(chosen) < sample:
                chosen.append(each)
    return chosen


class Copy:
    """The checkout in a folder of its own, with the compiled kernels."""

    def __init__(self, folder: str) -> None:
        self.root = Path(folder) / "checkout"
        leave = shutil.ignore_patterns(".git", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "*.pyc")
        shutil.copytree(ROOT, self.root, ignore=leave)  # with the times of files, by which numba knows them
        self.kernels = (self.root / "src/calibrant/kernels").resolve()
        sys.path[:0] = [str(self.root / "src"), str(self.root)]
        from calibrant.kernels import shipped

        self.sources = shipped.sources()
        for name in [name for name in sys.modules if name.startswith("calibrant")]:
            del sys.modules[name]

    def run(self, arguments: list[str], seconds: float, kernel: bool = False) -> tuple[str, str]:
        """How pytest ended ("passed", "failed" or "endless") in a process of its own, and the test that failed."""
        report = self.root.parent / "report"
        report.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            self._tests(arguments, seconds, kernel, report)
        until = time.monotonic() + 20 * seconds
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "endless", ""
            time.sleep(0.05)
        failed = report.read_text() if report.exists() else ""
        if os.WIFSIGNALED(status):
            return "endless", failed
        return ("passed", "") if os.WEXITSTATUS(status) in (0, 5) else ("failed", failed)

    def _tests(self, arguments: list[str], seconds: float, kernel: bool, report: Path) -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        os.chdir(self.root)
        os.environ["PYTHONPATH"] = f"{self.root / 'src'}{os.pathsep}{self.root / 'tools'}"
        nowhere = os.open(self.root.parent / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        code = 3
        try:
            import pytest

            if kernel:  # only what uses the changed kernel is compiled again, not all of them
                from calibrant.kernels import shipped

                shipped.sources = lambda: self.sources

            class Report:
                def pytest_runtest_logreport(self, report: Any, file: Path = report) -> None:
                    if report.failed:
                        file.write_text(report.nodeid)

            loaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "nearest"]
            code = int(pytest.main([*arguments, *loaded], plugins=[Report()]))
        except BaseException:  # whatever a mutant does
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def changed(self, mutant: Mutant, arguments: list[str], seconds: float) -> tuple[str, str]:
        """Whether tests notice a mutant, which is taken out again."""
        file = self.root / "src/calibrant" / mutant.file
        text, times = file.read_text(), file.stat()
        stale = self._stale(file) if mutant.room == "kernels" else []
        aside = {each: each.read_bytes() for each in stale}
        stamps = {each: each.stat() for each in stale}
        try:
            compile(mutant.apply(text), mutant.file, "exec")
            file.write_text(mutant.apply(text))
            for each in stale:
                each.unlink()
            return self.run(["-x", "-q", *arguments], seconds, mutant.room == "kernels")
        finally:
            file.write_text(text)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            if mutant.room == "kernels":
                for each in self._stale(file):
                    each.unlink()
            for each, held in aside.items():
                each.write_bytes(held)
                os.utime(each, ns=(stamps[each].st_atime_ns, stamps[each].st_mtime_ns))

    def _stale(self, file: Path) -> list[Path]:
        """The compiled code of a kernel's file and of those that import it."""
        texts = {each.stem: each.read_text() for each in self.kernels.glob("*.py")}
        users, grown = {file.stem}, True
        while grown:
            imports = [f"calibrant.kernels.{user} import" for user in users]
            more = {name for name, text in texts.items() if any(each in text for each in imports)}
            grown, users = not more <= users, users | more
        compiled = self.kernels / "__pycache__"  # by numba, and what it leaves for runs without it
        return [
            each for kind in ("*.nb*", "*.kept") for each in compiled.glob(kind) if each.name.split(".")[0] in users
        ]


def load_libraries() -> None:
    """What tests import, once; not the package itself."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    for name in LIBRARIES.split():
        try:
            __import__(name)
        except ImportError:
            continue


def calls(copy: Copy, file: Path) -> dict[str, Any]:
    """Which functions each test of the quick loop runs, found once for each file of tests."""
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"ran": {}, "seconds": {}, "failed": []}
    known.setdefault("files", [])
    found = copy.root.parent / "calls"
    for folder in ("", *ROOMS, "peers"):
        tests = [str(each.relative_to(copy.root)) for each in (copy.root / "tests" / folder).glob("test_*.py")]
        tests = sorted(each for each in tests if each not in PINNED and each not in known["files"])
        if tests:
            copy.run(["-q", "--quick", "--calls", str(found), *tests], 3600)
            more = json.loads(found.read_text())
            known["files"] += tests
            known["failed"] += more["failed"]
            known["ran"] |= more["ran"]
            known["seconds"] |= more["seconds"]
            file.write_text(json.dumps(known))
    return known


def as_the_suite(copy: Copy, mutant: Mutant, files: list[str], without: list[str]) -> tuple[str, str]:
    """Whether files notice a mutant with their slow tests, and as many examples as the suite draws."""
    while True:
        end, by = copy.changed(mutant, [*without, *files], SLOW)
        if end == "endless":  # they may take longer than they are given
            return "passed", ""
        if end == "passed" or not by or copy.run(["-q", by], SLOW)[0] == "passed":
            return end, by
        without.append(f"--deselect={by}")  # it fails without the mutant too


def table(results: list[dict[str, Any]]) -> str:
    """How many were noticed, survived, or change no answer, by room."""
    ends = {"passed": "survived", "equivalent": "equivalent"}
    count = Counter((each["room"], ends.get(each["end"], "noticed")) for each in results)
    count += Counter(("all", ends.get(each["end"], "noticed")) for each in results)
    lines = ["| Room | Mutants | Noticed | Change no answer | Survived |", "| --- | ---: | ---: | ---: | ---: |"]
    for room in [*sorted({each["room"] for each in results}), "all"]:
        told = [count[room, each] for each in ("noticed", "equivalent", "survived")]
        lines.append(f"| `{room}` | {sum(told)} | {' | '.join(map(str, told))} |")
    return "\n".join(lines)


def main() -> None:
    """Draw mutants, ask the tests of each, print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=ROOMS, action="append", help="these alone")
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"), help="a line for each mutant")
    parser.add_argument("--kind", choices=KINDS, action="append", help="these alone")
    parser.add_argument("--resume", action="store_true", help="leave out mutants that the log has")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th mutant, for several processes with one log each")
    asked = parser.parse_args()
    part, parts = map(int, asked.part.split("/"))
    if not asked.resume:
        asked.log.unlink(missing_ok=True)
    lines = asked.log.read_text().splitlines() if asked.log.exists() else []
    results = {each["mutant"]: each for each in map(json.loads, lines)}
    load_libraries()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        known = calls(copy, asked.log.with_suffix(".calls"))
        nearest, only = Nearest(copy.root, known), copy.root.parent / "only"
        without = [f"--deselect={each}" for each in known["failed"]]
        chosen = drawn(copy.root, asked.sample, asked.seed, asked.room or ROOMS, asked.kind or list(KINDS_DRAWN))
        for whole in (False, True):
            for mutant in chosen[part::parts]:
                before = results.get(mutant.name())
                if before is not None and (not whole or before["end"] != "passed" or before["whole"]):
                    continue
                tests, seconds = [], 0.0
                near = nearest.of(mutant.file, mutant.function)
                if mutant.kind == "level":
                    near.sort(key=lambda each: LEVELS not in each)
                for test in near:
                    seconds += known["seconds"][test]
                    if not tests or seconds < MOST:
                        tests.append(test)
                only.write_text(json.dumps(tests))
                files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
                began = time.monotonic()
                end, by = "passed", ""
                if why := argued(mutant):
                    end, by = "equivalent", why
                elif whole and (near := list(dict.fromkeys([*files, *nearest.files(mutant.file)]))[:NEAREST]):
                    end, by = as_the_suite(copy, mutant, near, without)
                elif tests:
                    end, by = copy.changed(mutant, ["--quick", "--only", str(only), *files], SECONDS + 3 * seconds)
                if end == "passed" and rule_of(mutant):
                    end, by = "equivalent", RULES[rule_of(mutant)][1]
                line = {"mutant": mutant.name(), "room": mutant.room, "kind": mutant.kind, "end": end, "by": by}
                line |= {"whole": whole, "tests": len(tests), "seconds": round(time.monotonic() - began, 1)}
                results[mutant.name()] = line
                with asked.log.open("a") as log:
                    log.write(json.dumps(line) + "\n")
                if end == "passed" and whole:
                    print(f"survived {len(tests)} tests: {mutant.name()}", flush=True)
    print(table(list(results.values())))


if __name__ == "__main__":
    main()
