"""Lines of text files with more or fewer columns than the first line, as a cut or a lost quotation mark leaves them."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from calibrant.door.errors import FileError
from calibrant.door.values import counted

_DELIMITERS = ",;\t|"
_LOOKED = 100_000  # lines: more than tell DuckDB how a file is written
_IN_DUCKDBS_WORDS = re.compile(r"on Line: (\d+)\n.*?Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)
_ITS_FILE = re.compile(r"^  file = (.*)$", re.MULTILINE)


def refuse_named_line(problem: str, files: Sequence[str]) -> None:
    """Refuse the file of which DuckDB's message says that a line has another number of columns.

    Raises
    ------
    FileError
        If it says that.
    """
    found, named = _IN_DUCKDBS_WORDS.search(problem), _ITS_FILE.search(problem)
    if found:
        raise _uneven(named[1] if named else files[0], *map(int, found.groups()))


def refuse_uneven_line(file: str) -> None:
    """Look at the first lines of a text file, where DuckDB could not tell how it is written.

    Raises
    ------
    FileError
        If one has another number of columns than the first line, which has several.
    """
    with _lines(file) as stream:
        first = stream.readline()
        rows = csv.reader(chain([first], stream), delimiter=max(_DELIMITERS, key=first.count))
        try:
            expected = len(next(rows, []))
            for row in islice(rows, _LOOKED) if expected > 1 else ():
                if row and len(row) != expected:
                    raise _uneven(file, rows.line_num, expected, len(row))
        except csv.Error:  # no text that can be read
            return


def _uneven(file: str, line: int, expected: int, found: int) -> FileError:
    said = f"{file!r}: line {line:,} has {counted(found, 'column')}; {expected:,} are expected, as in the first line"
    return FileError("file", said, allowed="mend that line, or write the file once more")


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
