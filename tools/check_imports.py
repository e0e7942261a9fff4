"""Who may import whom: rooms downwards only, and third-party libraries where they have a reason to be.

Run from the checkout: ``python tools/check_imports.py``. Exits with 1 and a line a fault.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "calibrant"

# The floors of the house, from the ground up. A room may import the rooms below it and itself, never one above.
FLOORS = (
    {"public_names", "kernels", "threads", "check_certificate"},
    {"lazily"},
    {"door"},
    {"exits"},
    {"progress"},
    {"measures", "synthetic"},
    {"resampling"},
    {"inference"},
    {"decisions"},
    {"recalibration"},
    {"sketch"},
    {"tables"},
    {"segments"},
    {"drift"},
    {"findings"},
    {"gate"},
    {"report"},
    {"scoring", "torch", "integrations"},
    {"cli"},
    {"__main__"},
)

# Room -> the third-party libraries that it has a reason for.
LIBRARIES: dict[str, set[str]] = {
    "kernels": {"numpy", "numba", "llvmlite"},
    "threads": {"numpy", "threadpoolctl"},
    "door": {"numpy", "scipy", "narwhals"},
    "measures": {"numpy", "scipy"},
    "synthetic": {"numpy"},
    "exits": {"scipy"},
    "resampling": {"numpy", "sklearn"},
    "recalibration": {"numpy", "scipy", "sklearn", "narwhals"},
    "inference": {"numpy", "scipy"},
    "decisions": {"numpy", "scipy", "matplotlib"},
    "sketch": {"numpy", "pyarrow", "narwhals"},
    "tables": {"numpy", "duckdb", "pyarrow", "narwhals"},
    "drift": {"numpy"},
    "gate": {"numpy"},
    "segments": {"numpy", "scipy", "narwhals", "pyarrow"},
    "findings": {"numpy", "scipy", "matplotlib"},
    "report": {"numpy", "matplotlib", "jinja2", "markupsafe"},
    "scoring": {"numpy", "sklearn"},
    "torch": {"numpy", "torch"},
    "integrations": {"numpy", "torch", "torchmetrics", "ignite", "evaluate", "datasets", "lm_eval"},
    "cli": {"numpy", "sklearn", "typer", "calibrant_papers"},
}
PACKAGE_ITSELF = {"report", "cli"}
"""Rooms that may ask the package itself, as users do: for its version, or for public names."""


ABOVE = {"decisions/cases.py", "sketch/bounds.py", "sketch/sketch.py", "findings/record.py"}
"""Who may look a module of a room above up, by `lazily.above`, when it is needed."""


def below(room: str) -> set[str]:
    """Rooms that a room may import: those of lower floors, and itself."""
    at = next(i for i, floor in enumerate(FLOORS) if room in floor)
    return set().union(*FLOORS[:at]) | {room} | ({""} if room in PACKAGE_ITSELF else set())


def imported(tree: ast.AST, package: str) -> list[tuple[int, str]]:
    """Line and dotted name of every import, wherever it stands; type-checking blocks count as well."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parts, base]).rstrip(".")
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    return found


def for_types(tree: ast.AST) -> set[int]:
    """Lines that type checkers alone read."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {line for n in blocks for line in range(n.lineno, n.body[-1].end_lineno + 1)}


def faults_of_package() -> list[str]:
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        room = parts[0]
        if room == "__init__":
            continue
        if not any(room in floor for floor in FLOORS):
            faults.append(f"{path.relative_to(ROOT)}: the room {room!r} is on no floor; give it one in {__file__}")
            continue
        ours, theirs = below(room), LIBRARIES.get(room, set())
        tree = ast.parse(path.read_text())
        looks = "calibrant.lazily.above" in {name for _, name in imported(tree, "")}
        if looks and path.relative_to(PACKAGE).as_posix() not in ABOVE:
            faults.append(f"{path.relative_to(ROOT)}: may not look above its room")
        for line, name in imported(tree, ".".join(["calibrant", *parts[:-1]])):
            top, _, rest = name.partition(".")
            if top == "calibrant":
                target = rest.split(".")[0]
                if not ((PACKAGE / target).is_dir() or (PACKAGE / f"{target}.py").exists()):
                    if line in for_types(tree):
                        continue  # type checkers know a public name without looking above
                    target = ""
                if target not in ours and target != room:
                    faults.append(f"{path.relative_to(ROOT)}:{line}: {room} may not import {name}")
            elif top not in sys.stdlib_module_names and top not in theirs:
                faults.append(f"{path.relative_to(ROOT)}:{line}: {room} may not import {top}")
    return faults


def faults_of_oracles() -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: an oracle may import numpy alone, not {name}"
        for path in sorted((ROOT / "tests" / "oracles").glob("*.py"))
        for line, name in imported(ast.parse(path.read_text()), "tests.oracles")
        if name.split(".")[0] not in {"numpy", "math", "itertools", "__future__"}
    ]


if __name__ == "__main__":
    faults = faults_of_package() + faults_of_oracles()
    print("\n".join(faults) or "imports keep to the rules")
    sys.exit(bool(faults))
