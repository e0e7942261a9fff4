"""Who may import whom: rooms downwards only, and third-party libraries where they have a reason to be.

Run from the checkout: ``python tools/check_imports.py``. Exits with 1 and a line a fault.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "calibrant"

# Room -> (rooms it may import, third-party libraries it may import). A room is a folder or a file of the package.
DOOR = {"errors", "inputs", "sample", "values"}
RULES: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "writing": ({"errors"}, set()),
    "kernels": ({"kernels"}, {"numpy", "numba", "llvmlite"}),
    "values": (set(), {"numpy"}),
    "inputs": ({"errors"}, {"numpy", "narwhals"}),
    "sample": ({"errors", "inputs", "kernels", "values"}, {"numpy"}),
    "measures": (DOOR | {"kernels", "measures"}, {"numpy", "scipy"}),
    "synthetic": (DOOR, {"numpy"}),
    "inference": (DOOR | {"kernels", "measures", "recalibration", "inference"}, {"numpy", "scipy"}),
    "recalibration": (DOOR | {"kernels", "measures", "recalibration"}, {"numpy", "scipy", "sklearn"}),
    "scale": (
        DOOR | {"kernels", "measures", "inference", "scale", "writing"},
        {"numpy", "scipy", "duckdb", "pyarrow", "narwhals"},
    ),
    "experiments": (
        # "" is the package itself, as users import it.
        DOOR | {"", "kernels", "measures", "inference", "recalibration", "synthetic", "scale", "report", "experiments"},
        {"numpy", "scipy", "matplotlib", "rich", "sklearn", "narwhals", "pyarrow"},
    ),
    "report": (
        DOOR | {"kernels", "measures", "inference", "recalibration", "scale", "report", "writing"},
        {"numpy", "matplotlib", "jinja2", "markupsafe", "rich", "threadpoolctl"},
    ),
    "demo": (DOOR | {"measures", "report"}, {"numpy", "sklearn"}),
    "torch": (DOOR | {"kernels", "measures", "scale"}, {"numpy", "torch"}),
    "scoring": (DOOR | {"measures"}, {"numpy", "sklearn"}),
    "file_audit": (DOOR | {"inference", "measures", "report", "scale"}, {"numpy"}),
    "exits": ({"errors"}, set()),
    "terminal": (DOOR | {"exits"}, {"rich"}),
    "cli": (DOOR | {"exits", "report", "scale", "demo", "experiments", "file_audit", "terminal"}, {"typer"}),
    "__main__": ({"cli", "exits"}, set()),
    "__init__": (set(), set()),
}


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


def faults_of_package() -> list[str]:
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        room = parts[0]
        if room not in RULES:
            faults.append(f"{path.relative_to(ROOT)}: no rule for the room {room!r}; give it one in {__file__}")
            continue
        ours, theirs = RULES[room]
        for line, name in imported(ast.parse(path.read_text()), ".".join(["calibrant", *parts[:-1]])):
            top, _, rest = name.partition(".")
            if top == "calibrant":
                target = rest.split(".")[0]
                is_room = (PACKAGE / target).is_dir() or (PACKAGE / f"{target}.py").exists()
                if room != "__init__" and is_room and target not in ours and target != room:
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
