"""The calibration sketch: rows of any number as at most 131,073 cells that add up, with a bound on what is lost."""

from __future__ import annotations

__all__ = ["CalibrationSketch"]

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.door.arguments import flag, power_of_two
from calibrant.door.columns import Column, FloatArray, IntArray, read_columns
from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import CELLS, Identity, identity_of_cells, with_thin_samples, without
from calibrant.door.output import write_whole_bytes
from calibrant.door.overlap import find_overlap, refuse
from calibrant.door.values import counted
from calibrant.kernels import sketching
from calibrant.lazily import EXTRAS, above, optional
from calibrant.sketch.bounds import Answers
from calibrant.sketch.cells import (
    MEASURED,
    NATIVE_ROUNDING,
    RESOLUTIONS,
    arrow_numbers,
    coarser,
    is_double_double,
    read_cells,
    rounding_of_plain_sums,
)
from calibrant.sketch.groups import Groups

_NO_WEIGHTS = np.empty(0)
MOST_PARTS = 4096
"""Sources that a sketch lists."""


class CalibrationSketch(Answers):
    """A small weighted sample that stands for any number of rows, with a proved bound for what that costs.

    Parameters
    ----------
    resolution : int, default 65536
        Cells of equal width that predictions are pooled into; a power of two up to 2**24. Grid points themselves are
        cells of their own, so there are up to ``2 * resolution + 1``.

    See Also
    --------
    audit_table, calibration_by_segment

    Notes
    -----
    A cell holds sums (rows, ones, weight, weighted outcomes, squared weights, offsets from the grid point, by outcome)
    and its smallest and largest prediction. Sketches can be added: ``a + b`` is the sketch of the rows of both, counts
    exactly and sums up to rounding, which the bounds cover. If every cell holds one distinct prediction the sketch is
    the sample itself and the bound is zero up to rounding. Counts are exact up to 2**53 rows. Any number of threads may
    update, read and merge one sketch: no row is lost, and each reader sees whole updates.

    Examples
    --------
    >>> from calibrant import CalibrationSketch
    >>> monday = CalibrationSketch().update([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> tuesday = CalibrationSketch().update([1, 1], [0.7000001, 0.3])
    >>> both = monday + tuesday
    >>> both.n_rows, both.n_cells
    (6, 5)
    >>> both.error_bound("smooth_calibration_error") < 1e-7
    True
    """

    __slots__ = ("_lock", "_parts", "_rounding", "_table", "distinct", "resolution")

    def __init__(self, resolution: int = 65536) -> None:
        self.resolution = power_of_two(resolution, "resolution", *RESOLUTIONS)
        self._table = sketching.new_table(self.resolution)
        self._rounding = 0.0  # of sums made elsewhere, as a share of each cell's weight
        self._parts: tuple[Identity, ...] | None = ()  # sources that were added up
        self.distinct = False  # whether they were to be taken as distinct rows, whatever they hold
        self._lock = threading.Lock()

    def update(self, y_true: Column, y_prob: Column, *, sample_weight: Column | None = None) -> CalibrationSketch:
        """Add rows, in constant memory, and return the sketch itself; a stream of rows is compared with nothing.

        The same rows added twice count twice. Where a batch may come again, make a sketch of each and `merge` them.

        Raises
        ------
        InputError
            Naming the argument, the first bad row and what is allowed; nothing is added then.
        """
        outcome, prediction, weight = read_columns(y_true, y_prob, sample_weight, batch=True)
        if weight is None:
            weight = _NO_WEIGHTS
        with self._lock:
            sketching.add_rows(outcome, prediction, weight, self.resolution, self._table)
        return self

    def __add__(self, other: CalibrationSketch) -> CalibrationSketch:
        """The sketch of the rows of both; neither changes."""
        if not isinstance(other, CalibrationSketch):
            return NotImplemented
        return CalibrationSketch.merge([self, other])

    @classmethod
    def merge(cls, sketches: Iterable[CalibrationSketch], *, distinct: bool = False) -> CalibrationSketch:
        """Return the sketch of the rows of all, in one table; faster than adding one by one.

        Parameters
        ----------
        sketches : iterable of CalibrationSketch
            Of other rows each.
        distinct : bool, default False
            Say that sketches of equal contents are of other rows each, and add them all.

        Raises
        ------
        InputError
            If there is none, or resolutions differ. If one is there twice, or holds the same rows as another or as
            several together. Equal contents that may well be chance are added (docs/identity.md).
        """
        flag(distinct, "distinct")
        merged, claims = cls._added_up(sketches)
        if claims:
            if not distinct:
                _refuse_copies(claims)
            merged.distinct |= distinct
        return merged

    @classmethod
    def sum_of(cls, sketches: Iterable[CalibrationSketch]) -> CalibrationSketch:
        """As `merge`, of sketches that were compared already, or need not be."""
        return cls._added_up(sketches)[0]

    @classmethod
    def _added_up(cls, sketches: Iterable[CalibrationSketch]) -> tuple[CalibrationSketch, list[tuple[Identity, ...]]]:
        """The sum, and what each of several holds."""
        merged: CalibrationSketch | None = None
        claims: list[tuple[Identity, ...]] = []
        first: CalibrationSketch | None = None
        for sketch in sketches:
            merged = cls(sketch.resolution) if merged is None else merged
            if sketch.resolution != merged.resolution:
                raise InputError(
                    "resolution", f"is {merged.resolution} in one sketch and {sketch.resolution} in another"
                )
            with sketch._lock:
                sketching.add_table(sketch._table, merged._table)
                merged._rounding = max(merged._rounding, sketch._rounding)
                merged.distinct |= sketch.distinct
            if first is None:
                first, merged._parts = sketch, sketch._parts
                continue
            claims = claims or [first.claims()]
            claims.append(sketch.claims())
        if merged is None:
            raise InputError("sketches", "are empty; at least one is needed")
        if claims:
            merged._parts = parts_of(claims)
        return merged, claims

    @classmethod
    def from_cells(
        cls, index: IntArray, cells: FloatArray, resolution: int, *, unweighted: bool = False
    ) -> CalibrationSketch:
        """Build from cells of shape (m, 10) and their numbers, as an engine summed them; equal numbers are added.

        Parameters
        ----------
        index : ndarray of shape (m,)
            Numbers of the cells, 0 to 2 * resolution.
        cells : ndarray of shape (m, 10)
            Their sums, in the order of `MEASURED`; taken to be summed in any order, and bounds say what that costs.
        resolution : int
            As for the class.
        unweighted : bool, default False
            Whether every row had the weight 1: sums of whole outcomes are exact then.

        Raises
        ------
        InputError
            If a number is out of range or not finite, or sums are such as no rows have.
        """
        sketch = cls(resolution)
        index, cells = read_cells(index, cells, sketch.resolution)
        whole = unweighted and not cells[:, sketching.FRACTIONAL].any()
        if whole and (cells[:, sketching.WEIGHT : sketching.OFFSET] != cells[:, [0, 1, 0]]).any():
            raise InputError(
                "cells", "are not those of unweighted rows: weights differ from counts, outcomes from ones"
            )
        rounding = rounding_of_plain_sums(float(cells[:, sketching.COUNT].max(initial=0.0)))
        sketch._rounding = rounding / sketch.resolution if whole else rounding
        wide = np.zeros((index.size, sketching.COLUMNS))
        wide[:, : len(MEASURED)] = cells
        sketching.add_cells(index, wide, sketch._table)
        return sketch

    @classmethod
    @optional("CalibrationSketch.from_frame", *EXTRAS)
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        y_prob: str,
        sample_weight: str | None = None,
        resolution: int = 65536,
        exclude_bad: bool = False,
        unweighted: bool = False,
        filesystem: Any = None,
        distinct: bool = False,
    ) -> CalibrationSketch:
        """Sketch a table: files, a folder, a pattern, a dataset of pyarrow, a data frame or a table of an engine.

        Parameters
        ----------
        frame : str, path, dataset or table
            Anything with columns that `audit_table` takes.
        y_true, y_prob, sample_weight : str
            Names of its columns.
        resolution : int, default 65536
            As for the class.
        exclude_bad : bool, default False
            Leave out rows that are null, NaN or out of range instead of refusing the table.
        unweighted : bool, default False
            Leave out a column that holds weights by its name, instead of asking about it.
        filesystem : FileSystem or str, optional
            As for `audit_table`.
        distinct : bool, default False
            As for `audit_table`.

        Raises
        ------
        InputError
            If a column is missing or does not hold numbers, or a column that you did not name may hold weights. If rows
            are bad: the message counts them.

        Notes
        -----
        Cost: one pass of the engine, with one group for every cell that holds rows.

        Examples
        --------
        >>> import pyarrow
        >>> from calibrant import CalibrationSketch
        >>> table = pyarrow.table({"y": [0, 1], "p": [0.25, 0.5]})
        >>> CalibrationSketch.from_frame(table, y_true="y", y_prob="p")
        CalibrationSketch(resolution=65536): 2 rows in 2 cells
        """
        resolution = cls(resolution).resolution
        table = above("tables.entry").open_table(frame, filesystem=filesystem, distinct=distinct, argument="frame")
        names = table.spoken(y_true, y_prob, sample_weight, unweighted)
        sketch: CalibrationSketch = table.to_keep(names, resolution, exclude_bad=exclude_bad)[0]
        return sketch

    @classmethod
    def from_groups(cls, groups: Groups, names: Mapping[str, str], resolution: int) -> CalibrationSketch:
        """Build from what an engine grouped of columns by these names."""
        return cls.from_cells(groups.index, groups.cells, resolution, unweighted="sample_weight" not in names)

    def held(self) -> tuple[IntArray, FloatArray]:
        """Numbers of the cells that hold rows, in order, and their columns as `kernels.sketching` names them."""
        with self._lock:
            index = np.flatnonzero(self._table[:, sketching.COUNT])
            return index, self._table[index]

    def cells(self) -> tuple[IntArray, FloatArray]:
        """Numbers of the cells that hold rows, in order, and their sums, shape (m, 10), named in `MEASURED`."""
        index, columns = self.held()
        return index, np.ascontiguousarray(columns[:, : len(MEASURED)])

    @property
    def rounding(self) -> float:
        """At least the rounding of any sum of a cell, as a share of the cell's weight."""
        return self._rounding + NATIVE_ROUNDING

    @property
    def n_rows(self) -> int:
        """Rows that were added."""
        with self._lock:
            return int(self._table[:, sketching.COUNT].sum())

    @property
    def n_cells(self) -> int:
        """Cells that hold rows."""
        with self._lock:
            return int(np.count_nonzero(self._table[:, sketching.COUNT]))

    @property
    def identity(self) -> Identity:
        """Identity of its rows, as far as their cells tell."""
        return identity_of(self._stored())

    def claims(self) -> tuple[Identity, ...]:
        """Its own identity, and those of the sources that were added up in it, where several were; none of no rows."""
        return claims_of(self._stored()) if self.n_rows else ()

    @property
    def parts(self) -> tuple[Identity, ...] | None:
        """The sources that were added up in it, none for one of its own; None where that is not known."""
        return self._parts

    def list_parts(self, parts: tuple[Identity, ...]) -> None:
        """Say which sources its rows are of."""
        self._parts = with_thin_samples(parts) if len(parts) <= MOST_PARTS else None

    def to_bytes(self) -> bytes:
        """Return Arrow IPC bytes, with the version of their layout."""
        return to_bytes(self._stored())

    @classmethod
    def from_bytes(cls, data: bytes) -> CalibrationSketch:
        """Read what `to_bytes` wrote; raise InputError for anything else."""
        return restored(*from_bytes(data))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, whole or not at all: an old file stays until the new one is complete."""
        to_parquet(self._stored(), path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str]) -> CalibrationSketch:
        """Read what `to_parquet` wrote; raise FileError for anything else."""
        return restored(*from_parquet(path))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the cells that hold rows; a copy has a lock of its own."""
        return restored, tuple(self._stored())

    def _stored(self) -> Stored:
        return Stored(self.resolution, self._rounding, *self.held(), self._parts, self.distinct)

    def __repr__(self) -> str:
        """Rows and cells in a line."""
        size = f"{counted(self.n_rows, 'row')} in {counted(self.n_cells, 'cell')}"
        return f"CalibrationSketch(resolution={self.resolution}): {size}"


