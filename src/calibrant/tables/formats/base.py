"""A format of files: its endings, its check and its reader; also compressed. A new one is a class of `registry`."""

from __future__ import annotations

import errno
import gzip
import io
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from calibrant.door.errors import FileError, InputError
from calibrant.tables.duckdb import lacks_memory, literal, quoted, shortened
from calibrant.tables.folders import StampedFiles, folder_columns, folder_types

FILE = "_calibrant_file"
"""The column that says of which file a row is."""
AT_ONCE = 16
"""Files of a file system that are asked at once."""


class Scan(NamedTuple):
    """A dataset of pyarrow, and the names of columns as its files have them where the dataset does not say."""

    dataset: Any
    headers: Sequence[Sequence[str]] = ()


class Format:
    """Files of one format, read as one table through a connection of DuckDB.

    Parameters
    ----------
    connection : DuckDBPyConnection
        The connection.
    files : StampedFiles
        The files, each found whole by `check`.
    """

    name: ClassVar[str]  # what it is called in messages
    endings: ClassVar[tuple[str, ...]] = ()  # endings of its files
    magic: ClassVar[bytes] = b""  # first bytes of its files, where all have the same
    # text_numbers, text_keys: whether numbers, and keys, are texts to its reader
    text_numbers: ClassVar[bool] = False
    text_keys: ClassVar[bool] = False
    counts_rows: ClassVar[bool] = False  # whether a file says how many rows it has, at no cost
    counting_reads: ClassVar[bool] = False  # whether to count the rows is to read them
    is_scanned: ClassVar[bool] = False  # whether it is read from a file system of pyarrow
    # reads_folders, folders_are_twins: whether the names of folders are columns, and whether such a column beside one
    # of the same name in the files is refused
    reads_folders: ClassVar[bool] = True
    folders_are_twins: ClassVar[bool] = True

    def __init__(self, connection: Any, files: StampedFiles) -> None:
        self.connection, self.files = connection, files

    @classmethod
    def check(cls, file: str) -> None:
        """Refuse a file that is not whole, as far as that shows before its columns are known.

        Raises FileError if it is cut or damaged.
        """

    @classmethod
    def check_remote(cls, filesystem: Any, file: str) -> None:
        """As `check`, of a file on a file system of pyarrow."""

    @classmethod
    def scan(cls, files: Sequence[str], filesystem: Any) -> Scan:
        """Files of a file system of pyarrow as one dataset, where the format `is_scanned`."""
        raise NotImplementedError

    @classmethod
    def typed_keys(cls, relation: Any, names: Sequence[str], option: str) -> Any:  # noqa: ARG003
        """The relation with these columns of keys as single values of one type; `option` is who named them."""
        return relation

    @cached_property
    def folders(self) -> list[str]:
        """Names of the columns that folders stand for."""
        return folder_columns(self.files) if self.reads_folders else []

    @property
    def folders_in_sql(self) -> str:
        """Options of DuckDB's readers that have the columns that folders stand for, or have none."""
        types = ", ".join(f"{sql_text(name)}: {kind}" for name, kind in self.folder_types.items())
        return f"hive_partitioning={bool(self.folders)}" + (f", hive_types={{{types}}}" if types else "")

    @cached_property
    def folder_types(self) -> dict[str, str]:
        """Types of the columns that folders stand for, apart from names that DuckDB does not tell apart, or take."""
        names = [name.casefold() for name in self.folders]
        types = folder_types(self.files) if self.folders else {}
        return {name: kind for name, kind in types.items() if name and names.count(name.casefold()) == 1}

    @property
    def literals(self) -> list[str]:
        """The files as patterns that match them alone."""
        return [literal(file) for file in self.files]

    @property
    def columns(self) -> list[str]:
        """Names of the columns, those of the folders among them."""
        raise NotImplementedError

    @property
    def headers(self) -> list[Sequence[str]]:
        """Names of the columns as each file holds them."""
        raise NotImplementedError

    def rows(self, names: Sequence[str], *, with_file: bool = False) -> Any:
        """These columns of all rows as a relation, in order; on demand with the file of each row as column FILE."""
        raise NotImplementedError

    def row_counts(self) -> dict[str, int]:
        """File -> its rows, of a format that `counts_rows`."""
        return {}

    def ends(self, name: str) -> Mapping[str, tuple[float, float]]:  # noqa: ARG002
        """File -> smallest and largest number of a column, where that is known at no cost."""
        return {}

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """File -> its columns -> their stored types, where files may differ in them and none may lack a column."""
        return {}

    def key_types(self, names: Collection[str]) -> Mapping[str, Mapping[str, str]]:  # noqa: ARG002
        """File -> those of these columns that it has -> their types in DuckDB, where files may differ in them."""
        return {}

    def key_values(self, file: str, name: str) -> Any:
        """A column of one file as a relation, where `key_types` tells its type."""
        raise NotImplementedError

    def check_columns(self, names: Collection[str]) -> None:
        """Refuse files whose columns of these names are damaged."""

    def refuse_damage(self, exception: Exception) -> None:
        """Refuse the file that is damaged, where what a reader raised, or a look at the files, tells which."""


