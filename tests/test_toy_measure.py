"""A measure added as two files has everything; with one thing left out, what is missing is named."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MEASURE = '''"""How far predictions are from the event rate of the rows that have them."""

from __future__ import annotations

__all__ = ["mean_gap"]

from calibrant.door.columns import Column
from calibrant.door.sample import Sample
from calibrant.measures.registry import register


def _from_sample(sample: Sample) -> float:
    return float(abs(sample.residual()).sum())


@register(
    _from_sample,
    sentence="Mean gap between each distinct prediction and the event rate of its rows.",
    definition="The mean of |v - E[y | v]|, in probability units.",
    source="A toy.",
    symmetric=True,
    order=1000,
)
def mean_gap(y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> float:
    """Mean gap between each distinct prediction and the event rate of its rows. Source: A toy."""
    return _from_sample(Sample.from_columns(y_true, y_prob, sample_weight))
'''

ORACLE = '''"""The gap by its definition."""

import numpy as np


def mean_gap(y_true, y_prob, sample_weight=None):
    y, v = np.asarray(y_true, float), np.asarray(y_prob, float)
    w = np.ones_like(v) if sample_weight is None else np.asarray(sample_weight)
    return sum(abs(np.sum((w * (y - v))[v == u])) for u in set(v.tolist())) / w.sum()
'''

# What is left out -> the file, its text, what stands there instead, and what is said.
LEFT_OUT = {
    "oracle": ("tests/oracles/toy.py", "def mean_gap", "def other", "mean_gap lacks an oracle in tests/oracles/toy.py"),
    "docs entry": (
        "docs/measures-one-by-one.md",
        "\n## mean_gap\n",
        "\n",
        "mean_gap lacks an entry in docs/measures-one-by-one.md",
    ),
    "docs line": ("docs/measures.md", "| `mean_gap`", "| `gap`", "mean_gap lacks a line in docs/measures.md"),
    "picture": ("docs/pictures/mean_gap.svg", None, None, "mean_gap lacks a picture in docs/pictures"),
    "name": (
        "src/calibrant/measures/toy.py",
        '["mean_gap"]',
        "[]",
        "mean_gap lacks a name in __all__ of measures/toy.py",
    ),
    "stub": ("src/calibrant/measures/__init__.pyi", "mean_gap", "gap", "measures/__init__.pyi: run python tools"),
    "reference": (
        "docs/api/measures.md",
        "::: calibrant.measures.toy\n",
        "",
        "mean_gap lacks its module in docs/api/measures.md",
    ),
    "sentence": (
        "src/calibrant/measures/toy.py",
        'sentence="Mean gap between each distinct prediction and the event rate of its rows."',
        'sentence=""',
        "measure mean_gap: its sentence is empty",
    ),
    "definition": (
        "src/calibrant/measures/toy.py",
        'definition="The mean of |v - E[y | v]|, in probability units."',
        'definition=""',
        "measure mean_gap: its definition is empty",
    ),
}

DRIVER = f"""
import importlib, json, sys
from pathlib import Path
sys.path.insert(0, "tools")
import numpy as np
import pytest
import calibrant
import registered
from calibrant.measures import measures

LEFT_OUT = json.loads({json.dumps(json.dumps(LEFT_OUT))})
said = {{"two files": registered.faults(measures())}}
registered.write(measures())
said["everything"] = registered.faults(measures())
toy = measures()["mean_gap"]
for what, (name, old, new, _) in LEFT_OUT.items():
    path = Path(name)
    kept = path.read_bytes()
    if old is None:
        path.unlink()
    else:
        assert old.encode() in kept, what
        path.write_bytes(kept.replace(old.encode(), new.encode()))
    try:
        importlib.reload(sys.modules["calibrant.measures.toy"])
        said[what] = registered.faults({{"mean_gap": toy}})
    except ValueError as refused:
        said[what] = [str(refused)]
    path.write_bytes(kept)
importlib.reload(sys.modules["calibrant.measures.toy"])
rng = np.random.default_rng(0)
found = calibrant.audit(rng.integers(0, 2, 60), rng.random(60), n_resamples=0)
said["audit"] = [list(found.measures)[-1], "mean gap" in found.summary().lower(), "mean_gap" in found.to_json()]
found.to_html("report.html")
said["report"] = "Mean gap" in Path("report.html").read_text()
Path("said.json").write_text(json.dumps(said))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The house with the toy's two files, what its tool says, and a way to run Python there."""
    copy = tmp_path_factory.mktemp("house")
    ignore = shutil.ignore_patterns("kernels")
    for part in ("src", "tools", "docs", "tests/oracles"):
        shutil.copytree(ROOT / part, copy / part, ignore=ignore)
    # The kernels stay where they are, and with them what was compiled of them.
    (copy / "src/calibrant/kernels").symlink_to(ROOT / "src/calibrant/kernels")
    for part in ("__init__", "processor_seconds", "registered", "strategies", "test_contract"):
        shutil.copy(ROOT / f"tests/{part}.py", copy / "tests")
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, copy)
    (copy / "src/calibrant/measures/toy.py").write_text(MEASURE)
    (copy / "tests/oracles/toy.py").write_text(ORACLE)

    def run(*arguments):
        there = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
        done = subprocess.run([sys.executable, *arguments], cwd=copy, env=there, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-c", DRIVER)
    return json.loads((copy / "said.json").read_text()), run


@pytest.mark.slow
def test_two_files_and_one_command_are_everything(house):
    said, _ = house
    assert "mean_gap lacks an entry in docs/measures-one-by-one.md" in said["two files"]
    assert "mean_gap lacks a picture in docs/pictures" in said["two files"]
    assert not any("oracle" in fault or "docstring" in fault for fault in said["two files"])
    assert said["everything"] == []
    assert said["audit"] == ["mean_gap", True, True]
    assert said["report"]


@pytest.mark.slow
@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_named(house, what):
    assert any(fault.startswith(LEFT_OUT[what][3]) for fault in house[0][what]), house[0][what]


@pytest.mark.slow
def test_it_is_asked_for_all_that_a_measure_promises(house):
    """The contract of every measure holds for it."""
    run = house[1]
    said = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "tests/test_contract.py", "-k", "mean_gap")
    assert " passed" in said
