"""The files that a path, a folder or a pattern stands for, here or on a file system: whole, or refused by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from calibrant.door.errors import FileError, Ways
from calibrant.tables.duckdb import connect
from calibrant.tables.folders import StampedFiles
from calibrant.tables.formats.registry import check_whole


def input_files(path: str) -> StampedFiles:
    """Return the files that a path, a folder or a pattern stands for; one of that very name goes before the pattern.

    Each is stamped, then checked: who reads it afterwards asks whether it is still the same. Raises FileError if there
    is none, or one is no plain file, empty, or cut or damaged, or one is there twice.
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
        reason = f"{path!r} is an address; files elsewhere are read through a file system, by their path within it"
        ways = Ways("filesystem='s3' names one", "--filesystem s3 names one")
        raise FileError("file", reason, allowed=ways)
    if not any(c in path for c in "*?["):
        raise FileError("file", f"{path!r} does not exist")
    matches = connect().execute("SELECT file FROM glob(?) ORDER BY file", [path]).fetchall()
    if not matches:
        raise FileError("file", f"no file matches the pattern {path!r}")
    return _checked([file for (file,) in matches])


def _checked(names: Sequence[str]) -> StampedFiles:
    files = StampedFiles(names)
    with files.unchanged():
        for file in files:
            if not Path(file).is_file():
                raise FileError("file", f"{file!r} is not a plain file")
            if Path(file).stat().st_size == 0:
                raise FileError("file", f"{file!r} is empty")
            check_whole(file)
        refuse_same_file(files)
    return files


def in_folder(folder: str) -> list[str]:
    """All files in a folder of this machine and in the folders within, in order, without the hidden ones.

    Raises FileError if there is none, or a link leads back to a folder above it.
    """
    files, places = [], set()
    for here, below, names in os.walk(folder, followlinks=True, onerror=_unreadable):
        where = os.path.realpath(here)
        if where in places:
            raise FileError("file", f"{here!r} is a link to a folder that is read already; name a pattern")
        places.add(where)
        below[:] = [name for name in below if not _is_hidden(name)]
        files += [str(Path(here) / name) for name in names if not _is_hidden(name)]
    return _some(sorted(files), folder)


def name_of(path: str | os.PathLike[str]) -> str:
    """Name of files: of a file or a folder without the folders above, of a pattern as it is given."""
    pattern = any(sign in os.fspath(path) for sign in "*?[") and not Path(path).exists()
    return os.fspath(path) if pattern else Path(path).name


def refuse_same_file(files: Iterable[str]) -> None:
    """Refuse a file that is named twice, under one name or as a link: its rows would count twice.

    Raises FileError naming both.
    """
    firsts: dict[object, tuple[int, str]] = {}
    for at, file in enumerate(files):
        state = Path(file).stat()
        for key in (os.path.realpath(file), (state.st_dev, state.st_ino)):
            before, name = firsts.setdefault(key, (at, file))
            if before != at:
                same = "is named twice" if name == file else f"is the same file as {name!r}"
                raise FileError("file", f"{file!r} {same}; its rows would be counted twice")


def on_filesystem(filesystem: object, path: str) -> list[tuple[str, int]]:
    """Name and bytes of the files that a path, a folder or a pattern stands for on a file system of pyarrow.

    Raises FileError if there is none, or one is empty.
    """
    from pyarrow.fs import FileSelector, FileSystem, FileType

    assert isinstance(filesystem, FileSystem)
    if "://" in path:
        bare = path.partition("://")[2]
        raise FileError("file", f"{path!r} is an address", allowed=f"name the path within the file system: {bare!r}")
    path = path.rstrip("/")
    info = filesystem.get_file_info(path)
    if info.type == FileType.File:
        matches = [info]
    else:
        pattern = info.type == FileType.NotFound and any(sign in path for sign in "*?[")
        if info.type == FileType.NotFound and not pattern:
            raise FileError("file", f"{path!r} does not exist on the file system")
        selector = FileSelector(_before_the_signs(path) if pattern else path, recursive=True, allow_not_found=True)
        below = [each for each in filesystem.get_file_info(selector) if each.type == FileType.File]
        matches = (_matching if pattern else _not_hidden)(below, path)
    empty = next((each.path for each in matches if not each.size), None)
    if empty is not None:
        raise FileError("file", f"{empty!r} is empty")
    return sorted((each.path, int(each.size)) for each in matches)


def _matching(files: Sequence[Any], pattern: str) -> list[Any]:
    regex = re.compile(_as_regex(pattern))
    matches = [each for each in files if regex.fullmatch(each.path)]
    if not matches:
        raise FileError("file", f"no file on the file system matches the pattern {pattern!r}")
    return matches


def _not_hidden(files: Sequence[Any], folder: str) -> list[Any]:
    inside = [PurePosixPath(each.path[len(folder) :].lstrip("/")).parts for each in files]
    matches = [each for each, parts in zip(files, inside, strict=True) if not any(map(_is_hidden, parts))]
    _some([each.path for each in matches], folder)
    return matches


def _some(paths: list[str], folder: str) -> list[str]:
    if not paths:
        raise FileError("file", f"{folder or '.'!r} is a folder without files to read")
    return paths


def _is_hidden(name: str) -> bool:
    """Whether it is a mark or a checksum that a writer left: _SUCCESS, _metadata, .part-0.crc."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _unreadable(exception: OSError) -> None:
    raise FileError("file", f"{exception.filename!r} cannot be read: {exception.strerror or exception}") from None


def _before_the_signs(pattern: str) -> str:
    """The deepest folder that every match of a pattern lies in."""
    parts: Iterable[str] = pattern.split("/")[:-1]
    folders = []
    for part in parts:
        if any(sign in part for sign in "*?["):
            break
        folders.append(part)
    return "/".join(folders)


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
