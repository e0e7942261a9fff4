"""Sketches as bytes and as files: Arrow, sealed by a checksum of every byte, with the version of the layout."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import power_of_two
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import Identity
from calibrant.door.output import write_whole_bytes
from calibrant.kernels import sketching
from calibrant.lazily import optional
from calibrant.sketch.cells import MEASURED, RESOLUTIONS, is_double_double, read_cells

VERSION = 4
_READ = ("2", "3", "4")
_KEY, _PARTS, _DISTINCT = b"calibrant.sketch", b"calibrant.parts", b"calibrant.distinct"
_CELL = "cell"
_RESTS = {  # of a sum, what its column leaves out
    sketching.WEIGHT: "weight_rest",
    sketching.OUTCOME: "weighted_outcome_rest",
    sketching.OFFSET: "offset_rest",
    sketching.OUTCOME_OFFSET: "outcome_offset_rest",
}
_COLUMNS = (*MEASURED, *_RESTS.values())
_SEAL = re.compile(rb"sha256:([0-9a-f]{64})")
UNSEALED = b"sha256:" + b"0" * 64


class Stored(NamedTuple):
    """The contents of a sketch: its resolution, the rounding of sums made elsewhere, and the cells that hold rows.

    `parts` lists the sources that were added up, none for a source of its own; None where that is not known, since
    layout 2 did not keep it; `distinct` says whether they were to be taken as distinct rows.
    """

    resolution: int
    rounding: float
    numbers: npt.NDArray[np.int64]
    columns: npt.NDArray[np.float64]
    parts: tuple[Identity, ...] | None = ()
    distinct: bool = False


def sealed(data: bytes) -> bytes:
    """The bytes with their own SHA-256 in the place that was kept for it."""
    return data.replace(UNSEALED, b"sha256:" + hashlib.sha256(data).hexdigest().encode())


def is_whole(data: bytes) -> bool:
    """Whether no bit changed since `sealed`; nothing else looks at the bytes before."""
    seal = _SEAL.search(data)
    return seal is not None and sealed(data.replace(seal[0], UNSEALED)) == data


def _to_table(sketch: Stored) -> Any:
    import pyarrow

    resolution, rounding, index, cells, parts, distinct = sketch
    columns = {_CELL: index, **{name: np.ascontiguousarray(cells[:, j]) for j, name in enumerate(_COLUMNS)}}
    header = f"{VERSION} {resolution} {rounding.hex()} ".encode() + UNSEALED
    listed = json.dumps(None if parts is None else [part.to_list() for part in parts]).encode()
    metadata = {_KEY: header, _PARTS: listed, **({_DISTINCT: b"true"} if distinct else {})}
    return pyarrow.table(columns).replace_schema_metadata(metadata)


def _from_table(data: bytes, reader: Callable[[Any], Any], fail: type[InputError], argument: str) -> Stored:
    """A sketch, or an error: the bytes are whole and written here, and still each cell is held to its laws."""
    import pyarrow

    if not is_whole(data):
        problem = "is not a calibration sketch, or a part of one, or damaged"
        raise fail(argument, f"{problem}: the checksum of layout {VERSION} is missing or wrong")
    try:
        table = reader(pyarrow.py_buffer(data))
        table.validate(full=True)
        return _from_sound_table(table)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError, KeyError, OSError) as problem:
        raise fail(argument, f"is not a calibration sketch, or damaged: {problem!s:.200}") from None


def _from_sound_table(table: Any) -> Stored:
    metadata = table.schema.metadata or {}
    words = metadata.get(_KEY, b"").decode("ascii").split()
    if len(words) != 4 or words[0] not in _READ:
        raise InputError("layout", f"is {words[:1]}; this release of calibrant reads {' and '.join(_READ)}")
    resolution, rounding = power_of_two(int(words[1]), "resolution", *RESOLUTIONS), float.fromhex(words[2])
    if not 0.0 <= rounding <= 1.0 or tuple(table.column_names) != (_CELL, *_COLUMNS):
        raise InputError("layout", "has other columns")
    columns = np.column_stack([table[name].to_numpy() for name in _COLUMNS])
    index, _ = read_cells(table[_CELL].to_numpy(), columns[:, : len(MEASURED)], resolution)
    if (np.diff(index) <= 0).any():
        raise InputError("cells", "are not in order")
    for at, (high, name) in enumerate(_RESTS.items()):
        if not is_double_double(columns[:, high], columns[:, len(MEASURED) + at]).all():
            raise InputError(name, "is larger than rounding can be")
    listed = json.loads(metadata[_PARTS]) if words[0] != "2" else None
    parts = None if listed is None else tuple(map(Identity.from_list, listed))
    if parts and sum(part.count for part in parts) > columns[:, sketching.COUNT].sum():
        raise InputError("parts", "hold more rows than the cells")
    return Stored(resolution, rounding, index, columns, parts, _DISTINCT in metadata)


def holds_sketch(path: str | os.PathLike[str]) -> bool:
    """Whether a Parquet file says that it is a sketch; whether it is whole is for `from_parquet` to find."""
    import pyarrow
    import pyarrow.parquet

    if not Path(path).is_file():
        return False
    try:
        return _KEY in (pyarrow.parquet.read_schema(path).metadata or {})
    except (pyarrow.ArrowException, ValueError, OSError):
        return False


@optional("CalibrationSketch.to_bytes", "pyarrow")
def to_bytes(sketch: Stored) -> bytes:
    """Return Arrow IPC bytes."""
    import pyarrow.ipc

    table = _to_table(sketch)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sealed(sink.getvalue().to_pybytes())


@optional("CalibrationSketch.from_bytes", "pyarrow")
def from_bytes(data: bytes) -> Stored:
    """Read Arrow IPC bytes."""
    import pyarrow.ipc

    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError("data", f"is a {type(data).__name__}; bytes of `to_bytes` are needed")
    return _from_table(bytes(data), lambda buffer: pyarrow.ipc.open_file(buffer).read_all(), InputError, "data")


@optional("CalibrationSketch.to_parquet", "pyarrow")
def to_parquet(sketch: Stored, path: str | os.PathLike[str]) -> None:
    """Write a file, whole or not at all."""
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(_to_table(sketch), sink)
    data = sealed(sink.getvalue().to_pybytes())
    write_whole_bytes(path, lambda file: file.write(data))


def read_plain(path: str | os.PathLike[str], what: str) -> bytes:
    """The bytes of a plain file; `what` ought to be named."""
    if Path(path).exists() and not Path(path).is_file():
        raise FileError("path", f"{str(path)!r} is not a plain file; name {what}")
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise FileError("path", f"{str(path)!r} cannot be read: {problem.strerror or problem}") from None


@optional("CalibrationSketch.from_parquet", "pyarrow")
def from_parquet(path: str | os.PathLike[str]) -> Stored:
    """Read a Parquet file."""
    import pyarrow.parquet

    data = read_plain(path, "a sketch")
    try:
        return _from_table(data, lambda buffer: pyarrow.parquet.ParquetFile(buffer).read(), FileError, "path")
    except FileError as problem:
        raise FileError("path", f"{str(path)!r} {problem.problem}") from None
