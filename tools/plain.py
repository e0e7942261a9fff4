"""Is the English plain, and how long is the book?

``python tools/plain.py`` reads the pages to read, the docstrings of public names, the help of commands,
and the sentences of the first screen. It prints each sentence of more than 25 words, each turn that is hard
to read, and each page whose sentences have more than 15 words on average; it exits with 1 if there are any.
``--words`` prints how many words each part of the book has.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LONGEST, AVERAGE = 25, 15
TURNS = {
    "of ... those that": re.compile(r"\bof [^.;:]{1,60}\bthose (that|which|who)\b", re.IGNORECASE),
    "what is told": re.compile(r"\bwhat (is|was|are) (told|said|asked|held|given)\b", re.IGNORECASE),
    "as ... go": re.compile(
        r"\bas [^.;:,]{1,30}\b(go|goes)\b(?! (on|back|into|to|by|with|down|up|off))", re.IGNORECASE
    ),
}
ASIDE = re.compile(r"\n(References|Examples|See Also)\n-+\n.*?(?=\n[A-Z]\w+( \w+)?\n-+\n|\Z)", re.DOTALL)
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


def part(page: Path) -> str:
    """Which part of the book a page belongs to."""
    folder, name = page.relative_to(DOCS).parts[0], page.stem
    if folder == "api" or name == "json":
        return "reference"
    if folder == "reproductions" or name in MEASURED or name.startswith("benchmarks"):
        return "measurements"
    return "proofs" if folder == page.name and name in PROOFS else "to read"


def pages(of: str) -> list[Path]:
    """The pages of one part."""
    return [page for page in sorted(DOCS.rglob("*.md")) if part(page) == of]


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


def faults(name: str, text: str) -> list[str]:
    """What is not plain in a text."""
    found = sentences(text)
    lengths = [len(each.split()) for each in found]
    lines = [f"{name}: {n} words: {each}" for n, each in zip(lengths, found, strict=True) if n > LONGEST]
    lines += [f"{name}: {turn}: {each}" for each in found for turn, has in TURNS.items() if has.search(each)]
    if lengths and sum(lengths) > AVERAGE * len(lengths):
        lines.append(f"{name}: sentences have {sum(lengths) / len(lengths):.1f} words on average")
    return lines


def docstrings() -> Iterator[tuple[str, str]]:
    """Name and text of the docstring of every public name, without its references."""
    from calibrant.homes import HOMES

    for name, home in sorted(HOMES.items()):
        text = inspect.getdoc(getattr(import_module(f"calibrant.{home}"), name)) or ""
        text = re.sub(
            r"\n(References|Examples|See Also)\n-+\n.*?(?=\n[A-Z]\w+( \w+)?\n-+\n|\Z)", "\n", text, flags=re.DOTALL
        )
        yield name, re.sub(r"^\S.* : .*$|^-+$|^[A-Z]\w+$", "\n", text, flags=re.MULTILINE)


def said() -> Iterator[tuple[str, str]]:
    """What the commands say of themselves, and the sentences of the first screen."""
    from typer.main import get_command

    from calibrant.cli.app import app
    from calibrant.findings import catalogue

    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        helps = [getattr(each, "help", None) or "" for each in command.params]
        yield f"calibrant {name} --help", "\n\n".join([command.help or "", *helps])
    found = re.findall(r'^\s+"[\w .-]+": \(?\s*f?"([^"]+)"', inspect.getsource(catalogue), flags=re.MULTILINE)
    yield "first screen", "\n\n".join(found)


def texts() -> Iterator[tuple[str, str]]:
    """All that is to be plain."""
    yield "README.md", (ROOT / "README.md").read_text()
    for page in pages("to read"):
        yield str(page.relative_to(DOCS)), page.read_text()
    yield from docstrings()
    yield from said()


if __name__ == "__main__":
    if "--words" in sys.argv:
        for each in ("to read", "proofs", "measurements", "reference"):
            print(f"{each}: {sum(len(page.read_text().split()) for page in pages(each)):,} words")
        sys.exit()
    lines = [line for name, text in texts() for line in faults(name, text)]
    print("\n".join(lines) or "plain")
    sys.exit(bool(lines))
