"""How DuckDB is started, and when it is memory that it lacks."""

from __future__ import annotations

import errno
from typing import Any

_MUCH_MEMORY = 8_000_000_000  # address space that is enough for any number of threads


def connection() -> Any:
    """A database in memory that fetches nothing over a network, whatever a file's name or content asks for."""
    import duckdb

    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if _little_address_space():
        config["threads"] = "1"  # where one of several cannot start, DuckDB ends the process
    return duckdb.connect(config=config)


def _little_address_space() -> bool:
    try:
        import resource
    except ImportError:  # not a system with such limits
        return False
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < _MUCH_MEMORY


def lacks_memory(problem: BaseException) -> bool:
    """Whether a failure to read says that memory ran out, and so nothing about the file."""
    import duckdb

    short = isinstance(problem, duckdb.OutOfMemoryException) or getattr(problem, "errno", None) == errno.ENOMEM
    return short or "bad_alloc" in str(problem)
