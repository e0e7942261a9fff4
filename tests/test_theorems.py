"""The table of theorems: what it names exists, and no numbered statement of the papers is missing."""

import ast
import functools
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import calibrant
from calibrant import kernel_calibration_error, smooth_calibration_error
from calibrant_papers.registry import experiments

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")


def numbered(section, *last):
    """Statements 1 to the last, by section: (8, 3) is 8.1 to 8.3."""
    return {f"{section}.{k}" for k in range(1, last[0] + 1)} if last else {str(k) for k in range(1, section + 1)}


def kinds(**counts):
    return {(kind, str(k)) for kind, count in counts.items() for k in range(1, count + 1)}


UNIFYING = set().union(
    *(numbered(s, n) for s, n in ((1, 1), (4, 8), (5, 5), (6, 12), (7, 13), (8, 14), (9, 14), ("B", 6), ("C", 6)))
)
IN_ONE_SEQUENCE = {"A unifying theory of distance from calibration": UNIFYING}
BY_KIND = {
    "Testing calibration in nearly-linear time": kinds(Definition=10, Theorem=6, Lemma=28, Corollary=4, Proposition=3),
    "Computational and statistical hardness of calibration distance": kinds(
        Definition=10, Theorem=7, Lemma=18, Fact=2, Corollary=1
    ),
    "T-Cal": {("", str(k)) for k in range(1, 23)} | kinds(Algorithm=3, Assumption=2, Example=1),
}
APART = {"Algorithm", "Assumption", "Example"}  # of T-Cal, which numbers all else in one sequence


def rows(title):
    """Cells of a paper's table."""
    part = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def statements(cell):
    """(kind, number) of each statement that a cell names: "Lemmas 2 to 4, 7; Claim 8.3"."""
    for part in cell.split(";"):
        kind, _, numbers = part.strip().partition(" ")
        singular = {"Corollaries": "Corollary"}.get(kind, kind.removesuffix("s"))
        for each in numbers.split(","):
            first, _, last = each.strip().partition(" to ")
            section, dot, low = first.rpartition(".")
            high = (last or first).rpartition(".")[2]
            yield from ((singular, f"{section}{dot}{k}") for k in range(int(low), int(high) + 1))


TITLES = [*IN_ONE_SEQUENCE, *BY_KIND, "Verified uncertainty calibration"]
ALL = [(title, *row) for title in TITLES for row in rows(title)]


@pytest.mark.parametrize("title", [*IN_ONE_SEQUENCE, *BY_KIND])
def test_no_statement_is_missing_or_twice(title):
    named = [pair for row in rows(title) for pair in statements(row[0])]
    if title in IN_ONE_SEQUENCE:
        named, wanted = [number for _, number in named], IN_ONE_SEQUENCE[title]
    else:
        wanted = BY_KIND[title]
        if title == "T-Cal":
            named = [(kind if kind in APART else "", number) for kind, number in named]
    assert sorted(named) == sorted(wanted)


def test_what_computes_a_statement_exists():
    for title, statement, _, functions, tests in ALL:
        assert (functions.startswith("-")) == (tests == "-"), (title, statement)
        names = [name for name in re.findall(r"`([a-zA-Z_.]+)`", functions) if not name.endswith("=")]
        commands = re.findall(r"reproduce ([a-z0-9-]+)", functions)
        assert names or commands or functions.startswith("-"), (title, statement)
        for name in names:
            home, _, inside = name.rpartition(".")
            found = import_module(home) if home.startswith("calibrant_papers") else calibrant
            for part in (inside if found is not calibrant else name).split("."):
                found = getattr(found, part)
        for name in commands:
            assert name in experiments(), name


@functools.cache
def defined_in(file):
    """Names of the tests of a file."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.slow
def test_what_tests_a_statement_exists():
    for title, statement, _, _, tests in ALL:
        found = re.findall(r"`([\w/]+\.py)::(test_\w+)`", tests)
        assert found or tests == "-", (title, statement)
        for file, test in found:
            assert test in defined_in(file), f"{file}::{test}"


def test_the_gaussian_kernel_is_blind_to_what_the_laplace_kernel_sees():
    """Theorem 8.6: waves under a smooth window. Four times as many: the smooth error is a quarter of what it was."""
    v = np.linspace(0.0, 1.0, 2001)
    window = np.exp(4.0 - 1.0 / np.maximum(v * (1.0 - v), 1e-9))
    found = []
    for waves in (5, 20):
        y = v + 0.1 * window * np.sin(2.0 * np.pi * waves * v)
        smooth = smooth_calibration_error(y, v)
        laplace, gaussian = (kernel_calibration_error(y, v, kernel=kernel) for kernel in ("laplace", "gaussian"))
        assert laplace > smooth / 2**0.5
        found.append((smooth, gaussian))
    assert found[1][0] == pytest.approx(found[0][0] / 4.0, rel=0.05)
    assert found[1][1] < found[0][1] / 1000.0
    assert found[1][1] < found[1][0] / 1000.0
