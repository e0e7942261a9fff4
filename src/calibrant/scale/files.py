"""Columns of a file, read through DuckDB: only those asked for, checked, and named where they are guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import FileError, InputError
from calibrant.scale.columns import asked_columns, choose_columns
from calibrant.scale.engine import connect, lacks_memory, shortened
from calibrant.scale.whole import check_arrow_stream, check_compressed, check_json, check_last_line, check_pages

READERS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""File endings and what reads them; .gz and .zst may follow those of text files."""

_NUMBERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN"),
}


@dataclass(frozen=True, slots=True, eq=False)
class FileColumns:
    """Columns read from a file.

    Attributes
    ----------
    y_true, y_prob : ndarray of shape (n,)
        Numbers as they stand in the file, not yet checked for range.
    sample_weight : ndarray of shape (n,) or None
        Weights, where a column holds them.
    names : dict
        Argument -> column name.
    guessed : tuple of str
        Arguments whose column was guessed by its name.
    """

    y_true: npt.NDArray[np.float64]
    y_prob: npt.NDArray[np.float64]
    sample_weight: npt.NDArray[np.float64] | None
    names: dict[str, str]
    guessed: tuple[str, ...]


def read_file(
    path: str,
    *,
    y_true: str | None = None,
    y_prob: str | None = None,
    sample_weight: str | None = None,
    unweighted: bool = False,
    grouped_by: Sequence[str] = (),
) -> FileColumns:
    """Read outcomes, predictions and weights from a CSV, Parquet, JSON lines or Arrow file, or a pattern of files.

    A column of weights is taken by its usual name unless `unweighted` says to leave it out. Columns that rows will be
    `grouped_by` are not suspected of holding weights.

    Raises
    ------
    FileError
        If the file or a column cannot be read; the message says what is there instead.
    """
    files = input_files(path)
    kind = _kind(path)
    connection = connect()
    with _explained(path, kind, files):
        columns, twins = _names_held(connection, files, kind)
    asked = asked_columns(y_true, y_prob, sample_weight, unweighted)
    names, guessed = choose_columns(asked, columns, twins, grouped_by)
    with _explained(path, kind, files):
        arrays = _fetch(_rows(connection, files, kind, names), names, kind, len(files))
    return FileColumns(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"), names, guessed)


def input_files(path: str) -> list[str]:
    """Return the files that a path or a pattern stands for; a file of that very name goes before the pattern.

    Raises
    ------
    FileError
        If there is none, or one is a folder, no plain file, empty, or cut or damaged.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise FileError("file", f"{path!r}: the name is not valid UTF-8; rename the file") from None
    if Path(path).exists():
        if Path(path).is_dir():
            name = path or "."
            raise FileError(
                "file", f"{name!r} is a folder; name a file, or a pattern in quotes such as '{name}/*.parquet'"
            )
        _check_whole(path)
        return [path]
    if "://" in path:
        raise FileError("file", f"{path!r} is an address; only files on this machine are read")
    if not any(c in path for c in "*?["):
        raise FileError("file", f"{path!r} does not exist")
    found = connect().execute("SELECT file FROM glob(?) ORDER BY file", [path]).fetchall()
    if not found:
        raise FileError("file", f"no file matches the pattern {path!r}")
    for (file,) in found:
        _check_whole(file)
    return [file for (file,) in found]


def _check_whole(file: str) -> None:
    if not Path(file).is_file():
        raise FileError("file", f"{file!r} is not a plain file")
    if Path(file).stat().st_size == 0:
        raise FileError("file", f"{file!r} is empty")
    check_compressed(file)
    check_last_line(file)
    check_json(file)


def _kind(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    kind = READERS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise FileError("file", f"{path!r}: the ending is not one that is read: {', '.join(READERS)}")
    return kind


def _folder_columns(files: Sequence[str]) -> list[str]:
    """Names of the columns that folders such as ``year=2026`` stand for, if they are those of every file."""
    named = {tuple(part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part) for file in files}
    return list(named.pop()) if len(named) == 1 else []


def _literal(file: str) -> str:
    """The name as a pattern that matches it alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", file)


_EVERY_LINE: dict[str, Any] = {"all_varchar": True, "skiprows": 0, "comment": "", "quotechar": '"'}
"""Detection of the dialect may not drop lines as comments or as a preamble, nor join them by apostrophes as quotes."""


def _rows(connection: Any, files: Sequence[str], kind: str, names: dict[str, str] | None) -> Any:
    """All rows of the files as a relation; numbers in text files stay text, lest a sample of rows decide their type.

    Columns are matched by name across files, never by position.
    """
    if kind == "arrow" and names is not None:
        return _arrow_rows(connection, files, names)
    by_name = len(files) > 1
    folders = bool(_folder_columns(files))
    literals = [_literal(file) for file in files]
    if kind == "csv":
        return connection.read_csv(
            literals, header=True, union_by_name=by_name, hive_partitioning=folders, **_EVERY_LINE
        )
    if kind == "json":
        columns = dict.fromkeys((names or {}).values(), "JSON")
        return connection.read_json(literals, columns=columns, union_by_name=by_name)
    if names is not None:
        for file in files:
            check_pages(file, set(names.values()))
    return connection.read_parquet(literals, union_by_name=by_name, hive_partitioning=folders)


def _arrow_rows(connection: Any, files: Sequence[str], names: dict[str, str]) -> Any:
    import pyarrow

    wanted = dict.fromkeys(names.values())
    tables = [_arrow_reader(file).read_all() for file in files]
    tables = [table.select([name for name in wanted if name in table.column_names]) for table in tables]
    table = pyarrow.concat_tables(tables, promote_options="permissive")
    half, single = pyarrow.float16(), pyarrow.float32()  # DuckDB has no half floats
    schema = pyarrow.schema([(f.name, single if f.type == half else f.type) for f in table.schema])
    table.validate(full=True)  # damaged offsets of texts would be followed
    return connection.from_arrow(table.cast(schema))


def _arrow_reader(file: str) -> Any:
    import pyarrow
    import pyarrow.ipc

    source = pyarrow.memory_map(file)
    try:
        return pyarrow.ipc.open_file(source)
    except pyarrow.ArrowInvalid:
        check_arrow_stream(file)
        source.seek(0)
        return pyarrow.ipc.open_stream(source)


def _names_held(connection: Any, files: Sequence[str], kind: str) -> tuple[list[str], dict[str, list[str]]]:
    """Names of the columns, and those that DuckDB could not tell apart, by their case-folded name."""
    if kind == "arrow":
        columns = list(dict.fromkeys(name for file in files for name in _arrow_reader(file).schema.names))
    elif kind == "json":
        columns = list(_keys(tuple(_state(file) for file in files)))
        columns += [name for name in _folder_columns(files) if name not in columns]
    else:
        columns = list(_rows(connection, files, kind, None).columns)
    twins: dict[str, list[str]] = {}
    if kind == "csv" and not _folder_columns(files) and not _maybe_twins(columns):
        return columns, twins
    for file in files:
        held = _header(connection, file, kind, columns)
        if kind in ("csv", "parquet"):
            held += _folder_columns(files)
        same: dict[str, list[str]] = {}
        for name in held:
            same.setdefault(name.strip().casefold(), []).append(name)
        twins |= {name: several for name, several in same.items() if len(several) > 1}
    return columns, twins


@lru_cache(maxsize=16)
def _keys(held: tuple[tuple[str, int, int, int], ...]) -> tuple[str, ...]:
    """Keys of all rows of JSON files: a sample of rows would miss those that come late."""
    keys = "SELECT DISTINCT json_keys(json) AS keys FROM read_json_objects(?)"
    each = f"SELECT unnest(keys) AS name, generate_subscripts(keys, 1) AS place FROM ({keys})"
    query = f"SELECT name FROM ({each}) GROUP BY name ORDER BY min(place), name"
    found = connect().execute(query, [[_literal(file) for file, *_ in held]]).fetchall()
    if not found:
        raise FileError(
            "file", 'holds no JSON objects with keys; each row is one, such as {"y_true": 1, "y_prob": 0.8}'
        )
    return tuple(name for (name,) in found)


def _state(file: str) -> tuple[str, int, int, int]:
    """What tells that a file is still the one that was read."""
    state = Path(file).stat()
    return file, state.st_size, state.st_mtime_ns, state.st_ino


def _maybe_twins(columns: list[str]) -> bool:
    """Whether names are the same but for case or spaces, or one looks as if DuckDB had made it distinct by a number."""
    folded = {name.strip().casefold() for name in columns}
    stems = (re.sub(r"_\d+$", "", name.strip().casefold()) for name in columns)
    return len(folded) < len(columns) or any(
        stem in folded and stem != name.strip().casefold() for stem, name in zip(stems, columns, strict=True)
    )


def _header(connection: Any, file: str, kind: str, columns: list[str]) -> list[str]:
    """Names as one file holds them, before DuckDB makes them distinct."""
    if kind == "parquet":
        schema = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [_literal(file)]).fetchall()
        return _top_level([(name, children or 0) for name, children in schema])
    if kind == "csv":
        lines = connection.read_csv(_literal(file), header=False, hive_partitioning=False, **_EVERY_LINE)
        return [name for line in lines.limit(1).fetchall() for name in line if name is not None]
    return list(_arrow_reader(file).schema.names) if kind == "arrow" else columns


