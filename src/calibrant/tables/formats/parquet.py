"""Parquet, with checksums of its pages; and Arrow's files and streams."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.errors import FileError
from calibrant.tables.duckdb import literal, quoted
from calibrant.tables.formats.base import (
    AGAIN,
    FILE,
    Format,
    Scan,
    refuse_long_decimals,
    scan_columns,
    sql_text,
    types_in_duckdb,
    without_halves,
)


class Parquet(Format):
    """Parquet files."""

    name = "parquet"
    endings = (".parquet", ".pq")
    magic = b"PAR1"
    counts_rows = True
    is_scanned = True

    @cached_property
    def _relation(self) -> Any:
        return self._in_sql(f"union_by_name={len(self.files) > 1}")

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns as DuckDB has them, those of the folders among them."""
        return list(self._relation.columns)

    @property
    def headers(self) -> list[Sequence[str]]:
        """Names of each file's columns, without those nested in them."""
        return [[name for name, _ in parquet_columns(self.connection, [file])[file]] for file in self.files]

    def row_counts(self) -> dict[str, int]:
        """File -> its rows, as its last bytes say."""
        query = "SELECT file_name, sum(num_rows) FROM parquet_file_metadata(?) GROUP BY file_name"
        return {file: int(rows) for file, rows in self.connection.execute(query, [self.literals]).fetchall()}

    def ends(self, name: str) -> dict[str, tuple[float, float]]:
        """File -> smallest and largest number of a column of floats, to single precision, where its last bytes say."""
        query = """SELECT file_name, min(low), max(high) FROM (SELECT file_name, type IN ('FLOAT', 'DOUBLE') AS floats,
        TRY_CAST(stats_min_value AS FLOAT) AS low, TRY_CAST(stats_max_value AS FLOAT) AS high
        FROM parquet_metadata(?) WHERE lower(path_in_schema) = lower(?)) GROUP BY file_name
        HAVING bool_and(floats AND coalesce(isfinite(low) AND isfinite(high), false))"""
        listed = self.connection.execute(query, [self.literals, name]).fetchall()
        return {file: (low, high) for file, low, high in listed}

    def types(self) -> dict[str, dict[str, str]]:
        """Names and stored types of each file's columns."""
        return {file: dict(names) for file, names in parquet_columns(self.connection, self.files).items()}

    def key_types(self, names: Collection[str]) -> dict[str, dict[str, str]]:  # noqa: ARG002 - those left out cost none
        """Types of each file's columns."""
        relations = {file: self._alone(file) for file in self.files}
        return {file: dict(zip(each.columns, map(str, each.types), strict=True)) for file, each in relations.items()}

    def key_values(self, file: str, name: str) -> Any:
        """A column of one file."""
        return self._alone(file).select(quoted(name))

    def _alone(self, file: str) -> Any:
        return self.connection.read_parquet(literal(file), hive_partitioning=False)

    def check_columns(self, names: Collection[str]) -> None:
        """Look at the checksums of the pages of these columns."""
        check_pages(self.connection, self.files, names)

    def rows(self, names: Sequence[str], *, with_file: bool = False) -> Any:  # noqa: ARG002 - columns left out cost none
        """All rows, with every column; with the file of each as a query of its own."""
        if not with_file:
            return self._relation
        return self._in_sql(f"union_by_name=true, filename={sql_text(FILE)}")

    def _in_sql(self, options: str) -> Any:
        listed = ", ".join(map(sql_text, self.literals))
        return self.connection.sql(f"SELECT * FROM read_parquet([{listed}], {options}, {self.folders_in_sql})")

    def refuse_damage(self, exception: Exception) -> None:  # noqa: ARG002
        """Refuse a file that begins as Parquet and does not end so."""
        for file in self.files:
            with Path(file).open("rb") as stream:
                begins = stream.read(4) == self.magic
                stream.seek(max(0, stream.seek(0, 2) - 4))
                ends = stream.read() == self.magic
            if begins and not ends:
                reason = f"{file!r} is cut: a Parquet file ends with {self.magic.decode()}, and this one does not"
                raise FileError("file", reason, allowed=AGAIN)

    @classmethod
    def scan(cls, files: Sequence[str], filesystem: Any) -> Scan:
        """All files as one dataset, whose pages are checked as they are read."""
        from pyarrow import dataset

        checked = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
        return scan_columns(files, filesystem, dataset.ParquetFileFormat(default_fragment_scan_options=checked))


