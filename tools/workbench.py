"""A copy of the checkout into which mutants are put, and in which tests are run.

Processes start as copies of one that has the libraries loaded. A mutant in a function of Python's is put into the
loaded function, in a copy of a process that has the tests loaded too, which takes a part of the time. One in a kernel,
or in what runs when a module is imported, is put into its file.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from mutants import Mutant

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    "numpy scipy.stats scipy.optimize numba pytest hypothesis sklearn.linear_model sklearn.isotonic duckdb pandas "
    "pyarrow.parquet matplotlib.pyplot jinja2 rich typer narwhals statsmodels.api"
)
PLUGINS = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "nearest")
IDLE = 10  # seconds in which tests that nothing was computed for are taken to wait for ever
Patch = Sequence[tuple[FunctionType, CodeType]]


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


class Workbench:
    """The checkout in a folder of its own, with the compiled kernels."""

    def __init__(self, folder: str) -> None:
        self.root = Path(folder) / "checkout"
        leave = shutil.ignore_patterns(".git", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "*.pyc")
        shutil.copytree(ROOT, self.root, ignore=leave)  # with the times of files, by which numba knows them
        self.package = self.root / "src/calibrant"
        self.kernels = (self.package / "kernels").resolve()
        self._functions: dict[str, list[FunctionType]] = {}
        sys.path[:0] = [str(self.root / "src"), str(self.root)]
        from calibrant.kernels import shipped

        self.sources = shipped.sources()
        for name in [name for name in sys.modules if name.startswith("calibrant")]:
            del sys.modules[name]

    def run(self, arguments: list[str], seconds: float, kernel: bool = False, patch: Patch = ()) -> tuple[str, str]:
        """How pytest ended in a process of its own, and the test that failed.

        That is "passed", "failed", "endless" if it took more of the processor than it may, or "idle" if it took none.
        """
        report = self.root.parent / f"report {os.getpid()}"
        report.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            for function, code in patch:
                function.__code__ = code
            self._tests(arguments, seconds, kernel, report)
        until = time.monotonic() + (3 if patch else 20) * seconds
        spent, looked = 0, time.monotonic()
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            waits = time.monotonic() > looked + IDLE
            if waits:
                before, spent, looked = spent, _ticks(child), time.monotonic()
                waits = spent == before
            if waits or time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return ("idle" if waits else "endless"), ""
            time.sleep(0.02)
        failed = report.read_text() if report.exists() else ""
        if os.WIFSIGNALED(status):
            return "endless", failed
        return ("passed", "") if os.WEXITSTATUS(status) in (0, 5) else ("failed", failed)

    def _tests(self, arguments: list[str], seconds: float, kernel: bool, report: Path) -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        self._settle()
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

            code = int(pytest.main([*arguments, *PLUGINS], plugins=[Report()]))
        except BaseException:  # whatever a mutant does
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _settle(self) -> None:
        """Go to the copy, and say nothing from there."""
        os.chdir(self.root)
        os.environ["PYTHONPATH"] = f"{self.root / 'src'}{os.pathsep}{self.root / 'tools'}"
        nowhere = os.open(self.root.parent / f"output {os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)

    def changed(self, mutant: Mutant, arguments: list[str], seconds: float) -> tuple[str, str]:
        """Whether tests notice a mutant in its file, which is taken out again."""
        file = self.package / mutant.file
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
            for each, data in aside.items():
                each.write_bytes(data)
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

    def load_tests(self, files: list[str]) -> None:
        """Import files of tests in this process, which `patched` needs and `changed` does not bear."""
        import pytest

        self._settle()
        pytest.main(["--collect-only", "-q", "--quick", *files, *PLUGINS])
        self._find_functions()

    def _find_functions(self) -> None:
        gc.unfreeze()  # what is frozen is not told
        self._functions = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                self._functions[each.__code__.co_filename].append(each)
        gc.freeze()

    def patched(self, mutant: Mutant, arguments: list[str], seconds: float) -> tuple[str, str] | None:
        """Whether tests notice a mutant in the loaded functions; None where it is in none of them, or tests are idle.

        They may wait for a thread of the process that theirs is a copy of: that is to be asked of the file.
        """
        name = "calibrant." + mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        if mutant.room == "kernels" or not mutant.function:
            return None
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except ImportError:
                return None
            self._find_functions()
        file = self.package / mutant.file
        text = file.read_text()
        before, after = (list(_codes(compile(each, file, "exec")))[1:] for each in (text, mutant.apply(text)))
        if len(before) != len(after):
            return None
        changed = {(a.co_qualname, a.co_firstlineno): b for a, b in zip(before, after, strict=True) if a != b}
        loaded = [
            (each, (each.__code__.co_qualname, each.__code__.co_firstlineno)) for each in self._functions[str(file)]
        ]
        patch = [(function, changed[place]) for function, place in loaded if place in changed]
        end = self.run(["-x", "-q", *arguments], seconds, patch=patch) if patch else None
        return None if end is None or end[0] == "idle" else end


def _ticks(session: int) -> int:
    """How often the clock found a process of this session at work; a number that never stays, where none is told."""
    told = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            told += sum(map(int, fields[11:15]))
    return told or time.monotonic_ns()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a module and of all functions and classes in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)
