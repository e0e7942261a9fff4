"""How every kernel is compiled, and where what was compiled is kept for the next run.

The first audit waits for some forty kernels. What makes one slow to compile: each kind of array that it makes
(`np.zeros`, `np.full`, a copy and an array expression are each compiled like a kernel; an array that is filled in a
loop, or by the caller, is not), an array put into a part of another (whose message about shapes, should they differ,
takes two seconds), sorting, `np.where` and `np.diff`, each combination of types that a function meets, and sheer
length.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.kernels import object_files, shipped

_listeners: list[Callable[[str | None], None]] = []
_lock = threading.RLock()


@functools.cache
def _numba() -> Any:
    """Numba, which takes a third of a second to load: only where something is compiled, or was not kept."""
    import numba
    from numba.core import event

    if getattr(numba.config, "DISABLE_JIT", False):
        # Python's own whole numbers do not wrap as a kernel's do, and it has no instruction that counts zero bits.
        said = "is set, and kernels give their numbers only where they are compiled; unset it"
        raise ImportError(f"NUMBA_DISABLE_JIT: {said}", name="NUMBA_DISABLE_JIT")

    class Told(event.Listener):
        def on_start(self, begun: Any) -> None:
            for report in tuple(_listeners):
                report(begun.data["dispatcher"].stats.cache_path)

        def on_end(self, ended: Any) -> None:
            pass

    events: Any = event
    events.register("numba:compile", Told())
    return numba


class Kernel:
    """A function that is compiled on its first call, or whose machine code was kept; numba sees its own dispatcher."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._options = function, options
        self.nogil = bool(options.get("nogil"))
        self._ways: dict[object_files.Key, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for arguments of these types."""
        key = object_files.key_of(arguments)
        if key is None:
            return self.dispatcher(*arguments)
        way = self._ways.get(key)
        if way is None:
            with _lock:
                way = self._ways[key] = object_files.load(self, key) or partial(self._compiled, key)
        return way(*arguments)

    def by_numba(self, key: object_files.Key) -> Any:
        """Have numba called for arguments of these types from now on."""
        self._ways[key] = self.dispatcher
        return self.dispatcher

    def _compiled(self, key: object_files.Key, *arguments: Any) -> Any:
        result = self.by_numba(key)(*arguments)
        object_files.keep(self, self.dispatcher, key)
        return result

    @property
    def dispatcher(self) -> Any:
        """Numba's own."""
        with _lock:
            if "_dispatcher" not in self.__dict__:
                self._dispatcher = _dispatched(self.py_func, self._options)
        return self._dispatcher

    def __getattr__(self, name: str) -> Any:
        """What numba's dispatcher has."""
        if name.startswith("__") or name == "_dispatcher":
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def _njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    return lambda function: Kernel(function, {"no_cfunc_wrapper": True, **options})


def _dispatched(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function on its first call: `numba.njit`, which fails where it finds no folder for its cache.

    Numba keeps what it compiled beside the package or in the user's home. Where neither can be written to, as in a
    container that may write nowhere, a private folder for temporary files takes its place, and where there is none
    either, every process compiles for itself. Nobody calls kernels from C, so none is wrapped for that.
    """
    numba = _numba()
    try:
        return shipped.offer(numba.njit(**options)(function))
    except RuntimeError as problem:
        if "locator" not in str(problem):
            raise
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, _private_folder() or ""
    try:
        if settings.CACHE_DIR:
            with suppress(RuntimeError):
                return shipped.offer(numba.njit(**options)(function))
        return shipped.offer(numba.njit(**{**options, "cache": False})(function))
    finally:
        settings.CACHE_DIR = before


def when_compiling(report: Callable[[str | None], None]) -> Callable[[], None]:
    """Have a function called whenever a kernel begins to be compiled, with the folder of its cache if it has one.

    Until the function that is returned is called.
    """
    _listeners.append(report)
    return lambda: _listeners.remove(report)


def _private_folder() -> str | None:
    """A folder of this user's alone: what is loaded from there is run, so nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return None
    try:  # there may be no folder for temporary files at all
        folder = Path(tempfile.gettempdir()) / f"calibrant-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found, above = folder.lstat(), folder.parent.stat()
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    # In a folder that others may write to without the sticky bit, they could put another in its place.
    safe = above.st_mode & stat.S_ISVTX or not above.st_mode & 0o022
    return str(folder) if ours and safe else None


if TYPE_CHECKING:  # a kernel's type is numba's affair
    from numba import njit as njit
else:
    njit = _njit

inner: Any = _njit(inline="always")
"""For what only kernels of the same file call: it becomes a part of them, and is not compiled by itself."""