def parquet_columns(connection: Any, files: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """File -> names and stored types of its columns, without those nested in them; schemas are listed depth first."""
    query = "SELECT file_name, name, coalesce(num_children, 0), coalesce(type, 'nested') FROM parquet_schema(?)"
    listed = connection.execute(query, [[literal(file) for file in files]]).fetchall()
    columns: dict[str, list[tuple[str, str]]] = {}
    for file, rows in groupby(listed, key=lambda row: row[0]):
        schema = [row[1:] for row in rows]
        leaves, at = [], 1
        while at < len(schema):
            leaves.append((schema[at][0], schema[at][2]))
            inside = 1
            while inside:
                inside += schema[at][1] - 1
                at += 1
        columns[file] = leaves
    return columns


def check_pages(connection: Any, files: Sequence[str], columns: Collection[str]) -> None:
    """Look at the types of the columns of Parquet files that are read, and at their pages' checksums, if any.

    Where the pages begin is asked of DuckDB: of a damaged file pyarrow's answer to that ends the process. Raises
    FileError if types contradict one another, DuckDB lacks one, or a checksum does not hold.
    """
    chunks = _chunks(connection, files)
    for file in files:
        _check_file(connection, file, columns, *chunks.get(file, ({}, {})))


def _check_file(
    connection: Any, file: str, columns: Collection[str], begins: Mapping[int, int], kinds: Mapping[int, str]
) -> None:
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(file, page_checksum_verification=True) as reader:
        paths = [reader.schema.column(i).path for i in range(len(reader.schema))]
        leaves = _leaves_of(columns, paths)
        refuse_long_decimals(reader.schema_arrow, columns)
        _check_types(connection, file, reader, columns, kinds)
        if not any(_has_checksum(file, begins[at]) for at in leaves if at in begins):
            return
        try:
            for group in range(reader.num_row_groups):
                table = reader.read_row_group(group, columns=[paths[at] for at in leaves])
                for at in leaves:
                    _check_ends(table, paths[at], reader.metadata.row_group(group).column(at).statistics)
        except OSError as problem:
            raise _damaged(file, str(problem)) from None


def _check_ends(table: Any, name: str, stated: Any) -> None:
    """Raise OSError where a column holds what lies beyond the ends that the file's last bytes state.

    These have no checksum, and DuckDB groups by them. Types whose ends pyarrow gives in their own order are looked at.
    """
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import types

    if stated is None or name not in table.column_names:
        return
    nulls = table.column(name).null_count
    if stated.has_null_count and stated.null_count != nulls:
        raise OSError(f"column {name!r} lacks {nulls} numbers, and {stated.null_count} are said to be missing")
    if not stated.has_min_max:
        return
    of = table.column(name).type
    plain = (
        types.is_signed_integer(of)
        or of in (pyarrow.float32(), pyarrow.float64())
        or types.is_date32(of)
        or types.is_string(of)
    )
    ends = pc.min_max(table.column(name)).as_py() if plain else {"min": None}
    if ends["min"] is not None and (ends["min"] < stated.min or ends["max"] > stated.max):
        raise OSError(f"column {name!r} holds what lies beyond {stated.min!r:.40} and {stated.max!r:.40}")


_ACCOUNTS = {
    "UTF8": "StringType",
    "DECIMAL": r"DecimalType\(scale={},",
    "DATE": "DateType",
    "TIME_MILLIS": "TimeType.*MILLIS=Milli",
    "TIME_MICROS": "TimeType.*MICROS=Micro",
    "TIMESTAMP_MILLIS": "TimestampType.*MILLIS=Milli",
    "TIMESTAMP_MICROS": "TimestampType.*MICROS=Micro",
    **{f"INT_{bits}": "IntType.*isSigned=1" for bits in (8, 16, 32, 64)},
    **{f"UINT_{bits}": "IntType.*isSigned=0" for bits in (8, 16, 32, 64)},
}
"""Older words for a column's type, and how DuckDB writes the newer ones that say the same."""


def _check_types(
    connection: Any, file: str, reader: Any, columns: Collection[str], leaf_types: Mapping[int, str]
) -> None:
    """Raise FileError where the last bytes tell a column's type in two ways, and a flipped bit changed one of them.

    They have no checksum. DuckDB reads an older account of a type, pyarrow a newer one and a schema of its own.
    `leaf_types` say how the numbers of each leaf are stored.
    """
    query = "SELECT name, type, repetition_type, converted_type, logical_type, scale FROM parquet_schema(?) OFFSET 1"
    accounts = connection.execute(query, [literal(file)]).fetchall()
    apart = [name for name, _, repeats, *types in accounts if repeats is None or not _same_type(*types)]
    leaves = [(name, of) for name, of, *_ in accounts if of is not None]
    apart += [name for leaf, (name, of) in enumerate(leaves) if leaf_types.get(leaf, of) != of]
    relation = connection.read_parquet(literal(file))
    read = {
        name: _KINDS.get(str(of).partition("(")[0]) for name, of in zip(relation.columns, relation.types, strict=True)
    }
    newer, own = (
        {each.name: _kind(each.type) for each in schema} for schema in (reader.schema_arrow, _own_schema(reader))
    )
    for name in (each for each in read if each.casefold() in map(str.casefold, columns)):
        kinds = {read[name], newer.get(name), own.get(name)} - {None}
        apart += [name] * (len(kinds) > 1)
    if apart:
        raise _damaged(file, f"column {apart[0]!r:.40} has two types")


def _same_type(old: str | None, new: str | None, scale: int | None) -> bool:
    return new is None or re.match(_ACCOUNTS.get(old or "", "").format(scale), new) is not None


def _own_schema(reader: Any) -> Any:
    """The schema that pyarrow keeps beside Parquet's; without columns where there is none."""
    import pyarrow

    stored = (reader.metadata.metadata or {}).get(b"ARROW:schema")
    if stored is None:
        return pyarrow.schema([])
    return pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(stored)))


