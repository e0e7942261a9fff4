"""Shared by the commands besides exits and progress: where a report goes; it computes nothing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.door.errors import FileError, InputError
from calibrant.exits import Leave, in_words

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.results import Audit

_PAGE, _LEAST = 80, 24
"""Columns of a page, and of one on a terminal that is narrower than can be read."""


def check_target(target: Path, option: str, sources: Sequence[str] = ()) -> None:
    """Find out before the work whether the report can be written, and that it replaces no input."""
    try:
        _check_target(target, option, sources)
    except OSError as problem:
        raise FileError(option, f"{str(target)!r} cannot be written: {problem.strerror or problem}") from None


def _check_target(target: Path, option: str, sources: Sequence[str]) -> None:
    if target.is_dir():
        raise FileError(option, f"{str(target)!r} is a folder; name a file")
    folder = Path(os.path.realpath(target)).parent if target.is_symlink() else target.parent
    if not folder.is_dir():
        wrong = "is not a folder" if folder.exists() else "does not exist; create it first"
        link = f"{str(target)!r} is a link into " if target.is_symlink() else ""
        raise FileError(option, f"{link}{str(folder)!r}, which {wrong}" if link else f"{str(folder)!r} {wrong}")
    if target.exists():
        if not target.is_file():
            raise FileError(option, f"{str(target)!r} is not a plain file; name a file to write")
        if any(Path(source).exists() and target.samefile(source) for source in sources):
            raise FileError(option, f"{str(target)!r} is an input file itself; name another")
    if any(os.path.realpath(target) == os.path.realpath(source) for source in sources):
        raise FileError(option, f"{str(target)!r} is written by another option as well; name another")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise FileError(option, f"the folder {str(folder)!r} cannot be written to: {problem.strerror}") from None


@contextmanager
def no_verdict_told(junit: Path | None, title: str, others: Sequence[object]) -> Iterator[None]:
    """Write into the JUnit file why no verdict was reached within, unless that is one of the other files."""
    try:
        yield
    except Leave:
        raise
    except BaseException as problem:
        why = in_words(problem) if isinstance(problem, InputError | OSError) else "no verdict was reached"
        tell_junit(junit, title, others, why)
        raise


def tell_junit(junit: Path | None, title: str, others: Sequence[object], why: str) -> None:
    """Write why there is no verdict into the JUnit file, if it can be."""
    if junit is not None:
        with suppress(Exception):  # what went wrong before is what is told
            check_target(junit, "--junit", [str(other) for other in others if other is not None])
            from calibrant.report.gate import write_no_verdict

            write_no_verdict(title, why, junit)


@contextmanager
def writing(option: str) -> Iterator[None]:
    """A fault of writing within names this option."""
    try:
        yield
    except FileError as problem:
        raise FileError(option, problem.problem) if problem.argument == "path" else problem from None


def page(result: Audit | Comparison, *, everything: bool = False) -> str:
    """A finding's page for whoever reads the standard output: no wider than a terminal, in letters that it can show."""
    from calibrant.report.letters import ASCII, UNICODE
    from calibrant.report.text import page as text_page

    width = _PAGE
    if sys.stdout is not None and sys.stdout.isatty():
        width = max(_LEAST, min(width, shutil.get_terminal_size().columns))
    try:
        "".join(astuple(UNICODE)).encode(getattr(sys.stdout, "encoding", None) or "ascii")
        marks = UNICODE
    except (UnicodeError, LookupError):
        marks = ASCII
    return text_page(result, width, marks, everything=everything)