def _top_level(schema: list[tuple[str, int]]) -> list[str]:
    """Names of a Parquet schema's columns, without those nested in them; the schema is listed depth first."""
    names = []
    at = 1
    while at < len(schema):
        names.append(schema[at][0])
        inside = 1
        while inside:
            inside += schema[at][1] - 1
            at += 1
    return names


def _numbers(relation: Any, names: dict[str, str], kind: str) -> dict[str, str]:
    """Argument -> its column as a DOUBLE in SQL, null where a text holds no number."""
    quoted = {argument: '"' + name.replace('"', '""') + '"' for argument, name in names.items()}
    if kind in ("csv", "json"):
        text = {argument: f"CAST({column} AS VARCHAR)" for argument, column in quoted.items()}
        return {argument: _NUMBER_IN_TEXT.format(column) for argument, column in text.items()}
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    for argument, name in names.items():
        if types[name].split("(")[0] not in _NUMBERS and not types[name].startswith("DECIMAL"):
            needed = _needed(argument, names)
            raise FileError(name, _not_numbers(relation, quoted[argument], types[name], needed))
    return {argument: f"CAST({column} AS DOUBLE)" for argument, column in quoted.items()}


def _fetch(relation: Any, names: dict[str, str], kind: str, n_files: int) -> dict[str, npt.NDArray[np.float64]]:
    quoted = {argument: '"' + name.replace('"', '""') + '"' for argument, name in names.items()}
    numbers = _numbers(relation, names, kind)
    fetched = relation.project(", ".join(f"{sql} AS {argument}" for argument, sql in numbers.items())).fetchnumpy()
    arrays = {}
    for argument, name in names.items():
        values = fetched[argument]
        if values.size == 0:
            raise FileError("file", "holds column names but no rows")
        missing = np.ma.getmaskarray(values)
        if missing.any():
            texts = relation.project(f"CAST({quoted[argument]} AS VARCHAR)")
            raise _no_number(texts, missing, name, _needed(argument, names), n_files)
        arrays[argument] = np.asarray(values, dtype=np.float64)
    return arrays


