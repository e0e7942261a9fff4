"""Draw the pictures of the book: ``python tools/pictures docs/pictures``, or those named after the folder.

A registered measure that has no picture of its own gets a plain one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import of_report
from of_measures import PICTURES as MEASURES
from of_measures import plain
from of_tests import PICTURES as TESTS
from style import Picture, save

from calibrant.measures import measures


def pictures() -> dict[str, Picture]:
    """Name of every picture but the report's, and what draws it."""
    return {name: plain(name) for name in measures()} | MEASURES | TESTS


if __name__ == "__main__":
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures().items():
        if not wanted or name in wanted:
            save(name, draw, folder)
    if not wanted:
        of_report.draw(folder)
