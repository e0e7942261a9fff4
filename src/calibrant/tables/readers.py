"""What DuckDB needs to read files of each kind: their names, the dialect of text files, and relations of their rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.door.errors import FileError, Ways
from calibrant.tables.duckdb import connect, literal, quoted
from calibrant.tables.folders import folder_columns, in_folder, refuse_same_file
from calibrant.tables.integrity import arrow_source, check_arrow_stream, check_compressed, check_json, check_last_line
from calibrant.tables.stamps import StampedFiles

FILE = "_calibrant_file"
"""The column that says of which file a row is."""
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}


def input_files(path: str) -> StampedFiles:
    """Return the files that a path, a folder or a pattern stands for; one of that very name goes before the pattern.

    Each is stamped, then checked: who reads it afterwards asks whether it is still the same.

    Raises
    ------
    FileError
        If there is none, or one is no plain file, empty, or cut or damaged, or one is there twice.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise FileError("file", f"{path!r}: the name is not valid UTF-8; rename the file") from None
    try:
        return _input_files(path)
    except OSError as problem:
        raise FileError("file", f"{path!r} cannot be read: {problem.strerror or problem}") from None


def _input_files(path: str) -> StampedFiles:
    if Path(path).exists():
        return _checked(in_folder(path) if Path(path).is_dir() else [path])
    if "://" in path:
        said = f"{path!r} is an address; files elsewhere are read through a file system, by their path within it"
        ways = Ways("filesystem='s3' names one", "--filesystem s3 names one")
        raise FileError("file", said, allowed=ways)
    if not any(c in path for c in "*?["):
        raise FileError("file", f"{path!r} does not exist")
    found = connect().execute("SELECT file FROM glob(?) ORDER BY file", [path]).fetchall()
    if not found:
        raise FileError("file", f"no file matches the pattern {path!r}")
    return _checked([file for (file,) in found])


def _checked(names: Sequence[str]) -> StampedFiles:
    files = StampedFiles(names)
    with files.unchanged():
        for file in files:
            if not Path(file).is_file():
                raise FileError("file", f"{file!r} is not a plain file")
            if Path(file).stat().st_size == 0:
                raise FileError("file", f"{file!r} is empty")
            check_compressed(file)
            check_last_line(file)
            check_json(file)
        refuse_same_file(files)
    return files


def looks_like(file: str, kind: str) -> str:
    """What else a file is by its first bytes, as the end of a message."""
    with Path(file).open("rb") as stream:
        start = stream.read(6)
    for magic, other in _MAGIC.items():
        if start.startswith(magic) and other != kind:
            return f". By its content it is {other}: give it such an ending"
    return ""


def maybe_twins(columns: Sequence[str]) -> bool:
    """Whether names are the same up to case and spaces, or one looks as if DuckDB had made it distinct by a number."""
    folded = {name.strip().casefold() for name in columns}
    stems = (re.sub(r"_\d+$", "", name.strip().casefold()) for name in columns)
    return len(folded) < len(columns) or any(
        stem in folded and stem != name.strip().casefold() for stem, name in zip(stems, columns, strict=True)
    )


