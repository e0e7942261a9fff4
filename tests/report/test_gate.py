"""A gate's files for continuous integration: what they say of each check, and which files they leave as they are."""

from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from calibrant import FileError
from calibrant.report import gate


def gated(verdicts, warning="", rest=""):
    """A gate with a check of each verdict."""
    checks = [
        SimpleNamespace(
            name=f"check {k}", verdict=each, sentence=f"It is {each}.", proved="0 to 1", needs="", number=1000
        )
        for k, each in enumerate(verdicts)
    ]
    premises = SimpleNamespace(entries={"independence": "Rows are independent."}, beside=lambda _: ["As given."])
    said = {"title": "rows", "headline": "it is near.", "warning": warning, "action": "Do so.", "what": "Distances."}
    said |= {"verdict": verdicts[0], "tally": SimpleNamespace(units="rows"), "shown": lambda: (checks, rest)}
    return SimpleNamespace(checks=checks, premises=premises, **said)


def test_a_check_beyond_is_a_failure_an_undecided_one_an_error_and_one_within_a_word():
    verdicts = ("beyond", "within", "undecided", "within")
    text = gate.gate_as_junit(gated(verdicts, warning="Look."))
    root = ElementTree.fromstring(text.partition("\n")[2])
    assert [root.get(each) for each in ("tests", "failures", "errors")] == ["4", "1", "1"]
    told = [
        [(each.tag, each.get("type"), each.get("message") or each.text) for each in c] for c in root.iter("testcase")
    ]
    tags = {"beyond": "failure", "undecided": "error", "within": "system-out"}
    assert told == [[(tags[v], None if v == "within" else v, f"It is {v}.")] for v in verdicts]
    assert root.find("testsuite/system-out").text == "Look. Do so. As given."


@pytest.mark.parametrize("verdicts", [("within",), ("beyond", "within")])
@pytest.mark.parametrize("warning", ["", "Look."])
@pytest.mark.parametrize("rest", ["", "and 3 more"])
def test_several_checks_are_a_table_and_what_is_left_out_is_told_below_it(verdicts, warning, rest):
    lines = gate.gate_as_markdown(gated(verdicts, warning, rest)).splitlines()
    rows = [f"| check {k} | {gate._COLOURS[v]} {gate.said(v)} | 0 to 1 | 1,000 |" for k, v in enumerate(verdicts)]
    assert [line for line in lines if line.startswith("| check ") and "verdict" not in line] == rows * (len(rows) > 1)
    assert ("And 3 more." in lines) == (bool(rest) and len(rows) > 1)
    assert ("Look." in lines) == bool(warning)
    assert lines[2] == "It is near."
    assert [a for a, b in pairwise(lines) if (a, b) == ("", "")] == []  # one empty line is enough
    assert lines[-1] == f"Exit code {0 if verdicts == ('within',) else 1}."


@pytest.mark.parametrize(
    ("write", "ours"),
    [
        (gate.write_no_verdict, '<testsuites><testsuite name="calibrant gate"/></testsuites>'),
        (gate.write_no_report, '<meta name="generator" content="calibrant">'),
    ],
)
def test_only_an_earlier_file_of_a_gate_gives_way_to_why_there_is_no_result(tmp_path, write, ours):
    strange, earlier, none = tmp_path / "strange", tmp_path / "earlier", tmp_path / "none"
    for path, text in ((strange, "of someone else"), (earlier, ours)):
        path.write_text(text)
    for path in (strange, earlier, none):
        write("rows", "it broke", path)
    assert strange.read_text() == "of someone else"
    assert "it broke" in earlier.read_text()
    assert none.exists() == (write is gate.write_no_verdict)


def test_a_summary_stands_below_what_other_steps_have_written(tmp_path):
    path = tmp_path / "summary.md"
    for title in ("one", "other"):
        gate.add_no_verdict(title, "it broke.", path)
    assert path.read_text() == "".join(f"## No verdict of {each}\n\nit broke.\n" for each in ("one", "other"))


@pytest.mark.parametrize(
    ("where", "said"),
    [("", "cannot be read: Is a directory"), ("no/folder", "cannot be locked: No such file or directory")],
)
def test_a_summary_that_cannot_be_written_names_its_option(tmp_path, where, said):
    with pytest.raises(FileError, match=f"^--summary: .*{said}"):
        gate.add_no_verdict("rows", "it broke", tmp_path / where)
