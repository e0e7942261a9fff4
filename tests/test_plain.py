"""The book is short, and its English plain."""

import ast
import runpy
from pathlib import Path

import pytest

from tests.registered import TOOL

ROOT = Path(__file__).parents[1]
PLAIN = runpy.run_path(str(ROOT / "tools" / "plain.py"))


def test_what_is_to_be_read_has_at_most_25_000_words():
    """What a tool writes is not counted, so that it never has to be cut to make room for a new measure or test."""
    lines = TOOL.lines()
    assert sum(PLAIN["words"](page.read_text(), lines) for page in PLAIN["pages"]("to read")) <= 25_000


def test_words_that_somebody_wrote_are_counted():
    block, printed = "One line.\n\n```python\nprint(1)\n```\n", "\n```text\nfive words that it prints\n```\n"
    page = (TOOL.ROOT / "docs" / "which-test.md").read_text()
    line = TOOL.line(TOOL.calibration_tests()["cox_test"])
    assert PLAIN["words"](block, ()) == PLAIN["words"](block + printed, ()) == 5
    assert PLAIN["words"](f"Text.\n{printed}", ()) == 8  # and no block before it prints that
    assert PLAIN["words"](f"{page}{line}\n", TOOL.lines()) == PLAIN["words"](page, TOOL.lines())
    assert PLAIN["words"](f"{page}{line} by hand\n", TOOL.lines()) > PLAIN["words"](page, TOOL.lines()) + 10


def test_the_change_log_of_a_release_fits_on_one_screen():
    release = (ROOT / "CHANGELOG.md").read_text().partition("\n## ")[2].partition("\n## ")[0]
    assert release.startswith("1.0")
    assert len(release.splitlines()) <= 25
    assert len(release.split()) <= 400
    assert PLAIN["faults"]("CHANGELOG.md", release) == []


def test_pages_are_plain():
    read = dict(PLAIN["texts"]())
    assert {"README.md", "CONTRIBUTING.md", "index.md", "how-to/gate.md", "tutorials/classifier.md"} <= set(read)
    assert {"lower.md", "distance.md", "bounds.md", "recalibration.md", "poisson-binomial.md", "trust.md"} <= set(read)
    assert {"benchmarks.md", "benchmarks-scale.md", "reproductions/power.md", "api/json.md"} <= set(read)
    assert [line for name, text in read.items() for line in PLAIN["faults"](name, text)] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("word " * 26 + "end.", "27 words"),
        ("Of all rows it takes those that are good.", "of ... those that"),
        ("It shows what is told.", "what is told"),
        ("It is good as tests go.", "as ... go"),
        ("It is the held that counts.", "the told"),
        ("The gate passes. Who acts at once loses.", "who acts"),
        ("It looks at each subgroup.", "say 'segment'"),
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


def test_sentences_of_the_code_are_read():
    """`.ci/run` has them all read by the tool."""
    long = "word " * 26 + "end."
    code = f'''def f(x):\n    """{long}"""\n    raise Error("x", f"{{x}} {long}")\n'''
    assert PLAIN["said"](ast.parse(code)) == [f"x {long}"]
    doc = f"Say so.\n\nParameters\n----------\nx : int\n    {long}\n\nReferences\n----------\n{long}\n"
    assert [line.split(":")[1] for line in PLAIN["faults"]("f", PLAIN["running"](doc), average=False)] == [" 27 words"]
