"""Files of a folder or a pattern, here or on a file system: what stands there is read, or refused by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from calibrant.door.errors import FileError
from calibrant.tables.duckdb import connect

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
    ".sketch": "sketch",
}
"""File endings and what reads them; .gz and .zst may follow those of text files."""

_KINDS = ("DATE", "TIMESTAMP", "BIGINT")
"""What the values of folders may be besides text, in the order in which DuckDB tries."""
_WRITE = "write the rows as one of these, such as CSV or Parquet"
_ALIKE = "files that are read as one table have the same columns: rename it, or name the other files by themselves"


def kind_of(path: str) -> str:
    """Which reader a path or pattern needs, by its ending."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    kind = READERS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise FileError("file", f"{path!r}: the ending is not one that is read: {', '.join(READERS)}", allowed=_WRITE)
    return kind


def kind_of_all(files: Sequence[str], path: str) -> str:
    """Which reader all of the files need.

    Raises
    ------
    FileError
        If they need several, or the ending of one is not known.
    """
    first: dict[str, str] = {}
    for file in files:
        try:
            first.setdefault(kind_of(file), file)
        except FileError as problem:
            raise FileError(
                "file", problem.problem, allowed=problem.allowed if file == path else _name_a_pattern(path)
            ) from None
    if len(first) > 1:
        (one, a), (other, b), *_ = first.items()
        said = f"{path!r} holds files of several kinds: {a!r} is {one} and {b!r} is {other}"
        raise FileError("file", said, allowed=_name_a_pattern(path, Path(a).suffix))
    return next(iter(first))


def in_folder(folder: str) -> list[str]:
    """All files in a folder of this machine and in the folders within, in order, without the hidden ones.

    Raises
    ------
    FileError
        If there is none, or a link leads back to a folder above it.
    """
    found, seen = [], set()
    for here, below, names in os.walk(folder, followlinks=True, onerror=_unreadable):
        where = os.path.realpath(here)
        if where in seen:
            raise FileError("file", f"{here!r} is a link to a folder that is read already; name a pattern")
        seen.add(where)
        below[:] = [name for name in below if not _is_hidden(name)]
        found += [str(Path(here) / name) for name in names if not _is_hidden(name)]
    return _some(sorted(found), folder)


def name_of(path: str | os.PathLike[str]) -> str:
    """What files are called: a file or a folder without what it lies in, a pattern as it is given."""
    pattern = any(sign in os.fspath(path) for sign in "*?[") and not Path(path).exists()
    return os.fspath(path) if pattern else Path(path).name


def refuse_same_file(files: Iterable[str]) -> None:
    """Refuse a file that is named twice, under one name or as a link: its rows would count twice.

    Raises
    ------
    FileError
        Naming both.
    """
    seen: dict[object, tuple[int, str]] = {}
    for at, file in enumerate(files):
        told = Path(file).stat()
        for key in (os.path.realpath(file), (told.st_dev, told.st_ino)):
            before, name = seen.setdefault(key, (at, file))
            if before != at:
                same = "is named twice" if name == file else f"is the same file as {name!r}"
                raise FileError("file", f"{file!r} {same}; its rows would be counted twice")


def on_filesystem(filesystem: object, path: str) -> list[tuple[str, int]]:
    """Name and bytes of the files that a path, a folder or a pattern stands for on a file system of pyarrow.

    Raises
    ------
    FileError
        If there is none, or one is empty.
    """
    from pyarrow.fs import FileSelector, FileSystem, FileType

    assert isinstance(filesystem, FileSystem)
    if "://" in path:
        bare = path.partition("://")[2]
        raise FileError("file", f"{path!r} is an address", allowed=f"name the path within the file system: {bare!r}")
    path = path.rstrip("/")
    info = filesystem.get_file_info(path)
    if info.type == FileType.File:
        found = [info]
    else:
        pattern = info.type == FileType.NotFound and any(sign in path for sign in "*?[")
        if info.type == FileType.NotFound and not pattern:
            raise FileError("file", f"{path!r} does not exist on the file system")
        folder = _before_the_signs(path) if pattern else path
        selector = FileSelector(folder, recursive=True, allow_not_found=True)
        below = [each for each in filesystem.get_file_info(selector) if each.type == FileType.File]
        if pattern:
            wanted = re.compile(_as_regex(path))
            found = [each for each in below if wanted.fullmatch(each.path)]
            if not found:
                raise FileError("file", f"no file on the file system matches the pattern {path!r}")
        else:
            inside = {each.path: PurePosixPath(each.path[len(folder) :].lstrip("/")).parts for each in below}
            found = [each for each in below if not any(map(_is_hidden, inside[each.path]))]
            _some([each.path for each in found], path)
    empty = next((each.path for each in found if not each.size), None)
    if empty is not None:
        raise FileError("file", f"{empty!r} is empty")
    return sorted((each.path, int(each.size)) for each in found)


def folder_columns(files: Sequence[str]) -> list[str]:
    """Names of the columns that folders such as ``year=2026`` stand for, if they are those of every file."""
    named = {tuple(part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part) for file in files}
    return list(named.pop()) if len(named) == 1 else []


def folder_types(files: Sequence[str]) -> dict[str, str]:
    """Column of a folder -> its type as DuckDB tells it from all values: DATE, TIMESTAMP, BIGINT or VARCHAR."""
    values = _folder_values(files)
    return {name: next((kind for kind in _KINDS if _all_are(held, kind)), "VARCHAR") for name, held in values.items()}


