"""Compressed files: unpacked to their end once, with a look at the checksums, which DuckDB does not give."""

from __future__ import annotations

import errno
import gzip
import io
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError

AGAIN = "copy it, or write it, once more"
ENDINGS = (".gz", ".zst")
"""Endings of compressed files, which follow that of their format."""
BLANK = b" \t\r\n\xef\xbb\xbf"  # and the mark of UTF-8
CHUNK = 1 << 20


def is_compressed(file: str) -> bool:
    """Whether the file's ending is that of a compressed one."""
    return file.lower().endswith(ENDINGS)


def check_compressed(file: str) -> None:
    """Decompress a .gz or .zst file to its end, once, and look at the checksums.

    Raises
    ------
    FileError
        If the file is cut, damaged or followed by something else.
    """
    if is_compressed(file):
        unpacked_ends(file)


def unpacked_ends(file: str) -> tuple[bytes, bytes]:
    """First and last byte of what is not white space in a compressed file."""
    state = Path(file).stat()
    return _decompress((file, state.st_size, state.st_mtime_ns, state.st_ino))


@lru_cache(maxsize=4096)
def _decompress(stamp: tuple[str, int, int, int]) -> tuple[bytes, bytes]:
    # Several readers ask in turn; a file that changed since is another one.
    import pyarrow

    file = stamp[0]

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
    while part := stream.read(CHUNK):
        empty = False
        first = first or part.lstrip(BLANK)[:1]
        last = part.rstrip(BLANK)[-1:] or last
    return None if empty else (first, last)


def text_of(file: str) -> io.TextIOWrapper:
    """A text file, compressed or not, open to be read line by line."""
    stream: Any
    if file.lower().endswith(".gz"):
        stream = gzip.GzipFile(file)
    elif file.lower().endswith(".zst"):
        import pyarrow

        stream = pyarrow.input_stream(file, compression="zstd")
    else:
        stream = io.FileIO(file)
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
