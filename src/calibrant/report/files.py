"""Writing a report so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from calibrant.errors import FileError


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text beside its place and move it there at the end, so that no failure leaves half a file.

    Raises
    ------
    FileError
        If the folder is missing, the path is not a plain file or the disk refuses; an old file stays as it was.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileError("path", f"the folder {str(target.parent)!r} does not exist; create it first")
    if target.exists() and not target.is_file():
        raise FileError("path", f"{str(target)!r} is not a plain file; name a file to write")
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        try:
            with aside.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as problem:
        raise FileError("path", f"{str(target)!r} cannot be written: {problem.strerror}") from problem
