"""How DuckDB is started, and what its failures say."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

_KEY_BITS = 19  # those of `calibrant.scale.addressed`
_FEW_THREADS = 16  # each of them has such an array, of some 60 MB
_MUCH_MEMORY = 8_000_000_000  # address space that is enough for any number of threads


def connect() -> Any:
    """A database in memory that fetches nothing over a network, even if a file's name or content asks for it."""
    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if _little_address_space():
        config["threads"] = "1"  # where one of several cannot start, DuckDB ends the process
    return duckdb.connect(config=config)


def keep_groups_in_arrays(connection: Any) -> None:
    """Have groups kept in an array instead of a hash table where their keys have few bits.

    Of many rows that halves the time; of few the array, of half a million places, takes longer than they do.
    """
    if (os.cpu_count() or 1) <= _FEW_THREADS:
        connection.execute(f"SET perfect_ht_threshold = {_KEY_BITS}")


def literal(file: str) -> str:
    """The name as a pattern that matches it alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", file)


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

    short = (
        isinstance(problem, duckdb.OutOfMemoryException | MemoryError)
        or getattr(problem, "errno", None) == errno.ENOMEM
    )
    return short or "bad_alloc" in str(problem)


def shortened(problem: BaseException) -> str:
    """The part of a message that says what is wrong, without the advice and the settings that DuckDB adds."""
    lines: list[str] = []
    for line in str(problem).splitlines():
        if line.startswith(("Possible", "  file", "LINE ", "Try setting", "The search space")):
            break
        if line.strip():
            lines.append(line.strip())
    text = re.sub(r"^(\w+ )?\w+ Error: ", "", "; ".join(lines)) or type(problem).__name__
    return text.rstrip(". ") if len(text) <= 300 else f"{text[:300]}..."
