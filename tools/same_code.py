"""Whether functions, classes and constants are what they were, wherever they stand now.

Run from the checkout: ``python tools/same_code.py REV``. Prints a line for each that differs between a revision and the
work tree, and exits with 1; imports, modules' own docstrings, and what says where a module lies do not count.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PLACE = re.compile(r"\bcalibrant\w*(\.\w+)+|[\w/]+\.py\b")
_SOURCE = re.compile(r"^(\w+/)?src/(?=.*\.py$)")
_GENERATED = {"public_names.py"}


class Placeless(ast.NodeTransformer):
    """A tree without imports, in which `module.name` is `name`, and texts do not say where modules lie."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def visit_Import(self, node: ast.Import) -> None:  # noqa: ARG002
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: ARG002
        return None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        of_module = root is node.value and isinstance(root, ast.Name) and root.id in self.modules
        if of_module or (isinstance(root, ast.Name) and root.id.partition("_")[0] == "calibrant"):
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(_PLACE.sub("#", node.value)) if isinstance(node.value, str) else node


def modules_of(tree: ast.AST, known: set[str]) -> set[str]:
    """What a file calls the modules of the package that it imports."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    pairs = [(f"{node.module}.{each.name}", each.asname or each.name) for node in imports for each in node.names]
    return {name for module, name in pairs if module in known}


def parts(files: dict[str, str]) -> dict[str, Counter[str]]:
    """Name -> the trees under it, of every top-level statement of a package's files."""
    known = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    found: dict[str, Counter[str]] = {}
    for name, text in files.items():
        if Path(name).name in _GENERATED:
            continue
        tree = ast.parse(text, name)
        placeless = Placeless(modules_of(tree, known))
        for node in tree.body:
            if isinstance(node, ast.Expr) or _of_types(node):
                continue
            told = getattr(node, "name", None) or _bound(node)
            kept = placeless.visit(node)
            if kept is not None and "__all__" not in told:
                found.setdefault(told, Counter())[ast.dump(kept)] += 1
    return found


def _of_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _bound(node: ast.stmt) -> str:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return ", ".join(ast.unparse(each) for each in targets if each is not None)


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """A line for each name whose code is not what it was; a constant that two files held may be in one."""
    old, new = parts(before), parts(now)
    lines = []
    for name in sorted({*old, *new}):
        a, b = old.get(name, Counter()), new.get(name, Counter())
        constant = not any(dump.startswith(("FunctionDef", "ClassDef", "AsyncFunctionDef")) for dump in [*a, *b])
        if set(a) != set(b) if constant else a != b:
            gone, come = sum((a - b).values()), sum((b - a).values())
            lines.append(f"{name}: {gone} gone, {come} new" if name else f"other statements: {gone} gone, {come} new")
    return lines


def of_revision(revision: str, root: Path) -> dict[str, str]:
    """The packages' files at a revision, by their path within them."""
    names = _git(root, "ls-tree", "-r", "--name-only", revision).decode().splitlines()
    with tarfile.open(fileobj=io.BytesIO(_git(root, "archive", revision, *filter(_SOURCE.match, names)))) as files:
        held = {each.name: files.extractfile(each) for each in files}
        return {_SOURCE.sub("", name): file.read().decode() for name, file in held.items() if file is not None}


def of_tree(root: Path) -> dict[str, str]:
    """The packages' files as they are."""
    paths = {path.relative_to(root).as_posix(): path for path in sorted(root.glob("**/src/**/*.py"))}
    return {_SOURCE.sub("", name): path.read_text() for name, path in paths.items() if _SOURCE.match(name)}


def _git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True).stdout


def main(revision: str, root: Path = ROOT) -> None:
    lines = differences(of_revision(revision, root), of_tree(root))
    print("\n".join(lines) or "all code is what it was")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main(sys.argv[1])
