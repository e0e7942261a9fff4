"""A gate's checks for continuous integration: JUnit's XML, and a summary in Markdown, which say what is printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from calibrant.door.errors import FileError
from calibrant.door.output import alone_with, write_whole, write_whole_bytes
from calibrant.exits import escaped
from calibrant.gate.result import Gated, said

if TYPE_CHECKING:
    from calibrant.gate.result import Said

# What the command ends with.
EXIT_CODES = {"within": 0, "beyond": 1, "undecided": 3}

_SUITE = "calibrant gate"
# What the page of an audit has near its beginning.
_PAGE = '<meta name="generator" content="calibrant">'
_ELEMENTS = {"beyond": "failure", "undecided": "error"}  # JUnit's: it failed, or came to no end
_COLOURS: dict[Said, str] = {
    "none beyond": "\U0001f7e2",
    "within": "\U0001f7e2",
    "beyond": "\U0001f534",
    "undecided": "\U0001f7e1",
}
_MARKS = re.compile(r"([\\`*_{}\[\]<>|~#&])")  # that Markdown would take for its own


def write_junit(decision: Gated, path: Path) -> None:
    """Write the checks as JUnit's XML, whole or not at all."""
    try:
        write_whole(path, gate_as_junit(decision))
    except FileError as problem:
        raise FileError("--junit", problem.problem) from None


def write_no_verdict(title: str, why: str, path: Path) -> None:
    """Write JUnit's XML of a run without a verdict, so that none of an earlier run passes for its own.

    A file that is there stays unless it is such XML.
    """
    if path.exists() and _SUITE.encode() not in path.read_bytes()[:1000]:
        return
    root, suite = _suite({"tests": 1, "failures": 0, "errors": 1})
    case = ElementTree.SubElement(suite, "testcase", {"name": "all rows", "classname": _printable(title)})
    ElementTree.SubElement(case, "error", {"type": "no verdict", "message": _printable(why)})
    write_whole(path, _as_text(root))


def add_no_verdict(title: str, why: str, path: Path) -> None:
    """Add to a file of Markdown that a run came to no verdict: what stands before is of an earlier one."""
    _add(path, f"## No verdict of {_marked(title)}\n\n{_marked(why).rstrip('.')}.\n")


def write_no_report(title: str, why: str, path: Path) -> None:
    """Write that a run has no result in the place of an earlier run's page, which would pass for its own.

    Any other file stays as it is, and where there is none, none is made.
    """
    if not path.exists() or _PAGE.encode() not in path.read_bytes()[:1000]:
        return
    head = f'<head>\n<meta charset="utf-8">\n{_PAGE}\n<title>No result</title>\n</head>'
    body = f"<h1>No result of {escape(_printable(title))}</h1>\n<p>{escape(_printable(why))}</p>"
    write_whole(path, f'<!DOCTYPE html>\n<html lang="en">\n{head}\n<body>\n{body}\n</body>\n</html>\n')


def add_markdown(decision: Gated, path: Path) -> None:
    """Add the checks to the end of a file, whole or not at all; what other steps have written there stays."""
    _add(path, gate_as_markdown(decision))


def _add(path: Path, words: str) -> None:
    text = words.encode()
    try:
        with alone_with(path):
            before = path.read_bytes() if path.exists() else b""
            write_whole_bytes(path, lambda file: file.write(before + text))
    except (FileError, OSError) as problem:
        why = f"{str(path)!r} cannot be read: {problem.strerror}" if isinstance(problem, OSError) else problem.problem
        raise FileError("--summary", why) from None


# What writes why there is no result, by option: a run leaves no result of an earlier one to pass for its own.
NO_RESULT: Mapping[str, Callable[[str, str, Path], None]] = {
    "--junit": write_no_verdict,
    "--summary": add_no_verdict,
    "--html": write_no_report,
}


def gate_as_junit(decision: Gated) -> str:
    """A test case for each check: a failure where it is proved beyond, an error where it is undecided."""
    count = {verdict: sum(check.verdict == verdict for check in decision.checks) for verdict in EXIT_CODES}
    numbers = {"tests": len(decision.checks), "failures": count["beyond"], "errors": count["undecided"]}
    root, suite = _suite(numbers)
    properties = ElementTree.SubElement(suite, "properties")
    for name, sentence in decision.premises.entries.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _printable(sentence)})
    for check in decision.checks:
        names = {"name": _printable(check.name), "classname": _printable(decision.title)}
        case = ElementTree.SubElement(suite, "testcase", names)
        message = _printable(check.sentence)
        if check.verdict in _ELEMENTS:
            ElementTree.SubElement(case, _ELEMENTS[check.verdict], {"type": check.verdict, "message": message})
        else:
            ElementTree.SubElement(case, "system-out").text = message
    ElementTree.SubElement(suite, "system-out").text = _printable(
        " ".join(filter(None, (decision.warning, decision.action, *decision.premises.beside("limit"))))
    )
    return _as_text(root)


def _suite(by_name: Mapping[str, int]) -> tuple[ElementTree.Element, ElementTree.Element]:
    counts = {name: str(number) for name, number in by_name.items()}
    root = ElementTree.Element("testsuites", counts)
    return root, ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts})


def _as_text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def gate_as_markdown(decision: Gated) -> str:
    """A heading with the verdict and its colour, the sentence, and of several checks a table of them."""
    lines = [
        f"## Calibration gate of {_marked(decision.title)}: {_COLOURS[decision.verdict]} {said(decision.verdict)}",
        "",
    ]
    headline = _marked(decision.headline)
    lines += [f"{headline[0].upper()}{headline[1:].rstrip('.')}.", ""]
    lines += [_marked(decision.warning), ""] if decision.warning else []
    lines += [_marked(decision.action), ""]
    if len(decision.checks) > 1:
        lines += [
            _marked(decision.what),
            "",
            f"| check | verdict | proved | {decision.tally.units} |",
            "| --- | --- | --- | ---: |",
        ]
        checks, rest = decision.shown()
        for check in checks:
            verdict = f"{_COLOURS[check.verdict]} {said(check.verdict)}"
            proved = _marked(check.proved + check.needs)
            lines.append(f"| {_marked(check.name)} | {verdict} | {proved} | {check.number:,} |")
        lines += ["", f"{rest[0].upper()}{rest[1:]}."] if rest else []
        lines.append("")
    lines += ["Taken as given:", "", *(f"- {_marked(sentence)}" for sentence in decision.premises.beside("limit")), ""]
    return "\n".join([*lines, f"Exit code {EXIT_CODES[decision.verdict]}.", ""])


def _printable(text: str) -> str:
    """The text without what XML cannot hold."""
    return escaped(text).replace("\n", "\\n")


def _marked(text: str) -> str:
    """The text as Markdown shows it, in one line."""
    return _MARKS.sub(r"\\\1", _printable(text))
