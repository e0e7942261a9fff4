"""Common parts of frozen values: a short repr, words, plain values, and mappings that pickle."""

from __future__ import annotations

__all__ = ["Result"]

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant.door.frames import Backend, columns_of, frame_of, record

_LONGEST = 400  # characters of a repr
_ANSWER = 200  # characters of the first sentence
_FIRST = re.compile(r"(?<=[.]) (?=[A-Z])|\n")
_PART = 60  # of one of its values

OR_NULL = "null in JSON where it is not finite"
FloatOrNull = Annotated[float, OR_NULL]
"""A field that may be not finite; its description says when. JSON's layout is made from these types."""
FloatsOrNull = Annotated[npt.NDArray[np.float64], OR_NULL]
"""The same of each number of an array."""

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


class Result:
    """Base of every result: a one-line repr, a summary in words, plain values, and a display in notebooks.

    A dataclass that is a result is declared with ``repr=False``, else it would get a long repr of its own.

    See Also
    --------
    Audit, TestResult
    """

    __slots__ = ()
    _parts: ClassVar[str] = ""
    """The attribute that has the rows of its data frame, where it has several parts."""
    _columns: ClassVar[tuple[str, ...]] = ()
    """The columns of these rows, where there may be none."""

    def __repr__(self) -> str:
        """One short line: the answer, where there is a summary in words, else the values."""
        if type(self).summary is Result.summary:
            return short_repr(self)
        answer = _FIRST.split(self.summary(), maxsplit=1)[0].removesuffix(".")
        return f"{type(self).__name__}({_cut(' '.join(answer.split()), _ANSWER)})"

    def __str__(self) -> str:
        """Words, for `print`."""
        return self.summary()

    def _repr_html_(self) -> str | None:
        """Words, for a notebook."""
        return f"<pre>{escape(self.summary())}</pre>"

    def summary(self) -> str:
        """Return it in words, the answer first."""
        return short_repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain dicts, lists, numbers and words, as JSON has them."""
        content: dict[str, Any] = plain(self)
        return content

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return it as a data frame of this library, "pandas", "polars" or "pyarrow".

        What has parts (segments, grades, pairs) has a row for each, with their attributes as columns. What has arrays,
        such as a curve, has a row for each point, and its single values in every row. Anything else is one row. An
        attribute that is an interval has the columns ``..._low`` and ``..._high``.

        Raises
        ------
        InputError
            If there is no such library; MissingLibraryError if it is not installed.
        """
        return frame_of(self._table(), backend)

    def _table(self) -> Sequence[Mapping[str, Any]] | Mapping[str, Any]:
        """Rows of the data frame, or its columns by name: its parts, or its arrays, or one row of its values."""
        if self._parts:
            parts = getattr(self, self._parts)
            if isinstance(parts, Mapping):
                return [{"name": name, **record(part)} for name, part in parts.items()]
            if not parts:
                return dict.fromkeys(self._columns, ())
            return [record(each) for each in parts]
        single, columns = record(self), columns_of(self)
        if not columns:
            return [single]
        points = len(next(iter(columns.values())))
        return {name: [value] * points for name, value in single.items()} | columns


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Say a number of things: one of them is not several.

    >>> counted(1, "row"), counted(2000, "row"), counted(0, "batch", "batches")
    ('1 row', '2,000 rows', '0 batches')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def short_repr(value: Any) -> str:
    """Return the repr of a dataclass with its arrays told by shape and long parts cut; one line."""
    parts = ", ".join(f"{field.name}={_part(getattr(value, field.name))}" for field in fields(value) if field.repr)
    return f"{type(value).__name__}({_cut(parts, _LONGEST)})"


def _part(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"<array of shape {value.shape}>"
    if is_dataclass(value) and not isinstance(value, type):
        short = all(isinstance(getattr(value, field.name), float | int) for field in fields(value) if field.repr)
        return short_repr(value) if short else f"{type(value).__name__}(...)"
    if isinstance(value, Mapping | list | tuple) and len(value) > 4:
        return f"<{len(value)} items>"
    if type(value) is tuple:
        return "(" + ", ".join(map(_part, value)) + (",)" if len(value) == 1 else ")")
    return _cut(" ".join(repr(value).split()), _PART)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def plain(value: Any) -> Any:
    """The value in JSON's own types: arrays as lists, numbers that are not finite as None, the rest as words."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return str(value)
