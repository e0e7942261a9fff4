"""Mutation testing of the kernels: change one operator or constant, and see whether their tests notice.

Run from the checkout: ``python tools/mutate.py --sample 40 --seed 0``. Prints every mutant that survived and the score.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Kernel -> the tests that hold it to its oracle.
TESTS = {
    "canonical": ["tests/inference/test_canonical.py"],
    "lower": ["tests/measures/test_lower.py"],
    "lowess": ["tests/decisions/test_clinical.py"],
    "pairs": ["tests/measures/test_kernel.py"],
    "regret": [
        "tests/measures/test_decision_loss.py",
        "tests/decisions/test_curve.py",
        "tests/inference/test_regret.py",
    ],
    "interval": ["tests/measures/test_interval.py"],
    "sketching": ["tests/scale/test_sketch.py", "tests/scale/test_rounding.py"],
    "slopes": ["tests/kernels/test_slopes.py"],
    "smooth": ["tests/measures/test_smooth.py"],
    "sorting": ["tests/door/test_columns.py", "tests/measures/test_smooth.py"],
    "squared": ["tests/measures/test_squared.py"],
    "tcal": ["tests/inference/test_tcal.py"],
}
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def places(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """Nodes that can be changed, with what will be done to them."""
    found: list[tuple[ast.AST, str]] = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
                    found.append((node, "compare"))
                elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _SWAPS:
                    found.append((node, "operate"))
                elif isinstance(node, ast.BoolOp):
                    found.append((node, "join"))
                elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
                    found.append((node, "count"))
    return found


def change(node: ast.AST, how: str) -> None:
    """Change a node in place."""
    if how == "compare" and isinstance(node, ast.Compare):
        node.ops[0] = _SWAPS[type(node.ops[0])]()
    elif how == "count" and isinstance(node, ast.Constant):
        node.value = node.value + 1
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = _SWAPS[type(node.op)]()


def main() -> None:
    """Draw mutants, run the tests of each, print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernel", choices=TESTS, action="append", help="these alone")
    asked = parser.parse_args()
    pool = []
    for kernel in asked.kernel or TESTS:
        text = (ROOT / "src/calibrant/kernels" / f"{kernel}.py").read_text()
        pool += [(kernel, number) for number in range(len(places(ast.parse(text))))]
    drawn = random.Random(asked.seed).sample(pool, min(asked.sample, len(pool)))
    killed = 0
    print(f"{len(drawn)} mutants of {len(pool)}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "src", Path(name) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for tried, (kernel, number) in enumerate(drawn):
            source = ROOT / "src/calibrant/kernels" / f"{kernel}.py"
            target = Path(name) / "src/calibrant/kernels" / f"{kernel}.py"
            tree = ast.parse(source.read_text())
            node, how = places(tree)[number]
            line, before = node.lineno, ast.unparse(node)
            change(node, how)
            target.write_text(ast.unparse(ast.fix_missing_locations(tree)))
            caught = _fails(name, TESTS[kernel])
            killed += caught
            if not caught:
                found = f"{kernel}.py:{line}: {before} -> {ast.unparse(node)}"
                print(f"survived: {found}; {killed} of {tried + 1} killed", flush=True)
            shutil.copy(source, target)
    print(f"{killed} of {len(drawn)} mutants were killed")


def _fails(folder: str, tests: list[str]) -> bool:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{folder}/src",
        "NUMBA_CACHE_DIR": f"{folder}/cache",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=300).returncode != 0
    except subprocess.TimeoutExpired:
        return True  # a loop without an end is noticed too


if __name__ == "__main__":
    main()
