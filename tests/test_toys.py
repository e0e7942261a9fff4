"""A measure, a test and a map added as the files of tests/toys have everything; what is left out is named."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    "src/calibrant/measures/toy.py": "measures",
    "src/calibrant/inference/testing/toy.py": "testing",
    "src/calibrant/recalibration/curves/toy.py": "curves",
    "src/calibrant/recalibration/toy.py": "recalibration",
    "tests/oracles/toy.py": "oracles",
}
NAMES = {"mean_gap": "mean_gap", "largest_gap_test": "largest_gap_test", "shift": "ShiftScaling"}

# What is left out -> the toy, the file, its text, what stands there instead, and what is said.
LEFT_OUT = {
    "oracle": ("mean_gap", "tests/oracles/toy.py", "def mean_gap", "def other", "an oracle mean_gap in tests/oracles"),
    "entry": ("mean_gap", "docs/measures-one-by-one.md", "\n## mean_gap\n", "\n", "an entry in docs/measures-one"),
    "line": ("mean_gap", "docs/measures.md", "| `mean_gap`", "| `gap`", "a line in docs/measures.md"),
    "picture": ("mean_gap", "docs/pictures/mean_gap.svg", None, None, "a picture in docs/pictures"),
    "name": (
        "mean_gap",
        "src/calibrant/measures/toy.py",
        '["mean_gap"]',
        "[]",
        "a name in __all__ of calibrant/measures/toy.py",
    ),
    "reference": (
        "mean_gap",
        "docs/api/measures.md",
        "::: calibrant.measures.toy\n",
        "",
        "its module in docs/api",
    ),
    "memory": ("mean_gap", "docs/benchmarks-memory.md", "`mean_gap`", "`gap`", "a line in docs/benchmarks-memory.md"),
    "oracle of a test": (
        "largest_gap_test",
        "tests/oracles/toy.py",
        "def largest_gap_test",
        "def other",
        "an oracle largest_gap_test in tests/oracles",
    ),
    "entry of a test": (
        "largest_gap_test",
        "docs/tests-one-by-one.md",
        "\n## largest_gap_test\n",
        "\n",
        "an entry in docs/tests-one-by-one.md",
    ),
    "promise of a test": (
        "largest_gap_test",
        "docs/which-test.md",
        "`inference.largest_gap_test` | level exact",
        "`inference.largest_gap_test` |",
        "its promise, level exact, in docs/which-test.md",
    ),
    "picture of a test": (
        "largest_gap_test",
        "docs/pictures/largest_gap_test.svg",
        None,
        None,
        "a picture in docs/pictures",
    ),
    "oracle of a map": ("shift", "tests/oracles/toy.py", "def shift", "def other", "an oracle shift in tests/oracles"),
    "line of a map": ("shift", "docs/recalibration.md", "`ShiftScaling`", "`Shift`", "a line in docs/recalibration.md"),
    "method": (
        "shift",
        "src/calibrant/recalibration/methods.py",
        '    "shift",\n',
        "",
        "its name in Method of recalibration/methods.py",
    ),
}
RECORDS = ("tests/ledger/record.json", "tests/numbers.json", "tests/papers/small", "docs/gallery.md prints")

DRIVER = f"""
import json, sys
from pathlib import Path
sys.path.insert(0, "tools")
import numpy as np
import calibrant, registered

LEFT_OUT = json.loads({json.dumps(json.dumps(LEFT_OUT))})
toys = {{each.name: each for each in registered.every() if each.name in {sorted(NAMES)}}}
said = {{"files": registered.faults(list(toys.values()))}}
registered.write(list(toys.values()))
said["everything"] = registered.faults(list(toys.values()))
for what, (toy, name, old, new, _) in LEFT_OUT.items():
    path = Path(name)
    kept = path.read_bytes()
    if old is None:
        path.unlink()
    else:
        assert old.encode() in kept, what
        path.write_bytes(kept.replace(old.encode(), new.encode()))
    said[what] = registered.faults([toys[toy]])
    path.write_bytes(kept)
