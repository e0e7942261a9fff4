"""Is the English plain, and how long is the book?

``python tools/plain.py`` reads every page, the docstrings of public names and of their methods, the help of commands,
and the messages of the code. It prints each sentence of more than 25 words, each turn that is hard to read, each word
for which the glossary has another, and each page whose sentences have more than 15 words on average; so do all
docstrings together, and all messages. It exits with 1 if there are any. ``--words`` prints how many words somebody
wrote in each part of the book, and ``--words FOLDER`` how many in that of another checkout.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LONGEST, AVERAGE = 25, 15
PARTICIPLES = "told|said|asked|held|given|found|kept|left|known"
TURNS = {
    "of ... those that": re.compile(r"\b(of [^.;:]{1,60}\bthose\b|those) (that|which|who|whose)\b", re.IGNORECASE),
    "what is told": re.compile(rf"\bwhat (is|was|are|were) ({PARTICIPLES})\b", re.IGNORECASE),
    "the told": re.compile(r"\b(the|an?|all) (told|said|asked|held|kept|seen)\b", re.IGNORECASE),
    "who acts": re.compile(r"((^|[.;:] )who(ever)? \w+s|\b(for|by|to|of) who)\b", re.IGNORECASE),
    "as ... go": re.compile(
        r"\bas [^.;:,]{1,30}\b(go|goes)\b(?! (on|back|into|to|by|with|down|up|off))", re.IGNORECASE
    ),
}
OTHERS = {
    "row": "observations?|data ?points?",
    "outcome": "ground truth",
    "segment": "sub-?groups?|sub-?populations?|slices?|cohorts?",
    "map": "calibrators?",
    "level": "significance levels?",
}
"""Words for which the glossary has another."""
TURNS |= {f"say {word!r}": re.compile(rf"\b({others})\b", re.IGNORECASE) for word, others in OTHERS.items()}
PROOFS = {
    *("bounds", "calibration-test", "certificates", "constants", "decisions", "distance", "distance-general"),
    *(
        "found-segments",
        "hardness",
        "identity",
        "lower",
        "poisson-binomial",
        "recalibration",
        "sketch",
        "smooth",
        "tcal",
    ),
    *("tests", "theorems", "two-bin", "weights", "new", "measures-one-by-one", "tests-one-by-one"),
}
"""Pages of definitions, derivations and proofs."""
MEASURED = {"trust", "readers"}
"""Pages of measurements that stand beside the benchmarks."""


def part(page: Path, docs: Path = DOCS) -> str:
    """Which part of the book a page belongs to."""
    folder, name = page.relative_to(docs).parts[0], page.stem
    if folder == "api" or name == "json":
        return "reference"
    if folder == "reproductions" or name in MEASURED or name.startswith("benchmarks"):
        return "measurements"
    return "proofs" if folder == page.name and name in PROOFS else "to read"


def pages(of: str, docs: Path = DOCS) -> list[Path]:
    """The pages of one part."""
    return [page for page in sorted(docs.rglob("*.md")) if part(page, docs) == of]


def words(text: str, lines: Collection[str]) -> int:
    """How many words of a page somebody wrote: none that tools/tutorials.py prints, and none of a tool's `lines`."""
    text = re.sub(r"(```(?:python|sh)\n.*?```)\n\n```text\n.*?```", r"\1", text, flags=re.DOTALL)
    return sum(len(each.split()) for each in text.splitlines() if each not in lines)