def same_names(header: Sequence[str], n_folders: int = 0) -> dict[str, list[str]]:
    """Names that DuckDB does not tell apart, by what they look like to it; the last are those of folders."""
    same: dict[str, list[str]] = {}
    for at, name in enumerate(header):
        said = f"{name} (of the folders)" if at >= len(header) - n_folders else name
        same.setdefault(name.strip().casefold(), []).append(said)
    return {name: several for name, several in same.items() if len(several) > 1}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written, and its columns: names as DuckDB makes them distinct, and as they stand there."""

    delimiter: str
    escape: str
    line_end: str
    names: tuple[str, ...]
    header: tuple[str, ...] = ()

    def source(
        self, files: Sequence[str], *, header: bool = True, folders: bool = False, with_file: bool = False
    ) -> str:
        """A table in SQL: every column as text, lest a sample of rows decide its type; nothing is detected again."""
        named = f", filename={_text(FILE)}" if with_file else ""
        names = self.names if header else [f"c{i}" for i in range(len(self.names))]
        held = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
        listed = ", ".join(_text(literal(file)) for file in files)
        line_end = f", new_line={_text(self.line_end)}" if self.line_end else ""
        return (
            f"read_csv([{listed}], auto_detect=false, delim={_text(self.delimiter)}, quote='\"', comment='', skip=0, "
            f"escape={_text(self.escape)}{line_end}, header={header}, hive_partitioning={folders}{named}, "
            f"columns={{{held}}})"
        )


def dialect_of(connection: Any, file: str) -> Dialect:
    """Detect how a text file is written; no line may be dropped as a comment or as a preamble, nor joined to another
    by apostrophes as quotes.
    """
    found = connection.execute(
        "SELECT Delimiter, Escape, NewLineDelimiter, Columns FROM sniff_csv(?, "
        "all_varchar=true, header=true, skip=0, comment='', quote='\"')",
        [literal(file)],
    ).fetchall()[0]
    names = tuple(column["name"] for column in found[3])
    delimiter, escape, line_end = ("" if part == "(empty)" else part for part in found[:3])
    dialect = Dialect(delimiter, escape, line_end if line_end in ("\\n", "\\r\\n", "\\r") else "", names, names)
    if not maybe_twins(names):
        return dialect
    first = connection.sql(f"SELECT * FROM {dialect.source([file], header=False)} LIMIT 1").fetchall()
    return replace(dialect, header=tuple(name for line in first for name in line if name is not None))


def text_source(files: Sequence[str], dialects: Sequence[Dialect], *, with_file: bool = False) -> str:
    """All rows of text files in SQL, in order; columns are matched by name, never by position."""
    folders = bool(folder_columns(files))
    runs = [
        (dialect, [file for file, _ in run])
        for dialect, run in groupby(zip(files, dialects, strict=True), lambda each: each[1])
    ]
    parts = [f"SELECT * FROM {dialect.source(run, folders=folders, with_file=with_file)}" for dialect, run in runs]
    return " UNION ALL BY NAME ".join(parts)


def parquet_source(files: Sequence[str], folders: bool) -> str:
    """All rows of Parquet files in SQL, with the file of each."""
    listed = ", ".join(_text(literal(file)) for file in files)
    return f"read_parquet([{listed}], union_by_name=true, hive_partitioning={folders}, filename={_text(FILE)})"


def json_keys(connection: Any, files: Sequence[str]) -> list[str]:
    """Keys of all rows of JSON files, each as often as a row has it: a sample would miss those that come late."""
    keys = "SELECT DISTINCT json_keys(json) AS keys FROM read_json_objects(?)"
    each = f"SELECT keys, unnest(keys) AS name, generate_subscripts(keys, 1) AS place FROM ({keys})"
    rows = f"SELECT name, min(place) AS place, count(*) AS times FROM ({each}) GROUP BY keys, name"
    query = f"SELECT name, max(times) FROM ({rows}) GROUP BY name ORDER BY min(place), name"
    found = connection.execute(query, [[literal(file) for file in files]]).fetchall()
    if not found:
        raise FileError(
            "file",
            f'{files[0]!r} holds no JSON objects with keys; each row is one, such as {{"y_true": 1, "y_prob": 0.8}}',
        )
    return [name for name, times in found for _ in range(times)]


def parquet_names(connection: Any, file: str) -> list[str]:
    """Names of a Parquet file's columns, without those nested in them."""
    return [name for name, _ in parquet_columns(connection, [file])[file]]


def parquet_columns(connection: Any, files: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """File -> names and stored types of its columns, without those nested in them; schemas are listed depth first."""
    query = "SELECT file_name, name, coalesce(num_children, 0), coalesce(type, 'nested') FROM parquet_schema(?)"
    listed = connection.execute(query, [[literal(file) for file in files]]).fetchall()
    columns: dict[str, list[tuple[str, str]]] = {}
    for file, rows in groupby(listed, key=lambda row: row[0]):
        schema = [row[1:] for row in rows]
        found, at = [], 1
        while at < len(schema):
            found.append((schema[at][0], schema[at][2]))
            inside = 1
            while inside:
                inside += schema[at][1] - 1
                at += 1
        columns[file] = found
    return columns


def arrow_reader(file: str, wanted: Collection[str] | None = None) -> Any:
    """Open an Arrow file, or a stream that is whole, for these columns or all."""
    import pyarrow
    import pyarrow.ipc

    options = None
    if wanted is not None:
        names = arrow_reader(file).schema.names
        options = pyarrow.ipc.IpcReadOptions(included_fields=[at for at, name in enumerate(names) if name in wanted])
    source = arrow_source(file)
    try:
        return pyarrow.ipc.open_file(source, options=options)
    except pyarrow.ArrowInvalid:
        check_arrow_stream(file)
        source.seek(0)
        return pyarrow.ipc.open_stream(source, options=options)


def arrow_table(files: Sequence[str], wanted: Collection[str]) -> Any:
    """These columns of all files, matched by name."""
    import pyarrow

    tables = [arrow_reader(file, wanted).read_all() for file in files]
    tables = [table.select([name for name in wanted if name in table.column_names]) for table in tables]
    table = pyarrow.concat_tables(tables, promote_options="permissive")
    half, single = pyarrow.float16(), pyarrow.float32()  # DuckDB has no half floats
    schema = pyarrow.schema([(f.name, single if f.type == half else f.type) for f in table.schema])
    table.validate(full=True)  # damaged offsets of texts would be followed
    return table.cast(schema)


def files_of_rows(files: Sequence[str]) -> Any:
    """The file of each row of Arrow files."""
    import pyarrow

    counts = [arrow_reader(file).read_all().num_rows for file in files]
    return pyarrow.array(np.repeat(np.array(files, dtype=object), counts), pyarrow.string())


def _text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def selected(source: str, wanted: Collection[str]) -> str:
    """These columns of a source, in SQL."""
    return f"SELECT {', '.join(quoted(name) for name in dict.fromkeys(wanted))} FROM ({source})"
