"""Datasets of pyarrow: one that is given, or the files of a folder or a pattern on a file system; DuckDB scans them."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity
from calibrant.tables.duckdb import lacks_memory, shortened
from calibrant.tables.files import MANY_BYTES
from calibrant.tables.folders import (
    check_folder_columns,
    check_same,
    folder_columns,
    folder_types,
    kind_of_all,
    on_filesystem,
)
from calibrant.tables.identities import ids_of, ordered, suspects, together
from calibrant.tables.integrity import check_line_end, is_utf16
from calibrant.tables.readers import Dialect, dialect_of, same_names
from calibrant.tables.relations import InDuckDB
from calibrant.tables.sketches import COLUMN, ROWS
from calibrant.tables.stamps import StampedFiles
from calibrant.tables.table import MANY_ROWS

_NOT_YET = StampedFiles(())
_FORMATS = {"parquet": "parquet", "csv": "csv", "arrow": "ipc"}
"""What is read from a file system, and what pyarrow calls it."""
_START = 1 << 16
"""Bytes of a text file that tell how it is written."""
_AT_ONCE = 16
"""Files of which the head is asked for at once."""


class OpenedDataset(InDuckDB):
    """A dataset of pyarrow, or files on one of its file systems.

    Attributes
    ----------
    path : str
        What it is called in messages.
    files : list of str
        Its files, where it has some.
    kind : str
        What they are: parquet, csv, arrow, or "dataset" where they may be anything.

    Raises
    ------
    FileError
        If a file is missing, empty, cut or damaged, or files differ; so do the methods if one cannot be read.
    """

    def __init__(self, dataset: Any, pos_label: Any = None, stamped: StampedFiles | None = None) -> None:
        super().__init__(pos_label)
        files = getattr(dataset, "files", [])
        self.files = StampedFiles(files, dataset.filesystem if files else None) if stamped is None else stamped
        self.path = PurePosixPath(self.files[0]).name if len(self.files) == 1 else "dataset"
        self.name = self.path
        named = type(getattr(dataset, "format", None)).__name__.removesuffix("FileFormat").lower()
        self.kind = {"parquet": "parquet", "ipc": "arrow"}.get(named, "dataset")
        self._dataset = dataset
        self._sizes: list[int] | None = None
        self._folders: list[str] = []
        self._headers: list[Sequence[str]] = [dataset.schema.names]
        if named not in ("parquet", "ipc") and stamped is None:
            with self._explained():
                for file in self.files:
                    check_line_end(dataset.filesystem, file)

    @classmethod
    def on(cls, filesystem: Any, path: str, pos_label: Any = None) -> OpenedDataset:
        """Open what a path, a folder or a pattern stands for on a file system.

        Raises
        ------
        FileError
            If there is no such file, files are of several kinds, or have other columns than their folders say.
        """
        with _explained(path, "a dataset"):
            listed = on_filesystem(filesystem, path)
            files = StampedFiles([file for file, _ in listed], filesystem)
        kind = kind_of_all(files, path)
        if kind not in _FORMATS:
            said = f"cannot be used: {files[0]!r} is {kind}, which is read from this machine only"
            raise FileError("filesystem", said, allowed=f"on a file system {', '.join(_FORMATS)}")
        check_folder_columns(files, path)
        with _explained(path, kind, files):
            dialects = _dialects(files, filesystem) if kind == "csv" else []
            found = cls(_dataset_of(files, kind, filesystem, dialects), pos_label, files)
        found.path, found.name, found.kind = path, PurePosixPath(path).name, kind
        found._sizes = [size for _, size in listed]
        found._folders = folder_columns(files)
        found._headers += [dialect.header for dialect in dialects]
        if {COLUMN, ROWS} <= set(found.columns):
            raise FileError(
                "filesystem", f"cannot be used: {path!r} holds sketches, which are read from this machine only"
            )
        return found

    @cached_property
    def summed(self) -> bool:
        """Whether it has more rows than are comfortable in memory; where counting them is to read them, bytes tell."""
        with self._explained():
            if self.kind == "csv" and self._sizes is not None:
                return sum(self._sizes) > MANY_BYTES
            if self.kind == "dataset" and self.files:
                told = self._dataset.filesystem.get_file_info(self.files)
                return sum(int(each.size or 0) for each in told) > MANY_BYTES
            return bool(self._dataset.count_rows() > MANY_ROWS)

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns, and of those that its folders stand for."""
        return list(dict.fromkeys(self._dataset.schema.names))

    @cached_property
    def twins(self) -> Mapping[str, list[str]]:
        """Names that DuckDB does not tell apart, by what they look like to it."""
        twins: dict[str, list[str]] = {}
        for header in self._headers:
            twins |= same_names(header)
        with self._explained():
            for name in self._folders:
                if any(name.casefold() in map(str.casefold, each) for each in self._held.values()):
                    twins.setdefault(name.strip().casefold(), [name]).append(f"{name} (of the folders)")
        return twins

    @cached_property
    def _held(self) -> dict[str, dict[str, str]]:
        """File -> its own columns -> what they hold, as `check_same` takes it."""
        return {file: _kinds(schema) for file, schema in _schemas(self._dataset).items()}

    def _rows(self, numbers: Sequence[str], keys: Sequence[str] = ()) -> Any:
        import pyarrow

        if len(self.files) > 1:
            check_same(self._held, [name for name in numbers if name not in self._folders])
        schema = self._dataset.schema
        half = pyarrow.float16()  # which DuckDB does not have
        if not any(schema.field(name).type == half for name in (*numbers, *keys)):
            return self._connection.from_arrow(self._dataset)
        table = self._dataset.to_table(columns=list(dict.fromkeys([*numbers, *keys])))
        wider = [each.with_type(pyarrow.float32()) if each.type == half else each for each in table.schema]
        return self._connection.from_arrow(table.cast(pyarrow.schema(wider)))

    def _identities(self, names: Mapping[str, str]) -> list[tuple[str, Identity]]:
        """Of files whose counts of rows allow that they hold the same, where there are so many that they are summed."""
        self._rows(list(names.values()))  # which every file has, as numbers
        parts = list(self._dataset.get_fragments())
        if self.summed:
            counts = [int(part.count_rows()) for part in parts] if self.kind == "parquet" else [0] * len(parts)
            parts = [parts[at] for at in suspects(counts, 0)]
        ids = [] if self.summed else ids_of(self.columns, names)
        wanted = list(dict.fromkeys([*names.values(), *ids]))
        found: list[tuple[str, Identity]] = []
        read = []
        for part in parts:
            relation = self._connection.from_arrow(part.to_table(columns=wanted, schema=self._dataset.schema))
            rows = ordered(relation, self._numbers(relation, names), ids, self.kind)
            if len(rows.v):
                found += [(getattr(part, "path", ""), each) for _, each in rows.named()]
                read.append(rows)
        self._begun = together(read).find_grown([each for _, each in found]) if read else None
        return found

    @property
    def _as_text(self) -> bool:
        return self.kind == "csv"

    def _explained(self) -> Any:
        return _explained(self.path, self.kind, self.files)


