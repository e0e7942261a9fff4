"""Places in a module's code that a mutant changes, found by rule, and what each of them becomes.

Six kinds: `constant` (a number of a statement that bounds, proves or draws: one that names a level, a logarithm, a
root, a moment, a rounding, ...), `level` (a level that is divided is not, one that is handed on is doubled), `guard`
(an early `raise` or `return` is left out), `decision` (the test of an `if`, of a conditional expression or of a
`while` is negated), `boundary` (`<=` becomes `<`, and so on), `swap` (min becomes max, `<` becomes `>`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

KINDS = ("constant", "level", "guard", "decision", "boundary", "swap")
_LEVEL = re.compile(r"(^|_)(level(?!_sets)|levels|alpha|delta|failure|looks|miss)($|_)")
_PROOF = re.compile(
    r"level|alpha|delta|log|sqrt|exp|tail|bound|moment|varian|cumul|skew|width|radius|margin|slack|round|ulp|eps|"
    r"toler|error|least|most|quantile|ppf|isf|cdf|beta|gap|weight|limit|square|resid"
)
_BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_SWAP = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_OTHER = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
_OTHER |= {"argmin": "argmax", "argmax": "argmin"}
_SHAPES = {"range", "zeros", "ones", "empty", "full", "reshape", "axis", "field", "ljust", "rjust", "enumerate"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the text between two offsets becomes another."""

    room: str
    file: str  # below src/calibrant
    function: str  # "" for what runs when the module is imported
    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str
    factors: frozenset[str] = frozenset()  # names in the product that a number is a factor of
    where: str = ""  # the line of code that it is in; of a guard the one before

    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.start} {self.kind}: {_short(self.before)} -> {_short(self.after)}"

    def site(self) -> tuple[str, str, str, str]:
        """What it is called in a list that is to outlive the numbers of its lines."""
        return self.file, self.function, " ".join(self.before.split()), " ".join(self.after.split())

    def apply(self, text: str) -> str:
        raw = text.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()


def mutants(file: str, text: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its text."""
    tree = ast.parse(text)
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw, lines = text.encode(), text.splitlines()
    room = file.split("/")[0]
    found: list[Mutant] = []

    def add(kind: str, function: str, first: ast.AST, last: ast.AST, after: str, factors: Iterable[str] = ()) -> None:
        start = starts[first.lineno - 1] + first.col_offset  # type: ignore[attr-defined]
        end = starts[last.end_lineno - 1] + last.end_col_offset  # type: ignore[attr-defined]
        before = raw[start:end].decode()
        line: int = first.lineno  # type: ignore[attr-defined]
        where = lines[line - 1 - (kind == "guard")].strip()
        found.append(Mutant(room, file, function, kind, line, start, end, before, after, frozenset(factors), where))

    def of_statement(statement: ast.stmt, function: str) -> None:
        proof = any(_PROOF.search(name.lower()) for name in _named(statement))
        products = [each for each in ast.walk(statement) if isinstance(each, ast.BinOp)]
        products = [each for each in products if isinstance(each.op, ast.Mult)]
        for node, inside in _expressions(statement):
            if isinstance(node, ast.Constant) and proof and type(node.value) in (int, float) and inside:
                factors = {name for each in products if node in (each.left, each.right) for name in _named(each)}
                add("constant", function, node, node, _number(node.value), factors)
            elif isinstance(node, ast.BinOp) and _is_level(node.left):
                if isinstance(node.op, ast.Div | ast.Mult):
                    add("level", function, node, node, f"({ast.unparse(node.left)})")
            elif isinstance(node, ast.Compare) and len(node.ops) == 1:
                for kind, table in (("boundary", _BOUNDARY), ("swap", _SWAP)):
                    if type(node.ops[0]) in table:
                        other = ast.Compare(node.left, [table[type(node.ops[0])]()], node.comparators)
                        add(kind, function, node, node, f"({ast.unparse(other)})")
            elif isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in _OTHER:
                    end = node.func.end_col_offset
                    head = ast.unparse(node.func)[: -len(name)] + _OTHER[name]
                    if end is not None:
                        add("swap", function, node.func, node.func, head)
                for handed in [*node.args, *(each.value for each in node.keywords)]:
                    if isinstance(handed, ast.Name | ast.Attribute) and _is_level(handed) and name != "isinstance":
                        add("level", function, handed, handed, f"(2 * {ast.unparse(handed)})")
            elif isinstance(node, ast.IfExp):
                add("decision", function, node.test, node.test, f"(not ({ast.unparse(node.test)}))")

    def of_body(body: list[ast.stmt], function: str) -> None:
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                inner = function if isinstance(statement, ast.ClassDef) and function else statement.name
                is_function = isinstance(statement, ast.FunctionDef)
                of_body(statement.body, (function or inner) if is_function else function)
                continue
            if isinstance(statement, ast.If | ast.While):
                if "TYPE_CHECKING" in ast.unparse(statement.test):
                    continue
                leaves = isinstance(statement.body[-1], ast.Raise | ast.Return | ast.Continue)
                if isinstance(statement, ast.If) and leaves and not statement.orelse:
                    add("guard", function, statement.body[0], statement.body[-1], "pass")
                elif function:
                    add("decision", function, statement.test, statement.test, f"not ({ast.unparse(statement.test)})")
            of_statement(statement, function)
            for inner_body in ("body", "orelse", "finalbody"):
                if getattr(statement, inner_body, None):
                    of_body(getattr(statement, inner_body), function)
            for handler in getattr(statement, "handlers", []):
                of_body(handler.body, function)

    of_body(tree.body, "")
    return sorted(set(found), key=lambda each: (each.start, each.kind, each.after))


def _expressions(statement: ast.stmt) -> list[tuple[ast.expr, bool]]:
    """The expressions of a statement itself, each with whether it is part of arithmetic, a comparison or a bound."""
    found: list[tuple[ast.expr, bool]] = []

    def walk(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.expr):
            found.append((node, inside))
        for name, child in ast.iter_fields(node):
            for each in child if isinstance(child, list) else [child]:
                if not isinstance(each, ast.AST) or isinstance(each, ast.stmt | ast.excepthandler | ast.JoinedStr):
                    continue
                if isinstance(node, ast.Subscript) and name == "slice":
                    continue
                within = inside or isinstance(node, ast.BinOp | ast.Compare)
                if isinstance(node, ast.Call):
                    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    if called in _SHAPES:
                        continue
                    within = called in _OTHER or called in ("log", "sqrt", "exp", "log1p", "expm1", "ppf", "isf", "cdf")
                if isinstance(each, ast.keyword) and each.arg in _SHAPES:
                    continue
                walk(each, within)

    plain = isinstance(statement, ast.Assign | ast.AnnAssign)
    walk(statement, plain and isinstance(getattr(statement, "value", None), ast.Constant))
    return found


def _named(tree: ast.AST) -> set[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _is_level(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return bool(_LEVEL.search(node.attr.lower()))
    return isinstance(node, ast.Name) and bool(_LEVEL.search(node.id.lower()))


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 1.25) if value else "1.0"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) < 90 else text[:87] + "..."
