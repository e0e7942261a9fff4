"""Sketches as bytes and as files: Arrow, with the version of the layout."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import FileError, InputError

if TYPE_CHECKING:
    from calibrant.scale.sketch import CalibrationSketch

VERSION = 1
_KEY = b"calibrant.sketch"
_CELL = "cell"


def _to_table(sketch: CalibrationSketch) -> Any:
    import pyarrow

    from calibrant.scale.sketch import MEASURED

    index, cells = sketch.cells()
    columns = {_CELL: index, **{name: np.ascontiguousarray(cells[:, j]) for j, name in enumerate(MEASURED)}}
    table = pyarrow.table(columns)
    return table.replace_schema_metadata({_KEY: f"{VERSION} {sketch.resolution}".encode()})


def _from_table(table: Any, fail: type[InputError], argument: str) -> CalibrationSketch:
    """A sketch, or an error: whatever the bytes say, and in whatever way pyarrow says that they make no sense."""
    import pyarrow

    try:
        table.validate(full=True)
        return _from_sound_table(table, fail, argument)
    except InputError:
        raise
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError, KeyError) as problem:
        raise fail(argument, f"is a sketch that is damaged: {problem!s:.200}") from None


def _from_sound_table(table: Any, fail: type[InputError], argument: str) -> CalibrationSketch:
    from calibrant.scale.sketch import MEASURED, CalibrationSketch

    said = (table.schema.metadata or {}).get(_KEY)
    if said is None:
        raise fail(argument, "is Arrow data but not a calibration sketch")
    words = said.decode("ascii", "replace").split()
    if not words or words[0] != str(VERSION):
        raise fail(argument, f"is a sketch of layout {words[:1]}; this release of calibrant reads {VERSION}")
    if len(words) != 2 or not words[1].isdigit() or table.column_names != [_CELL, *MEASURED]:
        raise fail(argument, "is a sketch whose layout is damaged")
    resolution = int(words[1])
    index = table[_CELL].to_numpy().astype(np.int64)
    cells = np.column_stack([table[name].to_numpy() for name in MEASURED]).astype(np.float64)
    inside = (index >= 0) & (index <= 2 * resolution)
    if not (inside.all() and np.isfinite(cells).all() and (cells >= 0.0).all() and (cells[:, -2:] <= 1.0).all()):
        raise fail(argument, "is a sketch whose cells are damaged")
    return CalibrationSketch.from_cells(index, cells, resolution)


def to_bytes(sketch: CalibrationSketch) -> bytes:
    """Return Arrow IPC bytes."""
    import pyarrow.ipc

    table = _to_table(sketch)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> CalibrationSketch:
    """Read Arrow IPC bytes."""
    import pyarrow.ipc

    try:
        table = pyarrow.ipc.open_file(pyarrow.py_buffer(data)).read_all()
    except (pyarrow.ArrowException, OSError, TypeError) as problem:
        raise InputError("data", f"is not a calibration sketch, or a part of one: {problem!s:.200}") from None
    return _from_table(table, InputError, "data")


def to_parquet(sketch: CalibrationSketch, path: str | os.PathLike[str]) -> None:
    """Write beside its place and move it there at the end."""
    import pyarrow.parquet

    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        try:
            with aside.open("xb") as file:
                pyarrow.parquet.write_table(_to_table(sketch), file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as problem:
        raise FileError("path", f"{str(target)!r} cannot be written: {problem.strerror or problem}") from problem


def from_parquet(path: str | os.PathLike[str]) -> CalibrationSketch:
    """Read a Parquet file."""
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError) as problem:
        said = f"{str(path)!r} is not a calibration sketch, or a part of one: {problem!s:.200}"
        raise FileError("path", said) from None
    return _from_table(table, FileError, "path")
