"""How every kernel is compiled, and where what was compiled is kept for the next run.

The first audit waits for some forty kernels. What makes one slow to compile: each kind of array that it makes
(`np.zeros`, `np.full`, a copy and an array expression are each compiled like a kernel; an array that is filled in a
loop, or by the caller, is not), an array put into a part of another (whose message about shapes, should they differ,
takes two seconds), sorting, `np.where` and `np.diff`, each combination of types that a function meets, and sheer
length.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba.core import event

from calibrant.kernels import shipped

if getattr(numba.config, "DISABLE_JIT", False):
    # Python's own whole numbers do not wrap as a kernel's do, and it has no instruction that counts zero bits.
    said = "is set, and kernels give their numbers only where they are compiled; unset it"
    raise ImportError(f"NUMBA_DISABLE_JIT: {said}", name="NUMBA_DISABLE_JIT")


def _njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call: `numba.njit`, which fails where it finds no folder for its cache.

    Numba keeps what it compiled beside the package or in the user's home. Where neither can be written to, as in a
    container that may write nowhere, a private folder for temporary files takes its place, and where there is none
    either, every process compiles for itself. Nobody calls kernels from C, so none is wrapped for that.
    """
    options = {"no_cfunc_wrapper": True, **options}

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return shipped.offer(numba.njit(**options)(function))
        except RuntimeError as problem:
            if "locator" not in str(problem):
                raise
        settings: Any = numba.config
        before, settings.CACHE_DIR = settings.CACHE_DIR, _private_folder() or ""
        try:
            kept = {**options, "cache": bool(settings.CACHE_DIR)}
            return shipped.offer(numba.njit(**kept)(function))
        finally:
            settings.CACHE_DIR = before

    return compiled


def when_compiling(report: Callable[[str | None], None]) -> Callable[[], None]:
    """Have a function called whenever a kernel begins to be compiled, with the folder of its cache if it has one.

    Until the function that is returned is called.
    """

    class Told(event.Listener):
        def on_start(self, begun: Any) -> None:
            report(begun.data["dispatcher"].stats.cache_path)

        def on_end(self, ended: Any) -> None:
            pass

    events: Any = event
    listener = Told()
    events.register("numba:compile", listener)
    return lambda: events.unregister("numba:compile", listener)


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
