"""Whether a file is whole: its end is there, and the checksums that its format carries hold.

DuckDB reads a cut Zstandard file without a word, looks at no checksum of gzip and at none of Parquet's pages, and takes
what is left of a CSV file's last line for a row, and what is left of a JSON array before a comma for the whole.
"""

from __future__ import annotations

import codecs
import csv
import errno
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError
from calibrant.door.values import counted
from calibrant.tables.duckdb import literal

AGAIN = "copy it, or write it, once more"
_PARQUET = b"PAR1"
_CHUNK = 1 << 20
_LARGE = 500_000_000  # bytes
_START = 16  # bytes that tell UTF-16 from UTF-8
_LINES = (".csv", ".tsv", ".txt")
_JSON = (".json", ".jsonl", ".ndjson")
_BLANK = b" \t\r\n\xef\xbb\xbf"  # and the mark of UTF-8
_END_OF_STREAM = (b"\xff\xff\xff\xff\x00\x00\x00\x00", b"\x00\x00\x00\x00")  # the second one before version 0.15


def check_compressed(file: str) -> None:
    """Decompress a .gz or .zst file to its end, once, and look at the checksums.

    Raises
    ------
    FileError
        If the file is cut, damaged or followed by something else.
    """
    if file.lower().endswith((".gz", ".zst")):
        _unpacked_ends(file)


def _unpacked_ends(file: str) -> tuple[bytes, bytes]:
    state = Path(file).stat()
    return _decompress((file, state.st_size, state.st_mtime_ns, state.st_ino))


def check_last_line(file: str) -> None:
    """Refuse a plain CSV whose last line has no line end, as one that was cut within a line.

    Raises
    ------
    FileError
        If that is so, or the file cannot be read.
    """
    if not file.lower().endswith(_LINES):
        return
    try:
        with Path(file).open("rb") as stream:
            start = stream.read(_START)
            stream.seek(max(0, stream.seek(0, 2) - 1))
            last = stream.read()
    except OSError as problem:
        raise FileError("file", f"{file!r} cannot be read: {problem.strerror or problem}") from None
    if is_utf16(start):
        raise FileError("file", f"{file!r} is UTF-16 text", allowed="convert it to UTF-8, which is what is read")
    _refuse_cut_line(file, last)


def check_line_end(filesystem: Any, file: str) -> None:
    """As `check_last_line`, of a file on a file system of pyarrow.

    Raises
    ------
    FileError
        If its last line has no line end.
    """
    if not file.lower().endswith(_LINES):
        return
    with filesystem.open_input_file(file) as stream:
        stream.seek(max(0, stream.size() - 1))
        last = stream.read(1)
    _refuse_cut_line(file, last)


def _refuse_cut_line(file: str, last: bytes) -> None:
    if last not in (b"\n", b"\r"):
        said = "ends in the middle of a line, as a file that was cut does; if it is whole, add a line end"
        raise FileError("file", f"{file!r} {said}")


