"""The book is short, and its English plain."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAIN = runpy.run_path(str(ROOT / "tools" / "plain.py"))
FOR_CONTRIBUTORS = {"architecture.md", "dependencies.md"}  # not yet plain


def test_what_is_to_be_read_has_at_most_25_000_words():
    assert sum(len(page.read_text().split()) for page in PLAIN["pages"]("to read")) <= 25_000


@pytest.mark.parametrize("page", [ROOT / "README.md", *PLAIN["pages"]("to read")], ids=lambda page: page.stem)
def test_pages_are_plain(page):
    if page.name not in FOR_CONTRIBUTORS:
        assert PLAIN["faults"](page.name, page.read_text()) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("word " * 26 + "end.", "27 words"),
        ("Of all rows it takes those that are good.", "of ... those that"),
        ("It shows what is told.", "what is told"),
        ("It is good as tests go.", "as ... go"),
        (
            "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.",
            "average",
        ),
    ],
)
def test_what_is_not_plain_is_found(text, fault):
    assert fault in "".join(PLAIN["faults"]("page", text))


def test_code_tables_and_formulas_are_no_sentences():
    text = "```python\n" + "word " * 40 + "\n```\n\n| " + "word " * 40 + "|\n\n$$" + "x " * 40 + "$$\n"
    assert PLAIN["faults"]("page", text) == []
