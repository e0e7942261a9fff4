"""Writes what Python and a type checker need to know of the public names.

A module of a room names what users may call in its ``__all__``; the top level's names are chosen by hand in
`calibrant/__init__.py`. From these, ``python tools/public_names.py`` writes `calibrant/public_names.py`, which tells
the module of each name, and the stubs `__init__.pyi` of the package and of its rooms. With ``--check`` it writes
nothing, and exits with 1 and a line for each file that would change.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "calibrant"
WRITTEN = "Written by tools/public_names.py."
WIDTH = 120
MODULE_OF = '''"""Public name -> the module that defines it. {written}"""

_NAMES = {{
{table}}}
MODULE_OF = {{name: module for module, names in _NAMES.items() for name in names.split()}}
'''


@cache
def outline(text: str) -> tuple[frozenset[str], dict[str, ast.expr]]:
    """Functions and classes that a module's text defines, and what it assigns; to parse it takes long."""
    body = ast.parse(text).body
    defined = frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    assigned = [(at, node.value) for node in body if isinstance(node, ast.Assign) for at in node.targets]
    return defined, {at.id: value for at, value in assigned if isinstance(at, ast.Name)}


def literal(path: Path, name: str) -> list[str]:
    """The strings that a module assigns to a name; none where it does not."""
    value = outline(path.read_text())[1].get(name)
    return [] if value is None else [str(each) for each in ast.literal_eval(value)]


def rooms(package: Path) -> list[str]:
    """Packages whose names are public: those that offer them."""
    return sorted(path.parent.name for path in package.glob("*/__init__.py") if "offer(" in path.read_text())


def modules_of_names(package: Path) -> dict[str, str]:
    """Public name -> the module that defines it.

    Raises
    ------
    ValueError
        If two modules offer one name, a room has a module of that name, or the module does not define it.
    """
    found: dict[str, str] = {}
    inside = [path for room in rooms(package) for path in sorted((package / room).rglob("[!_]*.py"))]
    for path in [*inside, *sorted(package.glob("[!_]*.py"))]:
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        defined, _ = outline(path.read_text())
        for name in literal(path, "__all__"):
            if name in found:
                raise ValueError(f"{name}: offered by {found[name]} and by {module}")
            if (path.parent / f"{name}.py").exists():
                raise ValueError(f"{name}: its room has a module of that name, which would hide it")
            if name not in defined:
                raise ValueError(f"{name}: in __all__ of {module}, which does not define it")
            found[name] = module
    return dict(sorted(found.items()))


def imports(names: list[str], module_of: dict[str, str]) -> str:
    """Import statements that re-export names, each from its home."""
    lines = []
    for name in sorted(names, key=lambda name: (module_of[name], not name[0].isupper(), name)):
        head = f"from calibrant.{module_of[name]} import"
        line = f"{head} {name} as {name}\n"
        lines.append(line if len(line) <= WIDTH + 1 else f"{head} (\n    {name} as {name},\n)\n")
    return "".join(lines)


def stub(names: list[str], module_of: dict[str, str], before: str = "", after: str = "") -> str:
    """A stub that holds names, for type checkers and editors."""
    if not names:
        return f'"""{WRITTEN}"""\n\n__all__ = []\n'
    listed = "".join(f'    "{name}",\n' for name in sorted(names))
    return f'"""{WRITTEN}"""\n\n{before}{imports(names, module_of)}\n{after}__all__ = [\n{listed}]\n'


def _entry(module: str, names: list[str]) -> str:
    """A module's line in the table, or several where it has many names."""
    line = f'    "{module}": "{" ".join(names)}",\n'
    if len(line) <= WIDTH + 1:
        return line
    parts = " \n".join(textwrap.wrap(" ".join(names), WIDTH - 12)).split("\n")
    return f'    "{module}": (\n' + "".join(f'        "{part}"\n' for part in parts) + "    ),\n"


def files(package: Path = PACKAGE) -> dict[Path, str]:
    """Every file that this tool writes, and what it should hold."""
    where = modules_of_names(package)
    top = literal(package / "__init__.py", "TOP")
    unknown = sorted(set(top) - set(where))
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: chosen for the top level, but in no module's __all__")
    table = "".join(
        _entry(module, [name for name in where if where[name] == module]) for module in sorted({*where.values()})
    )
    attributes = "".join(f"from calibrant import {room} as {room}\n" for room in sorted([*rooms(package), "synthetic"]))
    written = {
        package / "public_names.py": MODULE_OF.format(written=WRITTEN, table=table),
        package / "__init__.pyi": stub(top, where, attributes, "__version__: str\n"),
    }
    for room in rooms(package):
        here = [name for name in where if where[name].startswith(f"{room}.")]
        written[package / room / "__init__.pyi"] = stub(here, where)
    return written


def faults(package: Path = PACKAGE) -> list[str]:
    """A line for each file that does not hold what it should."""
    try:
        return [
            f"{path.relative_to(package)}: run python tools/public_names.py"
            for path, text in files(package).items()
            if not path.exists() or path.read_text() != text
        ]
    except ValueError as fault:
        return [f"{fault}"]


if __name__ == "__main__":
    if "--check" in sys.argv:
        found = faults()
        print("\n".join(found) or "public names are where the tables say")
        sys.exit(bool(found))
    for path, text in files().items():
        path.write_text(text)
