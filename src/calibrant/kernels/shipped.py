"""Kernels that came with the package in machine code, so that nothing is compiled on the first run.

A wheel may hold them (`tools/compile_kernels.py`). They are used only where they fit: this version of numba and of
Python, this kind of machine, a processor that can run them, and sources of kernels that are byte for byte those that
were compiled. Else, or where a digest shows that they are damaged, a kernel is compiled on its first call, as from a
wheel without them. What is compiled here and kept for the next run carries such digests as well.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "machine_code"
DIGEST = 32  # bytes
DESCRIPTION = "made_for.json"
"""In that folder: what `here` tells, the features of a processor that the code needs, numba's name of the target."""


@functools.cache
def sources() -> str:
    """A digest of all kernels' sources: a kernel holds the code of others, in files that numba does not look at."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def here() -> dict[str, str]:
    """What must be the same where kernels are compiled and where they run."""
    return {
        "kernels": sources(),
        "numba": version("numba"),
        "llvmlite": version("llvmlite"),
        "python": str(sys.implementation.cache_tag),
        "system": sys.platform,
        "machine": platform.machine(),
    }


@functools.cache
def target() -> tuple[str, ...] | None:
    """Numba's name of what the shipped kernels were compiled for, or None if there are none that can run here."""
    try:
        made = json.loads((FOLDER / DESCRIPTION).read_text())
        fits, name, features = made["for"] == here(), tuple(made["target"]), made["features"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not fits:
        return None
    from llvmlite.binding import get_host_cpu_features

    found = get_host_cpu_features()
    return name if all(found.get(feature) for feature in features) else None


def offer(kernel: Any) -> Any:
    """Have a kernel's cache know all sources, and look among the shipped ones for what it lacks; return the kernel."""
    _stamp(getattr(kernel, "_cache", None))
    if target() is not None and hasattr(kernel, "_cache"):  # not where numba is told to compile nothing
        kernel._cache = _shipped_too()(kernel._cache, kernel.py_func)
    return kernel


def _stamp(cache: Any) -> Any:
    """Have a cache of numba's take what it holds as stale when any kernel has changed, or its file; return it.

    Where it cannot be written to, as on a full disk, what was compiled serves this process alone.
    """
    file: Any = getattr(cache, "_cache_file", None)
    if all(hasattr(file, name) for name in ("_source_stamp", "_load_index", "_load_data", "_open_for_write")):
        file._source_stamp = (file._source_stamp, sources())
        file.__class__ = _sealed_files()
        cache._guard_against_spurious_io_errors = functools.partial(suppress, OSError)
    return cache


@functools.cache
def _sealed_files() -> Any:
    """The class of a cache's files, each with a digest of its name and bytes at its end, looked at before it is read.

    Numba itself unpickles and runs whatever is there: of damaged code that ends the process. Where a digest does not
    hold, or there is none, the kernel is compiled and its files are written again. Numba reads past no pickle's end.
    """
    from numba.core import caching as of_numba

    caching: Any = of_numba

    class SealedFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
        @contextmanager
        def _open_for_write(self, path: str) -> Iterator[Any]:
            data = BytesIO()
            yield data
            with super()._open_for_write(path) as file:
                file.write(data.getvalue() + seal(path, data.getvalue()))

        def _load_index(self) -> Any:
            return super()._load_index() if is_whole(self._index_path) else {}

        def _load_data(self, name: str) -> Any:
            if not is_whole(self._data_path(name)):
                raise OSError(f"{name} is damaged")  # to numba: it is not there
            return super()._load_data(name)

    return SealedFiles


def is_whole(path: str) -> bool:
    """Whether a file of a cache is, to the byte, what was written under this name."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return False
    return data[-DIGEST:] == seal(path, data[:-DIGEST])


def seal(path: str, data: bytes) -> bytes:
    """The digest at the end of a file: of its name and of what stands before."""
    return hashlib.sha256(Path(path).name.encode() + b"\0" + data).digest()


@functools.cache
def _shipped_too() -> Any:
    """The class of that cache. It touches parts of numba that may change, and so only in the version compiled for."""
    from numba.core import caching as of_numba

    caching: Any = of_numba

    class Locator(caching.InTreeCacheLocator):  # type: ignore[misc]
        def get_cache_path(self) -> str:
            return str(FOLDER)

        def ensure_cache_path(self) -> None:
            """It is read, and need not be writable."""

    class Kept(caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Locator,)

    class Shipped(caching.FunctionCache):  # type: ignore[misc]
        _impl_class = Kept

        def _index_key(self, signature: Any, codegen: Any) -> Any:
            signature, _this_processor, function = super()._index_key(signature, codegen)
            return signature, target(), function

    class ShippedToo:
        """A kernel's own cache, where what was compiled for this very processor is kept, and then the shipped one."""

        def __init__(self, own: Any, function: Any) -> None:
            self._own, self._shipped = own, _stamp(Shipped(function))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

        def load_overload(self, signature: Any, context: Any) -> Any:
            found = self._own.load_overload(signature, context)
            if found is not None:
                return found
            try:
                return self._shipped.load_overload(signature, context)
            except Exception:  # whatever a damaged file makes of it
                return None

    return ShippedToo
