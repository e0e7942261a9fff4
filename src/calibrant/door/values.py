"""Common parts of frozen values: a short repr, words, plain values, data frames, mappings; and lists of such values."""

from __future__ import annotations

__all__ = ["Result", "Results"]

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from functools import cache
from html import escape
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import one_of
from calibrant.lazily import optional

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


def in_a_row(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> in_a_row(["a"]), in_a_row(["a", "b"]), in_a_row(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Say a number of things: one of them is not several.

    >>> counted(1, "row"), counted(2000, "row"), counted(0, "batch", "batches")
    ('1 row', '2,000 rows', '0 batches')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def known_rows(n_rows: int, n_unknown: int) -> str:
    """Say a number of rows: where some have no known outcome, how many of all have one.

    >>> known_rows(62, 0), known_rows(62, 544)
    ('62 rows', '62 of 606 rows known')
    """
    rows = counted(n_rows + n_unknown, "row")
    return f"{n_rows:,} of {rows} known" if n_unknown else rows


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
        own = {field.name: field.metadata.get("plain", plain) for field in fields(value)}
        return {name: as_plain(getattr(value, name)) for name, as_plain in own.items()}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return str(value)


def plain_key(key: Sequence[Any]) -> list[Any]:
    """Values of a segment's columns in JSON's own types: an infinite one is a value, and not that none is there."""
    return [str(each) if isinstance(each, float) and math.isinf(each) else plain(each) for each in key]


Backend = Literal["pandas", "polars", "pyarrow"]
"""A library that a data frame can be of."""

BACKENDS = get_args(Backend)
"""Libraries that a frame can be of."""

_ENDS = ("where", "bracket", "interval")  # attributes that are two ends of a range, where they are a tuple

R = TypeVar("R")
_SINGLE = (bool, int, float, str, date, time, timedelta, np.generic)


class Results(tuple[R, ...]):
    """Several results of one kind: a tuple, and a data frame with a row for each.

    Attributes
    ----------
    by : tuple of str
        The columns whose values make the ``key`` of each; none where there is no key.

    See Also
    --------
    Result, calibration_by_segment, calibration_drift

    Examples
    --------
    >>> from calibrant.door import Interval, Results
    >>> Results([Interval(0.01, 0.04), Interval(0.02, 0.03)]).to_frame("pyarrow").column_names
    ['low', 'high']
    """

    by: tuple[str, ...]

    def __new__(cls, results: Iterable[R] = (), by: Sequence[str] = ()) -> Results[R]:
        """Make it of its results, in order, and of the columns that their keys are of."""
        made = super().__new__(cls, tuple(results))
        made.by = tuple(by)
        return made

    def __repr__(self) -> str:
        """One short line: their number and their kind."""
        kinds = " or ".join(sorted({type(each).__name__ for each in self}))
        return f"Results({len(self)}{kinds and ' of '}{kinds})"

    def __reduce__(self) -> Any:
        """How it is pickled and copied."""
        return type(self), (tuple(self), self.by)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a data frame of this library, "pandas", "polars" or "pyarrow": a row for each result.

        The columns have the names of the results' attributes, with ``..._low`` and ``..._high`` for the ends of
        intervals. A key has the columns that it is of. Arrays within a result are left out.

        Raises
        ------
        InputError
            If there is no such library; MissingLibraryError if it is not installed.
        """
        return frame_of([_keyed(record(each), each, self.by) for each in self], backend)


def record(value: Any, prefix: str = "") -> dict[str, Any]:
    """The single values of a dataclass by name; those of its parts have the part's name before them."""
    cells: dict[str, Any] = {}
    for name, part in _parts(value):
        if name != "premises" and not (prefix and part is None):  # these are sentences, and no values
            cells |= _cells(f"{prefix}{name}", part)
    return cells


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return ((str(name), part) for name, part in value.items())
    return ((field.name, getattr(value, field.name)) for field in fields(value))


def _cells(name: str, part: Any) -> dict[str, Any]:
    """Columns of one value; none where it is an array, or holds more than single values."""
    if part is None and name.endswith(_ENDS):
        return {f"{name}_low": None, f"{name}_high": None}
    if _is_single(part):
        return {name: part.item() if isinstance(part, np.generic) else part}
    if isinstance(part, tuple):
        if name.endswith(_ENDS) and len(part) == 2:
            return {f"{name}_low": part[0], f"{name}_high": part[1]}
        few = part and (name.endswith("key") or all(isinstance(each, str) for each in part))
        return {name: "; ".join(map(str, part))} if few else {}
    return record(part, f"{name}_") if _has_names(part) else {}


def _has_names(part: Any) -> bool:
    """Whether a value is made of single ones, or parts, that have names."""
    return is_dataclass(part) or (isinstance(part, Mapping) and all(map(_is_single, part.values())))


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, _SINGLE)


def _keyed(row: dict[str, Any], result: Any, by: Sequence[str]) -> dict[str, Any]:
    """The row with a column for each part of the result's key, under its own name unless an attribute has that."""
    if not by:
        return row
    key = {name if name not in row else f"key_{name}": value for name, value in zip(by, result.key, strict=True)}
    return {**key, **{name: value for name, value in row.items() if name != "key"}}


def columns_of(value: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The flat arrays of a dataclass by name: those of the length that most of them have."""
    arrays = {name: part for name, part in _parts(value) if isinstance(part, np.ndarray) and part.ndim == 1}
    sizes = [part.size for part in arrays.values()]
    length = max(sizes, key=sizes.count, default=0)
    return {name: part for name, part in arrays.items() if part.size == length}


@optional("to_frame", *BACKENDS)
def frame_of(rows: Sequence[Mapping[str, Any]] | Mapping[str, Any], backend: Backend) -> Any:
    """A data frame of rows, or of columns by name; what a row has not is null."""
    import narwhals.stable.v2 as nw

    one_of(backend, BACKENDS, "backend")
    import_module(backend)
    if isinstance(rows, Mapping):
        columns = {name: np.asarray(column).tolist() for name, column in rows.items()}
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
    # A part that one row lacks is a column of its own there, which says no more than the columns of the part.
    empty = [name for name, column in columns.items() if all(each is None for each in column)]
    for name in empty:
        if any(other.startswith(f"{name}_") for other in columns if other not in empty):
            del columns[name]
    return nw.from_dict({name: _of_one_type(column) for name, column in columns.items()}, backend=backend).to_native()


def _of_one_type(entries: list[Any]) -> list[Any]:
    """The column, as text where its values are of several types."""
    types = {type(each) for each in entries if each is not None}
    if len(types) <= 1:
        return entries
    if types == {int, float}:
        return [None if each is None else float(each) for each in entries]
    return [None if each is None else str(each) for each in entries]


class Entry(Protocol):
    """An entry's name, and its place among the others, the least first."""

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int: ...


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
