"""Moves modules, and merges them, by a table; every import, dotted name and path that says where they were follows.

Run from the checkout: ``python tools/move.py TABLE``. A line of the table is one of

    calibrant.old.one -> calibrant.new.other    a module or a package moves
    calibrant.old.two into calibrant.new.other  a module's body joins another's, named as it is afterwards
    calibrant.old.more into calibrant.new.other with _x=_y _z=_w    and some of its names are others
    tests/old/test_one.py -> tests/new/test_other.py    a file moves
    room calibrant.new: Things that are new.    a package is made, if it is not there, with this docstring;
    package calibrant.new.inner: And these.     a room offers its public names, another package does not

and ``#`` begins a comment. What was moved before is left alone, so that a table can be run again. Names that two
modules define otherwise, and modules that each need the other's when they are imported, are refused before anything is
changed. What still says an old name at the end is printed: only people know what is meant.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from merging import merged

TEXT = {".py", ".pyi", ".md", ".toml", ".yml", ".yaml", ".cfg", ".txt", ".html"}
OFFER = "\nfrom calibrant.lazily import offer\n\n__all__, __getattr__, __dir__ = offer(__name__)\n"
KEPT = ("CHANGELOG.md",)
"""Files that tell of the past."""


@dataclass
class Table:
    """What a table says: old name -> new name of modules and files, what is merged, and docstrings of new rooms."""

    moves: dict[str, str] = field(default_factory=dict)
    merges: dict[str, str] = field(default_factory=dict)
    renames: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of what is merged: names that become others."""
    rooms: dict[str, str] = field(default_factory=dict)
    """Name -> text of its `__init__.py`."""

    @property
    def names(self) -> dict[str, str]:
        """Old name -> new name of everything."""
        return {**self.moves, **self.merges}


def read(text: str) -> Table:
    """Read a table; ValueError names the line that is none of it."""
    table = Table()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        room = re.fullmatch(r"(room|package) ([\w.]+): (.+)", line)
        move = re.fullmatch(r"(\S+) (->|into) (\S+)(?: with ((?:\w+=\w+ ?)+))?", line)
        if room:
            table.rooms[room[2]] = f'"""{room[3]}"""\n{OFFER if room[1] == "room" else ""}'
        elif move:
            if move[1] in table.names:
                raise ValueError(f"line {number}: {move[1]} is moved twice")
            table.renames[move[1]] = dict(each.split("=") for each in (move[4] or "").split())
            (table.moves if move[2] == "->" else table.merges)[move[1]] = move[3]
        elif line:
            raise ValueError(f"line {number} is no move: {line}")
    return table


class House:
    """A checkout: its files that git knows, and where its modules lie."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sources = [root / "src", *sorted(root.glob("*/src"))]

    def git(self, *arguments: str) -> str:
        """What git prints."""
        return subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def texts(self) -> dict[Path, str]:
        """Text files, and what they hold."""
        paths = (self.root / name for name in self.git("ls-files").splitlines() if name not in KEPT)
        return {path: path.read_text() for path in paths if path.suffix in TEXT and path.is_file()}

    def path(self, name: str) -> Path:
        """Where a module, a package or a file lies, or would."""
        if "/" in name:
            return self.root / name
        base = self.source(name) / name.replace(".", "/")
        return base if (base / "__init__.py").exists() else base.with_suffix(".py")

    def source(self, name: str) -> Path:
        """The folder that a module's package lies in."""
        package = name.partition(".")[0]
        return next((source for source in self.sources if (source / package).is_dir()), self.sources[0])

    def module(self, path: Path) -> str:
        """The dotted name of a file of the package; of others nothing."""
        source = next((source for source in self.sources if path.is_relative_to(source)), None)
        parts = path.relative_to(source).with_suffix("").parts if source is not None and path.suffix == ".py" else ()
        return ".".join(parts[:-1] if parts[-1:] == ("__init__",) else parts)

    def public(self) -> dict[str, str]:
        """Public name -> the module that defines it."""
        names = self.root / "src" / "calibrant" / "public_names.py"
        entries = re.findall(r'"([\w.]+)": (?:\()?((?:\s*"[\w ]+")+)', names.read_text()) if names.exists() else []
        return {name: f"calibrant.{module}" for module, text in entries for name in re.findall(r"\w+", text)}