@contextmanager
def _explained(path: str, kind: str, files: StampedFiles = _NOT_YET) -> Iterator[None]:
    """Turn what pyarrow, DuckDB and a server raise into a message, and refuse files that are not those opened."""
    try:
        with files.unchanged():
            yield
    except Exception as problem:
        if isinstance(problem, InputError | ImportError) or lacks_memory(problem):
            raise
        raise FileError("file", f"{path!r} cannot be read as {kind}: {shortened(problem)}") from None


def _dataset_of(files: list[str], kind: str, filesystem: Any, dialects: Sequence[Dialect]) -> Any:
    """All files as one dataset; without a schema pyarrow would take the columns of the first file."""
    import pyarrow
    from pyarrow import dataset

    if kind == "csv":
        return _text_dataset(files, filesystem, dialects)
    checked = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
    how = dataset.ParquetFileFormat(default_fragment_scan_options=checked) if kind == "parquet" else _FORMATS[kind]
    alone = _schemas(dataset.dataset(files, format=how, filesystem=filesystem)).values()
    schemas = [each.remove_metadata() for each in alone]
    folders = _partitioning(files, {name for each in schemas for name in each.names})
    found = dataset.dataset(files, format=how, filesystem=filesystem, partitioning=folders)
    try:
        together = pyarrow.unify_schemas([*schemas, found.schema.remove_metadata()], promote_options="permissive")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return found  # of columns that are asked for, `check_same` names the files that differ
    return found.replace_schema(together)