_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "integer"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), "timestamp"),
    **{"FLOAT": "floating", "DOUBLE": "floating", "DECIMAL": "decimal", "BOOLEAN": "boolean"},
    **{"DATE": "date", "TIME": "time", "VARCHAR": "text", "BLOB": "bytes"},
}
"""DuckDB's types, and what kind of values they have."""


def _kind(arrow: Any) -> str | None:
    """The kind of values that a type of pyarrow has; None of those that readers tell in several ways."""
    from pyarrow import types

    arrow = arrow.value_type if types.is_dictionary(arrow) else arrow
    kinds = {kind: (kind,) for kind in ("floating", "decimal", "boolean", "date", "time", "timestamp")} | {
        "integer": ("integer", "duration"),
        "text": ("string", "large_string", "string_view"),
        "bytes": ("binary", "large_binary", "binary_view"),
    }
    return next(
        (kind for kind, names in kinds.items() if any(getattr(types, f"is_{name}")(arrow) for name in names)), None
    )


def _damaged(file: str, problem: str) -> FileError:
    return FileError("file", f"{file!r} is damaged: {problem:.200}", allowed=AGAIN)


def _leaves_of(columns: Collection[str], paths: Sequence[str]) -> Sequence[int]:
    """Numbers of the leaves of these columns, nested ones among them; all if one of the columns is not found."""
    leaves: set[int] = set()
    paths = [path.casefold() for path in paths]
    for column in columns:
        name = column.casefold()  # DuckDB finds a column in any case
        own = [at for at, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
        if not own:
            return range(len(paths))
        leaves.update(own)
    return sorted(leaves)


def _chunks(connection: Any, files: Sequence[str]) -> dict[str, tuple[dict[int, int], dict[int, str]]]:
    """File -> number of each leaf -> where its first page begins, and how its numbers are stored; not without rows.

    Where a leaf's numbers are stored in several ways, no word for that is a type.
    """
    query = """SELECT DISTINCT file_name, column_id, type, row_group_id = 0,
        CASE row_group_id WHEN 0 THEN data_page_offset END,
        CASE row_group_id WHEN 0 THEN dictionary_page_offset END FROM parquet_metadata(?)"""
    chunks: dict[str, tuple[dict[int, int], dict[int, str]]] = {}
    listed = connection.execute(query, [[literal(file) for file in files]]).fetchall()
    for file, leaf, of, is_first, data, words in listed:
        begins, stored = chunks.setdefault(file, ({}, {}))
        stored[leaf] = of if stored.get(leaf, of) == of else "several"
        if is_first:
            begins[leaf] = words if words and 0 < words < data else data
    if len(files) > 1 and not chunks.keys() <= set(files):  # spelled otherwise
        return {file: each for name in files for file, each in _chunks(connection, [name]).items()}
    return chunks if len(files) > 1 else dict.fromkeys(files, next(iter(chunks.values()), ({}, {})))


def _has_checksum(file: str, first: int) -> bool:
    """Whether the header of the page that begins there has the field of its checksum.

    Thrift's compact protocol: a field is a byte, 16 times the step from the number of the field before plus 5 for a
    32-bit integer, and its bytes; the last is below 128. Three such fields come first, the fourth is optional.
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

    def check_columns(self, names: Collection[str]) -> None:
        """Refuse types that DuckDB does not have."""
        for file in self.files:
            refuse_long_decimals(arrow_reader(file).schema, names)

    def key_types(self, names: Collection[str]) -> dict[str, dict[str, str]]:
        """Types of each file's columns."""
        return {file: types_in_duckdb(self.connection, arrow_reader(file).schema, names) for file in self.files}

    def key_values(self, file: str, name: str) -> Any:
        """A column of one file."""
        return self.connection.from_arrow(_arrow_table([file], [name]))

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
    table.validate(full=True)  # damaged offsets of texts would be followed
    return table.cast(without_halves(table.schema))


def arrow_source(file: str) -> Any:
    """An Arrow file, open to be read: a mapped one that is cut meanwhile would end the process.

    A large one is mapped nevertheless, for it need not fit into memory.
    """
    import pyarrow

    return (pyarrow.memory_map if Path(file).stat().st_size > _LARGE else pyarrow.OSFile)(file)


def check_arrow_stream(file: str) -> None:
    """Walk an Arrow stream's messages to its mark of the end; without it nothing tells a whole stream from a cut one.

    Raises FileError if the mark is not there, or something follows it.
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