def is_utf16(start: bytes) -> bool:
    """Whether a file starts with the mark of UTF-16, or every second byte there is zero, as in Latin text."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    return len(start) >= 4 and (not any(start[1::2]) or not any(start[::2]))


@lru_cache(maxsize=4096)
def _decompress(held: tuple[str, int, int, int]) -> tuple[bytes, bytes]:
    # Several readers ask in turn; a file that changed since is another one.
    import pyarrow

    file = held[0]

    try:
        if file.lower().endswith(".gz"):
            with gzip.open(file) as stream:
                ends = _ends(stream)
        else:
            with pyarrow.input_stream(file, compression="zstd") as packed:
                ends = _ends(packed)
    except (EOFError, OSError, zlib.error) as problem:
        if getattr(problem, "errno", None) == errno.ENOMEM or "llocation error" in str(problem):
            raise MemoryError(str(problem)) from None
        how = "cannot be read" if getattr(problem, "errno", None) else "is cut or damaged"
        allowed = AGAIN if how == "is cut or damaged" else None
        raise FileError("file", f"{file!r} {how}: {problem!s:.200}", allowed=allowed) from None
    if ends is None:
        raise FileError("file", f"{file!r} is empty")
    return ends


def _ends(stream: Any) -> tuple[bytes, bytes] | None:
    """First and last byte of what is not white space; None if there is no byte at all."""
    first = last = b""
    empty = True
    while part := stream.read(_CHUNK):
        empty = False
        first = first or part.lstrip(_BLANK)[:1]
        last = part.rstrip(_BLANK)[-1:] or last
    return None if empty else (first, last)


def check_json(file: str) -> None:
    """See that an array in a JSON file, compressed or not, is closed: a reader takes one cut after a comma as whole.

    Raises
    ------
    FileError
        If it is not.
    """
    packed = file.lower().endswith((".gz", ".zst"))
    if Path(Path(file).stem if packed else file).suffix.lower() not in _JSON:
        return
    first, last = _unpacked_ends(file) if packed else _plain_ends(file)
    if first == b"[" and last != b"]":
        raise FileError("file", f"{file!r} is cut or damaged: its array is not closed by ']'", allowed=AGAIN)


def _plain_ends(file: str) -> tuple[bytes, bytes]:
    """As `_ends`, without reading what is between."""
    first = last = b""
    with Path(file).open("rb") as stream:
        while not first and (part := stream.read(_CHUNK)):
            first = part.lstrip(_BLANK)[:1]
        at = stream.seek(0, 2)
        while not last and at > 0:
            size = min(at, 1 << 12)
            at -= size
            stream.seek(at)
            last = stream.read(size).rstrip(_BLANK)[-1:]
    return first, last


def refuse_cut_parquet(files: Sequence[str]) -> None:
    """Of Parquet files that could not be read, refuse one that begins as such and does not end so.

    Raises
    ------
    FileError
        If there is one.
    """
    for file in files:
        with Path(file).open("rb") as stream:
            begins = stream.read(4) == _PARQUET
            stream.seek(max(0, stream.seek(0, 2) - 4))
            ends = stream.read() == _PARQUET
        if begins and not ends:
            said = f"{file!r} is cut: a Parquet file ends with {_PARQUET.decode()}, and this one does not"
            raise FileError("file", said, allowed=AGAIN)


def check_pages(connection: Any, file: str, columns: Collection[str]) -> None:
    """Look at the checksums of a Parquet file's pages, in the columns that are read, if its writer gave any.

    Where the pages begin is asked of DuckDB: of a damaged file pyarrow's answer to that ends the process.

    Raises
    ------
    FileError
        If one does not hold.
    """
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(file, page_checksum_verification=True) as held:
        paths = [held.schema.column(i).path for i in range(len(held.schema))]
        wanted = _leaves_of(columns, paths)
        begins = _first_pages(connection, file)
        if not any(_has_checksum(file, begins[at]) for at in wanted if at in begins):
            return
        try:
            for group in range(held.num_row_groups):
                held.read_row_group(group, columns=[paths[at] for at in wanted])
        except OSError as problem:
            raise FileError("file", f"{file!r} is damaged: {problem!s:.200}", allowed=AGAIN) from None


def _leaves_of(columns: Collection[str], paths: Sequence[str]) -> Sequence[int]:
    """Which of the leaves these columns and what is nested in them are; all if one of the columns is not found."""
    wanted: set[int] = set()
    paths = [path.casefold() for path in paths]
    for column in columns:
        name = column.casefold()  # DuckDB finds a column in any case
        found = [at for at, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
        if not found:
            return range(len(paths))
        wanted.update(found)
    return sorted(wanted)


def _first_pages(connection: Any, file: str) -> dict[int, int]:
    """Number of each leaf -> where its first page begins; none if there are no rows."""
    asked = "SELECT column_id, data_page_offset, dictionary_page_offset FROM parquet_metadata(?) WHERE row_group_id = 0"
    found = connection.execute(asked, [literal(file)]).fetchall()
    return {leaf: words if words and 0 < words < data else data for leaf, data, words in found}


def _has_checksum(file: str, first: int) -> bool:
    """Whether the header of the page that begins there has the field of its checksum.

    Thrift's compact protocol: a field is a byte, 16 times the step from the number of the field before plus 5 for a
    32-bit integer, and its bytes, of which the last is below 128. Three such fields come first, the fourth is optional.
    """
    with Path(file).open("rb") as stream:
        stream.seek(first)
        header = stream.read(32)
    at = 0
    for _ in range(3):
        at += 1
        while at < len(header) and header[at] >= 128:
            at += 1
        at += 1
    return at < len(header) and header[at] == 0x15


def arrow_source(file: str) -> Any:
    """An Arrow file, open to be read: a mapped one that is cut meanwhile would end the process.

    A large one is mapped nevertheless, for it need not fit into memory.
    """
    import pyarrow

    return (pyarrow.memory_map if Path(file).stat().st_size > _LARGE else pyarrow.OSFile)(file)


def check_arrow_stream(file: str) -> None:
    """Walk an Arrow stream's messages to its mark of the end; without it nothing tells a whole stream from a cut one.

    Raises
    ------
    FileError
        If the mark is not there, or something follows it.
    """
    import pyarrow
    import pyarrow.ipc

    with arrow_source(file) as source:
        messages = pyarrow.ipc.MessageReader.open_stream(source)
        # The mark may be the last bytes of a batch as well: only where a message could begin is it one.
        behind = 0
        try:
            for _ in messages:
                behind = source.tell()
        except (pyarrow.ArrowInvalid, OSError):
            behind = source.size()
        source.seek(behind)
        end = source.read(9)
    if end not in _END_OF_STREAM:
        raise FileError(
            "file", f"{file!r} is cut or damaged: its end is not that of an Arrow file or stream", allowed=AGAIN
        )


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