rng = np.random.default_rng(0)
found = calibrant.audit(rng.integers(0, 2, 60), rng.random(60), n_resamples=0)
said["audit"] = [list(found.measures)[-1], "mean gap" in found.summary().lower(), "mean_gap" in found.to_json()]
found.to_html("report.html")
said["report"] = "Mean gap" in Path("report.html").read_text()
from calibrant.recalibration import RecalibratedClassifier, ShiftScaling, compare_recalibrators, from_json
saved = from_json(ShiftScaling().fit([0.25, 0.25], [0, 1]).to_json())
said["map"] = [saved.shift_, compare_recalibrators(
    rng.integers(0, 2, 60), rng.random(60), methods=["shift"]).scores[1].method]
Path("said.json").write_text(json.dumps(said))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The house with the toys' files, what its tool says, and a way to run Python there."""
    copy = tmp_path_factory.mktemp("house")
    ignore = shutil.ignore_patterns("kernels", "__pycache__", "toys")
    for part in ("src", "tools", "docs", "benchmarks", "papers/src", "tests"):
        shutil.copytree(ROOT / part, copy / part, ignore=ignore)
    # The kernels stay where they are, and with them what was compiled of them.
    (copy / "src/calibrant/kernels").symlink_to(ROOT / "src/calibrant/kernels")
    shutil.copytree(ROOT / "tests/kernels", copy / "tests/kernels")
    for name in ("pyproject.toml", "conftest.py", "README.md", "action.yml"):
        shutil.copy(ROOT / name, copy)
    for name, kind in FILES.items():
        shutil.copy(ROOT / "tests" / "toys" / kind / "toy.py", copy / name)
    memory = copy / "benchmarks/memory.py"  # measures what it is told to, here of few rows
    memory.write_text(memory.read_text().replace("ROWS = 1_000_000", "ROWS = 10_000"))

    def run(*arguments):
        paths = os.pathsep.join(map(str, (copy / "src", copy / "papers/src", copy)))
        there = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run([sys.executable, *arguments], cwd=copy, env=there, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-c", "import sys; sys.path.insert(0, 'tools'); import registered; registered.write_names()")
    run("-c", DRIVER)
    return json.loads((copy / "said.json").read_text()), run


@pytest.mark.slow
def test_their_files_and_one_command_are_everything(house):
    said, _ = house
    for name in NAMES:
        lacks = f"{name} lacks a line in docs/benchmarks-memory.md"
        assert any(fault.startswith(lacks) for fault in said["files"])
    assert "largest_gap_test lacks a picture in docs/pictures" in said["files"]
    assert not any("oracle" in fault or "docstring" in fault for fault in said["files"])
    left = [fault for fault in said["everything"] if not any(record in fault for record in RECORDS)]
    by_hand = [fault for fault in left if fault.endswith("docs/gallery.md")]  # its question is its author's
    assert sorted(fault.partition(" ")[0] for fault in by_hand) == ["largest_gap_test", "mean_gap"]
    assert left == by_hand  # records are computed by the command alone, which takes minutes
    assert said["audit"] == ["mean_gap", True, True]
    assert said["report"]
    assert said["map"] == [0.25, "shift"]


@pytest.mark.slow
@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_named(house, what):
    toy, *_, missing = LEFT_OUT[what]
    assert any(fault.startswith(f"{toy} lacks {missing}") for fault in house[0][what]), house[0][what]


@pytest.mark.slow
def test_lines_of_memory_are_written_in_their_order(house):
    house[1]("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "tests/test_benchmarks.py", "-k", "memory_measured")


@pytest.mark.slow
def test_they_are_asked_for_all_that_their_kind_promises(house):
    """What any file asks of every measure, test and map holds for them."""
    asked = {
        "tests/test_contract.py": "mean_gap",
        "tests/inference/test_every_test.py": "largest_gap_test",
        "tests/inference/test_rows_that_people_have.py": "largest_gap_test",
        "tests/recalibration/test_recalibrators.py": "ShiftScaling or shift",
    }
    chosen = f"({' or '.join(asked.values())}) and not nothing_that_follows"
    said = house[1]("-m", "pytest", "-v", "--quick", "-p", "no:cacheprovider", "-n0", "tests", "-k", chosen)
    passed = [line for line in said.splitlines() if line.endswith("%]") and " PASSED " in line]
    assert all(any(line.startswith(file) for line in passed) for file in asked), said
