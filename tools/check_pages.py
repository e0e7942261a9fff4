"""Do the published reproductions say what today's commands write?

``python tools/check_pages.py NAME... [--data FOLDER]`` runs each experiment and compares what it writes with the page
in docs/reproductions, except for the last line, which tells the seconds. Without names: some that are the same on every
run and take seconds. Exits with 1 and the lines that differ.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from calibrant.experiments.registry import page, reproduce

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reproductions"
SHORT = ("unifying-theory-lemmas", "nearly-linear-time-lemma-13", "hardness-birthday")


def differences(name: str, data: Path | None = None) -> list[str]:
    written = page(name, reproduce(name, data=data)).splitlines()[:-1]
    published = (PAGES / f"{name}.md").read_text().splitlines()[:-1]
    return list(
        difflib.unified_diff(published, written, f"{name}.md, published", f"{name}.md, written now", lineterm="")
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=SHORT)
    parser.add_argument("--data", type=Path, help="the folder of real predictions")
    chosen = parser.parse_args()
    found = [line for name in chosen.names for line in differences(name, chosen.data)]
    print("\n".join(found) or "the pages say what the commands write")
    sys.exit(bool(found))
