"""Long runs that look for faults: a module each, found by its name.

A module has `WHAT`, one sentence of what is generated and what would be a finding, and ``run(cases, seed)``, which
returns a `Found`. It is called many times, with a part of the cases and a seed of its own each; a run that goes through
a fixed list has `PARTS`, the number of its parts, and is called with ``run(part, seed)`` for each instead. `SMALL` is
how many cases the continuous integration looks at, some seconds; a run with `PARTS` has ``some(cases, seed)`` for it.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Found:
    """How many cases were looked at, and what is wrong, a text each."""

    cases: int
    findings: list[str]


def names() -> list[str]:
    """All runs."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> ModuleType:
    """The module of a run."""
    return importlib.import_module(f"{__name__}.{name}")


def share_a_database() -> None:
    """Let readers take cursors of one database of one thread: to start one takes longer than a case."""
    from calibrant.tables import inputs, relations
    from calibrant.tables.duckdb import connect

    database = connect()
    database.execute("SET threads = 1")
    inputs.connect = relations.connect = lambda: database.cursor()