def pending(house: House, table: Table) -> Table:
    """What is still to be moved.

    Raises
    ------
    ValueError
        If something is neither where it was nor where it goes, or would cover what stays.
    """
    left = Table(renames=table.renames, rooms=table.rooms)
    going = {house.path(name) for name in table.names}
    for name, target in table.names.items():
        source, there = house.path(name), house.path(target)
        if not source.exists() or (source.is_dir() and there.is_relative_to(source)):
            if not there.exists():
                raise ValueError(f"{name}: is neither there nor at {target}")
            continue
        if name in table.moves and there.exists() and there not in going and there != source and there.is_file():
            raise ValueError(f"{name}: {target} is taken")
        (left.moves if name in table.moves else left.merges)[name] = target
    return left


def renamed(house: House, table: Table) -> dict[str, str]:
    """Old dotted name -> new dotted name: of modules, and of public names whose room is another one now."""
    names = {old: new for old, new in table.names.items() if "/" not in old}

    def now(module: str) -> str:
        at = max((old for old in names if f"{module}.".startswith(f"{old}.")), key=len, default="")
        return names[at] + module[len(at) :] if at else module

    for name, home in house.public().items():
        before, after = (module.split(".") for module in (home, now(home)))
        if before[:2] != after[:2]:  # a package of its own offers no names but its modules'
            names[".".join([*before[:2], name])] = ".".join([*(after[:2] if after[0] == "calibrant" else after), name])
    return names


def paths(names: Mapping[str, str]) -> dict[str, str]:
    """Old path -> new path, as texts say them: of modules within their package."""
    found = {}
    for old, new in names.items():
        if "/" in old:
            found[old] = new
        else:
            a, b = (each.replace(".", "/") for each in (old, new))
            found |= {f"{a}.py": f"{b}.py", f"{a.partition('/')[2]}.py": f"{b.partition('/')[2]}.py"}
    return found


def replaced(text: str, names: Mapping[str, str]) -> str:
    """A text with old dotted names and paths as new ones, the longest first, each once."""
    if not names:
        return text
    every = {**names, **paths(names)}
    longest = sorted(every, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.])(?<!\w/)(?:{'|'.join(map(re.escape, longest))})(?!\w)(?!/\w)")
    inside = re.compile(rf"(?<=calibrant/)(?:{'|'.join(re.escape(each) for each in longest if '/' in each)})(?!\w)")
    text = pattern.sub(lambda at: every[at[0]], text)
    return inside.sub(lambda at: every[at[0]], text)


