"""The page of peak memory has a line of every public function of rows."""

import re
import runpy
from pathlib import Path

from tests.public import FUNCTIONS

ROOT = Path(__file__).parents[1]


def test_every_public_function_has_its_memory_measured_or_a_reason_why_not():
    module = runpy.run_path(str(ROOT / "benchmarks" / "memory.py"))
    measured = {name.split(",")[0] for name in module["CALLS"]} & FUNCTIONS.keys()
    assert measured | module["NOT_OF_ROWS"].keys() == FUNCTIONS.keys()
    assert not measured & module["NOT_OF_ROWS"].keys()
    page = (ROOT / "docs" / "benchmarks-memory.md").read_text()
    assert re.findall(r"^\| `([^`]+)`", page, flags=re.MULTILINE) == list(module["CALLS"])
