"""Keys of segments and periods, the same by every road: no sign on a zero, and what is missing in one way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError

IntArray = npt.NDArray[np.int64]


def told_apart(keys: Any) -> tuple[Any, bool]:
    """The keys as Arrow with 0 for -0 and null for NaN, and whether keys that an engine told apart may be one now."""
    import narwhals as nw
    import pyarrow

    changed = False
    columns = {}
    for name in keys.columns:
        column = keys[name].to_arrow()
        column = pyarrow.chunked_array([column]) if isinstance(column, pyarrow.Array) else column
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns[name] = without_signs(column)
        changed = changed or columns[name] is not column
    return nw.from_native(pyarrow.table(columns), eager_only=True), changed


def without_signs(column: Any) -> Any:
    """A column of Arrow with 0 for -0 and null for NaN; the column itself where it has neither."""
    import pyarrow
    import pyarrow.compute as pc

    if not pyarrow.types.is_floating(column.type):
        return column
    values = column.cast(pyarrow.float64()).to_numpy(**({} if hasattr(column, "chunks") else {"zero_copy_only": False}))
    if not (np.isnan(values) | ((values == 0.0) & np.signbit(values))).any():
        return column
    return pc.add(pc.if_else(pc.is_nan(column), pyarrow.scalar(None, column.type), column), 0)


def refuse_far(keys: Any, option: str) -> None:
    """Refuse days, times and durations that Python has no value for; `option` is who named the column.

    Raises
    ------
    InputError
        If there is one.
    """
    import pyarrow
    import pyarrow.compute as pc

    for name in keys.columns:
        column = keys[name].to_arrow()
        if pyarrow.types.is_temporal(column.type):
            whole = pyarrow.types.is_duration(column.type)  # of which it tells no ends
            ends = pc.min_max(column.cast(pyarrow.int64()) if whole else column)
            try:
                pyarrow.array([*ends.values()]).cast(column.type).to_pylist()
            except (OverflowError, ValueError):
                reason = "names a column of dates or times outside the years 1 to 9999, or of durations as long"
                raise InputError(option, reason, allowed="write them as text or numbers") from None


def ranks_of(keys: Any) -> IntArray:
    """Number the values of one column in their own order, -1 where there is none: the order of rows does not matter."""
    import pyarrow
    import pyarrow.compute as pc

    keys = told_apart(keys)[0]
    column = keys[keys.columns[0]].to_arrow()
    column = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    coded = pc.dictionary_encode(column)
    rank = np.empty(len(coded.dictionary) + 1, np.int64)
    rank[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(rank.size - 1)
    rank[-1] = -1
    codes = pc.fill_null(coded.indices, rank.size - 1).to_numpy(zero_copy_only=False)
    return np.asarray(rank[codes])


def numbers_of(keys: Any) -> IntArray:
    """Number the distinct combinations of a few columns; null is a value like any other."""
    import pyarrow
    import pyarrow.compute

    numbers = np.zeros(len(keys), np.int64)
    for name in keys.columns:
        coded = pyarrow.compute.dictionary_encode(keys[name].to_arrow(), null_encoding="encode")
        coded = coded.combine_chunks() if isinstance(coded, pyarrow.ChunkedArray) else coded
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return numbers
