"""Whether a file is whole: its end is there, and the checksums that its format carries hold.

DuckDB reads a cut Zstandard file without a word, looks at no checksum of gzip and at none of Parquet's pages, and takes
what is left of a CSV file's last line for a row, and what is left of a JSON array before a comma for the whole.
"""

from __future__ import annotations

import errno
import gzip
import zlib
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError

_CHUNK = 1 << 20
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
            stream.seek(max(0, stream.seek(0, 2) - 1))
            last = stream.read()
    except OSError as problem:
        raise FileError("file", f"{file!r} cannot be read: {problem.strerror or problem}") from None
    if last not in (b"\n", b"\r"):
        said = "ends in the middle of a line, as a file that was cut does; if it is whole, add a line end"
        raise FileError("file", f"{file!r} {said}")


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
        raise FileError("file", f"{file!r} {how}: {problem!s:.200}") from None
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
        raise FileError(
            "file", f"{file!r} cannot be read as json: its array is not closed by ']'; it is cut or damaged"
        )


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


def check_pages(file: str, columns: Collection[str]) -> None:
    """Look at the checksums of a Parquet file's pages, in the columns that are read, if its writer gave any.

    Raises
    ------
    FileError
        If one does not hold.
    """
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(file, page_checksum_verification=True) as held:
        meta = held.metadata
        if meta.num_row_groups == 0:
            return
        chunks = [meta.row_group(0).column(i) for i in range(meta.num_columns)]
        wanted = _chunks_of(columns, chunks)
        if not any(_has_checksum(file, chunk) for chunk in wanted):
            return
        names = [chunk.path_in_schema for chunk in wanted]
        try:
            for group in range(meta.num_row_groups):
                held.read_row_group(group, columns=names)
        except OSError as problem:
            raise FileError("file", f"{file!r} is damaged: {problem!s:.200}") from None


def _chunks_of(columns: Collection[str], chunks: Sequence[Any]) -> Sequence[Any]:
    """The chunks of these columns and what is nested in them; all chunks if one of the columns is not found."""
    wanted = []
    for column in columns:
        name = column.casefold()  # DuckDB finds a column whatever its case
        paths = [chunk.path_in_schema.casefold() for chunk in chunks]
        found = [at for at, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
        if not found:
            return chunks
        wanted += found
    return [chunks[at] for at in sorted(set(wanted))]


def _has_checksum(file: str, chunk: Any) -> bool:
    """Whether the header of a column's first page has the field of its checksum.

    Thrift's compact protocol: a field is a byte, 16 times the step from the number of the field before plus 5 for a
    32-bit integer, and its bytes, of which the last is below 128. Three such fields come first, the fourth is optional.
    """
    first = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < first:
        first = chunk.dictionary_page_offset
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


def check_arrow_stream(file: str) -> None:
    """Walk an Arrow stream's messages to its mark of the end; without it nothing tells a whole stream from a cut one.

    Raises
    ------
    FileError
        If the mark is not there, or something follows it.
    """
    import pyarrow
    import pyarrow.ipc

    with pyarrow.memory_map(file) as source:
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
            "file", f"{file!r} cannot be read as arrow: its end is not that of a file or stream; it is cut or damaged"
        )
