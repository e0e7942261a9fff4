"""The book's examples run as they stand, chapter by chapter; their assertions are the book's claims."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SKETCHES = {"architecture.md"}  # shows the shape of code, not code


def chapters():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in pages if "```python" in page.read_text() and page.name not in SKETCHES]


@pytest.mark.parametrize("page", chapters(), ids=lambda page: page.name)
def test_every_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y_prob = np.random.default_rng(0).random(500)
    # What every reader has at hand.
    names = {"y_prob": y_prob, "y_true": (np.random.default_rng(1).random(500) < y_prob**2).astype(float)}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), names)


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
