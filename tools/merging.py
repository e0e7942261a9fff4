"""One module's body joined to another's: imports and `__all__` together, nothing said twice."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class Module:
    """A module's text, taken apart: its head (docstring, imports), what is public, and the rest with its comments."""

    text: str
    imports: list[ast.stmt] = field(default_factory=list)
    for_types: list[ast.stmt] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    rest: list[ast.stmt] = field(default_factory=list)
    head: set[int] = field(default_factory=set)
    """Lines of what is not the rest."""

    @classmethod
    def of(cls, text: str) -> Module:
        """Take a text apart."""
        found, body = cls(text), ast.parse(text).body
        for at, node in enumerate(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found.imports.append(node)
            elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse:
                found.for_types += node.body
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found.public = [str(name) for name in ast.literal_eval(node.value)]
            elif not (at == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                found.rest.append(node)
                continue
            found.head |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        return found

    def source(self, node: ast.stmt) -> str:
        """The text of a statement, as it stands."""
        return "\n".join(self.text.splitlines()[node.lineno - 1 : node.end_lineno])

    def defined(self) -> dict[str, ast.stmt]:
        """Names that the rest defines, and where."""
        return {name: node for node in self.rest for name in _defines(node)}

    def imported(self) -> dict[str, str]:
        """Names that imports bind, and what they are bound to."""
        found = {}
        for node in [*self.imports, *self.for_types]:
            for alias in getattr(node, "names", ()):
                home = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                found[alias.asname or alias.name.partition(".")[0]] = f"{home}{alias.name}"
        return found

    def needed(self) -> set[str]:
        """Names that are looked up when the module is imported; annotations are not."""
        return {name for node in self.rest for name in _looked_up(node)}

    def body(self, without: set[int]) -> str:
        """The rest with its comments, less some lines."""
        lines = self.text.splitlines()
        kept = [line for number, line in enumerate(lines, 1) if number not in self.head | without]
        return "\n".join(kept).strip("\n")


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def _looked_up(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        outside = [*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.AnnAssign):
        outside = [node.value] if node.value is not None else []
    else:
        outside = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Name):
        yield node.id
    for each in outside:
        yield from _looked_up(each)


def _thing(name: str, module: Module, text_of: Callable[[str], str | None]) -> str | None:
    """What a name of a module stands for: the statement that defines it, there or where it is imported from."""
    if name in module.defined():
        return _meaning(module.defined()[name])
    home, _, original = module.imported().get(name, "").rpartition(".")
    text = text_of(home) if home else None
    return None if text is None else _thing(original, Module.of(text), text_of)


def _meaning(node: ast.stmt) -> str:
    """A statement; what is said to be another name of a type is that."""
    is_alias = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
    return ast.dump(node.value if is_alias or isinstance(node, ast.Assign) else node)


def merged(text: str, other: str, name: str, target: str, text_of: Callable[[str], str | None]) -> str:
    """A module's text joined to another's, behind it, or before it where the other needs it to be imported.

    ``text_of`` gives the text of a module by its name. A name that stands for one thing in both is bound once.

    Raises
    ------
    ValueError
        If a name stands for two things, or each module needs the other's names when it is imported.
    """
    ours, theirs = Module.of(text), Module.of(other)
    mine, also = ours.imported(), theirs.imported()
    both = {*ours.defined(), *mine} & {*theirs.defined(), *also}
    both = {each for each in both if mine.get(each, 0) != also.get(each, 1)}
    things = {each: (_thing(each, ours, text_of), _thing(each, theirs, text_of)) for each in both}
    if clash := sorted(each for each, (a, b) in things.items() if a is None or a != b):
        raise ValueError(f"{name} into {target}: both have {', '.join(clash)}, and not as one thing")
    first = bool((set(ours.defined()) - both) & theirs.needed())
    if first and (set(theirs.defined()) - both) & ours.needed():
        raise ValueError(f"{name} into {target}: each needs the other's names when it is imported")
    return _together(ours, theirs, both, first)


def _lines(node: ast.stmt) -> range:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or 0) + 1)


def _both(theirs: Module, some: list[ast.stmt], ours: Module, more: list[ast.stmt], less: set[str]) -> list[str]:
    """Imports of both as they stand, each once; of ours those that bind names which theirs has are left out."""
    found, known = [theirs.source(node) for node in some], {ast.dump(node) for node in some}
    for node in more:
        stay = [each for each in getattr(node, "names", ()) if (each.asname or each.name) not in less]
        if ast.dump(node) in known or not stay:
            continue
        if isinstance(node, ast.ImportFrom) and len(stay) < len(node.names):
            found.append(ast.unparse(ast.ImportFrom(node.module, stay, node.level)))
        else:
            found.append(ours.source(node))
    return found


def _together(ours: Module, theirs: Module, both: set[str], first: bool) -> str:
    lines = theirs.text.splitlines()
    docstring = [node for node in ast.parse(theirs.text).body[:1] if isinstance(node, ast.Expr)]
    head = lines[: docstring[0].end_lineno] if docstring else []
    imports = _both(theirs, theirs.imports, ours, ours.imports, both)
    future = [each for each in imports if each.startswith("from __future__")]
    blocks = _both(theirs, theirs.for_types, ours, ours.for_types, both)
    public = sorted({*theirs.public, *ours.public}, key=lambda each: (not each[0].isupper(), each))
    parts = [
        "\n".join(head),
        *future[:1],
        f"__all__ = {json.dumps(public)}" if public else "",
        "\n".join(each for each in imports if each not in future),
        "\n    ".join(["if TYPE_CHECKING:", *map(str.strip, blocks)]) if blocks else "",
    ]
    dropped = {line for each in both & set(ours.defined()) for line in _lines(ours.defined()[each])}
    bodies = [theirs.body(set()), ours.body(dropped)]
    return "\n\n".join([*filter(None, parts), "", "\n\n\n".join(reversed(bodies) if first else bodies)]) + "\n"
