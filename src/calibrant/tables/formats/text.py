"""Text files of rows: how they are written, and whether each line has the columns of the first.

DuckDB takes what is left of a CSV file's last line for a row.
"""

from __future__ import annotations

import codecs
import csv
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError
from calibrant.door.values import counted
from calibrant.tables.columns import maybe_twins
from calibrant.tables.duckdb import connect, literal
from calibrant.tables.formats.base import (
    AT_ONCE,
    FILE,
    Format,
    Scan,
    as_read,
    folder_partitions,
    is_compressed,
    selected,
    sql_text,
    text_of,
)

_HEAD = 16  # bytes that tell UTF-16 and UTF-32 from UTF-8
_START = 1 << 16  # bytes of a text file that tell how it is written


class Text(Format):
    """CSV, or lines with another delimiter; every column is text to the reader."""

    name = "csv"
    endings = (".csv", ".tsv", ".txt")
    text_numbers = True
    text_keys = True
    counting_reads = True
    is_scanned = True

    @classmethod
    def check(cls, file: str) -> None:
        """Refuse a plain file whose last line has no line end, as one that was cut within a line."""
        refuse_wide(file)
        if is_compressed(file):
            return
        try:
            with Path(file).open("rb") as stream:
                stream.seek(max(0, stream.seek(0, 2) - 1))
                last = stream.read()
        except OSError as problem:
            raise FileError("file", f"{file!r} cannot be read: {problem.strerror or problem}") from None
        _refuse_cut_line(file, last)

    @cached_property
    def dialects(self) -> list[Dialect]:
        """Dialect of each file."""
        import duckdb

        dialects = []
        for file in self.files:
            try:
                dialects.append(dialect_of(self.connection, file))
            except duckdb.InvalidInputException:
                refuse_lost_quote(file)
                refuse_uneven_line(file)
                raise
            if len(dialects[-1].names) == 1:  # or the lines have no number of columns in common
                refuse_lost_quote(file)
                refuse_uneven_line(file)
        return dialects

    @property
    def columns(self) -> list[str]:
        """Names of the columns, those of the folders among them; of several files DuckDB matches them in any case."""
        by_case: dict[str, str] = {}
        for name in (name for dialect in self.dialects for name in dialect.names):
            by_case.setdefault(name.casefold(), name)
        return list(dict.fromkeys([*by_case.values(), *self.folders]))

    @property
    def headers(self) -> list[Sequence[str]]:
        """Names as each file holds them, before DuckDB makes them distinct."""
        return [dialect.header for dialect in self.dialects]

    def types(self) -> dict[str, dict[str, str]]:
        """Names of each file's columns; all are text, so that no type tells them apart."""
        return {file: dict.fromkeys(each.names, "") for file, each in zip(self.files, self.dialects, strict=True)}

    def rows(self, names: Sequence[str], *, with_file: bool = False) -> Any:
        """All rows, in order; columns are matched by name, never by position."""
        runs = [
            (dialect, [file for file, _ in run])
            for dialect, run in groupby(zip(self.files, self.dialects, strict=True), lambda each: each[1])
        ]
        folders = self.folders_in_sql
        parts = [f"SELECT * FROM {dialect.source(run, folders=folders, with_file=with_file)}" for dialect, run in runs]
        return self.connection.sql(selected(" UNION ALL BY NAME ".join(parts), [*names, FILE] if with_file else names))

    def refuse_damage(self, exception: Exception) -> None:
        """Refuse the file that DuckDB's message names for a lost quotation mark or a line of other columns."""
        refuse_named_line(str(exception), self.files)

    @classmethod
    def check_remote(cls, filesystem: Any, file: str) -> None:
        """As `check`, of a file on a file system of pyarrow."""
        if not file.lower().endswith(cls.endings):
            return
        with filesystem.open_input_file(file) as stream:
            start = stream.read(_HEAD)
            stream.seek(max(0, stream.size() - 1))
            last = stream.read(1)
        refuse_wide(file, start)
        _refuse_cut_line(file, last)

    @classmethod
    def scan(cls, files: Sequence[str], filesystem: Any) -> Scan:
        """Text files with every column as text, as those on this machine are read."""
        import pyarrow
        from pyarrow import csv, dataset

        with ThreadPoolExecutor(AT_ONCE) as pool:
            dialects = list(pool.map(lambda file: _remote_dialect(filesystem, file), files))
        folders = folder_partitions(files, {name for dialect in dialects for name in dialect.names})
        parts = []
        for dialect, run in groupby(zip(files, dialects, strict=True), lambda each: each[1]):
            doubled = dialect.escape in ("", '"')
            layout = dataset.CsvFileFormat(
                parse_options=csv.ParseOptions(
                    delimiter=dialect.delimiter or ",",
                    double_quote=doubled,
                    escape_char=False if doubled else dialect.escape,
                    newlines_in_values=True,
                ),
                read_options=csv.ReadOptions(column_names=list(dialect.names), skip_rows=1),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(dialect.names, pyarrow.string()),
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
            of_run = [file for file, _ in run]
            parts.append(dataset.dataset(of_run, format=layout, filesystem=filesystem, partitioning=folders))
        headers = [dialect.header for dialect in dialects]
        if len(parts) == 1:
            return Scan(parts[0], headers)
        schema = pyarrow.unify_schemas([part.schema for part in parts])
        return Scan(dataset.dataset([part.replace_schema(schema) for part in parts]), headers)


def _remote_dialect(filesystem: Any, file: str) -> Dialect:
    """Dialect of a text file on a file system, by its first lines."""
    Text.check_remote(filesystem, file)
    with filesystem.open_input_stream(file, compression="detect") as stream:
        start = stream.read(_START)
    refuse_wide(file, start[:_HEAD])
    whole = start[: start.rfind(b"\n") + 1] or start
    with tempfile.NamedTemporaryFile(suffix=".csv") as copy:
        copy.write(whole)
        copy.flush()
        with as_read(file, Text.name):
            return dialect_of(connect(), copy.name)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Dialect of a text file, and its columns: names as DuckDB makes them distinct, and as the file has them."""

    delimiter: str
    escape: str
    line_end: str
    names: tuple[str, ...]
    header: tuple[str, ...] = ()

    def source(
        self,
        files: Sequence[str],
        *,
        header: bool = True,
        folders: str = "hive_partitioning=false",
        with_file: bool = False,
    ) -> str:
        """A table in SQL: every column is text, for no sample of rows may decide its type."""
        named = f", filename={sql_text(FILE)}" if with_file else ""
        names = self.names if header else [f"c{i}" for i in range(len(self.names))]
        types = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
        listed = ", ".join(sql_text(literal(file)) for file in files)
        line_end = f", new_line={sql_text(self.line_end)}" if self.line_end else ""
        return (
            f"read_csv([{listed}], auto_detect=false, delim={sql_text(self.delimiter)}, quote='\"', comment='', "
            f"skip=0, escape={sql_text(self.escape)}{line_end}, header={header}, {folders}{named}, "
            f"columns={{{types}}})"
        )


def dialect_of(connection: Any, file: str) -> Dialect:
    """Detect how a text file is written; no line may be dropped as a comment or as a preamble, nor joined to another
    by apostrophes as quotes.
    """
    sniffed = connection.execute(
        "SELECT Delimiter, Escape, NewLineDelimiter, Columns FROM sniff_csv(?, "
        "all_varchar=true, header=true, skip=0, comment='', quote='\"')",
        [literal(file)],
    ).fetchall()[0]
    names = tuple(column["name"] for column in sniffed[3])
    delimiter, escape, line_end = ("" if part == "(empty)" else part for part in sniffed[:3])
    dialect = Dialect(delimiter, escape, line_end if line_end in ("\\n", "\\r\\n", "\\r") else "", names, names)
    if not maybe_twins(names):
        return dialect
    first = connection.sql(f"SELECT * FROM {dialect.source([file], header=False)} LIMIT 1").fetchall()
    return replace(dialect, header=tuple(name for line in first for name in line if name is not None))


def refuse_wide(file: str, head: bytes | None = None) -> None:
    """Refuse text in UTF-16 or UTF-32, by its first bytes, which are read, unpacked, where they are not given."""
    if head is None:
        try:
            with text_of(file) as stream:
                head = bytes(stream.buffer.read(_HEAD))
        except OSError as problem:
            raise FileError("file", f"{file!r} cannot be read: {problem.strerror or problem}") from None
    encoding = wide_encoding(head)
    if encoding is not None:
        raise FileError("file", f"{file!r} is {encoding} text", allowed="convert it to UTF-8, which is what is read")


def _refuse_cut_line(file: str, last: bytes) -> None:
    if last not in (b"\n", b"\r"):
        reason = "ends in the middle of a line, as a file that was cut does; if it is whole, add a line end"
        raise FileError("file", f"{file!r} {reason}")


def wide_encoding(head: bytes) -> str | None:
    """UTF-32 or UTF-16, by the mark with which a file starts, or by the bytes that are zero there, as in Latin text."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    if len(head) < 4 or (any(head[1::2]) and any(head[::2])):
        return None
    return "UTF-32" if not any(head[2::4] + head[3::4]) or not any(head[::4] + head[1::4]) else "UTF-16"


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
    """Refuse the file that DuckDB's message names for a lost quotation mark or a line of other columns.

    Raises FileError if it says that.
    """
    named = _ITS_FILE.search(problem)
    file = named[1] if named else files[0]
    match, unclosed = _IN_DUCKDBS_WORDS.search(problem), "unterminated quote" in problem
    if match or unclosed:
        refuse_lost_quote(file)
    if match:
        original, expected, columns = match.groups()
        raise _uneven(file, _line_of(file, original.rstrip("\r")), int(expected), int(columns))
    if unclosed:
        raise FileError("file", f"{file!r}: a quotation mark is never closed", allowed="write the file once more")


def refuse_lost_quote(file: str) -> None:
    """Look through a text file that DuckDB could not read for a quotation mark that opens and is never closed.

    Only a line with an odd number of them opens or closes a text of several lines, and one that opens such a text while
    another is open shows that the other was not meant to be. Raises FileError if there is one, with the line in which
    it is.
    """
    lost = None
    with text_of(file) as stream:
        for at, line in enumerate(stream, 1):
            if line.count('"') % 2:
                plain = line.rstrip("\r\n").replace('""', "")  # a mark within a text
                if lost is not None and _CLOSES.search(plain):
                    lost = None
                elif _OPENS.search(plain):
                    if lost is not None:
                        break
                    lost = at
    if lost is not None:
        reason = f"{file!r}: a quotation mark that is opened in line {lost:,} is never closed"
        raise FileError("file", reason, allowed=_MEND)


def refuse_uneven_line(file: str) -> None:
    """Look at the first lines of a text file, where DuckDB could not tell how it is written.

    Raises FileError if one has another number of columns than the first, under the only delimiter that makes most
    agree.
    """
    delimiter = _delimiter(file)
    if delimiter is None:
        return
    with text_of(file) as stream:
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
    with text_of(file) as stream:
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


def _line_of(file: str, text: str) -> int | None:
    """The first line that reads so; DuckDB itself counts rows, and one may have several lines."""
    with text_of(file) as stream:
        return next((at for at, line in enumerate(stream, 1) if line.rstrip("\r\n") == text), None)


def _uneven(file: str, line: int | None, expected: int, columns: int) -> FileError:
    where = "a line" if line is None else f"line {line:,}"
    reason = f"{file!r}: {where} has {counted(columns, 'column')}; {expected:,} are expected, as in the first line"
    return FileError("file", reason, allowed=_MEND)
