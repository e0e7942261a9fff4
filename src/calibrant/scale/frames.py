"""Sketches of tables: one GROUP BY in the table's own engine, and only cells come back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from calibrant.door.errors import InputError
from calibrant.scale.cells import MEASURED
from calibrant.scale.duck import as_double, group_relation
from calibrant.scale.sketch import CalibrationSketch

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_FAULTS = {
    -1: ("y_prob", "null or NaN"),
    -2: ("y_prob", "outside [0, 1]"),
    -3: ("y_true", "null or NaN"),
    -4: ("y_true", "outside [0, 1]"),
    -5: ("sample_weight", "null or NaN"),
    -6: ("sample_weight", "negative or infinite"),
}
"""Numbers of the cells that bad rows go to: they are counted by the query that sums the good ones."""


def sketch_frame(
    frame: Any,
    *,
    y_true: str,
    y_prob: str,
    sample_weight: str | None = None,
    resolution: int = 65536,
    exclude_bad: bool = False,
) -> CalibrationSketch:
    """Sketch a table that pandas, polars (eager or lazy), pyarrow, DuckDB, PySpark, Dask or Ibis holds.

    Parameters
    ----------
    frame : table
        Anything that narwhals takes.
    y_true, y_prob, sample_weight : str
        Names of its columns.
    resolution : int, default 65536
        As for `CalibrationSketch`.
    exclude_bad : bool, default False
        Leave out rows that are null, NaN or out of range instead of refusing the table.

    Returns
    -------
    CalibrationSketch

    Raises
    ------
    InputError
        If a column is missing or does not hold numbers, or if rows are bad: the message counts them.

    Notes
    -----
    Cost: one pass of the engine, with one group for every cell that holds rows.

    Examples
    --------
    >>> import pyarrow
    >>> from calibrant.scale.frames import sketch_frame
    >>> sketch_frame(pyarrow.table({"y": [0, 1], "p": [0.25, 0.5]}), y_true="y", y_prob="p")
    CalibrationSketch(resolution=65536): 2 rows in 2 cells
    """
    empty = CalibrationSketch(resolution)
    names = {"y_true": y_true, "y_prob": y_prob, "sample_weight": sample_weight}
    found = group_cells(frame, names, (), resolution)
    index, cells = good_cells(found, exclude_bad)
    if index.size == 0:
        raise InputError("frame", "holds no rows" + (" that are not excluded" if exclude_bad else ""))
    return CalibrationSketch.from_cells(index, cells, empty.resolution, unweighted=sample_weight is None)


def group_cells(frame: Any, names: dict[str, str | None], by: Sequence[str], resolution: int) -> Any:
    """Group by cell within segments and bring the groups here, a narwhals DataFrame."""
    try:
        table = nw.from_native(frame)
        table = table.lazy() if isinstance(table, nw.DataFrame) and table.implementation.is_polars() else table
        schema = table.collect_schema()
    except TypeError as problem:
        raise InputError("frame", f"is a {type(frame).__name__}, not a table: {problem!s:.200}") from None
    except nw.exceptions.DuplicateError:
        raise InputError("frame", "has several columns of one name; rename all but one") from None
    for argument, name in names.items():
        if name is not None:
            _check_column(schema, name, argument)
    for name in by:
        if name not in schema:
            raise InputError("by", f"names a column {name!r} that is not there; there are {list(schema)}")
        _check_single_values(table, schema[name], name)

    def number(argument: str) -> Any:
        name = names[argument]
        column = nw.col(name)  # type: ignore[arg-type]
        if schema[name] == nw.Boolean:  # type: ignore[index]
            column = column.cast(nw.Int8)
        return column.cast(nw.Float64)

    if table.implementation.is_duckdb():
        numbers = {argument: as_double(name) for argument, name in names.items() if name is not None}
        import duckdb

        try:
            found = group_relation(nw.to_native(table), numbers, by, resolution)
        except duckdb.Error as problem:
            raise InputError("frame", f"cannot be read by DuckDB: {problem!s:.300}") from None
        return nw.from_native(found, eager_only=True)
    weighted = names["sample_weight"] is not None
    parts = {"_y": number("y_true"), "_v": number("y_prob")}
    if weighted:
        parts["_w"] = number("sample_weight")
    segments = [f"_s{i}" for i in range(len(by))]
    if table.implementation.is_pyarrow():
        numbers = {new: name for new, name in zip(("_y", "_v", "_w"), names.values(), strict=True) if name is not None}
        table = _of_pyarrow(table, numbers, dict(zip(segments, by, strict=True)))
    else:
        table = table.select(
            *(expression.alias(name) for name, expression in parts.items()),
            *(nw.col(name).alias(segment) for name, segment in zip(by, segments, strict=True)),
        )
    fault = _fault(parts)
    table = table.with_columns(_fault=fault)
    good = nw.col("_fault") == 0
    table = table.with_columns(
        *(nw.when(good).then(nw.col(name)).otherwise(nw.lit(0.0)).alias(name) for name in parts),
    )
    table = table.with_columns(_x=nw.col("_v") * float(resolution))
    below = nw.col("_x").floor()
    number_of_cell = nw.when(good).then((below + nw.col("_x").ceil()).cast(nw.Int32)).otherwise(nw.col("_fault"))
    table = table.with_columns(_u=nw.col("_x") - below, _cell=number_of_cell)
    y, u = nw.col("_y"), nw.col("_u")
    w = nw.col("_w") if weighted else nw.lit(1.0)
    each = {
        "ones": (y == 1.0).cast(nw.Int64),
        "fractional": ((y != 0.0) & (y != 1.0)).cast(nw.Int64),
        "weighted_outcome": w * y if weighted else y,
        "offset": w * u if weighted else u,
        "outcome_offset": w * y * u if weighted else y * u,
    }
    if weighted:
        each |= {"weight": w, "squared_weight": w * w}
    table = table.with_columns(**{f"_{name}": expression for name, expression in each.items()})
    grouped = table.group_by(*segments, "_cell").agg(
        nw.len().alias("count"),
        *(nw.col(f"_{name}").sum().alias(name) for name in each),
        nw.col("_v").min().alias("low"),
        nw.col("_v").max().alias("high"),
    )
    return grouped.collect("pyarrow") if isinstance(grouped, nw.LazyFrame) else grouped


def _of_pyarrow(table: Any, numbers: dict[str, str], segments: dict[str, str]) -> Any:
    """Columns under new names, numbers as the nearest doubles; a checked cast refuses whole numbers above 2**53."""
    import pyarrow

    native = nw.to_native(table)
    columns = {new: native.column(name).cast("float64", safe=False) for new, name in numbers.items()}
    columns |= {new: native.column(name) for new, name in segments.items()}
    return nw.from_native(pyarrow.table(columns), eager_only=True)


def _fault(parts: dict[str, Any]) -> Any:
    """The first fault of a row by its number in `_FAULTS`, 0 if it is good."""
    fault = nw.lit(0, dtype=nw.Int32)
    for code, name in ((-5, "_w"), (-3, "_y"), (-1, "_v")):
        if name in parts:
            column = nw.col(name)
            known = column.fill_null(float("nan"))
            # Engines fold comparisons and is_nan() by a file's statistics, which leave NaN out; arithmetic they do not.
            finite = (known - known) == 0.0
            missing = column.is_null() | ~(finite | (known.abs() == float("inf")))
            inside = finite & (known >= 0.0)
            if name != "_w":
                inside = inside & (known <= 1.0)
            fault = (
                nw.when(missing)
                .then(nw.lit(code, dtype=nw.Int32))
                .otherwise(nw.when(inside).then(fault).otherwise(nw.lit(code - 1, dtype=nw.Int32)))
            )
    return fault


def _check_column(schema: Any, name: str, argument: str) -> None:
    if name not in schema:
        raise InputError(argument, f"names a column {name!r} that is not there; there are {list(schema)}")
    kind = schema[name]
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InputError(argument, f"names the column {name!r}, which holds {kind}; numbers are needed")


def _check_single_values(table: Any, kind: Any, name: str) -> None:
    """Refuse to group by lists and the like."""
    nested = kind.is_nested() or kind in (nw.Int128, nw.UInt128)
    if kind == nw.Object and isinstance(table, nw.DataFrame):
        nested = any(not isinstance(value, Hashable) for value in table[name].to_list())
    if nested:
        raise InputError("by", f"names the column {name!r}, which holds {kind}; single values are needed")


def good_cells(found: Any, exclude_bad: bool) -> tuple[IntArray, FloatArray]:
    """Cells by number and their sums, in order of segment as found; bad rows refused with their count."""
    index = found["_cell"].to_numpy().astype(np.int64)
    bad = index < 0
    if bad.any() and not exclude_bad:
        count = found["count"].to_numpy()
        told = [
            (argument, f"{int(count[index == code].sum()):,} rows are {what}")
            for code, (argument, what) in _FAULTS.items()
            if (index == code).any()
        ]
        said = "; ".join(f"{argument}: {what}" for argument, what in told).partition(": ")[2]
        raise InputError(
            told[0][0], f"{said}. Correct them, or leave them out (--exclude-bad; exclude_bad=True in Python)"
        )
    index, cells = index[~bad], stacked(found)[~bad]
    _check_sums(cells)
    return index, cells


def _check_sums(cells: FloatArray) -> None:
    """Whatever an engine took for a good row: sums of numbers in their ranges look like this."""
    if not cells.size:
        return
    columns = dict(zip(MEASURED, cells.T, strict=True))
    weight = columns["weight"]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total = weight.sum()
        mean = columns["squared_weight"].sum() / total  # of the weights, by weight: at most the largest
    if total == 0.0:
        raise InputError("sample_weight", "is zero in every row; at least one row needs weight")
    if (weight != columns["count"]).any() and not 1e-150 < mean < 1e150:
        raise InputError("sample_weight", "holds values too large or too small to add up; scale them to lie near 1")
    sound = np.isfinite(cells).all() and columns["low"].min() >= 0.0 and columns["high"].max() <= 1.0
    rate = np.divide(columns["weighted_outcome"], weight, out=np.zeros_like(weight), where=weight > 0.0)
    if not sound or not (rate.min() >= 0.0 and rate.max() <= 1.0 + 1e-6):
        raise InputError(
            "frame", "has rows that its engine took for numbers in [0, 1] and that are not; its statistics are untrue"
        )


def stacked(found: Any) -> FloatArray:
    """Sums as an array of shape (groups, 10); equal weights are counts."""
    names = [name if name in found.columns else "count" for name in MEASURED]
    return np.column_stack([found[name].to_numpy().astype(np.float64) for name in names])