def _schemas(found: Any) -> dict[str, Any]:
    """File -> its own schema; of a few at once, since each may be far away."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        listed = pool.map(lambda each: (getattr(each, "path", ""), each.physical_schema), found.get_fragments())
        return dict(listed)


def _kinds(schema: Any) -> dict[str, str]:
    import pyarrow

    texts = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_binary)
    return {each.name: "BYTE_ARRAY" if any(is_one(each.type) for is_one in texts) else "" for each in schema}


def _partitioning(files: list[str], held: Collection[str]) -> Any:
    """The columns that folders stand for, of the types that DuckDB gives them, but for those that files hold too."""
    import pyarrow
    from pyarrow import dataset

    kinds = {"DATE": pyarrow.date32(), "TIMESTAMP": pyarrow.timestamp("us"), "BIGINT": pyarrow.int64()}
    types = folder_types(files).items()
    fields = [(name, kinds.get(kind, pyarrow.string())) for name, kind in types if name not in held]
    return dataset.partitioning(pyarrow.schema(fields), flavor="hive") if fields else None


def _dialects(files: Sequence[str], filesystem: Any) -> list[Dialect]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda file: _dialect(filesystem, file), files))


def _text_dataset(files: list[str], filesystem: Any, dialects: Sequence[Dialect]) -> Any:
    """Text files with every column as text, as those on this machine are read."""
    import pyarrow
    from pyarrow import csv, dataset

    folders = _partitioning(files, {name for dialect in dialects for name in dialect.names})
    parts = []
    for dialect, run in groupby(zip(files, dialects, strict=True), lambda each: each[1]):
        doubled = dialect.escape in ("", '"')
        how = dataset.CsvFileFormat(
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter or ",",
                double_quote=doubled,
                escape_char=False if doubled else dialect.escape,
                newlines_in_values=True,
            ),
            read_options=csv.ReadOptions(column_names=list(dialect.names), skip_rows=1),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.names, pyarrow.string()), strings_can_be_null=True, null_values=[""]
            ),
        )
        of_run = [file for file, _ in run]
        parts.append(dataset.dataset(of_run, format=how, filesystem=filesystem, partitioning=folders))
    if len(parts) == 1:
        return parts[0]
    schema = pyarrow.unify_schemas([part.schema for part in parts])
    return dataset.dataset([part.replace_schema(schema) for part in parts])


def _dialect(filesystem: Any, file: str) -> Dialect:
    """How a text file is written, by its first lines."""
    from calibrant.tables.duckdb import connect

    check_line_end(filesystem, file)
    with filesystem.open_input_stream(file, compression="detect") as stream:
        start = stream.read(_START)
    if is_utf16(start[:16]):
        raise FileError("file", f"{file!r} is UTF-16 text", allowed="convert it to UTF-8, which is what is read")
    whole = start[: start.rfind(b"\n") + 1] or start
    with tempfile.NamedTemporaryFile(suffix=".csv") as here:
        here.write(whole)
        here.flush()
        with _explained(file, "csv"):
            return dialect_of(connect(), here.name)
