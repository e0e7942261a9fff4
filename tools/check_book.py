"""Does the built book load nothing from elsewhere, and does its reference name public names alone?

``python tools/check_book.py FOLDER`` reads every page and style sheet of a book that ``mkdocs build --site-dir FOLDER``
wrote. Links that a reader may follow are no loads. Exits with 1 and a line for each fault.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import public_names

from calibrant.public_names import MODULE_OF

ELSEWHERE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)
FOLLOWED = {"a", "area"}
SOURCE = Path(__file__).resolve().parent.parent / "src" / "calibrant"
INTEGRATIONS = {f"integrations.{each}" for each in ("torchmetrics", "ignite", "hf_evaluate", "lm_eval")}
MODULES = {*MODULE_OF.values(), "synthetic", "torch", *INTEGRATIONS}  # those after the first offer all that they define
WRITTEN = {"__add__", "__call__", "__iter__", "__len__"}  # special methods that a reader writes as syntax


class Page(HTMLParser):
    """What a page loads from elsewhere, the objects that it documents, and formulas that were not drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attributes}
        if tag not in FOLLOWED:
            loads = [has.get(name, "") for name in ("src", "href", "data", "poster", "srcset", "action")]
            self.faults += [f"<{tag}> loads {each}" for each in loads if ELSEWHERE.match(each)]
            self.faults += [f"<{tag}> loads {each}" for each in IN_STYLE.findall(has.get("style", ""))]
        if {"arithmatex", "mermaid"} & set(has.get("class", "").split()):
            self.faults.append(f"<{tag}> would be drawn by a script from elsewhere")
        name = has.get("id", "")
        if re.fullmatch(r"h[1-6]", tag) and name.startswith("calibrant."):
            self.faults += [f"{name} is no public name"] if not public(name) else []

    def handle_data(self, data: str) -> None:
        if self.lasttag == "style":
            self.faults += [f"<style> loads {each}" for each in IN_STYLE.findall(data)]


@cache
def names_of(module: str) -> set[str]:
    path = SOURCE / f"{module.replace('.', '/')}.py"
    defined, _ = public_names.outline(path.read_text())
    return set(public_names.literal(path, "__all__")) or {name for name in defined if not name.startswith("_")}


def public(name: str) -> bool:
    """Whether a documented object is a module of public names, such a name, or a member of one."""
    name = name.removeprefix("calibrant.")
    module = max((each for each in MODULES if f"{name}.".startswith(f"{each}.")), key=len, default=None)
    if module is None or name == module:
        return module is not None
    first, *members = name.removeprefix(f"{module}.").split(".")
    return first in names_of(module) and not any(m.startswith("_") and m not in WRITTEN for m in members)


def faults(folder: Path) -> list[str]:
    """A line for each fault of a built book."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        page = Page()
        page.feed(path.read_text())
        found += [f"{path.relative_to(folder)}: {each}" for each in page.faults]
    for path in sorted(folder.rglob("*.css")):
        found += [f"{path.relative_to(folder)}: loads {each}" for each in IN_STYLE.findall(path.read_text())]
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not (folder / "index.html").exists():
        sys.exit(f"{folder} holds no book")
    found = faults(folder)
    print("\n".join(found) or "the book loads nothing from elsewhere and names public names alone")
    sys.exit(bool(found))