def prose(text: str) -> str:
    """A page's running text: no code, tables, formulas, pictures, headings or addresses."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"``?[^`]+``?|\$[^$]+\$", "x", text)
    lines = [
        "" if re.match(r"\s*(\||#|>>>|\.\.\.)", line) else re.sub(r"^\s*([-*]|\d+\.) ", "\n", line)
        for line in text.splitlines()
    ]
    return re.sub(r"[*_\[\]]", "", "\n".join(lines))


def sentences(text: str) -> list[str]:
    """The sentences of a page."""
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n\s*\n", prose(text)))
    parts = (each for paragraph in paragraphs for each in re.split(r"(?<=[.!?])\s+(?=\S)", paragraph))
    return [each for each in parts if re.search(r"[A-Za-z]{2}", each)]


def faults(name: str, text: str, *, average: bool = True) -> list[str]:
    """What is not plain in a text."""
    found = sentences(text)
    lengths = [len(each.split()) for each in found]
    lines = [f"{name}: {n} words: {each}" for n, each in zip(lengths, found, strict=True) if n > LONGEST]
    lines += [f"{name}: {turn}: {each}" for each in found for turn, has in TURNS.items() if has.search(each)]
    if average and sum(lengths) > AVERAGE * len(lengths):
        lines.append(f"{name}: sentences have {sum(lengths) / len(lengths):.1f} words on average")
    return lines


def running(doc: str) -> str:
    """The sentences of a docstring: no headings, names of parameters, references or examples."""
    doc = re.sub(r"\n(References|Examples|See Also)\n-+\n.*?(?=\n[A-Z]\w+( \w+)?\n-+\n|\Z)", "\n", doc, flags=re.DOTALL)
    return re.sub(r"^[A-Z]\w+( \w+)?\n-+$|^\S.*$(?=\n +\S)|^\S.* : .*$", "\n", doc, flags=re.MULTILINE)


def docstrings() -> Iterator[tuple[str, str]]:
    """Name and sentences of the docstring of every public name, and of every public method that a class defines."""
    from calibrant.public_names import MODULE_OF

    for name, home in sorted(MODULE_OF.items()):
        value = getattr(import_module(f"calibrant.{home}"), name)
        yield name, running(inspect.getdoc(value) or "")
        for member, has in vars(value).items() if inspect.isclass(value) else ():
            function = has.__func__ if isinstance(has, classmethod | staticmethod) else has
            if not member.startswith("_") and (callable(function) or isinstance(has, property | cached_property)):
                yield f"{name}.{member}", running(inspect.cleandoc(function.__doc__ or ""))


def helps() -> Iterator[tuple[str, str]]:
    """What the commands say of themselves."""
    from typer.main import get_command

    from calibrant.cli.app import app

    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        options = [getattr(each, "help", None) or "" for each in command.params]
        yield f"calibrant {name} --help", "\n\n".join([command.help or "", *options])


def said(tree: ast.Module) -> list[str]:
    """The texts that a file's code says, with x for each value in them; no docstrings, and no sources of measures."""
    texts: dict[int, str] = {}
    apart: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else "x" for each in node.values]
            texts[id(node)] = "".join(str(each) for each in parts)
            apart |= {id(each) for each in node.values}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts[id(node)] = node.value
        elif isinstance(node, ast.Expr):
            apart.add(id(node.value))
        elif isinstance(node, ast.keyword) and node.arg == "source":
            apart |= {id(each) for each in ast.walk(node)}
    return [
        text
        for key, text in texts.items()
        if key not in apart and re.search(r"\w \w+ \w", text) and not re.search(r"[{}<>]|SELECT|%\(", text)
    ]


def messages() -> Iterator[tuple[str, str]]:
    """What the code of each file says: messages and sentences of results."""
    source = ROOT / "src" / "calibrant"
    for path in sorted(source.rglob("*.py")):
        yield str(path.relative_to(source)), "\n\n".join(said(ast.parse(path.read_text())))


def texts() -> Iterator[tuple[str, str]]:
    """The pages that are to be plain."""
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
        yield name, (ROOT / name).read_text()
    for page in sorted(DOCS.rglob("*.md")):
        yield str(page.relative_to(DOCS)), page.read_text()


def everything() -> list[str]:
    """What is not plain, in all that is to be."""
    lines = [line for name, text in texts() for line in faults(name, text)]
    for name, parts in {"docstrings": docstrings, "--help": helps, "messages": messages}.items():
        named = list(parts())
        lines += [line for each, text in named for line in faults(each, text, average=False)]
        lines += [line for line in faults(name, "\n\n".join(text for _, text in named)) if "on average" in line]
    return lines


if __name__ == "__main__":
    if "--words" in sys.argv:
        from registered import lines

        written = lines()
        docs = Path(sys.argv[-1]) / "docs" if sys.argv[-1] != "--words" else DOCS
        for each in ("to read", "proofs", "measurements", "reference"):
            print(f"{each}: {sum(words(page.read_text(), written) for page in pages(each, docs)):,} words")
        sys.exit()
    found = everything()
    print("\n".join(found) or "plain")
    sys.exit(bool(found))
