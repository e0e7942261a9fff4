"""Do the published reproductions say what today's commands write?

``python tools/check_pages.py NAME... [--data FOLDER]`` runs each experiment, compares what it writes with the page and
the picture in docs/reproductions, and says of each whether it differs, and where. Seconds are not compared: they differ
from run to run. Without names it runs those that are the same on every run and take seconds; with ``--all`` all, which
takes hours; with ``--write`` it writes those that differ. Exits with 1 if any differs.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import tempfile
from pathlib import Path

from calibrant_papers.registry import experiments, needs_data, reproduce, write

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reproductions"
SHORT = ("unifying-theory-lemmas", "nearly-linear-time-lemma-13", "hardness-birthday")
SECONDS_ALONE = {"nearly-linear-time-table-3"}
SECONDS = re.compile(r"(^|, )s( at .*)?$")


def masked(name: str, text: str) -> list[str]:
    """A page's lines without what the clock said: what follows the command in the last line, and columns of seconds."""
    *lines, last = text.rstrip().splitlines()
    found, timed = [], set()
    for line in lines:
        if not line.startswith("| "):
            timed = set()
        elif not timed:  # the head of a table
            timed = {k for k, head in enumerate(line.split("|")) if SECONDS.search(head.strip())} or {-2}
        else:
            line = "|".join("" if k in timed else cell for k, cell in enumerate(line.split("|")))
        found.append(re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "", line) if name in SECONDS_ALONE else line)
    return [*found, last.partition(";")[0]]


def drawn(picture: Path) -> str:
    """A picture but for the names of its clip paths, some of which matplotlib takes from where they lie in memory."""
    return re.sub(r"\bp[0-9a-f]{10}\b", "", picture.read_text())


def differences(name: str, data: Path | None = None, *, rewrite: bool = False, pages: Path = PAGES) -> list[str]:
    """Lines of a page that differ from what its command writes today, and its picture's name if that differs."""
    done = reproduce(name, data=data)
    with tempfile.TemporaryDirectory() as folder:
        text, *pictures = write(name, done, Path(folder))
        published = (pages / text.name).read_text() if (pages / text.name).exists() else ""
        found = list(
            difflib.unified_diff(
                masked(name, published) if published else [],
                masked(name, text.read_text()),
                f"{name}.md, published",
                f"{name}.md, written now",
                lineterm="",
            )
        )
        found += [
            f"{each.name} differs"
            for each in pictures
            if not (pages / each.name).exists() or drawn(pages / each.name) != drawn(each)
        ]
    if found and rewrite:
        write(name, done, pages)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=SHORT)
    parser.add_argument("--all", action="store_true", help="every experiment; without --data those that need none")
    parser.add_argument("--data", type=Path, help="the folder of real predictions")
    parser.add_argument("--write", action="store_true", help="write the pages that differ")
    chosen = parser.parse_args()
    names = [n for n in experiments() if chosen.data or not needs_data(n)] if chosen.all else chosen.names
    differ = 0
    for name in names:
        found = differences(name, chosen.data, rewrite=chosen.write)
        differ += bool(found)
        print(f"{name}: {'differs' if found else 'as published'}", *found, sep="\n", flush=True)
    print(f"{differ} of {len(names)} pages differ")
    sys.exit(bool(differ))
