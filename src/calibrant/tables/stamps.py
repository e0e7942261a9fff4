"""Stamps of files, taken before the check and compared after the last read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import fingerprint

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

        Raises
        ------
        FileError
            If one was replaced, written to, cut or removed since its stamp was taken.
        """
        try:
            yield
        except Exception as problem:
            if not isinstance(problem, MemoryError):
                self.check()
            raise
        self.check()

    def check(self) -> None:
        """Compare stamps.

        Raises
        ------
        FileError
            As `unchanged`.
        """
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
            if isinstance(problem, InputError):
                raise
            reason = f"{files[0]!r}: the file system does not tell its size any more: {problem!s:.200}"
            raise FileError("file", reason) from None
        return [None if each.type == FileType.NotFound else (each.size, each.mtime_ns) for each in listed]

    return states
