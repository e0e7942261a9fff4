"""Which tests hold a function: a plugin of pytest that notes which functions each test runs, and the order to ask them.

Nothing here is a list of files by hand. A test is near to a function if it runs it (of compiled kernels: if it runs
one that names it), and nearer in this order of its file: it has the module's name in the module's room
of `tests/`; it imports the module, or a name that the module makes public; it does none of this. Of equally near ones
those that take the least time come first. Files that hold what was printed before (`PINNED`) are no evidence for a
definition and left out. ``python tools/nearest.py [BASE]`` prints the files of tests that have the name of a module
that changed since a commit, or import it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

PINNED = ("tests/test_numbers.py", "tests/test_docs.py", "tests/test_benchmarks.py")
A_FILE = "tests/{}/test_{}.py"


class Calls:
    """`pytest -p nearest --calls FILE`: functions of the package that each test runs, and its seconds."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)
        self.ran: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.codes: set[Any] = set()

    def note(self, frame: Any, *_: Any) -> None:
        self.codes.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.codes = set()
        began = time.process_time()
        threading.settrace(self.note)
        sys.settrace(self.note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.seconds[item.nodeid] = time.process_time() - began
            names = set()
            for code in self.codes:
                _, inside, below = code.co_filename.partition("/src/calibrant/")
                if inside:
                    names.add(f"{below}:{code.co_qualname.partition('.<locals>')[0].split('.')[-1]}")
            self.ran[item.nodeid] = sorted(names)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({"ran": self.ran, "seconds": self.seconds, "failed": self.failed}))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calls", help="write to this file which functions each file of tests runs")
    parser.addoption("--only", help="a file with the names of tests: these alone, in this order, those that there are")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--calls"):
        config.pluginmanager.register(Calls(config.getoption("--calls")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--only"):  # a name on the command line that is no test's is an error, and no test that failed
        place = {name: i for i, name in enumerate(json.loads(Path(config.getoption("--only")).read_text()))}
        items[:] = sorted((each for each in items if each.nodeid in place), key=lambda each: place[each.nodeid])


class Nearest:
    """Tests of each function, those in the nearest files first."""

    def __init__(self, root: Path, calls: dict[str, Any]) -> None:
        self.calls = calls
        failed = set(calls["failed"])
        self.tests = {
            test: {tuple(each.split(":")) for each in ran}
            for test, ran in calls["ran"].items()
            if test not in failed and (root / test.partition("::")[0]).exists()
        }
        self.names = {file: _names(root / file) for file in {test.partition("::")[0] for test in self.tests}}
        self.source = root / "src" / "calibrant"
        self.trees: dict[str, ast.Module] = {}
        self.kernels = {f"kernels/{each.name}": self._tree(f"kernels/{each.name}") for each in self._files("kernels")}

    def of(self, file: str, function: str) -> list[str]:
        """The tests that run a function of a module; of one that is compiled, those that run what names it."""
        wanted = {(file, function)} | (self._callers(function) if file in self.kernels else set())
        near = []
        distance: dict[str, int] = {}
        for test, ran in self.tests.items():
            if any(each in ran if each[1] else any(one[0] == each[0] for one in ran) for each in wanted):
                held_by = test.partition("::")[0]
                if held_by not in distance:
                    distance[held_by] = self._distance(held_by, file)
                near.append((distance[held_by], self.calls["seconds"][test], test))
        return [test for _, _, test in sorted(near)]

    def files(self, file: str) -> list[str]:
        """Files of tests that have a module's name or import it, whether or not a quick test of them runs it."""
        near = sorted((self._distance(test, file), test) for test in self.names)
        return [test for distance, test in near if distance < 2]

    def _distance(self, test: str, file: str) -> int:
        room, name = file.split("/")[0], Path(file).stem
        if test == A_FILE.format(room, name):
            return 0
        public = _public(self._tree(file))
        return 1 if f"calibrant.{file[:-3].replace('/', '.')}" in self.names[test] or self.names[test] & public else 2

    def _callers(self, function: str) -> set[tuple[str, str]]:
        """Functions that run as Python and name a compiled one, or a compiled one that names it."""
        names, callers, grown = {function}, set(), True
        while grown:
            grown = False
            for tree in self.kernels.values():
                for each in ast.walk(tree):
                    if isinstance(each, ast.FunctionDef) and each.name not in names and names & _used(each):
                        names.add(each.name)
                        grown = True
        for file in self._files(""):
            below = str(file.relative_to(self.source))
            if below not in self.kernels and any(name in file.read_text() for name in names):
                for owner, each in _functions(self._tree(below)):
                    if names & _used(each):
                        callers.add((below, owner))
        return callers

    def _files(self, room: str) -> list[Path]:
        return sorted((self.source / room).rglob("*.py"))

    def _tree(self, file: str) -> ast.Module:
        if file not in self.trees:
            self.trees[file] = ast.parse((self.source / file).read_text())
        return self.trees[file]


def _functions(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for each in tree.body:
        if isinstance(each, ast.FunctionDef):
            found.append((each.name, each))
        elif isinstance(each, ast.ClassDef):
            found += [(inner.name, inner) for inner in each.body if isinstance(inner, ast.FunctionDef)]
    return found


def _used(tree: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)
    }


def _names(file: Path) -> set[str]:
    """Modules and names that a file of tests imports, and names that it asks the package for."""
    found = set()
    for each in ast.walk(ast.parse(file.read_text())):
        if isinstance(each, ast.ImportFrom) and each.module and each.module.startswith("calibrant"):
            found |= {each.module, *(f"{each.module}.{name.name}" for name in each.names)}
            found |= {name.name for name in each.names}
        elif isinstance(each, ast.Import):
            found |= {name.name for name in each.names}
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "calibrant":
            found.add(each.attr)
    return found


def _public(tree: ast.Module) -> set[str]:
    for each in tree.body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "__all__":
            return set(ast.literal_eval(each.value))
    return set()


def asking_all(root: Path, files: list[str]) -> list[str]:
    """Files of tests that ask every measure, test of calibration or map that is registered."""
    every = re.compile(r"from tests\.registered import|\bcalibration_tests\(\)")
    return [file for file in files if every.search((root / file).read_text())]


def changed_since(base: str, root: Path) -> list[str]:
    """Files of tests that are nearest to the modules that changed since a commit, and those that changed themselves."""
    said = [["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"]]
    found = [subprocess.run(each, cwd=root, capture_output=True, text=True, check=True).stdout for each in said]
    paths = [path for path in "".join(found).splitlines() if path.endswith(".py") and (root / path).exists()]
    files = [str(path.relative_to(root)) for path in sorted((root / "tests").rglob("test_*.py"))]
    nearest = Nearest(root, {"ran": {file: [] for file in files}, "failed": [], "seconds": {}})
    inside = [path.removeprefix("src/calibrant/") for path in paths if path.startswith("src/calibrant/")]
    near = [test for path in inside for test in nearest.files(path)]
    registers = re.compile(r"^@register", re.MULTILINE)
    if any(registers.search((nearest.source / path).read_text()) for path in inside):  # what all of a kind promise
        near += asking_all(root, files)
    return list(dict.fromkeys([*(path for path in paths if path in files), *near]))


if __name__ == "__main__":
    print("\n".join(changed_since(sys.argv[1] if sys.argv[1:] else "HEAD", Path(__file__).parents[1])))
