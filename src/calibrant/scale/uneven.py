"""Text files that a cut or a lost quotation mark left with lines of more or fewer columns than the first."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from calibrant.door.errors import FileError
from calibrant.door.values import counted

_DELIMITERS = ",;\t|"
_TELLING = 1_000  # lines: of these most agree in their number of columns under the right delimiter
_LOOKED = 100_000  # lines: more than tell DuckDB how a file is written
_MEND = "mend that line, or write the file once more"
_IN_DUCKDBS_WORDS = re.compile(
    r"on Line: \d+\nOriginal Line: \n?([^\n]*)\n.*?Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL
)
_ITS_FILE = re.compile(r"^  file = (.*)$", re.MULTILINE)
_OPENS = re.compile(r'(?:^|[,;\t|]) *"[^"]*$')  # of a line with an odd number of quotation marks, the last
_CLOSES = re.compile(r'^[^"]*" *(?:[,;\t|]|$)')  # and the first


def refuse_named_line(problem: str, files: Sequence[str]) -> None:
    """Refuse the file of which DuckDB's message says that a quotation mark is lost, or a line has other columns.

    Raises
    ------
    FileError
        If it says that.
    """
    named = _ITS_FILE.search(problem)
    file = named[1] if named else files[0]
    found, unclosed = _IN_DUCKDBS_WORDS.search(problem), "unterminated quote" in problem
    if found or unclosed:
        refuse_lost_quote(file)
    if found:
        held, expected, columns = found.groups()
        raise _uneven(file, _line_of(file, held.rstrip("\r")), int(expected), int(columns))
    if unclosed:
        raise FileError("file", f"{file!r}: a quotation mark is never closed", allowed="write the file once more")


def refuse_lost_quote(file: str) -> None:
    """Look through a text file that DuckDB could not read for a quotation mark that opens and is never closed.

    Only a line with an odd number of them opens or closes a text of several lines, and one that opens such a text
    while another is open shows that the other was not meant to be.

    Raises
    ------
    FileError
        If there is one, with the line in which it is.
    """
    lost = None
    with _lines(file) as stream:
        for at, line in enumerate(stream, 1):
            if line.count('"') % 2:
                held = line.rstrip("\r\n").replace('""', "")  # a mark within a text
                if lost is not None and _CLOSES.search(held):
                    lost = None
                elif _OPENS.search(held):
                    if lost is not None:
                        break
                    lost = at
    if lost is not None:
        said = f"{file!r}: a quotation mark that is opened in line {lost:,} is never closed"
        raise FileError("file", said, allowed=_MEND)


def refuse_uneven_line(file: str) -> None:
    """Look at the first lines of a text file, where DuckDB could not tell how it is written.

    Raises
    ------
    FileError
        If one has another number of columns than the first, under the only delimiter that makes most agree.
    """
    delimiter = _delimiter(file)
    if delimiter is None:
        return
    with _lines(file) as stream:
        rows = csv.reader(stream, delimiter=delimiter)
        try:
            expected, before = len(next(rows)), rows.line_num
            for row in islice(rows, _LOOKED):
                if row and len(row) != expected:
                    raise _uneven(file, before + 1, expected, len(row))
                before = rows.line_num
        except csv.Error:  # no text that can be read
            return


def _delimiter(file: str) -> str | None:
    """The one under which at least half of the first lines have the same number of columns, if only one is like that.

    One that splits the first line into as many goes before one that splits it otherwise.
    """
    with _lines(file) as stream:
        lines = list(islice(stream, _TELLING))
    as_first: list[str] = []
    otherwise: list[str] = []
    for delimiter in _DELIMITERS:
        try:
            numbers = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        ((usual, times),) = Counter(numbers).most_common(1) or [(1, 0)]
        if usual > 1 and numbers[0] > 1 and 2 * times >= len(numbers):
            (as_first if usual == numbers[0] else otherwise).append(delimiter)
    clear = as_first or otherwise
    return clear[0] if len(clear) == 1 else None


def _line_of(file: str, held: str) -> int | None:
    """The first line that reads so; DuckDB itself counts rows, of which one may have several lines."""
    with _lines(file) as stream:
        return next((at for at, line in enumerate(stream, 1) if line.rstrip("\r\n") == held), None)


def _uneven(file: str, line: int | None, expected: int, found: int) -> FileError:
    where = "a line" if line is None else f"line {line:,}"
    said = f"{file!r}: {where} has {counted(found, 'column')}; {expected:,} are expected, as in the first line"
    return FileError("file", said, allowed=_MEND)


def _lines(file: str) -> io.TextIOWrapper:
    held: Any
    if file.lower().endswith(".gz"):
        held = gzip.GzipFile(file)
    elif file.lower().endswith(".zst"):
        import pyarrow

        held = pyarrow.input_stream(file, compression="zstd")
    else:
        held = io.FileIO(file)
    return io.TextIOWrapper(held, encoding="utf-8-sig", errors="replace", newline="")
