"""Pages of figures: a line of every public function, and what is written by hand stays when a table is written."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.public import FUNCTIONS

ROOT = Path(__file__).parents[1]


def test_every_public_function_has_its_memory_measured_or_a_reason_why_not():
    module = runpy.run_path(str(ROOT / "benchmarks" / "memory.py"))
    measured = {name.split(",")[0] for name in module["CALLS"]} & FUNCTIONS.keys()
    assert measured | module["NOT_OF_ROWS"].keys() == FUNCTIONS.keys()
    assert not measured & module["NOT_OF_ROWS"].keys()
    page = (ROOT / "docs" / "benchmarks-memory.md").read_text()
    assert re.findall(r"^\| `([^`]+)`", page, flags=re.MULTILINE) == list(module["CALLS"])


def test_the_table_of_sizes_is_put_between_its_marks():
    module = runpy.run_path(str(ROOT / "benchmarks" / "scale.py"))
    page = module["TARGET"].read_text()
    written = module["with_table"](page, ["| 5 | audit | 0.1 | 2 |"], {10**9: 20.0}, "a machine")
    before, _, rest = page.partition(module["BEGINS"])
    table, _, after = rest.partition(module["ENDS"])
    assert (before, after) == (written.partition(module["BEGINS"])[0], written.partition(module["ENDS"])[2])
    assert table not in written
    assert (
        "On a machine.\n\n| rows | what | seconds | peak MB |\n|---:|---|---:|---:|\n| 5 | audit | 0.1 | 2 |\n"
        in written
    )
    assert "10^11 rows, by calculation: 1,000,000,000 rows took 20.0 s" in written
    assert module["with_table"](written, [], {10**9: 20.0}, "a machine").count("<!--") == 2


@pytest.mark.slow
def test_the_page_of_maps_is_what_its_runs_say():
    module = runpy.run_path(str(ROOT / "benchmarks" / "maps.py"))
    page = module["PAGE"].read_text()
    versions = re.search(r"Peers have their defaults:\n(.+)", page).group(1)
    lines = [module["Line"](*each) for each in module["read_runs"](module["RUNS"]).items()]
    assert page == module["page"](lines, versions)


def test_losses_and_ranks_of_maps_are_those_of_their_definitions():
    module = runpy.run_path(str(ROOT / "benchmarks" / "maps.py"))
    log, brier = module["losses"](np.array([0.25, 0.8]), np.array([1.0, 0.5]))
    assert log == pytest.approx(-(np.log(0.25) + 0.5 * np.log(0.8) + 0.5 * np.log(0.2)) / 2.0)
    assert brier == pytest.approx((0.75**2 + 0.5 * 0.2**2 + 0.5 * 0.8**2) / 2.0)
    table, chance = np.array([[0.7, 0.2, 0.1]]), np.array([[0.0, 1.0, 0.0]])
    assert module["losses"](table, chance) == pytest.approx((-np.log(0.2), 0.5 * (0.49 + 0.64 + 0.01)))
    assert module["ranks"]({"a": 0.2, "b": 0.1, "c": 0.2, "d": float("nan")}) == {
        "a": 2.5,
        "b": 1.0,
        "c": 2.5,
        "d": 4.0,
    }