class Rewriting:
    """One file's imports of modules by `from package import module`, and the uses of their names."""

    def __init__(self, text: str, own: str, names: Mapping[str, str], modules: set[str]) -> None:
        self.text, self.own, self.names, self.modules = text, own, names, modules
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line.encode()))
        self.edits: list[tuple[int, int, str]] = []
        self.nodes = list(ast.walk(self.tree))
        self.uses = [node for node in self.nodes if isinstance(node, ast.Name)]
        arguments = {node.arg for node in self.nodes if isinstance(node, ast.arg)}
        self.bound = {node.id for node in self.uses} | arguments
        self.stored = {node.id for node in self.uses if not isinstance(node.ctx, ast.Load)} | arguments

    def done(self, follow: Callable[[str], str]) -> str:
        """The file as it should be; what is not such an import or its use is made to follow by itself."""
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                self._import(node)
        data, at, parts = self.text.encode(), 0, []
        for start, end, new in sorted(set(self.edits)):
            parts += [follow(data[at:start].decode()), new]
            at = end
        return "".join([*parts, follow(data[at:].decode())])

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _import(self, node: ast.ImportFrom) -> None:
        home = self.names.get(str(node.module), str(node.module))
        if home == self.own and home != node.module:
            if any(alias.asname for alias in node.names):
                raise ValueError(f"{self.own}: line {node.lineno} gives a name of its own module another one")
            self._drop(node)
            return
        whole = {alias: f"{node.module}.{alias.name}" for alias in node.names}
        moved = {alias: self.names[full] for alias, full in whole.items() if full in self.names}
        if not moved:
            return
        stay = [alias for alias in node.names if alias not in moved]
        lines = [f"from {home} import {', '.join(map(_said, stay))}"] if stay else []
        for alias, new in moved.items():
            package, _, stem = new.rpartition(".")
            if new == self.own:
                self._without(alias.asname or alias.name)
            elif whole[alias] not in self.modules or alias.asname or stem == alias.name:
                lines.append(f"from {package} import {_said(ast.alias(stem, alias.asname))}")
            elif self._may_become(alias.name, stem):
                self._rename(alias.name, stem)
                lines.append(f"from {package} import {stem}")
            else:
                lines.append(f"from {package} import {stem} as {alias.name}")
        if lines:
            self.edits.append((*self._span(node), f"\n{' ' * node.col_offset}".join(lines)))
        else:
            self._drop(node)

    def _may_become(self, old: str, new: str) -> bool:
        return new not in self.bound and old not in self.stored

    def _rename(self, old: str, new: str) -> None:
        self.edits += [(*self._span(node), new) for node in self.uses if node.id == old]

    def _without(self, name: str) -> None:
        """Uses of a module that is this one now are uses of its names."""
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                self.edits.append((*self._span(node), node.attr))

    def _drop(self, node: ast.stmt) -> None:
        """Take out a statement, and with it a block for type checkers that would be empty."""
        start, end = self._span(node)
        parent = next((each for each in self.nodes if getattr(each, "body", None) == [node]), None)
        if isinstance(parent, ast.If):
            self._drop(parent)
        elif parent is not None:
            self.edits.append((start, end, "pass"))
        else:
            self.edits.append((start - node.col_offset, self.starts[node.end_lineno or 0], ""))


def _said(alias: ast.alias) -> str:
    return alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"


def rewritten(house: House, table: Table) -> dict[Path, str]:
    """Every file that changes, and what it should hold, before anything is moved."""
    names = renamed(house, table)
    modules = {old for old in table.names if "/" not in old}
    every = {**names, **{old: new for old, new in table.moves.items() if "/" in old}}
    changed = {}
    for path, text in house.texts().items():
        follow = partial(replaced, names=every)
        if path.suffix in (".py", ".pyi") and "import" in text and "calibrant" in text:
            module = house.module(path)
            new = Rewriting(text, names.get(module, module), names, modules).done(follow)
        else:
            new = follow(text)
        if new != text:
            if path.suffix == ".py":
                ast.parse(new, str(path))
            changed[path] = new
    return changed


def move(house: House, table: Table) -> list[Path]:
    """Move and merge what is still where it was; returns the files of Python that changed."""
    table = pending(house, table)
    texts = rewritten(house, table)
    places = {name: (house.path(name), _place(house, name, target)) for name, target in table.moves.items()}
    at = dict(places.values())
    joined = _joined(house, table, {at.get(path, path): text for path, text in texts.items()}, at)
    rooms = _new_rooms(house, table, [target for _, target in places.values()])
    for path, text in {**texts, **rooms}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    house.git("add", *map(str, rooms))
    for source, _ in places.values():
        house.git("mv", str(source), f"{source}.moving")
    for source, target in places.values():
        target.parent.mkdir(parents=True, exist_ok=True)
        house.git("mv", f"{source}.moving", str(target))
    for name in table.merges:
        house.git("rm", "-qf", str(house.path(name)))
    for path, text in joined.items():
        path.write_text(text)
    _leave_empty_rooms(house, [source for source, _ in places.values()] + [house.path(name) for name in table.merges])
    moved = [at.get(path, path) for path in texts]
    return sorted({path for path in [*moved, *joined] if path.suffix == ".py" and path.exists()})


