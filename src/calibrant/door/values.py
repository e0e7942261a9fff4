"""What frozen values share: mappings that cannot be written to and still pickle, and a short repr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

import numpy as np

_LONGEST = 400  # characters of a repr
_PART = 60  # of one of its values

K = TypeVar("K")
V = TypeVar("V")


class ReadOnly(Mapping[K, V], Generic[K, V]):
    """A mapping that cannot be written to; unlike `types.MappingProxyType` it pickles and deep-copies."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        """The value of a key."""
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        """Keys, in the order they were given."""
        return iter(self._items)

    def __len__(self) -> int:
        """Number of keys."""
        return len(self._items)

    def __repr__(self) -> str:
        """As a dict's, with long values left out."""
        return "{" + ", ".join(f"{key!r}: {_part(value)}" for key, value in self._items.items()) + "}"


def short_repr(value: Any) -> str:
    """Return the repr of a dataclass with its arrays told by shape and long parts cut; one line."""
    parts = ", ".join(f"{field.name}={_part(getattr(value, field.name))}" for field in fields(value) if field.repr)
    return f"{type(value).__name__}({_cut(parts, _LONGEST)})"


def _part(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"<array of shape {value.shape}>"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}(...)"
    if isinstance(value, Mapping | list | tuple) and len(value) > 4:
        return f"<{len(value)} items>"
    if type(value) is tuple:
        return "(" + ", ".join(map(_part, value)) + (",)" if len(value) == 1 else ")")
    return _cut(" ".join(repr(value).split()), _PART)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
