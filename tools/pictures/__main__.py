"""Draw the pictures of the book: ``python tools/pictures docs/pictures``, or those named after the folder.

A registered measure or test that has no picture of its own gets a plain one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import of_report
from of_measures import PICTURES as MEASURES
from of_measures import plain as plain_measure
from of_tests import PICTURES as TESTS
from of_tests import plain as plain_test
from style import Picture, save

from calibrant.inference import calibration_tests
from calibrant.measures import measures


def pictures() -> dict[str, Picture]:
    """Name of every picture but the report's, and what draws it."""
    of_measures = {name: plain_measure(name) for name in measures()}
    return of_measures | {name: plain_test(name) for name in calibration_tests()} | MEASURES | TESTS


if __name__ == "__main__":
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures().items():
        if not wanted or name in wanted:
            save(name, draw, folder)
    if not wanted:
        of_report.draw(folder)