def identity_of(file: Stored) -> Identity:
    """Identity of a sketch's rows; of cells wider than usual no more than their number."""
    index, columns = file.numbers, file.columns[:, : len(MEASURED)]
    if file.resolution < CELLS:
        return Identity(int(columns[:, sketching.COUNT].sum()), None, None, 0.0)
    if file.resolution > CELLS:
        index, columns = coarser(index, columns, file.resolution, CELLS)
        order = np.argsort(index, kind="stable")
        starts = np.flatnonzero(np.diff(index[order], prepend=-1))
        index, columns = index[order][starts], np.add.reduceat(columns[order], starts)
    weight = np.maximum(columns[:, sketching.WEIGHT], np.finfo(np.float64).tiny)
    mean = (index // 2 + np.where(index % 2, np.minimum(columns[:, sketching.OFFSET] / weight, 1.0), 0.0)) / CELLS
    count, ones, rates = (columns[:, each] for each in (sketching.COUNT, sketching.ONES, sketching.FRACTIONAL))
    return identity_of_cells(index, count, ones, rates, np.clip(mean, 0.0, 1.0))


def claims_of(file: Stored) -> tuple[Identity, ...]:
    """As `CalibrationSketch.claims`."""
    whole = identity_of(file)
    rest = without(whole, file.parts or ())
    return (whole, *(file.parts or ()), *(() if rest is None or not file.parts else (rest,)))


def parts_of(sketches: Iterable[Sequence[Identity]]) -> tuple[Identity, ...] | None:
    """The sources of sketches with these claims; None if they are too many to be kept."""
    parts = tuple(part for claims in sketches for part in (claims[1:] or claims))
    return with_thin_samples(parts) if len(parts) <= MOST_PARTS else None


def _refuse_copies(sources: Sequence[Sequence[Identity]]) -> None:
    """Refuse sketches that hold the same rows beyond chance: in memory nothing else tells what they are."""
    at = [i for i, claims in enumerate(sources) if claims]
    overlap = find_overlap([sources[i] for i in at], apart=lambda _one, _other: True)
    if overlap is not None and overlap.certain:
        refuse(overlap, [f"sketch {i}" for i in at], InputError, "sketches")


def restored(
    resolution: int,
    rounding: float,
    index: IntArray,
    columns: FloatArray,
    parts: tuple[Identity, ...] | None = (),
    distinct: bool = False,
) -> CalibrationSketch:
    """The sketch whose `held` these are."""
    sketch = CalibrationSketch(resolution)
    sketch._rounding = rounding
    sketch._parts, sketch.distinct = parts, distinct
    sketch._table[index] = columns
    return sketch


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
    columns = [arrow_numbers(each) for each in (index, *np.ascontiguousarray(cells.T))]
    header = f"{VERSION} {resolution} {rounding.hex()} ".encode() + UNSEALED
    listed = json.dumps(None if parts is None else [part.to_list() for part in parts]).encode()
    metadata = {_KEY: header, _PARTS: listed, **({_DISTINCT: b"true"} if distinct else {})}
    return pyarrow.table(columns, [_CELL, *_COLUMNS], metadata=metadata)


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
    del table  # each form takes some 7 MB
    data: bytes = sink.getvalue().to_pybytes()
    del sink
    return sealed(data)


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
