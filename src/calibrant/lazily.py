"""Public names are looked up when they are first used, so that importing a namespace imports no library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from calibrant.homes import HOMES

ROOMS = (
    "door",
    "measures",
    "recalibration",
    "inference",
    "decisions",
    "sketch",
    "tables",
    "segments",
    "drift",
    "findings",
    "gate",
    "report",
    "synthetic",
)
"""What `calibrant` gives by attribute besides its own names."""


def above(name: str) -> Any:
    """Look up a module of a room above the caller's, when it is needed; tools/check_imports.py lists who may."""
    return import_module(f"calibrant.{name}")


def offer(
    package: str, public: Iterable[str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a namespace.

    A room offers what the ``__all__`` of its modules name; the package itself offers the chosen names, and the rooms.
    """
    room = package.partition(".")[2]
    rooms = () if room else ROOMS
    names = sorted(public if public is not None else (name for name in HOMES if HOMES[name].startswith(f"{room}.")))

    def look_up(name: str) -> Any:
        if name in rooms:
            return import_module(f"calibrant.{name}")
        if name not in names:
            from difflib import get_close_matches

            near = get_close_matches(name, [*names, *rooms], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(import_module(f"calibrant.{HOMES[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *names, *rooms})

    return names, look_up, listed
