"""Tables in memory as Arrow: numbers as doubles, keys as single values of one kind, grouped by one engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.door.columns import numbers_or_nan
from calibrant.door.errors import InputError

_SIDE_BY_SIDE = "holds texts, numbers or truth values side by side; write all in one way"


def in_arrow(table: Any, numbers: Mapping[str, tuple[str, str]], keys: Mapping[str, str], option: str) -> Any:
    """The columns under new names: new name -> argument and column of numbers, new name -> column of keys.

    Raises InputError if a column holds no numbers, or keys of several kinds.
    """
    import narwhals as nw
    import pyarrow

    columns = {
        new: pyarrow.array(numbers_or_nan(nw.to_native(table[name]), argument))
        for new, (argument, name) in numbers.items()
    }
    columns |= {new: keys_of(table[name], name, option) for new, name in keys.items()}
    return nw.from_native(pyarrow.table(columns), eager_only=True)


def keys_of(column: Any, name: str, option: str) -> Any:
    """Keys as Arrow; a period of pandas is the time at which it starts, an interval or a UUID its text."""
    import narwhals as nw
    import pyarrow

    native, values = nw.to_native(column), None
    if type(getattr(native, "dtype", None)).__name__ == "PeriodDtype":
        column = nw.from_native(native.dt.to_timestamp(), series_only=True)
    if column.dtype in (nw.Object, nw.Unknown) and not isinstance(native, pyarrow.ChunkedArray):
        values = _objects(column)
        if len({_kind(each) for each in values if each is not None}) > 1:
            raise InputError(option, f"names the column {name!r}, which {_SIDE_BY_SIDE}")
    if type(getattr(getattr(native, "dtype", None), "categories", None)).__name__ == "IntervalIndex":
        values = _texts(column)
    try:
        keys = column.to_arrow() if values is None else pyarrow.array(values, from_pandas=True)
        keys = keys.cast(keys.type.value_type) if pyarrow.types.is_dictionary(keys.type) else keys
        if isinstance(keys.type, pyarrow.BaseExtensionType):
            keys = pyarrow.array(_texts(column))
        single = not pyarrow.types.is_nested(keys.type)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        single = False
    if not single:
        content = f"values such as {next(iter(column.to_list()), None)!r:.40}"
        raise InputError(option, f"names the column {name!r}, which holds {content}; single values are needed")
    return keys


def _objects(column: Any) -> list[Any]:
    """Values of a column of objects, None where one is missing."""
    return [
        None if each is None or type(each).__name__ == "NAType" or each != each else each for each in column.to_list()
    ]


def _texts(column: Any) -> list[str | None]:
    return [None if missing else str(each) for each, missing in zip(column, column.is_null(), strict=True)]


def _kind(value: Any) -> type:
    """Kind of a key: truth value, number, or its own type."""
    import numpy as np

    if isinstance(value, bool | np.bool_):
        return bool
    return float if isinstance(value, int | float | np.number) else type(value)