def sql_text(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def selected(source: str, names: Collection[str]) -> str:
    """These columns of a source, in SQL."""
    return f"SELECT {', '.join(quoted(name) for name in dict.fromkeys(names))} FROM ({source})"


@contextmanager
def as_read(path: str, name: str, files: StampedFiles | None = None) -> Iterator[None]:
    """Turn what pyarrow, DuckDB and a server raise into a message, and refuse files that are not those opened."""
    try:
        with nullcontext() if files is None else files.unchanged():
            yield
    except Exception as problem:
        if isinstance(problem, InputError | ImportError) or lacks_memory(problem):
            raise
        raise FileError("file", f"{path!r} cannot be read as {name}: {shortened(problem)}") from None


def scan_columns(files: Sequence[str], filesystem: Any, layout: Any) -> Scan:
    """Files of columns as one dataset; without a schema pyarrow would take the columns of the first file."""
    import pyarrow
    from pyarrow import dataset

    alone = schemas(dataset.dataset(files, format=layout, filesystem=filesystem)).values()
    bare = [each.remove_metadata() for each in alone]
    folders = folder_partitions(files, {name for each in bare for name in each.names})
    whole = dataset.dataset(files, format=layout, filesystem=filesystem, partitioning=folders)
    try:
        together = pyarrow.unify_schemas([*bare, whole.schema.remove_metadata()], promote_options="permissive")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return Scan(whole)  # of columns that are asked for, `check_same` names the files that differ
    return Scan(whole.replace_schema(together))


def types_in_duckdb(connection: Any, schema: Any, names: Collection[str]) -> dict[str, str]:
    """Columns of a schema of Arrow that have one of these names, in any case -> their types in DuckDB.

    Raises FileError if one holds decimals of more digits than DuckDB has.
    """
    import pyarrow

    refuse_long_decimals(schema, names)
    folded = {name.casefold() for name in names}
    some = without_halves(pyarrow.schema([each for each in schema if each.name.casefold() in folded]))
    relation = connection.from_arrow(some.empty_table()) if some.names else None
    return {} if relation is None else dict(zip(some.names, map(str, relation.types), strict=True))


_MOST_DIGITS = 38  # of a decimal in DuckDB


def refuse_long_decimals(schema: Any, names: Collection[str]) -> None:
    """Refuse decimals of more digits than DuckDB has, which reads them as doubles or not at all.

    Raises FileError if one of these columns, in any case, holds such.
    """
    import pyarrow

    folded = {name.casefold() for name in names}
    for each in schema:
        digits = each.type.precision if pyarrow.types.is_decimal(each.type) else 0
        if each.name.casefold() in folded and digits > _MOST_DIGITS:
            most = f"at most {_MOST_DIGITS} are read exactly"
            reason = f"column {each.name!r} holds decimals of {digits} digits; {most}"
            raise FileError("file", reason, allowed="write it with fewer digits, or as text")


def without_halves(schema: Any) -> Any:
    """The schema of Arrow with single floats for half ones, which DuckDB does not have."""
    import pyarrow

    half, single = pyarrow.float16(), pyarrow.float32()
    return pyarrow.schema([(each.name, single if each.type == half else each.type) for each in schema])


def schemas(dataset: Any) -> dict[str, Any]:
    """File -> its own schema; of a few at once, since each may be far away."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        listed = pool.map(lambda each: (getattr(each, "path", ""), each.physical_schema), dataset.get_fragments())
        return dict(listed)


def folder_partitions(files: Sequence[str], names: Collection[str]) -> Any:
    """The columns that folders stand for, of the types that DuckDB gives them, but for those that files hold too."""
    import pyarrow
    from pyarrow import dataset

    kinds = {"DATE": pyarrow.date32(), "TIMESTAMP": pyarrow.timestamp("us"), "BIGINT": pyarrow.int64()}
    types = folder_types(files).items()
    fields = [(name, kinds.get(kind, pyarrow.string())) for name, kind in types if name not in names]
    return dataset.partitioning(pyarrow.schema(fields), flavor="hive") if fields else None


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

    Raises FileError if the file is cut, damaged or followed by something else.
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
