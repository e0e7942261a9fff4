"""Draw the pictures of the book: python tools/pictures docs/pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import of_report
from of_measures import PICTURES as MEASURES
from of_tests import PICTURES as TESTS
from style import save

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, draw in {**MEASURES, **TESTS}.items():
    save(name, draw, folder)
of_report.draw(folder)
