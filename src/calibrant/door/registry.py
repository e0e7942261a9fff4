"""Lists of one kind of thing: each enters itself where it is defined, and nothing lists the modules of a room."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, Protocol, TypeVar

from calibrant.door.values import ReadOnly


class Entry(Protocol):
    """An entry's name, and its place among the others, the least first."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def order(self) -> int: ...  # noqa: D102


E = TypeVar("E", bound=Entry)


class Registry(Generic[E]):
    """Entries of one kind by name, from every module of a room and of its folders."""

    def __init__(self, kind: str, room: str) -> None:
        self.kind, self.room = kind, room
        self._entries: dict[str, E] = {}

    def enter(self, entry: E, module: str, **texts: str) -> None:
        """Enter what a module of the room defines; ValueError if it is of another room, or a text is empty."""
        for what, text in texts.items():
            if not text.strip():
                raise ValueError(f"{self.kind} {entry.name}: its {what} is empty")
        if not module.startswith(f"{self.room}."):
            raise ValueError(f"{self.kind} {entry.name}: its module {module} is not one of {self.room}")
        self._entries[entry.name] = entry

    def entries(self, *rooms: str) -> Mapping[str, E]:
        """All of them in their order, those of equal order by name; or those of some folders alone."""
        for room in rooms or (self.room,):
            import_all(room)
        return ReadOnly(dict(sorted(self._entries.items(), key=lambda item: (item[1].order, item[0]))))


@cache
def import_all(room: str) -> None:
    """Import every module of a room, so that all that it defines is entered."""
    for module in iter_modules(import_module(room).__path__):
        import_module(f"{room}.{module.name}")