# DuckDB takes 0_1 for 1.
_NUMBER_IN_TEXT = (
    "CASE WHEN contains({0}, '_') THEN NULL ELSE "
    "COALESCE(TRY_CAST({0} AS DOUBLE), CASE lower(trim({0})) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END) END"
)


def _needed(argument: str, names: dict[str, str]) -> str:
    if argument != "y_true":
        return f"numbers are needed for {argument}"
    one = "y_prob" in names
    return "numbers are needed for y_true: " + (
        "1 where the event happened, 0 where not" if one else "those of the classes' columns"
    )


def _no_number(texts: Any, missing: npt.NDArray[np.bool_], name: str, needed: str, n_files: int) -> FileError:
    """Say in which row there is no number, and what is there instead."""
    row = int(np.argmax(missing))
    found = texts.limit(1, offset=row).fetchall()
    where = f"row {row} (counted from 0{f' over the {n_files} files' if n_files > 1 else ''})"
    if not found or found[0][0] is None:
        return FileError(name, f"{where} is null; every row needs a value", row=row)
    return FileError(name, f"{where} holds text, {found[0][0]!r:.40}; {needed}", row=row)


def _not_numbers(relation: Any, column: str, kind: str, needed: str) -> str:
    """Say what a column holds instead, with its first value."""
    found = relation.filter(f"{column} IS NOT NULL").project(f"CAST({column} AS VARCHAR)").limit(1).fetchall()
    text = kind == "VARCHAR" or kind.startswith("ENUM")
    shown = f", such as {found[0][0]!r:.40}" if found else ""
    return f"the column holds {'text' if text else kind}{shown}; {needed}"


@contextmanager
def _explained(path: str, kind: str, files: Sequence[str]) -> Iterator[None]:
    """Turn what the readers raise into a message."""
    import duckdb

    try:
        yield
    except (duckdb.Error, ValueError, TypeError, NotImplementedError, OSError) as problem:
        if isinstance(problem, InputError) or lacks_memory(problem):
            raise  # which says nothing about the file
        said = f"{path!r} cannot be read as {kind}: {shortened(problem)}"
        raise FileError("file", said + _looks_like(files[0], kind)) from None
    except ModuleNotFoundError as problem:
        if problem.name != "pyarrow":
            raise
        raise FileError(
            "file", f"{path!r}: Arrow files are read by pyarrow; install it with pip install pyarrow"
        ) from None


_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}


def _looks_like(file: str, kind: str) -> str:
    with Path(file).open("rb") as stream:
        start = stream.read(6)
    for magic, other in _MAGIC.items():
        if start.startswith(magic) and other != kind:
            return f". By its content it is {other}: give it such an ending"
    return ""
