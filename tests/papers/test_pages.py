"""Every published page names its command and its data, and the cheap ones are what their commands write."""

import re
import runpy
from pathlib import Path

import pytest

from calibrant_papers import registry
from tests.shared_data import FOLDER, needs_data

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path for path in (ROOT / "docs" / "reproductions").glob("*.md") if path.stem != "index"}
TOOL = runpy.run_path(str(ROOT / "tools" / "check_pages.py"))


def of_the_text(found):
    """Differences of the page alone: pictures differ with the version of the library that draws them."""
    return [line for line in found if not line.endswith(".svg differs")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_command_and_where_its_data_come_from(name):
    assert name in registry.experiments()
    *_, data, empty, last = PAGES[name].read_text().splitlines()
    command = f"calibrant reproduce {name}" + " --data FOLDER" * registry.needs_data(name)
    assert last.startswith(f"`{command}`; ")
    assert (data, empty) == (registry.data_of(name), "")


@pytest.mark.parametrize("name", ["unifying-theory-lemmas", "nearly-linear-time-lemma-13"])
def test_published_pages_are_what_the_commands_write(name):
    assert TOOL["differences"](name) == []


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", ["tcal-figure-6", "verified-deviation"])
def test_pages_of_published_predictions_are_what_the_commands_write(name):
    assert of_the_text(TOOL["differences"](name, FOLDER)) == []


def test_what_differs_is_said(tmp_path):
    name = "unifying-theory-lemmas"
    (tmp_path / f"{name}.md").write_text(PAGES[name].read_text().replace("0.0004 |", "0.0005 |", 1))
    found = TOOL["differences"](name, pages=tmp_path)
    assert [line for line in found if line.startswith("-|")] != []
    assert TOOL["differences"](name, pages=tmp_path, rewrite=True) == found
    assert TOOL["differences"](name, pages=tmp_path) == []


def test_seconds_are_not_compared():
    head = "| rows | audit, s | value | s at 10 rows |\n| --- | --- | --- | --- |\n"
    once, again = (f"# T\n\n{head}| 10 | {s} | 0.5 | {s} |\n\n`calibrant reproduce t`; {s} s.\n" for s in (1, 2))
    assert TOOL["masked"]("t", once) == TOOL["masked"]("t", again)
    assert TOOL["masked"]("t", once) != TOOL["masked"]("t", once.replace("0.5", "0.6"))
    assert re.search(r"\| 10 \|", "\n".join(TOOL["masked"]("t", once)))


def test_the_book_repeats_the_page_of_the_planted_fault():
    said = (
        (ROOT / "docs" / "found-segments.md").read_text().partition("## Beside other methods")[2].partition("\n## ")[0]
    )
    place = re.search(r"number \d+ of \d+", said)[0]
    assert place in PAGES["planted-fault"].read_text()
