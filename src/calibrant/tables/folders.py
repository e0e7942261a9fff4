"""Columns that the names of folders stand for, whether files have the same, and stamps that tell when they changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from calibrant.door.errors import FileError
from calibrant.door.identity import fingerprint
from calibrant.tables.duckdb import connect

_DAY = r"\d{2,6}-\d{1,2}-\d{1,2}"
_KINDS = {
    "DATE": re.compile(_DAY),
    "TIMESTAMP": re.compile(_DAY + r"[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"),
    "BIGINT": re.compile(r"-?(0|[1-9]\d*)"),
}
"""What the values of folders may be besides text, in the order in which DuckDB tries, and how it must be written."""
_ALIKE = "files that are read as one table have the same columns: rename it, or name the other files by themselves"


def folder_columns(files: Sequence[str]) -> list[str]:
    """Names of the columns that folders such as ``year=2026`` stand for, if they are those of every file."""
    named = {tuple(part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part) for file in files}
    return list(named.pop()) if len(named) == 1 else []


def folder_types(files: Sequence[str]) -> dict[str, str]:
    """Column of a folder -> the type of all its values: DATE, TIMESTAMP, BIGINT or VARCHAR.

    A value with a percent sign is a text, as to DuckDB. So is a time with an offset, and so are all where two of them
    are one date, time or number. A cast alone would take 007 for a number, and a time for its day.
    """
    values = _folder_values(files)
    return {name: next((kind for kind in _KINDS if _all_are(texts, kind)), "VARCHAR") for name, texts in values.items()}


def typed_folders(files: Sequence[str], repeats: Sequence[int]) -> dict[str, Any]:
    """Column of a folder -> its values as Arrow, each as often as its file has rows."""
    values, kinds = _folder_values(files), folder_types(files)
    columns = {}
    for name, texts in values.items():
        query = f"SELECT CAST(t AS {kinds[name]}) AS t FROM (SELECT unnest(?) AS t, unnest(?) AS n) ORDER BY n"
        rows = [text and unquote(text) for text, n in zip(texts, repeats, strict=True) for _ in range(n)]
        columns[name] = connect().sql(query, params=[rows, list(range(len(rows)))]).to_arrow_table().column(0)
    return columns


def _folder_values(files: Sequence[str]) -> dict[str, list[str | None]]:
    """Column of a folder -> the value of each file as its path has it."""
    named = [dict(part.split("=", 1) for part in Path(file).parts[:-1] if "=" in part) for file in files]
    missing = "__HIVE_DEFAULT_PARTITION__"
    return {name: [None if each[name] == missing else each[name] for each in named] for name in folder_columns(files)}


def _all_are(texts: Sequence[str | None], kind: str) -> bool:
    values = sorted({text for text in texts if text is not None})
    if not values or not all(_KINDS[kind].fullmatch(value) for value in values):
        return False
    query = f"SELECT count(DISTINCT TRY_CAST(t AS {kind})) FROM (SELECT unnest(?) AS t)"
    return bool(connect().execute(query, [values]).fetchall()[0][0] == len(values))


def check_folder_columns(files: Sequence[str], path: str) -> None:
    """Refuse files if some lie in folders that stand for other columns, which would be lost.

    Raises FileError naming two of them.
    """
    firsts: dict[tuple[str, ...], str] = {}
    for file in files:
        names = tuple(part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part)
        firsts.setdefault(names, file)
    if len(firsts) > 1:
        (one, a), (other, b), *_ = ((", ".join(names) or "no column", file) for names, file in firsts.items())
        reason = f"{path!r} holds folders of different columns: those of {a!r} give {one}, those of {b!r} {other}"
        raise FileError("file", reason, allowed="each file lies in folders that give the same columns")


def check_same(types: Mapping[str, Mapping[str, str]], names: Iterable[str]) -> None:
    """Refuse a column that some files have and others not, or that is text in some and in others not.

    Parameters
    ----------
    types : mapping of str to mapping of str to str
        File -> name of each column -> its type; BYTE_ARRAY is text.
    names : iterable of str
        Columns that are read.

    Raises
    ------
    FileError
        Naming the column and two of the files.
    """
    folded = {file: {name.casefold(): kind for name, kind in columns.items()} for file, columns in types.items()}
    for name in names:
        kinds = {file: columns.get(name.casefold()) for file, columns in folded.items()}
        having = [file for file, kind in kinds.items() if kind is not None]
        lacking = next((file for file, kind in kinds.items() if kind is None), None)
        if having and lacking is not None:
            raise FileError("file", f"{lacking!r} has no column {name!r}, and {having[0]!r} has", allowed=_ALIKE)
        text = next((file for file in having if kinds[file] == "BYTE_ARRAY"), None)
        other = next((file for file in having if kinds[file] != "BYTE_ARRAY"), None)
        if text is not None and other is not None:
            raise FileError("file", f"column {name!r} is text in {text!r} and is not in {other!r}", allowed=_ALIKE)


_AGAIN = "run this again once nothing writes to it"


class StampedFiles(list[str]):
    """Names of files, and of each its size, inode and times of change from before it was checked.

    Parameters
    ----------
    files : iterable of str
        The names.
    filesystem : FileSystem, optional
        A file system of pyarrow on which they lie, which tells of size and time alone; by default this machine.
    """

    def __init__(self, files: Iterable[str], filesystem: Any = None) -> None:
        super().__init__(files)
        self._state = _here if filesystem is None else _states_on(filesystem)
        self._stamps = dict(zip(self, self._state(self), strict=True))

    @classmethod
    def together(cls, parts: Iterable[StampedFiles]) -> StampedFiles:
        """Files of this machine as one list, each with its own stamp."""
        files = cls(())
        for part in parts:
            files.extend(part)
            files._stamps |= part._stamps
        return files

    def part(self, files: Iterable[str]) -> StampedFiles:
        """Some of them, each with the stamp that it has."""
        selection = copy(self)
        selection[:] = files
        selection._stamps = {file: self._stamps[file] for file in selection}
        return selection

    def prints(self) -> dict[str, str]:
        """File -> fingerprint of what stays the same until it is written to, under any name."""
        stamps = {file: self._stamps[file] for file in self}
        same = {file: each[:4] if len(each) > 4 else (file, *each) for file, each in stamps.items() if each}
        return {file: fingerprint(repr(each)) for file, each in same.items()}

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Read the files within; a file that is another one now is the first error, before any other.

        Raises FileError if one was replaced, written to, cut or removed since its stamp was taken.
        """
        try:
            yield
        except Exception as problem:
            if not isinstance(problem, MemoryError):
                self.check()
            raise
        self.check()

    def check(self) -> None:
        """Compare stamps. FileError as `unchanged`."""
        for (file, before), now in zip(self._stamps.items(), self._state(list(self._stamps)), strict=True):
            if before != now:
                what = "is gone" if now is None else "was changed"
                raise FileError("file", f"{file!r} {what} while it was read", allowed=_AGAIN)


_Stamp = tuple[int, ...] | None
_State = Callable[[Sequence[str]], Iterable[_Stamp]]


def _here(files: Sequence[str]) -> Iterable[_Stamp]:
    return map(_state_here, files)


def _state_here(file: str) -> _Stamp:
    try:
        state = Path(file).stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _states_on(filesystem: Any) -> _State:
    def states(files: Sequence[str]) -> Iterable[_Stamp]:
        from pyarrow.fs import FileType

        try:
            listed = filesystem.get_file_info(list(files)) if files else []
        except (OSError, ValueError, NotImplementedError) as problem:
            reason = f"{files[0]!r}: the file system does not tell its size any more: {problem!s:.200}"
            raise FileError("file", reason) from None
        return [None if each.type == FileType.NotFound else (each.size, each.mtime_ns) for each in listed]

    return states