def _place(house: House, name: str, target: str) -> Path:
    if "/" in target:
        return house.root / target
    base = house.source(target) / target.replace(".", "/")
    return base if house.path(name).is_dir() else base.with_suffix(".py")


def _joined(house: House, table: Table, texts: Mapping[Path, str], at: Mapping[Path, Path]) -> dict[Path, str]:
    """Modules that others are merged into, and what they hold afterwards."""
    before = {target: source for source, target in at.items()}

    def text_of(name: str) -> str | None:
        path = house.source(name) / f"{name.replace('.', '/')}.py"
        old = before.get(path, path)
        return joined.get(path) or texts.get(path) or (old.read_text() if old.exists() else None)

    joined: dict[Path, str] = {}
    refused = []
    for name, target in table.merges.items():
        source, there = text_of(name), text_of(target)
        if source is None or there is None:
            refused.append(f"{name} into {target}: no such module")
            continue
        try:
            path = house.source(target) / f"{target.replace('.', '/')}.py"
            for old, new in table.renames[name].items():
                source = re.sub(rf"(?<![\w.]){old}\b", new, source)
            joined[path] = merged(source, there, name, target, text_of)
        except ValueError as fault:
            refused.append(str(fault))
    if refused:
        raise ValueError("\n".join(refused))
    return joined


def _new_rooms(house: House, table: Table, targets: list[Path]) -> dict[Path, str]:
    """Packages that are not there yet, each with the docstring that the table gives."""
    found = {}
    folders = {parent for path in targets for parent in path.parents if {*parent.parents} & {*house.sources}}
    for folder in sorted(folders - set(targets)):
        init, name = folder / "__init__.py", house.module(folder / "__init__.py")
        if init.exists():
            continue
        if name not in table.rooms:
            raise ValueError(f"{name}: is a new room; say what is in it: room {name}: ...")
        found[init] = table.rooms[name]
    return found


def _leave_empty_rooms(house: House, sources: list[Path]) -> None:
    for folder in sorted({path.parent for path in sources}, key=lambda path: -len(path.parts)):
        known = {Path(name).name for name in house.git("ls-files", str(folder)).splitlines()}
        if known and known <= {"__init__.py", "__init__.pyi"}:
            house.git("rm", "-rqf", str(folder))


def leftovers(house: House, table: Table) -> list[str]:
    """Lines that say an old name still: of a module, or of a room that is no more."""
    rooms = {name.rpartition(".")[0] for name in table.names if "/" not in name}
    gone = [*(name for name in table.names if "/" not in name), *rooms]
    gone = [name for name in gone if not house.path(name).exists() and name not in table.names.values()]
    stems = {name.rpartition(".")[2] for name in rooms if name in gone}
    folders = [re.escape(name.replace(".", "/")) for name in rooms if name in gone]
    words = [*map(re.escape, gone), *folders, *(rf"from calibrant import .*\b{stem}\b" for stem in sorted(stems))]
    pattern = re.compile(rf"(?<![\w.])(?:{'|'.join(words)})(?!\w)") if words else None
    return [
        f"{path.relative_to(house.root)}:{number}: {line.strip()}"
        for path, text in house.texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern is not None and pattern.search(line)
    ]


def main(root: Path, file: Path) -> None:
    house, table = House(root), read(file.read_text())
    changed = move(house, table)
    tool = root / "tools" / "public_names.py"
    if changed and tool.exists():
        subprocess.run([sys.executable, str(tool)], check=True)
        house.git("add", "--intent-to-add", *(str(source) for source in house.sources))
    if changed:
        files = [str(path) for path in changed]
        subprocess.run(["ruff", "check", "-q", "--fix-only", "--select", "I,F401,F811", *files], cwd=root, check=False)
        subprocess.run(["ruff", "format", "-q", *files], cwd=root, check=True)
    print(f"{len(changed):,} files of Python changed")
    print("\n".join(leftovers(house, table)))


if __name__ == "__main__":
    main(Path.cwd(), Path(sys.argv[1]))
