"""The formats, each known by the endings of its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError
from calibrant.tables.formats import base
from calibrant.tables.formats.base import Format
from calibrant.tables.formats.json_rows import Json
from calibrant.tables.formats.parquet import Arrow, Parquet
from calibrant.tables.formats.text import Text


class Sketches(Format):
    """Files of one sketch each, which `calibrant.tables.sketches` adds up."""

    name = "sketch"
    endings = (".sketch",)


class Unknown(Format):
    """Files of a dataset of pyarrow that have none of the other formats."""

    name = "dataset"
    counting_reads = True
    check_remote = Text.check_remote


FORMATS: tuple[type[Format], ...] = (Parquet, Text, Json, Arrow, Sketches)
_ENDINGS = {ending: each for each in FORMATS for ending in each.endings}
_WRITE = "write the rows as one of these, such as CSV or Parquet"


def format_of(path: str) -> type[Format] | None:
    """The format of a path or pattern by its ending, which may be followed by that of a compressed file."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in base.ENDINGS:
        suffixes.pop()
    return _ENDINGS.get(suffixes[-1] if suffixes else "")


def format_of_all(files: Sequence[str], path: str) -> type[Format]:
    """The one format of all files. FileError if they have several, or the ending of one is not known."""
    first: dict[type[Format], str] = {}
    for file in files:
        known = format_of(file)
        if known is None:
            reason = f"{file!r}: the ending is not one that is read: {', '.join(_ENDINGS)}"
            raise FileError("file", reason, allowed=_WRITE if file == path else _name_a_pattern(path))
        first.setdefault(known, file)
    if len(first) > 1:
        (one, a), (other, b), *_ = first.items()
        reason = f"{path!r} holds files of several kinds: {a!r} is {one.name} and {b!r} is {other.name}"
        raise FileError("file", reason, allowed=_name_a_pattern(path, Path(a).suffix))
    return next(iter(first))


def format_of_dataset(dataset: Any) -> type[Format]:
    """The format that a dataset of pyarrow has by its own account; of text files it may be anything."""
    name = type(getattr(dataset, "format", None)).__name__.removesuffix("FileFormat").lower()
    return {"parquet": Parquet, "ipc": Arrow}.get(name, Unknown)


def check_whole(file: str) -> None:
    """Refuse a file that is cut or damaged, as far as that shows before its columns are known. FileError if it is."""
    base.check_compressed(file)
    known = format_of(file)
    if known is not None:
        known.check(file)


def looks_like(file: str, name: str) -> str:
    """The end of a message that names another format, if a file's first bytes are of one."""
    with Path(file).open("rb") as stream:
        start = stream.read(6)
    for other in FORMATS:
        if other.magic and start.startswith(other.magic) and other.name != name:
            return f". By its content it is {other.name}: give it such an ending"
    return ""


def _name_a_pattern(path: str, ending: str = ".parquet") -> str:
    """Advice on naming the files of one kind."""
    if any(sign in path for sign in "*?["):
        return "name files of one kind"
    return f"name files of one kind by a pattern in quotes, such as '{path.rstrip('/')}/**/*{ending}'"
