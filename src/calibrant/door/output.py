"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from calibrant.door.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text beside its place and move it there at the end, so that no failure leaves half a file.

    A file that is replaced keeps its permissions. Raises FileError if the folder is missing, the path is not a plain
    file or the disk refuses; an old file stays as it was.
    """
    write_whole_bytes(path, lambda file: file.write(text.encode()))


@contextmanager
def alone_with(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep everyone else who asks so from a file while it is read, changed and written; wait for them first.

    The lock is held on a hidden file beside it, which goes when the lock does; that of a process that was killed is
    free. Where the system has no such locks nothing is kept from anyone. Raises FileError if the folder cannot be
    written to.
    """
    if fcntl is None:
        yield
        return
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name[:200]}.lock")
    try:
        descriptor = _locked(lock)
    except OSError as problem:
        raise FileError("path", f"{str(target)!r} cannot be locked: {problem.strerror or problem}") from problem
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # while it is held: who waits for it sees that it is gone, and begins anew
        os.close(descriptor)


def _locked(lock: Path) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if lock.exists() and os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def write_whole_bytes(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """`write_whole` of what `write` puts into the open file. FileError as `write_whole`."""
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        if not target.parent.is_dir():
            raise FileError("path", f"the folder {str(target.parent)!r} does not exist; create it first")
        if target.exists() and not target.is_file():
            raise FileError("path", f"{str(target)!r} is not a plain file; name a file to write")
        try:
            with aside.open("xb") as file:
                if target.exists():  # what was private stays so, from the first byte
                    aside.chmod(stat.S_IMODE(target.stat().st_mode))
                write(file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(target)
        except BaseException:
            with suppress(OSError):  # the first failure is the one to tell
                aside.unlink(missing_ok=True)
            raise
    except OSError as problem:
        reason = problem.strerror or problem
        raise FileError("path", f"{str(target)!r} cannot be written: {reason}") from problem
