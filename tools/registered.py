"""What follows from a measure's registration: written here, or named where it is missing.

A measure is two files, its function in ``src/calibrant/measures/`` and its oracle in ``tests/oracles/``. From its
registration ``python tools/registered.py`` writes the tables and stubs of public names, an entry in
docs/measures-one-by-one.md, a line in docs/measures.md and a picture, each where there is none yet; what somebody wrote
or drew by hand stays. With ``--check`` it writes nothing, and exits with 1 and a line for each thing that is missing.
"""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

import public_names

from calibrant.measures.registry import Measure, measures

ROOT = Path(__file__).resolve().parent.parent
ENTRIES, LINES = "docs/measures-one-by-one.md", "docs/measures.md"


def entries(page: Path) -> dict[str, str]:
    """Heading of each entry of a page, with its text."""
    parts = page.read_text().split("\n## ")[1:]
    return {part.partition("\n")[0]: part for part in parts}


def entry(measure: Measure) -> str:
    """An entry that says what the registration says."""
    return (
        f"\n## {measure.name}\n\n{measure.definition}\n\n![Values for calibrated and for overconfident predictions]"
        f"(pictures/{measure.name}.svg)\n\n- **Says:** {measure.sentence}\n- **Source:** {measure.source}\n"
    )


def line(measure: Measure) -> str:
    """A line of the table of measures; what a registration does not say is left blank."""
    return f"| `{measure.name}` | {measure.sentence.rstrip('.')} | | | |\n"


def defines(path: Path, name: str) -> bool:
    """Whether a module defines a function of this name."""
    return path.exists() and any(
        isinstance(node, ast.FunctionDef) and node.name == name for node in ast.parse(path.read_text()).body
    )


def faults_of(measure: Measure, root: Path) -> list[str]:
    """What one measure lacks."""
    home, oracle = f"measures/{measure.family}.py", f"tests/oracles/{measure.family}.py"
    said = " ".join((measure.function.__doc__ or "").split())
    text = entries(root / ENTRIES).get(measure.name, "")
    by_hand = all(word in text for word in ("**Proves:**", "**Does not:**"))
    api = (root / "docs" / "api" / "measures.md").read_text()
    wanted = {
        f"a name in __all__ of {home}": measure.name
        in public_names.literal(root / "src" / "calibrant" / home, "__all__"),
        f"an oracle in {oracle}": defines(root / oracle, measure.name),
        "a sentence of 20 to 200 characters that ends": 20 < len(measure.sentence) < 200
        and measure.sentence.endswith("."),
        "a docstring that begins with its sentence": said.startswith(measure.sentence),
        "a docstring that names its source": measure.source in said,
        f"an entry in {ENTRIES}": bool(text),
        f"what it proves, or its sentence, in {ENTRIES}": by_hand or measure.sentence in text,
        f"a source in {ENTRIES}": "**Source:**" in text,
        f"a link to its picture in {ENTRIES}": f"](pictures/{measure.name}.svg)" in text,
        f"a line in {LINES}": f"| `{measure.name}`" in (root / LINES).read_text(),
        "a picture in docs/pictures": (root / "docs" / "pictures" / f"{measure.name}.svg").exists(),
        "its module in docs/api/measures.md": f"::: {measure.function.__module__}\n" in api,
    }
    return [f"{measure.name} lacks {what}" for what, there in wanted.items() if not there]


def faults(registered: Mapping[str, Measure], root: Path = ROOT) -> list[str]:
    """A line for each thing that any measure lacks."""
    missing = [fault for measure in registered.values() for fault in faults_of(measure, root)]
    return missing + public_names.faults(root / "src" / "calibrant")


def write(registered: Mapping[str, Measure], root: Path = ROOT) -> None:
    """Write what follows from the registrations and is not there yet."""
    for path, text in public_names.files(root / "src" / "calibrant").items():
        path.write_text(text)
    for measure in registered.values():
        page = root / ENTRIES
        if measure.name not in entries(page):
            page.write_text(page.read_text() + entry(measure))
        page = root / LINES
        if f"| `{measure.name}`" not in page.read_text():
            before, rule, after = page.read_text().partition("\n\n[Measured side by side]")
            page.write_text(f"{before}\n{line(measure).rstrip()}{rule}{after}")
        page, block = root / "docs" / "api" / "measures.md", f"::: {measure.function.__module__}\n"
        if block not in page.read_text():
            page.write_text(f"{page.read_text()}\n{block}")
        if not (root / "docs" / "pictures" / f"{measure.name}.svg").exists():
            sys.path.insert(0, str(ROOT / "tools" / "pictures"))
            drawing = runpy.run_path(str(ROOT / "tools" / "pictures" / "__main__.py"))
            drawing["save"](measure.name, drawing["pictures"]()[measure.name], root / "docs" / "pictures")


if __name__ == "__main__":
    if "--check" in sys.argv:
        found = faults(measures())
        print("\n".join(found) or "nothing is missing")
        sys.exit(bool(found))
    write(measures())