def typed_folders(files: Sequence[str], repeats: Sequence[int]) -> dict[str, Any]:
    """Column of a folder -> its values as Arrow, each as often as its file has rows."""
    values, kinds = _folder_values(files), folder_types(files)
    found = {}
    for name, held in values.items():
        query = f"SELECT CAST(t AS {kinds[name]}) AS t FROM (SELECT unnest(?) AS t, unnest(?) AS n) ORDER BY n"
        rows = [value for value, n in zip(held, repeats, strict=True) for _ in range(n)]
        found[name] = connect().sql(query, params=[rows, list(range(len(rows)))]).to_arrow_table().column(0)
    return found


def _folder_values(files: Sequence[str]) -> dict[str, list[str | None]]:
    named = [dict(part.split("=", 1) for part in Path(file).parts[:-1] if "=" in part) for file in files]
    missing = "__HIVE_DEFAULT_PARTITION__"
    return {
        name: [None if each[name] == missing else unquote(each[name]) for each in named]
        for name in folder_columns(files)
    }


def _all_are(texts: Sequence[str | None], kind: str) -> bool:
    query = (
        f"SELECT count(t) > 0 AND bool_and(t IS NULL OR TRY_CAST(t AS {kind}) IS NOT NULL) FROM (SELECT unnest(?) AS t)"
    )
    return bool(connect().execute(query, [list(texts)]).fetchall()[0][0])


def check_folder_columns(files: Sequence[str], path: str) -> None:
    """Refuse files of which some lie in folders that stand for other columns, which would be lost.

    Raises
    ------
    FileError
        Naming two of them.
    """
    seen: dict[tuple[str, ...], str] = {}
    for file in files:
        names = tuple(part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part)
        seen.setdefault(names, file)
    if len(seen) > 1:
        (one, a), (other, b), *_ = ((", ".join(names) or "no column", file) for names, file in seen.items())
        said = f"{path!r} holds folders of different columns: those of {a!r} give {one}, those of {b!r} {other}"
        raise FileError("file", said, allowed="each file lies in folders that give the same columns")


def check_same(held: Mapping[str, Mapping[str, str]], wanted: Iterable[str]) -> None:
    """Refuse a column that some files have and others not, or that is text in some and in others not.

    Parameters
    ----------
    held : mapping of str to mapping of str to str
        File -> name of each column -> its type; BYTE_ARRAY is text.
    wanted : iterable of str
        Columns that are read.

    Raises
    ------
    FileError
        Naming the column and two of the files.
    """
    folded = {file: {name.casefold(): kind for name, kind in columns.items()} for file, columns in held.items()}
    for name in wanted:
        kinds = {file: columns.get(name.casefold()) for file, columns in folded.items()}
        having = [file for file, kind in kinds.items() if kind is not None]
        lacking = next((file for file, kind in kinds.items() if kind is None), None)
        if having and lacking is not None:
            raise FileError("file", f"{lacking!r} has no column {name!r}, and {having[0]!r} has", allowed=_ALIKE)
        text = next((file for file in having if kinds[file] == "BYTE_ARRAY"), None)
        other = next((file for file in having if kinds[file] != "BYTE_ARRAY"), None)
        if text is not None and other is not None:
            raise FileError("file", f"column {name!r} is text in {text!r} and is not in {other!r}", allowed=_ALIKE)


def _some(files: list[str], folder: str) -> list[str]:
    if not files:
        raise FileError("file", f"{folder or '.'!r} is a folder without files to read")
    return files


def _is_hidden(name: str) -> bool:
    """Whether it is a mark or a checksum that a writer left: _SUCCESS, _metadata, .part-0.crc."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _unreadable(problem: OSError) -> None:
    raise FileError("file", f"{problem.filename!r} cannot be read: {problem.strerror or problem}") from None


def _name_a_pattern(path: str, ending: str = ".parquet") -> str:
    """How to name the files of one kind."""
    if any(sign in path for sign in "*?["):
        return "name files of one kind"
    return f"name files of one kind by a pattern in quotes, such as '{path.rstrip('/')}/**/*{ending}'"


def _before_the_signs(pattern: str) -> str:
    """The deepest folder that every match of a pattern lies in."""
    parts: Iterable[str] = pattern.split("/")[:-1]
    kept = []
    for part in parts:
        if any(sign in part for sign in "*?["):
            break
        kept.append(part)
    return "/".join(kept)


def _as_regex(pattern: str) -> str:
    """A pattern as a regular expression: * and ? within a name, ** through folders, [abc] one of those."""
    out, at = "", 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/"):
            out, at = out + "(?:.*/)?", at + 3
        elif rest.startswith("**"):
            out, at = out + ".*", at + 2
        elif rest[0] in "*?":
            out, at = out + ("[^/]*" if rest[0] == "*" else "[^/]"), at + 1
        elif rest[0] == "[" and "]" in rest:
            inside = rest[1 : rest.index("]")]
            negated = inside.startswith("!")
            out += "[" + ("^" if negated else "") + re.escape(inside[negated:]).replace(r"\-", "-") + "]"
            at += len(inside) + 2
        else:
            out, at = out + re.escape(rest[0]), at + 1
    return out
