"""What other libraries' tests, pages and programs give, held against ours; docs/trust.md says where we differ."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from calibrant import InputError
from tests.peers.ours import OURS

HERE = Path(__file__).parent
TABLES = json.loads((HERE / "tables.json").read_text())
SUITES = {path.stem: json.loads(path.read_text()) for path in sorted(HERE.glob("*.json")) if path.stem != "tables"}
CASES = [
    pytest.param(suite.get("inputs", TABLES), case, id=f"{peer}: {case['source']}, {number}")
    for peer, suite in SUITES.items()
    for part in ("written", "recorded")
    for number, case in enumerate(suite[part])
]
PAGE = (HERE.parents[1] / "docs" / "trust.md").read_text()


def differs(found, expected, tolerance):
    if isinstance(found, str) or isinstance(expected, str):  # "refused"
        return not (isinstance(found, str) and isinstance(expected, str) and found == expected)
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    gap = np.abs(np.subtract(found, expected, where=found != expected, out=np.zeros_like(found)))
    return bool((gap > tolerance).any())


@pytest.mark.parametrize(("inputs", "case"), CASES)
def test_a_peers_value(inputs, case):
    columns = case["columns"]
    columns = (inputs.get(columns) or TABLES[columns]) if isinstance(columns, str) else columns
    try:
        found = OURS[case["call"]](**columns, **case.get("options", {}))
    except InputError:
        found = "refused"
    if "because" not in case:
        assert not differs(found, case["expected"], case["tolerance"])
        return
    assert not differs(found, case["ours"], 1e-9)
    assert differs(case["ours"], case["expected"], case["tolerance"]), "they agree now: take the difference out"
    assert f"- **{case['because']}**" in PAGE


def test_the_page_counts_the_cases_and_names_no_difference_that_there_is_not():
    rows = re.findall(r"^\| ([\w.-]+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
    counted = {name: tuple(map(int, counts)) for name, *counts in rows}
    cases = {peer: (suite["written"], suite["recorded"]) for peer, suite in SUITES.items()}
    assert counted == {
        peer: (len(written), len(recorded), sum("because" in case for case in (*written, *recorded)))
        for peer, (written, recorded) in cases.items()
    }
    named = {case["because"] for parts in cases.values() for part in parts for case in part if "because" in case}
    section = PAGE.partition("## Other libraries' numbers")[2].partition("\n## ")[0]
    assert set(re.findall(r"^- \*\*(.+?)\*\*", section, re.MULTILINE)) == named


def test_each_line_of_ours_is_held_against_something():
    assert {case["call"] for _, case in (param.values for param in CASES)} == set(OURS)
