"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from calibrant.door.errors import FileError


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text beside its place and move it there at the end, so that no failure leaves half a file.

    A file that is replaced keeps its permissions.

    Raises
    ------
    FileError
        If the folder is missing, the path is not a plain file or the disk refuses; an old file stays as it was.
    """
    write_whole_bytes(path, lambda file: file.write(text.encode()))


def write_whole_bytes(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """`write_whole` of whatever `write` puts into the open file.

    Raises
    ------
    FileError
        As `write_whole`.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileError("path", f"the folder {str(target.parent)!r} does not exist; create it first")
    if target.exists() and not target.is_file():
        raise FileError("path", f"{str(target)!r} is not a plain file; name a file to write")
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        try:
            with aside.open("xb") as file:
                if target.exists():  # what was private stays so, from the first byte
                    aside.chmod(stat.S_IMODE(target.stat().st_mode))
                write(file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as problem:
        said = problem.strerror or problem
        raise FileError("path", f"{str(target)!r} cannot be written: {said}") from problem
