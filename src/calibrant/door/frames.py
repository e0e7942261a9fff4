"""A result as a data frame of pandas, polars or pyarrow: one row a part, with the names of its fields as columns."""

from __future__ import annotations

__all__ = ["Results"]

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from importlib import import_module
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from calibrant.door.arguments import one_of
from calibrant.lazily import optional

Backend = Literal["pandas", "polars", "pyarrow"]
"""A library that a data frame can be of."""

BACKENDS = get_args(Backend)
"""Libraries that a frame can be of."""

_ENDS = ("where", "bracket", "interval")
"""Attributes that are two ends of a range, where they are a tuple."""

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


def record(value: Any, before: str = "") -> dict[str, Any]:
    """The single values of a dataclass by name; those of its parts have the part's name before them."""
    cells: dict[str, Any] = {}
    for name, part in _parts(value):
        if name != "premises" and not (before and part is None):  # these are sentences, and no values
            cells |= _cells(f"{before}{name}", part)
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
    if is_dataclass(part) or (isinstance(part, Mapping) and all(_is_single(each) for each in part.values())):
        return record(part, f"{name}_")
    return {}


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


def _of_one_type(column: list[Any]) -> list[Any]:
    """The column, as text where its values are of several types."""
    types = {type(each) for each in column if each is not None}
    if len(types) <= 1:
        return column
    if types == {int, float}:
        return [None if each is None else float(each) for each in column]
    return [None if each is None else str(each) for each in column]
