"""Arrow files and streams."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.errors import FileError
from calibrant.tables.formats.base import FILE, Format, Scan, scan_columns
from calibrant.tables.formats.compressed import AGAIN

_LARGE = 500_000_000  # bytes
_END_OF_STREAM = (b"\xff\xff\xff\xff\x00\x00\x00\x00", b"\x00\x00\x00\x00")  # the second one before version 0.15


class Arrow(Format):
    """Arrow's file format and its stream, which Feather is as well; DuckDB scans what pyarrow reads."""

    name = "arrow"
    endings = (".arrow", ".feather", ".ipc")
    magic = b"ARROW1"
    is_scanned = True
    reads_folders = False

    @property
    def columns(self) -> list[str]:
        """Names of the columns of all files."""
        return list(dict.fromkeys(name for header in self.headers for name in header))

    @property
    def headers(self) -> list[Sequence[str]]:
        """Names of each file's columns."""
        return [list(arrow_reader(file).schema.names) for file in self.files]

    def rows(self, names: Sequence[str], *, with_file: bool = False) -> Any:
        """All rows of these columns, matched by name."""
        import pyarrow

        table = _arrow_table(self.files, dict.fromkeys(names))
        if with_file:
            counts = [arrow_reader(file).read_all().num_rows for file in self.files]
            files = pyarrow.array(np.repeat(np.array(self.files, dtype=object), counts), pyarrow.string())
            table = table.append_column(FILE, files)
        return self.connection.from_arrow(table)

    @classmethod
    def scan(cls, files: Sequence[str], filesystem: Any) -> Scan:
        """All files as one dataset."""
        return scan_columns(files, filesystem, "ipc")


def arrow_reader(file: str, columns: Collection[str] | None = None) -> Any:
    """Open an Arrow file, or a stream that is whole, for these columns or all."""
    import pyarrow
    import pyarrow.ipc

    options = None
    if columns is not None:
        names = arrow_reader(file).schema.names
        options = pyarrow.ipc.IpcReadOptions(included_fields=[at for at, name in enumerate(names) if name in columns])
    source = arrow_source(file)
    try:
        return pyarrow.ipc.open_file(source, options=options)
    except pyarrow.ArrowInvalid:
        check_arrow_stream(file)
        source.seek(0)
        return pyarrow.ipc.open_stream(source, options=options)


def _arrow_table(files: Sequence[str], columns: Collection[str]) -> Any:
    """These columns of all files, matched by name."""
    import pyarrow

    tables = [arrow_reader(file, columns).read_all() for file in files]
    tables = [table.select([name for name in columns if name in table.column_names]) for table in tables]
    table = pyarrow.concat_tables(tables, promote_options="permissive")
    half, single = pyarrow.float16(), pyarrow.float32()  # DuckDB has no half floats
    schema = pyarrow.schema([(f.name, single if f.type == half else f.type) for f in table.schema])
    table.validate(full=True)  # damaged offsets of texts would be followed
    return table.cast(schema)


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
